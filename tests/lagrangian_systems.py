"""Test systems that are defined by their Lagrangians, with reference solutions by SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from linkwork.papers.wendlandt_integrators import double_spherical_pendulum, pendulum_start, rigid_body
from linkwork.spatial.rotation import product
from linkwork.spatial.scalar import Array

__all__ = ["double_spherical_pendulum", "pendulum_start", "rigid_body"]

# --- a spherical pendulum: one mass on a rod, damped ---

LENGTH, MASS, WEIGHT, DRAG = 1.3, 0.7, np.array([0.0, 0.0, -9.81]), 0.2
PLACE = LENGTH * np.array([0.6, 0.0, -0.8])
SPEED = np.array([0.4, 1.9, 0.3])  # along the sphere: 0.6 0.4 - 0.8 0.3 = 0


def pendulum(x: Array, v: Array) -> Any:
    return 0.5 * MASS * (v @ v) + MASS * (WEIGHT @ x)


def rod(x: Array) -> Array:
    return np.stack([x @ x - LENGTH**2])


def drag(x: Array, v: Array) -> Array:
    return -DRAG * v


def about_vertical(x: Array) -> Array:
    return np.stack([[-x[1], x[0], 0.0]])


def on_sphere(angles: Array) -> Array:
    """Return the point (3,) [m] of a pendulum for two angles: from the downward vertical, and around it."""
    away, around = angles
    return LENGTH * np.stack([np.sin(away) * np.cos(around), np.sin(away) * np.sin(around), -np.cos(away)])


def pendulum_by_scipy(t: Array, drag: float = 0.0) -> tuple[Array, Array]:
    """Return positions and velocities (T, 3) of a spherical pendulum at the times t, from SciPy to twelve digits.

    SciPy integrates closed-form accelerations.
    """

    def rate(_: float, state: Array) -> Array:
        x, v = state[:3], state[3:]
        a = WEIGHT - drag / MASS * v
        return np.concatenate([v, a - x * (v @ v + a @ x) / LENGTH**2])

    start = np.concatenate([PLACE, SPEED])
    found = solve_ivp(rate, (0.0, t[-1]), start, method="DOP853", t_eval=t, rtol=1e-12, atol=1e-13).y.T
    return found[:, :3], found[:, 3:]


# --- a free rigid body ---

INERTIA = np.array([1.0, 2.0, 3.0])
SPIN = np.array([0.0, 3.0, 4.0])


def body_by_scipy(t: Array) -> Array:
    """Return the quaternions (T, 4) of a free rigid body at the times t, from SciPy by Euler's equations."""

    def rate(_: float, state: Array) -> Array:
        q, w = state[:4], state[4:]
        return np.concatenate([0.5 * product(q, np.array([0.0, *w])), np.cross(INERTIA * w, w) / INERTIA])

    start = np.concatenate([[1.0, 0.0, 0.0, 0.0], SPIN])
    return solve_ivp(rate, (0.0, t[-1]), start, method="DOP853", t_eval=t, rtol=1e-12, atol=1e-13).y.T[:, :4]


# --- two masses on springs that harden, one of them driven; no constraints ---


def springs(x: Array, v: Array) -> Any:
    stretch = x[1] - x[0]
    return 0.5 * (v[0] * v[0] + 2.0 * v[1] * v[1]) - 0.5 * x[0] ** 2 - 0.25 * x[0] ** 4 - stretch**2 - 0.1 * stretch**4


def springs_pull(x: Array) -> Array:
    stretch = x[1] - x[0]
    pull = 2.0 * stretch + 0.4 * stretch**3
    return np.stack([-x[0] - x[0] ** 3 + pull, -pull])


def driven(x: Array, v: Array, t: Any) -> Array:
    return np.stack([np.sin(2.0 * t), 0.0]) - 0.3 * v


SPRINGS_START = np.array([0.5, -0.3]), np.array([0.2, 1.0])


def springs_by_scipy(t: Array) -> Array:
    def rate(t: float, state: Array) -> Array:
        x, v = state[:2], state[2:]
        return np.concatenate([v, (springs_pull(x) + driven(x, v, t)) / [1.0, 2.0]])

    start = np.concatenate(SPRINGS_START)
    return solve_ivp(rate, (0.0, t[-1]), start, method="DOP853", t_eval=t, rtol=1e-12, atol=1e-13).y.T[:, :2]
