"""Reader of URDF files: passes elements to a Builder, and records every fault with its line.

Reading does not stop at a fault. An invalid object is recorded and replaced by a valid placeholder, so that one pass
finds every fault once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import unknown_name
from linkwork.model.bodies import INERTIA_ORDER, inertia_matrix
from linkwork.model.builder import ZERO, Builder
from linkwork.model.documents.base_reader import (
    GROUND,
    LARGEST,
    LONGEST_NAME,
    STANDARD_GRAVITY,
    Options,
    Reader,
    Reading,
)
from linkwork.model.documents.mesh_paths import MeshPaths
from linkwork.model.documents.urdf_contacts import CollisionShape, add_ground_contacts, can_move
from linkwork.model.documents.urdf_solid_contacts import add_link_contacts
from linkwork.model.documents.xml_parser import Element, shown
from linkwork.model.geometry import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from linkwork.model.joints import Ball, Free, JointKind, Planar, Prismatic, Revolute, Weld
from linkwork.model.model_definition_faults import Fault
from linkwork.spatial import Transform
from linkwork.spatial.rotation import matrix_from_rpy
from linkwork.spatial.scalar import congruence
from linkwork.spatial.transform import snap

KINDS: dict[str, Callable[..., JointKind]] = {
    "fixed": Weld,
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "planar": Planar,
    "floating": Free,
    "spherical": Ball,  # not part of URDF, but supported by Bullet
}
WITH_AXIS = ("revolute", "continuous", "prismatic", "planar")
WITH_RANGE = ("revolute", "prismatic")
WITH_LIMIT = (*WITH_RANGE, "continuous")
DEFAULT_AXIS = (1.0, 0.0, 0.0)
ROOT_JOINT = "root_joint"  # name of the joint between the world and the root link, as in Pinocchio

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class Inertial(NamedTuple):
    """Mass, centre of mass and inertia of a URDF link as arguments of `Builder.body`, in the link's axes."""

    mass: float = 0.0
    com: Any = ZERO
    inertia: Any = ZERO


STAND_IN = Inertial(1.0, ZERO, (1.0, 1.0, 1.0))  # placeholder for an invalid <inertial>


def read_urdf(root: Element, path: Path, file: str, options: Options) -> Reading:
    """Read a URDF model from the parsed XML element `root` of the file at `path`; `file` is its name in messages.

    `options` are those of `load`.
    """
    return _UrdfReader(root, path, file, options).read()


class _UrdfReader(Reader):
    """Reader of one URDF file. Each method reads one kind of XML element and records its faults."""

    def __init__(self, root: Element, path: Path, file: str, options: Options):
        super().__init__(file)
        self.root, self.options = root, options
        self.places: dict[str | None, Element] = {}  # label of a body or joint: XML element
        self.meshes = MeshPaths(path, options.packages)
        self.link_nodes: dict[str, Element] = {}
        self.link_names = {link.attributes.get("name") for link in root.all("link")}
        self.child_names = {
            child.attributes.get("link") for joint in root.all("joint") for child in joint.all("child")[:1]
        }
        self.colors: dict[str, list[float] | None] = {}
        self.collisions: list[CollisionShape] = []
        self.parents: dict[str, tuple[str, bool]] = {}  # child link: parent link, and whether the joint is fixed
        self.mass = 0.0  # [kg] mass of all links
        gravity = STANDARD_GRAVITY if options.gravity is None else options.gravity
        self.builder = Builder(self.robot_name(path.stem.removesuffix(".urdf")), gravity)

    def fill_builder(self) -> None:
        """Add all links, joints and shapes of the URDF file to the Builder."""
        for child in self.root.children:
            if child.tag.startswith("xacro:"):
                self.error(child, "this is a xacro element that is not expanded", "run: xacro FILE > robot.urdf")
        self.materials()
        for link in self.root.all("link"):
            self.link(link)
        for joint in self.root.all("joint"):
            self.joint(joint)
        self.join_roots()
        for reason, remedy in self.meshes.warnings():
            self.warning(self.root, reason, remedy)
        if self.options.contacts and not self.errors:
            self.contacts()

    def contacts(self) -> None:
        """Add contacts of the collision shapes to the Builder: with the plane z = 0, or with each other."""
        shapes, add = self.collisions, add_link_contacts
        if self.options.contacts == GROUND:
            add, floating = add_ground_contacts, bool(self.options.floating)
            shapes = [one for one in shapes if can_move(one.link, self.parents, floating)]
        names = {joint.attributes.get("name", "") for joint in self.root.all("joint")} | {ROOT_JOINT}
        left_out = self.recording_faults(self.root, lambda: add(self.builder, shapes, self.mass, names), stand_in=[])
        if left_out:
            self.warning(self.root, f"contacts left out or approximated: {'; '.join(left_out)}")

    # --- faults ---

    def placed(self, fault: Fault) -> Fault:
        """Return a fault that the Builder reported, completed with file, line and name of the faulty XML element."""
        place = self.places.get(fault.element, self.root)
        return replace(fault, element=str(place), file=self.file, line=place.line)

    # --- attributes and children ---

    def only(self, at: Element, tag: str) -> Element | None:
        """Return the child with the tag `tag` of the XML element `at`, or None; record an error if several differ."""
        found = at.all(tag)
        if len(found) > 1:
            if all(one.attributes == found[0].attributes and not one.children for one in found):
                self.warning(found[1], f"there is more than one <{tag}>, all equal; the first is used")
            else:
                self.error(found[1], f"there is more than one <{tag}>", "remove all but one")
        return found[0] if found else None

    def required(self, at: Element, tag: str) -> Element | None:
        """Return the only child of the XML element `at` with the tag `tag`; record an error if it is missing."""
        found = self.only(at, tag)
        if found is None:
            self.error(at, f"<{tag}> is missing", f"add <{tag} .../>")
        return found

    def attribute(self, at: Element | None, key: str) -> str | None:
        """Return the name in the attribute `key` of the XML element `at`; record an error if it is missing or empty."""
        if at is None:
            return None
        text = at.attributes.get(key)
        if text is None or not text.strip():
            self.error(at, f"attribute {key} is {'missing' if text is None else 'empty'}", f'give {key}="..."')
            return None
        if len(text) > LONGEST_NAME:
            self.error(at, f"attribute {key} must have at most {LONGEST_NAME} characters; got {len(text)}")
            return None
        return text

    def numbers(self, at: Element | None, key: str, count: int, default: Any = None) -> list[float]:
        """Return `count` finite numbers from the attribute `key` of the XML element `at`; record an error if invalid.

        A missing attribute without a `default` is an error.
        """
        stand_in = list(default) if default is not None else [0.0] * count
        if at is None:
            return stand_in
        text = at.attributes.get(key)
        if text is None:
            if default is None:
                wanted = "a number" if count == 1 else f"{count} numbers"
                self.error(at, f"attribute {key} is missing", f"give {key} as {wanted}")
            return stand_in
        words = text.split()
        found = [float(word) if len(word) < 500 and NUMBER.fullmatch(word) else np.nan for word in words[: count + 1]]
        wrong = [word for word, x in zip(words, found, strict=False) if not abs(x) < LARGEST]
        if wrong or len(words) != count:
            wanted = "one finite number" if count == 1 else f"{count} finite numbers separated by spaces"
            which = f", where {shown(wrong[0])!r} is not a valid number" if wrong and count > 1 else ""
            hint = ""
            if "$" in text:
                hint = "this is a xacro expression that is not expanded; run: xacro FILE > robot.urdf"
            elif len(words) > 1 and any(word.endswith(",") for word in wrong):
                hint = "separate numbers by spaces, not by commas"
            elif any("," in word for word in wrong):
                hint = "use a decimal point, not a comma"
            elif any(abs(x) < np.inf for x in found if not abs(x) < LARGEST):
                hint = f"magnitudes must be below {LARGEST:g}"
            self.error(at, f"{key} must be {wanted}; got {shown(text)!r}{which}", hint)
            return stand_in
        return found

    def number(self, at: Element | None, key: str, default: float | None = None) -> float:
        return self.numbers(at, key, 1, None if default is None else [default])[0]

    def origin(self, at: Element) -> dict[str, list[float]]:
        """Return the <origin> of an XML element as the Builder's arguments `at` [m] and `rpy` [rad]."""
        node = self.only(at, "origin")
        return {"at": self.numbers(node, "xyz", 3, ZERO), "rpy": self.numbers(node, "rpy", 3, ZERO)}

    # --- the robot ---

    def robot_name(self, otherwise: str) -> str:
        name = self.root.attributes.get("name", "").strip()
        if not name:
            self.warning(self.root, f"the robot has no name; the name of the file, {shown(otherwise)!r}, is used")
        if not self.root.all("link"):
            self.error(self.root, "there is no <link>", "a robot must have at least one link")
        return name or otherwise

    def materials(self) -> None:
        """Collect the colours of named materials of the robot and its links; the first definition of a name is used."""
        visuals = [visual for link in self.root.all("link") for visual in link.all("visual")]
        for owner in (self.root, *visuals):
            for material in owner.all("material"):
                color = self.only(material, "color")
                if color is not None and material.attributes.get("name"):
                    self.colors.setdefault(material.attributes["name"], self.color(color))

    def color(self, node: Element) -> list[float]:
        """Return the colour of the URDF material `node`: red, green, blue and opacity, each from 0 to 1."""
        rgba = self.numbers(node, "rgba", 4)
        if not all(0.0 <= x <= 1.0 for x in rgba):
            self.error(node, f"rgba must be four numbers from 0 to 1; got {rgba}")
        return np.clip(rgba, 0.0, 1.0).tolist()

    # --- links ---

    def name_of(self, link: str) -> str:
        """Return the name that a URDF link has in the Builder.

        A fixed root link "world" is the world; any other link "world" is renamed.
        """
        return "world_link" if link == "world" and (self.options.floating or link in self.child_names) else link

    def link(self, node: Element) -> None:
        written = self.attribute(node, "name")
        if written is None:
            return
        self.link_nodes.setdefault(written, node)
        name = self.name_of(written)
        if name != written:
            self.warning(node, f"the link is renamed to {name!r}, because 'world' is the name of the fixed world")
        before = self.errors
        inertial = self.inertial(node)
        if self.errors > before:
            inertial = STAND_IN
        self.mass += inertial.mass
        # The Builder already has a world, to which one link "world" corresponds; a second one is an error
        if name != "world" or "body 'world'" in self.places:
            self.recording_faults(node, lambda: self.builder.body(name, *inertial))
        self.places.setdefault(f"body {name!r}", node)
        for role in ("visual", "collision"):
            for shape in node.all(role):
                self.geometry(shape, name, role)

    def inertial(self, link: Element) -> Inertial:
        node = self.only(link, "inertial")
        if node is None:
            return Inertial()
        origin = self.origin(node)
        mass = self.number(self.required(node, "mass"), "value")
        moments = self.required(node, "inertia")
        six = np.array([self.number(moments, key) for key in INERTIA_ORDER])
        R = snap(matrix_from_rpy(*origin["rpy"]))
        return Inertial(mass, origin["at"], congruence(R, inertia_matrix(six)))

    def geometry(self, node: Element, body: str, role: Any) -> None:
        geometry = self.only(node, "geometry")
        known = [child for child in geometry.children if child.tag in SHAPES] if geometry is not None else []
        if not known:
            self.warning(node, f"there is no supported shape ({', '.join(SHAPES)}); the element is ignored")
            return
        if len(known) > 1:
            self.error(known[1], "there is more than one shape in one <geometry>", "remove all but one")
        placement, color = self.origin(node), self.color_of(node)
        name = node.attributes.get("name")

        def act() -> None:
            shape = SHAPES[known[0].tag](self, known[0])
            if role == "visual" or self.options.contacts is not True:  # otherwise `add_link_contacts` adds it
                self.builder.geometry(body, shape, **placement, role=role, color=color, name=name)
            if role == "collision":
                X = Transform(matrix_from_rpy(*placement["rpy"]), np.array(placement["at"]))
                self.collisions.append(CollisionShape(body, shape, X, name or body))

        self.recording_faults(known[0], act)

    def color_of(self, node: Element) -> list[float] | None:
        """Return the colour of the URDF visual `node`, from the material that it defines or names; None if absent."""
        material = self.only(node, "material")
        if material is None:
            return None
        name, own = material.attributes.get("name", ""), material.all("color")
        if own and name not in self.colors:
            return self.color(own[0])
        if name not in self.colors and not material.all("texture"):
            self.warning(material, "no material with this name has a colour; the shape gets no colour")
            self.colors[name] = None  # to warn only once
        return self.colors.get(name)

    def mesh(self, node: Element) -> Mesh:
        source = self.attribute(node, "filename") or ""
        return Mesh(source, self.meshes.find(source) if source else None, self.scale(node))

    def scale(self, node: Element) -> list[float]:
        """Return the scale factors (3,) of a URDF mesh along x, y and z, from its XML element `node`.

        One number scales all axes; a fourth number is ignored.
        """
        count = len(node.attributes.get("scale", "").split())
        if count == 1:
            return [self.number(node, "scale")] * 3
        if count == 4:
            self.warning(node, "scale has four numbers; the fourth is ignored")
            return self.numbers(node, "scale", 4)[:3]
        return self.numbers(node, "scale", 3, (1.0, 1.0, 1.0))

    # --- joints ---

    def joint(self, node: Element) -> None:
        name, type_ = self.attribute(node, "name"), self.attribute(node, "type")
        parent = self.end_of(node, "parent")
        child = self.end_of(node, "child")
        if type_ is not None and type_ not in KINDS:
            self.error(node, unknown_name("joint type", type_, KINDS).reason)
        kind, placement = self.kind(node, type_), self.origin(node)
        options = self.dynamics(node) | self.limits(node, type_)
        if child is None:
            return
        self.parents.setdefault(child, (parent or "world", type_ == "fixed"))
        where, before = (kind, parent or "world", child), self.errors
        if name is not None:
            self.places.setdefault(f"joint {name!r}", node)
            self.recording_faults(node, lambda: self.builder.joint(name, *where, **placement, **options))
        if name is None or self.errors > before:  # a valid placeholder keeps the tree connected
            stand_in = f"joint with fault {self.errors}"
            self.places[f"joint {stand_in!r}"] = node
            self.builder.joint(stand_in, *where)
        self.follow(node, name, type_)

    def end_of(self, joint: Element, role: str) -> str | None:
        """Return the Builder's name of a joint's parent or child link; `role` is "parent" or "child"."""
        node = self.required(joint, role)
        link = self.attribute(node, "link")
        if node is not None and link == "world" and link not in self.link_names:
            self.error(node, "there is no link 'world' in the file", 'add <link name="world"/>')
        return None if link is None else self.name_of(link)

    def kind(self, joint: Element, type_: str | None) -> JointKind:
        if type_ not in WITH_AXIS:  # other joints ignore their axis, which may be invalid
            return KINDS[type_]() if type_ in KINDS else Weld()
        node = self.only(joint, "axis")
        axis = self.numbers(node, "xyz", 3, DEFAULT_AXIS)
        return self.recording_faults(node or joint, lambda: KINDS[type_](axis), Revolute())

    def dynamics(self, joint: Element) -> dict[str, Any]:
        node = self.only(joint, "dynamics")
        return {key: self.number(node, key, 0.0) for key in ("damping", "friction")}

    def limits(self, joint: Element, type_: str | None) -> dict[str, Any]:
        node = self.only(joint, "limit")
        if type_ not in WITH_LIMIT:
            return {}
        if node is None:
            if type_ in WITH_RANGE:
                self.warning(joint, f"a {type_} joint without <limit> is treated as unlimited")
            return {}
        given = [key for key in ("effort", "velocity") if key in node.attributes]
        if len(given) < 2:
            self.warning(node, "effort or velocity is missing and treated as unlimited")
        found: dict[str, Any] = {f"{key}_limit": self.number(node, key) for key in given}
        if type_ in WITH_RANGE:  # URDF's default for lower and upper is 0
            lower, upper = self.number(node, "lower", 0.0), self.number(node, "upper", 0.0)
            if lower > upper:
                reason = f"the lower limit exceeds the upper limit, {lower:g} > {upper:g}"
                self.warning(node, f"{reason}; the joint is treated as unlimited, as Bullet does")
            else:
                found["limits"] = lower, upper
        return found

    def follow(self, joint: Element, name: str | None, type_: str | None) -> None:
        """Pass the <mimic> relation of a URDF joint, if it has one, to the Builder.

        `name` and `type_` are the joint's name and type.
        """
        node = self.only(joint, "mimic")
        of = self.attribute(node, "joint")
        multiplier, offset = self.number(node, "multiplier", 1.0), self.number(node, "offset", 0.0)
        if node is None or of is None or name is None or not self.options.mimic:
            return
        if type_ == "fixed":
            self.warning(node, "a fixed joint cannot mimic another joint; <mimic> is ignored")
        else:
            self.recording_faults(node, lambda: self.builder.mimic(name, of, multiplier, offset))

    def join_roots(self) -> None:
        """Connect the root link to the world: by a free joint if `floating` is True, else by a weld."""
        lost = self.child_names - self.link_names or any(not joint.all("child") for joint in self.root.all("joint"))
        roots = {name: link for name, link in self.link_nodes.items() if name not in self.child_names}
        for number, (name, link) in enumerate(roots.items()):
            if number and not lost:  # otherwise an invalid joint may be the cause of several roots
                first = next(iter(roots))
                self.error(
                    link,
                    f"it is a second root link: neither it nor {shown(first)!r} is the child of a joint",
                    "a robot must be one tree of links",
                )
            if self.name_of(name) == "world":
                continue
            joint = f"{ROOT_JOINT} {number}" if number else ROOT_JOINT
            while f"joint {joint!r}" in self.places:
                joint += "_"
            self.places[f"joint {joint!r}"] = link
            self.recording_faults(
                link,
                lambda joint=joint, name=name: self.builder.joint(
                    joint, Free() if self.options.floating else Weld(), "world", self.name_of(name)
                ),
            )


SHAPES: dict[str, Callable[[_UrdfReader, Element], Shape]] = {
    "box": lambda reader, node: Box(reader.numbers(node, "size", 3)),
    "cylinder": lambda reader, node: Cylinder(reader.number(node, "radius"), reader.number(node, "length")),
    "sphere": lambda reader, node: Sphere(reader.number(node, "radius")),
    "capsule": lambda reader, node: Capsule(reader.number(node, "radius"), reader.number(node, "length")),
    "mesh": lambda reader, node: reader.mesh(node),
}
