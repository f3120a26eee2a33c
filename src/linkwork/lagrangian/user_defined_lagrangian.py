"""The user's functions that define a Lagrangian system: their arguments, and the shapes that they must return."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from linkwork.compiler import is_structurally_zero, jacobian, lifted, refuse_unrepeatable, traced_on_new_inputs
from linkwork.errors import LinkworkError, ShapeError
from linkwork.lagrangian.lagrangian_system import LagrangianSystem
from linkwork.model.batch_broadcasting import Shape
from linkwork.simulation.user_functions import Values
from linkwork.spatial.scalar import Array, Number, Value

# User functions of coordinates, velocities and named gains; their results are checked
ScalarFunction = Callable[..., Number]
ArrayFunction = Callable[..., Value | Sequence[Value]]
Seen = TypeVar("Seen")  # result of a function that inspects a system


class Form(NamedTuple):
    """Properties of a Lagrangian system that do not depend on the values of coordinates and gains."""

    positions: int  # number of position constraints
    constraints: int  # number of position and nonholonomic constraints
    symmetries: int  # number of symmetries
    linear_momentum: bool  # whether the momentum is linear in the velocity, as in mechanics


class ConstantMass(NamedTuple):
    """Properties of a system with a constant mass matrix: whether its potential and its constraints are quadratic in x.

    The Lagrangian of such a system is L = xdot M xdot / 2 - V(x) (Wendlandt, equation (2.29)), with the potential V and
    the mass matrix M.
    """

    quadratic_potential: bool
    quadratic_constraints: bool


@dataclass(frozen=True, eq=False)
class Functions:
    """The user's functions that define a Lagrangian system.

    `more` has, for each function by name, the names of its arguments after x and xdot: the time t and gains.
    """

    lagrangian: ScalarFunction
    constraints: ArrayFunction | None
    forces: ArrayFunction | None
    nonholonomic: ArrayFunction | None
    clock: ScalarFunction | None
    chart: ArrayFunction | None
    symmetries: ArrayFunction | None
    more: Mapping[str, tuple[str, ...]]

    @property
    def gains(self) -> tuple[str, ...]:
        """The names of the gains that the functions take, whose values a run needs."""
        return tuple(dict.fromkeys(name for names in self.more.values() for name in names if name != "t"))

    def form(self, size: int, gains: Mapping[str, Shape]) -> Form:
        """Return the properties of a system with `size` coordinates as a `Form`, after a check of all its functions.

        `gains` are the shapes of the gains by name.
        """

        def inspected(system: LagrangianSystem, x: Array, xdot: Array) -> Form:
            system.load(0.0, system.point(x), system.point(xdot))
            system.clock_rate(x)
            positions, constraints, symmetries = (
                len(system.violation(x)),
                len(system.rows(x)),
                len(system.momenta(x, xdot)),
            )
            return Form(positions, constraints, symmetries, is_structurally_zero(jacobian(system.mass, 1)(x, xdot)))

        return self._of_unknowns(size, gains, inspected)

    def constant_mass(self, size: int, gains: Mapping[str, Shape]) -> ConstantMass | None:
        """Return whether potential and constraints, each, are quadratic; None if the mass matrix is not constant.

        The system has `size` coordinates; `gains` are the shapes of the gains by name.
        """

        def inspected(system: LagrangianSystem, x: Array, xdot: Array) -> ConstantMass | None:
            def potential(x: Array) -> Number:
                return system.lagrangian(x, np.zeros(size))

            by_velocity, by_place = (jacobian(f, k)(x, xdot) for f, k in ((system.mass, 1), (system.momentum, 0)))
            if not (is_structurally_zero(by_velocity) and is_structurally_zero(by_place)):
                return None
            thirds = (jacobian(jacobian(jacobian(f)))(x) for f in (potential, system.violation))
            return ConstantMass(*map(is_structurally_zero, thirds))

        return self._of_unknowns(size, gains, inspected)

    def _of_unknowns(
        self, size: int, gains: Mapping[str, Shape], look: Callable[[LagrangianSystem, Array, Array], Seen]
    ) -> Seen:
        """Return the result of `look(system, x, xdot)` for traced coordinates (size,), velocities (size,) and gains.

        `look` inspects the graphs of the system's functions. `gains` are the shapes of the gains by name.
        """

        def look_at(x: Array, xdot: Array, *values: Value) -> Seen:
            return look(self.bound(size, dict(zip(gains, values, strict=True))), x, xdot)

        return traced_on_new_inputs(look_at, (size,), (size,), *gains.values())

    def bound(self, size: int, values: Values, linear_momentum: bool = False) -> LagrangianSystem:
        """Return the Lagrangian system with `size` coordinates for given values of the gains by name.

        `linear_momentum` states that the momentum is linear in the velocity.
        """
        called = partial(self._called, values)
        return LagrangianSystem(
            size,
            partial(called, "lagrangian"),
            None if self.constraints is None else partial(called, "constraints"),
            None if self.forces is None else lambda t, x, xdot: called("forces", x, xdot, t=t),
            None if self.nonholonomic is None else partial(called, "nonholonomic"),
            None if self.chart is None else partial(called, "chart"),
            None if self.symmetries is None else partial(called, "symmetries"),
            None if self.clock is None else partial(called, "clock"),
            linear_momentum,
        )

    def _called(self, values: Values, name: str, *state: Array, t: Number = None) -> Value:
        """Return the checked result of the user function `name` at time t [s], with its gains from `values`.

        `state` has its first arguments: the coordinates x (n,), then, if the function takes them, the velocities xdot
        (n,).
        """
        names = self.more[name]
        extra = [t if one == "t" else values[one] for one in names]
        function = getattr(self, name)

        def run(*arguments: Value) -> object:
            given = dict(zip(names, arguments[len(state) :], strict=True))
            return function(*arguments[: len(state)], **given)

        return _shaped(name, lifted(run)(*state, *extra), len(state[0]))


def _shaped(name: str, value: object, size: int) -> Value:
    """Return the result `value` of the user function `name`; raise a ShapeError if its shape is wrong.

    `size` is the number of coordinates of the function's argument x.
    """
    array: Array = np.asarray(value)
    if array.dtype != object and array.dtype.kind not in "biuf":
        raise ShapeError(f"{name} must return numbers; got {value!r:.80}")
    wanted: dict[str, tuple[bool, str]] = {
        "lagrangian": (array.shape == (), "one number"),
        "clock": (array.shape == (), "one number"),
        "constraints": (array.ndim == 1 and len(array) > 0, "numbers (m,) that are 0 at admissible positions"),
        "forces": (array.shape == (size,), f"forces ({size},)"),
        "nonholonomic": (array.ndim == 2 and array.shape[1:] == (size,), f"rows (l, {size}) with rows @ xdot = 0"),
        "chart": (array.ndim == 1 and len(array) >= size, f"a point with at least {size} coordinates"),
        "symmetries": (array.ndim == 2 and array.shape[1:] == (size,), f"directions (k, {size})"),
    }
    fits, what = wanted[name]
    if not fits:
        raise ShapeError(f"{name} must return {what}; got shape {array.shape}")
    return array[()] if array.ndim == 0 else array


def read_functions(**functions: ScalarFunction | ArrayFunction | None) -> Functions:
    """Return the user's functions, given by name, after a check, together with the names of their gains.

    Errors are, for example: too few arguments, an argument t (except for forces), or the use of a random number
    generator.
    """
    states = dict.fromkeys(functions, 1) | {"lagrangian": 2, "forces": 2}
    more: dict[str, tuple[str, ...]] = {}
    for name, function in functions.items():
        if function is None:
            continue
        if not callable(function):
            raise LinkworkError(f"{name} must be a function; got {function!r:.80}")
        refuse_unrepeatable(f"function {name!r}", function)
        parameters = list(inspect.signature(function).parameters.values())
        plain = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)]
        listing = f"({', '.join(str(p) for p in parameters)})"
        if len(plain) < states[name]:
            state = "(x, xdot)" if states[name] == 2 else "(x)"
            raise LinkworkError(f"{name} must take {state}, then gains by name; got a function of {listing}")
        named = [p for p in parameters if p not in plain[: states[name]] and p.kind is not p.VAR_POSITIONAL]
        more[name] = tuple(p.name for p in named if p.default is p.empty and p.kind is not p.VAR_KEYWORD)
        if "t" in more[name] and name != "forces":
            raise LinkworkError(f"{name} cannot depend on the time t; only forces can")
    if functions["chart"] is not None and functions["constraints"] is not None:
        raise LinkworkError("give either a chart or constraints: the points of a chart satisfy the constraints already")
    return Functions(**functions, more=more)  # type: ignore[arg-type]
