"""Runner for methods with fixed steps.

Runs are divided into pieces, to show progress, to stop on Ctrl-C, and to call Python code between pieces.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from math import gcd
from typing import NamedTuple, overload

import numpy as np

from linkwork.simulation.events.energy_attribution import shares
from linkwork.simulation.events.event_log import Line, event, events_of
from linkwork.simulation.events.event_sources import constraint_number, sources
from linkwork.simulation.events.schedule import Switch, command_status, mode_event
from linkwork.simulation.method_choice import Choice
from linkwork.simulation.methods.compliant_contact_steps import contact_event
from linkwork.simulation.methods.method_registry import method_of_order
from linkwork.simulation.recording import Storage
from linkwork.simulation.results.outcomes import Event
from linkwork.simulation.runners.compiled_run import BatchProgram, MemberProgram
from linkwork.simulation.runners.progress import Watch
from linkwork.simulation.simulation_problem import Problem
from linkwork.simulation.state import NON_FINITE, RUNNING, EventLog, MemberState, flatten, member, unflatten
from linkwork.simulation.user_functions import Values
from linkwork.spatial.scalar import Array

FIRST_LOCATED = 100  # largest number of steps of the first piece, if contact events may fill the log
# largest ratio of the sizes of successive pieces; the same after an event log overflowed
GROWTH, GROWTH_LOGGED = 8.0, 2.0
MOST_BYTES = 64 << 20  # largest size of the samples of a piece [bytes]


class Pieces(NamedTuple):
    """Size of the pieces of a run: the intended computing time `seconds` [s] of a piece, and the size of the `first`
    piece.

    Ctrl-C takes effect after at most one piece. The size of a piece is the number of its steps times the number of
    batch members; the size of each later piece follows from the computing time of the previous piece.
    """

    seconds: float = 0.2
    first: int = 20_000


PIECES, TRIAL_PIECES = Pieces(), Pieces(seconds=0.02, first=1)


class FixedSteps:
    """A run by a method with fixed steps, in pieces: each piece is one call of the compiled program.

    Between pieces, the runner calls controllers that run in Python and applies the schedule. A trial run uses the
    `kernels` of another run. `target` is "cpu" or "numpy".
    """

    def __init__(
        self,
        problem: Problem,
        choice: Choice,
        storage: Storage,
        target: str,
        threads: int | None,
        pieces: Pieces = PIECES,
        kernels: BatchProgram | None = None,
    ):
        self.problem, self.storage, self.dt, self.choice = problem, storage, choice.dt, choice
        self.target = target
        # index of the batch member whose failure was diagnosed by trial runs
        self.advised: tuple[int, ...] | None = None
        self.now, self.done = _with_contact_log(problem, choice.locate), 0
        sampling = problem.sampling
        self.in_python = problem.in_python
        self.tick = 1 if sampling is None else sampling.every(choice.dt)
        # A controller in Python is called between two pieces, so that a piece must not be longer than its period
        every = gcd(storage.every, self.tick) if self.in_python else storage.every
        method = method_of_order(choice.method, choice.order, choice.locate)
        self.program = MemberProgram(problem, method, storage.series, every, self.tick)
        self.batch_program = BatchProgram(self.program, choice.dt, target, threads, kernels)
        self.switches: dict[int, list[tuple[Switch, Array]]] = {}  # by step: switches, and their members (*batch,)
        for switch in problem.switches:
            if switch.guarded:
                continue
            steps = np.broadcast_to(np.round(switch.when / choice.dt - storage.steps[0]), problem.batch)
            for step in np.unique(steps):
                self.switches.setdefault(int(step), []).append((switch, steps == step))
        self.events: list[Event] = []
        some = problem.has_events and 0 not in problem.batch
        self.sources = sources(problem.system(problem.member(problem.first)[1])) if some else []
        self._stride = every  # steps between reads of the log
        pairs = len(problem.mechanism.solid_pairs)  # the time of a step is proportional to the number of solid pairs
        self._seconds, first = pieces.seconds, pieces.first // max(1, self.now.step.size * (1 + pairs))
        self._count = max(1, (min(first, FIRST_LOCATED) if choice.locate else first) // every)  # samples of a piece
        self._growth = GROWTH

    def go(self, watch: Watch) -> None:
        """Run all batch members to the end; call `watch` with the completed fraction."""
        storage = self.storage
        fresh = storage.steps[0] == 0
        if fresh and self.in_python:
            self._call()
        self._switch()
        self.now, first = self.batch_program.sample(self.now, control=fresh and self.problem.traced_sampler)
        self._read_log()
        storage.put(first, 1)
        for stop in self._stops():
            self._advance(stop, watch)
            if not self._running():
                storage.cut(float(np.max(self.now.step, initial=0.0)))
                break
            self._act()
        self._last_sample()
        watch(1.0)

    def _stops(self) -> list[int]:
        """Return, sorted, the step numbers after which the compiled program returns to Python, and the last step
        number.

        Python then calls a controller or applies the schedule.
        """
        last = self.storage.count
        calls = range(self.tick, last, self.tick) if self.in_python else ()
        return sorted({*calls, *(step for step in self.switches if 0 < step < last), last})

    def _running(self) -> bool:
        """Return whether any batch member still runs."""
        return bool((self.now.status == RUNNING).any())

    @overload
    def _wanted(self, steps: int) -> bool: ...

    @overload
    def _wanted(self, steps: Array) -> Array: ...

    def _wanted(self, steps: int | Array) -> bool | Array:
        """Return whether the run records a sample after the given number of steps."""
        return (steps % self.storage.every == 0) | (steps == self.storage.count)

    def _advance(self, stop: int, watch: Watch) -> None:
        """Run pieces of the compiled program until `stop` steps are done; call `watch` with the completed fraction."""
        storage, length = self.storage, self.program.every
        most = max(1, MOST_BYTES * len(storage.steps) // max(storage.bytes, 1))
        while self.done < stop and self._running():
            left = min(length - self.done % length, stop - self.done, self._stride)
            if left < length:
                self._try(lambda left=left: self._steps(left), left)
                continue
            count = min(self._count, most, (stop - self.done) // length)
            begin = time.perf_counter()
            if self._try(lambda count=count: self._samples(count), count * length):
                spent = time.perf_counter() - begin
                self._count = max(1, int(count * min(self._growth, self._seconds / max(spent, 1e-6))))
                watch(self.done / storage.count)

    def _try(self, piece: Callable[[], None], steps: int) -> bool:
        """Run one piece of `steps` steps by a call of `piece`; return whether the piece was completed.

        If the event log overflows, the piece is undone, and later pieces are shorter.
        """
        before = self.now, self.done, self.storage.samples
        piece()
        length, log = self.program.every, self.now.motion.log
        if (log.count <= log.lines.shape[-2]).all() or steps == 1:
            self._read_log()
            self._stride = min(length, 2 * self._stride)
            return True
        self.now, self.done, self.storage.samples = before
        self._growth, fits = GROWTH_LOGGED, self._steps_that_fit(log, steps)
        if steps > length:
            self._count = max(1, fits // length)
        else:
            self._stride = fits
        return False

    def _steps_that_fit(self, log: EventLog, steps: int) -> int:
        """Return how many of `steps` steps have events that fit into the event log: the steps before the time of the
        log's last line.
        """
        full = np.asarray(log.count) > log.lines.shape[-2]
        times = log.lines[..., -1, Line._fields.index("time")]
        fits = int(np.asarray(np.floor(times / self.dt) - self.now.step)[full].min())
        return max(1, fits if fits < steps else steps // 2)

    def _read_log(self) -> None:
        """Convert the event log lines of all batch members to events, and clear the logs."""
        log = self.now.motion.log
        counts = np.asarray(log.count)
        if counts.any():
            for index in np.argwhere(counts > 0.0):
                k = tuple(int(n) for n in index)
                self.events += events_of(self._text, log.lines[k], int(counts[k]), k)
            self.now = self.now.moved(log=log._replace(count=np.zeros_like(counts)))

    def _text(self, source: int, result: float) -> str:
        """Return the text of an event, given the numbers of its source and its result in the event log.

        Contact pairs have negative source numbers. The other sources are numbered in the order slip, latches, guards,
        switchable parameters that the controller commands.
        """
        if source < 0:
            return contact_event(self.problem.mechanism, source, result)
        if source < len(self.sources):
            return self.sources[source].what[int(result) + 1]
        return mode_event(self.problem.commands[source - len(self.sources)], result)

    def _steps(self, count: int) -> None:
        """Run `count` steps without recording; record the state after them if the run records a sample there."""
        self.now = self.batch_program.steps(self.now, count)
        self.done += count
        if self._wanted(self.done):
            self.storage.put(self.batch_program.sample(self.now)[1], 1)

    def _samples(self, count: int) -> None:
        """Run the steps between `count` samples of the program, and store those samples that the run records."""
        storage, length = self.storage, self.program.every
        steps = self.done + length * (1 + np.arange(count))
        self.done = int(steps[-1])
        if length == storage.every:  # the run records all samples of the piece: write them directly to the storage
            self.now = self.batch_program.run_samples(self.now, count, storage.places(), len(storage.steps))
            storage.samples += count
            return
        samples, wanted = storage.empty(count), self._wanted(steps)
        self.now = self.batch_program.run_samples(self.now, count, samples, count)
        axis = len(self.problem.batch)
        storage.put({name: np.compress(wanted, x, axis=axis) for name, x in samples.items()}, int(wanted.sum()))

    # --- actions of Python between pieces ---

    def _act(self) -> None:
        """Call a controller that runs in Python, and apply the schedule, between two pieces of a run.

        If the present step has a recorded sample, the new sample replaces it.
        """
        called = self.in_python and self.done % self.tick == 0
        if called:
            self._call()
        if (self._switch() or called) and self._wanted(self.done):
            self.storage.samples -= 1
            self.storage.put(self.batch_program.sample(self.now)[1], 1)

    def _switch(self) -> bool:
        """Apply the schedule entries of the present step in order of time; return whether there were any entries."""
        left = self.switches.get(self.done, [])
        anything = bool(left)
        while left:
            first = np.min([np.where(who, switch.when, np.inf) for switch, who in left], axis=0)
            self._switch_at_once([(switch, who & (switch.when == first)) for switch, who in left])
            later = [(switch, who & (switch.when > first)) for switch, who in left]
            left = [(switch, who) for switch, who in later if who.any()]
        return anything

    def _switch_at_once(self, switches: Sequence[tuple[Switch, Array]]) -> None:
        """Apply schedule entries with equal times: pairs of a `Switch` and the batch members (*batch,) that it
        switches.
        """
        modes = np.array(self.now.motion.modes)
        for switch, who in switches:
            k = self.problem.switched.index(switch.parameter)
            modes[..., k] = np.where(who, switch.applied(modes[..., k]), modes[..., k])
        self._switch_to(modes, [(switch.parameter, switch.what, who) for switch, who in switches])

    def _switch_to(self, modes: Array, changes: Sequence[tuple[str, str, Array]]) -> None:
        """Switch all switchable parameters to the values `modes` (*batch, m) and log the events.

        `changes` are (parameter, event text, switched members (*batch,)).
        """
        if not changes:
            return
        batch = self.problem.batch
        any_ = np.any([who for _, _, who in changes], axis=0)
        after, took = self.batch_program.switched(self.now, modes)
        self.now = _chosen(any_, after, self.now, len(batch))
        for index in np.argwhere(any_):
            k = tuple(int(n) for n in index)
            if self.now.status[k] != RUNNING:
                continue
            at, mine = float(self.now.step[k]) * self.dt, [change for change in changes if change[2][k]]
            numbers = [constraint_number(self.problem.mechanism, parameter) for parameter, _, _ in mine]
            each = shares(numbers, [True] * len(mine), took.energies[k], took.impulses[k], took.gaps[k])
            for (_, what, _), n, share in zip(mine, numbers, each, strict=True):
                carried = took.carried[(*k, n)]
                self.events.append(event(what, at, k, share.energy, share.impulse, carried, share.gap))

    def _call(self) -> None:
        """Call a controller that runs in Python for each batch member; store the joint forces and the memory, and make
        the switches.
        """
        now, problem = self.now, self.problem
        control, memory, status, modes = (np.array(x) for x in (now.control, now.memory, now.status, now.motion.modes))
        for index in np.ndindex(problem.batch):
            if status[index] == RUNNING:
                _, values = problem.member(index)
                one = member(now, index)
                answer = problem.sample(values, float(one.step) * self.dt, one)
                wanted = problem.wanted(answer, one.motion.modes)
                non_finite = not np.isfinite(np.asarray(answer.forces, dtype=float)).all()
                status[index] = NON_FINITE if non_finite else command_status(problem.switched, wanted)
                if status[index] == RUNNING:
                    control[index], modes[index] = answer.forces, wanted
                    memory[index] = answer.memory if len(answer.memory) else one.memory
        self.now = now._replace(control=control, memory=memory, status=status)
        self._switch_to(modes, list(self._commanded(modes)))

    def _commanded(self, modes: Array) -> Iterator[tuple[str, str, Array]]:
        """Yield the switches that a controller in Python commands: parameter, event text, switched members (*batch,).

        `modes` (*batch, m) are the commanded values of all switchable parameters.
        """
        for name in self.problem.commands:
            k = self.problem.switched.index(name)
            before = self.now.motion.modes[..., k]
            for value in np.unique(modes[..., k]):
                who = (modes[..., k] == value) & (modes[..., k] != before)
                if who.any():
                    yield name, mode_event(name, float(value)), who

    # --- failures ---

    def again(self, values: Values, now: MemberState) -> None:
        """Make one step of a failed batch member in plain Python, so that the error raises an exception.

        `values` are the parameters and gains of the member, and `now` is its last state.
        """
        system, t = self.problem.system(values), float(now.step) * self.dt
        self.program.method.step(system, t, now.motion, self.dt, system.clipped(now.control))

    def not_converged(self, index: tuple[int, ...], now: MemberState) -> str:
        """Return the reason why the next step of a batch member fails from the state `now`, and a remedy.

        `index` is the batch index of the member.
        """
        # imported only here, because few runs fail
        from linkwork.simulation.runners.smaller_step_search import failed_step_text

        return failed_step_text(self, index, now)

    def trial(self, problem: Problem, dt: float, duration: float) -> FixedSteps:
        """Return a runner for a trial run of another problem, for `duration` [s] with the step dt [s].

        The new runner uses the kernels of this runner, compiles no kernel, and runs in short pieces.
        """
        choice = self.choice._replace(dt=dt)
        storage = Storage(problem, choice, self.storage.series, self.storage.every, duration)
        return FixedSteps(problem, choice, storage, self.target, 1, TRIAL_PIECES, self.batch_program)

    def _last_sample(self) -> None:
        """Record the last state of a single run that ended between two samples."""
        storage = self.storage
        step = np.asarray(self.now.step)
        if step.ndim == 0 and storage.samples < len(storage.steps) and step > storage.steps[storage.samples - 1]:
            storage.steps[storage.samples] = step
            storage.put(self.batch_program.sample(self.now)[1], 1)


def _with_contact_log(problem: Problem, locate: bool) -> MemberState:
    """Return the start state with an event log, which has one more line per contact pair if `locate` is true.

    Contact events are then located within steps, and are logged.
    """
    start, pairs = problem.start, len(problem.mechanism.contact_pairs) if locate else 0
    lines = start.motion.log.lines
    if not pairs:
        return start
    shape = (*lines.shape[:-2], lines.shape[-2] + pairs, lines.shape[-1])
    return start.moved(log=start.motion.log._replace(lines=np.zeros(shape)))


def _chosen(condition: Array, yes: MemberState, no: MemberState, axes: int) -> MemberState:
    """Return the state of the batch that has the members of `yes` where `condition` (*batch,) is true, else those of
    `no`.

    `axes` is the number of batch axes.
    """

    def of(a: Array, b: Array) -> Array:
        return np.where(condition.reshape(condition.shape + (1,) * (np.ndim(b) - axes)), a, b)

    pairs = zip(flatten(yes), flatten(no), strict=True)
    return unflatten(no, [of(a, b) for a, b in pairs])


def ended_at(now: MemberState) -> Array:
    """Return the step number (*batch,) at which each batch member ended; inf for members that still run."""
    return np.where(np.asarray(now.status) == RUNNING, np.inf, now.step)
