"""A mechanical system as its Lagrangian, constraints and forces: momenta, loads, mass and rows, by differentiation.

All are functions of one state, of floats or of traced numbers. Coordinates x (n,) may be any; where a chart is given,
the Lagrangian and the forces speak of points chart(x), and x are generalized coordinates of them (S4, 2.3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linkwork.compiler.calculus import jacobian, vanishes
from linkwork.errors import LinkworkError, ShapeError
from linkwork.spatial.scalar import Array, Number


@dataclass(frozen=True, eq=False)
class LagrangianSystem:
    """Functions of one state: `lagrangian(x, xdot)` [J], `constraints(x)` (m,), `forces(t, x, xdot)`, `chart(x)`.

    `size` is n. Constraints vanish where the system may be. A chart excludes constraints.
    """

    size: int
    lagrangian: Callable[[Array, Array], Number]
    constraints: Callable[[Array], Array] | None = None
    forces: Callable[[Number, Array, Array], Array] | None = None
    chart: Callable[[Array], Array] | None = None
    linear_momentum: bool = False  # in the velocity, if that is known

    def point(self, x: Array) -> Array:
        """Where the system is in the coordinates of its Lagrangian, (k,): chart(x), or x itself."""
        return x if self.chart is None else self.chart(x)

    def pulled(self, x: Array, covector: Array) -> Array:
        """A momentum or force (k,) at a point as one on the coordinates, (n,)."""
        return covector if self.chart is None else jacobian(self.chart)(x).T @ covector

    def momentum(self, point: Array, rate: Array) -> Array:
        """dL/dxdot (k,) at a point that moves."""
        return jacobian(self.lagrangian, 1)(point, rate)

    def load(self, t: Number, point: Array, rate: Array) -> Array:
        """dL/dx and the forces (k,): by what the momentum changes."""
        found = jacobian(self.lagrangian, 0)(point, rate)
        return found if self.forces is None else found + self.forces(t, point, rate)

    # --- on the coordinates ---

    def coordinate_momentum(self, x: Array, xdot: Array) -> Array:
        """The momentum (n,) that belongs to the coordinates."""
        if self.chart is None:
            return self.momentum(x, xdot)
        rate = jacobian(self.chart)(x) @ xdot
        return self.pulled(x, self.momentum(self.chart(x), rate))

    def mass(self, x: Array, xdot: Array) -> Array:
        """The mass matrix (n, n), d^2L/dxdot^2."""
        return jacobian(self.coordinate_momentum, 1)(x, xdot)

    def violation(self, x: Array) -> Array:
        """g(x) (m,), empty where nothing is held."""
        return np.zeros(0) if self.constraints is None else self.constraints(x)

    def rows(self, x: Array) -> Array:
        """Dg(x) (m, n): velocities with rows @ xdot = 0 are allowed."""
        return np.zeros((0, self.size)) if self.constraints is None else jacobian(self.constraints)(x)

    def energy(self, x: Array, xdot: Array) -> Number:
        """P xdot - L [J], which for a kinetic and a potential energy is their sum."""
        rate = xdot if self.chart is None else jacobian(self.chart)(x) @ xdot
        p, point = self.coordinate_momentum(x, xdot), self.point(x)
        return sum(a * b for a, b in zip(p, xdot, strict=True)) - self.lagrangian(point, rate)


class Form(NamedTuple):
    """What a system is by the form of its functions, whatever numbers they get."""

    linear_momentum: bool  # in the velocity, as that of bodies is
    constant_mass: bool  # L = xdot M xdot / 2 - V(x) with a constant M (S4, 2.29)
    quadratic_potential: bool
    quadratic_constraints: bool
    held: int  # how many constraints there are
    kept: int  # how many symmetries


@dataclass(frozen=True, eq=False)
class Functions:
    """The functions of a system as users write them, and the names of what else they take, such as t and gains."""

    lagrangian: Callable[..., Any]
    constraints: Callable[..., Any] | None
    forces: Callable[..., Any] | None
    chart: Callable[..., Any] | None
    symmetries: Callable[..., Any] | None
    more: Mapping[str, tuple[str, ...]]

    @property
    def gains(self) -> tuple[str, ...]:
        """The names of numbers that runs must be given."""
        return tuple(dict.fromkeys(name for names in self.more.values() for name in names if name != "t"))

    def form(self, size: int, gains: Mapping[str, tuple[int, ...]]) -> Form:
        """What the system in n coordinates is, for gains of these shapes."""
        state, shapes = (size,), tuple(gains.values())

        def system(values: Sequence[Any]) -> LagrangianSystem:
            return self.bound(size, dict(zip(gains, values, strict=True)))

        def zero(function: Callable[..., Any], *more: tuple[int, ...]) -> bool:
            return vanishes(function, state, *more, *shapes)

        def third(part: Callable[[LagrangianSystem, Array], Any]) -> Callable[..., Any]:
            return lambda x, *values: jacobian(jacobian(jacobian(lambda x: part(system(values), x))))(x)

        held = kept = 0

        def count(x: Array, *values: Any) -> float:
            nonlocal held, kept
            held = len(system(values).violation(x))
            kept = 0 if self.symmetries is None else len(self.generators(dict(zip(gains, values, strict=True)), x))
            return 0.0

        zero(count)
        linear = zero(lambda x, v, *values: jacobian(system(values).mass, 1)(x, v), state)
        return Form(
            linear,
            linear and zero(lambda x, v, *values: jacobian(system(values).coordinate_momentum, 0)(x, v), state),
            zero(third(lambda one, x: one.lagrangian(x, np.zeros(size)))) if self.chart is None else False,
            zero(third(LagrangianSystem.violation)),
            held,
            kept,
        )

    def bound(self, size: int, values: Mapping[str, Any], linear_momentum: bool = False) -> LagrangianSystem:
        """The system in n coordinates, with values of the gains."""
        called = partial(self._called, values)
        return LagrangianSystem(
            size,
            partial(called, "lagrangian"),
            None if self.constraints is None else partial(called, "constraints"),
            None if self.forces is None else lambda t, x, xdot: called("forces", x, xdot, t=t),
            None if self.chart is None else partial(called, "chart"),
            linear_momentum,
        )

    def generators(self, values: Mapping[str, Any], x: Array) -> Array:
        """Directions (k, n) in which symmetries move the coordinates."""
        return self._called(values, "symmetries", x)

    def _called(self, values: Mapping[str, Any], name: str, *state: Any, t: Any = None) -> Any:
        from linkwork.compiler.traced_array import lifted

        names = self.more[name]
        extra = [t if one == "t" else values[one] for one in names]
        function = getattr(self, name)

        def run(*arguments: Any) -> Any:
            given = dict(zip(names, arguments[len(state) :], strict=True))
            return function(*arguments[: len(state)], **given)

        return _shaped(name, lifted(run)(*state, *extra), len(state[0]))


def _shaped(name: str, value: Any, size: int) -> Any:
    """What a user's function returned, if it has the shape that it must have."""
    array = np.asarray(value)
    if array.dtype != object and array.dtype.kind not in "biuf":
        raise ShapeError(f"{name} must return numbers; got {value!r:.80}")
    wanted: dict[str, tuple[bool, str]] = {
        "lagrangian": (array.shape == (), "one number"),
        "constraints": (array.ndim == 1 and len(array) > 0, "numbers (m,) that vanish where the system may be"),
        "forces": (array.shape == (size,), f"forces ({size},)"),
        "chart": (array.ndim == 1 and len(array) >= size, f"a point with at least {size} coordinates"),
        "symmetries": (array.ndim == 2 and array.shape[1:] == (size,), f"directions (k, {size})"),
    }
    fits, what = wanted[name]
    if not fits:
        raise ShapeError(f"{name} must return {what}; got shape {array.shape}")
    return array[()] if name == "lagrangian" else array


def read_functions(**functions: Callable[..., Any] | None) -> Functions:
    """Users' functions, each with the names of what it takes besides the state."""
    import inspect

    states = {"lagrangian": 2, "constraints": 1, "forces": 2, "chart": 1, "symmetries": 1}
    more: dict[str, tuple[str, ...]] = {}
    for name, function in functions.items():
        if function is None:
            continue
        if not callable(function):
            raise LinkworkError(f"{name} must be a function of the state; got {function!r:.80}")
        parameters = list(inspect.signature(function).parameters.values())
        plain = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)]
        listing = f"({', '.join(str(p) for p in parameters)})"
        if len(plain) < states[name]:
            state = "(x, xdot)" if states[name] == 2 else "(x)"
            raise LinkworkError(f"{name} takes {state} and gains by name; got a function of {listing}")
        named = [p for p in parameters if p not in plain[: states[name]] and p.kind is not p.VAR_POSITIONAL]
        more[name] = tuple(p.name for p in named if p.default is p.empty and p.kind is not p.VAR_KEYWORD)
        if "t" in more[name] and name != "forces":
            raise LinkworkError(f"{name} cannot depend on the time t; forces can")
    if functions["chart"] is not None and functions["constraints"] is not None:
        raise LinkworkError("a chart has no constraints: its points satisfy them. Give one or the other")
    return Functions(**functions, more=more)  # type: ignore[arg-type]
