"""The elements of a mechanism, sorted by their role: constraints, forces, actuators, rotors and contacts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from linkwork.model.elements.actuator import Actuator
from linkwork.model.elements.constraint import Constraint, FrameConstraint
from linkwork.model.elements.contact import Pair, contact_pairs
from linkwork.model.elements.element import Element, Rotor
from linkwork.model.elements.force import Force, LineForce
from linkwork.model.elements.key_types import is_finite
from linkwork.model.elements.velocity_constraint import VelocityConstraint, VelocityRow, may_be_engaged
from linkwork.model.named_collections import Named, Sections
from linkwork.model.solids import POINTS, SolidPair, solid_pairs

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism
    from linkwork.model.mechanism_joint import Joint


class ElementViews:
    """Mixin of Mechanism with the properties that select its elements by role, such as constraints or forces."""

    if TYPE_CHECKING:  # defined as a field of Mechanism
        elements: Sections

    @cached_property
    def nc(self) -> int:
        """The number of scalar constraint equations (rows) of all loop closures, including open loops."""
        return sum(len(one.rows) for one in self.frame_constraints)

    @property
    def nh(self) -> int:
        """The number of constraint rows: `nc` rows of loop closures, then those in `velocity_rows`."""
        return self.nc + len(self.velocity_rows)

    @property
    def all_elements(self) -> Iterator[Element]:
        """All elements of the mechanism, section after section."""
        return (one for items in self.elements.values() for one in items)

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """All constraint elements of the mechanism: loop closures, then velocity constraints."""
        return self.frame_constraints + self.velocity_constraints

    @cached_property
    def frame_constraints(self) -> tuple[FrameConstraint, ...]:
        """All loop closures, which are constraints between frames of two bodies."""
        return tuple(one for one in self.all_elements if isinstance(one, FrameConstraint))

    @cached_property
    def velocity_constraints(self) -> tuple[VelocityConstraint, ...]:
        """All constraints on linear combinations of joint velocities: clutches, brakes, gearboxes and so on."""
        return tuple(one for one in self.all_elements if isinstance(one, VelocityConstraint))

    @cached_property
    def velocity_rows(self) -> tuple[VelocityRow, ...]:
        """The constraint rows of all velocity constraints that are engaged or may be engaged.

        Rows whose `engaged` is a traced number are included, since its value is unknown.
        """
        return tuple(
            row for one in self.velocity_constraints for row in one.velocity_rows if may_be_engaged(row.engaged)
        )

    @cached_property
    def bounded(self) -> tuple[VelocityConstraint, ...]:
        """The velocity constraints that can slip: all ratchets, and clutches and brakes with a finite capacity."""
        return tuple(one for one in self.velocity_constraints if any(map(is_finite, one.capacities)))

    @property
    def constrained(self) -> bool:
        """Whether the mechanism has loop closures, or velocity constraints that may be engaged."""
        return bool(self.frame_constraints or self.velocity_rows)

    @cached_property
    def forces(self) -> tuple[Force, ...]:
        """All elements of the class `Force`, which apply forces to bodies and joints."""
        return tuple(one for one in self.all_elements if isinstance(one, Force))

    @cached_property
    def line_forces(self) -> tuple[LineForce, ...]:
        """All elements whose force acts along the line between two points, such as springs and dampers."""
        return tuple(one for one in self.all_elements if isinstance(one, LineForce))

    @cached_property
    def actuators(self) -> Named[Actuator]:
        """All actuators, by name: motors with a control input."""
        return Named(Actuator.what, [one for one in self.all_elements if isinstance(one, Actuator)])

    def has_friction(self, joint: Joint) -> bool:
        """Return whether a joint of the tree has a friction law.

        Parameters
        ----------
        joint : Joint
            Joint of this mechanism.

        Returns
        -------
        bool
            False also for friction by numbers, which is the attribute `friction` of the joint.

        Examples
        --------
        >>> b = lw.Builder().body("wheel", 1.0, inertia=(1, 1, 1))
        >>> m = b.joint("hub", lw.Revolute(), "world", "wheel", friction=lw.Bearing(0.1, 0.02)).build()
        >>> m.has_friction(m.joints["hub"])
        True

        """
        return any(one.causes_friction_at(joint.name) for one in self.all_elements)

    @cached_property
    def self_switching(self) -> tuple[Any, ...]:
        """All elements that an event function switches during a run: latches."""
        return tuple(one for one in self.all_elements if one.switches_itself)

    @cached_property
    def contact_pairs(self) -> tuple[Pair, ...]:
        """All pairs of a contact (a point or ball) and a surface that can touch, in the order of the contacts."""
        return contact_pairs(cast("Mechanism", self))

    @cached_property
    def solid_pairs(self) -> tuple[SolidPair, ...]:
        """All pairs of solids that can touch, in the order of the collision elements."""
        return solid_pairs(cast("Mechanism", self))

    @cached_property
    def contact_names(self) -> tuple[str, ...]:
        """The names of all contacts, in the order of the contact series of a run.

        First come the contact pairs, each of which is a contact point (`Builder.touch`) and a surface. Then come the
        solid pairs, each of which is two solids that can touch (`Builder.collide`), with four contact points each.
        """
        solids = [f"{pair.name} {k}" for pair in self.solid_pairs for k in range(1, POINTS + 1)]
        return (*(pair.name for pair in self.contact_pairs), *solids)

    @property
    def contact_bodies(self) -> Iterator[tuple[str, int, int]]:
        """Yield (label, number of one body, number of the other) for each contact pair, then for each solid pair."""
        for contact, surface in self.contact_pairs:
            yield contact.label, contact.at.body, surface.place.body
        for pair in self.solid_pairs:
            yield f"{pair.collision.label} of {pair.name}", pair.first.body, pair.second.body

    @property
    def touches(self) -> bool:
        """Whether the mechanism has contacts of points or solids."""
        return bool(self.contact_pairs or self.solid_pairs)

    def constraint_of_row(self, row: int) -> str:
        """Return the label of the constraint to which the row with the index `row`, below `nh`, belongs.

        The rows of the loop closures come first, in the order of `frame_constraints`, then `velocity_rows`.
        """
        if row < self.nc:
            return self.frame_constraint_of_row(row).label
        name = self.velocity_rows[row - self.nc].name
        return next(one.label for one in self.velocity_constraints if one.name == name)

    def frame_constraint_of_row(self, row: int) -> FrameConstraint:
        """Return the loop closure to which the row with the index `row`, below `nc`, belongs."""
        return [one for one in self.frame_constraints for _ in one.rows][row]

    @cached_property
    def rotors(self) -> tuple[Rotor, ...]:
        """Rotors of drives that turn with several velocities and thus couple these velocities."""
        return tuple(rotor for rotor in self._all_rotors if not rotor.alone)

    @property
    def _all_rotors(self) -> list[Rotor]:
        return [rotor for one in self.all_elements if (rotor := one.rotor) is not None]
