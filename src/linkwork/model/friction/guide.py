"""Friction of guides of sliding joints, whose ends carry forces and moments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.model.elements.element_key_definition import key
from linkwork.model.elements.key_types import not_negative
from linkwork.model.friction.bearing import radial_loads
from linkwork.model.friction.friction_law import (
    FrictionLaw,
    FrictionLimit,
    LoadTerm,
    is_zero,
    mu_key,
    mu_static_key,
    neutral_subspace,
    of_wrench,
    only_slides,
    optional_length_key,
    required_length_key,
    stribeck_key,
    viscous_key,
)
from linkwork.model.joints import ClosingKind
from linkwork.spatial import Motion
from linkwork.spatial.scalar import Array


@dataclass(frozen=True)
class Guide(FrictionLaw):
    """Friction law of a guide on a prismatic joint, by the normal forces at its two ends.

    The carriage, whose middle is the origin of the child's frame, touches the rail at two ends at the distance
    `length`. A moment M across the axis acts as a couple, so that the normal forces at the ends are |F / 2 + axis x M /
    length| and |F / 2 - axis x M / length| with the force F across the axis. The friction is mu times the sum of the
    normal forces. If the friction grows faster than the pulling force, the guide jams: a drawer jams if it is pulled
    more than length / (2 mu) off its centre line.

    Parameters
    ----------
    mu : float
        Coefficient of dynamic friction, >= 0.
    length : float, [m]
        Distance between the two ends of the carriage, > 0.
    width : float, [m], default 0
        Distance between two parallel rails. The rails carry the moment about the axis as a couple of normal forces, and
        these forces cause friction. 0 for no friction from this moment.
    mu_static : float, optional
        Coefficient of static friction, >= mu; by default `mu`.
    viscous : float, [N s/m], default 0
        Viscous friction. `Builder.build` adds it to the damping of the joint.
    preload : float, [N], default 0
        Normal force that is always present.
    stribeck : float, [m/s], optional
        Slip speed at which the excess of static over dynamic friction has decayed to 37 %; by default, static friction
        acts at rest only.

    Examples
    --------
    >>> b = lw.Builder().body("drawer", 2.0, inertia=(0.1, 0.1, 0.1))
    >>> m = b.joint("rail", lw.Prismatic((1, 0, 0)), "world", "drawer", friction=lw.Guide(mu=0.3, length=0.4)).build()
    >>> m.frictions["rail"].law.length
    0.4

    """

    mu: float = mu_key()
    length: float = required_length_key("Distance between the two ends of the carriage")
    width: float = optional_length_key("Distance between two parallel rails")
    mu_static: float | None = mu_static_key()
    viscous: float = viscous_key()
    preload: float = key(not_negative("N"), "Normal force that is always present", default=0.0, parameter=True)
    stribeck: float | None = stribeck_key()

    def misfit(self, kind: ClosingKind, in_tree: bool) -> str | None:
        S = neutral_subspace(kind)
        return None if S is not None and only_slides(S) and S.linear.shape[1] == 1 else "prismatic joints"

    def limits(self, S: Motion) -> tuple[FrictionLimit, ...]:
        mu, axis = self.sliding, S.linear[:, 0]
        terms = [LoadTerm(mu, L) for L in radial_loads(axis, self.length, 0.0)]
        if not is_zero(self.width):
            terms.append(LoadTerm(mu, _couple(axis, self.width)))
        return (FrictionLimit((0,), (1.0,), tuple(terms), mu * self.preload, self.stribeck),)


def _couple(axis: Array, width: float) -> Array:
    """Return the row L (1, 6) that maps a load to the normal forces which carry its moment about the unit `axis` (3,).

    The load is a wrench [force; torque] [N, N m]. Two equal normal forces at the distance `width` [m] carry the moment;
    L times the load is their sum [N].
    """
    return of_wrench(np.zeros((1, 3)), axis[None] * (2.0 / width))
