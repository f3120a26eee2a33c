"""Tolerances of collision detection between solids. "The size" is that of the two solids [m]."""

# --- points and directions ---
SAME_POINT = 1e-9  # distance, relative to the size, below which two points or two distances count as equal
DISTANCE_ROUND_OFF = 1e-13  # as SAME_POINT, for distances of which the smallest is chosen
PARALLEL_SQUARED = 1e-16  # squared sine of the angle between two directions that count as parallel
AXIS_ROUND_OFF = 1e-13  # distance between axes, relative to the radii, below which its direction is round-off

# --- contact points ---
SHALLOW_EDGES = 1e-3  # distance, relative to the sum of all half extents, above which edges are not replaced by a face
MERGED_ENDS = 1e-6  # length, relative to the size, below which the end of a segment moves to the nearest point
# Distance of two contact points, relative to the size, below which they are one point: overlaps of lines have thin ends
MERGED_PATCH_POINTS = 1e-4
FLAT_EXTENT = 1e-12  # fraction of the extent that is added to solve for the slope of a line
CENTRED_OFFSET = 1e-3  # offset, relative to the size, below which rim points do not turn with the other solid
UPRIGHT_ANGLE = 1e-8  # angle [rad] below which the rim points of a standing cylinder do not turn with its lowest point

# --- distance of convex solids ---
SEPARATION_MARGIN = 1e-3  # separation of the moved solids, relative to the size: normals of GJK are then exact to 1e-13
GJK_GAP = 1e-14  # difference of the upper and the lower bound, relative to the distance, at which GJK ends
SEPARATION_GAIN = 1e-13  # increase of the separation, relative to the size, below which the iteration stops
FLAT_TRIANGLE = 1e-20  # squared sine of the angle of a triangle that counts as a line
# Loss of separation, relative to the size, that counts as round-off for a normal that is more accurate than that of GJK
NORMAL_ROUND_OFF = 1e-15
