"""Random scenes of solids of all kinds that fall onto a plane, and their depth in it, in plain NumPy."""

from typing import Any

import numpy as np

import linkwork as lw
from linkwork.spatial.rotation import matrix_from_quaternion
from linkwork.spatial.scalar import Array

KINDS = ("hull", "cylinder", "box", "sphere", "capsule")
LARGEST = 0.45  # no point of a solid is farther from its origin [m]


def random_shape(kind: str, rng: np.random.Generator) -> Any:
    """A shape of random size."""
    radius, length = rng.uniform(0.05, 0.25), rng.uniform(0.05, 0.5)
    if kind == "hull":
        points = rng.normal(size=(rng.integers(6, 13), 3))
        points *= radius * rng.uniform(0.6, 1.0, 3) / np.linalg.norm(points, axis=1)[:, None]
        return lw.Hull(points - points.mean(axis=0))
    if kind == "box":
        return lw.Box(tuple(rng.uniform(0.08, 0.5, 3)))
    if kind == "sphere":
        return lw.Sphere(radius)
    return lw.Cylinder(radius, length) if kind == "cylinder" else lw.Capsule(0.6 * radius, length)


def extent(shape: Any, n: Array) -> Array:
    """The largest n . x of the points x of a solid at the origin, for unit directions n (..., 3)."""
    if isinstance(shape, lw.Hull):
        return (n @ np.array(shape.points).T).max(axis=-1)
    if isinstance(shape, lw.Box):
        return 0.5 * np.abs(n) @ np.array(shape.size)
    if isinstance(shape, lw.Sphere):
        return shape.radius + 0.0 * n[..., 0]
    along, round_part = 0.5 * shape.length * abs(n[..., 2]), np.hypot(n[..., 0], n[..., 1])
    return along + shape.radius * (1.0 if isinstance(shape, lw.Capsule) else round_part)


def random_mechanism(rng: np.random.Generator, kinds: tuple[str, ...]) -> tuple[lw.Mechanism, dict[str, Any]]:
    """Free solids of random sizes and masses above a plane, and their shapes by the names of the bodies."""
    b = lw.Builder("scene", gravity=(0, 0, -9.81)).surface("floor", lw.Plane())
    shapes = {f"{kind} {k}": random_shape(kind, rng) for k, kind in enumerate(kinds)}
    for name, shape in shapes.items():
        x, y, z = np.array([2.0 * float(extent(shape, axis)) for axis in np.eye(3)]) ** 2
        mass = rng.uniform(0.2, 5.0)
        inertia = tuple(mass / 12.0 * np.array([y + z, x + z, x + y]))
        b.body(name, mass, inertia=inertia).joint(name, lw.Free(), "world", name)
        b.geometry(name, shape, role="collision")
    return b.collide("all", friction=0.5, restitution=0.5).build(), shapes


def random_starts(rng: np.random.Generator, solids: int, count: int) -> tuple[Array, Array, dict[str, Array]]:
    """Coordinates (count, 7n) and velocities (count, 6n) of n solids, and parameters.

    Half of the scenes have no restitution.
    """
    q, v = np.zeros((count, solids, 7)), np.zeros((count, solids, 6))
    for k in range(count):
        q[k, :, :2] = rng.uniform(-0.3, 0.3, (solids, 2))
        q[k, rng.permutation(solids), 2] = LARGEST * (1.0 + 2.0 * np.arange(solids))
        v[k, :, :3] = rng.normal(size=(solids, 3)) * rng.uniform(0, 2)
        v[k, :, 3:] = rng.normal(size=(solids, 3)) * rng.uniform(0, 8)
    q[..., 3:] = rng.normal(size=(count, solids, 4))
    q[..., 3:] /= np.linalg.norm(q[..., 3:], axis=-1, keepdims=True)
    friction, bounces = rng.uniform(0, 1, count), rng.uniform(size=count) < 0.5
    restitution = np.where(bounces, rng.uniform(0, 1, count), 0.0)
    given = {"all.friction": np.column_stack([friction, friction]), "all.restitution": restitution}
    return q.reshape(count, -1), v.reshape(count, -1), given


def floor_distances(shapes: dict[str, Any], q: Array) -> Array:
    """Distances (..., n) [m] of the lowest points of n solids from the floor, for coordinates q (..., 7n)."""
    each = q.reshape(*q.shape[:-1], len(shapes), 7)
    found = []
    for k, shape in enumerate(shapes.values()):
        R = np.array(matrix_from_quaternion(np.moveaxis(each[..., k, 3:], -1, 0)))
        down = -np.moveaxis(R[2], 0, -1)  # the direction -z of the world in the axes of the body
        found.append(each[..., k, 2] - extent(shape, down))
    return np.stack(found, axis=-1)
