"""Contacts: points and spheres on bodies that can touch the surfaces of other bodies or of the world."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from linkwork.errors import ModelError, listed
from linkwork.model.bodies import Place
from linkwork.model.builder_argument_checks import numbers_of
from linkwork.model.builder_specifications import Draft, Layout, unknown_faults
from linkwork.model.elements import contact_force_law as force_law
from linkwork.model.elements.element import Element
from linkwork.model.elements.key_types import (
    ZERO,
    body_name,
    key,
    names,
    not_negative,
    point,
)
from linkwork.model.elements.surface import Surface
from linkwork.model.model_definition_faults import Fault
from linkwork.model.named_collections import Named
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism


class Contact(Element, section="contacts"):
    """Add a contact: a point on a body, or a sphere about it, that can touch surfaces.

    An array (k, 3) for `at`, such as `lw.box_corners` returns, adds k contacts named "name 1" to "name k".

    The normal force at the depth d [m] is stiffness d + damping dd/dt. With a `dissipation` c [s/m] it is
    stiffness d^1.5 (1 + c dd/dt) (Hunt and Crossley), and `tangential_stiffness` must be given. The normal force is
    never negative. A sliding contact sticks below `rest_speed`.

    Rigid contacts, as in `lw.simulate(..., contact="rigid")`, use `radius`, `friction` and `restitution`, and for
    spheres `rolling` and `spinning`. The other force parameters are ignored; the stiffness can be omitted.

    Examples
    --------
    >>> b = lw.Builder().body("foot", 1.0, inertia=(1, 1, 1)).joint("fly", lw.Free(), "world", "foot")
    >>> b = b.surface("floor", lw.Plane())
    >>> m = b.touch("sole", "foot", lw.box_corners((0.2, 0.1, 0.02))[:4], stiffness=1e5, damping=100.0).build()
    >>> m.contacts.names
    ('sole 1', 'sole 2', 'sole 3', 'sole 4')

    """

    body: str = key(body_name(), "Body that the contact point is fixed to")
    at: Any = key(point("body", points=True), "Contact point in the frame of the body", default=ZERO, parameter=True)
    against: Any = key(
        names, "Surfaces that the contact can touch; by default all surfaces of other bodies", default=(), kw_only=True
    )
    radius: Number = key(not_negative("m"), "Radius of the sphere; 0 means a point", default=0.0, kw_only=True)
    stiffness: Number = force_law.stiffness()
    damping: Number = force_law.damping()
    tangential_stiffness: Number = force_law.tangential_stiffness()
    tangential_damping: Number = force_law.tangential_damping()
    friction: Any = force_law.friction()
    rest_speed: Number = force_law.rest_speed()
    rolling: Number = key(
        not_negative("m"),
        "Rolling resistance: torque divided by normal force; for spheres only",
        default=0.0,
        kw_only=True,
    )
    spinning: Number = key(
        not_negative("m"),
        "Resistance to rotation about the normal: torque divided by normal force; for spheres only",
        default=0.0,
        kw_only=True,
    )
    restitution: Number = force_law.restitution()
    dissipation: Number | None = force_law.dissipation()

    acts_in_motion_only = True

    def several(self) -> Iterable[Self]:
        """Return one contact for each point if `at` is an array (k, 3) of points, else this contact alone."""
        if not (isinstance(self.at, np.ndarray) and self.at.ndim == 2):
            return (self,)
        return [replace(self, name=f"{self.name} {number}", at=at) for number, at in enumerate(self.at, start=1)]

    def checked(self) -> Self:
        """Return the contact with all its values checked; raise a ModelError for an invalid value.

        For a rigid contact, `completed` replaces omitted stiffness and damping by zeros. If such a contact is checked
        again, these zeros count as omitted.
        """
        if isinstance(self.at, Place) and not self.stiffness:
            return super(Contact, self._with(force_law.OMITTED)).checked()
        return super().checked()

    def completed(self) -> Self:
        """Return the contact with default values filled in; raise a ModelError if keys contradict each other."""
        if (self.rolling or self.spinning) and not self.radius:
            raise ModelError("rolling and spinning resistance need a sphere; give a radius > 0", self.label)
        return self._with(force_law.completed(self))

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """Yield a fault for each unknown body or surface of the contact, and for an ambiguous name.

        The name is ambiguous if a joint or spring has it too: their parameters would have the same names. `draft` is
        the content of the Builder before `build`.
        """
        namesakes = [items[self.name] for items in draft.elements.values() if self.name in items]
        others = [one for one in namesakes if not isinstance(one, Contact)]
        if self.name in draft.joints or any("stiffness" in one.definitions() for one in others):
            reason = f"this contact has the name of a joint or spring, so '{self.name}.stiffness' would be ambiguous"
            yield Fault(reason, self.label, "rename one of them")
        yield from super().draft_faults(draft)
        for name in self.against:
            yield from unknown_faults(self.label, "surface", {"against": name}, draft.elements[Surface.section])

    def laid_out(self, layout: Layout) -> Self:
        """Return the contact with the number of its body and the names of the surfaces that it can touch.

        `layout` has the numbered bodies and joints of the mechanism, and its surfaces.
        """
        placed = self.placed(layout.homes)
        surfaces: Any = layout.elements[Surface.section]
        others = tuple(surface.name for surface in surfaces if surface.place.body != placed.at.body)
        return placed._with({"against": self.against or others})

    def faults(self, mechanism: Mechanism) -> Iterator[Fault]:
        """Yield a fault if no surface is on another body, and for each surface that the contact cannot touch.

        A contact cannot touch a surface on its own body, nor a height field whose cells are too small for the contact's
        radius.
        """
        if not self.against:
            yield Fault("there is no surface on another body that it could touch", self.label, "add a surface")
        for name in self.against:
            if mechanism.surfaces[name].place.body == self.at.body:
                reason = f"against: the surface {name!r} is on the body of the contact"
                yield Fault(reason, self.label, "name surfaces of other bodies")
            if self.radius > (most := mechanism.surfaces[name].largest_radius):
                reason = f"its radius of {self.radius:g} m is too large for the cells of the height field {name!r}"
                yield Fault(reason, self.label, f"use a radius of at most {most:g} m, or a grid with larger cells")

    def describe(self) -> tuple[str, str]:
        """Return two cells for `linkwork check`: stiffness and friction of the contact, and its body and surfaces."""
        static, dynamic = self.friction
        what = f"{self.stiffness:g} N/m, friction {static:g}, {dynamic:g}"
        return what, f"{self.body} against {listed(self.against)}"

    def press(self, depth: float) -> float:
        """Return the elastic part of the normal force [N] of the contact at the penetration `depth` >= 0 [m]."""
        return self.stiffness * (depth if self.dissipation is None else depth**1.5)

    def slopes(self, load: float) -> tuple[float, float]:
        """Return normal stiffness [N/m] and damping [N s/m] of the contact, linearized at the force `load` [N]."""
        return force_law.slopes(self, load)


class Pair(NamedTuple):
    """A contact pair: a `contact`, and a `surface` that it can touch."""

    contact: Contact
    surface: Surface

    @property
    def name(self) -> str:
        """The name of the contact pair: the name of the contact, followed by that of the surface if it has several."""
        one = len(self.contact.against) == 1
        return self.contact.name if one else f"{self.contact.name} on {self.surface.name}"


def pairs_of(contacts: Named[Contact], surfaces: Named[Surface]) -> tuple[Pair, ...]:
    """Return all pairs of a contact and a surface that it can touch, in the order of contacts.

    `contacts` and `surfaces` are those of the mechanism.
    """
    return tuple(Pair(contact, surfaces[name]) for contact in contacts for name in contact.against)


def contact_pairs(mechanism: Mechanism) -> tuple[Pair, ...]:
    """Return all pairs of a contact and a surface of a mechanism that can touch, in the order of contacts."""
    return pairs_of(mechanism.contacts, mechanism.surfaces)


def box_corners(size: Any) -> Array:
    """Return the corners of a box that is centred at the origin.

    Parameters
    ----------
    size : array_like, shape (3,), [m]
        Extent along x, y and z.

    Returns
    -------
    ndarray, shape (8, 3), [m]
        The corners. The first four have the smallest z, in order around the face, as for the sole of a foot.

    Examples
    --------
    >>> lw.box_corners((2, 4, 6))[0].tolist()
    [1.0, -2.0, -3.0]

    """
    half = 0.5 * numbers_of(size, (3,), "size", "box")
    around = ((1, -1), (1, 1), (-1, 1), (-1, -1))
    return np.array([(x, y, z) for z, (x, y) in product((-1, 1), around)]) * half
