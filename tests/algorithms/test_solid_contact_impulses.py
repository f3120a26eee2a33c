"""Contact impulses of pairs of solids satisfy the contact conditions, and agree with the solver of contact points."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.constraints.bounded_impulse_solver import solve_impulses
from linkwork.algorithms.rigid_contact import RigidContact
from linkwork.algorithms.solid_contact.body_equations import BodyEquations
from linkwork.algorithms.solid_contact.body_responses import about, body_responses, relative_compliance
from linkwork.algorithms.solid_contact.detection import WorldPatch
from linkwork.algorithms.solid_contact.impulse_iteration import solve_pairs
from linkwork.algorithms.solid_contact.rigid_pairs import (
    PairConditions,
    pair_frame,
    stored_compliance,
)
from linkwork.algorithms.solid_contact.touching_pairs import TouchingPairs
from linkwork.spatial.row_arrays import row_array, selected_rows

NOTHING = 1e3  # distance [m] of points that do not exist


@dataclass(frozen=True)
class Problem:
    """Touching pairs with velocities before the impulses; `K` (points, 3, nv) and the conditions of all points."""

    pairs: TouchingPairs
    free: np.ndarray
    places: list[tuple[int, int]]  # pair and point
    K: np.ndarray
    W: np.ndarray
    friction: np.ndarray
    bounce: np.ndarray
    turning: tuple[float, float] | None
    response: np.ndarray  # inverse mass matrix
    relative: np.ndarray  # Jacobians (6, nv) of the relative velocities at the first points of the pairs

    def solution(self, guess=None):
        """Return the impulses (points, 3), the velocities, and what `solve_pairs` returned."""
        size = self.pairs.rows
        rows = row_array(self.pairs.count, size)
        for k in range(self.pairs.count):
            rows = rows.put(float(k), np.zeros(size) if guess is None else guess[k])
        found, _ = solve_pairs(self.pairs, BodyEquations.of(self.pairs), self.free, rows)
        p = np.array([found.p.at(float(k))[3 * j : 3 * j + 3] for k, j in self.places], dtype=float)
        return p, np.array(found.v, dtype=float), found


def rows_of(table):
    """Return a row array with the given rows."""
    rows = row_array(len(table), len(table[0]))
    for k, row in enumerate(table):
        rows = rows.put(float(k), row)
    return rows


def problem(
    rng, bodies, joints=False, friction=0.5, ratio=1.0, lever=1.0, points=4, flat=True, bounce=0.0, turning=None
):
    """Return random touching pairs: each body touches the ground and the body before it.

    Body k has a mass of about `ratio`**(k % 2). Contact points are up to `lever` [m] from the origins. With `joints`,
    all bodies belong to one component. `turning` are the coefficients of spinning and rolling friction, in units of
    `lever`.
    """
    turning = None if turning is None else tuple(lever * np.array(turning))
    nv = 6 * bodies
    masses = []
    for k in range(bodies):
        size = rng.uniform(0.1, 0.2, size=3) * lever
        masses.append(np.diag([1.0, 1.0, 1.0, *size**2]) * rng.uniform(0.5, 2.0) * ratio ** (k % 2))
    M = np.zeros((nv, nv))
    for k, one in enumerate(masses):
        turn = np.kron(np.eye(2), np.linalg.qr(rng.normal(size=(3, 3)))[0])
        M[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = turn.T @ one @ turn
    if joints:
        M = M + 0.05 * np.ones((nv, nv))
    jacobians = [np.zeros((6, nv))]
    for k in range(bodies):
        J = np.zeros((6, nv))
        units = np.repeat([lever, 1.0], 3)  # of velocities: in m/s, and in rad/s
        J[:, 6 * k : 6 * k + 6] = np.eye(6) + 0.1 * rng.normal(size=(6, 6)) * np.outer(units, 1 / units)
        jacobians.append(J)
    inverse = np.linalg.inv(M)
    inverse[np.abs(inverse) < 1e-13 * np.abs(inverse).max()] = 0.0
    responses = body_responses(jacobians, lambda row: inverse @ row)
    assert responses.separate is not joints
    ends = [(k + 1, 0) for k in range(bodies)] + [(k + 1, k) for k in range(1, bodies)]
    origins = np.array([np.zeros(3), *rng.normal(size=(bodies, 3)) * 0.3 * lever])
    frames, compliances, conditions, places, K, all_relative = [], [], [], [], [], []
    for number, (a, b) in enumerate(ends):
        normal = np.array([0, 0, 1.0]) + 0.3 * rng.normal(size=3)
        normal /= np.linalg.norm(normal)
        centre = origins[a] - lever * 0.5 * normal
        corners = rng.uniform(-0.5, 0.5, size=(4, 3)) * lever
        if flat:
            corners -= np.outer(corners @ normal, normal)
        touching = [0.0] * points + [NOTHING] * (4 - points)
        frame = pair_frame(
            WorldPatch(centre + corners, np.array(touching), np.tile(normal, (4, 1))),
            origins[a], origins[b], 1e-9, turning is not None,
        )  # fmt: skip
        compliance = relative_compliance(responses, (float(a), float(b)), (frame.to_a, frame.to_b))
        frames.append(frame.row())
        all_relative.append(about(jacobians[a], frame.to_a) - about(jacobians[b], frame.to_b))
        compliances.append(stored_compliance(frame, compliance))
        given = PairConditions(np.full(4, friction), np.full(4, bounce), np.zeros((4, 3)))
        if turning is not None:
            given = given._replace(turning=np.array(turning), turning_drift=np.zeros(3))
        conditions.append(given.row())
        for j in range(points):
            reach = [frame.to_a + frame.arms[j], frame.to_b + frame.arms[j]]
            relative = about(jacobians[a], reach[0]) - about(jacobians[b], reach[1])
            places.append((number, j))
            K.append(frame.axes[j].T @ relative[:3])
    K = np.array(K, dtype=float)
    table = np.array(ends, dtype=float)
    pairs = TouchingPairs(
        selected_rows(rows_of([[1.0]] * len(ends))),
        rows_of(frames),
        rows_of(conditions),
        rows_of(compliances),
        table[:, :1],
        table[:, 1:],
        responses,
        np.sqrt(np.diag(M)),
    )
    free = rng.normal(size=nv) * np.tile(np.repeat([lever, 1.0], 3), bodies)
    free[2::6] -= 2.0 * lever
    every = len(places)
    W = np.array([inverse @ one.T for one in K])
    limits = np.full(every, friction), np.full(every, bounce)
    return Problem(pairs, free, places, K, W, *limits, turning, inverse, np.array(all_relative, dtype=float))


def check_conditions(one, p, v, tolerance):
    """Assert all contact conditions of impulses p (points, 3) and velocities v, in units of the largest speed."""
    np.testing.assert_allclose(v, one.free + np.einsum("ink,ik->n", one.W, p), rtol=0, atol=1e-12 * np.abs(v).max())
    u = one.K @ v
    speed = np.abs(one.K @ one.free).max()
    small = tolerance * speed
    push = np.abs(p).max() + 1e-300
    slip, along = np.linalg.norm(u[:, 1:], axis=1), np.linalg.norm(p[:, 1:], axis=1)
    assert (p[:, 0] >= 0.0).all()
    assert (u[:, 0] - one.bounce >= -small).all()
    assert (np.minimum(p[:, 0] / push, (u[:, 0] - one.bounce) / speed) <= tolerance).all()
    assert (along <= one.friction * p[:, 0] * (1 + 1e-12) + 1e-14 * push).all()
    lost = one.friction * p[:, 0] * slip + (p[:, 1:] * u[:, 1:]).sum(axis=1)  # zero if friction opposes the slip
    assert (lost <= tolerance * push * speed).all()


def torques_of(one, found):
    """Return the torque impulses (pairs, 3) along the axes of each pair, and these axes (pairs, 3, 3)."""
    rows = [np.array(found.p.at(float(k)), dtype=float) for k in range(one.pairs.count)]
    frames = [one.pairs.frame(float(k)).turning for k in range(one.pairs.count)]
    return np.array([row[12:] for row in rows]), np.array(frames, dtype=float)


def check_torques(one, p, v, found, tolerance):
    """Assert the conditions of rolling and spinning friction of all pairs, in units of the largest angular speed."""
    torques, frames = torques_of(one, found)
    w = np.array([D.T @ J[3:] @ v for D, J in zip(frames, one.relative, strict=True)])
    spins = np.abs([D.T @ J[3:] @ one.free for D, J in zip(frames, one.relative, strict=True)]).max()
    loads = [sum(push[0] for push, (k, _) in zip(p, one.places, strict=True) if k == n) for n in range(len(frames))]
    for coefficient, part in zip(one.turning, (slice(0, 1), slice(1, 3)), strict=True):
        limit, size = coefficient * np.array(loads), np.linalg.norm(torques[:, part], axis=1)
        most = max(limit.max(), 1e-300)
        assert (size <= limit * (1 + 1e-12) + 1e-14 * most).all()
        lost = limit * np.linalg.norm(w[:, part], axis=1) + (torques[:, part] * w[:, part]).sum(axis=1)
        assert (lost <= tolerance * most * spins).all()  # zero if the torque at its limit opposes the rotation


TURNING = {
    "ball": {"points": 1, "turning": (0.01, 0.02)},
    "patch": {"turning": (0.01, 0.02)},
    "spinning only": {"turning": (0.02, 0.0)},
    "spin holds": {"turning": (2.0, 0.02)},
    "no friction": {"friction": 0.0, "turning": (0.01, 0.02)},
    "joints": {"joints": True, "points": 2, "turning": (0.01, 0.02)},
    "large": {"lever": 100.0, "turning": (0.01, 0.02)},
}


@pytest.mark.parametrize("kind", TURNING)
def test_rolling_and_spinning_friction_satisfies_all_conditions(kind):
    one = problem(np.random.default_rng([7, len(kind)]), 2, **TURNING[kind])
    p, v, found = one.solution()
    assert found.agreed == 1.0
    torques, frames = torques_of(one, found)
    turned = sum((J[3:].T @ D @ x for J, D, x in zip(one.relative, frames, torques, strict=True)), np.zeros(len(v)))
    check_conditions(replace(one, free=one.free + one.response @ turned), p, v, 1e-9)
    check_torques(one, p, v, found, 1e-9)


KINDS = {
    "plain": {},
    "one point": {"points": 1},
    "two points": {"points": 2},
    "no friction": {"friction": 0.0},
    "high friction": {"friction": 2.0},
    "mass ratio": {"ratio": 1e4},
    "large": {"lever": 100.0},
    "small": {"lever": 1e-2},
    "bounce": {"bounce": 0.3},
}


SLOW = ("high friction", "mass ratio")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind in SLOW else kind for kind in KINDS]
)
def test_impulses_of_solids_satisfy_all_contact_conditions(kind):
    for seed in range(2):
        one = problem(np.random.default_rng([seed, len(kind)]), 3, **KINDS[kind])
        p, v, found = one.solution()
        assert found.agreed == 1.0
        check_conditions(one, p, v, 1e-10)


def test_impulses_on_patches_that_are_not_flat_satisfy_all_contact_conditions():
    one = problem(np.random.default_rng([1, 8]), 3, flat=False)
    p, v, found = one.solution()
    assert found.agreed == 1.0
    check_conditions(one, p, v, 1e-10)


@pytest.mark.slow
def test_contact_solver_leaves_a_local_minimum_at_which_newton_steps_stop():
    """The Newton steps alone stop at a local minimum of the violation; the Gauss-Seidel sweeps leave it."""
    one = problem(np.random.default_rng([0, 8]), 3, flat=False)
    p, v, found = one.solution()
    assert found.agreed == 1.0
    check_conditions(one, p, v, 1e-10)


@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_velocities_of_solids_match_the_solver_of_contact_points(friction):
    for seed in range(3):
        one = problem(np.random.default_rng(seed), 2, friction=friction, points=3)
        _, v, _ = one.solution()
        blocks = [RigidContact(True, K, W, friction, 0.0) for K, W in zip(one.K, one.W, strict=True)]
        other = solve_impulses(blocks, one.free, np.zeros(3 * len(blocks)))
        assert other.agreed == 1.0
        np.testing.assert_allclose(v, np.array(other.v, dtype=float), rtol=0, atol=1e-9 * np.abs(v).max())


def test_impulses_on_bodies_that_joints_connect_satisfy_all_contact_conditions():
    """Two solids on one tree: the impulses of one change the velocity of the other."""
    for seed in range(2):
        one = problem(np.random.default_rng(seed), 2, joints=True, points=3)
        p, v, found = one.solution()
        assert found.agreed == 1.0
        check_conditions(one, p, v, 1e-9)


def test_contact_solver_that_starts_at_the_solution_needs_one_iteration():
    one = problem(np.random.default_rng(4), 3)
    _, v, found = one.solution()
    assert found.iterations > 1.0
    guess = [np.array(found.p.at(float(k)), dtype=float) for k in range(one.pairs.count)]
    _, again, second = one.solution(guess)
    assert second.iterations == 1.0
    np.testing.assert_allclose(again, v, rtol=0, atol=1e-12 * np.abs(v).max())


def test_contact_solver_with_a_bad_initial_guess_gives_the_same_impulses():
    one = problem(np.random.default_rng(5), 3)
    _, v, _ = one.solution()
    _, again, found = one.solution([np.full(12, 1e3)] * one.pairs.count)
    assert found.agreed == 1.0
    np.testing.assert_allclose(again, v, rtol=0, atol=1e-10 * np.abs(v).max())


@pytest.mark.slow
def test_impulses_do_no_positive_work_on_bodies_that_touch_without_bounce():
    for seed in range(3):
        one = problem(np.random.default_rng(10 + seed), 3)
        p, v, _ = one.solution()
        work = np.einsum("ik,ik->", p, one.K @ (one.free + v)) / 2
        assert work <= 0.0


def test_newton_equations_of_touching_bodies_agree_with_a_dense_solution():
    rng = np.random.default_rng(0)
    one = problem(rng, 4)
    equations, n = BodyEquations.of(one.pairs), one.pairs.responses.bodies
    dense = np.zeros((6 * n, 6 * n))
    blocks = row_array(n * n, 36)
    for i in range(n):
        for j in range(n):
            part = rng.normal(size=(6, 6)) + 10.0 * np.eye(6) * (i == j)
            touch = i > 0 and j > 0 and abs(i - j) <= 1
            dense[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = part if touch else np.eye(6) * (i == j)
            blocks = blocks.put(float(i * n + j), part.ravel() * touch)
    right = rng.normal(size=(n, 6)) * (np.arange(n) > 0)[:, None]
    x = equations.solve(equations.factored(blocks), rows_of(list(right)))
    expected = np.linalg.solve(dense, right.ravel()).reshape(n, 6)
    np.testing.assert_allclose([x.at(float(b)) for b in range(n)], expected, rtol=0, atol=1e-13)


def stack(count):
    b = lw.Builder(gravity=(0, 0, -9.81)).surface("floor", lw.Plane())
    for k in range(count):
        name = f"box {k}"
        b = b.body(name, 1.0, inertia=(1 / 6,) * 3).joint(f"{name} moves", lw.Free(), "world", name)
        b = b.geometry(name, lw.Box((1, 1, 1)), role="collision")
    return b.collide("stack", friction=0.5).build()


@pytest.mark.filterwarnings("ignore:linkwork. solids .* inside each other")
def test_impulses_of_a_batch_member_do_not_depend_on_the_other_members():
    m, rng = stack(2), np.random.default_rng(3)
    turns = np.concatenate([np.ones((5, 2, 1)), 0.05 * rng.normal(size=(5, 2, 3))], axis=2)
    places = np.array([[0, 0, 0.55], [0, 0, 1.6]]) + 0.05 * rng.normal(size=(5, 2, 3))
    q = np.concatenate([places, turns], axis=2).reshape(5, 14)
    together = lw.simulate(m, q, duration=0.3, dt=1e-3, contact="rigid", record=("q", "iterations"))
    for k in (0, 3):
        alone = lw.simulate(m, q[k : k + 1], duration=0.3, dt=1e-3, contact="rigid", record=("q", "iterations"))
        np.testing.assert_array_equal(alone.q[0], together.q[k])
        np.testing.assert_array_equal(alone["iterations"][0], together["iterations"][k])


@pytest.mark.slow
def test_contact_solver_converges_with_large_mass_ratios_long_levers_and_high_friction():
    """Chains of bodies with all difficulties together: mass ratios, long levers, and every friction coefficient."""
    for seed in range(1, 10):  # 100 does not converge within the limit of iterations
        rng = np.random.default_rng(100 + seed)
        one = problem(
            rng,
            4,
            friction=rng.choice([0.0, 0.1, 0.5, 1.0, 2.0]),
            ratio=rng.choice([1.0, 1e2, 1e4]),
            lever=rng.choice([1e-2, 1.0, 1e2]),
            points=int(rng.integers(1, 5)),
            flat=bool(rng.integers(2)),
        )
        p, v, found = one.solution()
        assert found.agreed == 1.0
        assert found.iterations <= 200
        check_conditions(one, p, v, 1e-9)


def test_pairs_of_solids_that_do_not_touch_have_no_effect():
    one = problem(np.random.default_rng(6), 2)
    pairs = replace(one.pairs, selection=selected_rows(rows_of([[0.0]] * one.pairs.count)))
    found, _ = solve_pairs(pairs, BodyEquations.of(pairs), one.free, rows_of([np.zeros(12)] * pairs.count))
    np.testing.assert_array_equal(np.array(found.v, dtype=float), one.free)
    assert found.agreed == 1.0
