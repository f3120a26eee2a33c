"""Impulses of least norm: among all impulses of a solid pair with the same effect, those with the smallest norm.

Four points on two bodies are redundant, so the contact conditions do not determine their impulses. The impulses of
least norm contain no internal impulses that cancel each other, and distribute the load evenly: the pressure under a
flush face is a linear function of the position. A point that slides keeps its friction at the limit, opposite to its
slip: only its normal impulse is free. If the friction impulses of least norm exceed the limits, the norm weights the
friction of each point by the inverse of its normal impulse.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.algorithms.constraints.admissible_sets import length
from linkwork.algorithms.constraints.bounded_constraints import trace_of
from linkwork.algorithms.constraints.constraint_tolerances import ADDED_INVERSE_MASS
from linkwork.algorithms.contact_tolerances import ADDED_FOR_LEAST_NORM, IN_CONE, SAME_EFFECT, UNLOADED
from linkwork.algorithms.solid_contact.rigid_pairs import (
    ROWS,
    PairConditions,
    PairFrame,
    RigidPair,
    acting_at,
    all_within_limits,
)
from linkwork.algorithms.solid_contact.touching_pairs import TouchingPairs
from linkwork.model.solids import POINTS
from linkwork.spatial.row_arrays import RowArray
from linkwork.spatial.scalar import Array, Condition, Number, largest, ldlt, maximum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import STICKING_SPEED, TINY, TINY_SIZE

REFINEMENTS = 5  # iterations of refinement
EVEN_REFINEMENTS = 3  # iterations of refinement if all points stick
ATTEMPTS = 4  # trials; each after the first leaves out points with a negative normal impulse, and weights friction


def with_least_norm(pairs: TouchingPairs, p: RowArray, v: RowArray, wanted: Condition) -> RowArray:
    """Return the impulses of all touching pairs; if the condition `wanted` is true, those of least norm replace them.

    p has the impulses (12,) of each pair as a row. v has the velocities (6,) of the bodies after these impulses as
    rows.
    """

    def replaced(p: RowArray) -> tuple[tuple[RowArray], Condition]:
        return pairs.selection.visit(lambda k, p: (p.put(k, _of_least_norm(pairs, k, p.at(k)[:ROWS], v)),), p), True

    (p,), _, _ = iterate(1, replaced, p, start=wanted)
    return p


def _of_least_norm(pairs: TouchingPairs, k: Number, p: Array, v: RowArray) -> Array:
    """Return the impulses (12,) of least norm of pair k with the same effect on its bodies as the impulses p (12,).

    If no trial finds admissible impulses with the same effect, return p. Points whose normal impulse of least norm
    would be negative (a pull) get no impulse. v has the velocities (6,) of the bodies after the impulses as rows.
    `pairs` are the touching pairs.
    """
    frame, conditions = pairs.frame(k).without_torque, pairs.pair_conditions(k)
    u = pairs.speeds(k, frame, v) + conditions.drift.reshape(ROWS)
    even = _even_impulses(frame, p)
    rest = [where(x > 0.0, largest(part), 0.0) for x, part in zip(frame.acts, u.reshape(POINTS, 3), strict=True)]
    sticks = (largest(np.array(rest)) <= STICKING_SPEED) & all_within_limits(frame.acts, conditions.friction, even)

    def search(p: Array) -> tuple[tuple[Array], Condition]:
        return (_searched(pairs.pair(k), p, u),), True  # pair(k) computes the inverse effective mass

    (found,), _, _ = iterate(1, search, p, start=~(sticks | _are_unique(frame, conditions, u)))
    return where(sticks, even, found)


def _are_unique(frame: PairFrame, conditions: PairConditions, u: Array) -> Condition:
    """Return whether no other impulses of a pair have the same effect on its bodies as its present impulses.

    This is so if at most one point touches, or if two points touch and one of them slides. u (12,) are the speeds of
    the points. `frame` and `conditions` are the geometry and the contact conditions of the pair.
    """
    closed, sliding = 0.0, 0.0
    for j in range(POINTS):
        touches = (frame.acts[j] > 0.0) & (u[3 * j] <= conditions.bounce[j] + STICKING_SPEED)
        fast = length(u[3 * j + 1 : 3 * j + 3]) > STICKING_SPEED
        closed = closed + where(touches, 1.0, 0.0)
        sliding = sliding + where(touches & fast, 1.0, 0.0)
    return (closed <= 1.0) | ((closed <= 2.0) & (sliding >= 1.0))


def _even_impulses(frame: PairFrame, p: Array) -> Array:
    """Return the impulses (12,) of least norm with the same resultant force and moment as p (12,), if all points stick.

    Only points that touch get impulses. `frame` is the geometry of the pair.
    """
    N = np.zeros((6, 6))
    for arm, acts in zip(frame.arms, frame.acts, strict=True):
        N = N + acting_at(np.eye(3) * acts, arm)
    factors = ldlt(N + np.diag([trace_of(N) * ADDED_INVERSE_MASS + TINY_SIZE] * 6))
    aim, least, touch = np.concatenate(frame.wrench(p)), np.zeros(ROWS), np.repeat(frame.acts, 3)
    for _ in range(EVEN_REFINEMENTS):  # iterative refinement: the factored matrix is regularized
        more = factors.solve(aim - np.concatenate(frame.wrench(least)))
        least = least + frame.speeds(more[:3], more[3:]) * touch
    return least


def _searched(pair: RigidPair, p: Array, u: Array) -> Array:
    """Return the impulses (12,) of least norm, found by trials; p (12,) if no trial succeeds.

    Each trial leaves out the points whose normal impulse was negative in the previous trial. u (12,) are the speeds of
    the points.
    """
    basis, free = _directions(pair, u)
    plain = np.array([[_entry(pair.inverse_mass, basis, i, j) for j in range(ROWS)] for i in range(ROWS)])
    wanted = np.array([basis[j // 3].T[j % 3] @ _rows(pair, p, j // 3) for j in range(ROWS)])
    reached = largest(pair.inverse_mass @ p)

    def attempt(pushing: Array, share: Array, _: Array, good: Number) -> tuple[tuple[Any, ...], Condition]:
        scale = np.array([x for one in share for x in (1.0, one, one)]) * free * np.repeat(pushing, 3)
        G = plain * np.outer(scale, scale) + np.diag([where(x > 0.0, 0.0, 1.0) for x in scale])
        trace = sum((G[k, k] for k in range(ROWS)), 0.0)
        factors, x = ldlt(G + np.diag([trace * ADDED_FOR_LEAST_NORM + TINY_SIZE] * ROWS)), np.zeros(ROWS)
        for _again in range(REFINEMENTS):
            x = x + factors.solve((wanted - plain @ (x * scale)) * scale)
        parts = (x * scale).reshape(POINTS, 3)
        pulls = np.array([where(part[0] < 0.0, 1.0, 0.0) for part in parts])
        least = np.concatenate([B @ part for B, part in zip(basis, parts, strict=True)])
        fits = largest(pair.inverse_mass @ (p - least)) <= reached * SAME_EFFECT
        good = where(fits & (largest(pulls) == 0.0) & _within_cones(pair, parts, free), 1.0, 0.0)
        mean = (parts[0][0] + parts[1][0] + parts[2][0] + parts[3][0]) * 0.25 + TINY
        share = np.array([np.sqrt(maximum(part[0] / mean, UNLOADED)) for part in parts])
        return (pushing * (1.0 - pulls), share, least, good), good == 1.0

    acts, even = np.array(pair.frame.acts), np.ones(POINTS)
    (_, _, least, good), _, _ = iterate(ATTEMPTS, attempt, acts, even, np.zeros(ROWS), 0.0)
    return where(good == 1.0, least, p)


def _directions(pair: RigidPair, u: Array) -> tuple[list[Array], Array]:
    """Return the directions of the impulses of each point, and flags (12,) that are 1 for free impulses, else 0.

    The directions of a point are the columns of a matrix (3, 3), with components along the axes of the point. The first
    direction of a sliding point includes its friction, so that only its normal impulse is free. u (12,) [m/s] are the
    speeds of the points.
    """
    basis, free = [], []
    for j, friction in enumerate(pair.conditions.friction):
        normal, along = u[3 * j], u[3 * j + 1 : 3 * j + 3]
        fast, touches = length(along) > STICKING_SPEED, pair.frame.acts[j] > 0.0
        limit = where(fast, -friction / (length(along) + TINY), 0.0)
        basis.append(np.array([[1.0, 0.0, 0.0], [limit * along[0], 1.0, 0.0], [limit * along[1], 0.0, 1.0]]))
        closed = where(touches & (normal <= pair.conditions.bounce[j] + STICKING_SPEED), 1.0, 0.0)
        free += [closed, where(fast, 0.0, closed), where(fast, 0.0, closed)]
    return basis, np.array(free)


def _entry(G: Array, basis: list[Array], i: int, j: int) -> Number:
    """Return entry (i, j) of the inverse effective mass G (12, 12) along the directions `basis` of the points."""
    block = G[3 * (i // 3) : 3 * (i // 3) + 3, 3 * (j // 3) : 3 * (j // 3) + 3]
    return basis[i // 3].T[i % 3] @ block @ basis[j // 3].T[j % 3]


def _rows(pair: RigidPair, p: Array, j: int) -> Array:
    """Return the change (3,) [m/s] of the speeds of contact point j of the pair due to the impulses p (12,) [N s]."""
    return pair.inverse_mass[3 * j : 3 * j + 3] @ p


def _within_cones(pair: RigidPair, parts: Array, free: Array) -> Condition:
    """Return whether the impulses of all points that stick are within their friction cones.

    `parts` (4, 3) [N s] has the normal and two tangential impulses of each point of the `pair`. A point sticks if its
    flag in `free` (12,) for the first tangent is 1.
    """
    fits: Condition = True
    for j, (n, t1, t2) in enumerate(parts):
        limit = pair.conditions.friction[j] * n * IN_CONE
        fits = ((free[3 * j + 1] == 0.0) | (t1 * t1 + t2 * t2 <= limit * limit)) & fits
    return fits
