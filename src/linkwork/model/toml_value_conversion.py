"""Conversion of values to plain numbers, strings, lists and tables for TOML documents, exact for every float."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from inspect import isabstract
from typing import Any, NamedTuple

import numpy as np

from linkwork.spatial import Transform
from linkwork.spatial.rotation import rpy_from_matrix
from linkwork.spatial.scalar import Array

DEGREES = "_deg"  # suffix of keys with angles in degrees; angles of other keys are in radians
PACKAGE = __name__.partition(".")[0] + "."


class Name:
    """Type marker of a key in a TOML document whose value is the name of a body or of another object."""


class Text:
    """Type marker of a key in a TOML document whose value is a string."""


class Velocities:
    """Type marker of a key in a TOML document whose value is one number, or one number for each velocity of a joint."""


class Documented(NamedTuple):
    """Type, expected value and meaning of one key of a TOML document.

    `type_` is the type of its value, `wanted` describes the expected value in messages, and `about` is its meaning.
    `python` is the type of the Builder argument in docstrings. `required` is whether the key must be given, and
    `infinite` whether its value may be infinite.
    """

    type_: Any
    wanted: str = ""
    about: str = ""
    required: bool = False
    infinite: bool = False
    python: str = ""


def written_name(class_: type) -> str:
    """Return the name of the joint kind or shape `class_` in TOML documents: its class name in lower case."""
    return class_.__name__.lower()


def named_kinds(base: type) -> dict[str, type]:
    """Return all concrete subclasses of `base`, such as JointKind, by their names in TOML documents.

    If a user's class has the name of a linkwork class, the linkwork class is used.
    """
    users_first = sorted(_concrete(base), key=lambda class_: class_.__module__.startswith(PACKAGE))
    return {written_name(class_): class_ for class_ in users_first}


def _concrete(base: type) -> Iterator[type]:
    for class_ in base.__subclasses__():
        if is_dataclass(class_) and not isabstract(class_):
            yield class_
        yield from _concrete(class_)


def own_fields(owner: Any) -> dict[str, Any]:
    """Return the dataclass fields of the joint kind or shape `owner` by name, without None and a mesh's local path."""
    own = {field.name: getattr(owner, field.name) for field in (fields(owner) if is_dataclass(owner) else ())}
    return {name: as_lists(value) for name, value in own.items() if name != "path" and value is not None}


def as_lists(value: Any) -> Any:
    """Return `value` with all tuples, at every depth, replaced by lists."""
    return [as_lists(item) for item in value] if isinstance(value, tuple) else value


def numbers_of_joints(given: Mapping[str, Array]) -> dict[str, Any]:
    """Return numbers by joint name as a TOML document stores them: a float for a single number, else a list.

    `given` maps joint names to arrays.
    """
    return {joint: float(numbers[0]) if len(numbers) == 1 else numbers.tolist() for joint, numbers in given.items()}


def place_keys(pose: Transform, where: str = "at", turn: str = "") -> dict[str, Any]:
    """Return `pose` as keys and values of a TOML document; a zero position and an identity rotation are omitted.

    `where` is the key of the position, and `turn` a prefix of the keys of the rotation. Only quarter turns are written
    as angles, because sines differ in their last bit between processors.
    """
    at = {} if same_bits(pose.p, np.zeros(3)) else {where: pose.p.tolist()}
    if same_bits(pose.R, np.eye(3)):
        return at
    if _aligned(pose.R):
        return at | {f"{turn}rpy{DEGREES}": (np.round(_rpy_degrees(pose.R) / 90.0) * 90.0 + 0.0).tolist()}
    return at | {f"{turn}rotation": pose.R.ravel().tolist()}


def rotation_note(pose: Transform, turn: str = "") -> dict[str, str]:
    """Return the comment beside a rotation matrix in a TOML document: its roll, pitch and yaw angles in degrees.

    `turn` is a prefix of the keys of the rotation. `pose` is the pose with this rotation.
    """
    if _aligned(pose.R):
        return {}
    angles = ", ".join(f"{x:.6g}" for x in np.round(_rpy_degrees(pose.R), 6) + 0.0)
    return {f"{turn}rotation": f"{turn}rpy{DEGREES} = [{angles}]"}


def same_bits(a: Any, b: Any) -> bool:
    """Return whether a and b, two numbers or arrays, are equal bit for bit: -0.0 differs from 0.0."""
    return np.asarray(a, dtype=float).tobytes() == np.asarray(b, dtype=float).tobytes()


def _aligned(R: Array) -> bool:
    return bool(np.isin(R, (-1.0, 0.0, 1.0)).all())


def _rpy_degrees(R: Array) -> Array:
    return np.degrees(rpy_from_matrix(R))
