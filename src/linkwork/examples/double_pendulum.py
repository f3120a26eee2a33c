"""Muir and Neuman's planar double pendulum: point masses at the ends of two links (their section 4.1)."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.examples.catalogue import Claim
from linkwork.model import Builder, Mechanism, Revolute
from linkwork.model.friction import FrictionLaw
from linkwork.spatial.scalar import Array


def build(
    m1: float = 2.0,
    m2: float = 3.5,
    a1: float = 4.0,
    a2: float = 3.0,
    g: float = 9.81,
    friction: FrictionLaw | float = 0.0,
) -> Mechanism:
    """Build the pendulum: masses m1, m2 [kg] at the ends of links of length a1, a2 [m].

    Gravity g [m/s^2] acts along -y. Both links hang down at zero angles. `friction` is the friction law of both pins;
    Muir and Neuman's paper has no friction.
    """
    b = Builder("double_pendulum", gravity=(0, -g, 0))
    b.body("link 1", mass=m1, com=(a1, 0, 0))
    b.body("link 2", mass=m2, com=(a2, 0, 0))
    b.joint("pin 1", Revolute((0, 0, 1)), "world", "link 1", rpy=(0, 0, -np.pi / 2), friction=friction)
    b.joint("pin 2", Revolute((0, 0, 1)), "link 1", "link 2", at=(a1, 0, 0), friction=friction)
    b.frame("end", body="link 2", at=(a2, 0, 0))
    return b.build()


def joint_torques(m1: float, m2: float, a1: float, a2: float, g: float, q: Array, w: Array, alpha: Array) -> Array:
    """Return the joint torques (2,) [N m] by Muir and Neuman's equations (3) to (6) and (8) to (11).

    Misprint: their inertial force of link 2, f_iL2, has m1 instead of m2. See `build` for m1, m2, a1, a2 and g; q, w,
    alpha (2,) are joint angles [rad], rates [rad/s] and accelerations [rad/s^2].
    """
    (s1, s2, s12), (c1, c2, c12) = np.sin([q[0], q[1], sum(q)]), np.cos([q[0], q[1], sum(q)])
    x1, y1 = -a1 * w[0] ** 2, a1 * alpha[0]  # equations (8), (9)
    x2 = -a1 * c2 * w[0] ** 2 + a1 * s2 * alpha[0] - a2 * (w[0] + w[1]) ** 2  # equation (10)
    y2 = a1 * s2 * w[0] ** 2 + a1 * c2 * alpha[0] + a2 * (alpha[0] + alpha[1])  # equation (11)
    # equations (3) and (4) give the ground force, (5) gives tau_2, (6) gives tau_1
    ground = np.linalg.solve(
        [[s12, -c12], [c12, s12]],
        [
            c2 * m1 * x1 + s2 * m1 * y1 + m2 * x2 - c12 * (m1 + m2) * g,
            -s2 * m1 * x1 + c2 * m1 * y1 + m2 * y2 + s12 * (m1 + m2) * g,
        ],
    )
    tau2 = a2 * (s2 * m1 * x1 - c2 * m1 * y1 - s12 * m1 * g + c12 * ground[0] + s12 * ground[1])
    return np.array([tau2 + a1 * (c1 * ground[0] + s1 * ground[1]), tau2])


def claim() -> Claim:
    """Check that recursive inverse dynamics gives the same torques as Muir and Neuman's force propagation.

    Return the measured error and its tolerance as a `Claim`.
    """
    numbers, rng = (2.0, 3.5, 4.0, 3.0, 9.81), np.random.default_rng(0)
    m, worst = build(*numbers), 0.0
    for _ in range(20):
        q, w, alpha = rng.normal(size=(3, 2)) * 2.0
        expected = joint_torques(*numbers, q, w, alpha)
        worst = max(worst, np.abs(inverse_dynamics(m, q, w, alpha).tau - expected).max() / np.abs(expected).max())
    return Claim("relative error of joint torques against equations (3) to (11) of the paper", float(worst), 1e-12)
