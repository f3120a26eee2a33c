"""A heavy symmetric top on a ball joint, as in textbooks on rigid-body dynamics."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.forward_dynamics import forward_dynamics
from linkwork.examples.catalogue import Claim
from linkwork.model import Ball, Builder, Mechanism
from linkwork.spatial.rotation import quaternion_about_axis
from linkwork.spatial.scalar import Array

MASS, LENGTH, SPIN_INERTIA, CROSS_INERTIA, GRAVITY = 0.5, 0.1, 8e-4, 9e-4, 9.81


def build() -> Mechanism:
    """Build a top of 0.5 kg with its centre of mass 0.1 m from its fixed point, on the body's z axis."""
    b = Builder("heavy_top", gravity=(0, 0, -GRAVITY))
    b.body("top", mass=MASS, com=(0, 0, LENGTH), inertia=(CROSS_INERTIA, CROSS_INERTIA, SPIN_INERTIA))
    b.joint("point", Ball(), "world", "top")
    return b.build()


def steady_precession(tilt: float, precession: float) -> tuple[Array, Array, Array]:
    """Return the quaternion q (4,), v (3,) [rad/s] and dv/dt (3,) [rad/s^2] of the top in steady precession.

    The precession rate p is `precession` [rad/s], the tilt from the vertical `tilt` [rad]. The spin rate s satisfies

        C s p = m g l + (A - C) p^2 cos(tilt)

    with the transverse and the axial moment of inertia A and C about the fixed point (Goldstein, Classical Mechanics,
    section 5.7).
    """
    A, C, p = CROSS_INERTIA + MASS * LENGTH**2, SPIN_INERTIA, precession
    spin = (MASS * GRAVITY * LENGTH + (A - C) * p**2 * np.cos(tilt)) / (C * p)
    v = np.array([0.0, p * np.sin(tilt), spin + p * np.cos(tilt)])
    # in the axes of the spinning body, the vertical component of the angular velocity rotates
    rate = np.array([spin * p * np.sin(tilt), 0.0, 0.0])
    return quaternion_about_axis(np.array([1.0, 0.0, 0.0]), tilt), v, rate


def claim() -> Claim:
    """Check the acceleration of the top in steady precession against its closed form.

    Return the measured error and its tolerance as a `Claim`.
    """
    m, worst = build(), 0.0
    for tilt, precession in ((0.3, 2.0), (1.0, 5.0), (1.5, -3.0), (2.5, 8.0)):
        q, v, expected = steady_precession(tilt, precession)
        found = forward_dynamics(m, q, v, np.zeros(3))
        worst = max(worst, np.abs(found - expected).max() / np.abs(expected).max())
    return Claim("relative error of the acceleration in steady precession against the closed form", float(worst), 1e-12)
