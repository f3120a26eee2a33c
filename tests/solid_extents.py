"""Extents of solids along directions in plain NumPy, and the contact patch of a solid pair on floats."""

import numpy as np

from linkwork.algorithms.collision.contact_patch import ContactPatch
from linkwork.algorithms.collision.pair_kinds import pair_kinds
from linkwork.spatial import Transform
from linkwork.spatial.rotation import matrix_from_rpy
from linkwork.spatial.scalar import Array


def extent(kind: str, size: Array, n: Array) -> Array:
    """The largest n . x of the points x of solids at the origin, for directions n (..., 3)."""
    if kind == "plane":
        return np.where(n[..., 2] > 1.0 - 1e-12, 0.0, np.inf)
    s = np.moveaxis(np.asarray(size, dtype=float), -1, 0)
    if kind == "sphere":
        return s[0] + 0.0 * n[..., 0]
    if kind == "capsule":
        return s[0] + s[1] * abs(n[..., 2])
    if kind == "cylinder":
        return s[0] * np.hypot(n[..., 0], n[..., 1]) + s[1] * abs(n[..., 2])
    return (np.asarray(size) * abs(n)).sum(-1)


def separation(kind: tuple[str, str], a: Array, b: Array, R: Array, p: Array, n: Array) -> Array:
    """The signed separation (...) of A at the pose R, p (..., 3) from B along normals n (..., 3) from B to A."""
    in_a = -np.einsum("...ji,...j->...i", R, n)
    return (p * n).sum(-1) - extent(kind[0], a, in_a) - extent(kind[1], b, n)


def patch(
    a_kind: str,
    b_kind: str,
    a: tuple[float, ...],
    b: tuple[float, ...],
    at: tuple[float, ...],
    rpy: tuple[float, ...] = (0.0, 0.0, 0.0),
) -> ContactPatch:
    """The contact patch of one solid pair, evaluated on floats."""
    X = Transform(matrix_from_rpy(*rpy), np.array(at, dtype=float))
    return pair_kinds[a_kind, b_kind](np.array(a, dtype=float), np.array(b, dtype=float), X)


def found(contact: ContactPatch) -> tuple[Array, Array, Array]:
    """Points, distances and normals of the contact points that exist."""
    there = np.array(contact.distances, dtype=float) < 1e8
    return tuple(np.array(x, dtype=float)[there] for x in contact)  # type: ignore[return-value]
