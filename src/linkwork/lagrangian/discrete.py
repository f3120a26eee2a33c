"""`discrete(lagrangian, ...)`: any system that has a Lagrangian, moved by steps that conserve what it conserves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.errors import LinkworkError, NonFinite, NotConverged, OverConstrained, ShapeError, unknown_name
from linkwork.lagrangian.discrete_programs import ENERGY_MOMENTUM, ONE_SIDED, RULES, Programs
from linkwork.lagrangian.discrete_run import SERIES, DiscreteRun, failure, repeated_row
from linkwork.lagrangian.discrete_step import State
from linkwork.lagrangian.user_system import ArrayFunction, Functions, ScalarFunction, read_functions
from linkwork.model.broadcast import Input, Shape, as_numbers, checked, refuse_non_finite
from linkwork.simulation.methods.composition import composition
from linkwork.simulation.problem_setup import positive
from linkwork.simulation.results.outcomes import FINISHED, NOT_CONVERGED, Outcome
from linkwork.spatial.scalar import Array

CONSISTENT = 1e-9  # part of the coordinates, or of the velocities, by which a start may miss its constraints
SINGULAR = 1e-13  # singular values of masses with constraints, over the largest, that are none
REPEATED = 1e-9  # singular values of rows of equal size, over the largest, at which they repeat each other
EXPLAINED = 4  # members of a batch whose failures are looked into
CLOSED, ITERATIONS = 1e-14, 50  # of `consistent`


def discrete(
    lagrangian: ScalarFunction,
    constraints: ArrayFunction | None = None,
    forces: ArrayFunction | None = None,
    *,
    rule: str = "midpoint",
    order: int = 2,
    nonholonomic: ArrayFunction | None = None,
    clock: ScalarFunction | None = None,
    chart: ArrayFunction | None = None,
    symmetries: ArrayFunction | None = None,
) -> Discrete:
    """A discrete system in coordinates x (n,), whose steps conserve momenta and the symplectic form, or energy.

    Parameters
    ----------
    lagrangian
        `lagrangian(x, xdot)` returns a number [J]. Like all of these functions it is written in plain NumPy and traced,
        and may name gains as further arguments, whose values runs are given.
    constraints
        `constraints(x)` returns numbers (m,) that vanish where the system may be.
    forces
        `forces(x, xdot)` returns what acts besides (n,); it may name the time `t`.
    rule
        "midpoint", "first-order" (points as of SHAKE, so also "shake"), "rattle" (without constraints "verlet"), or
        "energy-momentum" for constant masses.
    order
        2, or 4 or 6: each step is composed of 5 or 9 of the rule, some of them backwards.
    nonholonomic
        `nonholonomic(x)` returns rows (l, n) of velocities that must vanish, rows @ xdot = 0, though coordinates are
        free, as where wheels roll.
    clock
        `clock(x)` returns how many seconds a unit of h is in a place, in the coordinates of the Lagrangian: small where
        motion is quick. There must be no forces then.
    chart
        `chart(x)` returns the point in whose coordinates the Lagrangian and the forces are written; x are generalized
        coordinates then.
    symmetries
        `symmetries(x)` returns directions (k, n) in which the system may be moved; runs record their momenta (k,).

    """
    names = [*RULES, ENERGY_MOMENTUM]
    if rule not in names:
        raise unknown_name("rule", rule, names)
    for name, changing in (("chart", chart), ("clock", clock)):
        if rule == ENERGY_MOMENTUM and changing is not None:
            raise LinkworkError(
                f'the rule "energy-momentum" needs a constant mass matrix, which a {name} does not leave'
            )
    if clock is not None and forces is not None:
        raise LinkworkError("steps by a clock need an energy that stays, which forces change: leave out one of them")
    if composition(order).order > 2 and rule in ONE_SIDED:
        raise LinkworkError(f"order={order} is composed of symmetric steps, which those of {rule!r} are not")
    if order > 2 and rule == ENERGY_MOMENTUM and (constraints or nonholonomic):
        # Velocities against constraints change their sign from step to step, and errors of order 4 remain
        raise LinkworkError(f"order={order} by the rule {rule!r} is for systems without constraints; take another rule")
    functions = read_functions(
        lagrangian=lagrangian,
        constraints=constraints,
        forces=forces,
        nonholonomic=nonholonomic,
        clock=clock,
        chart=chart,
        symmetries=symmetries,
    )
    return Discrete(functions, rule, order)


class Discrete:
    """A discrete system, made by `discrete`: `run` moves it, `start` and `step` do so one step at a time."""

    def __init__(self, functions: Functions, rule: str, order: int = 2):
        self.rule, self.order = rule, order
        self._functions = functions
        self._programs = cache(lambda size, gains: Programs(functions, rule, order, size, gains))

    def __repr__(self) -> str:
        return f"<discrete system, rule {self.rule!r}, order {self.order}>"

    def run(
        self,
        x0: ArrayLike | State,
        xdot0: ArrayLike | None = None,
        duration: float = 1.0,
        h: float = 0.01,
        every: int = 1,
        *,
        x1: ArrayLike | None = None,
        gains: Mapping[str, ArrayLike] | None = None,
        threads: int | None = None,
    ) -> DiscreteRun:
        """Move for `duration` [s] by steps h [s], from coordinates x0 (..., n) with velocities xdot0 (..., n).

        Instead of velocities, x1 (..., n) may be the point after the first step; instead of x0, a state may be given,
        such as `final` of another run. Samples are recorded every so many steps. A step that has no solution ends a
        member, which stays in its last good state; `run.outcome` says why. Where there is a clock, duration and h are
        its times.
        """
        rows = _rows(positive("duration", duration), positive("h", h), every)
        if isinstance(x0, State) and (xdot0 is not None or x1 is not None):
            raise LinkworkError("a state is all that a run goes on from: give no xdot0 or x1 with it")
        now = _arrays(x0) if isinstance(x0, State) else self.start(x0, xdot0, x1=x1, h=h, gains=gains)
        values, batch, programs = self._prepared(now.x, gains)
        found = programs.kernel("run", every).over_batch(
            [*now, np.asarray(h), *values], batch, threads, counts=(rows,)
        )[0]
        done, going, *found = found
        final, series = State(*found[: len(now)]), found[len(now) :]
        first = programs.kernel("first_row").over_batch([*now, *values], batch, threads)[0]
        axis = len(batch)
        series = [np.concatenate([np.expand_dims(a, axis), b], axis) for a, b in zip(first, series, strict=True)]
        for member in map(tuple, np.argwhere(going != 1.0)):
            for one in series:
                one[member][int(done[member]) // every + 1 :] = np.nan
        named = dict(zip(SERIES, series, strict=True))
        if self._functions.clock is None:
            named["t"] = float(np.ravel(now.t)[0]) + h * every * np.arange(rows + 1)
        outcomes = self._outcomes(programs, final, going, h, values)

        def steps(rows: Array) -> list[Array]:
            """Derivatives of the steps from these samples, and the changes that constraints allow."""
            at = {name: np.take(one, rows, axis) for name, one in zip(SERIES, series, strict=True)}
            state = (at["t"], at["x"], at["p"], at["xdot"], np.broadcast_to(now.energy[..., None], at["t"].shape))
            own = [np.expand_dims(a, axis) if a.shape[:axis] == batch else a for a in values]
            return self._derivative(programs, State(*state), (*batch, len(rows)), h, own)

        return DiscreteRun(h, **named, outcomes=outcomes, final=final, step_derivatives=steps)

    def start(
        self,
        x0: ArrayLike,
        xdot0: ArrayLike | None = None,
        *,
        x1: ArrayLike | None = None,
        h: float | None = None,
        gains: Mapping[str, ArrayLike] | None = None,
    ) -> State:
        """The state (t = 0) at x0 (..., n) with velocities xdot0 (..., n), or from which a step h [s] leads to x1."""
        if (xdot0 is None) == (x1 is None):
            raise LinkworkError("a start needs velocities xdot0, or else x1, the point after the first step")
        x = as_numbers("x0", x0)
        if not (x.ndim and x.shape[-1]):
            raise ShapeError(f"x0 has shape {x.shape}, expected (..., n): the coordinates")
        core = x.shape[-1:]
        if x1 is not None:
            if self.rule == ENERGY_MOMENTUM or self.order > 2 or self._functions.clock is not None:
                raise LinkworkError(
                    "starts from two points are those of a plain step: by the energy-momentum rule, a higher order "
                    "or a clock, give velocities xdot0"
                )
            if h is None:
                raise LinkworkError("a start from two points needs the step h [s] that is between them")
            (x, y), batch = checked({"x0": Input(x, core), "x1": Input(x1, core)})
            x = np.broadcast_to(x, batch + core)
            values, batch, programs = self._prepared(x, gains)
            kernel = programs.kernel("start_between")
            xdot0 = kernel.over_batch([x, y, np.asarray(positive("h", h)), *values], batch, None)[0][0]
        (x, xdot), batch = checked({"x0": Input(x, core), "xdot0": Input(xdot0, core)})
        x = np.broadcast_to(x, batch + core)
        values, batch, programs = self._prepared(x, gains)
        found = programs.kernel("start").over_batch([x, xdot, *values], batch, None)[0]
        now, looked_at = State(*found[: len(State._fields)]), found[len(State._fields) :]
        for member in np.ndindex(batch):
            _refuse_inconsistent(member, now.x[member], now.xdot[member], Start(*(a[member] for a in looked_at)))
        return now

    def step(self, now: State, h: float, *, gains: Mapping[str, ArrayLike] | None = None) -> State:
        """The state after a step h [s]; NotConverged, with what is known of it, if there is none for a member."""
        now = _arrays(now)
        values, batch, programs = self._prepared(now.x, gains)
        step = np.asarray(positive("h", h))
        *state, solved = programs.kernel("step").over_batch([*now, step, *values], batch, None)[0]
        for member in map(tuple, np.argwhere(solved != 1.0)):
            raise self._failure(programs, now, member, h, values)
        return State(*state)

    def derivative(self, now: State, h: float, *, gains: Mapping[str, ArrayLike] | None = None) -> Array:
        """Derivatives (..., 2n, 2n) of (x, p) after a step h [s] by (x, p) before it."""
        now = _arrays(now)
        values, batch, programs = self._prepared(now.x, gains)
        return self._derivative(programs, now, batch, positive("h", h), values)[0]

    def consistent(
        self, x: ArrayLike, xdot: ArrayLike, *, gains: Mapping[str, ArrayLike] | None = None
    ) -> tuple[Array, Array]:
        """Coordinates and velocities (n,) of one member that constraints allow, moved as little as can be."""
        (x, xdot), _ = checked({"x": Input(x, np.shape(x)[-1:]), "xdot": Input(xdot, np.shape(x)[-1:])})
        values, _, programs = self._prepared(x, gains)
        system = programs.mover(values).system
        left, m = system.violation(x), programs.form.positions
        for _ in range(ITERATIONS):
            if np.abs(left).max(initial=0.0) <= CLOSED:
                break
            x = x - _smallest(system.rows(x)[:m], left)
            left = system.violation(x)
        G = system.rows(x)
        if m and np.abs(left / np.linalg.norm(G[:m], axis=1)).max() > CONSISTENT * np.abs(x).max():
            raise NotConverged(f"no coordinates near these satisfy the constraints: {np.abs(left).max():.3g} is left")
        return x, xdot - _smallest(G, G @ xdot) if len(G) else xdot

    # --- what is between ---

    def _prepared(self, x: Array, gains: Mapping[str, ArrayLike] | None) -> tuple[list[Array], Shape, Programs]:
        """Values of the gains in order, the batch, and the programs for their shapes."""
        given, wanted = dict(gains or {}), self._functions.gains
        for name in given:
            if name not in wanted:
                raise unknown_name("gain", name, wanted, " Functions name gains among their arguments.")
        missing = [name for name in wanted if name not in given]
        if missing:
            raise LinkworkError(f"a function takes {missing[0]!r}: give its value, gains={{{missing[0]!r}: ...}}")
        batch = x.shape[:-1]
        values = [as_numbers(f"gain {name!r}", given[name]) for name in wanted]
        for name, value in zip(wanted, values, strict=True):
            refuse_non_finite(f"gain {name!r}", value)
        # A gain has the batch's shape in front of its own, or is the same for all
        cores = [a.shape[len(batch) :] if a.shape[: len(batch)] == batch else a.shape for a in values]
        return values, batch, self._programs(x.shape[-1], tuple(zip(wanted, cores, strict=True)))

    def _derivative(
        self, programs: Programs, now: State, batch: Shape, h: float, values: Sequence[Array]
    ) -> list[Array]:
        """Derivatives of steps, and the rows that changes which constraints allow must satisfy."""
        if not programs.form.linear_momentum:
            raise LinkworkError("derivatives of steps need a momentum that is linear in the velocity; this one is not")
        return programs.kernel("derivative").over_batch([*now, np.asarray(h), *values], batch, None)[0]

    def _outcomes(self, programs: Programs, final: State, going: Array, h: float, values: Sequence[Array]) -> Array:
        found = np.empty(going.shape, dtype=object)
        explained = 0
        for member in np.ndindex(going.shape):
            t, evidence = float(final.t[member]), ""
            if going[member] != 1.0:
                explained += 1
                evidence = str(self._failure(programs, final, member, h, values)) if explained <= EXPLAINED else ""
            found[member] = Outcome(FINISHED if going[member] == 1.0 else NOT_CONVERGED, t, evidence)
        return found

    def _failure(
        self, programs: Programs, now: State, member: tuple[int, ...], h: float, values: Sequence[Array]
    ) -> NotConverged:
        alone = State(*(np.asarray(a)[member] for a in now))
        cores = [len(shape) for _, shape in programs.gains]
        own = [a[member] if a.ndim > core else a for a, core in zip(values, cores, strict=True)]
        return failure(programs.mover(own), alone, h)


def _smallest(rows: Array, right: Array) -> Array:
    """The smallest x (n,) with rows (m, n) times it = right (m,); rows may repeat each other, but for round-off."""
    sizes = np.linalg.norm(rows, axis=1)
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    return np.linalg.lstsq(rows / sizes[:, None], right / sizes, rcond=REPEATED)[0]


def _arrays(now: State) -> State:
    return State(*(np.asarray(a, dtype=float) for a in now))


def _rows(duration: float, h: float, every: int) -> int:
    """How many rows a run has after its first."""
    if not (isinstance(every, (int, np.integer)) and every >= 1):
        raise LinkworkError(f"every must be a whole number of steps, at least 1; got {every!r}")
    rows = duration / (h * every)
    if abs(rows - round(rows)) > 1e-6 * max(rows, 1.0) or round(rows) < 1:
        raise LinkworkError(
            f"a run has a whole number of rows, one every {every} steps of {h:g} s; {duration:g} s are {rows:g}. "
            f"Take duration={max(1, round(rows)) * h * every:g}, or h={duration / max(1, round(rows)) / every:g}"
        )
    return round(rows)


class Start(NamedTuple):
    """What is looked at in a start: g (m,), rows of constraints (m + l, n), masses (n, n), and the clock's pace."""

    g: Array
    G: Array
    mass: Array
    pace: Array


def _refuse_inconsistent(member: tuple[int, ...], x: Array, xdot: Array, start: Start) -> None:
    """Raise what says why a member cannot start at x (n,) with xdot (n,), if it cannot."""
    g, G, mass, pace = start
    who = f"member {member}: " if member else ""
    for what, values in (("constraints", g), ("derivatives of the constraints", G), ("mass matrix", mass)):
        if not np.isfinite(values).all():
            raise NonFinite(f"{who}the {what} at x0 are not finite")
    if not pace > 0.0:
        raise LinkworkError(f"{who}the clock must be positive; at x0 it is {float(pace):g}")
    repeated = repeated_row(G)
    if repeated is not None:
        raise OverConstrained(
            f"{who}constraint {repeated} repeats others at x0: its row depends on theirs. Leave it out, or start "
            "where the constraints are independent"
        )
    sizes = np.linalg.norm(G, axis=1)
    remedy = "x0, xdot0 = system.consistent(x0, xdot0) takes the nearest that is"
    off = np.abs(g) / sizes[: len(g)]
    if off.size and off.max() > CONSISTENT * max(1.0, np.abs(x).max()):
        k = int(off.argmax())
        raise LinkworkError(f"{who}x0 is not where constraint {k} lets it be: g[{k}] = {g[k]:.3g}. {remedy}")
    rates = np.abs(G @ xdot) / sizes
    if rates.size and rates.max() > CONSISTENT * max(1.0, np.abs(xdot).max()):
        k = int(rates.argmax())
        raise LinkworkError(f"{who}xdot0 breaks constraint {k}: its rate is {(G @ xdot)[k]:.3g}. {remedy}")
    # Masses may be singular where constraints hold, as those of quaternions
    held = G / sizes[:, None] * np.abs(mass).max()
    whole = np.block([[mass, held.T], [held, np.zeros((len(G), len(G)))]])
    u, s, _ = np.linalg.svd(whole)
    if s[-1] <= SINGULAR * s[0]:
        k = int(np.abs(u[: len(x), -1]).argmax())
        raise LinkworkError(
            f"{who}the Lagrangian gives x[{k}] no mass in a direction that constraints leave free: its motion is not "
            "determined"
        )
