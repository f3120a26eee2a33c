"""Contacts: points and balls on bodies that may touch surfaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from linkwork.errors import ModelError, listed
from linkwork.model.arguments import above_zero, numbers_of
from linkwork.model.bodies import Place
from linkwork.model.elements.element import Element
from linkwork.model.elements.keys import (
    ZERO,
    body_name,
    finite,
    fraction,
    friction_coefficients,
    key,
    names,
    not_negative,
    point,
    positive,
)
from linkwork.model.elements.surface import Surface
from linkwork.model.faults import Fault
from linkwork.model.naming import Named
from linkwork.model.parameters import NOT_NEGATIVE
from linkwork.model.specifications import Draft, Layout, unknown_faults
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism

REST_SPEED = 1e-3  # [m/s], if nothing is said


class Contact(Element, section="contacts"):
    """Let a point at `at` (3,) [m] of `body`, or a ball of `radius` [m] about it, touch surfaces.

    Of an array (k, 3) of points, as `lw.box_corners` gives, each does, called "name 1" to "name k". `against` names
    the surfaces: all of other bodies, if none. `stiffness` [N/m] and `damping` [N s/m] are along the normal; along
    the surface they are the same unless given. `friction` is the coefficients (static, dynamic), or one number for
    both; below `rest_speed` [m/s] a sliding contact sticks. Torques of `rolling` and `spinning` [m] times the
    normal force brake a ball. With a `dissipation` c [s/m] the normal force at a depth d [m] is
    stiffness d^1.5 (1 + c dd/dt), as Hunt and Crossley have it. Where contacts are rigid, as
    `simulate(..., contact="rigid")` has them, none of these numbers but `friction` are needed, and a `restitution`
    from 0 to 1, speed after over speed before an impact, makes them bounce; a stiffness of 0 is none.
    """

    body: str = key(body_name())
    at: Any = key(point("body"), default=ZERO, parameter=True)
    against: Any = key(names, "surfaces that it touches; all of other bodies, if left out", default=(), kw_only=True)
    radius: Number = key(not_negative("m"), "of a ball; 0 is a point", default=0.0, kw_only=True)
    stiffness: Number = key(
        positive("N/m").with_rules(NOT_NEGATIVE),
        "along the normal; rigid contacts need none",
        default=None, kw_only=True, parameter=True, usual=0.0,
    )  # fmt: skip
    damping: Number = key(not_negative("N s/m"), "along the normal", default=0.0, kw_only=True, parameter=True)
    tangential_stiffness: Number = key(
        finite("N/m").with_rules(NOT_NEGATIVE),
        "along the surface; that along the normal, if left out",
        default=None, kw_only=True, parameter=True, same_as="stiffness",
    )  # fmt: skip
    tangential_damping: Number = key(
        not_negative("N s/m"),
        "along the surface; that along the normal, if left out",
        default=None, kw_only=True, parameter=True, same_as="damping",
    )  # fmt: skip
    friction: Any = key(friction_coefficients, "coefficients of friction", default=0.0, kw_only=True, parameter=True)
    rest_speed: Number = key(
        positive("m/s").with_rules(NOT_NEGATIVE),
        "below which a sliding contact sticks",
        default=REST_SPEED, kw_only=True, parameter=True,
    )  # fmt: skip
    rolling: Number = key(
        not_negative("m"), "torque by normal force that brakes a rolling ball", default=0.0, kw_only=True
    )
    spinning: Number = key(
        not_negative("m"), "torque by normal force that brakes a spinning ball", default=0.0, kw_only=True
    )
    restitution: Number = key(
        fraction(),
        "speed after over speed before an impact, from 0 to 1, where contacts are rigid",
        default=0.0, kw_only=True, parameter=True,
    )  # fmt: skip
    dissipation: Number | None = key(
        not_negative("s/m"),
        "of Hunt and Crossley's normal force; the stiffness is in N/m^1.5 then",
        default=None, kw_only=True,
    )  # fmt: skip

    acts_in_motion_only = True

    def several(self) -> Iterable[Self]:
        """One for each point of an array (k, 3)."""
        if not (isinstance(self.at, np.ndarray) and self.at.ndim == 2):
            return (self,)
        return [replace(self, name=f"{self.name} {number}", at=at) for number, at in enumerate(self.at, start=1)]

    def checked(self) -> Self:
        """The same with its fields checked; a rigid one that a mechanism has is checked as it was given."""
        if isinstance(self.at, Place) and not self.stiffness:
            given = replace(self, stiffness=None, tangential_stiffness=None, tangential_damping=None)
            return super(Contact, given).checked()
        return super().checked()

    def completed(self) -> Self:
        """The same with what was left out as along the normal; what does not fit together is refused."""
        along, losses = self.tangential_stiffness, self.tangential_damping
        if not self.stiffness and (self.damping or self.dissipation is not None or along or losses):
            raise ModelError(
                "springs and dampers of a contact need its stiffness; a rigid one has none of them", self.label
            )
        if self.dissipation is not None and (self.damping or along is None):
            reason = "a contact with dissipation has no damping along its normal, and needs a tangential_stiffness"
            raise ModelError(f"{reason} of its own", self.label)
        if (self.rolling or self.spinning) and not self.radius:
            raise ModelError("rolling and spinning brake balls: give it a radius", self.label)
        hard = self.stiffness or 0.0
        along = above_zero(hard if along is None else along, "tangential_stiffness", self.label) if hard else 0.0
        losses = self.damping if losses is None else losses
        return self._with({"stiffness": hard, "tangential_stiffness": along, "tangential_damping": losses})

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """What it names that is not there, and whether its parameters can be told from those of others."""
        namesakes = [items[self.name] for items in draft.elements.values() if self.name in items]
        others = [one for one in namesakes if not isinstance(one, Contact)]
        if self.name in draft.joints or any("stiffness" in one.definitions() for one in others):
            reason = f"its name is that of a joint or spring, whose '{self.name}.stiffness' is another number"
            yield Fault(reason, self.label, "call one of them otherwise")
        yield from super().draft_faults(draft)
        for name in self.against:
            yield from unknown_faults(self.label, "surface", {"against": name}, draft.elements[Surface.section])

    def laid_out(self, layout: Layout) -> Self:
        """The same on its body, with the surfaces that it may touch."""
        placed = self.placed(layout.homes)
        surfaces: Any = layout.elements[Surface.section]
        others = tuple(surface.name for surface in surfaces if surface.place.body != placed.at.body)
        return placed._with({"against": self.against or others})

    def faults(self, mechanism: Mechanism) -> Iterator[Fault]:
        """Whether there are surfaces of other bodies."""
        if not self.against:
            yield Fault("there is no surface on another body that it could touch", self.label, "add one")
        for name in self.against:
            if mechanism.surfaces[name].place.body == self.at.body:
                reason = f"against {name!r} it would touch the body that it is on"
                yield Fault(reason, self.label, "name surfaces of other bodies")

    def describe(self) -> tuple[str, str]:
        """Its stiffness and friction, its body and surfaces."""
        static, dynamic = self.friction
        what = f"{self.stiffness:g} N/m, friction {static:g}, {dynamic:g}"
        return what, f"{self.body} against {listed(self.against)}"

    def press(self, depth: float) -> float:
        """The force [N] of the normal's spring at a depth [m]."""
        return self.stiffness * (depth if self.dissipation is None else depth**1.5)

    def slopes(self, load: float) -> tuple[float, float]:
        """Stiffness [N/m] and damping [N s/m] along the normal for small motion under a load [N]."""
        if self.dissipation is None:
            return self.stiffness, self.damping
        depth = (load / self.stiffness) ** (2.0 / 3.0)
        return 1.5 * self.stiffness * depth**0.5, self.dissipation * load


class Pair(NamedTuple):
    """A contact and one of the surfaces that it may touch."""

    contact: Contact
    surface: Surface

    @property
    def name(self) -> str:
        """The contact's name, with the surface's where there are several."""
        one = len(self.contact.against) == 1
        return self.contact.name if one else f"{self.contact.name} on {self.surface.name}"


def pairs_of(contacts: Named[Contact], surfaces: Named[Surface]) -> tuple[Pair, ...]:
    """All pairs that may touch, contact after contact."""
    return tuple(Pair(contact, surfaces[name]) for contact in contacts for name in contact.against)


def contact_pairs(mechanism: Mechanism) -> tuple[Pair, ...]:
    """All pairs of a mechanism that may touch, contact after contact."""
    return pairs_of(mechanism.contacts, mechanism.surfaces)


def box_corners(size: Any) -> Array:
    """The corners (8, 3) [m] of a box of that size (3,) [m] about its origin.

    The first four are those below, in the order in which they go around: the sole of a foot.
    """
    half = 0.5 * numbers_of(size, (3,), "size", "box")
    around = ((1, -1), (1, 1), (-1, 1), (-1, -1))
    return np.array([(x, y, z) for z, (x, y) in product((-1, 1), around)]) * half
