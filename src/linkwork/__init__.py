"""linkwork: multibody dynamics for robots, spacecraft and mechanisms.

Build a mechanism with `Builder`, read it from a file with `load`, or take one of the `examples()`. `compile` returns
functions that compute its dynamics for any batch of states, `simulate` integrates its motion, and `cross_check`
compares independent formulations of its equations of motion.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from linkwork import evaluation as evaluation  # registers the methods of Mechanism that it implements
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
from linkwork.examples import example, examples
from linkwork.model import (
    Ball,
    Bearing,
    Box,
    Builder,
    Capsule,
    Coupling,
    Cylinder,
    Cylindrical,
    DryFriction,
    Free,
    Gear,
    Ground,
    Guide,
    HeightField,
    Hull,
    Mechanism,
    Mesh,
    Planar,
    Plane,
    PointOnLine,
    Prismatic,
    Rack,
    Revolute,
    Rod,
    Screw,
    Sleeve,
    Socket,
    Sphere,
    Teeth,
    Thread,
    Universal,
    Weld,
    box_corners,
)
from linkwork.spatial.random_numbers import random_normal, white_noise
from linkwork.spatial.scalar import where

if TYPE_CHECKING:
    from linkwork.control import Reference, balance, feedback
    from linkwork.evaluation import Dynamics, compile
    from linkwork.evaluation.cross_check import CrossCheck, cross_check
    from linkwork.evaluation.formulation_registry import formulations
    from linkwork.lagrangian.discrete_system import discrete
    from linkwork.model.documents.loading import load
    from linkwork.model.documents.toml_writer import save
    from linkwork.model.state_conversion import convert
    from linkwork.simulation import Run, Simulator, host, one_shot, open_run, sampled, simulate
    from linkwork.simulation.results.mechanism_drawing import draw

# Names that are imported at their first use, so that importing linkwork stays quick
ON_DEMAND = {
    "convert": "linkwork.model.state_conversion",
    "discrete": "linkwork.lagrangian.discrete_system",
    "draw": "linkwork.simulation.results.mechanism_drawing",
    "formulations": "linkwork.evaluation.formulation_registry",
    "load": "linkwork.model.documents.loading",
    "save": "linkwork.model.documents.toml_writer",
    **dict.fromkeys(("Dynamics", "compile"), "linkwork.evaluation.dynamics"),
    **dict.fromkeys(("CrossCheck", "cross_check"), "linkwork.evaluation.cross_check"),
    **dict.fromkeys(("Reference", "balance", "feedback"), "linkwork.control"),
    **dict.fromkeys(("Run", "Simulator", "host", "one_shot", "open_run", "sampled", "simulate"), "linkwork.simulation"),
}

# Old names, which still work with a DeprecationWarning, and their new names
RENAMED = {"normal": "random_normal", "once": "one_shot"}

__version__ = "0.1.0"

__all__ = [
    "Ball",
    "Bearing",
    "Box",
    "Builder",
    "Capsule",
    "Coupling",
    "CrossCheck",
    "Cylinder",
    "Cylindrical",
    "DryFriction",
    "Dynamics",
    "Free",
    "Gear",
    "Ground",
    "Guide",
    "HeightField",
    "Hull",
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
    "PointOnLine",
    "Prismatic",
    "Rack",
    "Reference",
    "Revolute",
    "Rod",
    "Run",
    "Screw",
    "ShapeError",
    "Simulator",
    "Sleeve",
    "Socket",
    "Sphere",
    "Teeth",
    "Thread",
    "Universal",
    "Weld",
    "balance",
    "box_corners",
    "compile",
    "convert",
    "cross_check",
    "discrete",
    "draw",
    "example",
    "examples",
    "feedback",
    "formulations",
    "host",
    "load",
    "one_shot",
    "open_run",
    "random_normal",
    "sampled",
    "save",
    "simulate",
    "where",
    "white_noise",
]


def __getattr__(name: str) -> Any:
    if name in RENAMED:
        from warnings import warn

        warn(f"lw.{name} was renamed; use lw.{RENAMED[name]}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(__name__), RENAMED[name])
    if name not in ON_DEMAND:
        raise AttributeError(f"module 'linkwork' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(ON_DEMAND[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
