"""Conversion of MJCF spatial tendons to springs, if they are straight lines between two sites with one rest length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linkwork.model.documents.mujoco_compiler import Compiled


def springs_of(c: Compiled) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (tendon name, arguments of `Builder.spring`) for every MJCF tendon that can become a spring or damper.

    `c` is the model that MuJoCo compiled.
    """
    bodies = c.names("body")
    for k, name in enumerate(c.names("tendon")):
        numbers = {
            "stiffness": 0.0 if c.disabled("SPRING") else float(c.tendon_stiffness[k]),
            "damping": 0.0 if c.disabled("DAMPER") else float(c.tendon_damping[k]),
        }
        ends = c.wrap_objid[c.tendon_adr[k] : c.tendon_adr[k] + c.tendon_num[k]]
        if any(numbers.values()) and _is_plain(c, k):
            a, b = (int(c.site_bodyid[site]) for site in ends)
            if c.body_weldid[a] != c.body_weldid[b]:
                at, to = (c.site_pos[site] for site in ends)
                length = float(c.tendon_lengthspring[k, 0])
                yield name, {"a": bodies[a], "b": bodies[b], "at": at, "to": to, **numbers, "length": length}


def _is_plain(c: Compiled, k: int) -> bool:
    """Return whether tendon k is a linear spring and damper without slack, inertia, friction or limits.

    It must be a straight line between two sites.

    `c` is the model that MuJoCo compiled.
    """
    wraps = c.wrap_type[c.tendon_adr[k] : c.tendon_adr[k] + c.tendon_num[k]]
    lower, upper = c.tendon_lengthspring[k]
    more = c.tendon_armature[k] or c.tendon_frictionloss[k] or c.tendon_limited[k]
    bent = c.tendon_stiffnesspoly[k].any() or c.tendon_dampingpoly[k].any()
    straight = len(wraps) == 2 and c.is_a(wraps, "mjWRAP_SITE").all()
    return bool(straight and lower == upper and not more and not bent)
