"""A wrench on the base, divided among feet: by least norm, or by forces at points that friction can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.spatial import Force, Transform
from linkwork.spatial.loops import iterate, repeat
from linkwork.spatial.scalar import Array, Number, cross, dot, ldlt, where
from linkwork.tolerances import TINY

LOOSE = 1e-9  # of the mean diagonal, added where feet in the air could leave a direction that none of them holds
NEAR = 1e-4  # weight of the distance to the last multiplier, which makes every matrix positive
OUTER = 3  # rounds of nearing; each leaves about NEAR of what the last left of the wrench
INNER = 40  # of Newton's method in each, at most; all three take 7 to 10 in reach of the wrench, 12 to 40 out of reach
SOLVED = 1e-9  # what is left of the conditions, relative to the wrench, when it has ended
ENOUGH = 1e-4  # of the decrease that the slope promises, which a shortened step must reach
ROUNDED = 1e-13  # of the value, below which a decrease is not to be seen
SHORTENED = 12  # halvings of a step, at most


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

    The ground pushes along the `normal` (3,) and along itself with at most `friction` times that; `on` tells which
    points touch. If no such forces add up to the `wrench` (6,) [N, N m], they come as near as they can.

    With A f the wrench of forces f, the dual has six unknowns y alone: f is A^T y projected to the cones, and
    A f = wrench where a convex function of y is least. Newton's method with shortened steps finds where that and
    NEAR |y - last|^2 / 2 are least, and begins anew from there: so it ends too where no y is best, out of reach.
    Where no cone is reached, forces are those of (4.29) for points.
    """

    def forces(y: Array) -> list[Array]:
        pairs = zip(points, on, strict=True)
        return [projected(y[:3] + cross(y[3:], p), normal, friction) * stands for p, stands in pairs]

    def slopes(y: Array) -> Array:
        total = np.zeros((6, 6))
        for p, stands in zip(points, on, strict=True):
            D = projection_slope(y[:3] + cross(y[3:], p), normal, friction) * stands
            turned = cross(p, D)  # hat(p) D, whose transpose is D hat(p)^T
            total = total + np.block([[D, turned.T], [turned, cross(p, turned.T)]])
        return total

    def nearer(k: Number, y: Array, rounds: Number, solved: Number) -> tuple[Array, Number, Number]:
        last = y

        def value(y: Array) -> Number:
            away = y - last
            return 0.5 * (sum((dot(f, f) for f in forces(y)), 0.0) + NEAR * (away @ away)) - wrench @ y

        def improve(y: Array) -> tuple[tuple[Array], Any]:
            gradient = _added(forces(y), points) + NEAR * (y - last) - wrench
            done = gradient @ gradient <= SOLVED * SOLVED * (wrench @ wrench) + TINY
            move = -ldlt(slopes(y) + np.eye(6) * NEAR).solve(gradient)
            start, slope = value(y), gradient @ move

            def shorten(part: Number) -> tuple[tuple[Number], Any]:
                enough = value(y + move * part) <= start + ENOUGH * part * slope + ROUNDED * abs(start)
                return (where(enough, part, 0.5 * part),), enough

            (part,), _, _ = iterate(SHORTENED, shorten, 1.0)
            return (where(done, y, y + move * part),), done

        (y,), more, done = iterate(INNER, improve, y)
        return y, rounds + more, where(done, solved, 0.0)

    y, rounds, solved = repeat(OUTER, nearer, np.zeros(6), 0.0, 1.0)
    return Held(np.array(forces(y)), rounds, solved > 0.5)


def _added(forces: Sequence[Array], points: Array) -> Array:
    """The wrench (6,) [N, N m] of forces at points."""
    total = np.zeros(6)
    for f, p in zip(forces, points, strict=True):
        total = total + np.concatenate([f, cross(p, f)])
    return total


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
