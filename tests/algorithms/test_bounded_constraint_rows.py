"""Bounded constraint rows satisfy their force laws beside contacts; impulses equal those of independent solvers."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from linkwork.algorithms.constraints.admissible_sets import clipped, into_ball, into_cone
from linkwork.algorithms.constraints.bounded_constraints import Ball, Box
from linkwork.algorithms.constraints.bounded_impulse_solver import Block, solve_impulses, split_by_block, work
from linkwork.algorithms.rigid_contact import RigidContact
from linkwork.compiler.kernel import Kernel
from quick_test_selection import mark_slow_pairs


def problem(seed: int, freedoms: int, contacts: int, rows: int, turning: bool) -> tuple[list[Block], np.ndarray]:
    """Return a random impulse problem: clutches, brakes and ratchets, some released, and contacts with friction.

    The contacts can have rolling and spinning friction.
    """
    rng = np.random.default_rng([seed, freedoms, contacts, rows])
    A = rng.normal(size=(freedoms, freedoms))
    M, v = A @ A.T + (freedoms if seed % 2 else 0.1) * np.eye(freedoms), 3.0 * rng.normal(size=freedoms)

    def response(K: np.ndarray) -> np.ndarray:
        return np.linalg.solve(M, K.T)

    blocks: list[Block] = []
    if rows:
        K, upper = rng.normal(size=(rows, freedoms)), 10.0 ** rng.uniform(-2, 2, size=rows)
        one_way = rng.random(rows) < 0.3
        lower = np.where(one_way, 0.0, -upper)
        upper[one_way & (rng.random(rows) < 0.5)] = np.inf
        engaged = list(rng.random(rows) < 0.85)
        blocks.append(Box(K, response(K), list(lower), list(upper), engaged, list(np.diag(K @ response(K)))))
    for _ in range(contacts):
        K, number = rng.normal(size=(3, freedoms)), len(blocks)
        blocks.append(RigidContact(True, K, response(K), rng.uniform(0.0, 0.5), 0.0))
        for size in (2, 1) if turning else ():
            K = rng.normal(size=(size, freedoms))
            blocks.append(Ball(True, K, response(K), rng.uniform(0.0, 0.2), number))
    return blocks, v


def law_violation(blocks: list[Block], p: np.ndarray, v: np.ndarray) -> float:
    """Largest violation of any force law by the velocities and impulses, written independently of the solver."""
    worst, parts = 0.0, split_by_block(blocks, p)
    for one, x in zip(blocks, parts, strict=True):
        u, size = one.K @ v, max(1.0, float(np.abs(x).max()))
        if isinstance(one, Box):
            for w, impulse, low, high, on in zip(u, x, one.lower, one.upper, one.engaged, strict=True):
                low, high = (low, high) if on else (0.0, 0.0)
                worst = max(worst, low - impulse, impulse - high)
                if low < impulse < high:
                    worst = max(worst, abs(w))
                if on and w > 1e-9:  # it runs ahead, and is pushed back with all there is
                    worst = max(worst, (impulse - low) / size)
                if on and w < -1e-9:
                    worst = max(worst, (high - impulse) / size)
            continue
        normal, along, slip = (x[0], x[1:], u[1:]) if isinstance(one, RigidContact) else (None, x, u)
        if isinstance(one, RigidContact):
            limit = one.friction * x[0]
        else:
            assert isinstance(one, Ball)
            limit = one.coefficient * parts[one.normal][0]
        if normal is not None:
            worst = max(worst, -normal, -u[0], abs(normal * u[0]) / size)
        worst = max(worst, float(np.linalg.norm(along)) - limit)
        worst = max(worst, abs(float(along @ slip) + limit * float(np.linalg.norm(slip))) / size)  # it takes most
    return worst


@pytest.mark.parametrize(("freedoms", "turning"), mark_slow_pairs([2, 3, 6], [True, False]))
def test_impulses_of_coupled_constraint_blocks_satisfy_all_force_laws(freedoms: int, turning: bool) -> None:
    for contacts, rows, seed in product((0, 1, 3), (1, 2, 5), range(5)):
        blocks, v = problem(seed, freedoms, contacts, rows, turning)
        found = solve_impulses(blocks, v, np.zeros(sum(len(one.K) for one in blocks)))
        assert found.agreed == 1.0
        # Blocks that repeat each other share impulses only to EASY, 1e-9 of them
        assert law_violation(blocks, found.p, found.v) < 1e-8
        assert work(blocks, found.p, v, found.v) < 1e-9


def test_clutch_impulses_minimise_energy_within_their_bounds() -> None:
    for seed, rows in product(range(10), (1, 3, 6)):
        (box,), v = problem(seed, 8, 0, rows, False)
        assert isinstance(box, Box)
        found = solve_impulses([box], v, np.zeros(rows))
        G, u, on = box.K @ box.W, box.K @ v, np.array(box.engaged)
        bounds = [
            (low * now, high) if now else (0.0, 0.0) for low, high, now in zip(box.lower, box.upper, on, strict=True)
        ]
        best = minimize(
            lambda p, G=G, u=u: (0.5 * p @ G @ p + u @ p, G @ p + u), np.zeros(rows), jac=True, bounds=bounds,
            method="L-BFGS-B", options={"ftol": 1e-16, "gtol": 1e-12},
        )  # fmt: skip
        assert 0.5 * found.p @ G @ found.p + u @ found.p <= best.fun + 1e-12 * abs(best.fun)
        assert found.p == pytest.approx(best.x, abs=1e-3 * max(1.0, float(np.abs(best.x).max())))


def test_redundant_rows_share_an_impulse_and_reach_their_bounds_one_after_another() -> None:
    K = np.array([[1.0, -1.0], [1.0, -1.0]])
    M, v = np.diag([2.0, 3.0]), np.array([1.0, 0.0])
    W = np.linalg.solve(M, K.T)
    stop = 1.0 / (1.0 / 2.0 + 1.0 / 3.0)
    for first, second in ((10.0, 10.0), (0.3, 10.0), (0.3, 0.4)):
        box = Box(K, W, [-first, -second], [first, second], [True, True], list(np.diag(K @ W)))
        found = solve_impulses([box], v, np.zeros(2))
        assert found.agreed == 1.0
        assert found.p.sum() == pytest.approx(-min(stop, first + second), rel=1e-12)
        assert (np.abs(found.p) <= np.array([first, second])).all()


def test_constraint_rows_that_a_rigid_coupling_already_satisfies_have_no_effect() -> None:
    """The response of a row that a rigid coupling also holds is round-off; no impulse may grow from it."""
    K = np.array([[1.0, -1.0]])
    W = np.array([[1e-17], [1e-17]])
    for upper in (1.0, np.inf):
        box = Box(K, W, [0.0], [upper], [True], [0.8])
        found = solve_impulses([box], np.array([5.0, 5.0 + 1e-16]), np.zeros(1))
        assert found.agreed == 1.0
        assert found.v == pytest.approx([5.0, 5.0], abs=1e-14)


def test_ten_ton_load_on_a_light_foot_is_held_in_few_iterations() -> None:
    M, v = np.diag([1.0, 1e4]), np.array([-0.01, -0.01])
    K, N = np.array([[-1.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    W = np.linalg.solve(M, K.T)
    box = Box(K, W, [-1e9], [1e9], [True], [float(K[0] @ W[:, 0])])
    found = solve_impulses([box, RigidContact(True, N, np.linalg.solve(M, N.T), 0.5, 0.0)], v, np.zeros(4))
    assert found.agreed == 1.0
    assert found.iterations < 10
    assert found.v == pytest.approx([0.0, 0.0], abs=1e-13)
    assert found.p[1] == pytest.approx(100.01, rel=1e-12)


def test_impulse_solver_reports_convergence_exactly_if_the_residual_is_small() -> None:
    """Rolling friction with an arm of 20 m can turn a contact so that its normal force grows without bound."""
    unsolved = 0
    for seed in (3, 4, 28):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(3, 3))
        M, v = A @ A.T + 0.1 * np.eye(3), 3.0 * rng.normal(size=3)
        K, R = rng.normal(size=(3, 3)), rng.normal(size=(2, 3))
        blocks = [
            RigidContact(True, K, np.linalg.solve(M, K.T), 0.3, 0.0), Ball(True, R, np.linalg.solve(M, R.T), 20.0, 0)
        ]  # fmt: skip
        found = solve_impulses(blocks, v, np.zeros(5))
        assert (found.left < 1e-9) == (found.agreed == 1.0)
        assert work(blocks, found.p, v, found.v) < 1e-9
        unsolved += found.agreed == 0.0
    assert unsolved == 2


def test_compiled_impulse_solver_results_do_not_depend_on_the_batch() -> None:
    freedoms, rows = 6, 3

    def answer(*given: np.ndarray) -> tuple[object, ...]:
        K, W, upper, on, N, F, mu, v = given
        box = Box(K, W, [-x for x in upper], list(upper), [x > 0.0 for x in on], [K[i] @ W[:, i] for i in range(rows)])
        blocks = [box, RigidContact(True, N[:3], F[:, :3], mu[0], 0.0), Ball(True, N[3:5], F[:, 3:5], mu[1], 1)]
        blocks.append(Ball(True, N[5:], F[:, 5:], mu[2], 1))
        found = solve_impulses(blocks, v, np.zeros(rows + 6))
        return found.v, found.p, np.array([found.iterations, found.agreed])

    shapes = [(rows, freedoms), (freedoms, rows), (rows,), (rows,), (6, freedoms), (freedoms, 6), (3,), (freedoms,)]
    kernel = Kernel("bounded", answer, shapes, [(freedoms,), (rows + 6,), (2,)], key="bounded rows agree")
    rng = np.random.default_rng(3)
    members = []
    for _ in range(13):
        A = rng.normal(size=(freedoms, freedoms))
        M, K, N = A @ A.T + np.eye(freedoms), rng.normal(size=(rows, freedoms)), rng.normal(size=(6, freedoms))
        numbers = (10.0 ** rng.uniform(-2, 1, size=rows), 1.0 * (rng.random(rows) < 0.8))
        motion = (rng.uniform(0.0, 0.3, size=3), 3.0 * rng.normal(size=freedoms))
        members.append((K, np.linalg.solve(M, K.T), *numbers, N, np.linalg.solve(M, N.T), *motion))
    given = [np.array(x) for x in zip(*members, strict=True)]
    together = kernel.over_batch(given, (13,), 1)[0]
    for k, member in enumerate(members):
        alone = kernel.over_batch([x[k : k + 1] for x in given], (1,), 1)[0]
        for many, one in zip(together, alone, strict=True):
            assert np.array_equal(many[k], one[0])
        assert together[2][k, 1] == 1.0
        plain = answer(*member)
        assert together[1][k] == pytest.approx(plain[1], abs=1e-10)


def test_projection_onto_an_admissible_set_gives_the_nearest_point_of_the_set() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        x, others = rng.normal(size=3), rng.normal(size=(50, 3))
        radius, mu = rng.uniform(0.1, 1.0), rng.uniform(0.0, 1.0)
        cone, ball = into_cone(mu, x), into_ball(x[1:], radius)
        assert clipped(x[0], -0.5, 0.5) == np.clip(x[0], -0.5, 0.5)
        assert into_cone(mu, cone) == pytest.approx(cone, abs=1e-15)
        assert into_ball(ball, radius) == pytest.approx(ball, abs=1e-15)
        assert np.linalg.norm(ball) <= radius * (1.0 + 1e-14)
        for other in others:  # the projection of another is no nearer
            assert np.linalg.norm(x - cone) <= np.linalg.norm(x - into_cone(mu, other)) + 1e-12
            assert np.linalg.norm(x[1:] - ball) <= np.linalg.norm(x[1:] - into_ball(other[1:], radius)) + 1e-12
    assert (into_cone(0.0, np.array([1.0, 3.0, 4.0])) == [1.0, 0.0, 0.0]).all()
    assert (into_ball(np.zeros(2), 0.0) == 0.0).all()
