"""One step of each method, on the configuration manifold: plain functions that run on any numbers.

A step takes the system, the time t [s], the moving state, the step h [s] and the joint forces `held` (nv,) through it;
it gives the next moving state and whether its equations were solved. Steps never look at a number, so that they trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.algorithms.constraints.closure import smallest
from linkwork.algorithms.coordinates import integrate, tangent_rate
from linkwork.algorithms.joint_forces import resistance
from linkwork.algorithms.reduction import closed_again, held_rows, to_tree
from linkwork.errors import LinkworkError, listed
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.impulses import OPENED
from linkwork.simulation.events.location import in_shorter
from linkwork.simulation.events.slip import holding, unbounded
from linkwork.simulation.events.sources import happening
from linkwork.simulation.methods.composed_steps import composed
from linkwork.simulation.methods.composition import composition
from linkwork.simulation.methods.contact_stepping import locating, touching
from linkwork.simulation.methods.energy_momentum import EnergyMomentum
from linkwork.simulation.methods.force_derivatives import slopes
from linkwork.simulation.methods.moreau import moreau
from linkwork.simulation.methods.step import Equations, Found, Moving, Step, Witness, chosen, solving
from linkwork.simulation.methods.variational import SHORT, Rattle, Shake, Variational
from linkwork.simulation.system import Law, System, stiffened_matrix, stiffened_solver
from linkwork.spatial.loops import iterate, repeat
from linkwork.spatial.scalar import Array, Number, largest, lu, maximum, may_be_there, minimum, where

ROUNDS = 60  # of the midpoint's iteration, at most
SOLVED = 1e-14  # change of a velocity, relative to the largest, at which it has ended
ROUNDED = 1e-10  # so with springs between bodies and loops, which are rounded, if changes do not become less
SINGULAR = 1e-6  # so if changes become less slowly, as where loops lose grip of a direction
FAR, TINY = 1e300, 1e-300


def semi_implicit(system: System, t: Number, now: Moving, h: Number, held: Array) -> tuple[Moving, Any]:
    """Velocities first, coordinates with the new ones; dampers and friction act with the new ones too. Order 1."""
    loads = system.loads(t, now.q, now.v, held)
    viscous = None if loads.touching is None else system.viscous(now.q, loads.touching)
    v = now.v + h * system.acceleration(now.q, now.v, loads, h, viscous)
    mean = (now.v + v) * 0.5
    power = system.power(now.q, mean, loads)
    if viscous is not None:
        power = power - mean @ (viscous @ (v - now.v))
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


class Midpoint:
    """The equations of motion hold at the middle of the step: for stiff springs and dampers. Order 2, reversible.

    Velocities at the end of the step are found by Newton's method with the matrix M + h/2 D + h^2/4 K of the step's
    start, D and K those of laws, and of the dampers and springs of joints and between bodies, along their lines; what
    it leaves out only costs rounds. Impulses (nh,) along the rows of what is held leave no mean velocity that would
    open it.
    """

    def __init__(self, system: System, t: Number, now: Moving, h: Number, held: Array):
        self.system, self.t, self.now, self.h, self.held = system, t, now, h, held
        self.mechanism = system.mechanism

    @staticmethod
    def unknowns(mechanism: Mechanism) -> int:
        """How many unknowns there are."""
        return mechanism.nv + mechanism.nh

    def _middle(self, v: Array) -> tuple[Array, Array]:
        mean = (self.now.v + v) * 0.5
        return integrate(self.mechanism, self.now.q, mean * (0.5 * self.h)), mean

    def _lack(self, q: Array, mean: Array, v: Array) -> Array:
        loads = self.system.loads(self.t + 0.5 * self.h, q, mean, self.held)
        return self.system.imbalance(q, mean, (v - self.now.v) / self.h, loads) * self.h

    def _laws(self, v: Array) -> Array:
        """What laws take (nv, nv) from the momentum that lacks, by velocities v (nv,) at the end."""

        def impulse(law: Law) -> Callable[[Array], Array]:
            return lambda v: law(self.t + 0.5 * self.h, *self._middle(v)) * self.h

        return -sum((slopes(impulse(law), v) for law in self.system.laws), np.zeros((len(v), len(v))))

    def _rows(self, q: Array) -> Array:
        """The rows (nh, nv) of what is held at q (nq,)."""
        return held_rows(self.mechanism, q) if self.mechanism.holds else np.zeros((0, self.mechanism.nv))

    def residual(self, unknown: Array) -> Array:
        """Momentum (nv,) and rates of what is held (nh,) that are left of velocities at the end and impulses."""
        v, impulses = unknown[: self.mechanism.nv], unknown[self.mechanism.nv :]
        q, mean = self._middle(v)
        J = self._rows(q)
        return np.concatenate([self._lack(q, mean, v) - J.T @ impulses, J @ mean])

    def moved(self, unknown: Array) -> Moving:
        """The state at the end of the step."""
        v = unknown[: self.mechanism.nv]
        q, mean = self._middle(v)
        power = self.system.power(q, mean, self.system.loads(self.t + 0.5 * self.h, q, mean, self.held))
        return Moving(integrate(self.mechanism, self.now.q, mean * self.h), v, self.now.work + self.h * power)

    def found(self, witness: Witness | None = None) -> Found:
        """The solution; a `witness` sees how it was found, where numbers are plain."""
        m, h, now = self.mechanism, self.h, self.now
        stiffness = np.concatenate([np.zeros(0), *(j.stiffness for j in m.joints)])
        (speed,) = to_tree(m, ("v",), (now.v,))
        extra = resistance(m.tree, speed) * (0.5 * h) + stiffness * (0.25 * h * h)
        weights = [spring.damping * (0.5 * h) + spring.stiffness * (0.25 * h * h) for spring in m.springs]
        M, laws = stiffened_matrix(m, now.q, extra, weights), self._laws(now.v)
        coupled = any(map(may_be_there, (laws - np.diag(np.diag(laws))).ravel()))
        solve = lu(M + laws).solve if coupled else stiffened_solver(m, M + laws)

        def improve(v: Array, *before: Any) -> tuple[tuple[Any, ...], Any]:
            q, mean = self._middle(v)
            change, impulses = solve(self._lack(q, mean, v)), np.zeros(0)
            if m.holds:
                J = self._rows(q)
                response = solve(J.T)
                impulses = smallest(J @ response, J @ (mean * 2.0 - change), symmetric=not self.system.laws)
                change = change + response @ impulses
            better, size, scale = v - change, largest(change), largest(v) + 1.0
            if witness is not None:
                witness.see(size / scale, change, np.zeros(m.nh), True)
            if not before:
                return (better,), size <= SOLVED * scale
            slow = (size <= ROUNDED * scale) & (size >= before[0])
            slow = slow | (size <= SINGULAR * scale) & (size >= 0.5 * before[0])
            return (better, size, *([-impulses] if m.holds else [])), (size <= SOLVED * scale) | slow

        def improve_touching(
            best: Array, impulses: Array, move: Array, more: Array, part: Number, least: Number
        ) -> tuple[tuple[Any, ...], Any]:
            """With contacts, whose forces have kinks: the matrix of their present states, and shortened steps."""
            v, along = best + move * part, impulses + more * part
            q, mean = self._middle(v)
            loads = self.system.loads(self.t + 0.5 * h, q, mean, self.held)
            assert loads.touching is not None
            A = M + self._laws(v) + self.system.contact_step_matrix(q, loads.touching, h)
            J = self._rows(q)
            lack = self.system.imbalance(q, mean, (v - now.v) / h, loads) * h - J.T @ along
            pressed = sum((largest(grip.force) for grip in loads.touching.grips), 0.0) * h
            size = largest(lack) / (largest(M @ now.v) + largest(M @ v) + pressed + TINY)
            size = size + largest(J @ mean) / (largest(v) + 1.0)
            factored = lu(A)
            change, add = factored.solve(lack), np.zeros(0)
            if m.holds:
                response = factored.solve(J.T)
                add = smallest(J @ response, J @ (change - mean * 2.0), symmetric=False)
                change = change - response @ add
            better = (size < least) | (part < SHORT)  # at a kink nothing is better on this side: step over it
            found = (
                where(better, v, best),
                chosen(better, along, impulses),
                where(better, -change, move),
                chosen(better, add, more),
                where(better, minimum(4.0 * part, 1.0), 0.5 * part),
                where(better, size, least),
            )
            return found, (size <= SOLVED) | (size >= least) & (least <= ROUNDED)

        if m.touches:
            still, none = np.zeros(m.nv), np.zeros(m.nh)
            begin = (now.v, none, still, none, 1.0, FAR)
            (v, impulses, *_), rounds, solved = iterate(ROUNDS, improve_touching, *begin)
            unknown = np.concatenate([v, impulses])
            return Found(unknown, self.moved(unknown)._replace(rounds=rounds), solved)

        started = () if not (m.springs or m.holds) else (largest(now.v) + 1.0,)
        none = (np.zeros(m.nh),) if m.holds else ()
        (v, *rest), rounds, solved = iterate(ROUNDS, improve, now.v, *started, *none)
        unknown = np.concatenate([v, *rest[1:]])
        return Found(unknown, self.moved(unknown)._replace(rounds=rounds), solved)


def closing(step: Step) -> Step:
    """The step, after which loops are closed to the last bits: in the metric of kinetic energy, where they are open."""

    def run(system: System, t: Number, now: Moving, h: Number, held: Array) -> tuple[Moving, Any]:
        moved, solved = step(system, t, now, h, held)
        m = system.mechanism
        if system.rigid and m.slippers:  # the step itself decided which of them hold
            m = holding(m, moved.slip) if unbounded(m).holds else unbounded(m)
        if not m.holds or system.baumgarte is not None:
            return moved, solved
        q, v, error, repair = closed_again(m, moved.q, moved.v)
        closed = (error <= OPENED) | (error != error)  # what is not a number is another matter
        after = moved._replace(q=q, v=v, repair=maximum(now.repair, repair))
        return after, closed if solved is True else closed & solved

    return run


@dataclass(frozen=True)
class Method:
    """A way to step: its order, and what it is for.

    `posed` are the equations that a step solves, if it does, and `closes` whether loops are closed after it;
    `symmetric` is one that goes back the way it came, and can be composed to higher orders of those `parts`; velocities
    of one that `opens` keep loops closed to its order only. `bare` is the step without contacts, and `locates` says
    whether their switches are located within it.
    """

    name: str
    step: Step
    order: int
    about: str
    posed: type[Equations] | None = None
    closes: bool = False
    symmetric: bool = False
    symplectic: bool = False
    opens: bool = False
    parts: tuple[float, ...] = (1.0,)
    bare: Step | None = None
    locates: bool = False

    @property
    def title(self) -> str:
        """What tells it from others: its name, its order, and whether switches are located."""
        return f"{self.name}, order {self.order}{', located' if self.locates else ''}"

    @property
    def located(self) -> Method:
        """The method whose steps are parted where contacts switch."""
        assert self.bare
        return replace(self, step=happening(locating(self.bare)), locates=True)


def _method(name: str, step: Step, order: int, about: str, posed: type[Equations] | None = None, **more: Any) -> Method:
    """With contacts around the step, and all that happens by itself; equations that it solves hold in its middle."""
    through = touching(step) if posed is None else in_shorter(touching(step, in_the_middle=True))
    return Method(name, happening(through), order, about, posed, bare=step, **more)


def _structured(name: str, posed: type[Equations], about: str, **more: Any) -> Method:
    return _method(name, solving(posed), 2, about, posed, **({"symmetric": True, "symplectic": True} | more))


METHODS = {
    method.name: method
    for method in (
        _method("semi-implicit", closing(semi_implicit), 1, "quick, stable with dampers; rough", closes=True),
        _method("rk4", closing(rk4), 4, "accurate for smooth motion", closes=True),
        _method("midpoint", closing(solving(Midpoint)), 2, "for stiff springs and dampers", Midpoint, closes=True),
        _structured("variational", Variational, "keeps momenta and the symplectic form, for long runs and large steps"),
        _structured("rattle", Rattle, "the same with springs at the ends of a step"),
        _structured("shake", Shake, "the points of rattle, velocities not projected", symmetric=False, opens=True),
        _structured("energy-momentum", EnergyMomentum, "keeps momenta and energy exactly", symplectic=False),
    )
}

RIGID = Method("moreau", happening(closing(moreau)), 1, "impacts and friction of rigid contacts", closes=True)


def of_order(name: str, order: int | None, locate: bool = False) -> Method:
    """The method of that name, composed to an order if one is asked for; a LinkworkError if it cannot be.

    With `locate`, its steps are parted where contacts switch.
    """
    method = RIGID if name == RIGID.name else METHODS[name].located if locate else METHODS[name]
    if order is None or order == method.order:
        return method
    if not method.symmetric:
        able = [each.name for each in METHODS.values() if each.symmetric]
        raise LinkworkError(f"method {name!r} has order {method.order} and no other; order is for {listed(able)}")
    parts = composition(order).parts
    return replace(method, order=order, step=composed(method.step, parts), parts=parts)


def refuse_composed(mechanism: Mechanism, method: Method, guarded: bool = False) -> None:
    """Raise a LinkworkError where a method of several parts would go back through what does not go back, or guards."""
    if len(method.parts) > 1 and (mechanism.touches or mechanism.slippers or mechanism.latches or guarded):
        what = "contacts" if mechanism.touches else "what slips, or switches by itself,"
        raise LinkworkError(f"order {method.order} takes some steps back in time, which {what} cannot: leave order out")
