"""Passive forces of a mechanism: springs, dampers, dry friction, and stops at joint limits.

All passive forces are (nv,) [N m or N], one component per velocity. Dry friction with the force f is regularized, -f v
/ sqrt(v^2 + FADING_SPEED^2): it opposes motion with its full force at speed and decreases to zero at rest, so that the
equations of motion are smooth. Runs leave out this dry friction and apply Coulomb's law without regularization
(simulation/joint_friction_rows.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.element_forces import element_energy, element_forces
from linkwork.algorithms.point_springs import frame_spring_energy, frame_spring_forces
from linkwork.algorithms.tree_traversal import outward
from linkwork.model.mechanism import Mechanism
from linkwork.model.parameter_value_checks import FADING_SPEED
from linkwork.spatial.scalar import Array, Number, maximum

RAMP = 1e-3  # distance beyond a limit at which half of a stop's damping acts [rad or m]
NOTHING = np.zeros(0)


def passive(mechanism: Mechanism, q: Array, v: Array, dry: bool = True) -> Array:
    """Return the passive joint forces (nv,) [N m or N]: of springs, dampers, dry friction and force elements.

    The forces of joint springs, dampers and friction are -stiffness (q - rest) - resistance v. Force elements are
    springs and dampers between points of bodies, and elements with a force function. If `dry` is false, dry friction is
    left out.
    """
    own = springs(mechanism, q) - (resistance(mechanism, v) if dry else dampers(mechanism)) * v
    return own + frame_spring_forces(mechanism, q, v) + element_forces(mechanism, q, v)


def springs(mechanism: Mechanism, q: Array) -> Array:
    """Return the forces (nv,) [N m or N] of the joints' springs, -stiffness (q - rest), at the coordinates q (nq,)."""
    return np.concatenate([NOTHING, *(j.kind.spring(j.stiffness, j.rest, q[j.q])[0] for j in outward(mechanism))])


def spring_energy(mechanism: Mechanism, q: Array) -> Number:
    """Return the energy [J] of joint springs, springs between bodies, and force elements at the coordinates q (nq,).

    The energy of a joint spring is stiffness (q - rest)^2 / 2.
    """
    own = sum((j.kind.spring(j.stiffness, j.rest, q[j.q])[1] for j in outward(mechanism)), 0.0)
    return own + frame_spring_energy(mechanism, q) + element_energy(mechanism, q)


def resistance(mechanism: Mechanism, v: Array) -> Array:
    """Return the coefficients r (nv,) [N m s/rad or N s/m] of the forces -r v of joint dampers and dry friction."""
    each: list[Array] = [NOTHING]
    for j in outward(mechanism):
        rubs = j.friction.dtype == object or j.friction.any()
        each.append(j.damping + j.friction / np.sqrt(v[j.v] * v[j.v] + FADING_SPEED**2) if rubs else j.damping)
    return np.concatenate(each)


def dampers(mechanism: Mechanism) -> Array:
    """Return the coefficients (nv,) [N m s/rad or N s/m] of the joint dampers of a tree."""
    return np.concatenate([NOTHING, *(j.damping for j in outward(mechanism))])


def dry_friction_limits(mechanism: Mechanism) -> Array:
    """Return the largest dry friction force (nv,) [N m or N] along each velocity.

    It includes the friction of the mimic joints that move with this velocity.
    """
    own = np.concatenate([NOTHING, *(j.friction for j in outward(mechanism.tree))])
    return np.abs(mechanism.spread).T @ own


class Stops(NamedTuple):
    """Springs and dampers that push joints back from their limits, with values for each velocity.

    `stiffness` (nv,) is in [N m/rad or N/m], `damping` (nv,) in [N m s/rad or N s/m].
    """

    stiffness: Array
    damping: Array


def stop_forces(mechanism: Mechanism, stops: Stops, q: Array, v: Array) -> Array:
    """Return the joint forces (nv,) [N m or N] of the stops at joint limits; zero for joints within their limits.

    The forces are continuous and never pull a joint towards its limit. q (nq,) [rad or m, or quaternions] and v (nv,)
    [rad/s or m/s] are the coordinates and velocities.
    """
    forces: list[Array] = [NOTHING]
    for j in outward(mechanism):
        pushes: list[Number] = [0.0] * j.kind.nv
        for d in np.flatnonzero(np.isfinite(j.lower) | np.isfinite(j.upper)):
            x, speed, stiffness, damping = q[j.q][d], v[j.v][d], stops.stiffness[j.v][d], stops.damping[j.v][d]
            if np.isfinite(j.lower[d]):
                pushes[d] = pushes[d] + _stop_force(j.lower[d] - x, -speed, stiffness, damping)
            if np.isfinite(j.upper[d]):
                pushes[d] = pushes[d] - _stop_force(x - j.upper[d], speed, stiffness, damping)
        forces.append(np.array(pushes))
    return np.concatenate(forces)


def _stop_force(beyond: Number, speed: Number, stiffness: float, damping: float) -> Number:
    """Return the force [N m or N] of a joint stop, penetrated by `beyond` [rad or m] at the rate `speed`.

    `speed` is in [rad/s or m/s]; `stiffness` [N m/rad or N/m] and `damping` [N m s/rad or N s/m] belong to the stop.
    The force acts away from the stop.
    """
    depth = maximum(beyond, 0.0)
    return maximum(stiffness * depth + damping * speed * (depth / (depth + RAMP)), 0.0)
