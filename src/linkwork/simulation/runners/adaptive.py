"""SciPy's methods with their own steps, member by member, for the same equations of motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from linkwork.algorithms.reduction import closed_again
from linkwork.simulation.events.impulses import impossible
from linkwork.simulation.events.log import event, told
from linkwork.simulation.events.schedule import Switch, refused, spoken
from linkwork.simulation.events.slip import holding, slip_forces
from linkwork.simulation.events.sources import happened, holder_of, lost_guard, seen, sources
from linkwork.simulation.method_choice import Choice
from linkwork.simulation.methods.registry import METHODS
from linkwork.simulation.methods.step import Moving
from linkwork.simulation.problem import Request
from linkwork.simulation.recording import Storage
from linkwork.simulation.results.outcomes import Event
from linkwork.simulation.runners.progress import Watch
from linkwork.simulation.runners.run_program import Task
from linkwork.simulation.runners.state_derivative import Field
from linkwork.simulation.state import EVENT, GOING, NON_FINITE, NOT_CONVERGED, STOPPED, Carry
from linkwork.spatial.scalar import Array

HALVINGS = 60  # of the interval in which an event lies: to the last bit
AT_ONCE = 50  # switches at one instant, at most
SOLVERS = {"dop853": "DOP853", "radau": "Radau", "lsoda": "LSODA"}


class Adaptive:
    """A run by one of SciPy's methods: every member alone, from sample to sample of its controller."""

    def __init__(self, asked: Request, choice: Choice, storage: Storage, field: Field, rtol: float, atol: float):
        from scipy import integrate  # here, so that importing linkwork stays quick

        self.asked, self.storage, self.dt, self.field = asked, storage, choice.dt, field
        self.solver = getattr(integrate, SOLVERS[choice.method])
        self.tolerances = {"rtol": max(rtol, 3e-14), "atol": atol, "max_step": storage.every * choice.dt}
        self.task = Task(asked, METHODS["rk4"], storage.series)  # for its rows: no step of it is made
        code = np.where(asked.start.code == GOING, STOPPED, asked.start.code)  # until it has run
        self.now = Carry(*(np.array(x) for x in asked.start._replace(code=code)))
        self.events: list[Event] = []
        for array in storage.arrays.values():
            array.fill(np.nan)
        storage.rows = len(storage.steps)

    def go(self, watch: Watch) -> None:
        """Run to the end, telling `watch` the fraction that is done."""
        members = max(1, self.now.step.size)
        for done, index in enumerate(np.ndindex(self.asked.batch)):
            if self.now.code[index] == STOPPED:
                Member(self, index).go(lambda part, done=done: watch((done + part) / members))
        if not (self.now.code == GOING).any():
            last = float(np.max(self.now.step))
            self.storage.cut(last)
            if self.now.step.ndim == 0 and last > self.storage.steps[self.storage.rows - 1]:
                self.storage.steps[self.storage.rows] = last
                one = Member(self, ())
                one.keep(self.storage.rows, one.now)
                self.storage.rows += 1
        watch(1.0)

    def again(self, values: Mapping[str, Any], now: Carry) -> None:
        """The rates of one member in plain text."""
        x = np.concatenate([now.q, now.v, [float(now.work)]])
        flat = [np.reshape(np.asarray(value, dtype=float), -1) for value in values.values()]
        self.field.one(np.array([float(now.step) * self.dt]), x, now.held, *flat)

    def not_converged(self, values: Mapping[str, Any], now: Carry) -> str:
        """What can be said of a method that gave up."""
        system, t = self.asked.system(values).in_modes(now.modes), float(now.step) * self.dt
        return (
            impossible(system.mechanism, now.q)
            or lost_guard(system, (t, now))
            or f"SciPy's method gave up: its steps became too small for rtol={self.tolerances['rtol']:g}"
        )


class Member:
    """One member of such a run."""

    def __init__(self, march: Adaptive, index: tuple[int, ...]):
        self.march, self.index, self.asked = march, index, march.asked
        _, self.values = march.asked.member(index)
        self.now = Carry(*(np.array(x[index]) for x in march.now))._replace(code=GOING)
        self.first = float(march.storage.steps[0]) * march.dt
        self.timed = [switch for switch in self.asked.switches if not switch.guarded]
        self.watched = len(sources(self.asked.system(self.values)))

    def go(self, watch: Callable[[float], None]) -> None:
        """From its start to its end, rows and the last state written where they belong."""
        march = self.march
        times = march.storage.steps * march.dt
        if self.asked.sampler is not None:
            self._sample(self.first)
        if now := [switch for switch in self.timed if self._when(switch) == self.first]:
            self._switch(self.first, now)
        self.keep(0, self.now)
        actions = self._actions(times)
        for begin, end in pairwise([self.first, *actions]):
            self._span(begin, end, times, lambda t: watch((t - times[0]) / (times[-1] - times[0])))
            for act in actions[end]:
                if self.now.code == GOING:
                    act()
            for row in np.flatnonzero(times == end) if self.now.code == GOING else ():
                self.keep(int(row), self.now)  # the row is that of the new forces and loops
            for where_, value in zip(march.now, self.now, strict=True):
                where_[self.index] = value
            if self.now.code != GOING:  # at the very instant of a row, perhaps, as steps count it
                for row in np.flatnonzero(march.storage.steps == self.now.step):
                    self.keep(int(row), self.now)
                break

    def _actions(self, times: Array) -> dict[float, list[Callable[[], None]]]:
        """What is done between stretches of smooth motion, by the time [s]: loops closed, forces sampled, switches."""
        found: dict[float, list[Callable[[], None]]] = {}

        def at(t: float, act: Callable[[], None]) -> None:
            near = times[np.abs(times - t) < 1e-9 * self.march.dt]
            found.setdefault(float(near[0]) if len(near) else t, []).append(act)

        for t in times[1:].tolist() if self.asked.mechanism.loops or self.asked.mechanism.holders else ():
            at(t, self._close)
        sampling, end = self.asked.sampling, times[-1]
        if sampling is not None:
            period = self.march.dt if sampling.rate is None else 1.0 / sampling.rate
            for k in range(int(np.floor(self.first / period + 1e-9)) + 1, int(np.floor(end / period + 1e-9)) + 1):
                at(k * period, partial(self._sample, k * period))
        for t in {self._when(switch) for switch in self.timed}:
            if self.first < t <= end:
                at(t, partial(self._switch, t, [switch for switch in self.timed if self._when(switch) == t]))
        at(end, lambda: None)
        return dict(sorted(found.items()))

    def _close(self) -> None:
        m = self.asked.system(self.values).mechanism
        if not m.holds:
            return
        after = closed_again(holding(m, self.now.slip) if m.slippers else m, self.now.q, self.now.v)
        repair = np.maximum(self.now.repair, after.moved)
        self.now = self.now._replace(q=after.q, v=after.v, repair=repair)

    def _when(self, switch: Switch) -> float:
        """The time [s] at which this member is switched."""
        return float(np.broadcast_to(switch.when, self.asked.batch)[self.index])

    def _switch(self, t: float, switches: Sequence[Switch]) -> None:
        """Switch at once what is to be at a time [s]."""
        modes = np.array(self.now.modes)
        for switch in switches:
            k = self.asked.switched.index(switch.parameter)
            modes[k] = switch.applied(modes[k])
        self._switch_to(modes, t, [(switch.parameter, switch.what) for switch in switches])

    def _switch_to(self, modes: Array, t: float, told: Sequence[tuple[str, str]]) -> None:
        """Change modes (m,) at a time [s], and tell of parameters, in words."""
        m = self.asked.mechanism
        after, jump, carried = self.march.task.switched(self.values, t, self.now._replace(step=np.array(1.0)), modes)
        self.now = Carry(*map(np.asarray, after._replace(step=self.now.step)))
        self.values |= dict(zip(self.asked.switched, self.now.modes, strict=True))
        bridged = jump.energy - sum(jump.energies)
        for parameter, what in told if self.now.code == GOING else ():
            n = holder_of(m, parameter)
            loop = n < len(m.loops)
            energy = jump.energies[n] + (bridged if loop else 0.0)
            numbers = [float(x) for x in (energy, jump.impulses[n], carried[n], jump.gap if loop else 0.0)]
            self.march.events.append(event(what, t, self.index, *numbers))

    def _sample(self, t: float) -> None:
        answer, now = self.asked.sample(self.values, t, self.now), self.now
        modes = np.array(self.asked.wanted(answer, now.modes), dtype=float)
        lost = not np.isfinite(np.asarray(answer.forces, dtype=float)).all()
        if (code := NON_FINITE if lost else refused(self.asked.switched, modes)) != GOING:
            self.now = now._replace(code=code)
            return
        memory = np.array(answer.memory, dtype=float) if len(answer.memory) else now.memory
        self.now = now._replace(held=np.array(answer.forces, dtype=float), memory=memory)
        pairs = zip(self.asked.switched, modes, now.modes, strict=True)
        changed = [(name, spoken(name, float(new))) for name, new, old in pairs if new != old]
        if changed:
            self._switch_to(modes, t, changed)

    def _span(self, begin: float, end: float, times: Array, watch: Callable[[float], None]) -> None:
        """Stretches of smooth motion, between which things happen by themselves."""
        last, often = begin, 0
        while begin < end and self.now.code == GOING:
            self._happen(begin)
            begin = self._stretch(begin, end, times, watch)
            often = often + 1 if begin == last else 0
            last = begin
            if often > AT_ONCE:
                self.now = self.now._replace(code=NOT_CONVERGED)

    def _seen(self, now: Carry) -> Moving:
        """A state with what is watched in it."""
        return seen(self.asked.system(self.values), float(now.step) * self.march.dt, now.moving, now.held)

    def _falls(self, now: Carry) -> bool:
        """Whether something has happened by itself before this state."""
        return bool((np.asarray(self._seen(now).seen[: self.watched]) < 0.0).any()) if self.watched else False

    def _happen(self, t: float) -> None:
        """Let happen what is due, and arm what waits."""
        if not self.watched:
            return
        system = self.asked.system(self.values)
        now = self._seen(self.now)
        which = [bool(margin < 0.0) for margin in now.seen[: self.watched]]
        if any(which):
            after = happened(system, sources(system), t, now, self.now.held, which)
            if not after.seen[-1] > 0.0:
                self.now = self.now._replace(code=NOT_CONVERGED, modes=np.array(after.modes))
                return
            now = after
        moved = {
            name: np.array(getattr(now, name)) for name in ("q", "v", "work", "slip", "modes", "armed", "log", "logged")
        }
        self.now = self.now._replace(**moved)
        self.values |= dict(zip(self.asked.switched, self.now.modes, strict=True))
        self.march.events += told(sources(system), (), self.now.log, int(self.now.logged), self.index)
        self.now = self.now._replace(logged=np.zeros(()))

    def _acting(self) -> tuple[Array, dict[str, Any]]:
        """Joint forces (nv,) with those of holders that slip, and values in which these hold nothing."""
        m = self.asked.system(self.values).in_modes(self.now.modes).mechanism
        if not m.slippers:
            return self.now.held, self.values
        engaged = {f"{item.name}.engaged" for item in m.slippers}
        stuck = holding(m, self.now.slip).parameters
        return self.now.held + slip_forces(m, self.now.slip), {**self.values, **{name: stuck[name] for name in engaged}}

    def _stretch(self, begin: float, end: float, times: Array, watch: Callable[[float], None]) -> float:
        """One stretch of smooth motion, to its end or to where something happens; the time [s] that it reached."""
        field, (held, values) = self.march.field, self._acting()
        x = np.concatenate([self.now.q, self.now.v, [float(self.now.work)]])
        with np.errstate(all="ignore"):
            solver = self.march.solver(lambda t, x: field(t, x, held, values), begin, x, end, **self.march.tolerances)
            while solver.status == "running":
                solver.step()
                if solver.status == "failed" or not np.isfinite(solver.y).all():
                    lost = (
                        not np.isfinite(solver.y).all()
                        or not np.isfinite(field(solver.t, solver.y, held, values)).all()
                    )
                    self.now = self.now._replace(code=NON_FINITE if lost else NOT_CONVERGED)
                    return end
                curve = solver.dense_output()
                falls = self._event(self._falls, curve, solver.t_old, solver.t)
                last = self._event(self._stops, curve, solver.t_old, falls)
                for row in np.flatnonzero((times > solver.t_old) & (times <= last)):
                    self.keep(int(row), self._at(times[row], curve(times[row])))
                self.now = self._at(last, curve(last) if last < solver.t else solver.y)
                if self._stops(self.now):
                    self.now = self.now._replace(code=EVENT)
                    return end
                if self.watched:
                    looked = self._seen(self.now)
                    self.now = self.now._replace(armed=np.array(looked.armed))
                    if not looked.seen[-1] > 0.0:
                        self.now = self.now._replace(code=NOT_CONVERGED)
                        return end
                    if last < solver.t or self._falls(self.now):
                        return last
                watch(solver.t)
        return end

    def _at(self, t: float, x: Array) -> Carry:
        m = self.asked.mechanism
        q = m.by_joint(lambda j: j.kind.normalized(x[: m.nq][j.q]))
        return self.now._replace(step=np.array(t / self.march.dt), q=q, v=x[m.nq : -1], work=np.array(x[-1]))

    def _stops(self, now: Carry) -> bool:
        return bool(self.asked.stops_at(self.values, float(now.step) * self.march.dt, now.q, now.v))

    def _event(self, test: Callable[[Carry], bool], curve: Callable[[float], Array], begin: float, end: float) -> float:
        """The first time in a step at which this is so, by halving; the step's end if it is not."""
        if not test(self._at(end, curve(end))):
            return end
        for _ in range(HALVINGS):
            middle = 0.5 * (begin + end)
            if test(self._at(middle, curve(middle))):
                end = middle
            else:
                begin = middle
        return end

    def keep(self, row: int, now: Carry) -> None:
        """Record a row."""
        found = self.march.task.row(self.values, self.march.dt, now)
        for name, value in zip(self.march.storage.series, found, strict=True):
            self.march.storage.arrays[name][(*self.index, row)] = value
