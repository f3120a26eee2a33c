"""Steps through which rigid contacts bounce, slide and stick, in the manner of Moreau: no spring, no damper.

A step goes half way with the old velocities, finds there what touches, and the impulses that forces and contacts give
to velocities together; then it goes the other half with the new ones. Bodies thus meet late by a step at most: what is
then inside is moved out, without a velocity from it. Between impacts this is leapfrog, of second order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import APART, SLIDING, STICKING
from linkwork.algorithms.constraints.closure import smallest
from linkwork.algorithms.contact_geometry import contact_rows, meetings
from linkwork.algorithms.coordinates import integrate
from linkwork.algorithms.joint_forces import resistance
from linkwork.algorithms.kinematics import subspaces
from linkwork.algorithms.reduction import held_rows, to_tree
from linkwork.algorithms.rigid_contact import Facing, Settled, axes, bounced, pushed_out, settled, work
from linkwork.model.elements.contact import Contact
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.state import StepState
from linkwork.simulation.system import Loads, System, stiffened_matrix, stiffened_solver
from linkwork.spatial.loops import repeat
from linkwork.spatial.scalar import Array, Number, dot, maximum, minimum, where

NEAR = 1e-9  # distance [m] from a surface at which a contact rests on it
HELD = 1.0 - 1e-9  # part of friction's limit below which a contact sticks
CREEP = 1e-9  # speed [m/s] below which it sticks at the limit too


def moreau(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Any]:
    """Half a step, impulses, half a step. Order 1 with impacts, 2 between them.

    Forces that depend on velocities are those of the mean of old and new ones, which is found in two passes.
    """
    m, middle = system.mechanism, _middle(system, t, now, h, held)
    there = _there(m, middle)
    facing = [one.facing for one in there]
    bounces = any(_may_bounce(pair.contact) for pair in m.contact_pairs)
    guess = np.array([one.axes.T @ f * h for one, f in zip(there, now.contacts[:, 1:4], strict=True)])

    def once(_: Number, v: Array, p: Array, rounds: Number, left: Number, agreed: Number) -> tuple[Any, ...]:
        free = middle.free(v)
        found = bounced(facing, now.v, free, p) if bounces else settled(facing, free, p)
        return tuple(found._replace(rounds=rounds + found.rounds))

    found = Settled(*repeat(2, once, now.v, guess, 0.0, 0.0, 0.0))
    power = system.power(middle.q, (now.v + found.v) * 0.5, middle.loads(found.v))
    out = _out(system, integrate(m, middle.q, found.v * (0.5 * h)), there, found, h)
    done = power * h + work(facing, found.p, now.v, found.v) + out.work
    touch = [_kept(*each, found.v, h, t + h) for each in zip(there, found.p, now.contacts, strict=True)]
    moved = now._replace(q=out.q, v=found.v, work=now.work + done, contacts=np.array(touch))
    residual = maximum(now.solver.residual, found.left)
    return moved._replace(solver=moved.solver._replace(iterations=found.rounds, residual=residual)), True


@dataclass(frozen=True, eq=False)
class Middle:
    """The middle q (nq,) of a step h [s], with what does not depend on the velocities at its end.

    `solve` gives velocities (nv,) for impulses (nv,) [N s, N m s], dampers in them; `kept` takes from velocities (nv,)
    what would open loops there.
    """

    system: System
    t: Number
    now: StepState
    h: Number
    held: Array
    q: Array
    solve: Callable[[Array], Array]
    kept: Callable[[Array], Array]

    def loads(self, v: Array) -> Loads:
        """What acts if velocities at the end are v (nv,)."""
        return self.system.loads(self.t + 0.5 * self.h, self.q, (self.now.v + v) * 0.5, self.held)

    def free(self, v: Array) -> Array:
        """Velocities (nv,) at the end if nothing touched, where forces that depend on them are those at v (nv,)."""
        system, last, m = self.system, self.now.v, self.system.mechanism
        loads = self.loads(v)
        needed = system.needed(self.q, (last + v) * 0.5, np.zeros(m.nv), loads)
        found = last + self.solve(system.joint_forces(self.q, last, loads) - needed) * self.h
        # The mean velocity keeps loops closed, which leaves the order of a step as it was
        return self.kept(last + found) - last

    def response(self, row: Array) -> Array:
        """What an impulse of one [N s] along a row (nv,) does to velocities (nv,)."""
        return self.kept(self.solve(row))


def _middle(system: System, t: Number, now: StepState, h: Number, held: Array) -> Middle:
    m = system.mechanism
    q = integrate(m, now.q, now.v * (0.5 * h))
    (speed,) = to_tree(m, ("v",), (now.v,))
    M = stiffened_matrix(m, q, resistance(m.tree, speed) * h, [spring.damping * h for spring in m.line_forces])
    solve = stiffened_solver(m, M)
    if not m.constrained:
        return Middle(system, t, now, h, held, q, solve, lambda v: v)
    J = held_rows(m, q)
    response = solve(J.T)
    return Middle(system, t, now, h, held, q, solve, lambda v: v - response @ smallest(J @ response, J @ v))


class There(NamedTuple):
    """A contact in the middle of a step: its `distance` [m], its axes (3, 3) in the world, how it moves."""

    distance: Number
    axes: Array
    facing: Facing


def _there(m: Mechanism, middle: Middle) -> list[There]:
    """All contacts in the middle of a step."""
    position, speed = to_tree(m, ("q", "v"), (middle.q, middle.now.v))
    met, poses = meetings(m.tree, position, speed)
    S, slow, found = subspaces(m.tree, position), _slow(m, middle.h), []
    for pair, at, number in zip(m.contact_pairs, met, middle.now.contacts[:, 0], strict=True):
        own = axes(at.normal)
        K = own.T @ contact_rows(m.tree, poses, S, pair, at)[:3]
        if m.mimics:
            K = K @ m.spread
        W = np.column_stack([middle.response(row) for row in K])
        approach = -dot(at.normal, at.velocity)
        bounce = where(approach > slow, pair.contact.restitution * approach, 0.0)
        static, dynamic = pair.contact.friction
        friction = where(number == STICKING, static, dynamic)
        found.append(There(at.distance, at.pose.R @ own, Facing(at.distance <= NEAR, K, W, friction, bounce)))
    return found


def _slow(m: Mechanism, h: Number) -> Number:
    """The speed [m/s] that gravity gives in a step: bounces below it are shorter than two steps."""
    return np.sqrt(dot(m.gravity, m.gravity)) * h


def _may_bounce(contact: Contact) -> bool:
    """Whether it has a restitution: a number that hides its value may be one."""
    return np.asarray(contact.restitution).dtype == object or contact.restitution > 0.0


class Out(NamedTuple):
    """Coordinates (nq,) without depths, and the work [J] that this took."""

    q: Array
    work: Number


def _out(system: System, q: Array, there: list[There], found: Settled, h: Number) -> Out:
    """From q (nq,), with contacts that came to rest inside a surface moved out of it; velocities stay as found.

    What gravity does in a step is left of the depth, so that a contact on a curved surface does not come off. Those
    that bounce leave by themselves.
    """
    m, lack, slow = system.mechanism, [], _slow(system.mechanism, h)
    for one, p in zip(there, found.p, strict=True):
        speed = one.facing.K[0] @ found.v
        depth = -(one.distance + speed * (0.5 * h)) - slow * h
        rests = (p[0] > 0.0) & (speed <= slow)
        lack.append(where(rests, depth, minimum(depth, 0.0)))
    after = integrate(m, q, pushed_out([one.facing for one in there], np.array(lack)))
    return Out(after, sum(system.energies(after, found.v)) - sum(system.energies(q, found.v)))


def _kept(one: There, p: Array, before: Array, v: Array, h: Number, at: Number) -> Array:
    """What a contact remembers (5,): the number of its state, its force [N] in the world's axes, and since when [s]."""
    limit, u = one.facing.friction * p[0] * HELD, one.facing.K @ v
    slides = (p[1] * p[1] + p[2] * p[2] >= limit * limit) & (u[1] * u[1] + u[2] * u[2] > CREEP * CREEP)
    number = where(p[0] > 0.0, where(slides, SLIDING, STICKING), APART)
    return np.array([number, *(one.axes @ p / h), where(number == before[0], before[4], at)])
