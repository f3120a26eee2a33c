"""Accelerations, and loads of the joints with friction, as functions of the friction forces in one state.

Both are affine functions of the friction forces. The equations of motion are factored once; the response to each
further set of friction forces needs sweeps over the tree only. Trees without constraints, rotors and mimic joints
(*loose* trees) have a faster implementation than other mechanisms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints import constrained_dynamics
from linkwork.algorithms.constraints.articulated_body_solver import (
    Constrained,
    factorize,
    refine_solution,
    solve_damped,
    solve_from_rest,
)
from linkwork.algorithms.constraints.constrained_dynamics import LoopState, all_rows, loop_states, on_bodies
from linkwork.algorithms.constraints.dense_solver import DenseConstraints
from linkwork.algorithms.forward_dynamics import velocity_forces
from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.algorithms.joint_friction.friction_sites import (
    Site,
    friction_directions,
    friction_wrenches,
    sites,
    slip_bias,
    tree_slip_rows,
)
from linkwork.algorithms.joint_friction.locked_tree import Sweep, TreeMotion, factored_tree, held_forces
from linkwork.algorithms.kinematics import Kinematics, against_gravity, kinematics
from linkwork.algorithms.mimic_reduction import forward_dynamics, mass_solver, reduced_rows
from linkwork.algorithms.solver_choice import SolverChoice
from linkwork.model.elements.constraint import FrameConstraint
from linkwork.model.elements.joint_friction import HeldFreedom, HeldKind, HeldVelocity, JointFriction
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial import Force
from linkwork.spatial.scalar import Array


class Answer(NamedTuple):
    """Motion of a mechanism in one state, with the loads of its joints and loops with friction.

    a (nv,) are the accelerations, and `loads` (nsites, 6) [N, N m] the loads. The load of a joint is the wrench of the
    parent on the child in the child's frame; the load of a loop is the wrench of its first body on its second body, in
    the loop frame of the second body. `multipliers` (nh,) are those of the constraint rows. `held` (nf,) are the
    friction forces of held velocities, and `slip` (nf,) the time derivatives of the slip velocities.
    """

    a: Array
    loads: Array
    multipliers: Array
    held: Array
    slip: Array

    def __add__(self, other: Answer) -> Answer:  # type: ignore[override]
        return Answer(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


Update = Callable[[int, Array, Array], Array]


class Response(NamedTuple):
    """The motion of a mechanism without friction forces, and functions for its change due to friction forces.

    `free` is the motion without friction forces. `change` takes friction forces (nf,) and returns the change of the
    motion; `motion` takes friction forces and returns the motion with these.

    `begin(f, update)` makes the first step of an iteration at the friction forces f (nf,). It calls update(number,
    load, G) for each site and returns the accelerations, and the changes of the friction forces that `update` makes.
    `number` is the number of the site, and `load` (6,) its load. G (6, size) is the change of the load per unit of the
    site's own friction. `update` returns the change (size,) of the site's friction.

    `proceed(changes, update)` makes a further step; `changes` (nf,) are those of the last step. Loads and accelerations
    are changes in this step. `cheap` is whether these steps take only a fraction of the time of forward dynamics.
    """

    free: Answer
    change: Callable[[Array], Answer]
    motion: Callable[[Array], Answer]
    begin: Callable[[Array, Update], Sweep]
    proceed: Callable[[Array, Update], Sweep]
    cheap: bool


def load_response(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None, moves: Array
) -> Response:
    """Return the response of a mechanism to friction forces, under joint forces tau (nv,) and wrenches (nbodies, 6).

    Velocities with moves[n] = 0 are held by friction; `moves` is (nf,). q (nq,) [rad or m, or quaternions] and v (nv,)
    [rad/s or m/s] are the coordinates and velocities.
    """
    of = _of_loose_tree if is_loose(mechanism) else _of_constrained_mechanism
    return of(mechanism, q, v, tau, wrenches, moves)


def is_loose(mechanism: Mechanism) -> bool:
    """Return whether a mechanism is a tree without constraints, mimic joints and rotors that couple several joints."""
    return not (mechanism.constrained or mechanism.mimics or mechanism.rotors)


def _of_loose_tree(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None, moves: Array
) -> Response:
    """Return the `Response` of a tree without constraints, mimic joints and rotors; see `load_response`."""
    motion, own = kinematics(mechanism, q, v), sites(mechanism)
    joints = [site.joint for site in own if site.joint]
    tree = factored_tree(mechanism, motion, scattered(mechanism, own, moves - 1.0) + 1.0)
    none = np.zeros(0)

    def answer(forces: Array, found: TreeMotion) -> Answer:
        parts = [held_forces(j, mechanism.armature[j.v], motion.S[j.o], found, forces[j.v]) for j in joints]
        loads = np.array([found.through[j.o].array for j in joints]).reshape(-1, 6)
        slip = np.concatenate([none, *(found.a[j.v] for j in joints)])
        return Answer(found.a, loads, none, np.concatenate([none, *parts]) * (1.0 - moves), slip)

    z, base = velocity_forces(mechanism, motion, wrenches), against_gravity(mechanism)

    def change(f: Array) -> Answer:
        forces = scattered(mechanism, own, f)
        return answer(forces, tree.change(forces))

    def motion_with(f: Array) -> Answer:
        forces = tau + scattered(mechanism, own, f)
        return answer(forces, tree.solve(forces, z, motion.bias, base))

    numbers = {site.name: number for number, site in enumerate(own)}

    def by_joint(update: Update) -> Callable[[Joint, Force, Force], Array | None]:
        def updated(j: Joint, load: Force, G: Force) -> Array | None:
            number = numbers.get(j.name)
            return None if number is None else update(number, load.array, G.array)

        return updated

    def of_forces(found: Sweep) -> Sweep:
        return Sweep(found.a, np.concatenate([none, *(found.changes[j.v] for j in joints)]))

    def begin(f: Array, update: Update) -> Sweep:
        forces = tau + scattered(mechanism, own, f)
        still = np.zeros(mechanism.nv)
        return of_forces(tree.sweep(forces, still, z, motion.bias, base, by_joint(update)))

    def proceed(changes: Array, update: Update) -> Sweep:
        return of_forces(tree.further_sweep(scattered(mechanism, own, changes), by_joint(update)))

    free = motion_with(np.zeros(sum(site.size for site in own)))
    return Response(free, change, motion_with, begin, proceed, cheap=True)


def scattered(mechanism: Mechanism, own: tuple[Site, ...], f: Array) -> Array:
    """Return the joint forces (nv,) of a tree, given the friction forces f (nf,) of the sites `own`; else zero."""
    forces = {site.joint.name: f[site.forces] for site in own if site.joint}
    parts = [forces.get(j.name, np.zeros(j.kind.nv)) for j in mechanism.joints]
    return np.concatenate([np.zeros(0), *parts])


# --- mechanisms with constraints, mimic joints or rotors ---


def _of_constrained_mechanism(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None, moves: Array
) -> Response:
    """Return the `Response` of a mechanism with constraints, mimic joints or rotors; see `load_response`."""
    own = sites(mechanism)
    held = with_holds(mechanism, own, 1.0 - moves)
    tree, position, speed = held.tree, held.tree_position(q), held.tree_velocity(v)
    motion = kinematics(tree, position, speed)
    loops = loop_states(tree, motion.X)
    solve = SolverChoice.by_joints(_tree_solver, _dense_solver)
    solution, further = solve.of(mechanism)(held, motion, loops, q, v, tau, wrenches)
    slip = tree_slip_rows(mechanism, motion)
    bias = slip_bias(mechanism, motion)
    frictions = {site.name: friction_wrenches(site, one) for site, one in _loops_of(own, loops)}

    def answer(found: Constrained, f: Array, at_rest: bool) -> Answer:
        """Return the motion for the solution `found`, with friction forces f (nf,) of slipping velocities.

        If `at_rest` is true, the result is the change of the motion due to f alone: without gravity, velocities and
        external wrenches.
        """
        on_loops, forces, multipliers = _split(mechanism, held, own, found.multipliers)
        total = f * moves + forces * (1.0 - moves)
        outside = np.zeros((tree.nbodies, 6)) if wrenches is None or at_rest else wrenches
        at_loops = {}
        for one, own_multipliers in zip(loop_states(mechanism.tree, motion.X), on_loops, strict=True):
            wrench = one.wrenches @ own_multipliers
            site = next((site for site in own if site.loop is not None and site.name == one.constraint.name), None)
            if site is not None:
                wrench = wrench + frictions[site.name].wrenches @ total[site.forces]
                at_loops[site.name] = wrench.array
            outside = outside + wrenches_of_loop(tree, one, wrench)
        acceleration = mechanism.tree_velocity(found.a)
        through = _transmitted(tree, position, speed, acceleration, outside, at_rest)
        loads = [through[site.joint.o] if site.joint else at_loops[site.name] for site in own]
        slips = slip @ acceleration + (0.0 * bias if at_rest else bias)
        return Answer(found.a, np.array(loads).reshape(-1, 6), multipliers, forces * (1.0 - moves), slips)

    def change(f: Array) -> Answer:
        return answer(further(mechanism.spread.T @ (slip.T @ f)), f, True)

    free = answer(solution, np.zeros(len(moves)), False)

    none = [np.zeros((6, site.size)) for site in own]

    def updated(found: Answer, update: Update) -> Sweep:
        changes = [update(number, load, none[number]) for number, load in enumerate(found.loads)]
        return Sweep(found.a, np.concatenate([np.zeros(0), *changes]))

    def motion_with(f: Array) -> Answer:
        return free + change(f)

    def begin(f: Array, update: Update) -> Sweep:
        return updated(motion_with(f), update)

    def proceed(changes: Array, update: Update) -> Sweep:
        return updated(change(changes), update)

    return Response(free, change, motion_with, begin, proceed, cheap=False)


Solution = tuple[Constrained, Callable[[Array], Constrained]]


def _tree_solver(
    m: Mechanism, motion: Kinematics, loops: list[LoopState], q: Array, v: Array, tau: Array, wrenches: Array | None
) -> Solution:
    """Return accelerations and multipliers of a tree with constraints, and a function for their change.

    tau (nv,) [N m or N] are joint forces, and `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in
    their axes. The function returns the change due to further joint forces (nv,). `motion` has the kinematics of the
    tree, and `loops` the states of its loops. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the
    coordinates and velocities.
    """
    J = all_rows(m, motion, loops)
    joined = factorize(m, motion, J)
    target = -_padded(constrained_dynamics.bias(m, motion, loops), len(J))
    z, base = velocity_forces(m, motion, wrenches), against_gravity(m)
    first = solve_damped(m, motion, joined, tau, z, motion.bias, base, target)

    def change(forces: Array) -> Constrained:
        none = np.zeros(len(J))
        return refine_solution(m, motion, joined, J, none, solve_from_rest(m, motion, joined, none, forces))

    return refine_solution(m, motion, joined, J, target, first), change


def _dense_solver(
    m: Mechanism, motion: Kinematics, loops: list[LoopState], q: Array, v: Array, tau: Array, wrenches: Array | None
) -> Solution:
    """Return accelerations and multipliers of a mechanism with mimic joints, and a function for their change.

    tau (nv,) [N m or N] are joint forces, and `wrenches` (nbodies, 6) [N, N m] act on the bodies at their origins, in
    their axes. The function returns the change due to further joint forces (nv,). `motion` has the kinematics of the
    tree in which all joints are independent, and `loops` the states of its loops. q (nq,) [rad or m, or quaternions]
    and v (nv,) [rad/s or m/s] are the coordinates and velocities.
    """
    J = reduced_rows(m, all_rows(m.tree, motion, loops))
    target = -_padded(constrained_dynamics.bias(m.tree, motion, loops), len(J))
    solve = mass_solver(m, q)
    constraints, free = DenseConstraints.of(J, solve), forward_dynamics(m, q, v, tau, wrenches)
    multipliers = constraints.multipliers(target - J @ free)

    def change(forces: Array) -> Constrained:
        return constraints.solve_constrained(forces, np.zeros(len(J)))

    return Constrained(free + constraints.change(multipliers), multipliers), change


def _padded(values: Array, count: int) -> Array:
    """Return `values` with zeros appended up to the length `count`."""
    return np.concatenate([values, np.zeros(count - len(values))])


def with_holds(mechanism: Mechanism, own: tuple[Site, ...], engaged: Array) -> Mechanism:
    """Return the mechanism with one more constraint row for each friction force, which can hold its velocity at zero.

    `own` are the sites of the mechanism. `engaged` (nf,) is 1 for rows that hold their velocity, 0 for rows without
    effect.
    """
    holds: list[HeldVelocity] = []
    for site in own:
        if site.joint is not None:
            for d in range(site.size):
                n = site.start + d
                holds.append(HeldVelocity(_hold_name(site, d), joint=site.name, number=d, engaged=engaged[n]))
    found = mechanism.with_elements(JointFriction.section, [*mechanism.frictions, *holds])
    by_loop = {site.name: site for site in own if site.loop is not None}
    for section in {site.loop.section for site in own if site.loop is not None}:
        changed = [_held_loop(one, by_loop.get(one.name), engaged) for one in mechanism.elements[section]]
        found = found.with_elements(section, changed)
    return found


def _hold_name(site: Site, d: int) -> str:
    return f"friction of {site.name} holds velocity {d}"


def _held_loop(loop: FrameConstraint, site: Site | None, engaged: Array) -> FrameConstraint:
    """Return the loop with one more constraint row for each of its friction forces.

    `site` is the friction site of the loop, or None if the loop has no friction. `engaged` (nf,) is 1 for rows that
    hold their slip velocity, 0 for rows without effect.
    """
    if site is None:
        return loop
    T = friction_directions(site)
    rows = tuple(
        HeldFreedom(Force(T.linear[:, d] * engaged[site.start + d], T.angular[:, d] * engaged[site.start + d]))
        for d in range(site.size)
    )
    return replace(loop, kind=HeldKind(getattr(loop, "kind"), rows))  # noqa: B009


def _split(
    mechanism: Mechanism, held: Mechanism, own: tuple[Site, ...], multipliers: Array
) -> tuple[list[Array], Array, Array]:
    """Return the multipliers of each loop, the friction forces (nf,) of held velocities, and the multipliers (nh,).

    All three are taken from the `multipliers` of the mechanism `held`, which has the additional rows of `with_holds`.
    The third result has the multipliers of the rows of `mechanism`, without these additional rows. `own` are the sites.
    """
    forces = np.zeros(sum(site.size for site in own), dtype=multipliers.dtype)
    on_loops, start = [], 0
    by_loop = {site.name: site for site in own if site.loop is not None}
    for one in mechanism.frame_constraints:
        stop = start + len(one.rows)
        on_loops.append(multipliers[start:stop])
        start = stop
        if one.name in by_loop:
            site = by_loop[one.name]
            forces[site.forces] = multipliers[start : start + site.size]
            start += site.size
    rest = []
    numbers = {_hold_name(site, d): site.start + d for site in own if site.joint for d in range(site.size)}
    for row, multiplier in zip(held.velocity_rows, multipliers[start:], strict=True):
        if row.name in numbers:
            forces[numbers[row.name]] = multiplier
        else:
            rest.append(multiplier)
    return on_loops, forces, np.concatenate([np.zeros(0), *on_loops, np.array(rest)])


def _loops_of(own: tuple[Site, ...], loops: list[LoopState]) -> list[tuple[Site, LoopState]]:
    """Return the sites that are loops, each with the state of its loop.

    `own` are the sites, and `loops` the states of all loops.
    """
    states = {one.constraint.name: one for one in loops}
    return [(site, states[site.name]) for site in own if site.loop is not None]


def wrenches_of_loop(tree: Mechanism, one: LoopState, wrench: Force) -> Array:
    """Return the wrenches (nbodies, 6) that a loop exerts on all bodies, in their frames.

    `wrench` is the wrench of the loop on its second body, in its loop frame there; the opposite wrench acts on the
    first body. `one` is the state of the loop.
    """
    loop = LoopState(one.constraint, one.X, [], Force.of(wrench.array[:, None]))
    total = [np.zeros(6) for _ in tree.bodies]
    for body, wrenches in on_bodies(loop):
        total[body] = total[body] + wrenches.array[:, 0]
    return np.array(total[1:])


def _transmitted(tree: Mechanism, q: Array, v: Array, a: Array, wrenches: Array, at_rest: bool) -> list[Array]:
    """Return the wrench (6,) through the joint of each body, by body number, for accelerations a (tree.nv,).

    q (tree.nq,) and v (tree.nv,) are the coordinates and velocities, and `wrenches` (nbodies, 6) [N, N m] act on the
    bodies at their origins, in their axes. If `at_rest` is true, gravity and v are replaced by zero.
    """
    if at_rest:
        tree, v = replace(tree, gravity=np.zeros(3)), np.zeros(tree.nv)
    return [F.array for F in inverse_dynamics(tree, q, v, a, wrenches).force]


def reactions_of(
    mechanism: Mechanism, q: Array, v: Array, a: Array, multipliers: Array, friction: Array, wrenches: Array | None
) -> Array:
    """Return the wrenches (njoints + nloops, 6) [N, N m] through all joints and loops in a known motion.

    a (nv,) are the accelerations, `multipliers` (nh,) those of the constraint rows, `friction` (nf,) the friction
    forces and `wrenches` (nbodies, 6) the external wrenches. The wrench of a joint is in the child's frame, that of a
    loop in the frame of its second body b. q (nq,) [rad or m, or quaternions] and v (nv,) [rad/s or m/s] are the
    coordinates and velocities.
    """
    tree = mechanism.tree
    position, speed = mechanism.tree_position(q), mechanism.tree_velocity(v)
    motion = kinematics(tree, position, speed)
    outside = np.zeros((tree.nbodies, 6)) if wrenches is None else wrenches
    with_friction = {site.name: site for site in sites(mechanism) if site.loop is not None}
    through, start = [], 0
    for one in loop_states(tree, motion.X):
        stop = start + len(one.errors)
        wrench = one.wrenches @ multipliers[start:stop]
        site = with_friction.get(one.constraint.name)
        if site is not None:
            wrench = wrench + friction_directions(site) @ friction[site.forces]
        outside = outside + wrenches_of_loop(tree, one, wrench)
        through.append(one.constraint.to.offset.up(wrench).array)
        start = stop
    joints = _transmitted(tree, position, speed, mechanism.tree_velocity(a), outside, False)
    return np.array([*joints[1:], *through]).reshape(-1, 6)
