"""Friction of joints and loops by friction laws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from linkwork.errors import ModelError, unknown_name
from linkwork.model.builder_specifications import Draft
from linkwork.model.constraint_rows import Row
from linkwork.model.elements.constraint import FrameConstraint
from linkwork.model.elements.element import Element
from linkwork.model.elements.key_types import ClassKind, derived, key
from linkwork.model.elements.velocity_constraint import VelocityConstraint, VelocityRow
from linkwork.model.friction import DryFriction, FrictionLaw
from linkwork.model.friction.friction_law import has_constant_subspace
from linkwork.model.joints import ClosingKind, JointKind
from linkwork.model.model_definition_faults import Fault
from linkwork.model.toml_value_conversion import named_kinds
from linkwork.spatial import Force, Motion, Transform
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Joint, Mechanism
    from linkwork.model.named_collections import Named


def checked_law(law: object, element: str) -> FrictionLaw:
    """Return the friction law; raise a ModelError that names the element `element` for other objects."""
    if not isinstance(law, FrictionLaw):
        raise ModelError(f"friction must be a number or a friction law such as lw.Bearing; got {law!r:.80}", element)
    return law


def _laws() -> Mapping[str, type]:
    """Return the friction laws by their names in TOML documents."""
    return named_kinds(FrictionLaw)


class JointFriction(Element, section="frictions", what="friction"):
    """Add dry friction to a joint or a loop, by a friction law; `name` is the name of the joint or loop.

    The argument `friction` of `Builder.joint` has the same effect for a joint.

    Examples
    --------
    >>> b = lw.Builder().body("left", 1.0, inertia=(1, 1, 1)).body("right", 1.0, inertia=(1, 1, 1))
    >>> b = b.joint("pin", lw.Revolute((0, 1, 0)), "world", "left")
    >>> b = b.joint("pivot", lw.Revolute((0, 1, 0)), "left", "right", at=(1, 0, 0))
    >>> b = b.close("hinge", lw.Revolute((0, 1, 0)), "world", "right", at=(1, 0, 1), to=(0, 0, 1))
    >>> m = b.friction("hinge", lw.Bearing(mu=0.1, radius=0.02)).build()
    >>> m.frictions["hinge"].in_tree
    False

    """

    law: FrictionLaw = key(
        ClassKind(object, python="friction law", check=checked_law, choices=_laws), "Friction law, such as lw.Bearing"
    )
    in_tree: bool = derived(default=True)  # whether the friction belongs to a joint, not to a loop

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """Yield a fault if no joint or loop has the name of the friction, or if the law does not fit its kind.

        `draft` is the content of the Builder before `build`.
        """
        loops = {
            one.name: one
            for items in draft.elements.values()
            for one in items.values()
            if isinstance(one, FrameConstraint)
        }
        joint, loop = draft.kinds.get(self.name), loops.get(self.name)
        if joint is None and loop is None:
            reason = unknown_name("joint", self.name, [*draft.kinds, *loops]).reason
            yield Fault(f"it has the name of its joint: {reason}", self.label)
            return
        if joint is not None and loop is not None:
            reason = "both a joint and a loop have this name, so it is not clear which of them has the friction"
            yield Fault(reason, self.label, "rename the loop")
            return
        kind = joint if loop is None else getattr(loop, "kind", None)
        law = type(self.law).__name__
        wanted = self.law.misfit(kind, joint is not None) if isinstance(kind, ClosingKind) else "joints"
        if wanted:
            yield Fault(f"law: {law} is for {wanted}; the kind is {type(kind).__name__}", self.label)
        elif loop is not None and isinstance(kind, JointKind) and not has_constant_subspace(kind):
            reason = f"law: {law} cannot act in a loop of kind {type(kind).__name__}, whose axes move in both bodies"
            yield Fault(reason, self.label, "make this joint part of the tree, and close the loop elsewhere")
        if loop is not None and self.law.damping:
            yield Fault("viscous: a loop has no damping", self.label, "set it on a joint of the tree")

    def numbered(self, joints: Named[Joint]) -> Self:
        """Return the friction without its viscous part, which the joint's damping contains, and with `in_tree` set.

        `joints` are the numbered joints of the mechanism.
        """
        return replace(self, law=self.law.without_damping(), in_tree=self.name in joints)

    def added_damping(self, joint: str) -> float:
        """Return the viscous part of the law [N m s/rad or N s/m] if this is the friction of the joint, else 0."""
        return self.law.damping if joint == self.name else 0.0

    def causes_friction_at(self, joint: str) -> bool:
        """Return whether this is the friction of the joint called `joint` of the tree."""
        return self.in_tree and self.name == joint

    @property
    def parameters(self) -> dict[str, Array]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The numbers of the law that can vary, by key."""
        return self.law.parameters

    def varied(self, new: Mapping[str, Any]) -> Self:
        """Return the friction with new numbers of its law; `new` is a dict from key to value."""
        return replace(self, law=replace(self.law, **new))

    def check_parameter(self, key: str, values: Array, name: str) -> None:
        """Raise an error unless all `values` are valid for the number of the law that is called `key`.

        Messages call the parameter `name`.
        """
        self.law.check_parameter(key, values, name)

    def describe(self) -> tuple[str, str]:
        """Return two cells for `linkwork check`: the law with its numbers, and the joint."""
        numbers = [f"{name} {value:g}" for name, value in self.law.parameters.items() if np.any(value)]
        return ", ".join([type(self.law).__name__, *numbers]), self.name

    def document(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the table of the friction in a TOML document, without numbers that equal the law's defaults."""
        table, notes = super().document()
        usual = {name: one.default for name, one in self.law.definitions().items()}
        return {name: value for name, value in table.items() if name not in usual or value != usual[name]}, notes

    def faults(self, mechanism: Mechanism) -> Iterator[Fault]:
        """Yield a fault if the joint also has friction that is given as a number."""
        if self.in_tree and np.any(mechanism.joints[self.name].friction):
            yield Fault("its joint also has friction that is given as a number", self.label, "use only one of the two")


# --- velocities that static friction holds at zero ---


def friction_of_loop(name: str, friction: object) -> JointFriction | None:
    """Return the friction of the loop called `name`: a friction law, or a number for constant friction; None for 0."""
    element = f"loop {name!r}"
    if not isinstance(friction, (int, float, np.number)) or isinstance(friction, bool):
        return JointFriction(name, checked_law(friction, element))
    try:
        return None if friction == 0.0 else JointFriction(name, DryFriction(float(friction)))
    except ModelError as error:
        raise ModelError(f"friction: {error.reason}", element) from None


class HeldVelocity(VelocityConstraint):
    """A velocity of a joint that static friction holds at zero while `engaged` is 1."""

    joint: str = derived()
    number: int = derived()  # number of the velocity within the joint
    engaged: Number = derived()

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """The constraint row of the held velocity; its multiplier is the friction force [N m or N] on this velocity."""
        yield VelocityRow(self.name, ((self.joint, self.number, 1.0),), self.engaged)


@dataclass(frozen=True, eq=False)
class HeldFreedom(Row):
    """Constraint row that holds a slip velocity of a loop at zero, with a wrench fixed in frame B of the loop.

    `wrench_` is the wrench on B for a multiplier of 1, about the origin and in the axes of B.
    """

    wrench_: Force
    holonomic = False  # pyright: ignore[reportAssignmentType]

    def error(self, X: Transform) -> Number:
        """Return zero, because the row constrains velocities only."""
        return 0.0

    def wrench(self, X: Transform) -> Force:
        """Return `wrench_`, the wrench of a unit friction force on frame B, about the origin and in the axes of B."""
        return self.wrench_

    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        """Return zero, because the wrench is fixed in B."""
        return Force.zero()


@dataclass(frozen=True, eq=False)
class HeldKind:
    """The kind of a loop with friction that can hold some of its freedoms at rest.

    Its constraint rows are those of `kind`, followed by the rows `holds` on slip velocities. If `kind` is None, only
    the rows `holds` exist. The class is not a subclass of ClosingKind, because users cannot choose this kind.
    """

    kind: ClosingKind | None
    holds: tuple[HeldFreedom, ...]

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        """The rows of the loop's kind, then those of the freedoms that friction can hold."""
        return (*(self.kind.closing if self.kind else ()), *self.holds)
