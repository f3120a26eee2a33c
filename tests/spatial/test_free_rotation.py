"""Rotation without torque conserves the angular momentum, is symmetric, and is exact for symmetric bodies."""

import numpy as np
import pytest

from linkwork.spatial.free_rotation import FreeRotation
from linkwork.spatial.rotation import exp_matrix, matrix_from_quaternion


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    A = rng.normal(size=(3, 3))
    return A @ A.T + np.eye(3)


@pytest.mark.parametrize("mirrored", [False, True])
def test_angular_momentum_in_the_world_is_constant(mirrored: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        I, w, h = random_inertia(rng), 3.0 * rng.normal(size=3), rng.uniform(0.01, 3.0)
        turn, after = FreeRotation.of(I).step(w, h, mirrored)
        assert matrix_from_quaternion(turn) @ I @ after == pytest.approx(I @ w, abs=1e-12 * np.abs(I @ w).max())


def test_mirrored_step_inverts_the_step_back_in_time() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        free, w, h = FreeRotation.of(random_inertia(rng)), rng.normal(size=3), 0.3
        turn, after = free.step(w, h)
        back, before = free.step(after, -h, mirrored=True)
        assert before == pytest.approx(w, abs=1e-13)
        assert matrix_from_quaternion(turn) @ matrix_from_quaternion(back) == pytest.approx(np.eye(3), abs=1e-13)


def test_acceleration_is_the_rate_of_the_angular_velocity() -> None:
    rng = np.random.default_rng(2)
    free, w, h = FreeRotation.of(random_inertia(rng)), rng.normal(size=3), 1e-4
    ahead, behind = (free.step(free.step(w, x)[1], x, mirrored=True)[1] for x in (h, -h))  # two steps: order two
    assert (ahead - behind) / (4.0 * h) == pytest.approx(free.acceleration(w), abs=1e-5)
    I = free.inertia
    assert I @ free.acceleration(w) == pytest.approx(-np.cross(w, I @ w), abs=1e-12)


def test_axisymmetric_body_turns_exactly_in_steps_of_any_length() -> None:
    """The axis turns about the angular momentum at the rate |L| / A, and the body about its axis as well."""
    A, C, w, h = 2.0, 0.7, np.array([0.3, -1.1, 2.0]), 5.0
    turn, after = FreeRotation.of(np.diag([A, A, C])).step(w, h)
    L = np.array([A, A, C]) * w
    own = np.array([0, 0, (1.0 / C - 1.0 / A) * L[2] * h])
    assert matrix_from_quaternion(turn) == pytest.approx(exp_matrix(L / A * h) @ exp_matrix(own), abs=1e-13)
    assert after == pytest.approx(exp_matrix(own).T @ w, abs=1e-13)


def test_bodies_without_inertia_turn_at_constant_velocity() -> None:
    w = np.array([1.0, 2.0, -0.5])
    for singular in (np.zeros((3, 3)), np.diag([1.0, 1.0, 0.0])):
        turn, after = FreeRotation.of(singular).step(w, 0.7)
        assert matrix_from_quaternion(turn) == pytest.approx(exp_matrix(w * 0.7), abs=1e-14)
        assert after == pytest.approx(w, abs=1e-15)
