"""Semi-implicit Euler method: a step computes the new velocities, then the coordinates from these."""

from __future__ import annotations

from linkwork.algorithms.tangent_space import integrate
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import StepState
from linkwork.simulation.work_ledger import CONTACTS
from linkwork.spatial.scalar import Array, Condition, Number


def semi_implicit(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Condition]:
    """Return the state after one semi-implicit Euler step h [s] (order 1) from the state `now` at time t [s].

    Dampers and friction use the velocity at the end of the step, so that stiff dampers are stable. `held` (nv,) are the
    joint forces of a sampled controller. The second result is True: no iteration can fail.
    """
    loads = system.loads(t, now.q, now.v, held)
    viscous = None if loads.touching is None else system.viscous(now.q, loads.touching)
    v = now.v + h * system.acceleration(now.q, now.v, loads, h, viscous)
    mean = (now.v + v) * 0.5
    moved = now._replace(q=integrate(system.mechanism, now.q, h * v), v=v)
    moved = moved.with_work(system.rates(now.q, mean, loads, now) * h)
    if viscous is None:
        return moved, True
    damped = -h * (mean @ (viscous @ (v - now.v)))
    return moved._replace(work=moved.work + damped).with_work_of(CONTACTS, damped), True
