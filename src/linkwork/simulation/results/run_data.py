"""What a run holds: recorded series by name, series derived from them, and how every member ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self, TypeVar, cast

import numpy as np

from linkwork import evaluation
from linkwork.errors import unknown_name
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.methods.registry import RIGID
from linkwork.simulation.results.outcomes import Event
from linkwork.simulation.series import SERIES, RunFacts, derivable, find, lacking
from linkwork.simulation.state import MemberState
from linkwork.spatial.scalar import Array

Value = TypeVar("Value")


@dataclass(frozen=True)
class Settings:
    """How a run was made: the method and why it was chosen, its step dt [s], and the steps from sample to sample."""

    method: str
    why: str
    dt: float | None
    every: int
    duration: float
    rtol: float | None = None
    atol: float | None = None
    stops: float | None = None  # time constant of the joints' stops [s]
    pushed: bool = False  # whether wrenches acted
    controlled: bool = False  # whether a controller did
    baumgarte: float | None = None  # rate [1/s] at which loops were pulled closed, where they were not closed by steps
    order: int | None = None  # of the method, None where it chooses its own steps
    locate: bool = False  # whether changes of contact states were located within steps


@dataclass(frozen=True, eq=False)
class RunData:
    """What a run holds, and everything that follows from it; `Run` adds files, figures and the report.

    `t` (T,) [s]; `recorded` has series (*batch, T, ...) by name; `final` is the state from which the run is continued;
    `wall` is the time that it took [s].
    """

    mechanism: Mechanism
    settings: Settings
    t: Array
    recorded: Mapping[str, Array]
    final: MemberState
    parameters: Mapping[str, Array]
    outcomes: Array
    events: tuple[Event, ...]
    wall: float
    again: Callable[[], Self] | None = None  # the same run with smaller steps; None for runs from files

    # --- series ---

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch, () of a single run."""
        return self.outcomes.shape

    @property
    def outcome(self) -> Any:
        """How the run ended: an `Outcome`, for a batch an array of them."""
        return self.outcomes if self.batch else self.outcomes[()]

    @property
    def method(self) -> str:
        """The method that was used."""
        return self.settings.method

    @property
    def q(self) -> Array:
        """Coordinates (..., T, nq) [rad, m, quaternions]."""
        return self["q"]

    @property
    def v(self) -> Array:
        """Velocities (..., T, nv) [rad/s, m/s]."""
        return self["v"]

    @property
    def tau(self) -> Array:
        """Joint forces of controllers (..., T, nv) [N m, N]."""
        return self["tau"]

    @property
    def energy(self) -> Array:
        """Energy (..., T) [J]: kinetic, of gravity, and of springs."""
        return self["energy"]

    @property
    def momentum(self) -> Array:
        """Momentum (..., T, 6) about the centre of mass, world axes: [kg m/s] and [kg m^2/s]."""
        return self["momentum"]

    def __contains__(self, name: object) -> bool:
        return name in list(self)

    def __iter__(self) -> Iterator[str]:
        """The names of all series that were recorded or that follow from these."""
        derived = derivable(self.facts, self.recorded)
        yield from dict.fromkeys(("t", *self.recorded, *derived))

    def __getitem__(self, name: str) -> Array:
        if name in self.recorded:
            return self.recorded[name]
        key = SERIES.get(name, name)  # the entry, so that a series registered anew is computed anew
        if key not in self._known:
            self._known[key] = self._derived(name)
        return cast("Array", self._known[key])

    # --- derived series ---

    @cached_property
    def facts(self) -> RunFacts:
        """What decides which series the run has."""
        return RunFacts(
            self.mechanism,
            controlled=self.settings.controlled,
            memory=np.shape(self.final.memory)[-1],
            stops=self.settings.stops is not None,
            wrenches=self.settings.pushed,
            rigid=self.method == RIGID.name,
            modes=tuple(name for name in self.recorded if name in self.parameters),
        )

    @cached_property
    def dynamics(self) -> evaluation.Dynamics:
        """The dynamics of the mechanism, for members with parameters of their own."""
        return evaluation.compile(self.mechanism, parameters=tuple(self.parameters), check=False)

    @cached_property
    def _known(self) -> dict[object, object]:
        """Derived series by their entry or name, and what they share by the function that computes it."""
        return {}

    def _derived(self, name: str) -> Array:
        series = find(self.facts, name)
        absent = [] if series is None else lacking(self.facts, series, self.recorded)
        if series is None or series.derive is None or absent or not series.exists(self.facts):
            hint = f" It needs {', '.join(absent)}, which the run did not record." if absent else ""
            raise unknown_name("series", name, self, hint)
        return series.derive(self)  # type: ignore[arg-type]  # a Run

    def once(self, formula: Callable[[Self], Value]) -> Value:
        """`formula(self)`, computed once for all derived series that share it."""
        if formula not in self._known:
            self._known[formula] = formula(self)
        return cast("Value", self._known[formula])

    def along_time(self) -> dict[str, Array]:
        """Parameters (..., 1, shape), the same at all times, or (..., T, shape) where they were switched."""
        core = self.mechanism.parameters
        constant = {name: np.expand_dims(x, x.ndim - core[name].ndim) for name, x in self.parameters.items()}
        found = constant | {name: self.recorded[name] for name in constant if name in self.recorded}
        for k, item in enumerate(self.mechanism.bounded if "slip" in self.recorded else ()):
            name = f"{item.name}.engaged"  # a clutch that slips does not hold
            found[name] = found[name] * (self.recorded["slip"][..., k] == 0.0)
        return found

    def varied(self, index: tuple[int, ...]) -> Mechanism:
        """The mechanism of one member, with its parameters."""
        core = self.mechanism.parameters
        own = {name: np.broadcast_to(x, self.batch + core[name].shape)[index] for name, x in self.parameters.items()}
        return self.mechanism.varied(own) if own else self.mechanism

    def __getstate__(self) -> Mapping[str, object]:
        """What is copied and pickled: the fields, without derived series and users' functions."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"again": None}

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """A copy in this process, which keeps users' functions."""
        return type(self)(**{field.name: deepcopy(getattr(self, field.name), memo) for field in fields(self)})

    # --- text ---

    def __repr__(self) -> str:
        many = f"{int(np.prod(self.batch))} members, " if self.batch else ""
        end = f"{self.t[-1]:g} s" if len(self.t) else "no time"
        return f"<Run of {self.mechanism.name!r}: {many}{len(self.t)} samples to {end} by {self.method}, {self.ending}>"

    @property
    def ending(self) -> str:
        """How the members ended, in a few words."""
        kinds = [outcome.kind for outcome in self.outcomes.flat]
        if len(kinds) == 1:
            return str(self.outcomes.flat[0])
        return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
