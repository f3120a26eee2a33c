"""Tolerances of the checks in the report of a run: the limit of each check, with its unit and reason."""

from __future__ import annotations

import numpy as np

from linkwork.spatial.scalar import Array

# Energy and momenta: error relative to the amount exchanged. With the steps that `method_choice` takes, the error is at
# most a fifth of the limit. It grows with the step to the power of the order, so that steps four times as large exceed
# the limit of order 2 in most motions. At kinks (stops, friction, sampled controllers), methods of higher order are
# about as accurate as one of second order. The error of a method of first order is about the step times the rate of the
# motion. The error of any method is of first order if compliant solids with dampers land, because the damping force
# begins suddenly.
BALANCE = 1e-4
BALANCE_FIRST_ORDER = 1e-2

# Energy that compliant contacts add, relative to the energy exchanged. A landing adds 1e-3 of its turnover with the
# step h = 0.1 / w, and 1e-2 with h = 0.3 / w, where w is the natural frequency of the contact (docs/contact.md). The
# second limit is for methods of first order, which add 1e-2 with h = 0.1 / w.
ADDED_BY_CONTACTS = 1e-2, 2e-2

# Energy that rigid contacts of solids add, relative to the energy exchanged, above which the report warns. Solids that
# rest, slide or roll, and solids after impacts, add only round-off: 1e-11 of the energy that gravity exchanges per step
ADDED_BY_RIGID_SOLIDS = 1e-6

# Deviation of quaternions from unit norm; every step normalizes quaternions
UNIT_NORM = 1e-12

# Loop position error [m or rad], loop velocity error and slip speed of engaged clutches [m/s or rad/s]. Each step
# projects the state onto the constraints, up to the round-off of the terms that cancel in a constraint row: lever arms
# for positions, lever arms times joint velocities for velocities. If these terms exceed 1, they multiply the limit.
# Near singular positions, the damping of the multipliers causes errors of 1e-9 of the terms. Baumgarte stabilization is
# less accurate.
CLOSURE = 1e-8
CLOSURE_BAUMGARTE = 1e-4


def at_least_one(terms: Array) -> float:
    """Return the scale of an error: the largest magnitude of `terms`, or 1 if that is larger.

    Values of members that have ended are nan, and are ignored.
    """
    return max(1.0, float(np.nanmax(np.abs(terms), initial=0.0)))


POSITIONS_CHECKED = 500  # largest number of positions of a run that are checked for singularity; each needs an SVD

# Violation of joint limits, relative to the range of the joint; not zero, because joint stops are springs
BEYOND_LIMITS = 0.05
RANGE_OF_TURN, RANGE_OF_SLIDE = 6.283185307179586, 2.0  # [rad, m] assumed range of a joint with only one limit

# Relative symplectic defect of the steps of symplectic methods; only round-off is allowed
SYMPLECTIC = 1e-10

# Violation [m/s] of the conditions of rigid contacts after the last iteration: absolute limit if nothing moves, and
# limit relative to the largest velocity
CONTACT_RESIDUAL_AT_REST = 1e-12
CONTACT_RESIDUAL = 1e-3

# Step times the rate at which velocities vary, by the order of the method. Above these values, the estimated errors of
# q and v in the examples exceed about 1 % in a few seconds. The steps of `method_choice` give less than half of them.
RESOLUTION = {1: 0.01, 2: 0.1, 4: 0.4}
LEAST_VARIATION = 1e-3  # velocities that vary by less than this fraction of the largest variation are ignored
LEAST_MOVING = 1e-9  # [rad/s, m/s] velocities that vary by less count as constant, up to round-off

# Estimated error of q and v (`report(compare=True)`), relative to their largest values
STATE_ERROR = 1e-3
LEAST_STATE = 1e-6  # [rad, m, rad/s, m/s] smallest value to which an error is relative

# Smallest scale of the angular momentum, relative to linear momentum times the radius of gyration, and the reverse: a
# body that falls without spin has angular momentum from round-off only
LEAST_MOMENTUM = 1e-9

STATES_FOR_MOMENTUM_SCALE = 20_000  # largest number of samples from which the scale of the momentum is computed

# Two times with a smaller relative difference count as the same
SAME_TIME = 1e-12

# Smallest scale of the error of the energy balance, relative to the total energy. A mechanism at rest exchanges no
# energy; without this bound, the round-off of its energy would count as an error.
LEAST_EXCHANGED = 1e-6
SMALLEST_PART = 1e-6  # parts of the energy chart below this fraction of the largest energy are not drawn

# Smallest scale of moments of the ground, relative to impulse times distance, because moments may cancel at rest
LEAST_MOMENT = 1e-6

# Depth of two solids, relative to their size, that counts as round-off
DEPTH_ROUND_OFF = 1e-9
