"""Friction of ball joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.model.elements.element_key_definition import key
from linkwork.model.elements.key_types import not_negative
from linkwork.model.friction.friction_law import (
    FrictionLaw,
    FrictionLimit,
    LoadTerm,
    mu_key,
    mu_static_key,
    neutral_subspace,
    of_force,
    only_turns,
    required_length_key,
    stribeck_key,
    viscous_key,
)
from linkwork.model.joints import ClosingKind
from linkwork.spatial import Motion


@dataclass(frozen=True)
class Socket(FrictionLaw):
    """Friction law of a ball joint: a torque of magnitude mu radius (|F| + preload) against the angular velocity.

    F is the force through the joint. The law uses the lever `radius` for every rotation, although friction against
    rotation about the line of the force has a shorter lever.

    Parameters
    ----------
    mu : float
        Coefficient of dynamic friction, >= 0.
    radius : float, [m]
        Radius of the ball, > 0.
    mu_static : float, optional
        Coefficient of static friction, >= mu; by default `mu`.
    viscous : float, [N m s/rad], default 0
        Viscous friction. `Builder.build` adds it to the damping of the joint.
    preload : float, [N], default 0
        Force that is always present.
    stribeck : float, [rad/s], optional
        Slip speed at which the excess of static over dynamic friction has decayed to 37 %; by default, static friction
        acts at rest only.

    Examples
    --------
    >>> lw.Socket(mu=0.2, radius=0.01).mu
    0.2

    """

    mu: float = mu_key()
    radius: float = required_length_key("Radius of the ball")
    mu_static: float | None = mu_static_key()
    viscous: float = viscous_key()
    preload: float = key(not_negative("N"), "Force that is always present", default=0.0, parameter=True)
    stribeck: float | None = stribeck_key()

    def misfit(self, kind: ClosingKind, in_tree: bool) -> str | None:
        S = neutral_subspace(kind)
        return None if S is not None and only_turns(S) and S.linear.shape[1] == 3 else "ball joints"

    def limits(self, S: Motion) -> tuple[FrictionLimit, ...]:
        mu = self.sliding * self.radius
        term = LoadTerm(mu, of_force(np.eye(3)))
        return (FrictionLimit((0, 1, 2), (1.0, 1.0, 1.0), (term,), mu * self.preload, self.stribeck),)
