"""Unit quaternions and rotation matrices form one group, and all conversions are inverse pairs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.spatial import rotation as rot
from linkwork.spatial.scalar import Array, Number, hat
from random_mechanisms import relative
from random_spatial_quantities import ANGLES, exponential, generators, rate, rotation, unit

EPS = 2e-15  # nine units in the last place of 1
IDENTITY = np.array(rot.IDENTITY)


def quaternions(count: int = 30) -> list[Array]:
    return [unit(rng, 4) for rng in generators(count)]


def axes() -> list[Array]:
    return [*np.eye(3), *-np.eye(3), *(unit(rng) for rng in generators(10))]


def same_up_to_sign(a: Array, b: Array) -> float:
    return min(relative(a, b), relative(-a, b))


# --- the group ---


def test_quaternion_product_matches_the_matrix_product() -> None:
    for a, b in zip(quaternions(), quaternions()[::-1], strict=True):
        expected = rot.matrix_from_quaternion(a) @ rot.matrix_from_quaternion(b)
        assert relative(rot.matrix_from_quaternion(rot.product(a, b)), expected) < EPS
        assert relative(rot.W_L(a) @ b, rot.product(a, b)) < EPS
        assert relative(rot.W_R(b) @ a, rot.product(a, b)) < EPS


def test_quaternions_satisfy_the_group_axioms() -> None:
    for rng in generators(30):
        a, b, c = (unit(rng, 4) for _ in range(3))
        assert relative(rot.product(rot.product(a, b), c), rot.product(a, rot.product(b, c))) < EPS
        assert (rot.product(a, IDENTITY) == a).all()
        assert (rot.product(IDENTITY, a) == a).all()
        assert relative(rot.product(a, rot.conjugate(a)), IDENTITY) < EPS
        assert relative(rot.product(rot.conjugate(a), a), IDENTITY) < EPS
        reverse = rot.product(rot.conjugate(b), rot.conjugate(a))
        assert relative(rot.conjugate(rot.product(a, b)), reverse) < EPS


def test_quaternion_rotates_vectors_like_its_matrix() -> None:
    for rng in generators(30):
        q, v = unit(rng, 4), rng.normal(size=3)
        R = rot.matrix_from_quaternion(q)
        sandwich = rot.product(rot.product(q, np.array([0.0, *v])), rot.conjugate(q))
        assert relative(sandwich, np.array([0.0, *(R @ v)])) < EPS
        written = (2 * q[0] ** 2 - 1) * np.eye(3) + 2 * q[0] * hat(q[1:]) + 2 * np.outer(q[1:], q[1:])
        assert relative(R, written) < EPS
        assert relative(R @ R.T, np.eye(3)) < EPS
        assert abs(np.linalg.det(R) - 1.0) < EPS
        assert relative(rot.matrix_from_quaternion(rot.conjugate(q)), R.T) < EPS


def test_a_quaternion_and_its_negative_represent_the_same_rotation() -> None:
    for q in quaternions():
        assert (rot.matrix_from_quaternion(-q) == rot.matrix_from_quaternion(q)).all()
    for rng in generators(30):
        R = rotation(rng)
        back = rot.quaternion_from_matrix(R)
        assert relative(rot.matrix_from_quaternion(back), R) < EPS
        assert back[0] >= 0.0


@pytest.mark.parametrize("length", [1e-100, 0.3, 7.0, 1e100])
def test_quaternion_norm_does_not_change_the_rotation(length: float) -> None:
    for q in quaternions():
        assert relative(rot.normalized(q * length), q) < EPS
        assert relative(rot.matrix_from_quaternion(q * length), rot.matrix_from_quaternion(q)) < EPS
        assert relative(rot.log_quaternion(q * length), rot.log_quaternion(q)) < EPS
        (axis, angle), (unit_axis, unit_angle) = rot.axis_angle(q * length), rot.axis_angle(q)
        assert relative(axis, unit_axis) < EPS
        assert abs(angle - unit_angle) < EPS


# --- rates (Wendlandt A.1 to A.5) ---


def test_quaternion_rate_matrices_match_wendlandts_appendix() -> None:
    for q in quaternions():
        s, x, y, z = q
        assert (rot.W_b(q) == 2 * np.array([[-x, s, z, -y], [-y, -z, s, x], [-z, y, -x, s]])).all()
        assert (rot.W_s(q) == 2 * np.array([[-x, s, -z, y], [-y, z, s, -x], [-z, -y, x, s]])).all()
        assert (rot.B_b(q) == 0.5 * np.array([[-x, -y, -z], [s, -z, y], [z, s, -x], [-y, x, s]])).all()
        assert (rot.B_s(q) == 0.5 * np.array([[-x, -y, -z], [s, z, -y], [-z, s, x], [y, -x, s]])).all()


def test_quaternion_rate_matrices_are_inverse_to_each_other() -> None:
    for rng in generators(30):
        q, w = unit(rng, 4), rng.normal(size=3)
        assert relative(rot.W_b(q) @ rot.B_b(q), np.eye(3)) < EPS
        assert relative(rot.W_s(q) @ rot.B_s(q), np.eye(3)) < EPS
        assert relative(rot.W_s(q) @ rot.B_b(q), rot.matrix_from_quaternion(q)) < EPS  # w_s = R w_b
        assert np.abs(np.array([rot.W_b(q) @ q, rot.W_s(q) @ q])).max() < EPS  # growth is no turn
        half = np.array([0.0, *(w / 2)])
        assert relative(rot.B_b(q) @ w, rot.product(q, half)) < EPS  # (A.3)
        assert relative(rot.B_s(q) @ w, rot.product(half, q)) < EPS


def test_quaternion_rate_matrices_match_a_rotating_quaternion() -> None:
    for rng in generators(20):
        a, b, c = unit(rng, 4), *rng.normal(size=(2, 4))

        def q(t: float, a: Array = a, b: Array = b, c: Array = c) -> Array:
            path = a + b * t + c * t * t
            return path / np.linalg.norm(path)

        q_dot, R_dot = rate(q), rate(lambda t, q=q: rot.matrix_from_quaternion(q(t)))
        R, w_b, w_s = rot.matrix_from_quaternion(a), rot.W_b(a) @ q_dot, rot.W_s(a) @ q_dot
        assert relative(hat(w_b), R.T @ R_dot, 1.0) < 1e-9
        assert relative(hat(w_s), R_dot @ R.T, 1.0) < 1e-9
        assert relative(rot.B_b(a) @ w_b, q_dot, 1.0) < 1e-10
        assert relative(rot.B_s(a) @ w_s, q_dot, 1.0) < 1e-10


# --- matrix and quaternion ---


@pytest.mark.parametrize("largest", range(4))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_quaternion_is_recovered_from_its_matrix_whichever_component_is_largest(largest: int, sign: float) -> None:
    for rng in generators(20, seed=largest):
        q = rng.uniform(-0.4, 0.4, size=4)
        q[largest] = sign
        q /= np.linalg.norm(q)
        back = rot.quaternion_from_matrix(rot.matrix_from_quaternion(q))
        assert relative(back, q if q[0] > 0 else -q) < EPS


def test_quaternions_with_equal_components_are_recovered_from_their_matrices() -> None:
    for signs in np.ndindex(2, 2, 2, 2):
        q = 0.5 - np.array(signs, dtype=float)
        assert (rot.quaternion_from_matrix(rot.matrix_from_quaternion(q)) == (q if q[0] > 0 else -q)).all()


@pytest.mark.parametrize("short", [0.0, 1e-15, 1e-12, 1e-9, 1e-6, -1e-9])
def test_quaternions_of_half_turns_are_recovered_from_their_matrices(short: float) -> None:
    for n in [*axes(), *np.sqrt([[1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])]:
        s = np.sin(short / 2)  # cos((pi - short) / 2)
        q = np.array([s, *(n * np.sqrt(1.0 - s * s))])
        back = rot.quaternion_from_matrix(rot.matrix_from_quaternion(q))
        assert back[0] >= 0.0
        assert same_up_to_sign(back, q) < EPS
        assert same_up_to_sign(rot.quaternion_from_matrix(2 * np.outer(n, n) - np.eye(3)), np.array([0.0, *n])) < EPS


# --- exponential and logarithm ---


def exact(name: str, squared: float, terms: int = 25) -> float:
    """Return half_sinc, exp_coefficient or log_coefficient of theta^2, by exact rational arithmetic on series."""
    x = Fraction(squared)

    def series(y: Fraction, first: int) -> Fraction:
        return sum(((-y) ** k / factorial(2 * k + first) for k in range(terms)), Fraction(0))

    sinc, cosine = series(x / 4, 1), series(x / 4, 0)  # of theta / 2
    values = {
        "half_sinc": sinc / 2,
        "exp_coefficient": series(x, 3),
        "log_coefficient": (sinc - cosine) / (sinc * x) if x else 1 / 12,
    }
    return float(values[name])


@pytest.mark.parametrize("name", ["half_sinc", "exp_coefficient", "log_coefficient"])
def test_power_series_and_closed_forms_of_rotation_functions_are_exact_and_join_continuously(name: str) -> None:
    function: Callable[[Number], Number] = getattr(rot, name)
    below, at = np.nextafter(rot.SERIES_BELOW, 0), rot.SERIES_BELOW
    assert abs(function(below) - function(at)) < 1e-15
    for squared in [0.0, below, at, *np.logspace(-30, 0, 61), *np.linspace(0.2, np.pi**2, 61)]:
        expected = exact(name, float(squared))
        for number in (float(squared), np.float64(squared)):
            assert abs(function(number) / expected - 1.0) < 3 * EPS, squared


def test_angle_per_sine_and_its_derivatives_are_exact_up_to_half_a_turn() -> None:
    """Derivatives of y = x / sin x by w = cos x: (1 - w^2) y' = w y - 1, (1 - w^2) y'' = y + 3 w y'."""
    for x in [1e-9, 1e-5, *np.linspace(0.01, 1.6, 200)]:
        w, y = np.cos(x), x / np.sin(x)
        found, first, second = rot.angle_per_sine(w)
        assert abs(found / y - 1.0) < 4 * EPS
        tolerance = 20 * EPS / np.sin(x) ** 2
        assert abs(np.sin(x) ** 2 * first - (w * y - 1.0)) < 20 * EPS
        assert abs(second * np.sin(x) ** 2 - (y + 3.0 * w * first)) < 20 * tolerance * np.sin(x) ** 2 + 200 * EPS
    assert rot.angle_per_sine(1.0) == pytest.approx((1.0, -1.0 / 3.0, 4.0 / 15.0), rel=1e-9)
    assert rot.angle_per_sine(-0.06)[0] == rot.TOO_FAR


@pytest.mark.parametrize("angle", ANGLES)
def test_logarithm_inverts_exponential(angle: float) -> None:
    for n in axes():
        w = n * angle
        q, R = rot.exp_quaternion(w), rot.exp_matrix(w)
        assert abs(q @ q - 1.0) < EPS
        assert relative(R, exponential(hat(w))) < 5 * EPS
        for back in (rot.log_quaternion(q), rot.log_quaternion(-q), rot.log_matrix(R)):
            either = back if angle < np.pi or back @ w > 0 else -back  # half a turn has two logarithms
            assert relative(either, w) < EPS
            assert np.linalg.norm(back) <= np.pi * (1 + EPS)


@given(st.tuples(*[st.floats(-1, 1)] * 3), st.floats(-18, np.log10(3.1)))
@settings(derandomize=True, max_examples=200, deadline=None)
def test_logarithm_inverts_exponential_at_any_scale(direction: tuple[float, float, float], exponent: float) -> None:
    w = np.array(direction) / max(np.linalg.norm(direction), 1e-3) * 10.0**exponent
    for back in (rot.log_quaternion(rot.exp_quaternion(w)), rot.log_matrix(rot.exp_matrix(w))):
        assert np.abs(back - w).max() <= EPS * np.linalg.norm(w) + 1e-300


def test_logarithm_takes_the_shorter_rotation() -> None:
    for n in axes():
        for angle in (3.2, 4.0, 6.0, 2 * np.pi - 1e-9):
            for q in (rot.exp_quaternion(n * angle), -rot.exp_quaternion(n * angle)):
                assert relative(rot.log_quaternion(q), n * (angle - 2 * np.pi), 1.0) < EPS


def test_exponentials_about_one_axis_add_and_rotate_with_it() -> None:
    for rng in generators(20):
        n, R, (a, b) = unit(rng), rotation(rng), rng.normal(size=2)
        together = rot.product(rot.exp_quaternion(n * a), rot.exp_quaternion(n * b))
        assert relative(together, rot.exp_quaternion(n * (a + b))) < EPS
        assert relative(R @ rot.exp_matrix(n * a) @ R.T, rot.exp_matrix(R @ (n * a))) < 2 * EPS


def test_axis_and_angle_of_a_quaternion_are_recovered() -> None:
    for n in axes():
        for angle in (1e-9, 0.5, 2.0, np.pi - 1e-9, np.pi):
            axis, found = rot.axis_angle(rot.quaternion_about_axis(n, angle))
            assert relative(axis, n) < EPS
            assert abs(found - angle) < EPS
        axis, found = rot.axis_angle(rot.quaternion_about_axis(n, 2 * np.pi - 1.0))
        assert relative(axis, -n) < EPS
        assert abs(found - 1.0) < EPS
        R = rot.matrix_about_axis(n, 0.7)
        assert relative(R, rot.matrix_from_quaternion(rot.quaternion_about_axis(n, 0.7))) < EPS
        assert relative(R, exponential(hat(n * 0.7))) < 2 * EPS
        assert n.max() < 1.0 or {0.0, 1.0} < set(R.ravel())  # exact along coordinate axes
    axis, angle = rot.axis_angle(IDENTITY)
    assert [*axis, angle] == [1.0, 0.0, 0.0, 0.0]


# --- three angles ---


def coordinate_rotations(a: float, b: float, c: float) -> tuple[Array, Array, Array]:
    """SpaceDyn's C1(a), C2(b), C3(c): coordinates in axes rotated about x, y and z, written out."""
    (sa, sb, sc), (ca, cb, cc) = np.sin([a, b, c]), np.cos([a, b, c])
    return (
        np.array([[1, 0, 0], [0, ca, sa], [0, -sa, ca]]),
        np.array([[cb, 0, -sb], [0, 1, 0], [sb, 0, cb]]),
        np.array([[cc, sc, 0], [-sc, cc, 0], [0, 0, 1]]),
    )


ANGLE_TRIPLES = [rng.uniform(-1, 1, size=3) * np.array([np.pi, np.pi / 2, np.pi]) for rng in generators(30)]


def test_roll_pitch_yaw_rotate_about_fixed_axes_and_are_recovered() -> None:
    for rpy in ANGLE_TRIPLES:
        C1, C2, C3 = coordinate_rotations(*rpy)
        R = rot.matrix_from_rpy(*rpy)
        assert relative(R, C3.T @ C2.T @ C1.T) < EPS
        assert relative(rot.rpy_from_matrix(R), rpy) < 1e-14


def test_direction_cosines_rotate_about_body_axes_and_are_recovered() -> None:
    for angles in ANGLE_TRIPLES:
        C1, C2, C3 = coordinate_rotations(*angles)
        C = rot.direction_cosines(*angles)
        assert relative(C, C3 @ C2 @ C1) < EPS
        assert relative(C, rot.matrix_from_rpy(*-angles)) < EPS
        turns = [rot.exp_matrix(n * angle) for n, angle in zip(np.eye(3), angles, strict=True)]
        assert relative(C.T, turns[0] @ turns[1] @ turns[2]) < EPS
        assert relative(rot.rpy_from_direction_cosines(C), angles) < 1e-14


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2])
def test_gimbal_lock_assigns_the_rotation_to_yaw(pitch: float) -> None:
    for roll, _, yaw in ANGLE_TRIPLES:
        R = rot.matrix_from_rpy(roll, pitch, yaw)
        rpy = rot.rpy_from_matrix(R)
        assert rpy[0] == 0.0
        assert abs(rpy[1] - pitch) < EPS
        assert relative(rot.matrix_from_rpy(*rpy), R) < EPS


@pytest.mark.parametrize("beside", [1.0, 1e-3, 1e-6, 1e-9, 1e-11, 3e-12, 5e-13, 1e-14, 0.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_roll_pitch_yaw_angles_reproduce_the_matrix_near_gimbal_lock(beside: float, sign: float) -> None:
    for rng in generators(20):
        yaw, pitch, roll = rng.uniform(-3, 3), sign * (np.pi / 2 - beside), rng.uniform(-3, 3)
        q = IDENTITY  # by quaternions, so that R is rounded as any matrix is
        for n, angle in zip(np.eye(3)[::-1], (yaw, pitch, roll), strict=True):
            q = rot.product(q, rot.quaternion_about_axis(n, angle))
        R = rot.matrix_from_quaternion(q)
        rpy = rot.rpy_from_matrix(R)
        assert relative(rot.matrix_from_rpy(*rpy), R) < 5e-12
        assert abs(rpy[1]) <= np.pi / 2
