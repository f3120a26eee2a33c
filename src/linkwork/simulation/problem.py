"""A simulation problem: everything that a run depends on except its method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import cast

import numpy as np

from linkwork.algorithms.joint_forces import Stops
from linkwork.model.broadcast import Shape
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.guards import Guard, Once
from linkwork.simulation.events.schedule import Switch, modes_of
from linkwork.simulation.series_entry import RunFacts
from linkwork.simulation.state import MemberState, member
from linkwork.simulation.system import System
from linkwork.simulation.user_functions import Answer, Sampled, UserFunction, Values
from linkwork.spatial.scalar import Array, Condition, Number, Value, where

CONSTANT = "wrenches"  # the name under which constant wrenches are handed to their function


@dataclass(frozen=True, eq=False)
class Problem:
    """What is simulated: a mechanism, the functions that act on it, the batch, where it starts, what varies in it."""

    mechanism: Mechanism
    control: UserFunction | None
    sampler: UserFunction | None
    sampling: Sampled | None
    wrenches: UserFunction | None
    stop: UserFunction | None
    parameters: dict[str, Array]
    gains: dict[str, Array]
    batch: Shape
    start: MemberState
    stops: Stops | None = None
    switches: tuple[Switch, ...] = ()
    baumgarte: float | None = None
    guards: tuple[UserFunction, ...] = ()  # of those switches that have one
    commands: tuple[str, ...] = ()  # parameters that the controller switches
    switched: tuple[str, ...] = ()  # parameters that are switched during the run
    rigid: bool = False  # whether contacts are

    @property
    def has_events(self) -> bool:
        """Whether anything may switch within steps."""
        return bool(self.mechanism.bounded or self.mechanism.self_switching or self.guards or self.commands)

    def parameters_in(self, modes: Array) -> dict[str, Array]:
        """All parameters (*batch, shape), with those that are switched at `modes` (*batch, m)."""
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
        if name == CONSTANT:
            return (self.mechanism.nbodies, 6)
        shape, size = self.gains[name].shape, len(self.batch)
        return shape[size:] if shape[:size] == self.batch else shape

    @cached_property
    def facts(self) -> RunFacts:
        """What decides which series the run has."""
        return RunFacts(
            self.mechanism,
            controlled=self.control is not None or self.sampler is not None,
            motors=self.control is not None and self.control.motors is not None,
            memory=self.start.memory.shape[-1],
            stops=self.stops is not None,
            wrenches=self.wrenches is not None,
            rigid=self.rigid,
            modes=self.switched,
        )

    def system(self, values: Values) -> System:
        """The mechanism with a member's parameters, under functions with its gains."""
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

    def _bound_guards(self, values: Values) -> Iterator[Guard]:
        """The guards of the schedule, with a member's gains."""
        guarded = [switch for switch in self.switches if switch.guarded]
        for guard, switch in zip(self.guards, guarded, strict=True):
            only = isinstance(switch.when, Once)
            mode = self.switched.index(switch.parameter)
            yield Guard(partial(_guarded, guard, values), mode, switch.value, only, switch.what)

    def sample(self, values: Values, t: Number, now: MemberState) -> Answer:
        """Joint forces (nv,) of the sampled controller from now on, its memory (k,), and what it wants of modes."""
        assert self.sampler
        sampler, shape = self._commanding(self.sampler, values), (self.mechanism.nv,)
        given = {**modes_of(self.mechanism), **values, **dict(zip(self.switched, now.motion.modes, strict=True))}
        state = (t, now.q, now.v, now.memory) if sampler.has_memory else (t, now.q, now.v)
        return sampler.answer(given, shape, *state)

    def wanted(self, answer: Answer, modes: Array) -> Array:
        """The modes (m,) that a controller wants, as they are where it says nothing of them."""
        pairs = zip(self.switched, modes, strict=True)
        return np.array([self._possible(name, answer.modes.get(name, mode)) for name, mode in pairs])

    def _possible(self, name: str, mode: Number) -> Number:
        """A mode itself, or the gear next below where it is one."""
        element, key = self.mechanism.owner(name)
        return element.possible(key, mode)

    def motor_forces(self, values: Values, t: Number, now: MemberState) -> Array:
        """Forces (ndrives,) [N m or N] of the motors of drives, where the controller commands them."""
        motors = self._commanding(self.control, values).motors if self.control else None
        assert motors
        return motors.forces(values, (len(self.mechanism.actuators),), t, now.q, now.v)

    def _commanding(self, controller: UserFunction, values: Values) -> UserFunction:
        """A controller as it acts on a member, whose drives may have numbers of their own."""
        own = {name: values[name] for name in self.parameters if name.rpartition(".")[0] in self.mechanism.actuators}
        return controller.on(self.mechanism.varied(own)) if own else controller

    @property
    def compliant(self) -> bool:
        """Whether there are compliant contacts."""
        return bool(self.mechanism.contact_pairs) and not self.rigid

    @property
    def in_python(self) -> bool:
        """Whether a controller is sampled outside the program."""
        return self.sampling is not None and self.sampling.in_python

    @property
    def traced_sampler(self) -> bool:
        """Whether a controller is sampled inside the program."""
        return self.sampling is not None and not self.sampling.in_python

    def stop_function(self, values: Values, t: Number, q: Array, v: Array) -> Number:
        """The event function of the condition to stop: not negative until the run is to stop."""
        if self.stop is None:
            return 1.0
        found = self.stop(values, t, q, v)
        is_condition = isinstance(found, (bool, np.bool_)) or hasattr(found, "select")
        return where(found, -1.0, 1.0) if is_condition else -cast(Number, found)

    def stops_at(self, values: Values, t: Number, q: Array, v: Array) -> Condition:
        """Whether the run is to stop, by a condition or a number that becomes positive."""
        return self.stop_function(values, t, q, v) < 0.0

    def answers(self, values: Values, t: Number, now: MemberState) -> Iterator[Value]:
        """What all users' functions that are part of a program say in one state of one member."""
        state, system = (t, now.q, now.v), self.system(values)
        if system.control is not None:
            yield system.control(*state)
        if self.control is not None and self.control.motors:
            yield self.motor_forces(values, t, now)
        if self.traced_sampler:
            answer = self.sample(values, t, now)
            yield from (answer.forces, answer.memory, self.wanted(answer, now.motion.modes))
        if system.wrenches is not None:
            yield system.wrenches(*state)
        if self.stop is not None:
            yield where(self.stops_at(values, *state), 1.0, 0.0)
        yield from (guard.function(*state) for guard in system.guards)

    def alone(self) -> Problem:
        """The same for the first member alone."""
        start, values = self.member(self.first)
        parameters = {name: np.asarray(values[name]) for name in self.parameters}
        gains = {name: np.asarray(values[name]) for name in self.gains}
        own = [
            s if s.guarded else s._replace(when=np.broadcast_to(s.when, self.batch)[self.first]) for s in self.switches
        ]
        return replace(self, batch=(), start=start, parameters=parameters, gains=gains, switches=tuple(own))

    def member(self, index: tuple[int, ...]) -> tuple[MemberState, dict[str, Array]]:
        """The start and the values of one member."""
        values = {}
        for name, value in self.values.items():
            core = self.core(name)
            values[name] = np.broadcast_to(value, self.batch + core)[index] if value.shape != core else value[()]
        return member(self.start, index), values


def _guarded(guard: UserFunction, values: Values, *state: Value) -> Number:
    return guard(values, *state)
