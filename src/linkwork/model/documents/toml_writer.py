"""linkwork's own document, written: what a Builder would have to be told to build the same mechanism, bit for bit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.bodies import Frame, Part
from linkwork.model.documents.atomic_write import reason_of, write_whole
from linkwork.model.documents.toml_format import table_text
from linkwork.model.elements.clutches import Clutch
from linkwork.model.elements.contact import REST_SPEED, Contact, Surface
from linkwork.model.elements.drive import Drive
from linkwork.model.elements.ground import Ground
from linkwork.model.elements.loop import Loop
from linkwork.model.elements.ratchets import Ratchet
from linkwork.model.elements.spring import Spring
from linkwork.model.faults import raise_first
from linkwork.model.geometry import Geometry
from linkwork.model.joints import Weld
from linkwork.model.keyframes import Keyframe
from linkwork.model.mechanism import WORLD, Joint, Mechanism
from linkwork.model.parameters import SPRING_PARAMETERS
from linkwork.spatial import Transform
from linkwork.spatial.rotation import rpy_from_matrix
from linkwork.spatial.scalar import Array

VERSION = 1  # of the document; a larger one is refused
DEGREES = "_deg"  # a key that ends so is in degrees, and stands for the key without it


class Table(NamedTuple):
    """A table of the document: where it is, what is in it, and comments behind some keys."""

    path: tuple[str, ...]
    keys: dict[str, Any]
    notes: Mapping[str, str] = MappingProxyType({})


def save(mechanism: Mechanism, path: str | os.PathLike[str]) -> None:
    """Write a mechanism to `path`, which ends in .toml, so that `load` gives the same one, bit for bit.

    What is written is read back first, and takes the place of an older file in one step. Meshes are kept as their
    authors named them and are found anew when loaded.
    """
    if not isinstance(mechanism, Mechanism):
        raise ModelError(f"what is saved is a Mechanism, such as Builder.build() gives; got {mechanism!r}")
    try:
        path = Path(path)
    except TypeError:
        raise ModelError(f"a path is a text or a pathlib.Path; got {path!r}") from None
    if path.suffix.lower() != ".toml":
        raise ModelError(f"documents end in .toml; got {path.suffix!r}", file=str(path))
    try:
        data = checked_text(mechanism, path).encode()
        write_whole(path, lambda beside: beside.write_bytes(data))
    except (OSError, ValueError) as error:
        raise ModelError(f"it cannot be written: {reason_of(error)}", file=str(path)) from None


def document_text(mechanism: Mechanism) -> str:
    """The document of a mechanism."""
    return "\n".join(table_text(*table) for table in _tables(mechanism))


def checked_text(mechanism: Mechanism, path: Path) -> str:
    """The document of a mechanism, read back for a file at `path`; a ModelError if it would not be the same then."""
    text = document_text(mechanism)
    _read_back(text, path)
    return text


def written_name(class_: type) -> str:
    """What a document calls a joint kind or a shape."""
    return class_.__name__.lower()


# --- statements to a Builder, as tables ---


def _tables(mechanism: Mechanism) -> Iterator[Table]:
    """All tables: each body before the joint that carries it, in the order of numbering, then all that is on them."""
    top = {"linkwork": VERSION, "name": mechanism.name, "gravity": mechanism.gravity.tolist()}
    yield Table((), top)
    parts = {part.name: part for body in mechanism.bodies for part in body.parts}
    joints = {joint.child: joint for joint in mechanism.joints}
    ground = parts.pop(mechanism.bodies[WORLD].name, None)
    if ground:
        yield Table(("world",), _geometry(ground))
    for frame in mechanism.frames:  # lists all parts as they were numbered, then the other frames
        if frame.name in parts:
            yield Table(("bodies", frame.name), _body(parts[frame.name]))
            yield _joint(mechanism, joints[frame.name]) if frame.name in joints else _weld(parts[frame.name])
        elif frame.attachment:
            yield _frame(frame)
    for keyframe in mechanism.keyframes:
        yield Table(("keyframes", keyframe.name), _keyframe(mechanism, keyframe))
    yield from map(_loop, mechanism.loops)
    yield from (Table(("drives", drive.name), _drive(drive)) for drive in mechanism.drives)
    yield from (Table(("clutches", clutch.name), _clutch(clutch)) for clutch in mechanism.clutches)
    yield from (Table(("ratchets", ratchet.name), _clutch(ratchet)) for ratchet in mechanism.ratchets)
    for section, items in (
        ("brakes", mechanism.brakes),
        ("latches", mechanism.latches),
        ("differentials", mechanism.differentials),
    ):
        for item in items:
            yield Table((section, item.name), _own_numbers(item, "name", "size") | {"engaged": bool(item.engaged)})
    for one in mechanism.transmissions:
        yield Table(("transmissions", one.name), _own_numbers(one, "name") | {"selected": int(one.selected)})
    for one in mechanism.couplings:
        factors = _by_joint({joint: np.array(numbers) for joint, numbers in one.factors})
        yield Table(("couplings", one.name), {"factors": factors, "engaged": bool(one.engaged)})
    yield from map(_surface, mechanism.surfaces)
    yield from (Table(("contacts", contact.name), _contact(contact)) for contact in mechanism.contacts)
    yield from (Table(("springs", spring.name), _spring(spring)) for spring in mechanism.springs)


def _keyframe(mechanism: Mechanism, keyframe: Keyframe) -> dict[str, Any]:
    """The coordinates and velocities of every joint that is not neutral or at rest."""
    q, v = keyframe.q, keyframe.v
    moved = {j.name: q[j.q] for j in mechanism.leaders if not _same(q[j.q], j.kind.neutral())}
    moving = {j.name: v[j.v] for j in mechanism.leaders if not _same(v[j.v], np.zeros(j.kind.nv))}
    return {key: _by_joint(given) for key, given in (("positions", moved), ("velocities", moving)) if given}


def _by_joint(given: Mapping[str, Array]) -> dict[str, Any]:
    """Numbers of joints, one without brackets."""
    return {joint: float(numbers[0]) if len(numbers) == 1 else numbers.tolist() for joint, numbers in given.items()}


def _body(part: Part) -> dict[str, Any]:
    six = part.inertia.tolist()
    numbers = {
        "mass": float(part.mass),
        "com": part.com.tolist(),
        "inertia": six[:3] if _same(part.inertia[3:], np.zeros(3)) else six,
    }
    nothing = _same(np.array([part.mass, *part.com, *six]), np.zeros(10))
    return ({} if nothing else numbers) | _geometry(part)


def _geometry(part: Part) -> dict[str, Any]:
    return {"geometry": [_shape(item) for item in part.geometry]} if part.geometry else {}


def _shape(item: Geometry) -> dict[str, Any]:
    own = {"shape": written_name(type(item.shape))} | _own_numbers(item.shape)
    rest = {"role": item.role, "color": item.color and list(item.color), "name": item.name}
    return own | _place(item.pose) | {key: value for key, value in rest.items() if value is not None}


def _joint(mechanism: Mechanism, joint: Joint) -> Table:
    kind = joint.kind
    keys = {"kind": written_name(type(kind))} | _own_numbers(kind) | {"parent": joint.carrier, "child": joint.child}
    keys |= _place(joint.offset)
    for key in ("armature", "damping", "stiffness"):
        keys |= _each(key, getattr(joint, key), 0.0)
    if not _same(joint.rest, kind.neutral()):
        keys["rest"] = joint.rest.tolist()
    keys |= _each("friction", joint.friction, 0.0)
    if _each("lower", joint.lower, -np.inf) or _each("upper", joint.upper, np.inf):
        keys["limits"] = [_one_or_many(joint.lower), _one_or_many(joint.upper)]
    for key in ("velocity_limit", "effort_limit"):
        keys |= _each(key, getattr(joint, key), np.inf)
    if joint.name in mechanism.mimics:
        mimic = mechanism.mimics[joint.name]
        keys["mimic"] = {"of": mimic.of, "multiplier": mimic.multiplier, "offset": mimic.offset}
    return Table(("joints", joint.name), keys, _turn_note(joint.offset))


def _weld(part: Part) -> Table:
    attachment = part.attachment
    assert attachment
    keys = {"kind": written_name(Weld), "parent": attachment.to, "child": part.name} | _place(attachment.offset)
    return Table(("joints", attachment.by), keys, _turn_note(attachment.offset))


def _frame(frame: Frame) -> Table:
    assert frame.attachment
    offset = frame.attachment.offset
    return Table(("frames", frame.name), {"body": frame.attachment.to} | _place(offset), _turn_note(offset))


def _loop(loop: Loop) -> Table:
    keys = {"kind": written_name(type(loop.kind))} | _own_numbers(loop.kind) | {"a": loop.a, "b": loop.b}
    keys |= _place(loop.at.offset) | _place(loop.to.offset, "to", "to_") | ({} if loop.closed else {"closed": False})
    return Table(("loops", loop.name), keys, _turn_note(loop.at.offset) | _turn_note(loop.to.offset, "to_"))


MOTOR: dict[str, Any] = {  # what is usual of one
    "gear": 1.0, "rotor_inertia": 0.0, "stall_torque": np.inf, "no_load_speed": np.inf, "efficiency": np.ones(2),
}  # fmt: skip


def _drive(drive: Drive) -> dict[str, Any]:
    free = np.array([-np.inf, np.inf])
    keys = {"gain": drive.gain, "bias": drive.bias.tolist()}
    keys |= {key: getattr(drive, key).tolist() for key in ("control_limits", "force_limits")}
    keys |= {key: np.asarray(getattr(drive, key)).tolist() for key in MOTOR}
    usual = {"gain": 1.0, "bias": np.zeros(3), "control_limits": free, "force_limits": free} | MOTOR
    base = {} if drive.measured_from is None else {"measured_from": drive.measured_from}
    return {"ratios": _by_joint(dict(drive.ratios))} | base | _unusual(keys, usual)


def _clutch(clutch: Clutch | Ratchet) -> dict[str, Any]:
    given = {"a": clutch.a, "b": clutch.b}
    sides = {key: side if isinstance(side, str) else dict(side) for key, side in given.items() if side is not None}
    return sides | _own_numbers(clutch, "name", *given) | {"engaged": bool(clutch.engaged)}


def _surface(surface: Surface) -> Table:
    if isinstance(surface.shape, Ground):
        raise ModelError("ground that is a function cannot be written", f"surface {surface.name!r}")
    offset = surface.place.offset
    keys = {"shape": written_name(type(surface.shape))} | _own_numbers(surface.shape) | {"body": surface.body}
    return Table(("surfaces", surface.name), keys | _place(offset), _turn_note(offset))


def _contact(contact: Contact) -> dict[str, Any]:
    keys = _own_numbers(contact, "name", "body", "at", "against")
    usual = {
        "radius": 0.0,
        "stiffness": 0.0,
        "damping": 0.0,
        "tangential_stiffness": contact.stiffness,
        "tangential_damping": contact.damping,
        "friction": np.zeros(2),
        "rest_speed": REST_SPEED,
        "rolling": 0.0,
        "spinning": 0.0,
        "restitution": 0.0,
    }
    if keys["dissipation"] is None:
        del keys["dissipation"]
    against = {"body": contact.body} | _place(contact.at.offset) | {"against": list(contact.against)}
    return against | _unusual(keys, usual)


def _spring(spring: Spring) -> dict[str, Any]:
    ends = {"a": spring.a, "b": spring.b} | _place(spring.at.offset) | _place(spring.to.offset, "to")
    keys = {key: float(getattr(spring, key)) for key in SPRING_PARAMETERS}
    return ends | _unusual(keys, dict.fromkeys(keys, 0.0))


def _unusual(keys: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are not as they are if nothing is said."""
    return {key: value for key, value in keys.items() if key not in usual or not _same(value, usual[key])}


def _own_numbers(owner: Any, *others: str) -> dict[str, Any]:
    """All fields but `others`; where a mesh is on this machine is not for others."""
    found = {field.name: getattr(owner, field.name) for field in fields(owner) if field.name not in ("path", *others)}
    return {key: _listed(value) for key, value in found.items()}


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def _place(pose: Transform, where: str = "at", turn: str = "") -> dict[str, Any]:
    """Position and rotation, where there is any. Sines differ between processors in their last bit, so only
    quarter turns are written as angles.
    """
    at = {} if _same(pose.p, np.zeros(3)) else {where: pose.p.tolist()}
    if _same(pose.R, np.eye(3)):
        return at
    if _aligned(pose.R):
        return at | {f"{turn}rpy{DEGREES}": (np.round(_rpy_degrees(pose.R) / 90.0) * 90.0 + 0.0).tolist()}
    return at | {f"{turn}rotation": pose.R.ravel().tolist()}


def _turn_note(pose: Transform, turn: str = "") -> dict[str, str]:
    """What a rotation matrix is in degrees, for people."""
    if _aligned(pose.R):
        return {}
    angles = ", ".join(f"{x:.6g}" for x in np.round(_rpy_degrees(pose.R), 6) + 0.0)
    return {f"{turn}rotation": f"{turn}rpy{DEGREES} = [{angles}]"}


def _aligned(R: Array) -> bool:
    return bool(np.isin(R, (-1.0, 0.0, 1.0)).all())


def _rpy_degrees(R: Array) -> Array:
    return np.degrees(rpy_from_matrix(R))


def _each(key: str, values: Array, default: float) -> dict[str, Any]:
    """A number of every velocity, unless all are as they are if nothing is said."""
    return {} if _same(values, np.full(len(values), default)) else {key: _one_or_many(values)}


def _one_or_many(values: Array) -> float | list[float]:
    """One number where all are the same."""
    return float(values[0]) if _same(values, np.full(len(values), values[0])) else values.tolist()


def _same(a: Any, b: Any) -> bool:
    """Whether two numbers or arrays have the same bits: -0.0 is not 0.0."""
    return np.asarray(a, dtype=float).tobytes() == np.asarray(b, dtype=float).tobytes()


# --- onto the disk ---


def _read_back(text: str, path: Path) -> None:
    """Raise a ModelError unless the text is read as what it was written from."""
    from linkwork.model.documents.toml_reader import read_text  # loads msgspec, which only documents need

    try:
        reading = read_text(text.encode(), path)
        raise_first(reading.faults)
    except (ModelError, UnicodeEncodeError) as error:
        reason = error.reason if isinstance(error, ModelError) else "a name has characters that no text can hold"
        element = error.element if isinstance(error, ModelError) else None
        raise ModelError(f"this cannot be saved, as it could not be loaded: {reason}", element, str(path)) from None
    if reading.mechanism is None or document_text(reading.mechanism) != text:
        raise ModelError("this cannot be saved: it would be loaded as another mechanism", file=str(path))
