"""Failure diagnosis: repeat the failed step in plain Python to find the joint and the line of code."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.mimic_reduction import for_mimic_joints
from linkwork.errors import LinkworkError
from linkwork.evaluation.floating_point_failures import failures_named
from linkwork.simulation.events.schedule import command_status
from linkwork.simulation.results.outcomes import FINISHED, JAMMED, KINDS, Event, Outcome
from linkwork.simulation.runners.jam_diagnosis import jam_text
from linkwork.simulation.runners.runner_interface import Runner
from linkwork.simulation.state import EVENT, NON_FINITE, NOT_CONVERGED, RUNNING, member
from linkwork.spatial.scalar import Array
from linkwork.spatial.traceable_loops import OutOfTime, time_limit

DIAGNOSED = 3  # for each kind of outcome, number of failed members that are diagnosed
AGAIN_SECONDS = 1.0  # longest time for the repetition of a step of one member in plain Python
# if the smallest eigenvalue of the scaled mass matrix is below this fraction of its start value, inertia is lost
LOST = 1e-2
SAME = f"not diagnosed: only the first {DIAGNOSED} members with this outcome are diagnosed"


def outcomes(runner: Runner) -> tuple[Array, tuple[Event, ...]]:
    """Return the outcomes (*batch,) of all batch members of a run, and all events in order of time.

    `runner` is the runner of the run, after its end.
    """
    now, problem = runner.now, runner.problem
    found, events = np.empty(problem.batch, dtype=object), list(runner.events)
    diagnosed = dict.fromkeys(KINDS, 0)
    for index in np.ndindex(problem.batch):
        code, at = float(np.asarray(now.status)[index]), float(np.asarray(now.step)[index]) * runner.dt
        kind = FINISHED if code == RUNNING else KINDS[int(code)]
        diagnosis = ""
        if code in (NOT_CONVERGED, NON_FINITE):
            diagnosed[kind] += 1
            jam = _jam(runner, index) if diagnosed[kind] <= DIAGNOSED else ""
            if jam:
                found[index] = Outcome(JAMMED, at, jam)
                continue
            lost = _lost_inertia(runner, index)
            diagnosis = lost + _diagnosis(runner, index, code) if diagnosed[kind] <= DIAGNOSED else SAME
        if code == EVENT:
            diagnosis = "stop_when"
            events.append(Event(at, index, "stop_when"))
        found[index] = Outcome(kind, at, diagnosis)
    return found, tuple(sorted(events, key=lambda event: event.time))


def _jam(runner: Runner, index: tuple[int, ...]) -> str:
    """Return the reason why friction has no unique solution in the last state of a batch member; an empty text if the
    solution is unique.

    `index` is the batch index of the member.
    """
    _, values = runner.problem.member(index)
    now = member(runner.now, index)
    system, t = runner.problem.system(values).in_modes(now.motion.modes), float(now.step) * runner.dt
    return jam_text(system, t, now.motion, runner.dt, system.clipped(now.control))


def _diagnosis(runner: Runner, index: tuple[int, ...], code: float) -> str:
    """Return the reason why the batch member at `index` of a run, whose status is `code`, could not continue.

    `runner` is the runner of that run.
    """
    problem = runner.problem
    _, values = problem.member(index)
    now = member(runner.now, index)
    for part in (0.0, 0.5, 1.0):  # fractions of the step at which methods call a controller
        t = (float(now.step) + part) * runner.dt
        system = problem.system(values)
        forces = system.loads(t, now.q, now.v, system.clipped(now.control)).control
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
        return runner.not_converged(index, now)
    fastest = max(problem.mechanism.leaders, key=lambda j: float(np.abs(now.v[j.v]).max(initial=0.0)))
    speed = float(np.abs(now.v[fastest.v]).max(initial=0.0))
    found = f"the fastest joint is {fastest.name!r} at {speed:.3g} rad/s or m/s"
    try:
        number = int(np.ravel_multi_index(index, problem.batch)) if index else 0
        with failures_named("the next state", number), time_limit(AGAIN_SECONDS):
            runner.again(values, now)
    except LinkworkError as failure:
        return f"{found}; {failure}"
    except OutOfTime:
        return f"{found}; the failing line was not found in {AGAIN_SECONDS:g} s; try a smaller dt"
    return f"{found}; try a smaller dt"


def _lost_inertia(runner: Runner, index: tuple[int, ...]) -> str:
    """Return a text that names joints whose common motion has almost no inertia in the last state; empty if there are
    none.

    The state belongs to the batch member at `index` of the `runner`. An example is gimbal lock: three revolute joints
    with massless links between them, two of which become parallel.
    """
    problem = runner.problem
    start, values = problem.member(index)
    m, now = problem.system(values).mechanism, member(runner.now, index)
    matrices = [for_mimic_joints("mass_matrix", mass_matrix, ("q",))(m, q) for q in (start.q, now.q)]
    if not m.nv or not np.isfinite(matrices).all():
        return ""
    size = np.sqrt(np.diag(matrices[0]))
    (before, _), (after, motions) = (np.linalg.eigh(M / np.outer(size, size)) for M in matrices)
    if after[0] >= LOST * before[0]:
        return ""
    names = [joint.name for joint in m.leaders for _ in range(joint.kind.nv)]
    first, second, *_ = [*np.argsort(-np.abs(motions[:, 0] / size)), 0]
    joints = f"{names[first]!r} and {names[second]!r}" if first != second else repr(names[first])
    return (
        f"the mass matrix is nearly singular: a motion of {joints} moves almost no inertia in this position, as in "
        "gimbal lock; give these joints an armature, or use a ball joint. "
    )
