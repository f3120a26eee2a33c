"""Tolerances of the integrators for users' Lagrangians."""

# --- initial state ---
CONSISTENT = 1e-9  # largest constraint error of an initial state, relative to the coordinates or velocities
CLOSED, CLOSING_ITERATIONS = 1e-14, 50  # of `Discrete.consistent`: final constraint error, most iterations

# --- ranks: singular values, relative to the largest ---
DEPENDENT_ROWS = 1e-9  # constraint rows with a smaller singular value are dependent
SINGULAR_MASS_MATRIX = 1e-13  # a mass matrix, with constraints, with a smaller singular value is singular

# --- steps ---
SOLVED_STEP = 1e-12  # position error of a solved step, relative to the coordinates
SOLVED_AT_REST = 1e-14  # [m or rad] position error of a solved step at rest, where forces cancel up to round-off
DIFFERENCE_ROUND_OFF = 1e-14  # relative error of a difference of two function values that counts as round-off
NO_STEP = 1e-200  # added to the squared length of a step, which may be zero
