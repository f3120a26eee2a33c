"""Forward dynamics with dry friction of joints that depends on the load, for given directions of slip.

Friction forces f are opposite to the slip, and their magnitudes are the limits that follow from the loads of the
joints:

    f = -direction limit(loads(f), f)

The loads depend on f. The solver uses fixed-point iteration; its contraction rate, the derivative of the limits with
respect to f, is 0.0001 to 0.001 for rolling bearings and 0.01 to 0.1 for plain bearings. After the first step, the
iteration computes with changes only: the last change of the friction forces changes the loads, and these change the
friction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.joint_friction.friction_limits import ActiveLimit, active_limits
from linkwork.algorithms.joint_friction.friction_sites import Site, sites, slip_velocities
from linkwork.algorithms.joint_friction.joint_friction_tolerances import CONVERGED, CONVERGED_ROUND_OFF
from linkwork.algorithms.joint_friction.load_response import Response, Update, load_response
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Condition, Number, largest, maximum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import TINY_SIZE

SLOW = 0.5  # largest ratio of successive changes from which the remaining error is estimated
# Steps of mechanisms with cheap steps (see `Response`): the number that all states make after the first step, and the
# number in each iteration of the loop that follows. Rolling bearings need three steps. A loop with one step in each
# iteration would take as much time to store and compare states as to compute them.
FIRST_STEPS, FURTHER_STEPS = 3, 2
MOST_ITERATIONS = 40

Measure = Callable[[int, Array, Array], tuple[list[Array], Number]]


class FrictionSolution(NamedTuple):
    """Accelerations, friction forces and loads of a mechanism with dry friction.

    a (nv,) [rad/s^2, m/s^2] are the accelerations. `friction` (nf,) [N m, N] are the friction forces, and `limits` (n,)
    their limits, in the order of `active_limits`. `loads` (nsites, 6) [N, N m] are the wrenches of the parent on the
    child through each joint with friction, in the child's frame. `multipliers` (nh,) are the multipliers of the
    mechanism's constraint rows. `converged` is 1 if the friction forces agree with the loads, else 0.
    """

    a: Array
    friction: Array
    limits: Array
    loads: Array
    multipliers: Array
    converged: Number


def solve_directions(
    mechanism: Mechanism,
    q: Array,
    v: Array,
    tau: Array,
    wrenches: Array | None,
    directions: Array,
    guess: Array | None = None,
) -> FrictionSolution:
    """Return the accelerations and friction forces of a mechanism whose joints slip in given directions.

    tau (nv,) [N m or N] are joint forces and `wrenches` (nbodies, 6) external wrenches or None. `directions` (nf,) are
    -1 or 1 for the friction forces of velocities that slip, and 0 for velocities that friction holds; for several
    velocities with one limit, they are the unit vector of the slip velocities, or zeros. A held velocity has zero
    acceleration; the friction force that keeps it at zero may exceed its limit here. `guess` (nf,) are friction forces
    near the solution, for example those of the last step, which save iterations. q (nq,) [rad or m, or quaternions] and
    v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    moves = slipping(mechanism, q, v, directions)
    limits = active_limits(mechanism, q, slip_velocities(mechanism, q, v), 1.0 - moves)
    response = load_response(mechanism, q, v, tau, wrenches, moves)
    begin = None if guess is None else guess * moves
    f, _, converged = slip_friction(mechanism, response, limits, directions, guess=begin)
    answer = response.motion(f)
    total = f + answer.held
    found = np.array([one.value(answer.loads[one.site], total) for one in limits])
    return FrictionSolution(answer.a, total, found, answer.loads, answer.multipliers, where(converged, 1.0, 0.0))


def slip_friction(
    mechanism: Mechanism,
    response: Response,
    limits: tuple[ActiveLimit, ...],
    directions: Array,
    start: Any = True,
    guess: Array | None = None,
) -> tuple[Array, Array, Condition]:
    """Return friction forces (nf,) of slip in given directions (nf,), accelerations (nv,), and whether they converged.

    `response` is the response of the mechanism to friction forces in this state, and `limits` are its friction limits.
    If the condition `start` is false, the iteration ends early and counts as not converged. The iteration begins at the
    friction forces `guess` (nf,), by default zero.
    """
    iteration = _Iteration(sites(mechanism), limits, directions, response)
    now, gains = iteration.first(np.zeros(len(directions)) if guess is None else guess)
    last: Number = 0.0
    for _ in range(FIRST_STEPS if response.cheap else 0):
        last, now = largest(now.change), iteration.following(now, gains)
    going = start & (where(_converged(now, last), 1.0, 0.0) < 0.5)

    def body(*state: Array) -> tuple[_Iterate, Condition]:
        now, last = _Iterate(*state), 0.0
        for _ in range(FURTHER_STEPS if response.cheap else 1):
            last, now = largest(now.change), iteration.following(now, gains)
        return now, _converged(now, last)

    (f, a, *_), _, converged = iterate(MOST_ITERATIONS, body, *now, start=going)
    return f, a, converged & start


class _Iterate(NamedTuple):
    """State of the iteration after a step.

    f (nf,) are the friction forces, a (nv,) the accelerations, and `change` (nf,) is the change of f in the last step.
    `parts` are the `ActiveLimit.parts` of the loads for all limits, one after another.
    """

    f: Array
    a: Array
    change: Array
    parts: Array


class _Iteration(NamedTuple):
    """Iteration of friction forces and the loads that they change, for slip in the `directions` (nf,).

    `sites` and `limits` are all friction sites and limits of the mechanism, and `response` is its response to friction
    forces. A step computes the friction that the loads allow, and multiplies its difference from the present friction
    by a gain for each limit. The gain is not 1, because the friction of a joint changes its own load. The gains are
    those of Newton's method for the first loads.
    """

    sites: tuple[Site, ...]
    limits: tuple[ActiveLimit, ...]
    directions: Array
    response: Response

    def first(self, f: Array) -> tuple[_Iterate, list[Number]]:
        """Return the state after the first step, which starts at the friction forces f (nf,), and all gains."""
        parts: list[list[Array]] = [[] for _ in self.limits]
        gains: list[Number] = [1.0 for _ in self.limits]

        def measure(n: int, load: Array, G: Array) -> tuple[list[Array], Number]:
            parts[n], gains[n] = self.limits[n].parts(load), self._gain(n, load, G, f)
            return parts[n], gains[n]

        found = self.response.begin(f, self._update(f, measure))
        return _Iterate(f + found.changes, found.a, found.changes, _joined(parts)), gains

    def following(self, now: _Iterate, gains: list[Number]) -> _Iterate:
        """Return the state after the next step, with the friction for the loads after the last change of friction.

        `now` is the state before, and `gains` has the gain of each limit.
        """
        parts = self._separate(now.parts)

        def measure(n: int, load: Array, _: Array) -> tuple[list[Array], Number]:
            changes = self.limits[n].parts(load)
            parts[n] = [x + change for x, change in zip(parts[n], changes, strict=True)]
            return parts[n], gains[n]

        found = self.response.proceed(now.change, self._update(now.f, measure))
        return _Iterate(now.f + found.changes, now.a + found.a, found.changes, _joined(parts))

    def _separate(self, parts: Array) -> list[list[Array]]:
        """Return the array `parts` (np,) of an `_Iterate` as nested lists: one array for each term of each limit."""
        counts = [len(L) for one in self.limits for _, L, _ in one.terms]
        pieces = iter(np.split(parts, np.cumsum(counts)[:-1]) if counts else [])
        return [[next(pieces) for _ in one.terms] for one in self.limits]

    def _update(self, f: Array, measure: Measure) -> Update:
        """Return a function for the change of a site's friction from f (nf,) to the friction that its load allows.

        The function is the argument `update` of `Response.begin`. `measure` takes the number of a limit, the load of
        its site, and the change of this load by friction; it returns the parts of the load and the gain of the limit.
        """

        def update(number: int, load: Array, G: Array) -> Array:
            site = self.sites[number]
            changes: list[Number] = [0.0] * site.size
            for n, one in enumerate(self.limits):
                if one.site == number:
                    parts, gain = measure(n, load, G)
                    limit = one.value_at(parts, f[one.numbers[0]])
                    for k, force in zip(one.numbers, one.forces(limit, self.directions), strict=True):
                        changes[k - site.start] = (force - f[k]) * gain
            return np.array(changes)

        return update

    def _gain(self, n: int, load: Array, G: Array, f: Array) -> Number:
        """Return the gain of limit number n, which solves the equations of friction and load of its joint exactly.

        The friction of other joints is fixed. `load` (6,) is the load of the joint with friction f (nf,), and G (6,
        size) its change per unit of its own friction.
        """
        one = self.limits[n]
        row, factor, _ = one.linear(load, f[one.numbers[0]])
        along = np.array([scale * self.directions[k] for k, scale in zip(one.numbers, one.scales, strict=True)])
        own = G[:, [k - self.sites[one.site].start for k in one.numbers]]
        return 1.0 / (1.0 + row @ (own @ along) + factor * along[0])


def slipping(mechanism: Mechanism, q: Array, v: Array, directions: Array) -> Array:
    """Return an array (nf,): 1 for friction forces of velocities that slip, 0 for velocities that friction holds.

    `directions` (nf,) are the directions of slip, zero for held velocities. q (nq,) [rad or m, or quaternions] and v
    (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    numbers = [one.numbers for one in active_limits(mechanism, q, np.zeros(len(directions)), np.zeros(len(directions)))]
    found = np.zeros(len(directions), dtype=np.asarray(directions).dtype)
    for group in numbers:
        square = sum(directions[n] * directions[n] for n in group)
        for n in group:
            found[n] = where(square > 0.0, 1.0, 0.0)
    return found


def _joined(parts: list[list[Array]]) -> Array:
    return np.concatenate([np.zeros(0), *(x for one in parts for x in one)])


def _converged(now: _Iterate, last: Number) -> Condition:
    """Return whether the iteration has converged, so that the last change of the friction forces was small enough.

    `now` is the state after the last step, and `last` the largest change of a friction force in the step before. The
    ratio of the largest changes of both steps estimates the remaining error if it is below SLOW: the error is this
    ratio times the last change, and must be within the tolerance.
    """
    rate = largest(now.change) / maximum(last, TINY_SIZE)
    floor, certain = largest(now.f) * CONVERGED_ROUND_OFF, where(rate < SLOW, rate, 1.0)
    excess: Number = -floor
    for x, y in zip(now.change, now.f, strict=True):
        excess = maximum(excess, abs(x) * certain - abs(y) * CONVERGED)
    return excess <= floor
