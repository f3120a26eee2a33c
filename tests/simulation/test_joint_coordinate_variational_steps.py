"""Variational steps in joint coordinates equal those of bodies with quaternions (Wendlandt, Theorem 2.1).

The independent formulation has the coordinates of the bodies, constraints and multipliers. Consecutive points of a run
must satisfy its discrete Euler-Lagrange equations, with derivatives of the discrete Lagrangian by complex steps.
"""

from collections.abc import Callable

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.rotation import matrix_from_quaternion, product, quaternion_from_matrix
from linkwork.spatial.scalar import Array, arctan2

MASS, INERTIA, COM = 1.3, np.array([0.05, 0.08, 0.03]), np.array([0.1, 0.05, -0.4])
AT = np.array([0.0, 0.1, -0.9])  # where the second joint is on the first body
FLIP = np.array([1.0, -1.0, -1.0, -1.0])
STEP = 1e-30  # of complex differentiation


def two_bodies(name: str) -> lw.Mechanism:
    gravity = (0, 0, 0) if name == "free chain" else (0, 0, -9.81)
    first, second = (lw.Free(), lw.Ball()) if name == "free chain" else (lw.Revolute((0, 1, 0)), lw.Revolute((0, 1, 0)))
    b = lw.Builder(name, gravity=gravity)
    for k, kind in enumerate((first, second)):
        b.body(f"body {k}", MASS, com=COM, inertia=INERTIA)
        b.joint(f"joint {k}", kind, "body 0" if k else "world", f"body {k}", at=AT if k else (0, 0, 0))
    return b.build()


def bodies(x: Array) -> list[tuple[Array, Array]]:
    """Return the centre of mass (3,) and quaternion (4,) of each body, from their coordinates x (14,)."""
    return [(x[7 * k : 7 * k + 3], x[7 * k + 3 : 7 * k + 7]) for k in range(2)]


def action(name: str, x: Array, y: Array, h: float) -> complex:
    """Discrete Lagrangian of a step from x to y (14,): rotation vectors of the bodies, chords of their centres.

    The first body of the pendulum rotates about the world's origin, with its inertia about that point.
    """
    total = 0.0
    gravity = 0.0 if name == "free chain" else 9.81
    for k, ((p, q), (p_next, q_next)) in enumerate(zip(bodies(x), bodies(y), strict=True)):
        f = product(q * FLIP, q_next)
        sine = np.sqrt(f[1:] @ f[1:])
        xi, chord, I = f[1:] * (2.0 * arctan2(sine, f[0]) / sine), p_next - p, np.diag(INERTIA)
        if name == "double pendulum" and k == 0:
            I, chord = I + MASS * (np.eye(3) * (COM @ COM) - np.outer(COM, COM)), 0.0 * chord
        total = total + (MASS * (chord @ chord) + xi @ I @ xi) / (2.0 * h)
        total = total - 0.5 * h * MASS * gravity * (p[2] + p_next[2])
    return total


def body_constraints(name: str, x: Array) -> Array:
    """Return the constraint values of the bodies: unit norms, points joined by joints, and parallel pin axes."""
    (p1, q1), (p2, q2) = bodies(x)
    R1, R2 = matrix_from_quaternion(q1), matrix_from_quaternion(q2)
    rows = [q1 @ q1 - 1.0, q2 @ q2 - 1.0, *(p1 + R1 @ (AT - COM) - p2 + R2 @ COM)]
    if name == "double pendulum":
        rows += [*(p1 - R1 @ COM), R1[0, 1], R1[2, 1], R2[0, 1], R2[2, 1]]
    return np.stack(rows)


def derivative(function: Callable[[Array], Array | complex], x: Array) -> Array:
    """The derivative of a function of x (n,), by complex steps; the last axis is that of x."""
    return np.stack([np.imag(function(x + 1j * STEP * one)) / STEP for one in np.eye(len(x))], axis=-1)


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


@pytest.mark.parametrize("h", [0.01, 0.05])
@pytest.mark.parametrize("name", ["double pendulum", "free chain"])
def test_variational_steps_in_joint_coordinates_equal_those_in_body_coordinates(name: str, h: float) -> None:
    m, steps = two_bodies(name), 20
    rng = np.random.default_rng(2)
    q0, v0 = (m.random(rng), rng.normal(size=m.nv)) if name == "free chain" else ([1.0, 0.7], [0.5, -1.0])
    x = in_bodies(m, lw.simulate(m, q0, v0, steps * h, h, "variational").check().q)
    assert np.ptp(x[:, :3], axis=0).max() > 0.01  # it did move
    for before, now, after in zip(x[:-2], x[1:-1], x[2:], strict=True):
        ends = derivative(lambda y, b=before: action(name, b, y, h), now)
        starts = derivative(lambda y, a=after: action(name, y, a, h), now)
        G = derivative(lambda y: body_constraints(name, y), now)
        defect = ends + starts
        defect = defect - G.T @ np.linalg.lstsq(G.T, defect, rcond=None)[0]
        assert np.abs(defect).max() < 1e-11 * np.abs(ends).max()
