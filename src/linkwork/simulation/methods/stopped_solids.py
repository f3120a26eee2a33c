"""Displacement of solids that stop within a step while they slide uphill.

In the first half of a step, such a solid moves too far, because it has its old velocity, although it stops during the
step. The friction that then holds it acts during the whole step, and so does positive work. Solids that stop are
therefore moved back, by a part of their motion in the first half of the step, until gravity and other forces have
regained this work. Bodies that stick to a solid that stops, such as boxes on a block, move back with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import SLIDING, STICKING
from linkwork.algorithms.solid_contact.rigid_pairs import ROWS
from linkwork.algorithms.solid_contact.touching_pairs import PairImpulses, zero_rows
from linkwork.algorithms.tangent_space import displaced
from linkwork.model.solids import POINTS
from linkwork.simulation.methods.moreau_mid_step import Middle
from linkwork.simulation.methods.solids_mid_step import SolidsAtMidStep
from linkwork.spatial.row_arrays import RowArray
from linkwork.spatial.scalar import Array, Condition, Number, lookup, maximum, minimum, where
from linkwork.spatial.traceable_loops import iterate, repeat
from linkwork.tolerances import STICKING_SPEED, TINY


class Retreat(NamedTuple):
    """A displacement `shift` (nv,) [rad, m] that can move solids back, and the energy `released` [J] that it would
    release.

    `middle` is the system at mid-step.
    """

    middle: Middle
    shift: Array
    released: Number

    def made(self, v: Array, worked: Number) -> AfterRetreat:
        """Return the state after the fraction of the displacement, at most the whole, that releases the energy `worked`
        [J].

        `worked` is the positive work of contact impulses in the step, and v (nv,) are the velocities after the
        impulses.
        """
        released, middle = self.released, self.middle
        share = where(released > 0.0, minimum(maximum(worked, 0.0) / maximum(released, TINY), 1.0), 0.0)

        def move(q: Array, v: Array, _: Number) -> tuple[tuple[Array, Array, Number], Condition]:
            return _displaced(middle, v, self.shift * share), True

        (q, after, work), _, _ = iterate(1, move, middle.q, v, 0.0, start=share > 0.0)
        return AfterRetreat(q, after, (middle.v + v) * 0.5 + self.shift * (share / middle.h), work)


class AfterRetreat(NamedTuple):
    """State after solids have been moved back: q (nq,) and v (nv,), and the `work` [J] of contacts, at most zero.

    `mean` (nv,) are the mean velocities in the step, with the displacement.
    """

    q: Array
    v: Array
    mean: Array
    work: Number


def _displaced(middle: Middle, v: Array, shift: Array) -> tuple[Array, Array, Number]:
    """Return q (nq,) and v (nv,) after a displacement `shift` (nv,) from mid-step, and its work [J].

    Its work is the change of kinetic and potential energy minus the work of all forces except gravity and springs, such
    as those of controllers. v (nv,) are the velocities before.
    """
    system, h = middle.system, middle.h
    q, after = displaced(system.mechanism, middle.q, v, shift)
    change = sum(system.energies(q, after)) - sum(system.energies(middle.q, v))
    return q, after, change - system.powers(middle.q, shift * (1.0 / h), middle.loads(v)).total * h


def retreat_of_stopped_solids(middle: Middle, solids: SolidsAtMidStep, found: PairImpulses) -> Retreat:
    """Return the displacement that reverses the first half step of all solids that slid before and stick now.

    `solids` has the contact conditions of the step, `found` the impulses and the velocities after them, and `middle`
    the state at mid-step.
    """
    pairs, count = solids.pairs, solids.pairs.responses.bodies
    after = pairs.responses.velocity_rows(found.v)

    def mark(k: Number, flags: RowArray, some: Number) -> tuple[RowArray, Number]:
        frame, memory, start = pairs.frame(k), solids.remembered(k), solids.before.at(k)
        now, stops = pairs.speeds(k, frame, after) + pairs.pair_conditions(k).drifts, 0.0
        for j in range(POINTS):
            slid = (frame.acts[j] > 0.0) & (memory[j][0] == SLIDING) & _slips(start, j)
            stops = where(slid & ~_slips(now, j), 1.0, stops)
        return _marked(flags, pairs.body_rows(k), pairs.responses.mobile, stops), maximum(some, stops)

    def take_back(*_: Number) -> tuple[tuple[Array, Number], Condition]:
        def to_both(k: Number, flags: RowArray) -> tuple[RowArray]:
            memory, start, together = solids.remembered(k), solids.before.at(k), 0.0
            for j in range(POINTS):
                together = where((memory[j][0] == STICKING) & ~_slips(start, j), 1.0, together)
            a, b = pairs.body_rows(k)
            both = maximum(flags.at(a)[0], flags.at(b)[0]) * together
            return (_marked(flags, (a, b), pairs.responses.mobile, both),)

        spread = repeat(count, lambda _, rows: pairs.selection.visit(to_both, rows), flags)[0]
        shift = _of_marked_bodies(solids, spread, middle.v * (-0.5 * middle.h))
        return (shift, maximum(-_displaced(middle, found.v, shift)[2], 0.0)), True

    flags, some = pairs.selection.visit(mark, zero_rows(count, 1), 0.0)
    (shift, released), _, _ = iterate(1, take_back, found.v * 0.0, 0.0, start=some > 0.0)
    return Retreat(middle, shift, released)


def _slips(u: Array, j: int) -> Condition:
    """Return whether point j of a pair slips; u (12,) or (15,) are the relative speeds of the pair, first three [m/s]
    per point.
    """
    along = u[:ROWS][3 * j + 1 : 3 * j + 3]
    return along[0] * along[0] + along[1] * along[1] > STICKING_SPEED**2


def _marked(flags: RowArray, bodies: tuple[Number, Number], mobile: Array, mark: Number) -> RowArray:
    """Return `flags` (one per body) with the larger of flag and `mark` in the rows of the two `bodies`, except for
    bodies that cannot move.
    """
    for row in bodies:
        flags = flags.put(row, [maximum(flags.at(row)[0], mark * lookup(mobile, row)[0])])
    return flags


def _of_marked_bodies(solids: SolidsAtMidStep, flags: RowArray, v: Array) -> Array:
    """Return v (nv,), with zeros for all velocities that move no body whose flag is 1, neither directly nor through
    other joints.
    """
    responses, found = solids.pairs.responses, np.zeros(len(v), dtype=object)
    for number, members in enumerate(responses.members):
        flag: Number = 0.0
        for b in np.flatnonzero(responses.component[:, 0] == number):
            flag = maximum(flag, flags.at(float(b))[0])
        for i in members:
            found[i] = where(flag > 0.0, v[i], 0.0)
    return found
