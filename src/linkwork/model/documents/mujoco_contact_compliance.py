"""Stiffness and damping of contacts from MuJoCo's parameters solref and solimp."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.spatial.scalar import Array

IMPEDANCE = (1e-4, 0.9999)  # MuJoCo's bounds of the impedances in solimp
SOLREF = np.array([0.02, 1.0])  # MuJoCo's default: time constant [s] and damping ratio
SOLIMP = np.array([0.9, 0.95, 0.001, 0.5, 2.0])  # MuJoCo's default impedance parameters
FRICTION = 1.0  # MuJoCo's default sliding friction coefficient


class Compliance(NamedTuple):
    """The spring and damper of a contact point along the surface normal: `stiffness` [N/m], `damping` [N s/m]."""

    stiffness: float
    damping: float


def compliance(solref: Array, solimp: Array, inverse_mass: float, step: float = 0.0) -> Compliance:
    """Return the spring and damper that replace MuJoCo's soft contact at one point.

    MuJoCo's normal force at rest is K depth with the stiffness K = k d / ((1 - d) w). d is the impedance of a contact
    that just touches, k [1/s^2] the stiffness of MuJoCo's reference acceleration, and w [1/kg], `inverse_mass`,
    MuJoCo's estimate of the contact's inverse inertia. The damper has the damping ratio of the reference acceleration.
    `step` [s] is half the smallest permitted time constant; `solref` (2,) and `solimp` (5,) are MuJoCo's parameters.
    """
    d, d_full = np.clip(solimp[:2], *IMPEDANCE)
    first, second = np.array(solref)
    if (first > 0.0) != (second > 0.0) or first == 0.0:  # MuJoCo replaces invalid values in the same way
        first, second = SOLREF
    with np.errstate(all="ignore"):  # the Builder rejects a stiffness that is not finite
        if first > 0.0:
            first = max(first, 2.0 * step)
            k, b = d / (d_full * first * second) ** 2, 2.0 / (d_full * first)
        else:
            k, b = -first * d / d_full**2, -second / d_full
        stiffness = k * d / ((1.0 - d) * inverse_mass)
        ratio = 0.5 * b * np.sqrt(d / k)
        return Compliance(float(stiffness), float(2.0 * ratio * np.sqrt(stiffness / inverse_mass)))
