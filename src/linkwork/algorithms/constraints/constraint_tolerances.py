"""Tolerances of constraints: regularization, convergence and round-off of constraint rows."""

# --- equations of the multipliers ---
# The matrix W is singular if loops are redundant or in a singular position. This fraction of its mean diagonal entry is
# added, and CORRECTIONS iterations correct the error. The result has the smallest constraint forces.
ADDED_DIAGONAL, CORRECTIONS = 1e-7, 3
ADDED_INVERSE_MASS = 1e-9  # fraction of a block's inverse effective mass added for rows that are immobile or redundant
# A row is round-off if its squared size is below this fraction of the squared size of its terms (1e-10 of the terms).
# Round-off is about 1e-15 of the terms, times distance from the origin over size; this leaves a factor of 1e5.
ROW_ROUND_OFF = 1e-20
# Ratio of the smallest to the largest singular value of the rows, below which a position counts as singular: there the
# regularization acts on multipliers, and difference quotients do not resolve the directions of free motion
SINGULAR_RATIO = 1e-3

# --- multipliers with bounds ---
SETTLED = 1e-12  # speed by which a block may violate its condition, relative to the speeds of its rows
SETTLED_ROUND_OFF = 1e-14  # as SETTLED, relative to the largest terms of the sums that give these speeds

# --- actuation and redundancy ---
UNBALANCED_FORCE = 1e-8  # residual force, relative to the largest force, above which the actuators are insufficient
SINGULAR_EQUATIONS = 1e-13  # smallest singular value of equations with unit rows and columns that counts as zero
ROW_CHANGE = 1e-6  # change of a constraint row, relative to the largest change, that counts as none

# --- symmetries ---
CLOSING_ERROR, CLOSING_ITERATIONS = 1e-12, 200  # largest error of a closed loop [m, rad]; most iterations to close it
TWIST_ROUND_OFF = 1e-12  # entry of a twist, relative to 1, that counts as zero
SYMMETRY_ROUND_OFF = 1e-9  # length [m] or cosine that counts as zero

# --- directions ---
PARALLEL_COSINE = 1e-12  # deviation from 1 of the cosine between axes of a limb that count as parallel
COINCIDENT = 1e-12  # distance [m] below which the direction between two points is undefined
