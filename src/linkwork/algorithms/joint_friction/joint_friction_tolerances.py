"""Tolerances of joint friction that depends on the load."""

# --- joints that slip ---
CONVERGED = 1e-12  # change of a friction force, relative to its limit, at which the fixed-point iteration ends
CONVERGED_ROUND_OFF = 1e-14  # as CONVERGED, relative to the largest limit of all joints: round-off of the loads
AGREES_IN_SLIP = 1e-11  # difference of friction force and limit, relative to the limit, at which Newton's method ends

DIRECTION_AGREES = 1e-13  # change of a unit vector of slip at which Newton's method for slip directions ends
SLIP_ENDS = 1e-7  # slip velocity, relative to that without friction, below which slip ends within a step

# --- joints at rest ---
AGREES_AT_REST = 1e-10  # as AGREES_IN_SLIP, for mechanisms with joints at rest
AGREES_ROUND_OFF = 1e-13  # as both, relative to the largest limit of all joints
NO_SLIP = 1e-9  # acceleration of a joint at rest, relative to the largest without friction, that counts as zero
STARTS = 1e-8  # acceleration of a joint at rest, relative to the largest, above which it begins to slip
WITHIN_LIMIT = 1e-9  # force above a friction limit that counts as within it, relative to the limit
BOUNDS_AGREE = 1e-7  # change of a bound in the last pass, relative to the largest, at which a rigid step is solved

# --- equations ---
# Held velocities of a closed chain may be dependent. This multiple of the unit matrix is added to the equations, and
# REFINEMENTS iterations correct the error; the result has the smallest friction forces.
ADDED_DIAGONAL, REFINEMENTS = 1e-8, 3

# --- checks ---
POWER_ROUND_OFF = 1e-9  # positive friction power, relative to largest load times coupling times speed, that counts as 0
