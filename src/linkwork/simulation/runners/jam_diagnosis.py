"""Diagnosis of joints that jam: friction whose equations have no unique solution in a state of a run."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.joint_friction.friction_dynamics import jammed_joints
from linkwork.errors import listed
from linkwork.simulation.events.slip import holding, slip_forces
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import StepState
from linkwork.spatial.scalar import Array

PARTS = (0.0, 0.5, 1.0)  # fractions of the failed step at which friction is examined


def jam_text(system: System, t: float, now: StepState, h: float, held: Array) -> str:
    """Return the reason why friction has no unique solution in a failed step; an empty text if the solution is unique.

    The step of h [s] begins in the state `now` at t [s]. `system` is in the present modes. `held` (nv,) [N m or N] are
    the joint forces of a sampled controller.
    """
    m = holding(system.mechanism, now.slip)
    if not m.frictions or not np.isfinite(now.q).all():
        return ""
    begun = system.begun(t, now.contact_memory, now.solid_memory)
    with np.errstate(all="ignore"):
        for part in PARTS:
            at, q = t + part * h, m.integrate(now.q, now.v * (part * h))
            loads = begun.external_loads(at, q, now.v, held + slip_forces(system.mechanism, now.slip))
            names = jammed_joints(m, q, now.v, begun.joint_forces(q, now.v, loads), loads.outside)
            if names:
                joints = f"joint{'s' if len(names) > 1 else ''} {listed(map(repr, names))}"
                return (
                    f"the friction of {joints} has no unique solution at {at:.6g} s, because it grows as fast as the "
                    "force that moves it (jamming or self-locking); reduce the friction coefficients or the levers of "
                    "the load"
                )
    return ""
