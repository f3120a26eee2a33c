"""The data of a run: recorded series, series derived from them, outcomes and events."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self, TypeVar, cast

import numpy as np

from linkwork import evaluation
from linkwork.errors import listed, unknown_name
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.memory_limits import refuse_beyond_memory
from linkwork.simulation.methods.method_registry import RIGID
from linkwork.simulation.results.outcomes import Event
from linkwork.simulation.series import SERIES, RunFacts, derivable, find, missing, why_absent
from linkwork.simulation.state import MemberState
from linkwork.simulation.work_ledger import summed_entries
from linkwork.spatial.scalar import Array

Value = TypeVar("Value")


@dataclass(frozen=True)
class Settings:
    """Settings of a run: method, reason for its choice (`why`), step dt [s], and the following options.

    `every` is the number of steps between samples, `duration` [s] the duration, and `rtol` and `atol` are the
    tolerances of adaptive methods.
    """

    method: str
    why: str
    dt: float | None
    every: int
    duration: float
    rtol: float | None = None
    atol: float | None = None
    stops: float | None = None  # time constant [s] of the springs at joint limits
    pushed: bool = False  # whether wrenches acted
    controlled: bool = False  # whether a controller acted
    baumgarte: float | None = None  # rate [1/s] of Baumgarte stabilization; None: steps project onto the constraints
    order: int | None = None  # order of the method; None for adaptive methods
    locate: bool = False  # whether contact events were located within steps
    clip_effort: bool = False  # whether forces of the controller were clipped to the effort limits of joints


@dataclass(frozen=True, eq=False)
class RunData:
    """The data of a run and the series derived from it; `Run` adds files, figures and the report.

    `t` (T,) [s] are the times of the samples; `recorded` maps names to series (*batch, T, ...); `final` is the state
    from which the run can be continued; `wall` is the computing time [s].
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
    again: Callable[[], Self] | None = None  # repeats the run with smaller steps; None for runs from files

    # --- series ---

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch; () for a single run."""
        return self.outcomes.shape

    @property
    def outcome(self) -> Any:
        """How the run ended: an `Outcome`; for a batch an array of them."""
        return self.outcomes if self.batch else self.outcomes[()]

    @property
    def method(self) -> str:
        """The name of the integration method."""
        return self.settings.method

    @property
    def q(self) -> Array:
        """Coordinates (..., T, nq) of the T samples: [rad] or [m], quaternions without unit."""
        return self["q"]

    @property
    def v(self) -> Array:
        """Velocities (..., T, nv) of the T samples [rad/s or m/s]."""
        return self["v"]

    @property
    def tau(self) -> Array:
        """Joint forces (..., T, nv) of the controller at the T samples [N m or N]."""
        return self["tau"]

    @property
    def energy(self) -> Array:
        """Kinetic energy plus potential energy of gravity and springs at the T samples, (..., T) [J]."""
        return self["energy"]

    @property
    def momentum(self) -> Array:
        """Linear momentum [kg m/s], then angular momentum about the centre of mass [kg m^2/s], in world axes.

        The shape is (..., T, 6) for T samples.
        """
        return self["momentum"]

    def __contains__(self, name: object) -> bool:
        return name in list(self)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of all series that were recorded or can be derived."""
        derived = derivable(self.facts, self.recorded)
        yield from dict.fromkeys(("t", *self.recorded, *derived))

    def __getitem__(self, name: str) -> Array:
        if name in self.recorded:
            return self.recorded[name]
        # the name of a registered series is replaced by its registry entry, because users can replace series later
        key = SERIES.get(name, name)
        if key not in self._known:
            self._known[key] = self._derived(name)
        return cast("Array", self._known[key])

    # --- derived series ---

    @cached_property
    def facts(self) -> RunFacts:
        """The properties of the run that determine which series it has."""
        m = self.mechanism
        return RunFacts(
            m,
            controlled=self.settings.controlled,
            memory=np.shape(self.final.memory)[-1],
            stops=self.settings.stops is not None,
            wrenches=self.settings.pushed,
            rigid=self.method == RIGID.name,
            modes=tuple(name for name in self.recorded if name in self.parameters),
            ledger_entries=summed_entries(
                m, self.parameters, np.shape(self.final.motion.ledger)[-1], self.settings.rtol is not None
            ),
            clipped=self.settings.clip_effort,
        )

    @cached_property
    def dynamics(self) -> evaluation.Dynamics:
        """The compiled dynamics of the mechanism, with the varied parameters as arguments."""
        return evaluation.compile(self.mechanism, parameters=tuple(self.parameters), check=False)

    @cached_property
    def _known(self) -> dict[object, object]:
        """Cache of derived series and of intermediate results.

        The keys are the registry entry or the name of a series, or the function that computes an intermediate result.
        """
        return {}

    def _derived(self, name: str) -> Array:
        """Return the derived series `name`, computed from recorded series; raise a LinkworkError if it cannot be
        computed.
        """
        series = find(self.facts, name)
        absent = [] if series is None else missing(self.facts, series, self.recorded)
        if series is None or series.derive is None or absent or not series.exists(self.facts):
            hint = f" It needs {', '.join(absent)}, which the run did not record: add it to `record`." if absent else ""
            if series is not None and not absent:
                hint = why_absent(self.facts, series)
            raise unknown_name("series", name, self, hint, similar=series is None)
        refuse_large_series(self, [name])
        return series.derive(self)  # type: ignore[arg-type]  # a Run

    def once(self, formula: Callable[[Self], Value]) -> Value:
        """Return an intermediate result `formula(self)`, cached for all derived series that use it."""
        if formula not in self._known:
            self._known[formula] = formula(self)
        return cast("Value", self._known[formula])

    def along_time(self) -> dict[str, Array]:
        """Return the values of all varied and switched parameters by name, along the T samples.

        The shape is (..., 1, *shape) for constant parameters, and (..., T, *shape) for switched ones, where `shape` is
        that of the parameter in the model. While a clutch slips, its parameter "engaged" is 0.
        """
        core = self.mechanism.parameters
        constant = {name: np.expand_dims(x, x.ndim - core[name].ndim) for name, x in self.parameters.items()}
        found = constant | {name: self.recorded[name] for name in constant if name in self.recorded}
        for k, item in enumerate(self.mechanism.bounded if "slip" in self.recorded else ()):
            name = f"{item.name}.engaged"  # a clutch that slips counts as released
            found[name] = found[name] * (self.recorded["slip"][..., k] == 0.0)
        return found

    def varied(self, index: tuple[int, ...]) -> Mechanism:
        """Return the mechanism with the parameter values of the batch member at `index`."""
        core = self.mechanism.parameters
        own = {name: np.broadcast_to(x, self.batch + core[name].shape)[index] for name, x in self.parameters.items()}
        return self.mechanism.varied(own) if own else self.mechanism

    def __getstate__(self) -> Mapping[str, object]:
        """Return the data to pickle: the attributes of the run, without derived series and user functions."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"again": None}

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Return a deep copy of the run; unlike a pickle, it includes the user functions."""
        return type(self)(**{field.name: deepcopy(getattr(self, field.name), memo) for field in fields(self)})

    # --- text ---

    def __repr__(self) -> str:
        many = f"{int(np.prod(self.batch))} members, " if self.batch else ""
        end = f"{self.t[-1]:g} s" if len(self.t) else "no time"
        return f"<Run of {self.mechanism.name!r}: {many}{len(self.t)} samples to {end} by {self.method}, {self.ending}>"

    @property
    def ending(self) -> str:
        """A short text that says how the batch members ended."""
        kinds = [outcome.kind for outcome in self.outcomes.flat]
        if len(kinds) == 1:
            return str(self.outcomes.flat[0])
        return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))


def refuse_large_series(run: RunData, names: Iterable[str]) -> None:
    """Raise a LinkworkError if the recorded series, and the series among `names` that must be derived, need too much
    memory.
    """
    new = [name for name in names if name not in run.recorded and SERIES.get(name, name) not in run._known]
    shapes = [series.shape(run.facts) for name in new if (series := find(run.facts, name)) is not None]
    sample = math.prod(run.batch) * sum(map(math.prod, shapes))  # size of one sample: count of floats
    there = sum(np.asarray(values).nbytes for values in (run.t, *run.recorded.values()))
    what = f"{listed(new) or 'the data'} of a run with {math.prod(run.batch)} members and {len(run.t)} samples"
    remedy = "derive fewer series at a time, or simulate with fewer samples (every=...) or fewer members"
    refuse_beyond_memory(what, there + 8.0 * len(run.t) * sample, remedy)
