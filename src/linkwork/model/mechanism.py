"""The frozen whole: bodies, joints and frames, their numbering, coordinate slices and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from linkwork.errors import ShapeError, unknown_name
from linkwork.model.analyses import ANSWERS, Independent, LoopCheck, Symmetry
from linkwork.model.bodies import Body, Frame
from linkwork.model.broadcast import Input, as_numbers, over_batch
from linkwork.model.copies import freeze
from linkwork.model.elements.clutches import Brake, Clutch, Tie, may_hold
from linkwork.model.elements.conflicts import contradictions
from linkwork.model.elements.contact import Contact, Pair, Surface, pairs_of
from linkwork.model.elements.drive import DRIVE_PARAMETERS, Drive, Rotor
from linkwork.model.elements.loop import Loop
from linkwork.model.elements.ratchets import Latch, Ratchet
from linkwork.model.elements.spring import Spring
from linkwork.model.elements.transmissions import (
    NO_COUPLINGS,
    NO_DIFFERENTIALS,
    NO_TRANSMISSIONS,
    Coupling,
    Differential,
    Transmission,
)
from linkwork.model.faults import raise_first
from linkwork.model.joints import JointKind
from linkwork.model.keyframes import NO_KEYFRAMES, Keyframe
from linkwork.model.mimic import Mimic
from linkwork.model.naming import Named
from linkwork.model.parameters import (
    BODY_PARAMETERS,
    BRAKE_PARAMETERS,
    CLUTCH_PARAMETERS,
    CONTACT_PARAMETERS,
    JOINT_PARAMETERS,
    LATCH_PARAMETERS,
    LOOP_PARAMETERS,
    RATCHET_PARAMETERS,
    SPRING_PARAMETERS,
    as_number,
    check_parameter,
)
from linkwork.model.physical_validity import massless_faults, part_faults
from linkwork.model.topology import Topology, topology, tree_text
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Number

Holder = Clutch | Brake | Ratchet | Latch | Transmission | Differential | Coupling
WORLD = 0  # the world's body number


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint in its place. `i` and `o` are the numbers of the inboard and outboard body (the paper's k.i and k.o).

    `q` and `v` are the slices of its coordinates and velocities. `armature` [kg m^2 or kg], `damping` [N m s/rad or
    N s/m] and `stiffness` [N m/rad or N/m] towards `rest` have one number per velocity; so have the dry `friction`
    [N m or N] and the limits `lower` and `upper` [rad or m], `velocity_limit` [rad/s or m/s] and `effort_limit`
    [N m or N], infinite where there is none.
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    i: int
    o: int
    q: slice
    v: slice
    mount: Transform  # the parent as its author framed it, in the frame of the body it is welded into
    offset: Transform  # the joint frame in that parent
    armature: Array
    damping: Array
    stiffness: Array
    rest: Array
    friction: Array
    lower: Array
    upper: Array
    velocity_limit: Array
    effort_limit: Array
    carrier: str  # the part of the parent that `mount` places, as its author named it

    @cached_property
    def place(self) -> Transform:
        """Pose of the joint frame in the inboard body's frame."""
        return (self.mount @ self.offset).snapped()

    @property
    def limits(self) -> tuple[Array, Array]:
        """`lower` and `upper`, each (nv,) [rad or m]."""
        return self.lower, self.upper

    def random(self, rng: np.random.Generator) -> Array:
        """Random coordinates (nq,), within the limits where there are any."""
        q = self.kind.random(rng)
        below, above = np.isfinite(self.lower), np.isfinite(self.upper)
        if not (below | above).any():
            return q
        reach = np.where(self.kind.turns, 2.0 * np.pi, 2.0)  # how far to go from a limit that has no other end
        lower = np.where(below, self.lower, np.where(above, self.upper - reach, q))
        upper = np.where(above, self.upper, np.where(below, self.lower + reach, q))
        return rng.uniform(lower, upper)


NO_MIMICS: Named[Mimic] = Named("mimic", [])
NO_LOOPS: Named[Loop] = Named("loop", [])
NO_DRIVES: Named[Drive] = Named("drive", [])
NO_CLUTCHES: Named[Clutch] = Named("clutch", [])
NO_BRAKES: Named[Brake] = Named("brake", [])
NO_RATCHETS: Named[Ratchet] = Named("ratchet", [])
NO_LATCHES: Named[Latch] = Named("latch", [])
NO_SURFACES: Named[Surface] = Named("surface", [])
NO_CONTACTS: Named[Contact] = Named("contact", [])
NO_SPRINGS: Named[Spring] = Named("spring", [])


def numbered(joints: Named[Joint], mimics: Named[Mimic] = NO_MIMICS) -> Named[Joint]:
    """The joints with their slices: those that move on their own in order, those that mimic one with its slices."""
    slices: dict[str, tuple[slice, slice]] = {}
    nq = nv = 0
    for joint in joints:
        if joint.name not in mimics:
            slices[joint.name] = slice(nq, nq + joint.kind.nq), slice(nv, nv + joint.kind.nv)
            nq, nv = nq + joint.kind.nq, nv + joint.kind.nv
    owners = {joint.name: mimics[joint.name].of if joint.name in mimics else joint.name for joint in joints}
    return joints.replaced([replace(j, q=slices[owners[j.name]][0], v=slices[owners[j.name]][1]) for j in joints])


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A tree of bodies and joints that never changes. Made by a Builder.

    `bodies`, `joints`, `frames`, `keyframes` (named states), `loops` (joints that close them), `drives`, `clutches`,
    `brakes`, `ratchets`, `latches`, `transmissions`, `differentials`, `couplings`, `surfaces`, `contacts` and `springs`
    iterate in order and are indexed by number or name; body 0 is the world, and joint k carries body k + 1. `gravity`
    is (3,) [m/s^2] in the world's axes. A joint in `mimics` has no coordinates of its own: its slices are those of the
    joint that it follows.
    """

    name: str
    gravity: Array
    bodies: Named[Body]
    joints: Named[Joint]
    frames: Named[Frame]
    mimics: Named[Mimic] = NO_MIMICS
    keyframes: Named[Keyframe] = NO_KEYFRAMES
    loops: Named[Loop] = NO_LOOPS
    drives: Named[Drive] = NO_DRIVES
    clutches: Named[Clutch] = NO_CLUTCHES
    brakes: Named[Brake] = NO_BRAKES
    surfaces: Named[Surface] = NO_SURFACES
    contacts: Named[Contact] = NO_CONTACTS
    springs: Named[Spring] = NO_SPRINGS
    ratchets: Named[Ratchet] = NO_RATCHETS
    latches: Named[Latch] = NO_LATCHES
    transmissions: Named[Transmission] = NO_TRANSMISSIONS
    differentials: Named[Differential] = NO_DIFFERENTIALS
    couplings: Named[Coupling] = NO_COUPLINGS

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        freeze(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Mechanism:
        return self  # it never changes

    # --- sizes ---

    @cached_property
    def leaders(self) -> tuple[Joint, ...]:
        """The joints that have coordinates of their own: all but those that mimic another."""
        return tuple(joint for joint in self.joints if joint.name not in self.mimics)

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
        """Number of closure rows of all loops."""
        return sum(len(loop.kind.closing) for loop in self.loops)

    @cached_property
    def ties(self) -> tuple[Tie, ...]:
        """What holders hold together, of those that are engaged or may be."""
        return tuple(tie for item in self.holders for tie in item.ties if may_hold(tie.engaged))

    @property
    def holders(self) -> tuple[Holder, ...]:
        """What ties velocities together while it is engaged."""
        return tuple(item for items in self.holder_kinds.values() for item in items)

    @property
    def holder_kinds(self) -> dict[str, Named[Any]]:
        """All holders, by what messages call one."""
        return {
            "clutch": self.clutches, "brake": self.brakes, "ratchet": self.ratchets, "latch": self.latches,
            "transmission": self.transmissions, "differential": self.differentials, "coupling": self.couplings,
        }  # fmt: skip

    @cached_property
    def slippers(self) -> tuple[Holder, ...]:
        """Holders that slip above a capacity, one way or both."""
        return tuple(item for item in self.holders if np.isfinite(item.capacities).any())

    @property
    def holds(self) -> bool:
        """Whether anything is held together beside the tree of joints, or may be: loops, clutches, brakes."""
        return bool(self.loops or self.ties)

    @property
    def nh(self) -> int:
        """Number of rows of all that is held: those of loops, then those of clutches and brakes."""
        return self.nc + len(self.ties)

    def holder_of_row(self, row: int) -> str:
        """What holds one of the `nh` rows, in words."""
        if row < self.nc:
            return f"loop {self.loop_of_row(row).name!r}"
        name = self.ties[row - self.nc].name
        return next(f"{what} {name!r}" for what, items in self.holder_kinds.items() if name in items)

    def loop_of_row(self, row: int) -> Loop:
        """The loop to which one of the `nc` closure rows belongs."""
        owners = [loop for loop in self.loops for _ in loop.kind.closing]
        return owners[row]

    @cached_property
    def touches(self) -> tuple[Pair, ...]:
        """The pairs of a contact and a surface that may touch, contact after contact."""
        return pairs_of(self.contacts, self.surfaces)

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
        return [rotor for drive in self.drives if (rotor := drive.rotor) is not None]

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
        return ANSWERS["check_loops"](self, q)

    def independent(self, q: Any, v: Any = None, choose: str | Iterable[str] | None = None) -> Independent:
        """Independent velocities at q (nq,) [rad, m], of joints that are named or well-conditioned ones.

        With the map from them to all others, and its rate at the velocities v (nv,), which are none if not given.
        """
        return ANSWERS["independent"](self, q, v, choose)

    # --- what it keeps ---

    def symmetries(self) -> tuple[Symmetry, ...]:
        """Motions of the whole that gravity and anchors allow; `d.momentum_maps` are the momenta that they keep."""
        return ANSWERS["symmetries"](self)

    # --- mimics ---

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
            mimics=NO_MIMICS,
            keyframes=self.keyframes.replaced(keyframes),
            drives=self.drives.replaced([drive.numbered(joints, NO_MIMICS) for drive in self.drives]),
        )

    def tree_position(self, q: Array) -> Array:
        """Coordinates (..., tree.nq) of all joints for the coordinates q (..., nq)."""
        parts = [q[..., j.q] for j in self.joints]
        for k, j in enumerate(self.joints):
            if j.name in self.mimics:
                parts[k] = parts[k] * self.mimics[j.name].multiplier + self.mimics[j.name].offset
        return np.concatenate([q[..., :0], *parts], axis=-1)

    def tree_velocity(self, v: Array) -> Array:
        """Velocities or accelerations (..., tree.nv) of all joints for those of the leaders, v (..., nv)."""
        parts = [v[..., j.v] for j in self.joints]
        for k, j in enumerate(self.joints):
            if j.name in self.mimics:
                parts[k] = parts[k] * self.mimics[j.name].multiplier
        return np.concatenate([v[..., :0], *parts], axis=-1)

    @cached_property
    def spread(self) -> Array:
        """The matrix G (tree.nv, nv) with tree_velocity(v) = G v."""
        return self.tree_velocity(np.eye(self.nv)).T

    # --- parameters ---

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
        for drive in self.drives:
            found |= {f"{drive.name}.{key}": value for key, value in drive.parameters.items()}
        for spring in self.springs:
            found |= {f"{spring.name}.{key}": np.asarray(getattr(spring, key)) for key in SPRING_PARAMETERS}
        found |= {f"{loop.name}.closed": np.asarray(loop.closed) for loop in self.loops}
        for clutch in self.clutches:
            found |= {f"{clutch.name}.{key}": as_number(getattr(clutch, key)) for key in CLUTCH_PARAMETERS}
        for ratchet in self.ratchets:
            found |= {f"{ratchet.name}.{key}": as_number(getattr(ratchet, key)) for key in RATCHET_PARAMETERS}
        engaged = (*self.brakes, *self.latches, *self.differentials, *self.couplings)
        found |= {f"{item.name}.engaged": as_number(item.engaged) for item in engaged}
        found |= {f"{one.name}.selected": as_number(one.selected) for one in self.transmissions}
        for contact in self.contacts:
            found |= {f"{contact.name}.{key}": np.asarray(getattr(contact, key)) for key in CONTACT_PARAMETERS}
        return found

    def check_parameter(self, name: str, values: Array) -> None:
        """Raise an error unless all values of a parameter, one or a batch of them, are possible."""
        check_parameter(name, values)
        if name.endswith(".selected"):
            self.transmissions[name.removesuffix(".selected")].refuse_gear(values)

    def with_parameters(self, values: Mapping[str, Any]) -> Mechanism:
        """The same mechanism with some parameters replaced; numbers are checked as the Builder checks them."""
        found = self.varied(values)
        if not any(np.asarray(value).dtype == object for value in found.parameters.values()):
            raise_first(contradictions(found))
        return found

    def varied(self, values: Mapping[str, Any]) -> Mechanism:
        """The same, whether or not couplings agree with each other: what is switched on the way may come not to."""
        new: dict[str, Any] = {}
        for name, value in values.items():
            if name not in self.parameters:
                raise unknown_name("parameter", name, self.parameters)
            array, shape = as_numbers(name, value), self.parameters[name].shape
            if array.shape != shape:
                raise ShapeError(f"parameter {name!r} has shape {array.shape}, expected {shape}")
            self.check_parameter(name, array)
            new[name] = array if shape else array[()]
        # Numbers that hide their value, as in tracing, cannot be checked
        hidden = any(np.asarray(value).dtype == object for value in (self.parameters | new).values())

        def picked(owner: str, keys: tuple[str, ...]) -> dict[str, Any]:
            return {key: new[f"{owner}.{key}"] for key in keys if f"{owner}.{key}" in new}

        def changed(body: Body) -> Body:
            parts = []
            for part in body.parts:
                fields = picked(part.name, BODY_PARAMETERS)
                parts.append(replace(part, **fields))
                if fields and not hidden:
                    raise_first(part_faults(parts[-1]))
            return replace(body, parts=tuple(parts))

        def moved(joint: Joint) -> Joint:
            fields = picked(joint.name, JOINT_PARAMETERS)
            if "at" in fields:
                fields["offset"] = Transform(joint.offset.R, fields.pop("at"))
            return replace(joint, **fields)

        def switched(items: Named[Any], key: str) -> Named[Any]:
            return items.replaced([replace(one, **picked(one.name, (key,))) for one in items])

        touched = any(name.rpartition(".")[0] in self.contacts.names for name in new)

        def touching(contact: Contact) -> Contact:
            return replace(contact, **picked(contact.name, CONTACT_PARAMETERS))

        mechanism = replace(
            self,
            gravity=new.get("gravity", self.gravity),
            bodies=self.bodies.replaced([self.bodies[WORLD], *(changed(body) for body in self.bodies[1:])]),
            joints=self.joints.replaced([moved(joint) for joint in self.joints]),
            drives=self.drives.replaced([replace(d, **picked(d.name, DRIVE_PARAMETERS)) for d in self.drives]),
            springs=self.springs.replaced([replace(s, **picked(s.name, SPRING_PARAMETERS)) for s in self.springs]),
            loops=self.loops.replaced([replace(loop, **picked(loop.name, LOOP_PARAMETERS)) for loop in self.loops]),
            clutches=self.clutches.replaced([replace(c, **picked(c.name, CLUTCH_PARAMETERS)) for c in self.clutches]),
            brakes=self.brakes.replaced([replace(b, **picked(b.name, BRAKE_PARAMETERS)) for b in self.brakes]),
            ratchets=self.ratchets.replaced([replace(r, **picked(r.name, RATCHET_PARAMETERS)) for r in self.ratchets]),
            latches=self.latches.replaced([replace(x, **picked(x.name, LATCH_PARAMETERS)) for x in self.latches]),
            contacts=self.contacts.replaced(list(map(touching, self.contacts))) if touched else self.contacts,
            transmissions=switched(self.transmissions, "selected"),
            differentials=switched(self.differentials, "engaged"),
            couplings=switched(self.couplings, "engaged"),
        )
        if not hidden:
            raise_first(massless_faults(mechanism))
        return mechanism

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
