"""Check that dry friction dissipates power in a solution.

A positive friction power shows that the friction coefficients do not fit the direction of slip or the load.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.formulations.propagation_equations import Propagation
from linkwork.algorithms.joint_friction.joint_friction_tolerances import POWER_ROUND_OFF
from linkwork.errors import LinkworkError, listed
from linkwork.spatial.scalar import Array


class FrictionPower(NamedTuple):
    """Power of the friction in one joint or loop.

    `place` is "joint" or "loop" with the name, and `power` [W] the power. `scale` [W] is the scale of the power's
    round-off: speeds times friction coefficients times the largest load component, plus speeds times constant friction.
    See `LinearFriction` for the coefficients `coupling` and the constant.
    """

    place: str
    power: float
    scale: float


def friction_powers(equations: Propagation, forces: Array, reactions: Array, multipliers: Array) -> list[FrictionPower]:
    """Return the power of the friction in each joint, then in each loop, of a tree.

    `equations` are the equations of motion that were solved. `forces` (tree.nv,) [N m, N] are the friction forces,
    `reactions` (njoints, 6) [N, N m] the wrenches through the joints, and `multipliers` (nc,) those of the nc
    constraint rows of all loops. The power of dry friction is negative, or zero without slip.
    """
    joints = _joint_powers(equations, forces, reactions)
    return [*joints, *_loop_powers(equations, multipliers)]


def _joint_powers(equations: Propagation, forces: Array, reactions: Array) -> Iterator[FrictionPower]:
    for joint, load in zip(equations.mechanism.joints, reactions, strict=True):
        coupling, constant = equations.friction.of(joint.name, joint.kind.nv)
        v = equations.v[joint.v]
        largest = np.abs(coupling).sum(axis=1) * np.abs(load).max() + np.abs(constant)
        power = v @ forces[joint.v] if largest.any() else 0.0
        yield FrictionPower(f"joint {joint.name!r}", float(power), float(np.abs(v) @ largest))


def _loop_powers(equations: Propagation, multipliers: Array) -> Iterator[FrictionPower]:
    start = 0
    for loop in equations.loops:
        stop = start + loop.friction_part.shape[1]
        load, speed = multipliers[start:stop], np.abs(loop.twist)
        coupling = np.abs(loop.friction_part).sum(axis=1)
        scale = speed @ (coupling * np.abs(load).max(initial=0.0) + np.abs(loop.constant))
        power = loop.twist @ (loop.friction_part @ load + loop.constant)
        yield FrictionPower(f"loop {loop.name!r}", float(power), float(scale))
        start = stop


def require_dissipation(equations: Propagation, forces: Array, reactions: Array, multipliers: Array) -> None:
    """Raise a LinkworkError that names all joints and loops whose friction has a positive power.

    The arguments are those of `friction_powers`. A positive power has one of two reasons: the friction coefficients
    (`coupling`) were given for another direction of slip or of the load, or the friction is above the limit at which
    the joint jams, so that no solution with this slip exists.
    """
    found = friction_powers(equations, forces, reactions, multipliers)
    creating = [one for one in found if one.power > POWER_ROUND_OFF * one.scale]
    if creating:
        powers = listed(f"{one.power:.3g} W at {one.place}" for one in creating)
        raise LinkworkError(
            f"this friction creates energy: its power is {powers}, expected <= 0 W; its coupling does not fit the "
            "direction of slip or of the load: reverse its sign, or reduce it below the limit at which the joint jams"
        )
