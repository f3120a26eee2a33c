"""A rigid inertia is the sum of its point masses; the articulated form and its small solver match NumPy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from linkwork.spatial import ArticulatedInertia, Force, Motion, RigidInertia, Transform
from linkwork.spatial.scalar import Array, congruence, hat, ldlt
from random_mechanisms import relative
from random_spatial_quantities import force, generators, motion, positive, rigid, rotation, transform

EPS = 5e-15


class PointMasses(NamedTuple):
    """Point masses (n,) [kg] at points (n, 3) [m]."""

    masses: Array
    points: Array

    def inertia(self) -> RigidInertia:
        """Inertia from the mass, the centre and the inertia about the centre, by elementary sums."""
        mass = self.masses.sum()
        com = self.masses @ self.points / mass
        about = sum((m * unit_mass_inertia(r - com) for m, r in zip(*self, strict=True)), np.zeros((3, 3)))
        return RigidInertia.of(mass, com, about)

    def velocities(self, V: Motion) -> Array:
        """Velocity (n, 3) of every point in the motion V."""
        return V.linear + np.cross(V.angular, self.points)

    def resultant(self, vectors: Array) -> Array:
        """Sum (6,) of mass times vector, and of its moment about the origin."""
        weighted = self.masses[:, None] * vectors
        return np.concatenate([weighted.sum(axis=0), np.cross(self.points, weighted).sum(axis=0)])


def unit_mass_inertia(r: Array) -> Array:
    """|r|^2 1 - r r^T (3, 3): the inertia of a unit mass at r."""
    return r @ r * np.eye(3) - np.outer(r, r)


def random_point_masses(count: int = 20) -> list[tuple[np.random.Generator, PointMasses]]:
    return [(rng, PointMasses(rng.uniform(0.1, 2.0, size=7), rng.normal(size=(7, 3)))) for rng in generators(count)]


def is_symmetric(A: Array) -> bool:
    """Whether a matrix is symmetric to the bit."""
    return bool((A == A.T).all())


# --- rigid ---


def test_momentum_of_a_rigid_body_is_the_sum_over_its_point_masses() -> None:
    for rng, cloud in random_point_masses():
        V = motion(rng)
        assert relative((cloud.inertia() @ V).array, cloud.resultant(cloud.velocities(V))) < EPS


def test_kinetic_energy_of_a_rigid_body_is_the_sum_over_its_point_masses() -> None:
    for rng, cloud in random_point_masses():
        V = motion(rng)
        expected = 0.5 * cloud.masses @ (cloud.velocities(V) ** 2).sum(axis=1)
        assert abs(0.5 * V.pair(cloud.inertia() @ V) / expected - 1.0) < EPS


def test_gyroscopic_force_is_the_force_on_the_point_masses_of_a_body_with_constant_twist() -> None:
    for rng, cloud in random_point_masses():
        I, V = cloud.inertia(), motion(rng)
        acceleration = np.cross(V.angular, cloud.velocities(V))
        assert relative(I.gyroscopic(V).array, cloud.resultant(acceleration)) < 2 * EPS
        assert relative(I.gyroscopic(V).array, V.cross(I @ V).array) < 2 * EPS


def test_sum_of_two_inertias_is_the_inertia_of_all_their_point_masses() -> None:
    nothing = np.zeros((3, 3))
    for _, cloud in random_point_masses():
        total = RigidInertia.zero()
        for m, r in zip(*cloud, strict=True):
            total += RigidInertia.of(m, r, nothing)
        assert relative(total.matrix, cloud.inertia().matrix) < EPS
        even, odd = (PointMasses(cloud.masses[k::2], cloud.points[k::2]).inertia() for k in (0, 1))
        assert relative((even + odd).matrix, cloud.inertia().matrix) < EPS


def test_inertia_matrix_has_the_documented_form() -> None:
    for rng in generators(20):
        I = rigid(rng)
        m, h = I.mass, I.moment
        assert (I.matrix == np.block([[m * np.eye(3), -hat(h)], [hat(h), I.rotational]])).all()
        assert is_symmetric(I.matrix)
        assert np.linalg.eigvalsh(I.matrix)[0] > 0.0
        V = motion(rng)
        assert relative((I @ V).array, I.matrix @ V.array) < EPS


def test_rigid_inertia_satisfies_the_parallel_axis_theorem() -> None:
    for rng in generators(20):
        mass, com, A = 2.5, rng.normal(size=3), positive(rng, 3)
        I = RigidInertia.of(mass, com, A)
        assert relative(I.rotational, A + mass * unit_mass_inertia(com)) < EPS
        assert (I.moment == mass * com).all()
        shift = rng.normal(size=3)
        moved = Transform(np.eye(3), shift).up(I)
        assert relative(moved.matrix, RigidInertia.of(mass, com + shift, A).matrix) < EPS


def test_transformed_inertia_matches_transformed_points() -> None:
    for rng, cloud in random_point_masses():
        X = transform(rng)
        moved = PointMasses(cloud.masses, cloud.points @ X.R.T + X.p)
        assert relative(X.up(cloud.inertia()).matrix, moved.inertia().matrix) < EPS


# --- articulated ---


def articulated(rng: np.random.Generator) -> ArticulatedInertia:
    P = positive(rng, 6)
    P = (P + P.T) / 2
    return ArticulatedInertia(P[:3, :3], P[:3, 3:], P[3:, 3:])


def test_articulated_and_rigid_forms_agree_in_every_frame() -> None:
    for rng in generators(20):
        I, J, X = rigid(rng), rigid(rng), transform(rng)
        V, bundle = motion(rng), Motion.of(rng.normal(size=(6, 3)))
        A = I.articulated()
        assert relative(X.up(A).matrix, X.up(I).matrix) < EPS
        assert relative((A + J.articulated()).matrix, (I + J).matrix) < EPS
        assert relative((A @ V).array, (I @ V).array) < EPS
        assert relative((A @ bundle).array, I.matrix @ bundle.array) < EPS


def test_articulated_inertia_maps_motions_as_its_dense_matrix_does() -> None:
    for rng in generators(20):
        P, V, X = articulated(rng), motion(rng), transform(rng)
        assert is_symmetric(P.matrix)
        assert relative((P @ V).array, P.matrix @ V.array) < EPS
        forces, motions = X.up(Force.of(np.eye(6))).array, X.inverse().up(Motion.of(np.eye(6))).array
        assert relative(X.up(P).matrix, forces @ P.matrix @ motions) < EPS


@pytest.mark.parametrize("freedoms", [1, 2, 3, 6])
def test_articulated_inertia_across_a_free_joint_is_symmetric_to_the_bit(freedoms: int) -> None:
    for rng in generators(10):
        P, S = articulated(rng), Motion.of(rng.normal(size=(6, freedoms)))
        U = P @ S
        G = Force.of(ldlt(S.pair(U)).solve(U.array.T).T)
        rest = P.less(U, G)
        allowed = EPS * np.linalg.cond(S.pair(U))
        assert relative(rest.matrix, P.matrix - U.array @ G.array.T, np.abs(P.matrix).max()) < allowed
        assert is_symmetric(rest.matrix)
        assert np.abs((rest @ S).array).max() < allowed * np.abs(U.array).max()  # a free joint transmits no force


def test_transforms_keep_inertias_symmetric_to_the_bit() -> None:
    for rng in generators(20):
        X, R, A = transform(rng), rotation(rng), articulated(rng)
        assert is_symmetric(rigid(rng).rotational)
        assert is_symmetric(X.up(rigid(rng)).matrix)
        assert is_symmetric(X.up(A).matrix)
        assert is_symmetric(congruence(R, A.I))
        assert relative(congruence(R, A.I), R @ A.I @ R.T) < EPS


def test_forces_and_motions_form_vector_spaces() -> None:
    for rng in generators(5):
        F, G, bundle, c = force(rng), force(rng), Force.of(rng.normal(size=(6, 4))), rng.normal(size=4)
        assert ((F + G - G - F).array == (F + G - G).array - F.array).all()
        assert ((-F).array == -F.array).all()
        assert ((F * 3.0).array == 3.0 * F.array).all()
        assert relative((bundle @ c).array, bundle.array @ c) < EPS
        assert ((F + Force.zero()).array == F.array).all()
        R = rotation(rng)
        assert relative(F.rotated(R).array, Transform(R, np.zeros(3)).up(F).array) < EPS


# --- the small solver ---


@pytest.mark.parametrize("size", range(1, 7))
def test_ldlt_matches_numpy(size: int) -> None:
    for rng in generators(20, seed=size):
        A = positive(rng, size)
        for b in (rng.normal(size=size), rng.normal(size=(size, 1)), rng.normal(size=(size, 5))):
            x = ldlt(A).solve(b)
            assert relative(x, np.linalg.solve(A, b)) < EPS * np.linalg.cond(A)
            assert np.abs(A @ x - b).max() < EPS * np.linalg.norm(A) * np.abs(x).max()


@pytest.mark.parametrize("size", range(1, 7))
def test_ldlt_uses_only_the_lower_half(size: int) -> None:
    for rng in generators(5, seed=size):
        A = positive(rng, size)
        factors = ldlt(A)
        L = np.eye(size)
        for i, row in enumerate(factors.L):
            L[i, :i] = row
        assert relative(L @ np.diag(1.0 / np.array(factors.inverse_D)) @ L.T, A) < EPS
        blind = np.where(np.tri(size, dtype=bool), A, np.nan)
        assert ldlt(blind) == factors
