"""The interface of friction laws: the largest friction of a joint as a function of the load that the joint transmits.

A law gives friction limits. The limit of one velocity, or of the norm of the friction of several velocities, is

    limit(F, f) = constant + sum_i c_i |L_i F + k_i f|

F (6,) [N, N m] is the wrench of the parent on the child, at the origin and in the axes of the child's frame; f is the
friction force itself. The matrices L_i ignore the part of F along the freedoms of the joint, such as motor forces. Each
coefficient has a dynamic and a static value. Static values apply at rest. During slip, the difference between static
and dynamic values decays with the slip speed u as exp(-(u / stribeck)^2); without a Stribeck speed, static values apply
at rest only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.constraint_rows import perpendicular
from linkwork.model.elements.element_key_definition import Key, key
from linkwork.model.elements.key_types import not_negative, positive
from linkwork.model.joints import ClosingKind, JointKind
from linkwork.model.parameter_value_checks import POSITIVE, as_number, check_values, is_traced
from linkwork.spatial import Motion
from linkwork.spatial.scalar import Array, Number, maximum

FORCE, TORQUE = slice(0, 3), slice(3, 6)  # entries of a wrench


class Coefficient(NamedTuple):
    """A coefficient of a friction limit: its value `dynamic` during slip, and its value `static` at rest.

    The static value is at least the dynamic value.
    """

    dynamic: Number
    static: Number

    def __mul__(self, factor: Number) -> Coefficient:
        return Coefficient(self.dynamic * factor, self.static * factor)


class LoadTerm(NamedTuple):
    """A term c |L F + own f| of a friction limit: c times the norm of a linear function of the load F (6,).

    F [N, N m] is the wrench [force; torque] of the parent on the child, about the origin and in the axes of the child's
    frame. `coefficient` is c, and L is (k, 6). `own` is the factor of the friction force f [N m or N]; it is nonzero
    only for laws with k = 1 whose friction changes the load.
    """

    coefficient: Coefficient
    L: Array
    own: Number = 0.0


class FrictionLimit(NamedTuple):
    """The limit [N or N m] of the friction along some velocities of a joint.

    `velocities` are the indices of these velocities within the joint. Each velocity times its entry of `scales` is a
    slip velocity; a scale is a length [m/rad] for a rotation whose slip velocity is in m/s. The friction force along
    velocity d is -scale_d limit u_d / |u|, with the vector u of all slip velocities of this limit. For a single
    velocity v with scale 1, the force is -limit sign(v). The limit is the sum of `terms`, which depend on the load of
    the joint, and of the `constant` part. `stribeck` is the slip speed at which the excess of static over dynamic
    friction has decayed to 37 %.
    """

    velocities: tuple[int, ...]
    scales: tuple[Number, ...]
    terms: tuple[LoadTerm, ...]
    constant: Coefficient
    stribeck: Number | None


@dataclass(frozen=True)
class FrictionLaw(ABC):
    """Base class of friction laws. Subclasses are frozen dataclasses whose fields are defined by `key`."""

    def __post_init__(self) -> None:
        element = type(self).__name__
        for name, one in self.definitions().items():
            value = getattr(self, name)
            if one.default is None if value is None else is_traced(value):
                continue
            object.__setattr__(self, name, one.kind.checked(value, name, element))
        values = [getattr(self, name) for name in self.definitions()]
        if not any(value is not None and is_traced(value) for value in values):
            self.require_consistent()

    @classmethod
    @cache
    def definitions(cls) -> Mapping[str, Key]:
        """Return the definitions of the fields of the law by name, in order."""
        return {field.name: field.metadata["key"] for field in fields(cls) if "key" in field.metadata}

    def require_consistent(self) -> None:
        """Raise a ModelError if the numbers of the law contradict each other; in the base class, if mu_static < mu.

        The method is called for plain numbers only, not for traced numbers.
        """
        mu, static = getattr(self, "mu", 0.0), getattr(self, "mu_static", None)
        if static is not None and static < mu:
            raise self.error(f"mu_static must be >= mu = {mu:g}; got {static:g}")

    def error(self, reason: str) -> ModelError:
        """Return the ModelError for invalid numbers of this law, with the given `reason` as its text."""
        return ModelError(reason, type(self).__name__)

    @abstractmethod
    def misfit(self, kind: ClosingKind, in_tree: bool) -> str | None:
        """Return None if the law can act in a joint of this `kind`; else, as text, the joint kinds in which it can act.

        `in_tree` is true for a joint of the tree, and false for a joint that closes a loop.
        """

    @abstractmethod
    def limits(self, S: Motion) -> tuple[FrictionLimit, ...]:
        """Return the friction limits [N m or N] of a joint with the motion subspace S (6, nv) in the child's frame."""

    def slip_subspace(self, kind: ClosingKind) -> Motion:
        """Return the motion subspace (6, k) of the k slip velocities of a loop of this `kind`.

        The subspace is in the axes of frame B, the frame `to` of the loop on its second body.
        """
        assert isinstance(kind, JointKind)
        return kind.subspace(kind.neutral())

    @property
    def parameters(self) -> dict[str, Array]:
        """The numbers of the law that can vary, by name."""
        found = {}
        for name, one in self.definitions().items():
            value = getattr(self, name)
            absent = value is None or (one.kind.rules is POSITIVE and is_zero(value))
            if one.parameter and not absent:
                found[name] = as_number(value)
        return found

    def check_parameter(self, key: str, values: Array, name: str) -> None:
        """Raise an error unless all `values` are valid for the number called `key`; messages call it `name`."""
        check_values(name, values, self.definitions()[key].kind.rules)

    def without_damping(self) -> Self:
        """Return the law with `viscous` 0, because the Builder adds the viscous friction to the joint's damping."""
        return replace(self, viscous=0.0) if self.damping else self

    @property
    def damping(self) -> float:
        """The viscous part of the friction: force per velocity [N m s/rad or N s/m]."""
        return float(getattr(self, "viscous", 0.0))

    @property
    def sliding(self) -> Coefficient:
        """The friction coefficients: `mu` during slip, and `mu_static` at rest, which is at least `mu`."""
        mu, static = getattr(self, "mu", 0.0), getattr(self, "mu_static", None)
        return Coefficient(mu, mu if static is None else maximum(static, mu))

    @property
    def fading(self) -> Number | None:
        """The Stribeck speed `stribeck` [rad/s or m/s], or None if static friction acts at rest only."""
        return getattr(self, "stribeck", None)


NO_CONSTANT = Coefficient(0.0, 0.0)


def steady(value: Number) -> Coefficient:
    """Return a coefficient with the same value at rest and during slip."""
    return Coefficient(value, value)


# --- fields that several laws have ---


def mu_key() -> Any:
    """Define the field `mu` of a law: its coefficient of dynamic friction."""
    return key(not_negative(), "Coefficient of dynamic friction", parameter=True)


def mu_static_key() -> Any:
    """Define the field `mu_static` of a law: its coefficient of static friction, by default `mu`."""
    return key(not_negative(), "Coefficient of static friction", default=None, parameter=True)


def viscous_key() -> Any:
    """Define the field `viscous` of a law, which the Builder adds to the damping of the joint."""
    return key(not_negative("N m s/rad or N s/m"), "Viscous friction, added to the joint's damping", default=0.0)


def stribeck_key() -> Any:
    """Define the field `stribeck` of a law, the decay speed of static friction.

    At this slip speed, the excess of static over dynamic friction has decayed to 37 %.
    """
    return key(
        positive("rad/s or m/s"),
        "Slip speed at which the excess of static over dynamic friction has decayed to 37 %",
        default=None,
        parameter=True,
    )


def length_key(about: str, **more: Any) -> Any:
    """Define a field of a law that is a length [m] >= 0; `about` is its meaning."""
    return key(not_negative("m"), about, parameter=True, **more)


def required_length_key(about: str) -> Any:
    """Define a required field of a law that is a length [m] > 0; `about` is its meaning."""
    return key(positive("m"), about, parameter=True)


def optional_length_key(about: str) -> Any:
    """Define a field of a law that is a length [m] > 0, or 0 if the law does not use it; `about` is its meaning.

    A length of 0 cannot vary.
    """
    return key(not_negative("m").with_rules(POSITIVE), about, default=0.0, parameter=True)


# --- matrices of loads ---


def is_zero(value: object) -> bool:
    """Return whether `value` is zero and not traced, so that terms with this factor can be left out."""
    return isinstance(value, (int, float)) and value == 0.0


def across(axis: Array) -> Array:
    """Return a matrix A (2, 3) or (3, 3): A x is as long as the part of x (3,) normal to the unit `axis` (3,)."""
    return np.eye(3) - np.outer(axis, axis) if axis.dtype == object else np.array(perpendicular(axis))


def of_force(A: Array) -> Array:
    """Return the matrix L (k, 6) for which L F = A force, with a matrix A (k, 3) and a wrench F = [force; torque]."""
    return np.concatenate([A, np.zeros(A.shape)], axis=1)


def of_wrench(A: Array, B: Array) -> Array:
    """Return the matrix L (k, 6) for which L F = A force + B torque, with A, B (k, 3) and F = [force; torque]."""
    return np.concatenate([A, B], axis=1)


# --- which joints a law fits ---


def neutral_subspace(kind: ClosingKind) -> Motion | None:
    """Return the motion subspace (6, nv) of a joint kind at its neutral position; None if it only closes loops."""
    return kind.subspace(kind.neutral()) if isinstance(kind, JointKind) else None


def has_constant_subspace(kind: JointKind) -> bool:
    """Return whether the motion subspace of a joint kind is the same in all positions."""
    rng = np.random.default_rng(0)
    samples = [kind.subspace(kind.random(rng)).array for _ in range(3)]
    return all(np.allclose(one, samples[0], rtol=0.0, atol=1e-12) for one in samples)


def only_turns(S: Motion) -> bool:
    """Return whether all columns of the motion subspace S (6, nv) are rotations about axes through the origin."""
    return not np.any(S.linear)


def only_slides(S: Motion) -> bool:
    """Return whether all columns of the motion subspace S (6, nv) are translations."""
    return not np.any(S.angular)
