"""Random rotations, transforms, six-vectors and inertias; numerical derivatives and matrix exponentials in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from linkwork.spatial import Force, Motion, RigidInertia, Transform
from linkwork.spatial.scalar import Array
from random_mechanisms import random_inertia

# Rotation angles around every place where a formula changes: none, the series' end at theta^2 = 0.25, half a turn.
ANGLES = (0.0, 1e-16, 1e-9, 1e-5, 0.3, np.nextafter(0.5, 0), 0.5, np.nextafter(0.5, 1), 1.0, 2.5, np.pi - 1e-9, np.pi)


def generators(count: int, seed: int = 0) -> Iterator[np.random.Generator]:
    """Yield independent random generators, one for each sample."""
    return (np.random.default_rng((seed, k)) for k in range(count))


def unit(rng: np.random.Generator, size: int = 3) -> Array:
    """Return a random unit vector (size,)."""
    a = rng.normal(size=size)
    return a / np.linalg.norm(a)


def rotation(rng: np.random.Generator) -> Array:
    """Return a random rotation matrix (3, 3), made without quaternions."""
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.linalg.det(Q)


def transform(rng: np.random.Generator) -> Transform:
    return Transform(rotation(rng), rng.normal(size=3))


def motion(rng: np.random.Generator) -> Motion:
    return Motion.of(rng.normal(size=6))


def force(rng: np.random.Generator) -> Force:
    return Force.of(rng.normal(size=6))


def rigid(rng: np.random.Generator) -> RigidInertia:
    """Return the inertia of a random rigid body whose centre of mass is away from the origin."""
    mass = float(rng.uniform(0.5, 3.0))
    return RigidInertia.of(mass, rng.normal(size=3), mass * random_inertia(rng))


def positive(rng: np.random.Generator, size: int) -> Array:
    """Return a random symmetric positive definite matrix (size, size)."""
    A = rng.normal(size=(size, size))
    return A @ A.T + np.eye(size)


def rate(function: Callable[[float], Array], h: float = 1e-3) -> Array:
    """Return the derivative of function(t) at t = 0 by central differences of fourth order, accurate to about 1e-12."""
    near, far = function(h) - function(-h), function(2 * h) - function(-2 * h)
    return (8.0 * near - far) / (12.0 * h)


def exponential(A: Array) -> Array:
    """Return the matrix exponential of A, by Taylor's series of A / 2^10, squared ten times."""
    small, term, total = A / 1024.0, np.eye(len(A)), np.zeros_like(A, dtype=float)
    for k in range(1, 12):  # without the 1, which would cost the digits of a small A
        term = term @ small / k
        total = total + term
    for _ in range(10):
        total = 2.0 * total + total @ total  # (1 + t)^2 = 1 + (2 t + t^2)
    return np.eye(len(A)) + total
