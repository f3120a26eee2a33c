"""Variational steps in joint coordinates equal those of bodies with quaternions (Wendlandt, Theorem 2.1).

The independent formulation is `lw.discrete`: bodies with constraints and multipliers.
"""

from collections.abc import Callable

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.rotation import matrix_from_quaternion, product, quaternion_from_matrix
from linkwork.spatial.scalar import Array

MASS, INERTIA, COM = 1.3, np.array([0.05, 0.08, 0.03]), np.array([0.1, 0.05, -0.4])
AT = np.array([0.0, 0.1, -0.9])  # where the second joint is on the first body
FLIP = np.array([1.0, -1.0, -1.0, -1.0])


def two_bodies(name: str) -> lw.Mechanism:
    gravity = (0, 0, 0) if name == "free chain" else (0, 0, -9.81)
    first, second = (lw.Free(), lw.Ball()) if name == "free chain" else (lw.Revolute((0, 1, 0)), lw.Revolute((0, 1, 0)))
    b = lw.Builder(name, gravity=gravity)
    for k, kind in enumerate((first, second)):
        b.body(f"body {k}", MASS, com=COM, inertia=INERTIA)
        b.joint(f"joint {k}", kind, "body 0" if k else "world", f"body {k}", at=AT if k else (0, 0, 0))
    return b.build()


def bodies(x: Array) -> list[tuple[Array, Array]]:
    """Centre of mass (3,) and quaternion (4,) of each body, from (14,)."""
    return [(x[7 * k : 7 * k + 3], x[7 * k + 3 : 7 * k + 7]) for k in range(2)]


def lagrangian(gravity: float) -> Callable[[Array, Array], float]:
    def of(x: Array, xdot: Array) -> float:
        total = 0.0
        for (p, q), (pdot, qdot) in zip(bodies(x), bodies(xdot), strict=True):
            w = 2.0 * product(q * FLIP, qdot)[1:]
            total = total + 0.5 * MASS * (pdot @ pdot) + 0.5 * (w * INERTIA) @ w - MASS * gravity * p[2]
        return total

    return of


def body_constraints(name: str) -> Callable[[Array], Array]:
    """Unit norms, the points joined by joints, and the axes that pins hold parallel."""

    def of(x: Array) -> Array:
        (p1, q1), (p2, q2) = bodies(x)
        R1, R2 = matrix_from_quaternion(q1), matrix_from_quaternion(q2)
        rows = [q1 @ q1 - 1.0, q2 @ q2 - 1.0, *(p1 + R1 @ (AT - COM) - p2 + R2 @ COM)]
        if name == "double pendulum":
            rows += [*(p1 - R1 @ COM), R1[0, 1], R1[2, 1], R2[0, 1], R2[2, 1]]
        return np.stack(rows)

    return of


def in_bodies(m: lw.Mechanism, q: Array) -> Array:
    """Positions (T, 14) of the bodies, with continuous quaternions."""
    found = []
    for k in range(2):
        X = lw.compile(m).pose(q, f"body {k}")
        quaternions = np.array([quaternion_from_matrix(R) for R in X[:, :3, :3]])
        flips = np.cumprod(np.where((quaternions[1:] * quaternions[:-1]).sum(axis=1) < 0.0, -1.0, 1.0))
        quaternions[1:] *= flips[:, None]
        found += [X[:, :3, 3] + X[:, :3, :3] @ COM, quaternions]
    return np.concatenate(found, axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["double pendulum", "free chain"])
def test_joint_coordinates_give_the_same_points_as_body_coordinates(name: str) -> None:
    m, h, steps = two_bodies(name), 0.01, 200
    rng = np.random.default_rng(2)
    q0, v0 = (m.random(rng), rng.normal(size=m.nv)) if name == "free chain" else ([1.0, 0.7], [0.5, -1.0])
    run = lw.simulate(m, q0, v0, steps * h, h, "variational").check()
    x = in_bodies(m, run.q)
    system = lw.discrete(lagrangian(0.0 if name == "free chain" else 9.81), body_constraints(name))
    other = system.run(x[0], x1=x[1], duration=steps * h, dt=h)
    assert other.outcome.kind == "finished"
    assert np.ptp(x[:, :3], axis=0).max() > 0.5  # it did move
    assert np.abs(other.x - x).max() < 1e-10
