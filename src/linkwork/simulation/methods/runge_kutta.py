"""The classical Runge-Kutta method on the configuration manifold (Munthe-Kaas 1999)."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.tangent_space import integrate, tangent_rate
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import Leaves, StepState
from linkwork.spatial.scalar import Array, Condition, Number, where
from linkwork.spatial.traceable_loops import repeat


def rk4(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Condition]:
    """Return the state after one Runge-Kutta step h [s] of order 4, with its stages in the tangent space of the
    coordinates.

    `now` is the state at time t [s], and `held` (nv,) are the joint forces of a sampled controller. The second result
    is True: the step has no equations to solve.
    """
    m, zero = system.mechanism, np.zeros(system.mechanism.nv)

    def stage(k: Number, dq: Array, dv: Array, sum_q: Array, sum_v: Array, sum_done: Array) -> Leaves:
        outer = (k == 0) | (k == 3)
        reach = h * where(k == 0, 0.0, where(k == 3, 1.0, 0.5))
        weight = h * where(outer, 1.0 / 6.0, 1.0 / 3.0)
        turn, v = reach * dq, now.v + reach * dv
        q = integrate(m, now.q, turn)
        loads = system.loads(t + reach, q, v, held)
        dq, dv = tangent_rate(m, turn, v), system.acceleration(q, v, loads)
        done = sum_done + weight * system.rates(q, v, loads, now)
        return dq, dv, sum_q + weight * dq, sum_v + weight * dv, done

    _, _, dq, dv, done = repeat(4, stage, zero, zero, zero, zero, np.zeros(1 + len(now.ledger)))
    return now._replace(q=integrate(m, now.q, dq), v=now.v + dv).with_work(done), True
