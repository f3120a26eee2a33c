"""What the machine is: joint kinds, bodies, the frozen mechanism, and the builder that makes one."""

from linkwork.model.builder import Builder
from linkwork.model.geometry import Box, Capsule, Cylinder, Geometry, Mesh, Plane, Sphere
from linkwork.model.grounds import Ground, HeightField
from linkwork.model.joints import (
    Ball,
    Cylindrical,
    Free,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Universal,
    Weld,
)
from linkwork.model.loop_kinds import Gear, PointOnLine, Rack, Rod
from linkwork.model.mechanism import Mechanism
from linkwork.model.surfaces import box_corners

__all__ = [
    "Ball",
    "Box",
    "Builder",
    "Capsule",
    "Cylinder",
    "Cylindrical",
    "Free",
    "Gear",
    "Geometry",
    "Ground",
    "HeightField",
    "JointKind",
    "Mechanism",
    "Mesh",
    "Planar",
    "Plane",
    "PointOnLine",
    "Prismatic",
    "Rack",
    "Revolute",
    "Rod",
    "Screw",
    "Sphere",
    "Universal",
    "Weld",
    "box_corners",
]
