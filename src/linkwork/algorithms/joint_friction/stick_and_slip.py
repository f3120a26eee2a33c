"""Dynamics with dry friction of joints at rest, which stick or start to slip, and of strongly coupled friction.

The method is Newton's method on the friction forces, with an active set for the joints at rest. In each iteration, the
friction is linear in the loads: the friction of a joint at its limit follows the present direction of its load, and the
friction of a sticking joint is the force that holds the joint. Then

- a sticking joint whose friction exceeds its static limit begins to slip, opposite to its friction;
- a joint that accelerates against its direction of slip sticks;
- a joint that begins to move has dynamic instead of static friction.

At first all joints change at once; after some iterations, one joint changes in each iteration, so that the iteration
does not cycle. The solution counts only if it is unique near the result: all pivots are positive.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.joint_friction.friction_limits import ActiveLimit, active_limits, norm, sign
from linkwork.algorithms.joint_friction.friction_sites import slip_velocities
from linkwork.algorithms.joint_friction.joint_friction_tolerances import AGREES_AT_REST, AGREES_ROUND_OFF, NO_SLIP
from linkwork.algorithms.joint_friction.linearized_response import LinearStep, linear_step
from linkwork.algorithms.joint_friction.load_response import Answer
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Condition, Number, largest, maximum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import BOUND_SLACK, STICKING_SPEED, TINY, TINY_SIZE

TOGETHER = 8  # iterations in which all joints change between stick and slip at once
MOST = 80  # largest number of iterations
NEAR = 0.999  # if the cosine of the change of a direction of slip is larger, Newton's linearization is used for it
SHORTER = 0.1  # factor of the acceleration of several velocities after a step that reversed their direction
# Several velocities with one limit that slip from rest stick again if their acceleration is below FADED times the
# acceleration that counts as zero
FADED = 1e3


class Slip(NamedTuple):
    """State of each of the n friction limits, and the directions of slip of the nf friction forces.

    `at_limit` (n,) is 1 for limits that the friction reaches, 0 for joints that stick. `dynamic` (n,) is 1 if the
    dynamic limit applies, 0 if the static limit applies. `directions` (nf,) are the directions of slip: 1 or -1 for one
    velocity, else components of a unit vector. `settled` (n,) is 1 for limits whose direction of slip changed little in
    the last iteration, 0 or SHORTER for others.
    """

    at_limit: Array
    dynamic: Array
    directions: Array
    settled: Array


class StickSlip(NamedTuple):
    """Result of Newton's method for joints that stick or slip.

    `step` is the motion in the last iteration, `slip` the state of all limits, and `limits` (n,) are the values of the
    limits that apply. `valid` is 1 if the solution was found and is unique near the result. `changed` (n,) is 1 for
    limits that changed in the last iteration or did not agree with their friction.
    """

    step: LinearStep
    slip: Slip
    limits: Array
    valid: Number
    changed: Array


def stick_and_slip(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None) -> StickSlip:
    """Return the motion of a mechanism whose joints at rest stick, or begin to slip if static friction is too small.

    Joints that move slip. tau (nv,) [N m or N] are joint forces, and `wrenches` (nbodies, 6) [N, N m] act on the bodies
    at their origins, in their axes. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates
    and velocities.
    """
    speeds = slip_velocities(mechanism, q, v)
    count = len(speeds)
    dynamic = active_limits(mechanism, q, speeds, np.zeros(count))
    static = active_limits(mechanism, q, speeds, np.ones(count))
    resting, first = first_slip(dynamic, speeds)
    take_step = linear_step(mechanism, q, v, tau, wrenches)
    free = take_step(np.zeros((count, 6)), np.zeros(count), np.zeros((count, count)), np.ones(count))
    judge = _Judge(dynamic, static, resting, largest(free.answer.slip) * NO_SLIP + TINY)

    def iteration(turn: Number, *state: Array) -> tuple[tuple[Any, ...], Condition]:
        slip, old = Slip(*state[:4]), LinearStep(Answer(*state[6:-2]), state[4], state[5])
        new = take_step(*judge.linear_friction(slip, old))
        after, values, changed = judge.after(slip, new, turn)
        done = sum(changed, 0.0) < 0.5
        parts = (*after, new.friction, new.pivots, *new.answer, values, np.array(changed))
        return (turn + 1.0, *parts), done

    nothing = np.zeros(len(dynamic))
    start = (*first, 0.0 * free.friction, free.pivots, *free.answer, nothing, nothing)
    (_, *last), _, done = iterate(MOST, iteration, 0.0, *start)
    step = LinearStep(Answer(*last[6:-2]), last[4], last[5])
    unique = sum((where(x > 0.0, 0.0, 1.0) for x in step.pivots), 0.0) < 0.5
    valid = where(done, 1.0, 0.0) * where(unique, 1.0, 0.0)
    return StickSlip(step, Slip(*last[:4]), last[-2], valid, last[-1])


class _Judge(NamedTuple):
    """The friction limits of one state, with methods that decide between stick and slip.

    `dynamic` and `static` are the n limits during slip and at rest. `resting` (n,) is 1 for limits of joints at rest.
    Slip accelerations below `least` [rad/s^2 or m/s^2] count as zero.
    """

    dynamic: tuple[ActiveLimit, ...]
    static: tuple[ActiveLimit, ...]
    resting: list[Number]
    least: Number

    def linear_friction(self, slip: Slip, old: LinearStep) -> tuple[Array, Array, Array, Array]:
        """Return K (nf, 6), b (nf,), W (nf, nf) and `moves` (nf,): friction linearized at the motion of the step `old`.

        See `linearized_response` for these coefficients. `slip` is the present state of the limits.
        """
        count = len(slip.directions)
        W = [[0.0] * count for _ in range(count)]
        K, b, moves = [[0.0] * 6 for _ in range(count)], [0.0] * count, [1.0] * count
        for number, (slow, fast) in enumerate(zip(self.static, self.dynamic, strict=True)):
            load = old.answer.loads[fast.site]
            f = old.friction[fast.numbers[0]]
            parts = [one.linear(load, f) for one in (slow, fast)]
            row, own, constant = (where(slip.dynamic[number] > 0.5, y, x) for x, y in zip(*parts, strict=True))
            several = len(fast.numbers) > 1
            turning = self._turning(number, slip, old, row @ load + constant) if several else _Turning(1.0, 0.0)
            for n, scale in zip(fast.numbers, fast.scales, strict=True):
                along = slip.directions[n] * scale * turning.fixed
                over = 1.0 / (1.0 + along * own)
                K[n], b[n] = list(row * (-along * over)), -along * constant * over
                moves[n] = slip.at_limit[number]
                for k, other in zip(fast.numbers, fast.scales, strict=True) if several else ():
                    unit = slip.directions[n] * slip.directions[k] * turning.fixed
                    W[n][k] = ((1.0 if n == k else 0.0) - unit) * (turning.size * scale * other)
        return np.array(K).reshape(count, 6), np.array(b), np.array(W).reshape(count, count), np.array(moves)

    def _turning(self, number: int, slip: Slip, old: LinearStep, limit: Number) -> _Turning:
        """Return the linear friction of limit `number`, whose several velocities are at rest and begin to slip.

        The friction -limit a / |a| is linearized for slip accelerations a; `limit` is its value. Far from the solution,
        |a| is taken from the step `old`, and the direction of a is free. Near the solution, the linearization is that
        of Newton's method.
        """
        one = self.dynamic[number]
        motion = [old.answer.slip[n] * scale for n, scale in zip(one.numbers, one.scales, strict=True)]
        settled = slip.settled[number]
        speed = norm(np.array(motion)) * where((settled > 0.0) & (settled < 0.5), settled, 1.0)
        follows = (self.resting[number] > 0.5) & (speed > self.least)
        fixed = where(follows & (settled < 0.5), 0.0, 1.0)
        return _Turning(fixed, where(follows, limit / maximum(speed, TINY_SIZE), 0.0))

    def after(self, slip: Slip, new: LinearStep, turn: Number) -> tuple[Slip, Array, list[Number]]:
        """Return three results of the step `new`: the next `Slip`, the applied limits, and flags of changed limits.

        The applied limits (n,) are the values of the limits that the step used. A flag is 1 for a limit that changed or
        does not agree with its friction. `slip` is the `Slip` of the step, and `turn` the number of the iteration.
        """
        values = [[one.value(new.answer.loads[one.site], new.friction) for one in limits] for limits in self[:2]]
        fast, slow = values
        applied = [where(d > 0.5, x, y) for d, x, y in zip(slip.dynamic, fast, slow, strict=True)]
        floor = largest(np.array(applied)) * AGREES_ROUND_OFF
        directions = list(slip.directions)
        at_limit, dynamic, settled, changed = [], [], [], []
        free_to_change: Any = True
        for number, one in enumerate(self.dynamic):
            wanted = self._wanted(number, slip, new, slow[number], floor)
            may = (turn < TOGETHER) | free_to_change
            switches = wanted.switches & may
            free_to_change = free_to_change & ~wanted.switches
            at_limit.append(where(switches, 1.0 - slip.at_limit[number], slip.at_limit[number]))
            rests = self.resting[number] > 0.5
            dynamic.append(where(rests, where(wanted.moves & ~wanted.switches, 1.0, 0.0), 1.0))
            along = sum(x * slip.directions[n] for x, n in zip(wanted.directions, one.numbers, strict=True))
            near, turns = where(along > NEAR, 1.0, 0.0), rests
            if len(one.numbers) > 1:
                # Newton's method has gone too far if it reverses the slip of several velocities
                reverses = rests & (along < 0.0) & (slip.settled[number] > 0.5) & ~wanted.switches
                near, turns = where(reverses, SHORTER, near), rests & ~reverses
            settled.append(near)
            for n, direction in zip(one.numbers, wanted.directions, strict=True):
                directions[n] = where(turns, direction, directions[n])
            expected = one.forces(applied[number], np.array(directions))
            off = [abs(new.friction[n] - f) for n, f in zip(one.numbers, expected, strict=True)]
            agrees = largest(np.array(off)) <= applied[number] * max(one.scales) * AGREES_AT_REST + floor
            wrong = (slip.at_limit[number] > 0.5) & ~agrees
            other = abs(dynamic[-1] - slip.dynamic[number]) > 0.5
            changed.append(where(wanted.switches | wrong | other, 1.0, 0.0))
        found = Slip(*(np.array(part) for part in (at_limit, dynamic, directions, settled)))
        return found, np.array(applied), changed

    def _wanted(self, number: int, slip: Slip, new: LinearStep, static: Number, floor: Number) -> _Wanted:
        """Return how the state of limit number `number` must change after the step `new`.

        `slip` has the states of all limits in this step, and `static` is the value of this limit at rest. Excesses of
        friction forces below `floor` [N m or N] do not count.
        """
        one = self.dynamic[number]
        pairs = list(zip(one.numbers, one.scales, strict=True))
        force = np.array([new.friction[n] / scale for n, scale in pairs])
        motion = np.array([new.answer.slip[n] * scale for n, scale in pairs])
        size, speed = norm(force), norm(motion)
        rests, reached = self.resting[number] > 0.5, slip.at_limit[number] > 0.5
        exceeds = size > static * (1.0 + BOUND_SLACK) + floor
        along = sum(m * slip.directions[n] for m, n in zip(motion, one.numbers, strict=True))
        back, moves = along < -self.least, along > self.least
        # The slip direction of several velocities may reverse between iterations; they stick only if their acceleration
        # nearly vanishes
        ends = back if len(pairs) == 1 else (speed < self.least * FADED) & (speed > 0.0)
        switches = rests & ((~reached & exceeds) | (reached & ends))
        against = [-x / maximum(size, TINY_SIZE) for x in force]
        ahead = [x / maximum(speed, TINY_SIZE) for x in motion] if len(pairs) > 1 else against
        turned = (speed > self.least) & (len(pairs) > 1)
        old = [slip.directions[n] for n in one.numbers]
        directions = [where(~reached, a, where(turned, b, c)) for a, b, c in zip(against, ahead, old, strict=True)]
        return _Wanted(switches, reached & moves, directions)


class _Turning(NamedTuple):
    """Coefficients of the linear friction of several velocities with one limit, for their slip accelerations a.

    The friction is -fixed limit e - size (1 - fixed e e^T) a, with the direction of slip e (a unit vector).
    """

    fixed: Number
    size: Number


class _Wanted(NamedTuple):
    """The change of a friction limit that a step requires.

    `switches` is whether the joint changes between stick and slip. `moves` is whether a joint that was at rest now
    moves, so that dynamic friction applies. `directions` are the new directions of slip.
    """

    switches: Any
    moves: Any
    directions: list[Number]


def first_slip(limits: tuple[ActiveLimit, ...], speeds: Array) -> tuple[list[Number], Slip]:
    """Return which limits (n,) belong to joints at rest, and the initial `Slip`, in which these joints stick.

    The entries of the first result are 1 for joints at rest, else 0. `speeds` (nf,) are the slip velocities.
    """
    directions: list[Number] = [0.0] * len(speeds)
    resting: list[Number] = []
    for one in limits:
        scaled = [speeds[n] * scale for n, scale in zip(one.numbers, one.scales, strict=True)]
        speed = norm(np.array(scaled)) if len(scaled) > 1 else abs(scaled[0])
        rests = speed <= STICKING_SPEED
        resting.append(where(rests, 1.0, 0.0))
        units = [x / maximum(speed, TINY_SIZE) for x in scaled] if len(scaled) > 1 else [sign(scaled[0])]
        for n, x in zip(one.numbers, units, strict=True):
            directions[n] = where(rests, 0.0, x)
    moves = 1.0 - np.array(resting)
    return resting, Slip(moves, moves, np.array(directions), moves)
