"""A whole run as one program: control, forces, steps and recording, for one member; and its kernel for any batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from linkwork.model.broadcast import Shape
from linkwork.simulation.events.impulses import Jump, carried_by, jumped
from linkwork.simulation.events.schedule import refused
from linkwork.simulation.events.sources import Line, holder_of, sources, written
from linkwork.simulation.methods.registry import Method
from linkwork.simulation.methods.step import chosen
from linkwork.simulation.problem import Request
from linkwork.simulation.series import Formula, Sample, formulas, of_users, sample_shapes
from linkwork.simulation.state import EVENT, GOING, HUGE, NON_FINITE, NOT_CONVERGED, Carry
from linkwork.spatial.loops import record, repeat
from linkwork.spatial.scalar import Array, Number, maximum, where


@dataclass(frozen=True, eq=False)
class Task:
    """What is run: a request, by a method; how often forces are sampled and rows recorded [steps], and which series."""

    asked: Request
    method: Method
    series: tuple[str, ...]
    every: int = 1
    tick: int = 1

    # --- one member ---

    def step(self, values: Mapping[str, Any], dt: Number, now: Carry) -> Carry:
        """One step, unless the member has ended: it keeps its last good state then, and says why."""
        moved, solved = self.method.step(self.asked.system(values), now.step * dt, now.moving, dt, now.held)
        size: Number = abs(moved.work)
        for x in (*moved.q, *moved.v):
            size = size + abs(x)
        finite = size <= HUGE  # false also where it is not a number
        after = where(solved, where(finite, GOING, NON_FINITE), NOT_CONVERGED)
        going = now.code == GOING
        good = going & (after == GOING)
        if self.asked.stop is not None:
            ended = self.asked.stops_at(values, (now.step + 1.0) * dt, moved.q, moved.v)
            after = where((after == GOING) & ended, EVENT, after)
        return Carry(
            where(good, now.step + 1.0, now.step),
            where(going, after, now.code),
            where(good, moved.q, now.q),
            where(good, moved.v, now.v),
            where(good, moved.work, now.work),
            now.held,
            now.memory,
            where(good, moved.repair, now.repair),
            chosen(good, moved.touch, now.touch),
            chosen(good, moved.slip, now.slip),
            where(going, moved.rounds, now.rounds),
            where(going, maximum(now.most_rounds, moved.rounds), now.most_rounds),
            chosen(good, moved.modes, now.modes),
            chosen(good, moved.armed, now.armed),
            chosen(good, moved.log, now.log),
            where(good, moved.logged, now.logged),
            where(good, moved.left, now.left),
        )

    def sampled(self, values: Mapping[str, Any], dt: Number, now: Carry, always: bool) -> Carry:
        """With new joint forces, if it is time for them."""
        answer = self.asked.sample(values, now.step * dt, now)
        going = now.code == GOING
        if not always:
            going = going & (now.step - self.tick * _floor(now.step / self.tick) == 0.0)
        memory = chosen(going, answer.memory, now.memory) if len(now.memory) else now.memory
        after = now._replace(held=where(going, answer.forces, now.held), memory=memory)
        if not self.asked.commands:
            return after
        wanted = self.asked.wanted(answer, now.modes)
        code = where(going, refused(self.asked.switched, wanted), now.code)
        wanted = where(going & (code == GOING), wanted, now.modes)
        return self._commanded(values, dt, after._replace(code=code), wanted)

    def _commanded(self, values: Mapping[str, Any], dt: Number, now: Carry, wanted: Array) -> Carry:
        """After what a controller switched, with lines of the log that tell it."""
        asked, system = self.asked, self.asked.system(values)
        after, jump, carried = self.switched(values, dt, now, wanted)
        fired, lines, known = [], [], len(sources(system))
        for number, name in enumerate(asked.commands):
            k, holder = asked.switched.index(name), holder_of(system.mechanism, name)
            fired.append(wanted[k] != now.modes[k])
            energy, loop = jump.energies[holder], holder < len(system.mechanism.loops)
            energy = energy + (jump.energy - sum(jump.energies, 0.0) if loop else 0.0)
            told = (energy, jump.impulses[holder], carried[holder], jump.gap if loop else 0.0)
            lines.append(Line(float(known + number), wanted[k], now.step * dt, *told))
        any_: Any = fired[0]
        for one in fired[1:]:
            any_ = any_ | one
        log, logged = written(now.log, now.logged, [one & jump.possible for one in fired], lines)
        after = after._replace(log=log, logged=logged)
        return Carry(*(chosen(any_, a, b) for a, b in zip(after, now, strict=True)))

    @cached_property
    def formulas(self) -> dict[str, Formula]:
        """What computes each recorded series."""
        return formulas(self.asked.facts, self.series)

    @cached_property
    def shapes(self) -> list[Shape]:
        """The shapes of one sample of all recorded series."""
        return sample_shapes(self.asked.facts, self.series)

    def sample(self, values: Mapping[str, Any], dt: Number, now: Carry) -> Sample:
        """What recorded series are computed from in a state."""
        t, asked = now.step * dt, self.asked
        return Sample(t, now, values, lambda: asked.system(values), lambda state: asked.motor_forces(values, t, state))

    def row(self, values: Mapping[str, Any], dt: Number, now: Carry) -> tuple[Any, ...]:
        """What is recorded of a state."""
        sample = self.sample(values, dt, now)
        return tuple(formula(sample) for formula in self.formulas.values())

    def steps(self, values: Mapping[str, Any], dt: Number, now: Carry, count: Any) -> Carry:
        """`count` steps without a row."""

        def one(_: Number, *state: Any) -> tuple[Any, ...]:
            after = self.step(values, dt, Carry(*state))
            return tuple(self.sampled(values, dt, after, always=self.tick == 1) if self.asked.traced_sampler else after)

        return Carry(*repeat(count, one, *now))

    def switched(self, values: Mapping[str, Any], dt: Number, now: Carry, modes: Array) -> tuple[Carry, Jump, Array]:
        """After the jump that follows where modes (m,) become these; one who cannot make it has ended.

        With it comes what loops and holders carry (n,) [N or N m], where they let go what they did.
        """
        system, going, t = self.asked.system(values), now.code == GOING, now.step * dt
        carried = carried_by(system.in_modes(now.modes), t, now.moving, now.held)
        jump = jumped(system.in_modes(modes), now.q, now.v, now.slip)
        good = going & jump.possible
        after = now._replace(
            code=where(going, where(jump.possible, now.code, NOT_CONVERGED), now.code),
            q=where(good, jump.q, now.q),
            v=where(good, jump.v, now.v),
            work=where(good, now.work + jump.energy, now.work),
            slip=chosen(good, jump.slip, now.slip),
            modes=chosen(going, modes, now.modes),
        )
        loads = carried_by(system.in_modes(modes), t, after.moving, now.held)
        return after, jump, np.array([where(b == 0.0, a, b) for a, b in zip(carried, loads, strict=True)])

    def rows(self, values: Mapping[str, Any], dt: Number, now: Carry, count: Any) -> tuple[Carry, tuple[Any, ...]]:
        """`count` times: so many steps as there are between rows, then a row."""
        inner = gcd(self.every, self.tick) if self.asked.traced_sampler else self.every

        def block(_: Number, *state: Any) -> tuple[Any, ...]:
            after = _repeated(inner, lambda _, *s: tuple(self.step(values, dt, Carry(*s))), *state)
            if not self.asked.traced_sampler:
                return after
            return tuple(self.sampled(values, dt, Carry(*after), always=inner == self.tick))

        def body(_: Number, *state: Any) -> tuple[Any, Any]:
            after = _repeated(self.every // inner, block, *state)
            return after, self.row(values, dt, Carry(*after))

        last, series = record(count, body, *now)
        return Carry(*last), series


def _repeated(count: int, body: Callable[..., tuple[Any, ...]], *state: Any) -> tuple[Any, ...]:
    """`count` rounds; one is no loop."""
    return body(0.0, *state) if count == 1 else repeat(count, body, *state)


def _floor(x: Number) -> Number:
    return np.floor(x)


# --- any batch ---


class Switched(NamedTuple):
    """What switching took, of every member: gap [m or rad] and energy [J] (*batch,), by loop and holder the rest.

    `energies` (*batch, n) [J], `impulses` (*batch, n) [N s or N m s] and what is `carried` (*batch, n) [N or N m].
    """

    gap: Array
    energy: Array
    energies: Array
    impulses: Array
    carried: Array


class Rollout:
    """A task's program in machine code, or in plain text: rows after rows for every member of a batch."""

    def __init__(self, task: Task, dt: float, target: str, threads: int | None):
        self.task, self.dt, self.threads, self.target = task, dt, threads, target
        self._kernels: dict[str, Any] = {}

    @cached_property
    def _users_formulas(self) -> str:
        """A name for what users' series compute; empty without them."""
        from linkwork.simulation.runners.run_kernels import formula_digest

        task = self.task
        users = [task.formulas[name] for name in of_users(task.asked.facts, task.series)]
        return formula_digest(task.asked, lambda *at: tuple(one(task.sample(*at)) for one in users)) if users else ""

    def rows(self, now: Carry, count: int, places: Mapping[str, Array], room: int) -> Carry:
        """The state (*batch, ...) after so many rows, each series written to its place.

        A place is where the first row goes in an array (*batch, room, ...) in C order.
        """
        return Carry(*self._run("run", now, (count, room), places)[: len(now)])

    def row(self, now: Carry, sample: bool = False) -> tuple[Carry, dict[str, Array]]:
        """The state itself, if `sample` with new joint forces of a sampled controller, and its row (*batch, 1, ...)."""
        size, axis = len(now), len(self.task.asked.batch)
        found = self._run("first row, sampled" if sample else "first row", now, ())
        rows = zip(self.task.series, found[size:], strict=True)
        return Carry(*found[:size]), {name: np.expand_dims(row, axis) for name, row in rows}

    def steps(self, now: Carry, count: int) -> Carry:
        """The state (*batch, ...) after so many steps."""
        return Carry(*self._run("steps", now, (count,)))

    def switched(self, now: Carry, modes: Array) -> tuple[Carry, Switched]:
        """The state (*batch, ...) after modes (*batch, m) became these, and what that took."""
        found = self._run("switch", now, (), modes=modes)
        return Carry(*found[: len(now)]), Switched(*found[len(now) :])

    def _program(self, what: str, *inputs: Any) -> tuple[Any, ...]:
        """One member: its state, the step, its values, and for a run how many rows."""
        size, names = len(Carry._fields), list(self.task.asked.values)
        now, dt = Carry(*inputs[:size]), inputs[size]
        values = dict(zip(names, inputs[size + 1 :], strict=False))
        if what == "run":
            last, series = self.task.rows(values, dt, now, inputs[-1])
            return (*last, *series)
        if what == "steps":
            return tuple(self.task.steps(values, dt, now, inputs[-1]))
        if what == "switch":
            after, jump, carried = self.task.switched(values, dt, now, inputs[-1])
            return (*after, jump.gap, jump.energy, jump.energies, jump.impulses, carried)
        if what == "first row, sampled":
            now = self.task.sampled(values, dt, now, always=True)
        return (*now, *self.task.row(values, dt, now))

    def _run(
        self,
        what: str,
        now: Carry,
        counts: tuple[int, ...],
        places: Mapping[str, Array] | None = None,
        modes: Array | None = None,
    ) -> list[Array]:
        asked, task = self.task.asked, self.task
        batch, values = asked.batch, asked.values
        shapes = [np.shape(x)[len(batch) :] for x in now]
        cores = [*shapes, (), *map(asked.core, values)]
        arrays = [*now, np.asarray(self.dt), *values.values()]
        if modes is not None:
            cores, arrays = [*cores, (len(asked.switched),)], [*arrays, modes]
        program = partial(self._program, what)
        more = () if what == "steps" else Switched._fields if what == "switch" else task.series
        outs: list[Array | None] = [None] * len(now) + [None if places is None else places[name] for name in more]
        if self.target == "numpy":
            found = _in_plain_text(program, arrays, cores, batch, counts[:1])
            for out, series in zip(outs, found, strict=True):
                if out is not None:
                    out[(*(slice(None),) * len(batch), slice(0, counts[0]))] = series
            return found
        from linkwork.simulation.runners.run_kernels import Count, Rows, kernel_of

        if what not in self._kernels:
            rows: list[Any] = list(task.shapes) if more else []
            if what == "switch":
                m = asked.mechanism
                rows = [(), (), *[(len(m.loops) + len(m.holders),)] * 3]
            results = [*shapes, *([Rows(Count(0), row, room=Count(1)) for row in rows] if counts else rows)]
            name = (
                what,
                task.method.title,
                f"{task.series} {self._users_formulas}",
                f"{task.every} {task.tick}",
                repr(list(asked.parameters)),
            )
            self._kernels[what] = kernel_of(asked, name, program, cores, results, len(counts[:1]))
        return self._kernels[what].over_batch(arrays, batch, self.threads, outs, counts)[0]


def _in_plain_text(
    program: Callable[..., Any],
    arrays: Sequence[Array],
    cores: Sequence[Shape],
    batch: Shape,
    counts: tuple[int, ...],
) -> list[Array]:
    """The program on floats, member by member: the reference."""
    size = int(np.prod(batch, dtype=int))
    flat = [np.broadcast_to(a, batch + core).reshape(size, *core) for a, core in zip(arrays, cores, strict=True)]
    with np.errstate(all="ignore"):
        found = [program(*(a[k] for a in flat), *counts) for k in range(size)]
    return [np.array(one, dtype=float).reshape(batch + np.shape(one[0])) for one in zip(*found, strict=True)]
