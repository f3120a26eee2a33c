"""Friction of bearings: journal bearings, thrust bearings, pairs of bearings, and sleeves that also slide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.model.elements.element_key_definition import key
from linkwork.model.elements.key_types import finite, not_negative
from linkwork.model.friction.friction_law import (
    FrictionLaw,
    FrictionLimit,
    LoadTerm,
    across,
    is_zero,
    length_key,
    mu_key,
    mu_static_key,
    neutral_subspace,
    of_force,
    of_wrench,
    only_turns,
    optional_length_key,
    required_length_key,
    steady,
    stribeck_key,
    viscous_key,
)
from linkwork.model.joints import ClosingKind
from linkwork.spatial import Motion
from linkwork.spatial.scalar import Array, cross, hat


@dataclass(frozen=True)
class Bearing(FrictionLaw):
    """Friction law of a bearing on a revolute or universal joint, under radial force, axial force and tilting moment.

    The friction torque is

        mu (radius (N + preload) + axial_radius |F_axial|) + rolling |F|

    with the bearing force F, its axial part F_axial and the radial load N. If `length` is 0, the bearing does not
    resist tilting moments, and N = |F_radial|. If `length` is positive, two bearings at this distance carry the tilting
    moment M about their centre as a couple, and N is the sum of their radial loads |F_radial / 2 + axis x M / length|
    and |F_radial / 2 - axis x M / length|. On a universal joint, such a torque acts about each of the two axes.

    Parameters
    ----------
    mu : float
        Coefficient of dynamic friction, >= 0.
    radius : float, [m]
        Radius of the journal: the lever arm of the friction that radial loads cause. It can be 0 only with an
        `axial_radius`, and without `length` and `preload`.
    axial_radius : float, [m], default 0
        Mean radius of the collar: the lever arm of the friction that axial loads cause; 0 for no such friction.
    mu_static : float, optional
        Coefficient of static friction, >= mu; by default `mu`.
    viscous : float, [N m s/rad], default 0
        Viscous friction. `Builder.build` adds it to the damping of the joint.
    rolling : float, [m], default 0
        Lever arm of rolling resistance: friction torque divided by the magnitude of the bearing force.
    preload : float, [N], default 0
        Radial load that is always present, for example that of seals.
    length : float, [m], default 0
        Distance between the two bearings that carry tilting moments.
    center : float, [m], default 0
        Position of the middle between the two bearings on the joint axis, from the origin of the child's frame.
    stribeck : float, [rad/s], optional
        Slip speed at which the excess of static over dynamic friction has decayed to 37 %; by default, static friction
        acts at rest only.

    Examples
    --------
    >>> b = lw.Builder().body("bob", 2.0, com=(0, 0, -0.5))
    >>> b = b.joint("pin", lw.Revolute((0, 1, 0)), "world", "bob", friction=lw.Bearing(mu=0.1, radius=0.02))
    >>> b.build().parameters["pin.mu"].item()
    0.1

    """

    mu: float = mu_key()
    radius: float = length_key("Radius of the journal")
    axial_radius: float = length_key("Mean radius of the collar that carries the axial force", default=0.0)
    mu_static: float | None = mu_static_key()
    viscous: float = viscous_key()
    rolling: float = length_key("Lever of rolling resistance: torque divided by the bearing force", default=0.0)
    preload: float = key(not_negative("N"), "Radial load that is always present", default=0.0, parameter=True)
    length: float = optional_length_key("Distance between two bearings that carry tilting moments")
    center: float = key(
        finite("m"), "Position of the middle between the two bearings on the joint axis", default=0.0, parameter=True
    )
    stribeck: float | None = stribeck_key()

    def require_consistent(self) -> None:
        super().require_consistent()
        if self.radius == 0.0 and (self.length > 0.0 or self.preload > 0.0 or self.axial_radius == 0.0):
            what = "a bearing with length" if self.length else "a bearing with preload" if self.preload else "a journal"
            raise self.error(f"radius must be > 0 for {what}; got 0")

    def misfit(self, kind: ClosingKind, in_tree: bool) -> str | None:
        S = neutral_subspace(kind)
        fits = S is not None and only_turns(S) and S.linear.shape[1] in (1, 2)
        if fits and S is not None and S.linear.shape[1] == 2 and (self.length or not in_tree):
            return "revolute joints, if it has a length or closes a loop"
        return None if fits else "revolute and universal joints"

    def limits(self, S: Motion) -> tuple[FrictionLimit, ...]:
        return tuple(self._limit(d, S.angular[:, d]) for d in range(S.angular.shape[1]))

    def _limit(self, d: int, axis: Array) -> FrictionLimit:
        """Return the friction limit [N m] of the joint's velocity with index d, a rotation about a unit `axis` (3,)."""
        mu, whole = self.sliding, np.eye(3)
        terms = [LoadTerm(mu * self.radius, L) for L in radial_loads(axis, self.length, self.center)]
        if not is_zero(self.axial_radius):
            terms.append(LoadTerm(mu * self.axial_radius, of_force(axis[None])))
        if not is_zero(self.rolling):
            terms.append(LoadTerm(steady(self.rolling), of_force(whole)))
        return FrictionLimit((d,), (1.0,), tuple(terms), mu * (self.radius * self.preload), self.stribeck)


@dataclass(frozen=True)
class Sleeve(FrictionLaw):
    """Friction law of a sleeve on a cylindrical joint, which turns and slides on its axis.

    The friction force has the magnitude mu (N + preload) and is opposite to the slip velocity at the radius: sliding
    velocity along the axis, and radius times angular velocity around it. N is the radial load; see `Bearing` for N with
    a `length`.

    Parameters
    ----------
    mu : float
        Coefficient of dynamic friction, >= 0.
    radius : float, [m]
        Radius of the shaft.
    length : float, [m], default 0
        Distance between the two ends of the sleeve, which carry tilting moments; 0 for no friction from these moments.
    mu_static : float, optional
        Coefficient of static friction, >= mu; by default `mu`.
    preload : float, [N], default 0
        Radial load that is always present.
    stribeck : float, [m/s], optional
        Slip speed at which the excess of static over dynamic friction has decayed to 37 %; by default, static friction
        acts at rest only.

    Examples
    --------
    >>> lw.Sleeve(mu=0.1, radius=0.01).radius
    0.01

    """

    mu: float = mu_key()
    radius: float = required_length_key("Radius of the shaft")
    length: float = optional_length_key("Distance between the two ends of the sleeve")
    mu_static: float | None = mu_static_key()
    preload: float = key(not_negative("N"), "Radial load that is always present", default=0.0, parameter=True)
    stribeck: float | None = stribeck_key()

    def misfit(self, kind: ClosingKind, in_tree: bool) -> str | None:
        S = neutral_subspace(kind)
        fits = S is not None and S.linear.shape[1] == 2 and not (np.any(S.angular[:, 0]) or np.any(S.linear[:, 1]))
        fits = fits and S is not None and not np.any(cross(S.linear[:, 0], S.angular[:, 1]))
        return None if fits else "cylindrical joints"

    def limits(self, S: Motion) -> tuple[FrictionLimit, ...]:
        mu = self.sliding
        terms = tuple(LoadTerm(mu, L) for L in radial_loads(S.linear[:, 0], self.length, 0.0))
        return (FrictionLimit((0, 1), (1.0, self.radius), terms, mu * self.preload, self.stribeck),)


def radial_loads(axis: Array, length: float, center: float) -> tuple[Array, ...]:
    """Return a matrix (k, 6) for each bearing; it maps the joint's load [N, N m] to the bearing's radial force [N].

    The load is a wrench [force; torque] about the origin. Two bearings have the distance `length` [m] from each other
    on the unit vector `axis` (3,) through the origin; the middle between them is at `center` [m]. If `length` is 0,
    there is one bearing. The radial force has k = 2 components normal to the axis, or k = 3 for a traced axis.
    """
    radial = across(axis)
    if is_zero(length):
        return (of_force(radial),)
    # Tilting moment about the middle: M - center axis x F; its couple has the force axis x M / length at one end
    turn = hat(axis)
    ends = ((1.0 / length), (-1.0 / length))
    return tuple(of_wrench(radial @ (np.eye(3) * 0.5 - turn @ turn * (center * s)), radial @ turn * s) for s in ends)
