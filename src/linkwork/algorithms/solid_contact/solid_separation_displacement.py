"""Separation of solids that penetrate: the smallest displacement in the kinetic-energy metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.algorithms.rigid_contact import AT_ALL, FREED, PUSHES
from linkwork.algorithms.solid_contact.touching_pairs import TouchingPairs, zero_rows
from linkwork.model.solids import POINTS
from linkwork.spatial.row_arrays import RowArray, row_array
from linkwork.spatial.scalar import Array, Condition, Number, maximum, where
from linkwork.spatial.traceable_loops import iterate


def separating_displacement(pairs: TouchingPairs, depths: RowArray, zeros: Array) -> Array:
    """Return the smallest displacement (nv,) of the joints that separates all points of touching pairs by their depths.

    `depths` has the depths (4,) [m] of each pair; `zeros` (nv,) are the velocities without impulses, zero.
    """

    def begin(k: Number, pushes: RowArray, deepest: Number) -> tuple[RowArray, Number]:
        for depth in depths.at(k):
            deepest = maximum(deepest, depth)
        return pushes.put(k, np.zeros(POINTS)), deepest

    pushes, deepest = pairs.selection.visit(begin, row_array(pairs.count, POINTS), 0.0)
    enough = deepest * FREED + AT_ALL

    def push(k: Number, pushes: RowArray, shift: RowArray, left: Number) -> tuple[RowArray, RowArray, Number]:
        pair, depth, x = pairs.pair(k), depths.at(k), pushes.at(k)
        u, change = pairs.speeds(k, pair.frame, shift)[0::3], np.zeros(POINTS)
        for j in range(POINTS):
            G = pair.inverse_mass[3 * j, 0::3]
            better = maximum(x[j] + (depth[j] - u[j] - G @ change) / G[j], 0.0)
            step = where(pair.frame.acts[j] > 0.0, better - x[j], 0.0)
            change = np.array([*change[:j], step, *change[j + 1 :]])
            left = maximum(left, abs(step) * G[j])
        return pushes.put(k, x + change), pairs.pushed(k, pair.frame, _along_normals(change), shift), left

    def iteration(pushes: RowArray, shift: RowArray) -> tuple[tuple[Any, ...], Condition]:
        pushes, shift, left = pairs.selection.visit(push, pushes, shift, 0.0)
        pushes, shift, left = pairs.selection.visit(push, pushes, shift, left, backward=True)
        return (pushes, shift), left <= enough

    state, _, _ = iterate(PUSHES, iteration, pushes, pairs.responses.velocity_rows(zeros), start=deepest > 0.0)
    pushed = state[0]

    def add(k: Number, wrenches: RowArray) -> tuple[RowArray]:
        return (pairs.add_wrench(k, pairs.frame(k), _along_normals(pushed.at(k)), wrenches),)

    (wrenches,) = pairs.selection.visit(add, zero_rows(pairs.responses.bodies, 6))
    return pairs.responses.after_wrenches(zeros, wrenches)


def _along_normals(x: Array) -> Array:
    """Return impulses (12,) of the points of a pair with the normal components x (4,) and without friction."""
    return np.array([part for normal in x for part in (normal, 0.0, 0.0)])
