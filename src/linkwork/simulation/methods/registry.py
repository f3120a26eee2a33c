"""What a method is, all methods by name, and their compositions to higher orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any, TypedDict, Unpack

from linkwork.errors import LinkworkError, listed
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.located_step import with_events
from linkwork.simulation.methods.composition import composed, composition
from linkwork.simulation.methods.method import Equations, Step, changing, solving
from linkwork.simulation.methods.projection import projected


@dataclass(frozen=True, eq=False)
class Method:
    """An integration method: its order, what it is for, and where its step is.

    `source` is a file of this package and a name in it: of the step, or of the equations that the step of an `implicit`
    method solves. It is imported when a step is first made, and a run whose code is on disk makes none. A method that
    `projects` closes loops after each step; one that is `symmetric` can be composed of substeps `parts` to higher
    orders; the velocities of one that `opens` satisfy the constraints to its order only. `locates` says whether contact
    events are located within a step.
    """

    name: str
    source: str
    order: int
    about: str
    implicit: bool = False
    projects: bool = False
    symmetric: bool = False
    symplectic: bool = False
    opens: bool = False
    parts: tuple[float, ...] = (1.0,)
    locates: bool = False

    @property
    def title(self) -> str:
        """What distinguishes it: its name, its order, and whether contact events are located."""
        return f"{self.name}, order {self.order}{', located' if self.locates else ''}"

    @cached_property
    def equations(self) -> type[Equations] | None:
        """Those that an implicit step solves."""
        return self._defined() if self.implicit else None

    @cached_property
    def step(self) -> Step:
        """Its step, through contacts and events; equations that it solves hold in its middle."""
        bare: Step = solving(self.equations) if self.equations else self._defined()
        whole = with_events(projected(bare) if self.projects else bare, self.implicit, self.locates)
        return whole if len(self.parts) == 1 else composed(whole, self.parts)

    def _defined(self) -> Any:
        file, name = self.source.split(".")
        return getattr(import_module(f"{__package__}.{file}"), name)


class Facts(TypedDict, total=False):
    """What is true of a method; see `Method`."""

    symmetric: bool
    symplectic: bool
    opens: bool


def _projecting(name: str, source: str, order: int, about: str, implicit: bool = False) -> Method:
    return Method(name, source, order, about, implicit, projects=True)


def _structured(name: str, source: str, about: str, **facts: Unpack[Facts]) -> Method:
    usual: Facts = {"symmetric": True, "symplectic": True}
    return Method(name, source, 2, about, implicit=True, **(usual | facts))


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        _projecting("semi-implicit", "semi_implicit.semi_implicit", 1, "quick, stable with dampers; rough"),
        _projecting("rk4", "runge_kutta.rk4", 4, "accurate for smooth motion"),
        _projecting("midpoint", "midpoint.Midpoint", 2, "for stiff springs and dampers", implicit=True),
        _structured(
            "variational",
            "variational.Variational",
            "conserves momenta and the symplectic form; long runs, large steps",
        ),
        _structured("rattle", "variational.Rattle", "the same with springs at the ends of a step"),
        _structured(
            "shake",
            "variational.Shake",
            "the points of rattle, velocities not projected",
            symmetric=False,
            opens=True,
        ),
        _structured(
            "energy-momentum",
            "energy_momentum.EnergyMomentum",
            "conserves momenta and energy exactly",
            symplectic=False,
        ),
    )
}

RIGID = _projecting("moreau", "moreau.moreau", 1, "impacts and friction of rigid contacts")


def method_of_order(name: str, order: int | None, locate: bool = False) -> Method:
    """The method of that name, composed to `order` if one is given; a LinkworkError if it cannot be.

    With `locate`, contact events are located within its steps.
    """
    method = RIGID if name == RIGID.name else replace(METHODS[name], locates=True) if locate else METHODS[name]
    if order is None or order == method.order:
        return method
    if not method.symmetric:
        able = [each.name for each in METHODS.values() if each.symmetric]
        raise LinkworkError(f"method {name!r} has order {method.order} and no other; order is for {listed(able)}")
    return replace(method, order=order, parts=composition(order).parts)


def refuse_composed(mechanism: Mechanism, method: Method, guarded: bool = False) -> None:
    """Raise a LinkworkError where a composed method would step back in time through events."""
    if len(method.parts) > 1 and (what := "guards" if guarded else changing(mechanism)):
        raise LinkworkError(f"order {method.order} takes some steps back in time, which {what} cannot: leave order out")
