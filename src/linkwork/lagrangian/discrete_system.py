"""`discrete(lagrangian, ...)`: structure-preserving integration of a user-defined Lagrangian system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.errors import LinkworkError, NonFinite, NotConverged, OverConstrained, ShapeError, unknown_name
from linkwork.lagrangian.deprecated_arguments import renamed, warn_renamed
from linkwork.lagrangian.discrete_run import SERIES, DiscreteRun, failure, repeated_row
from linkwork.lagrangian.discrete_system_programs import ENERGY_MOMENTUM, ONE_SIDED, RULES, Programs
from linkwork.lagrangian.lagrangian_tolerances import (
    CLOSED,
    CLOSING_ITERATIONS,
    CONSISTENT,
    DEPENDENT_ROWS,
    SINGULAR_MASS_MATRIX,
)
from linkwork.lagrangian.one_step_integrator import State
from linkwork.lagrangian.user_defined_lagrangian import ArrayFunction, Functions, ScalarFunction, read_functions
from linkwork.model.batch_broadcasting import Input, Shape, as_numbers, checked, refuse_non_finite
from linkwork.simulation.methods.step_composition import composition
from linkwork.simulation.problem_setup import positive
from linkwork.simulation.results.outcomes import FINISHED, NOT_CONVERGED, Outcome
from linkwork.spatial.scalar import Array

EXPLAINED = 4  # largest number of batch members whose failures are diagnosed


@renamed(rule="method")
def discrete(
    lagrangian: ScalarFunction,
    constraints: ArrayFunction | None = None,
    forces: ArrayFunction | None = None,
    *,
    method: str = "midpoint",
    order: int = 2,
    nonholonomic: ArrayFunction | None = None,
    clock: ScalarFunction | None = None,
    chart: ArrayFunction | None = None,
    symmetries: ArrayFunction | None = None,
) -> Discrete:
    """Return a discrete system: a Lagrangian system with a structure-preserving integrator.

    The integrator conserves momenta and the symplectic form, or energy and momenta. All functions are plain NumPy
    functions of one state, which linkwork traces and compiles. Their further named arguments are gains, whose values
    `Discrete.run` takes. n is the number of coordinates.

    Parameters
    ----------
    lagrangian : callable
        `lagrangian(x, xdot)` returns the Lagrangian [J], a number, for coordinates and velocities of shape (n,).
    constraints : callable, optional
        `constraints(x)` returns numbers, shape (m,), that are zero at admissible positions.
    forces : callable, optional
        `forces(x, xdot)` returns generalized forces, shape (n,), besides those of the Lagrangian. It may take the
        time `t` [s] by name.
    method : str, default "midpoint"
        "midpoint"; "first-order" or "shake" (the same points as SHAKE); "rattle" or "verlet" (velocity Verlet without
        constraints); or "energy-momentum", which needs a constant mass matrix.
    order : int, default 2
        2, 4 or 6. A step of order 4 or 6 is composed of 5 or 9 steps of the method, some of them backwards.
    nonholonomic : callable, optional
        `nonholonomic(x)` returns rows, shape (l, n), of velocity constraints rows @ xdot = 0, such as rolling.
    clock : callable, optional
        `clock(x)` returns the time [s] per unit of `dt`, a positive number: small where the motion is fast. It is a
        function of the Lagrangian's coordinates and excludes `forces`.
    chart : callable, optional
        `chart(x)` returns the point, shape (k,), in whose coordinates the Lagrangian and the forces are written; x are
        then generalized coordinates. Excludes `constraints`.
    symmetries : callable, optional
        `symmetries(x)` returns directions, shape (k, n), along which the Lagrangian does not change. Runs record the
        corresponding momenta.

    Returns
    -------
    Discrete
        The system; its method `run` integrates it.

    Raises
    ------
    LinkworkError
        If the method, order and functions cannot be combined.

    Examples
    --------
    >>> oscillator = lw.discrete(lambda x, v: 0.5 * v[0] ** 2 - 0.5 * x[0] ** 2, method="verlet")
    >>> run = oscillator.run([1.0], [0.0], duration=10.0, dt=0.1)
    >>> run.x.shape
    (101, 1)
    >>> bool(abs(run.energy - 0.5).max() < 2e-3)
    True

    """
    names = [*RULES, ENERGY_MOMENTUM]
    if method not in names:
        raise unknown_name("method", method, names)
    for name, changing in (("chart", chart), ("clock", clock)):
        if method == ENERGY_MOMENTUM and changing is not None:
            raise LinkworkError(
                f'the method "energy-momentum" needs a constant mass matrix; with a {name} it is not constant'
            )
    if clock is not None and forces is not None:
        raise LinkworkError("a clock needs a system whose energy is conserved: give either a clock or forces")
    if composition(order).order > 2 and method in ONE_SIDED:
        raise LinkworkError(f"order={order} needs a symmetric method; {method!r} is not symmetric")
    if order > 2 and method == ENERGY_MOMENTUM and (constraints or nonholonomic):
        # The velocity errors of constraints alternate in sign from step to step, so that the order would not be reached
        raise LinkworkError(f"order={order} with method {method!r} needs a system without constraints")
    functions = read_functions(
        lagrangian=lagrangian,
        constraints=constraints,
        forces=forces,
        nonholonomic=nonholonomic,
        clock=clock,
        chart=chart,
        symmetries=symmetries,
    )
    return Discrete(functions, method, order)


class Discrete:
    """A discrete system, returned by `discrete`: `run` integrates it, `start` returns an initial state, and `step`
    makes one step.
    """

    def __init__(self, functions: Functions, method: str, order: int = 2):
        self.method, self.order = method, order
        self._functions = functions
        self._programs = cache(lambda size, gains: Programs(functions, method, order, size, gains))

    @property
    def rule(self) -> str:
        """Deprecated name of `method`."""
        warn_renamed("the attribute 'rule' of a discrete system", "'method'", stacklevel=2)
        return self.method

    def __repr__(self) -> str:
        return f"<discrete system, method {self.method!r}, order {self.order}>"

    @renamed(xdot0="v0", h="dt")
    def run(
        self,
        x0: ArrayLike | State,
        v0: ArrayLike | None = None,
        duration: float = 1.0,
        dt: float = 0.01,
        every: int = 1,
        *,
        x1: ArrayLike | None = None,
        gains: Mapping[str, ArrayLike] | None = None,
        threads: int | None = None,
    ) -> DiscreteRun:
        """Integrate the system and return the recorded motion.

        A batch member stops at a step that has no solution and keeps its last valid state; `outcome` of the result
        gives the reason.

        Parameters
        ----------
        x0 : array_like, shape (..., n), or State
            Initial coordinates; or a state from which to continue, such as `final` of another run.
        v0 : array_like, shape (..., n), optional
            Initial velocities xdot. Give either `v0` or `x1`, and neither if `x0` is a `State`.
        duration : float, unit [s], default 1.0
            Length of the run; with a clock, in the clock's time. An integer multiple of `dt * every`.
        dt : float, unit [s], default 0.01
            Step size; with a clock, in the clock's time.
        every : int, default 1
            Number of steps between recorded samples.
        x1 : array_like, shape (..., n), optional
            Coordinates after the first step, which determine the initial velocities.
        gains : mapping of str to array_like, optional
            Values of the gains that the functions take. The shape of a gain begins with the batch shape, or the gain
            is the same for all members.
        threads : int, optional
            Number of threads for a batch; default: all available.

        Returns
        -------
        DiscreteRun
            Times, coordinates, velocities, momenta, multipliers and energy of the samples.

        Raises
        ------
        LinkworkError
            If an argument is invalid, or the start violates the constraints (see `consistent`).

        Examples
        --------
        >>> oscillator = lw.discrete(lambda x, v, k: 0.5 * v[0] ** 2 - 0.5 * k * x[0] ** 2)
        >>> run = oscillator.run([[1.0], [1.0]], [0.0], duration=1.0, dt=0.01, gains={"k": np.array([1.0, 4.0])})
        >>> run.x[:, -1, 0].round(3)
        array([ 0.54 , -0.416])

        """
        count = _sample_count(positive("duration", duration), positive("dt", dt), every)
        if isinstance(x0, State) and (v0 is not None or x1 is not None):
            raise LinkworkError("x0 is a state, which includes velocities: remove v0 and x1")
        now = _float_state(x0) if isinstance(x0, State) else self.start(x0, v0, x1=x1, dt=dt, gains=gains)
        values, batch, programs = self._prepared(now.x, gains)
        found = programs.kernel("run", every).over_batch(
            [*now, np.asarray(dt), *values], batch, threads, counts=(count,)
        )[0]
        done, going, *found = found
        final, series = State(*found[: len(now)]), found[len(now) :]
        first = programs.kernel("first_sample").over_batch([*now, *values], batch, threads)[0]
        axis = len(batch)
        series = [np.concatenate([np.expand_dims(a, axis), b], axis) for a, b in zip(first, series, strict=True)]
        for member in map(tuple, np.argwhere(going != 1.0)):
            for one in series:
                one[member][int(done[member]) // every + 1 :] = np.nan
        named = dict(zip(SERIES, series, strict=True))
        if self._functions.clock is None:
            named["t"] = float(np.ravel(now.t)[0]) + dt * every * np.arange(count + 1)
        outcomes = self._outcomes(programs, final, going, dt, values)

        def steps(samples: Array) -> list[Array]:
            """Return three arrays for steps that begin at the samples with the indices `samples`.

            They are the derivatives (..., 2n, 2n) of the steps, and, by `LagrangianSystem.tangents`, the constraint
            matrices and the maps to changes of momenta at these samples.
            """
            at = {name: np.take(one, samples, axis) for name, one in zip(SERIES, series, strict=True)}
            state = (at["t"], at["x"], at["p"], at["xdot"], np.broadcast_to(now.energy[..., None], at["t"].shape))
            own = [np.expand_dims(a, axis) if a.shape[:axis] == batch else a for a in values]
            return self._derivative(programs, State(*state), (*batch, len(samples)), dt, own)

        return DiscreteRun(dt, **named, outcomes=outcomes, final=final, step_derivatives=steps)

    @renamed(xdot0="v0", h="dt")
    def start(
        self,
        x0: ArrayLike,
        v0: ArrayLike | None = None,
        *,
        x1: ArrayLike | None = None,
        dt: float | None = None,
        gains: Mapping[str, ArrayLike] | None = None,
    ) -> State:
        """Return the initial state of the discrete system, at t = 0 and the coordinates x0 (..., n).

        The velocities of the state are v0 (..., n), or those with which a first step dt [s] leads to x1 (..., n).
        `gains` has the values of the gains (further named arguments of the user's functions) by name.
        """
        if (v0 is None) == (x1 is None):
            raise LinkworkError("give either the initial velocities v0 or x1, the coordinates after the first step")
        x = as_numbers("x0", x0)
        if not (x.ndim and x.shape[-1]):
            raise ShapeError(f"x0 must have shape (..., n), n >= 1; got {x.shape}")
        core = x.shape[-1:]
        if x1 is not None:
            if self.method == ENERGY_MOMENTUM or self.order > 2 or self._functions.clock is not None:
                raise LinkworkError(
                    "a start from two points x0 and x1 needs order=2, clock=None and a method other than "
                    "'energy-momentum'; give velocities v0 instead of x1"
                )
            if dt is None:
                raise LinkworkError("a start from two points x0 and x1 needs the step size dt [s]")
            (x, y), batch = checked({"x0": Input(x, core), "x1": Input(x1, core)})
            x = np.broadcast_to(x, batch + core)
            values, batch, programs = self._prepared(x, gains)
            kernel = programs.kernel("start_between")
            v0 = kernel.over_batch([x, y, np.asarray(positive("dt", dt)), *values], batch, None)[0][0]
        (x, xdot), batch = checked({"x0": Input(x, core), "v0": Input(v0, core)})
        x = np.broadcast_to(x, batch + core)
        values, batch, programs = self._prepared(x, gains)
        found = programs.kernel("start").over_batch([x, xdot, *values], batch, None)[0]
        now, inspected = State(*found[: len(State._fields)]), found[len(State._fields) :]
        for member in np.ndindex(batch):
            _refuse_inconsistent(member, now.x[member], now.xdot[member], Start(*(a[member] for a in inspected)))
        return now

    @renamed(h="dt")
    def step(self, now: State, dt: float, *, gains: Mapping[str, ArrayLike] | None = None) -> State:
        """Return the state after a step dt [s] of the system; raise NotConverged if the step of a batch member has no
        solution.

        `gains` has the values of the gains (further named arguments of the user's functions) by name.
        """
        now = _float_state(now)
        values, batch, programs = self._prepared(now.x, gains)
        step = np.asarray(positive("dt", dt))
        *state, solved = programs.kernel("step").over_batch([*now, step, *values], batch, None)[0]
        for member in map(tuple, np.argwhere(solved != 1.0)):
            raise self._failure(programs, now, member, dt, values)
        return State(*state)

    @renamed(h="dt")
    def derivative(self, now: State, dt: float, *, gains: Mapping[str, ArrayLike] | None = None) -> Array:
        """Return the derivative (..., 2n, 2n) of (x, p) after a step of length dt [s] with respect to (x, p) before it.

        `gains` has the values of the gains (further named arguments of the user's functions) by name.
        """
        now = _float_state(now)
        values, batch, programs = self._prepared(now.x, gains)
        return self._derivative(programs, now, batch, positive("dt", dt), values)[0]

    def consistent(
        self, x: ArrayLike, xdot: ArrayLike, *, gains: Mapping[str, ArrayLike] | None = None
    ) -> tuple[Array, Array]:
        """Return coordinates and velocities (n,) near x (n,) and xdot (n,) that satisfy the constraints, for one state.

        Each Newton iteration changes x by the correction of least norm, and xdot changes by the correction of least
        norm at the new coordinates. `gains` has the values of the gains (further named arguments of the user's
        functions) by name.
        """
        (x, xdot), _ = checked({"x": Input(x, np.shape(x)[-1:]), "xdot": Input(xdot, np.shape(x)[-1:])})
        values, _, programs = self._prepared(x, gains)
        system = programs.integrator(values).system
        left, m = system.violation(x), programs.form.positions
        for _ in range(CLOSING_ITERATIONS):
            if np.abs(left).max(initial=0.0) <= CLOSED:
                break
            x = x - _least_norm_solution(system.rows(x)[:m], left)
            left = system.violation(x)
        G = system.rows(x)
        if m and np.abs(left / np.linalg.norm(G[:m], axis=1)).max() > CONSISTENT * np.abs(x).max():
            raise NotConverged(f"no coordinates near x satisfy the constraints; residual {np.abs(left).max():.3g}")
        return x, xdot - _least_norm_solution(G, G @ xdot) if len(G) else xdot

    # --- checks and diagnosis ---

    def _prepared(self, x: Array, gains: Mapping[str, ArrayLike] | None) -> tuple[list[Array], Shape, Programs]:
        """Return the values of the gains in order, the batch shape, and the programs compiled for these shapes.

        The order is that of the names `Functions.gains`. The batch shape is that of the coordinates x (..., n). `gains`
        are the values by name.
        """
        given, wanted = dict(gains or {}), self._functions.gains
        for name in given:
            if name not in wanted:
                raise unknown_name("gain", name, wanted, " Gains are further named arguments of the functions.")
        missing = [name for name in wanted if name not in given]
        if missing:
            raise LinkworkError(f"a function needs the gain {missing[0]!r}: give gains={{{missing[0]!r}: ...}}")
        batch = x.shape[:-1]
        values = [as_numbers(f"gain {name!r}", given[name]) for name in wanted]
        for name, value in zip(wanted, values, strict=True):
            refuse_non_finite(f"gain {name!r}", value)
        # If the shape of a gain does not begin with the batch shape, all members have the same value of the gain
        cores = [a.shape[len(batch) :] if a.shape[: len(batch)] == batch else a.shape for a in values]
        return values, batch, self._programs(x.shape[-1], tuple(zip(wanted, cores, strict=True)))

    def _derivative(
        self, programs: Programs, now: State, batch: Shape, h: float, values: Sequence[Array]
    ) -> list[Array]:
        """Return three arrays for steps of size h [s] from the states `now`: first the derivatives of the steps.

        These derivatives (..., 2n, 2n) are those of (x, p) after a step with respect to (x, p) before it. The other two
        arrays are the matrices of `LagrangianSystem.tangents` at the states. `values` are the values of the gains in
        order, and `batch` is the batch shape.
        """
        if not programs.form.linear_momentum:
            raise LinkworkError(
                "for derivatives of steps, the Lagrangian must be quadratic in the velocity, so that its mass matrix "
                "does not depend on the velocity; for this Lagrangian, compare runs from slightly different starts"
            )
        return programs.kernel("derivative").over_batch([*now, np.asarray(h), *values], batch, None)[0]

    def _outcomes(self, programs: Programs, final: State, going: Array, h: float, values: Sequence[Array]) -> Array:
        """Return the outcomes (*batch,) of a run with steps h [s], which ended in the state `final`.

        `going` (*batch,) is 1 for members whose steps were all solved, else 0. `values` are the gains in order.
        """
        found = np.empty(going.shape, dtype=object)
        explained = 0
        for member in np.ndindex(going.shape):
            t, diagnosis = float(final.t[member]), ""
            if going[member] != 1.0:
                explained += 1
                diagnosis = str(self._failure(programs, final, member, h, values)) if explained <= EXPLAINED else ""
            found[member] = Outcome(FINISHED if going[member] == 1.0 else NOT_CONVERGED, t, diagnosis)
        return found

    def _failure(
        self, programs: Programs, now: State, member: tuple[int, ...], h: float, values: Sequence[Array]
    ) -> NotConverged:
        """Return the error that explains why a step h [s] of a batch member from its state in `now` has no solution.

        `member` is the index of the batch member, and `values` are the values of the gains in order.
        """
        alone = State(*(np.asarray(a)[member] for a in now))
        cores = [len(shape) for _, shape in programs.gains]
        own = [a[member] if a.ndim > core else a for a, core in zip(values, cores, strict=True)]
        return failure(programs.integrator(own), alone, h)


def _least_norm_solution(rows: Array, right: Array) -> Array:
    """Return the solution x (n,) of least norm of rows @ x = right, where `rows` (m, n) may be linearly dependent."""
    sizes = np.linalg.norm(rows, axis=1)
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    return np.linalg.lstsq(rows / sizes[:, None], right / sizes, rcond=DEPENDENT_ROWS)[0]


def _float_state(now: State) -> State:
    """Return the state `now` with all entries converted to arrays of floats."""
    return State(*(np.asarray(a, dtype=float) for a in now))


def _sample_count(duration: float, dt: float, every: int) -> int:
    """Return the number of samples of a run after the initial one, with `every` steps between samples.

    Raise a LinkworkError if `duration` [s] is not an integer multiple of `every` steps `dt` [s].
    """
    if not (isinstance(every, (int, np.integer)) and every >= 1):
        raise LinkworkError(f"every must be an integer of at least 1; got {every!r}")
    samples = duration / (dt * every)
    if abs(samples - round(samples)) > 1e-6 * max(samples, 1.0) or round(samples) < 1:
        raise LinkworkError(
            f"duration must be an integer multiple of dt * every = {dt * every:g} s; got {duration:g} s, which is "
            f"{samples:g} times that. Use duration={max(1, round(samples)) * dt * every:g}, or "
            f"dt={duration / max(1, round(samples)) / every:g}"
        )
    return round(samples)


class Start(NamedTuple):
    """Quantities by which a run checks its initial state, for m constraints g(x) = 0 and l nonholonomic rows.

    `g` (m,) are the constraint values, `G` (m + l, n) the constraint rows: the derivatives of g, then the nonholonomic
    rows. `mass` (n, n) is the mass matrix, and `pace` [s] the value of the clock.
    """

    g: Array
    G: Array
    mass: Array
    pace: Array


def _refuse_inconsistent(member: tuple[int, ...], x: Array, xdot: Array, start: Start) -> None:
    """Raise a LinkworkError if a batch member cannot start at x (n,) with velocities xdot (n,).

    Reasons are violated or redundant constraints, a singular mass matrix, and values that are not finite. `start` has
    the quantities to check; `member` is the index of the member, for the message.
    """
    g, G, mass, pace = start
    who = f"member {member}: " if member else ""
    for what, values in (("constraints", g), ("derivatives of the constraints", G), ("mass matrix", mass)):
        if not np.isfinite(values).all():
            raise NonFinite(f"{who}the {what} must be finite at x0; got nan or inf")
    if not pace > 0.0:
        raise LinkworkError(f"{who}the clock must be positive; got {float(pace):g} at x0")
    repeated = repeated_row(G)
    if repeated is not None:
        raise OverConstrained(
            f"{who}constraint {repeated} is redundant at x0: its row depends on those of others. Remove it, or start "
            "where the constraints are independent"
        )
    sizes = np.linalg.norm(G, axis=1)
    remedy = "x0, v0 = system.consistent(x0, v0) projects onto the constraints"
    off = np.abs(g) / sizes[: len(g)]
    if off.size and off.max() > CONSISTENT * max(1.0, np.abs(x).max()):
        k = int(off.argmax())
        raise LinkworkError(f"{who}x0 violates constraint {k}: g[{k}] = {g[k]:.3g}, expected 0. {remedy}")
    rates = np.abs(G @ xdot) / sizes
    if rates.size and rates.max() > CONSISTENT * max(1.0, np.abs(xdot).max()):
        k = int(rates.argmax())
        raise LinkworkError(f"{who}v0 violates constraint {k}: its rate is {(G @ xdot)[k]:.3g}, expected 0. {remedy}")
    # The mass matrix may be singular in directions that constraints exclude, as with quaternions
    held = G / sizes[:, None] * np.abs(mass).max()
    whole = np.block([[mass, held.T], [held, np.zeros((len(G), len(G)))]])
    u, s, _ = np.linalg.svd(whole)
    if s[-1] <= SINGULAR_MASS_MATRIX * s[0]:
        k = int(np.abs(u[: len(x), -1]).argmax())
        raise LinkworkError(
            f"{who}the mass matrix is singular: x[{k}] has no inertia in a direction that the constraints leave free, "
            "so its motion is undetermined"
        )
