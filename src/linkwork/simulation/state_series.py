"""Recorded series of a member's state and loads: coordinates, velocities, forces, work, iterations."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from linkwork.model.mechanism import Joint, Mechanism
from linkwork.simulation.loop_friction import loop_sites
from linkwork.simulation.series_definition import Axis, Family, RunFacts, Sample, Series
from linkwork.simulation.slip_groups import slip_groups
from linkwork.spatial.scalar import Array

WRENCH = Axis("wrench", ("fx", "fy", "fz", "tx", "ty", "tz"))


def six(linear: str, angular: str) -> tuple[str, ...]:
    """Return the six units of a twist, wrench or momentum: the unit `linear` three times, then `angular` three
    times.
    """
    return (linear,) * 3 + (angular,) * 3


def coordinate_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the names of all coordinates (nq,): joint names, with suffixes such as ".qw" for joints with several
    coordinates.
    """
    return _of_joints(mechanism, lambda j: (_full(j, name) for name, _ in j.kind.coordinates))


def velocity_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the names of all velocities (nv,): joint names, with suffixes such as ".wx" for joints with several
    velocities.
    """
    return _of_joints(mechanism, lambda j: (_full(j, name) for name in j.kind.velocities))


def friction_names(mechanism: Mechanism) -> list[str]:
    """Return the name of each velocity with friction: the name of its joint, with a suffix such as ".wx" if the joint
    has several velocities.

    Velocities that share one friction limit have the name of their joint without a suffix.
    """
    names = velocity_names(mechanism)
    of_loops = [
        site.name if site.size == 1 else f"{site.name}.{d}" for site in loop_sites(mechanism) for d in range(site.size)
    ]
    found = [*(names[k] for k in mechanism.friction_velocities), *of_loops]
    for one in slip_groups(mechanism):
        for k in one.rows:
            found[k] = one.name
    return found


def _of_joints(mechanism: Mechanism, entries: Callable[[Joint], Iterable[str]]) -> tuple[str, ...]:
    """Return one tuple of all texts that `entries` returns for the independent joints, joint by joint."""
    return tuple(text for joint in mechanism.leaders for text in entries(joint))


def _full(joint: Joint, name: str) -> str:
    """Return the name of a joint, followed by a dot and `name` if `name` is not empty."""
    return f"{joint.name}.{name}" if name else joint.name


def coordinates(facts: RunFacts) -> tuple[Axis, ...]:
    """Return the axis of a series with one entry per coordinate (nq,), as a tuple of one `Axis`."""
    return (Axis("coordinate", coordinate_names(facts.mechanism)),)


def velocities(facts: RunFacts) -> tuple[Axis, ...]:
    """Return the axis of a series with one entry per velocity (nv,), as a tuple of one `Axis`."""
    return (Axis("velocity", velocity_names(facts.mechanism)),)


def by_velocity(turning: str, sliding: str) -> Callable[[RunFacts], tuple[str, ...]]:
    """Return a function of `RunFacts` that returns the units (nv,) of a series with one entry per velocity.

    The unit is `turning` for rotational velocities and `sliding` for translational ones.
    """
    return lambda facts: _of_joints(facts.mechanism, lambda j: (turning if turn else sliding for turn in j.kind.turns))


def bodies(facts: RunFacts) -> tuple[Axis, ...]:
    """Return the two axes of a series of wrenches: bodies (without the world), and the six components."""
    return (Axis("body", facts.mechanism.bodies.names[1:]), WRENCH)


def drives(facts: RunFacts) -> tuple[Axis, ...]:
    """Return the axis of a series with one entry per drive (ndrives,), as a tuple of one `Axis`."""
    return (Axis("drive", facts.mechanism.actuators.names),)


def _coordinate_units(facts: RunFacts) -> tuple[str, ...]:
    """Return the units of all coordinates (nq,)."""
    return _of_joints(facts.mechanism, lambda j: (unit for _, unit in j.kind.coordinates))


def _memory(facts: RunFacts) -> tuple[Axis, ...]:
    return (Axis("memory_0", tuple(map(str, range(facts.memory)))),)


def _slipping(facts: RunFacts) -> tuple[Axis, ...]:
    return (Axis("slipping", tuple(item.name for item in facts.mechanism.bounded)),)


def _slip(now: Sample) -> Array:
    return now.state.motion.slip[: len(now.mechanism.bounded)]


def _can_slip(facts: RunFacts) -> bool:
    return bool(facts.mechanism.bounded)


def _wrenches(now: Sample) -> Array:
    assert now.loads.wrenches is not None
    return now.loads.wrenches


def _mode(name: str) -> Series:
    """Return the recorded series of the switchable parameter `name`."""

    def mode(now: Sample) -> Array:
        return now.state.motion.modes[now.system.modes.index(name)]

    return Series(name, name, sample=mode, by_default=True, with_state=True)


STATE_SERIES: tuple[Series | Family, ...] = (
    Series("q", "positions", _coordinate_units, coordinates, lambda now: now.q, by_default=True),
    Series("v", "velocities", by_velocity("rad/s", "m/s"), velocities, lambda now: now.v, by_default=True),
    Series("work", "work of non-conservative forces", "J", sample=lambda now: now.state.motion.work, by_default=True),
    Series("iterations", "iterations of the last step", sample=lambda now: now.state.motion.solver.iterations),
    Series(
        "tau", "joint forces of controllers", by_velocity("N m", "N"), velocities,
        lambda now: now.loads.control, exists=lambda facts: facts.controlled, by_default=True,
    ),
    Series(
        "tau.commanded", "joint forces of controllers before clipping", by_velocity("N m", "N"), velocities,
        lambda now: now.commanded, exists=lambda facts: facts.clipped, by_default=True,
    ),
    Series(
        "drive.force", "motor forces", "N m or N", drives,
        lambda now: now.motor_forces, exists=lambda facts: facts.motors,
    ),
    Series(
        "memory", "memory of the controller", "1", _memory,
        lambda now: now.state.memory, exists=lambda facts: facts.memory > 0, by_default=True,
    ),
    Series(
        "stops", "joint forces at limits", by_velocity("N m", "N"), velocities,
        lambda now: now.loads.stops, exists=lambda facts: facts.stops,
    ),
    Family("MODE", lambda facts: facts.modes, _mode, recorded=True),
    Series(
        "slip", "slip directions of clutches and brakes", "1", _slipping,
        _slip, exists=_can_slip, by_default=True, with_state=True,
    ),
)  # fmt: skip

# Registered after the contact series, so that the order of series in runs does not change
LOAD_SERIES: tuple[Series, ...] = (
    Series(
        "wrenches", "wrenches on bodies", six("N", "N m"), bodies,
        _wrenches, exists=lambda facts: facts.wrenches,
    ),
)  # fmt: skip
