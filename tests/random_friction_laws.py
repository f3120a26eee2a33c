"""Random friction laws for the joints and loops of any mechanism, and the same friction as linear friction."""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork.algorithms.formulations.linear_friction import LinearFriction, LoopFriction
from linkwork.algorithms.joint_friction.friction_limits import active_limits
from linkwork.algorithms.joint_friction.friction_sites import (
    friction_directions,
    motor_directions,
    sites,
    slip_velocities,
)
from linkwork.algorithms.joint_friction.friction_solver import FrictionSolution
from linkwork.model.elements.joint_friction import JointFriction
from linkwork.model.friction import FrictionLaw
from linkwork.model.friction.friction_law import has_constant_subspace
from linkwork.model.joints import ClosingKind, JointKind
from linkwork.spatial.scalar import Array


def random_law(kind: ClosingKind, in_tree: bool, rng: np.random.Generator, size: float = 1.0) -> FrictionLaw | None:
    """Return a random law that fits the joint kind, with friction proportional to `size`; None if none fits."""
    mu, radius, length = float(rng.uniform(0.05, 0.3)) * size, float(rng.uniform(0.01, 0.05)), 0.5
    coupling = np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    coupling[5, :5] = rng.uniform(0.0, 0.01, 5) * size
    laws = [
        lw.Bearing(mu, radius, 0.5 * radius, rolling=0.001 * size, preload=2.0, length=length, center=0.1),
        lw.Bearing(mu, radius, mu_static=1.5 * mu, stribeck=1.0),
        lw.Coupling(coupling),
        lw.Sleeve(0.2 * mu, radius, length),
        lw.Guide(0.2 * mu, length, width=0.4, preload=1.0),
        lw.Thread(0.1 * mu, radius, flank=0.3, collar_radius=radius),
        lw.Socket(mu, radius, preload=1.0),
    ]
    fitting = [law for law in laws if not law.misfit(kind, in_tree)]
    if not in_tree and isinstance(kind, JointKind) and not has_constant_subspace(kind):
        return None
    if not fitting:
        return lw.DryFriction(float(rng.uniform(0.0, 1.0)) * size) if isinstance(kind, JointKind) and kind.nv else None
    return fitting[int(rng.integers(len(fitting)))]


def with_random_laws(m: lw.Mechanism, seed: int, size: float = 1.0) -> lw.Mechanism:
    """Return the mechanism with random friction laws at all of its joints and loops that can have one."""
    rng, found = np.random.default_rng([seed, 31]), []
    for kind, name, in_tree in [
        *((j.kind, j.name, True) for j in m.joints),
        *((one.kind, one.name, False) for one in m.loops),
    ]:
        law = random_law(kind, in_tree, rng, size)
        if law is not None:
            found.append(JointFriction(name, law, in_tree=in_tree))
    return m.with_elements("frictions", found)


def random_directions(m: lw.Mechanism, q: Array, rng: np.random.Generator) -> Array:
    """Return random directions of slip (nf,): 1 or -1, or a random unit vector for several velocities."""
    count = sum(site.size for site in sites(m))
    found, none = np.zeros(count), np.zeros(count)
    for one in active_limits(m, q, none, none):
        x = rng.normal(size=len(one.numbers))
        found[list(one.numbers)] = x / np.linalg.norm(x)
    return found


def as_linear_friction(
    m: lw.Mechanism, q: Array, v: Array, directions: Array, found: FrictionSolution
) -> LinearFriction:
    """Return the friction of the solution `found` as linear friction, for the directions of its loads."""
    coupling, constant, loops = {}, {}, {}
    own = sites(m)
    limits = active_limits(m, q, slip_velocities(m, q, v), np.zeros(len(directions)))
    for number, site in enumerate(own):
        C, c = np.zeros((site.size, 6)), np.zeros(site.size)
        for one in limits:
            if one.site != number:
                continue
            row, self_coupling = np.zeros(6), 0.0
            for factor, L, of_friction in one.terms:
                x = L @ found.loads[number] + of_friction * found.friction[one.numbers[0]]
                unit = x / np.linalg.norm(x)
                row, self_coupling = row + factor * unit @ L, self_coupling + factor * unit[0] * of_friction
            for n, scale in zip(one.numbers, one.scales, strict=True):
                along = scale * directions[n]
                C[n - site.start] = -along * row / (1.0 + along * self_coupling)
                c[n - site.start] = -along * one.constant / (1.0 + along * self_coupling)
        if site.joint is not None:
            coupling[site.name], constant[site.name] = C, c
        else:
            T = friction_directions(site).array
            loops[site.name] = LoopFriction(T @ C, T @ c)
    return LinearFriction(coupling, constant, loops)


__all__ = ["as_linear_friction", "motor_directions", "random_directions", "random_law", "with_random_laws"]
