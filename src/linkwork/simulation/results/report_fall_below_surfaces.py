"""Report check: whether a mechanism with contacts has fallen below all surfaces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from linkwork.algorithms.compliant_contact import APART
from linkwork.algorithms.contact_kinematics import ContactKinematics, contact_kinematics
from linkwork.algorithms.kinematics import kinematics, world_poses
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.model.elements.contact import Pair
from linkwork.model.elements.surface import Surface
from linkwork.model.elements.uneven_ground import Ground, HeightField
from linkwork.model.geometry import Box, Cylinder, Plane, Sphere
from linkwork.model.mechanism import WORLD, Joint, Mechanism
from linkwork.model.solids import POINTS, Solid
from linkwork.simulation.results.report_rows import WARNING, Row, member_name
from linkwork.simulation.results.run_data import RunData
from linkwork.simulation.solid_separation_bounds import solid_tables, stacked
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array
from linkwork.tolerances import TINY

MEMBERS = 64  # largest number of batch members that are examined
FREE = 6  # number of velocities of a free joint
FREELY = 0.5  # smallest acceleration of a fall, relative to gravity


def falls(run: RunData) -> Iterator[Row]:
    """Yield a report row with a warning if a free body has fallen below all surfaces that its contacts can touch.

    If no body has fallen, there is no row.
    """
    if not {"q", "v", "contact.state"} <= run.recorded.keys():
        return
    for number, index in list(enumerate(np.ndindex(run.batch)))[:MEMBERS]:
        known = np.flatnonzero(np.isfinite(run.q[index]).all(axis=-1))
        joint = _fallen(run, index, known[-2:].tolist()) if len(known) > 1 else None
        if joint is not None:
            mine = _contacts_of(run.mechanism, joint)
            touched = np.flatnonzero((run["contact.state"][index][: known[-1] + 1][:, mine] != APART).any(axis=-1))
            since = f"since {run.t[touched[-1]]:g} s" if len(touched) else "from the start"
            who = f"{member_name(run, number)}{joint.child!r}"
            note = f"{who} is below all surfaces that it can touch, without contact {since}"
            yield Row("falls", "yes", None, WARNING, note)
            return


def _fallen(run: RunData, index: tuple[int, ...], samples: Sequence[int]) -> Joint | None:
    """Return the free joint whose bodies have fallen below all surfaces that they can touch; None if there is none.
    `index` is the batch index of the member, and `samples` are the numbers of its last two samples.
    """
    m = run.varied(index)
    size = float(np.linalg.norm(m.gravity))
    if size == 0.0:
        return None
    free = [joint for joint in m.joints if joint.i == WORLD and joint.kind.nv == FREE]
    count, down = len(m.contact_pairs), np.asarray(m.gravity, dtype=float) / size
    states = run["contact.state"][index][samples[-1]][:count]
    speeds, lowered = [], np.zeros(count, dtype=bool)
    for sample in samples:
        q, v = to_tree(m, ("q", "v"), (run.q[index][sample], run.v[index][sample]))
        there, poses = contact_kinematics(m.tree, q, v)
        speeds.append(np.array([(at.pose.R @ at.velocity) @ down for at in there]))
        below = [
            _contact_is_below_surface(pair, poses, at, down) for pair, at in zip(m.contact_pairs, there, strict=True)
        ]
        lowered = np.array(below, dtype=bool)
    faster = speeds[1] - speeds[0] > FREELY * size * (run.t[samples[1]] - run.t[samples[0]])
    gone = (states == APART) & lowered & faster & (speeds[1] > 0.0)
    for joint in free:
        mine, solid = _pairs_of(m, joint), _solids_of(m, joint)
        if len(mine) and gone[mine].all() and (not solid or _solids_fallen(run, index, samples, joint, free)):
            return joint
        if not mine and _solids_fallen(run, index, samples, joint, free):
            return joint
    return None


def _solids_fallen(
    run: RunData, index: tuple[int, ...], samples: Sequence[int], root: Joint, free: Sequence[Joint]
) -> bool:
    """Return whether the solids of all bodies outboard of the free joint `root` have fallen below all other solids.
    `index` is the batch index of the member, `samples` are its last two samples, and `free` all free joints.

    Solids outboard of other free joints are ignored, because they may fall too.
    """
    m = run.varied(index)
    numbers, others = _solids_of(m, root), set().union(*(_bodies_carried_by(m, one) for one in free))
    states = run["contact.state"][index][samples[-1]][len(m.contact_pairs) :].reshape(-1, POINTS)
    if not numbers or (states[numbers] != APART).any():
        return False
    size, mine, tables = float(np.linalg.norm(m.gravity)), _bodies_carried_by(m, root), solid_tables(run.mechanism)
    down, speeds, below = np.asarray(m.gravity, dtype=float) / size, [], []
    inertia = m.bodies[root.o].inertia
    centre = np.asarray(inertia.moment, dtype=float) / max(float(inertia.mass), TINY)  # centre of mass
    for sample in samples:
        q, v = to_tree(m, ("q", "v"), (run.q[index][sample], run.v[index][sample]))
        motion = kinematics(m.tree, q, v)
        poses = world_poses(m.tree, motion.X)
        R, p = (x[0] for x in tables.place(stacked(poses)))
        twist = motion.twist[root.o]
        velocity = poses[root.o].R @ (twist.linear + np.cross(twist.angular, centre))
        speeds.append(float(velocity @ down))
        below = []
        for k in numbers:
            pair, a = m.solid_pairs[k], int(tables.bodies[k, 0] not in mine)
            if tables.bodies[k, 1 - a] not in others:
                extents = tables.extents(np.broadcast_to(down, (len(R), 3)), R)[k]
                ground = (pair.first, pair.second)[1 - a]
                below.append(_solid_is_below(ground, R[k, 1 - a], p[k, a] - p[k, 1 - a], down, extents[[a, 1 - a]]))
    faster = speeds[1] - speeds[0] > FREELY * size * (run.t[samples[1]] - run.t[samples[0]])
    return bool(below) and all(below) and faster and speeds[1] > 0.0


def _solid_is_below(ground: Solid, R: Array, apart: Array, down: Array, extents: Array) -> bool:
    """Return whether a solid that falls along `down` (3,), a unit vector in world axes, can no longer meet the solid
    `ground`.

    R (3, 3) is the rotation of the ground in the world; `apart` (3,) [m] is the vector from the centre of the ground to
    that of the falling solid, in world axes, and `extents` (2,) [m] are the extents of the falling solid and of the
    ground along `down`. Everything below a plane counts as inside it, and can still meet it.
    """
    if isinstance(ground.shape, Plane):
        return bool(R[:, 2] @ down >= 0.0 and apart @ R[:, 2] > extents[0])
    return not isinstance(ground.shape, Ground | HeightField) and bool(apart @ down > extents.sum())


def _bodies_carried_by(mechanism: Mechanism, root: Joint) -> set[int]:
    """Return the numbers of all bodies outboard of the joint `root`."""
    carried = {root.o}
    for joint in mechanism.tree.joints:
        if joint.i in carried:
            carried.add(joint.o)
    return carried


def _pairs_of(mechanism: Mechanism, root: Joint) -> list[int]:
    """Return the numbers of the contact pairs whose contacts are on bodies outboard of the joint `root`."""
    carried = _bodies_carried_by(mechanism, root)
    return [k for k, pair in enumerate(mechanism.contact_pairs) if pair.contact.at.body in carried]


def _solids_of(mechanism: Mechanism, root: Joint) -> list[int]:
    """Return the numbers of the pairs of solids in which exactly one solid is on a body outboard of the joint
    `root`.
    """
    carried = _bodies_carried_by(mechanism, root)
    bodies = [(pair.first.body in carried, pair.second.body in carried) for pair in mechanism.solid_pairs]
    return [k for k, (a, b) in enumerate(bodies) if a != b]


def _contacts_of(mechanism: Mechanism, root: Joint) -> list[int]:
    """Return the numbers, in the recorded series, of all contacts on bodies outboard of the joint `root`."""
    first, solids = len(mechanism.contact_pairs), _solids_of(mechanism, root)
    return _pairs_of(mechanism, root) + [first + POINTS * k + j for k in solids for j in range(POINTS)]


def _contact_is_below_surface(pair: Pair, poses: Sequence[Transform], at: ContactKinematics, down: Array) -> bool:
    """Return whether a contact that falls along `down` (3,), a unit vector in world axes, can no longer meet its
    surface.

    `pair` is the contact pair, `at` the kinematics of the contact, and `poses` are the world poses of all bodies.
    """
    surface, pose, shape = pair.surface, at.pose, pair.surface.shape
    point = poses[pair.contact.at.body].point(pair.contact.at.pose.p)
    if isinstance(shape, Plane):
        return bool(pose.R[:, 2] @ down >= 0.0 and (point - pose.p) @ pose.R[:, 2] > pair.contact.radius)
    half = _extent(surface, pose.R.T @ down)
    return bool((point - pose.p) @ down - pair.contact.radius > half)


def _extent(surface: Surface, along: Array) -> float:
    """Return the distance [m] that the shape of a surface extends from its origin along the unit vector `along` (3,) in
    its frame; inf if unlimited.
    """
    shape = surface.shape
    if isinstance(shape, Box):
        return float(0.5 * np.abs(along) @ np.asarray(shape.size))
    if isinstance(shape, Sphere):
        return float(shape.radius)
    if isinstance(shape, Cylinder):  # includes capsules, a subclass of cylinders
        return float(shape.radius + 0.5 * shape.length * abs(along[2]))
    return np.inf
