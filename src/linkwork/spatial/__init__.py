"""Spatial algebra: rotations, rigid transforms, motion and force vectors, inertias.

The package does not depend on mechanisms. Every operation accepts float arrays and object arrays whose entries support
arithmetic, such as the traced numbers of `linkwork.compiler`.
"""

from linkwork.spatial.inertia import ArticulatedInertia, RigidInertia
from linkwork.spatial.transform import Transform
from linkwork.spatial.vectors import Force, Motion

__all__ = ["ArticulatedInertia", "Force", "Motion", "RigidInertia", "Transform"]
