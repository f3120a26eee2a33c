"""Definition of a series of a run: `Series` has name, label, shape and formula; `Sample` is the argument of the
formula.

The module `series` is the registry of all series.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from linkwork.errors import LinkworkError
from linkwork.model.batch_broadcasting import Shape
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.simulated_system import Loads, System
from linkwork.simulation.state import MemberState
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.simulation.results.run import Run

Value = TypeVar("Value")


class Axis(NamedTuple):
    """One axis of a series: the name of the axis, and the names of its entries."""

    name: str
    entries: tuple[str, ...]


class Label(NamedTuple):
    """Title of a series, its axes, and one unit for each entry of its last axis.

    Batch and time axes are not included. A scalar series has no axes and one unit.
    """

    title: str
    axes: tuple[Axis, ...]
    units: tuple[str, ...]

    @property
    def entries(self) -> tuple[str, ...]:
        """Names of the entries of the last axis; one empty name for a scalar series."""
        return self.axes[-1].entries if self.axes else ("",)

    @property
    def unit(self) -> str:
        """The units of the series as one text; each different unit appears once."""
        return ", ".join(dict.fromkeys(self.units))

    @property
    def shape(self) -> Shape:
        """The shape of one sample of the series."""
        return tuple(len(axis.entries) for axis in self.axes)


class RunFacts(NamedTuple):
    """Properties of a run that determine which series it has, and their shapes; they are known before and after the
    run.
    """

    mechanism: Mechanism
    controlled: bool = False  # whether there is a controller
    motors: bool = False  # whether the controller commands the motors of drives
    memory: int = 0  # size of the memory of the controller
    stops: bool = False  # whether springs act at joint limits
    wrenches: bool = False  # whether wrenches act on bodies
    rigid: bool = False  # whether contacts are rigid
    modes: tuple[str, ...] = ()  # parameters that are switched during the run
    ledger_entries: tuple[str, ...] = ()  # passive elements whose work the run adds up, see `work_ledger`
    clipped: bool = False  # whether forces of controllers are clipped to the effort limits of joints


class Sample:
    """One batch member at one instant, as floats or traced numbers: the argument of formulas of recorded series.

    `t` [s] is the time; `state` is the complete state of the member; `values` are its parameters and gains by name.
    Other quantities are computed on first use, so that a kernel contains only those that the recorded series need.
    """

    def __init__(
        self,
        t: Number,
        state: MemberState,
        values: Mapping[str, Array],
        system: Callable[[], System],
        motors: Callable[[MemberState], Array],
    ):
        self.t, self.state, self.values = t, state, values
        self._make_system, self._motors = system, motors
        self._known: dict[Callable[[Sample], object], object] = {}

    @property
    def q(self) -> Array:
        """Coordinates (nq,) [rad, m, quaternions] of the state."""
        return self.state.q

    @property
    def v(self) -> Array:
        """Velocities (nv,) [rad/s, m/s] of the state."""
        return self.state.v

    @cached_property
    def system(self) -> System:
        """The mechanism with the batch member's parameters, together with the forces that act on it."""
        return self._make_system()

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism with the batch member's parameters; clutches, brakes and loops are in their present modes."""
        return self.system.in_modes(self.state.motion.modes).mechanism

    @cached_property
    def loads(self) -> Loads:
        """External loads: joint forces (nv,) [N m or N] of controllers and stops, wrenches (nbodies, 6) [N, N m] on
        bodies.
        """
        return self.system.loads(self.t, self.q, self.v, self.system.clipped(self.state.control))

    @cached_property
    def commanded(self) -> Array:
        """Joint forces (nv,) [N m or N] that the controller returned, before they are clipped."""
        control, held = self.system.control, self.state.control
        return held if control is None else held + control(self.t, self.q, self.v)

    @cached_property
    def motor_forces(self) -> Array:
        """Motor forces (ndrives,) [N m or N] that the controller commands to drives."""
        return self._motors(self.state)

    def once(self, formula: Callable[[Sample], Value]) -> Value:
        """Return the intermediate result `formula(self)`, cached for all series that use it."""
        if formula not in self._known:
            self._known[formula] = formula(self)
        return self._known[formula]  # type: ignore[return-value]

    def mapped(self, change: Callable[[Array], Array]) -> Sample:
        """Return the sample with the function `change` applied to its time and to every array of its state."""
        return Sample(change(self.t), _mapped(self.state, change), self.values, self._make_system, self._motors)


def _mapped(record: Value, change: Callable[[Array], Array]) -> Value:
    """Return the nested named tuple `record` with the function `change` applied to every array."""
    if isinstance(record, tuple) and hasattr(record, "_fields"):
        return type(record)(*(_mapped(one, change) for one in record))
    return change(record)  # type: ignore[arg-type, return-value]


def always(_: RunFacts) -> bool:
    """Return True for every run: the default of `Series.exists`, for series that all runs have."""
    return True


Axes = tuple[Axis, ...] | Callable[[RunFacts], tuple[Axis, ...]]
Units = str | tuple[str, ...] | Callable[[RunFacts], tuple[str, ...]]
Needs = tuple[str, ...] | Callable[[RunFacts], tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Series:
    """Definition of a series: name, title, units, axes, and the formula that computes its samples.

    The formula is either `sample(now)` of a `Sample`, recorded during the run and compiled into its kernel, or
    `derive(run)`, computed after the run from the series that it `needs`; `derive` returns an array (*batch, T,
    *shape). `axes` give the shape of one sample and the names of all entries. `units` are the units of the entries of
    the last axis, or one unit for all entries. `needs`, `axes` and `units` may be functions of `RunFacts`.
    `exists(facts)` returns whether a run has the series.

    A series with a `sample` is recorded if the argument `record` of `simulate` names it. If `by_default` is true (it
    may be a function of `RunFacts`), the series is also recorded if `record` is omitted. If `with_state` is true, it is
    recorded whenever q and v are, because series derived from q and v depend on it.
    """

    name: str
    title: str
    units: Units = "1"
    axes: Axes = ()
    sample: Callable[[Sample], Array] | None = None
    derive: Callable[[Run], Array] | None = None
    exists: Callable[[RunFacts], bool] = always
    needs: Needs = ()
    by_default: bool | Callable[[RunFacts], bool] = False
    with_state: bool = False

    def __post_init__(self) -> None:
        if (self.sample is None) == (self.derive is None):
            raise LinkworkError(f"series {self.name!r} must have exactly one formula: sample(now) or derive(run)")

    @property
    def recorded(self) -> bool:
        """True if the series is recorded during the run, false if it is derived after the run."""
        return self.sample is not None

    def included(self, facts: RunFacts) -> bool:
        """Return whether a run described by `facts` records the series if the argument `record` of `simulate` is
        omitted.
        """
        return self.by_default(facts) if callable(self.by_default) else self.by_default

    def _axes(self, facts: RunFacts) -> tuple[Axis, ...]:
        return self.axes(facts) if callable(self.axes) else self.axes

    def shape(self, facts: RunFacts) -> Shape:
        """Return the shape of one sample of the series; it may depend on the run, described by `facts`."""
        return tuple(len(axis.entries) for axis in self._axes(facts))

    def label(self, facts: RunFacts) -> Label:
        """Return title, axes and units of the series; they may depend on the run, described by `facts`."""
        axes = self._axes(facts)
        units = self.units(facts) if callable(self.units) else self.units
        size = len(axes[-1].entries) if axes else 1
        if not isinstance(units, str) and len(units) != size:
            raise LinkworkError(f"series {self.name!r} must have one unit or {size}, one per entry; got {len(units)}")
        return Label(self.title, axes, (units,) * size if isinstance(units, str) else units)

    def needed(self, facts: RunFacts) -> tuple[str, ...]:
        """Return the names of the series from which this derived series is computed, for a run described by `facts`."""
        return self.needs(facts) if callable(self.needs) else self.needs


@dataclass(frozen=True, eq=False)
class Family:
    """Definition of several series of the same form, such as "pose.FRAME"; capitals are the variable part of the name.

    `members` returns the full names of all series of the family in a run, and `of` the series with a full name.
    `recorded` is true if the series are recorded, false if they are derived.
    """

    name: str
    members: Callable[[RunFacts], Iterable[str]]
    of: Callable[[str], Series]
    recorded: bool = False
