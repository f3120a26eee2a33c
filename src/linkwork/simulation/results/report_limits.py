"""Limits of the checks in the report of a run, each with its unit and reason."""

from __future__ import annotations

# Energy and momenta: error relative to the amount exchanged. Accurate steps of smooth motion stay far below. At kinks
# (stops, friction, sampled controllers) methods of any order are about as accurate as one of second order with a step
# of 1 ms. The relative error of a method of first order is about the step times the rate of the motion.
BALANCE = 1e-4
BALANCE_FIRST_ORDER = 1e-2

# Deviation of quaternions from unit norm: every step normalizes them
UNIT_NORM = 1e-12

# Loop position error [m or rad], loop velocity error and slip speed of engaged clutches [m/s or rad/s]: steps project
# onto the constraints to round-off, times the size of the mechanism. Baumgarte stabilization is less accurate.
CLOSURE = 1e-8
CLOSURE_BAUMGARTE = 1e-4

POSITIONS_CHECKED = 500  # most positions of a run that are checked for singularity: each needs an SVD

# Violation of joint limits, relative to the range of the joint: stops are springs
BEYOND_LIMITS = 0.05
RANGE_OF_TURN, RANGE_OF_SLIDE = 6.283185307179586, 2.0  # [rad, m] assumed range of a joint with only one limit

# Symplectic defect of steps of symplectic methods, relative to the form: round-off
SYMPLECTIC = 1e-10

# Residual speed of the contact laws of rigid contacts after the last iteration, relative to the largest velocity
CONTACT_RESIDUAL_AT_REST = 1e-12  # [m/s] if nothing moves
CONTACT_RESIDUAL = 1e-3

# Estimated error of q and v, relative to their largest values
STATE_ERROR = 1e-3
LEAST_STATE = 1e-6  # [rad, m, rad/s, m/s] smallest value that the error is relative to

STATES_FOR_MOMENTUM_SCALE = 20_000  # most samples from which the scale of the momentum is computed

# Relative difference of times that count as the same
SAME_TIME = 1e-12
