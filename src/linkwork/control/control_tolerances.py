"""Tolerances of controllers."""

# --- distribution of foot forces ---
ADDED_FOR_LIFTED_FEET = (
    1e-9  # added to the diagonal, relative to its mean: with feet in the air, the matrix may be singular
)
PROXIMAL_WEIGHT = 1e-4  # weight of the proximal term, which makes every matrix positive definite
SOLVED = 1e-9  # residual wrench, relative to the wrench to distribute, at which Newton's method ends
SUFFICIENT_DECREASE = 1e-4  # fraction of the predicted decrease that a shortened step must reach
DECREASE_ROUND_OFF = 1e-13  # decrease, relative to the value, that counts as round-off

# --- balance ---
ADDED_FOR_STRAIGHT_LEGS = 1e-13  # added to the diagonal, relative to its mean: the matrix of a straight leg is singular

# --- linear-quadratic regulator ---
AT_REST = 1e-6  # largest acceleration [rad/s^2, m/s^2] of a state at rest
STABLE = 1e-9  # eigenvalues with a real part above -STABLE, relative to the largest, count as unstable

# --- reference trajectories, in sample intervals ---
UNIFORM_TIMES = 1e-7  # largest deviation of the times from a uniform grid
FIRST_GUESS = 1e-6  # subtracted from the computed index of the interval, so that it is exact or one too small
