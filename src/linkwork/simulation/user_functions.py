"""Users' functions of time and state: controllers, wrenches, conditions; called with their gains, and checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from linkwork.errors import LinkworkError, ShapeError
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Condition, Number, Value, own_copy, where

Values = Mapping[str, Value]  # parameters and gains of one member, by name

# Functions that users write, of (t, q, v) and of gains by name; what they return is checked when they are called.
StateFunction = Callable[..., Value]  # wrenches (nbodies, 6), or the number of a guard
StopCondition = Callable[..., Condition | Value]  # true or positive where the run is to stop
Wrenches = ArrayLike | StateFunction  # (..., nbodies, 6) [N, N m], constant or a function
Controller = Callable[..., Value | Sequence[Value] | tuple[object, Value] | Mapping[str, Value | Condition]]


@dataclass(frozen=True, eq=False)
class Sampled:
    """A controller that runs `rate` times a second [1/s], or once a step if None; its output is held in between."""

    function: Controller
    rate: float | None = None
    in_python: bool = False

    def every(self, dt: float) -> int:
        """How many steps of dt [s] there are between two calls."""
        if self.rate is None:
            return 1
        steps = 1.0 / (self.rate * dt)
        if abs(steps - round(steps)) > 1e-6 * steps or round(steps) < 1:
            raise LinkworkError(
                f"a controller that runs {self.rate:g} times a second needs a whole number of steps in between, "
                f"not {steps:g}: choose dt so that 1 / (rate dt) is whole, for example dt={1.0 / self.rate:g}"
            )
        return round(steps)


def sampled(function: Controller, rate: float | None = None) -> Sampled:
    """A controller that is called `rate` times a second [1/s], its joint forces held in between; still traced.

    `function(t, q, v)` returns the joint forces (nv,); `function(t, q, v, memory)` returns them and the next memory.
    Without a rate it is called once a step. Instead of forces it may return a mapping that switches too, such as
    {"tau": forces, "clutch.engaged": q[0] > 1.0}; an argument `modes` is a mapping of all modes.
    """
    return Sampled(_callable(function), _positive_rate(rate))


def host(function: Controller, rate: float) -> Sampled:
    """A controller that stays in Python and is called `rate` times a second [1/s], its joint forces held in between.

    It may be any function `function(t, q, v)` or `function(t, q, v, memory)` of floats and NumPy arrays, and is called
    for one member of a batch after the other.
    """
    if rate is None:
        raise LinkworkError("a controller in Python needs a rate [1/s], for example lw.host(f, rate=500)")
    return Sampled(_callable(function), _positive_rate(rate), in_python=True)


def _callable(function: Controller) -> Controller:
    if not callable(function) or isinstance(function, Sampled):
        raise LinkworkError(f"a controller is a function controller(t, q, v); got {function!r:.80}")
    return function


def _positive_rate(rate: object) -> float | None:
    if rate is None:
        return None
    if not (isinstance(rate, (int, float)) and np.isfinite(rate) and rate > 0):
        raise LinkworkError(f"rate must be a positive number of calls a second; got {rate!r}")
    return float(rate)


FORCES, MODES = (
    "tau",
    "modes",
)  # in what a controller returns: joint forces; the argument with all modes
SWITCHED, YES_OR_NO = (".closed", ".engaged", ".ratio", ".direction", ".selected"), (".closed", ".engaged")


class Answer(NamedTuple):
    """What a sampled controller says: joint forces (nv,) [N m or N], its memory (k,), and what it wants of modes."""

    forces: Array
    memory: Array
    modes: dict[str, Number]


class UserFunction:
    """A user's function of (t, q, v), perhaps of memory, that names what else it takes among the gains."""

    def __init__(self, what: str, function: Controller | StateFunction | StopCondition, gains: Sequence[str]):
        self.what, self.function = what, function
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        anything = any(p.kind is p.VAR_KEYWORD for p in parameters)
        named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        self.gains = [name for name in gains if anything or any(p.name == name for p in named)]
        self.takes_modes = MODES not in gains and any(p.name == MODES for p in named)
        others = {*gains, MODES} if self.takes_modes else gains
        positional = [
            p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name not in others
        ]
        needed = [p for p in positional if p.default is p.empty]
        self.has_memory = len(needed) == 4 or any(p.name == "memory" for p in positional)
        if parameters and (len(needed) > 4 or (len(positional) < 3 and not _takes_any_number(parameters))):
            wanted = "(t, q, v)" if what != "controller" else "(t, q, v) or (t, q, v, memory)"
            raise LinkworkError(f"a {what} takes {wanted} and gains by name; got a function of {_listing(parameters)}")

    def __call__(self, values: Values, *state: Value) -> Any:
        """The function of a state, with the gains that it names, and with all modes if it names those."""
        names = [*self.gains, *(name for name in values if self.takes_modes and name.endswith(SWITCHED))]
        gains = [values[name] for name in names]

        def called(*arguments: Value) -> object:
            given = dict(zip(names, arguments[len(state) :], strict=True))
            modes = {MODES: {name: x for name, x in given.items() if name not in self.gains}}
            named = {name: given[name] for name in self.gains}
            return self.function(*arguments[: len(state)], **named, **(modes if self.takes_modes else {}))

        if np.asarray(state[1]).dtype == object:  # traced: NumPy's functions must accept traced numbers
            from linkwork.compiler import lifted  # the compiler, which runs whose code is on disk do without

            return lifted(called)(*state, *gains)
        quiet = np.errstate(all="ignore") if np.geterr()["divide"] == "warn" else nullcontext()
        with quiet:  # results that are not finite are reported as such
            return called(*map(own_copy, (*state, *gains)))

    def on(self, mechanism: Mechanism) -> UserFunction:
        """The same function for one member of a batch: its drives may have parameters of their own."""
        bound = getattr(self.function, "on", None)
        if bound is None:
            return self
        other = copy(self)
        other.function = bound(mechanism)
        return other

    @property
    def motors(self) -> UserFunction | None:
        """The controller of the motors' forces (ndrives,) [N m or N], if it is one of drives."""
        function = getattr(self.function, "motors", None)
        return None if function is None else UserFunction(f"{self.what} of motors", function, self.gains)

    def forces(self, values: Values, shape: tuple[int, ...], *state: Value) -> Array:
        """What the function returns, if it has the shape that it must have."""
        return self.shaped(self(values, *state), shape)

    def answer(self, values: Values, shape: tuple[int, ...], *state: Value) -> Answer:
        """What a sampled controller says: joint forces and the next memory, of the shapes that they must have."""
        found, memory = self(values, *state), np.zeros(0)
        if self.has_memory:
            if not (isinstance(found, tuple) and len(found) == 2):
                raise ShapeError(f"a controller with memory returns (forces, memory); got {found!r:.80}")
            found, memory = found[0], self.shaped(found[1], np.shape(state[3]), "memory")
        if not isinstance(found, Mapping):
            return Answer(self.shaped(found, shape), memory, {})
        wanted = {str(name): self._mode(name, value) for name, value in found.items() if name != FORCES}
        forces = self.shaped(found[FORCES], shape) if FORCES in found else np.zeros(shape)
        return Answer(forces, memory, wanted)

    def _mode(self, name: str, value: Condition | Value) -> Number:
        """What a controller wants of a mode: a number, 1 or 0 of what is a condition."""
        if isinstance(value, (bool, np.bool_)) or hasattr(value, "select"):
            return where(value, 1.0, 0.0)
        number = cast(Number, value)
        if np.shape(number) != () or isinstance(number, str):
            raise ShapeError(f"the controller must give one number or condition for {name!r}; got {value!r:.80}")
        off = 0.0 if str(name).endswith(YES_OR_NO) else -1.0 if str(name).endswith(".direction") else None
        return number if off is None else where(number > 0.0, 1.0, where(number <= 0.0, off, np.nan))

    def shaped(self, value: object, shape: tuple[int, ...], part: str = "") -> Array:
        """`value` as an array, if it has this shape; ShapeError if not."""
        array = value if isinstance(value, np.ndarray) else _as_array(value)
        if array is None or array.shape != shape:
            got = f"shape {array.shape}" if array is not None else f"{value!r:.60}"
            raise ShapeError(f"the {part or 'result'} of the {self.what} must have shape {shape}; got {got}")
        return array


def _as_array(value: object) -> Array | None:
    try:
        array = np.array(value)
    except ValueError:
        return None
    return array if array.dtype == object or (array.dtype.kind in "biuf" and value is not None) else None


def _takes_any_number(parameters: Sequence[inspect.Parameter]) -> bool:
    return any(p.kind is p.VAR_POSITIONAL for p in parameters)


def _listing(parameters: Sequence[inspect.Parameter]) -> str:
    return f"({', '.join(p.name for p in parameters)})"
