"""Tolerances of contact: of points and balls, and of solids, in algorithms and in simulation."""

# --- touching and penetration [m] ---
TOUCHING = 1e-9  # distance below which a contact point touches a surface or another solid
NO_DEPTH = 1e-15  # depth that counts as zero
INSIDE_AT_START = 1e-3  # penetration of rigid contacts at the start of a run that causes a warning
PUSHED_APART_AT_START = 1e-5  # depth at the start of a run from which solids are moved apart, whatever the energy
CONTACT_MARGIN = 1e-3  # distance, relative to the size of two solids, within which contact points are computed
REMAINING_PENETRATION = 1e-9  # fraction of the penetration of points that `separating_displacement` leaves
TOO_CLOSE = 1e-6  # fraction of the largest depth that the push-out of solids leaves at points without a spring
SAME_NORMAL = 1e-9  # difference of two normals of a pair [rad] that counts as none
FLAT_FACE = 1e-2  # slope of the line between two points of a flat face relative to their normal, at most
SHORT_NORMAL = 1e-9  # sine of the angle of two edges below which their common normal does not separate solids
TOO_LONG = 1e-13  # fraction of the largest depth by which a spring of the push-out may be too long

# --- friction ---
AT_FRICTION_LIMIT = 1e-9  # difference of anchor force and friction limit, relative to it, that counts as none
WITHIN_BOUND = 1.0 - 1e-9  # fraction of its bound below which a contact sticks, or a clutch transmits
IN_CONE = 1.0 + 1e-12  # friction impulse of a sticking point, relative to the limit, that is within the limit

# --- contact conditions of a step ---
SETTLED = 1e-12  # speed by which a pair of solids may violate its conditions, relative to the largest speed of a point
# Factor of SETTLED after a whole schedule of iterations: separation speeds of redundant points contradict each other by
# their errors
SETTLED_LATE = 1e3
# As SETTLED, largest tolerance for drifts of points, which may contradict each other. The drift of a sliding point is
# half the change of its slip velocity, which may be as large as the speeds
SETTLED_DRIFTING = 1e-4
SETTLED_ROUND_OFF = 1e-14  # as SETTLED, relative to the largest speed of a body
SETTLED_FIRST_PASS = 1e-10  # as SETTLED, for the first of two passes over points, which finds the points that stick
# As SETTLED, for all passes over solids but the last one, which only predict the velocities from which the motion of
# contact points follows. (With few iterations instead, a stack of 8 boxes does not come to rest.)
SETTLED_PREDICTION = 1e-8
# An iteration with an old matrix must reduce the sum of squared violations to this fraction; else the matrix is renewed
QUICK_DECREASE = 1e-3
ADDED_COMPLIANCE = 1e-10  # fraction of the compliances of a body that is added, for directions in which it is fixed

# --- forces of redundant contacts ---
# Fraction of the inverse effective mass that is added before factorization. Round-off divided by this fraction remains
# as self-stress; each refinement multiplies the error by this fraction over a singular value.
ADDED_FOR_LEAST_NORM = 1e-6
SAME_EFFECT = 1e-11  # change of a speed, relative to the largest change by the impulses, that counts as none
UNLOADED = 1e-6  # normal impulse, relative to the mean, below which the friction of a point is not reduced further
FORCE_ROUND_OFF = 4e-12  # change of the force at a point from step to step, relative to the force, that is round-off

# --- work of contacts ---
SEPARATING_SPEED = 1e-9  # speed of separation, relative to the speed that gravity adds in a step, above round-off
DOUBLE_ROOT = 1e-12  # difference of two roots, squared and relative to the roots, that counts as none
WORK_ROUND_OFF = 1e-13  # positive work that counts as none, relative to the works of the velocity changes
PUSH_OUT_ROUND_OFF = 4e-15  # work of a push-out that counts as none, relative to the energy
PUSH_OUT_SHARE = 1.0 - 1e-6  # factor of a push-out that the energy allows, because energies have errors
