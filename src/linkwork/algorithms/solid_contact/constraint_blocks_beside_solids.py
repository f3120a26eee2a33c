"""Constraint rows that are solved together with solid pairs: point contacts, clutches, brakes and ratchets.

These rows are blocks of the solver in `constraints.bounded_impulse_solver`. The solver of solid pairs treats groups of
up to six rows as *virtual bodies*: the speeds along the rows are the velocity (6,) of the virtual body, and their
impulses are its wrench.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from linkwork.algorithms.constraints.admissible_sets import clipped, into_ball, length
from linkwork.algorithms.constraints.bounded_constraints import Ball, Box, trace_of
from linkwork.algorithms.constraints.bounded_impulse_solver import Block, row_speeds, split_by_block, work
from linkwork.algorithms.rigid_contact import RigidContact
from linkwork.algorithms.solid_contact.body_responses import BLOCK
from linkwork.algorithms.solid_contact.linearized_contact import limited_to_cone, linearized
from linkwork.spatial.row_arrays import RowArray
from linkwork.spatial.scalar import Array, Condition, Number, largest, ldlt, maximum, minimum, where
from linkwork.tolerances import TINY_SIZE


class OtherBlocks:
    """Blocks of constraint rows (point contacts, clutches, brakes, ratchets) that are solved together with solid pairs.

    The impulses [N s or N m s] of all n rows are one array (n,), and so are their speeds [m/s or rad/s]. Velocities of
    the mechanism are (nv,). In row arrays of bodies, the virtual bodies that represent groups of rows are the last
    rows.
    """

    def __init__(self, blocks: Sequence[Block]):
        self.blocks = blocks
        self._G = [one.inverse_mass for one in blocks]
        ends = np.cumsum([0, *(len(one.K) for one in blocks)])
        self._rows = [slice(a, b) for a, b in pairwise(ends)]
        self.count = int(ends[-1])
        self._groups = _groups(blocks)

    @property
    def jacobians(self) -> list[Array]:
        """Jacobians (6, nv) of the virtual bodies, one for each group of up to six rows, padded with zeros."""
        if not self.blocks:
            return []
        K = np.concatenate([one.K for one in self.blocks])
        return [np.concatenate([K[rows], np.zeros((BLOCK - len(rows), K.shape[1]))]) for rows in self._groups]

    def with_bounce(self, share: Number) -> OtherBlocks:
        """Return the same blocks with the separation speeds times `share`: 1 retains restitution, 0 removes it."""
        return OtherBlocks([one.with_bounce(share) for one in self.blocks])

    def work(self, p: Array, before: Array, after: Array) -> Number:
        """Return the work [J] of impulses p (n,) that change the velocities (nv,) from `before` to `after`."""
        return work(self.blocks, p, before, after) if self.blocks else 0.0

    def fastest(self, v: Array) -> Number:
        """Return the largest speed [m/s] of an active point contact at the velocities v (nv,); 0 if none is active."""
        found: Number = 0.0
        for one in self.blocks:
            if one.same_units:
                found = maximum(found, where(one.acts, largest(row_speeds(one, v)) + one.bounce, 0.0))
        return found

    def scales(self, v: Array, weights: Array, settled: Number, enough: Number) -> list[Number]:
        """Return one factor per block that makes its residual comparable with the tolerance `enough` [m/s].

        Clutches, brakes and friction torques have a separate tolerance for their complementarity conditions: `settled`
        times the largest speed that their rows could have with the kinetic energy of the velocities v (nv,). `weights`
        (nv,) are the square roots of the diagonal of the mass matrix.
        """
        energy = sum((x * x for x in weights * v), 0.0)
        own = [np.sqrt(trace_of(G) * energy) * settled + TINY_SIZE for G in self._G]
        return [1.0 if one.same_units else enough / x for one, x in zip(self.blocks, own, strict=True)]

    def speeds(self, v: RowArray) -> Array:
        """Return the speeds (n,) along all rows, with their drifts; v has the velocity (6,) of each body as a row."""
        found = np.zeros(self.count, dtype=object)
        for g, rows in enumerate(self._groups):
            found[rows] = v.at(float(v.count - len(self._groups) + g))[: len(rows)]
        drifts = [np.broadcast_to(one.drift, len(one.K)) for one in self.blocks]
        return found + np.concatenate([np.zeros(0), *drifts])

    def add_wrenches(self, p: Array, wrenches: RowArray) -> RowArray:
        """Return the row array `wrenches` of all bodies, with the impulses p (n,) in the rows of virtual bodies."""
        for g, rows in enumerate(self._groups):
            row = float(wrenches.count - len(self._groups) + g)
            wrenches = wrenches.put(row, np.concatenate([p[rows], np.zeros(BLOCK - len(rows))]))
        return wrenches

    def violations(self, p: Array, u: Array, scales: Sequence[Number]) -> list[Number]:
        """Return, for each block, the residual of its complementarity condition, multiplied by its factor in `scales`.

        p (n,) are the impulses and u (n,) the speeds of all rows. The residual of an inactive block is 0.
        """
        parts, found = self._split(p), []
        for one, G, rows, scale in zip(self.blocks, self._G, self._rows, scales, strict=True):
            left = one.residual(G, p[rows], u[rows], one.limit(parts))
            found.append(where(one.acts, left * scale, 0.0))
        return found

    def linearized(self, p: Array, u: Array, decision: Number, stiffness: Number) -> tuple[Array, list[Array]]:
        """Return the constant part c (n,) and the derivatives of impulses that are linear in the speeds: p = c - S du.

        du are the changes of the speeds from u (n,), and p (n,) are the present impulses. The matrices S, minus the
        derivatives of the impulses with respect to the speeds, are one matrix (6, 6) for each group of rows. `decision`
        and `stiffness` are the numbers r and R of a row of SCHEDULE in `newton_iteration`.
        """
        parts, c, S = self._split(p), np.zeros(self.count, dtype=object), np.zeros((self.count, self.count), object)
        for one, G, rows in zip(self.blocks, self._G, self._rows, strict=True):
            if isinstance(one, Box):
                c[rows], S[rows, rows] = _linearized_box(one, G, p[rows], u[rows], decision, stiffness)
                continue
            mass = 1.0 / trace_of(G)
            r, R = decision * mass, stiffness * mass
            if isinstance(one, RigidContact):
                error = u[rows] - np.array([one.bounce, 0.0, 0.0])
                c[rows], slope = linearized(one.friction, p[rows], error, r, R, one.acts)
                S[rows, rows] = slope.matrix()
            elif isinstance(one, Ball):
                c[rows], S[rows, rows] = _linearized_ball(one, p[rows], u[rows], r, R, one.limit(parts))
        blocks = [S[np.ix_(rows, rows)] for rows in self._groups]
        return c, [np.pad(one, (0, BLOCK - len(one)), constant_values=0.0) for one in blocks]

    def stepped(self, constants: Array, slopes: Sequence[Array], change: RowArray) -> Array:
        """Return the impulses p = c - S du (n,) after a change of the velocities of the bodies.

        It changes the speeds of the rows by du. `constants` are c and `slopes` the matrices S from `linearized`;
        `change` has the change of the velocity (6,) of each body as a row, including virtual bodies. The impulses may
        be outside their admissible sets.
        """
        p = constants.copy()
        for g, (rows, S) in enumerate(zip(self._groups, slopes, strict=True)):
            p[rows] = p[rows] - (S @ change.at(float(change.count - len(self._groups) + g)))[: len(rows)]
        return p

    def admissible(self, p: Array) -> Array:
        """Return the impulses p (n,), each block projected onto its admissible set."""
        found = p.copy()
        for one, rows in zip(self.blocks, self._rows, strict=True):
            if isinstance(one, Box):
                each = zip(p[rows], one.bounds(), strict=True)
                found[rows] = [clipped(x, *bounds) for x, bounds in each]
            elif isinstance(one, RigidContact):
                found[rows] = limited_to_cone(one.friction, p[rows])
        parts = self._split(found)
        for one, rows in zip(self.blocks, self._rows, strict=True):
            if isinstance(one, Ball):
                found[rows] = into_ball(p[rows], one.limit(parts))
        return found

    def swept(self, p: Array, v: RowArray, caution: Number) -> Array:
        """Return the impulses (n,) after one Gauss-Seidel sweep over all blocks, which starts from the impulses p (n,).

        v has the velocities of the bodies before the sweep as rows. `caution` is the argument of `Block.improved`.
        """
        parts, u = self._split(p), self.speeds(v)
        for k, (one, G, rows) in enumerate(zip(self.blocks, self._G, self._rows, strict=True)):
            better = one.improved(G, ldlt(G), parts[k], u[rows], one.limit(parts), caution)
            change = where(one.acts, better - parts[k], parts[k] * 0.0)
            parts[k] = parts[k] + change
            u = u + np.concatenate([other.K @ (one.W @ change) for other in self.blocks])
        return np.concatenate([np.zeros(0), *parts])

    def _split(self, p: Array) -> list[Array]:
        return split_by_block(self.blocks, p) if self.blocks else []


def _groups(blocks: Sequence[Block]) -> list[list[int]]:
    """Return the row numbers of each group of at most six rows; only the rows of a box may be in several groups."""
    groups: list[list[int]] = []
    first = 0
    for one in blocks:
        rows = list(range(first, first + len(one.K)))
        for piece in [[k] for k in rows] if isinstance(one, Box) else [rows]:
            if not groups or len(groups[-1]) + len(piece) > BLOCK:
                groups.append([])
            groups[-1] += piece
        first += len(one.K)
    return groups


def _linearized_box(
    box: Box, G: Array, p: Array, u: Array, decision: Number, stiffness: Number
) -> tuple[list[Number], Array]:
    """Return the constant parts (k,) and minus the derivatives (k, k) of the new impulses of a box's rows.

    The derivatives are with respect to the speeds u (k,), and p (k,) are the present impulses; see
    `OtherBlocks.linearized`. `box` is the block with separate bounds for each row. G (k, k) is the inverse effective
    mass of the rows. `decision` and `stiffness` are the arguments of `OtherBlocks.linearized`.
    """
    constants, slopes = [], []
    for x, w, g, (low, high) in zip(p, u, np.diag(G), box.bounds(), strict=True):
        y, R = x - w * (decision / g), stiffness / g
        sticks = (y > low) & (y < high)
        constants.append(where(sticks, x - R * w, clipped(y, low, high)))
        slopes.append(where(sticks, R, 0.0))
    return constants, np.diag(np.array(slopes, dtype=object))


def _linearized_ball(ball: Ball, p: Array, u: Array, r: Number, R: Number, limit: Number) -> tuple[Array, Array]:
    """Return the constant part (d,) and minus the derivative (d, d) of a new rolling or spinning impulse.

    The derivative is with respect to the speeds u (d,), and p (d,) is the present impulse. `limit` is the largest
    length of the impulse [N s or N m s], taken as constant. r is the step of the projection, and R minus the derivative
    of the impulse of a sticking row with respect to its speed, as in `newton_iteration`. `ball` is the block of the
    friction.
    """
    y = p - r * u
    size = maximum(length(y), TINY_SIZE)
    slides: Condition = ~(length(y) < limit)
    e, viscous = y / size, minimum(r * limit / maximum(size - limit, TINY_SIZE), R)
    across = np.eye(len(p)) - np.outer(e, e)
    sliding, sticking = limit * e - viscous * (across @ u), p - R * u
    acts = where(ball.acts, 1.0, 0.0)
    return where(slides, sliding, sticking) * acts, where(slides, viscous * across, R * np.eye(len(p))) * acts
