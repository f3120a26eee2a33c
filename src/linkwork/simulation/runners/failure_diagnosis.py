"""Failure diagnosis: the step that failed is run again in plain Python, which names the joint and the line."""

from __future__ import annotations

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.evaluation.diagnosis import failures_named
from linkwork.simulation.events.schedule import command_status
from linkwork.simulation.results.outcomes import FINISHED, KINDS, Event, Outcome
from linkwork.simulation.runners.runner import Runner
from linkwork.simulation.state import EVENT, NON_FINITE, NOT_CONVERGED, RUNNING, member
from linkwork.spatial.scalar import Array

DIAGNOSED = 3  # members of a kind whose failure is looked into
SAME = "as others of this run"


def outcomes(runner: Runner) -> tuple[Array, tuple[Event, ...]]:
    """How every member (*batch,) ended, and all events in the order of time."""
    now, problem = runner.now, runner.problem
    found, events = np.empty(problem.batch, dtype=object), list(runner.events)
    looked_into = dict.fromkeys(KINDS, 0)
    for index in np.ndindex(problem.batch):
        code, at = float(np.asarray(now.status)[index]), float(np.asarray(now.step)[index]) * runner.dt
        kind = FINISHED if code == RUNNING else KINDS[int(code)]
        evidence = ""
        if code in (NOT_CONVERGED, NON_FINITE):
            looked_into[kind] += 1
            evidence = _diagnosis(runner, index, code) if looked_into[kind] <= DIAGNOSED else SAME
        if code == EVENT:
            evidence = "stop_when"
            events.append(Event(at, index, "stop_when"))
        found[index] = Outcome(kind, at, evidence)
    return found, tuple(sorted(events, key=lambda event: event.time))


def _diagnosis(runner: Runner, index: tuple[int, ...], code: float) -> str:
    """Why a member could not go on from its last good state."""
    problem = runner.problem
    _, values = problem.member(index)
    now = member(runner.now, index)
    for part in (0.0, 0.5, 1.0):  # the instants of a step at which methods ask a controller
        t = (float(now.step) + part) * runner.dt
        forces = problem.system(values).loads(t, now.q, now.v, now.control).control
        if problem.sampler is not None:
            answer = problem.sample(values, t, now)
            forces = answer.forces
            for name, mode in answer.modes.items():
                if command_status([name], [mode]) != RUNNING:
                    return f"the controller returned {mode:g} for {name!r} at {t:g} s"
        for joint in problem.mechanism.leaders:
            if not np.isfinite(np.asarray(forces, dtype=float)[joint.v]).all():
                return f"the controller returned {np.asarray(forces)[joint.v]} for joint {joint.name!r} at {t:g} s"
    if code == NOT_CONVERGED:
        return runner.not_converged(values, now)
    fastest = max(problem.mechanism.leaders, key=lambda j: float(np.abs(now.v[j.v]).max(initial=0.0)))
    speed = float(np.abs(now.v[fastest.v]).max(initial=0.0))
    found = f"joint {fastest.name!r} moves at {speed:.3g}, faster than any other"
    try:
        with failures_named("the next state", int(np.ravel_multi_index(index, problem.batch)) if index else 0):
            runner.again(values, now)
    except LinkworkError as failure:
        return f"{found}; {failure}"
    return f"{found}; a smaller step may follow it"
