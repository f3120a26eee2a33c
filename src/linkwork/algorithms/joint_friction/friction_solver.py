"""Forward dynamics with dry friction of joints that depends on the load, for given directions of slip.

Friction forces f are opposite to the slip, and their magnitudes are the limits that follow from the loads of the
joints:

    f = -direction limit(loads(f), f)

The loads depend on f. The solver uses fixed-point iteration; its contraction rate, the derivative of the limits with
respect to f, is 0.01 to 0.1 for usual bearings.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.joint_friction.friction_limits import ActiveLimit, active_limits
from linkwork.algorithms.joint_friction.friction_sites import Site, sites, slip_velocities
from linkwork.algorithms.joint_friction.joint_friction_tolerances import CONVERGED, CONVERGED_ROUND_OFF
from linkwork.algorithms.joint_friction.load_response import Response, load_response
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Condition, Number, largest, maximum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import TINY_SIZE

SLOW = 0.5  # largest ratio of successive changes from which the remaining error is estimated
MOST_ITERATIONS = 40


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

    tau (nv,) are joint forces and `wrenches` (nbodies, 6) external wrenches or None. `directions` (nf,) are -1 or 1 for
    the friction forces of velocities that slip, and 0 for velocities that friction holds; for several velocities with
    one limit, they are the unit vector of the slip velocities, or zeros. A held velocity has zero acceleration; the
    friction force that keeps it at zero may exceed its limit here. `guess` (nf,) are friction forces near the solution,
    for example those of the last step, which save iterations. q (nq,) and v (nv,) are the coordinates and velocities.
    """
    moves = slipping(mechanism, q, v, directions)
    limits = active_limits(mechanism, q, slip_velocities(mechanism, q, v), 1.0 - moves)
    response = load_response(mechanism, q, v, tau, wrenches, moves)
    begin = None if guess is None else guess * moves
    f, a, converged = slip_friction(mechanism, response, limits, directions, guess=begin)
    answer = response.free + response.change(f)
    total = f + answer.held
    found = np.array([one.value(answer.loads[one.site], total) for one in limits])
    return FrictionSolution(a, total, found, answer.loads, answer.multipliers, where(converged, 1.0, 0.0))


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
    If the condition `start` is false, no iteration is made. The iteration begins at the friction forces `guess` (nf,),
    by default zero.
    """
    own = sites(mechanism)

    def body(f: Array, _: Array, last: Number) -> tuple[tuple[Array, Array, Number], Condition]:
        def update(number: int, load: Array, G: Array | None) -> Array:
            return _updated(own[number], [one for one in limits if one.site == number], load, G, f, directions)

        new, a = response.relax(f, update)
        change = largest(new - f)
        rate = change / maximum(last, TINY_SIZE)
        return (new, a, change), _agree(new, f, rate)

    first = np.zeros(len(directions)) if guess is None else guess
    (f, a, _), _, converged = iterate(MOST_ITERATIONS, body, first, 0.0 * response.free.a, 0.0, start=start)
    return f, response.free.a + a, converged & start


def _updated(
    site: Site, limits: list[ActiveLimit], load: Array, G: Array | None, old: Array, directions: Array
) -> Array:
    """Return the friction forces (size,) of a site at its limits, for the load (6,) of the site.

    If G is None, the load contains all friction. Otherwise the load leaves out the friction of the site, which adds G
    (6, size) times the new forces to it; the result satisfies the equation of limit and load exactly, with the limit
    linearized at the `old` friction forces (nf,). `directions` (nf,) are the directions of slip.
    """
    new: list[Number] = [0.0] * site.size
    for one in limits:
        along = np.array([scale * directions[n] for n, scale in zip(one.numbers, one.scales, strict=True)])
        mine = [n - site.start for n in one.numbers]
        if G is None:
            limit = one.value(load, old)
        else:
            whole = load + G @ old[site.forces]
            row, factor, constant = one.linear(whole, old[one.numbers[0]])
            others = whole - G[:, mine] @ old[list(one.numbers)]
            limit = (row @ others + constant) / (1.0 + row @ (G[:, mine] @ along) + factor * along[0])
        for d, x in zip(mine, along, strict=True):
            new[d] = -(limit * x)
    return np.array(new)


def slipping(mechanism: Mechanism, q: Array, v: Array, directions: Array) -> Array:
    """Return an array (nf,): 1 for friction forces of velocities that slip, 0 for velocities that friction holds.

    `directions` (nf,) are the directions of slip, zero for held velocities. q (nq,) and v (nv,) are the coordinates and
    velocities.
    """
    numbers = [one.numbers for one in active_limits(mechanism, q, np.zeros(len(directions)), np.zeros(len(directions)))]
    found = np.zeros(len(directions), dtype=np.asarray(directions).dtype)
    for group in numbers:
        square = sum(directions[n] * directions[n] for n in group)
        for n in group:
            found[n] = where(square > 0.0, 1.0, 0.0)
    return found


def _agree(new: Array, old: Array, rate: Number) -> Condition:
    """Return whether the iteration has converged: the friction forces (nf,) of its last two iterations agree.

    `rate` is the ratio of the change in the last iteration to the change in the iteration before. If it is below SLOW,
    the remaining error is estimated as rate times the last change, and this estimate must be within the tolerance.
    `new` and `old` are the friction forces after and before the last iteration.
    """
    floor, certain = largest(new) * CONVERGED_ROUND_OFF, where(rate < SLOW, rate, 1.0)
    excess: Number = -floor
    for x, y in zip(new, old, strict=True):
        excess = maximum(excess, abs(x - y) * certain - abs(x) * CONVERGED)
    return excess <= floor
