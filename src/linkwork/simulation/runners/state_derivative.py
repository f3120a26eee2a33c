"""Compiled time derivative of the state, for adaptive methods and for estimates of the fastest rate of a motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import numpy as np

from linkwork.algorithms.tangent_space import qdot
from linkwork.model.batch_broadcasting import Shape
from linkwork.simulation.runners.run_kernels import kernel_of
from linkwork.simulation.simulation_problem import Problem
from linkwork.simulation.user_functions import Values
from linkwork.spatial.scalar import Array, Number

# From this number of calls on, a fast entry point saves time: it takes 1 ms to load and 15 ms to build
MANY = 100
_calls = count(1)


class StateDerivative:
    """The compiled time derivative of the state x (n,), which consists of q, v, the work [J], and the work ledger.

    The state contains the ledger only if the problem is for an adaptive method and has one.

    If `turning` is false, all friction acts along the given slip directions; otherwise, that of several velocities with
    one limit follows these velocities.
    """

    def __init__(self, problem: Problem, target: str, turning: bool = True):
        self.problem, self.target, self.turning = problem, target, turning
        m = problem.mechanism
        self.ledger = problem.start.motion.ledger.shape[-1] if problem.adaptive else 0
        self.nq, self.size = m.nq, m.nq + m.nv + 1 + self.ledger
        self._rates: Callable[..., Array] | None = None
        self._quick = False

    def one(self, t: Array, x: Array, held: Array, slip_directions: Array, *values: Array) -> Array:
        """Return the derivative (n,) of the state x (n,) at time t (1,) [s].

        `held` (nv,) [N m or N] are the joint forces of a sampled controller, `slip_directions` (nf,) the slip
        directions of joint friction; `values` are the parameters and gains, in the order of `Problem.values`.
        """
        problem = self.problem
        given = {name: np.reshape(a, problem.core(name))[()] for name, a in zip(problem.values, values, strict=True)}
        return self.at(held, given, slip_directions)(t[0], x)

    def at(self, held: Array, values: Values, slip_directions: Array) -> Callable[[Number, Array], Array]:
        """Return the derivative as a traceable function of time t [s] and state x (n,).

        `held` (nv,) [N m or N] are the joint forces of a sampled controller; `values` are parameters and gains, and
        `slip_directions` (nf,) the slip directions -1, 0 or 1 of joint friction.
        """
        system, nq = self.problem.system(values).with_slip_directions(slip_directions), self.nq
        system, nv = replace(system, turning=self.turning), system.mechanism.nv

        def derivative(t: Number, x: Array) -> Array:
            q, v = x[:nq], x[nq : nq + nv]
            loads = system.loads(t, q, v, held)
            work = system.work_rates(q, v, loads) if self.ledger else np.array([system.power(q, v, loads)])
            a = system.acceleration(q, v, loads)
            return np.concatenate([qdot(system.mechanism, q, v), a, np.asarray(work, dtype=a.dtype)])

        return derivative

    def __call__(self, t: float, x: Array, held: Array, values: Values, slip_directions: Array) -> Array:
        """Return the derivative of the state x (n,) at time t [s].

        `held` (nv,) [N m or N] are the joint forces of a sampled controller; `values` are parameters and gains, and
        `slip_directions` (nf,) the slip directions -1, 0 or 1 of joint friction.
        """
        return self.bound(held, values, slip_directions)(t, x)

    def bound(self, held: Array, values: Values, slip_directions: Array) -> Callable[[float, Array], Array]:
        """Return the derivative as a function of time t [s] and state x (n,) only.

        The joint forces `held`, the parameters and gains `values`, and the slip directions `slip_directions` (nf,) of
        joint friction are fixed.
        """
        arrays = [np.reshape(np.asarray(a, dtype=float), -1) for a in values.values()]

        def rates(t: float, x: Array) -> Array:
            if self.target == "numpy":
                return np.asarray(self.one(np.array([t]), x, held, slip_directions, *arrays), dtype=float)
            if self._rates is None or not self._quick:
                pays = next(_calls) > MANY
                if self._rates is None or pays:
                    shapes = [(1,), (self.size,), held.shape, slip_directions.shape, *(a.shape for a in arrays)]
                    self._rates, self._quick = self._compiled(shapes, pays), pays
            return self._rates(np.array([t]), x, held, slip_directions, *arrays)

        return rates

    def _compiled(self, shapes: list[Shape], quick: bool) -> Callable[..., Array]:
        """Return the function `one` as machine code for arrays of the given shapes; `quick` makes a fast entry
        point.
        """
        what = "rates" if self.turning else "rates for fixed slip"
        name = (what, repr(list(self.problem.parameters)), f"ledger of {self.ledger}")
        kernel = kernel_of(self.problem, name, self.one, shapes, [(self.size,)])

        def rates(*inputs: Array) -> Array:
            return kernel.over_batch(inputs, (), 1)[0][0]

        return kernel.fast_call(rates, "rates", "") if quick else rates
