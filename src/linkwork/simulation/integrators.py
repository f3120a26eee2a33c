"""One step of each method, on the configuration manifold: plain functions that run on any numbers.

A step takes the system, the time t [s], the moving state, the step h [s] and the joint forces `held` (nv,) through it;
it gives the next moving state and whether its equations were solved. Steps never look at a number, so that they trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.algorithms.closure import smallest
from linkwork.algorithms.coordinates import integrate, tangent_rate
from linkwork.algorithms.coupled import closed_again, held_rows, to_tree
from linkwork.algorithms.passive import resistance
from linkwork.simulation.contact import touching
from linkwork.simulation.moving import Moving, Step
from linkwork.simulation.slipping import slipping
from linkwork.simulation.structured_steps import SHORT, energy_momentum, variational
from linkwork.simulation.system import System, stiffened_matrix, stiffened_solver
from linkwork.spatial.loops import iterate, repeat
from linkwork.spatial.scalar import Array, Number, largest, lu, maximum, minimum, where

ROUNDS = 60  # of the midpoint's iteration, at most
SOLVED = 1e-14  # change of a velocity, relative to the largest, at which it has ended
ROUNDED = 1e-10  # so with springs between bodies and loops, which are rounded, if changes do not become less
SINGULAR = 1e-6  # so if changes become less slowly, as where loops lose grip of a direction
FAR, TINY = 1e300, 1e-300
OPENED = 1e-6  # error of closure [m or rad] after a step that was too large to close loops again


def semi_implicit(system: System, t: Number, now: Moving, h: Number, held: Array) -> tuple[Moving, Any]:
    """Velocities first, coordinates with the new ones; dampers and friction act with the new ones too. Order 1."""
    loads = system.loads(t, now.q, now.v, held)
    v = now.v + h * system.acceleration(now.q, now.v, loads, implicit=h)
    mean = (now.v + v) * 0.5
    power = system.power(now.q, mean, loads)
    if loads.touching is not None and not system.mechanism.holds:
        power = power - mean @ (system.viscous(now.q, loads.touching) @ (v - now.v))
    return Moving(integrate(system.mechanism, now.q, h * v), v, now.work + h * power), True


def rk4(system: System, t: Number, now: Moving, h: Number, held: Array) -> tuple[Moving, Any]:
    """The classical method of Runge and Kutta in the coordinates' tangent space (Munthe-Kaas). Order 4."""
    m, zero = system.mechanism, np.zeros(system.mechanism.nv)

    def stage(k: Number, dq: Array, dv: Array, sum_q: Array, sum_v: Array, sum_work: Number) -> tuple[Any, ...]:
        outer = (k == 0) | (k == 3)
        reach = h * where(k == 0, 0.0, where(k == 3, 1.0, 0.5))
        weight = h * where(outer, 1.0 / 6.0, 1.0 / 3.0)
        turn, v = reach * dq, now.v + reach * dv
        q = integrate(m, now.q, turn)
        loads = system.loads(t + reach, q, v, held)
        dq, dv = tangent_rate(m, turn, v), system.acceleration(q, v, loads)
        work = sum_work + weight * system.power(q, v, loads)
        return dq, dv, sum_q + weight * dq, sum_v + weight * dv, work

    _, _, dq, dv, work = repeat(4, stage, zero, zero, zero, zero, 0.0)
    return Moving(integrate(m, now.q, dq), now.v + dv, now.work + work), True


def midpoint(system: System, t: Number, now: Moving, h: Number, held: Array) -> tuple[Moving, Any]:
    """The equations of motion hold at the middle of the step: for stiff springs and dampers. Order 2, reversible.

    Velocities at the end of the step are found by Newton's method with the matrix M + h/2 D + h^2/4 K of the step's
    start, D and K those of the dampers and springs of joints and between bodies, along their lines; what it leaves out
    only costs rounds.
    """
    m = system.mechanism
    stiffness = np.concatenate([np.zeros(0), *(j.stiffness for j in m.joints)])
    (speed,) = to_tree(m, ("v",), (now.v,))
    extra = resistance(m.tree, speed) * (0.5 * h) + stiffness * (0.25 * h * h)
    weights = [spring.damping * (0.5 * h) + spring.stiffness * (0.25 * h * h) for spring in m.springs]
    M = stiffened_matrix(m, now.q, extra, weights)
    solve = stiffened_solver(m, M)

    def middle(v: Array) -> tuple[Array, Array]:
        mean = (now.v + v) * 0.5
        return integrate(m, now.q, mean * (0.5 * h)), mean

    def improve(v: Array, *before: Number) -> tuple[tuple[Any, ...], Any]:
        q, mean = middle(v)
        loads = system.loads(t + 0.5 * h, q, mean, held)
        change = solve(system.imbalance(q, mean, (v - now.v) / h, loads) * h)
        if m.holds:  # impulses along the rows leave no mean velocity that would open loops, or slip
            J = held_rows(m, q)
            response = solve(J.T)
            change = change + response @ smallest(J @ response, J @ (mean * 2.0 - change))
        better, size, scale = v - change, largest(change), largest(v) + 1.0
        if not before:
            return (better,), size <= SOLVED * scale
        slow = (size <= ROUNDED * scale) & (size >= before[0]) | (size <= SINGULAR * scale) & (size >= 0.5 * before[0])
        return (better, size), (size <= SOLVED * scale) | slow

    def improve_touching(best: Array, move: Array, part: Number, least: Number) -> tuple[tuple[Any, ...], Any]:
        """With contacts, whose forces have kinks: the matrix of their present states, and shortened steps."""
        v = best + move * part
        q, mean = middle(v)
        loads = system.loads(t + 0.5 * h, q, mean, held)
        assert loads.touching is not None
        contacts = system.contact_step_matrix(q, loads.touching, h)
        lack = system.imbalance(q, mean, (v - now.v) / h, loads) * h
        pressed = sum((largest(grip.force) for grip in loads.touching.grips), 0.0) * h
        size = largest(lack) / (largest(M @ now.v) + largest(M @ v) + pressed + TINY)
        better = (size < least) | (part < SHORT)  # at a kink nothing is better on this side: step over it
        found = (
            where(better, v, best),
            where(better, -lu(M + contacts).solve(lack), move),
            where(better, minimum(4.0 * part, 1.0), 0.5 * part),
            where(better, size, least),
        )
        return found, (size <= SOLVED) | (size >= least) & (least <= ROUNDED)

    if m.touches:
        (v, *_), _, solved = iterate(ROUNDS, improve_touching, now.v, np.zeros(m.nv), 1.0, FAR)
    else:
        started = () if not (m.springs or m.holds) else (largest(now.v) + 1.0,)
        (v, *_), _, solved = iterate(ROUNDS, improve, now.v, *started)
    q, mean = middle(v)
    power = system.power(q, mean, system.loads(t + 0.5 * h, q, mean, held))
    return Moving(integrate(m, now.q, mean * h), v, now.work + h * power), solved


def closing(step: Step) -> Step:
    """The step, after which loops are closed to the last bits: in the metric of kinetic energy, where they are open."""

    def run(system: System, t: Number, now: Moving, h: Number, held: Array) -> tuple[Moving, Any]:
        moved, solved = step(system, t, now, h, held)
        if not system.mechanism.holds or system.baumgarte is not None:
            return moved, solved
        q, v, error, repair = closed_again(system.mechanism, moved.q, moved.v)
        closed = (error <= OPENED) | (error != error)  # what is not a number is another matter
        after = Moving(q, v, moved.work, maximum(now.repair, repair))
        return after, closed if solved is True else closed & solved

    return run


@dataclass(frozen=True)
class Method:
    """A way to step: its order, and what it is for."""

    name: str
    step: Step
    order: int
    about: str


METHODS = {
    method.name: method
    for method in (
        Method("semi-implicit", slipping(touching(closing(semi_implicit))), 1, "quick, stable with dampers; rough"),
        Method("rk4", slipping(touching(closing(rk4))), 4, "accurate for smooth motion"),
        Method("midpoint", slipping(touching(closing(midpoint), True)), 2, "for stiff springs and dampers; reversible"),
        Method(
            "variational",
            slipping(touching(variational, True)),
            2,
            "keeps momenta and the symplectic form, for long runs and large steps",
        ),
        Method("energy-momentum", slipping(touching(energy_momentum, True)), 2, "keeps momenta and energy exactly"),
    )
}
