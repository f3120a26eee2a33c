"""Forward dynamics, inverse dynamics and reactions with the dry friction of all joints.

Forward dynamics first assumes that all joints slip, and iterates friction and loads (`friction_solver`). If a joint is
at rest, or if this iteration does not converge quickly because the friction is strongly coupled, Newton's method with
sticking joints follows (`stick_and_slip`). If neither method finds a unique solution, the result is NaN, and
`jammed_joints` names the joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.constrained_dynamics import loop_states
from linkwork.algorithms.inverse_dynamics import inverse_dynamics as without_friction
from linkwork.algorithms.joint_friction.friction_limits import ActiveLimit, active_limits, norm
from linkwork.algorithms.joint_friction.friction_sites import (
    friction_directions,
    sites,
    slip_bias,
    slip_rows,
    slip_velocities,
    tree_slip_rows,
)
from linkwork.algorithms.joint_friction.friction_solver import FrictionSolution, slip_friction
from linkwork.algorithms.joint_friction.load_response import load_response, reactions_of, wrenches_of_loop
from linkwork.algorithms.joint_friction.stick_and_slip import first_slip, stick_and_slip
from linkwork.algorithms.kinematics import kinematics
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Number, maximum, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import STICKING_SPEED, TINY_SIZE

# Iterations for the friction of a joint that changes its own load, as in threads. The equation is linear once the sign
# of the load is known.
OWN_ITERATIONS = 3


def solve(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> FrictionSolution:
    """Return the motion of a mechanism with the friction of all its joints, which slip or stick.

    tau (nv,) [N m or N] are joint forces, and `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in
    their axes. In the result, `limits` are the dynamic limits, also for joints that stick. If there is no unique
    solution, `converged` is 0 and all other numbers are NaN. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or
    m/s] are the coordinates and velocities.
    """
    speeds = slip_velocities(mechanism, q, v)
    count = len(speeds)
    limits = active_limits(mechanism, q, speeds, np.zeros(count))
    resting, slip = first_slip(limits, speeds)
    all_slip = sum(resting, 0.0) < 0.5
    response = load_response(mechanism, q, v, tau, wrenches, np.ones(count))
    f, a, found = slip_friction(mechanism, response, limits, slip.directions, all_slip)

    def strictly(f: Array, a: Array, known: Number, *given: Array) -> tuple[tuple[Array | Number, ...], bool]:
        strict = stick_and_slip(mechanism, *given, *(() if len(given) > 3 else (None,)))
        return (strict.step.friction, strict.step.answer.a, strict.valid, *given), True

    # q, v, tau and wrenches are part of the loop's state. Otherwise the compiler would compute parts of the loop's body
    # in advance, even if the loop makes no iteration.
    given = (q, v, tau) if wrenches is None else (q, v, tau, wrenches)
    known = where(found, 1.0, 0.0)
    (f, a, known, *_), _, _ = iterate(1, strictly, f, a, known, *given, start=known < 0.5)
    answer = response.motion(f)
    values = np.array([one.value(answer.loads[one.site], f) for one in limits])
    return _or_nan(FrictionSolution(a, f, values, answer.loads, answer.multipliers, known))


def _or_nan(found: FrictionSolution) -> FrictionSolution:
    """Return the solution, with NaN in place of all numbers if it did not converge.

    `found` is the solution.
    """
    valid = found.converged > 0.5

    def checked(part: Array) -> Array:
        return where(valid, part, np.full(np.shape(part), np.nan)) if np.size(part) else part

    arrays = (found.a, found.friction, found.limits, found.loads, found.multipliers)
    return FrictionSolution(*map(checked, arrays), converged=found.converged)


def forward_dynamics(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Return the accelerations (nv,) [rad/s^2, m/s^2] of a mechanism with the friction of all joints.

    tau (nv,) [N m or N] are joint forces, and `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in
    their axes. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    return solve(mechanism, q, v, tau, wrenches).a


def friction(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Return the joint forces (nv,) [N m, N] that the friction of all joints and loops exerts.

    tau (nv,) are the other joint forces, and `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in
    their axes. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    return slip_rows(mechanism, q).T @ solve(mechanism, q, v, tau, wrenches).friction


def reactions(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Return the wrenches (njoints + nloops, 6) [N, N m] through all joints and loops, with friction.

    The wrench of a joint acts from the parent on the child, in the child's frame; the wrench of a loop acts from body a
    on body b, in b's frame. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and
    velocities, and tau (nv,) [N m or N] are joint forces.
    """
    found = solve(mechanism, q, v, tau, wrenches)
    return reactions_of(mechanism, q, v, found.a, found.multipliers, found.friction, wrenches)


def inverse_dynamics(mechanism: Mechanism, q: Array, v: Array, a: Array, wrenches: Array | None = None) -> Array:
    """Return the joint forces (nv,) [N m, N] that produce the accelerations a (nv,) against the friction of all joints.

    The friction of a joint at rest that begins to move is opposite to its acceleration. If a joint stays at rest, its
    static friction carries as much of the required force as possible, and the joint force is the rest. q (nq,) [rad or
    m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities, and `wrenches` (nbodies, 6) [N, N
    m] act on the bodies at their origins, in their axes.

    The multipliers of loops and other constraints are zero, as in inverse dynamics without friction: the joint forces
    alone produce the motion. The friction of a loop then follows from its preload only, and is zero in a loop that
    stays at rest.
    """
    tree, own = mechanism.tree, sites(mechanism)
    position, speed, acceleration = to_tree(mechanism, ("q", "v", "a"), (q, v, a))
    speeds = slip_velocities(mechanism, q, v)
    count, motion = len(speeds), kinematics(tree, position, speed)
    starts = tree_slip_rows(mechanism, motion) @ acceleration + slip_bias(mechanism, motion)
    dynamic = active_limits(mechanism, q, speeds, np.zeros(count))
    static = active_limits(mechanism, q, speeds, np.ones(count))
    loads, needed, f = np.zeros((len(own), 6)), np.zeros(count), np.zeros(count)

    def friction_at(numbers: Sequence[int], loads: Array, needed: Array, f: Array) -> Array:
        """Return f (nf,) with the friction forces of the sites `numbers` replaced, for known loads (nsites, 6).

        `needed` (nf,) is the argument of `_friction_of`.
        """
        found = list(f)
        for fast, slow in zip(dynamic, static, strict=True):
            if fast.site in numbers:
                forces = _friction_of(fast, slow, loads, speeds, starts, needed)
                for n, force in zip(fast.numbers, forces, strict=True):
                    found[n] = force
        return np.array(found)

    in_tree = [number for number, site in enumerate(own) if site.joint is not None]
    f = friction_at([number for number in range(len(own)) if number not in in_tree], loads, needed, f)
    outside = np.zeros((tree.nbodies, 6)) if wrenches is None else wrenches
    for one in loop_states(tree, motion.X):
        for site in (site for site in own if site.joint is None and site.name == one.constraint.name):
            outside = outside + wrenches_of_loop(tree, one, friction_directions(site) @ f[site.forces])
    found = without_friction(tree, position, speed, acceleration, outside)
    loads = np.array([found.force[site.joint.o].array if site.joint else np.zeros(6) for site in own]).reshape(-1, 6)
    parts = [found.tau[site.joint.v] if site.joint else np.zeros(site.size) for site in own]
    f = friction_at(in_tree, loads, np.concatenate([np.zeros(0), *parts]), f)
    total = np.zeros(tree.nv) + found.tau
    for site in own:
        if site.joint is not None:
            total[site.joint.v] = total[site.joint.v] - f[site.forces]
    return mechanism.spread.T @ total


def _friction_of(
    fast: ActiveLimit, slow: ActiveLimit, loads: Array, speeds: Array, starts: Array, needed: Array
) -> list[Number]:
    """Return the friction forces of one limit for known loads (nsites, 6) and a known motion.

    `fast` is the dynamic and `slow` the static limit. `speeds` (nf,) [rad/s, m/s] and `starts` (nf,) [rad/s^2, m/s^2]
    are the slip velocities and slip accelerations. `needed` (nf,) are the forces that the motion requires along the
    velocities: the sum of joint force and friction force.
    """
    load, pairs = loads[fast.site], list(zip(fast.numbers, fast.scales, strict=True))
    moved = np.array([speeds[n] * scale for n, scale in pairs])
    begun = np.array([starts[n] * scale for n, scale in pairs])
    slips, begins = norm(moved) > STICKING_SPEED, norm(begun) > STICKING_SPEED
    motion = [where(slips, x, y) for x, y in zip(moved, begun, strict=True)]
    along = [x / maximum(norm(np.array(motion)), TINY_SIZE) for x in motion]
    limit = _limit_against(fast, load, along[0])
    sliding = [-(limit * scale * e) for (_, scale), e in zip(pairs, along, strict=True)]
    force = [needed[n] / scale for n, scale in pairs]
    size = norm(np.array(force))
    holding = _limit_against(slow, load, -force[0] / maximum(size, TINY_SIZE))
    share = where(size > holding, holding / maximum(size, TINY_SIZE), 1.0)
    held = [x * scale * share for x, (_, scale) in zip(force, pairs, strict=True)]
    return [where(slips | begins, x, y) for x, y in zip(sliding, held, strict=True)]


def _limit_against(one: ActiveLimit, load: Array, along: Number) -> Number:
    """Return the value of the friction limit `one` for a load (6,) if its friction is opposite to the motion.

    `along` is the component of the direction of motion along the first velocity of the limit. It matters only for
    friction laws whose friction changes the load.
    """
    if all(isinstance(own, float) and own == 0.0 for _, _, own in one.terms):
        return one.value(load, np.zeros(one.numbers[0] + 1))
    f: Number = 0.0
    limit: Number = 0.0
    for _ in range(OWN_ITERATIONS):
        row, factor, constant = one.linear(load, f)
        limit = (row @ load + constant) / (1.0 + along * one.scales[0] * factor)
        f = -along * one.scales[0] * limit
    return limit


class NoSolution(NamedTuple):
    """Names of the joints because of which the friction has no unique solution.

    `jammed` are the joints that jam: their pivot in the last Newton step is not positive. `undecided` are the joints
    that still change between stick and slip when the iteration ends.
    """

    jammed: list[str]
    undecided: list[str]


def unsolved_joints(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> NoSolution:
    """Return the names of the joints whose friction has no unique solution; both lists are empty if there is one.

    tau (nv,) [N m or N] are joint forces, and `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in
    their axes. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    found = stick_and_slip(mechanism, q, v, tau, wrenches)
    if found.valid > 0.5:
        return NoSolution([], [])
    names = {n: site.name for site in sites(mechanism) for n in range(site.start, site.start + site.size)}
    jammed = [names[n] for n, pivot in enumerate(found.step.pivots) if not pivot > 0.0]
    none = np.zeros(len(found.step.friction))
    limits = active_limits(mechanism, q, none, none)
    changing = [names[one.numbers[0]] for one, changed in zip(limits, found.changed, strict=True) if changed]
    return NoSolution(list(dict.fromkeys(jammed)), list(dict.fromkeys(changing)))


def jammed_joints(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> list[str]:
    """Return the names of the joints that jam; if none jams, of those that change between stick and slip without end.

    The list is empty if there is a unique solution. tau (nv,) [N m or N] are joint forces, and `wrenches` (nbodies, 6)
    [N, N m] act on the bodies at their origins, in their axes. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or
    m/s] are the coordinates and velocities.
    """
    found = unsolved_joints(mechanism, q, v, tau, wrenches)
    return found.jammed or found.undecided
