"""Recorded series of the dry friction of joints, and the regularized friction that `Dynamics.passive` contains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from linkwork.algorithms.tree_traversal import outward
from linkwork.model.mechanism import Mechanism
from linkwork.model.parameter_value_checks import FADING_SPEED
from linkwork.simulation.events.impulses import ConstrainedMotion, constrained_motion
from linkwork.simulation.joint_friction_rows import (
    friction_count,
    friction_joint_forces,
    joint_powers,
    joints_with_friction,
)
from linkwork.simulation.loop_friction import loop_sites, loop_slip_rows
from linkwork.simulation.series_definition import Axis, RunFacts, Sample, Series
from linkwork.simulation.state_series import by_velocity, velocities
from linkwork.simulation.work_ledger import SIZE
from linkwork.spatial.scalar import Array, Number, where

if TYPE_CHECKING:
    from linkwork.simulation.results.run_data import RunData

FRICTION = "friction"


def _rubs(facts: RunFacts) -> bool:
    """Return whether a joint or loop of the run has dry friction."""
    return bool(friction_count(facts.mechanism))


def _motion(now: Sample) -> ConstrainedMotion:
    """Return the accelerations, constraint forces and friction in the sample `now`."""
    motion, system = now.state.motion, now.system.in_modes(now.state.motion.modes)
    return constrained_motion(system, now.t, motion, system.clipped(now.state.control))


def _friction(now: Sample) -> Array:
    """Return the dry friction forces (nv,) [N m or N] of all joints in the sample `now`, whether they slip or stick."""
    found, m = now.once(_motion), now.mechanism
    forces, count = list(friction_joint_forces(m, now.q, found.slipping)), len(m.friction_velocities)
    for k, holding in zip(m.friction_velocities, found.friction, strict=False):
        forces[k] = forces[k] + holding
    if len(found.friction) == count:
        return np.array(forces)
    return np.array(forces) + loop_slip_rows(m, now.q).T @ found.friction[count:]


def _power(now: Sample) -> Array:
    """Return the power [W] of dry friction in the sample `now`, negative while it dissipates: of each joint, then of
    each loop with friction.
    """
    return _by_joint(now.mechanism, joint_powers(now.mechanism, now.q, now.v, now.once(_motion).slipping))


def _by_joint(m: Mechanism, values: Sequence[Number]) -> Array:
    """Return an array with one value for each joint, 0 for joints without friction, then one for each loop with
    friction.

    `values` has the values of the joints and loops with friction only.
    """
    found: list[Number] = [0.0] * len(m.joints)
    numbers = joints_with_friction(m)
    for k, value in zip(numbers, values, strict=False):
        found[k] = value
    return np.array([*found, *values[len(numbers) :]])


def _heat(now: Sample) -> Array:
    """Return the heat [J] of dry friction since the start of the run: of each joint, 0 without friction, then of each
    loop with friction.
    """
    return _by_joint(now.mechanism, [where(work == 0.0, 0.0, -work) for work in now.state.motion.ledger[SIZE:]])


def _joints(facts: RunFacts) -> tuple[Axis, ...]:
    m = facts.mechanism
    return (Axis("joint", (*m.joints.names, *(site.name for site in loop_sites(m)))),)


def _summed(facts: RunFacts) -> bool:
    """Return whether the joints of the run have dry friction and the run adds up its heat."""
    return _rubs(facts) and "joints" in facts.ledger_entries


def regularized_friction(run: RunData) -> Array:
    """Return the friction (*batch, T, nv) [N m or N] that `Dynamics.passive` computes along a run.

    This friction is regularized: it is a smooth function of the velocity.
    """
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
    Series("friction.power", "power of dry friction", "W", _joints, _power, exists=_rubs, by_default=True),
    Series("friction.heat", "heat of dry friction", "J", _joints, _heat, exists=_summed, by_default=True),
)  # fmt: skip
