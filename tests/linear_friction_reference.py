"""Random friction that is linear in the load, and a second opinion on motion with it: dense, by articulated bodies."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import linkwork as lw
from linkwork.algorithms.constraints.constrained_dynamics import loop_states, on_bodies, rows_and_bias
from linkwork.algorithms.formulations.linear_friction import LinearFriction, LoopFriction
from linkwork.algorithms.kinematics import kinematics
from linkwork.spatial import Force
from linkwork.spatial.scalar import Array
from random_mechanisms import State


def random_friction(m: lw.Mechanism, q: Array, seed: int, size: float = 0.05) -> LinearFriction:
    """Return random friction of all joints and loops that depends on all constrained directions of each joint."""
    rng = np.random.default_rng([seed, 21])
    coupling, constant = {}, {}
    for j in m.joints:
        S = j.kind.subspace(q[j.q])
        zero = np.zeros_like(S.linear)
        along = np.column_stack([np.concatenate([S.linear, zero]), np.concatenate([zero, S.angular])])
        left, sizes, _ = np.linalg.svd(along)
        loads = left[:, int((sizes > 1e-9).sum()) :]  # no force and no torque along an axis of the joint
        coupling[j.name] = rng.normal(size=(j.kind.nv, loads.shape[1])) @ loads.T * size
        constant[j.name] = rng.normal(size=j.kind.nv)
    loops = {one.name: LoopFriction(rng.normal(size=(6, 6)) * size, rng.normal(size=6)) for one in m.frame_constraints}
    return LinearFriction(coupling, constant, loops)


def opposing(friction: LinearFriction, solve: Callable[[LinearFriction], object]) -> LinearFriction:
    """Return friction with signs that oppose the motion: `solve` names the joints and loops that would create energy.

    Couplings become smaller with each change of sign, because large ones may jam.
    """
    for _ in range(40):
        try:
            solve(friction)
        except lw.LinkworkError as error:
            if "creates energy" not in str(error):
                raise
            found = re.findall(r"at (joint|loop) '(.*?)'", str(error))
            joints = {name for kind, name in found if kind == "joint"}
            loops = {name for kind, name in found if kind == "loop"}
            friction = LinearFriction(
                {name: -0.8 * c if name in joints else c for name, c in friction.coupling.items()},
                {name: -c if name in joints else c for name, c in friction.constant.items()},
                {
                    name: LoopFriction(-0.8 * one.coupling, -one.constant) if name in loops else one
                    for name, one in friction.loops.items()
                },
            )
        else:
            return friction
    raise AssertionError("no signs oppose the motion")


class DenseSolution(NamedTuple):
    """Accelerations, friction forces of all joints, and reactions of all joints."""

    a: Array
    friction: Array
    reactions: Array


def dense_solution(m: lw.Mechanism, s: State, friction: LinearFriction) -> DenseSolution:
    """Return the motion with friction by recursive dynamics of the open tree, which knows no friction.

    The friction forces f and loop multipliers x are unknown. Friction that the reactions cause, and the accelerations
    of the loop rows, are affine in (f, x): they are found by unit values, and the linear system is solved.
    """
    opened = m.keeping(lambda _: False)
    d = lw.compile(opened, target="numpy")
    J, gamma = rows_and_bias(m, s.q, s.v)
    loops = loop_states(m, kinematics(m, s.q, s.v).X)

    def motion(x: Array) -> tuple[Array, Array]:
        wrenches, start = np.array(s.wrenches), m.nv
        for one in loops:
            stop, rubbing = start + len(one.errors), friction.of_loop(one.constraint.name)
            at_loop = one.wrenches.array @ x[start:stop]
            total = one._replace(wrenches=Force.of(at_loop + rubbing.coupling @ at_loop + rubbing.constant))
            for body, wrench in on_bodies(total):
                if body:
                    wrenches[body - 1] += wrench.array
            start = stop
        state = s.q, s.v, s.tau + x[: m.nv], wrenches
        return d.forward_dynamics(*state), d.reactions(*state)

    def residual(x: Array) -> Array:
        a, reactions = motion(x)
        rubbing = [
            friction.coupling[j.name] @ r + friction.constant[j.name] for j, r in zip(m.joints, reactions, strict=True)
        ]
        return np.concatenate([x[: m.nv] - np.concatenate(rubbing), J @ a + gamma])

    unknowns = m.nv + len(J)
    known = residual(np.zeros(unknowns))
    slopes = np.column_stack([residual(unit) - known for unit in np.eye(unknowns)])
    x = np.linalg.solve(slopes, -known)
    a, reactions = motion(x)
    return DenseSolution(a, x[: m.nv], reactions)
