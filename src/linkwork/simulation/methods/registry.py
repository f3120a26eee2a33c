"""All methods by name, and their compositions to higher orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict, Unpack

from linkwork.errors import LinkworkError, listed
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.located_step import with_events
from linkwork.simulation.methods.composition import composed, composition
from linkwork.simulation.methods.energy_momentum import EnergyMomentum
from linkwork.simulation.methods.method import Equations, Method, Step, changing, solving
from linkwork.simulation.methods.midpoint import Midpoint
from linkwork.simulation.methods.moreau import moreau
from linkwork.simulation.methods.projection import projected
from linkwork.simulation.methods.runge_kutta import rk4
from linkwork.simulation.methods.semi_implicit import semi_implicit
from linkwork.simulation.methods.variational import Rattle, Shake, Variational


class Facts(TypedDict, total=False):
    """What is true of a method; see `Method`."""

    projects: bool
    symmetric: bool
    symplectic: bool
    opens: bool


def _method(
    name: str, step: Step, order: int, about: str, equations: type[Equations] | None = None, **facts: Unpack[Facts]
) -> Method:
    """A method whose step goes through contacts and events; equations that it solves hold in its middle."""
    return Method(name, with_events(step, equations is not None), order, about, equations, bare=step, **facts)


def _structured(name: str, equations: type[Equations], about: str, **facts: Unpack[Facts]) -> Method:
    usual: Facts = {"symmetric": True, "symplectic": True}
    return _method(name, solving(equations), 2, about, equations, **(usual | facts))


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        _method("semi-implicit", projected(semi_implicit), 1, "quick, stable with dampers; rough", projects=True),
        _method("rk4", projected(rk4), 4, "accurate for smooth motion", projects=True),
        _method("midpoint", projected(solving(Midpoint)), 2, "for stiff springs and dampers", Midpoint, projects=True),
        _structured("variational", Variational, "conserves momenta and the symplectic form; long runs, large steps"),
        _structured("rattle", Rattle, "the same with springs at the ends of a step"),
        _structured("shake", Shake, "the points of rattle, velocities not projected", symmetric=False, opens=True),
        _structured("energy-momentum", EnergyMomentum, "conserves momenta and energy exactly", symplectic=False),
    )
}

RIGID = Method("moreau", with_events(projected(moreau)), 1, "impacts and friction of rigid contacts", projects=True)


def method_of_order(name: str, order: int | None, locate: bool = False) -> Method:
    """The method of that name, composed to `order` if one is given; a LinkworkError if it cannot be.

    With `locate`, contact events are located within its steps.
    """
    method = RIGID if name == RIGID.name else _locating(METHODS[name]) if locate else METHODS[name]
    if order is None or order == method.order:
        return method
    if not method.symmetric:
        able = [each.name for each in METHODS.values() if each.symmetric]
        raise LinkworkError(f"method {name!r} has order {method.order} and no other; order is for {listed(able)}")
    parts = composition(order).parts
    return replace(method, order=order, step=composed(method.step, parts), parts=parts)


def _locating(method: Method) -> Method:
    """The method that locates contact events within its steps."""
    assert method.bare
    step = with_events(method.bare, method.equations is not None, locate_contacts=True)
    return replace(method, step=step, locates=True)


def refuse_composed(mechanism: Mechanism, method: Method, guarded: bool = False) -> None:
    """Raise a LinkworkError where a composed method would step back in time through events."""
    if len(method.parts) > 1 and (what := "guards" if guarded else changing(mechanism)):
        raise LinkworkError(f"order {method.order} takes some steps back in time, which {what} cannot: leave order out")
