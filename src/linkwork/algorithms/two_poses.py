"""Newton's equations between two positions of a tree, in linear time (S4 5.12 to 5.24, Algorithm 5.1).

The derivative of the discrete equations of motion is K = J_0^T B J_1: momenta of bodies in the first position, by their
twists in the second. It is solved as forward dynamics is, by articulated bodies, but for two sides: wrenches are
carried inward in the first position, twists outward in the second. Wendlandt eliminates a body's position, quaternion
and joint multipliers together; in joint coordinates the multipliers never appear, and his 7 + 1 + n_c equations for a
body become as many as its joint has freedoms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.sweeps import inward, outward
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial import Force, Motion, Transform
from linkwork.spatial.scalar import LU, Array, lu


class Position(NamedTuple):
    """Joint poses X and subspaces S of all bodies in one position."""

    X: list[Transform]
    S: list[Motion]


class Joined(NamedTuple):
    """A joint between the two positions: its pivot D (d, d), U = P S_1 (6, d) and S_0^T P (d, 6)."""

    D: LU
    U: Array
    V: Array


class TwoPoses:
    """K = J_0^T B J_1 + own, factored; `solve` takes joint forces to joint velocities."""

    def __init__(self, mechanism: Mechanism, first: Position, second: Position, B: Callable[[int], Array], own: Array):
        """B(k) (6, 6) is asked for when body k is met; `own` (nv,) is what joints add by themselves."""
        self.mechanism, self.first, self.second = mechanism, first, second
        self.joints: dict[int, Joined] = {}
        carried = [np.zeros((6, 6)) for _ in mechanism.bodies]
        for j in inward(mechanism):
            k = j.o
            P = B(k) + carried[k]
            U, V = P @ second.S[k].array, first.S[k].array.T @ P
            D = lu(first.S[k].array.T @ U + np.diag(own[j.v]))
            self.joints[k] = Joined(D, U, V)
            if j.i != WORLD:
                through = Force.of(P - U @ D.solve(V))
                raised = first.X[k].up(through).array
                carried[j.i] = carried[j.i] + second.X[k].up(Force.of(raised.T)).array.T

    def solve(self, r: Array) -> Array:
        """K^-1 r for r of shape (nv,) or (nv, k)."""
        columns = np.shape(r)[1:]
        none = np.zeros((6, *columns))
        z = [none for _ in self.mechanism.bodies]
        free = {}
        for j in inward(self.mechanism):
            k, joint = j.o, self.joints[j.o]
            free[k] = joint.D.solve(r[j.v] - self.first.S[k].array.T @ z[k])
            if j.i != WORLD:
                z[j.i] = z[j.i] + self.first.X[k].up(Force.of(z[k] + joint.U @ free[k])).array
        twists, found = [none], [np.zeros((0, *columns))]
        for j in outward(self.mechanism):
            k, joint = j.o, self.joints[j.o]
            carried = self.second.X[k].down(Motion.of(twists[j.i])).array if j.i != WORLD else none
            found.append(free[k] - joint.D.solve(joint.V @ carried))
            twists.append(carried + self.second.S[k].array @ found[k])
        return np.concatenate(found)
