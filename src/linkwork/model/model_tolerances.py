"""Tolerances of models: which numbers of a mechanism count as equal, parallel, massless or round-off."""

# --- directions and shapes ---
PARALLEL = 1e-9  # sine of the angle between two directions that count as parallel
NEARLY_ORTHONORMAL = 4e-12  # deviation from orthonormality below which a rotation matrix is stored unchanged
FLAT_HULL = 1e-9  # thickness of points, relative to their extent, below which they lie in one plane
OVERLAPPING_SHAPES = 1e-3  # depth, relative to the width of the thinner shape, from which shapes of a file overlap

# --- inertia ---
INERTIA_ROUND_OFF = 1e-9  # fraction of the inertia about the frame's origin that counts as round-off
MASSLESS = 1e-12  # inertia that a joint moves, relative to the summed terms, that counts as zero

# --- couplings of joint velocities ---
EQUAL_DIGITS, EQUAL_RATIOS = 12, 1e-12  # digits, and relative difference, to which factors and ratios are compared
NO_VELOCITY = 1e-12  # free fraction of a velocity that counts as zero
LATCH_ARMED = 1e-6  # [rad or m] distance from its position beyond which a latch becomes armed

# --- nearest point of uneven ground ---
NEARLY_NEAREST = 1e-8  # step, relative to the distance, before the last step of Newton's method: error 1e-16
NEAREST_ROUND_OFF = 1e-15  # as NEARLY_NEAREST, relative to the coordinates
# Increase of the squared distance, relative to it, that counts as round-off, also when coordinates are large
SQUARED_DISTANCE_ROUND_OFF = 1e-10
CONVEX = 1e-6  # smallest determinant of Newton's matrix, relative to that of a flat ground of the same slope
BEYOND_EDGE = 1e-9  # angle [rad] between normal and line to the nearest point, from which this point is on an edge
ON_EDGE = 1e-14  # distance to an edge, relative to the size of the height field, that counts as round-off
