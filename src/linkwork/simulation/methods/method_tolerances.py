"""Tolerances of integration methods: when iterations within a step end, and what counts as round-off."""

# --- Newton's method ---
LAST_CORRECTION = (
    1e-8  # largest relative correction at convergence: the next correction would be its square, below round-off
)
SHORTEST_CORRECTION = 1e-3  # a line search accepts this fraction of a correction, because contact forces have kinks

# --- midpoint: change of the velocities, relative to the largest, at which the iteration ends ---
MIDPOINT_CONVERGED = 1e-14
MIDPOINT_ROUND_OFF = 1e-10  # if changes no longer decrease, because of round-off of loops and springs between bodies
MIDPOINT_SLOW = 1e-6  # if changes decrease by less than half: near singular positions of loops
CLOSURE_RATE = 1e-9  # if a larger rate of closure errors remains, relative to the velocities, the position is singular

# --- variational: residual of the momentum, relative to the momentum, at which the iteration ends ---
SOLVED, NEARLY_SOLVED = 1e-15, 1e-6  # residual of the last iterate, and of the iterate before it
SOLVED_WITH_CONTACTS = 1e-13  # replaces SOLVED if there are contacts, whose forces are large compared with momenta
UNIT_ROUND_OFF = 2e-16  # residual at which the iteration ends in every case
STALLED_RESIDUAL = 1e-9  # residual at which the iteration ends if the residual no longer decreases
LOOPS_CLOSED = 1e-12  # closure error [rad, or fraction of the coordinates] that round-off may cause
NO_IMPULSE = 1e-60  # replaces a squared impulse of zero; its effect is below round-off

# --- energy-momentum: error of the energy, relative to the energy, at which the iteration ends ---
ENERGY_BALANCED, ENERGY_STALLED = 5e-15, 1e-13  # in every case; if the error no longer decreases
# Energy error that is accepted with loops after the last iteration: at a distance d from a singular position, the
# round-off of positions is 1e-16 / d
ENERGY_NEAR_SINGULAR = 1e-9
NO_INTERNAL_MOTION = (
    1e-15  # kinetic energy of internal motion, relative to the total, that the energy impulse cannot change
)

# --- derivatives of a step ---
STEP_RANK = 1e-11  # relative singular values that count as zero, because redundant constraints cause them
DIFFERENCE_STEP = 1e-7  # [rad, m] step of difference quotients of forces on floats

# --- step size ---
HALVED_STEP_AGREES = 1e-3  # [rad or m] "rk4" counts as accurate if halving its step changes coordinates by less
WHOLE_STEPS = 1e-6  # largest difference between duration and whole steps, relative to the duration
