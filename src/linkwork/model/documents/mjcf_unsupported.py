"""MJCF features that linkwork does not support: an error if the motion would change without them, else a warning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from linkwork.errors import listed
from linkwork.model.documents.base_reader import Options
from linkwork.model.documents.mjcf_includes import MjcfText
from linkwork.model.documents.mjcf_springs import springs_of
from linkwork.model.documents.mujoco_compiler import Compiled
from linkwork.model.model_definition_faults import Fault
from linkwork.spatial.scalar import Array

FEW = 5  # largest number of names of one kind in a message
LISTED = {
    "tendon": "tendons",
    "sensor": "sensors",
    "camera": "cameras",
}
# XML tags that are ignored unless contacts are loaded
COLLIDING = {"pair": "contact pairs", "exclude": "contact exclusions"}
ACTUATORS = (
    *("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "dcmotor", "adhesion"),
    *("muscle", "pid", "orientation"),
)
COUPLING = "mimic=False leaves such joints independent"


def gap_faults(c: Compiled, text: MjcfText, options: Options, unseen: Iterable[str]) -> Iterator[Fault]:
    """Yield an error for each unsupported MJCF feature that affects accelerations, and one warning for all others.

    `unseen` has texts on features that the reader has already ignored. `c` is the model that MuJoCo compiled; `options`
    are those of `load`. `text` is the MJCF text with the lines of its elements.
    """
    mimic = options.mimic
    for reason, remedy, tags, attributes in (*_forces(c), *_constraints(c, mimic)) if c.nv else ():
        at = text.find(*tags, **attributes)
        yield Fault(reason, str(at), remedy, "error", at.file, at.line)
    found = [*_left_out(c, options), *unseen]
    if found:
        reason = f"ignored, because not supported: {'; '.join(found)}"
        yield Fault(reason, str(text.root), "", "warning", text.root.file, text.root.line)


# Reason, remedy; XML tags and attributes that identify the element
UnsupportedFeature = tuple[str, str, tuple[str, ...], dict[str, str]]


def _forces(c: Compiled) -> Iterator[UnsupportedFeature]:
    """Yield each unsupported force on bodies or joints of an MJCF model as (reason, remedy, XML tags, XML attributes).

    The first element of the MJCF text with one of these tags and all attributes has the force; the value "" matches any
    value. `c` is the model that MuJoCo compiled.
    """
    if c.opt.density or c.opt.viscosity:
        key, fluid = "density" if c.opt.density else "viscosity", f"{c.opt.density:g} kg/m^3, {c.opt.viscosity:g} Pa s"
        reason = f"fluid forces ({fluid}) are not supported"
        yield reason, f"remove {key}", ("option",), {key: ""}
    springs, dampers = not c.disabled("SPRING"), not c.disabled("DAMPER")
    curved = springs & (c.jnt_stiffnesspoly.any(axis=1) | (c.jnt_springyield != 0.0))
    curved[c.dof_jntid[dampers & c.dof_dampingpoly.any(axis=1)]] = True
    tendons = (
        (c.tendon_armature != 0.0)
        | springs & ((c.tendon_stiffness != 0.0) | c.tendon_stiffnesspoly.any(axis=1))
        | dampers & ((c.tendon_damping != 0.0) | c.tendon_dampingpoly.any(axis=1))
    )
    tendons &= ~np.isin(c.names("tendon"), list(dict(springs_of(c))))
    muscles = c.is_a(c.actuator_gaintype, "mjGAIN_MUSCLE") | c.is_a(c.actuator_biastype, "mjBIAS_MUSCLE")
    direct = np.any([c.actuators_of(j) for j in range(c.njnt)], axis=0)
    loads = ~direct & ((c.actuator_armature != 0.0) | dampers & (c.actuator_damping != 0.0))
    loads |= dampers & c.actuator_dampingpoly.any(axis=1)
    for kind, which, reason, remedy, tags in (
        ("body", (c.body_gravcomp != 0.0) & c.gravity.any(), "gravity compensation", "remove gravcomp", ("body",)),
        ("body", c.body_plugin >= 0, "a plugin", "remove the plugin", ("body",)),
        ("joint", curved, "a nonlinear or yielding spring or damper", "make it linear", ("joint",)),
        ("tendon", tendons, "stiffness, damping or armature of a tendon", "remove it", ("spatial", "fixed")),
        ("actuator", muscles, "a muscle", "remove it", ("muscle", "general")),
        (
            "actuator",
            loads,
            "armature or damping of an actuator that does not drive a single joint",
            "remove it",
            ACTUATORS,
        ),
    ):
        if which.any():
            names = c.names(kind)
            reason = f"{kind} {_first_names(names, which)}: {reason} is not supported"
            yield reason, remedy, tags, {"name": names[int(np.argmax(which))]}


def _constraints(c: Compiled, mimic: bool) -> Iterator[UnsupportedFeature]:
    """Yield each unsupported equality constraint as (reason, remedy, XML tags, XML attributes).

    Constraints with the same reason are listed together; tags and attributes identify the first XML element of their
    kind. Loop closures and linear joint couplings are supported. If `mimic`, the option of `load`, is false, couplings
    of joints are not listed, since they are left out on purpose. `c` is the model that MuJoCo compiled.
    """
    found: dict[tuple[str, str, str, str], list[str]] = {}  # (reason, remedy, tag, attribute): names of constraints
    for k, name in enumerate(c.names("equality")):
        if not c.held(k) or closes_loop(c, k):
            continue
        if c.is_a(c.eq_type[k], "mjEQ_JOINT"):
            if not mimic or (c.eq_obj2id[k] >= 0 and not c.eq_data[k, 2:5].any()):
                continue
            key = "polycoef" if c.eq_data[k].any() else "joint1"
            gap = "not a linear coupling of two joints", COUPLING, "joint", key
        elif c.is_a(c.eq_type[k], "mjEQ_TENDON") and _couples_joints(c, k):
            if not mimic:
                continue
            gap = "a coupling of joints by tendons is not supported", COUPLING, "tendon", "tendon1"
        else:
            kind = c.mujoco.mjtEq(int(c.eq_type[k])).name.removeprefix("mjEQ_").lower()
            gap = f"a {kind} constraint is not supported", "remove it", kind, ""
        found.setdefault(gap, []).append(name)
    for (reason, remedy, tag, key), names in found.items():
        yield f"equality {listed(names, FEW)}: {reason}", remedy, (tag,), {key: ""} if key else {}


def closes_loop(c: Compiled, k: int) -> bool:
    """Return whether MuJoCo's equality constraint k is a `connect` or `weld` constraint between two bodies.

    `c` is the model that MuJoCo compiled.
    """
    return bool(c.is_a(c.eq_type[k], "mjEQ_CONNECT") or c.is_a(c.eq_type[k], "mjEQ_WELD"))


def _couples_joints(c: Compiled, k: int) -> bool:
    """Return whether all tendons of the MJCF equality constraint k are weighted sums of joint positions.

    `c` is the model that MuJoCo compiled.
    """
    tendons = [int(t) for t in (c.eq_obj1id[k], c.eq_obj2id[k]) if t >= 0]
    wraps = [c.wrap_type[c.tendon_adr[t] : c.tendon_adr[t] + c.tendon_num[t]] for t in tendons]
    return all(c.is_a(wrap, "mjWRAP_JOINT").all() for wrap in wraps)


def _left_out(c: Compiled, options: Options) -> Iterator[str]:
    """Yield a text for each ignored MJCF feature that does not affect the passive motion, with a few names of objects.

    `c` is the model that MuJoCo compiled; see `load` for `options`.
    """
    mimic = options.mimic
    placed = {"tendon": dict(springs_of(c))}
    for kind, words in (LISTED if options.contacts else LISTED | COLLIDING).items():
        if names := [name for name in c.names(kind) if name not in placed.get(kind, {})]:
            yield f"{words} {listed(names, FEW)}"
    bodies, joints, equalities = c.names("body"), c.names("joint"), c.names("equality")
    coupled = c.is_a(c.eq_type, "mjEQ_JOINT") | c.is_a(c.eq_type, "mjEQ_TENDON")
    active = c.eq_active0.astype(bool)
    lopsided = (c.jnt_actfrclimited != 0) & (c.jnt_actfrcrange[:, 0] != -c.jnt_actfrcrange[:, 1])
    for names, which, words in (
        (bodies, c.body_mocapid >= 0, "the motion of mocap bodies, which are fixed at their written pose:"),
        (joints, c.is_a(c.jnt_type, "mjJNT_BALL") & (c.jnt_limited != 0), "limits of ball joints"),
        (joints, lopsided, "the smaller side of an asymmetric actuatorfrcrange of joints"),
        (equalities, ~active, "inactive equalities"),
        (equalities, coupled & active & (not mimic), "because of mimic=False, couplings"),
    ):
        if which.any():
            yield f"{words} {_first_names(names, which)}"
    if c.nkey and (c.key_act.any() or c.key_ctrl.any()):
        yield "activations and controls of keyframes"


def _first_names(names: list[str], which: Array) -> str:
    """Return the first few of the `names` that the boolean array `which` selects, as text for a message."""
    return listed([name for name, yes in zip(names, which, strict=True) if yes], FEW)
