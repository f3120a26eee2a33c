"""Forces that a mechanism makes by itself: springs, dampers, dry friction, and stops at joints' limits.

All are (nv,) [N m or N], one number per velocity. Dry friction is regularized, f v / sqrt(v^2 + FADING_SPEED^2): it
opposes motion with its full force at speed and fades to nothing at rest, so that equations of motion stay smooth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.element_forces import element_energy, element_forces
from linkwork.algorithms.point_springs import frame_spring_energy, frame_spring_forces
from linkwork.algorithms.sweeps import outward
from linkwork.model.mechanism import Mechanism
from linkwork.model.parameters import FADING_SPEED
from linkwork.spatial.scalar import Array, Number, maximum

RAMP = 1e-3  # how far beyond a limit half of a stop's damping acts [rad or m]
NOTHING = np.zeros(0)


def passive(mechanism: Mechanism, q: Array, v: Array) -> Array:
    """Forces (nv,) of the joints' springs, dampers and dry friction: -stiffness (q - rest) - resistance v.

    Those of springs and dampers between points of bodies, and of other force elements, are added.
    """
    own = springs(mechanism, q) - resistance(mechanism, v) * v
    return own + frame_spring_forces(mechanism, q, v) + element_forces(mechanism, q, v)


def springs(mechanism: Mechanism, q: Array) -> Array:
    """Forces (nv,) of the joints' springs: -stiffness (q - rest)."""
    return np.concatenate([NOTHING, *(j.kind.spring(j.stiffness, j.rest, q[j.q])[0] for j in outward(mechanism))])


def spring_energy(mechanism: Mechanism, q: Array) -> Number:
    """Energy [J] of joint springs, stiffness (q - rest)^2 / 2, of springs between bodies, and of force elements."""
    own = sum((j.kind.spring(j.stiffness, j.rest, q[j.q])[1] for j in outward(mechanism)), 0.0)
    return own + frame_spring_energy(mechanism, q) + element_energy(mechanism, q)


def resistance(mechanism: Mechanism, v: Array) -> Array:
    """What multiplies the velocities in the force of dampers and dry friction (nv,) [N m s/rad or N s/m]."""
    each: list[Array] = [NOTHING]
    for j in outward(mechanism):
        rubs = j.friction.dtype == object or j.friction.any()
        each.append(j.damping + j.friction / np.sqrt(v[j.v] * v[j.v] + FADING_SPEED**2) if rubs else j.damping)
    return np.concatenate(each)


class Stops(NamedTuple):
    """Springs and dampers that begin at the joints' limits, each (nv,) [N m/rad or N/m] and [N m s/rad or N s/m]."""

    stiffness: Array
    damping: Array


def stop_forces(mechanism: Mechanism, stops: Stops, q: Array, v: Array) -> Array:
    """Forces (nv,) of the stops: none within the limits, continuous beyond, never pulling back."""
    forces: list[Array] = [NOTHING]
    for j in outward(mechanism):
        pushes: list[Number] = [0.0] * j.kind.nv
        for d in np.flatnonzero(np.isfinite(j.lower) | np.isfinite(j.upper)):
            x, speed, stiffness, damping = q[j.q][d], v[j.v][d], stops.stiffness[j.v][d], stops.damping[j.v][d]
            if np.isfinite(j.lower[d]):
                pushes[d] = pushes[d] + _push(j.lower[d] - x, -speed, stiffness, damping)
            if np.isfinite(j.upper[d]):
                pushes[d] = pushes[d] - _push(x - j.upper[d], speed, stiffness, damping)
        forces.append(np.array(pushes))
    return np.concatenate(forces)


def _push(beyond: Number, speed: Number, stiffness: float, damping: float) -> Number:
    """The force with which a stop pushes back at a distance beyond it and a speed away from it."""
    depth = maximum(beyond, 0.0)
    return maximum(stiffness * depth + damping * speed * (depth / (depth + RAMP)), 0.0)
