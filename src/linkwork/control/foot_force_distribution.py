"""Distribution of a wrench on the base among the feet: with least norm, or within friction cones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.control.control_tolerances import (
    ADDED_FOR_LIFTED_FEET,
    DECREASE_ROUND_OFF,
    PROXIMAL_WEIGHT,
    SOLVED,
    SUFFICIENT_DECREASE,
)
from linkwork.spatial import Force, Transform
from linkwork.spatial.scalar import Array, Number, cross, dot, ldlt, where
from linkwork.spatial.traceable_loops import iterate, repeat
from linkwork.tolerances import TINY

OUTER = 3  # proximal iterations; each reduces the error of the wrench by a factor of about PROXIMAL_WEIGHT
# largest number of Newton iterations per proximal iteration; the sum is 7 to 10 for reachable wrenches, else 12 to 40
INNER = 40
SHORTENED = 12  # largest number of times that a step is halved


def least_norm(wrench: Array, feet: Sequence[Transform], rows: int, on: Sequence[Number]) -> list[Array]:
    """Return the ground's wrenches (6,) [N, N m] of least norm on the feet, in the feet's frames.

    These are equations (4.28) and (4.29) of Wendlandt's thesis. The wrenches on the feet add up to `wrench` (6,)
    [N, N m] on the base, about the base's origin in the base's frame. `feet` are the poses of the feet in the base's
    frame; `on` is 1 for feet in stance, else 0. `rows` is 6, or 3 for point feet, which transmit a force but no torque.
    Misprint: equation (4.28) omits the inverse in Ad^T; its matrix G maps wrenches from the feet to the base.
    """
    G = [X.up(Force.of(np.eye(6)[:, :rows])).array for X in feet]
    total = sum((one @ one.T * in_stance for one, in_stance in zip(G, on, strict=True)), np.zeros((6, 6)))
    if not all(isinstance(in_stance, float) and in_stance == 1.0 for in_stance in on):
        total = total + np.eye(6) * (
            sum(total[k, k] for k in range(6)) * (ADDED_FOR_LIFTED_FEET / 6) + ADDED_FOR_LIFTED_FEET
        )
    y = ldlt(total).solve(wrench)
    none = np.zeros(6 - rows)
    return [np.concatenate([one.T @ y * in_stance, none]) for one, in_stance in zip(G, on, strict=True)]


class ConeForces(NamedTuple):
    """Result of `within_cones`: contact forces (n, 3) [N] in the base's axes.

    `iterations` is the number of Newton iterations, and `solved` is true if they converged.
    """

    forces: Array
    iterations: Number
    solved: Any


def within_cones(wrench: Array, points: Array, normal: Array, friction: Number, on: Sequence[Number]) -> ConeForces:
    """Return the contact forces of least norm that add up to the `wrench` (6,) [N, N m], within their friction cones.

    The forces act at `points` (n, 3) [m]; points, forces and wrench are in the base's frame, the wrench about its
    origin. The ground pushes along the unit vector `normal` (3,); the tangential force is at most `friction` times the
    normal force. `on` is 1 for points in stance, else 0. If no such forces add up to the wrench, their sum is as near
    to it as possible.

    Let A f be the total wrench of the forces f. The dual problem has six unknowns y: the forces f are A^T y, projected
    onto the cones. A convex function of y has its minimum where A f = wrench. This function plus the proximal term
    PROXIMAL_WEIGHT |y - last|^2 / 2 is minimised OUTER times by Newton's method with a line search; `last` is the
    previous minimum. The proximal term ensures convergence if no forces reach the wrench. If no force is at the edge of
    its cone, the forces are those of Wendlandt's equation (4.29) for point feet.
    """

    def forces(y: Array) -> list[Array]:
        pairs = zip(points, on, strict=True)
        return [projected(y[:3] + cross(y[3:], p), normal, friction) * in_stance for p, in_stance in pairs]

    def derivatives(y: Array) -> Array:
        total = np.zeros((6, 6))
        for p, in_stance in zip(points, on, strict=True):
            D = projection_derivative(y[:3] + cross(y[3:], p), normal, friction) * in_stance
            turned = cross(p, D)  # hat(p) D, whose transpose is D hat(p)^T
            total = total + np.block([[D, turned.T], [turned, cross(p, turned.T)]])
        return total

    def nearer(k: Number, y: Array, iterations: Number, solved: Number) -> tuple[Array, Number, Number]:
        last = y

        def value(y: Array) -> Number:
            away = y - last
            return 0.5 * (sum((dot(f, f) for f in forces(y)), 0.0) + PROXIMAL_WEIGHT * (away @ away)) - wrench @ y

        def improve(y: Array) -> tuple[tuple[Array], Any]:
            gradient = _added(forces(y), points) + PROXIMAL_WEIGHT * (y - last) - wrench
            done = gradient @ gradient <= SOLVED * SOLVED * (wrench @ wrench) + TINY
            move = -ldlt(derivatives(y) + np.eye(6) * PROXIMAL_WEIGHT).solve(gradient)
            start, slope = value(y), gradient @ move

            def shorten(part: Number) -> tuple[tuple[Number], Any]:
                enough = value(
                    y + move * part
                ) <= start + SUFFICIENT_DECREASE * part * slope + DECREASE_ROUND_OFF * abs(start)
                return (where(enough, part, 0.5 * part),), enough

            (part,), _, _ = iterate(SHORTENED, shorten, 1.0)
            return (where(done, y, y + move * part),), done

        (y,), more, done = iterate(INNER, improve, y)
        return y, iterations + more, where(done, solved, 0.0)

    y, iterations, solved = repeat(OUTER, nearer, np.zeros(6), 0.0, 1.0)
    return ConeForces(np.array(forces(y)), iterations, solved > 0.5)


def _added(forces: Sequence[Array], points: Array) -> Array:
    """Return the total wrench (6,) [N, N m] about the origin of forces (3,) [N] at points (3,) [m]."""
    total = np.zeros(6)
    for f, p in zip(forces, points, strict=True):
        total = total + np.concatenate([f, cross(p, f)])
    return total


def projected(x: Array, normal: Array, friction: Number) -> Array:
    """Return the force (3,) [N] that is nearest to the force x (3,) [N] within a friction cone.

    The cone has the unit vector `normal` (3,) as its axis and the coefficient of friction `friction`.
    """
    press, along, size = _parts(x, normal)
    edge = (friction * size + press) / (1.0 + friction * friction)
    on_edge = (normal + along * (friction / size)) * edge
    return where(size <= friction * press, x, where(edge > 0.0, on_edge, np.zeros(3)))


def projection_derivative(x: Array, normal: Array, friction: Number) -> Array:
    """Return the derivative (3, 3) of `projected` with respect to the force x (3,) [N]; the matrix is symmetric.

    `normal` (3,), the unit axis, and `friction`, the coefficient of friction, define the friction cone.
    """
    press, along, size = _parts(x, normal)
    unit = along / size
    edge = (friction * size + press) / (1.0 + friction * friction)
    ray = normal + unit * friction
    across = np.eye(3) - np.outer(normal, normal) - np.outer(unit, unit)
    on_edge = np.outer(ray, ray) / (1.0 + friction * friction) + across * (friction * edge / size)
    return where(size <= friction * press, np.eye(3), where(edge > 0.0, on_edge, np.zeros((3, 3))))


def _parts(x: Array, normal: Array) -> tuple[Number, Array, Number]:
    """Return the component of a force x (3,) along `normal`, its tangential part (3,), and that part's norm [N]."""
    press = dot(x, normal)
    along = x - normal * press
    return press, along, np.sqrt(dot(along, along) + TINY)
