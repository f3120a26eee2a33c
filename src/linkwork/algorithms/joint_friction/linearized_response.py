"""Motion of a mechanism with friction that is linear in the loads: one step of Newton's method.

Friction force number n is f_n = K_n F + b_n - (W a)_n, with the load F (6,) of its joint and the slip accelerations a
(nf,), or its velocity is held at zero acceleration. Trees without constraints, rotors and mimic joints are solved by
the articulated-body algorithm with friction (`tree_with_friction`). For other mechanisms, the responses of all loads
and slip accelerations to all friction forces are computed once, and each step solves a dense system of nf equations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.forward_dynamics import velocity_forces
from linkwork.algorithms.joint_friction.friction_sites import Site, sites
from linkwork.algorithms.joint_friction.joint_friction_tolerances import ADDED_DIAGONAL, REFINEMENTS
from linkwork.algorithms.joint_friction.load_response import Answer, is_loose, load_response, scattered
from linkwork.algorithms.joint_friction.locked_tree import held_forces
from linkwork.algorithms.joint_friction.tree_with_friction import LinearFriction, solve_with_friction
from linkwork.algorithms.kinematics import against_gravity, kinematics
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import LU, Array, Number, lu, maximum, where
from linkwork.tolerances import TINY


class LinearStep(NamedTuple):
    """Motion of a mechanism with linear friction.

    `answer` is the motion, `friction` (nf,) are all friction forces, and `pivots` (nf,) the reciprocal pivots of the
    equations. The pivot of a friction force is positive unless its joint jams.
    """

    answer: Answer
    friction: Array
    pivots: Array


Step = Callable[[Array, Array, Array, Array], LinearStep]


def linear_step(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None) -> Step:
    """Return a function that maps K (nf, 6), b (nf,), W (nf, nf) and `moves` (nf,) to the motion with this friction.

    See the module's docstring for K, b and W. Velocities with moves[n] = 0 are held. tau (nv,) [N m or N] are joint
    forces, and `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in their axes. q (nq,) [rad or m,
    or quaternions] and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    of = _step_of_loose_tree if is_loose(mechanism) else _step_of_constrained_mechanism
    return of(mechanism, q, v, tau, wrenches)


def _step_of_loose_tree(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None) -> Step:
    motion, own = kinematics(mechanism, q, v), sites(mechanism)
    joints = [site.joint for site in own if site.joint]
    z, base = velocity_forces(mechanism, motion, wrenches), against_gravity(mechanism)

    def by_velocity(x: Array) -> Array:
        """Return numbers (nv,) for all velocities, given numbers x (nf,) for the friction forces; else zero."""
        return scattered(mechanism, own, x)

    def step(K: Array, b: Array, W: Array, moves: Array) -> LinearStep:
        rows = np.array([by_velocity(column) for column in K.T]).T.reshape(mechanism.nv, 6)
        inertia = {site.name: W[site.forces, site.forces] for site in own}
        friction = LinearFriction(rows, by_velocity(b), by_velocity(moves - 1.0) + 1.0, inertia)
        found, pivots = solve_with_friction(mechanism, motion, tau, z, base, friction)
        none = np.zeros(0)
        parts = [held_forces(j, mechanism.armature[j.v], motion.S[j.o], found, tau[j.v]) for j in joints]
        f = np.concatenate([none, *parts])
        loads = np.array([found.through[j.o].array for j in joints]).reshape(-1, 6)
        slip = np.concatenate([none, *(found.a[j.v] for j in joints)])
        own_pivots = np.concatenate([none, *(pivots[j.v] for j in joints)])
        return LinearStep(Answer(found.a, loads, none, f * (1.0 - moves), slip), f, own_pivots)

    return step


def _step_of_constrained_mechanism(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None
) -> Step:
    own = sites(mechanism)
    count = sum(site.size for site in own)
    response = load_response(mechanism, q, v, tau, wrenches, np.ones(count))
    units = [response.change(unit) for unit in np.eye(count)]
    G = np.array([one.slip for one in units]).T.reshape(count, count)
    # R[n, k] (6,) is the load of friction force k due to a unit of friction force n
    R = np.array([_of_forces(own, one.loads) for one in units]).reshape(count, count, 6)
    free = _of_forces(own, response.free.loads)
    sizes = np.array([G[n, n] for n in range(count)])
    least = _largest(sizes) * ADDED_DIAGONAL**2
    scales = np.array([1.0 / np.sqrt(where(x > least, x, 1.0)) for x in sizes])  # scales of forces and accelerations

    def step(K: Array, b: Array, W: Array, moves: Array) -> LinearStep:
        by_load = np.array([[K[k] @ R[n, k] for n in range(count)] for k in range(count)])
        slipping = np.eye(count) + (W @ G - by_load) * scales[None, :] / scales[:, None]
        held = G * scales[:, None] * scales[None, :]
        known = (b - W @ response.free.slip + np.array([K[k] @ free[k] for k in range(count)])) / scales
        A = np.array([where(moves[k] > 0.5, slipping[k], held[k]) for k in range(count)])
        right = np.array([where(moves[k] > 0.5, known[k], -response.free.slip[k] * scales[k]) for k in range(count)])
        factors = lu(A + np.eye(count) * ADDED_DIAGONAL)
        f = _refined(A, factors, right) * scales
        answer = response.motion(f)
        return LinearStep(answer._replace(held=f * (1.0 - moves)), f, np.array(factors.inverse))

    return step


def _of_forces(own: tuple[Site, ...], loads: Array) -> Array:
    """Return, for each friction force, the load (6,) of its site, as an array (nf, 6).

    `own` are the sites and `loads` (nsites, 6) their loads.
    """
    return np.array([load for site, load in zip(own, loads, strict=True) for _ in range(site.size)])


def _refined(A: Array, factors: LU, b: Array) -> Array:
    """Return the solution x of A x = b by iterative refinement, given the `factors` of A plus ADDED_DIAGONAL."""
    x = factors.solve(b)
    for _ in range(REFINEMENTS - 1):
        x = x + factors.solve(b - A @ x)
    return x


def _largest(values: Array) -> Number:
    found: Number = TINY
    for x in values:
        found = maximum(found, x)
    return found
