"""Conversion of MJCF actuators to drives.

An actuator can become a drive if its force is affine in control, length and rate, and its gear ratios are constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from linkwork.model.documents.mujoco_compiler import Compiled
from linkwork.spatial.scalar import Array

ROTATION = slice(3, 6)  # angular part of a free joint's gear vector


def drives_of(c: Compiled) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (name, arguments of `Builder.drive`) for every actuator of an MJCF model that can become a drive.

    `c` is the model that MuJoCo compiled.
    """
    affine, joints = _affine(c), c.names("joint")
    for k, name in enumerate(c.names("actuator")):
        ratios = {joints[j]: numbers for j, numbers in _ratios(c, k).items() if numbers.any()} if affine[k] else {}
        bias = _bias(c, k)
        has_length = all(len(numbers) == 1 for numbers in ratios.values())
        if ratios and (has_length or bias[1] == 0.0):
            yield name, {"ratios": ratios, "gain": c.actuator_gainprm[k, 0], "bias": bias} | _limits(c, k)


def _affine(c: Compiled) -> Array:
    """Return a boolean array (nactuator,): True for enabled actuators with a force affine in control, length and rate.

    Actuators with activation dynamics, a delay, a plugin, or several controls or outputs are excluded. `c` is the model
    that MuJoCo compiled.
    """
    plain = c.is_a(c.actuator_gaintype, "mjGAIN_FIXED")
    plain |= c.is_a(c.actuator_gaintype, "mjGAIN_AFFINE") & ~c.actuator_gainprm[:, 1:3].any(axis=1)
    plain &= c.is_a(c.actuator_biastype, "mjBIAS_NONE") | c.is_a(c.actuator_biastype, "mjBIAS_AFFINE")
    plain &= c.is_a(c.actuator_dyntype, "mjDYN_NONE") & (c.actuator_plugin < 0) & (c.actuator_delay == 0.0)
    plain &= (c.actuator_ctrlnum == 1) & (c.actuator_outnum == 1)
    off = (c.opt.disableactuator >> np.maximum(c.actuator_group, 0)) & 1
    return plain & (off == 0) & (not c.disabled("ACTUATION"))


def _ratios(c: Compiled, k: int) -> dict[int, Array]:
    """Return the gear ratios of actuator k as a dict from joint number to an array with one ratio per joint velocity.

    If the transmission has no constant ratios, the dict is empty or has ratios of zero; such an actuator cannot become
    a drive. `c` is the model that MuJoCo compiled.
    """
    on, gear = int(c.actuator_trnid[k, 0]), c.gear[k]
    in_parent = c.is_a(c.actuator_trntype[k], "mjTRN_JOINTINPARENT")
    found: dict[int, Array] = {}
    if in_parent or c.is_a(c.actuator_trntype[k], "mjTRN_JOINT"):
        found[on] = _of_joint(c, on, gear, bool(in_parent))
    elif c.is_a(c.actuator_trntype[k], "mjTRN_TENDON") and not c.tendon_actfrclimited[on]:
        wraps = range(c.tendon_adr[on], c.tendon_adr[on] + c.tendon_num[on])
        if not c.is_a(c.wrap_type[wraps], "mjWRAP_JOINT").all():
            return {}
        with np.errstate(over="ignore"):  # the Builder refuses infinite ratios
            for wrap in wraps:
                joint = int(c.wrap_objid[wrap])
                found[joint] = found.get(joint, np.zeros(1)) + gear[:1] * c.wrap_prm[wrap]
    return found


def _of_joint(c: Compiled, j: int, gear: Array, in_parent: bool) -> Array:
    """Return the gear ratios of an actuator on joint j, one per velocity of the joint; zero if they are not constant.

    `gear` (6,) is MuJoCo's gear vector of the actuator. For a free joint, the gear vector is in world axes for
    translation and in body axes for rotation; linkwork's velocities are all in body axes. If `in_parent` is true, the
    gear vector is in the axes of the parent; the ratios of a ball or free joint are then not constant. `c` is the model
    that MuJoCo compiled.
    """
    if c.is_a(c.jnt_type[j], "mjJNT_BALL"):
        return gear[:3] * (not in_parent)
    if c.is_a(c.jnt_type[j], "mjJNT_FREE"):
        turns = np.where(np.arange(6) < ROTATION.start, 0.0, gear)
        return turns * (not in_parent and not gear[: ROTATION.start].any())
    return gear[:1]


def _bias(c: Compiled, k: int) -> Array:
    return c.actuator_biasprm[k, :3] if c.is_a(c.actuator_biastype[k], "mjBIAS_AFFINE") else np.zeros(3)


def _limits(c: Compiled, k: int) -> dict[str, Any]:
    u = int(c.actuator_ctrladr[k])  # control of actuator k; others may have several controls
    clamped = c.actuator_ctrllimited[u] and not c.disabled("CLAMPCTRL")
    return {
        "control_limits": c.actuator_ctrlrange[u] if clamped else None,
        "force_limits": c.actuator_forcerange[k] if c.actuator_forcelimited[k] else None,
    }
