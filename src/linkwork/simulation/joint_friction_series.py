"""Series of the dry friction of joints: forces at the samples of a run, and the regularized friction of `passive`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.algorithms.tree_traversal import outward
from linkwork.model.parameter_value_checks import FADING_SPEED
from linkwork.simulation.events.impulses import constrained_motion
from linkwork.simulation.series_definition import RunFacts, Sample, Series
from linkwork.simulation.state_series import by_velocity, velocities
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.simulation.results.run_data import RunData

FRICTION = "friction"


def _rubs(facts: RunFacts) -> bool:
    return bool(facts.mechanism.rubbing)


def _friction(now: Sample) -> Array:
    """Return the dry friction forces (nv,) [N m or N] of all joints in one state; those of holding joints hold them."""
    motion, m = now.state.motion, now.mechanism
    system = now.system.in_modes(motion.modes)
    forces = list(system.rubbing(motion.slip).friction())
    held = constrained_motion(system, now.t, motion, system.clipped(now.state.control)).friction
    for k, force in zip(m.rubbing, held, strict=True):
        forces[k] = forces[k] + force
    return np.array(forces)


def regularized_friction(run: RunData) -> Array:
    """Return the regularized dry friction (*batch, T, nv) [N m or N] along a run, which `Dynamics.passive` includes."""
    given, m = run.along_time(), run.mechanism
    each = [np.zeros(0), *(given.get(f"{j.name}.friction", j.friction) for j in outward(m.tree))]
    shape = np.broadcast_shapes(*(x.shape[:-1] for x in each))
    limits = np.concatenate([np.broadcast_to(x, (*shape, x.shape[-1])) for x in each], axis=-1)
    tree = m.tree_velocity(run.v)
    return (-limits * tree / np.sqrt(tree * tree + FADING_SPEED**2)) @ m.spread


FRICTION_SERIES: tuple[Series, ...] = (
    Series(
        FRICTION, "dry friction of joints", by_velocity("N m", "N"), velocities,
        _friction, exists=_rubs, by_default=True, with_state=True,
    ),
)  # fmt: skip
