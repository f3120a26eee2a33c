"""Search for the cause of a failed step, and for a smaller step with which the fixed-step run succeeds.

Trial runs use the kernels of the failed run, so that they compile nothing. All trials together stop after a time limit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.simulation.events.event_sources import nan_guard
from linkwork.simulation.events.impulses import why_impossible
from linkwork.simulation.joint_friction_rows import friction_part
from linkwork.simulation.methods.method_tolerances import HALVED_STEP_AGREES
from linkwork.simulation.methods.newton_failure import FailedStep, unsolved
from linkwork.simulation.runners.compiled_run import MemberProgram, NotCompiled
from linkwork.simulation.runners.runner_interface import Runner
from linkwork.simulation.runners.state_derivative import StateDerivative
from linkwork.simulation.simulation_problem import Problem
from linkwork.simulation.state import NON_FINITE, NOT_CONVERGED, RUNNING, MemberState, StepState
from linkwork.spatial.scalar import Array
from linkwork.spatial.traceable_loops import OutOfTime

SECONDS = 0.35  # longest time for trial runs with shorter steps
RK4_SECONDS = 0.2  # longest time for a trial with "rk4", without the time for compiling
HALVINGS = (1, 2, 3, 4, 5, 6, 8, 10)  # the step is divided by 2 to the power of each of these numbers in turn
MOST_STEPS = 200_000  # largest number of steps of a trial run
DIVISIONS = (16, 128, 1024)  # numbers of steps of "rk4" that are tried in the interval of the failed step
QUICKLY_COMPILED = 8  # up to this number of degrees of freedom, compiling the state derivative takes at most 0.3 s


class RunnerWithTrials(Runner, Protocol):
    """Interface of a fixed-step runner that can make trial runs.

    `advised` is the index of the batch member whose failure was diagnosed with trial runs, if any.
    """

    program: MemberProgram
    target: str
    advised: tuple[int, ...] | None

    def trial(self, problem: Problem, dt: float, duration: float) -> Runner:
        """Return a runner for a trial run of another problem, for `duration` [s] with the step dt [s].

        The new runner uses the kernels of this runner, compiles no kernel, and runs in short pieces.
        """
        ...


def failed_step_text(runner: RunnerWithTrials, index: tuple[int, ...], now: MemberState) -> str:
    """Return a text on the cause of the failed step of a batch member, and on a remedy.

    `runner` is the runner of the run, `index` the batch index of the member, and `now` the member's state before the
    step.
    """
    _, values = runner.problem.member(index)
    t, system, method = float(now.step) * runner.dt, runner.problem.system(values), runner.program.method
    held = system.clipped(now.control)
    states: list[tuple[float, StepState]] = [(t, now.motion)]
    if system.guards:  # guards may have switched within the step
        with np.errstate(all="ignore"):
            moved, _ = method.step(system, t, now.motion, runner.dt, held)
        states.append((t + runner.dt, moved))
    for _, one in states:
        if failed := why_impossible(system.in_modes(one.modes).mechanism, now.q):
            return failed
    if failed := nan_guard(system, *states):
        return failed
    step = FailedStep(method, system, t, now.motion, runner.dt, held)
    found = unsolved(step)
    what = "the equations of the step were not solved" if method.implicit else "the projection onto loops failed"
    if system.rigid and system.mechanism.frictions:
        what = "the iteration of joint friction and joint loads did not converge"
    cause = found.text(runner.dt) if found else f"{what} with dt={runner.dt:g} s"
    if runner.advised is not None:  # trials take time, so that only one batch member gets advice
        return f"{cause}; see the remedy of member {runner.advised}"
    runner.advised = index
    return f"{cause}; {_remedy(runner, index, now)}"


def _remedy(runner: RunnerWithTrials, index: tuple[int, ...], now: MemberState) -> str:
    """Return the text of a remedy that worked in a trial run, such as a smaller step, or a text that no remedy was
    found.

    The failed step belongs to the batch member at `index` of the `runner` in the state `now`.
    """
    if runner.problem.in_python:
        return f"try dt={runner.dt / 4:g} (not tried, because a trial would call the controller in Python)"
    farthest: Trial | None = None
    for trial in _trials(runner, index, now, time.perf_counter() + SECONDS):
        if trial.text:
            return trial.text
        farthest = trial if farthest is None or trial.time > farthest.time else farthest
    if runner.program.method.name != "rk4" and (h := _solved_by_rk4(runner, index, now)):
        return f"smaller steps of this method fail too; use method='rk4' with dt={h:.10g}, which solves this interval"
    if farthest is None:
        return "no remedy was found in the time limit of the diagnosis; try a much smaller dt"
    smaller = f"a run with dt={farthest.dt:g} fails too, at {farthest.time:.4g} s"
    return f"no remedy was found: {smaller}. Check the speeds and forces at this time (run.q, run.v)"


# --- trial runs with a smaller step ---


class Trial(NamedTuple):
    """A trial run with a smaller step dt [s]: time [s] reached, and text of advice to the user ("" if the trial
    failed).
    """

    dt: float
    time: float
    text: str


class Reached(NamedTuple):
    """How far a trial run came: the `time` [s] that it reached, and whether a step `failed` there."""

    time: float
    failed: bool


def _trials(runner: RunnerWithTrials, index: tuple[int, ...], now: MemberState, deadline: float) -> Iterator[Trial]:
    """Yield trial runs with smaller steps: from the start of the run, then from the state `now` before the failure.

    The run belongs to the batch member at `index` of the `runner`. A trial from the start shows that the advice works.
    If there is no time for such a trial, a trial from `now` shows that a smaller step solves the interval in which the
    step failed. The trials end at the `deadline` [s], a time of `time.perf_counter`.
    """
    alone, t, count = runner.problem.alone(index), float(now.step) * runner.dt, runner.storage.steps[-1]
    later = [float(one.when) for one in alone.switches if not one.guarded and float(one.when) > t]
    # the trial ends before the next switch, whose kernel may not be compiled
    end = min([float(count) * runner.dt, *later])
    starts = [(alone.start, "", deadline - SECONDS / 4)]
    if now.step > alone.start.step:
        # with an empty log, to which the runner adds the lines of contact events
        here = now.moved(log=alone.start.motion.log)
        starts.append((here, "from this state, ", deadline))
    for start, whence, until in starts:
        for k in HALVINGS:
            found = _reached(runner, replace(alone, start=start), k, end, until)
            if found is None or not (found.failed or found.time > t + 0.99 * runner.dt):
                break  # time ran out before the failed step was passed; still smaller steps would take longer
            dt = runner.dt / 2**k
            advice = f"use dt={dt:.10g}: {whence}a trial run with it {_end(found.time, end)}"
            yield Trial(dt, found.time, "" if found.failed else advice)


def _end(reached: float, end: float) -> str:
    """Return a text that says how far a trial run came: `reached` [s] is its last time, and `end` [s] its planned
    end.
    """
    return "reached the end" if reached >= end * (1.0 - 1e-9) else f"passed this time and reached {reached:.4g} s"


def _reached(runner: RunnerWithTrials, problem: Problem, halvings: int, end: float, deadline: float) -> Reached | None:
    """Return how far a trial run towards `end` [s] came, with the step of `runner` divided by 2^halvings.

    The problem has no batch. The trial ends at the `deadline` [s], a time of `time.perf_counter`. The result is None if
    the trial is impossible, because a kernel is missing or the recording would be too large.
    """
    dt, parts = runner.dt / 2**halvings, 2.0**halvings
    start = problem.start._replace(status=np.zeros(()), step=np.asarray(problem.start.step) * parts)
    problem = replace(problem, start=start)
    # the kernels of a batch differ from those of a single member
    problem = problem if np.size(runner.now.step) == 1 else problem.doubled()
    steps = int(min(np.floor(end / runner.dt - float(start.step) / parts + 1e-6), MOST_STEPS / parts))

    def watch(_: float) -> None:
        if time.perf_counter() > deadline:
            raise OutOfTime

    try:
        if time.perf_counter() > deadline or steps < 1:
            return None
        trial = runner.trial(problem, dt, steps * runner.dt)
    except LinkworkError:
        return None
    try:
        trial.go(watch)
    except OutOfTime:
        pass
    except NotCompiled:
        if np.all(trial.now.status == RUNNING):
            return None
    status = float(np.ravel(trial.now.status)[0])
    return Reached(float(np.ravel(trial.now.step)[0]) * dt, status in (NOT_CONVERGED, NON_FINITE))


# --- a trial with another method ---


def _solved_by_rk4(runner: RunnerWithTrials, index: tuple[int, ...], now: MemberState) -> float | None:
    """Return a step [s] with which "rk4" can integrate the interval of the failed step from the state `now`, or None.

    The failed step belongs to the batch member at `index` of the `runner`. The result is None if no step was found in
    RK4_SECONDS, or if the state derivative takes too long to compile.
    """
    alone, t = runner.problem.alone(index), float(now.step) * runner.dt
    m = alone.mechanism
    if m.nv > QUICKLY_COMPILED or m.touches:  # the state derivative does not include contacts
        return None
    _, values = alone.member(())
    modes = dict(zip(alone.switched, now.motion.modes, strict=True))
    held = alone.system(values).clipped(now.control)
    slip_directions = friction_part(m, np.asarray(now.motion.slip))
    rates = StateDerivative(alone, runner.target).bound(held, {**values, **modes}, slip_directions)
    start = np.concatenate([now.q, now.v, [0.0]])
    rates(t, start)  # this first call compiles the state derivative
    deadline = time.perf_counter() + RK4_SECONDS

    def end(count: int) -> Array:
        x, h = start, runner.dt / count
        for k in range(count):
            if time.perf_counter() > deadline:
                raise OutOfTime
            a = rates(t + k * h, x)
            b = rates(t + (k + 0.5) * h, x + 0.5 * h * a)
            c = rates(t + (k + 0.5) * h, x + 0.5 * h * b)
            x = x + h / 6.0 * (a + 2.0 * (b + c) + rates(t + (k + 1) * h, x + h * c))
        return x[: m.nq]

    try:
        with np.errstate(all="ignore"):
            for count in DIVISIONS:
                if (
                    np.abs(end(count) - end(2 * count)).max(initial=0.0) < HALVED_STEP_AGREES
                ):  # false if the difference is nan
                    return runner.dt / (2 * count)
    except OutOfTime:
        pass
    return None
