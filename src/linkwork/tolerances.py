"""Tolerances that several packages share, grouped by concern, each with its unit and reason.

Tolerances of one package are in a module of that package whose name ends in `_tolerances`.
"""

# --- floating point ---
TINY = 1e-300  # added to a divisor or scale that may be zero; too small to change a result
TINY_SIZE = 1e-100  # as TINY, for sizes whose square must not be zero
HUGE = 1e300  # initial residual of an iteration; larger numbers count as infinite

# --- ranks, relative to the size of the summed terms (see `algorithms.constraint_ranks`) ---
RANK = 1e-9  # smaller singular values, and smaller sines of angles between directions, count as zero
RANK_OF_UNIT_ROWS = 1e-10  # as RANK, for constraint rows of unit size, which have only round-off errors

# --- loop closure [m or rad; rates in m/s or rad/s] ---
CLOSURE_OPEN = 1e-6  # error above which a loop counts as open: at the start, after a projection, at a failed step
CLOSURE_ASSEMBLED = 1e-13  # error at which assembly stops: round-off for coordinates of about 1
CLOSURE_GAP = 0.01  # largest error that engaging a loop during a run corrects by moving the mechanism

# --- slip of constraints with a bound ---
STICKING_SPEED = 1e-9  # slip speed [rad/s or m/s] below which an element sticks
BOUND_SLACK = 1e-9  # force [N m or N] above a bound that counts as within the bound
