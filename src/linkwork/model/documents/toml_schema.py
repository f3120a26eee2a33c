"""The schema of linkwork's TOML documents: the keys and value types of each kind of table.

Keys are the names of the Builder's arguments. Keys of elements follow from the definitions in their classes, and keys
of joint kinds and shapes from their fields, so that a new kind needs no change here.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, UnsetType

from linkwork.model.documents.base_reader import LONGEST_NAME
from linkwork.model.documents.toml_values import VERSION
from linkwork.model.elements.element import Element, kinds
from linkwork.model.elements.key_types import ClassKind, place
from linkwork.model.geometry import ROLES, Shape
from linkwork.model.joints import JointKind
from linkwork.model.toml_value_conversion import DEGREES, Documented, Name, Text, Velocities, named_kinds, written_name

LONGEST_TEXT = 4096
Keys = dict[str, Any]  # TOML key: type of its value


def _of(type_: Any, wanted: str, about: str = "", **more: Any) -> Any:
    """Return the msgspec type of a TOML value, `type_` annotated with texts for error messages and editors.

    `wanted` describes the expected value, such as "a number", and `about` its meaning. `more` are further arguments of
    msgspec's Meta, such as bounds.
    """
    return Annotated[type_, Meta(title=wanted, description=about or None, **more)]


def _numbers(count: int, unit: str = "", about: str = "") -> Any:
    return _of(tuple[(float,) * count], f"{count} numbers{unit}", about)


def _one_or_per_velocity(
    about: str, wanted: str = "a number, or one for each velocity of the joint", **more: Any
) -> Any:
    """Return the msgspec type of a joint parameter: one number, or one for each velocity or coordinate of the joint.

    See `_of` for `wanted`, `about` and `more`.
    """
    return _of(_ONE_OR_MANY, wanted, about, **more)


def _number(unit: str = "", about: str = "", **more: Any) -> Any:
    return _of(float, f"a number{unit}", about, **more)


def _by_joint(item: Any, about: str, **more: Any) -> Any:
    """Return the msgspec type of a TOML table that maps joint names to values of the type `item`.

    See `_of` for `about` and `more`.
    """
    return _of(dict[NAME, item], "a table of numbers by joint", about, **more)


_ONE_OR_MANY = float | Annotated[list[float], Meta(min_length=1, max_length=7)]
_COORDINATES = "a number for each coordinate of the joint"
_VELOCITIES = "a number for each velocity of the joint"
_INFINITE = {"infinite": True}  # marks types whose values may be infinite
_MUST = {"required": True}  # marks required keys
NAME = _of(str, f"a name of 1 to {LONGEST_NAME} characters", min_length=1, max_length=LONGEST_NAME)
NEEDED = _of(NAME, f"a name of 1 to {LONGEST_NAME} characters", extra=_MUST)
TEXT = _of(str, f"a string of at most {LONGEST_TEXT} characters", max_length=LONGEST_TEXT)


_STANDS_FOR = {Name: NAME, Text: TEXT, Velocities: _one_or_per_velocity("", _VELOCITIES)}


def _typed(type_: Any) -> Any:
    """Return `type_` with markers (Name, Text, Velocities) replaced by the types of values in a TOML document."""
    arguments = get_args(type_)
    if not arguments:
        return _STANDS_FOR.get(type_, type_)
    parts, origin = tuple(map(_typed, arguments)), get_origin(type_)
    return reduce(or_, parts) if origin is UnionType else origin[parts]


def _key(one: Documented) -> Any:
    """Return the msgspec type of one TOML key of an element, from its definition `one`."""
    extra = ({"required": True} if one.required else {}) | (_INFINITE if one.infinite else {})
    type_ = _typed(one.type_)
    return _of(type_, one.wanted or wanted(type_), one.about, extra=extra or None)


def keys_of(class_: type[Element]) -> Keys:
    """Return the TOML keys of the element kind `class_`, each with the type of its value.

    If the element has a joint kind or a shape, the key that names the class of this object and the keys of the class
    are left out.
    """
    found: dict[str, Documented] = {}
    for name, one in class_.definitions().items():
        if not isinstance(one.kind, ClassKind):
            found |= one.kind.documented(name, one.about, one.required)
    return {name: _key(one) for name, one in found.items()}


def class_key(class_: type[Element]) -> tuple[str, dict[str, type]] | None:
    """Return the TOML key whose value names a class, such as `kind` of a loop, and the possible classes by name.

    None if the element kind `class_` has no such key.
    """
    own = [(name, one.kind) for name, one in class_.definitions().items() if isinstance(one.kind, ClassKind)]
    return (own[0][0], dict(own[0][1].choices())) if own else None


PLACE: Keys = {name: _key(one) for name, one in place("").documented("at", "", False).items()}
GEOMETRY: Keys = PLACE | {
    "role": _of(Literal[ROLES], f"one of {', '.join(ROLES)}", "Purpose of the shape: display or collision"),
    "color": _numbers(4, " from 0 to 1", "Red, green, blue and opacity"),
    "name": TEXT,
}
BODY: Keys = {
    "mass": _number(" [kg]", "Mass"),
    "com": _numbers(3, " [m]", "Centre of mass in the body's frame"),
    "inertia": _of(
        Annotated[list[float], Meta(min_length=3, max_length=6)],
        "3 or 6 numbers [kg m^2]",
        "Inertia about the centre of mass in the body's axes: ixx, iyy, izz, and optionally ixy, ixz, iyz",
    ),
}
FRAME: Keys = {"body": NEEDED} | PLACE
MIMIC: Keys = {"of": NEEDED, "multiplier": _number(), "offset": _number(" [rad or m]")}
_LIMITS = tuple[_ONE_OR_MANY, _ONE_OR_MANY]
JOINT: Keys = {
    "parent": NEEDED,
    "child": NEEDED,
    **PLACE,
    "armature": _one_or_per_velocity("Inertia of the drive, reflected to the joint [kg m^2 or kg]"),
    "damping": _one_or_per_velocity("Viscous damping [N m s/rad or N s/m]"),
    "stiffness": _one_or_per_velocity("Stiffness of a spring in the joint [N m/rad or N/m]"),
    "rest": _one_or_per_velocity("Coordinates at which the spring force is zero [rad or m]", _COORDINATES),
    f"rest{DEGREES}": _one_or_per_velocity("Coordinates at which the spring force is zero [degrees]", _COORDINATES),
    "friction": _one_or_per_velocity("Dry friction [N m or N]"),
    "limits": _of(_LIMITS, "[lower, upper]", "Position limits [rad or m]", extra=_INFINITE),
    f"limits{DEGREES}": _of(_LIMITS, "[lower, upper]", "Position limits [degrees]", extra=_INFINITE),
    "velocity_limit": _one_or_per_velocity("Largest speed [rad/s or m/s]", extra=_INFINITE),
    f"velocity_limit{DEGREES}": _one_or_per_velocity("Largest speed [degrees/s]", extra=_INFINITE),
    "effort_limit": _one_or_per_velocity("Largest force or torque of an actuator [N m or N]", extra=_INFINITE),
}
KEYFRAME: Keys = {
    "positions": _by_joint(
        _one_or_per_velocity("", _COORDINATES),
        "Coordinates by joint [rad or m], quaternions as (w, x, y, z); other joints are neutral",
    ),
    "velocities": _by_joint(
        _one_or_per_velocity("", _VELOCITIES), "Velocities by joint [rad/s or m/s]; others are zero"
    ),
}
# Section without elements: word for one of its tables in messages, and their keys
PLAIN: dict[str, tuple[str, Keys]] = {
    "frames": ("frame", FRAME),
    "keyframes": ("keyframe", KEYFRAME),
}
TOP: Keys = {"name": _of(TEXT, "a nonempty string", min_length=1), "gravity": _numbers(3, " [m/s^2]")}
# Annotation of a field of a joint kind or shape: type in documents. Fields with other annotations are not written
WRITTEN: Keys = {
    "float": _number(),
    "float | None": _number(),
    "int": _of(int, "a whole number"),
    "Axis": _numbers(3),
    "Three": _numbers(3),
    "Two": _numbers(2),
    "Rows": _of(list[list[float]], "rows of numbers"),
    "str": TEXT,
}


def joint_kinds() -> dict[str, type]:
    """Return all joint kinds, of linkwork and of users, by their names in documents."""
    return named_kinds(JointKind)


SHAPES: dict[str, type] = {written_name(class_): class_ for class_ in get_args(Shape)}


def own_keys(class_: type) -> Keys:
    """Return the TOML keys, with value types, for the fields of a joint kind or shape `class_`."""
    types = {field.name: getattr(field.type, "__name__", str(field.type)) for field in fields(class_)}
    return {name: WRITTEN[type_] for name, type_ in types.items() if type_ in WRITTEN}


def required_keys(keys: Keys, class_: type | None = None) -> list[str]:
    """Return the required TOML keys of a table, including the fields of `class_` that have no default."""
    own = {field.name for field in fields(class_) if field.default is MISSING} if class_ else set()
    return [key for key, type_ in keys.items() if key in own or _is("required", type_)]


def _meta(type_: Any) -> list[Meta]:
    return [meta for meta in get_args(type_) if isinstance(meta, Meta)]


def _is(what: str, type_: Any) -> bool:
    return any((meta.extra or {}).get(what) for meta in _meta(type_))


def wanted(type_: Any) -> str:
    """Return a description of the TOML values that the type `type_` accepts, for error messages."""
    return [meta.title for meta in _meta(type_) if meta.title][-1]


def allows_infinity(type_: Any) -> bool:
    """Return whether a TOML value of the type `type_` may be infinite."""
    return _is("infinite", type_)


def item_type(type_: Any) -> Any:
    """Return the type of one value in a table by joint name, or None if `type_` is not such a table."""
    plain = get_args(type_)[0] if _meta(type_) else type_
    return get_args(plain)[1] if get_origin(plain) is dict else None


# --- for editors ---


def _struct(name: str, keys: Keys, class_: type | None = None, **tag: Any) -> Any:
    """Return the msgspec Struct type called `name` that checks a TOML table with these keys.

    `keys` maps each key to the type of its value. `class_` is the joint kind or shape whose required fields the table
    must have; `tag` are arguments of msgspec that name the class.
    """
    must = required_keys(keys, class_)
    first = [(key, keys[key]) for key in must]
    rest = [(key, type_ | UnsetType, UNSET) for key, type_ in keys.items() if key not in must]
    return msgspec.defstruct(name, [*first, *rest], forbid_unknown_fields=True, **tag)


def _choice(name: str, field: str, classes: dict[str, type], keys: Keys) -> Any:
    """Return the union of the msgspec types of tables that describe an object of one of the classes `classes`.

    The value of the key `field`, such as "kind", names the class. `keys` are the keys of all these tables besides the
    fields of their classes; `name` is part of the names of the types.
    """
    structs = [
        _struct(f"{class_.__name__}{name}", own_keys(class_) | keys, class_, tag_field=field, tag=tag)
        for tag, class_ in classes.items()
    ]
    return reduce(or_, structs)


def schema() -> dict[str, Any]:
    """Return the JSON schema of linkwork's TOML documents."""
    geometry: Keys = {"geometry": list[_choice("Geometry", "shape", SHAPES, GEOMETRY)]}
    mimic = {"mimic": _struct("Mimic", MIMIC)}
    tables = {
        "world": _struct("World", geometry),
        "bodies": dict[NAME, _struct("Body", BODY | geometry)],
        "joints": dict[NAME, _choice("Joint", "kind", joint_kinds(), JOINT | mimic)],
    }
    for section, (name, keys) in PLAIN.items():
        tables[section] = dict[NAME, _struct(name.title(), keys)]
    for section, class_ in kinds().items():
        title, keys, choice = class_.what.title().replace(" ", ""), keys_of(class_), class_key(class_)
        tables[section] = dict[NAME, _choice(title, *choice, keys) if choice else _struct(title, keys)]
    version = [("linkwork", Literal[VERSION])]
    rest = [(key, type_ | UnsetType, UNSET) for key, type_ in (TOP | tables).items()]
    document = msgspec.defstruct("Document", [*version, *rest], forbid_unknown_fields=True)
    return msgspec.json.schema(document)
