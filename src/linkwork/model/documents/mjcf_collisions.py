"""The pairs of geoms that MuJoCo lets collide, and the contact parameters that MuJoCo combines from the two geoms.

The rules are those of MuJoCo's `mj_collision` and `mj_contactParam`. Bodies without degrees of freedom are static.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from linkwork.model.documents.mujoco_compiler import Compiled
from linkwork.spatial.scalar import Array

TINY = 1e-15  # MuJoCo's constant mjMINVAL, the smallest denominator
BODY_BITS = 16  # bits per body number in the signature of a MuJoCo <exclude>, which has two body numbers
# Value of `Collision.pair` for geoms that can collide because of contype and conaffinity, without a <pair> element
DYNAMIC = -1


class Collision(NamedTuple):
    """Two geoms that can collide in MuJoCo, by their numbers `first` and `second`.

    `pair` is the number of the `<pair>` element that names both, or DYNAMIC if there is none.
    """

    first: int
    second: int
    pair: int


class ContactParameters(NamedTuple):
    """Parameters of the contact between two geoms, as MuJoCo combines them.

    `condim` is 1, 3, 4 or 6. `friction` (5,) has two sliding coefficients, one torsional coefficient [m] and two
    rolling coefficients [m]; `solref` (2,) and `solimp` (5,) are MuJoCo's parameters of soft contacts.
    `offsets` (2,) [m] are margin and gap.
    """

    condim: int
    friction: Array
    solref: Array
    solimp: Array
    offsets: Array


def static_geoms(c: Compiled) -> Array:
    """Return a boolean array (ngeom,): True for each geom whose body has no degrees of freedom.

    `c` is the model that MuJoCo compiled.
    """
    return (c.body_treeid < 0)[c.geom_bodyid]


class Partners(NamedTuple):
    """A geom, and the geoms `others` (k,) with higher numbers that it can collide with.

    `pairs` maps the number of another geom to the number of the `<pair>` that names both, if there is one.
    """

    geom: int
    others: Array
    pairs: dict[int, int]

    def collisions(self, which: Array) -> Iterator[Collision]:
        """Yield the collisions of the geom with the `others` that the boolean array `which` (k,) selects."""
        for other in self.others[which].tolist():
            yield Collision(self.geom, other, self.pairs.get(other, DYNAMIC))


def collisions(c: Compiled) -> Iterator[Partners]:
    """Yield the `Partners` of each geom: the geoms with higher numbers with which it can collide in MuJoCo.

    Geoms collide only if one of them can move. Geoms collide if `contype` of one and `conaffinity` of the other have a
    common bit, unless their bodies are welded together, excluded, or parent and child; the world does not count as a
    parent. A `<pair>` collides in any case. `c` is the model that MuJoCo compiled.
    """
    if c.disabled("CONTACT") or c.disabled("CONSTRAINT"):
        return
    static, body = static_geoms(c), c.geom_bodyid
    weld = c.body_weldid[body]  # MuJoCo's number of the group of welded bodies, per geom
    parent = c.body_weldid[c.body_parentid[weld]]
    excluded = set(c.exclude_signature.tolist())
    named = _named_pairs(c)
    collides = (c.geom_contype != 0) | (c.geom_conaffinity != 0)
    for g in range(c.ngeom):
        rest = slice(g + 1, None)
        bits = (c.geom_contype[g] & c.geom_conaffinity[rest]) | (c.geom_contype[rest] & c.geom_conaffinity[g])
        found = (bits != 0) if collides[g] else np.zeros(c.ngeom - g - 1, dtype=bool)
        if not c.disabled("FILTERPARENT"):
            related = (weld[g] == parent[rest]) | (weld[rest] == parent[g])
            found &= ~(related & (weld[g] != 0) & (weld[rest] != 0))
        if excluded:
            first, second = np.minimum(body[g], body[rest]), np.maximum(body[g], body[rest])
            found &= ~np.isin((first << BODY_BITS) + second, list(excluded))
        own = named.get(g, {})
        found[[other - g - 1 for other in own]] = True
        found &= (weld[g] != weld[rest]) & ~(static[g] & static[rest])
        if found.any():
            yield Partners(g, np.flatnonzero(found) + g + 1, own)


def _named_pairs(c: Compiled) -> dict[int, dict[int, int]]:
    """Return the numbers of the `<pair>` elements as nested dicts, whose keys are geom numbers.

    The smaller geom number of a pair is the key of the outer dict. `c` is the model that MuJoCo compiled.
    """
    named: dict[int, dict[int, int]] = {}
    for k, geoms in enumerate(zip(c.pair_geom1.tolist(), c.pair_geom2.tolist(), strict=True)):
        named.setdefault(min(geoms), {}).setdefault(max(geoms), k)
    return named


def contact_parameters(c: Compiled, at: Collision) -> ContactParameters:
    """Return the parameters of the contact of two geoms, as MuJoCo combines them.

    `at` has the two geoms. If a `<pair>` element names both, it sets all parameters. Else margin and gap are the larger
    of the two geoms' values, and other parameters are those of the geom with the higher `priority`. If the priorities
    are equal, condim and each coefficient of friction are the larger values, and solimp is averaged with the weights
    `solmix`. So is solref if both have a positive time constant; else its entries are the smaller values. The flag
    OVERRIDE replaces all parameters except condim. `c` is the model that MuJoCo compiled.
    """
    a, b, pair = at
    if pair != DYNAMIC:
        offsets = np.array([c.pair_margin[pair], c.pair_gap[pair]])
        found = ContactParameters(
            int(c.pair_dim[pair]), c.pair_friction[pair], c.pair_solref[pair], c.pair_solimp[pair], offsets
        )
    else:
        offsets = np.array([max(c.geom_margin[a], c.geom_margin[b]), max(c.geom_gap[a], c.geom_gap[b])])
        if c.geom_priority[a] != c.geom_priority[b]:
            a = b = a if c.geom_priority[a] > c.geom_priority[b] else b
        slide, twist, roll = np.maximum(c.geom_friction[a], c.geom_friction[b])
        share = _share(float(c.geom_solmix[a]), float(c.geom_solmix[b]))
        first, second = c.geom_solref[a], c.geom_solref[b]
        mixed = share * first + (1.0 - share) * second
        solref = mixed if first[0] > 0.0 and second[0] > 0.0 else np.minimum(first, second)
        solimp = share * c.geom_solimp[a] + (1.0 - share) * c.geom_solimp[b]
        condim = max(int(c.geom_condim[a]), int(c.geom_condim[b]))
        found = ContactParameters(condim, np.array([slide, slide, twist, roll, roll]), solref, solimp, offsets)
    if c.enabled("OVERRIDE"):
        offsets = np.array([c.opt.o_margin, 0.0])
        found = found._replace(friction=c.opt.o_friction, solref=c.opt.o_solref, solimp=c.opt.o_solimp, offsets=offsets)
    return found


def _share(first: float, second: float) -> float:
    """Return the weight of the first of two geoms, from 0 to 1, for their `solmix` values `first` and `second`."""
    if first >= TINY and second >= TINY:
        return first / (first + second)
    return 0.5 if first < TINY and second < TINY else float(first >= TINY)
