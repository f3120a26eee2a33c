"""Schiehlen's two-body robot: a pinned arm, and a body whose centre of mass is pinned to the arm's end (sec. 5)."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.forward_dynamics import forward_dynamics
from linkwork.examples.catalogue import Claim
from linkwork.model import Builder, Mechanism, Revolute
from linkwork.spatial.scalar import Array


def build(I1: float = 0.8, I2: float = 0.3, m2: float = 2.0, R: float = 0.7, L: float = 0.4) -> Mechanism:
    """Build the robot without gravity.

    Body 1 has the inertia I1 [kg m^2] about the ground pin. Body 2 has the mass m2 [kg] and, about its centre, the
    inertia I2 [kg m^2]; it is pinned to body 1 at the distance R [m] from the ground pin. The frame "end" of body 2 is
    at the distance L [m] from the pin between both bodies.
    """
    b = Builder("two_body_robot", gravity=(0, 0, 0))
    b.body("body 1", mass=1.0, inertia=(I1, I1, I1))
    b.body("body 2", mass=m2, inertia=(I2, I2, I2))
    b.joint("ground pin", Revolute((0, 0, 1)), "world", "body 1")
    b.joint("elbow pin", Revolute((0, 0, 1)), "body 1", "body 2", at=(R, 0, 0))
    b.frame("end", body="body 2", at=(L, 0, 0))
    return b.build()


def equations(
    I1: float, I2: float, m2: float, R: float, L: float, q: Array, M1: float, F2: float
) -> tuple[Array, Array]:
    """Return the mass matrix (2, 2) and generalized forces (2,) of Schiehlen's equation (21).

    Misprint: the paper has P2 instead of F2. See `build` for I1, I2, m2, R and L; q (2,) [rad] are the joint angles, M1
    [N m] is the torque on body 1, and F2 [N] pulls the end of body 2 along -x.
    """
    total = q[0] + q[1]
    M = np.array([[I1 + m2 * R**2 + I2, I2], [I2, I2]])
    return M, np.array([M1 + F2 * (R * np.sin(q[0]) + L * np.sin(total)), F2 * L * np.sin(total)])


def end_wrench(L: float, q: Array, F2: float) -> Array:
    """Return the wrenches (2, 6) [N, N m] on both bodies, in their frames, due to a force F2 [N] at the end of body 2.

    The force is along -x. L [m] is the distance of the end from the pin of body 2, and q (2,) [rad] are the joint
    angles.
    """
    total = q[0] + q[1]
    fx, fy = -F2 * np.cos(total), F2 * np.sin(total)
    return np.array([[0.0] * 6, [fx, fy, 0.0, 0.0, 0.0, L * fy]])


def claim() -> Claim:
    """Check the accelerations of the articulated-body algorithm against the paper's equation (21).

    Return the measured error and its tolerance as a `Claim`.
    """
    numbers, rng = (0.8, 0.3, 2.0, 0.7, 0.4), np.random.default_rng(0)
    m, worst = build(*numbers), 0.0
    for _ in range(20):
        q, (M1, F2) = rng.normal(size=(2, 2)) * 2.0
        M, force = equations(*numbers, q, M1, F2)
        expected = np.linalg.solve(M, force)
        found = forward_dynamics(m, q, np.zeros(2), np.array([M1, 0.0]), end_wrench(numbers[-1], q, F2))
        worst = max(worst, np.abs(found - expected).max() / np.abs(expected).max())
    return Claim("relative error of accelerations against equation (21) of the paper", float(worst), 1e-12)
