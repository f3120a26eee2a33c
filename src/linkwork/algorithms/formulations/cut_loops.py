"""Loops cut open at their loop joints: the wrenches at the cuts, and the accelerations at which the loops stay closed.

S1 treats chains that touch an environment, which exerts unknown forces on them. Here every loop is cut at its loop
joint, and each side of the cut is the environment of the other side. Mimic joints, clutches and brakes are constraint
rows too; their multipliers act as actuators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.velocity_constraints import velocity_row_matrix
from linkwork.algorithms.formulations.coincident_frame_motions import FrameMotion, relative_acceleration
from linkwork.algorithms.formulations.force_sources import Columns, Source
from linkwork.algorithms.formulations.linear_friction import LinearFriction
from linkwork.model.bodies import Place
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial import Motion, Transform
from linkwork.spatial.scalar import Array


class CutLoop(NamedTuple):
    """A loop with k constraint rows, cut at its loop joint: frames `at` and `to` on its two bodies.

    `at` is on the first body and `to` on the second. X is the pose of `to` in `at`, and `twist` (6,) [m/s, rad/s] the
    velocity of `to` relative to `at`, in the axes of `to`. The wrench of the first body on the second, at `to`, in its
    axes and with friction, is `wrenches` (6, k) times the multipliers (k,), plus `constant` (6,) [N, N m].
    `friction_part` (6, k) is the part of `wrenches` due to friction that depends on the load; `constant` is the
    friction that does not. If the loop stays closed, the accelerations a (nv,) of all joints satisfy J a + bias = 0
    with J (k, nv) and bias (k,).
    """

    name: str
    at: Place
    to: Place
    X: Transform
    twist: Array
    wrenches: Array
    friction_part: Array
    constant: Array
    J: Array
    bias: Array


def cut_loops(mechanism: Mechanism, motions: Sequence[FrameMotion], friction: LinearFriction) -> list[CutLoop]:
    """Return all loops of a tree, cut at their loop joints.

    `motions` are the motions of the frames of all bodies, by body number, and `friction` has the friction of the loops.
    """
    none, found = np.zeros(6), []
    for one in mechanism.frame_constraints:
        A, B = motions[one.at.body].moved(one.at.pose, none), motions[one.to.body].moved(one.to.pose, none)
        X, u, J, bias = relative_acceleration(A, B)
        W = np.column_stack([row.wrench(X).array for row in one.rows]) * one.engaged
        rates = np.column_stack([row.wrench_rate(X, Motion.of(u)).array for row in one.rows]) * one.engaged
        coupling, constant = friction.of_loop(one.name)
        friction_part, constant = coupling @ W, constant * one.engaged
        J, bias = W.T @ J, W.T @ bias + rates.T @ u
        found.append(CutLoop(one.name, one.at, one.to, X, u, W + friction_part, friction_part, constant, J, bias))
    return found


def cut_sources(loops: Sequence[CutLoop], columns: Columns) -> Iterator[Source]:
    """Yield the wrenches at the cuts of `loops`: on each loop's second body, and the opposite wrench on its first body.

    No wrench on the world is yielded, because each tree has a separate unknown force on the ground.
    `columns` are the column numbers of the unknowns.
    """
    start = columns.loops.start
    for one in loops:
        wrench = columns.affine({start: one.wrenches}, one.constant)
        start += one.wrenches.shape[1]
        for place, X, force in ((one.to, Transform.identity(), wrench), (one.at, one.X, -wrench)):
            if place.body != WORLD:
                yield Source("environment", place.body, place.pose @ X, force)


class ConstraintRows(NamedTuple):
    """All n constraint rows of a tree: J (n, nv) and bias (n,) of J a + bias = 0, with the accelerations a (nv,).

    The rows belong to mimic joints, then loops, then clutches, brakes and other velocity constraints. `loops` is the
    slice of the rows of loops. The multipliers of all other rows act as joint forces: J^T times the multipliers.
    """

    J: Array
    bias: Array
    loops: slice


def constraint_rows(mechanism: Mechanism, loops: Sequence[CutLoop]) -> ConstraintRows:
    """Return the constraint rows of a mechanism with respect to the velocities of all joints of its tree.

    `loops` are the cut loops.
    """
    tree = mechanism.tree
    mimics = np.zeros((len(mechanism.mimics), tree.nv))
    for row, mimic in zip(mimics, mechanism.mimics, strict=True):
        row[tree.joints[mimic.joint].v] = 1.0
        row[tree.joints[mimic.of].v] -= mimic.multiplier
    switched = velocity_row_matrix(tree)
    J = np.concatenate([mimics, *(one.J for one in loops), switched])
    bias = np.concatenate([np.zeros(len(mimics)), *(one.bias for one in loops), np.zeros(len(switched))])
    return ConstraintRows(J, bias, slice(len(mimics), len(J) - len(switched)))
