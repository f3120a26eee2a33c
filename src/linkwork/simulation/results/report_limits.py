"""What a report allows: every limit of its checks, with its unit and reason."""

from __future__ import annotations

# Energy and momenta: error relative to what was exchanged. Good steps of smooth motion stay far below; stops, friction
# and sampled controllers make kinks, at which methods of any order are about as good as one of second order with a
# step of 1 ms. The balance of a method of first order is off by about the step times the rate of the motion.
BALANCE = 1e-4
BALANCE_FIRST_ORDER = 1e-2

# Deviation of quaternions from unit norm: every step normalises them
UNIT_NORM = 1e-12

# Loop closure [m or rad], and its rate [m/s or rad/s], which is also how fast an engaged clutch may slip: steps project
# onto the constraints to the last bits, times the size of a mechanism. Baumgarte's forces leave an error of their own.
CLOSURE = 1e-8
CLOSURE_BAUMGARTE = 1e-4

POSITIONS_CHECKED = 500  # of a run, at most: a singular value decomposition each

# How far a joint may be beyond its limits, relative to its range: stops are springs
BEYOND_LIMITS = 0.05
RANGE_OF_TURN, RANGE_OF_SLIDE = 6.283185307179586, 2.0  # [rad, m] of a joint that is limited on one side

# How far steps of symplectic methods may be from preserving the symplectic form, relative to it: round-off
SYMPLECTIC = 1e-10

# Speed by which a rigid contact may violate its force laws after the last iteration, relative to the largest velocity
CONTACT_RESIDUAL_AT_REST = 1e-12  # [m/s] where nothing moves
CONTACT_RESIDUAL = 1e-3

# Estimated error of q and v, relative to their largest values, which count as this at least [rad, m, rad/s, m/s]
STATE_ERROR = 1e-3
LEAST_STATE = 1e-6

STATES_FOR_MOMENTUM_SCALE = 20_000  # in which the scale of momentum is computed, at most
