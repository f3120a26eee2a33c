"""linkwork: multibody dynamics for robots, spacecraft and mechanisms.

Build a mechanism with `Builder` or take one from `examples()`; `compile` it and call its dynamics on any batch of
states; `cross_check` it by independent formulations.
"""

from linkwork.errors import (
    LinkworkError,
    ModelError,
    NonFinite,
    NotConverged,
    NotTraceable,
    OverConstrained,
    ShapeError,
)
from linkwork.evaluation import CrossCheck, Dynamics, compile, cross_check, formulations
from linkwork.examples import example, examples
from linkwork.model import (
    Ball,
    Builder,
    Cylindrical,
    Free,
    Mechanism,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Universal,
    Weld,
)
from linkwork.spatial.scalar import where

__version__ = "0.1.0"

__all__ = [
    "Ball",
    "Builder",
    "CrossCheck",
    "Cylindrical",
    "Dynamics",
    "Free",
    "LinkworkError",
    "Mechanism",
    "ModelError",
    "NonFinite",
    "NotConverged",
    "NotTraceable",
    "OverConstrained",
    "Planar",
    "Prismatic",
    "Revolute",
    "Screw",
    "ShapeError",
    "Universal",
    "Weld",
    "compile",
    "cross_check",
    "example",
    "examples",
    "formulations",
    "where",
]
