"""Dry friction of joints in an implicit step: which velocities stick, which slip, and with what impulse.

Coulomb's law holds with the velocity v_k at the end of the step. The impulse p_k of friction, with the limit h f_k of a
step h, satisfies

    v_k = 0 and |p_k| <= h f_k  (sticks)    or    p_k = h f_k sign(v_k)  (slips)

An active-set method finds the sticking velocities (Hintermueller, Ito, Kunisch 2003): in each iteration, a velocity
that would change its sign sticks, and a sticking velocity slips if its impulse exceeds the limit. With the velocity at
mid-step instead, a sticking joint would reverse its velocity in every step.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.tree_traversal import outward
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Condition, Number, maximum, where

LOCKED = 1e12  # inertia added to a sticking velocity, relative to the diagonal of the step's matrix
SLACK = 1e-10  # relative excess over the limit at which a sticking velocity begins to slip
TOGETHER = 12  # iterations in which all velocities may change at once; then one at a time (Murty 1974), without cycles


def has_friction(mechanism: Mechanism, varied: Container[str] = ()) -> bool:
    """Return whether a joint may have dry friction: it is nonzero, traced, or named in the `varied` parameters."""
    return any(
        j.friction.dtype == object or bool(j.friction.any()) or f"{j.name}.friction" in varied for j in mechanism.joints
    )


def friction_limits(mechanism: Mechanism) -> Array:
    """Return the largest dry friction force (nv,) [N m or N] of each velocity, with that of its mimic joints."""
    own = np.concatenate([np.zeros(0), *(j.friction for j in outward(mechanism.tree))])
    return np.abs(mechanism.spread).T @ own


def without_friction(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with the dry friction of all joints set to zero."""
    smooth = [replace(j, friction=np.zeros(j.kind.nv)) for j in mechanism.joints]
    return replace(mechanism, joints=mechanism.joints.replaced(smooth))


class Friction(NamedTuple):
    """Dry friction of a step during the iteration: impulses p (nv,) [N m s or N s], and which velocities stick.

    `sticks` (nv,) is 1 for sticking velocities, else 0.
    """

    p: Array
    sticks: Array

    @classmethod
    def at(cls, v: Array, limits: Array) -> Friction:
        """Return the first guess of the friction at velocities v (nv,): joints at rest stick, all others slip.

        `limits` (nv,) [N m s or N s] are the largest friction impulses of the step.
        """
        p = [where(w > 0.0, limit, where(w < 0.0, -limit, 0.0)) for w, limit in zip(v, limits, strict=True)]
        sticks = [where(w == 0.0, where(limit > 0.0, 1.0, 0.0), 0.0) for w, limit in zip(v, limits, strict=True)]
        return cls(np.array(p), np.array(sticks))

    def after(self, v: Array, limits: Array, negligible: Number, one_by_one: Condition) -> tuple[Friction, Number]:
        """Return the next friction iterate for corrected velocities v (nv,), and 1 if `sticks` has changed, else 0.

        `limits` (nv,) [N m s or N s] are the largest friction impulses of the step. Velocities below `negligible`
        [rad/s or m/s] do not count as reversed. If `one_by_one`, only the first velocity that violates Coulomb's law
        changes.
        """
        p, sticks, allowed, found = [], [], 1.0, 0.0
        for impulse, stuck, w, limit in zip(self.p, self.sticks, v, limits, strict=True):
            exceeds = where(abs(impulse) > limit * (1.0 + SLACK), stuck, 0.0)
            reverses = where(impulse * w < -limit * negligible, 1.0 - stuck, 0.0)
            changes = maximum(exceeds, reverses) * allowed
            bound = where(impulse > 0.0, limit, -limit)
            p.append(where(changes * stuck == 1.0, bound, impulse))
            sticks.append(where(changes == 1.0, 1.0 - stuck, stuck))
            allowed = where(one_by_one, allowed * (1.0 - changes), allowed)
            found = maximum(found, changes)
        return Friction(np.array(p), np.array(sticks)), found


def coulomb(v: Array, needed: Array, limits: Array) -> Array:
    """Return the friction impulses (nv,) [N m s or N s] by Coulomb's law, positive against positive velocities v (nv,).

    Where the velocity is zero, the impulse is `needed` (nv,), which keeps it zero, but at most the limit in `limits`
    (nv,); elsewhere it is the limit with the sign of the velocity.
    """
    return np.array(
        [
            where(w > 0.0, limit, where(w < 0.0, -limit, where(abs(x) < limit, x, where(x > 0.0, limit, -limit))))
            for w, x, limit in zip(v, needed, limits, strict=True)
        ]
    )
