"""Reader of MJCF files: passes the model that MuJoCo compiled to a Builder.

MuJoCo's compiler resolves defaults, includes, angles, frames and inertia from geometry. Coordinates have MuJoCo's
values: a joint's `ref` becomes part of its placement. In MuJoCo a body can have several joints with different anchors.
In linkwork every joint has its own child body, so massless bodies called `body/joint` are added between such joints,
and after a joint whose anchor is not the body's origin. MuJoCo's armature of a free joint acts on velocities in world
axes, linkwork's on velocities in body axes; a free joint with armature becomes three prismatic joints and a ball joint.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import ModelError, listed
from linkwork.model.builder import Builder
from linkwork.model.documents.base_reader import GROUND, LARGEST, Options, Reading
from linkwork.model.documents.mjcf_actuators import drives_of
from linkwork.model.documents.mjcf_contacts import ContactsRead, collision_count, contacts_of
from linkwork.model.documents.mjcf_geoms import geom_pose, kind_of_geom, pose, primitive
from linkwork.model.documents.mjcf_includes import MjcfText
from linkwork.model.documents.mjcf_springs import springs_of
from linkwork.model.documents.mjcf_unsupported import ACTUATORS, FEW, closes_loop, gap_faults
from linkwork.model.documents.mujoco_compiler import MOST_SAID, Compiled, compile_mjcf, unused
from linkwork.model.documents.overlap_warnings import depth_faults
from linkwork.model.documents.xml_parser import Element, shown
from linkwork.model.geometry import ROLES, Mesh, Role, Shape
from linkwork.model.joints import Ball, Free, JointKind, Prismatic, Revolute, Weld
from linkwork.model.model_definition_faults import Fault, errors_in
from linkwork.model.state_conversion import JOINT_LAYOUTS
from linkwork.spatial import Transform
from linkwork.spatial.rotation import matrix_from_quaternion
from linkwork.spatial.scalar import Array, congruence

KINDS: dict[str, Callable[[Array], JointKind]] = {
    "mjJNT_FREE": lambda _: Free(),
    "mjJNT_BALL": lambda _: Ball(),
    "mjJNT_HINGE": Revolute,
    "mjJNT_SLIDE": Prismatic,
}
SEEN_GROUPS = 3  # MuJoCo shows geoms of the groups 0, 1, 2
NUMBERS = {  # kind of MuJoCo object: its fields that must be finite
    "body": ("body_pos", "body_quat", "body_ipos", "body_iquat", "body_mass", "body_inertia"),
    "joint": ("jnt_pos", "jnt_axis", "jnt_range", "jnt_stiffness"),
    "geom": ("geom_pos", "geom_quat", "geom_size"),
    "site": ("site_pos", "site_quat"),
    "actuator": ("gear", "actuator_armature", "actuator_damping", "actuator_gainprm", "actuator_biasprm"),
    "equality": ("eq_data",),
    "tendon": ("tendon_stiffness", "tendon_damping", "tendon_lengthspring"),
}
TAGS = {  # kind of linkwork object: XML tags that define it
    "body": ("body",),
    "joint": ("joint", "freejoint"),
    "keyframe": ("key",),
    "loop": ("connect", "weld"),
    "equality": ("connect", "weld", "joint", "tendon"),
    "spring": ("spatial",),
    "tendon": ("spatial", "fixed"),
    "geom": ("geom",),
    "drive": ACTUATORS,
    "actuator": ACTUATORS,
}
GREY = (0.5, 0.5, 0.5, 1.0)  # MuJoCo's default colour of a geom, in place of which the material's colour is used
TORQUE_SCALE = 10  # index of the torque scale in the data of a weld
GROUND_HINT = "contacts='ground' adds the plane z = 0"
START = "qpos0"  # name of the keyframe with MuJoCo's reference position


def read_mjcf(root: Element, path: Path, file: str, options: Options) -> Reading:
    """Read an MJCF model from the parsed XML element `root` of the file at `path`; `file` is its name in messages.

    `options` are those of `load`.
    """
    if options.floating is not None:
        reason = "floating is for URDF only; in an MJCF, use <freejoint/> for a floating body"
        raise ModelError(reason, file=file)
    text = MjcfText(root, path, options.packages, ground=options.contacts == GROUND)
    return _MjcfReader(text, path.stem, options).read()


class JointPart(NamedTuple):
    """A linkwork joint that represents a MuJoCo joint, or a part of it if several linkwork joints are needed.

    `kind` is the kind of the linkwork joint. `q` and `v` are the slices of MuJoCo's coordinates and velocities that
    belong to it.
    """

    name: str
    kind: JointKind
    q: slice
    v: slice


class _MjcfReader:
    """Reader that adds the bodies, joints and elements of a model compiled by MuJoCo to a Builder."""

    def __init__(self, text: MjcfText, stem: str, options: Options):
        self.text, self.options = text, options
        self.compiled = c = compile_mjcf(text)
        _refuse_non_finite(c, text)
        gravity = c.gravity if options.gravity is None else options.gravity
        self.builder = Builder(text.root.attributes.get("model", "").strip() or stem, gravity)
        self.bodies, self.joints, self.geom_names = c.names("body"), c.names("joint"), c.names("geom")
        self.taken = set(self.bodies)  # names that frames cannot have: those of bodies and frames
        self.welds = set(self.joints)
        self.unseen: dict[str, list[str]] = {}  # unsupported objects by kind
        self.found: ContactsRead | None = None
        self.split: list[str] = []  # free joints that become several joints
        self.parts = [self.parts_of(j) for j in range(c.njnt)]

    def read(self) -> Reading:
        c = self.compiled
        faults = [self.placed(Fault(f"MuJoCo: {shown(note, MOST_SAID)}", severity="warning")) for note in c.notes]
        if self.split:
            reason = "free joints with armature or stiffness become three prismatic joints and a ball joint"
            reason = f"{reason}: {listed(self.split, FEW)}"
            faults.append(self.placed(Fault(reason, f"joint {self.split[0]!r}", severity="warning")))
        try:
            self.fill_builder()
        except ModelError as error:
            return Reading(None, [self.placed(Fault.of(error))])
        faults += self.collision_faults()
        unseen = (f"{kind} {listed(names, FEW)}" for kind, names in self.unseen.items() if names)
        faults += gap_faults(c, self.text, self.options, unseen)
        mechanism, found = self.builder.examine(strict=False, cycles=False)
        faults += map(self.placed, found)
        if mechanism and not errors_in(faults):
            faults += map(self.placed, depth_faults(mechanism))
        return Reading(mechanism, faults)

    def fill_builder(self) -> None:
        """Add all supported objects of the MJCF model to the Builder."""
        if self.options.contacts:
            self.found = contacts_of(self.compiled)
        for body in range(self.compiled.nbody):
            if body:
                self.body(body)
            self.geoms(body)
        self.sites()
        self.joint_equalities()
        self.body_equalities()
        self.tendons()
        self.actuators()
        self.keyframes()
        if self.found:
            self.contacts(self.found)

    def placed(self, fault: Fault) -> Fault:
        """Return a fault that the Builder reported, with file, line and name of the MJCF element that caused it."""
        kind, _, quoted = (fault.element or "").partition(" ")
        tags = TAGS.get(kind, ())
        at = self.text.find(*tags, name=quoted.strip("'"))
        element = str(at) if at is not self.text.root else fault.element
        return replace(fault, element=element, file=at.file, line=at.line)

    # --- bodies and joints ---

    def body(self, k: int) -> None:
        """Add body k of the MJCF model, and the chain of joints that connects it to its parent, to the Builder."""
        c, name = self.compiled, self.bodies[k]
        R = matrix_from_quaternion(c.body_iquat[k])
        self.builder.body(name, c.body_mass[k], c.body_ipos[k], congruence(R, np.diag(c.body_inertia[k])))
        parent = self.bodies[c.body_parentid[k]]
        # X is the pose of the body's frame, before the next joint moves, in the frame of the next joint's parent
        X = pose(c.body_pos[k], c.body_quat[k])
        joints = range(c.body_jntadr[k], c.body_jntadr[k] + c.body_jntnum[k])
        chain = [(j, part) for j in joints for part in self.parts[j]]
        for number, (j, part) in enumerate(chain, 1):
            free = c.is_a(c.jnt_type[j], "mjJNT_FREE")
            turns = isinstance(part.kind, (Revolute, Ball)) and not free
            anchor = np.array(c.jnt_pos[j]) if turns else np.zeros(3)
            at_body = number == len(chain) and not anchor.any()
            child = name if at_body else unused(f"{name}/{part.name}", self.taken)
            if not at_body:
                self.builder.body(child)
            place = Transform.identity() if free else X @ Transform(np.eye(3), anchor)
            self.joint(j, part, parent, child, place)
            parent, X = child, Transform(np.eye(3), -anchor)
        if parent != name:
            self.builder.joint(unused(f"{name}/weld", self.welds), Weld(), parent, name, X.p, rotation=X.R)

    def parts_of(self, j: int) -> list[JointPart]:
        """Return the linkwork joints that together represent MuJoCo's joint j."""
        c, name = self.compiled, self.joints[j]
        kind = next(make(c.jnt_axis[j]) for type_, make in KINDS.items() if c.is_a(c.jnt_type[j], type_))
        kinds = {name: kind}
        if isinstance(kind, Free) and (c.dof_armature[c.jnt_dofadr[j]] or c.jnt_stiffness[j]):
            ends = {"x": Prismatic((1, 0, 0)), "y": Prismatic((0, 1, 0)), "z": Prismatic((0, 0, 1)), "ball": Ball()}
            kinds = {unused(f"{name}/{end}", self.welds): kind for end, kind in ends.items()}
            self.split.append(name)
        q, v = int(c.jnt_qposadr[j]), int(c.jnt_dofadr[j])
        parts: list[JointPart] = []
        for name, kind in kinds.items():
            parts.append(JointPart(name, kind, slice(q, q + kind.nq), slice(v, v + kind.nv)))
            q, v = q + kind.nq, v + kind.nv
        return parts

    def joint(self, j: int, part: JointPart, parent: str, child: str, place: Transform) -> None:
        """Add the linkwork joint `part`, which represents MuJoCo's joint j (or a part of it), to the Builder.

        `parent` and `child` are body names. `place` is the pose of the joint in the parent's frame when MuJoCo's
        coordinate has its reference value `ref`.
        """
        c = self.compiled
        name, kind, q, v = part
        if kind.nq == 1 and not c.is_a(c.jnt_type[j], "mjJNT_FREE"):
            if not abs(c.qpos0[q][0]) < LARGEST:
                raise ModelError(f"ref must be finite; got {c.qpos0[q][0]}", f"joint {self.joints[j]!r}")
            place = place @ kind.transform(-c.qpos0[q])
        limited = c.jnt_limited[j] and kind.nq == 1 and not c.disabled("LIMIT") and not c.disabled("CONSTRAINT")
        force = np.abs(c.jnt_actfrcrange[j])
        own = c.actuators_of(j)
        gear = c.gear[own, 0] ** 2  # factor of actuator inertia and damping, reflected to the joint
        self.builder.joint(
            name,
            kind,
            parent,
            child,
            place.p,
            rotation=place.R,
            armature=c.dof_armature[v] + gear @ c.actuator_armature[own],
            damping=0.0 if c.disabled("DAMPER") else c.dof_damping[v] + gear @ c.actuator_damping[own],
            stiffness=0.0 if c.disabled("SPRING") else c.jnt_stiffness[j],
            rest=c.qpos_spring[q],
            friction=0.0 if c.disabled("FRICTIONLOSS") else c.dof_frictionloss[v],
            limits=tuple(c.jnt_range[j]) if limited else None,
            effort_limit=force.max() if c.jnt_actfrclimited[j] else np.inf,
        )

    # --- shapes, frames, couplings, keyframes ---

    def geoms(self, k: int) -> None:
        """Add the geoms of body k as shapes: visual if MuJoCo shows them, collision if they can collide."""
        c, names = self.compiled, self.geom_names
        solids = None if self.found is None else self.found.shapes
        for g in range(c.body_geomadr[k], c.body_geomadr[k] + c.body_geomnum[k]):
            shape, X = self.shape(g)
            if shape is None:
                self.unseen.setdefault(_geoms_of_kind(kind_of_geom(c, g)), []).append(names[g])
                continue
            touches = bool(c.geom_contype[g] or c.geom_conaffinity[g]) and solids is None
            for role, has_it in zip(ROLES, (c.geom_group[g] < SEEN_GROUPS, touches), strict=True):
                if has_it:
                    self.geometry(g, names[g], shape, X, role)
        own = {g: one for g, one in (solids or {}).items() if c.geom_bodyid[g] == k}
        for g, (name, shape) in own.items():
            self.geometry(g, name, shape, geom_pose(c, g), "collision")

    def geometry(self, g: int, name: str, shape: Shape, X: Transform, role: Role) -> None:
        """Add MuJoCo's geom g to its body as a shape called `name`, with the pose X in the body's frame.

        `role` is "visual" or "collision".
        """
        body, color = self.bodies[self.compiled.geom_bodyid[g]], self.color(g)
        self.builder.geometry(body, shape, X.p, rotation=X.R, role=role, color=color, name=name)

    def shape(self, g: int) -> tuple[Shape | None, Transform]:
        """Return the shape of MuJoCo's geom g, or None if it is not supported, and its pose in the body's frame."""
        c, X = self.compiled, geom_pose(self.compiled, g)
        if found := primitive(c, g):
            return found, X
        mesh = int(c.geom_dataid[g])
        path = c.mesh_file(mesh) if c.is_a(c.geom_type[g], "mjGEOM_MESH") else ""
        written = self.text.find("mesh", file=self.text.sources.get(path, path)) if path else self.text.root
        if not path or {"refpos", "refquat"} & set(written.attributes):  # MuJoCo does not store the original mesh pose
            return None, X
        shape = Mesh(self.text.sources.get(path, os.path.basename(path)), Path(path), c.mesh_scale[mesh])
        return shape, X @ pose(c.mesh_pos[mesh], c.mesh_quat[mesh]).inverse()

    def color(self, g: int) -> Array:
        """Return the colour (4,) (red, green, blue, opacity) of geom g, or of its material if that of g is GREY."""
        c, own = self.compiled, self.compiled.geom_rgba[g]
        material = int(c.geom_matid[g])
        return np.clip(c.mat_rgba[material] if material >= 0 and np.allclose(own, GREY) else own, 0.0, 1.0)

    def contacts(self, found: ContactsRead) -> None:
        """Add surfaces, point contacts and collisions of solids to the Builder.

        `found` are the contacts of the MJCF model.
        """
        for name, given in found.surfaces.items():
            self.builder.surface(name, **given)
        for name, given in found.touches:
            self.builder.touch(unused(name, self.welds), **given)
        for name, given in found.collisions:
            self.builder.collide(unused(name, self.welds), **given)
        self.unseen.pop(_geoms_of_kind("hfield"), None)
        if not (found.touches or found.collisions):
            found.left_out.insert(0, f"no geom of a moving body touches another geom ({GROUND_HINT})")

    def collision_faults(self) -> Iterator[Fault]:
        """Yield one warning about MuJoCo's contacts that the mechanism does not have; none if it has all of them."""
        if self.options.contacts is None:
            geoms, pairs = collision_count(self.compiled)
            number = "1 pair" if pairs == 1 else f"{pairs} pairs"
            reason = f"{geoms} geoms collide in MuJoCo ({number}), but no contacts are loaded"
            remedy = "load(path, contacts=True) loads the contacts; contacts=False loads none, without this warning"
            if pairs:
                yield self.placed(Fault(f"{reason}: bodies pass through each other", remedy=remedy, severity="warning"))
        if self.found and self.found.left_out:
            reason = f"contacts left out or approximated: {'; '.join(self.found.left_out)}"
            yield self.placed(Fault(reason, severity="warning"))

    def sites(self) -> None:
        """Add a named frame to the Builder for every MuJoCo site.

        If a body or another frame has the name of the site, the frame is called `name_site`.
        """
        c = self.compiled
        for k, name in enumerate(c.names("site")):
            free = name if name not in self.taken else f"{name}_site"
            X = pose(c.site_pos[k], c.site_quat[k])
            self.builder.frame(unused(free, self.taken), self.bodies[c.site_bodyid[k]], X.p, rotation=X.R)

    def joint_equalities(self) -> None:
        """Add MuJoCo's linear joint equality constraints as mimic joints: q1 - ref1 = a0 + a1 (q2 - ref2)."""
        c = self.compiled
        for k in range(c.neq if self.options.mimic else 0):
            first, second = int(c.eq_obj1id[k]), int(c.eq_obj2id[k])
            if c.is_a(c.eq_type[k], "mjEQ_JOINT") and c.held(k) and second >= 0 and not c.eq_data[k, 2:5].any():
                a0, a1 = map(float, c.eq_data[k, :2])
                ref1, ref2 = (float(c.qpos0[c.jnt_qposadr[j]]) for j in (first, second))
                self.builder.mimic(self.joints[first], self.joints[second], a1, ref1 + a0 - a1 * ref2)

    def body_equalities(self) -> None:
        """Add MuJoCo's equality constraints `connect` and `weld` as loop closures: ball joints and welds."""
        c, names = self.compiled, self.compiled.names("equality")
        for k in range(c.neq):
            if not (c.held(k) and closes_loop(c, k)):
                continue
            (a, at), (b, to) = self.constraint_frames(k)
            if c.body_weldid[a] == c.body_weldid[b]:
                self.unseen.setdefault("equalities within one body", []).append(names[k])
                continue
            # A weld with the torque scale 0 constrains a point only
            kind = Weld() if c.is_a(c.eq_type[k], "mjEQ_WELD") and c.eq_data[k, TORQUE_SCALE] else Ball()
            ends = self.bodies[a], self.bodies[b], at.p, to.p
            self.builder.close(names[k], kind, *ends, rotation=at.R, to_rotation=to.R)

    def constraint_frames(self, k: int) -> list[tuple[int, Transform]]:
        """Return the two bodies that the `connect` or `weld` constraint k connects, with its frame on each body.

        The result has one pair for each body: the number of the body, and the pose of the constraint frame in the frame
        of this body.
        """
        c, data = self.compiled, self.compiled.eq_data[k]
        ends = c.eq_obj1id[k], c.eq_obj2id[k]
        if c.is_a(c.eq_objtype[k], "mjOBJ_SITE"):
            return [(int(c.site_bodyid[site]), pose(c.site_pos[site], c.site_quat[site])) for site in ends]
        first, second = Transform(np.eye(3), np.array(data[:3])), Transform(np.eye(3), np.array(data[3:6]))
        if c.is_a(c.eq_type[k], "mjEQ_WELD"):  # data of a weld: the second body's point, then the relative pose
            first, second = pose(data[3:6], data[6:10]), first
        return [(int(ends[0]), first), (int(ends[1]), second)]

    def tendons(self) -> None:
        """Add a spring to the Builder for each tendon that acts as one.

        Underscores at the end of its name keep it distinct from joint names.
        """
        for name, given in springs_of(self.compiled):
            self.builder.spring(unused(name, self.welds), **given)

    def actuators(self) -> None:
        """Add a drive for each supported actuator; record the other actuators as unsupported."""
        drives = dict(drives_of(self.compiled))
        for name, given in drives.items():
            ratios: dict[str, Array] = {}
            for joint, numbers in given["ratios"].items():
                parts = self.parts[self.joints.index(joint)]
                first = parts[0].v.start
                ratios |= {part.name: numbers[part.v.start - first : part.v.stop - first] for part in parts}
            given["ratios"] = {joint: numbers for joint, numbers in ratios.items() if numbers.any()}
            self.builder.drive(name, **given)
        self.unseen["actuators"] = [name for name in self.compiled.names("actuator") if name not in drives]

    def keyframes(self) -> None:
        """Add the keyframes of the MJCF file, and MuJoCo's reference position as a further keyframe, to the Builder."""
        c, names = self.compiled, self.compiled.names("key")
        for name, q, v in zip(names, c.key_qpos, c.key_qvel, strict=True):
            self.builder.keyframe(name, *self.by_joint(q, v))
        if START not in names:
            self.builder.keyframe(START, *self.by_joint(c.qpos0, np.zeros(c.nv)))

    def by_joint(self, q: Any, v: Any) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return MuJoCo's q and v as two dicts from joint name to linkwork's coordinates and to its velocities.

        q (nq,) and v (nv,) have MuJoCo's layout. Joints at rest are left out of the second dict.
        """
        positions: dict[str, Array] = {}
        velocities: dict[str, Array] = {}
        for name, kind, at_q, at_v in (part for parts in self.parts for part in parts):
            positions[name] = np.array(q[at_q])
            if np.any(v[at_v]):
                velocities[name] = JOINT_LAYOUTS["mujoco"][type(kind)].read(positions[name], np.array(v[at_v]))[1]
        return positions, velocities


def _refuse_non_finite(c: Compiled, text: MjcfText) -> None:
    """Raise a ModelError if the MJCF model has numbers that are not finite, or so large that their products overflow.

    `c` is the model that MuJoCo compiled, and `text` the MJCF text with the lines of its elements.
    """
    if not (np.abs(c.gravity) < LARGEST).all():
        at = text.find("option", gravity="")
        raise ModelError(f"gravity must be finite; got {c.gravity.tolist()}", str(at), at.file, at.line)
    for kind, fields in NUMBERS.items():
        for field in fields:
            numbers = getattr(c, field)
            bad = np.argwhere(~(np.abs(numbers) < LARGEST))
            if len(bad):
                k = int(bad[0][0])
                name = c.names(kind)[k]
                at = text.find(*TAGS.get(kind, (kind,)), name=name)
                reason = f"{field.split('_')[-1]} of {kind} {name!r} must be finite, and less than {LARGEST:g}"
                raise ModelError(f"{reason}; got {numbers[k].tolist()}", str(at), at.file, at.line)


def _geoms_of_kind(kind: str) -> str:
    """Return the text of a warning about geoms of one MuJoCo type, such as "hfield".

    `kind` is the type.
    """
    return f"geoms that are {kind}s"
