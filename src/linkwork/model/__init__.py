"""The model of a mechanism: bodies, joint kinds, elements, the immutable Mechanism, and the Builder."""

from linkwork.model.builder import Builder
from linkwork.model.elements.contact import box_corners
from linkwork.model.elements.loop_kinds import Gear, PointOnLine, Rack, Rod
from linkwork.model.elements.uneven_ground import Ground, HeightField
from linkwork.model.friction import Bearing, Coupling, DryFriction, Guide, Sleeve, Socket, Teeth, Thread
from linkwork.model.geometry import Box, Capsule, Cylinder, Geometry, Hull, Mesh, Plane, Sphere
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
from linkwork.model.mechanism import Mechanism

__all__ = [
    "Ball",
    "Bearing",
    "Box",
    "Builder",
    "Capsule",
    "Coupling",
    "Cylinder",
    "Cylindrical",
    "DryFriction",
    "Free",
    "Gear",
    "Geometry",
    "Ground",
    "Guide",
    "HeightField",
    "Hull",
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
    "Sleeve",
    "Socket",
    "Sphere",
    "Teeth",
    "Thread",
    "Universal",
    "Weld",
    "box_corners",
]
