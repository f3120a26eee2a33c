"""Constraint rows of closed loops in single states: velocities that satisfy the loops, and singular positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork import evaluation
from linkwork.algorithms.constraint_ranks import row_scales
from linkwork.algorithms.constraints.constraint_tolerances import SINGULAR_RATIO
from linkwork.simulation.simulation_problem import Problem
from linkwork.simulation.state import MemberState
from linkwork.spatial.scalar import Array
from linkwork.tolerances import RANK


class Tangent(NamedTuple):
    """Orthonormal basis `free` (nv, k) of the velocities that satisfy all loops, and the pseudoinverse of the loop
    rows.

    `inverse` (nv, nc) is the pseudoinverse.
    """

    free: Array
    inverse: Array


class LoopRows:
    """Evaluates the loop constraints of the first batch member at any position, with its parameters at the start of the
    run.
    """

    def __init__(self, problem: Problem):
        m = problem.mechanism
        start, values = problem.member(problem.first)
        self._nv, self._parameters = m.nv, {name: values[name] for name in problem.parameters}
        self._dynamics, self._scales = None, np.ones((0, 1))
        if m.frame_constraints:
            self._dynamics = evaluation.compile(m, parameters=problem.parameters)
            self._scales = row_scales(m, start.q)[: m.nc, None]

    def rows(self, q: Array) -> Array:
        """Return the scaled loop Jacobian (nc, nv) at q (nq,).

        Each row is divided by the size of its terms in the state at the start of the run.
        """
        if self._dynamics is None:
            return np.zeros((0, self._nv))
        return self._dynamics.constraint_jacobian(q[None], parameters=self._parameters)[0] / self._scales

    def tangent(self, q: Array) -> Tangent:
        """Return a basis of the velocities that satisfy the loops at q (nq,), and the pseudoinverse of the loop
        rows.
        """
        J = self.rows(q)
        if not len(J):
            return Tangent(np.eye(self._nv), np.zeros((self._nv, 0)))
        left, sizes, right = np.linalg.svd(J)
        rank = int((sizes > RANK).sum())
        return Tangent(right[rank:].T, right[:rank].T / sizes[:rank] @ left[:, :rank].T)

    def consistent(self, q: Array, v: Array, tangent: Tangent) -> Array:
        """Return the velocities v (nv,), corrected to satisfy the loops at q (nq,).

        `tangent` is the tangent at a nearby position; the correction is exact to first order in the distance.
        """
        return v - tangent.inverse @ (self.rows(q) @ v)

    def regular(self, states: Sequence[MemberState]) -> Sequence[MemberState]:
        """Return those of the `states` in which the loops are not near a singular position; all of them if there are
        none.
        """
        if self._dynamics is None:
            return states
        sizes = np.array([np.linalg.svd(self.rows(state.q), compute_uv=False) for state in states])
        rank = int((sizes > RANK).sum(axis=1).max(initial=0))
        if not rank:
            return states
        clear = sizes[:, rank - 1] > SINGULAR_RATIO * sizes[:, 0]
        return [state for state, good in zip(states, clear, strict=True) if good] or states
