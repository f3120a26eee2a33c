"""Balance controller: torques of the legs in stance move a floating base to its target (Wendlandt, chapter 4).

The controller has four stages:

    the dynamics of the base on its legs (Algorithms 4.1 to 4.3)
    the acceleration of the base that reduces its pose error, and the wrench that produces it (Algorithm 4.4)
    the distribution of this wrench among the feet (Algorithm 4.5)
    joint torques by the transposed Jacobians of the legs (Algorithm 4.6)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.kinematics import Kinematics
from linkwork.algorithms.passive_joint_forces import passive
from linkwork.control.controlled_plant import Controller, controller, gains, limiter
from linkwork.control.controller_targets import base_target
from linkwork.control.foot_force_distribution import least_norm, within_cones
from linkwork.control.legs_and_feet import POINT, Stance, evaluated, stance
from linkwork.control.pose_tracking import tracking
from linkwork.control.stance_detection import in_stance, stance_detector, up_direction
from linkwork.control.workspace_dynamics import Workspace, big_base, exact
from linkwork.errors import LinkworkError, ShapeError, unknown_name
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Force, Transform
from linkwork.spatial.rotation import product, quaternion_from_matrix
from linkwork.spatial.scalar import Array, Number, cross

DYNAMICS = ("big base", "exact")
Distribution = Callable[[Array, list[Transform], list[list[Number]]], list[Array]]


class Balance(NamedTuple):
    """Intermediate results of the balance controller in one state.

    Wrenches and accelerations of the base are about the base's origin, in the base's frame.

    `error` (7,) has the position of the base minus that of the target [m] in the world, then the quaternion from target
    to base. `workspace` contains P (6, 6) and z (6,) of the workspace dynamics F = P dV/dt + z. `wanted` (6,) [m/s^2,
    rad/s^2] is the desired acceleration of the base, and `wrench` (6,) [N, N m] the wrench that produces it. `feet` (k,
    6) [N, N m] are the wrenches of the ground on the k feet, in the feet's frames. `tau` (nv,) [N m, N] are the joint
    forces before they are limited.
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
    """Return a controller that balances a floating base on legs whose feet are on the ground.

    This is the controller of Wendlandt's chapter 4. While the feet do not slip, the origin of the base has the
    acceleration a_target + kd (v_target - v) + kp (p_target - p) in the world's axes. The angular acceleration of the
    base is a quaternion feedback (equation 4.24), in which kp multiplies the vector part of the error quaternion. The
    controller compensates springs, dampers and friction in the joints of the legs.

    Parameters
    ----------
    m : Mechanism
        A tree with a free joint at its base; loops, clutches, brakes and mimic joints are not supported.
    feet : str or sequence of str
        Names of the frames or bodies that are the feet, at the ends of the legs.
    target : array, Reference or function of t
        Target pose of the base: coordinates (7,) [m, quaternion (w, x, y, z)]; a `Reference` of such coordinates; or a
        function of t that returns the coordinates, the velocity (6,) [m/s, rad/s] and the acceleration (6,), linear
        before angular, in the world's axes.
    kp : float or array (6,), [1/s^2]
        Gain of the pose error, linear before angular, not negative.
    kd : float or array (6,), [1/s]
        Gain of the velocity error, linear before angular, not negative.
    dynamics : {"big base", "exact"}, default "big base"
        Model of the feet in stance. "big base" is Wendlandt's approximation: each of these feet is 1e6 times as heavy
        as the base. "exact" keeps the feet at rest by Lagrange multipliers.
    friction : float, optional
        Friction coefficient of the ground. If given, the controller distributes the desired wrench among the contact
        points of the feet, with every contact force within its friction cone about the vertical. By default, it
        chooses the foot wrenches of least norm, which may pull or exceed friction.
    standing : {"contacts"}, float, function or None, default None
        Which feet are in stance (on the ground). None: all feet. "contacts": foot points whose contact penetrates a
        surface. A height [m]: foot points below this height. A function of (t, q, v): it returns one truth value per
        foot.
    point_feet : bool, default False
        Whether feet are points, which transmit a force but no torque. A leg then needs 3 joint velocities instead of 6.
    others : Controller, optional
        Controller for the joints that belong to no leg, or to a leg that is not in stance; by default these joints get
        zero force. The balance controller accounts for the forces of `others`.
    limit : float or array (nv,), [N m, N], optional
        Largest absolute joint force; unlimited by default.

    Returns
    -------
    Controller
        `controller(t, q, v)`, which returns tau (nv,) [N m, N]. Its attribute `stages` is a function of (t, q, v) that
        returns all intermediate results, a `Balance`.

    Raises
    ------
    LinkworkError
        If the mechanism has loops, clutches or mimic joints, a foot has no free base, a leg has too few joints, or an
        argument is invalid.

    Examples
    --------
    >>> m = lw.example("biped")
    >>> target = [0.0, 0.0, 1.05, 1.0, 0.0, 0.0, 0.0]
    >>> controller = lw.balance(m, ["left foot centre", "right foot centre"], target, kp=50.0, kd=14.0)
    >>> controller(0.0, m.keyframes["start"].q, np.zeros(m.nv)).shape
    (18,)

    """
    if dynamics not in DYNAMICS:
        raise unknown_name("kind of workspace dynamics", dynamics, DYNAMICS)
    on_legs = stance(m, feet, point_feet)
    base, judge, divide = on_legs.base, stance_detector(on_legs, standing), _distribution(on_legs, friction)
    wanted, stiffness, damping = base_target(target), gains("kp", kp, 6), gains("kd", kd, 6)
    limited, placed = limiter(limit, m.nv), quaternion_from_matrix(base.place.R)

    def stages(t: Any, q: Any, v: Any) -> Balance:
        q, v = np.asarray(q), np.asarray(v)
        now = evaluated(m, q, v)
        touching = judge(t, now)
        on = [in_stance(points) for points in touching]
        share, springs = _controlled_velocities(on_legs, on), passive(m, q, v)
        given = np.zeros(m.nv) if others is None else _checked_forces(others(t, q, v), m.nv)
        known = (given + springs) * (1.0 - share)
        space = (exact if dynamics == "exact" else big_base)(on_legs, now, known, on)
        turn = product(placed, q[base.q][3:])
        required = tracking(now.poses[base.o], turn, now.motion.twist[base.o], wanted(t), stiffness, damping)
        wrench = space.P @ required.acceleration + space.z  # equation (4.3)
        on_feet = divide(wrench, now.poses, touching)
        tau = (leg_torques(on_legs, now.motion, on_feet) - springs) * share + given * (1.0 - share)
        return Balance(required.error, space, required.acceleration, wrench, np.array(on_feet), tau)

    balancing: Any = controller(lambda t, q, v: limited(stages(t, q, v).tau))
    balancing.stages = stages
    return balancing


def leg_torques(stance: Stance, motion: Kinematics, on_feet: Sequence[Array]) -> Array:
    """Return the leg joint forces (nv,) [N m, N] that balance the ground's wrenches on the feet.

    This is Algorithm 4.6 of Wendlandt's thesis.

    `on_feet` has the wrench (6,) [N, N m] on each foot in its frame, and `motion` the kinematics of the mechanism. The
    balance is static, because the inertia of the legs is already part of the workspace dynamics. Wendlandt's recursion
    runs outward from the base; this recursion runs inward from the feet, so that legs may share joints.
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


def _controlled_velocities(stance: Stance, on: Sequence[Number]) -> Array:
    """Return an array (nv,) that is 1 for the velocities of the base and of legs in stance, and 0 for all others.

    `on` has one number for each foot: 1 if the foot is in stance, else 0.
    """
    share: list[Number] = [0.0] * stance.mechanism.nv
    share[stance.base.v] = [1.0] * 6
    for leg, one in zip(stance.legs, on, strict=True):
        for d in (d for j in leg for d in range(j.v.start, j.v.stop)):
            share[d] = in_stance([one, share[d]])
    return np.array(share)


def _distribution(stance: Stance, friction: Any) -> Distribution:
    """Return a function that distributes a wrench (6,) on the base among the feet, as wrenches (6,) on the feet.

    Its arguments are the wrench [N, N m] about the base's origin in the base's frame, the poses of all bodies in the
    world, and for each foot a list with 1 or 0 for each point: 1 if in stance. The wrenches on the feet are in the
    feet's frames. `stance` has base, legs and feet. If `friction` is a friction coefficient, the foot forces stay
    within friction cones; if it is None, the foot wrenches have least norm.
    """
    m, base = stance.mechanism, stance.base.o
    if friction is None:

        def by_least_norm(wrench: Array, poses: list[Transform], touching: list[list[Number]]) -> list[Array]:
            seen = [poses[base].inverse() @ (poses[foot.body] @ foot.pose) for foot in stance.feet]
            return least_norm(wrench, seen, stance.rows, [in_stance(points) for points in touching])

        return by_least_norm
    if not (isinstance(friction, (int, float)) and 0.0 < friction < np.inf):
        raise LinkworkError(f"friction must be a coefficient above 0, or None for least norm; got {friction!r:.60}")
    points, up = stance.points(), up_direction(m)
    for foot, own in zip(stance.feet, points, strict=True):
        if stance.rows != POINT and len(own) < 3:
            raise LinkworkError(
                f"foot {foot.name!r} has {len(own)} contact point(s); a sole needs at least three: add them with "
                "Builder.touch and lw.box_corners, or set point_feet=True for feet that are points"
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


def _checked_forces(given: Any, size: int) -> Array:
    """Return the joint forces `given`, the result of the controller `others`, as an array (size,).

    Raise a ShapeError if the result has a different shape.
    """
    if np.shape(given) != (size,):
        raise ShapeError(
            f"the controller `others` must return joint forces of shape ({size},); got shape {np.shape(given)}"
        )
    return np.asarray(given)
