"""Tolerances that several modules share, by concern, each with its unit and reason.

A tolerance of one method or solver stands beside it; limits of the report are in `simulation.results.report_limits`.
"""

# --- floating point ---
TINY = 1e-300  # added to a divisor or a scale that may be zero; too small to change a result
HUGE = 1e300  # first residual of an iteration: any other is smaller

# --- ranks, relative to the terms that a number is the sum of (see `algorithms.ranks`) ---
RANK = 1e-9  # singular values, and sines of angles between directions, below it are zero
RANK_OF_UNIT_ROWS = 1e-10  # the same for constraint rows of unit size, which only round-off perturbs

# --- loop closure [m or rad; rates in m/s or rad/s] ---
CLOSURE_OPEN = 1e-6  # an error beyond which a loop is open: at a start, after a projection, where a step fails
CLOSURE_ASSEMBLED = 1e-13  # an error at which assembly ends: round-off of coordinates of about one
CLOSURE_GAP = 0.01  # an error that engaging a loop during a run may bridge by moving the mechanism

# --- slip of constraints with a bound ---
STICKING_SPEED = 1e-9  # slip [rad/s or m/s] that counts as none
BOUND_SLACK = 1e-9  # force [N m or N] beyond a bound that counts as none
