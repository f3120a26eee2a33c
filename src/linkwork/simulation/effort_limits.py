"""Clipping of the forces of controllers to the effort limits of joints (`clip_effort=True`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.user_functions import UserFunction
from linkwork.spatial.scalar import Array, Number, where
from linkwork.tolerances import HUGE


def effort_limits(m: Mechanism) -> Array:
    """Return the effort limits (nv,) [N m or N] of all joints; inf for joints without one."""
    return np.concatenate([np.zeros(0), *(joint.effort_limit for joint in m.leaders)])


def acting_effort_limits(m: Mechanism, clip_effort: object, *controllers: UserFunction | None) -> Array | None:
    """Return the effort limits (nv,) [N m or N] to which a run clips the forces of controllers; None if it clips no
    forces.

    `clip_effort` is the argument of `simulate`. The forces are not clipped if one of the `controllers` is
    `lw.feedback.drives`, because drives have force limits of their own.
    """
    if not isinstance(clip_effort, (bool, np.bool_)):
        raise LinkworkError(f"clip_effort must be True or False; got {clip_effort!r:.80}")
    limits = effort_limits(m)
    drives = any(one is not None and one.motors is not None for one in controllers)
    return limits if clip_effort and not drives and np.isfinite(limits).any() else None


def clipped_effort(force: Number, limit: float) -> Any:
    """Return a joint force [N m or N] clipped to [-limit, limit]. It is unchanged if the limit is infinite, or if the
    force is not finite.
    """
    if not np.isfinite(limit):
        return force
    near = where(force > limit, limit, where(force < -limit, -limit, force))
    return where(abs(force) <= HUGE, near, force)
