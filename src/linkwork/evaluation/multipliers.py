"""Any formulation of trees for mechanisms with mimics, by multipliers: a second opinion to solving for fewer joints.

The joints stay independent; each mimic is a row c of constraints, c a = 0, whose force is c^T times a multiplier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.algorithms.coupled import to_tree
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array


def rows(mechanism: Mechanism) -> Array:
    """The constraints C (mimics, tree.nv): C v_tree = 0 says that every follower moves as it should."""
    tree = mechanism.tree
    C = np.zeros((len(mechanism.mimics), tree.nv))
    for row, mimic in zip(C, mechanism.mimics, strict=True):
        row[tree.joints[mimic.joint].v] = 1.0
        row[tree.joints[mimic.of].v] -= mimic.multiplier
    return C


def leading(mechanism: Mechanism) -> Array:
    """The numbers (nv,) of the tree's velocities that belong to joints with coordinates of their own."""
    tree = mechanism.tree
    return np.concatenate([np.zeros(0, dtype=int), *(np.r_[tree.joints[j.name].v] for j in mechanism.leaders)])


def forward(function: Callable[..., Array]) -> Callable[..., Array]:
    """Forward dynamics of a formulation, whose accelerations are affine in the joint forces."""

    def run(m: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array) -> Array:
        if not m.mimics:
            return function(m, q, v, tau, wrenches)
        state, C = to_tree(m, ("q", "v"), (q, v)), rows(m)
        on_tree = np.zeros(m.tree.nv)
        on_tree[leading(m)] = tau
        free = function(m.tree, *state, on_tree, wrenches)
        response = np.array([function(m.tree, *state, on_tree + row, wrenches) - free for row in C]).T
        multipliers = -np.linalg.solve(C @ response, C @ free)
        return (free + response @ multipliers)[leading(m)]

    return run


def inverse(function: Callable[..., Array]) -> Callable[..., Array]:
    """Inverse dynamics: the followers' forces act on the leaders through their ratios."""

    def run(m: Mechanism, q: Array, v: Array, a: Array, wrenches: Array) -> Array:
        if not m.mimics:
            return function(m, q, v, a, wrenches)
        return m.spread.T @ function(m.tree, *to_tree(m, ("q", "v", "a"), (q, v, a)), wrenches)

    return run


def mass(function: Callable[[Mechanism, Array], Array] | None) -> Callable[[Mechanism, Array], Array] | None:
    """The mass matrix, whose kinetic energy is that of the tree."""
    if function is None:
        return None
    return lambda m, q: m.spread.T @ function(m.tree, m.tree_position(q)) @ m.spread if m.mimics else function(m, q)


def reactions(
    function: Callable[..., Array] | None, solve: Callable[..., Array], forces: Callable[..., Any]
) -> Callable[..., Array] | None:
    """Reactions of the tree under the forces that keep it coupled: `solve` and `forces` are its dynamics both ways."""
    if function is None:
        return None

    def run(m: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array) -> Array:
        if not m.mimics:
            return function(m, q, v, tau, wrenches)
        a = forward(solve)(m, q, v, tau, wrenches)
        state = to_tree(m, ("q", "v", "a"), (q, v, a))
        return function(m.tree, *state[:2], forces(m.tree, *state, wrenches), wrenches)

    return run
