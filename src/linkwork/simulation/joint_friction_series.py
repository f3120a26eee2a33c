"""Series of the dry friction of joints: forces at the samples of a run, and the regularized friction of `passive`."""

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
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.simulation.results.run_data import RunData

FRICTION = "friction"


def _rubs(facts: RunFacts) -> bool:
    return bool(friction_count(facts.mechanism))


def _motion(now: Sample) -> ConstrainedMotion:
    """Return the accelerations, constraint forces and friction in one state."""
    motion, system = now.state.motion, now.system.in_modes(now.state.motion.modes)
    return constrained_motion(system, now.t, motion, system.clipped(now.state.control))


def _friction(now: Sample) -> Array:
    """Return the dry friction forces (nv,) [N m or N] of all joints in one state, including the forces that hold joints
    at rest.
    """
    found, m = now.once(_motion), now.mechanism
    forces, count = list(friction_joint_forces(m, now.q, found.slipping)), len(m.friction_velocities)
    for k, holding in zip(m.friction_velocities, found.friction, strict=False):
        forces[k] = forces[k] + holding
    if len(found.friction) == count:
        return np.array(forces)
    return np.array(forces) + loop_slip_rows(m, now.q).T @ found.friction[count:]


def _power(now: Sample) -> Array:
    """Return the power (njoints,) [W] of the dry friction of each joint in one state."""
    return _by_joint(now.mechanism, joint_powers(now.mechanism, now.q, now.v, now.once(_motion).slipping))


def _by_joint(m: Mechanism, values: Sequence[Number]) -> Array:
    """Return values of all joints (njoints,), then of loops with friction, from the `values` of those that rub."""
    found: list[Number] = [0.0] * len(m.joints)
    numbers = joints_with_friction(m)
    for k, value in zip(numbers, values, strict=False):
        found[k] = value
    return np.array([*found, *values[len(numbers) :]])


def _heat(now: Sample) -> Array:
    """Return the heat (njoints,) [J] of the dry friction of each joint since the start of the run."""
    return _by_joint(now.mechanism, [-work for work in now.state.motion.ledger[SIZE:]])


def _joints(facts: RunFacts) -> tuple[Axis, ...]:
    m = facts.mechanism
    return (Axis("joint", (*m.joints.names, *(site.name for site in loop_sites(m)))),)


def _summed(facts: RunFacts) -> bool:
    return _rubs(facts) and "joints" in facts.ledger_entries


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
    Series("friction.power", "power of dry friction", "W", _joints, _power, exists=_rubs, by_default=True),
    Series("friction.heat", "heat of dry friction", "J", _joints, _heat, exists=_summed, by_default=True),
)  # fmt: skip
