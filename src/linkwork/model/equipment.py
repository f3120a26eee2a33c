"""What is put on a tree of bodies and joints: loops, drives, clutches, brakes, surfaces, contacts, springs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from linkwork.errors import ModelError, listed
from linkwork.model.arguments import (
    above_zero,
    at_least_zero,
    closing_kind,
    efficiency_pair,
    interval,
    new_element,
    not_zero,
    number_of,
    numbers_by_joint,
    numbers_of,
    or_infinite,
    placement,
    yes_or_no,
)
from linkwork.model.bodies import Place
from linkwork.model.elements.clutches import Brake, Clutch, checked_side
from linkwork.model.elements.contact import REST_SPEED, Contact, Surface
from linkwork.model.elements.drive import Drive, refuse_half_a_line, refuse_zero_ratios
from linkwork.model.elements.ground import SurfaceShape, checked_surface
from linkwork.model.elements.loop import Loop, refuse_closing_nothing
from linkwork.model.elements.ratchets import SIDES, Latch, Ratchet
from linkwork.model.elements.spring import Spring, refuse_one_end
from linkwork.model.elements.transmissions import Coupling, Differential, Transmission, ratios_of
from linkwork.model.faults import Fault
from linkwork.model.joints import ClosingKind, JointKind
from linkwork.model.mimic import Mimic
from linkwork.model.specifications import unknown_faults

ZERO = (0.0, 0.0, 0.0)


class Equipment:
    """The verbs of a Builder that need no tree yet: each names bodies or joints, which are looked for in the end."""

    def __init__(self) -> None:
        self._loops: dict[str, Loop] = {}
        self._drives: dict[str, Drive] = {}
        self._clutches: dict[str, Clutch] = {}
        self._brakes: dict[str, Brake] = {}
        self._ratchets: dict[str, Ratchet] = {}
        self._latches: dict[str, Latch] = {}
        self._transmissions: dict[str, Transmission] = {}
        self._differentials: dict[str, Differential] = {}
        self._couplings: dict[str, Coupling] = {}
        self._surfaces: dict[str, Surface] = {}
        self._contacts: dict[str, Contact] = {}
        self._springs: dict[str, Spring] = {}

    def close(
        self,
        name: str,
        kind: ClosingKind,
        a: str,
        b: str,
        at: Any = ZERO,
        to: Any = ZERO,
        *,
        rpy: Any = ZERO,
        to_rpy: Any = ZERO,
        rotation: Any = None,
        to_rotation: Any = None,
        closed: bool = True,
    ) -> Self:
        """Close a loop: join the bodies `a` and `b` (or "world"), which hang on joints already, by one more.

        `at` (3,) [m], with `rpy` (3,) [rad] or `rotation` (3, 3), is its place in the frame of a. `to`, with `to_rpy`
        or `to_rotation`, is that in the frame of b, which moves against the first as `kind` allows: any joint kind but
        Free, or lw.Rod(length), lw.PointOnLine(axis), lw.Gear(teeth, to_teeth), lw.Rack(radius). One that is not
        `closed` waits until a run closes it.
        """
        element = new_element(self._loops, "loop", name)
        refuse_closing_nothing(closing_kind(kind, element), a, b, element)
        here, there = placement(at, rpy, rotation, element), placement(to, to_rpy, to_rotation, element, "to", "to_")
        shut = float(yes_or_no(closed, "closed", element))
        self._loops[name] = Loop(name, kind, str(a), str(b), Place.stated(here), Place.stated(there), shut)
        return self

    def drive(
        self,
        name: str,
        ratios: Mapping[str, Any],
        *,
        gain: float = 1.0,
        bias: Any = ZERO,
        control_limits: Any = None,
        force_limits: Any = None,
        gear: float = 1.0,
        rotor_inertia: float = 0.0,
        efficiency: Any = 1.0,
        stall_torque: float = np.inf,
        no_load_speed: float = np.inf,
        measured_from: str | None = None,
    ) -> Self:
        """Put a motor on joints: `ratios` are by joint, one number or one for each velocity of the joint.

        Its force is f = clip(gain clip(u, control_limits) + bias[0] + bias[1] l + bias[2] l', force_limits) for a
        control u, with the length l = gear times the sum of ratio q and its rate l' = gear times that of ratio v; every
        joint feels gear ratio f [N m or N]. The limits are (lower, upper). A length needs joints of one coordinate.

        The rotor, which turns at l', has `rotor_inertia` [kg m^2 or kg]. `efficiency`, above 0 and at most 1, is the
        part of power that arrives: one number, or (driving, driven back). A motor with `stall_torque` [N m or N] and
        `no_load_speed` [rad/s or m/s] has less force the faster it turns, as its voltage lets it. One that sits on a
        body further inboard, `measured_from`, pulls by cables over all joints in between, which get the same ratio.
        """
        element = new_element(self._drives, "drive", name)
        by_joint = numbers_by_joint(ratios, "ratios", "ratios", element)
        refuse_zero_ratios(by_joint, element)
        numbers = number_of(gain, "gain", element), numbers_of(bias, (3,), "bias", element)
        control = interval(control_limits, "control_limits", element)
        force = interval(force_limits, "force_limits", element)
        motor = not_zero(gear, "gear", element), at_least_zero(rotor_inertia, "rotor_inertia", element)
        line = {"stall_torque": stall_torque, "no_load_speed": no_load_speed}
        stall, fastest = (above_zero(value, key, element, or_infinite) for key, value in line.items())
        refuse_half_a_line(stall, fastest, element)
        passed, base = efficiency_pair(efficiency, element), None if measured_from is None else str(measured_from)
        known = (name, tuple(by_joint.items()), *numbers, control, force, *motor, passed)
        self._drives[name] = Drive(*known, stall, fastest, base)
        return self

    def clutch(
        self,
        name: str,
        a: str | Mapping[str, float],
        b: str | Mapping[str, float],
        ratio: float = 1.0,
        capacity: float = np.inf,
        engaged: bool = False,
    ) -> Self:
        """Put a clutch between the joints `a` and `b`: while it is engaged, v_b = ratio v_a [rad/s or m/s].

        Either may be a sum of joints, with factors: a tibia turns against the body by {"hip": 1, "knee": 1}. The clutch
        slips above `capacity`, the force that it can put on b [N m or N].
        """
        element = new_element(self._clutches, "clutch", name)
        sides = checked_side(a, "a", element), checked_side(b, "b", element)
        numbers = not_zero(ratio, "ratio", element), above_zero(capacity, "capacity", element, or_infinite)
        self._clutches[name] = Clutch(name, *sides, *numbers, yes_or_no(engaged, "engaged", element))
        return self

    def brake(self, name: str, joint: str, capacity: float = np.inf, engaged: bool = False) -> Self:
        """Put a brake on a joint, which holds it still while engaged and slips above `capacity` [N m or N]."""
        element = new_element(self._brakes, "brake", name)
        capacity = above_zero(capacity, "capacity", element, or_infinite)
        self._brakes[name] = Brake(name, str(joint), capacity, yes_or_no(engaged, "engaged", element))
        return self

    def ratchet(
        self,
        name: str,
        a: str | Mapping[str, float],
        b: str | Mapping[str, float] | None = None,
        ratio: float = 1.0,
        capacity: float = np.inf,
        engaged: bool = True,
        direction: int = 1,
    ) -> Self:
        """Put a one-way clutch between the joints `a` and `b`: v_b >= ratio v_a [rad/s or m/s] while it is engaged.

        b may run ahead, and is free then, but does not fall behind. Without b, a itself turns forward only. The
        `direction` -1 turns it round. Sides may be sums of joints, as those of a clutch. It slips above `capacity`, the
        force with which it can push b [N m or N].
        """
        element = new_element(self._ratchets, "ratchet", name)
        sides = checked_side(a, "a", element), None if b is None else checked_side(b, "b", element)
        numbers = not_zero(ratio, "ratio", element), above_zero(capacity, "capacity", element, or_infinite)
        way = number_of(direction, "direction", element)
        if abs(way) != 1.0:
            raise ModelError(f"direction must be 1 or -1; got {direction!r}", element)
        self._ratchets[name] = Ratchet(name, *sides, *numbers, yes_or_no(engaged, "engaged", element), way)
        return self

    def latch(self, name: str, joint: str, at: float, side: str = "both", engaged: bool = False) -> Self:
        """Put a latch on a joint: it falls in when the joint reaches `at` [rad or m], and holds it until released.

        It does so where the joint comes from `side`: "below", "above" or "both".
        """
        element = new_element(self._latches, "latch", name)
        if not isinstance(side, str) or side not in SIDES:
            raise ModelError(f"side must be one of {listed(SIDES)}; got {side!r}", element)
        place = number_of(at, "at", element)
        self._latches[name] = Latch(name, str(joint), place, side, yes_or_no(engaged, "engaged", element))
        return self

    def transmission(self, name: str, driving: str, driven: str, ratios: Any, selected: int = 0) -> Self:
        """Put a transmission between two joints: in gear k, v_driving = ratios[k - 1] v_driven [rad/s or m/s].

        The gear that is `selected` is number 1 to as many as there are ratios, or 0, neutral, in which both are free.
        """
        element = new_element(self._transmissions, "transmission", name)
        made = Transmission(name, str(driving), str(driven), ratios_of(ratios, element))
        number = number_of(selected, "selected", element)
        made.refuse_gear(number)
        self._transmissions[name] = replace(made, selected=number)
        return self

    def differential(
        self, name: str, driving: str, left: str, right: str, ratio: float = 1.0, engaged: bool = True
    ) -> Self:
        """Let the joint `driving` turn the mean of two others, with the same force on both.

        While it is engaged, v_left + v_right = 2 ratio v_driving [rad/s or m/s].
        """
        element = new_element(self._differentials, "differential", name)
        by, held = not_zero(ratio, "ratio", element), yes_or_no(engaged, "engaged", element)
        self._differentials[name] = Differential(name, str(driving), str(left), str(right), by, held)
        return self

    def couple(self, name: str, factors: Mapping[str, Any], engaged: bool = True) -> Self:
        """Hold a sum of velocities at zero while engaged: `factors` by joint, one number or one for each velocity.

        With a free joint, whose velocities are in its body's frame, these are wheels that roll and do not slip.
        """
        element = new_element(self._couplings, "coupling", name)
        by_joint = numbers_by_joint(factors, "factors", "factors", element)
        refuse_zero_ratios(by_joint, element, "factors")
        rows = tuple((joint, tuple(numbers.tolist())) for joint, numbers in by_joint.items())
        self._couplings[name] = Coupling(name, rows, yes_or_no(engaged, "engaged", element))
        return self

    def surface(
        self,
        name: str,
        shape: SurfaceShape,
        body: str = "world",
        at: Any = ZERO,
        rpy: Any = ZERO,
        *,
        rotation: Any = None,
    ) -> Self:
        """Give `body` a surface that contacts can touch, such as lw.Plane(), whose z is its normal.

        `at` (3,) [m], and `rpy` (3,) [rad] or `rotation` (3, 3), place it in the body's frame.
        """
        element = new_element(self._surfaces, "surface", name)
        place = Place.stated(placement(at, rpy, rotation, element))
        self._surfaces[name] = Surface(name, str(body), checked_surface(shape, element), place)
        return self

    def touch(
        self,
        name: str,
        body: str,
        at: Any = ZERO,
        *,
        stiffness: float | None = None,
        damping: float = 0.0,
        radius: float = 0.0,
        against: str | Iterable[str] = (),
        tangential_stiffness: float | None = None,
        tangential_damping: float | None = None,
        friction: Any = 0.0,
        rest_speed: float = REST_SPEED,
        rolling: float = 0.0,
        spinning: float = 0.0,
        restitution: float = 0.0,
        dissipation: float | None = None,
    ) -> Self:
        """Let a point at `at` (3,) [m] of `body`, or a ball of `radius` [m] about it, touch surfaces.

        Of an array (k, 3) of points, as `lw.box_corners` gives, each does, called "name 1" to "name k". `against` names
        the surfaces: all of other bodies, if none. `stiffness` [N/m] and `damping` [N s/m] are along the normal; along
        the surface they are the same unless given. `friction` is the coefficients (static, dynamic), or one number for
        both; below `rest_speed` [m/s] a sliding contact sticks. Torques of `rolling` and `spinning` [m] times the
        normal force brake a ball. With a `dissipation` c [s/m] the normal force at a depth d [m] is
        stiffness d^1.5 (1 + c dd/dt), as Hunt and Crossley have it. Where contacts are rigid, as
        `simulate(..., contact="rigid")` has them, none of these numbers but `friction` are needed, and a `restitution`
        from 0 to 1 makes them bounce.
        """
        several = isinstance(at, np.ndarray) and at.ndim == 2
        for number, point in enumerate(at if several else [at], start=1):
            own = f"{name} {number}" if several else name
            self._contacts[own] = Contact.stated(
                own, new_element(self._contacts, "contact", own), body, point, against, stiffness,
                tangential_stiffness, tangential_damping, friction, restitution, dissipation, damping=damping,
                radius=radius, rest_speed=rest_speed, rolling=rolling, spinning=spinning,
            )  # fmt: skip
        return self

    def spring(
        self,
        name: str,
        a: str,
        b: str,
        at: Any = ZERO,
        to: Any = ZERO,
        *,
        stiffness: float = 0.0,
        damping: float = 0.0,
        length: float = 0.0,
    ) -> Self:
        """Stretch a spring and a damper from the point `at` (3,) [m] of `a` to the point `to` (3,) [m] of `b`.

        Either may be "world". At a distance L the points are pulled together by the force
        stiffness (L - length) + damping dL/dt, with `stiffness` [N/m], `damping` [N s/m] and `length` [m].
        """
        element = new_element(self._springs, "spring", name)
        refuse_one_end(a, b, element)
        here, there = placement(at, ZERO, None, element), placement(to, ZERO, None, element, "to")
        given = {"stiffness": stiffness, "damping": damping, "length": length}
        numbers = [at_least_zero(value, key, element) for key, value in given.items()]
        self._springs[name] = Spring(name, str(a), str(b), Place.stated(here), Place.stated(there), *numbers)
        return self

    def _equipment_faults(
        self, bodies: Mapping[str, object], kinds: Mapping[str, JointKind], mimics: Mapping[str, Mimic]
    ) -> Iterator[Fault]:
        """Who names bodies or joints that are not there, or do not fit."""
        for loop in self._loops.values():
            yield from unknown_faults(f"loop {loop.name!r}", "body", {"body a": loop.a, "body b": loop.b}, bodies)
        for drive in self._drives.values():
            yield from drive.faults(kinds)
        for clutch in self._clutches.values():
            yield from clutch.faults(kinds, mimics)
        for brake in self._brakes.values():
            yield from brake.faults(kinds)
        beside = (self._ratchets, self._latches, self._transmissions, self._differentials, self._couplings)
        for item in (one for items in beside for one in items.values()):
            yield from item.faults(kinds, mimics)
        yield from self._shared_names()
        for surface in self._surfaces.values():
            yield from unknown_faults(f"surface {surface.name!r}", "body", {"its body": surface.body}, bodies)
        for contact in self._contacts.values():
            yield from contact.reference_faults(bodies, self._surfaces, {*kinds, *self._springs})
        for spring in self._springs.values():
            yield from spring.reference_faults(bodies, kinds)

    def _shared_names(self) -> Iterator[Fault]:
        """What is switched by its name must have one of its own."""
        owners: dict[str, str] = {}
        kinds = {
            "clutch": self._clutches, "brake": self._brakes, "ratchet": self._ratchets, "latch": self._latches,
            "transmission": self._transmissions, "differential": self._differentials, "coupling": self._couplings,
        }  # fmt: skip
        for kind, items in kinds.items():
            for name in items:
                if name in owners:
                    yield Fault(f"there is a {owners[name]} of that name", f"{kind} {name!r}", "give it another")
                owners.setdefault(name, kind)
