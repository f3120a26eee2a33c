"""linkwork: multibody dynamics for robots, spacecraft and mechanisms.

Build a mechanism with `Builder` or take one from `examples()`; `compile` it and call its dynamics on any batch of
states; `cross_check` it by independent formulations.
"""

from linkwork.control import Reference, feedback
from linkwork.errors import (
    LinkworkError,
    ModelError,
    ModelWarning,
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
    Box,
    Builder,
    Capsule,
    Cylinder,
    Cylindrical,
    Free,
    Mechanism,
    Mesh,
    Planar,
    Plane,
    Prismatic,
    Revolute,
    Screw,
    Sphere,
    Universal,
    Weld,
    convert,
    load,
    save,
)
from linkwork.simulation import Run, Simulator, host, open_run, sampled, simulate
from linkwork.spatial.noise import normal, white_noise
from linkwork.spatial.scalar import where

__version__ = "0.1.0"

__all__ = [
    "Ball",
    "Box",
    "Builder",
    "Capsule",
    "CrossCheck",
    "Cylinder",
    "Cylindrical",
    "Dynamics",
    "Free",
    "LinkworkError",
    "Mechanism",
    "Mesh",
    "ModelError",
    "ModelWarning",
    "NonFinite",
    "NotConverged",
    "NotTraceable",
    "OverConstrained",
    "Planar",
    "Plane",
    "Prismatic",
    "Reference",
    "Revolute",
    "Run",
    "Screw",
    "ShapeError",
    "Simulator",
    "Sphere",
    "Universal",
    "Weld",
    "compile",
    "convert",
    "cross_check",
    "example",
    "examples",
    "feedback",
    "formulations",
    "host",
    "load",
    "normal",
    "open_run",
    "sampled",
    "save",
    "simulate",
    "where",
    "white_noise",
]
