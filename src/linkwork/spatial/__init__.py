"""Algebra of rigid motion: rotations, transforms, motions and forces, inertias. Knows nothing of machines.

Every operation works on float arrays and on object arrays of anything that has arithmetic.
"""

from linkwork.spatial.inertia import ArticulatedInertia, RigidInertia
from linkwork.spatial.transform import Transform
from linkwork.spatial.vectors import Force, Motion

__all__ = ["ArticulatedInertia", "Force", "Motion", "RigidInertia", "Transform"]
