"""Depths of all pairs of solids from their contact points, for many states at once, by compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from linkwork.algorithms.solid_contact.detection import WorldPatch, body_rows, touching_pairs
from linkwork.algorithms.solid_contact.pair_tables import BodyRows, groups_of
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Motion, Transform
from linkwork.spatial.row_arrays import RowArray, row_array, selected_rows
from linkwork.spatial.scalar import Array, Number, where
from linkwork.spatial.traceable_loops import repeat

_kernels: WeakKeyDictionary[Mechanism, Any] = WeakKeyDictionary()


def solid_depths(mechanism: Mechanism, poses: Array) -> Array:
    """Return, for s states, the depth (s, n) [m] of the deepest contact point of each of n pairs of solids; zero for
    pairs that are apart.

    `poses` (s, nbodies + 1, 4, 4) are the world poses of the world and all bodies. The first call for a mechanism
    compiles a kernel.
    """
    kernel = _kernels.get(mechanism)
    if kernel is None:
        from linkwork.compiler import Kernel, shared  # imported only here, because few reports need contact points

        shapes, results = [(len(mechanism.bodies), 4, 4)], [(len(mechanism.solid_pairs),)]
        title = f"depths of the solids of {mechanism.name}"
        kernel = _kernels[mechanism] = shared(Kernel(title, _depths(mechanism), shapes, results, None))
    return kernel.over_batch([np.ascontiguousarray(poses)], poses.shape[:1], None)[0][0]


def _depths(mechanism: Mechanism) -> Callable[[Array], Array]:
    """Return a function that returns the depths (n,) [m] of all pairs in one state, from poses (nbodies + 1, 4, 4)."""
    pairs = mechanism.solid_pairs

    def one(poses: Array) -> Array:
        of = BodyRows(pairs)
        placed = [Transform(X[:3, :3], X[:3, 3]) for X in poses]
        bodies = body_rows(of.numbers, placed, [Motion.zero()] * len(placed))
        touching = touching_pairs(groups_of(pairs, of), bodies, 0.0)
        (found,) = repeat(len(pairs), lambda k, found: (found.put(k, [0.0]),), row_array(len(pairs), 1))

        def write(k: Number, found: RowArray) -> tuple[RowArray]:
            deepest: Number = 0.0
            for distance in WorldPatch.read(touching.patches, k).distances:
                deepest = where(-distance > deepest, -distance, deepest)
            return (found.put(k, [deepest]),)

        (found,) = selected_rows(touching.flags).visit(write, found)
        return np.array([found.at(float(k))[0] for k in range(len(pairs))])

    return one
