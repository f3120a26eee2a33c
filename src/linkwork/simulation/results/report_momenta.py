"""Momentum checks of the report: the momenta that a mechanism conserves, and reasons why other momenta are not checked.

If only free joints without joint forces connect a mechanism to the world, it conserves its angular momentum about the
centre of mass. Its linear momentum then changes only by the impulse of gravity. If its contacts touch the world, the
impulse of the ground is included; see `report_ground_impulse`. Other mechanisms may have symmetries, such as rotation
about a vertical axis through an anchor, each with a conserved momentum. Drifts (changes of conserved momenta) are
relative to the sum of the momenta that the joint velocities would cause one at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from linkwork.model.mechanism import WORLD, Joint, Mechanism
from linkwork.simulation.results.report_ground_impulse import momenta_with_ground, touches_world, why_not_with_ground
from linkwork.simulation.results.report_rows import Row, checked
from linkwork.simulation.results.report_tolerances import LEAST_MOMENTUM, STATES_FOR_MOMENTUM_SCALE
from linkwork.simulation.results.run_data import RunData
from linkwork.simulation.results.series_extremes import largest_magnitude, relative
from linkwork.spatial.scalar import Array
from linkwork.tolerances import TINY

NOT_CONSERVED = "not conserved"


def momenta(run: RunData) -> Iterator[Row]:
    """Yield a report row for each conserved momentum, or one row with the reason why momentum is not checked."""
    names = "momentum", "angular momentum"
    why_not = _what_changes_momentum(run)
    if why_not:
        yield Row(names[0], NOT_CONSERVED, note=f"not checked: {why_not}", not_checked=why_not)
        yield from _of_symmetries(run)
        return
    if touches_world(run.mechanism):
        yield from momenta_with_ground(run, _weight(run), _momentum_scale(run))
        return
    momentum, scale = run.momentum, _momentum_scale(run)
    impulse = _weight(run)[..., None, :] * (run.t - run.t[0])[:, None]
    linear = momentum[..., :3] - momentum[..., :1, :3] - impulse
    angular = momentum[..., 3:] - momentum[..., :1, 3:]
    notes = (
        "largest change that gravity does not cause, relative to the sum of the joints' contributions",
        "largest change about the centre of mass, relative to the sum of the joints' contributions",
    )
    for name, drift, size, note in zip(names, (linear, angular), scale, notes, strict=True):
        found = relative(largest_magnitude(np.linalg.norm(drift, axis=-1)), size)
        yield checked(run, name, found, note)


def _of_symmetries(run: RunData) -> Iterator[Row]:
    """Yield a report row for the momentum of each symmetry of a mechanism that is connected to the world."""
    if not {"q", "v"} <= run.recorded.keys():
        return
    m = run.varied((0,) * len(run.batch))
    symmetries = m.symmetries() if _same_symmetries(run, m) else ()
    why_not = _what_pushes(run)
    if why_not or not symmetries:
        for symmetry in symmetries:
            yield Row(symmetry.momentum, NOT_CONSERVED, note=f"not checked: {why_not}", not_checked=why_not)
        return
    series = run.dynamics.momentum_maps(run.q, run.v, parameters=run.along_time(), symmetries=symmetries)
    linear, angular = _momentum_scale(run)
    for k, symmetry in enumerate(symmetries):
        turn = np.linalg.norm(symmetry.twist[3:])
        lever = largest_magnitude(np.linalg.norm(run["center_of_mass"] - symmetry.through, axis=-1))
        scale = linear * np.linalg.norm(symmetry.twist[:3]) if turn == 0.0 else (angular + lever * linear) * turn
        drift = series[..., k] - series[..., :1, k]
        found = relative(largest_magnitude(drift), scale)
        yield checked(run, symmetry.momentum, found, "largest change, relative to the sum of the joints' contributions")


def _same_symmetries(run: RunData, first: Mechanism) -> bool:
    """Return whether gravity, and the joints, loops and springs at the world, are the same in all batch members.

    `first` is the mechanism of the first member.
    """
    connections = [one for one in (*first.frame_constraints, *first.line_forces) if WORLD in (one.at.body, one.to.body)]
    roots = tuple(f"{one.name}." for one in (*(joint for joint in first.joints if joint.i == WORLD), *connections))
    return all(
        bool((x == first.parameters[name]).all())
        for name, x in run.parameters.items()
        if name == "gravity" or name.startswith(roots)
    )


# --- conditions for conservation, and the scale of the momentum ---


def _what_changes_momentum(run: RunData) -> str:
    """Return the reason why the total momentum is not conserved or cannot be checked; an empty text if it is
    conserved.
    """
    if not {"q", "v"} <= run.recorded.keys():
        return "q and v were not both recorded"
    for joint in run.mechanism.joints:
        if joint.i == WORLD and joint.kind.nv != 6:
            return f"joint {joint.name!r} connects it to the world"
        if joint.i == WORLD and _has_forces(run, joint):
            return f"joint {joint.name!r} to the world has a spring, damper, friction, limit or rotor"
    for one in (*run.mechanism.frame_constraints, *run.mechanism.line_forces):
        if WORLD in (one.at.body, one.to.body):
            return f"{one.label} connects it to the world"
    for one in run.mechanism.forces:
        return f"{one.label} may be an external force"
    at_world = {joint.name for joint in run.mechanism.joints if joint.i == WORLD}
    for one in run.mechanism.velocity_constraints:
        if at_world & {name for row in one.velocity_rows for name, _, _ in row.velocities}:
            return f"{one.label} may connect it to the world"
    return _what_pushes(run) or why_not_with_ground(run)


def _what_pushes(run: RunData) -> str:
    """Return a text that says which wrenches or controller act on the mechanism from the world; "" if there are
    none.
    """
    if run.settings.pushed:
        return "wrenches act"
    if run.settings.controlled and "tau" not in run.recorded:
        return "a controller acts, and tau was not recorded"
    if "tau" in run.recorded:
        for joint in run.mechanism.leaders:
            if joint.i == WORLD and np.nan_to_num(run.tau[..., joint.v]).any():
                return f"a controller acts on joint {joint.name!r}"
    return ""


def _has_forces(run: RunData, joint: Joint) -> bool:
    """Return whether springs, dampers, friction, stops or a rotor act in a joint to the world."""
    own = [joint.damping, joint.stiffness, joint.armature, joint.friction]
    turning = [one for one in run.mechanism.actuators if joint.name in one.joints]
    own += [
        np.asarray(run.parameters.get(f"{drive.name}.rotor_inertia", getattr(drive, "rotor_inertia", 0.0)))
        for drive in turning
    ]
    varied = [run.parameters.get(f"{joint.name}.{key}") for key in ("damping", "stiffness", "armature", "friction")]
    limited = np.isfinite(joint.lower).any() or np.isfinite(joint.upper).any()
    return bool(
        limited or run.mechanism.has_friction(joint) or any(np.any(x) for x in (*own, *varied) if x is not None)
    )


def _weight(run: RunData) -> Array:
    """Return the weight (..., 3) [N] of the mechanism, mass times gravity, for each batch member."""
    own, mass = run.mechanism.parameters, np.asarray(run.mechanism.mass)
    for name, value in run.parameters.items():
        if name.endswith(".mass"):
            mass = mass + (value - own[name])
    return np.asarray(mass)[..., None] * run.parameters.get("gravity", run.mechanism.gravity)


def _momentum_scale(run: RunData) -> tuple[Array, Array]:
    """Return the sizes (*batch,) of linear [N s] and angular [N m s] momentum to which drifts of momenta are relative.

    Each size is the sum over all velocities of the momentum that this velocity alone would cause, at the sample where
    the sum is largest. Each size is at least a small fraction of the other size, converted with the largest radius of
    gyration: linear momentum is angular momentum divided by this length.
    """
    every = max(1, math.prod(run.q.shape[:-1]) // STATES_FOR_MOMENTUM_SCALE)
    q, v = run.q[..., ::every, :], run.v[..., ::every, :]
    A = run.dynamics.momentum_matrix(q, parameters=run.along_time())
    parts = A * v[..., None, :]
    sizes = [np.linalg.norm(part, axis=-2).sum(axis=-1) for part in (parts[..., :3, :], parts[..., 3:, :])]
    linear, angular = largest_magnitude(sizes[0]), largest_magnitude(sizes[1])
    turns = np.concatenate([np.zeros(0), *(joint.kind.turns for joint in run.mechanism.leaders)]).astype(bool)
    inertia = largest_magnitude(np.linalg.norm(A[..., 3:, :], axis=-2)[..., turns].max(axis=-1, initial=0.0))
    radius = np.sqrt(inertia / np.maximum(run.mechanism.mass, TINY))
    return (
        np.maximum(linear, LEAST_MOMENTUM * angular / np.maximum(radius, TINY)),
        np.maximum(angular, LEAST_MOMENTUM * linear * radius),
    )
