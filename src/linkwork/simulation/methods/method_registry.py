"""The registry of integration methods, and their composition to higher orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any, TypedDict, Unpack

from linkwork.errors import LinkworkError, listed
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.step_with_events import with_events
from linkwork.simulation.methods.constraint_projection import projected
from linkwork.simulation.methods.integration_step import Equations, Step, label_of_changing_element, solving
from linkwork.simulation.methods.step_composition import composed, composition


@dataclass(frozen=True, eq=False)
class Method:
    """An integration method: its name, order, purpose (`about`), properties, and the function that makes its steps.

    `source` is "file.name" in this package: the step function, or the equations that an `implicit` method solves. The
    source is imported at the first step; a run with a cached kernel does not import it. If `projects` is true, states
    are projected onto the constraints after each step; otherwise, the equations contain the constraints. If `symmetric`
    is true, steps can be composed to higher orders; `parts` are the lengths of the substeps as fractions of the step.
    If `opens` is true, velocities violate the constraints by an error that decreases with the step size by the order of
    the method. If `locates` is true, contact events are located within a step.
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
        """Text that distinguishes methods in kernel names: name, order, and whether contact events are located."""
        return f"{self.name}, order {self.order}{', located' if self.locates else ''}"

    @cached_property
    def equations(self) -> type[Equations] | None:
        """The class of equations that an implicit step solves; None for explicit steps."""
        return self._defined() if self.implicit else None

    @cached_property
    def step(self) -> Step:
        """The complete step function of the method, with projection, contacts, events and composition."""
        bare: Step = solving(self.equations) if self.equations else self._defined()
        whole = with_events(projected(bare) if self.projects else bare, self.implicit, self.locates)
        return whole if len(self.parts) == 1 else composed(whole, self.parts)

    def _defined(self) -> Any:
        file, name = self.source.split(".")
        return getattr(import_module(f"{__package__}.{file}"), name)


class Facts(TypedDict, total=False):
    """Properties of an integration method; the keys have the same meaning as in `Method`."""

    symmetric: bool
    symplectic: bool
    opens: bool


def _projecting(name: str, source: str, order: int, about: str, implicit: bool = False) -> Method:
    """Return a method that projects the state onto the constraints after each step."""
    return Method(name, source, order, about, implicit, projects=True)


def _structured(name: str, source: str, about: str, **facts: Unpack[Facts]) -> Method:
    """Return an implicit method of order 2 whose equations contain the constraints."""
    usual: Facts = {"symmetric": True, "symplectic": True}
    return Method(name, source, 2, about, implicit=True, **(usual | facts))


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        _projecting("semi-implicit", "semi_implicit.semi_implicit", 1, "fast, stable with dampers; low accuracy"),
        _projecting("rk4", "runge_kutta.rk4", 4, "accurate for smooth motion"),
        _projecting("midpoint", "midpoint.Midpoint", 2, "for stiff springs and dampers", implicit=True),
        _structured(
            "variational",
            "variational.Variational",
            "conserves momenta and the symplectic form; for long runs and large steps",
        ),
        _structured("rattle", "variational.Rattle", "variational, with springs evaluated at the ends of a step"),
        _structured(
            "shake",
            "variational.Shake",
            "positions of rattle, velocities not projected",
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

RIGID = _projecting("moreau", "moreau_step.moreau_step", 1, "impacts and friction of rigid contacts")


def method_of_order(name: str, order: int | None, locate: bool = False) -> Method:
    """Return the method called `name`, composed to `order`; raise a LinkworkError if it cannot be composed.

    If `locate` is true, contact events are located within the steps of the method.
    """
    method = RIGID if name == RIGID.name else replace(METHODS[name], locates=True) if locate else METHODS[name]
    if order is None or order == method.order:
        return method
    if not method.symmetric:
        able = [each.name for each in METHODS.values() if each.symmetric]
        raise LinkworkError(f"method {name!r} has only order {method.order}; other orders need {listed(able)}")
    return replace(method, order=order, parts=composition(order).parts)


def refuse_composed(mechanism: Mechanism, method: Method, guarded: bool = False) -> None:
    """Raise a LinkworkError if `method` is composed and events can occur in its steps.

    Composed methods make substeps backward in time, in which events cannot be located. `guarded` is true if the
    schedule has guards.
    """
    if len(method.parts) > 1 and (what := "guards" if guarded else label_of_changing_element(mechanism)):
        reason = f"uses substeps backward in time, which are impossible with {what}"
        raise LinkworkError(f"order={method.order} {reason}; leave out `order`")
