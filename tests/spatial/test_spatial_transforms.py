"""Transforms form a group that acts on motions, forces and inertias and preserves power and energy."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.spatial import ArticulatedInertia, Force, Motion, RigidInertia, Transform
from linkwork.spatial.scalar import Array, hat
from linkwork.spatial.transform import exp_transform, log_transform
from random_mechanisms import relative
from random_spatial_quantities import ANGLES, exponential, force, generators, motion, rate, rigid, transform, unit
from scalars_of_unknown_value import to_opaque

EPS = 5e-15
Movable = Motion | Force | RigidInertia | ArticulatedInertia
DRAWS = {
    "motion": motion,
    "force": force,
    "bundle of motions": lambda rng: Motion.of(rng.normal(size=(6, 4))),
    "bundle of forces": lambda rng: Force.of(rng.normal(size=(6, 4))),
    "rigid inertia": rigid,
    "articulated inertia": lambda rng: articulated(rng),
}


def articulated(rng: np.random.Generator) -> ArticulatedInertia:
    """A general articulated inertia: that of a rigid body, reduced by a free joint."""
    P, S = rigid(rng).articulated(), Motion.of(rng.normal(size=(6, 2)))
    U = P @ S
    return P.less(U, Force.of(np.linalg.solve(S.pair(U), U.array.T).T))


def numbers(x: Movable | Transform) -> Array:
    return x.array if isinstance(x, Motion | Force) else x.matrix


def twist_matrix(V: Motion) -> Array:
    """The (4, 4) matrix of a twist (S4 A.5)."""
    return np.block([[hat(V.angular), V.linear[:, None]], [np.zeros((1, 4))]])


def adjoint(X: Transform) -> Array:
    """Ad of X as the paper writes it (S4 A.6)."""
    return np.block([[X.R, hat(X.p) @ X.R], [np.zeros((3, 3)), X.R]])


def with_angle(rng: np.random.Generator, angle: float) -> Motion:
    return Motion(rng.normal(size=3), unit(rng) * angle)


# --- the group ---


def test_transforms_satisfy_the_group_axioms() -> None:
    one = Transform.identity()
    for rng in generators(30):
        X, Y, Z = (transform(rng) for _ in range(3))
        assert relative(((X @ Y) @ Z).matrix, (X @ (Y @ Z)).matrix) < EPS
        assert ((one @ X).matrix == X.matrix).all()
        assert ((X @ one).matrix == X.matrix).all()
        assert relative((X @ X.inverse()).matrix, np.eye(4)) < EPS
        assert relative((X.inverse() @ X).matrix, np.eye(4)) < EPS


def test_transforms_match_homogeneous_matrices() -> None:
    for rng in generators(30):
        X, Y, r = transform(rng), transform(rng), rng.normal(size=3)
        assert relative((X @ Y).matrix, X.matrix @ Y.matrix) < EPS
        assert relative(X.inverse().matrix, np.linalg.inv(X.matrix)) < EPS
        assert relative(X.point(r), (X.matrix @ [*r, 1.0])[:3]) < EPS


def test_transform_from_position_and_roll_pitch_yaw_rotates_about_fixed_axes() -> None:
    X = Transform.place(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, np.pi / 2]))
    assert relative(X.point(np.array([1.0, 0.0, 0.0])), np.array([1.0, 3.0, 3.0])) < EPS
    rolled_then_yawed = Transform.place(np.zeros(3), np.array([np.pi / 2, 0.0, np.pi / 2]))
    assert relative(rolled_then_yawed.R, np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])) < EPS


# --- its action ---


@pytest.mark.parametrize("kind", DRAWS)
def test_transforming_by_a_product_equals_transforming_by_each_factor(kind: str) -> None:
    for rng in generators(20):
        X, Y, x = transform(rng), transform(rng), DRAWS[kind](rng)
        assert relative(numbers((X @ Y).up(x)), numbers(X.up(Y.up(x)))) < EPS
        assert (numbers(Transform.identity().up(x)) == numbers(x)).all()
        assert relative(numbers(X.inverse().up(X.up(x))), numbers(x), np.abs(numbers(X.up(x))).max()) < EPS


@pytest.mark.parametrize("kind", [kind for kind in DRAWS if "inertia" not in kind])
def test_methods_up_and_down_of_a_transform_are_inverse(kind: str) -> None:
    for rng in generators(20):
        X, Y, x = transform(rng), transform(rng), DRAWS[kind](rng)
        assert relative(numbers(X.down(X.up(x))), numbers(x)) < EPS
        assert relative(numbers(X.up(X.down(x))), numbers(x)) < EPS
        assert relative(numbers(X.down(x)), numbers(X.inverse().up(x))) < EPS
        assert relative(numbers((X @ Y).down(x)), numbers(Y.down(X.down(x)))) < EPS


def test_adjoint_matrices_match_the_papers() -> None:
    motions, forces = Motion.of(np.eye(6)), Force.of(np.eye(6))
    for rng in generators(20):
        X, P = transform(rng), articulated(rng)
        Ad = adjoint(X)
        inverse = np.block([[X.R.T, -X.R.T @ hat(X.p)], [np.zeros((3, 3)), X.R.T]])
        assert relative(X.up(motions).array, Ad) < EPS
        assert relative(X.down(motions).array, inverse) < EPS
        # (A.7) with its lost inverse: the printed matrix is Ad^-T, not Ad^T
        printed = np.block([[X.R, np.zeros((3, 3))], [hat(X.p) @ X.R, X.R]])
        assert relative(X.up(forces).array, printed) < EPS
        assert relative(X.up(forces).array, np.linalg.inv(Ad).T) < EPS
        assert relative(X.down(forces).array, Ad.T) < EPS
        assert relative(X.up(P).matrix, inverse.T @ P.matrix @ inverse) < EPS


def test_twist_transforms_by_conjugation_of_its_matrix() -> None:
    for rng in generators(20):
        X, V = transform(rng), motion(rng)
        assert relative(twist_matrix(X.up(V)), X.matrix @ twist_matrix(V) @ X.inverse().matrix) < EPS


def test_power_of_a_wrench_along_a_twist_is_the_same_in_every_frame() -> None:
    for rng in generators(20):
        X = transform(rng)
        for V, F in [(motion(rng), force(rng)), (DRAWS["bundle of motions"](rng), DRAWS["bundle of forces"](rng))]:
            assert relative(V.pair(F), V.linear.T @ F.linear + V.angular.T @ F.angular) < EPS
            assert relative(X.up(V).pair(X.up(F)), V.pair(F), 1.0) < 2 * EPS
            assert relative(X.down(V).pair(X.down(F)), V.pair(F), 1.0) < 2 * EPS


@pytest.mark.parametrize("kind", ["rigid inertia", "articulated inertia"])
def test_momentum_and_energy_are_frame_independent(kind: str) -> None:
    for rng in generators(20):
        X, V, I = transform(rng), motion(rng), DRAWS[kind](rng)
        assert relative((X.up(I) @ X.up(V)).array, X.up(I @ V).array, np.abs(numbers(X.up(I))).max()) < EPS
        scale = np.abs(numbers(X.up(I))).max() * np.abs(X.up(V).array).max() ** 2
        assert abs(X.up(V).pair(X.up(I) @ X.up(V)) - V.pair(I @ V)) < EPS * scale


# --- its Lie algebra ---


def test_spatial_cross_products_transform_with_their_factors() -> None:
    for rng in generators(20):
        X, V, W, F = transform(rng), motion(rng), motion(rng), force(rng)
        assert relative(X.up(V.cross(W)).array, X.up(V).cross(X.up(W)).array, 10.0) < EPS
        assert relative(X.up(V.cross(F)).array, X.up(V).cross(X.up(F)).array, 10.0) < EPS


def test_spatial_cross_products_are_a_lie_bracket_and_its_dual() -> None:
    for rng in generators(20):
        U, V, W, F = motion(rng), motion(rng), motion(rng), force(rng)
        assert relative(V.cross(W).array, -W.cross(V).array) < EPS
        jacobi = U.cross(V.cross(W)) + V.cross(W.cross(U)) + W.cross(U.cross(V))
        assert np.abs(jacobi.array).max() < 20 * EPS
        assert abs(W.pair(V.cross(F)) + V.cross(W).pair(F)) < 5 * EPS
        bracket = twist_matrix(V) @ twist_matrix(W) - twist_matrix(W) @ twist_matrix(V)
        assert relative(twist_matrix(V.cross(W)), bracket) < EPS


def test_cross_products_are_the_time_derivatives_of_transformed_vectors() -> None:
    for rng in generators(10):
        V, W, F = motion(rng), motion(rng), force(rng)
        assert relative(rate(lambda t, V=V, W=W: exp_transform(V * t).up(W).array), V.cross(W).array, 1.0) < 1e-10
        assert relative(rate(lambda t, V=V, F=F: exp_transform(V * t).up(F).array), V.cross(F).array, 1.0) < 1e-10


# --- exponential and logarithm ---


@pytest.mark.parametrize("angle", [*ANGLES, np.pi + 1e-9, 4.0, 2 * np.pi, 9.0])
def test_exponential_of_a_twist_matches_the_matrix_exponential(angle: float) -> None:
    for rng in generators(10):
        V = with_angle(rng, angle)
        assert relative(exp_transform(V).matrix, exponential(twist_matrix(V))) < 2 * EPS


@pytest.mark.parametrize("angle", ANGLES)
def test_logarithm_inverts_exponential(angle: float) -> None:
    for rng in generators(20):
        V = with_angle(rng, angle)
        back = log_transform(exp_transform(V))
        assert np.linalg.norm(back.angular) <= np.pi * (1 + 1e-15)
        assert relative(exp_transform(back).matrix, exp_transform(V).matrix) < EPS
        if angle < np.pi:  # half a turn has two logarithms
            assert relative(back.linear, V.linear) < EPS
            assert relative(back.angular, V.angular) < EPS


@pytest.mark.parametrize("short", [0.0, 1e-15, 1e-12, 1e-9, 1e-6])
def test_exponential_inverts_logarithm_near_half_turns(short: float) -> None:
    for rng in generators(20):
        n = unit(rng)
        half_turn = Transform(2 * np.outer(n, n) - np.eye(3), rng.normal(size=3))
        X = half_turn @ exp_transform(Motion(np.zeros(3), n * short))
        assert relative(exp_transform(log_transform(X)).matrix, X.matrix) < EPS


def test_exponentials_of_multiples_of_one_twist_form_a_one_parameter_group() -> None:
    for rng in generators(20):
        V, X, (s, t) = motion(rng), transform(rng), rng.normal(size=2)
        assert relative(exp_transform(log_transform(X)).matrix, X.matrix) < EPS
        both = exp_transform(V * s) @ exp_transform(V * t)
        assert relative(both.matrix, exp_transform(V * (s + t)).matrix) < EPS
        assert relative(exp_transform(-V).matrix, exp_transform(V).inverse().matrix) < EPS
        assert relative((X @ exp_transform(V) @ X.inverse()).matrix, exp_transform(X.up(V)).matrix) < EPS


# --- snapping ---


def test_snapped_transform_rounds_only_entries_near_zero_and_one() -> None:
    R = np.array([[1.0 - 1e-13, -1e-13, 0.0], [1e-16, -1.0 + 9e-13, 2e-12], [0.5, 1.0 + 2e-12, -0.0]])
    X = Transform(R, np.array([1e-13, 2.0 + 1e-13, -1.0 + 1e-13])).snapped()
    assert (X.R == [[1.0, 0.0, 0.0], [0.0, -1.0, 2e-12], [0.5, 1.0 + 2e-12, 0.0]]).all()
    assert (X.p == [0.0, 2.0 + 1e-13, -1.0]).all()
    assert not np.signbit(X.R[0, 1])
    assert (X.snapped().matrix == X.matrix).all()


def test_snapping_leaves_scalars_of_unknown_value_unchanged() -> None:
    hidden = to_opaque(np.full((3, 3), 1e-13))
    assert Transform(hidden, hidden[0]).snapped().R is hidden
