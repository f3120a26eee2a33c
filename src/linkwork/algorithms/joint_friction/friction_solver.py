"""Forward dynamics with dry friction of joints that depends on the load, for given directions of slip.

Friction forces f are opposite to the slip, and their magnitudes are the limits that the loads of the joints allow:

    f = -direction limit(loads(f), f)

The loads depend on f. The solver uses fixed-point iteration; its contraction rate, the derivative of the limits with
respect to f, is 0.01 to 0.1 for usual bearings.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.joint_friction.friction_limits import ActiveLimit, active_limits
from linkwork.algorithms.joint_friction.friction_sites import slip_velocities
from linkwork.algorithms.joint_friction.load_response import Answer, load_response
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Condition, Number, largest, where
from linkwork.spatial.traceable_loops import iterate

CONVERGED = 1e-13  # change of a friction force, relative to its limit, at which the iteration ends
FLOOR = 1e-15  # as CONVERGED, relative to the largest limit of all: round-off of the loads
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
    mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None, directions: Array
) -> FrictionSolution:
    """Return the accelerations and friction forces of a mechanism whose joints slip in given directions.

    tau (nv,) are joint forces and `wrenches` (nbodies, 6) external wrenches or None. `directions` (nf,) are -1 or 1 for
    the friction forces of velocities that slip, and 0 for velocities that friction holds; for several velocities with
    one limit, they are the unit vector of the slip velocities, or zeros. A held velocity has zero acceleration; the
    friction force that keeps it at zero may exceed its limit here.
    """
    moves = slipping(mechanism, q, v, directions)
    limits = active_limits(mechanism, q, slip_velocities(mechanism, q, v), 1.0 - moves)
    return iterate_friction(mechanism, q, v, tau, wrenches, directions, limits, moves=moves)


def iterate_friction(
    mechanism: Mechanism,
    q: Array,
    v: Array,
    tau: Array,
    wrenches: Array | None,
    directions: Array,
    limits: tuple[ActiveLimit, ...],
    start: Any = True,
    moves: Array | None = None,
) -> FrictionSolution:
    """Return the solution for given directions and limits by fixed-point iteration.

    See `solve_directions` for the arguments; velocities with moves[n] = 0 (nf,) are held, by default none. If the
    condition `start` is false, no iteration is made.
    """
    moves = np.ones(len(directions)) if moves is None else moves
    response = load_response(mechanism, q, v, tau, wrenches, moves)

    def body(f: Array, *_: Array) -> tuple[tuple[Array, ...], Condition]:
        change = response.change(f)
        answer = response.free + change
        total = f + answer.held
        found = [one.value(answer.loads[one.site], total) for one in limits]
        new = forces(limits, found, directions, len(f))
        return (new, np.array(found), *change), _agree(new, f, found)

    nothing = (np.zeros(np.shape(part)) for part in response.free)
    initial = (np.zeros(len(directions)), np.zeros(len(limits)), *nothing)
    (f, found, *change), _, converged = iterate(MOST_ITERATIONS, body, *initial, start=start)
    answer = response.free + Answer(*change)
    known = where(converged & start, 1.0, 0.0)
    return FrictionSolution(answer.a, f + answer.held, found, answer.loads, answer.multipliers, known)


def slipping(mechanism: Mechanism, q: Array, v: Array, directions: Array) -> Array:
    """Return an array (nf,): 1 for each friction force that has a direction of slip, 0 for held velocities."""
    numbers = [one.numbers for one in active_limits(mechanism, q, np.zeros(len(directions)), np.zeros(len(directions)))]
    found = np.zeros(len(directions), dtype=np.asarray(directions).dtype)
    for group in numbers:
        square = sum(directions[n] * directions[n] for n in group)
        for n in group:
            found[n] = where(square > 0.0, 1.0, 0.0)
    return found


def forces(limits: tuple[ActiveLimit, ...], values: list[Number], directions: Array, count: int) -> Array:
    """Return the friction forces (count,) for slip in the `directions` (count,); `values` are the values of all
    `limits`.
    """
    f: list[Number] = [0.0] * count
    for one, value in zip(limits, values, strict=True):
        for n, force in zip(one.numbers, one.forces(value, directions), strict=True):
            f[n] = force
    return np.array(f)


def _agree(new: Array, old: Array, limits: list[Number]) -> Condition:
    """Return whether the friction forces `new` and `old` (nf,) of two iterations agree within round-off."""
    floor = largest(np.array(limits)) * FLOOR
    excess = [abs(x - y) - abs(x) * CONVERGED - floor for x, y in zip(new, old, strict=True)]
    return sum((where(x <= 0.0, 0.0, 1.0) for x in excess), 0.0) < 0.5
