"""Section 4.1 of Muir and Neuman: all vectors, matrices and equations of the planar double pendulum, in one state."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.formulations.coincident_frame_motions import body_motions
from linkwork.algorithms.formulations.propagation_equations import Propagation, propagation
from linkwork.algorithms.formulations.propagation_matrices import link_jacobian
from linkwork.algorithms.kinematics import joint_poses
from linkwork.examples.double_pendulum import build
from linkwork.papers.printed_values import Compared, planar, position, position_in_plane
from linkwork.spatial.scalar import Array

# masses [kg], lengths [m], gravity [m/s^2]; the paper gives no values
NUMBERS = m1, m2, a1, a2, g = 2.0, 3.5, 4.0, 3.0, 9.81
STATE = q, w, alpha = (0.6, 0.4), (1.0, -0.5), (0.7, -1.2)  # angles [rad], rates [rad/s], accelerations [rad/s^2]
(s1, s2, s12), (c1, c2, c12) = np.sin([q[0], q[1], sum(q)]), np.cos([q[0], q[1], sum(q)])
UNKNOWNS = "alpha1, alpha2, τ1, τ2, fx, fy, τz and 1"  # columns of the equations
PIN = np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])  # coupling matrix of a pin about z
M1, TAU2 = "m1 for m2", "τ2 for τz"  # misprints


def pendulum_results() -> list[Compared]:
    """Return all values that section 4.1 prints, as computed by linkwork and as printed, with misprints corrected."""
    equations = propagation(build(*NUMBERS), np.array(q), np.array(w), main=["link 2"])
    return [*_positions(), *_matrices(equations), *_forces(equations), *_balances(equations), *_accelerations()]


def _positions() -> list[Compared]:
    """Return the position six-vectors of both joints and both links, as computed by linkwork and as printed."""
    m = build(*NUMBERS)
    first, second = joint_poses(m, np.array(q))[1:]
    L12, L22 = m.joints["pin 2"].place, m.frames["end"].pose
    return [
        Compared("^A p_L11", "joint 1", position(first), position_in_plane(0.0, 0.0, q[0] - np.pi / 2)),
        Compared("^L11 p_L12", "link 1", position(L12), position_in_plane(a1, 0.0, 0.0)),
        Compared("^L12 p_L21", "joint 2", position(L12.inverse() @ second), position_in_plane(0.0, 0.0, q[1])),
        Compared("^L21 p_L22", "link 2", position(L22), position_in_plane(a2, 0.0, 0.0)),
    ]


def _matrices(equations: Propagation) -> list[Compared]:
    """Return the coupling matrices of both joints, and the propagation matrix from link 1 through joint 2.

    As printed, the propagation matrix is the product of a coupling matrix and link Jacobians of the printed positions.
    """
    (P,) = equations.matrices
    to_L12 = link_jacobian(planar(-a1, 0.0, 0.0)).T
    to_L21 = PIN @ link_jacobian(planar(0.0, 0.0, -q[1])).T
    return [
        Compared("^A C_EL1", "coupling matrix of joint 1", equations.joints[1].C, PIN),
        Compared("^L12 C_L1L2", "coupling matrix of joint 2", equations.joints[2].C, PIN),
        Compared("^L21 P_L11", "propagation matrix from link 1 through joint 2", P[2, 1], to_L21 @ to_L12),
    ]


def _forces(equations: Propagation) -> list[Compared]:
    """Return the nine force/torque six-vectors in their natural frames, for the joint accelerations of STATE."""
    columns = equations.columns
    left = np.column_stack([equations.balances[:, columns.tau], equations.balances[:, columns.ground]])
    known = equations.balances[:, columns.a] @ alpha + equations.balances[:, columns.one]
    unknown = np.linalg.solve(left, -known)
    x = np.concatenate([alpha, unknown, [1.0]])
    fx, fy, tau1, tau2, tau_z = _solved()
    value = {(one.kind, one.body, one.joint): one.force @ x for one in equations.sources}
    ground = link_jacobian(planar(0.0, 0.0, -np.pi / 2)).T @ value["environment", -1, 0]
    x1, y1, x2, y2 = _printed_accelerations()

    def torque(size: float) -> Array:
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, size])

    def force(x: float, y: float, turn: float = 0.0) -> Array:
        return np.array([x, y, 0.0, 0.0, 0.0, turn])

    on_ground = "its reaction on the ground"
    return [
        Compared("^L12 f_iL1", "inertia of link 1", value["inertial", 1, 0], force(-m1 * x1, -m1 * y1)),
        Compared("^L22 f_iL2", "inertia of link 2", value["inertial", 2, 0], force(-m2 * x2, -m2 * y2), M1),
        Compared("^L12 f_gL1", "weight of link 1, axes of A", value["gravity", 1, 0], force(0.0, -m1 * g)),
        Compared("^L22 f_gL2", "weight of link 2, axes of A", value["gravity", 2, 0], force(0.0, -m2 * g)),
        Compared("^A f_eL1", "force of the ground", ground, force(fx, fy, tau_z), TAU2),
        Compared("^L11 f_aL1", "actuator 1 on link 1", value["actuation", 1, 1], torque(tau1)),
        Compared("^A f_aL1", on_ground, value["actuation", -1, 1], torque(-tau1), "L1 for ground E"),
        Compared("^L21 f_aL2", "actuator 2 on link 2", value["actuation", 2, 2], torque(tau2)),
        Compared("^L21 f_aL2", "its reaction on link 1", value["actuation", 1, 2], torque(-tau2), "L2 for L1"),
    ]


def _balances(equations: Propagation) -> list[Compared]:
    """Return the coefficients of Muir and Neuman's equations (3) to (7), in the order of UNKNOWNS.

    The accelerations of the links in them are expressed by joint accelerations, by equations (8) to (11).
    """
    at_end = link_jacobian(planar(-a2, 0.0, 0.0)).T @ equations.collected[2]  # primary equations at L22
    rows = [at_end[0], at_end[1], at_end[5], equations.secondary(2)[5], equations.secondary(1)[5]]
    columns = equations.columns
    R = np.array([[0.0, 1.0], [-1.0, 0.0]])  # rotates ground forces from axes of L11 at zero angle to axes of A
    found = []
    for row in rows:
        ground = row[columns.ground]
        found.append(np.concatenate([row[columns.a], row[columns.tau], R @ ground[:2], ground[5:], row[-1:]]))
    ax1, ay1, ax2, ay2 = np.zeros((4, 8))  # the accelerations of L12 and L22, as functions of the unknowns
    ax1[7], ay1[0] = -a1 * w[0] ** 2, a1  # equations (8), (9)
    ax2[[0, 7]] = a1 * s2, -a1 * c2 * w[0] ** 2 - a2 * (w[0] + w[1]) ** 2  # equation (10)
    ay2[[0, 1, 7]] = a1 * c2 + a2, a2, a1 * s2 * w[0] ** 2  # equation (11)
    t1, t2, fx, fy, tz, one = np.eye(8)[2:]
    weight = (m1 + m2) * g * one
    printed = [
        -c2 * m1 * ax1 - s2 * m1 * ay1 - m2 * ax2 + c12 * weight + s12 * fx - c12 * fy,
        s2 * m1 * ax1 - c2 * m1 * ay1 - m2 * ay2 - s12 * weight + c12 * fx + s12 * fy,
        -a2 * s2 * m1 * ax1 + a2 * c2 * m1 * ay1 + a2 * s12 * m1 * g * one + t2 - a2 * c12 * fx - a2 * s12 * fy,
        t1 - t2 - a1 * c1 * fx - a1 * s1 * fy,
        -t1 + tz,
    ]
    about = (
        "primary: force along x of L22", "primary: force along y of L22", "primary: torque at L22",
        "secondary: torque at L12", "secondary: torque at A",
    )  # fmt: skip
    misprints = ("", "", "", "", TAU2)
    names = [f"({k})" for k in range(3, 8)]
    return [Compared(*four) for four in zip(names, about, found, printed, misprints, strict=True)]


def _accelerations() -> list[Compared]:
    """Return the values of Muir and Neuman's equations (8) to (11), as computed by linkwork and as printed.

    They are the accelerations [m/s^2] of the frames L12 and L22, at the outer ends of the links, in their own axes.
    """
    m = build(*NUMBERS)
    motions, rest = body_motions(m, np.array(q), np.array(w)), np.zeros(6)
    first, second = (motions[k].moved(planar(a, 0.0, 0.0), rest) for k, a in ((1, a1), (2, a2)))
    found = np.concatenate([(one.J @ alpha + one.bias)[:2] for one in (first, second)])
    about = [f"acceleration of {frame} along {axis}" for frame in ("L12", "L22") for axis in "xy"]
    each = zip(range(8, 12), about, found, _printed_accelerations(), strict=True)
    return [Compared(f"({k})", what, np.array([ours]), np.array([theirs])) for k, what, ours, theirs in each]


def _printed_accelerations() -> tuple[float, float, float, float]:
    """Return the accelerations [m/s^2] of L12 (x, y) and L22 (x, y) by Muir and Neuman's equations (8) to (11).

    Each is along the axes of the frame itself. The rates and accelerations of the joint angles are those of STATE.
    """
    x1, y1 = -a1 * w[0] ** 2, a1 * alpha[0]
    x2 = -a1 * c2 * w[0] ** 2 + a1 * s2 * alpha[0] - a2 * (w[0] + w[1]) ** 2
    y2 = a1 * s2 * w[0] ** 2 + a1 * c2 * alpha[0] + a2 * (alpha[0] + alpha[1])
    return x1, y1, x2, y2


def _solved() -> tuple[float, float, float, float, float]:
    """Return the solution f_x, f_y [N], tau_1, tau_2, tau_z [N m] of Muir and Neuman's equations (3) to (7).

    f_x, f_y and tau_z are force and torque of the ground in the axes A, tau_1 and tau_2 the motor torques. State and
    accelerations are those of STATE.
    """
    x1, y1, x2, y2 = _printed_accelerations()
    along = c2 * m1 * x1 + s2 * m1 * y1 + m2 * x2 - c12 * (m1 + m2) * g
    across = -s2 * m1 * x1 + c2 * m1 * y1 + m2 * y2 + s12 * (m1 + m2) * g
    fx, fy = np.linalg.solve([[s12, -c12], [c12, s12]], [along, across])
    tau2 = a2 * (s2 * m1 * x1 - c2 * m1 * y1 - s12 * m1 * g + c12 * fx + s12 * fy)
    tau1 = tau2 + a1 * (c1 * fx + s1 * fy)
    return fx, fy, tau1, tau2, tau1
