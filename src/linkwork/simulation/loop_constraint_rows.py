"""Constraint rows of closed loops in single states: velocities that satisfy the loops, and singular positions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
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
    """Orthonormal basis `free` (nv, k) of the velocities that satisfy all loops, and the pseudoinverse `inverse` (nv,
    nc) of the scaled loop Jacobian.

    The Jacobian is that of `LoopRows.rows`, with nc rows; the k columns of `free` are the basis.
    """

    free: Array
    inverse: Array


class LoopRows(ABC):
    """Evaluates the loop constraints of a problem: at the start for all batch members, at other positions for the first
    member.

    At other positions than the start, the parameters are those at the start of the run.
    """

    def __init__(self, problem: Problem):
        self.problem, self.nv = problem, problem.mechanism.nv

    @abstractmethod
    def errors_at_start(self) -> tuple[Array, ...]:
        """Return the closure errors (*batch, nc) [m or rad] and their rates [m/s or rad/s] at the start."""

    @abstractmethod
    def rows(self, q: Array) -> Array:
        """Return the scaled loop Jacobian (nc, nv) at q (nq,).

        Each row is divided by the size of its terms in the state at the start of the run.
        """

    @abstractmethod
    def tangent(self, q: Array) -> Tangent:
        """Return a basis of the velocities that satisfy the loops at q (nq,), and the pseudoinverse of the scaled loop
        Jacobian.
        """

    @abstractmethod
    def regular(self, states: Sequence[MemberState]) -> Sequence[MemberState]:
        """Return those of the `states` in which the loops are not near a singular position; all of them if there are
        none.
        """

    def consistent(self, q: Array, v: Array, tangent: Tangent) -> Array:
        """Return the velocities v (nv,), corrected to satisfy the loops at q (nq,).

        `tangent` is that of a nearby position; the correction is exact to first order in the distance from this
        position.
        """
        return v - tangent.inverse @ (self.rows(q) @ v)


class NoLoopRows(LoopRows):
    """The rows of a mechanism without loops: there are none, and all velocities satisfy them."""

    def errors_at_start(self) -> tuple[Array, ...]:
        """Return an empty tuple: there are no closure errors."""
        return ()

    def rows(self, q: Array) -> Array:
        """Return an array (0, nv): there are no loop rows."""
        return np.zeros((0, self.nv))

    def tangent(self, q: Array) -> Tangent:
        """Return the basis of all velocities, the unit matrix (nv, nv), and an empty pseudoinverse (nv, 0)."""
        return Tangent(np.eye(self.nv), np.zeros((self.nv, 0)))

    def regular(self, states: Sequence[MemberState]) -> Sequence[MemberState]:
        """Return all `states`."""
        return states


class ClosedLoopRows(LoopRows):
    """The rows of a mechanism with loops, from its compiled dynamics."""

    @cached_property
    def _dynamics(self) -> evaluation.Dynamics:
        return evaluation.compile(self.problem.mechanism, parameters=self.problem.parameters)

    @cached_property
    def _scales(self) -> Array:
        """Size of the terms of each row of the loop Jacobian (nc, 1), in the state of the first batch member at the
        start.
        """
        m, (start, _) = self.problem.mechanism, self.problem.member(self.problem.first)
        return row_scales(m, start.q)[: m.nc, None]

    @cached_property
    def _parameters(self) -> dict[str, Array]:
        """The varied parameters of the first batch member, by name."""
        _, values = self.problem.member(self.problem.first)
        return {name: values[name] for name in self.problem.parameters}

    def errors_at_start(self) -> tuple[Array, ...]:
        """Return the closure errors (*batch, nc) [m or rad] and their rates [m/s or rad/s] at the start."""
        d, start, given = self._dynamics, self.problem.start, self.problem.parameters
        q = start.q[None]  # as a batch, because a call with a single state would also build a fast entry point
        J = d.constraint_jacobian(q, parameters=given)
        return np.abs(d.constraint(q, parameters=given)), np.abs((J @ start.v[..., None])[..., 0])

    def rows(self, q: Array) -> Array:
        """Return the scaled loop Jacobian (nc, nv) at q (nq,)."""
        return self._dynamics.constraint_jacobian(q[None], parameters=self._parameters)[0] / self._scales

    def tangent(self, q: Array) -> Tangent:
        """Return a basis of the velocities that satisfy the loops at q (nq,), and the pseudoinverse of the scaled loop
        Jacobian.
        """
        left, sizes, right = np.linalg.svd(self.rows(q))
        rank = int((sizes > RANK).sum())
        return Tangent(right[rank:].T, right[:rank].T / sizes[:rank] @ left[:, :rank].T)

    def regular(self, states: Sequence[MemberState]) -> Sequence[MemberState]:
        """Return the `states` that are not near a singular position of the loops; all of them if there are none."""
        sizes = np.array([np.linalg.svd(self.rows(state.q), compute_uv=False) for state in states])
        rank = int((sizes > RANK).sum(axis=1).max(initial=0))
        if not rank:
            return states
        clear = sizes[:, rank - 1] > SINGULAR_RATIO * sizes[:, 0]
        return [state for state, good in zip(states, clear, strict=True) if good] or states


def loop_rows(problem: Problem) -> LoopRows:
    """Return the object that evaluates the loop constraints of a problem; without loops, it has no rows."""
    return (ClosedLoopRows if problem.mechanism.frame_constraints else NoLoopRows)(problem)
