"""Projection of coordinates and velocities onto the constraints after a step: the smallest change in the metric of the
kinetic energy.
"""

from __future__ import annotations

from linkwork.algorithms.mimic_reduction import project_state
from linkwork.simulation.events.slip import holding, unbounded
from linkwork.simulation.methods.integration_step import Step
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import StepState
from linkwork.spatial.scalar import Array, Condition, Number, maximum
from linkwork.tolerances import CLOSURE_OPEN


def projected(step: Step) -> Step:
    """Return a step function that makes `step` and then projects the state onto the constraints."""

    def run(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Condition]:
        moved, solved = step(system, t, now, h, held)
        m = system.mechanism
        if system.rigid:  # with rigid contacts, the step itself has determined which clutches and brakes hold
            m = holding(m, moved.slip) if unbounded(m).constrained else unbounded(m)
        if system.baumgarte is not None:
            return moved, solved
        q, v, error, distance = project_state(m, moved.q, moved.v)
        # a nan state counts as closed here; a later check reports it as non-finite
        closed = (error <= CLOSURE_OPEN) | (error != error)
        solver = moved.solver._replace(projection=maximum(now.solver.projection, distance))
        return moved._replace(q=q, v=v, solver=solver), closed if solved is True else closed & solved

    return run
