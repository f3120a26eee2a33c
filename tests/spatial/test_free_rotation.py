"""Rotation without torque conserves momentum and energy, is symmetric, and is exact for symmetric bodies."""

import numpy as np
import pytest

from linkwork.spatial.free_rotation import FreeRotation
from linkwork.spatial.rotation import exp_matrix, log_quaternion, matrix_from_quaternion, product


def random_inertia(rng: np.random.Generator, flattest: float = 0.2) -> np.ndarray:
    """The inertia of a box with edges between `flattest` and 1, in any axes."""
    x, y, z = rng.uniform(flattest, 1.0, 3) ** 2
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q @ np.diag([y + z, x + z, x + y]) @ Q.T


@pytest.mark.parametrize("h", [1e-6, 1e-3, 0.1, 1.0])
def test_free_rotation_conserves_angular_momentum_in_the_world_and_energy(h: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        I, w = random_inertia(rng, 0.02), rng.normal(size=3)
        turn, after = FreeRotation.of(I).step(w, h)
        assert matrix_from_quaternion(turn) @ I @ after == pytest.approx(I @ w, abs=1e-13 * np.abs(I @ w).max())
        assert after @ I @ after == pytest.approx(w @ I @ w, rel=1e-13)


def test_free_rotation_conserves_angular_momentum_in_steps_of_many_turns() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        I, w = random_inertia(rng), 100.0 * rng.normal(size=3)
        turn, after = FreeRotation.of(I).step(w, 1.0)
        assert matrix_from_quaternion(turn) @ I @ after == pytest.approx(I @ w, rel=1e-9, abs=1e-10)


def test_free_rotation_backward_in_time_inverts_the_step() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        free, w, h = FreeRotation.of(random_inertia(rng)), rng.normal(size=3), 0.3
        turn, after = free.step(w, h)
        back, before = free.step(after, -h)
        assert before == pytest.approx(w, abs=1e-13)
        assert matrix_from_quaternion(turn) @ matrix_from_quaternion(back) == pytest.approx(np.eye(3), abs=1e-13)


def test_steps_of_free_rotation_have_order_two() -> None:
    rng = np.random.default_rng(4)
    free, w = FreeRotation.of(random_inertia(rng)), rng.normal(size=3)

    def end(count: int) -> np.ndarray:
        turn, now = np.array([1.0, 0, 0, 0]), w
        for _ in range(count):
            part, now = free.step(now, 1.0 / count)
            turn = product(turn, part)
        return turn

    exact = end(4096)
    errors = [np.abs(log_quaternion(product(exact * [1, -1, -1, -1], end(count)))).max() for count in (8, 16, 32)]
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx([2.0, 2.0], abs=0.05)


def test_angular_acceleration_of_free_rotation_is_the_rate_of_the_angular_velocity() -> None:
    rng = np.random.default_rng(2)
    free, w, h = FreeRotation.of(random_inertia(rng)), rng.normal(size=3), 1e-4
    ahead, behind = (free.step(w, x)[1] for x in (h, -h))
    assert (ahead - behind) / (2.0 * h) == pytest.approx(free.acceleration(w), abs=1e-6)
    I = free.inertia
    assert I @ free.acceleration(w) == pytest.approx(-np.cross(w, I @ w), abs=1e-12)


@pytest.mark.parametrize(("A", "C"), [(2.0, 0.7), (1.0, 1.9), (1.0, 1e-4), (1.0, 1.0)])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_axisymmetric_body_turns_exactly_in_steps_of_any_length(A: float, C: float, axis: int) -> None:
    """The axis turns about the angular momentum at the rate |L| / A, and the body about its axis as well."""
    I, w, h, along = np.full(3, A), np.array([0.3, -1.1, 0.8]), 3.0, np.eye(3)[axis]
    I[axis], w[axis] = C, w[axis] * min(1.0, A / C)
    turn, after = FreeRotation.of(np.diag(I)).step(w, h)
    L = I * w
    own = along * ((1.0 / C - 1.0 / A) * L[axis] * h)
    assert matrix_from_quaternion(turn) == pytest.approx(exp_matrix(L / A * h) @ exp_matrix(own), abs=1e-12)
    assert after == pytest.approx(exp_matrix(own).T @ w, abs=1e-12)


def test_steady_rotation_is_exact_about_any_principal_axis() -> None:
    rng = np.random.default_rng(5)
    I = random_inertia(rng)
    for axis in np.linalg.eigh(I)[1].T:
        turn, after = FreeRotation.of(I).step(axis * 2.0, 0.4)
        assert after == pytest.approx(axis * 2.0, abs=1e-13)
        assert matrix_from_quaternion(turn) == pytest.approx(exp_matrix(axis * 0.8), abs=1e-13)


def test_bodies_without_inertia_turn_at_constant_velocity() -> None:
    w = np.array([1.0, 2.0, -0.5])
    for singular in (np.zeros((3, 3)), np.diag([1.0, 1.0, 0.0])):
        turn, after = FreeRotation.of(singular).step(w, 0.7)
        assert matrix_from_quaternion(turn) == pytest.approx(exp_matrix(w * 0.7), abs=1e-14)
        assert after == pytest.approx(w, abs=1e-15)
