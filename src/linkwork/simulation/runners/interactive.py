"""`Simulator`: one mechanism, stepped from Python, a microsecond or two at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.errors import LinkworkError, NonFinite, NotConverged, ShapeError, unknown_name
from linkwork.evaluation.diagnosis import failures_named
from linkwork.model.broadcast import as_numbers, refuse_non_finite
from linkwork.model.elements import with_locks
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.contact_checks import method_of, refuse_unfit
from linkwork.simulation.events.guards import own_modes
from linkwork.simulation.events.impulses import impact, impossible
from linkwork.simulation.events.schedule import locked_names, modes_of, switch_of
from linkwork.simulation.events.schedule_conflicts import refuse_contradictions
from linkwork.simulation.methods.newton_failure import unsolved
from linkwork.simulation.methods.registry import METHODS, RIGID, method_of_order, refuse_composed
from linkwork.simulation.methods.step_derivatives import StepDerivatives, StepMap
from linkwork.simulation.problem_setup import Setup, positive, problem_of
from linkwork.simulation.runners.run_kernels import kernel_of
from linkwork.simulation.start_checks import refuse_open, refuse_slipping
from linkwork.simulation.state import CONTACT_COLUMNS, StepState
from linkwork.simulation.system import System
from linkwork.spatial.scalar import Array, where


class State(NamedTuple):
    """Time t [s], coordinates q (nq,) and velocities v (nv,)."""

    t: float
    q: Array
    v: Array


class Simulator:
    """A mechanism that is stepped by hand: `step(tau)`, look at `state`, `push` it, go on.

    It starts at q0 (nq,) and v0 (nv,), neutral and at rest if not given, and moves by steps of `dt` [s], by a `method`
    of `simulate` with fixed steps, "rk4" if none is named, of an `order` if it has several. Joint springs, dampers,
    friction and stops act as in `simulate`, with `locate` the switches of contacts are located as there, and with
    `contact="rigid"` contacts are rigid. A step that fails raises an error and leaves the state as it was.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        q0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        dt: float = 1e-3,
        method: str | None = None,
        stops: float | None = 0.02,
        order: int | None = None,
        locate: bool = False,
        contact: str = "compliant",
    ):
        found = method_of("auto" if method is None else method, contact, locate)
        method = "rk4" if method is None and found == "auto" else found
        if method not in (*METHODS, RIGID.name):
            raise unknown_name("method", method, METHODS)
        self._method = method_of_order(method, order, locate)
        refuse_composed(mechanism, self._method)
        self.mechanism, self.dt, self.method, self.order = mechanism, positive("dt", dt), method, self._method.order
        self._problem = problem_of(Setup(mechanism, q0, v0, stops=stops, rigid=contact == "rigid"))
        refuse_open(self._problem)
        refuse_unfit(self._problem, method, adaptive=False)
        if self._problem.batch:
            raise ShapeError(f"a Simulator holds one state; q0 and v0 have the batch {self._problem.batch}")
        self._steps = 0
        self._x = _flat(self._problem.start.motion)
        self._zero = np.zeros(mechanism.nv)
        self._pushes: list[tuple[int, Array, int]] = []  # the step that ends them, the wrench, the body
        self._modes = modes_of(mechanism)
        self._switched = False  # whether loops, clutches or brakes are other than they were built
        self._free = _Stepper(self, changed=False)
        self._changed = _Stepper(self, changed=True)

    def __getstate__(self) -> dict[str, object]:
        """For copies and other processes: without machine code, which each makes or finds on disk when it steps."""
        state = {name: value for name, value in vars(self).items() if name not in ("_free", "_changed")}
        return state | {"_method": self._method.locates, "_pushes": list(self._pushes), "_modes": dict(self._modes)}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._method = method_of_order(self.method, self.order, bool(state["_method"]))
        self._free, self._changed = _Stepper(self, changed=False), _Stepper(self, changed=True)

    def __repr__(self) -> str:
        return f"<Simulator of {self.mechanism!r} at {self._steps * self.dt:g} s, {self.method} with dt={self.dt:g}>"

    @property
    def state(self) -> State:
        """Where the mechanism is now: t [s], q (nq,), v (nv,)."""
        now = _unflat(self.mechanism, self._x)
        return State(self._steps * self.dt, now.q, now.v)

    @state.setter
    def state(self, new: tuple[float, ArrayLike, ArrayLike]) -> None:
        """Put the mechanism elsewhere: t [s], q (nq,), v (nv,). Contacts forget what they held, and latches let go.

        What was engaged stays so, and must not slip in the new state, unless it has a capacity.
        """
        t, q, v = new
        modes = {
            **self._modes,
            **{name: float(self.mechanism.parameters[name]) for name in own_modes(self.mechanism)},
        }
        problem = problem_of(Setup(self.mechanism, q, v, parameters=modes, rigid=self._problem.rigid))
        if problem.start.q.ndim > 1:
            raise ShapeError("a Simulator holds one state, not a batch")
        refuse_slipping(problem)
        self._steps = round(float(t) / self.dt)
        self._x, self._modes = _flat(problem.start.motion), modes

    def step(self, tau: ArrayLike | None = None) -> None:
        """Go on by one step under the joint forces tau (nv,) [N m or N], none if not given."""
        forces = self._zero if tau is None else tau
        if self._pushes or self._switched:
            self._x = self._under_changes(forces)
        else:
            self._x = self._free.step(self._x, forces)
        self._steps += 1

    def push(self, body: str, wrench: ArrayLike, duration: float | None = None) -> None:
        """Let a wrench (6,) [N, N m] act on a body, at its frame's origin in its frame, for some time [s] or a step."""
        number = self.mechanism.bodies.index_of(body)
        if number == 0:
            raise LinkworkError("the world cannot be pushed")
        array = as_numbers("wrench", wrench)
        if array.shape != (6,):
            raise ShapeError(f"wrench has shape {array.shape}, expected (6,)")
        refuse_non_finite("wrench", array)
        steps = 1 if duration is None else max(1, round(positive("duration", duration) / self.dt))
        self._pushes.append((self._steps + steps, np.array(array), number))

    def open(self, loop: str) -> None:
        """Let go what a loop holds together."""
        self._switch("open", loop)

    def close(self, loop: str) -> float:
        """Hold together what a loop does, from now on: velocities jump by impulses along it; the energy [J] gained.

        It must be open by less than 1 cm or 0.01 rad, which is bridged.
        """
        return self._switch("close", loop)

    def engage(self, name: str) -> float:
        """Engage a clutch, brake, ratchet, latch, differential or coupling: velocities jump; the energy [J] gained."""
        return self._switch("engage", name)

    def release(self, name: str) -> None:
        """Release a clutch, brake, ratchet, latch, differential or coupling."""
        self._switch("release", name)

    def shift(self, name: str, ratio: float) -> float:
        """Give a clutch or ratchet another ratio, or a transmission a gear; velocities jump; the energy [J] gained."""
        return self._switch("shift", name, ratio)

    def reverse(self, clutch: str) -> float:
        """Turn the ratio of a clutch, or a ratchet, round; while engaged, velocities jump; the energy [J] gained."""
        return self._switch("reverse", clutch)

    def lock(self, joint: str) -> float:
        """Hold a joint still, which needs no brake: its velocities jump to zero; the energy [J] gained."""
        return self._switch("lock", joint)

    def unlock(self, joint: str) -> None:
        """Let a joint that was locked move again."""
        self._switch("unlock", joint)

    def step_derivatives(self, tau: ArrayLike | None = None) -> StepDerivatives:
        """Derivatives of the step that `step(tau)` would make from here: A (2 nv, 2 nv) by (q, v), B (2 nv, nv) by tau.

        They are exact, also where the step solves equations and closes loops; dq before and after is in the tangent
        space, as in `m.difference`. The state stays as it is.
        """
        forces = as_numbers("tau", self._zero if tau is None else tau)
        if forces.shape != (self.mechanism.nv,):
            raise ShapeError(f"tau has shape {forces.shape}, expected ({self.mechanism.nv},)")
        stepper = self._changed if self._pushes or self._switched else self._free
        return stepper.map.derivatives(self._x, forces, *(self._changes() if stepper.changed else ()))

    def _switch(self, *entry: str | float) -> float:
        held = with_locks(self.mechanism, locked_names([(0.0, *entry)]))
        now, latched = _unflat(held, self._x), own_modes(held)
        before = {**modes_of(held), **self._modes, **dict(zip(latched, now.modes.tolist(), strict=True))}
        switch = switch_of(held, f"Simulator.{entry[0]}", (0.0, *entry))
        refuse_contradictions(held, (switch,), before, (), 0.0)
        after = {**before, switch.parameter: switch.applied(before[switch.parameter])}
        m = held.varied(after)
        found = impact(System(m, rigid=self._problem.rigid), now.q, now.v, now.slip)
        if not found.possible:
            raise NotConverged(impossible(m, now.q) or f"{switch.what}: cannot be done from here")
        if len(after) > len(self._modes):  # a joint that had no brake
            self.mechanism, self._changed = held, _Stepper(self, changed=True)
        modes = np.array([after[name] for name in latched])
        self._modes, self._x = after, _flat(now._replace(q=found.q, v=found.v, slip=found.slip, modes=modes))
        self._switched = after != modes_of(held)
        return float(found.energy)

    def _changes(self) -> tuple[Array, Array]:
        """Wrenches (nbodies, 6) of all pushes, and which loops are closed (nloops,)."""
        wrenches = np.zeros((self.mechanism.nbodies, 6))
        for _, wrench, body in self._pushes:
            wrenches[body - 1] += wrench
        return wrenches, np.array(list(self._modes.values()))

    def _under_changes(self, forces: ArrayLike) -> Array:
        found = self._changed.step(self._x, forces, *self._changes())
        self._pushes = [push for push in self._pushes if push[0] > self._steps + 1]
        return found


def _flat(now: StepState) -> Array:
    """Coordinates, velocities, what contacts remember, slip directions, which latches hold or are armed."""
    return np.concatenate([now.q, now.v, np.ravel(now.contact_memory), now.slip, now.modes, now.armed])


def _unflat(m: Mechanism, x: Array) -> StepState:
    """The state that `_flat` wrote down."""
    count, others = len(m.contact_pairs), [len(m.bounded), len(m.self_switching)]
    size = (len(x) - m.nq - m.nv - sum(others) - len(m.self_switching)) // max(count, 1)
    q, v, contacts, slip, modes, armed = np.split(x, np.cumsum([m.nq, m.nv, size * count, *others]))
    contacts = contacts.reshape(count, size or CONTACT_COLUMNS)
    return StepState(q, v, contact_memory=contacts, slip=slip, modes=modes, armed=armed)


class _Stepper:
    """The kernel of a step, which turns to `slow` for anything but float64 arrays of the right shape.

    One that is `changed` takes wrenches (nbodies, 6) and modes (k,), what is closed and engaged, too.
    """

    def __init__(self, simulator: Simulator, changed: bool):
        self.simulator, self.changed = simulator, changed
        self.step: Callable[..., Array] = self._build

    def system(self, *changes: Array) -> System:
        """What moves."""
        sim = self.simulator
        m, forces = sim.mechanism, None
        if self.changed:
            wrenches, modes = changes
            named = dict(zip(sim._modes, modes, strict=True))
            m, forces = m.varied(named), lambda t, q, v: wrenches
        return System(m, None, forces, sim._problem.stops, modes=own_modes(m), rigid=sim._problem.rigid)

    @cached_property
    def map(self) -> StepMap:
        """The step as a map that has derivatives."""
        sim = self.simulator
        name = repr(list(sim._modes)) if self.changed else ""
        return StepMap(sim._problem, sim._method, sim.dt, self.system, self.shapes[2:], name)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Those of what a step takes: the state, joint forces, and changes."""
        sim = self.simulator
        changes = [(sim.mechanism.nbodies, 6), (len(sim._modes),)] if self.changed else []
        return [sim._x.shape, (sim.mechanism.nv,), *changes]

    def one(self, x: Array, tau: Array, *changes: Array) -> Array:
        """The next state (nq + nv + 5 n + k,), nan if its equations were not solved."""
        sim, system = self.simulator, self.system(*changes)
        moved, solved = sim._method.step(system, 0.0, _unflat(system.mechanism, x), sim.dt, tau)
        found = _flat(moved)
        return found if solved is True else where(solved, found, np.full(len(found), np.nan))

    def _build(self, *inputs: ArrayLike) -> Array:
        sim = self.simulator
        name = ("changed step" if self.changed else "step", sim._method.title, repr(sim.dt), repr(list(sim._modes)))
        self.kernel = kernel_of(sim._problem, name, self.one, self.shapes, self.shapes[:1])
        self.step = self.kernel.fast_call(self._slow, "step", "One step of the simulator.")
        return self.step(*inputs)

    def _slow(self, x: Array, tau: ArrayLike, *changes: Array) -> Array:
        """Convert what was given, or explain what is wrong."""
        forces = as_numbers("tau", tau)
        if forces.shape != (self.simulator.mechanism.nv,):
            raise ShapeError(f"tau has shape {forces.shape}, expected ({self.simulator.mechanism.nv},)")
        refuse_non_finite("tau", forces)
        (found,), finite = self.kernel.over_batch([x, forces, *changes], (), 1)
        if finite:
            return found
        with failures_named("the state after a step", 0):
            after = self.one(x, forces, *changes)
        at = f"at {self.simulator.state.t:g} s with dt={self.simulator.dt:g}"
        if np.isfinite(x).all() and np.isnan(after).all():
            sim, system = self.simulator, self.system(*changes)
            if failed := unsolved(sim._method, system, 0.0, _unflat(system.mechanism, x), sim.dt, forces):
                raise NotConverged(f"the step at {sim.state.t:g} s: {failed.text(sim.dt)}", failed.history, failed.step)
            raise NotConverged(f"loops were not closed again after a step {at}: a smaller step may do")
        raise NonFinite(f"the state after a step is not finite {at}: its numbers became too large")
