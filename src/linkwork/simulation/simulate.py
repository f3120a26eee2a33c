"""The function `simulate`: it builds a `Problem`, chooses the method, runs it, and returns a `Run`."""

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
from linkwork.model.batch_broadcasting import checked_threads
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.contact_anchors_at_start import with_anchors_at_start
from linkwork.simulation.contact_checks import RIGID as RIGID_CONTACTS
from linkwork.simulation.contact_checks import check_start, method_for_contacts, refuse_unsuitable_method
from linkwork.simulation.events.schedule import RunInterval, Schedule, entries_of
from linkwork.simulation.method_choice import ADAPTIVE, Choice, Wanted, chosen
from linkwork.simulation.methods.method_registry import METHODS, RIGID, method_of_order, refuse_composed
from linkwork.simulation.problem_setup import Continuation, Setup, positive, problem_of, with_commands
from linkwork.simulation.recording import Storage
from linkwork.simulation.results.run import Run
from linkwork.simulation.results.run_data import Settings
from linkwork.simulation.runners.failure_diagnosis import outcomes
from linkwork.simulation.runners.fixed_step_runner import FixedSteps, ended_at
from linkwork.simulation.runners.progress import Watch, watching
from linkwork.simulation.runners.runner_interface import Runner
from linkwork.simulation.runners.state_derivative import StateDerivative
from linkwork.simulation.simulation_problem import Problem
from linkwork.simulation.start_state_checks import refuse_open
from linkwork.simulation.state import RUNNING, STOPPED, MemberState
from linkwork.simulation.user_functions import Controller, Sampled, StopCondition, Wrenches

NAMES = ("auto", *METHODS, RIGID.name, *ADAPTIVE)
TARGETS = ("cpu", "numpy")
EXPLICIT = ("semi-implicit", "rk4")
COMPOSED = [method.name for method in METHODS.values() if method.symmetric]
TRIALS = 20  # number of states of a trial run from which the fastest rate is estimated
TRIAL_STEPS = 1_000_000  # largest number of steps of a trial run, which take about a second
TIGHTER = 0.01  # factor on the tolerances of adaptive methods in a comparison run


class Integration(NamedTuple):
    """Arguments of `simulate` that determine how a problem is integrated, under the same names.

    `required` is true if the user gave no method, and rigid contacts require the method that `method` has. `inherited`
    is true if method and step are those of a continued run.
    """

    method: str
    duration: float
    dt: float | None = None
    order: int | None = None
    locate: bool | None = None
    rtol: float = 1e-9
    atol: float = 1e-10
    threads: int | None = None
    target: str = "cpu"
    required: bool = False
    inherited: bool = False

    def checked(self, baumgarte: float | None) -> Integration:
        """Return a copy with numbers as floats; raise a LinkworkError that names an invalid argument.

        `baumgarte` is the argument of `simulate`.
        """
        for what, name, names in (("method", self.method, NAMES), ("target", self.target, TARGETS)):
            if name not in names:
                raise unknown_name(what, name, names)
        if baumgarte is not None and self.method not in EXPLICIT:
            raise LinkworkError(f"baumgarte needs method {listed(EXPLICIT)}; got {self.method!r}")
        return self._replace(
            duration=positive("duration", self.duration),
            dt=None if self.dt is None else positive("dt", self.dt),
            threads=checked_threads(self.threads),
            rtol=positive("rtol", self.rtol),
            atol=positive("atol", self.atol),
        )

    def continuing(self, run: Run) -> Integration:
        """Return a copy in which omitted arguments have the values of the continued run."""
        auto, made = self.method == "auto", run.settings
        return self._replace(
            method=run.method if auto else self.method,
            inherited=self.dt is None and (auto or self.method == run.method),
            order=made.order if auto and self.order is None else self.order,
            dt=made.dt if self.dt is None else self.dt,
            locate=made.locate if self.locate is None else self.locate,
        )


class Recording(NamedTuple):
    """Arguments of `simulate` on recording: series to record (None: default series), and steps between samples.

    If `every`, the number of steps between samples, is None, the smallest number that the memory limit allows is used.
    """

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
    clip_effort: bool = False,
    contact: str = "compliant",
    baumgarte: float | None = None,
    rtol: float = 1e-9,
    atol: float = 1e-10,
    order: int | None = None,
    locate: bool | None = None,
    threads: int | None = None,
    target: str = "cpu",
) -> Run:
    """Simulate a mechanism for `duration` seconds and return the recorded motion.

    The leading axes of q0, v0 and `parameters` form a batch, whose members run together. The shapes of gains do not
    define a batch. Joint springs, dampers and friction act, and springs stop joints at their limits. If a member fails,
    its run ends and the other members continue; no error is raised. `run.outcome` says how each member ended.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism, from `lw.load`, `lw.example` or `Builder.build`.
    q0 : array, shape (..., nq), unit [rad, m, quaternions], or Run, default None
        Start coordinates, or a run that is continued from its end. None: the keyframe "start", or the neutral position.
        Loops must be closed in q0 (see `Dynamics.assemble`).
    v0 : array, shape (..., nv), unit [rad/s, m/s], default None
        Start velocities. None: at rest, or those of the keyframe. They must satisfy the constraints (see
        `Dynamics.consistent`).
    duration : float, unit [s], default 10.0
        Simulated time.
    dt : float or None, unit [s], default None
        Step of methods with fixed steps; time between samples of adaptive methods. None: chosen from the fastest rate
        of the motion; duration / 1000 for adaptive methods.
    method : str, default "auto"
        "semi-implicit", "rk4", or "midpoint" (stiff springs and dampers). "variational", "rattle" and "shake" conserve
        momenta and the symplectic form, "energy-momentum" conserves momenta and energy. "dop853", "radau" and "lsoda"
        are the adaptive methods of SciPy; steps of "dop853" are compiled. "moreau" is for rigid contacts. "auto"
        chooses a method; `run.settings.why` gives the reason.
    controller : Controller, Sampled or None, default None
        `controller(t, q, v)` returns joint forces (nv,) [N m, N] at every evaluation of the equations of motion.
        `controller(t, q, v, memory)` returns forces and the memory (k,), numbers of its own choice that it receives at
        its next call; it is called once per step. See `lw.sampled` for a fixed rate, modes and gains, and `lw.host` for
        Python code that cannot be compiled.
    schedule : Schedule or None, default None
        Entries (time [s], verb, name) or (guard, verb, name), such as (0.5, "open", "pin"). Verbs: "open" and "close"
        a loop, "engage" and "release" a clutch, "lock" and "unlock" a joint, "reverse" a clutch or ratchet, "shift" a
        clutch, ratchet or transmission; "shift" has a fourth item, the ratio or gear. A guard is a function of
        (t, q, v); it fires where its value becomes positive, located within the step. Closing a loop or engaging a
        clutch without a capacity applies impulses, reported in `run.events`. A loop is closed only if its
        closure error is at most 1 cm or 0.01 rad.
    wrenches : Wrenches or None, shape (..., nbodies, 6), unit [N, N m], default None
        External wrenches on the bodies, at the origins and in the axes of their frames; constant, or a function of
        (t, q, v).
    record : sequence of str or None, default None
        Names of recorded series, such as "q", "v", "tau", "work", "iterations", "contact.state". None: the default
        series. With q and v, all switched parameters are recorded too.
    progress : bool, callable or None, default None
        True shows a progress bar; a function is called with the completed fraction. None: at a terminal, a bar after
        1 s.
    every : int or None, default None
        Steps between samples. None: 1, or more if the recording would exceed 2 GiB.
    parameters : mapping of str to array or None, default None
        Values of mechanism parameters (see `Mechanism.parameters`), with the batch shape in front of their own.
    gains : mapping of str to array or None, default None
        Values that controller, wrenches, guards and `stop_when` take as arguments by name. A gain has the batch shape
        in front of its own shape, or it has no batch shape and is the same for all members.
    memory : array, shape (..., k), default None
        Numbers that a controller with the argument `memory` receives at its first call.
    stop_when : StopCondition or None, default None
        `stop_when(t, q, v)` ends the run where it is true or positive.
    stops : float or None, unit [s], default 0.02
        Time constant of the springs and dampers at joint limits. None: limits are ignored.
    clip_effort : bool, default False
        True clips the joint forces of the controller to [-effort_limit, effort_limit] of each joint; `run.tau` are the
        clipped forces, `run["tau.commanded"]` those that the controller returned. The forces of `lw.feedback.drives`
        are not clipped: drives have their own force limits.
    contact : {"compliant", "rigid"}, default "compliant"
        Compliant contacts are springs and dampers with anchors (see `Builder.touch`). Rigid contacts use impulses with
        restitution and friction, and the method "moreau".
    baumgarte : float or None, unit [1/s], default None
        Rate at which forces reduce loop closure errors ("semi-implicit" and "rk4"). None: each step projects the state
        onto the constraints.
    rtol : float, default 1e-9
        Relative tolerance of adaptive methods.
    atol : float, default 1e-10
        Absolute tolerance of adaptive methods.
    order : int or None, default None
        2, 4 or 6: order to which "variational", "rattle" or "energy-momentum" steps are composed. None: 2.
    locate : bool or None, default None
        True locates contact events (landing, leaving, sticking, slipping) within the step. None: at the ends of steps.
    threads : int or None, default None
        Number of threads. None: all cores.
    target : {"cpu", "numpy"}, default "cpu"
        "cpu" compiles to machine code; "numpy" runs the same program in Python, much slower.

    Returns
    -------
    Run
        The recorded motion. Ctrl-C ends a run early and returns the samples so far.

    Raises
    ------
    LinkworkError
        If an argument is invalid, loops are not closed at the start, or the method does not fit the mechanism.
    NotTraceable
        If a controller or another function cannot be compiled. An error raised by an `lw.host` controller has an
        attribute `run` with the samples so far.

    Examples
    --------
    >>> m = lw.example("double_pendulum")
    >>> run = lw.simulate(m, [1.0, 0.5], duration=2.0, dt=0.01, controller=lambda t, q, v: -2.0 * v)
    >>> run.q.shape, run.method, run.outcome.kind
    ((201, 2), 'rk4', 'finished')
    >>> lw.simulate(m, [[1.0, 0.5], [0.5, 0.0], [0.1, 0.0]], duration=2.0, dt=0.01).q.shape  # a batch of three
    (3, 201, 2)

    """
    run = q0 if isinstance(q0, Run) else None
    how = Integration(method, duration, dt, order, locate, rtol, atol, threads, target).checked(baumgarte)
    rigid = contact == RIGID_CONTACTS
    fit = method_for_contacts(method, contact, locate, None if run is None else run.method)
    how = how._replace(method=fit, required=rigid and method == "auto")
    setup = Setup(
        mechanism,
        None if isinstance(q0, Run) else q0,
        v0,
        controller,
        entries_of(schedule),  # as a list, because it is iterated more than once
        wrenches,
        parameters,
        gains,
        memory,
        stop_when,
        stops,
        baumgarte,
        rigid=rigid,
        dt=how.dt,
        continued=None if run is None else _continuation(run),
        clip_effort=clip_effort,
    )
    how = how if run is None else how.continuing(run)
    begin, events = (0.0, ()) if setup.continued is None else (setup.continued.end, setup.continued.events)
    setup = setup._replace(interval=RunInterval(begin, begin + how.duration, how.dt or 0.0, events))
    return _simulated(setup, how, Recording(record, every), progress)


def _continuation(run: Run) -> Continuation:
    """Return the data of `run` that are needed to continue it."""
    settings = run.settings
    end = float(run.t[-1]) if len(run.t) else 0.0
    return Continuation(run.mechanism, run.final, run.parameters, settings.dt or 0.0, end, run.events, run.batch)


def _simulated(setup: Setup, how: Integration, recording: Recording, progress: bool | Watch | None) -> Run:
    """Return the run that the arguments of `simulate` describe: build the problem, choose the method, and run it.

    `setup`, `how` and `recording` have the arguments on the problem, on integration and on recording; `progress` is
    that of `simulate`.
    """
    setup, problem = with_commands(setup, problem_of(setup))
    if how.order is not None:
        if how.method not in METHODS:
            raise LinkworkError(f"order needs method {listed(COMPOSED)}; got {how.method!r}")
        refuse_composed(problem.mechanism, method_of_order(how.method, how.order), bool(problem.guards))
    refuse_open(problem, opening=setup.continued is None)
    refuse_unsuitable_method(problem, how.method, how.method in ADAPTIVE, bool(how.locate))
    derivative = StateDerivative(problem, how.target)
    try:
        trial = partial(_trial, problem, how)
        choice = chosen(problem, derivative, Wanted(how.method, how.dt, how.order, how.duration), trial)
        if how.required and how.dt is not None:
            choice = choice._replace(why="required by rigid contacts")
        if how.inherited:
            choice = choice._replace(why="as in the continued run")
        check_start(problem, choice.method, choice.dt)
        if setup.continued is None:
            problem = with_anchors_at_start(problem, how.target)
        adaptive = choice.method in ADAPTIVE
        problem = problem.for_adaptive_method() if adaptive else problem
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
        failure.add_note("lw.host(controller, rate=...) runs a controller in Python instead of compiling it")
        raise


def _adaptive(
    problem: Problem, choice: Choice, storage: Storage, derivative: StateDerivative, how: Integration
) -> Runner:
    """Return a runner that solves the problem by the adaptive method in `choice`, with the tolerances in `how`."""
    from linkwork.simulation.runners.adaptive_runner import Adaptive  # imported only here, because few runs need SciPy

    if problem.start.motion.ledger.shape[-1]:
        derivative = StateDerivative(problem, how.target)
    return Adaptive(problem, choice, storage, derivative, (how.rtol, how.atol))


def _settings(setup: Setup, problem: Problem, how: Integration, choice: Choice, every: int) -> Settings:
    """Return the settings of a run, for its result; `every` is the number of steps between samples."""
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
        clip_effort=problem.effort is not None,
    )


def _trial(problem: Problem, how: Integration, choice: Choice) -> list[MemberState]:
    """Return states along a trial run of the first batch member, from which method and step are chosen.

    The list is empty if the controller runs in Python, because a trial run would call it in addition to the run itself.
    `how` has the arguments of `simulate` on integration, and `choice` the method and step to try.
    """
    if problem.in_python:
        return []
    alone = problem.alone()
    count = round(how.duration / choice.dt)
    duration = how.duration if count <= TRIAL_STEPS else TRIAL_STEPS * choice.dt
    every = max(1, min(count, TRIAL_STEPS) // TRIALS)
    storage = Storage(alone, choice, ("q", "v"), every, duration)
    FixedSteps(alone, choice, storage, how.target, threads=1).go(lambda fraction: None)
    states = zip(storage.arrays["q"][: storage.samples], storage.arrays["v"][: storage.samples], strict=True)
    return [alone.start.moved(q=q, v=v) for q, v in states]


def _ran(runner: Runner, settings: Settings, progress: bool | Watch | None) -> Run:
    """Run the `runner` to its end and return the resulting run; after Ctrl-C, the run up to the interruption.

    `settings` are the settings of the run, and `progress` is the argument of `simulate`.
    """
    begin = time.perf_counter() - building_seconds()
    try:
        title = f"{runner.problem.mechanism.name}, {settings.duration:g} s by {settings.method}"
        with watching(progress, title) as watch:
            runner.go(watch)
    except KeyboardInterrupt:
        status = np.asarray(runner.now.status)
        runner.now = runner.now._replace(status=np.where(status == RUNNING, STOPPED, status))
    except Exception as failure:
        if runner.storage.samples:
            wall = time.perf_counter() - building_seconds() - begin
            failure.run = _run(runner, settings, wall)  # type: ignore[attr-defined]
            failure.add_note("the samples computed so far are in the attribute `run` of this exception")
        raise
    return _run(runner, settings, time.perf_counter() - building_seconds() - begin)


def _run(runner: Runner, settings: Settings, wall: float) -> Run:
    """Return the `Run` with the samples, outcomes and events of a runner; `wall` [s] is the computing time."""
    storage, now, problem = runner.storage, runner.now, runner.problem
    found, events = outcomes(runner)
    return Run(
        problem.mechanism,
        settings,
        storage.steps[: storage.samples] * settings.dt,
        storage.recorded(ended_at(now)),
        now,
        problem.parameters_in(now.motion.modes),
        found,
        events,
        wall,
    )


def _finer(setup: Setup, problem: Problem, how: Integration, made: Settings) -> Run:
    """Return a repetition of a run with half the step, or 1/100 of the tolerances, at the same sample times.

    `made` are the settings of the first run. `setup` and `how` have the arguments of the first run.
    """
    assert made.dt is not None
    whole = max(1, round(made.duration / made.dt)) * made.dt
    how, every = how._replace(duration=whole, dt=0.5 * made.dt), 2 * made.every
    # adaptive methods: dt is the time between samples, the longest step
    if made.rtol is not None and made.atol is not None:
        how, every = how._replace(rtol=TIGHTER * made.rtol, atol=TIGHTER * made.atol), made.every
    # call the controller as often as in the first run, which called it once per step
    if problem.sampling is not None and problem.sampling.rate is None:
        setup = setup._replace(controller=replace(problem.sampling, rate=1.0 / made.dt))
    return _simulated(setup._replace(dt=how.dt, interval=None), how, Recording(("q", "v"), every), progress=False)
