"""Wendlandt's biped, which lands, rises and leans sideways: his first experiment (section 4.3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.algorithms import inverse_dynamics
from linkwork.algorithms.jacobians import jacobian, jacobian_rate
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.control import balance
from linkwork.control.controlled_plant import Controller
from linkwork.examples import biped
from linkwork.examples.catalogue import Claim
from linkwork.model import Mechanism
from linkwork.spatial.scalar import Array

# trunk pose of the controller's target, rotated by 15 degrees about -x
TARGET = (-0.01, 0.0, 1.10, 0.99144486, -0.13052619, 0.0, 0.0)


def build() -> Mechanism:
    """Build the biped; the keyframe "start" is Wendlandt's initial position."""
    return biped.build("biped_reach")


def controller(m: Mechanism, **options: Any) -> Controller:
    """Return Wendlandt's balance controller, for `lw.sampled(controller(m), 500)`.

    See `balance` for `options`.
    """
    return balance(m, biped.FEET, TARGET, biped.KP, biped.KD, **options)


def arguments(duration: float = biped.DURATION) -> dict[str, Any]:
    """Return keyword arguments for `lw.simulate`: the biped under Wendlandt's controller, for `duration` [s]."""
    m = build()
    return biped.simulation_arguments(m, controller(m), duration) | biped.BALANCED


def on_held_feet(m: Mechanism, q: Array, v: Array, tau: Array) -> Array:
    """Return the accelerations (nv,) [m/s^2, rad/s^2] of the biped with feet fixed to the ground, under joint forces
    tau (nv,).

    The accelerations follow from one dense linear system for accelerations and constraint forces.
    """
    J = np.concatenate([jacobian(m, q, foot) for foot in biped.FEET])
    drift = np.concatenate([jacobian_rate(m, q, v, foot) @ v for foot in biped.FEET])
    M, none = mass_matrix(m, q), np.zeros((len(J), len(J)))
    right = np.concatenate([tau - inverse_dynamics.bias(m, q, v), -drift])
    return np.linalg.solve(np.block([[M, -J.T], [J, none]]), right)[: m.nv]


def claim() -> Claim:
    """Check that the trunk accelerates as the controller requires, with exact dynamics and fixed feet.

    Return the measured error and its tolerance as a `Claim`.
    """
    m, rng, worst = build(), np.random.default_rng(0), 0.0
    exact: Any = controller(m, dynamics="exact")
    q = m.keyframes["start"].q
    for size in (0.0, 0.3, 1.0):
        v = size * rng.normal(size=m.nv)
        found = exact.stages(0.0, q, v)
        error = on_held_feet(m, q, v, found.tau)[:6] - found.wanted
        worst = max(worst, float(np.abs(error).max() / np.abs(found.wanted).max()))
    return Claim(
        "relative error of the trunk's acceleration against the required acceleration, with feet at rest", worst, 1e-10
    )
