"""Solid pairs after the impulses of a step of Moreau's method: work, push-out and contact memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.algorithms.compliant_contact import APART, SLIDING, STICKING
from linkwork.algorithms.contact_tolerances import FORCE_ROUND_OFF, WITHIN_BOUND
from linkwork.algorithms.solid_contact.body_equations import BodyEquations
from linkwork.algorithms.solid_contact.detection import WorldPatch
from linkwork.algorithms.solid_contact.rigid_pairs import ROWS
from linkwork.algorithms.solid_contact.solid_contact_forces import COLUMNS
from linkwork.algorithms.solid_contact.solid_separation_displacement import separating_displacement
from linkwork.algorithms.solid_contact.touching_pairs import PairImpulses
from linkwork.model.solids import POINTS, WORLD
from linkwork.simulation.methods.solids_mid_step import SolidsAtMidStep
from linkwork.spatial.row_arrays import RowArray, row_array, selected_rows
from linkwork.spatial.scalar import Array, Condition, Number, cross, lookup, maximum, minimum, where
from linkwork.spatial.traceable_loops import repeat
from linkwork.tolerances import HUGE, STICKING_SPEED, TINY_SIZE


@dataclass(frozen=True, eq=False)
class SolidsAfterImpulses:
    """The solid pairs after the impulses of a step h [s].

    `found` has the impulses and the velocities after them. `equations` are the equations of motion of the bodies.
    """

    solids: SolidsAtMidStep
    equations: BodyEquations
    found: PairImpulses
    h: Number

    def ground_impulse(self) -> Array:
        """Return the impulse [N s] of contacts with the world on the mechanism, and its moment [N m s] about the
        origin, (6,).
        """
        pairs, solids = self.solids.pairs, self.solids
        a, b = ([solids.bodies.numbers[int(row)] for row in table[:, 0]] for table in (pairs.body_a, pairs.body_b))
        signs = np.array([[float(j == WORLD) - float(i == WORLD)] for i, j in zip(a, b, strict=True)])

        def add(k: Number, force: Array, moment: Array) -> tuple[Array, Array]:
            push, turn = pairs.frame(k).wrench(self.found.p.at(k))
            point, sign = WorldPatch.read(solids.touching.patches, k).points[0], lookup(signs, k)[0]
            return force + push * sign, moment + (turn + cross(point, push)) * sign

        return np.concatenate(pairs.selection.visit(add, np.zeros(3), np.zeros(3)))

    def push_out(self) -> Array:
        """Return the displacement (nv,) [rad, m] that moves resting solids out of penetration.

        The depth that gravity causes in a step remains; see `moreau.push_out_distances`. A contact that bounces with
        the restitution e has fallen too far by its depth d, because the impact is found late. It is moved out by (1 -
        e^2) d only: the body then rebounds to the same height as if the impact had not been late.
        """
        pairs, slow, h = self.solids.pairs, self.solids.slow, self.h
        v = pairs.responses.velocity_rows(self.found.v)

        def depth(k: Number, depths: RowArray) -> tuple[RowArray]:
            frame, conditions, p = pairs.frame(k), pairs.pair_conditions(k), self.found.p.at(k)
            _, restitution = self.solids.force_law(k)
            mid, drift = pairs.speeds(k, frame, v)[:ROWS:3], conditions.drift[:, 0]
            distances, found = WorldPatch.read(self.solids.touching.patches, k).distances, []
            for j in range(POINTS):
                deep = -(distances[j] + (mid[j] + drift[j] * 0.5) * (0.5 * h)) - slow * h
                rests = (p[3 * j] > 0.0) & (mid[j] + drift[j] <= slow)
                late = where(p[3 * j] > 0.0, -distances[j] * (1.0 - restitution * restitution) - slow * h, -HUGE)
                found.append(where(rests, deep, maximum(minimum(deep, 0.0), late)))
            return (depths.put(k, found),)

        (depths,) = pairs.selection.visit(depth, row_array(pairs.count, POINTS))
        return separating_displacement(pairs, self.equations, depths, self.found.v * 0.0)

    def memory(self, at: Number, valid: Condition) -> RowArray:
        """Return the contact memory of n pairs at the end of the step, at the time `at` [s], as a row array of n rows.

        A row has five numbers for each of the four points of a pair: state number, force (3,) [N] in world axes, and
        start time [s] of the state. With rolling and spinning friction, it has eight: the torque (3,) [N m] follows,
        distributed over the points in proportion to their normal forces. The result is the memory at the beginning of
        the step; the rows of pairs that touch or have touched are changed if the step is `valid`.
        """
        pairs, h, size = self.solids.pairs, self.h, self.solids.memory.size
        v = pairs.responses.velocity_rows(self.found.v)

        def look(k: Number, parted: RowArray) -> tuple[RowArray]:
            touched = 0.0
            for row in self.solids.remembered(k):
                touched = where(row[0] == APART, touched, 1.0)
            return (parted.put(k, [where(self.solids.touching.flags.at(k)[0] == 0.0, touched, 0.0)]),)

        def separate(k: Number, rows: RowArray) -> tuple[RowArray]:
            old, zeros = rows.at(k).reshape(POINTS, -1), [0.0] * (size // POINTS - COLUMNS)
            new = [[APART, 0.0, 0.0, 0.0, where(row[0] == APART, row[4], at), *zeros] for row in old]
            return (rows.put(k, np.ravel(np.array(new)), when=valid),)

        def touching(k: Number, rows: RowArray) -> tuple[RowArray]:
            frame, conditions, p = pairs.frame(k), pairs.pair_conditions(k), self.found.p.at(k)
            old, u = rows.at(k).reshape(POINTS, -1), pairs.speeds(k, frame, v) + conditions.drifts
            torque = np.zeros(0) if frame.turning is None else _torque_per_normal_impulse(frame.turning, p) / h
            new: list[Any] = []
            for j in range(POINTS):
                part, speed = p[3 * j : 3 * j + 3], u[3 * j : 3 * j + 3]
                limit = conditions.friction[j] * part[0] * WITHIN_BOUND
                fast = speed[1] * speed[1] + speed[2] * speed[2] > STICKING_SPEED**2
                slides = (part[1] * part[1] + part[2] * part[2] >= limit * limit) & fast
                number = where(part[0] > 0.0, where(slides, SLIDING, STICKING), APART)
                force = _steadied(frame.axes[j] @ part / h, old[j][1:4])
                own = _steadied(torque * part[0], old[j][COLUMNS:]) if len(torque) else ()
                new.append([number, *force, where(number == old[j][0], old[j][4], at), *own])
            return (rows.put(k, np.ravel(np.array(new)), when=valid),)

        (parted,) = repeat(pairs.count, look, row_array(pairs.count, 1))
        (rows,) = selected_rows(parted).visit(separate, self.solids.memory)
        return pairs.selection.visit(touching, rows)[0]


def _torque_per_normal_impulse(D: Array, p: Array) -> Array:
    """Return the angular impulse (3,) of a pair in world axes, divided by the sum of its normal impulses; the result is
    in [m].

    p (15,) are the impulses of the pair: 12 [N s] of its four points, then 3 [N m s] along the axes of its torque, the
    columns of D (3, 3).
    """
    return D @ p[ROWS:] / maximum(sum(p[:ROWS:3]), TINY_SIZE)


def _steadied(force: Array, last: Array) -> Array:
    """Return the contact force (3,) [N] or torque of a point, or its mean with the `last` one if they differ by
    round-off only.

    Without the mean, the force on a body at rest would never become constant: the velocity of the body grows by
    round-off while the force is unchanged, and the step that corrects the velocity changes the force by twice as much
    as needed.
    """
    change, size = force - last, force @ force
    return where(change @ change <= size * (FORCE_ROUND_OFF * FORCE_ROUND_OFF), last + change * 0.5, force)
