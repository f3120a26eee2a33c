"""Balance on standing legs: a base is led to its target by torques in its legs (S4 chapter 4).

The law works in the space of the base: the dynamics of base and legs there (Algorithms 4.1 to 4.3), the acceleration
that the errors ask for and the wrench that gives it (4.4), its division among the feet (4.5), and joint torques by the
legs' Jacobians transposed (4.6).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.joint_forces import passive
from linkwork.algorithms.kinematics import Kinematics
from linkwork.control.distribution import least_norm, within_cones
from linkwork.control.plant import Controller, controller, gains, limiter
from linkwork.control.stance import POINT, Stance, seen, stance
from linkwork.control.standing import judged, stands, upwards
from linkwork.control.target import base_target
from linkwork.control.tracking import tracking
from linkwork.control.workspace import Workspace, big_base, exact
from linkwork.errors import LinkworkError, ShapeError, unknown_name
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Force, Transform
from linkwork.spatial.rotation import product, quaternion_from_matrix
from linkwork.spatial.scalar import Array, Number, cross

DYNAMICS = ("big base", "exact")
Divided = Callable[[Array, list[Transform], list[list[Number]]], list[Array]]


class Balance(NamedTuple):
    """What the law finds on its way; wrenches and accelerations are about the base's origin in its frame.

    `error` (7,) is the base's place less the target's [m] in the world, and the quaternion from target to base;
    `workspace` are P (6, 6) and z (6,); `wanted` (6,) [m/s^2, rad/s^2] is the acceleration asked for, `wrench` (6,)
    [N, N m] what gives it, `feet` (k, 6) [N, N m] the ground's wrenches on the feet, in their frames, and `tau` (nv,)
    [N m, N] the joint forces before limits.
    """

    error: Array
    workspace: Workspace
    wanted: Array
    wrench: Array
    feet: Array
    tau: Array


def balance(
    m: Mechanism,
    feet: Any,
    target: Any,
    kp: Any,
    kd: Any,
    *,
    dynamics: str = "big base",
    friction: float | None = None,
    standing: Any = None,
    point_feet: bool = False,
    others: Controller | None = None,
    limit: Any = None,
) -> Controller:
    """A floating base led to its target by legs whose `feet`, frames or bodies, are on the ground (S4 chapter 4).

    The base's origin accelerates by a_target + kd (v_target - v) + kp (target - p), and it turns by the quaternion law
    (4.24), with kp on the vector part of the error's quaternion. `kp` [1/s^2] and `kd` [1/s] are one number or six,
    linear before angular, in the world's axes. `target` is coordinates (7,) as a free joint has them, a `Reference` of
    such, or a function of t that returns them with a rate (6,) and an acceleration (6,) in the world's axes.

    `dynamics` "big base" is the paper's approximation: feet are 1e6 times as heavy as the base; "exact" holds them by
    multipliers. The wrench is divided among the feet by least norm, in their frames; with a coefficient of `friction`
    among the points of their contacts, so that none pulls or would slip on level ground. All feet stand, unless
    `standing` judges: "contacts" by the mechanism's contacts, a height [m] by which points are below it, a function of
    (t, q, v) by an answer for each foot. `point_feet` take forces alone; their legs need three joints, not six.

    `others` is a law for joints in no leg, or in legs that do not stand; its forces are counted, and it is zero if it
    is not given. `limit` [N m, N] keeps joint forces within both signs of it. Springs and dampers of the legs' joints
    are compensated. The law's attribute `stages` is the same function of (t, q, v) with all it finds, a `Balance`.
    """
    if dynamics not in DYNAMICS:
        raise unknown_name("kind of workspace dynamics", dynamics, DYNAMICS)
    on_legs = stance(m, feet, point_feet)
    base, judge, divide = on_legs.base, judged(on_legs, standing), _divided(on_legs, friction)
    wanted, stiffness, damping = base_target(target), gains("kp", kp, 6), gains("kd", kd, 6)
    limited, placed = limiter(limit, m.nv), quaternion_from_matrix(base.place.R)

    def stages(t: Any, q: Any, v: Any) -> Balance:
        q, v = np.asarray(q), np.asarray(v)
        now = seen(m, q, v)
        touching = judge(t, now)
        on = [stands(points) for points in touching]
        share, springs = _share(on_legs, on), passive(m, q, v)
        given = np.zeros(m.nv) if others is None else _sized(others(t, q, v), m.nv)
        known = (given + springs) * (1.0 - share)
        space = (exact if dynamics == "exact" else big_base)(on_legs, now, known, on)
        turn = product(placed, q[base.q][3:])
        asked = tracking(now.poses[base.o], turn, now.motion.twist[base.o], wanted(t), stiffness, damping)
        wrench = space.P @ asked.acceleration + space.z  # (4.3)
        on_feet = divide(wrench, now.poses, touching)
        tau = (leg_torques(on_legs, now.motion, on_feet) - springs) * share + given * (1.0 - share)
        return Balance(asked.error, space, asked.acceleration, wrench, np.array(on_feet), tau)

    law: Any = controller(lambda t, q, v: limited(stages(t, q, v).tau))
    law.stages = stages
    return law


def leg_torques(stance: Stance, motion: Kinematics, on_feet: Sequence[Array]) -> Array:
    """Joint forces (nv,) [N m, N] of legs that hold wrenches (6,) of the ground on their feet (S4 Algorithm 4.6).

    Legs are in equilibrium as if they were at rest and had no mass. Wrenches are carried inward from feet, where the
    paper carries those of legs outward from the base: so legs may share joints.
    """
    m = stance.mechanism
    carried: dict[int, Force] = {}
    for foot, wrench in zip(stance.feet, on_feet, strict=True):
        carried[foot.body] = carried.get(foot.body, Force.zero()) + foot.pose.up(Force.of(wrench))
    tau: list[Number] = [0.0] * m.nv
    for j in reversed(stance.carried):
        if j.o in carried:
            tau[j.v] = list(-motion.S[j.o].pair(carried[j.o]))
            carried[j.i] = carried.get(j.i, Force.zero()) + motion.X[j.o].up(carried[j.o])
    return np.array(tau)


def _share(stance: Stance, on: Sequence[Number]) -> Array:
    """1 for velocities (nv,) that the law has: of the base, which takes no force, and of legs that stand; else 0."""
    share: list[Number] = [0.0] * stance.mechanism.nv
    share[stance.base.v] = [1.0] * 6
    for leg, one in zip(stance.legs, on, strict=True):
        for d in (d for j in leg for d in range(j.v.start, j.v.stop)):
            share[d] = stands([one, share[d]])
    return np.array(share)


def _divided(stance: Stance, friction: Any) -> Divided:
    """How a wrench (6,) on the base becomes wrenches (6,) on feet, given poses and which points touch."""
    m, base = stance.mechanism, stance.base.o
    if friction is None:

        def by_least_norm(wrench: Array, poses: list[Transform], touching: list[list[Number]]) -> list[Array]:
            seen = [poses[base].inverse() @ (poses[foot.body] @ foot.pose) for foot in stance.feet]
            return least_norm(wrench, seen, stance.rows, [stands(points) for points in touching])

        return by_least_norm
    if not (isinstance(friction, (int, float)) and 0.0 < friction < np.inf):
        raise LinkworkError(f"friction must be a coefficient above 0, or None for least norm; got {friction!r:.60}")
    points, up = stance.points(), upwards(m)
    for foot, own in zip(stance.feet, points, strict=True):
        if stance.rows != POINT and len(own) < 3:
            raise LinkworkError(
                f"foot {foot.name!r} has {len(own)} point(s) that can touch: a sole needs three, as Builder.touch with "
                "lw.box_corners gives it; a foot that is a point is told by point_feet=True"
            )

    def by_cones(wrench: Array, poses: list[Transform], touching: list[list[Number]]) -> list[Array]:
        seen = [poses[base].inverse() @ (poses[foot.body] @ foot.pose) for foot in stance.feet]
        places = [X.point(p) for X, own in zip(seen, points, strict=True) for p in own]
        on = [one for foot in touching for one in foot]
        forces = iter(within_cones(wrench, np.array(places), poses[base].R.T @ up, friction, on).forces)
        found = []
        for X, own in zip(seen, points, strict=True):
            pushes = [(p, X.R.T @ next(forces)) for p in own]
            found.append(sum(np.concatenate([f, cross(p, f)]) for p, f in pushes))
        return found

    return by_cones


def _sized(given: Any, size: int) -> Array:
    if np.shape(given) != (size,):
        raise ShapeError(f"others returns forces of shape {np.shape(given)}, expected ({size},)")
    return np.asarray(given)
