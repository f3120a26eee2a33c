"""Coordinates, velocities, pose, motion subspace and their rates are consistent for every joint kind."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import JointKind
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array
from linkwork.spatial.transform import log_transform
from random_mechanisms import MOVING_KINDS, random_kind, relative, tree
from random_spatial_quantities import generators, rate, unit
from scalars_of_unknown_value import from_opaque, to_opaque

EPS = 5e-15
AXES = ((0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, -1), (1, 2, -3))
KINDS: list[JointKind] = [
    *(kind(axis) for kind in (lw.Revolute, lw.Prismatic, lw.Cylindrical, lw.Planar) for axis in AXES),
    *(lw.Screw(axis, pitch) for axis, pitch in zip(AXES, (0.0, 0.1, -0.3, 2.0, 0.05), strict=True)),
    *(lw.Universal(a, b) for a, b in pairwise(AXES[:3])),
    lw.Universal((1, 2, -3), (0.5, 0, 1)),  # neither aligned nor at right angles
    lw.Ball(),
    lw.Free(),
    lw.Weld(),
]
BATCHES = [(), (3,), (2, 3), (0,)]

each_kind = pytest.mark.parametrize("kind", KINDS, ids=str)
each_tree = pytest.mark.parametrize("seed", range(20))


def quaternion(kind: JointKind, q: Array) -> Array:
    """The quaternion among the coordinates; the identity for a joint without one."""
    return q[-4:] if kind.nq > kind.nv else np.array([1.0, 0.0, 0.0, 0.0])


def step(kind: JointKind, rng: np.random.Generator, angle: float = 3.0) -> Array:
    """A random velocity (nv,); joints with quaternions rotate by at most `angle`, the others by any angle."""
    dv = rng.normal(size=kind.nv) * 4.0
    if kind.nq > kind.nv:
        dv[-3:] = unit(rng) * angle
    return dv


def same_pose(kind: JointKind, q0: Array, q1: Array) -> float:
    return relative(kind.transform(q0).matrix, kind.transform(q1).matrix)


def step_of(m: lw.Mechanism, rng: np.random.Generator) -> Array:
    """A random velocity (nv,) of a whole mechanism that rotates no quaternion by half a turn or more."""
    return np.concatenate([step(joint.kind, rng, float(rng.uniform(0, 3.1))) for joint in m.joints])


# --- one joint ---


@each_kind
@pytest.mark.parametrize("angle", [0.0, 1e-16, 1e-9, 0.5, 2.0, np.pi - 1e-6])
def test_difference_inverts_integrate(kind: JointKind, angle: float) -> None:
    for rng in generators(5):
        q0, dv = kind.random(rng), step(kind, rng, angle)
        assert relative(kind.difference(q0, kind.integrate(q0, dv)), dv, 1.0) < 2 * EPS


@each_kind
def test_integrate_inverts_difference_and_preserves_the_unit_norm_of_quaternions(kind: JointKind) -> None:
    for rng in generators(10):
        q0, q1 = kind.random(rng), kind.random(rng)
        reached = kind.integrate(q0, kind.difference(q0, q1))
        assert same_pose(kind, reached, q1) < EPS
        assert abs(np.linalg.norm(quaternion(kind, reached)) - 1.0) < EPS
        assert same_pose(kind, kind.integrate(q0, np.zeros(kind.nv)), q0) < EPS


@each_kind
def test_many_small_displacements_preserve_unit_norm_and_add_up(kind: JointKind) -> None:
    rng = np.random.default_rng(3)
    q0, dv = kind.random(rng), step(kind, rng, 1.0)
    q = q0
    for _ in range(1000):
        q = kind.integrate(q, dv / 1000)
        assert abs(np.linalg.norm(quaternion(kind, q)) - 1.0) < EPS
    assert same_pose(kind, q, kind.integrate(q0, dv)) < 1e-12


@each_kind
def test_qdot_is_the_rate_of_integrate(kind: JointKind) -> None:
    for rng in generators(5):
        q, v = kind.random(rng), rng.normal(size=kind.nv)
        assert relative(kind.qdot(q, v), rate(lambda t, q=q, v=v: kind.integrate(q, v * t)), 1.0) < 1e-11


@each_kind
def test_subspace_gives_the_twist_of_the_moving_pose(kind: JointKind) -> None:
    for rng in generators(5):
        q, v = kind.random(rng), rng.normal(size=kind.nv)
        back = kind.transform(q).inverse()

        def moved(t: float, q: Array = q, v: Array = v, back: Transform = back) -> Array:
            return log_transform(back @ kind.transform(kind.integrate(q, v * t))).array

        assert relative((kind.subspace(q) @ v).array, rate(moved), 1.0) < 1e-10


@each_kind
def test_subspace_rate_is_the_rate_of_the_subspace(kind: JointKind) -> None:
    for rng in generators(5):
        q, v = kind.random(rng), rng.normal(size=kind.nv)
        change = rate(lambda t, q=q, v=v: kind.subspace(kind.integrate(q, v * t)).array)
        assert relative(kind.subspace_rate(q, v).array, change, 1.0) < 1e-11
        assert relative(kind.bias(q, v).array, kind.subspace_rate(q, v).array @ v, 1.0) < EPS


@each_kind
def test_neutral_position_is_the_identity_pose(kind: JointKind) -> None:
    assert kind.neutral().shape == (kind.nq,)
    assert (kind.transform(kind.neutral()).matrix == np.eye(4)).all()


@each_kind
def test_random_positions_are_reproducible_and_have_unit_norm(kind: JointKind) -> None:
    q = kind.random(np.random.default_rng(5))
    assert q.shape == (kind.nq,)
    assert (q == kind.random(np.random.default_rng(5))).all()
    assert kind.nq == 0 or (q != kind.random(np.random.default_rng(6))).all()
    assert abs(np.linalg.norm(quaternion(kind, q)) - 1.0) < EPS


@each_kind
def test_flags_of_angular_velocities_match_the_motion_subspace(kind: JointKind) -> None:
    S = kind.subspace(kind.random(np.random.default_rng(2)))
    assert S.array.shape == (6, kind.nv)
    assert kind.turns == tuple(bool(column.any()) for column in S.angular.T)
    assert kind.nv == 0 or np.linalg.svd(S.array, compute_uv=False)[-1] > 0.1  # no freedom is counted twice


@pytest.mark.parametrize("kind", [lw.Ball(), lw.Free()], ids=str)
@pytest.mark.parametrize("length", [-1.0, 1e-3, 50.0])
def test_pose_of_a_joint_does_not_depend_on_the_norm_of_its_quaternion(kind: JointKind, length: float) -> None:
    for rng in generators(5):
        q, dv = kind.random(rng), step(kind, rng)
        stretched = q.copy()
        stretched[-4:] *= length
        assert same_pose(kind, stretched, q) < EPS
        reached = kind.integrate(stretched, dv)
        assert same_pose(kind, reached, kind.integrate(q, dv)) < EPS
        assert abs(np.linalg.norm(reached[-4:]) - 1.0) < EPS
        assert relative(kind.difference(stretched, kind.integrate(q, dv)), dv, 1.0) < 2 * EPS


def test_screw_advances_by_its_pitch() -> None:
    X = lw.Screw((0, 0, 2), pitch=0.1).transform(np.array([2 * np.pi]))
    assert relative(X.p, np.array([0.0, 0.0, 0.2 * np.pi])) < EPS
    assert relative(X.R, np.eye(3)) < EPS


@pytest.mark.parametrize(("axis", "first", "second"), [("z", "x", "y"), ("x", "y", "z"), ("y", "z", "x")])
def test_planar_joint_slides_along_the_two_axes_that_follow_its_normal(axis: str, first: str, second: str) -> None:
    n, ex, ey = (np.eye(3)["xyz".index(name)] for name in (axis, first, second))
    X = lw.Planar(n).transform(np.array([2.0, 3.0, 0.4]))
    assert (X.p == 2.0 * ex + 3.0 * ey).all()
    assert relative(X.R @ ex, np.cos(0.4) * ex + np.sin(0.4) * ey) < EPS


def test_universal_joint_turns_first_about_the_axis_in_the_parent() -> None:
    kind = lw.Universal((1, 0, 0), (0, 1, 0))
    X = kind.transform(np.array([np.pi / 2, np.pi / 2]))
    assert relative(X.R, np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])) < EPS


# --- whole mechanisms ---


def batch_of(m: lw.Mechanism, batch: tuple[int, ...]) -> tuple[Array, Array]:
    """Positions (*batch, nq) and displacements (*batch, nv)."""
    rng = np.random.default_rng(len(batch))
    count = int(np.prod(batch, dtype=int))
    q, dv = [m.random(rng) for _ in range(count)], [step_of(m, rng) for _ in range(count)]
    return np.reshape(q, (*batch, m.nq)), np.reshape(dv, (*batch, m.nv))


@each_tree
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_integrate_of_a_tree_integrates_each_joint_in_any_batch(seed: int, batch: tuple[int, ...]) -> None:
    m = tree(seed)
    q, dv = batch_of(m, batch)
    q1 = m.integrate(q, dv)
    assert (q1.shape, q1.dtype, q1.flags.c_contiguous) == ((*batch, m.nq), np.dtype(float), True)
    back = m.difference(q, q1)
    assert back.shape == (*batch, m.nv)
    assert relative(back, dv) < EPS
    q_dot = m.qdot(q, dv)
    assert q_dot.shape == (*batch, m.nq)
    for index in np.ndindex(batch):
        for joint in m.joints:
            here, moved = q[index][joint.q], dv[index][joint.v]
            assert (q1[index][joint.q] == joint.kind.integrate(here, moved)).all()
            assert (q_dot[index][joint.q] == joint.kind.qdot(here, moved)).all()
            assert abs(np.linalg.norm(quaternion(joint.kind, q1[index][joint.q])) - 1.0) < EPS


@each_tree
def test_batches_of_coordinates_broadcast_like_numpy(seed: int) -> None:
    m = tree(seed)
    q, dv = batch_of(m, (2, 3))
    for a, b in [(q[0, 0], dv), (q[:, :1], dv[1]), (q, dv[0, 0])]:
        whole = np.broadcast_to(a, q.shape), np.broadcast_to(b, dv.shape)
        assert (m.integrate(a, b) == m.integrate(*whole)).all()
        assert (m.qdot(a, b) == m.qdot(*whole)).all()
    assert (m.difference(q[0], q[:, :1]) == m.difference(np.stack([q[0]] * 2), np.repeat(q[:, :1], 3, axis=1))).all()


@each_tree
def test_random_positions_of_trees_are_reproducible_by_seed(seed: int) -> None:
    m = tree(seed)
    q = m.random(7)
    assert q.shape == (m.nq,)
    assert (q == m.random(np.random.default_rng(7))).all()
    assert not (q == m.random(8)).any()
    assert (m.neutral() == np.concatenate([joint.kind.neutral() for joint in m.joints])).all()


@each_tree
def test_integrate_difference_and_qdot_of_trees_never_branch_on_the_value_of_a_number(seed: int) -> None:
    m = tree(seed)
    q, dv = batch_of(m, (2,))
    calls: list[tuple[Callable[..., Array], Array, Array]] = [
        (m.integrate, q, dv),
        (m.difference, q, m.integrate(q, dv)),
        (m.qdot, q, dv),
    ]
    for function, a, b in calls:
        assert relative(from_opaque(function(to_opaque(a), to_opaque(b))), function(a, b)) < EPS
        assert relative(from_opaque(function(to_opaque(a[0]), to_opaque(b[0]))), function(a[0], b[0])) < EPS


def test_lists_and_integers_are_accepted() -> None:
    m = lw.example("double_pendulum")
    assert m.integrate([1, 2], [[3, 4]]).tolist() == [[4.0, 6.0]]


def test_mechanism_without_degrees_of_freedom_has_empty_coordinates() -> None:
    m = lw.Builder("rock").body("rock", mass=1.0).joint("glue", lw.Weld(), "world", "rock").build()
    for batch in BATCHES:
        nothing = np.zeros((*batch, 0))
        assert m.integrate(nothing, nothing).shape == (*batch, 0)


@each_kind
def test_joint_kinds_never_branch_on_the_value_of_a_number(kind: JointKind) -> None:
    rng = np.random.default_rng(4)
    q, v = kind.random(rng), rng.normal(size=kind.nv)
    answers: list[Callable[[Array, Array], Array]] = [
        lambda q, v: kind.transform(q).matrix,
        lambda q, v: kind.subspace(q).array,
        lambda q, v: kind.subspace_rate(q, v).array,
        lambda q, v: kind.bias(q, v).array,
        kind.qdot,
        kind.integrate,
        lambda q, v: kind.difference(q, kind.integrate(q, v)),
    ]
    for answer in answers:
        assert relative(from_opaque(answer(to_opaque(q), to_opaque(v))), answer(q, v)) < EPS


def test_random_mechanisms_cover_every_joint_kind() -> None:
    rng = np.random.default_rng(0)
    assert {type(random_kind(rng, name)) for name in (*MOVING_KINDS, "weld")} == {type(kind) for kind in KINDS}
    assert {type(joint.kind) for seed in range(20) for joint in tree(seed).joints} == {type(k) for k in KINDS if k.nv}
