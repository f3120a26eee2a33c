"""Checks of the arguments of `simulate` and `Simulator`, and construction of the `Problem` from these arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.passive_joint_forces import Stops
from linkwork.compiler import refuse_unrepeatable
from linkwork.errors import LinkworkError, NonFinite, ShapeError, unknown_name
from linkwork.model.batch_broadcasting import Input, Shape, as_numbers, checked, refuse_non_finite
from linkwork.model.elements import locks, with_locks
from linkwork.model.keyframes import Keyframe
from linkwork.model.mechanism import Mechanism
from linkwork.model.physical_validity import require_inertia
from linkwork.simulation.effort_limits import acting_effort_limits
from linkwork.simulation.events.event_log import LINES, LINES_PER_JOINT
from linkwork.simulation.events.guards import OneShot, self_switched_modes
from linkwork.simulation.events.schedule import (
    RunInterval,
    Switch,
    check_times,
    entries_of,
    locked_names,
    modes_of,
    not_again,
    scheduled,
)
from linkwork.simulation.events.schedule_conflicts import refuse_contradictions
from linkwork.simulation.events.slip import row_speeds, slip_of_speeds
from linkwork.simulation.joint_friction_rows import directions_at_start, friction_count, with_friction_velocities
from linkwork.simulation.load_dependent_friction import unsupported
from linkwork.simulation.memory_limits import refuse_many_members
from linkwork.simulation.results.outcomes import Event
from linkwork.simulation.simulation_problem import CONSTANT, Problem
from linkwork.simulation.start_state import state_at_start
from linkwork.simulation.state import (
    LOG_COLUMNS,
    RUNNING,
    STOPPED,
    EventLog,
    MemberState,
)
from linkwork.simulation.user_function_trials import try_once
from linkwork.simulation.user_functions import Controller, Sampled, StopCondition, UserFunction, Wrenches
from linkwork.simulation.work_ledger import without_impulse
from linkwork.spatial.scalar import Array, Number


class Continuation(NamedTuple):
    """A run to be continued: its mechanism, final state, parameters by name, step dt [s], end time [s], events and
    batch shape.
    """

    mechanism: Mechanism
    final: MemberState
    parameters: Mapping[str, Array]
    dt: float
    end: float
    events: tuple[Event, ...]
    batch: Shape


class Setup(NamedTuple):
    """The unchecked arguments of `simulate` or `Simulator`, under the names of `simulate`.

    `continued` is the run to continue, if q0 is a run. `commands` are the names of the parameters that the controller
    switches. `interval` is that of the times of the schedule, or None if they are not checked.
    """

    mechanism: Mechanism
    q0: ArrayLike | None = None
    v0: ArrayLike | None = None
    controller: Controller | Sampled | None = None
    schedule: Iterable[object] | None = None
    wrenches: Wrenches | None = None
    parameters: Mapping[str, ArrayLike] | None = None
    gains: Mapping[str, ArrayLike] | None = None
    memory: ArrayLike | None = None
    stop_when: StopCondition | None = None
    stops: float | None = None
    baumgarte: float | None = None
    rigid: bool = False
    dt: float | None = None
    continued: Continuation | None = None
    commands: tuple[str, ...] = ()
    clip_effort: bool = False
    interval: RunInterval | None = None


class Switches(NamedTuple):
    """The entries of a schedule (`timeline`), and the `names` of all parameters that can be switched during the run."""

    timeline: tuple[Switch, ...]
    names: tuple[str, ...]


class Functions(NamedTuple):
    """The functions of the user: continuous or sampled controller, wrenches, stop condition and guards.

    `sampler` is the function of the sampled controller, and `sampling` has its rate.
    """

    control: UserFunction | None
    sampler: UserFunction | None
    sampling: Sampled | None
    wrenches: UserFunction | None
    stop: UserFunction | None
    guards: tuple[UserFunction, ...]


class Arrays(NamedTuple):
    """Checked array arguments by name (`values`), their common batch shape, and the mechanism parameters among them."""

    values: dict[str, Array]
    batch: Shape
    parameters: dict[str, Array]


def problem_of(setup: Setup) -> Problem:
    """Return the problem that the arguments in `setup` describe; raise a LinkworkError that names an invalid
    argument.
    """
    m = _mechanism(setup)
    switches = _switches(m, setup)
    given = _parameters(m, setup, switches)
    if reason := unsupported(m, setup.rigid):
        raise LinkworkError(reason)
    m = with_friction_velocities(m, given)
    _refuse_many_members(m, setup, given)
    require_inertia(m, given)
    gains, wrenches = _gains(setup, given)
    control, sampler, sampling = _controllers(setup.controller, list(gains))
    arrays = _arrays(m, setup, given, gains, _first_memory(sampler, setup))
    timeline = check_times(switches.timeline, arrays.batch, setup.interval)
    if setup.continued is not None:
        run = setup.continued
        timeline = tuple(not_again(switch, run.final.step * run.dt, run.dt, run.events) for switch in timeline)
    gains = {name: _gain(name, value) for name, value in gains.items()}
    stop = None if setup.stop_when is None else UserFunction("condition stop_when", setup.stop_when, list(gains))
    functions = Functions(control, sampler, sampling, wrenches, stop, _guards(timeline, list(gains)))
    _refuse_unused(gains, functions)
    _refuse_unrepeatable(functions)
    _refuse_conflicts(m, setup, timeline, arrays.parameters)
    rate = None if setup.baumgarte is None else positive("baumgarte, a rate [1/s],", setup.baumgarte)
    problem = Problem(
        m,
        *functions[:5],
        parameters=arrays.parameters,
        gains=gains,
        batch=arrays.batch,
        start=_start(m, setup, arrays, switches.names),
        stops=_stops(m, setup.stops),
        switches=timeline,
        baumgarte=rate,
        guards=functions.guards,
        commands=setup.commands,
        switched=switches.names,
        rigid=setup.rigid,
        effort=acting_effort_limits(m, setup.clip_effort, control, sampler),
    )
    return replace(problem, start=_with_log(problem, resumed=setup.continued is not None))


def with_commands(setup: Setup, problem: Problem) -> tuple[Setup, Problem]:
    """Return `setup` and `problem`, extended by the parameters that the controller switches (its commands).

    To find the names of these parameters, the function calls the controller once. A controller with commands becomes a
    sampled controller.
    """
    step = setup.dt or (setup.continued.dt if setup.continued is not None else 0.0)
    commands = try_once(problem, step)
    if not commands:
        return setup, problem
    controller = setup.controller
    if problem.sampling is None:
        assert not isinstance(controller, Sampled | None)
        controller = Sampled(controller)
    setup = setup._replace(controller=controller, commands=commands)
    return setup, problem_of(setup)


# --- mechanism, parameters, switches ---


def _mechanism(setup: Setup) -> Mechanism:
    """Return the mechanism to simulate: that of `setup`, with a new brake on every joint that is to be locked.

    The schedule or the controller locks these joints. Joints that have a brake get no new brake.
    """
    m = setup.mechanism
    if not isinstance(m, Mechanism):
        raise LinkworkError(f"mechanism must be a Mechanism, from lw.load, lw.example or Builder.build; got {m!r:.80}")
    m = with_locks(m, [*locked_names(entries_of(setup.schedule)), *_joints_of(m, setup.commands)])
    run = setup.continued
    if run is None:
        return m
    m = with_locks(m, locks(run.mechanism))
    if setup.v0 is not None or setup.memory is not None or run.mechanism.nq != m.nq:
        raise LinkworkError(
            "a continued run starts in its final state: leave out v0 and memory, and pass the same mechanism"
        )
    return m


def _joints_of(m: Mechanism, parameters: Iterable[str]) -> list[str]:
    """Return the joints without a brake whose "JOINT.engaged" is among `parameters`; each of them needs a new brake."""
    names = [name.removesuffix(".engaged") for name in parameters if name not in m.parameters]
    return [name for name in names if name in m.joints]


def _switches(m: Mechanism, setup: Setup) -> Switches:
    """Return the checked schedule of `setup`, and the names of all parameters that can be switched during the run."""
    timeline = scheduled(m, entries_of(setup.schedule))
    for name in setup.commands:
        if name not in modes_of(m):
            raise unknown_name("mode returned by the controller", name, modes_of(m))
    names = dict.fromkeys((*(switch.parameter for switch in timeline), *self_switched_modes(m), *setup.commands))
    return Switches(timeline, tuple(names))


def _parameters(m: Mechanism, setup: Setup, switches: Switches) -> dict[str, ArrayLike]:
    """Return the values of all parameters, by name, that the user gave or that can be switched during the run.

    `setup` has the arguments of `simulate`, and `switches` the names of the parameters that can be switched.
    """
    given: dict[str, ArrayLike] = {
        **({} if setup.continued is None else setup.continued.parameters),
        **(setup.parameters or {}),
    }
    for name in given:
        if name not in m.parameters:
            raise m.unknown_parameter(name)
    changing = [*switches.names, *(f"{item.name}.engaged" for item in m.bounded)]
    built: dict[str, ArrayLike] = {name: m.parameters[name] for name in changing}
    return built | given


def _refuse_conflicts(m: Mechanism, setup: Setup, timeline: Sequence[Switch], parameters: Mapping[str, Array]) -> None:
    """Raise a LinkworkError if couplings contradict each other at the start or after an entry of the schedule.

    `timeline` are the entries of the schedule, `parameters` the values at the start, and `setup` the arguments of
    `simulate`.
    """
    run = setup.continued
    began, half = (0.0, 0.0) if run is None else (run.end, 0.5 * (run.dt or 0.0))
    refuse_contradictions(m, timeline, parameters, setup.commands, began - half)


# --- users' functions ---


def _gains(setup: Setup, given: Mapping[str, ArrayLike]) -> tuple[dict[str, ArrayLike], UserFunction | None]:
    """Return the gains by name, and the user function that computes wrenches; constant wrenches become a gain.

    `setup` has the arguments of `simulate`. `given` are the parameters by name, which must not have the names of gains.
    """
    gains = dict(setup.gains or {})
    clash = [name for name in gains if name in given or name == CONSTANT]
    if clash:
        raise LinkworkError(f"gain {clash[0]!r} has the name of a parameter or of `wrenches`; rename the gain")
    function = setup.wrenches
    if function is not None and not callable(function):
        gains[CONSTANT] = as_numbers("wrenches", function)
        function = _constant
    return gains, None if function is None else UserFunction("function of wrenches", function, list(gains))


def _constant(t: Number, q: Array, v: Array, wrenches: Array) -> Array:
    """Return `wrenches`: a user function of (t, q, v) and a gain, which makes constant wrenches a function."""
    return wrenches


def _gain(name: str, value: ArrayLike) -> Array:
    """Return the gain `name` as an array of floats; raise a LinkworkError if its `value` is not numeric or finite."""
    array = as_numbers(f"gain {name!r}", value)
    refuse_non_finite(f"gain {name!r}", array)
    return array


def _controllers(
    controller: Controller | Sampled | None, gains: list[str]
) -> tuple[UserFunction | None, UserFunction | None, Sampled | None]:
    """Return the continuous controller, the sampled controller and its sampling; each is None if the run has none.

    `controller` is the argument of `simulate`, and `gains` are the names of all gains.
    """
    if controller is None:
        return None, None, None
    if isinstance(controller, Sampled):
        return None, UserFunction("controller", controller.function, gains), controller
    if not callable(controller):
        raise LinkworkError(f"controller must be a function controller(t, q, v); got {controller!r:.80}")
    function = UserFunction("controller", controller, gains)
    return (None, function, Sampled(controller)) if function.has_memory else (function, None, None)


def _first_memory(sampler: UserFunction | None, setup: Setup) -> Array:
    """Return the initial memory (..., k) of the controller `sampler`, or of the continued run; empty without memory."""
    if setup.continued is not None:
        return setup.continued.final.memory
    controller = setup.controller
    function = controller.function if isinstance(controller, Sampled) else controller
    first = setup.memory if setup.memory is not None else getattr(function, "memory", None)
    if sampler is None or not sampler.has_memory:
        if setup.memory is not None:
            raise LinkworkError(
                "memory was given, but the controller takes no memory: define it as controller(t, q, v, memory)"
            )
        return np.zeros(0)
    if first is None:
        raise LinkworkError(
            f"the argument {sampler.fourth!r} of the controller is not among the gains, so it is its memory and "
            f"needs its initial value: pass memory=np.zeros(k), or gains={{{sampler.fourth!r}: ...}}"
        )
    array = as_numbers("memory", first)
    return array if array.ndim else array.reshape(1)


def _guards(timeline: Sequence[Switch], gains: list[str]) -> tuple[UserFunction, ...]:
    """Return the guards of the schedule `timeline` as checked user functions."""
    whens = [switch.when for switch in timeline if switch.guarded]
    functions = [when.function if isinstance(when, OneShot) else when for when in whens]
    return tuple(UserFunction("guard of the schedule", function, gains) for function in functions)


def _refuse_unrepeatable(functions: Functions) -> None:
    """Raise NotTraceable if a function that is to be compiled refers to a clock or a random number generator."""
    sampling = functions.sampling
    sampler = None if sampling is not None and sampling.in_python else functions.sampler
    for one in (functions.control, sampler, functions.wrenches, functions.stop, *functions.guards):
        if one is not None:
            refuse_unrepeatable(one.what, one.function)


def _refuse_unused(gains: Mapping[str, Array], functions: Functions) -> None:
    """Raise a LinkworkError if one of the `gains` is not an argument of any of the user `functions`."""
    users = (functions.control, functions.sampler, functions.wrenches, functions.stop, *functions.guards)
    for name in gains:
        if not any(one is not None and name in one.gains for one in users):
            raise LinkworkError(
                f"no function takes the gain {name!r}: add it to the arguments, as in controller(t, q, v, {name})"
            )


# --- states ---


def positive(name: str, value: object) -> float:
    """Return `value` as a float; raise a LinkworkError that names the argument `name` if it is not a positive
    number.
    """
    if not (isinstance(value, (int, float, np.number)) and np.isfinite(value) and value > 0.0):
        raise LinkworkError(f"{name} must be a positive number; got {value!r}")
    return float(value)


def _refuse_many_members(m: Mechanism, setup: Setup, given: Mapping[str, ArrayLike]) -> None:
    """Raise a LinkworkError if memory is too small for the batch size of `setup` and of the parameters `given`."""
    inputs = [(array, 1) for array in (setup.q0, setup.v0, setup.memory) if array is not None]
    if setup.wrenches is not None and not callable(setup.wrenches):
        inputs.append((setup.wrenches, 2))
    inputs += [(array, m.parameters[name].ndim) for name, array in given.items()]
    refuse_many_members(m.nq + m.nv, [(array, own) for array, own in inputs if np.ndim(array) > own])


def _arrays(
    m: Mechanism, setup: Setup, given: Mapping[str, ArrayLike], gains: Mapping[str, ArrayLike], memory: Array
) -> Arrays:
    """Return start states, constant wrenches and parameters as arrays, broadcast to one batch shape.

    `setup` has the arguments of `simulate`, `given` are the parameters and `gains` the gains by name, and `memory`
    (..., k) is the initial memory of the controller, k numbers.
    """
    run = setup.continued
    q = run.final.q if run is not None else _positions(m, setup.q0)
    inputs = {
        "q0": Input(q, (m.nq,)),
        "v0": Input(run.final.v if run is not None else _velocities(m, setup), (m.nv,)),
        "memory": Input(memory, memory.shape[-1:]),
        **({CONSTANT: Input(gains[CONSTANT], (m.nbodies, 6))} if CONSTANT in gains else {}),
        **{name: Input(value, m.parameters[name].shape) for name, value in given.items()},
    }
    arrays, batch = checked(inputs)
    found = dict(zip(inputs, arrays, strict=True))
    for name in given:
        m.check_parameter(name, found[name])
    return Arrays(found, batch, {name: found[name] for name in given})


def _positions(m: Mechanism, q0: ArrayLike | None) -> Array:
    """Return `q0`, or if it is None the coordinates of `start_of`, as an array (..., nq) with unit quaternions."""
    q = as_numbers("q0", start_of(m).q if q0 is None else q0)
    if q.ndim == 0 or q.shape[-1] != m.nq:
        raise ShapeError(f"q0 has shape {q.shape}, expected (..., {m.nq})")
    refuse_non_finite("q0", q)
    found = []
    for joint in m.leaders:
        with np.errstate(all="ignore"):
            part = joint.kind.normalized(q[..., joint.q])
        if not np.isfinite(part).all():
            raise NonFinite(f"q0: the quaternion of joint {joint.name!r} is zero; the identity is (1, 0, 0, 0)")
        found.append(part)
    return np.concatenate([q[..., :0], *found], axis=-1)


def start_of(m: Mechanism) -> Keyframe:
    """Return the keyframe "start", or the neutral position at rest if there is no such keyframe."""
    return m.keyframes["start"] if "start" in m.keyframes else Keyframe("start", m.neutral(), np.zeros(m.nv))


def _velocities(m: Mechanism, setup: Setup) -> ArrayLike:
    """Return the start velocities: `v0`, or those of the keyframe "start" if neither q0 nor v0 is given, or zeros."""
    if setup.v0 is None:
        return start_of(m).v if setup.q0 is None else np.zeros(m.nv)
    return setup.v0


def _start(m: Mechanism, setup: Setup, arrays: Arrays, switched: Sequence[str]) -> MemberState:
    """Return the start state of all members of a new or continued run, in arrays (*batch, ...).

    `setup` has the arguments of `simulate`, and `arrays` the checked array arguments. The modes in the state are the
    values of the parameters called `switched`.
    """
    batch, parameters = arrays.batch, arrays.parameters
    begin = (
        state_at_start(m, arrays.values, parameters, batch, setup.rigid)
        if setup.continued is None
        else _resumed(setup.continued, setup.dt)
    )
    if setup.continued is None:
        names = {item.name for item in m.bounded}
        found = {item.name: (item, w) for _, item, w in row_speeds(m, begin.v, parameters) if item.name in names}
        slip = slip_of_speeds([item for item, _ in found.values()], [w for _, w in found.values()], [0.0] * len(found))
        friction = directions_at_start(m, begin.q, begin.v)
        begin = begin.moved(slip=np.concatenate([_stacked(slip, batch), friction], axis=-1))
    return begin.moved(modes=_stacked([parameters[name] for name in switched], batch))


def _stacked(values: Sequence[Array | float], batch: tuple[int, ...]) -> Array:
    """Return one array (*batch, n) with the n `values`, each of which is a number or an array (*batch,)."""
    each = [np.broadcast_to(value, batch) for value in values]
    return np.stack(each, axis=-1) if each else np.zeros((*batch, 0))


def _resumed(run: Continuation, dt: float | None) -> MemberState:
    """Return the start state of a continued run: the final state of the first run `run`, for the step dt [s].

    Members that Ctrl-C stopped run again. If dt differs from the step of the first run, the step count is converted;
    the end time of the first run must then be a whole number of new steps.
    """
    status = np.where(run.final.status == STOPPED, RUNNING, run.final.status)
    step = run.final.step
    if dt is not None and dt != run.dt:
        step = np.round(step * run.dt / dt)
        if np.abs(step * dt - run.final.step * run.dt).max(initial=0.0) > 1e-9 * dt:
            raise LinkworkError(
                f"the end time of the continued run is not a whole number of steps of dt={dt:g} s; choose another dt"
            )
    return run.final._replace(status=status, step=step).moved(ledger=without_impulse(run.final.motion.ledger))


def _with_log(problem: Problem, resumed: bool) -> MemberState:
    """Return the start state with an empty event log; a `resumed` run begins with the arming states at the end of the
    first run.
    """
    start, batch, m = problem.start, problem.batch, problem.mechanism
    own, guards = len(m.self_switching), len(problem.guards)
    count = 2 * len(m.bounded) + friction_count(m) + own + guards + len(problem.commands)
    length = max(LINES, count, LINES_PER_JOINT * friction_count(m)) if count else 0
    lines = np.zeros((*batch, length, LOG_COLUMNS))
    armed = np.zeros((*batch, own + guards))
    if resumed and start.motion.armed.shape == armed.shape:
        armed = start.motion.armed
    return start.moved(armed=armed, log=EventLog(lines, np.zeros(batch)))


# Inertia (nv,) of each velocity of a mechanism at its neutral position, if all others are free
_inertias: WeakKeyDictionary[Mechanism, Array] = WeakKeyDictionary()


def _stops(m: Mechanism, time_constant: float | None) -> Stops | None:
    """Return the springs and dampers at joint limits; None if there are no limits or `time_constant` is None.

    They are critically damped, with the time constant `time_constant` [s].
    """
    tree = m.tree
    if time_constant is None or not any(np.isfinite([j.lower, j.upper]).any() for j in tree.joints):
        return None
    time_constant = positive("stops, the time constant [s] of joint limits, or None,", time_constant)
    if m not in _inertias:
        _inertias[m] = 1.0 / np.diag(np.linalg.inv(mass_matrix(tree, tree.neutral())))
    inertia = _inertias[m]
    return Stops(inertia / time_constant**2, 2.0 * inertia / time_constant)
