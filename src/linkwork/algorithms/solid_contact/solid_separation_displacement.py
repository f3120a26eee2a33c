"""Separation of solids that penetrate: the smallest displacement in the kinetic-energy metric.

Stiff springs push the penetrating points apart by their depths. Newton's method finds the displacement: each iteration
removes springs that pull, and adds springs at points that are still too close after the displacement.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.algorithms.contact_tolerances import TOO_CLOSE, TOO_LONG
from linkwork.algorithms.solid_contact.body_equations import BodyEquations
from linkwork.algorithms.solid_contact.body_responses import BLOCK
from linkwork.algorithms.solid_contact.touching_pairs import TouchingPairs, zero_rows
from linkwork.model.solids import POINTS
from linkwork.spatial.row_arrays import RowArray, RowLayout, row_array
from linkwork.spatial.scalar import Array, Condition, Number, cross, maximum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import TINY_SIZE

SEARCHES = 12  # largest number of iterations; the next step separates points that are still too close
# Stiffness of the springs, multiplied by the inverse effective mass of a point. The fraction 1 / STIFFNESS of a depth
# remains, and is removed in the next step.
STIFFNESS = 1e8
# Row of a pair: depths [m] of its points, stiffnesses [kg] of their springs, and whether each spring acts (1) or not
# (0)
SPRINGS = RowLayout((POINTS,), (POINTS,), (POINTS,))


def separating_displacement(pairs: TouchingPairs, equations: BodyEquations, depths: RowArray, zeros: Array) -> Array:
    """Return the smallest displacement (nv,) [rad or m] of the joints that separates all points by their depths.

    The size of a displacement is its norm in the kinetic-energy metric. `pairs` are the touching pairs, and `equations`
    the equations of their bodies. `depths` has the depths (4,) [m] of each pair as a row. `zeros` (nv,) is an array of
    zeros.
    """
    responses, bodies = pairs.responses, equations.bodies

    def begin(k: Number, springs: RowArray, deepest: Number) -> tuple[RowArray, Number]:
        depth, traces, acts = depths.at(k), pairs.compliance(k).traces, pairs.frame(k).acts
        for x in depth:
            deepest = maximum(deepest, x)
        stiff = [STIFFNESS / (trace + TINY_SIZE) * acting for trace, acting in zip(traces, acts, strict=True)]
        held = [where(x > 0.0, 1.0, 0.0) for x in depth]
        return springs.put(k, SPRINGS.row(depth, stiff, held)), deepest

    springs, deepest = pairs.selection.visit(begin, row_array(pairs.count, SPRINGS.size), 0.0)

    def iteration(springs: RowArray, wrenches: RowArray, *_: Any) -> tuple[tuple[Any, ...], Condition]:
        shift = _displacement(pairs, equations, springs)
        (wrenches,) = bodies.visit(lambda b, rows: (rows.put(b, np.zeros(BLOCK)),), wrenches)

        def check(k: Number, springs: RowArray, wrenches: RowArray, changes: Number) -> tuple[Any, ...]:
            frame, (depth, stiff, held) = pairs.frame(k).without_torque, SPRINGS.parts(springs.at(k))
            left = depth - pairs.speeds(k, frame, shift)[0::3]
            wrenches = pairs.add_wrench(k, frame, _along_normals(stiff * held * left), wrenches)
            now = []
            for before, x in zip(held, left, strict=True):
                after = where(x > deepest * where(before > 0.0, -TOO_LONG, TOO_CLOSE), 1.0, 0.0)
                now.append(after)
                changes = changes + abs(after - before)
            return springs.put(k, now, first=SPRINGS.first(2)), wrenches, changes

        springs, wrenches, changes = pairs.selection.visit(check, springs, wrenches, 0.0)
        return (springs, wrenches, changes), changes == 0.0

    state, _, _ = iterate(SEARCHES, iteration, springs, zero_rows(responses.bodies, BLOCK), 0.0, start=deepest > 0.0)
    return responses.after_wrenches(zeros, state[1])


def _displacement(pairs: TouchingPairs, equations: BodyEquations, springs: RowArray) -> RowArray:
    """Return the displacements of the bodies under the springs of all pairs, one row (6,) each.

    A row has the linear [m], then the angular displacement [rad], in world axes. `springs` has the depths, stiffnesses
    and flags of each pair as a row with the layout SPRINGS. `equations` are the equations of the bodies.
    """
    count = equations.count
    blocks = equations.started(row_array(count * count, BLOCK * BLOCK))

    def add(k: Number, blocks: RowArray, pushes: RowArray) -> tuple[RowArray, RowArray]:
        frame, (depth, stiff, held) = pairs.frame(k).without_torque, SPRINGS.parts(springs.at(k))
        S = np.zeros((BLOCK, BLOCK))
        for D, arm, stiffness in zip(frame.axes, frame.arms, stiff * held, strict=True):
            line = np.concatenate([D[:, 0], cross(frame.to_a + arm, D[:, 0])])
            S = S + np.outer(line * stiffness, line)
        blocks = equations.with_pair(pairs.body_rows(k), S, frame.to_b - frame.to_a, blocks)
        return blocks, pairs.add_wrench(k, frame, _along_normals(depth * stiff * held), pushes)

    blocks, pushes = pairs.selection.visit(add, blocks, zero_rows(count, BLOCK))
    return equations.solve(equations.factored(blocks), pushes)


def _along_normals(x: Array) -> Array:
    """Return impulses (12,) of the points of a pair with normal components x (4,) and zero tangential components."""
    return np.array([part for normal in x for part in (normal, 0.0, 0.0)])
