"""The keys of the force law of `touch` and `collide`: stiffness, damping, friction, restitution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwork.errors import ModelError
from linkwork.model.builder_argument_checks import above_zero
from linkwork.model.elements.key_types import (
    finite,
    fraction,
    friction_coefficients,
    key,
    not_negative,
    positive,
)
from linkwork.model.parameter_value_checks import NOT_NEGATIVE

REST_SPEED = 1e-3  # [m/s] default of the key `rest_speed`
# Values that count as omitted when an element without stiffness is checked again: `completed` has filled them in
OMITTED: Mapping[str, Any] = {"stiffness": None, "tangential_stiffness": None, "tangential_damping": None}


def stiffness() -> Any:
    """Return the definition of the key `stiffness` along the normal [N/m], or [N/m^1.5] with a `dissipation`."""
    about = "Stiffness along the surface normal; not needed for rigid contacts"
    kind = positive("N/m").with_rules(NOT_NEGATIVE)
    return key(kind, about, default=None, kw_only=True, parameter=True, usual=0.0)


def damping() -> Any:
    """Return the definition of the key `damping` [N s/m], along the normal."""
    return key(not_negative("N s/m"), "Damping along the surface normal", default=0.0, kw_only=True, parameter=True)


def tangential_stiffness() -> Any:
    """Return the definition of the key `tangential_stiffness` [N/m] of the spring between a contact and its anchor."""
    about = "Stiffness tangential to the surface; by default equal to `stiffness`"
    kind = finite("N/m").with_rules(NOT_NEGATIVE)
    return key(kind, about, default=None, kw_only=True, parameter=True, same_as="stiffness")


def tangential_damping() -> Any:
    """Return the definition of the key `tangential_damping` [N s/m] of a sticking contact."""
    about = "Damping tangential to the surface; by default equal to `damping`"
    return key(not_negative("N s/m"), about, default=None, kw_only=True, parameter=True, same_as="damping")


def friction() -> Any:
    """Return the definition of the key `friction`: the static and the dynamic coefficient."""
    about = "Static and dynamic friction coefficients; one number sets both"
    return key(friction_coefficients, about, default=0.0, kw_only=True, parameter=True)


def rest_speed() -> Any:
    """Return the definition of the key `rest_speed` [m/s], the slip speed below which a contact sticks."""
    about = "Sliding speed below which the contact sticks"
    return key(positive("m/s").with_rules(NOT_NEGATIVE), about, default=REST_SPEED, kw_only=True, parameter=True)


def restitution() -> Any:
    """Return the definition of the key `restitution`, the coefficient of restitution from 0 to 1."""
    about = "Normal speed after an impact divided by that before it, from 0 to 1; for rigid contacts only"
    return key(fraction(), about, default=0.0, kw_only=True, parameter=True)


def dissipation() -> Any:
    """Return the definition of the key `dissipation` [s/m], Hunt and Crossley's damping factor."""
    about = (
        "Coefficient c of the Hunt-Crossley normal force stiffness d^1.5 (1 + c dd/dt) at the depth d; the stiffness "
        "is then in N/m^1.5"
    )
    return key(not_negative("s/m"), about, default=None, kw_only=True)


def completed(one: Any) -> dict[str, Any]:
    """Return the force law of the element `one`, with omitted values filled in; raise a ModelError if keys conflict.

    `one` is a contact or a collision. The result maps the keys stiffness, tangential_stiffness and tangential_damping
    to their values; a missing stiffness (rigid contact) becomes 0.
    """
    along, losses = one.tangential_stiffness, one.tangential_damping
    if not one.stiffness and (one.damping or one.dissipation is not None or along or losses):
        raise ModelError(
            "damping, dissipation, tangential_stiffness and tangential_damping need a stiffness; "
            "omit them for a contact that is rigid only",
            one.label,
        )
    if one.dissipation is not None and (one.damping or along is None):
        reason = "a contact with dissipation must have a tangential_stiffness and must not have damping"
        raise ModelError(reason, one.label)
    hard = one.stiffness or 0.0
    along = above_zero(hard if along is None else along, "tangential_stiffness", one.label) if hard else 0.0
    return {
        "stiffness": hard,
        "tangential_stiffness": along,
        "tangential_damping": one.damping if losses is None else losses,
    }


def slopes(one: Any, load: float) -> tuple[float, float]:
    """Return the normal stiffness [N/m] and damping [N s/m] of a contact, linearized at the normal force `load` [N].

    `one` is an element with the force law: a contact or a collision. Without `dissipation`, `load` has no effect.
    """
    if one.dissipation is None:
        return one.stiffness, one.damping
    depth = (load / one.stiffness) ** (2.0 / 3.0)
    return 1.5 * one.stiffness * depth**0.5, one.dissipation * load
