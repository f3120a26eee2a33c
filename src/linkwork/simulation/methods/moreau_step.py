"""The step of Moreau's method for a mechanism: with solids, or with point contacts only."""

from __future__ import annotations

from linkwork.simulation.contact_families import contact_families
from linkwork.simulation.methods.moreau import moreau
from linkwork.simulation.methods.moreau_solids import moreau_with_solids
from linkwork.simulation.point_contacts import PointContacts
from linkwork.simulation.simulated_system import System
from linkwork.simulation.solid_contacts import SolidContacts
from linkwork.simulation.state import StepState
from linkwork.spatial.scalar import Array, Condition, Number

STEPS = {PointContacts: moreau, SolidContacts: moreau_with_solids}  # by the last contact family; see `contact_families`


def moreau_step(system: System, t: Number, now: StepState, h: Number, held: Array) -> tuple[StepState, Condition]:
    """Return the state after one step h [s] of Moreau's method from the state `now` at t [s], and whether the step was
    solved.

    `held` (nv,) [N m or N] are the joint forces of a sampled controller.
    """
    last = contact_families(system.mechanism)[-1]
    return STEPS[type(last)](system, t, now, h, held)
