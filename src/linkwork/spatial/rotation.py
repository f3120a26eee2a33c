"""Rotations: unit quaternions (w, x, y, z) and rotation matrices R_ab, which map b-coordinates to a-coordinates.

Input quaternions need not have unit norm: the formulas divide by the norm. Angles are in radians. Near singularities
(zero rotation, rotation by pi, gimbal lock) `where` selects a series or another pivot, so that values and derivatives
are accurate there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.spatial.scalar import Array, Number, cross, dot, hat, where

IDENTITY = (1.0, 0.0, 0.0, 0.0)  # quaternion of the identity rotation


# --- quaternion algebra (S4 = Wendlandt 1997, section A.3) ---


def product(a: Array, b: Array) -> Array:
    """Return the product a b (4,) of quaternions a and b (4,): rotation b, then rotation a, as for matrices."""
    vector = b[1:] * a[0] + a[1:] * b[0] + cross(a[1:], b[1:])
    return np.array([a[0] * b[0] - dot(a[1:], b[1:]), *vector])


def conjugate(q: Array) -> Array:
    """Return the conjugate (4,) of a quaternion q (4,); for a unit quaternion, this is the inverse rotation."""
    return np.array([q[0], -q[1], -q[2], -q[3]])


def normalized(q: Array) -> Array:
    """Return the unit quaternion q / |q| (4,) of a nonzero quaternion q (4,)."""
    return q / np.sqrt(q @ q)


def W_L(q: Array) -> Array:
    """Return the matrix (4, 4) of left multiplication by q: product(q, r) = W_L(q) @ r."""
    s, x, y, z = q
    return np.array([[s, -x, -y, -z], [x, s, -z, y], [y, z, s, -x], [z, -y, x, s]])


def W_R(q: Array) -> Array:
    """Return the matrix (4, 4) of right multiplication by q: product(r, q) = W_R(q) @ r."""
    s, x, y, z = q
    return np.array([[s, -x, -y, -z], [x, s, z, -y], [y, -z, s, x], [z, y, -x, s]])


def W_b(q: Array) -> Array:
    """Return the matrix (3, 4) from the rate of a unit quaternion q of R_ab to the body angular velocity.

    w_b = W_b(q) @ qdot (Wendlandt 1997, equation (A.1)), with the rate qdot (4,) [1/s]. w_b (3,) [rad/s] is the angular
    velocity of body b relative to frame a, in the axes of b.
    """
    return 2.0 * W_L(conjugate(q))[1:]


def W_s(q: Array) -> Array:
    """Return the matrix (3, 4) from the rate of a unit quaternion q of R_ab to the spatial angular velocity.

    w_s = W_s(q) @ qdot (Wendlandt 1997, equation (A.2)), with the rate qdot (4,) [1/s]. w_s (3,) [rad/s] is the angular
    velocity of body b relative to frame a, in the axes of a.
    """
    return 2.0 * W_R(conjugate(q))[1:]


def B_b(q: Array) -> Array:
    """Return the matrix (4, 3) from the body angular velocity w_b to the rate of a quaternion q of R_ab.

    qdot = B_b(q) @ w_b (4,) [1/s], with the angular velocity w_b (3,) [rad/s] of b relative to a, in the axes of b
    (Wendlandt 1997, equation (A.4)).
    """
    return 0.5 * W_L(q)[:, 1:]


def B_s(q: Array) -> Array:
    """Return the matrix (4, 3) from the spatial angular velocity w_s to the rate of a quaternion q of R_ab.

    qdot = B_s(q) @ w_s (4,) [1/s], with the angular velocity w_s (3,) [rad/s] of b relative to a, in the axes of a
    (Wendlandt 1997, equation (A.5)).
    """
    return 0.5 * W_R(q)[:, 1:]


# --- quaternion, matrix, axis and angle ---


def matrix_from_quaternion(q: Array) -> Array:
    """Return the rotation matrix R (3, 3) of a quaternion of any norm, computed without a square root.

    R = (2 s^2 - 1) 1 + 2 s hat(v) + 2 v v^T for q/|q| = (s, v) (Wendlandt 1997, section A.3).
    """
    s, x, y, z = q
    k = 2.0 / (s * s + x * x + y * y + z * z)
    sx, sy, sz, xx, yy, zz = k * s * x, k * s * y, k * s * z, k * x * x, k * y * y, k * z * z
    xy, xz, yz = k * x * y, k * x * z, k * y * z
    return np.array(
        [
            [1.0 - (yy + zz), xy - sz, xz + sy],
            [xy + sz, 1.0 - (xx + zz), yz - sx],
            [xz - sy, yz + sx, 1.0 - (xx + yy)],
        ]
    )


def quaternion_from_matrix(R: Array) -> Array:
    """Return the unit quaternion (4,) of a rotation matrix R (3, 3), with first component >= 0.

    The formula divides by the largest component of the quaternion (Shepperd's method), which is at least 1/2.
    """
    t = R[0, 0] + R[1, 1] + R[2, 2]
    # Row k is 4 q_k q. The most accurate row has the largest diagonal entry 4 q_k^2 = 1 + 2 r_kk - t or 1 + t.
    s = np.array([1.0 + t, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    x = np.array([s[1], 1.0 + 2.0 * R[0, 0] - t, R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]])
    y = np.array([s[2], x[2], 1.0 + 2.0 * R[1, 1] - t, R[1, 2] + R[2, 1]])
    z = np.array([s[3], x[3], y[3], 1.0 + 2.0 * R[2, 2] - t])
    x_or_s = where(x[1] > s[0], x, s)
    y_or_z = where(y[2] > z[3], y, z)
    best = where(where(x[1] > s[0], x[1], s[0]) > where(y[2] > z[3], y[2], z[3]), x_or_s, y_or_z)
    q = normalized(best)
    return where(q[0] < 0.0, -q, q)


def matrix_about_axis(axis: Array, angle: Number) -> Array:
    """Return the rotation matrix R (3, 3) by `angle` [rad] about the constant unit vector `axis` (3,).

    If the axis is a coordinate axis, the entries that do not depend on the angle are exactly 0 or 1.
    """
    along = np.outer(axis, axis)
    return along + (np.eye(3) - along) * np.cos(angle) + hat(axis) * np.sin(angle)


def quaternion_about_axis(axis: Array, angle: Number) -> Array:
    """Return the unit quaternion (4,) of the rotation by `angle` [rad] about the unit vector `axis` (3,)."""
    return np.array([np.cos(angle / 2.0), *(np.sin(angle / 2.0) * np.asarray(axis))])


def axis_angle(q: Array) -> tuple[Array, Number]:
    """Return the unit axis (3,) and the angle [rad] in [0, pi] of a quaternion q (4,); the identity gets the x axis."""
    w = log_quaternion(q)
    squared = dot(w, w)
    turns = squared > 0.0
    angle = np.sqrt(where(turns, squared, 1.0))
    return where(turns, w / angle, np.array([1.0, 0.0, 0.0])), where(turns, angle, 0.0)


# --- roll, pitch, yaw ---


def matrix_from_rpy(roll: Number, pitch: Number, yaw: Number) -> Array:
    """Return the rotation matrix R (3, 3) = Rz(yaw) Ry(pitch) Rx(roll) for URDF's angles [rad].

    The rotations are about the fixed x, then y, then z axis.
    """
    x, y, z = np.eye(3)
    return matrix_about_axis(z, yaw) @ matrix_about_axis(y, pitch) @ matrix_about_axis(x, roll)


def rpy_from_matrix(R: Array) -> Array:
    """Return URDF's angles (roll, pitch, yaw) [rad] of a rotation matrix R (3, 3).

    Pitch is in [-pi/2, pi/2]; in gimbal lock roll is 0.
    """
    squared = R[0, 0] * R[0, 0] + R[1, 0] * R[1, 0]
    free = squared > 1e-24
    flat = where(free, np.sqrt(where(free, squared, 1.0)), 0.0)
    yaw = where(free, np.arctan2(R[1, 0], R[0, 0]), np.arctan2(-R[0, 1], R[1, 1]))
    # Row 2 of Rz(-yaw) R is (0, cos roll, -sin roll). Computing roll from it cancels errors of yaw: R is reproduced.
    s, c = np.sin(yaw), np.cos(yaw)
    roll = where(free, np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1]), 0.0)
    return np.array([roll, np.arctan2(-R[2, 0], flat), yaw])


def direction_cosines(alpha: Number, beta: Number, gamma: Number) -> Array:
    """Return SpaceDyn's direction cosines C0 = C3(gamma) C2(beta) C1(alpha) (3, 3) for angles [rad].

    This is equation (3.2) of the SpaceDyn manual (1999). C0 maps inertial to body coordinates. Its transpose A0 = C0^T
    rotates about the body's x, then y, then z axis; `matrix_from_rpy` rotates about fixed axes.
    """
    x, y, z = np.eye(3)
    return matrix_about_axis(z, -gamma) @ matrix_about_axis(y, -beta) @ matrix_about_axis(x, -alpha)


def rpy_from_direction_cosines(C: Array) -> Array:
    """Return SpaceDyn's angles (alpha, beta, gamma) [rad] of the direction cosines C (3, 3), beta in [-pi/2, pi/2]."""
    return -rpy_from_matrix(C)


# --- exponential and logarithm ---

SERIES_BELOW = 0.25  # theta^2 below which the series are exact to round-off; the closed forms lose digits there


def _series(x: Number, *coefficients: float) -> Number:
    """Return the polynomial in x with these coefficients, constant coefficient first, by Horner's rule."""
    total: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def half_sinc(squared: Number) -> Number:
    """Return sin(theta/2) / theta from `squared`, which is theta^2.

    theta [rad] is the length of a rotation vector w. The vector part of the unit quaternion of w is this factor times
    w.
    """
    small = squared < SERIES_BELOW
    theta = np.sqrt(where(small, 1.0, squared))
    series = _series(squared / 4.0, 1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800, 1 / 6227020800)
    return where(small, 0.5 * series, np.sin(0.5 * theta) / theta)


def exp_coefficient(squared: Number) -> Number:
    """Return (theta - sin theta) / theta^3 from `squared` = theta^2 [rad^2]; a coefficient of `exp_transform`."""
    small = squared < SERIES_BELOW
    theta = np.sqrt(where(small, 1.0, squared))
    factorials = (6, -120, 5040, -362880, 39916800, -6227020800, 1307674368000, -355687428096000)
    return where(
        small, _series(squared, *(1.0 / f for f in factorials)), (1.0 - np.sin(theta) / theta) / (theta * theta)
    )


def log_coefficient(squared: Number) -> Number:
    """Return (1 - (theta/2) cot(theta/2)) / theta^2 from `squared` = theta^2; a coefficient of `log_transform`.

    The rotation angle theta [rad] must be below 2 pi.
    """
    small = squared < SERIES_BELOW
    theta = np.sqrt(where(small, 1.0, squared))
    bernoulli = (12, 720, 30240, 1209600, 47900160, 1892437580.3183792, 74724249600, 2950130727918.1644)
    half = 0.5 * theta
    closed = (1.0 - half * np.cos(half) / np.sin(half)) / (theta * theta)
    return where(small, _series(squared, *(1.0 / b for b in bernoulli)), closed)


# Coefficients of the polynomial k(t) in x / sin(x) = 1 + t / 3 + t^2 k, t = 1 - cos(x): interpolation in the Chebyshev
# points of [0, 1.05], with error 6e-17 of x / sin(x)
_ANGLE_PER_SINE = (
    0.13333333333333336,
    0.05714285714283354,
    0.02539682540011247,
    0.011544011362578968,
    0.005328010618122833,
    0.002486308318151491,
    0.0011711872234369293,
    0.0005449446550570605,
    0.0003206299593299022,
    -0.00013348163007681005,
    0.000970762529738614,
    -0.002441443984004226,
    0.005243447795042502,
    -0.008638354681798714,
    0.01112498040328835,
    -0.0110202269799906,
    0.008258850880371656,
    -0.0045295793985253435,
    0.0017202373695452868,
    -0.00040538775972957244,
    4.508090474564268e-05,
)
LEAST_COSINE = -0.05  # smallest cos(x) at which the polynomial is valid: rotation by 2 x = 3.24 rad
TOO_FAR = 1e9  # result below LEAST_COSINE, so large that no solution of the equations of motion is found there


def angle_per_sine(w: Number) -> tuple[Number, Number, Number]:
    """Return x / sin(x) as a function of w = cos(x), and the first and second derivatives of this function.

    The rotation vector of a unit quaternion (w, v) is 2 v x / sin(x). The functions are smooth at the identity and at
    half a turn. They are valid for w >= LEAST_COSINE (rotations up to 3.24 rad). For smaller w, x / sin(x) is replaced
    by the large number TOO_FAR, and the derivatives have no meaning.
    """
    t = 1.0 - w
    k, u = _polynomial(t, _ANGLE_PER_SINE), 1.0 / (1.0 + w)
    g = 1.0 / 3.0 + t * k
    # From (1 - w^2) y' = w y - 1 and (1 - w^2) y'' = y + 3 w y' with y = 1 + t g; the factor t cancels
    first = (g * w - 1.0) * u
    second = ((1.0 + t) * (2.0 / 3.0) + k * (3.0 * w * w + t * (1.0 + w))) * (u * u)
    return where(w < LEAST_COSINE, TOO_FAR, 1.0 + t * g), first, second


def _polynomial(x: Number, coefficients: Sequence[float]) -> Number:
    """Return the polynomial in x with these coefficients by Estrin's scheme.

    The longest chain of dependent operations is shorter than that of Horner's rule. The constant coefficient is the
    first one.
    """
    terms: list[Any] = list(coefficients)
    while len(terms) > 1:
        rest = terms[-1:] if len(terms) % 2 else []
        terms = [a + b * x for a, b in zip(terms[::2], terms[1::2], strict=False)] + rest
        x = x * x
    return terms[0]


def exp_quaternion(w: Array) -> Array:
    """Return the unit quaternion (4,) of the rotation vector w (3,) [rad]."""
    squared = dot(w, w)
    nonzero = squared > 0.0
    theta = np.sqrt(where(nonzero, squared, 1.0))
    return np.array([where(nonzero, np.cos(0.5 * theta), 1.0), *(w * half_sinc(squared))])


def log_quaternion(q: Array) -> Array:
    """Return the rotation vector (3,) [rad] of a quaternion q (4,) of any norm; the rotation angle is in [0, pi]."""
    q = where(q[0] < 0.0, -q, q)
    s, v = q[0], q[1:]
    squared = dot(v, v)
    turns = squared > 1e-30 * s * s
    sine = np.sqrt(where(turns, squared, 1.0))
    # 2 atan2(|v|, s) / |v|; its limit is 2 / s for zero rotation
    factor = where(turns, 2.0 * np.arctan2(sine, s) / sine, 2.0 / where(turns, 1.0, s))
    return v * factor


def exp_matrix(w: Array) -> Array:
    """Return the rotation matrix R (3, 3) of the rotation vector w (3,) [rad], by Rodrigues' formula.

    Equation (3.4) of the SpaceDyn manual (1999) has a misprint in the last sign, corrected here.
    """
    return matrix_from_quaternion(exp_quaternion(w))


def log_matrix(R: Array) -> Array:
    """Return the rotation vector (3,) [rad] of a rotation matrix R (3, 3); the rotation angle is in [0, pi]."""
    return log_quaternion(quaternion_from_matrix(R))
