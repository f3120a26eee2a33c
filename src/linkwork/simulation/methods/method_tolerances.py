"""Tolerances of integration methods: when iterations within a step end, and what counts as round-off."""

# --- Newton's method ---
LAST_CORRECTION = 1e-8  # relative size of the last correction: the next would be its square, below round-off
SHORTEST_CORRECTION = 1e-3  # fraction of a correction at which a line search ends, even over a kink of a contact force

# --- midpoint: change of the velocities, relative to the largest, at which the iteration ends ---
MIDPOINT_CONVERGED = 1e-14
MIDPOINT_ROUND_OFF = 1e-10  # if changes no longer decrease, because of round-off of loops and springs between bodies
MIDPOINT_SLOW = 1e-6  # if changes decrease by less than half: near singular positions of loops
CLOSURE_RATE = 1e-9  # rate of closure errors, relative to the velocities, that remains only at a singular position

# --- variational: residual of the momentum, relative to the momentum, at which the iteration ends ---
SOLVED, NEARLY_SOLVED = 1e-15, 1e-6  # of the last iterate, and of the iterate before it
SOLVED_WITH_CONTACTS = 1e-13  # in place of SOLVED with contacts, whose forces are large compared with momenta
UNIT_ROUND_OFF = 2e-16  # at which the iteration ends in any case
STALLED_RESIDUAL = 1e-9  # if the residual no longer decreases
LOOPS_CLOSED = 1e-12  # closure error [rad, or fraction of the coordinates] that round-off may leave
NO_IMPULSE = 1e-60  # squared impulse of no effect, in place of zero

# --- energy-momentum: error of the energy, relative to the energy, at which the iteration ends ---
ENERGY_BALANCED, ENERGY_STALLED = 5e-15, 1e-13  # always; if the error no longer decreases
# After all iterations with loops: positions have round-off of 1e-16 over the distance to a singular position
ENERGY_NEAR_SINGULAR = 1e-9
NO_INTERNAL_MOTION = 1e-15  # kinetic energy of internal motion, relative to the total, that a kick cannot change

# --- derivatives of a step ---
STEP_RANK = 1e-11  # singular values below belong to redundant constraints; relative to the terms of rows and columns
DIFFERENCE_STEP = 1e-7  # [rad, m] step of difference quotients of forces on floats

# --- step size ---
HALVED_STEP_AGREES = 1e-3  # [rad or m] largest change of coordinates if a step of "rk4" that works is halved
WHOLE_STEPS = 1e-6  # largest difference between duration and whole steps, relative to the duration
