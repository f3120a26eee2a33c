"""A base wrench is distributed over feet: exact sum, least norm, and the best approximation within friction cones."""

import numpy as np
import pytest
from scipy.optimize import minimize

from linkwork.control.foot_force_distribution import least_norm, projected, projection_derivative, within_cones
from linkwork.spatial import Force, Transform
from linkwork.spatial.scalar import Array, hat
from random_mechanisms import relative

UP = np.array([0.1, -0.2, 1.0]) / np.linalg.norm([0.1, -0.2, 1.0])
SOLES = np.array([(x, y + side, -0.9) for side in (-0.15, 0.15) for x in (-0.18, 0.04) for y in (-0.05, 0.05)])
ALL = [1.0] * len(SOLES)


def feet(rng: np.random.Generator, count: int) -> list[Transform]:
    return [Transform.place(rng.normal(size=3), rng.normal(size=3)) for _ in range(count)]


def grip_matrix(points: Array) -> Array:
    """A (6, 3n): maps forces at points to a wrench."""
    return np.concatenate([np.concatenate([np.eye(3), hat(p)]) for p in points], axis=1)


@pytest.mark.parametrize(("rows", "count"), [(6, 1), (6, 2), (6, 3), (3, 3), (3, 4)])
def test_foot_wrenches_sum_to_the_wrench_with_least_norm(rows: int, count: int) -> None:
    rng = np.random.default_rng(count)
    X, wrench = feet(rng, count), rng.normal(size=6)
    found = least_norm(wrench, X, rows, [1.0] * count)
    G = np.concatenate([one.up(Force.of(np.eye(6)[:, :rows])).array for one in X], axis=1)
    assert relative(np.concatenate([F[:rows] for F in found]), np.linalg.pinv(G) @ wrench) < 1e-10
    assert (
        relative(np.sum([one.up(Force.of(F)).array for one, F in zip(X, found, strict=True)], axis=0), wrench) < 1e-11
    )
    assert all((F[rows:] == 0.0).all() for F in found)


def test_foot_force_distribution_gives_lifted_feet_no_force() -> None:
    rng = np.random.default_rng(0)
    X, wrench = feet(rng, 3), rng.normal(size=6)
    found = least_norm(wrench, X, 6, [1.0, 0.0, 1.0])
    two = least_norm(wrench, [X[0], X[2]], 6, [1.0, 1.0])
    assert (found[1] == 0.0).all()
    assert relative(np.array([found[0], found[2]]), np.array(two)) < 1e-7
    assert all((F == 0.0).all() for F in least_norm(wrench, X, 6, [0.0, 0.0, 0.0]))
    none = within_cones(wrench, SOLES, UP, 0.5, [0.0] * len(SOLES))
    assert (none.forces == 0.0).all()


def test_projection_onto_a_friction_cone_gives_the_nearest_force() -> None:
    """Moreau decomposition: x = P(x) + rest, with rest orthogonal to P(x) and in the polar cone."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        x, mu = rng.normal(size=3) * 10.0, float(rng.uniform(0.1, 2.0))
        near = projected(x, UP, mu)
        along = near - UP * (near @ UP)
        assert np.linalg.norm(along) <= mu * (near @ UP) + 1e-12
        rest = x - near
        assert abs(rest @ near) < 1e-11
        # the rest is in the polar cone: no force of the cone has a positive product with it
        assert mu * np.linalg.norm(rest - UP * (rest @ UP)) <= -(rest @ UP) + 1e-10
        h = 1e-6
        slopes = [(projected(x + h * e, UP, mu) - projected(x - h * e, UP, mu)) / (2.0 * h) for e in np.eye(3)]
        assert np.allclose(projection_derivative(x, UP, mu), np.array(slopes).T, rtol=0, atol=1e-5)


def wanted(kind: str, rng: np.random.Generator) -> Array:
    """Return a wrench (6,) of a kind: well inside the friction cones, at their edges, or out of reach."""
    R = grip_matrix(SOLES)
    inside = np.concatenate([UP * rng.uniform(40.0, 90.0) for _ in SOLES])
    if kind == "within":
        return R @ inside
    if kind == "at the edge":
        forces = [UP * 80.0 + 0.299 * 80.0 * np.cross(UP, [1.0, 0.3, 0.0]) * (k % 3 > 0) for k in range(len(SOLES))]
        return R @ np.concatenate(forces) + np.r_[0.0, 0.0, 0.0, 0.0, 60.0, 0.0]
    return R @ inside + np.r_[rng.normal(size=3) * 400.0, rng.normal(size=3) * 80.0]


@pytest.mark.parametrize("kind", ["within", "at the edge", "out of reach"])
def test_foot_forces_stay_within_friction_cones_and_are_optimal(kind: str) -> None:
    """Forces stay in their cones and sum to the wrench; out of reach, the residual satisfies the optimality conditions.

    Its product with any force of the cones is not positive, and is zero with the forces found.
    """
    A, mu = grip_matrix(SOLES), 0.3
    for seed in range(6):
        rng = np.random.default_rng(seed)
        wrench = wanted(kind, rng)
        found = within_cones(wrench, SOLES, UP, mu, ALL)
        f = found.forces.ravel()
        assert found.solved
        assert found.iterations <= (12 if kind != "out of reach" else 75)
        press = found.forces @ UP
        along = np.linalg.norm(found.forces - np.outer(press, UP), axis=1)
        assert (press >= 0.0).all()
        assert (along <= mu * press + 1e-12 * np.abs(wrench).max()).all()
        left = wrench - A @ f
        if kind != "out of reach":
            assert np.abs(left).max() < 1e-6 * np.abs(wrench).max()
            continue
        pull = (A.T @ left).reshape(-1, 3)
        steep = pull @ UP
        across = np.linalg.norm(pull - np.outer(steep, UP), axis=1)
        size = np.abs(left).max()
        assert size > 0.01 * np.abs(wrench).max()
        assert (steep + mu * across < 1e-3 * size).all()
        assert abs(f @ pull.ravel()) < 1e-3 * size * np.abs(f).max()


def test_foot_forces_match_an_optimization_by_scipy() -> None:
    """The same by SLSQP: least |f| with the wrench as an equality; out of reach, the nearest wrench, to some NEAR."""
    A, mu = grip_matrix(SOLES), 0.3
    start = np.tile(UP, len(SOLES))

    def friction_slack(f: Array) -> Array:
        press = f.reshape(-1, 3) @ UP
        along = f.reshape(-1, 3) - np.outer(press, UP)
        return mu * press - np.sqrt((along**2).sum(axis=1) + 1e-14)

    for kind in ("within", "at the edge", "out of reach"):
        wrench = wanted(kind, np.random.default_rng(1)) / 100.0
        ours = within_cones(wrench, SOLES, UP, mu, ALL).forces.ravel()
        held = [{"type": "ineq", "fun": friction_slack}]
        if kind == "out of reach":

            def cost(f: Array, wrench: Array = wrench) -> float:
                return float(0.5 * ((A @ f - wrench) ** 2).sum())

        else:
            held.append({"type": "eq", "fun": lambda f, wrench=wrench: A @ f - wrench})

            def cost(f: Array, wrench: Array = wrench) -> float:
                return float(0.5 * f @ f)

        theirs = minimize(cost, start, method="SLSQP", constraints=held, options={"maxiter": 500, "ftol": 1e-13})
        assert abs(cost(ours) / theirs.fun - 1.0) < (3e-3 if kind == "out of reach" else 1e-5)


def test_foot_forces_far_from_the_edges_of_the_friction_cones_have_least_norm() -> None:
    A, wrench = grip_matrix(SOLES), np.r_[UP * 700.0, 0.0, 0.0, 0.0]
    wrench[3:] = np.cross(SOLES.mean(axis=0), wrench[:3])
    found = within_cones(wrench, SOLES, UP, 10.0, ALL)
    assert relative(found.forces.ravel(), np.linalg.pinv(A) @ wrench) < 1e-5
    assert found.iterations <= 8
