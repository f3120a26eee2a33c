"""Series that are computed after a run from its recorded series: energies, momenta, reactions, poses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from linkwork.model.mechanism import Mechanism
from linkwork.simulation.contact_series import DIRECTION
from linkwork.simulation.energy_balance import Stored, stored_energies
from linkwork.simulation.events.slip import slip_multipliers
from linkwork.simulation.joint_friction_rows import friction_count
from linkwork.simulation.joint_friction_series import FRICTION, regularized_friction
from linkwork.simulation.series_definition import Axis, Family, RunFacts, Series
from linkwork.simulation.state_series import WRENCH, by_velocity, drives, six, velocities
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.simulation.results.run import Run
    from linkwork.simulation.results.run_data import RunData

TWIST = Axis("twist", ("vx", "vy", "vz", "wx", "wy", "wz"))
MOMENTUM = Axis("component", ("px", "py", "pz", "lx", "ly", "lz"))
POSE = (Axis("row", ("x", "y", "z", "one")), Axis("column", ("ex", "ey", "ez", "origin")))
STATE = ("q", "v")
ENERGIES = ("energy", "energy.kinetic", "energy.gravity", "energy.springs")


# --- from q and v ---


def run_energies(run: RunData) -> Stored:
    """Return the kinetic and potential energies (*batch, T) [J] at the T samples of a run."""
    return stored_energies(run.dynamics, run.q, run.v, run.along_time())


def _energy(part: Callable[[Stored], Array]) -> Callable[[Run], Array]:
    """Return a function of a run that returns one part, such as `Stored.kinetic`, of the run's energies (*batch, T)
    [J].
    """
    return lambda run: part(run.once(run_energies))


def _momentum(run: Run) -> Array:
    return run.dynamics.momentum(run.q, run.v, parameters=run.along_time())


def _center_of_mass(run: Run) -> Array:
    return run.dynamics.center_of_mass(run.q, parameters=run.along_time())


def _passive(run: Run) -> Array:
    """Return the joint forces (*batch, T, nv) [N m or N] of springs, dampers and friction; the friction forces are
    those that the run recorded.
    """
    passive = run.dynamics.passive(run.q, run.v, parameters=run.along_time())
    if not friction_count(run.mechanism):
        return passive
    return passive - regularized_friction(run) + run.recorded[FRICTION]


def _drive_speed(run: Run) -> Array:
    """Return the motor speed (*batch, T, ndrives) [rad/s or m/s] of each drive: the joint speed times the gear
    ratio.
    """
    given, every = run.along_time(), run.mechanism.actuators
    gears = [given.get(f"{drive.name}.gear", drive.gear) for drive in every]
    return np.stack([(run.v @ drive.row) * gear for drive, gear in zip(every, gears, strict=True)], axis=-1)


def _pose(name: str) -> Series:
    """Return the series of the poses (4, 4) of a frame relative to the world; `name` is "pose." and the name of the
    frame.
    """
    frame = name.removeprefix("pose.")

    def pose(run: Run) -> Array:
        return run.dynamics.pose(run.q, frame, parameters=run.along_time())

    return Series(name, f"pose of {frame!r}", ("1", "1", "1", "m"), POSE, derive=pose, needs=STATE)


def _velocity(name: str) -> Series:
    """Return the series of the twist of a frame; `name` is "velocity." and the name of the frame."""
    frame = name.removeprefix("velocity.")

    def twist(run: Run) -> Array:
        J = run.dynamics.jacobian(run.q, frame, parameters=run.along_time())
        return (J @ run.v[..., None])[..., 0]

    return Series(name, f"twist of {frame!r}", six("m/s", "rad/s"), (TWIST,), derive=twist, needs=STATE)


def _of_frames(quantity: str) -> Callable[[RunFacts], tuple[str, ...]]:
    """Return a function that lists the names of the series of a quantity, one for each frame, such as "pose.tool"."""
    return lambda facts: tuple(f"{quantity}.{name}" for name in facts.mechanism.frames.names)


# --- from q, v and all forces of the run ---


def _acting(facts: RunFacts) -> tuple[str, ...]:
    """Return the names of the recorded series that determine the forces in a run.

    They are q, v, the friction forces of joints, and each series of external forces that the run has.
    """
    acted = {
        "tau": facts.controlled,
        "stops": facts.stops,
        "wrenches": facts.wrenches,
        "contact.wrenches": facts.mechanism.touches,
        "slip": bool(facts.mechanism.bounded),
    }
    return (*STATE, *_friction_needs(facts), *(name for name, needed in acted.items() if needed))


def _friction_needs(facts: RunFacts) -> tuple[str, ...]:
    return (FRICTION,) if friction_count(facts.mechanism) else ()


def _wrenches(run: Run) -> Array | None:
    """Return the sum (*batch, T, nbodies, 6) [N, N m] of all external wrenches on bodies; None if there are none."""
    acted = [run.recorded[name] for name in ("wrenches", "contact.wrenches") if name in run.recorded]
    return sum(acted[1:], acted[0]) if acted else None


def _joint_forces(run: Run) -> Array:
    """Return all joint forces (*batch, T, nv) [N m or N] of a run, including those of slipping clutches and brakes."""
    forces = run.once(_passive) + run.recorded.get("tau", 0.0) + run.recorded.get("stops", 0.0)
    if "slip" not in run.recorded:
        return forces
    given, pushes, m = run.along_time(), run.once(_slip_forces), run.mechanism
    tree = np.zeros((*forces.shape[:-1], m.tree.nv))
    for k, item in enumerate(m.bounded):
        keys = {key: f"{item.name}.{key}" for key in ("ratio", "direction")}
        now = replace(item, **{key: given[name] for key, name in keys.items() if name in given})
        for joint, number, factor in next(iter(now.velocity_rows)).velocities:
            tree[..., m.tree.joints[joint].v.start + number] += pushes[..., k] * factor
    return forces + tree @ m.spread


def _slip_forces(run: Run) -> Array:
    """Return the forces (*batch, T, k) [N m or N] of k clutches and brakes while they slip; 0 while they hold."""
    slip = np.moveaxis(run.recorded["slip"], -1, 0)
    return np.stack(
        [np.asarray(push) for push in slip_multipliers(run.mechanism, list(slip), run.along_time())], axis=-1
    )


def _reactions(run: Run) -> Array:
    forces, wrenches = run.once(_joint_forces), _wrenches(run)
    return run.dynamics.reactions(run.q, run.v, forces, wrenches, parameters=run.along_time())


def _constraint_forces(run: Run) -> Array:
    """Return the constraint forces (*batch, T, k) [N m or N] of clutches and other velocity constraints along a run.

    A slipping constraint transmits its capacity.
    """
    forces, wrenches, m = run.once(_joint_forces), _wrenches(run), run.mechanism
    carried = run.dynamics.carried(run.q, run.v, forces, wrenches, parameters=run.along_time())
    if "slip" not in run.recorded:
        return carried
    names, slip, pushes = _constraints(m), run.recorded["slip"], run.once(_slip_forces)
    for k, item in enumerate(m.bounded):
        number = names.index(item.name)
        carried[..., number] = np.where(slip[..., k] == 0.0, carried[..., number], pushes[..., k])
    return carried


def _constraints(mechanism: Mechanism) -> tuple[str, ...]:
    """Return, for every velocity constraint row, the name of the constraint to which the row belongs."""
    return tuple(item.name for item in mechanism.velocity_constraints for _ in item.velocity_rows)


def _constraint_axis(facts: RunFacts) -> tuple[Axis, ...]:
    return (Axis("constraint", _constraints(facts.mechanism)),)


def _joints(facts: RunFacts) -> tuple[Axis, ...]:
    return (
        Axis("joint", (*facts.mechanism.joints.names, *(one.name for one in facts.mechanism.frame_constraints))),
        WRENCH,
    )


def _has_drives(facts: RunFacts) -> bool:
    return bool(facts.mechanism.actuators)


_parts: tuple[tuple[str, Callable[[Stored], Array]], ...] = (
    ("energy", lambda stored: stored.total),
    ("kinetic energy", lambda stored: stored.kinetic),
    ("potential energy of gravity", lambda stored: stored.gravity),
    ("potential energy of springs", lambda stored: stored.elastic),
)

DERIVED_SERIES: tuple[Series | Family, ...] = (
    Series("t", "time", "s", derive=lambda run: run.t),
    *(
        Series(name, title, "J", derive=_energy(part), needs=STATE)
        for name, (title, part) in zip(ENERGIES, _parts, strict=True)
    ),
    Series(
        "momentum", "momentum about the centre of mass", six("kg m/s", "kg m^2/s"), (MOMENTUM,),
        derive=_momentum, needs=STATE,
    ),
    Series("center_of_mass", "centre of mass", "m", (DIRECTION,), derive=_center_of_mass, needs=STATE),
    Series(
        "passive", "joint forces of springs, dampers and friction", by_velocity("N m", "N"), velocities,
        derive=_passive, needs=lambda facts: (*STATE, *_friction_needs(facts)),
    ),
    Series(
        "drive.speed", "speeds of motors", "rad/s or m/s", drives,
        derive=_drive_speed, exists=_has_drives, needs=STATE,
    ),
    Series("reactions", "joint reactions", six("N", "N m"), _joints, derive=_reactions, needs=_acting),
    Series(
        "carried", "forces transmitted by clutches, brakes, gears", "N m or N", _constraint_axis,
        derive=_constraint_forces, needs=_acting,
    ),
    Family("pose.FRAME", _of_frames("pose"), _pose),
    Family("velocity.FRAME", _of_frames("velocity"), _velocity),
)  # fmt: skip
