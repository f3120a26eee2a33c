"""What was asked for, checked before anything runs: states, parameters, gains and users' functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from linkwork.algorithms.contact_forces import APART
from linkwork.algorithms.mass import mass_matrix
from linkwork.algorithms.passive import Stops
from linkwork.errors import LinkworkError, NonFinite, ShapeError, unknown_name
from linkwork.model.broadcast import Input, Shape, as_numbers, checked, refuse_non_finite
from linkwork.model.keyframes import Keyframe
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.carry import GOING, HUGE, STOPPED, Carry
from linkwork.simulation.contacts.contact_rows import contact_series
from linkwork.simulation.controllers import Answer, Law, Sampled
from linkwork.simulation.results.recording import Run
from linkwork.simulation.steps.moving import NO_LOG
from linkwork.simulation.switching.agreement import refuse_contradictions
from linkwork.simulation.switching.guards import Guard, Once
from linkwork.simulation.switching.happening import LINES
from linkwork.simulation.switching.slipping import begun, tie_speeds
from linkwork.simulation.switching.switching import (
    Switch,
    check_times,
    entries_of,
    lockable,
    locked_names,
    modes_of,
    not_again,
    scheduled,
)
from linkwork.simulation.system import System
from linkwork.spatial.scalar import Array, Number, maximum, minimum, where

CONSTANT = "wrenches"  # the name under which constant wrenches are handed to their law


@dataclass(frozen=True, eq=False)
class Request:
    """Everything that a run depends on except its method: laws, the batch, where it starts, what varies in it."""

    mechanism: Mechanism
    control: Law | None
    sampler: Law | None
    sampling: Sampled | None
    wrenches: Law | None
    stop: Law | None
    parameters: dict[str, Array]
    gains: dict[str, Array]
    batch: Shape
    start: Carry
    stops: Stops | None = None
    switches: tuple[Switch, ...] = ()
    baumgarte: float | None = None
    guards: tuple[Law, ...] = ()  # of those switches that have one
    commands: tuple[str, ...] = ()  # parameters that the controller switches
    switched: tuple[str, ...] = ()  # the parameters that change on the way
    rigid: bool = False  # whether contacts are

    @property
    def watches(self) -> bool:
        """Whether anything may happen by itself within steps."""
        return bool(self.mechanism.slippers or self.mechanism.latches or self.guards or self.commands)

    def values_in(self, values: Mapping[str, Any], modes: Array) -> dict[str, Any]:
        """A member's values, with those that are switched on the way as `modes` (m,) say."""
        return {**values, **dict(zip(self.switched, modes, strict=True))}

    def parameters_in(self, modes: Array) -> dict[str, Array]:
        """All parameters (*batch, shape), with those that are switched on the way as `modes` (*batch, m) say."""
        return self.parameters | {name: np.asarray(modes)[..., k] for k, name in enumerate(self.switched)}

    @property
    def values(self) -> dict[str, Array]:
        """Parameters and gains, each (*batch, shape) or the same for all."""
        return self.parameters | self.gains

    @property
    def first(self) -> tuple[int, ...]:
        """Where the first member is in the batch."""
        return (0,) * len(self.batch)

    def core(self, name: str) -> Shape:
        """The shape of a parameter or gain of one member."""
        if name in self.parameters:
            return self.mechanism.parameters[name].shape
        shape, size = self.gains[name].shape, len(self.batch)
        return shape[size:] if shape[:size] == self.batch else shape

    @property
    def series_shapes(self) -> dict[str, Shape]:
        """What can be recorded, with the shape of a row."""
        m, memory = self.mechanism, self.start.memory.shape[-1]
        shapes: dict[str, Shape] = {"q": (m.nq,), "v": (m.nv,), "work": (), "rounds": ()}
        shapes |= {"tau": (m.nv,)} if self.control or self.sampler else {}
        shapes |= {"drive.force": (len(m.drives),)} if self.control and self.control.motors else {}
        shapes |= {"memory": (memory,)} if memory else {}
        shapes |= {"stops": (m.nv,)} if self.stops else {}
        shapes |= {name: self.core(name) for name in self.switched}
        shapes |= {"slip": (len(m.slippers),)} if m.slippers else {}
        shapes |= contact_series(m, self.rigid)
        return shapes | ({"wrenches": (m.nbodies, 6)} if self.wrenches else {})

    def system(self, values: Mapping[str, Any]) -> System:
        """The mechanism with a member's parameters, under laws with its gains."""
        varied = {name: values[name] for name in self.parameters}
        m, wrenches = self.mechanism.varied(varied) if varied else self.mechanism, self.wrenches
        control = None if self.control is None else self._commanding(self.control, values)
        return System(
            m,
            None if control is None else lambda t, q, v: control.forces(values, (m.nv,), t, q, v),
            None if wrenches is None else lambda t, q, v: wrenches.forces(values, (m.nbodies, 6), t, q, v),
            self.stops,
            self.baumgarte,
            modes=self.switched,
            guards=tuple(self._bound_guards(values)),
            rigid=self.rigid,
        )

    def _bound_guards(self, values: Mapping[str, Any]) -> Iterator[Guard]:
        """The guards of the schedule, with a member's gains."""
        guarded = [switch for switch in self.switches if switch.guarded]
        for law, switch in zip(self.guards, guarded, strict=True):
            only = isinstance(switch.when, Once)
            mode = self.switched.index(switch.parameter)
            yield Guard(partial(_guarded, law, values), mode, switch.value, only, switch.what)

    def sample(self, values: Mapping[str, Any], t: Number, now: Carry) -> Answer:
        """Joint forces (nv,) of the sampled controller from now on, its memory (k,), and what it wants of modes."""
        assert self.sampler
        sampler, shape = self._commanding(self.sampler, values), (self.mechanism.nv,)
        given = {**modes_of(self.mechanism), **values, **dict(zip(self.switched, now.modes, strict=True))}
        state = (t, now.q, now.v, now.memory) if sampler.has_memory else (t, now.q, now.v)
        return sampler.answer(given, shape, *state)

    def wanted(self, answer: Answer, modes: Array) -> Array:
        """The modes (m,) that a controller wants, as they are where it says nothing of them."""
        pairs = zip(self.switched, modes, strict=True)
        return np.array([self._possible(name, answer.modes.get(name, mode)) for name, mode in pairs])

    def _possible(self, name: str, mode: Number) -> Number:
        """A mode itself, or the gear next below where it is one."""
        if not name.endswith(".selected"):
            return mode
        most = float(len(self.mechanism.transmissions[name.removesuffix(".selected")].ratios))
        return where(abs(mode) <= HUGE, minimum(maximum(np.floor(mode), 0.0), most), np.nan)

    def motor_forces(self, values: Mapping[str, Any], t: Number, now: Carry) -> Array:
        """Forces (ndrives,) [N m or N] of the motors of drives, where the controller commands them."""
        motors = self._commanding(self.control, values).motors if self.control else None
        assert motors
        return motors.forces(values, (len(self.mechanism.drives),), t, now.q, now.v)

    def _commanding(self, law: Law, values: Mapping[str, Any]) -> Law:
        """A law as it acts on a member, whose drives may have numbers of their own."""
        own = {name: values[name] for name in self.parameters if name.rpartition(".")[0] in self.mechanism.drives}
        return law.on(self.mechanism.varied(own)) if own else law

    @property
    def in_python(self) -> bool:
        """Whether a controller is sampled outside the program."""
        return self.sampling is not None and self.sampling.in_python

    @property
    def traced_sampler(self) -> bool:
        """Whether a controller is sampled inside the program."""
        return self.sampling is not None and not self.sampling.in_python

    def stops_at(self, values: Mapping[str, Any], t: Number, q: Array, v: Array) -> Any:
        """Whether the run is to stop, by a condition or a number that becomes positive."""
        ended = False if self.stop is None else self.stop(values, t, q, v)
        return ended if isinstance(ended, (bool, np.bool_)) or hasattr(ended, "select") else ended > 0.0

    def answers(self, values: Mapping[str, Any], t: Number, now: Carry) -> Iterator[Any]:
        """What all users' functions that are part of a program say in one state of one member."""
        state, system = (t, now.q, now.v), self.system(values)
        if system.control is not None:
            yield system.control(*state)
        if self.control is not None and self.control.motors:
            yield self.motor_forces(values, t, now)
        if self.traced_sampler:
            answer = self.sample(values, t, now)
            yield from (answer.forces, answer.memory, self.wanted(answer, now.modes))
        if system.wrenches is not None:
            yield system.wrenches(*state)
        if self.stop is not None:
            yield where(self.stops_at(values, *state), 1.0, 0.0)
        yield from (guard.function(*state) for guard in system.guards)

    def alone(self) -> Request:
        """The same for the first member alone."""
        start, values = self.member(self.first)
        parameters = {name: np.asarray(values[name]) for name in self.parameters}
        gains = {name: np.asarray(values[name]) for name in self.gains}
        own = [
            s if s.guarded else s._replace(when=np.broadcast_to(s.when, self.batch)[self.first]) for s in self.switches
        ]
        return replace(self, batch=(), start=start, parameters=parameters, gains=gains, switches=tuple(own))

    def member(self, index: tuple[int, ...]) -> tuple[Carry, dict[str, Array]]:
        """The start and the values of one member."""
        values = {}
        for name, value in self.values.items():
            core = self.core(name)
            values[name] = np.broadcast_to(value, self.batch + core)[index] if value.shape != core else value[()]
        return Carry(*(np.asarray(x)[index] for x in self.start)), values


def positive(name: str, value: Any) -> float:
    """`value` as a float, or an error that names it if it is not a positive number."""
    if not (isinstance(value, (int, float, np.number)) and np.isfinite(value) and value > 0.0):
        raise LinkworkError(f"{name} must be a positive number; got {value!r}")
    return float(value)


def request(
    mechanism: Mechanism,
    q0: Any,
    v0: Any,
    controller: Any,
    wrenches: Any,
    stop_when: Any,
    parameters: Mapping[str, Any] | None,
    gains: Mapping[str, Any] | None,
    memory: Any,
    stops: float | None,
    dt: float | None = None,
    schedule: Sequence[Any] | None = None,
    baumgarte: float | None = None,
    commands: tuple[str, ...] = (),
    rigid: bool = False,
) -> Request:
    """What was asked for, or an error that names what is wrong with it. The controller switches the `commands`."""
    m = mechanism
    if not isinstance(m, Mechanism):
        raise LinkworkError(f"a Mechanism is simulated, as lw.load(...) or lw.example(...) gives; got {m!r:.80}")
    entries = entries_of(schedule)
    m = mechanism = lockable(m, [*locked_names(entries), *_joints_of(m, commands)])
    continued = q0 if isinstance(q0, Run) else None
    if continued is not None:
        m = lockable(m, continued.mechanism.brakes.names)
    if continued is not None and (v0 is not None or memory is not None or continued.mechanism.nq != m.nq):
        raise LinkworkError("a run is continued from its own end: give no v0 or memory, and the same mechanism")
    given = {**(continued.parameters if continued is not None else {}), **(parameters or {})}
    for name in given:
        if name not in m.parameters:
            raise unknown_name("parameter", name, m.parameters)
    switches = scheduled(m, entries)
    switched = [switch.parameter for switch in switches] + [f"{latch.name}.engaged" for latch in m.latches]
    for name in commands:
        if name not in modes_of(m):
            raise unknown_name("mode that the controller switches", name, modes_of(m))
    switched = list(dict.fromkeys((*switched, *commands)))
    changing = switched + [f"{item.name}.engaged" for item in m.slippers]
    given = {name: m.parameters[name] for name in changing} | given
    named = dict(gains or {})
    clash = [name for name in named if name in given or name == CONSTANT]
    if clash:
        raise LinkworkError(f"a gain needs a name of its own; {clash[0]!r} is taken")
    if wrenches is not None and not callable(wrenches):
        named[CONSTANT] = as_numbers("wrenches", wrenches)
        wrenches = _constant
    sampling, control, sampler = _controllers(controller, list(named))
    first = continued.final.memory if continued is not None else _first_memory(sampler, controller, memory)
    start = continued.final.q if continued is not None else _positions(m, q0)
    inputs = {
        "q0": Input(start, (m.nq,)),
        "v0": Input(_velocities(m, continued, q0, v0), (m.nv,)),
        "memory": Input(first, first.shape[-1:]),
        **({CONSTANT: Input(named[CONSTANT], (m.nbodies, 6))} if CONSTANT in named else {}),
        **{name: Input(value, m.parameters[name].shape) for name, value in given.items()},
    }
    arrays, batch = checked(inputs)
    found = dict(zip(inputs, arrays, strict=True))
    for name in given:
        m.check_parameter(name, found[name])
    switches = check_times(switches, batch)
    if continued is not None:
        switches = tuple(not_again(switch, continued) for switch in switches)
    named |= {name: _gain(name, value) for name, value in named.items()}
    laws = {
        "wrenches": None if wrenches is None else Law("function of wrenches", wrenches, list(named)),
        "stop": None if stop_when is None else Law("condition stop_when", stop_when, list(named)),
    }
    functions = [s.when.function if isinstance(s.when, Once) else s.when for s in switches if s.guarded]
    guards = tuple(Law("guard of the schedule", function, list(named)) for function in functions)
    _refuse_unnamed(named, [control, sampler, *laws.values(), *guards])
    begin = (
        _start(m, found["q0"], found["v0"], found["memory"], batch) if continued is None else _resumed(continued, dt)
    )
    varied = {name: found[name] for name in given}
    began, half = (0.0, 0.0) if continued is None else (float(continued.t[-1]), 0.5 * (continued.settings.dt or 0.0))
    refuse_contradictions(m, switches, varied, commands, began - half)
    if continued is None and m.slippers:
        names = {item.name for item in m.slippers}
        found = {item.name: (item, w) for _, item, w in tie_speeds(m, begin.v, varied) if item.name in names}
        slip = begun([item for item, _ in found.values()], [w for _, w in found.values()], [0.0] * len(found))
        begin = begin._replace(slip=np.stack([np.broadcast_to(s, batch) for s in slip], axis=-1))
    rate = None if baumgarte is None else positive("baumgarte, a rate [1/s],", baumgarte)
    forces = (control, sampler, sampling, laws["wrenches"], laws["stop"])
    modes = [np.broadcast_to(varied[name], batch) for name in switched]
    begin = begin._replace(modes=np.stack(modes, axis=-1) if modes else np.zeros((*batch, 0)))
    asked = Request(
        m, *forces, varied, named, batch, begin, _stops(m, stops), switches, rate, guards, commands, tuple(switched),
        rigid,
    )  # fmt: skip
    return replace(asked, start=_watching(asked, same=continued is not None))


def _watching(asked: Request, same: bool) -> Carry:
    """The start with a log, and with what latches and guards remember: that of a run that goes on in the `same` way."""
    start, batch = asked.start, asked.batch
    latches, guards = len(asked.mechanism.latches), len(asked.guards)
    count = 2 * len(asked.mechanism.slippers) + latches + guards + len(asked.commands)
    log = np.zeros((*batch, max(LINES, count) if count else 0, NO_LOG.shape[-1]))
    armed = np.zeros((*batch, latches + guards))
    if same and start.armed.shape == armed.shape:
        armed = start.armed
    return start._replace(armed=armed, log=log, logged=np.zeros(batch))


def _joints_of(m: Mechanism, parameters: Iterable[str]) -> list[str]:
    """Joints that are to be locked, by the parameters of brakes that they do not have yet."""
    names = [name.removesuffix(".engaged") for name in parameters if name not in m.parameters]
    return [name for name in names if name in m.joints]


def _guarded(law: Law, values: Mapping[str, Any], *state: Any) -> Any:
    return law(values, *state)


def _constant(t: Any, q: Any, v: Any, wrenches: Any) -> Any:
    return wrenches


def _controllers(controller: Any, gains: list[str]) -> tuple[Sampled | None, Law | None, Law | None]:
    """How the controller is sampled, if it is; its law if it acts at every instant; its law if it is sampled."""
    if controller is None:
        return None, None, None
    if isinstance(controller, Sampled):
        return controller, None, Law("controller", controller.function, gains)
    if not callable(controller):
        raise LinkworkError(f"controller must be a function controller(t, q, v); got {controller!r:.80}")
    law = Law("controller", controller, gains)
    return (Sampled(controller), None, law) if law.has_memory else (None, law, None)


def _first_memory(sampler: Law | None, controller: Any, memory: Any) -> Array:
    function = controller.function if isinstance(controller, Sampled) else controller
    first = memory if memory is not None else getattr(function, "memory", None)
    if sampler is None or not sampler.has_memory:
        if memory is not None:
            raise LinkworkError("memory was given, but the controller takes none: write controller(t, q, v, memory)")
        return np.zeros(0)
    if first is None:
        raise LinkworkError(
            "a controller with memory needs its first one: simulate(..., memory=np.zeros(k)), or an attribute `memory`"
        )
    array = as_numbers("memory", first)
    return array if array.ndim else array.reshape(1)


def _positions(m: Mechanism, q0: Any) -> Array:
    """Coordinates with unit quaternions."""
    q = as_numbers("q0", start_of(m).q if q0 is None else q0)
    if q.ndim == 0 or q.shape[-1] != m.nq:
        raise ShapeError(f"q0 has shape {q.shape}, expected (..., {m.nq})")
    refuse_non_finite("q0", q)
    found = []
    for joint in m.leaders:
        with np.errstate(all="ignore"):
            part = joint.kind.normalized(q[..., joint.q])
        if not np.isfinite(part).all():
            raise NonFinite(f"q0: the quaternion of joint {joint.name!r} has length zero; a unit one is (1, 0, 0, 0)")
        found.append(part)
    return np.concatenate([q[..., :0], *found], axis=-1)


def start_of(m: Mechanism) -> Keyframe:
    """The keyframe "start", or the neutral position at rest where there is none."""
    return m.keyframes["start"] if "start" in m.keyframes else Keyframe("start", m.neutral(), np.zeros(m.nv))


def _velocities(m: Mechanism, continued: Run | None, q0: Any, v0: Any) -> Any:
    if continued is not None:
        return continued.final.v
    if v0 is None:
        return start_of(m).v if q0 is None else np.zeros(m.nv)
    return v0


def _gain(name: str, value: Any) -> Array:
    array = as_numbers(f"gain {name!r}", value)
    refuse_non_finite(f"gain {name!r}", array)
    return array


def _refuse_unnamed(gains: Mapping[str, Any], laws: list[Law | None]) -> None:
    for name in gains:
        if not any(law is not None and name in law.gains for law in laws):
            raise LinkworkError(
                f"no function takes a gain {name!r}: write it among the arguments, as in controller(t, q, v, {name})"
            )


def _resumed(run: Run, dt: float | None) -> Carry:
    """A run's end as a start: those whom the user stopped go on. Steps are counted anew if they are of another size."""
    code = np.where(run.final.code == STOPPED, GOING, run.final.code)
    step, before = run.final.step, run.settings.dt
    if dt is not None and dt != before:
        step = np.round(step * before / dt)
        if np.abs(step * dt - run.final.step * before).max(initial=0.0) > 1e-9 * dt:
            raise LinkworkError(f"a run is continued after a whole number of steps; its end is none of dt={dt:g}")
    return run.final._replace(code=code, step=step)


def _start(m: Mechanism, q: Array, v: Array, memory: Array, batch: Shape) -> Carry:
    def all_of(array: Array) -> Array:
        return np.array(np.broadcast_to(array, batch + array.shape[-1:]))

    zeros = np.zeros(batch)
    slip = np.zeros((*batch, len(m.slippers)))
    apart = np.broadcast_to([APART, 0.0, 0.0, 0.0, 0.0], (*batch, len(m.touches), 5)).copy()
    held = np.zeros((*batch, m.nv))
    none = np.zeros((*batch, 0))
    moved = (zeros, zeros, all_of(q), all_of(v), zeros, held, all_of(memory), zeros, apart, slip, zeros, zeros)
    return Carry(*moved, none, none, np.zeros((*batch, *NO_LOG.shape)), zeros, zeros)


def _stops(m: Mechanism, time_constant: float | None) -> Stops | None:
    """Stops for joints with limits: critically damped, as slow as `time_constant` [s] for the inertia they feel."""
    tree = m.tree
    if time_constant is None or not any(np.isfinite([j.lower, j.upper]).any() for j in tree.joints):
        return None
    time_constant = positive("stops, the time constant [s] of joint limits, or None,", time_constant)
    inertia = 1.0 / np.diag(np.linalg.inv(mass_matrix(tree, tree.neutral())))
    return Stops(inertia / time_constant**2, 2.0 * inertia / time_constant)


def try_once(asked: Request, dt: float) -> tuple[str, ...]:
    """Call every law once, on floats, in the first member's first state: mistakes show here, in the user's own line.

    `dt` [s] is the step of a run that goes on; one that does not begins at 0 s, whatever it is. The parameters that the
    controller switches come back; one that does is sampled.
    """
    if 0 in asked.batch:
        return ()
    commands: tuple[str, ...] = ()
    now, values = asked.member(asked.first)
    m, t = asked.mechanism, float(now.step) * dt
    state = (t, now.q, now.v)
    if asked.control is not None:
        asked = replace(asked, sampler=asked.control)  # called alike, it may also switch
    if asked.sampler is not None:
        forces, memory, wanted = asked.sample(values, t, now)
        _refuse_lost(asked, forces)
        refuse_non_finite("the memory of the controller", np.asarray(memory, dtype=float))
        commands = tuple(wanted)
    if asked.wrenches is not None:
        refuse_non_finite("wrenches", np.asarray(asked.wrenches.forces(values, (m.nbodies, 6), *state), dtype=float))
    for law in asked.guards:
        found = law(values, *state)
        if not (np.shape(found) == () and np.isreal(found) and not isinstance(found, (bool, np.bool_))):
            raise ShapeError(f"a guard of the schedule returns one number, such as q[0] - 1.0; got {found!r:.80}")
        refuse_non_finite("a guard of the schedule, at the start,", np.asarray(found, dtype=float))
    if asked.stop is not None and np.shape(asked.stop(values, *state)) != ():
        raise ShapeError("stop_when must return one condition or number, such as q[0] > 1.0")
    return commands


def _refuse_lost(asked: Request, forces: Any) -> None:
    array = np.asarray(forces, dtype=float)
    for joint in asked.mechanism.leaders:
        if not np.isfinite(array[joint.v]).all():
            raise NonFinite(f"the controller returned {array[joint.v]} for joint {joint.name!r} at the start")
