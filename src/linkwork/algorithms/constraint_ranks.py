"""Ranks of constraint rows: independent rows, and the velocities that satisfy all rows.

A numerical rank is the number of singular values above a threshold, which needs a scale. Entries of a constraint row
are sums of terms (forces times lever arms) that may cancel; the remainder is then round-off, about 1e-16 of the terms.
If all entries cancel, this round-off is not small relative to the row itself, nor to a matrix of such rows. The
threshold is therefore relative to the size of the terms. All functions here are for floats.
"""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.constraints.constrained_dynamics import loop_states, rows_and_terms
from linkwork.algorithms.kinematics import kinematics
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array
from linkwork.tolerances import RANK


def row_terms(mechanism: Mechanism, q: Array) -> Array:
    """Return, for each entry (nh, nv) of the constraint matrix at q (nq,), the sum of the squares of its terms.

    The nh rows belong to loops, then to clutches, brakes and other velocity constraints, all engaged. Terms may cancel,
    so that the entry is only round-off; the size of the terms gives the scale to recognize this. The mechanism may have
    mimic joints.
    """
    tree = mechanism.tree.closed
    motion = kinematics(tree, mechanism.tree_position(q), np.zeros(tree.nv))
    _, squares = rows_and_terms(tree, motion, loop_states(tree, motion.X))
    velocity_squares = np.zeros((len(tree.velocity_rows), tree.nv))
    for row, one in zip(velocity_squares, tree.velocity_rows, strict=True):
        for joint, number, factor in one.velocities:
            row[tree.joints[joint].v.start + number] += factor**2
    return np.concatenate([squares, velocity_squares]) @ mechanism.spread**2


def row_scales(mechanism: Mechanism, q: Array) -> Array:
    """Return the scale (nh,) of each constraint row at q (nq,).

    The scale of a row is the root of the sum of squares of the terms of its entries; a row without terms has the scale
    1.
    """
    return _zeros_replaced_by_ones(np.sqrt(row_terms(mechanism, q).sum(axis=1)))


def _zeros_replaced_by_ones(sizes: Array) -> Array:
    """Return the array `sizes` with its zeros replaced by ones, for use as divisors."""
    return np.where(sizes > 0.0, sizes, 1.0)


def free_motions(J: Array, scales: Array) -> Array:
    """Return an orthonormal basis (nv, mobility) of the velocities that satisfy J v = 0.

    J (nc, nv) are constraint rows, and `scales` (nc,) the sizes of their terms. Rows divided by their scales have a
    singular value above RANK for each independent row.
    """
    if not J.size:
        return np.eye(J.shape[1])
    _, sizes, directions = np.linalg.svd(J / scales[:, None])
    return directions[int((sizes > RANK).sum()) :].T


def least_squares(A: Array, b: Array, scale: float, rank: float = RANK) -> Array:
    """Return the smallest x (n,) or (n, k) that minimizes |A x - b|, with small singular values of A set to zero.

    A is (m, n), b (m,) or (m, k). A singular value is small if it is below rank * scale, where `scale` is the size of
    the terms whose sums are the entries of A. `np.linalg.lstsq` uses the largest singular value instead; if A is only
    round-off, it divides by round-off.
    """
    left, sizes, right = np.linalg.svd(A, full_matrices=False)
    count = int((sizes > rank * scale).sum())
    return right[:count].T @ ((left[:, :count].T @ b).T / sizes[:count]).T


def smallest_multipliers(N: Array, r: Array, terms: Array, inverse_masses: Array, rank: float) -> Array:
    """Return the smallest x (nc,) with N x = r, for N = C M^-1 C^T (nc, nc) and constraint rows C (nc, nv).

    The rows may be redundant. `terms` (nc, nv) are the squared sizes of the terms of the entries of C, and
    `inverse_masses` (nv,) is the diagonal of M^-1. The root of the product `terms` times `inverse_masses` is the scale
    (nc,) of the rows, by which rows and columns of N are divided. Singular values of the quotient below `rank` count as
    zero.
    """
    scales = _zeros_replaced_by_ones(np.sqrt(terms @ inverse_masses))
    left, sizes, right = np.linalg.svd(N / np.outer(scales, scales))
    count = int((sizes > rank).sum())
    x = right[:count].T @ (left[:, :count].T @ (r / scales) / sizes[:count]) / scales
    idle = np.linalg.qr(right[count:].T / scales[:, None])[0]  # multipliers that have no effect on velocities
    return x - idle @ (idle.T @ x)
