"""The touching solid pairs in a step: velocities at their points, and the effect of their impulses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.solid_contact.body_responses import BodyResponses
from linkwork.algorithms.solid_contact.rigid_pairs import (
    CONDITIONS,
    FRAME,
    TURNING_CONDITIONS,
    TURNING_FRAME,
    PairCompliance,
    PairConditions,
    PairFrame,
    RigidPair,
    pair_inverse_mass,
    read_compliance,
    row_count,
)
from linkwork.spatial.row_arrays import RowArray, Selection, row_array
from linkwork.spatial.scalar import Array, Number, cross, largest, lookup
from linkwork.spatial.traceable_loops import repeat


@dataclass(frozen=True, eq=False)
class TouchingPairs:
    """The touching solid pairs in a step, with all data on which their impulses depend, one row per pair.

    `selection` selects the pairs that touch. `frames`, `conditions` and `compliances` are row arrays with the layouts
    FRAME, CONDITIONS and COMPLIANCE of `rigid_pairs`, or TURNING_FRAME and TURNING_CONDITIONS if some pair has rolling
    or spinning friction. `body_a` and `body_b` (n, 1) are the row numbers of the bodies of each pair in `responses`.
    `weights` (nv,) make velocities comparable: they are the square roots of the diagonal of the mass matrix.
    `responses` are the responses of the bodies to impulses.
    """

    selection: Selection
    frames: RowArray
    conditions: RowArray
    compliances: RowArray
    body_a: Array
    body_b: Array
    responses: BodyResponses
    weights: Array

    @property
    def count(self) -> int:
        """Number of solid pairs, including those that do not touch."""
        return self.frames.count

    @property
    def turns(self) -> bool:
        """Whether some pair has rolling or spinning friction."""
        return self.frames.size > FRAME.size

    @property
    def rows(self) -> int:
        """Number of impulses of a pair: 12, or 15 with rolling and spinning friction."""
        return row_count(self.turns)

    def frame(self, k: Number) -> PairFrame:
        """Return the geometry of the contact points of pair k."""
        return PairFrame(*(TURNING_FRAME if self.turns else FRAME).parts(self.frames.at(k)))

    def pair_conditions(self, k: Number) -> PairConditions:
        """Return the contact conditions of the points of pair k."""
        return PairConditions(*(TURNING_CONDITIONS if self.turns else CONDITIONS).parts(self.conditions.at(k)))

    def turning(self, k: Number) -> Array:
        """Return the coefficients (2,) [m] of spinning and rolling friction of pair k."""
        found = self.pair_conditions(k).turning
        assert found is not None
        return found

    def compliance(self, k: Number) -> PairCompliance:
        """Return the compliance of the two bodies of pair k about its first contact point."""
        return read_compliance(self.compliances, k)

    def pair(self, k: Number) -> RigidPair:
        """Return pair k: its geometry, contact conditions, and response to impulses at its points."""
        frame = self.frame(k)
        return RigidPair(frame, self.pair_conditions(k), pair_inverse_mass(frame, self.compliance(k).C))

    def body_rows(self, k: Number) -> tuple[Number, Number]:
        """Return the row numbers of the two bodies of pair k."""
        return lookup(self.body_a, k)[0], lookup(self.body_b, k)[0]

    def relative_velocity(self, k: Number, frame: PairFrame, v: RowArray) -> tuple[Array, Array, Number]:
        """Return the velocity (3,) and angular velocity (3,) of A relative to B at the first contact point of pair k.

        Both are in world axes. The third result is the largest velocity component [m/s] of either body at this point. v
        has the velocities (6,) of the bodies as rows, and `frame` is the geometry of the pair.
        """
        ends = []
        for row, offset in zip(self.body_rows(k), (frame.to_a, frame.to_b), strict=True):
            V = v.at(row)
            ends.append((V[:3] + cross(V[3:], offset), V[3:]))
        (a, turn_a), (b, turn_b) = ends
        return a - b, turn_a - turn_b, largest(np.concatenate([a, b]))

    def speeds(self, k: Number, frame: PairFrame, v: RowArray) -> Array:
        """Return the speeds (12,) [m/s] of pair k along the axes of its points, or (15,) with those of its torque.

        v has the velocities (6,) of the bodies as rows, and `frame` is the geometry of the pair.
        """
        return frame.speeds(*self.relative_velocity(k, frame, v)[:2])

    def pushed(self, k: Number, frame: PairFrame, p: Array, v: RowArray) -> RowArray:
        """Return the velocities of the bodies, one row (6,) each, after the impulses p (12,) at the points of pair k.

        v has the velocities before as rows, and `frame` is the geometry of the pair.
        """
        return self.pushed_by(k, frame, frame.wrench(p), v)

    def pushed_by(self, k: Number, frame: PairFrame, wrench: tuple[Array, Array], v: RowArray) -> RowArray:
        """Return the velocities of the bodies, one row (6,) each, after a wrench impulse on body A of pair k.

        `wrench` are the impulse (3,) [N s] and the angular impulse (3,) [N m s] about the first point, in world axes;
        their opposites act on body B. v has the velocities before as rows, and `frame` is the geometry of the pair.
        """
        for row, one in zip(self.body_rows(k), frame.on_bodies(*wrench), strict=True):
            v = self.responses.pushed(row, one, v)
        return v

    def add_wrench(self, k: Number, frame: PairFrame, p: Array, wrenches: RowArray) -> RowArray:
        """Return `wrenches`, one row (6,) for each body, with the effect of the impulses p (12,) of pair k added.

        A row has the impulse [N s] and angular impulse [N m s] on the body about its origin, in world axes. `frame` is
        the geometry of the pair.
        """
        for row, one in zip(self.body_rows(k), frame.on_bodies(*frame.wrench(p)), strict=True):
            wrenches = wrenches.put(row, wrenches.at(row) + one)
        return wrenches

    def wrenches(self, p: RowArray) -> RowArray:
        """Return the impulse and angular impulse on each body, one row (6,) each, due to the impulses of all pairs.

        p has the impulses (12,) of each pair as a row.
        """
        rows = zero_rows(self.responses.bodies, 6)
        (rows,) = self.selection.visit(
            lambda k, rows: (self.add_wrench(k, self.frame(k), p.at(k), rows),),
            rows,
        )
        return rows


class PairImpulses(NamedTuple):
    """Result of `solve_pairs`: velocities `v` (nv,), and impulses `p`, a row array with one row per pair.

    `iterations` is the number of iterations, `left` [m/s] the largest violation of the contact conditions, and `agreed`
    is 1 if this violation is within the tolerance, else 0. `others` (n,) are the impulses of other constraints.
    """

    v: Array
    p: RowArray
    iterations: Number
    left: Number
    agreed: Number
    others: Array = np.zeros(0)


def zero_rows(count: int, size: int) -> RowArray:
    """Return a row array with `count` rows of `size` zeros."""
    (rows,) = repeat(count, lambda k, rows: (rows.put(k, np.zeros(size)),), row_array(count, size))
    return rows


def copied(pairs: TouchingPairs, source: RowArray, target: RowArray) -> RowArray:
    """Return `target` with the rows of all touching pairs from `source`."""
    (target,) = pairs.selection.visit(lambda k, rows: (rows.put(k, source.at(k)),), target)
    return target
