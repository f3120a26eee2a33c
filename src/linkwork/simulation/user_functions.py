"""Functions that users write (controllers, wrenches, guards and stop conditions), and how they are called and
checked.
"""

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
from linkwork.simulation.step_proposals import in_few_digits, is_whole
from linkwork.spatial.scalar import Array, Condition, Number, Value, own_copy, where

Values = Mapping[str, Value]  # parameters and gains of one member, by name

# User functions take (t, q, v) and gains by name. Their results are checked at each call.
StateFunction = Callable[..., Value]  # returns wrenches (nbodies, 6), or the number of a guard
StopCondition = Callable[..., Condition | Value]  # a stop condition: the run stops where it is true or positive
Wrenches = ArrayLike | StateFunction  # (..., nbodies, 6) [N, N m], constant or a function
# returns joint forces (nv,), or (forces, memory), or a mapping of "tau" and modes
Controller = Callable[..., Value | Sequence[Value] | tuple[object, Value] | Mapping[str, Value | Condition]]


@dataclass(frozen=True, eq=False)
class Sampled:
    """A controller that is called `rate` times per second, with constant forces between calls.

    If `rate` is None, the controller is called once per step.
    """

    function: Controller
    rate: float | None = None
    in_python: bool = False

    def every(self, dt: float) -> int:
        """Return the number of steps dt [s] between two calls of the controller."""
        if self.rate is None:
            return 1
        period = 1.0 / self.rate
        steps = period / dt
        if not is_whole(period, dt):
            step = in_few_digits(period, lambda one: is_whole(period, one))
            raise LinkworkError(
                f"1 / (rate * dt) must be a whole number of steps between controller calls; got {steps:g} with "
                f"rate={self.rate:g} 1/s and dt={dt:g} s; choose for example dt={step}"
            )
        return round(steps)


def sampled(function: Controller, rate: float | None = None) -> Sampled:
    """Return a controller that is called at a fixed rate, with its joint forces held constant between calls.

    The function is compiled. Use `lw.host` for a function that cannot be compiled.

    Parameters
    ----------
    function : Controller
        `function(t, q, v)` returns joint forces (nv,) [N m or N]. `function(t, q, v, memory)` returns the forces and
        the memory (k,), numbers that it receives at its next call. It may also take arguments that are named in `gains`
        of `lw.simulate`, and an argument `modes`: a mapping of the current values of all switchable parameters, such as
        modes["clutch.engaged"]. Instead of forces, it may return a mapping with the key "tau" and new values of
        switchable parameters, such as {"tau": forces, "clutch.engaged": q[0] > 1.0}.
    rate : float or None, unit [1/s], default None
        Calls per second; 1 / rate must be a whole multiple of the step `dt` of `lw.simulate`. None: one call per
        step.

    Returns
    -------
    Sampled
        Pass it as `controller` to `lw.simulate`.

    Raises
    ------
    LinkworkError
        If `function` is not a function, or `rate` is not a positive number.

    Examples
    --------
    >>> m = lw.example("double_pendulum")
    >>> controller = lw.sampled(lambda t, q, v: -5.0 * v, rate=100)
    >>> run = lw.simulate(m, [1.0, 0.5], duration=0.1, dt=0.001, controller=controller)
    >>> bool((run.tau[1] == run.tau[9]).all())
    True

    """
    return Sampled(_callable(function), _positive_rate(rate))


def host(function: Controller, rate: float) -> Sampled:
    """Return a controller that runs in Python at a fixed rate, with its joint forces held constant between calls.

    The function is not compiled, so that it may contain any Python code. It is called for one member of a batch after
    the other, which is slower than a compiled controller.

    Parameters
    ----------
    function : Controller
        `function(t, q, v)` returns joint forces (nv,) [N m or N]. `function(t, q, v, memory)` returns the forces and
        the memory (k,), numbers that it receives at its next call. Arguments are floats and NumPy arrays. See
        `lw.sampled` for gains and modes.
    rate : float, unit [1/s]
        Calls per second. The period 1 / rate must be a whole multiple of the step `dt` of `lw.simulate`.

    Returns
    -------
    Sampled
        Pass it as `controller` to `lw.simulate`.

    Raises
    ------
    LinkworkError
        If `function` is not a function, or `rate` is not a positive number.

    Examples
    --------
    >>> m = lw.example("double_pendulum")
    >>> def brake(t, q, v):
    ...     return -5.0 * v if t > 0.5 else 0.0 * v
    >>> run = lw.simulate(m, [1.0, 0.5], duration=1.0, dt=0.01, controller=lw.host(brake, rate=100))
    >>> bool(run.tau[10, 0] == 0.0), bool(run.tau[80, 0] == 0.0)
    (True, False)

    """
    if rate is None:
        raise LinkworkError("lw.host needs a rate [1/s], for example lw.host(f, rate=500)")
    return Sampled(_callable(function), _positive_rate(rate), in_python=True)


def _callable(function: Controller) -> Controller:
    """Return the function; raise a LinkworkError if it is not a function that can be a controller."""
    if not callable(function) or isinstance(function, Sampled):
        raise LinkworkError(f"a controller must be a function controller(t, q, v); got {function!r:.80}")
    return function


def _positive_rate(rate: object) -> float | None:
    """Return the rate [1/s] as a float, or None if it is None; raise a LinkworkError if it is not a positive number."""
    if rate is None:
        return None
    if not (isinstance(rate, (int, float)) and np.isfinite(rate) and rate > 0):
        raise LinkworkError(f"rate [1/s] must be a positive number of calls per second; got {rate!r}")
    return float(rate)


# key of the joint forces in a mapping that a controller returns; name of the argument that receives all modes
FORCES, MODES = "tau", "modes"
SWITCHED, YES_OR_NO = (".closed", ".engaged", ".ratio", ".direction", ".selected"), (".closed", ".engaged")


class Answer(NamedTuple):
    """Result of a sampled controller: joint forces (nv,) [N m or N], next memory (k,), and values of commanded modes by
    name.
    """

    forces: Array
    memory: Array
    modes: dict[str, Number]


class UserFunction:
    """A function of the user, called with t, q and v, the memory if it takes one, and the gains named in its signature.
    `what` is its name in messages, and `gains` are the names of all gains.
    """

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
        self.fourth = needed[3].name if len(needed) == 4 else "memory"
        if parameters and (len(needed) > 4 or (len(positional) < 3 and not _takes_any_number(parameters))):
            wanted = "(t, q, v)" if what != "controller" else "(t, q, v) or (t, q, v, memory)"
            raise LinkworkError(f"a {what} must take {wanted} and gains by name; it takes {_listing(parameters)}")

    def __call__(self, values: Values, *state: Value) -> Any:
        """Return the result of the user function for `state`: t, q, v, and the memory if it takes one.

        `values` are parameters and gains by name, from which the function gets its gains, and all modes if it has an
        argument `modes`.
        """
        names = [*self.gains, *(name for name in values if self.takes_modes and name.endswith(SWITCHED))]
        gains = [values[name] for name in names]

        def called(*arguments: Value) -> object:
            given = dict(zip(names, arguments[len(state) :], strict=True))
            modes = {MODES: {name: x for name, x in given.items() if name not in self.gains}}
            named = {name: given[name] for name in self.gains}
            try:
                return self.function(*arguments[: len(state)], **named, **(modes if self.takes_modes else {}))
            except ValueError as failure:
                if "broadcast" in str(failure) and any(np.ndim(gain) for gain in named.values()):
                    raise self._gains_do_not_fit(named, failure) from failure
                raise

        if np.asarray(state[1]).dtype == object:  # traced numbers: NumPy's functions must accept them
            # imported only here, because runs with a cached kernel need no compiler
            from linkwork.compiler import lifted

            return lifted(called)(*state, *gains)
        quiet = np.errstate(all="ignore") if np.geterr()["divide"] == "warn" else nullcontext()
        with quiet:  # without NumPy's warnings, because the run reports results that are not finite
            return called(*map(own_copy, (*state, *gains)))

    def _gains_do_not_fit(self, gains: Mapping[str, Value], failure: ValueError) -> ShapeError:
        """Return a ShapeError that lists the shapes of the gains, for arrays that cannot be broadcast in the user
        function.
        """
        shapes = ", ".join(f"{name} {np.shape(gain)}" for name, gain in gains.items())
        return ShapeError(
            f"{failure}, in the {self.what} with the gains {shapes} of one member. A gain that differs between members "
            "has the batch shape of q0, v0 or parameters in front of its own shape"
        )

    def on(self, mechanism: Mechanism) -> UserFunction:
        """Return the user function for one batch member with the given mechanism.

        A controller that commands drives uses the drive parameters of this mechanism; other functions are returned
        unchanged.
        """
        bound = getattr(self.function, "on", None)
        if bound is None:
            return self
        other = copy(self)
        other.function = bound(mechanism)
        return other

    @property
    def motors(self) -> UserFunction | None:
        """Function that returns motor forces (ndrives,) [N m or N], if the controller commands drives; else None."""
        function = getattr(self.function, "motors", None)
        return None if function is None else UserFunction(f"{self.what} of motors", function, self.gains)

    def forces(self, values: Values, shape: tuple[int, ...], *state: Value) -> Array:
        """Return the result of the user function as an array; raise a ShapeError if it does not have the shape `shape`.

        `values` are parameters and gains by name, and `state` are t, q and v.
        """
        return self.shaped(self(values, *state), shape)

    def answer(self, values: Values, shape: tuple[int, ...], *state: Value) -> Answer:
        """Return the checked result of a sampled controller: joint forces, next memory and commanded modes.

        `values` are parameters and gains by name, `shape` is the shape of the joint forces, and `state` has t, q, v,
        and the memory if the controller takes one.
        """
        found, memory = self(values, *state), np.zeros(0)
        if self.has_memory:
            if not (isinstance(found, tuple) and len(found) == 2):
                raise ShapeError(f"a controller with memory must return (forces, memory); got {found!r:.80}")
            found, memory = found[0], self.shaped(found[1], np.shape(state[3]), "memory")
        if not isinstance(found, Mapping):
            return Answer(self.shaped(found, shape), memory, {})
        wanted = {str(name): self._mode(name, value) for name, value in found.items() if name != FORCES}
        forces = self.shaped(found[FORCES], shape) if FORCES in found else np.zeros(shape)
        return Answer(forces, memory, wanted)

    def _mode(self, name: str, value: Condition | Value) -> Number:
        """Return the commanded `value` of the switchable parameter `name` as a number; a condition becomes 1 or 0."""
        if isinstance(value, (bool, np.bool_)) or hasattr(value, "select"):
            return where(value, 1.0, 0.0)
        number = cast(Number, value)
        if np.shape(number) != () or isinstance(number, str):
            raise ShapeError(f"the controller must return one number or condition for {name!r}; got {value!r:.80}")
        off = 0.0 if str(name).endswith(YES_OR_NO) else -1.0 if str(name).endswith(".direction") else None
        return number if off is None else where(number > 0.0, 1.0, where(number <= 0.0, off, np.nan))

    def shaped(self, value: object, shape: tuple[int, ...], part: str = "") -> Array:
        """Return `value` as an array of the shape `shape`; raise a ShapeError that names `part` for other shapes."""
        array = value if isinstance(value, np.ndarray) else _as_array(value)
        if array is None or array.shape != shape:
            got = f"shape {array.shape}" if array is not None else f"{value!r:.60}"
            raise ShapeError(f"the {part or 'result'} of the {self.what} must have shape {shape}; got {got}")
        return array


def _as_array(value: object) -> Array | None:
    """Return the value as an array of numbers; None if it cannot be converted."""
    try:
        array = np.array(value)
    except ValueError:
        return None
    return array if array.dtype == object or (array.dtype.kind in "biuf" and value is not None) else None


def _takes_any_number(parameters: Sequence[inspect.Parameter]) -> bool:
    """Return whether a function takes any number of positional arguments, as `*args` does."""
    return any(p.kind is p.VAR_POSITIONAL for p in parameters)


def _listing(parameters: Sequence[inspect.Parameter]) -> str:
    """Return a text that lists the parameters of a function, for an error message."""
    return f"({', '.join(p.name for p in parameters)})"
