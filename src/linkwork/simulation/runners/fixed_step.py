"""Running a task piece by piece, so that it can be watched, stopped and kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import gcd
from typing import Any

import numpy as np

from linkwork.simulation.events.impulses import impossible
from linkwork.simulation.events.log import event, told
from linkwork.simulation.events.schedule import Switch, refused, spoken
from linkwork.simulation.events.sources import holder_of, lost_guard, sources
from linkwork.simulation.method_choice import Choice
from linkwork.simulation.methods.newton_failure import unsolved
from linkwork.simulation.methods.registry import of_order
from linkwork.simulation.problem import Request
from linkwork.simulation.recording import Storage
from linkwork.simulation.results.outcomes import Event
from linkwork.simulation.runners.progress import Watch
from linkwork.simulation.runners.run_program import Rollout, Task
from linkwork.simulation.state import GOING, NON_FINITE, Carry
from linkwork.spatial.scalar import Array

PIECE = 0.2  # seconds that a piece of a run should take: how soon a stop is heard
FIRST = 20_000  # member-steps of the first piece, from which the others are judged
MOST_BYTES = 64 << 20  # of a piece's rows


class FixedSteps:
    """A run by a method with fixed steps: pieces of rows, each one call of the program.

    Between pieces Python acts, where it must: it calls controllers that are its own, and switches what is scheduled.
    """

    def __init__(self, asked: Request, choice: Choice, storage: Storage, target: str, threads: int | None):
        self.asked, self.storage, self.dt = asked, storage, choice.dt
        self.now, self.done = asked.start, 0
        sampling = asked.sampling
        self.in_python = asked.in_python
        self.tick = 1 if sampling is None else sampling.every(choice.dt)
        # Rows of a piece must not reach beyond a call of a controller in Python
        every = gcd(storage.every, self.tick) if self.in_python else storage.every
        self.task = Task(asked, of_order(choice.method, choice.order, choice.locate), storage.series, every, self.tick)
        self.rollout = Rollout(self.task, choice.dt, target, threads)
        self.switches: dict[int, list[tuple[Switch, Array]]] = {}  # by step: what is switched, for which members
        for switch in asked.switches:
            if switch.guarded:
                continue
            steps = np.broadcast_to(np.round(switch.when / choice.dt - storage.steps[0]), asked.batch)
            for step in np.unique(steps):
                self.switches.setdefault(int(step), []).append((switch, steps == step))
        self.events: list[Event] = []
        self.known = (
            sources(asked.system(asked.member(asked.first)[1])) if asked.watches and 0 not in asked.batch else []
        )
        self._stride = every  # steps after which someone looks at the log
        self._count = max(1, FIRST // (max(1, self.now.step.size) * every))  # rows of the next piece

    def go(self, watch: Watch) -> None:
        """Run to the end, telling `watch` the fraction that is done."""
        storage = self.storage
        fresh = storage.steps[0] == 0
        if fresh and self.in_python:
            self._call()
        self._switch()
        self.now, row = self.rollout.row(self.now, sample=fresh and self.asked.traced_sampler)
        self._look()
        storage.put(row, 1)
        for stop in self._stops():
            self._march(stop, watch)
            if not self._going():
                storage.cut(float(np.max(self.now.step, initial=0.0)))
                break
            self._act()
        self._end_row()
        watch(1.0)

    def _stops(self) -> list[int]:
        """The steps at which Python acts, and the last one."""
        last = self.storage.count
        calls = range(self.tick, last, self.tick) if self.in_python else ()
        return sorted({*calls, *(step for step in self.switches if 0 < step < last), last})

    def _going(self) -> bool:
        return bool((self.now.code == GOING).any())

    def _wanted(self, steps: Any) -> Any:
        """Whether rows are recorded after so many steps."""
        return (steps % self.storage.every == 0) | (steps == self.storage.count)

    def _march(self, stop: int, watch: Watch) -> None:
        """Rows after rows, as many at a time as take a moment, until so many steps are done."""
        storage, length = self.storage, self.task.every
        most = max(1, MOST_BYTES * len(storage.steps) // max(storage.bytes, 1))
        while self.done < stop and self._going():
            left = min(length - self.done % length, stop - self.done, self._stride)
            if left < length:
                self._try(lambda left=left: self._steps(left), left)
                continue
            count = min(self._count, most, (stop - self.done) // length)
            begin = time.perf_counter()
            if self._try(lambda count=count: self._rows(count), count * length):
                spent = time.perf_counter() - begin
                self._count = max(1, int(count * min(8.0, PIECE / max(spent, 1e-6))))
                watch(self.done / storage.count)

    def _try(self, piece: Callable[[], None], steps: int) -> bool:
        """Run a piece of so many steps; if more happens than its log holds, undo it and let the next be shorter."""
        before = self.now, self.done, self.storage.rows
        piece()
        length = self.task.every
        if (self.now.logged <= self.now.log.shape[-2]).all() or steps == 1:
            self._look()
            self._stride = min(length, 2 * self._stride)
            return True
        self.now, self.done, self.storage.rows = before
        if steps > length:
            self._count = max(1, steps // length // 2)
        else:
            self._stride = max(1, steps // 2)
        return False

    def _look(self) -> None:
        """What is in the logs becomes events."""
        logged = np.asarray(self.now.logged)
        if logged.any():
            for index in np.argwhere(logged > 0.0):
                k = tuple(int(n) for n in index)
                self.events += told(self.known, self.asked.commands, self.now.log[k], int(logged[k]), k)
            self.now = self.now._replace(logged=np.zeros_like(logged))

    def _steps(self, count: int) -> None:
        self.now = self.rollout.steps(self.now, count)
        self.done += count
        if self._wanted(self.done):
            self.storage.put(self.rollout.row(self.now)[1], 1)

    def _rows(self, count: int) -> None:
        storage, length = self.storage, self.task.every
        steps = self.done + length * (1 + np.arange(count))
        self.done = int(steps[-1])
        if length == storage.every:  # all rows are wanted, and written where they belong
            self.now = self.rollout.rows(self.now, count, storage.places(), len(storage.steps))
            storage.rows += count
            return
        rows, wanted = storage.empty(count), self._wanted(steps)
        self.now = self.rollout.rows(self.now, count, rows, count)
        axis = len(self.asked.batch)
        storage.put({name: np.compress(wanted, row, axis=axis) for name, row in rows.items()}, int(wanted.sum()))

    def _act(self) -> None:
        """What Python does after so many steps; a row that is there already is that of the new forces and loops."""
        called = self.in_python and self.done % self.tick == 0
        if called:
            self._call()
        if (self._switch() or called) and self._wanted(self.done):
            self.storage.rows -= 1
            self.storage.put(self.rollout.row(self.now)[1], 1)

    def _switch(self) -> bool:
        """Switch what is to be switched after so many steps, one instant after the other; whether anything was."""
        left = self.switches.get(self.done, [])
        anything = bool(left)
        while left:
            first = np.min([np.where(who, switch.when, np.inf) for switch, who in left], axis=0)
            self._switch_at_once([(switch, who & (switch.when == first)) for switch, who in left])
            later = [(switch, who & (switch.when > first)) for switch, who in left]
            left = [(switch, who) for switch, who in later if who.any()]
        return anything

    def _switch_at_once(self, switches: Sequence[tuple[Switch, Array]]) -> None:
        modes = np.array(self.now.modes)
        for switch, who in switches:
            k = self.asked.switched.index(switch.parameter)
            modes[..., k] = np.where(who, switch.applied(modes[..., k]), modes[..., k])
        self._switch_to(modes, [(switch.parameter, switch.what, who) for switch, who in switches])

    def _switch_to(self, modes: Array, told: Sequence[tuple[str, str, Array]]) -> None:
        """Change modes (*batch, m), and tell of parameters, in words, and for which members (*batch,)."""
        if not told:
            return
        m, batch = self.asked.mechanism, self.asked.batch
        any_ = np.any([who for _, _, who in told], axis=0)
        after, took = self.rollout.switched(self.now, modes)
        pairs = zip(self.now, after, strict=True)
        self.now = Carry(*(np.where(any_.reshape(batch + (1,) * (x.ndim - any_.ndim)), y, x) for x, y in pairs))
        for index in np.argwhere(any_):
            k = tuple(int(n) for n in index)
            if self.now.code[k] != GOING:
                continue
            at = float(self.now.step[k]) * self.dt
            bridged = took.energy[k] - took.energies[k].sum()  # by moving the mechanism, which only loops do
            for parameter, what, who in told:
                if who[k]:
                    n = holder_of(m, parameter)
                    energy = took.energies[k][n] + (bridged if n < len(m.loops) else 0.0)
                    gap = took.gap[k] if n < len(m.loops) else 0.0
                    self.events.append(event(what, at, k, energy, took.impulses[k][n], took.carried[k][n], gap))

    def _call(self) -> None:
        """New joint forces and memory from a controller in Python, member by member."""
        now, asked = self.now, self.asked
        held, memory, code, modes = (np.array(x) for x in (now.held, now.memory, now.code, now.modes))
        for index in np.ndindex(self.asked.batch):
            if code[index] == GOING:
                _, values = asked.member(index)
                one = Carry(*(np.array(x[index]) for x in now))
                answer = asked.sample(values, float(one.step) * self.dt, one)
                wanted = asked.wanted(answer, one.modes)
                lost = not np.isfinite(np.asarray(answer.forces, dtype=float)).all()
                code[index] = NON_FINITE if lost else refused(asked.switched, wanted)
                if code[index] == GOING:
                    held[index], modes[index] = answer.forces, wanted
                    memory[index] = answer.memory if len(answer.memory) else one.memory
        self.now = now._replace(held=held, memory=memory, code=code)
        self._switch_to(modes, list(self._commanded(modes)))

    def _commanded(self, modes: Array) -> Iterator[tuple[str, str, Array]]:
        """What a controller in Python switches by wanting these modes (*batch, m), in words, and for which members."""
        for name in self.asked.commands:
            k = self.asked.switched.index(name)
            for value in np.unique(modes[..., k]):
                who = (modes[..., k] == value) & (modes[..., k] != self.now.modes[..., k])
                if who.any():
                    yield name, spoken(name, float(value)), who

    def again(self, values: Mapping[str, Any], now: Carry) -> None:
        """One step of one member in plain text."""
        self.task.method.step(self.asked.system(values), float(now.step) * self.dt, now.moving, self.dt, now.held)

    def not_converged(self, values: Mapping[str, Any], now: Carry) -> str:
        """What can be said of a step whose equations were not solved."""
        t, system = float(now.step) * self.dt, self.asked.system(values)
        states: list[tuple[float, Any]] = [(t, now)]
        if system.guards:  # which switch within the step
            with np.errstate(all="ignore"):
                moved, _ = self.task.method.step(system, t, now.moving, self.dt, now.held)
            states.append((t + self.dt, moved))
        for _, one in states:
            if failed := impossible(system.in_modes(one.modes).mechanism, now.q):
                return failed
        if failed := lost_guard(system, *states):
            return failed
        if failed := unsolved(self.task.method, system, t, now.moving, self.dt, now.held):
            return failed.told(self.dt)
        solved = self.task.method.posed is not None
        failed = "its equations were not solved" if solved else "its loops were not closed again"
        return f"{failed} at a step of {self.dt:g} s: try dt={self.dt / 4:g}"

    def _end_row(self) -> None:
        """Where a single run ended between rows, its last state is one more."""
        storage = self.storage
        step = np.asarray(self.now.step)
        if step.ndim == 0 and storage.rows < len(storage.steps) and step > storage.steps[storage.rows - 1]:
            storage.steps[storage.rows] = step
            storage.put(self.rollout.row(self.now)[1], 1)


def ended(now: Carry) -> Array:
    """The step at which each member ended, infinite for those that go on."""
    return np.where(np.asarray(now.code) == GOING, np.inf, now.step)
