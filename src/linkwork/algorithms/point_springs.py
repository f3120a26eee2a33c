"""Springs and dampers between points of two bodies: their lengths, forces and energies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.constraint_tolerances import COINCIDENT
from linkwork.algorithms.kinematics import joint_pose
from linkwork.algorithms.tree_traversal import to_common_ancestor
from linkwork.model.elements.force import LineForce
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial import Force, Transform
from linkwork.spatial.scalar import Array, Number, cross, dot, where


class SpringLength(NamedTuple):
    """Length of a spring in one state, and its derivative.

    `length` is L [m], and `row` (nv,) [m/rad or 1] its derivative, so that dL/dt = row . v. A tension f [N] pulls the
    ends together; its joint forces are -f row [N m or N]. If the ends coincide, L and row are zero.
    """

    length: Number
    row: Array


def spring_lengths(mechanism: Mechanism, q: Array) -> list[SpringLength]:
    """Return, for every spring between points of a tree, its length [m] and the derivative row (nv,) of the length.

    q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    return [_spring_length(mechanism, spring, q) for spring in mechanism.line_forces]


def _spring_length(mechanism: Mechanism, spring: LineForce, q: Array) -> SpringLength:
    """Return the length [m] of one spring and the derivative row (nv,) of the length, see `SpringLength`.

    Both are computed in the frame of the outermost common ancestor of the two bodies. q (nq,) [rad or m, or
    quaternions] are the coordinates.
    """
    near, far = to_common_ancestor(mechanism, spring.at.body, spring.to.body)
    X = {j.o: joint_pose(j, q) for j in (*near, *far)}
    start = _point_in_ancestor(near, X, spring.at.pose.p)
    line = _point_in_ancestor(far, X, spring.to.pose.p) - start
    squared = dot(line, line)
    apart = squared > COINCIDENT**2
    distance = np.sqrt(where(apart, squared, 1.0))
    along = line / distance
    # A unit force along the line on the far end, and its reaction on the near end, both lengthen the spring
    unit, row = Force(along, cross(start, along)), [0.0] * mechanism.nv
    for joints, sign in ((near, -1.0), (far, 1.0)):
        F = unit
        for j in reversed(joints):
            F = X[j.o].down(F)
            row[j.v] = list(j.kind.subspace(q[j.q]).pair(F) * sign)
    return SpringLength(where(apart, distance, 0.0), np.array(row))


def _point_in_ancestor(joints: Iterable[Joint], X: dict[int, Transform], point: Array) -> Array:
    """Return a point (3,) [m], given in the outboard body of the first joint, in the inboard body of the last joint.

    `joints` are in inward order; X has the pose of each joint's outboard body in its inboard body.
    """
    for j in joints:
        point = X[j.o].point(point)
    return point


def frame_spring_forces(mechanism: Mechanism, q: Array, v: Array) -> Array:
    """Return the joint forces (nv,) [N m or N] of all springs between points.

    Each spring adds -(stiffness (L - length) + damping dL/dt) row, with its length L and derivative `row` (see
    `SpringLength`), and its rest length `length`. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the
    coordinates and velocities.
    """
    total = np.zeros(mechanism.nv)
    for spring, (L, row) in zip(mechanism.line_forces, spring_lengths(mechanism, q), strict=True):
        total = total - row * (spring.stiffness * (L - spring.length) + spring.damping * (row @ v))
    return total


def frame_spring_energy(mechanism: Mechanism, q: Array) -> Number:
    """Return the energy [J] stored in all springs between points: the sum of stiffness (L - length)^2 / 2.

    q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    energies = [
        0.5 * spring.stiffness * (found.length - spring.length) * (found.length - spring.length)
        for spring, found in zip(mechanism.line_forces, spring_lengths(mechanism, q), strict=True)
    ]
    return sum(energies, 0.0)


def frame_damper_power(mechanism: Mechanism, q: Array, v: Array) -> Number:
    """Return the power [W] dissipated by all dampers between points: the sum of damping (dL/dt)^2.

    q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    rates = [found.row @ v for found in spring_lengths(mechanism, q)]
    return sum((spring.damping * rate * rate for spring, rate in zip(mechanism.line_forces, rates, strict=True)), 0.0)


def frame_spring_matrix(mechanism: Mechanism, q: Array, weights: Iterable[Number]) -> Array:
    """Return the sum (nv, nv) of the matrices weight * row row^T over all springs between points.

    `weights` has one number for each spring; `row` (nv,) is the derivative of the length of a spring, see
    `SpringLength`. q (nq,) [rad or m, or quaternions] are the coordinates.
    """
    rows = [found.row for found in spring_lengths(mechanism, q)]
    parts = [np.outer(row, row) * weight for row, weight in zip(rows, weights, strict=True)]
    return sum(parts, np.zeros((mechanism.nv, mechanism.nv)))
