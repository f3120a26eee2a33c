"""Section 4.2 of Muir and Neuman: vectors, matrices and equations of the biped in the frontal plane, in one state."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.formulations.coincident_frame_motions import body_motions
from linkwork.algorithms.formulations.propagation_equations import Propagation, propagation
from linkwork.algorithms.formulations.propagation_matrices import link_jacobian
from linkwork.algorithms.kinematics import joint_poses, world_poses
from linkwork.examples.frontal_biped import (
    GRAVITY,
    NUMBERS,
    Motion,
    angles,
    build,
    closure_coefficients,
    equations,
    rates,
    relative,
)
from linkwork.examples.frontal_biped import propagation as printed_balances
from linkwork.papers.printed_values import Compared, planar, position, position_in_plane
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

THETA = angles(0.07)  # Muir and Neuman's angles [rad]
OMEGA = rates(THETA, 0.4)  # time derivatives of these angles [rad/s]
U = np.array([20.0, -15.0, 30.0, 10.0])  # torques [N m] of left ankle, left hip, right hip, right ankle
PIN = np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])  # coupling matrix of a pin about z
PLANAR = [0, 1, 5]  # indices of the components of a planar wrench: force along x and y, torque about z
LEFT, BODY, RIGHT = 1, 2, 3  # body numbers


def biped_results() -> list[Compared]:
    """Return all values that section 4.2 prints, as computed by linkwork and as printed, with misprints corrected."""
    m = build()
    wrenches = np.zeros((3, 6))
    wrenches[RIGHT - 1, 5] = U[3]  # the right ankle closes the loop: its motor is an external torque
    found = propagation(m, relative(THETA), relative(OMEGA), wrenches, main=["body"])
    return [*_positions(), *_couplings(found), *_forces(found), *_balances(found), *_closure()]


def _positions() -> list[Compared]:
    """Return the twelve position six-vectors of the biped, as computed by linkwork and as printed."""
    m = build()
    bodies = world_poses(m, joint_poses(m, relative(THETA)))
    (k1, k2, k3), (l1, l3), d1, d2 = NUMBERS.centres, NUMBERS.legs, NUMBERS.feet, NUMBERS.hip
    t1, t2, t3 = THETA
    A1, A3 = m.joints["left ankle"].place, m.loops["right ankle"].at.pose
    upside_down = planar(0.0, 0.0, np.pi)  # the paper's axes of the right leg point from foot to hip
    left, right = bodies[LEFT], bodies[RIGHT] @ upside_down
    foot = bodies[RIGHT] @ m.loops["right ankle"].to.pose @ upside_down
    C1, C2, C3 = (_centre(m.bodies[k].inertia.moment / m.bodies[k].mass) for k in (LEFT, BODY, RIGHT))
    hip, right_hip = m.joints["left hip"].place, bodies[BODY] @ m.joints["right hip"].place
    centre_3 = bodies[RIGHT] @ C3 @ upside_down

    def between(a: Transform, b: Transform) -> Array:
        return position(a.inverse() @ b)

    here = position_in_plane
    return [
        Compared("^A p_A1", "left foot", position(A1), here(-d1 / 2, 0.0, 0.0)),
        Compared("^A1 p_L11", "left ankle", between(A1, left), here(0.0, 0.0, -t1), "A for A1"),
        Compared("^L11 p_C1", "left leg", position(C1), here(0.0, k1, 0.0)),
        Compared("^C1 p_L12", "left leg", between(C1, hip), here(0.0, l1 - k1, 0.0)),
        Compared("^L12 p_L21", "left hip", between(left @ hip, bodies[BODY]), here(0.0, 0.0, t1 - t2)),
        Compared("^L21 p_C2", "body", position(C2), here(d2, k2, 0.0)),
        Compared("^A p_A3", "right foot", position(A3), here(d1 / 2, 0.0, 0.0)),
        Compared("^A3 p_L32", "right ankle", between(A3, foot), here(0.0, 0.0, np.pi - t3)),
        Compared("^L32 p_C3", "right leg", between(foot, centre_3), here(0.0, k3, 0.0)),
        Compared("^C3 p_L31", "right leg", between(centre_3, right), here(0.0, l3 - k3, 0.0)),
        Compared("^L31 p_L22", "right hip", between(right, right_hip), here(0.0, 0.0, t3 - t2 - np.pi), "L32 for L22"),
        Compared("^L22 p_C2", "body", between(right_hip, bodies[BODY] @ C2), here(-d2, k2, 0.0)),
    ]


def _centre(place: Array) -> Transform:
    """Return the pose, in a body's frame, of the parallel frame at its centre of mass `place` (3,) [m]."""
    return planar(place[0], place[1], 0.0)


def _couplings(found: Propagation) -> list[Compared]:
    """Return the four coupling matrices; the right ankle is a loop joint, which transmits its five wrenches."""
    (ankle,) = found.loops
    W = ankle.wrenches
    through_loop = W @ np.linalg.inv(W.T @ W) @ W.T
    return [
        Compared("^A1 C_EL1", "left ankle", found.joints[LEFT].C, PIN, "A for A1"),
        Compared("^L12 C_L1L2", "left hip", found.joints[BODY].C, PIN),
        Compared("^L31 C_L2L3", "right hip", found.joints[RIGHT].C, PIN),
        Compared("^A3 C_EL3", "right ankle", through_loop, PIN),
    ]


def _unknowns(found: Propagation, motion: Motion) -> Array:
    """Return the values (n,) of the unknowns of the propagation equations `found` in the motion `motion`.

    The unknowns are the accelerations, forces and torques that the columns of the equations multiply. The last entry of
    the result is 1, the factor of the constant terms.
    """
    x = np.zeros(found.columns.one + 1)
    x[found.columns.a], x[found.columns.tau], x[-1] = relative(motion.accelerations), U[:3], 1.0
    ground = np.zeros(6)
    ground[PLANAR] = motion.left
    x[found.columns.ground] = ground
    (ankle,) = found.loops
    on_leg = np.zeros(6)
    # force of the ankle on the right leg, in the axes of this leg
    on_leg[:2] = _in_turned_axes(THETA[2], -motion.right[:2])
    W = ankle.wrenches
    x[found.columns.loops] = np.linalg.lstsq(W, on_leg, rcond=None)[0]
    return x


def _in_turned_axes(angle: float, f: Array) -> Array:
    """Return the components of a vector f (2,) in axes that are turned clockwise by `angle` [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * f[0] - s * f[1], s * f[0] + c * f[1]])


def _forces(found: Propagation) -> list[Compared]:
    """Return the sixteen force/torque six-vectors, for the accelerations and ground forces of the paper's equations."""
    motion = equations(THETA, OMEGA, U)
    x = _unknowns(found, motion)
    sources = {(one.kind, one.body, one.joint): one for one in found.sources}
    listed = []
    for body, name in ((LEFT, "1"), (BODY, "2"), (RIGHT, "3")):
        one = sources["inertial", body, 0]
        value = link_jacobian(Transform(one.frame.R, np.zeros(3))).T @ one.force @ x  # in the axes of the body
        value = value * ([-1.0, -1.0, 1.0, 1.0, 1.0, 1.0] if body == RIGHT else 1.0)  # the paper's leg is upside down
        about = f"inertia of link {name}"
        listed.append(Compared(f"^C{name} f_iL{name}", about, value, _inertial(body, motion.accelerations)))
    for body, mass in zip((LEFT, BODY, RIGHT), NUMBERS.masses, strict=True):
        value = sources["gravity", body, 0].force @ x
        printed = _six_vector(0.0, -mass * GRAVITY, 0.0)
        listed.append(Compared(f"^G(L{body}) f_gL{body}", f"weight of link {body}", value, printed))
    left = sources["environment", -LEFT, 0].force @ x
    motor_4 = next(one.force @ x for one in found.sources if (one.kind, one.body) == ("environment", RIGHT))
    right = link_jacobian(planar(0.0, 0.0, -THETA[2])).T @ (found.loops[0].wrenches @ x[found.columns.loops])
    right = right + motor_4  # the moment of the ground on the leg includes the motor torque
    acting = "on the legs"
    at_right = _six_vector(-motion.right[0], -motion.right[1], motion.right[2])
    listed += [
        Compared(
            "^A1 f_eL1",
            "F1, G1, H1 of the ground",
            left,
            _six_vector(motion.left[0], motion.left[1], motion.left[2]),
            acting,
        ),
        Compared("^A3 f_eL3", "-F4, -G4, H4 of the ground", right, at_right, acting),
    ]
    motors = (("^A1 f_aE", "^L11 f_aL1"), ("^L12 f_aL1", "^L21 f_aL2"), ("^L22 f_aL2", "^L31 f_aL3"))
    ends = ((-LEFT, LEFT), (LEFT, BODY), (BODY, RIGHT))
    for k, (names, bodies) in enumerate(zip(motors, ends, strict=True)):
        for name, body, sign in zip(names, bodies, (1.0, -1.0), strict=True):
            value = sources["actuation", body, bodies[1]].force @ x
            listed.append(Compared(name, f"motor {k + 1}", value, _six_vector(0.0, 0.0, sign * U[k])))
    return [
        *listed,
        Compared("^L32 f_aL3", "motor 4", motor_4, _six_vector(0.0, 0.0, U[3])),
        Compared("^A3 f_aE", "motor 4, opposite to its torque on link 3", -motor_4, _six_vector(0.0, 0.0, -U[3])),
    ]


def _inertial(body: int, acceleration: Array) -> Array:
    """Return the printed inertial force (6,) of a body at its centre of mass, in Muir and Neuman's axes of this body.

    `body` is LEFT, BODY or RIGHT. `acceleration` (3,) [rad/s^2] are the accelerations of the paper's angles; the
    acceleration of the centre of mass follows from them.
    """
    mass, moment, k = NUMBERS.masses[body - 1], NUMBERS.inertias[body - 1], NUMBERS.centres[body - 1]
    turn, rate = acceleration[body - 1], OMEGA[body - 1]
    if body != BODY:  # a leg turns about its foot
        return -_six_vector(mass * k * turn, -mass * k * rate**2, -moment * turn)
    leg, d2 = NUMBERS.legs[0], NUMBERS.hip
    # acceleration of the hip, in the axes of the left leg
    hip = np.array([leg * acceleration[0], -leg * OMEGA[0] ** 2])
    x, y = _in_turned_axes(THETA[1] - THETA[0], hip) + np.array([k * turn - d2 * rate**2, -d2 * turn - k * rate**2])
    return -_six_vector(mass * x, mass * y, -moment * turn)


def _balances(found: Propagation) -> list[Compared]:
    """Return the residuals of equations (1) at C2 and (2) at the joints, for random ground forces and accelerations.

    The accelerations leave both feet at rest. The equations are affine functions of accelerations and forces, so that
    equal residuals mean equal equations.
    """
    rng = np.random.default_rng(0)
    left, right = 50.0 * rng.normal(size=(2, 3))
    by_angles, by_squares = closure_coefficients(THETA)
    first = rng.normal()
    rest = np.linalg.solve(by_angles[:, 1:], -by_squares @ OMEGA**2 - by_angles[:, 0] * first)
    alpha = np.append(first, rest)
    x = _unknowns(found, Motion(alpha, left, right))
    m = build()
    C2 = _centre(m.bodies[BODY].inertia.moment / m.bodies[BODY].mass)
    primary = (link_jacobian(C2.inverse()).T @ found.collected[BODY] @ x)[PLANAR]
    secondary = [found.secondary(k)[5] @ x for k in (LEFT, BODY, RIGHT)]
    printed = printed_balances(THETA, OMEGA, alpha, U, left, right)
    rows = [
        *zip(("force along x at C2", "force along y at C2", "torque at C2"), primary, printed[:3], strict=True),
        *zip(("torque at A1", "torque at L12", "torque at L31"), secondary, printed[[3, 4, 6]], strict=True),
    ]
    names = ["(1)"] * 3 + ["(2)"] * 3
    return [
        Compared(name, about, np.array([ours]), np.array([theirs]))
        for name, (about, ours, theirs) in zip(names, rows, strict=True)
    ]


def _closure() -> list[Compared]:
    """Return the two loop closure equations and their time derivatives, as computed by linkwork and as printed.

    The equations are l1 s1 + 2 d2 c2 + l3 s3 - d1 = 0 and l1 c1 - 2 d2 s2 + l3 c3 = 0. linkwork's values are the
    position and the velocity of the right foot relative to its place on the ground.
    """
    m = build()
    motion = body_motions(m, relative(THETA), relative(OMEGA))
    foot = motion[RIGHT].moved(m.loops["right ankle"].to.pose, np.zeros(6))
    place = m.loops["right ankle"].at.pose.p
    (l1, l3), d1, d2 = NUMBERS.legs, NUMBERS.feet, NUMBERS.hip
    (s1, s2, s3), (c1, c2, c3) = np.sin(THETA), np.cos(THETA)
    printed = np.array([l1 * s1 + 2 * d2 * c2 + l3 * s3 - d1, l1 * c1 - 2 * d2 * s2 + l3 * c3])
    return [
        Compared("geometry", "position of the right foot relative to its place", (foot.X.p - place)[:2], printed),
        Compared(
            "derivative",
            "velocity of the right foot",
            (foot.X.R @ foot.v[:3])[:2],
            closure_coefficients(THETA)[0] @ OMEGA,
        ),
    ]


def _six_vector(x: float, y: float, turn: float) -> Array:
    """Return a six-vector (6,) of a planar force: x, y [N] and the torque `turn` [N m] about z."""
    return np.array([x, y, 0.0, 0.0, 0.0, turn])
