"""What a series of a run is: its name, label, shape and formula. `series` is the registry of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from linkwork.errors import LinkworkError
from linkwork.model.broadcast import Shape
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.state import MemberState
from linkwork.simulation.system import Loads, System
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.simulation.results.run import Run

Value = TypeVar("Value")


class Axis(NamedTuple):
    """An axis of a series: what it runs over, and the name of every entry."""

    name: str
    entries: tuple[str, ...]


class Label(NamedTuple):
    """What a series is: its title, its axes after the batch's and time, and the unit of every entry of the last one.

    A series of single numbers has no axes and one unit.
    """

    title: str
    axes: tuple[Axis, ...]
    units: tuple[str, ...]

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the last axis's entries; one empty name for single numbers."""
        return self.axes[-1].entries if self.axes else ("",)

    @property
    def unit(self) -> str:
        """All units that occur, in order."""
        return ", ".join(dict.fromkeys(self.units))

    @property
    def shape(self) -> Shape:
        """The shape of one sample."""
        return tuple(len(axis.entries) for axis in self.axes)


class RunFacts(NamedTuple):
    """What decides which series a run has, and their shapes. A problem knows it before the run, a run after it."""

    mechanism: Mechanism
    controlled: bool = False  # whether a controller gives joint forces
    motors: bool = False  # whether the controller commands the motors of drives
    memory: int = 0  # how many numbers the controller remembers
    stops: bool = False  # whether stops act at joint limits
    wrenches: bool = False  # whether wrenches act on bodies
    rigid: bool = False  # whether contacts are rigid
    modes: tuple[str, ...] = ()  # parameters that are switched during the run


class Sample:
    """One member of a run at one instant: what the formula of a recorded series may use. One state, any numbers.

    `t` [s]; `state` is all of the member's state; `values` are its parameters and the gains of users' functions, by
    name. The rest is computed on first use, so that a kernel contains only what is recorded.
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
        """Coordinates (nq,) [rad, m, quaternions]."""
        return self.state.q

    @property
    def v(self) -> Array:
        """Velocities (nv,) [rad/s, m/s]."""
        return self.state.v

    @cached_property
    def system(self) -> System:
        """The mechanism with the member's parameters, and what acts on it."""
        return self._make_system()

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism with the member's parameters, its clutches, brakes and loops as they are switched now."""
        return self.system.in_modes(self.state.motion.modes).mechanism

    @cached_property
    def loads(self) -> Loads:
        """Joint forces (nv,) of controllers and of stops [N m or N], and wrenches (nbodies, 6) [N, N m] on bodies."""
        return self.system.loads(self.t, self.q, self.v, self.state.control)

    @cached_property
    def motor_forces(self) -> Array:
        """Forces (ndrives,) [N m or N] of the motors of drives."""
        return self._motors(self.state)

    def once(self, formula: Callable[[Sample], Value]) -> Value:
        """`formula(self)`, computed once for all series that share it."""
        if formula not in self._known:
            self._known[formula] = formula(self)
        return self._known[formula]  # type: ignore[return-value]

    def mapped(self, change: Callable[[Array], Array]) -> Sample:
        """The same sample with every array of its state changed."""
        return Sample(change(self.t), _mapped(self.state, change), self.values, self._make_system, self._motors)


def _mapped(record: Value, change: Callable[[Array], Array]) -> Value:
    """A named tuple, or nested ones, with every array changed."""
    if isinstance(record, tuple) and hasattr(record, "_fields"):
        return type(record)(*(_mapped(one, change) for one in record))
    return change(record)  # type: ignore[arg-type, return-value]


def always(_: RunFacts) -> bool:
    """Every run has it."""
    return True


Axes = tuple[Axis, ...] | Callable[[RunFacts], tuple[Axis, ...]]
Units = str | tuple[str, ...] | Callable[[RunFacts], tuple[str, ...]]
Needs = tuple[str, ...] | Callable[[RunFacts], tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Series:
    """A series of a run, all that linkwork knows of it.

    Its formula is either `sample(now)` of a `Sample`, recorded during the run and traced into its kernel, or
    `derive(run)`, computed after the run from series that it `needs`, which returns (*batch, T, *shape). `axes` give
    the shape of one sample and name all entries; `units` are those of the last axis's entries, or one for all. These
    three may be functions of `RunFacts`. `exists` says which runs have it. A series with a `sample` is recorded where
    `record` names it, and if `by_default` also where `record` is left out; one `with_state` whenever q and v are, since
    what follows from these depends on it.
    """

    name: str
    title: str
    units: Units = "1"
    axes: Axes = ()
    sample: Callable[[Sample], Array] | None = None
    derive: Callable[[Run], Array] | None = None
    exists: Callable[[RunFacts], bool] = always
    needs: Needs = ()
    by_default: bool = False
    with_state: bool = False

    def __post_init__(self) -> None:
        if (self.sample is None) == (self.derive is None):
            raise LinkworkError(f"series {self.name!r} needs one formula: sample(now) to record it, or derive(run)")

    @property
    def recorded(self) -> bool:
        """Whether it is recorded, not derived."""
        return self.sample is not None

    def _axes(self, facts: RunFacts) -> tuple[Axis, ...]:
        return self.axes(facts) if callable(self.axes) else self.axes

    def shape(self, facts: RunFacts) -> Shape:
        """The shape of one sample in a run."""
        return tuple(len(axis.entries) for axis in self._axes(facts))

    def label(self, facts: RunFacts) -> Label:
        """Its title, axes and units in a run."""
        axes = self._axes(facts)
        units = self.units(facts) if callable(self.units) else self.units
        size = len(axes[-1].entries) if axes else 1
        if not isinstance(units, str) and len(units) != size:
            raise LinkworkError(f"series {self.name!r} has {len(units)} units, and {size} entries in its last axis")
        return Label(self.title, axes, (units,) * size if isinstance(units, str) else units)

    def needed(self, facts: RunFacts) -> tuple[str, ...]:
        """The names of the series that it is derived from."""
        return self.needs(facts) if callable(self.needs) else self.needs


@dataclass(frozen=True, eq=False)
class Family:
    """Series of one form: `name` has the part that differs in capitals, such as "pose.FRAME".

    `members` gives their full names in a run, `of` the series of a full name, and `recorded` says whether they are
    recorded or derived.
    """

    name: str
    members: Callable[[RunFacts], Iterable[str]]
    of: Callable[[str], Series]
    recorded: bool = False
