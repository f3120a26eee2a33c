"""Running a task piece by piece, so that it can be watched, stopped and kept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from math import gcd
from typing import Any

import numpy as np

from linkwork.simulation.automatic import Choice
from linkwork.simulation.carry import GOING, NON_FINITE, Carry
from linkwork.simulation.integrators import METHODS, ROUNDS
from linkwork.simulation.preparation import Request
from linkwork.simulation.progress import Watch
from linkwork.simulation.rollout import Rollout, Task
from linkwork.simulation.storage import Storage
from linkwork.spatial.scalar import Array

PIECE = 0.2  # seconds that a piece of a run should take: how soon a stop is heard
FIRST = 20_000  # member-steps of the first piece, from which the others are judged
MOST_BYTES = 64 << 20  # of a piece's rows


class FixedSteps:
    """A run by a method with fixed steps: pieces of rows, each one call of the program."""

    def __init__(self, asked: Request, choice: Choice, storage: Storage, target: str, threads: int | None):
        self.asked, self.storage, self.dt = asked, storage, choice.dt
        self.now = asked.start
        sampling = asked.sampling
        self.in_python = sampling is not None and sampling.in_python
        self.tick = 1 if sampling is None else sampling.every(choice.dt)
        # A controller in Python is called between pieces: rows must not reach beyond
        every = gcd(storage.every, self.tick) if self.in_python else storage.every
        self.task = Task(asked, METHODS[choice.method], storage.series, every, self.tick)
        self._rollout = lambda task: Rollout(task, choice.dt, target, threads)
        self.rollout = self._rollout(self.task)

    def go(self, watch: Watch) -> None:
        """Run to the end, telling `watch` the fraction that is done."""
        storage = self.storage
        fresh = storage.steps[0] == 0
        if self.in_python and fresh:
            self._call()
        self.now, row = self.rollout.row(self.now, sample=fresh and self.task.traced_sampler)
        storage.put(row, 1)
        whole = storage.count // storage.every
        if self.in_python:
            self._between_calls(watch)
        else:
            self._pieces(whole, watch)
        rest = storage.count - whole * storage.every
        if rest and not self.in_python and self._going():
            self._advance(self._rollout(replace(self.task, every=rest)), 1)
        if not self._going():
            storage.cut(float(np.max(self.now.step, initial=0.0)))
        self._end_row()
        watch(1.0)

    def _going(self) -> bool:
        return bool((self.now.code == GOING).any())

    def _advance(self, rollout: Rollout, count: int) -> None:
        storage = self.storage
        self.now = rollout.rows(self.now, count, storage.places(), len(storage.steps))
        storage.rows += count

    def _pieces(self, whole: int, watch: Watch) -> None:
        """Rows after rows, as many at a time as take a moment."""
        members = max(1, self.now.step.size)
        most = max(1, MOST_BYTES * len(self.storage.steps) // max(self.storage.bytes, 1))
        count, done = max(1, FIRST // (members * self.storage.every)), 0
        while done < whole and self._going():
            count = min(count, most, whole - done)
            begin = time.perf_counter()
            self._advance(self.rollout, count)
            spent = time.perf_counter() - begin
            done += count
            watch(done / whole)
            count = max(1, int(count * min(8.0, PIECE / max(spent, 1e-6))))

    def _between_calls(self, watch: Watch) -> None:
        """From call to call of a controller in Python."""
        storage, every = self.storage, self.task.every
        done = 0
        while done < storage.count and self._going():
            steps = min(self.tick - done % self.tick, storage.count - done)
            length = every if steps >= every else steps
            rollout = self.rollout if length == every else self._rollout(replace(self.task, every=length))
            count = steps // length
            rows = storage.empty(count)
            self.now = rollout.rows(self.now, count, rows, count)
            numbers = done + length * (1 + np.arange(count))
            wanted = (numbers % storage.every == 0) | (numbers == storage.count)
            done = int(numbers[-1])
            called = done % self.tick == 0
            if called:  # the last row is that of the new forces
                self._call()
            kept = wanted & ~(called & (numbers == done))
            axis = len(self.asked.batch)
            storage.put({name: np.compress(kept, row, axis=axis) for name, row in rows.items()}, int(kept.sum()))
            if called and wanted[-1]:
                storage.put(self.rollout.row(self.now)[1], 1)
            watch(done / storage.count)

    def _call(self) -> None:
        """New joint forces and memory from a controller in Python, member by member."""
        now = self.now
        held, memory, code = (np.array(x) for x in (now.held, now.memory, now.code))
        for index in np.ndindex(self.asked.batch):
            if code[index] == GOING:
                _, values = self.asked.member(index)
                one = Carry(*(np.array(x[index]) for x in now))
                forces, remembered = self.asked.sample(values, float(one.step) * self.dt, one)
                if np.isfinite(np.asarray(forces, dtype=float)).all():
                    held[index], memory[index] = forces, remembered
                else:
                    code[index] = NON_FINITE
        self.now = now._replace(held=held, memory=memory, code=code)

    def again(self, values: Mapping[str, Any], now: Carry) -> None:
        """One step of one member in plain text."""
        self.task.method.step(self.asked.system(values), float(now.step) * self.dt, now.moving, self.dt, now.held)

    def not_converged(self, now: Carry) -> str:
        """What can be said of a step whose equations were not solved."""
        rounds = f"its equations were not solved in {ROUNDS} rounds"
        failed = rounds if self.task.method.name == "midpoint" else "its loops were not closed again"
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
