"""`simulate`: from a mechanism and a state to a Run. It builds a Problem, takes a Method, and records."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compiler import building_seconds
from linkwork.errors import LinkworkError, NotTraceable, listed, unknown_name
from linkwork.model.broadcast import checked_threads
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.contact_checks import RIGID as RIGID_CONTACTS
from linkwork.simulation.contact_checks import check_start, method_of, refuse_unfit
from linkwork.simulation.events.schedule import Schedule, entries_of
from linkwork.simulation.method_choice import ADAPTIVE, Choice, chosen
from linkwork.simulation.methods.registry import METHODS, RIGID, method_of_order, refuse_composed
from linkwork.simulation.problem import Problem
from linkwork.simulation.problem_setup import Continuation, Setup, positive, problem_of, with_commands
from linkwork.simulation.recording import Storage
from linkwork.simulation.results.run import Run
from linkwork.simulation.results.run_data import Settings
from linkwork.simulation.runners.failure_diagnosis import outcomes
from linkwork.simulation.runners.fixed_step import FixedSteps, ended_at
from linkwork.simulation.runners.progress import Watch, watching
from linkwork.simulation.runners.runner import Runner
from linkwork.simulation.runners.state_derivative import StateDerivative
from linkwork.simulation.start_checks import refuse_open
from linkwork.simulation.state import RUNNING, STOPPED, MemberState
from linkwork.simulation.user_functions import Controller, Sampled, StopCondition, Wrenches

NAMES = ("auto", *METHODS, RIGID.name, *ADAPTIVE)
TARGETS = ("cpu", "numpy")
EXPLICIT = ("semi-implicit", "rk4")
COMPOSED = [method.name for method in METHODS.values() if method.symmetric]
TRIALS = 20  # states of a trial run that are looked at
TIGHTER = 0.01  # tolerances of adaptive methods in a run that is compared


class Integration(NamedTuple):
    """How a problem is integrated; the names are those of `simulate`."""

    method: str
    duration: float
    dt: float | None = None
    order: int | None = None
    locate: bool | None = None
    rtol: float = 1e-9
    atol: float = 1e-10
    threads: int | None = None
    target: str = "cpu"

    def checked(self, baumgarte: float | None) -> Integration:
        """The same with numbers as floats; an error that names what is wrong."""
        for what, name, names in (("method", self.method, NAMES), ("target", self.target, TARGETS)):
            if name not in names:
                raise unknown_name(what, name, names)
        if baumgarte is not None and self.method not in EXPLICIT:
            raise LinkworkError(f"baumgarte is for methods {listed(EXPLICIT)}; name one of them")
        return self._replace(
            duration=positive("duration", self.duration),
            dt=None if self.dt is None else positive("dt", self.dt),
            threads=checked_threads(self.threads),
            rtol=positive("rtol", self.rtol),
            atol=positive("atol", self.atol),
        )

    def continuing(self, run: Run) -> Integration:
        """The same, as the run that goes on where nothing is said."""
        auto, made = self.method == "auto", run.settings
        return self._replace(
            method=run.method if auto else self.method,
            order=made.order if auto and self.order is None else self.order,
            dt=made.dt if self.dt is None else self.dt,
            locate=made.locate if self.locate is None else self.locate,
        )


class Recording(NamedTuple):
    """What is recorded: names of series (None: the usual ones), after `every` steps (None: as memory allows)."""

    series: Sequence[str] | None = None
    every: int | None = None


def simulate(
    mechanism: Mechanism,
    q0: ArrayLike | Run | None = None,
    v0: ArrayLike | None = None,
    duration: float = 10.0,
    dt: float | None = None,
    method: str = "auto",
    controller: Controller | Sampled | None = None,
    schedule: Schedule | None = None,
    wrenches: Wrenches | None = None,
    record: Sequence[str] | None = None,
    progress: bool | Watch | None = None,
    *,
    every: int | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    gains: Mapping[str, ArrayLike] | None = None,
    memory: ArrayLike | None = None,
    stop_when: StopCondition | None = None,
    stops: float | None = 0.02,
    contact: str = "compliant",
    baumgarte: float | None = None,
    rtol: float = 1e-9,
    atol: float = 1e-10,
    order: int | None = None,
    locate: bool | None = None,
    threads: int | None = None,
    target: str = "cpu",
) -> Run:
    """Move a mechanism from q0 (..., nq) and v0 (..., nv) for `duration` [s]; all members of a batch run together.

    Without q0 it starts in the state of its keyframe "start", or neutral where it has none; without v0, at rest. Loops
    must be closed in q0, and v0 must keep them so (`d.assemble`, `d.consistent`); every step closes them again. With
    `baumgarte`, a rate [1/s], forces pull them closed instead, which lets them drift a little. `schedule` says what is
    switched when: [(0.5, "open", "pin"), (lambda t, q, v: q[0] - 1.0, "close", "pin")]; a guard in place of a time
    switches where it becomes positive, which is located within the step. Closing makes velocities jump as impulses
    along the loop do, which `run.events` reports with the energy it takes; a gap of more than 1 cm or 0.01 rad is not
    closed.

    `method` is "semi-implicit", "rk4" or "midpoint" (for stiff springs and dampers) with the step `dt` [s]; one that
    conserves momenta at any step, with the symplectic form ("variational", "rattle", "shake") or with energy
    ("energy-momentum"), which an `order` of 4 or 6 makes more accurate by several substeps; one of SciPy's "dop853",
    "radau", "lsoda" with the tolerances `rtol` and `atol`; or "auto", which picks one, and a step if none is given;
    `run.settings.why` says why. Joint springs, dampers and friction act, and joints are stopped at their
    limits by springs and dampers with the time constant `stops` [s], None for none. Contacts change their states at the
    ends of steps; with `locate` the instants at which they land, leave, stick and slip are found within the step, which
    is then made in substeps: `run["contact.since"]` records them, and methods have their order again.

    Contacts are springs and dampers with anchors, as Builder.touch says of them, or with `contact="rigid"` bodies that
    do not deform: impulses keep them apart, with the restitution and friction of each contact and no stiffness. The
    method is then "moreau", which meets impacts once a step.

    `controller(t, q, v)` returns joint forces (nv,) [N m, N] and acts at every instant; `controller(t, q, v, memory)`
    returns forces and the next memory (k,), is called once a step and needs its first `memory`; `lw.sampled(f, rate)`
    is called at that rate. They are plain NumPy and become machine code; `lw.host(f, rate)` stays in Python. Instead of
    forces they may return a mapping that switches too, {"tau": forces, "clutch.engaged": q[0] > 1.0}. `wrenches`
    on the bodies, (..., nbodies, 6), act at their frames' origins in their frames, always the same or as a function of
    (t, q, v). The run ends when `stop_when(t, q, v)` is true or positive. `parameters` (see `mechanism.parameters`) and
    `gains`, which these functions name among their arguments, may differ between members: they have the batch's
    shape in front of their own.

    Samples are recorded at the start, after `every` steps and at the end; `record` names the series ("q", "v", "tau",
    "work", "memory", "stops", "wrenches", "iterations", "drive.force", "contact.state", ..., or one of your own, see
    `linkwork.simulation.series`); beside q and v that is also what is switched during the run. A run given
    as `q0` is continued from its end. `progress` shows a bar, by itself on long runs at a terminal, or is called with
    the fraction that is done.

    What happens to a member shows in `run.outcome`. An error from a controller in Python carries what was computed
    until then as its attribute `run`; Ctrl-C returns it.
    """
    run = q0 if isinstance(q0, Run) else None
    how = Integration(method, duration, dt, order, locate, rtol, atol, threads, target).checked(baumgarte)
    how = how._replace(method=method_of(method, contact, locate, None if run is None else run.method))
    setup = Setup(
        mechanism,
        None if isinstance(q0, Run) else q0,
        v0,
        controller,
        entries_of(schedule),  # gone through more than once
        wrenches,
        parameters,
        gains,
        memory,
        stop_when,
        stops,
        baumgarte,
        rigid=contact == RIGID_CONTACTS,
        dt=how.dt,
        continued=None if run is None else _continuation(run),
    )
    return _simulated(setup, how if run is None else how.continuing(run), Recording(record, every), progress)


def _continuation(run: Run) -> Continuation:
    """What a run that goes on hands to the next one."""
    settings = run.settings
    end = float(run.t[-1]) if len(run.t) else 0.0
    return Continuation(run.mechanism, run.final, run.parameters, settings.dt or 0.0, end, run.events, run.batch)


def _simulated(setup: Setup, how: Integration, recording: Recording, progress: bool | Watch | None) -> Run:
    """The run of a problem, checked before it starts."""
    setup, problem = with_commands(setup, problem_of(setup))
    if how.order is not None:
        if how.method not in METHODS:
            raise LinkworkError(f"order is for methods {listed(COMPOSED)}; name one of them")
        refuse_composed(problem.mechanism, method_of_order(how.method, how.order), bool(problem.guards))
    refuse_open(problem, opening=setup.continued is None)
    refuse_unfit(problem, how.method, adaptive=how.method in ADAPTIVE)
    derivative = StateDerivative(problem, how.target)
    try:
        trial = partial(_trial, problem, how)
        choice = chosen(problem, derivative, how.method, how.dt, how.duration, trial)
        check_start(problem, choice.method, choice.dt)
        adaptive = choice.method in ADAPTIVE
        if not adaptive:
            order = method_of_order(choice.method, how.order).order
            choice = choice._replace(order=order, locate=bool(how.locate))
        storage = Storage(problem, choice, recording.series, recording.every, how.duration)
        runner: Runner = (
            _adaptive(problem, choice, storage, derivative, how)
            if adaptive
            else FixedSteps(problem, choice, storage, how.target, how.threads)
        )
        settings = _settings(setup, problem, how, choice, storage.every)
        finer = partial(_finer, setup, problem, how._replace(method=choice.method), settings)
        return replace(_ran(runner, settings, progress), again=finer)
    except NotTraceable as failure:
        failure.add_note("lw.host(f, rate=...) calls a controller in Python instead of compiling it")
        raise


def _adaptive(
    problem: Problem, choice: Choice, storage: Storage, derivative: StateDerivative, how: Integration
) -> Runner:
    from linkwork.simulation.runners.adaptive import Adaptive  # here: few runs are by SciPy's methods

    return Adaptive(problem, choice, storage, derivative, (how.rtol, how.atol))


def _settings(setup: Setup, problem: Problem, how: Integration, choice: Choice, every: int) -> Settings:
    adaptive = choice.method in ADAPTIVE
    return Settings(
        choice.method,
        choice.why,
        choice.dt,
        every,
        how.duration,
        rtol=how.rtol if adaptive else None,
        atol=how.atol if adaptive else None,
        stops=None if problem.stops is None else setup.stops,
        pushed=problem.wrenches is not None,
        controlled=problem.control is not None or problem.sampler is not None,
        baumgarte=problem.baumgarte,
        order=choice.order,
        locate=choice.locate,
    )


def _trial(problem: Problem, how: Integration, choice: Choice) -> list[MemberState]:
    """Some states along a run of the first member; none if its controller is in Python, which would see it twice."""
    if problem.in_python:
        return []
    alone = problem.alone()
    every = max(1, round(how.duration / choice.dt) // TRIALS)
    storage = Storage(alone, choice, ("q", "v"), every, how.duration)
    FixedSteps(alone, choice, storage, how.target, threads=1).go(lambda fraction: None)
    states = zip(storage.arrays["q"][: storage.rows], storage.arrays["v"][: storage.rows], strict=True)
    return [alone.start.moved(q=q, v=v) for q, v in states]


def _ran(runner: Runner, settings: Settings, progress: bool | Watch | None) -> Run:
    """The run, or what there is of it if it was stopped."""
    begin = time.perf_counter() - building_seconds()
    try:
        title = f"{runner.problem.mechanism.name}, {settings.duration:g} s by {settings.method}"
        with watching(progress, title) as watch:
            runner.go(watch)
    except KeyboardInterrupt:
        status = np.asarray(runner.now.status)
        runner.now = runner.now._replace(status=np.where(status == RUNNING, STOPPED, status))
    except Exception as failure:
        if runner.storage.rows:
            failure.run = _run(runner, settings, time.perf_counter() - building_seconds() - begin)  # type: ignore[attr-defined]
            failure.add_note("what was computed until then is the attribute `run` of this error")
        raise
    return _run(runner, settings, time.perf_counter() - building_seconds() - begin)


def _run(runner: Runner, settings: Settings, wall: float) -> Run:
    storage, now, problem = runner.storage, runner.now, runner.problem
    found, events = outcomes(runner)
    return Run(
        problem.mechanism,
        settings,
        storage.steps[: storage.rows] * settings.dt,
        storage.recorded(ended_at(now)),
        now,
        problem.parameters_in(now.motion.modes),
        found,
        events,
        wall,
    )


def _finer(setup: Setup, problem: Problem, how: Integration, made: Settings) -> Run:
    """The same run with half the step, or tolerances a hundredth as large, and samples at least at the same times."""
    assert made.dt is not None
    whole = max(1, round(made.duration / made.dt)) * made.dt
    how, every = how._replace(duration=whole, dt=0.5 * made.dt), 2 * made.every
    if made.rtol is not None and made.atol is not None:  # its steps are never longer than from sample to sample
        how, every = how._replace(rtol=TIGHTER * made.rtol, atol=TIGHTER * made.atol), made.every
    if problem.sampling is not None and problem.sampling.rate is None:  # still once a step of the other run
        setup = setup._replace(controller=replace(problem.sampling, rate=1.0 / made.dt))
    return _simulated(setup._replace(dt=how.dt), how, Recording(("q", "v"), every), progress=False)
