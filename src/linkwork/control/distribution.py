"""A wrench on the base, divided among feet: by least norm, or by forces at points that friction can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.spatial import Force, Transform
from linkwork.spatial.loops import iterate
from linkwork.spatial.scalar import Array, Number, cross, dot, ldlt, maximum, where

LOOSE = 1e-9  # of the mean diagonal, added where feet in the air could leave a direction that none of them holds
SLACK = 1e-6  # square of the wrench [N, N m] that is left, over that of forces: what it may cost to leave it
ROUNDS = 40  # of Newton's method, at most; see the tests for how many it takes
SOLVED = 1e-12  # what is left of the conditions, relative to the wrench, when it has ended
ENOUGH = 1e-4  # of the decrease that the slope promises, which a shortened step must reach
SHORTENED = 12  # halvings of a step, at most
TINY = 1e-300


def least_norm(wrench: Array, feet: Sequence[Transform], rows: int, on: Sequence[Number]) -> list[Array]:
    """Wrenches (6,) [N, N m] of the ground on feet, in their frames, of least norm that add up (S4 4.28, 4.29).

    `wrench` (6,) is wanted on the base, `feet` are poses in its frame, and `on` tells which of them stand. Feet of 3
    rows take forces alone. In (4.28) the inverse is lost in Ad^T: G raises wrenches from feet to the base.
    """
    G = [X.up(Force.of(np.eye(6)[:, :rows])).array for X in feet]
    total = sum((one @ one.T * stands for one, stands in zip(G, on, strict=True)), np.zeros((6, 6)))
    if not all(isinstance(stands, float) and stands == 1.0 for stands in on):
        total = total + np.eye(6) * (sum(total[k, k] for k in range(6)) * (LOOSE / 6) + LOOSE)
    y = ldlt(total).solve(wrench)
    none = np.zeros(6 - rows)
    return [np.concatenate([one.T @ y * stands, none]) for one, stands in zip(G, on, strict=True)]


class Held(NamedTuple):
    """Forces (n, 3) [N] at points in the base's axes, and the `rounds` it took to find them; `solved` if they are."""

    forces: Array
    rounds: Number
    solved: Any


def within_cones(wrench: Array, points: Array, normal: Array, friction: Number, on: Sequence[Number]) -> Held:
    """Forces of least norm at `points` (n, 3) [m] of the base's frame, each within its cone of friction.

    The ground pushes along the `normal` (3,) and along itself with at most `friction` times that. If no such forces add
    up to the `wrench` (6,) [N, N m], they come as near as they can, and `on` tells which points touch.

    They minimise |f|^2 / 2 + |A f - wrench|^2 / (2 SLACK) over the cones. The dual of that has six unknowns y alone:
    f is A^T y projected to the cones, and A f + SLACK y = wrench is where a convex function of y is least. Newton's
    method with shortened steps finds it; without cones that are reached, in one step, and the forces are (4.29).
    """
    n = len(points)

    def turned(y: Array) -> list[Array]:
        return [(y[:3] + cross(y[3:], p)) * stands for p, stands in zip(points, on, strict=True)]

    def added(forces: Sequence[Array]) -> Array:
        total = np.zeros(6)
        for f, p, stands in zip(forces, points, on, strict=True):
            total = total + np.concatenate([f, cross(p, f)]) * stands
        return total

    def value(y: Array) -> Number:
        squares = sum((dot(f, f) for f in (projected(x, normal, friction) for x in turned(y))), 0.0)
        return 0.5 * (squares + SLACK * (y @ y)) - wrench @ y

    size = maximum(wrench @ wrench, TINY)

    def improve(y: Array) -> tuple[tuple[Array], Any]:
        reached = turned(y)
        gradient = added([projected(x, normal, friction) for x in reached]) + SLACK * y - wrench
        H = np.eye(6) * SLACK
        for x, p, stands in zip(reached, points, on, strict=True):
            D = projection_slope(x, normal, friction) * stands
            moment = np.array([cross(p, column) for column in D.T]).T  # hat(p) D
            H = H + np.block([[D, moment.T], [moment, np.array([cross(p, row) for row in moment])]])
        move = -ldlt(H).solve(gradient)
        start, slope = value(y), gradient @ move

        def shorten(part: Number) -> tuple[tuple[Number], Any]:
            enough = value(y + move * part) <= start + ENOUGH * part * slope
            return (where(enough, part, 0.5 * part),), enough

        (part,), _, _ = iterate(SHORTENED, shorten, 1.0)
        return (y + move * part,), gradient @ gradient <= SOLVED * SOLVED * size

    (y,), rounds, solved = iterate(ROUNDS, improve, np.zeros(6))
    found = [projected(x, normal, friction) * stands for x, stands in zip(turned(y), on, strict=True)]
    return Held(np.array(found).reshape(n, 3), rounds, solved)


def projected(x: Array, normal: Array, friction: Number) -> Array:
    """The force (3,) [N] of the cone of friction about the unit `normal` (3,) that is nearest to x (3,)."""
    press, along, size = _parts(x, normal)
    edge = (friction * size + press) / (1.0 + friction * friction)
    on_edge = (normal + along * (friction / size)) * edge
    return where(size <= friction * press, x, where(edge > 0.0, on_edge, np.zeros(3)))


def projection_slope(x: Array, normal: Array, friction: Number) -> Array:
    """How the nearest force of the cone changes with x (3,): (3, 3), symmetric."""
    press, along, size = _parts(x, normal)
    unit = along / size
    edge = (friction * size + press) / (1.0 + friction * friction)
    ray = normal + unit * friction
    across = np.eye(3) - np.outer(normal, normal) - np.outer(unit, unit)
    on_edge = np.outer(ray, ray) / (1.0 + friction * friction) + across * (friction * edge / size)
    return where(size <= friction * press, np.eye(3), where(edge > 0.0, on_edge, np.zeros((3, 3))))


def _parts(x: Array, normal: Array) -> tuple[Number, Array, Number]:
    """Along the normal, along the ground, and the size of the latter."""
    press = dot(x, normal)
    along = x - normal * press
    return press, along, np.sqrt(dot(along, along) + TINY)
