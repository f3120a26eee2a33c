"""The step of Moreau's method for a mechanism: with solids, or with point contacts only."""

from __future__ import annotations

from linkwork.simulation.methods.moreau import moreau
from linkwork.simulation.methods.moreau_solids import moreau_with_solids
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import StepState
from linkwork.spatial.scalar import Array, Condition, Number


def moreau_step(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Condition]:
    """Return the state after one step h [s] of Moreau's method from the state `now` at t [s], and whether it was
    solved.

    `held` (nv,) are the joint forces of a sampled controller.
    """
    step = moreau_with_solids if system.mechanism.solid_pairs else moreau
    return step(system, t, now, h, held)
