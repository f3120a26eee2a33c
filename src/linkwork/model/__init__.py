"""What the machine is: joint kinds, bodies, the frozen mechanism, and the builder that makes one."""

from linkwork.model.builder import Builder
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
    "Builder",
    "Cylindrical",
    "Free",
    "JointKind",
    "Mechanism",
    "Planar",
    "Prismatic",
    "Revolute",
    "Screw",
    "Universal",
    "Weld",
]
