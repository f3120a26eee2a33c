"""Compiled program of a run: control, integration steps and recording of one batch member, applied to all members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from linkwork.compiler import Kernel
from linkwork.model.batch_broadcasting import Shape
from linkwork.simulation.contact_families import contact_families
from linkwork.simulation.events.energy_attribution import shares
from linkwork.simulation.events.event_log import Line, write
from linkwork.simulation.events.event_sources import any_of, constraint_number, sources
from linkwork.simulation.events.impulses import Impact, constraint_forces, impact
from linkwork.simulation.events.schedule import command_status
from linkwork.simulation.methods.method_registry import Method
from linkwork.simulation.runners.run_kernels import Count, Rows, formula_digest, kernel_of
from linkwork.simulation.series import Formula, Sample, formulas, of_users, sample_shapes
from linkwork.simulation.simulation_problem import Problem
from linkwork.simulation.solid_memory_rows import is_in_place, with_memory_array, with_memory_rows
from linkwork.simulation.state import (
    EVENT,
    NON_FINITE,
    NOT_CONVERGED,
    RUNNING,
    Leaves,
    MemberState,
    flatten,
    select,
    unflatten,
)
from linkwork.simulation.user_functions import Values
from linkwork.simulation.work_ledger import CLUTCHES
from linkwork.spatial.scalar import Array, Number, Value, maximum, where
from linkwork.spatial.traceable_loops import iterate, record, repeat
from linkwork.tolerances import HUGE


@dataclass(frozen=True, eq=False)
class MemberProgram:
    """Program of one batch member: problem, method, recorded series, and number of steps between samples (`every`).

    A sampled controller is called every `tick` steps. The arguments of the methods are the parameters and gains of the
    member by name (`values`), the step `dt` [s], and the state of the member (`now`).
    """

    problem: Problem
    method: Method
    series: tuple[str, ...]
    every: int = 1
    tick: int = 1

    def step(self, values: Values, dt: Number, now: MemberState) -> MemberState:
        """Return the state after one step dt [s] from `now`; the state of a member that has ended does not change.

        In the state of an ended member, `status` is the reason for the end. `values` are the member's parameters and
        gains. With solids, no step is computed for an ended member, because a step from an invalid state may take a
        thousand times longer.
        """
        if not any(family.skips_ended_members for family in contact_families(self.problem.mechanism)):
            return self._always_stepped(values, dt, now)

        def once(*state: Value) -> tuple[Leaves, bool]:
            return tuple(flatten(self._always_stepped(values, dt, unflatten(now, state)))), True

        return unflatten(now, iterate(1, once, *flatten(now), start=now.status == RUNNING)[0])

    def _always_stepped(self, values: Values, dt: Number, now: MemberState) -> MemberState:
        """Return the result of `step`, with the arguments of `step`; for members that have ended, the step is computed
        and then discarded.
        """
        before, system = now.motion, self.problem.system(values)
        moved, solved = self.method.step(system, now.step * dt, before, dt, system.clipped(now.control))
        size: Number = abs(moved.work)
        for x in (*moved.q, *moved.v):
            size = size + abs(x)
        finite = size <= HUGE  # false for nan, because comparisons with nan are false
        after = where(solved, where(finite, RUNNING, NON_FINITE), NOT_CONVERGED)
        running = now.status == RUNNING
        good = running & (after == RUNNING)
        before = before._replace(solid_memory=moved.solid_memory) if is_in_place(moved.solid_memory) else before
        if self.problem.stop is not None:
            ended = self.problem.stops_at(values, (now.step + 1.0) * dt, moved.q, moved.v)
            after = where((after == RUNNING) & ended, EVENT, after)
        iterations = moved.solver.iterations
        return now._replace(
            step=where(good, now.step + 1.0, now.step),
            status=where(running, after, now.status),
            motion=select(good, moved, before).solved_in(where(running, iterations, before.solver.iterations)),
            most_iterations=where(running, maximum(now.most_iterations, iterations), now.most_iterations),
        )

    def steps(self, values: Values, dt: Number, now: MemberState, count: int | Count) -> MemberState:
        """Return the state after `count` steps dt [s] from the state `now`, without recording.

        `values` are the member's parameters and gains.
        """

        def one(_: Number, *state: Value) -> Leaves:
            after = self.step(values, dt, unflatten(now, state))
            sampled = self.problem.traced_sampler
            return tuple(flatten(self.sampled(values, dt, after, self.tick == 1) if sampled else after))

        now = with_memory_rows(self.problem, now)
        return with_memory_array(unflatten(now, repeat(count, one, *flatten(now))))

    def run_samples(
        self, values: Values, dt: Number, now: MemberState, count: int | Count
    ) -> tuple[MemberState, Leaves]:
        """Return the last state and the recorded series of a run from the state `now` for `count` samples.

        For each sample, the program makes `every` steps of dt [s] and evaluates every series. `values` are the member's
        parameters and gains.
        """
        sampled = self.problem.traced_sampler
        inner = gcd(self.every, self.tick) if sampled else self.every

        def one(_: Number, *state: Value) -> Leaves:
            return tuple(flatten(self.step(values, dt, unflatten(now, state))))

        def block(_: Number, *state: Value) -> Leaves:
            after = _repeated(inner, one, *state)
            if not sampled:
                return after
            return tuple(flatten(self.sampled(values, dt, unflatten(now, after), always=inner == self.tick)))

        def body(_: Number, *state: Value) -> tuple[Leaves, Leaves]:
            after = _repeated(self.every // inner, block, *state)
            return after, self.series_values(values, dt, with_memory_array(unflatten(now, after)))

        now = with_memory_rows(self.problem, now)
        last, series = record(count, body, *flatten(now))
        return with_memory_array(unflatten(now, last)), series

    @cached_property
    def formulas(self) -> dict[str, Formula]:
        """The formula of each recorded series, by name."""
        return formulas(self.problem.facts, self.series)

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """The shape of one sample of each recorded series, by name."""
        return dict(zip(self.series, sample_shapes(self.problem.facts, self.series), strict=True))

    def sample(self, values: Values, dt: Number, now: MemberState) -> Sample:
        """Return the `Sample` of the state `now`, from which the formulas of recorded series compute their values.

        `values` are the member's parameters and gains.
        """
        t, problem = now.step * dt, self.problem
        return Sample(
            t, now, values, lambda: problem.system(values), lambda state: problem.motor_forces(values, t, state)
        )

    def series_values(self, values: Values, dt: Number, now: MemberState) -> tuple[Array, ...]:
        """Return one sample of every recorded series, evaluated in the state `now`.

        `values` are the member's parameters and gains.
        """
        sample = self.sample(values, dt, now)
        return tuple(formula(sample) for formula in self.formulas.values())

    # --- sampled controllers, and switches by controllers and schedules ---

    def sampled(self, values: Values, dt: Number, now: MemberState, always: bool) -> MemberState:
        """Return the state `now` after a call of the sampled controller if a call is due or `always` is true, else
        `now` unchanged.

        `values` are the member's parameters and gains.
        """
        answer = self.problem.sample(values, now.step * dt, now)
        running = now.status == RUNNING
        if not always:
            running = running & (now.step - self.tick * _floor(now.step / self.tick) == 0.0)
        memory = select(running, answer.memory, now.memory) if len(now.memory) else now.memory
        after = now._replace(control=where(running, answer.forces, now.control), memory=memory)
        if not self.problem.commands:
            return after
        wanted = self.problem.wanted(answer, now.motion.modes)
        status = where(running, command_status(self.problem.switched, wanted), now.status)
        wanted = where(running & (status == RUNNING), wanted, now.motion.modes)
        return self._commanded(values, dt, after._replace(status=status), wanted)

    def _commanded(self, values: Values, dt: Number, now: MemberState, wanted: Array) -> MemberState:
        """Return the state after the controller has switched all switchable parameters to `wanted` (m,), with events in
        the log.

        `now` is the state before, and `values` are the member's parameters and gains.
        """
        problem, system = self.problem, self.problem.system(values)
        after, found, carried = self.switched(values, dt, now, wanted)
        places = [problem.switched.index(name) for name in problem.commands]
        constraints = [constraint_number(system.mechanism, name) for name in problem.commands]
        fired, lines, known = [wanted[k] != now.motion.modes[k] for k in places], [], len(sources(system))
        each = shares(constraints, fired, found.energies, found.impulses, found.gaps)
        for number, (k, n, share) in enumerate(zip(places, constraints, each, strict=True)):
            took = (share.energy, share.impulse, carried[n], share.gap)
            lines.append(Line(float(known + number), wanted[k], now.step * dt, *took))
        log = write(now.motion.log, [one & found.possible for one in fired], lines)
        return select(any_of(fired), after.moved(log=log), now)

    def switched(self, values: Values, dt: Number, now: MemberState, modes: Array) -> tuple[MemberState, Impact, Array]:
        """Return the state after all switchable parameters are set to `modes` (m,), the impact, and the n constraint
        forces.

        `now` is the state before, and `values` are the member's parameters and gains. If the constraints cannot be
        satisfied, the run of the member ends. The constraint forces (n,) [N or N m] are those after the impact, or
        those before it if a force is 0 after it, as for released constraints.
        """
        system, running, t = self.problem.system(values), now.status == RUNNING, now.step * dt
        motion, held = now.motion, system.clipped(now.control)
        before = constraint_forces(system.in_modes(motion.modes), t, motion, held)
        found = impact(system.in_modes(modes), now.q, now.v, motion.slip)
        good = running & found.possible
        after = now._replace(
            status=where(running, where(found.possible, now.status, NOT_CONVERGED), now.status),
            motion=motion._replace(
                q=where(good, found.q, now.q),
                v=where(good, found.v, now.v),
                work=where(good, motion.work + found.energy, motion.work),
                slip=select(good, found.slip, motion.slip),
                modes=select(running, modes, motion.modes),
            ),
        )
        engaged = sum(found.energies[len(system.mechanism.frame_constraints) :], 0.0)
        after = after._replace(motion=after.motion.with_work_of(CLUTCHES, where(good, engaged, 0.0)))
        forces = constraint_forces(system.in_modes(modes), t, after.motion, held)
        return after, found, np.array([where(b == 0.0, a, b) for a, b in zip(before, forces, strict=True)])


def _repeated(count: int, body: Callable[..., Leaves], *state: Value) -> Leaves:
    """Return the state after `count` repetitions of a loop body; a single repetition needs no compiled loop."""
    return body(0.0, *state) if count == 1 else repeat(count, body, *state)


def _floor(x: Number) -> Number:
    return np.floor(x)


# --- batches ---


class Switched(NamedTuple):
    """Effects of switched parameters, such as `engaged` of a clutch, in arrays (*batch, n): for each batch member and
    constraint.

    `energies` [J] are the energies gained, `impulses` [N s or N m s] the constraint impulses, `carried` [N or N m] the
    constraint forces, and `gaps` [m or rad] the loop closure errors that were removed.
    """

    energies: Array
    impulses: Array
    carried: Array
    gaps: Array


RUN, STEPS, SWITCH, SAMPLE, FIRST_SAMPLE = "run", "steps", "switch", "sample", "first sample, controlled"


class NotCompiled(Exception):
    """Raised by a trial run that needs a kernel that the first run did not compile; trial runs compile no kernels."""


class BatchProgram:
    """Program of a run for all members of a batch, compiled or in plain Python.

    If `kernels`, another program of the same problem, is given, the program uses its kernels and compiles none.
    """

    def __init__(
        self,
        program: MemberProgram,
        dt: float,
        target: str,
        threads: int | None,
        kernels: BatchProgram | None = None,
    ):
        self.program, self.dt, self.threads, self.target = program, dt, threads, target
        self._kernels: dict[str, Kernel] = {} if kernels is None else kernels._kernels
        self._compiles = kernels is None

    def run_samples(self, now: MemberState, count: int, places: Mapping[str, Array], capacity: int) -> MemberState:
        """Return the state of all members after `count` samples from the state `now`; write the samples to `places`.

        `places` has, for each series, a view into an array (*batch, capacity, ...) in C order that begins at the first
        sample to write.
        """
        return unflatten(now, self._run(RUN, now, (count, capacity), places)[: len(flatten(now))])

    def sample(self, now: MemberState, control: bool = False) -> tuple[MemberState, dict[str, Array]]:
        """Return the state `now` of all members, and one sample (*batch, 1, ...) of each series by name.

        If `control` is true, the sampled controller is called first; it may change the state.
        """
        size, axis = len(flatten(now)), len(self.program.problem.batch)
        found = self._run(FIRST_SAMPLE if control else SAMPLE, now, ())
        values = zip(self.program.series, found[size:], strict=True)
        return unflatten(now, found[:size]), {name: np.expand_dims(value, axis) for name, value in values}

    def steps(self, now: MemberState, count: int) -> MemberState:
        """Return the state of all members after `count` steps from the state `now`."""
        return unflatten(now, self._run(STEPS, now, (count,)))

    def switched(self, now: MemberState, modes: Array) -> tuple[MemberState, Switched]:
        """Return the state after all switchable parameters in `now` are set to `modes` (*batch, m), and the effects of
        these switches.
        """
        found, size = self._run(SWITCH, now, (), modes=modes), len(flatten(now))
        return unflatten(now, found[:size]), Switched(*found[size:])

    def _member(self, what: str, like: MemberState, *inputs: Any) -> Leaves:
        """Run the program named `what` for one batch member; return its state and its results as flat lists.

        `inputs` are the leaves (arrays) of the member's state, the step dt [s], the member's parameters and gains, and
        the count of samples or steps, or the new modes. `like` is a state with the same structure.
        """
        program, size = self.program, len(flatten(like))
        now, dt = unflatten(like, inputs[:size]), inputs[size]
        values = dict(zip(program.problem.values, inputs[size + 1 :], strict=False))
        if what == RUN:
            last, series = program.run_samples(values, dt, now, inputs[-1])
            return (*flatten(last), *series)
        if what == STEPS:
            return tuple(flatten(program.steps(values, dt, now, inputs[-1])))
        if what == SWITCH:
            after, found, carried = program.switched(values, dt, now, inputs[-1])
            return (*flatten(after), found.energies, found.impulses, carried, found.gaps)
        if what == FIRST_SAMPLE:
            now = program.sampled(values, dt, now, always=True)
        return (*flatten(now), *program.series_values(values, dt, now))

    def _run(
        self,
        what: str,
        now: MemberState,
        counts: tuple[int, ...],
        places: Mapping[str, Array] | None = None,
        modes: Array | None = None,
    ) -> list[Array]:
        """Return the state and the results of the program named `what`, for all members from the state `now`.

        `counts` are the numbers of samples or steps and the capacity of the arrays `places`, to which samples are
        written. `modes` (*batch, m) are the new values of all switchable parameters.
        """
        problem, batch, leaves = self.program.problem, self.program.problem.batch, flatten(now)
        shapes = [np.shape(x)[len(batch) :] for x in leaves]
        cores = [*shapes, (), *map(problem.core, problem.values)]
        arrays = [*leaves, np.asarray(self.dt), *problem.values.values()]
        if modes is not None:
            cores, arrays = [*cores, (len(problem.switched),)], [*arrays, modes]
        one, more = partial(self._member, what, now), self._results(what)
        outs: list[Array | None] = [None] * len(leaves) + [None if places is None else places[name] for name in more]
        if self.target == "numpy":
            found = _in_plain_python(one, arrays, cores, batch, counts[:1])
            for out, series in zip(outs, found, strict=True):
                if out is not None:
                    out[(*(slice(None),) * len(batch), slice(0, counts[0]))] = series
            return found
        if what not in self._kernels:
            if not self._compiles:
                raise NotCompiled(what)
            samples = list(more.values())
            results = [
                *shapes,
                *([Rows(Count(0), shape, capacity=Count(1)) for shape in samples] if counts else samples),
            ]
            self._kernels[what] = kernel_of(problem, self._name(what), one, cores, results, len(counts[:1]))
        return self._kernels[what].over_batch(arrays, batch, self.threads, outs, counts)[0]

    def _results(self, what: str) -> dict[str, Shape]:
        """Return the names and shapes, for one batch member, of the results of the program `what` besides the state."""
        problem = self.program.problem
        if what == STEPS:
            return {}
        if what == SWITCH:
            return dict.fromkeys(Switched._fields, (len(problem.mechanism.constraints),))
        return self.program.shapes

    @cached_property
    def _series_name(self) -> str:
        return series_name(self.program)

    def _name(self, what: str) -> tuple[str, ...]:
        """Return the texts that distinguish the program `what` from the other programs of the same problem."""
        program = self.program
        timing = f"{program.every} {program.tick}"
        return what, program.method.title, self._series_name, timing, repr(list(program.problem.parameters))


def series_name(program: MemberProgram) -> str:
    """Return a text that identifies the series that `program` records, for the name of its kernel.

    The text has the names of the series, and a hash of user-defined formulas.
    """
    users = [program.formulas[name] for name in of_users(program.problem.facts, program.series)]
    formulas = users and formula_digest(program.problem, lambda *at: tuple(one(program.sample(*at)) for one in users))
    return f"{program.series} {formulas or ''}"


def _in_plain_python(
    program: Callable[..., Leaves],
    arrays: Sequence[Array],
    cores: Sequence[Shape],
    batch: Shape,
    counts: tuple[int, ...],
) -> list[Array]:
    """Return the results of the function `program` of a run on floats, one batch member after the other, as a
    reference.

    `arrays` are the inputs: each has the shape of one member in `cores`, with the axes of `batch` in front or without
    them. `counts` are the loop counts, passed after the arrays. The results have the batch axes in front.
    """
    size = int(np.prod(batch, dtype=int))
    flat = [np.broadcast_to(a, batch + core).reshape(size, *core) for a, core in zip(arrays, cores, strict=True)]
    with np.errstate(all="ignore"):
        found = [program(*(a[k] for a in flat), *counts) for k in range(size)]
    return [np.array(one, dtype=float).reshape(batch + np.shape(one[0])) for one in zip(*found, strict=True)]
