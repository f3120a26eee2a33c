"""Slip directions of several velocities with one friction limit, from the velocities that the friction itself causes.

The friction -limit e opposes the slip velocity u with the direction e = u / |u|. It turns u towards the directions in
which the mechanism moves most easily, at the rate limit / (inertia |u|). This rate grows without bound where slip
begins or ends, so that directions taken from the start of a step would need very short steps. Instead, Newton's method
finds the direction e of the velocity u + theta h a, where the acceleration a in a step h includes the friction along e.
theta is between 1/2 (second order) and 1 (damped). At the instant at which slip begins, e is the direction of the
acceleration a. If the slip ends within the step, e is its direction some time before the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.joint_friction.friction_limits import ActiveLimit, active_limits, norm
from linkwork.algorithms.joint_friction.friction_sites import slip_rows, slip_velocities
from linkwork.algorithms.joint_friction.friction_solver import slipping
from linkwork.algorithms.joint_friction.joint_friction_tolerances import DIRECTION_AGREES, SLIP_ENDS
from linkwork.algorithms.joint_friction.linearized_response import LinearStep, linear_step
from linkwork.algorithms.joint_friction.load_response import Answer
from linkwork.algorithms.mimic_reduction import mass_solver
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Condition, Number, largest, maximum, minimum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import STICKING_SPEED, TINY

MOST = 120  # largest number of iterations
NEAR = 0.99  # if the cosine of the change of a direction is larger, Newton's linearization is used next
CUT = 0.03  # factor of the slip velocity after a Newton step that reverses it
EARLIER = 0.25  # if slip ends or reverses before the time of the direction, this time is reduced by this factor


class Turn(NamedTuple):
    """Slip directions in a step, and how fast friction turns the slip.

    `directions` (nf,) are the slip directions. `stiffness` [rad] is the largest angle by which friction could turn a
    slip velocity within the step.
    """

    directions: Array
    stiffness: Number


class _Group(NamedTuple):
    """The velocities of one friction limit for several velocities.

    `limit` is the friction limit. `follows` is 1 if the direction of these velocities is to be found, 0 if it is fixed.
    `mobility` is the trace of the inverse inertia along the velocities. `speeds` are the slip velocities at the start
    of the step, multiplied by the scales of the limit.
    """

    limit: ActiveLimit
    follows: Number
    mobility: Number
    speeds: list[Number]


def implicit_directions(
    mechanism: Mechanism,
    q: Array,
    v: Array,
    tau: Array,
    wrenches: Array | None,
    directions: Array,
    follows: Array,
    h: Number | None = None,
) -> Turn:
    """Return the slip directions in a step of h [s], or, if h is None, when the velocities begin to move.

    `directions` (nf,) are the slip directions at the start, zeros for held velocities. Only slipping velocities that
    share a limit and have follows[n] = 1, with `follows` (nf,), get other directions. q (nq,) [rad or m, or
    quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities, tau (nv,) [N m or N] are joint forces,
    and `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes.
    """
    count, moves = len(directions), slipping(mechanism, q, v, directions)
    speeds = slip_velocities(mechanism, q, v)
    limits = active_limits(mechanism, q, speeds, 1.0 - moves)
    mobility = [0.0] * count if h is None else _mobilities(mechanism, q)
    groups = [_group(one, moves, follows, mobility, [0.0] * count if h is None else speeds) for one in limits]
    take_step = linear_step(mechanism, q, v, tau, wrenches)
    first = take_step(*_linear(limits, directions, None), np.zeros((count, count)), moves)
    least = largest(first.answer.slip) * SLIP_ENDS + TINY
    scale = 1.0 if h is None else h

    def improve(
        directions: Array, sizes: Array, newton: Array, times: Array, _: Number, *state: Array
    ) -> tuple[tuple[Any, ...], Any]:
        old = LinearStep(Answer(*state[2:]), state[0], state[1])
        K, b = _linear(limits, directions, old)
        linear = _LinearFriction(list(K), np.zeros((count, count), dtype=object), list(b))
        for number, group in enumerate(groups):
            if group is not None:
                _turn(group, number, directions, sizes, newton, times * scale, old, linear)
        K, W, b = linear
        new = take_step(np.array(K).reshape(count, 6), np.array(b), np.array(W.tolist()), moves)
        found, size, near, later, done, stiff = list(directions), list(sizes), list(newton), list(times), 0.0, 0.0
        for number, group in enumerate(groups):
            if group is None:
                continue
            result = _turned(group, new, directions, sizes[number], newton[number], times[number] * scale, least)
            late: Condition = False
            if h is not None:
                result, late = _not_past_the_end(group, result, new, first, times[number] * scale, begins)
            for n, x in zip(group.limit.numbers, result.direction, strict=True):
                found[n] = x
            size[number], near[number] = result.size, result.newton
            value = group.limit.value(new.answer.loads[group.limit.site], new.friction)
            stiffness = value * group.mobility / maximum(result.size, least)
            stiff = maximum(stiff, where(group.follows > 0.5, stiffness, 0.0))
            part = 1.0 if h is None else maximum(0.5, 1.0 - 1.0 / maximum(stiffness, 1.0))
            later[number] = where(late, times[number] * EARLIER, minimum(times[number], part))
            done = done + where((group.follows < 0.5) | result.agrees, 0.0, 1.0)
        parts = (np.array(found), np.array(size), np.array(near), np.array(later), stiff, new.friction, new.pivots)
        return (*parts, *new.answer), done < 0.5

    begins, ones = directions, np.ones(len(limits))
    sizes = np.array([_size_at_first(group, first, scale) for group in groups])
    begin = (directions, sizes, ones * 0.0, ones, 0.0, 0.0 * first.friction, first.pivots, *first.answer)
    (found, _, _, _, stiff, *_), _, _ = iterate(MOST, improve, *begin)
    return Turn(found, stiff)


def _mobilities(mechanism: Mechanism, q: Array) -> list[Number]:
    """Return the inverse inertia (nf,) along each slip velocity at q (nq,), of the mechanism without constraints."""
    rows = slip_rows(mechanism, q)
    return list(np.array([row @ x for row, x in zip(rows, mass_solver(mechanism, q)(rows.T).T, strict=True)]))


def _group(
    one: ActiveLimit, moves: Array, follows: Array, mobility: list[Number], speeds: Sequence[Number] | Array
) -> _Group | None:
    """Return the `_Group` of the friction limit `one`, or None if the limit has one velocity only.

    `moves`, `follows` and `mobility` (nf,) have one entry for each velocity: 1 if it slips, 1 if its direction is to be
    found, and its inverse inertia. `speeds` (nf,) are the slip velocities at the start.
    """
    if len(one.numbers) == 1:
        return None
    pairs = list(zip(one.numbers, one.scales, strict=True))
    own = sum((mobility[n] * scale * scale for n, scale in pairs), 0.0)
    first = one.numbers[0]
    return _Group(one, moves[first] * follows[first], own, [speeds[n] * scale for n, scale in pairs])


def _motion(group: _Group, step: LinearStep, h: Number) -> list[Number]:
    """Return the slip velocity of a group after a time h [s], divided by h, times the scales of its limit."""
    pairs = zip(group.limit.numbers, group.limit.scales, group.speeds, strict=True)
    return [step.answer.slip[n] * scale + speed / h for n, scale, speed in pairs]


def _size_at_first(group: _Group | None, first: LinearStep, h: Number) -> Number:
    return 0.0 if group is None else norm(np.array(_motion(group, first, h)))


def _linear(limits: Sequence[ActiveLimit], directions: Array, old: LinearStep | None) -> tuple[Array, Array]:
    """Return K (nf, 6) and b (nf,) of the friction in fixed `directions` (nf,), linearized at the step `old`.

    See `linearized_response` for K and b. If `old` is None, the friction is zero. `limits` are the friction limits.
    """
    count = len(directions)
    K, b = np.zeros((count, 6), dtype=object), [0.0] * count
    if old is None:
        return np.zeros((count, 6)), np.zeros(count)
    for one in limits:
        row, own, constant = one.linear(old.answer.loads[one.site], old.friction[one.numbers[0]])
        for n, scale in zip(one.numbers, one.scales, strict=True):
            along = directions[n] * scale
            over = 1.0 / (1.0 + along * own)
            K[n] = row * (-along * over)
            b[n] = -along * constant * over
    return K, np.array(b)


class _LinearFriction(NamedTuple):
    """Friction that is linear in loads and accelerations: K (nf, 6), W (nf, nf), b (nf,); see `linearized_response`."""

    K: list[Array]
    W: Array
    b: list[Number]


def _turn(
    group: _Group,
    number: int,
    directions: Array,
    sizes: Array,
    newton: Array,
    h: Array,
    old: LinearStep,
    friction: _LinearFriction,
) -> None:
    """Write the linear friction of group number `number` to `friction`.

    The friction is linearized at the step `old`, the slip `directions` (nf,)
    and the `sizes` of the slip velocities. x is the slip velocity after the time `h`, divided by `h`. Far from the
    solution, the friction is -limit x / size; near the solution (`newton` is 1), its linearization is that of Newton's
    method.
    """
    one, (K, W, b) = group.limit, friction
    row, _, constant = one.linear(old.answer.loads[one.site], old.friction[one.numbers[0]])
    value = row @ old.answer.loads[one.site] + constant
    turns = group.follows > 0.5
    fixed = where(turns & (newton[number] < 0.5), 0.0, 1.0)
    slope = where(turns, value / maximum(sizes[number], TINY), 0.0)
    pairs = list(zip(one.numbers, one.scales, group.speeds, strict=True))
    for n, scale, _ in pairs:
        K[n], b[n] = K[n] * fixed, b[n] * fixed
        for k, other, speed in pairs:
            part = ((1.0 if n == k else 0.0) - directions[n] * directions[k] * fixed) * slope * scale
            W[n, k] = part * other
            b[n] = b[n] - part * speed / h[number]


def _not_past_the_end(
    group: _Group, result: _Turned, new: LinearStep, first: LinearStep, h: Number, begins: Array
) -> tuple[_Turned, Condition]:
    """Return the result of an iteration for a group, restarted for an earlier time if its slip has ended before h [s].

    The second result is whether the slip has ended. `result` is the result of the iteration, `new` its step and `first`
    the step without friction. `begins` (nf,) are the slip directions at the start.
    """
    before = [begins[n] for n in group.limit.numbers]
    motion = _motion(group, new, h)
    ahead = sum(x * e for x, e in zip(motion, before, strict=True))
    moves = (norm(np.array(group.speeds)) > STICKING_SPEED) & (group.follows > 0.5)
    late = moves & (result.stops | (where(result.reverses, 1.0, ahead) <= 0.0))
    direction = [where(late, e, x) for e, x in zip(before, result.direction, strict=True)]
    size = where(late, norm(np.array(_motion(group, first, h * EARLIER))), result.size)
    agrees = result.agrees & ~late
    return _Turned(direction, size, where(late, 0.0, result.newton), agrees, result.stops, result.reverses), late


class _Turned(NamedTuple):
    """Slip velocity of a group after an iteration.

    `direction` is its unit vector and `size` its length. `newton` is 1 if Newton's linearization is used next. `agrees`
    is whether the direction has converged, `stops` whether the slip velocity is nearly zero, and `reverses` whether a
    Newton step reversed it.
    """

    direction: list[Number]
    size: Number
    newton: Number
    agrees: Condition
    stops: Condition
    reverses: Condition


def _turned(
    group: _Group, new: LinearStep, directions: Array, size: Number, newton: Number, h: Number, least: Number
) -> _Turned:
    """Return the slip velocity of a group after the step `new`.

    `directions` (nf,) and `size` are the slip directions and the size before the step, and `newton` is 1 if the step
    used Newton's linearization. h [s] is the time of the direction, and sizes below `least` count as zero.
    """
    before = [directions[n] for n in group.limit.numbers]
    motion = _motion(group, new, h)
    found = norm(np.array(motion))
    along = sum(x * e for x, e in zip(motion, before, strict=True))
    reverses = (newton > 0.5) & (along <= 0.0)
    keeps = reverses | (found <= TINY) | (group.follows < 0.5)
    direction = [where(keeps, e, x / maximum(found, TINY)) for x, e in zip(motion, before, strict=True)]
    change = largest(np.array([x - e for x, e in zip(direction, before, strict=True)]))
    follows = where(~keeps & (along > NEAR * found), 1.0, 0.0)
    stops = where(reverses, size * CUT, found) < least
    agrees = (change <= DIRECTION_AGREES) & ~reverses | stops
    return _Turned(direction, where(reverses, size * CUT, found), follows, agrees, stops, reverses)
