"""Copy of a mechanism with new parameter values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from linkwork.errors import ShapeError
from linkwork.model.batch_broadcasting import as_numbers
from linkwork.model.bodies import Body
from linkwork.model.elements.element import Element
from linkwork.model.mechanism_joint import Joint
from linkwork.model.model_definition_faults import raise_first
from linkwork.model.named_collections import Sections
from linkwork.model.parameter_value_checks import BODY_PARAMETERS, JOINT_PARAMETERS, is_traced
from linkwork.model.physical_validity import massless_faults, part_faults
from linkwork.spatial import Transform

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism


def varied(
    mechanism: Mechanism,
    values: Mapping[str, Any],
    owners: Mapping[str, tuple[Element, str]],
    traced: AbstractSet[str],
) -> Mechanism:
    """Return a copy of the mechanism with new parameter values, each of which is checked.

    `values` maps parameter names to values. `owners` has the element and key of every element parameter, `traced` the
    names of parameters that are traced numbers. Contradicting couplings are not reported.
    """
    new: dict[str, Any] = {}
    for name, value in values.items():
        if name not in mechanism.parameters:
            raise mechanism.unknown_parameter(name)
        array, shape = as_numbers(name, value), mechanism.parameters[name].shape
        if array.shape != shape:
            raise ShapeError(f"parameter {name!r} has shape {array.shape}, expected {shape}")
        mechanism.check_parameter(name, array)
        new[name] = array if shape else array[()]
    # Traced numbers cannot be checked
    has_traced = any(map(is_traced, new.values())) or bool(traced - new.keys())
    own: dict[Element, dict[str, Any]] = {}
    others: dict[str, dict[str, Any]] = {}  # name of a part or joint: its new values by key
    for name, number in new.items():
        one, key = owners.get(name, (None, ""))
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
            if numbers and not has_traced:
                raise_first(part_faults(part))
        return replace(body, parts=parts)

    def moved(joint: Joint) -> Joint:
        fields = picked(joint.name, JOINT_PARAMETERS)
        if "at" in fields:
            fields["offset"] = Transform(joint.offset.R, fields.pop("at"))
        return replace(joint, **fields) if fields else joint

    def renewed(one: Element) -> Element:
        return one.varied(own[one]) if one in own else one

    found = replace(
        mechanism,
        gravity=new.get("gravity", mechanism.gravity),
        bodies=mechanism.bodies.changed(changed),
        joints=mechanism.joints.changed(moved),
        elements=Sections({section: items.changed(renewed) for section, items in mechanism.elements.items()}),
    )
    same = found.bodies is mechanism.bodies and found.joints is mechanism.joints
    if not has_traced and not (same and all(one.rotor is None for one in own)):
        _refuse_lost_inertia(mechanism, found)
    return found


def _refuse_lost_inertia(before: Mechanism, after: Mechanism) -> None:
    """Raise a ModelError for a joint that moved an inertia before the change of parameters, and moves none after it."""
    faults = list(massless_faults(after))
    known = {fault.element for fault in massless_faults(before)} if faults else set()
    raise_first(fault for fault in faults if fault.element not in known)
