"""Values as a document has them: plain numbers, texts, lists and tables from which the same bits are read again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from inspect import isabstract
from typing import Any, NamedTuple

import numpy as np

from linkwork.spatial import Transform
from linkwork.spatial.rotation import rpy_from_matrix
from linkwork.spatial.scalar import Array

DEGREES = "_deg"  # a key that ends so is in degrees, and stands for the key without it
PACKAGE = __name__.partition(".")[0] + "."


class Name:
    """Stands for a name in the type of a document's value."""


class Text:
    """Stands for a text in the type of a document's value."""


class Velocities:
    """Stands for one number, or one for each velocity of a joint, in the type of a document's value."""


class Documented(NamedTuple):
    """A document's key: the type of its value, what messages say is `wanted`, what it is `about`."""

    type_: Any
    wanted: str = ""
    about: str = ""
    required: bool = False
    infinite: bool = False


def written_name(class_: type) -> str:
    """What a document calls a joint kind or a shape."""
    return class_.__name__.lower()


def named_kinds(base: type) -> dict[str, type]:
    """The classes below `base` that documents can name, by those names; users' classes never hide linkwork's."""
    users_first = sorted(_concrete(base), key=lambda class_: class_.__module__.startswith(PACKAGE))
    return {written_name(class_): class_ for class_ in users_first}


def _concrete(base: type) -> Iterator[type]:
    for class_ in base.__subclasses__():
        if is_dataclass(class_) and not isabstract(class_):
            yield class_
        yield from _concrete(class_)


def own_fields(owner: Any) -> dict[str, Any]:
    """All fields of a joint kind or a shape; where a mesh is on this machine is left out."""
    own = fields(owner) if is_dataclass(owner) else ()
    return {field.name: as_lists(getattr(owner, field.name)) for field in own if field.name != "path"}


def as_lists(value: Any) -> Any:
    """The same with lists instead of tuples."""
    return [as_lists(item) for item in value] if isinstance(value, tuple) else value


def numbers_of_joints(given: Mapping[str, Array]) -> dict[str, Any]:
    """Numbers by joint, one without brackets."""
    return {joint: float(numbers[0]) if len(numbers) == 1 else numbers.tolist() for joint, numbers in given.items()}


def place_keys(pose: Transform, where: str = "at", turn: str = "") -> dict[str, Any]:
    """Position and rotation, where there is any. Sines differ between processors in their last bit, so only
    quarter turns are written as angles.
    """
    at = {} if same_bits(pose.p, np.zeros(3)) else {where: pose.p.tolist()}
    if same_bits(pose.R, np.eye(3)):
        return at
    if _aligned(pose.R):
        return at | {f"{turn}rpy{DEGREES}": (np.round(_rpy_degrees(pose.R) / 90.0) * 90.0 + 0.0).tolist()}
    return at | {f"{turn}rotation": pose.R.ravel().tolist()}


def rotation_note(pose: Transform, turn: str = "") -> dict[str, str]:
    """What a rotation matrix is in degrees, as a comment for people."""
    if _aligned(pose.R):
        return {}
    angles = ", ".join(f"{x:.6g}" for x in np.round(_rpy_degrees(pose.R), 6) + 0.0)
    return {f"{turn}rotation": f"{turn}rpy{DEGREES} = [{angles}]"}


def same_bits(a: Any, b: Any) -> bool:
    """Whether two numbers or arrays have the same bits: -0.0 is not 0.0."""
    return np.asarray(a, dtype=float).tobytes() == np.asarray(b, dtype=float).tobytes()


def _aligned(R: Array) -> bool:
    return bool(np.isin(R, (-1.0, 0.0, 1.0)).all())


def _rpy_degrees(R: Array) -> Array:
    return np.degrees(rpy_from_matrix(R))
