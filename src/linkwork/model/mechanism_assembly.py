"""Assembly of a Mechanism from the bodies, joints and elements of a Builder, with checks of their consistency."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from linkwork.errors import unknown_name
from linkwork.model.bodies import Attachment, Body, Frame, Part
from linkwork.model.builder_specifications import (
    Draft,
    FrameSpecification,
    JointSpecification,
    KeyframeSpecification,
    Layout,
    keyframe_faults,
    tree_faults,
    unknown_faults,
)
from linkwork.model.elements.element import Element, kinds
from linkwork.model.elements.velocity_constraint import shared_name_faults
from linkwork.model.geometry import Geometry
from linkwork.model.joints import Weld
from linkwork.model.keyframes import Keyframe
from linkwork.model.mechanism import WORLD, Joint, Mechanism, numbered
from linkwork.model.mimic_joints import Mimic, mimic_faults, resolved_chains
from linkwork.model.model_definition_faults import Fault
from linkwork.model.named_collections import Named, Sections
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

UNNUMBERED = slice(0, 0)


class Assembly:
    """The bodies, joints, frames, keyframes and elements that a Builder has collected, and gravity (3,) [m/s^2]."""

    def __init__(self, name: str, gravity: Array):
        self.name, self.gravity = name, gravity
        self._parts: dict[str, Part] = {}
        self._joints: dict[str, JointSpecification] = {}
        self._frames: dict[str, FrameSpecification] = {}
        self._geometry: dict[str, list[Geometry]] = {}
        self._mimics: dict[str, Mimic] = {}
        self._keyframes: dict[str, KeyframeSpecification] = {}
        self._elements: dict[str, dict[str, Element]] = {}

    @property
    def mimics(self) -> dict[str, Mimic]:
        """The mimic relation of each mimic joint to an independent joint, by name of the mimic joint.

        A chain, in which a joint mimics a mimic joint, is replaced by one relation.
        """
        return resolved_chains(self._mimics)[0]

    def _faults(self) -> Iterator[Fault]:
        """Yield the faults of the Builder's description of the mechanism.

        Faults are unknown names, the faults of elements, and joints because of which the bodies do not form one tree
        rooted in the world.
        """
        yield from tree_faults(self._joints.values(), self._parts)
        bodies = {"world": None} | dict.fromkeys(self._parts)
        joints = {joint.name: joint.kind for joint in self._joints.values()}
        yield from mimic_faults(self._mimics, joints)
        for frame in self._frames.values():
            yield from unknown_faults(f"frame {frame.name!r}", "body", {"its body": frame.body}, bodies)
        for body in self._geometry:
            if body not in bodies:
                yield Fault(unknown_name("body", body, bodies).reason, f"geometry of body {body!r}")
        for keyframe in self._keyframes.values():
            yield from keyframe_faults(keyframe, joints)
        elements = {section: self._elements.get(section, {}) for section in kinds()}
        draft = Draft(bodies, self._joints, self.mimics, elements)
        for one in (one for items in elements.values() for one in items.values()):
            yield from one.draft_faults(draft)
        yield from shared_name_faults(one for items in elements.values() for one in items.values())

    def _added_damping(self, joint: str) -> float:
        """Return the viscous damping [N m s/rad or N s/m] that elements add to the joint called `joint`."""
        return sum(one.added_damping(joint) for items in self._elements.values() for one in items.values())

    def _children(self) -> dict[str, list[JointSpecification]]:
        """Return the joints by name of their parent body, in the order in which they were added."""
        children: dict[str, list[JointSpecification]] = {name: [] for name in ("world", *self._parts)}
        for joint in self._joints.values():
            children[joint.parent].append(joint)
        return children

    def _numbered(self) -> Mechanism:
        """Return the mechanism, with bodies and joints numbered depth-first and welded parts merged.

        Joints with the same parent are in the order in which they were added.
        """
        children = self._children()
        shapes = {name: tuple(items) for name, items in self._geometry.items()}
        ground = Part("world", 0.0, np.zeros(3), np.zeros(6), Transform.identity(), shapes.get("world", ()))
        parts: list[list[Part]] = [[ground] if ground.geometry else []]
        names, joints, frames = ["world"], [], [Frame("world", WORLD, Transform.identity())]
        # Name of a part: number of its body, and pose of the part in this body's frame
        home: dict[str, tuple[int, Transform]] = {"world": (WORLD, Transform.identity())}
        stack = list(reversed(children["world"]))
        while stack:
            given = stack.pop()
            i, mount = home[given.parent]
            part = replace(self._parts[given.child], geometry=shapes.get(given.child, ()))
            if isinstance(given.kind, Weld):
                home[part.name] = i, (mount @ given.offset).snapped()
                attachment = Attachment(given.parent, given.offset, given.name)
                parts[i].append(replace(part, pose=home[part.name][1], attachment=attachment))
            else:
                o = len(names)
                home[part.name] = o, Transform.identity()
                names.append(part.name)
                parts.append([part])
                who, placed = (given.name, given.kind, names[i], part.name, i, o), (mount, given.offset)
                spans = UNNUMBERED, UNNUMBERED
                numbers = given.numbers | {"damping": given.numbers["damping"] + self._added_damping(given.name)}
                joints.append(Joint(*who, *spans, *placed, **numbers, carrier=given.parent, mimic=None))
            frames.append(Frame(part.name, *home[part.name]))
            stack.extend(reversed(children[part.name]))
        for given in self._frames.values():
            body, pose = home[given.body]
            attachment = Attachment(given.body, given.pose)
            frames.append(Frame(given.name, body, (pose @ given.pose).snapped(), attachment))
        elsewhere = {frame.name: f"It is a frame on {names[frame.body]!r}; use m.frames." for frame in frames}
        own = numbered(Named("joint", joints), self.mimics)
        leaders = [joint for joint in own if joint.mimic is None]
        bodies = [Body(name, k, tuple(p)) for k, (name, p) in enumerate(zip(names, parts, strict=True))]
        states = [Keyframe.of(k.name, k.positions, k.velocities, leaders) for k in self._keyframes.values()]
        elements: dict[str, Named[Element]] = {}
        layout = Layout(home, own, self._joints, elements)
        for section, class_ in kinds().items():
            items = self._elements.get(section, {}).values()
            elements[section] = Named(class_.what, [one.laid_out(layout) for one in items])
        return Mechanism(
            self.name,
            self.gravity,
            Named("body", bodies, elsewhere),
            own,
            Named("frame", frames),
            Named("keyframe", states),
            Sections(elements),
        )
