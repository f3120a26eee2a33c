"""Writer of linkwork's TOML documents, which store the Builder's arguments of a mechanism bit for bit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.bodies import Frame, Part
from linkwork.model.documents.atomic_write import reason_of, write_whole
from linkwork.model.documents.toml_values import VERSION, table_text
from linkwork.model.elements import DOCUMENT_ORDER
from linkwork.model.geometry import Geometry
from linkwork.model.joints import JointKind, Weld
from linkwork.model.keyframes import Keyframe
from linkwork.model.mechanism import WORLD, Joint, Mechanism
from linkwork.model.model_definition_faults import raise_first
from linkwork.model.toml_value_conversion import (
    named_kinds,
    numbers_of_joints,
    own_fields,
    place_keys,
    rotation_note,
    same_bits,
    written_name,
)
from linkwork.spatial.scalar import Array


class Table(NamedTuple):
    """A table of a TOML document: its `path`, its `keys` with values, and `notes`, the comments after some keys."""

    path: tuple[str, ...]
    keys: dict[str, Any]
    notes: Mapping[str, str] = MappingProxyType({})


def save(mechanism: Mechanism, path: str | os.PathLike[str]) -> None:
    """Save a mechanism to a TOML document, from which `load` restores it bit for bit.

    The text is read back and compared before the file is replaced atomically. Meshes are saved by name, and searched
    again when the document is loaded.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism to save.
    path : str or path-like
        File that ends in .toml.

    Raises
    ------
    ModelError
        If the mechanism cannot be represented in a document, or the file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "arm.toml")
    >>> lw.save(lw.example("double_pendulum"), path)
    >>> lw.load(path)
    <Mechanism 'double_pendulum': 2 bodies, 2 joints, nq=2, nv=2>

    """
    if not isinstance(mechanism, Mechanism):
        raise ModelError(f"mechanism must be a Mechanism, as Builder.build() returns; got {mechanism!r}")
    try:
        path = Path(path)
    except TypeError:
        raise ModelError(f"path must be a string or a pathlib.Path; got {path!r}") from None
    if path.suffix.lower() != ".toml":
        raise ModelError(f"the file name of a document must end in .toml; got {path.suffix!r}", file=str(path))
    try:
        data = checked_text(mechanism, path).encode()
        write_whole(path, lambda beside: beside.write_bytes(data))
    except (OSError, ValueError) as error:
        raise ModelError(f"the file cannot be written: {reason_of(error)}", file=str(path)) from None


def document_text(mechanism: Mechanism) -> str:
    """Return the TOML document of a mechanism as text."""
    return "\n".join(table_text(*table) for table in _tables(mechanism))


def checked_text(mechanism: Mechanism, path: Path) -> str:
    """Return the TOML document of a mechanism as text, after a check that reading it gives the same mechanism.

    Raise a ModelError if it does not. `path` is the file that will have the text.
    """
    text = document_text(mechanism)
    _read_back(text, path)
    return text


# --- tables ---


def _tables(mechanism: Mechanism) -> Iterator[Table]:
    """Yield the document's tables: each body with its joint, in order; then frames, keyframes and elements."""
    top = {"linkwork": VERSION, "name": mechanism.name, "gravity": mechanism.gravity.tolist()}
    yield Table((), top)
    parts = {part.name: part for body in mechanism.bodies for part in body.parts}
    joints = {joint.child: joint for joint in mechanism.joints}
    ground = parts.pop(mechanism.bodies[WORLD].name, None)
    if ground:
        yield Table(("world",), _geometry(ground))
    for frame in mechanism.frames:  # first the frames of all parts in order, then others
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
    """Return a keyframe as a table of a TOML document, without joints that are in neutral position and at rest."""
    q, v = keyframe.q, keyframe.v
    moved = {j.name: q[j.q] for j in mechanism.leaders if not same_bits(q[j.q], j.kind.neutral())}
    velocities = {j.name: v[j.v] for j in mechanism.leaders if not same_bits(v[j.v], np.zeros(j.kind.nv))}
    return {key: numbers_of_joints(given) for key, given in (("positions", moved), ("velocities", velocities)) if given}


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
        reason = f"in documents the kind {name!r} means {other}; rename the class of this joint's kind"
        raise ModelError(reason, f"joint {joint.name!r}")
    keys = {"kind": name} | own_fields(kind) | {"parent": joint.carrier, "child": joint.child}
    keys |= place_keys(joint.offset)
    for key in ("armature", "damping", "stiffness"):
        keys |= _entry_unless_default(key, getattr(joint, key), 0.0)
    if not same_bits(joint.rest, kind.neutral()):
        keys["rest"] = joint.rest.tolist()
    keys |= _entry_unless_default("friction", joint.friction, 0.0)
    if _entry_unless_default("lower", joint.lower, -np.inf) or _entry_unless_default("upper", joint.upper, np.inf):
        keys["limits"] = [_one_or_many(joint.lower), _one_or_many(joint.upper)]
    for key in ("velocity_limit", "effort_limit"):
        keys |= _entry_unless_default(key, getattr(joint, key), np.inf)
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


def _entry_unless_default(key: str, values: Array, default: float) -> dict[str, Any]:
    """Return the TOML entry `key` for the numbers `values` of a joint; empty if all of them are `default`."""
    return {} if same_bits(values, np.full(len(values), default)) else {key: _one_or_many(values)}


def _one_or_many(values: Array) -> float | list[float]:
    """Return the array `values` as one float if all its numbers are equal, else as a list."""
    return float(values[0]) if same_bits(values, np.full(len(values), values[0])) else values.tolist()


# --- check ---


def _read_back(text: str, path: Path) -> None:
    """Raise a ModelError unless reading the document `text` gives a mechanism whose document is the same text.

    `path` is the file that will have the text.
    """
    from linkwork.model.documents.toml_reader import read_text  # imports msgspec, which only documents need

    try:
        reading = read_text(text.encode(), path)
        raise_first(reading.faults)
    except (ModelError, UnicodeEncodeError) as error:
        reason = error.reason if isinstance(error, ModelError) else "a name has characters that UTF-8 cannot encode"
        element = error.element if isinstance(error, ModelError) else None
        raise ModelError(
            f"cannot be saved, because it could not be loaded again: {reason}", element, str(path)
        ) from None
    again = "" if reading.mechanism is None else document_text(reading.mechanism)
    if again != text:
        lines = zip_longest(text.splitlines(), again.splitlines(), fillvalue="")
        written, loaded = next((pair for pair in lines if pair[0] != pair[1]), ("", ""))
        raise ModelError(
            "cannot be saved, because the mechanism loaded from the document would differ: the document has the line "
            f"{written!r:.100}, and the document of the loaded mechanism has {loaded!r:.100}",
            file=str(path),
        )
