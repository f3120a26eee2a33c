"""What a run leaves: recorded series by name, what follows from them, and how every member ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.errors import LinkworkError, unknown_name
from linkwork.evaluation import Dynamics, compile
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.results.outcomes import Event
from linkwork.simulation.state import Carry
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from linkwork.simulation.results.report import Report

ENERGIES: tuple[str, ...] = ("energy", "energy.kinetic", "energy.gravity", "energy.springs")
FROM_STATE = (*ENERGIES, "momentum", "center_of_mass", "passive")  # what follows from q and v
FROM_FORCES = ("reactions", "carried")  # what follows from these and the forces


@dataclass(frozen=True)
class Settings:
    """How a run was made: the method and why it was chosen, its step dt [s] (None where it adapts), steps per row."""

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
    order: int | None = None  # of the method, None where its steps are its own
    locate: bool = False  # whether steps were parted where contacts switch


@dataclass(frozen=True, eq=False)
class Run:
    """A motion of a mechanism, or of a batch of them.

    `t` (T,) [s]; `run[name]` is a series (..., T, ...), where the leading `...` is the batch: "q", "v", "tau", "work"
    as recorded; "energy", "momentum", "center_of_mass", "pose.FRAME", "velocity.FRAME", "passive", "reactions" as they
    follow. "drive.force" has the forces of drives' motors, if it was asked for, "drive.speed" their speeds. A member
    that ended early has numbers until then and nan after. `outcome` is how the run ended: an `Outcome`, for a batch an
    array of them. `final` is the state in which it can be continued; `wall` the time that it took [s].
    """

    mechanism: Mechanism
    settings: Settings
    t: Array
    recorded: Mapping[str, Array]
    final: Carry
    parameters: Mapping[str, Array]
    outcomes: Array
    events: tuple[Event, ...]
    wall: float
    again: Callable[[], Run] | None = None  # the same run, finer; None of runs from files

    # --- what was recorded ---

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
        """The names of all series that the run has or that follow from what it has."""
        yield from ("t", *self.recorded)
        if {"q", "v"} <= self.recorded.keys():
            yield from FROM_STATE
            if self.mechanism.drives:
                yield "drive.speed"
            if self._knows_forces:
                yield from FROM_FORCES
            for frame in self.mechanism.frames:
                yield from (f"pose.{frame.name}", f"velocity.{frame.name}")

    def __getitem__(self, name: str) -> Array:
        if name == "t":
            return self.t
        if name in self.recorded:
            return self.recorded[name]
        if name not in list(self):
            lacking = [one for one in ("q", "v") if one not in self.recorded]
            raise unknown_name("series", name, self, f" {', '.join(lacking)} was not recorded." if lacking else "")
        return self._derived(name)

    # --- what follows ---

    @property
    def _knows_forces(self) -> bool:
        """Whether everything that acted on the mechanism was recorded."""
        pushes = "wrenches" in self.recorded or not self.settings.pushed
        pushes = pushes and ("contact.wrenches" in self.recorded or not self.mechanism.touches)
        return pushes and ("stops" in self.recorded or self.settings.stops is None)

    @cached_property
    def dynamics(self) -> Dynamics:
        """The dynamics of the mechanism, for members with parameters of their own."""
        return compile(self.mechanism, parameters=tuple(self.parameters), check=False)

    def _derived(self, name: str) -> Array:
        kept = self.__dict__.setdefault("_kept", {})
        if name not in kept:
            kept[name] = self._computed(name)
        return kept[name]

    def _computed(self, name: str) -> Array:
        d, q, v = self.dynamics, self.q, self.v
        given = self.along_time()
        if name in ENERGIES:
            return self._energies(given)[name]
        if name in FROM_FORCES:
            acted = [self.recorded[one] for one in ("wrenches", "contact.wrenches") if one in self.recorded]
            wrenches = sum(acted[1:], acted[0]) if acted else None
            found = getattr(d, name)(q, v, self._all_forces(), wrenches, parameters=given)
            return found if name != "carried" or "slip" not in self.recorded else self._with_slip(found)
        if name.startswith("pose."):
            return d.pose(q, name.removeprefix("pose."), parameters=given)
        if name.startswith("velocity."):
            J = d.jacobian(q, name.removeprefix("velocity."), parameters=given)
            return (J @ v[..., None])[..., 0]
        if name == "drive.speed":
            gears = [given.get(f"{drive.name}.gear", drive.gear) for drive in self.mechanism.drives]
            speeds = [(v @ drive.row) * gear for drive, gear in zip(self.mechanism.drives, gears, strict=True)]
            return np.stack(speeds, axis=-1)
        if name == "center_of_mass":
            return d.center_of_mass(q, parameters=given)
        return getattr(d, name)(q, v, parameters=given)

    def _with_slip(self, carried: Array) -> Array:
        """What clutches and brakes carry, those that slip as much as they can."""
        m, slip = self.mechanism, self.recorded["slip"]
        names, pushes = [item.name for item in m.holders for _ in item.ties], self._slip_pushes()
        for k, item in enumerate(m.slippers):
            number = names.index(item.name)
            carried[..., number] = np.where(slip[..., k] == 0.0, carried[..., number], pushes[..., k])
        return carried

    def _energies(self, given: dict[str, Array]) -> dict[str, Array]:
        kinetic, gravity = self.dynamics.energy(self.q, self.v, parameters=given)
        springs = self.dynamics.spring_energy(self.q, parameters=given)
        found = dict(zip(ENERGIES, (kinetic + gravity + springs, kinetic, gravity, springs), strict=True))
        self.__dict__.setdefault("_kept", {}).update(found)
        return found

    def _all_forces(self) -> Array:
        """Joint forces of controllers, of the joints' springs, dampers and friction, and of their stops."""
        forces = self["passive"] + self.recorded.get("tau", 0.0) + self.recorded.get("stops", 0.0)
        if "slip" not in self.recorded:
            return forces
        given, pushes = self.along_time(), self._slip_pushes()
        m = self.mechanism
        tree = np.zeros((*forces.shape[:-1], m.tree.nv))
        for k, item in enumerate(m.slippers):
            keys = {key: f"{item.name}.{key}" for key in ("ratio", "direction")}
            now = replace(item, **{key: given[name] for key, name in keys.items() if name in given})
            for joint, number, factor in next(iter(now.ties)).velocities:
                tree[..., m.tree.joints[joint].v.start + number] += pushes[..., k] * factor
        return forces + tree @ m.spread

    def _slip_pushes(self) -> Array:
        """What holders that slip push [N m or N], (..., T, k) of those that can slip."""
        from linkwork.simulation.events.slip import slip_pushes

        slip = list(np.moveaxis(self.recorded["slip"], -1, 0))
        pushes = slip_pushes(self.mechanism, slip, self.along_time())
        return np.stack([np.asarray(push) for push in pushes], axis=-1)

    def along_time(self) -> dict[str, Array]:
        """Parameters (..., 1, shape), the same at all times, or (..., T, shape) where they were switched."""
        core = self.mechanism.parameters
        constant = {name: np.expand_dims(x, x.ndim - core[name].ndim) for name, x in self.parameters.items()}
        found = constant | {name: self.recorded[name] for name in constant if name in self.recorded}
        for k, item in enumerate(self.mechanism.slippers if "slip" in self.recorded else ()):
            name = f"{item.name}.engaged"  # what slips holds nothing
            found[name] = found[name] * (self.recorded["slip"][..., k] == 0.0)
        return found

    def varied(self, index: tuple[int, ...]) -> Mechanism:
        """The mechanism of one member, with its parameters."""
        core = self.mechanism.parameters
        own = {name: np.broadcast_to(x, self.batch + core[name].shape)[index] for name, x in self.parameters.items()}
        return self.mechanism.varied(own) if own else self.mechanism

    # --- what is made of it ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a file that ends in .npz or .nc (netCDF), whole or not at all; `lw.open_run` reads it."""
        from linkwork.simulation.results.run_files import save_run

        save_run(self, path)

    def to_xarray(self, *series: str) -> xarray.Dataset:
        """The named series as an xarray.Dataset, with names for entries and units; without names, all recorded ones."""
        from linkwork.simulation.results.datasets import to_xarray

        return to_xarray(self, series)

    def plot(self, *series: str, path: str | os.PathLike[str] | None = None) -> Figure:
        """A matplotlib Figure of the named series, by default positions, velocities, joint forces and energies.

        `path` saves it as .png, .svg or .pdf. Of a batch it shows medians, bands with nine tenths of the members, and
        a few members. A figure belongs to nobody else: no state of pyplot is touched.
        """
        from linkwork.simulation.results.figures import plot_run

        return plot_run(self, series, path)

    def draw(self, at: float | Sequence[float] = (), path: str | os.PathLike[str] | None = None) -> Figure:
        """A matplotlib Figure of the mechanism at times `at` [s], by default at start and end; all but the last faint.

        Dashed curves are the ways of its frames. `path` saves it as .png, .svg or .pdf; `lw.draw` says what is drawn.
        """
        from linkwork.simulation.results.drawing import draw_run

        return draw_run(self, at, path)

    def report(self, compare: bool = False, structure: bool = False) -> Report:
        """How far the run can be trusted: `print` it, or see `.passed`.

        With `compare` it is run again with half the step, or tighter tolerances, and the error of its states estimated.
        With `structure` the derivative of some steps is taken, and how far they are from keeping the symplectic form.
        """
        from linkwork.simulation.results.report import report

        return report(self, compare, structure)

    def __getstate__(self) -> dict[str, Any]:
        """For copies in other processes: without what can be had anew, and without users' functions."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"again": None}

    # --- how it shows itself ---

    def __repr__(self) -> str:
        many = f"{int(np.prod(self.batch))} members, " if self.batch else ""
        end = f"{self.t[-1]:g} s" if len(self.t) else "no time"
        return f"<Run of {self.mechanism.name!r}: {many}{len(self.t)} rows to {end} by {self.method}, {self.ending}>"

    @property
    def ending(self) -> str:
        """How the members ended, in a few words."""
        kinds = [outcome.kind for outcome in self.outcomes.flat]
        if len(kinds) == 1:
            return str(self.outcomes.flat[0])
        return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))

    def check(self) -> Run:
        """The run itself, or a LinkworkError if a member neither finished nor met its event."""
        bad = [outcome for outcome in self.outcomes.flat if outcome.kind not in ("finished", "event")]
        if bad:
            raise LinkworkError(f"{len(bad)} of {self.outcomes.size} members did not finish; the first: {bad[0]}")
        return self


def open_run(path: str | os.PathLike[str]) -> Run:
    """The run that `run.save(path)` wrote: its series, what follows from them, and the state to continue from."""
    from linkwork.simulation.results.run_files import read_run  # importing linkwork is quicker without it

    return read_run(path)
