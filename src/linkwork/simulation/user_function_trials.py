"""Trial calls: every user function, such as a controller, is called once before a run, to find errors early."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.errors import NonFinite, ShapeError
from linkwork.model.batch_broadcasting import refuse_non_finite
from linkwork.simulation.simulation_problem import Problem
from linkwork.spatial.scalar import Array


def try_once(problem: Problem, dt: float) -> tuple[str, ...]:
    """Call every user function once with floats, in the start state of the first batch member, to find errors early.

    Return the names of the parameters that the controller switches. `dt` [s] is the step of the run; the start state
    has the time `dt` times its number of steps.
    """
    if 0 in problem.batch:
        return ()
    commands: tuple[str, ...] = ()
    now, values = problem.member(problem.first)
    m, t = problem.mechanism, float(now.step) * dt
    state = (t, now.q, now.v)
    if problem.control is not None:
        # called as a sampled controller, because its result may also contain modes
        problem = replace(problem, sampler=problem.control)
    if problem.sampler is not None:
        forces, memory, wanted = problem.sample(values, t, now)
        _refuse_non_finite_forces(problem, forces)
        refuse_non_finite("the memory of the controller", np.asarray(memory, dtype=float))
        commands = tuple(wanted)
    if problem.wrenches is not None:
        found = problem.wrenches.forces(values, (m.nbodies, 6), *state)
        refuse_non_finite("wrenches", np.asarray(found, dtype=float))
    for guard in problem.guards:
        found = guard(values, *state)
        if not (np.shape(found) == () and np.isreal(found) and not isinstance(found, (bool, np.bool_))):
            raise ShapeError(f"a guard of the schedule must return one number, such as q[0] - 1.0; got {found!r:.80}")
        refuse_non_finite("a guard of the schedule, at the start,", np.asarray(found, dtype=float))
    if problem.stop is not None and np.shape(problem.stop(values, *state)) != ():
        raise ShapeError("stop_when must return one condition or one number, such as q[0] > 1.0")
    return commands


def _refuse_non_finite_forces(problem: Problem, forces: Array) -> None:
    array = np.asarray(forces, dtype=float)
    for joint in problem.mechanism.leaders:
        if not np.isfinite(array[joint.v]).all():
            raise NonFinite(f"the controller returned {array[joint.v]} for joint {joint.name!r} at the start")
