"""`Problem`: all data on which a run depends, except the integration method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import cast

import numpy as np

from linkwork.algorithms.passive_joint_forces import Stops
from linkwork.model.batch_broadcasting import Shape
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.events.guards import Guard, OneShot
from linkwork.simulation.events.schedule import Switch, modes_of
from linkwork.simulation.joint_friction_rows import friction_count
from linkwork.simulation.series_definition import RunFacts
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import MemberState, mapped, member
from linkwork.simulation.user_functions import Answer, Sampled, UserFunction, Values
from linkwork.simulation.work_ledger import summed_entries
from linkwork.spatial.scalar import Array, Condition, Number, Value, where

CONSTANT = "wrenches"  # name of the gain by which constant wrenches are passed


@dataclass(frozen=True, eq=False)
class Problem:
    """The simulated problem: mechanism, user functions, batch shape, start state and varied parameters."""

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
    guards: tuple[UserFunction, ...] = ()  # guards of the schedule, in its order
    commands: tuple[str, ...] = ()  # parameters that the controller switches
    switched: tuple[str, ...] = ()  # all parameters that can be switched during the run
    rigid: bool = False  # whether contacts are rigid
    effort: Array | None = None  # (nv,) [N m or N] limits to which forces of controllers are clipped
    adaptive: bool = False  # whether an adaptive method solves the problem

    @property
    def has_events(self) -> bool:
        """True if an event, such as that of a guard or of a slipping clutch, can occur within a step or by a
        controller's command.
        """
        m = self.mechanism
        return bool(m.bounded or friction_count(m) or m.self_switching or self.guards or self.commands)

    def parameters_in(self, modes: Array) -> dict[str, Array]:
        """Return all parameters by name, each (*batch, *shape); switchable parameters have the values `modes` (*batch,
        m).
        """
        return self.parameters | {name: np.asarray(modes)[..., k] for k, name in enumerate(self.switched)}

    @property
    def values(self) -> dict[str, Array]:
        """Values of all parameters and gains by name, each an array (*batch, *shape), or one value for all batch
        members.
        """
        return self.parameters | self.gains

    @property
    def first(self) -> tuple[int, ...]:
        """Index of the first batch member, a tuple of zeros."""
        return (0,) * len(self.batch)

    def core(self, name: str) -> Shape:
        """Return the shape that the parameter or gain `name` has for one batch member."""
        if name in self.parameters:
            return self.mechanism.parameters[name].shape
        if name == CONSTANT:
            return (self.mechanism.nbodies, 6)
        shape, size = self.gains[name].shape, len(self.batch)
        return shape[size:] if shape[:size] == self.batch else shape

    @cached_property
    def facts(self) -> RunFacts:
        """Properties of the problem, such as the presence of contacts, that determine which series a run has."""
        return RunFacts(
            self.mechanism,
            controlled=self.control is not None or self.sampler is not None,
            motors=self.control is not None and self.control.motors is not None,
            memory=self.start.memory.shape[-1],
            stops=self.stops is not None,
            wrenches=self.wrenches is not None,
            rigid=self.rigid,
            modes=self.switched,
            ledger_entries=summed_entries(
                self.mechanism, self.parameters, self.start.motion.ledger.shape[-1], self.adaptive
            ),
            clipped=self.effort is not None,
        )

    def for_adaptive_method(self) -> Problem:
        """Return the problem for an adaptive method, which adds up the work of joints with dry friction only.

        Without dry friction, the problem has no work ledger.
        """
        start = self.start if friction_count(self.mechanism) else self.start.moved(ledger=np.zeros((*self.batch, 0)))
        return replace(self, start=start, adaptive=True)

    def system(self, values: Values) -> System:
        """Return the mechanism with its forces for one batch member; `values` are its parameters and gains."""
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
            effort=self.effort,
        )

    def _bound_guards(self, values: Values) -> Iterator[Guard]:
        """Yield the guards of the schedule for one batch member, with the member's gains from `values`."""
        guarded = [switch for switch in self.switches if switch.guarded]
        for guard, switch in zip(self.guards, guarded, strict=True):
            only = isinstance(switch.when, OneShot)
            mode = self.switched.index(switch.parameter)
            yield Guard(partial(_guarded, guard, values), mode, switch.value, only, switch.what)

    def sample(self, values: Values, t: Number, now: MemberState) -> Answer:
        """Return the answer of the sampled controller at time t [s] in the state `now` of one batch member.

        The answer has the joint forces (nv,) [N m or N], the next memory (k,), and the modes that the controller
        commands. `values` are the parameters and gains of the member.
        """
        assert self.sampler
        sampler, shape = self._commanding(self.sampler, values), (self.mechanism.nv,)
        given = {**modes_of(self.mechanism), **values, **dict(zip(self.switched, now.motion.modes, strict=True))}
        state = (t, now.q, now.v, now.memory) if sampler.has_memory else (t, now.q, now.v)
        return sampler.answer(given, shape, *state)

    def wanted(self, answer: Answer, modes: Array) -> Array:
        """Return the values (m,) of all switchable parameters after the commands of a controller in `answer`.

        Parameters that the controller does not command have their values from `modes` (m,).
        """
        pairs = zip(self.switched, modes, strict=True)
        return np.array([self.mechanism.possible_mode(name, answer.modes.get(name, mode)) for name, mode in pairs])

    def motor_forces(self, values: Values, t: Number, now: MemberState) -> Array:
        """Return the motor forces (ndrives,) [N m or N] of a controller that commands the motors of drives.

        `values` are the parameters and gains of a batch member, and `now` is its state at t [s].
        """
        motors = self._commanding(self.control, values).motors if self.control else None
        assert motors
        return motors.forces(values, (len(self.mechanism.actuators),), t, now.q, now.v)

    def _commanding(self, controller: UserFunction, values: Values) -> UserFunction:
        """Return the controller for one batch member: if it commands drives, it uses the member's parameters of the
        drives.

        `values` are the parameters and gains of the member.
        """
        own = {name: values[name] for name in self.parameters if name.rpartition(".")[0] in self.mechanism.actuators}
        return controller.on(self.mechanism.varied(own)) if own else controller

    @property
    def compliant(self) -> bool:
        """True if the mechanism has compliant contacts."""
        return self.mechanism.touches and not self.rigid

    @property
    def in_python(self) -> bool:
        """True if the controller runs in Python, outside the compiled program (`lw.host`)."""
        return self.sampling is not None and self.sampling.in_python

    @property
    def traced_sampler(self) -> bool:
        """True if there is a sampled controller that is part of the compiled program."""
        return self.sampling is not None and not self.sampling.in_python

    def stop_function(self, values: Values, t: Number, q: Array, v: Array) -> Number:
        """Return the event function of `stop_when` at t [s], q (nq,), v (nv,): negative where the run is to stop; 1
        without `stop_when`.

        `values` are the parameters and gains of a batch member.
        """
        if self.stop is None:
            return 1.0
        found = self.stop(values, t, q, v)
        is_condition = isinstance(found, (bool, np.bool_)) or hasattr(found, "select")
        return where(found, -1.0, 1.0) if is_condition else -cast(Number, found)

    def stops_at(self, values: Values, t: Number, q: Array, v: Array) -> Condition:
        """Return whether `stop_when` is true or positive at t [s], q (nq,), v (nv,).

        `values` are the parameters and gains of a batch member.
        """
        return self.stop_function(values, t, q, v) < 0.0

    def answers(self, values: Values, t: Number, now: MemberState) -> Iterator[Value]:
        """Yield the results at t [s] of all compiled user functions, such as the controller, for one batch member.

        `now` is the state of the member, and `values` are its parameters and gains.
        """
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

    def alone(self, index: tuple[int, ...] | None = None) -> Problem:
        """Return the same problem with a single member: the batch member at `index`, or the first one."""
        index = self.first if index is None else index
        start, values = self.member(index)
        parameters = {name: np.asarray(values[name]) for name in self.parameters}
        gains = {name: np.asarray(values[name]) for name in self.gains}
        own = [s if s.guarded else s._replace(when=np.broadcast_to(s.when, self.batch)[index]) for s in self.switches]
        return replace(self, batch=(), start=start, parameters=parameters, gains=gains, switches=tuple(own))

    def doubled(self) -> Problem:
        """Return the problem, which has no batch, as a batch of two equal members, so that it uses the kernels of a
        batch.
        """

        def twice(name: str, value: Array) -> Array:
            return np.broadcast_to(value, (2, *self.core(name)))

        start = mapped(lambda leaf: np.stack([leaf, leaf]), self.start)
        parameters = {name: twice(name, value) for name, value in self.parameters.items()}
        gains = {name: twice(name, value) for name, value in self.gains.items()}
        return replace(self, batch=(2,), start=start, parameters=parameters, gains=gains)

    def member(self, index: tuple[int, ...]) -> tuple[MemberState, dict[str, Array]]:
        """Return two results for the batch member at `index`: its start state, and its parameters and gains by name."""
        values = {}
        for name, value in self.values.items():
            core = self.core(name)
            values[name] = np.broadcast_to(value, self.batch + core)[index] if value.shape != core else value[()]
        return member(self.start, index), values


def _guarded(guard: UserFunction, values: Values, *state: Value) -> Number:
    """Return the value of a guard of the user for one batch member; `state` has t, q and v."""
    return guard(values, *state)
