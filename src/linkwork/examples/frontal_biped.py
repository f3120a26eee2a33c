"""Hemami and Wyman's biped in the frontal plane, with both feet on the ground (Muir and Neuman, section 4.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.constrained_dynamics import forward_dynamics
from linkwork.algorithms.mimic_reduction import constrained_reactions
from linkwork.examples.catalogue import Claim
from linkwork.examples.planar_linkage_formulas import circle_intersection
from linkwork.model import Builder, Mechanism, Revolute
from linkwork.model.friction import FrictionLaw
from linkwork.spatial.scalar import Array

NAMES = ("left ankle", "left hip", "right hip")
CLOCKWISE = (0, 0, -1)
GRAVITY = 9.81


class Numbers(NamedTuple):
    """Masses [kg], inertias [kg m^2] and lengths [m] of the biped, which Muir and Neuman's paper does not give.

    Links 1, 2, 3 are left leg, body and right leg.
    """

    masses: tuple[float, float, float] = (12.0, 46.0, 12.0)
    inertias: tuple[float, float, float] = (0.9, 2.6, 0.9)
    # distances k of the centres of mass: from the feet up the legs, from the hips up the body
    centres: tuple[float, float, float] = (0.55, 0.3, 0.55)
    legs: tuple[float, float] = (0.9, 0.9)  # lengths l1, l3 of the legs
    feet: float = 0.3  # distance d1 between the feet
    hip: float = 0.1  # half the distance between the hips, d2


NUMBERS = Numbers()


def build(lean: float = 0.12, numbers: Numbers = NUMBERS, friction: FrictionLaw | None = None) -> Mechanism:
    """Build the biped in the plane x, y, with gravity along -y, and with the friction law `friction` in all pins.

    In the keyframe "start" the left leg has the angle `lean` [rad], at rest. Joint axes point along -z (clockwise), so
    that sums of joint angles are Muir and Neuman's angles: theta 1 = q1, theta 2 = q1 + q2, theta 3 = q1 + q2 + q3. The
    paper's angles of the left leg and of the body are zero if they are upright; that of the right leg is zero if the
    leg is upside down. The biped is planar, so that three of the five constraint rows of the right ankle are redundant.
    """
    (m1, m2, m3), (k1, k2, k3), (l1, l3) = numbers.masses, numbers.centres, numbers.legs
    b = Builder("frontal_biped", gravity=(0, -GRAVITY, 0))
    for name, mass, com, moment in zip(
        ("left leg", "body", "right leg"),
        (m1, m2, m3),
        ((0, k1, 0), (numbers.hip, k2, 0), (0, l3 - k3, 0)),
        numbers.inertias,
        strict=True,
    ):
        b.body(name, mass, com, inertia=(moment, moment, moment))
    b.joint("left ankle", Revolute(CLOCKWISE), "world", "left leg", at=(-numbers.feet / 2, 0, 0))
    b.joint("left hip", Revolute(CLOCKWISE), "left leg", "body", at=(0, l1, 0))
    b.joint("right hip", Revolute(CLOCKWISE), "body", "right leg", at=(2 * numbers.hip, 0, 0))
    b.close("right ankle", Revolute(CLOCKWISE), "world", "right leg", at=(numbers.feet / 2, 0, 0), to=(0, l3, 0))
    for k, name in enumerate(NAMES, 1):
        b.drive(f"u{k}", {name: 1.0})
    if friction is not None:
        for name in (*NAMES, "right ankle"):
            b.friction(name, friction)
    q = relative(angles(lean, numbers))
    return b.keyframe("start", dict(zip(NAMES, q, strict=True))).build()


def angles(lean: float, numbers: Numbers = NUMBERS) -> Array:
    """Return the paper's angles (3,) [rad] for the angle `lean` [rad] of the left leg, with both feet on the ground.

    The closure equations are

        l1 s1 + 2 d2 c2 + l3 s3 = d1        l1 c1 - 2 d2 s2 + l3 c3 = 0

    where s and c are sine and cosine of the angles. l1 and l3 are the lengths of the legs, d1 the distance between the
    feet, and 2 d2 the distance between the hips.
    """
    (l1, l3), feet = numbers.legs, numbers.feet
    left = l1 * np.array([np.sin(lean), np.cos(lean)])  # position of the left hip [m] relative to the left foot
    right = circle_intersection(left, np.array([feet, 0.0]), 2 * numbers.hip, l3)
    across, down = right - left, np.array([feet, 0.0]) - right
    return np.array([lean, np.arctan2(-across[1], across[0]), np.arctan2(down[0], down[1]) % (2 * np.pi)])


def relative(absolute: Array) -> Array:
    """Return the joint angles (3,) [rad] of the biped for Muir and Neuman's absolute angles (3,) [rad].

    The same map applies to rates and accelerations.
    """
    return np.diff(absolute, prepend=0.0)


def closure_coefficients(theta: Array, numbers: Numbers = NUMBERS) -> tuple[Array, Array]:
    """Return two coefficient matrices (2, 3) [m] of the second time derivative of the loop closure equations.

    The first matrix multiplies the accelerations of Muir and Neuman's angles, the second one their squared rates. In
    the first time derivative, the first matrix multiplies the rates. `theta` (3,) [rad] are the paper's angles.
    """
    (l1, l3), across = numbers.legs, 2 * numbers.hip
    (s1, s2, s3), (c1, c2, c3) = np.sin(theta), np.cos(theta)
    first = np.array([[l1 * c1, -across * s2, l3 * c3], [-l1 * s1, -across * c2, -l3 * s3]])
    return first, np.array([[-l1 * s1, -across * c2, -l3 * s3], [-l1 * c1, across * s2, -l3 * c3]])


def rates(theta: Array, rate: float, numbers: Numbers = NUMBERS) -> Array:
    """Return the rates (3,) [rad/s] of Muir and Neuman's angles while both feet are at rest.

    `theta` (3,) [rad] are the paper's angles, and `rate` [rad/s] is the time derivative of the left leg's angle.
    """
    rows, _ = closure_coefficients(theta, numbers)
    return np.append(rate, np.linalg.solve(rows[:, 1:], -rows[:, 0] * rate))


# --- Muir and Neuman's equations ---


class Motion(NamedTuple):
    """Accelerations (3,) [rad/s^2] of Muir and Neuman's angles, and forces of the ground on the feet.

    `left` (3,) and `right` (3,) are the paper's ground forces F1, G1, H1 and F4, G4, H4 [N, N m].
    """

    accelerations: Array
    left: Array
    right: Array


def equations(theta: Array, omega: Array, u: Array, numbers: Numbers = NUMBERS) -> Motion:
    """Return accelerations and ground forces from Muir and Neuman's equations and the loop closure.

    Equation (1) is the balance of forces at the body's centre, equation (2) that of torques at four joints. Together
    with the loop closure, these are nine linear equations for nine unknowns. `theta` (3,) [rad] are the angles, `omega`
    (3,) [rad/s] the rates and u (4,) [N m] the motor torques.
    """

    def residual(x: Array) -> Array:
        balance = propagation(theta, omega, x[:3], u, x[3:6], x[6:], numbers)
        by_angles, by_squares = closure_coefficients(theta, numbers)
        return np.append(balance, by_angles @ x[:3] + by_squares @ omega**2)

    known = residual(np.zeros(9))
    x = np.linalg.solve(np.column_stack([residual(unit) - known for unit in np.eye(9)]), -known)
    return Motion(x[:3], x[3:6], x[6:])


def propagation(
    theta: Array, omega: Array, alpha: Array, u: Array, left: Array, right: Array, numbers: Numbers = NUMBERS
) -> Array:
    """Return the residuals (7,) [N, N m] of Muir and Neuman's equations (1) and (2), sums of their sixteen forces.

    The three residuals of equation (1) are at the point C2, the four of equation (2) at A1, L12, A3 and L31. `theta`,
    `omega` and `alpha` (3,) are the paper's angles [rad], their rates and accelerations; u (4,) [N m] are the motor
    torques, `left` and `right` [N, N m] the ground forces (F1, G1, H1) and (F4, G4, H4). In the plane, six-vectors are
    (fx, fy, tz), and positions are (x, y, angle).
    """
    (t1, t2, t3), (w1, w2, w3), (a1, a2, a3) = theta, omega, alpha
    (m1, m2, m3), (I1, I2, I3), (k1, k2, k3) = numbers.masses, numbers.inertias, numbers.centres
    (l1, l3), d2 = numbers.legs, numbers.hip
    weight_1, weight_2, weight_3 = (
        transformed_force((0.0, 0.0, turn), np.array([0.0, -m * GRAVITY, 0.0]))
        for m, turn in ((m1, -t1), (m2, -t2), (m3, np.pi - t3))
    )
    # acceleration of the left hip [m/s^2], in the body's axes
    hip = transformed_force((0.0, 0.0, t1 - t2), np.array([l1 * a1, -l1 * w1**2, 0.0]))[:2]
    inert_1 = -np.array([m1 * k1 * a1, -m1 * k1 * w1**2, -I1 * a1])
    inert_2 = -np.append(m2 * (hip + np.array([k2 * a2 - d2 * w2**2, -d2 * a2 - k2 * w2**2])), -I2 * a2)
    inert_3 = -np.array([m3 * k3 * a3, -m3 * k3 * w3**2, -I3 * a3])

    at_A1 = left + torque(u[0])
    at_C1 = (
        transformed_force((0.0, k1, 0.0), transformed_force((0.0, 0.0, -t1), force_through_pin(at_A1)) - torque(u[0]))
        + inert_1
        + weight_1
    )
    at_L12 = transformed_force((0.0, l1 - k1, 0.0), at_C1) + torque(u[1])
    from_left = transformed_force(
        (d2, k2, 0.0), transformed_force((0.0, 0.0, t1 - t2), force_through_pin(at_L12)) - torque(u[1])
    )

    at_A3 = right * [-1.0, -1.0, 1.0] - torque(u[3])
    at_C3 = (
        transformed_force(
            (0.0, k3, 0.0), transformed_force((0.0, 0.0, np.pi - t3), force_through_pin(at_A3)) + torque(u[3])
        )
        + inert_3
        + weight_3
    )
    at_L31 = transformed_force((0.0, l3 - k3, 0.0), at_C3) - torque(u[2])
    from_right = transformed_force(
        (-d2, k2, 0.0), transformed_force((0.0, 0.0, t3 - t2 - np.pi), force_through_pin(at_L31)) + torque(u[2])
    )

    return np.append(from_left + from_right + inert_2 + weight_2, [at_A1[2], at_L12[2], at_A3[2], at_L31[2]])


def transformed_force(position: tuple[float, float, float], f: Array) -> Array:
    """Return a planar force f (3,) [N, N m] in the axes and about the origin of a second frame.

    `position` is x, y [m] and angle [rad] of the second frame in the frame in which f is given.
    """
    x, y, turn = position
    c, s = np.cos(turn), np.sin(turn)
    return np.array([c * f[0] + s * f[1], c * f[1] - s * f[0], f[2] - x * f[1] + y * f[0]])


def force_through_pin(f: Array) -> Array:
    """Return the part of a planar force (3,) [N, N m] that a pin joint transmits: C f with C = diag(1, 1, 0)."""
    return f * [1.0, 1.0, 0.0]


def torque(u: float) -> Array:
    """Return a motor torque u [N m] as a planar force vector (3,) [N, N m]."""
    return np.array([0.0, 0.0, u])


# --- the same quantities from the mechanism ---


def motion(m: Mechanism, theta: Array, omega: Array, u: Array, numbers: Numbers = NUMBERS) -> Motion:
    """Return accelerations and ground forces of the mechanism in Muir and Neuman's variables.

    `theta` (3,) [rad] are the angles, `omega` (3,) [rad/s] the rates, and u (4,) [N m] the motor torques. The right
    ankle closes the loop and has no coordinate: its motor is an external torque on the right leg.
    """
    wrenches = np.zeros((3, 6))
    wrenches[2, 5] = u[3]
    state = relative(theta), relative(omega), u[:3], wrenches
    a, through = forward_dynamics(m, *state).a, constrained_reactions(m, *state)
    # rotated from the leg's axes to the world's axes
    left = transformed_force((0.0, 0.0, theta[0]), through[0, [0, 1, 5]])
    # rotated to the world's axes, and moved from hip to foot
    right = transformed_force((0.0, numbers.legs[1], theta[2]), through[3, [0, 1, 5]]) + torque(u[3])
    return Motion(np.cumsum(a), left, right * [-1.0, -1.0, 1.0])


def claim() -> Claim:
    """Check accelerations and ground forces against Muir and Neuman's equations, for random states and torques.

    Return the measured error and its tolerance as a `Claim`.
    """
    m, rng, worst = build(), np.random.default_rng(0), 0.0
    for _ in range(20):
        theta = angles(rng.uniform(-0.15, 0.25))
        omega, u = rates(theta, rng.normal()), rng.normal(size=4) * 50.0
        for found, expected in zip(motion(m, theta, omega, u), equations(theta, omega, u), strict=True):
            worst = max(worst, np.abs(found - expected).max() / np.abs(expected).max())
    return Claim(
        "relative error of accelerations and ground forces against (1) and (2) of the paper", float(worst), 1e-10
    )
