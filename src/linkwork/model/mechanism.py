"""The frozen whole: bodies, joints and frames, their numbering, coordinate slices and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.errors import NameNotFound, ShapeError, unknown_name
from linkwork.model.answers import answer
from linkwork.model.bodies import Body, Frame
from linkwork.model.broadcast import Input, as_numbers, over_batch
from linkwork.model.copies import freeze
from linkwork.model.elements.actuator import Actuator
from linkwork.model.elements.conflicts import contradictions
from linkwork.model.elements.constraint import Constraint, FrameConstraint
from linkwork.model.elements.contact import Pair, contact_pairs
from linkwork.model.elements.element import Element, Rotor, kinds
from linkwork.model.elements.force import Force, LineForce
from linkwork.model.elements.keys import is_finite
from linkwork.model.elements.velocity_constraint import VelocityConstraint, VelocityRow, may_hold
from linkwork.model.faults import raise_first
from linkwork.model.keyframes import NO_KEYFRAMES, Keyframe
from linkwork.model.mimic import Mimic, numbered
from linkwork.model.naming import Named, Sections
from linkwork.model.parameters import BODY_PARAMETERS, FINITE, JOINT_PARAMETERS, check_values, is_hidden
from linkwork.model.physical_validity import massless_faults, part_faults
from linkwork.model.placed_joint import Joint
from linkwork.model.topology import Topology, topology, tree_text
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.analyses import Independent, LoopCheck, Symmetry

__all__ = ["WORLD", "Joint", "Mechanism", "numbered"]
WORLD = 0  # the world's body number


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A tree of bodies and joints that never changes. Made by a Builder.

    `bodies`, `joints`, `frames` and `keyframes` (named states) iterate in order and are indexed by number or name;
    body 0 is the world, and joint k carries body k + 1. `gravity` is (3,) [m/s^2] in the world's axes. `elements`
    holds everything attached to the tree, by section; each section is also an attribute: `m.loops`, `m.clutches`.
    """

    name: str
    gravity: Array
    bodies: Named[Body]
    joints: Named[Joint]
    frames: Named[Frame]
    keyframes: Named[Keyframe] = NO_KEYFRAMES
    elements: Sections = field(default_factory=lambda: Sections({}))

    def __getattr__(self, name: str) -> Named[Any]:
        """The elements of a section, such as `m.clutches`."""
        if name.startswith("_") or name not in kinds():
            known = ", ".join(kinds())
            raise AttributeError(f"a Mechanism has no attribute {name!r}; what is on its tree is in: {known}")
        there = self.__dict__["elements"]
        found = self.__dict__[name] = there[name] if name in there else Named(kinds()[name].what, [])
        return found

    def with_elements(self, section: str, items: Iterable[Element]) -> Mechanism:
        """The same mechanism with other elements in a section, such as "loops"."""
        if section not in kinds():
            raise unknown_name("section", section, kinds())
        new = Named(kinds()[section].what, list(items))
        return replace(self, elements=Sections({**self.elements, section: new}))

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        freeze(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Mechanism:
        return self  # it never changes

    # --- sizes ---

    @cached_property
    def leaders(self) -> tuple[Joint, ...]:
        """The joints that have coordinates of their own: all but those that mimic another."""
        return tuple(joint for joint in self.joints if joint.mimic is None)

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(joint.kind.nq for joint in self.leaders)

    @cached_property
    def nv(self) -> int:
        """Number of velocities: the degrees of freedom."""
        return sum(joint.kind.nv for joint in self.leaders)

    @property
    def nbodies(self) -> int:
        """Number of bodies without the world."""
        return len(self.bodies) - 1

    @cached_property
    def nc(self) -> int:
        """Number of rows of all frame constraints."""
        return sum(len(one.rows) for one in self.frame_constraints)

    @property
    def nh(self) -> int:
        """Number of constraint rows: those of frame constraints, then those of velocity constraints."""
        return self.nc + len(self.velocity_rows)

    # --- elements ---

    @property
    def all_elements(self) -> Iterator[Element]:
        """Everything that is put on the tree, section after section."""
        return (one for items in self.elements.values() for one in items)

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """All constraints, those of frames first."""
        return self.frame_constraints + self.velocity_constraints

    @cached_property
    def frame_constraints(self) -> tuple[FrameConstraint, ...]:
        """What holds frames of two bodies together: loops."""
        return tuple(one for one in self.all_elements if isinstance(one, FrameConstraint))

    @cached_property
    def velocity_constraints(self) -> tuple[VelocityConstraint, ...]:
        """What holds linear combinations of joint velocities at zero while it is engaged: clutches, brakes, gears."""
        return tuple(one for one in self.all_elements if isinstance(one, VelocityConstraint))

    @cached_property
    def velocity_rows(self) -> tuple[VelocityRow, ...]:
        """The rows of velocity constraints that are engaged or may be."""
        return tuple(row for one in self.velocity_constraints for row in one.velocity_rows if may_hold(row.engaged))

    @cached_property
    def bounded(self) -> tuple[VelocityConstraint, ...]:
        """Velocity constraints that slip where a multiplier is at its bound: clutches, brakes, ratchets."""
        return tuple(one for one in self.velocity_constraints if any(map(is_finite, one.capacities)))

    @property
    def constrained(self) -> bool:
        """Whether there are constraints that hold or may."""
        return bool(self.frame_constraints or self.velocity_rows)

    @cached_property
    def forces(self) -> tuple[Force, ...]:
        """Elements that push bodies and joints by the protocol of `Force`."""
        return tuple(one for one in self.all_elements if isinstance(one, Force))

    @cached_property
    def line_forces(self) -> tuple[LineForce, ...]:
        """Springs and dampers along the line between two points."""
        return tuple(one for one in self.all_elements if isinstance(one, LineForce))

    @cached_property
    def actuators(self) -> Named[Actuator]:
        """What controllers command: motors that act on joints."""
        return Named(Actuator.what, [one for one in self.all_elements if isinstance(one, Actuator)])

    @cached_property
    def self_switching(self) -> tuple[Any, ...]:
        """Elements that have an event function, by which they switch themselves: latches."""
        return tuple(one for one in self.all_elements if one.switches_itself)

    @cached_property
    def contact_pairs(self) -> tuple[Pair, ...]:
        """The pairs of a contact and a surface that may touch, contact after contact."""
        return contact_pairs(self)

    def constraint_of_row(self, row: int) -> str:
        """The constraint to which one of the `nh` rows belongs, as messages call it."""
        if row < self.nc:
            return self.frame_constraint_of_row(row).label
        name = self.velocity_rows[row - self.nc].name
        return next(one.label for one in self.velocity_constraints if one.name == name)

    def frame_constraint_of_row(self, row: int) -> FrameConstraint:
        """The frame constraint to which one of the `nc` rows belongs."""
        return [one for one in self.frame_constraints for _ in one.rows][row]

    @property
    def closed(self) -> Mechanism:
        """The same mechanism with all frame constraints engaged."""
        changed = self._with_each(lambda one: one.closed_now() if isinstance(one, FrameConstraint) else one)
        return replace(self, elements=changed)

    def keeping(self, keep: Callable[[Constraint], bool]) -> Mechanism:
        """The same mechanism with only those constraints of which `keep` is true."""
        sections = dict.fromkeys(one.section for one in self.constraints)
        left = {
            section: self.elements[section].replaced([one for one in self.elements[section] if keep(one)])
            for section in sections
        }
        return replace(self, elements=Sections({**self.elements, **left}))

    @cached_property
    def mass(self) -> Number:
        """Mass of all bodies without the world [kg]."""
        return sum(body.mass for body in self.bodies[1:])

    @cached_property
    def armature(self) -> Array:
        """Inertia (nv,) [kg m^2 or kg] of what turns with one velocity alone: joints' own, and rotors of drives."""
        own = self.by_joint(lambda j: j.armature)
        for rotor in self._all_rotors:
            if rotor.alone:
                own = own + rotor.inertia * (rotor.row * rotor.row)
        return own

    @cached_property
    def rotors(self) -> tuple[Rotor, ...]:
        """Rotors of drives that turn with several velocities, which they couple."""
        return tuple(rotor for rotor in self._all_rotors if not rotor.alone)

    @property
    def _all_rotors(self) -> list[Rotor]:
        return [rotor for one in self.all_elements if (rotor := one.rotor) is not None]

    @cached_property
    def topology(self) -> Topology:
        """SpaceDyn's connection index B and incidence matrices S, S0, Se, with the world as link 0 (S3 3.1)."""
        return topology([joint.i for joint in self.joints])

    # --- coordinates ---

    def neutral(self) -> Array:
        """The coordinates (nq,) with every child's frame on its joint frame."""
        return self.by_joint(lambda j: j.kind.neutral())

    def random(self, rng: np.random.Generator | int | None = None) -> Array:
        """Random coordinates (nq,), within the joint limits; `rng` is a generator or a seed."""
        generator = np.random.default_rng(rng)
        return self.by_joint(lambda j: j.random(generator))

    def integrate(self, q: Any, dv: Any) -> Array:
        """Coordinates (..., nq) reached from q (..., nq) by the constant velocity dv (..., nv) in unit time.

        Exact on the manifold: quaternions stay unit and a free joint follows its screw.
        """
        inputs = {"q": Input(q, (self.nq,)), "dv": Input(dv, (self.nv,))}
        return over_batch(lambda q, dv: self.by_joint(lambda j: j.kind.integrate(q[j.q], dv[j.v])), inputs, (self.nq,))

    def difference(self, q0: Any, q1: Any) -> Array:
        """The velocity (..., nv) that takes q0 (..., nq) to q1 (..., nq) in unit time: the inverse of `integrate`."""
        inputs = {"q0": Input(q0, (self.nq,)), "q1": Input(q1, (self.nq,))}
        return over_batch(
            lambda q0, q1: self.by_joint(lambda j: j.kind.difference(q0[j.q], q1[j.q])), inputs, (self.nv,)
        )

    def qdot(self, q: Any, v: Any) -> Array:
        """Rate of the coordinates (..., nq) for the velocity v (..., nv) at q (..., nq) (S4 3.34)."""
        inputs = {"q": Input(q, (self.nq,)), "v": Input(v, (self.nv,))}
        return over_batch(lambda q, v: self.by_joint(lambda j: j.kind.qdot(q[j.q], v[j.v])), inputs, (self.nq,))

    def by_joint(self, answer: Callable[[Joint], Array]) -> Array:
        """The answers of all joints with coordinates of their own, one after the other."""
        return np.concatenate([np.zeros(0), *(answer(joint) for joint in self.leaders)])

    # --- what loops leave free ---

    def check_loops(self, q: Any) -> LoopCheck:
        """Mobility, which loops and engaged holders repeat others, and singular directions, in one position (nq,)."""
        return answer("check_loops", self, q)

    def independent(self, q: Any, v: Any = None, choose: str | Iterable[str] | None = None) -> Independent:
        """Independent velocities at q (nq,) [rad, m], of joints that are named or well-conditioned ones.

        With the map from them to all others, and its rate at the velocities v (nv,), which are none if not given.
        """
        return answer("independent", self, q, v, choose)

    # --- what it keeps ---

    def symmetries(self) -> tuple[Symmetry, ...]:
        """Motions of the whole that gravity and anchors allow; `d.momentum_maps` are the momenta that they keep."""
        return answer("symmetries", self)

    # --- mimics ---

    @cached_property
    def mimics(self) -> Named[Mimic]:
        """How joints mimic others."""
        return Named("mimic", [joint.mimic for joint in self.joints if joint.mimic is not None])

    @cached_property
    def tree(self) -> Mechanism:
        """The same mechanism with every joint independent; itself, if no joint mimics another."""
        if not self.mimics:
            return self
        joints = numbered(self.joints)
        keyframes = [
            replace(keyframe, q=self.tree_position(keyframe.q), v=self.tree_velocity(keyframe.v))
            for keyframe in self.keyframes
        ]
        return replace(
            self,
            joints=joints,
            keyframes=self.keyframes.replaced(keyframes),
            elements=self._with_each(lambda one: one.numbered(joints)),
        )

    def _with_each(self, change: Callable[[Element], Element]) -> Sections:
        """The elements, each changed; sections in which none is are the same."""
        return Sections({section: items.changed(change) for section, items in self.elements.items()})

    def tree_position(self, q: Array) -> Array:
        """Coordinates (..., tree.nq) of all joints for the coordinates q (..., nq)."""
        parts = [q[..., j.q] if j.mimic is None else j.mimic.position(q[..., j.q]) for j in self.joints]
        return np.concatenate([q[..., :0], *parts], axis=-1)

    def tree_velocity(self, v: Array) -> Array:
        """Velocities or accelerations (..., tree.nv) of all joints for those of the leaders, v (..., nv)."""
        parts = [v[..., j.v] if j.mimic is None else v[..., j.v] * j.mimic.multiplier for j in self.joints]
        return np.concatenate([v[..., :0], *parts], axis=-1)

    @cached_property
    def spread(self) -> Array:
        """The matrix G (tree.nv, nv) with tree_velocity(v) = G v."""
        return self.tree_velocity(np.eye(self.nv)).T

    # --- parameters ---

    @cached_property
    def _owners(self) -> dict[str, tuple[Element, str]]:
        """Every parameter of an element: whose it is, and its key.

        It is called 'name.key'; 'section.name.key' where a joint, or an element before it, has that name and key.
        """
        taken = {f"{joint.name}.{key}" for joint in self.joints for key in JOINT_PARAMETERS}
        found: dict[str, tuple[Element, str]] = {}
        for one in self.all_elements:
            for key in one.parameters:
                short = f"{one.name}.{key}"
                found[f"{one.section}.{short}" if short in taken or short in found else short] = one, key
        return found

    @cached_property
    def parameters(self) -> dict[str, Array]:
        """Everything that may be named as varying, with its value: 'arm.mass', 'elbow.damping', 'gravity', ..."""
        found: dict[str, Array] = {"gravity": self.gravity}
        for body in self.bodies[1:]:
            for part in body.parts:
                found |= {f"{part.name}.{key}": np.asarray(getattr(part, key)) for key in BODY_PARAMETERS}
        for joint in self.joints:
            values = (joint.offset.p, joint.armature, joint.damping, joint.stiffness, joint.friction)
            found |= {f"{joint.name}.{key}": value for key, value in zip(JOINT_PARAMETERS, values, strict=True)}
        return found | {name: one.parameters[key] for name, (one, key) in self._owners.items()}

    def owner(self, parameter: str) -> tuple[Element, str]:
        """The element whose parameter this is, and its key there."""
        return self._owners[parameter]

    @cached_property
    def modes(self) -> tuple[str, ...]:
        """The parameters that can be switched in a run."""
        return tuple(name for name, (one, key) in self._owners.items() if key in one.modes())

    def unknown_parameter(self, name: str) -> NameNotFound:
        """The error for a parameter that there is not."""
        owner, _, key = str(name).rpartition(".")
        same = [one for one in self.all_elements if one.name == owner]
        fixed = [one for one in same if key in one.definitions() and one.definitions()[key].parameter]
        hint = f" The {key} of {fixed[0].label} is infinite, and varies only where it is built finite." if fixed else ""
        return unknown_name("parameter", name, self.parameters, hint)

    def check_parameter(self, name: str, values: Array) -> None:
        """Raise an error unless all values of a parameter, one or a batch of them, are possible."""
        if name in self._owners:
            one, key = self._owners[name]
            one.check_parameter(key, values, name)
        else:
            rules = {**BODY_PARAMETERS, **JOINT_PARAMETERS}
            check_values(name, values, rules.get(name.rpartition(".")[2], FINITE))

    def with_parameters(self, values: Mapping[str, Any]) -> Mechanism:
        """The same mechanism with some parameters replaced; numbers are checked as the Builder checks them."""
        found = self.varied(values)
        if not any(is_hidden(value) for value in found.parameters.values()):
            raise_first(contradictions(found))
        return found

    def varied(self, values: Mapping[str, Any]) -> Mechanism:
        """The same, whether or not couplings agree with each other: what a run switches may come not to."""
        new: dict[str, Any] = {}
        for name, value in values.items():
            if name not in self.parameters:
                raise self.unknown_parameter(name)
            array, shape = as_numbers(name, value), self.parameters[name].shape
            if array.shape != shape:
                raise ShapeError(f"parameter {name!r} has shape {array.shape}, expected {shape}")
            self.check_parameter(name, array)
            new[name] = array if shape else array[()]
        # Numbers that hide their value, as in tracing, cannot be checked
        hidden = any(map(is_hidden, new.values())) or bool(self._hidden - new.keys())
        own: dict[Element, dict[str, Any]] = {}
        others: dict[str, dict[str, Any]] = {}  # by the name of a part or a joint
        for name, number in new.items():
            one, key = self._owners.get(name, (None, ""))
            if one is not None:
                own.setdefault(one, {})[key] = number
            else:
                owner, _, key = name.rpartition(".")
                others.setdefault(owner, {})[key] = number

        def picked(owner: str, keys: Iterable[str]) -> dict[str, Any]:
            return {key: number for key, number in others.get(owner, {}).items() if key in keys}

        def changed(body: Body) -> Body:
            fields = [picked(part.name, BODY_PARAMETERS) for part in body.parts]
            if not any(fields):
                return body
            parts = tuple(replace(part, **numbers) for part, numbers in zip(body.parts, fields, strict=True))
            for part, numbers in zip(parts, fields, strict=True):
                if numbers and not hidden:
                    raise_first(part_faults(part))
            return replace(body, parts=parts)

        def moved(joint: Joint) -> Joint:
            fields = picked(joint.name, JOINT_PARAMETERS)
            if "at" in fields:
                fields["offset"] = Transform(joint.offset.R, fields.pop("at"))
            return replace(joint, **fields) if fields else joint

        mechanism = replace(
            self,
            gravity=new.get("gravity", self.gravity),
            bodies=self.bodies.changed(changed),
            joints=self.joints.changed(moved),
            elements=self._with_each(lambda one: one.varied(own[one]) if one in own else one),
        )
        same = mechanism.bodies is self.bodies and mechanism.joints is self.joints
        if not hidden and not (same and all(one.rotor is None for one in own)):
            raise_first(massless_faults(mechanism))
        return mechanism

    @cached_property
    def _hidden(self) -> frozenset[str]:
        """The parameters that hide their value."""
        return frozenset(name for name, value in self.parameters.items() if is_hidden(value))

    # --- how it shows itself ---

    def __repr__(self) -> str:
        return (
            f"<Mechanism {self.name!r}: {self.nbodies} bodies, {len(self.joints)} joints, nq={self.nq}, nv={self.nv}>"
        )

    def __str__(self) -> str:
        labels = [self.bodies[WORLD].name]
        for joint in self.joints:
            welded = [part.name for part in self.bodies[joint.o].parts[1:]]
            labels.append(
                f"{joint.child}  [{joint.name}: {type(joint.kind).__name__}, {self.bodies[joint.o].mass:g} kg"
                + (f", with {', '.join(welded)}]" if welded else "]")
            )
        title = f"{self.name}: {self.nv} degrees of freedom, {self.mass:g} kg"
        return title + "\n" + tree_text(labels, self.topology.B.tolist())
