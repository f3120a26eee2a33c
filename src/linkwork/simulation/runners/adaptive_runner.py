"""The runner for adaptive methods; it integrates one batch member after the other."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from linkwork.simulation.events.double_zero_crossings import (
    ValuesAndSlopes,
    first_hidden_minimum,
    latch_and_guard_count,
    stored_values_and_slopes,
)
from linkwork.simulation.events.energy_attribution import shares
from linkwork.simulation.events.event_location import first_event
from linkwork.simulation.events.event_log import event, events_of
from linkwork.simulation.events.event_sources import apply_events, constraint_number, nan_guard, sources
from linkwork.simulation.events.impulses import why_impossible
from linkwork.simulation.events.schedule import Switch, command_status, mode_event
from linkwork.simulation.events.slip import holding, slip_forces
from linkwork.simulation.joint_friction_rows import friction_part
from linkwork.simulation.method_choice import Choice
from linkwork.simulation.methods.method_registry import METHODS
from linkwork.simulation.recording import Storage
from linkwork.simulation.results.outcomes import Event
from linkwork.simulation.runners.adaptive_kernels import MemberKernels
from linkwork.simulation.runners.adaptive_solvers import Solver, Start, Tolerances, solvers_of
from linkwork.simulation.runners.compiled_run import MemberProgram
from linkwork.simulation.runners.progress import Watch
from linkwork.simulation.runners.state_derivative import StateDerivative
from linkwork.simulation.simulation_problem import Problem
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
from linkwork.tolerances import CLOSURE_OPEN

AT_ONCE = 50  # largest number of consecutive event times that are equal


class Adaptive:
    """A run by an adaptive method, which integrates one batch member after the other."""

    def __init__(
        self,
        problem: Problem,
        choice: Choice,
        storage: Storage,
        derivative: StateDerivative,
        tolerances: Sequence[float],
    ):
        self.problem, self.storage, self.dt, self.derivative = problem, storage, choice.dt, derivative
        rtol, atol = tolerances
        self.method, self.rtol, self.atol = choice.method, max(rtol, 3e-14), atol
        longest = np.inf if _is_smooth(problem) else storage.every * choice.dt
        self.solvers = solvers_of(choice.method, derivative, Tolerances(self.rtol, atol, longest))
        # only its samples are used, not its steps
        self.program = MemberProgram(problem, METHODS["rk4"], storage.series)
        self.kernels = MemberKernels(self.program, choice.dt, derivative.target, len(storage.steps))
        # a member counts as stopped until it has run
        status = np.where(problem.start.status == RUNNING, STOPPED, problem.start.status)
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
        """Evaluate the state derivative of a failed batch member in plain Python, so that the error raises an
        exception.

        `values` are the parameters and gains of the member, and `now` is its last state.
        """
        x = _solver_state(now)
        flat = [np.reshape(np.asarray(value, dtype=float), -1) for value in values.values()]
        held = self.problem.system(values).clipped(now.control)
        slip_directions = friction_part(self.problem.mechanism, np.asarray(now.motion.slip))
        self.derivative.one(np.array([float(now.step) * self.dt]), x, held, slip_directions, *flat)

    def not_converged(self, index: tuple[int, ...], now: MemberState) -> str:
        """Return the reason why the method failed in the state `now` of the batch member at `index`."""
        _, values = self.problem.member(index)
        system, t = self.problem.system(values).in_modes(now.motion.modes), float(now.step) * self.dt
        if failed := why_impossible(system.mechanism, now.q) or nan_guard(system, (t, now)):
            return failed
        projected = self.kernels.projection(values, now.motion.slip)
        if not projected(np.append(now.q, now.v)).error <= CLOSURE_OPEN:
            return f"the projection onto loops failed with rtol={self.rtol:g}; try rtol={self.rtol / 100:g}"
        return f"{self.method!r} failed: its steps became too small for rtol={self.rtol:g}; increase rtol"


class Member:
    """One batch member of an adaptive run: its state, solver, events and samples."""

    def __init__(self, runner: Adaptive, index: tuple[int, ...]):
        self.runner, self.index, self.problem = runner, index, runner.problem
        self.nq = runner.problem.mechanism.nq
        _, self.values = runner.problem.member(index)
        self.now = mapped(np.array, member(runner.now, index))._replace(status=RUNNING)
        self.first = float(runner.storage.steps[0]) * runner.dt
        self.timed = [switch for switch in self.problem.switches if not switch.guarded]
        self.times: list[float] = (runner.storage.steps * runner.dt).tolist()
        # arrays (T, ...) of the recorded series of this member
        self.series = [runner.storage.arrays[name][index] for name in runner.storage.series]
        self.watched = len(sources(self.problem.system(self.values)))
        self.hidden_count = latch_and_guard_count(self.problem.system(self.values)) if self.watched else 0
        self.has_events = self.watched > 0 or self.problem.stop is not None
        self.projection = runner.kernels.projection(self.values, self.now.motion.slip)

    def go(self, watch: Callable[[float], None]) -> None:
        """Run the member from start to end; record its samples and store its final state.

        `watch` is called with the completed fraction.
        """
        runner, times = self.runner, self.times
        if self.problem.sampler is not None:
            self._sample(self.first)
        if now := [switch for switch in self.timed if self._when(switch) == self.first]:
            self._switch(self.first, now)
        self.record(0, self.now)
        actions = self._actions(np.array(times))
        for begin, end in pairwise([self.first, *actions]):
            try:
                self._span(begin, end, lambda t: watch((t - times[0]) / (times[-1] - times[0])))
            except BaseException:  # after Ctrl-C or an error in a user function, the recorded samples remain
                self._store(self.now._replace(status=np.array(STOPPED)))
                raise
            for act in actions[end]:
                if self.now.status == RUNNING:
                    act()
            for sample in range(bisect_left(times, end), bisect_right(times, end)):
                if self.now.status == RUNNING:
                    # recorded after the switches at this time, with the new forces and modes
                    self.record(sample, self.now)
            self._store(self.now)
            if self.now.status != RUNNING:  # the end may coincide with a sample
                for sample in np.flatnonzero(runner.storage.steps == self.now.step):
                    self.record(int(sample), self.now)
                break

    def _store(self, now: MemberState) -> None:
        """Write the state `now` of this member into the state of all members."""
        for array, value in zip(flatten(self.runner.now), flatten(now), strict=True):
            array[self.index] = value

    def _actions(self, times: Array) -> dict[float, list[Callable[[], None]]]:
        """Return the calls of the sampled controller and the scheduled switches, by the time [s] at which they are due.

        `times` (T,) [s] are the times of the samples.
        """
        found: dict[float, list[Callable[[], None]]] = {}

        def at(t: float, act: Callable[[], None]) -> None:
            near = times[np.abs(times - t) < 1e-9 * self.runner.dt]
            found.setdefault(float(near[0]) if len(near) else t, []).append(act)

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

    def _when(self, switch: Switch) -> float:
        """Return the time [s] at which `switch`, an entry of the schedule, acts on this batch member."""
        return float(np.broadcast_to(switch.when, self.problem.batch)[self.index])

    def _switch(self, t: float, switches: Sequence[Switch]) -> None:
        """Apply `switches`, the entries of the schedule that act on this member at time t [s]."""
        modes = np.array(self.now.motion.modes)
        for switch in switches:
            k = self.problem.switched.index(switch.parameter)
            modes[k] = switch.applied(modes[k])
        self._switch_to(modes, t, [(switch.parameter, switch.what) for switch in switches])

    def _switch_to(self, modes: Array, t: float, changes: Sequence[tuple[str, str]]) -> None:
        """Switch all switchable parameters to the values `modes` (m,) at time t [s]; `changes` are pairs (parameter,
        event text).
        """
        now = self.now._replace(step=np.array(1.0))
        after, found, carried = self.runner.program.switched(self.values, t, now, modes)
        self.now = mapped(np.asarray, after._replace(step=self.now.step))
        self.values |= dict(zip(self.problem.switched, self.now.motion.modes, strict=True))
        if self.now.status != RUNNING:
            return
        numbers = [constraint_number(self.problem.mechanism, parameter) for parameter, _ in changes]
        each = shares(numbers, [True] * len(changes), found.energies, found.impulses, found.gaps)
        for (_, what), n, share in zip(changes, numbers, each, strict=True):
            values = [float(x) for x in (share.energy, share.impulse, carried[n], share.gap)]
            self.runner.events.append(event(what, t, self.index, *values))

    def _sample(self, t: float) -> None:
        """Call the sampled controller at time t [s]; store its forces and its memory, and make the switches that it
        commands.
        """
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

    def _span(self, begin: float, end: float, watch: Callable[[float], None]) -> None:
        """Integrate the motion from `begin` to `end` [s], in intervals of smooth motion with events between them.

        `watch` is called with the time [s] reached.
        """
        last, often = begin, 0
        while begin < end and self.now.status == RUNNING:
            self._apply_events(begin)
            begin = self._integrate(begin, end, watch)
            often = often + 1 if begin == last else 0
            last = begin
            if often > AT_ONCE:
                self.now = self.now._replace(status=np.array(NOT_CONVERGED))

    def _watched(self, now: MemberState) -> StepState:
        """Return the state `now` as a `StepState` that includes the values of its event functions."""
        return self.runner.kernels.watched(self.values, now, self.watched)

    def _functions(self, now: MemberState) -> Array:
        """Return the event functions (k,) in the state `now`: slip, latches, guards, and the stop condition."""
        watched = self._watched(now).watched[: self.watched] if self.watched else ()
        stop = self.problem.stop_function(self.values, float(now.step) * self.runner.dt, now.q, now.v)
        return np.array([*watched, stop], dtype=float)

    def _hidden(self, curve: Callable[[float], Array]) -> Callable[[float, float], float]:
        """Return a function that searches an interval of time for double zero crossings of latches and guards.

        The function takes the begin and the end [s] of the interval. It returns the fraction of the interval at which
        an event function may be negative between two zero crossings, or 1. `curve(t)` is the solver's state (n,) at t
        [s].
        """

        def dips(t: float) -> ValuesAndSlopes:
            return stored_values_and_slopes(self._watched(self._at(t, curve(t))).watched, self.hidden_count)

        return lambda begin, end: float(first_hidden_minimum(dips(begin), dips(end), end - begin))

    def _apply_events(self, t: float) -> None:
        """Apply the events at time t [s] whose event functions are negative; update which latches and guards are
        armed.
        """
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

    def _acting(self) -> tuple[Array, Values, Array]:
        """Return the inputs of the state derivative: joint forces (nv,) [N m or N], parameters by name, and slip
        directions (nf,).

        The joint forces are those of the controller and of slipping clutches and brakes. The parameters release the
        constraints that slip. The slip directions are those of joint friction.
        """
        slip = self.now.motion.slip
        system = self.problem.system(self.values)
        m, held = system.in_modes(self.now.motion.modes).mechanism, system.clipped(self.now.control)
        engaged = {f"{item.name}.engaged" for item in m.bounded}
        stuck = holding(m, slip).parameters
        values = {**self.values, **{name: stuck[name] for name in engaged}}
        return held + slip_forces(m, slip), values, friction_part(m, slip)

    def _integrate(self, begin: float, end: float, watch: Callable[[float], None]) -> float:
        """Integrate smooth motion from `begin` to `end` [s] or to the first event; return the time [s] reached.

        `watch` is called with the time after each step.
        """
        start = self.runner.solvers(*self._acting())
        self.projection = self.runner.kernels.projection(self.values, self.now.motion.slip)
        with np.errstate(all="ignore"):
            solver = self._solver(start, begin, end)
            while solver.status == "running":
                try:
                    solver.step()
                except ValueError:  # SciPy's implicit methods raise it for a rate of nan
                    self.now = self.now._replace(status=np.array(NON_FINITE))
                    return end
                if solver.status == "failed" or not np.isfinite(solver.y).all():
                    finite = np.isfinite(solver.y).all() and np.isfinite(solver.fun(solver.t, solver.y)).all()
                    self.now = self.now._replace(status=np.array(NOT_CONVERGED if finite else NON_FINITE))
                    return end
                last, drifted = self._record_step(solver)
                if self.now.status != RUNNING:
                    return end
                if last < solver.t or (self.watched and (self._functions(self.now) < 0.0).any()):
                    return last
                watch(solver.t)
                if drifted and solver.status == "running":
                    solver = self._solver(start, solver.t, end, solver.step_size)
        return end

    def _solver(self, start: Start, begin: float, end: float, step: float | None = None) -> Solver:
        """Return a solver from the present state at `begin` [s] to `end` [s]; its first step has the length `step` [s].

        The solver chooses the first step if `step` is None. `start` makes the solver from a state.
        """
        return start(begin, _solver_state(self.now), end, None if step is None else min(step, end - begin))

    def _record_step(self, solver: Solver) -> tuple[float, bool]:
        """Record the samples within one step of the solver, up to the first event.

        Return the time [s] of this event or of the end of the step, and whether the state has drifted from the
        constraints by more than the tolerance of the solver. If the state has drifted, the solver must continue from
        the projected state.
        """
        last, y, times = solver.t, solver.y, self.times
        first, behind = bisect_right(times, solver.t_old), bisect_right(times, last)
        if self.has_events or (first < behind and times[first] < last):
            curve = solver.dense_output()
            if self.has_events:
                hidden = self._hidden(curve) if self.hidden_count else None
                last = first_event(lambda t: self._functions(self._at(t, curve(t))), solver.t_old, last, hidden)
                y = curve(last) if last < solver.t else y
            inside = times[first : bisect_left(times, last, first, behind)]
            for sample, (t, x) in enumerate(zip(inside, curve(np.array(inside)).T, strict=True), first):
                self.record(sample, self._projected(t, x)[0])
            first += len(inside)
        self.now, distance = self._projected(last, y)
        if first < behind and times[first] == last:
            self.record(first, self.now)
        if self.problem.stop is not None and self._stops(self.now):
            self.now = self.now._replace(status=np.array(EVENT))
        elif self.watched:
            watched = self._watched(self.now)
            self.now = self.now.moved(armed=np.array(watched.armed))
            if not watched.watched[-1] > 0.0:
                self.now = self.now._replace(status=np.array(NOT_CONVERGED))
        largest = max(map(abs, y[: self.nq].tolist()), default=0.0)
        return last, distance > self.runner.atol + self.runner.rtol * largest

    def _projected(self, t: float, x: Array) -> tuple[MemberState, float]:
        """Return the member's state at time t [s] from the solver's state x (n,), projected onto the constraints.

        The second result is the largest displacement of a joint by the projection [m or rad].
        """
        x, solver = self._normalized(x), self.now.motion.solver
        found = self.projection(x)
        if not found.error <= CLOSURE_OPEN:
            return self._at(t, x)._replace(status=np.array(NOT_CONVERGED)), np.inf
        if found.moved > solver.projection:
            self.now = self.now.moved(solver=solver._replace(projection=np.array(found.moved)))
        return self._with_work(t, found.q, found.v, x), found.moved

    def _at(self, t: float, x: Array) -> MemberState:
        """Return the member's state at time t [s] from the solver's state x (n,), without projection."""
        x = self._normalized(x)
        return self._with_work(t, x[: self.nq], x[self.nq : self.nq + self.problem.mechanism.nv], x)

    def _with_work(self, t: float, q: Array, v: Array, x: Array) -> MemberState:
        """Return the member's state at time t [s] with q (nq,), v (nv,), and the work and ledger of the solver's state
        x (n,).
        """
        first = self.nq + self.problem.mechanism.nv
        found = self.now.at(np.array(t / self.runner.dt), q, v, np.array(x[first]))
        return found.moved(ledger=x[first + 1 :]) if len(x) > first + 1 else found

    def _normalized(self, x: Array) -> Array:
        """Return the solver's state x (n,) with unit quaternions."""
        m, nq = self.problem.mechanism, self.nq
        if nq == m.nv:
            return x
        return np.concatenate([m.by_joint(lambda j: j.kind.normalized(x[:nq][j.q])), x[nq:]])

    def _stops(self, now: MemberState) -> bool:
        """Return whether the stop condition of the user is true in the state `now`."""
        return bool(self.problem.stops_at(self.values, float(now.step) * self.runner.dt, now.q, now.v))

    def record(self, sample: int, now: MemberState) -> None:
        """Record the state `now` as sample number `sample`."""
        found = self.runner.kernels.sample(self.values, now)
        for series, value in zip(self.series, found, strict=True):
            series[sample] = value


def _solver_state(now: MemberState) -> Array:
    """Return the state x (n,) of a solver: q, v, the work [J], and the work ledger if the run has one."""
    return np.concatenate([now.q, now.v, [float(now.motion.work)], now.motion.ledger])


def _is_smooth(problem: Problem) -> bool:
    """Return whether the run has no events, user functions or joint stops, so that one step may contain several
    samples.

    User functions may have short pulses, and event functions several zeros, which longer steps would miss.
    """
    users = (problem.control, problem.wrenches, problem.stop, problem.stops)
    return not (problem.has_events or any(one is not None for one in users))
