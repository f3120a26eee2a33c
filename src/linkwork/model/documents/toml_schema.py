"""What linkwork's own document may say: for each thing that a Builder can be told, a table of typed keys.

Keys are the names of the Builder's arguments, and what a joint kind or a shape adds is read off its own fields, so that
a new kind needs no text here. Defaults are the Builder's. A new sort of thing is one more table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from functools import reduce
from inspect import isabstract
from operator import or_
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, UnsetType

from linkwork.model.documents.reader import LONGEST_NAME
from linkwork.model.documents.toml_writer import DEGREES, VERSION, written_name
from linkwork.model.elements.ground import HeightField
from linkwork.model.elements.loop_kinds import Gear, PointOnLine, Rack, Rod  # noqa: F401  they are kinds too
from linkwork.model.geometry import ROLES, Shape
from linkwork.model.joints import ClosingKind, Free, JointKind

LONGEST_TEXT = 4096
Keys = dict[str, Any]  # a table's keys, each with the type of its value


def _of(type_: Any, wanted: str, about: str = "", **more: Any) -> Any:
    """A type with what messages say is wanted; editors show that, and what it is about."""
    return Annotated[type_, Meta(title=wanted, description=about or None, **more)]


def _numbers(count: int, unit: str = "", about: str = "") -> Any:
    return _of(tuple[(float,) * count], f"{count} numbers{unit}", about)


def _each(about: str, wanted: str = "a number, or one for each velocity of the joint", **more: Any) -> Any:
    """One number for the joint or as many as it has velocities or coordinates."""
    return _of(_ONE_OR_MANY, wanted, about, **more)


def _number(unit: str = "", about: str = "", **more: Any) -> Any:
    return _of(float, f"a number{unit}", about, **more)


def _by_joint(item: Any, about: str, **more: Any) -> Any:
    """A table with what is wanted of joints, by their names."""
    return _of(dict[NAME, item], "a table of numbers by joint", about, **more)


_ONE_OR_MANY = float | Annotated[list[float], Meta(min_length=1, max_length=7)]
_COORDINATES = "a number for each coordinate of the joint"
_VELOCITIES = "a number for each velocity of the joint"
_INFINITE = {"infinite": True}  # inf may be written
_MUST = {"required": True}  # the key must be there
NAME = _of(str, f"a name of 1 to {LONGEST_NAME} characters", min_length=1, max_length=LONGEST_NAME)
NEEDED = _of(NAME, f"a name of 1 to {LONGEST_NAME} characters", extra=_MUST)
TEXT = _of(str, f"a text of at most {LONGEST_TEXT} characters", max_length=LONGEST_TEXT)


def _place(where: str = "at", turn: str = "") -> Keys:
    """Where something is; `turn` stands before the keys of its rotation."""
    return {
        where: _numbers(3, " [m]", "where its origin is"),
        f"{turn}rpy": _numbers(3, " [rad]", "roll, pitch and yaw about the fixed x, y and z axis, as in URDF"),
        f"{turn}rpy{DEGREES}": _numbers(3, " [degrees]", "roll, pitch and yaw about the fixed x, y and z axis"),
        f"{turn}rotation": _numbers(9, "", "rotation matrix, row by row"),
    }


PLACE = _place()
GEOMETRY: Keys = PLACE | {
    "role": _of(Literal[ROLES], f"one of {', '.join(ROLES)}", "what is shown, or what touches"),
    "color": _numbers(4, " from 0 to 1", "red, green, blue, opacity"),
    "name": TEXT,
}
BODY: Keys = {
    "mass": _number(" [kg]"),
    "com": _numbers(3, " [m]", "centre of mass in the body's frame"),
    "inertia": _of(
        Annotated[list[float], Meta(min_length=3, max_length=6)],
        "3 or 6 numbers [kg m^2]",
        "ixx, iyy, izz, or these and ixy, ixz, iyz, about the centre of mass in the body's axes",
    ),
}
FRAME: Keys = {"body": NEEDED} | PLACE
MIMIC: Keys = {"of": NEEDED, "multiplier": _number(), "offset": _number(" [rad or m]")}
_LIMITS = tuple[_ONE_OR_MANY, _ONE_OR_MANY]
JOINT: Keys = {
    "parent": NEEDED,
    "child": NEEDED,
    **PLACE,
    "armature": _each("inertia of the drive as the joint feels it [kg m^2 or kg]"),
    "damping": _each("[N m s/rad or N s/m]"),
    "stiffness": _each("[N m/rad or N/m], towards the coordinates `rest`"),
    "rest": _each("[rad or m]", _COORDINATES),
    f"rest{DEGREES}": _each("[degrees]", _COORDINATES),
    "friction": _each("dry friction [N m or N]"),
    "limits": _of(_LIMITS, "[lower, upper]", "[rad or m]", extra=_INFINITE),
    f"limits{DEGREES}": _of(_LIMITS, "[lower, upper]", "[degrees]", extra=_INFINITE),
    "velocity_limit": _each("[rad/s or m/s]", extra=_INFINITE),
    f"velocity_limit{DEGREES}": _each("[degrees/s]", extra=_INFINITE),
    "effort_limit": _each("[N m or N]", extra=_INFINITE),
}
KEYFRAME: Keys = {
    "positions": _by_joint(_each("", _COORDINATES), "[rad or m], quaternions as (w, x, y, z); others are neutral"),
    "velocities": _by_joint(_each("", _VELOCITIES), "[rad/s or m/s]; others are zero"),
}
_YES_OR_NO = _of(bool, "true or false")
LOOP: Keys = {"a": NEEDED, "b": NEEDED, "closed": _YES_OR_NO} | PLACE | _place("to", "to_")
_INTERVAL = tuple[float, float]
DRIVE: Keys = {
    "ratios": _by_joint(_each("", _VELOCITIES), "by which each joint turns the motor", extra=_MUST),
    "gain": _number(" [N m or N]", "force by control"),
    "bias": _numbers(3, "", "force: a constant, by length and by rate of length"),
    "control_limits": _of(_INTERVAL, "[lower, upper]", "of the control", extra=_INFINITE),
    "force_limits": _of(_INTERVAL, "[lower, upper]", "[N m or N]", extra=_INFINITE),
    "gear": _number("", "turns of the motor for one of the sum of its joints"),
    "rotor_inertia": _number(" [kg m^2 or kg]", "of what turns at the motor's speed"),
    "efficiency": _of(float | _INTERVAL, "a number, or [driving, driven back]", "part of power that arrives"),
    "stall_torque": _number(" [N m or N]", "most force at rest", extra=_INFINITE),
    "no_load_speed": _number(" [rad/s or m/s]", "at which no force is left", extra=_INFINITE),
    "measured_from": _of(NAME, "the name of a body", "on which the motor sits, with cables over all joints in between"),
}
_SWITCHED: Keys = {
    "capacity": _number(" [N m or N]", "above which it slips", extra=_INFINITE),
    "engaged": _YES_OR_NO,
}
_SIDE = _of(NAME | dict[NAME, float], "a joint, or a table of numbers by joint", "summed up", extra=_MUST)
CLUTCH: Keys = {"a": _SIDE, "b": _SIDE, "ratio": _number("", "v_b = ratio v_a while engaged")} | _SWITCHED
BRAKE: Keys = {"joint": NEEDED} | _SWITCHED
RATCHET: Keys = {
    "a": _SIDE,
    "b": _of(NAME | dict[NAME, float], "a joint, or a table of numbers by joint", "that may run ahead; a, if left out"),
    "ratio": _number("", "v_b >= ratio v_a while engaged"),
    "direction": _number("", "1, or -1 where it is turned round"),
} | _SWITCHED
LATCH: Keys = {
    "joint": NEEDED,
    "at": _number(" [rad or m]", "where it falls in", extra=_MUST),
    "side": _of(TEXT, "below, above or both", "from where the joint comes"),
    "engaged": _YES_OR_NO,
}
TRANSMISSION: Keys = {
    "driving": NEEDED,
    "driven": NEEDED,
    "ratios": _of(list[float], "a list of numbers", "v_driving = ratio v_driven, one for each gear", extra=_MUST),
    "selected": _of(int, "a whole number", "the gear that is in, from 1; 0 is neutral"),
}
DIFFERENTIAL: Keys = {
    "driving": NEEDED,
    "left": NEEDED,
    "right": NEEDED,
    "ratio": _number("", "v_left + v_right = 2 ratio v_driving while engaged"),
    "engaged": _YES_OR_NO,
}
COUPLING: Keys = {
    "factors": _by_joint(_each("", _VELOCITIES), "of velocities, whose sum is zero while engaged", extra=_MUST),
    "engaged": _YES_OR_NO,
}
SURFACE: Keys = {"body": NAME} | PLACE
CONTACT: Keys = {
    "body": NEEDED,
    "at": PLACE["at"],
    "radius": _number(" [m]", "of a ball; 0 is a point"),
    "against": _of(list[NAME], "a list of names", "surfaces that it touches; all of other bodies, if left out"),
    "stiffness": _number(" [N/m]", "along the normal; rigid contacts need none"),
    "damping": _number(" [N s/m]", "along the normal"),
    "tangential_stiffness": _number(" [N/m]", "along the surface; that along the normal, if left out"),
    "tangential_damping": _number(" [N s/m]", "along the surface; that along the normal, if left out"),
    "friction": _of(float | _INTERVAL, "a number, or [static, dynamic]", "coefficients of friction"),
    "rest_speed": _number(" [m/s]", "below which a sliding contact sticks"),
    "rolling": _number(" [m]", "torque by normal force that brakes a rolling ball"),
    "spinning": _number(" [m]", "torque by normal force that brakes a spinning ball"),
    "restitution": _number("", "speed after over speed before an impact, from 0 to 1, where contacts are rigid"),
    "dissipation": _number(" [s/m]", "of Hunt and Crossley's normal force; the stiffness is in N/m^1.5 then"),
}
SPRING: Keys = {
    "a": NEEDED,
    "b": NEEDED,
    "at": _numbers(3, " [m]", "the point of a"),
    "to": _numbers(3, " [m]", "the point of b"),
    "stiffness": _number(" [N/m]"),
    "damping": _number(" [N s/m]"),
    "length": _number(" [m]", "between the points, at which the spring rests"),
}
PLAIN: dict[str, tuple[str, Keys]] = {  # tables whose keys are all there is to them, with what messages call one
    "frames": ("frame", FRAME),
    "keyframes": ("keyframe", KEYFRAME),
    "drives": ("drive", DRIVE),
    "clutches": ("clutch", CLUTCH),
    "brakes": ("brake", BRAKE),
    "ratchets": ("ratchet", RATCHET),
    "latches": ("latch", LATCH),
    "transmissions": ("transmission", TRANSMISSION),
    "differentials": ("differential", DIFFERENTIAL),
    "couplings": ("coupling", COUPLING),
    "contacts": ("contact", CONTACT),
    "springs": ("spring", SPRING),
}
TOP: Keys = {"name": _of(TEXT, "a text that is not empty", min_length=1), "gravity": _numbers(3, " [m/s^2]")}
# What the annotations of kinds' and shapes' fields mean in a document; a field of another is not written
WRITTEN: Keys = {
    "float": _number(),
    "int": _of(int, "a whole number"),
    "Axis": _numbers(3),
    "Three": _numbers(3),
    "Two": _numbers(2),
    "Rows": _of(list[list[float]], "rows of numbers"),
    "str": TEXT,
}


def _kinds(base: type = JointKind) -> Iterator[type]:
    for class_ in base.__subclasses__():
        if not isabstract(class_):
            yield class_
        yield from _kinds(class_)


KINDS: dict[str, type] = {written_name(class_): class_ for class_ in _kinds()}
CLOSING_KINDS = {written_name(class_): class_ for class_ in _kinds(ClosingKind) if class_ is not Free}
SHAPES: dict[str, type] = {written_name(class_): class_ for class_ in get_args(Shape)}
SURFACES: dict[str, type] = SHAPES | {written_name(HeightField): HeightField}


def own_keys(class_: type) -> Keys:
    """The keys that a joint kind or a shape adds."""
    return {field.name: WRITTEN[str(field.type)] for field in fields(class_) if str(field.type) in WRITTEN}


def required_keys(keys: Keys, class_: type | None = None) -> list[str]:
    """Those that a table must have, and the fields of `class_` that have no default."""
    own = {field.name for field in fields(class_) if field.default is MISSING} if class_ else set()
    return [key for key, type_ in keys.items() if key in own or _is("required", type_)]


def _meta(type_: Any) -> list[Meta]:
    return [meta for meta in get_args(type_) if isinstance(meta, Meta)]


def _is(what: str, type_: Any) -> bool:
    return any((meta.extra or {}).get(what) for meta in _meta(type_))


def wanted(type_: Any) -> str:
    """What a value of that type is, in words."""
    return [meta.title for meta in _meta(type_) if meta.title][-1]


def allows_infinity(type_: Any) -> bool:
    """Whether inf may be written for a value of that type."""
    return _is("infinite", type_)


def item_type(type_: Any) -> Any:
    """The type of what a table by joint has for each; None for other types."""
    plain = get_args(type_)[0] if _meta(type_) else type_
    return get_args(plain)[1] if get_origin(plain) is dict else None


# --- for editors ---


def _struct(name: str, keys: Keys, class_: type | None = None, **tag: Any) -> Any:
    """A table as msgspec knows tables."""
    must = required_keys(keys, class_)
    first = [(key, keys[key]) for key in must]
    rest = [(key, type_ | UnsetType, UNSET) for key, type_ in keys.items() if key not in must]
    return msgspec.defstruct(name, [*first, *rest], forbid_unknown_fields=True, **tag)


def _choice(name: str, field: str, classes: dict[str, type], keys: Keys) -> Any:
    """Tables of which each is of a class that one of its keys names."""
    structs = [
        _struct(f"{class_.__name__}{name}", own_keys(class_) | keys, class_, tag_field=field, tag=tag)
        for tag, class_ in classes.items()
    ]
    return reduce(or_, structs)


def schema() -> dict[str, Any]:
    """The JSON schema of a document."""
    geometry: Keys = {"geometry": list[_choice("Geometry", "shape", SHAPES, GEOMETRY)]}
    mimic = {"mimic": _struct("Mimic", MIMIC)}
    tables = {
        "world": _struct("World", geometry),
        "bodies": dict[NAME, _struct("Body", BODY | geometry)],
        "joints": dict[NAME, _choice("Joint", "kind", KINDS, JOINT | mimic)],
        "loops": dict[NAME, _choice("Loop", "kind", CLOSING_KINDS, LOOP)],
        "surfaces": dict[NAME, _choice("Surface", "shape", SURFACES, SURFACE)],
    }
    for section, (name, keys) in PLAIN.items():
        tables[section] = dict[NAME, _struct(name.title(), keys)]
    version = [("linkwork", Literal[VERSION])]
    rest = [(key, type_ | UnsetType, UNSET) for key, type_ in (TOP | tables).items()]
    document = msgspec.defstruct("Document", [*version, *rest], forbid_unknown_fields=True)
    return msgspec.json.schema(document)
