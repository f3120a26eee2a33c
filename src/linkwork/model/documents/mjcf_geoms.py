"""Shapes and poses of the geoms of a model that MuJoCo compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.model.documents.mujoco_compiler import Compiled
from linkwork.model.geometry import Box, Capsule, Cylinder, Plane, Shape, Sphere
from linkwork.spatial import Transform
from linkwork.spatial.rotation import matrix_from_quaternion
from linkwork.spatial.scalar import Array

SHAPES: dict[str, Callable[[Array], Shape]] = {  # type of geom: function that makes its shape from MuJoCo's half sizes
    "mjGEOM_SPHERE": lambda size: Sphere(size[0]),
    "mjGEOM_CAPSULE": lambda size: Capsule(size[0], 2.0 * size[1]),
    "mjGEOM_CYLINDER": lambda size: Cylinder(size[0], 2.0 * size[1]),
    "mjGEOM_BOX": lambda size: Box((2.0 * size).tolist()),
    "mjGEOM_PLANE": lambda _: Plane(),  # MuJoCo uses the size of a plane for display only
}


def pose(position: Any, quaternion: Any) -> Transform:
    """Return the pose with a `position` (3,) [m] and MuJoCo's `quaternion` (4,) (w, x, y, z)."""
    return Transform(matrix_from_quaternion(np.array(quaternion)), np.array(position))


def geom_pose(c: Compiled, g: int) -> Transform:
    """Return the pose of MuJoCo's geom g in the frame of its body.

    `c` is the model that MuJoCo compiled.
    """
    return pose(c.geom_pos[g], c.geom_quat[g])


def primitive(c: Compiled, g: int) -> Shape | None:
    """Return the shape of MuJoCo's geom g if it is a plane, sphere, capsule, cylinder or box, else None.

    `c` is the model that MuJoCo compiled.
    """
    for name, make in SHAPES.items():
        if c.is_a(c.geom_type[g], name):
            return make(np.array(c.geom_size[g]))
    return None


def kind_of_geom(c: Compiled, g: int) -> str:
    """Return the MJCF word for the type of MuJoCo's geom g, such as "ellipsoid".

    `c` is the model that MuJoCo compiled.
    """
    return c.mujoco.mjtGeom(int(c.geom_type[g])).name.removeprefix("mjGEOM_").lower()
