"""Limits of the friction forces of all joints, from the loads that the joints transmit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms.joint_friction.friction_sites import sites, slip_velocities
from linkwork.model.friction.friction_law import FrictionLimit
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Number, where
from linkwork.tolerances import TINY_SIZE


class ActiveLimit(NamedTuple):
    """One friction limit in one state: of one friction force, or of the norm of several friction forces of a joint.

    `numbers` are the numbers of these forces among all nf friction forces, and `site` is the number of the joint or
    loop among all sites. The limit [N m or N] for the load F (6,) of the joint and its friction force f is `constant`
    plus a sum over the `terms` (c, L, own): c |L F + own f|, with the friction coefficient c, the matrix L (k, 6) that
    selects load components, and the number `own`. `scales` has one factor for each force: a friction force is -scale
    times limit times the direction of slip.
    """

    site: int
    numbers: tuple[int, ...]
    scales: tuple[Number, ...]
    terms: tuple[tuple[Number, Array, Number], ...]
    constant: Number

    def value(self, load: Array, f: Array) -> Number:
        """Return the limit [N m or N] for the load (6,) of the joint and all friction forces f (nf,)."""
        return self.value_at(self.parts(load), f[self.numbers[0]])

    def parts(self, load: Array) -> list[Array]:
        """Return, for each term of the limit, the vector L F for the load F (6,); see the class for L."""
        return [L @ load for _, L, _ in self.terms]

    def value_at(self, parts: list[Array], f: Number) -> Number:
        """Return the limit [N m or N] for the friction force f and the result `parts` of `ActiveLimit.parts`."""
        sizes = [
            abs(x[0] + own * f) if len(x) == 1 else norm(x) for x, (_, _, own) in zip(parts, self.terms, strict=True)
        ]
        return sum((c * size for (c, _, _), size in zip(self.terms, sizes, strict=True)), self.constant)

    def linear(self, load: Array, f: Number) -> tuple[Array, Number, Number]:
        """Return the limit, linearized at the load (6,) and friction force f [N m or N], as three coefficients.

        The coefficients are a row (6,), a factor and a constant: for a load F and a friction force x near the given
        ones, the limit is row F + factor x + constant. The factor is nonzero only for limits of a single force.
        """
        row: Array = np.zeros(6)
        factor: Number = 0.0
        for c, L, own in self.terms:
            x = L @ load
            if len(x) == 1:
                side = sign(x[0] + own * f)
                row, factor = row + L[0] * (c * side), factor + own * c * side
            else:
                row = row + (x * (c / norm(x))) @ L
        return row, factor, self.constant

    def forces(self, limit: Number, directions: Array) -> list[Number]:
        """Return the friction forces [N m or N] of this limit if they are at the limit, opposite to the slip.

        `limit` [N m or N] is the value of the limit, and `directions` (nf,) are the directions of slip of all friction
        forces.
        """
        return [-(limit * scale * directions[n]) for n, scale in zip(self.numbers, self.scales, strict=True)]


def active_limits(mechanism: Mechanism, q: Array, slip: Array, at_rest: Array) -> tuple[ActiveLimit, ...]:
    """Return all friction limits of a mechanism at the position q (nq,), in the order of the sites.

    `slip` (nf,) are the slip velocities. `at_rest` (nf,) is 1 for friction forces whose static limit is required, 0 for
    forces whose limit at the slip velocity is required.
    """
    position, found = mechanism.tree_position(q), []
    for number, site in enumerate(sites(mechanism)):
        for limit in site.limits(site.subspace(position)):
            numbers = tuple(site.start + d for d in limit.velocities)
            mixed = _static_part(limit, slip[list(numbers)], at_rest[numbers[0]])
            terms = tuple((c.dynamic + (c.static - c.dynamic) * mixed, L, own) for c, L, own in limit.terms)
            constant = limit.constant.dynamic + (limit.constant.static - limit.constant.dynamic) * mixed
            found.append(ActiveLimit(number, numbers, limit.scales, terms, constant))
    return tuple(found)


def _static_part(limit: FrictionLimit, slip: Array, at_rest: Number) -> Number:
    """Return the weight of the static value in a friction limit: 1 at rest, and below 1 during slip.

    During slip, the weight is the value of the Stribeck curve at the slip velocities `slip` (k,) of the limit; without
    a Stribeck speed it is 0. `at_rest` is 1 at rest, else 0.
    """
    if limit.stribeck is None:
        return at_rest
    scaled = [x * scale for x, scale in zip(slip, limit.scales, strict=True)]
    square = sum(x * x for x in scaled) / (limit.stribeck * limit.stribeck)
    return at_rest + (1.0 - at_rest) * np.exp(-square)


def friction_limits(mechanism: Mechanism, q: Array, v: Array, loads: Array, f: Array, at_rest: Array) -> Array:
    """Return the value of each friction limit (n,) [N m or N], in the order of `active_limits`.

    `loads` (nsites, 6) [N, N m] are the wrenches of the parent on the child through each joint with friction, in the
    child's frame. For a loop, the load is the wrench of its first body on its second body, in the loop frame of the
    second body. These wrenches include the friction forces f (nf,). `at_rest` (nf,) is 1 for friction forces whose
    static limit is required, and 0 for forces whose limit at the velocities v (nv,) is required. q (nq,) [rad or m, or
    quaternions] are the coordinates.
    """
    limits = active_limits(mechanism, q, slip_velocities(mechanism, q, v), at_rest)
    return np.array([one.value(loads[one.site], f) for one in limits])


def sign(x: Number) -> Number:
    """Return 1 for numbers > 0, -1 for numbers < 0, and 0 for 0."""
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, 0.0))


def norm(x: Array) -> Number:
    """Return the length of a vector (k,); its derivative is zero, not NaN, at the zero vector."""
    return np.sqrt(sum(y * y for y in x) + TINY_SIZE)
