"""The runner for SciPy's adaptive methods; it integrates one batch member after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Protocol

import numpy as np

from linkwork.algorithms.mimic_reduction import project_state
from linkwork.simulation.events.impulses import impossible
from linkwork.simulation.events.location import first_event
from linkwork.simulation.events.log import event, events_of
from linkwork.simulation.events.schedule import Switch, command_status, mode_event
from linkwork.simulation.events.slip import holding, slip_forces
from linkwork.simulation.events.sources import apply_events, constraint_number, nan_guard, sources, watch
from linkwork.simulation.method_choice import Choice
from linkwork.simulation.methods.registry import METHODS
from linkwork.simulation.problem import Problem
from linkwork.simulation.recording import Storage
from linkwork.simulation.results.outcomes import Event
from linkwork.simulation.runners.progress import Watch
from linkwork.simulation.runners.run_program import MemberProgram
from linkwork.simulation.runners.state_derivative import StateDerivative
from linkwork.simulation.state import (
    EVENT,
    NON_FINITE,
    NOT_CONVERGED,
    RUNNING,
    STOPPED,
    MemberState,
    StepState,
    flatten,
    mapped,
    member,
)
from linkwork.simulation.user_functions import Values
from linkwork.spatial.scalar import Array

AT_ONCE = 50  # largest number of consecutive events at one instant
SOLVERS = {"dop853": "DOP853", "radau": "Radau", "lsoda": "LSODA"}


class Solver(Protocol):
    """The interface of a SciPy solver after a step from time `t_old` to `t` [s], with the state `y` (n,)."""

    t: float
    t_old: float
    y: Array

    def dense_output(self) -> Callable[[float], Array]:
        """Return the state (n,) as a function of time within the step."""
        ...


class Adaptive:
    """A run by one of SciPy's methods, one batch member after the other."""

    def __init__(
        self,
        problem: Problem,
        choice: Choice,
        storage: Storage,
        derivative: StateDerivative,
        tolerances: Sequence[float],
    ):
        from scipy import integrate  # imported here, so that importing linkwork stays quick

        self.problem, self.storage, self.dt, self.derivative = problem, storage, choice.dt, derivative
        rtol, atol = tolerances
        self.solver = getattr(integrate, SOLVERS[choice.method])
        self.tolerances = {"rtol": max(rtol, 3e-14), "atol": atol, "max_step": storage.every * choice.dt}
        self.program = MemberProgram(problem, METHODS["rk4"], storage.series)  # used for samples only, not for steps
        status = np.where(problem.start.status == RUNNING, STOPPED, problem.start.status)  # until the member has run
        self.now = mapped(np.array, problem.start._replace(status=status))
        self.events: list[Event] = []
        for array in storage.arrays.values():
            array.fill(np.nan)
        storage.samples = len(storage.steps)

    def go(self, watch: Watch) -> None:
        """Run all batch members to the end; call `watch` with the completed fraction."""
        members = max(1, self.now.step.size)
        for done, index in enumerate(np.ndindex(self.problem.batch)):
            if self.now.status[index] == STOPPED:
                Member(self, index).go(lambda part, done=done: watch((done + part) / members))
        if not (self.now.status == RUNNING).any():
            last = float(np.max(self.now.step, initial=0.0))
            self.storage.cut(last)
            if self.now.step.ndim == 0 and last > self.storage.steps[self.storage.samples - 1]:
                self.storage.steps[self.storage.samples] = last
                one = Member(self, ())
                one.record(self.storage.samples, one.now)
                self.storage.samples += 1
        watch(1.0)

    def again(self, values: Values, now: MemberState) -> None:
        """Evaluate the state derivative of one batch member in plain Python, so that its error is raised."""
        x = np.concatenate([now.q, now.v, [float(now.motion.work)]])
        flat = [np.reshape(np.asarray(value, dtype=float), -1) for value in values.values()]
        held = self.problem.system(values).clipped(now.control)
        self.derivative.one(np.array([float(now.step) * self.dt]), x, held, *flat)

    def not_converged(self, values: Values, now: MemberState) -> str:
        """Return the reason why SciPy's method failed in the state `now` of a batch member."""
        system, t = self.problem.system(values).in_modes(now.motion.modes), float(now.step) * self.dt
        return (
            impossible(system.mechanism, now.q)
            or nan_guard(system, (t, now))
            or f"SciPy's method failed: its steps became too small for rtol={self.tolerances['rtol']:g}; increase rtol"
        )


class Member:
    """One batch member of an adaptive run."""

    def __init__(self, runner: Adaptive, index: tuple[int, ...]):
        self.runner, self.index, self.problem = runner, index, runner.problem
        _, self.values = runner.problem.member(index)
        self.now = mapped(np.array, member(runner.now, index))._replace(status=RUNNING)
        self.first = float(runner.storage.steps[0]) * runner.dt
        self.timed = [switch for switch in self.problem.switches if not switch.guarded]
        self.watched = len(sources(self.problem.system(self.values)))

    def go(self, watch: Callable[[float], None]) -> None:
        """Run the member from start to end, and record its samples and its final state."""
        runner = self.runner
        times = runner.storage.steps * runner.dt
        if self.problem.sampler is not None:
            self._sample(self.first)
        if now := [switch for switch in self.timed if self._when(switch) == self.first]:
            self._switch(self.first, now)
        self.record(0, self.now)
        actions = self._actions(times)
        for begin, end in pairwise([self.first, *actions]):
            self._span(begin, end, times, lambda t: watch((t - times[0]) / (times[-1] - times[0])))
            for act in actions[end]:
                if self.now.status == RUNNING:
                    act()
            for sample in np.flatnonzero(times == end) if self.now.status == RUNNING else ():
                self.record(int(sample), self.now)  # the sample has the new forces and modes
            for array, value in zip(flatten(runner.now), flatten(self.now), strict=True):
                array[self.index] = value
            if self.now.status != RUNNING:  # the end may coincide with a sample
                for sample in np.flatnonzero(runner.storage.steps == self.now.step):
                    self.record(int(sample), self.now)
                break

    def _actions(self, times: Array) -> dict[float, list[Callable[[], None]]]:
        """Return the actions by time [s] between intervals of smooth motion: projections, controllers, switches."""
        found: dict[float, list[Callable[[], None]]] = {}

        def at(t: float, act: Callable[[], None]) -> None:
            near = times[np.abs(times - t) < 1e-9 * self.runner.dt]
            found.setdefault(float(near[0]) if len(near) else t, []).append(act)

        for t in times[1:].tolist() if self.problem.mechanism.constraints else ():
            at(t, self._project)
        sampling, end = self.problem.sampling, times[-1]
        if sampling is not None:
            period = self.runner.dt if sampling.rate is None else 1.0 / sampling.rate
            for k in range(int(np.floor(self.first / period + 1e-9)) + 1, int(np.floor(end / period + 1e-9)) + 1):
                at(k * period, partial(self._sample, k * period))
        for t in {self._when(switch) for switch in self.timed}:
            if self.first < t <= end:
                at(t, partial(self._switch, t, [switch for switch in self.timed if self._when(switch) == t]))
        at(end, lambda: None)
        return dict(sorted(found.items()))

    def _project(self) -> None:
        m, motion = self.problem.system(self.values).mechanism, self.now.motion
        after = project_state(holding(m, motion.slip), motion.q, motion.v)
        solver = motion.solver._replace(projection=np.maximum(motion.solver.projection, after.moved))
        self.now = self.now.moved(q=after.q, v=after.v, solver=solver)

    def _when(self, switch: Switch) -> float:
        """Return the time [s] at which a switch acts on this member."""
        return float(np.broadcast_to(switch.when, self.problem.batch)[self.index])

    def _switch(self, t: float, switches: Sequence[Switch]) -> None:
        """Apply the switches of the schedule at time t [s]."""
        modes = np.array(self.now.motion.modes)
        for switch in switches:
            k = self.problem.switched.index(switch.parameter)
            modes[k] = switch.applied(modes[k])
        self._switch_to(modes, t, [(switch.parameter, switch.what) for switch in switches])

    def _switch_to(self, modes: Array, t: float, changes: Sequence[tuple[str, str]]) -> None:
        """Set the modes to `modes` (m,) at time t [s]; `changes` are pairs (parameter, event text)."""
        now = self.now._replace(step=np.array(1.0))
        after, found, carried = self.runner.program.switched(self.values, t, now, modes)
        self.now = mapped(np.asarray, after._replace(step=self.now.step))
        self.values |= dict(zip(self.problem.switched, self.now.motion.modes, strict=True))
        for parameter, what in changes if self.now.status == RUNNING else ():
            n = constraint_number(self.problem.mechanism, parameter)
            numbers = [float(x) for x in (found.energies[n], found.impulses[n], carried[n], found.gaps[n])]
            self.runner.events.append(event(what, t, self.index, *numbers))

    def _sample(self, t: float) -> None:
        answer, now = self.problem.sample(self.values, t, self.now), self.now
        modes = np.array(self.problem.wanted(answer, now.motion.modes), dtype=float)
        non_finite = not np.isfinite(np.asarray(answer.forces, dtype=float)).all()
        if (status := NON_FINITE if non_finite else command_status(self.problem.switched, modes)) != RUNNING:
            self.now = now._replace(status=status)
            return
        memory = np.array(answer.memory, dtype=float) if len(answer.memory) else now.memory
        self.now = now._replace(control=np.array(answer.forces, dtype=float), memory=memory)
        pairs = zip(self.problem.switched, modes, now.motion.modes, strict=True)
        changed = [(name, mode_event(name, float(new))) for name, new, old in pairs if new != old]
        if changed:
            self._switch_to(modes, t, changed)

    def _span(self, begin: float, end: float, times: Array, watch: Callable[[float], None]) -> None:
        """Integrate from `begin` to `end` [s], in intervals of smooth motion with events between them."""
        last, often = begin, 0
        while begin < end and self.now.status == RUNNING:
            self._apply_events(begin)
            begin = self._integrate(begin, end, times, watch)
            often = often + 1 if begin == last else 0
            last = begin
            if often > AT_ONCE:
                self.now = self.now._replace(status=np.array(NOT_CONVERGED))

    def _watched(self, now: MemberState) -> StepState:
        """Return the step state of `now` with its event functions evaluated."""
        system = self.problem.system(self.values)
        return watch(system, float(now.step) * self.runner.dt, now.motion, system.clipped(now.control))

    def _functions(self, now: MemberState) -> Array:
        """Return the event functions (k,) in a state: slip, latches, guards, and the stop condition."""
        watched = self._watched(now).watched[: self.watched] if self.watched else ()
        stop = self.problem.stop_function(self.values, float(now.step) * self.runner.dt, now.q, now.v)
        return np.array([*watched, stop], dtype=float)

    def _apply_events(self, t: float) -> None:
        """Apply the events at time t [s] whose functions are negative, and update the arming states."""
        if not self.watched:
            return
        system, motion = self.problem.system(self.values), self._watched(self.now)
        which = [bool(value < 0.0) for value in motion.watched[: self.watched]]
        if any(which):
            after = apply_events(system, t, motion, system.clipped(self.now.control), which)
            if not after.watched[-1] > 0.0:
                self.now = self.now._replace(status=np.array(NOT_CONVERGED)).moved(modes=np.array(after.modes))
                return
            motion = after
        self.now = self.now._replace(motion=mapped(np.array, motion._replace(watched=self.now.motion.watched)))
        self.values |= dict(zip(self.problem.switched, self.now.motion.modes, strict=True))
        log, known = self.now.motion.log, sources(system)
        self.runner.events += events_of(
            lambda source, result: known[source].what[int(result) + 1], log.lines, int(log.count), self.index
        )
        self.now = self.now.moved(log=log._replace(count=np.zeros(())))

    def _acting(self) -> tuple[Array, Values]:
        """Return the joint forces (nv,) including those of slipping constraints, and parameters with these released."""
        slip = self.now.motion.slip
        system = self.problem.system(self.values)
        m, held = system.in_modes(self.now.motion.modes).mechanism, system.clipped(self.now.control)
        engaged = {f"{item.name}.engaged" for item in m.bounded}
        stuck = holding(m, slip).parameters
        return held + slip_forces(m, slip), {**self.values, **{name: stuck[name] for name in engaged}}

    def _integrate(self, begin: float, end: float, times: Array, watch: Callable[[float], None]) -> float:
        """Integrate smooth motion from `begin` to `end` [s] or to the first event; return the time [s] reached."""
        derivative, (held, values) = self.runner.derivative, self._acting()
        x = np.concatenate([self.now.q, self.now.v, [float(self.now.motion.work)]])

        def rates(t: float, x: Array) -> Array:
            return derivative(t, x, held, values)

        with np.errstate(all="ignore"):
            solver = self.runner.solver(rates, begin, x, end, **self.runner.tolerances)
            while solver.status == "running":
                solver.step()
                if solver.status == "failed" or not np.isfinite(solver.y).all():
                    finite = np.isfinite(solver.y).all() and np.isfinite(rates(solver.t, solver.y)).all()
                    self.now = self.now._replace(status=np.array(NOT_CONVERGED if finite else NON_FINITE))
                    return end
                last = self._record_step(solver, times)
                if self.now.status != RUNNING:
                    return end
                if last < solver.t or (self.watched and (self._functions(self.now) < 0.0).any()):
                    return last
                watch(solver.t)
        return end

    def _record_step(self, solver: Solver, times: Array) -> float:
        """Record samples of one SciPy step up to its first event; return the time [s] of that event or of the end."""
        curve = solver.dense_output()
        last = first_event(lambda t: self._functions(self._at(t, curve(t))), solver.t_old, solver.t)
        for sample in np.flatnonzero((times > solver.t_old) & (times <= last)):
            self.record(int(sample), self._at(times[sample], curve(times[sample])))
        self.now = self._at(last, curve(last) if last < solver.t else solver.y)
        if self._stops(self.now):
            self.now = self.now._replace(status=np.array(EVENT))
        elif self.watched:
            watched = self._watched(self.now)
            self.now = self.now.moved(armed=np.array(watched.armed))
            if not watched.watched[-1] > 0.0:
                self.now = self.now._replace(status=np.array(NOT_CONVERGED))
        return last

    def _at(self, t: float, x: Array) -> MemberState:
        m = self.problem.mechanism
        q = m.by_joint(lambda j: j.kind.normalized(x[: m.nq][j.q]))
        return self.now._replace(step=np.array(t / self.runner.dt)).moved(q=q, v=x[m.nq : -1], work=np.array(x[-1]))

    def _stops(self, now: MemberState) -> bool:
        return bool(self.problem.stops_at(self.values, float(now.step) * self.runner.dt, now.q, now.v))

    def record(self, sample: int, now: MemberState) -> None:
        """Record the state `now` as sample number `sample`."""
        found = self.runner.program.series_values(self.values, self.runner.dt, now)
        for name, value in zip(self.runner.storage.series, found, strict=True):
            self.runner.storage.arrays[name][(*self.index, sample)] = value
