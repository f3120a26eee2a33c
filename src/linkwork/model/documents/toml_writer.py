"""linkwork's own document, written: what a Builder would have to be told to build the same mechanism, bit for bit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.bodies import Frame, Part
from linkwork.model.document_values import (
    named_kinds,
    numbers_of_joints,
    own_fields,
    place_keys,
    rotation_note,
    same_bits,
    written_name,
)
from linkwork.model.documents.atomic_write import reason_of, write_whole
from linkwork.model.documents.toml_format import VERSION, table_text
from linkwork.model.elements import DOCUMENT_ORDER
from linkwork.model.faults import raise_first
from linkwork.model.geometry import Geometry
from linkwork.model.joints import JointKind, Weld
from linkwork.model.keyframes import Keyframe
from linkwork.model.mechanism import WORLD, Joint, Mechanism
from linkwork.spatial.scalar import Array


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
            yield _joint(joints[frame.name]) if frame.name in joints else _weld(parts[frame.name])
        elif frame.attachment:
            yield _frame(frame)
    for keyframe in mechanism.keyframes:
        yield Table(("keyframes", keyframe.name), _keyframe(mechanism, keyframe))
    sections = dict.fromkeys((*(class_.section for class_ in DOCUMENT_ORDER), *mechanism.elements))
    for section in sections:
        for one in mechanism.elements.get(section, ()):
            yield Table((section, one.name), *one.document())


def _keyframe(mechanism: Mechanism, keyframe: Keyframe) -> dict[str, Any]:
    """The coordinates and velocities of every joint that is not neutral or at rest."""
    q, v = keyframe.q, keyframe.v
    moved = {j.name: q[j.q] for j in mechanism.leaders if not same_bits(q[j.q], j.kind.neutral())}
    moving = {j.name: v[j.v] for j in mechanism.leaders if not same_bits(v[j.v], np.zeros(j.kind.nv))}
    return {key: numbers_of_joints(given) for key, given in (("positions", moved), ("velocities", moving)) if given}


def _body(part: Part) -> dict[str, Any]:
    six = part.inertia.tolist()
    numbers = {
        "mass": float(part.mass),
        "com": part.com.tolist(),
        "inertia": six[:3] if same_bits(part.inertia[3:], np.zeros(3)) else six,
    }
    nothing = same_bits(np.array([part.mass, *part.com, *six]), np.zeros(10))
    return ({} if nothing else numbers) | _geometry(part)


def _geometry(part: Part) -> dict[str, Any]:
    return {"geometry": [_shape(item) for item in part.geometry]} if part.geometry else {}


def _shape(item: Geometry) -> dict[str, Any]:
    own = {"shape": written_name(type(item.shape))} | own_fields(item.shape)
    rest = {"role": item.role, "color": item.color and list(item.color), "name": item.name}
    return own | place_keys(item.pose) | {key: value for key, value in rest.items() if value is not None}


def _joint(joint: Joint) -> Table:
    kind = joint.kind
    name = written_name(type(kind))
    meant = named_kinds(JointKind).get(name, type(kind))
    if (meant.__module__, meant.__qualname__) != (type(kind).__module__, type(kind).__qualname__):
        other = f"{meant.__module__}.{meant.__qualname__}"
        raise ModelError(f"in documents {name!r} is {other}; give the class another name", f"joint {joint.name!r}")
    keys = {"kind": name} | own_fields(kind) | {"parent": joint.carrier, "child": joint.child}
    keys |= place_keys(joint.offset)
    for key in ("armature", "damping", "stiffness"):
        keys |= _each(key, getattr(joint, key), 0.0)
    if not same_bits(joint.rest, kind.neutral()):
        keys["rest"] = joint.rest.tolist()
    keys |= _each("friction", joint.friction, 0.0)
    if _each("lower", joint.lower, -np.inf) or _each("upper", joint.upper, np.inf):
        keys["limits"] = [_one_or_many(joint.lower), _one_or_many(joint.upper)]
    for key in ("velocity_limit", "effort_limit"):
        keys |= _each(key, getattr(joint, key), np.inf)
    if joint.mimic is not None:
        keys["mimic"] = {key: getattr(joint.mimic, key) for key in ("of", "multiplier", "offset")}
    return Table(("joints", joint.name), keys, rotation_note(joint.offset))


def _weld(part: Part) -> Table:
    attachment = part.attachment
    assert attachment
    keys = {"kind": written_name(Weld), "parent": attachment.to, "child": part.name} | place_keys(attachment.offset)
    return Table(("joints", attachment.by), keys, rotation_note(attachment.offset))


def _frame(frame: Frame) -> Table:
    assert frame.attachment
    offset = frame.attachment.offset
    return Table(("frames", frame.name), {"body": frame.attachment.to} | place_keys(offset), rotation_note(offset))


def _each(key: str, values: Array, default: float) -> dict[str, Any]:
    """A number of every velocity, unless all are as they are if nothing is said."""
    return {} if same_bits(values, np.full(len(values), default)) else {key: _one_or_many(values)}


def _one_or_many(values: Array) -> float | list[float]:
    """One number where all are the same."""
    return float(values[0]) if same_bits(values, np.full(len(values), values[0])) else values.tolist()


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
