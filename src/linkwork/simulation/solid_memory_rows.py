"""Contact memory of rigid solids in row arrays.

The contact memory is most of the state of a mechanism with many solid pairs. In a compiled run, each loop of the run
would copy all numbers of its state in each step. As a row array, the memory stays in place, and a step writes only the
rows of pairs that touch or have touched.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from linkwork.model.solids import POINTS
from linkwork.simulation.simulation_problem import Problem
from linkwork.simulation.state import MemberState
from linkwork.spatial.row_arrays import RowArray, row_array
from linkwork.spatial.scalar import Array


def is_in_place(stored: Array | RowArray) -> bool:
    """Return whether the contact memory `stored` of solids is a row array, which steps change in place."""
    return not isinstance(stored, np.ndarray)


def memory_rows(stored: Array | RowArray) -> RowArray:
    """Return the contact memory `stored` of n solid pairs as a row array of n rows (4 m,): four contact points with m
    numbers each. `stored` is an array (4 n, m), or already such a row array.

    See `stored_columns` for the number of columns m.
    """
    if not isinstance(stored, np.ndarray):
        return stored
    count = len(stored) // POINTS
    rows = row_array(count, POINTS * stored.shape[-1])
    for k in range(count):
        rows = rows.put(float(k), stored[POINTS * k : POINTS * k + POINTS].reshape(-1))
    return rows


def memory_array(stored: Array | RowArray) -> Array:
    """Return the contact memory `stored` of n solid pairs, a row array or already an array, as an array (4 n, m); see
    `memory_rows`.
    """
    if isinstance(stored, np.ndarray):
        return stored
    return np.concatenate([stored.at(float(k)).reshape(POINTS, -1) for k in range(stored.count)])


def with_memory_rows(problem: Problem, now: MemberState) -> MemberState:
    """Return the state of a batch member with the contact memory of its solids as a row array, if steps change it in
    place.

    Steps with events do not change it in place, because they are repeated; nor do steps with compliant contacts.
    """
    if not (problem.rigid and problem.mechanism.solid_pairs) or problem.has_events:
        return now
    return now.moved(solid_memory=cast(Array, memory_rows(now.motion.solid_memory)))


def with_memory_array(now: MemberState) -> MemberState:
    """Return the state of a batch member with the contact memory of its solids as an array."""
    return now.moved(solid_memory=memory_array(now.motion.solid_memory))
