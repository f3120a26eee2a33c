"""Tolerances of the checks in the report of a run: the limit of each check, with its unit and reason."""

from __future__ import annotations

import numpy as np

from linkwork.spatial.scalar import Array

# Energy and momenta: error relative to the amount exchanged. With the steps that `method_choice` takes, the error is at
# most a fifth of the limit. It grows with the step to the power of the order, so that steps four times as large exceed
# the limit of order 2 in most motions. At kinks (stops, friction, sampled controllers) methods of any order are about
# as accurate as one of second order. The error of a method of first order is about the step times the rate of the
# motion. The error of any method is of first order if compliant solids with dampers land, because the damping force
# begins suddenly.
BALANCE = 1e-4
BALANCE_FIRST_ORDER = 1e-2

# Energy that compliant contacts add, relative to the energy exchanged. With the step h = 0.1 / w, w the natural
# frequency, a landing adds 1e-3 of its turnover, with 0.3 / w 1e-2; see docs/contact.md. The second limit is for
# methods of first order, which add 1e-2 with 0.1 / w.
ADDED_BY_CONTACTS = 1e-2, 2e-2

# Energy that rigid contacts of solids add, relative to the energy exchanged, from which the report warns. Solids at
# rest, sliding, rolling and after impacts add round-off: 1e-11 of the energy that gravity exchanges per step
ADDED_BY_RIGID_SOLIDS = 1e-6

# Deviation of quaternions from unit norm: every step normalizes quaternions
UNIT_NORM = 1e-12

# Loop position error [m or rad], loop velocity error and slip speed of engaged clutches [m/s or rad/s]: steps project
# onto the constraints to round-off of the terms that cancel in a constraint row: lever arms for positions, lever arms
# times joint velocities for velocities. The limits are multiplied by these terms where they exceed 1. Near singular
# positions the damped multipliers leave errors of 1e-9 of the terms. Baumgarte stabilization is less accurate.
CLOSURE = 1e-8
CLOSURE_BAUMGARTE = 1e-4


def at_least_one(terms: Array) -> float:
    """Return the scale of an error: the largest magnitude of `terms`, but at least 1.

    Values of members that have ended are nan, and are ignored.
    """
    return max(1.0, float(np.nanmax(np.abs(terms), initial=0.0)))


POSITIONS_CHECKED = 500  # most positions of a run that are checked for singularity: each needs an SVD

# Violation of joint limits, relative to the range of the joint: stops are springs
BEYOND_LIMITS = 0.05
RANGE_OF_TURN, RANGE_OF_SLIDE = 6.283185307179586, 2.0  # [rad, m] assumed range of a joint with only one limit

# Symplectic defect of steps of symplectic methods, relative to the form: round-off
SYMPLECTIC = 1e-10

# Residual speed of the contact laws of rigid contacts after the last iteration, relative to the largest velocity
CONTACT_RESIDUAL_AT_REST = 1e-12  # [m/s] if nothing moves
CONTACT_RESIDUAL = 1e-3

# Step times the rate at which velocities vary, by the order of the method: above, the estimated errors of q and v in
# the examples exceed about 1 % in a few seconds. Steps of `method_choice` give less than half of it.
RESOLUTION = {1: 0.01, 2: 0.1, 4: 0.4}
LEAST_VARIATION = 1e-3  # velocities that vary by less than this part of the largest variation do not count
LEAST_MOVING = 1e-9  # [rad/s, m/s] variation of velocities that are at rest up to round-off

# Estimated error of q and v, relative to their largest values
STATE_ERROR = 1e-3
LEAST_STATE = 1e-6  # [rad, m, rad/s, m/s] smallest value that the error is relative to

# Smallest scale of the angular momentum, relative to linear momentum times the radius of gyration, and the reverse: a
# body that falls without spin has angular momentum from round-off only
LEAST_MOMENTUM = 1e-9

STATES_FOR_MOMENTUM_SCALE = 20_000  # most samples from which the scale of the momentum is computed

# Relative difference of times that count as the same
SAME_TIME = 1e-12

# Smallest scale of the energy balance, relative to the total energy: a mechanism at rest exchanges no energy, and the
# round-off of its energy is not an error
LEAST_EXCHANGED = 1e-6
SMALLEST_PART = 1e-6  # parts of the energy chart below this fraction of the largest energy are left out

# Smallest scale of moments of the ground, relative to impulse times distance: moments that cancel at rest
LEAST_MOMENT = 1e-6

# Depth of two solids, relative to their size, that counts as round-off
DEPTH_ROUND_OFF = 1e-9
