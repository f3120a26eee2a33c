"""Drives: motors that act on joints through fixed ratios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from linkwork.errors import ModelError, unknown_name
from linkwork.model.elements.actuator import Actuator
from linkwork.model.elements.element import Rotor
from linkwork.model.elements.keys import (
    ZERO,
    body_name,
    bounds,
    derived,
    efficiencies,
    finite,
    is_finite,
    key,
    nonzero,
    not_negative,
    numbers_by_joint_name,
    positive,
    three_numbers,
)
from linkwork.model.faults import Fault
from linkwork.model.naming import Named
from linkwork.model.parameters import FADING_SPEED
from linkwork.model.specifications import Draft, JointRequest, Layout
from linkwork.spatial.scalar import Array, Number, maximum, minimum, where

if TYPE_CHECKING:
    from linkwork.model.mechanism import Joint, Mechanism


class Drive(Actuator, section="drives"):
    """Put a motor on joints: `ratios` are by joint, one number or one for each velocity of the joint.

    Its one coordinate is a sum of joints' coordinates, in these ratios. For a control u,

        length  l  = gear times the sum of ratio q [rad or m], where all joints have one coordinate
        rate    l' = gear times the sum of ratio v [rad/s or m/s]
        force   f  = clip(gain clip(u, control_limits) + bias[0] + bias[1] l + bias[2] l', force_limits) [N m or N]

    and each joint feels gear ratio f (MuJoCo's affine actuator). A torque motor has gain 1 and no bias; a position
    servo has gain k and bias (0, -k, -d). `control_limits` and `force_limits` are (lower, upper), None where there are
    none.

    The rotor turns at l': its kinetic energy is rotor_inertia l'^2 / 2, with `rotor_inertia` [kg m^2 or kg]. Of the
    motor's power the joints get the part efficiency[0]; where they drive the motor, it gets the part efficiency[1] of
    theirs: `efficiency`, above 0 and at most 1, is one number or (driving, driven back). The voltage of a motor bounds
    its force by the lines from `stall_torque` [N m or N] at rest to nothing at `no_load_speed` [rad/s or m/s], both
    directions: -1 - l'/no_load_speed <= f/stall_torque <= 1 - l'/no_load_speed.

    A motor that sits on the body `measured_from`, further inboard, pulls its joints by cables that run over all joints
    in between. Its coordinate is the turn of their outer bodies against that body, and has their ratios for those
    joints too (S0 29).

    In the mechanism's own coordinates, in which joints may mimic others, l' = gear row v with `row` (nv,), and l is
    gear times row q over the joints of one coordinate, plus gear times `offset`.
    """

    ratios: Any = key(numbers_by_joint_name, "by which each joint turns the motor")
    measured_from: str | None = key(
        body_name("measured_from", wanted="the name of a body"),
        "on which the motor sits, with cables over all joints in between",
        default=None, kw_only=True,
    )  # fmt: skip
    gain: Number = key(finite("N m or N"), "force by control", default=1.0, kw_only=True, parameter=True)
    bias: Any = key(three_numbers, "force: a constant, by length and by rate of length", default=ZERO, kw_only=True)
    control_limits: Any = key(bounds, "of the control", default=None, kw_only=True)
    force_limits: Any = key(bounds, "[N m or N]", default=None, kw_only=True)
    gear: Number = key(
        nonzero(), "turns of the motor for one of the sum of its joints", default=1.0, kw_only=True, parameter=True
    )
    rotor_inertia: Number = key(
        not_negative("kg m^2 or kg"), "of what turns at the motor's speed", default=0.0, kw_only=True, parameter=True
    )
    stall_torque: Number = key(
        positive("N m or N", infinite=True), "most force at rest", default=np.inf, kw_only=True, parameter=True
    )
    no_load_speed: Number = key(
        positive("rad/s or m/s", infinite=True),
        "at which no force is left",
        default=np.inf, kw_only=True, parameter=True,
    )  # fmt: skip
    efficiency: Any = key(efficiencies, "part of power that arrives", default=1.0, kw_only=True, parameter=True)
    reached: tuple[tuple[str, Array], ...] = derived(default=())  # ratios of all joints that it turns
    row: Array = derived(default_factory=lambda: np.zeros(0))  # pyright: ignore[reportIncompatibleMethodOverride]
    offset: float = derived(default=0.0)

    @property
    def joints(self) -> tuple[str, ...]:
        """The names of the joints that it drives."""
        return tuple(joint for joint, _ in self.reached or self.ratios)

    @property
    def has_speed_limit(self) -> bool:
        """Whether its force is bounded by a line from its stall torque to its no-load speed."""
        return is_finite(self.stall_torque)

    @property
    def rotor(self) -> Rotor | None:
        """Its rotor, if it has or may have one."""
        inertia = self.rotor_inertia
        if np.asarray(inertia).dtype != object and inertia == 0.0:
            return None
        return Rotor(self.name, self.joints, inertia * (self.gear * self.gear), self.row)

    # --- its force ---

    def speed(self, v: Array) -> Number:
        """The motor's speed l' [rad/s or m/s] at velocities v (nv,)."""
        return self._turning(v) * self.gear

    def motor_force(self, mechanism: Mechanism, q: Array, v: Array, u: Number) -> Number:
        """The motor's force f [N m or N] at the control u; what its constants leave out is not computed."""
        constant, by_length, by_rate = self.bias
        f = _clipped(u, self.control_limits) * self.gain + constant
        if by_length != 0.0:
            f = f + by_length * ((self._along(mechanism, q) + self.offset) * self.gear)
        if by_rate != 0.0:
            f = f + by_rate * (self._turning(v) * self.gear)
        if self.has_speed_limit:
            lost = self.stall_torque * (self._turning(v) * self.gear / self.no_load_speed)
            f = maximum(minimum(f, self.stall_torque - lost), -self.stall_torque - lost)
        return _clipped(f, self.force_limits)

    def output(self, f: Number, v: Array) -> Number:
        """What of a motor's force f [N m or N] the joints feel behind its gears, each times its entry of `row`."""
        return self._passed(f, v) * self.gear

    def _passed(self, f: Number, v: Array) -> Number:
        """What of a motor's force f arrives behind its gears [N m or N], as the joints would feel it at a gear of 1.

        The joints get less power than the motor gives, and the motor less than the joints give. Near rest the loss
        fades to nothing as that of dry friction does, so that forces stay continuous; it is never negative.
        """
        if self.efficiency.dtype != object and (self.efficiency == 1.0).all():
            return f
        driving, back = self.efficiency
        speed = self._turning(v) * self.gear
        along = where(f * speed > 0.0, abs(speed), -abs(speed)) / np.sqrt(speed * speed + FADING_SPEED**2)
        return f * (1.0 - (1.0 - driving) * maximum(along, 0.0) + (1.0 / back - 1.0) * maximum(-along, 0.0))

    def _turning(self, v: Array) -> Number:
        """Sum of ratio v [rad/s or m/s]."""
        return sum((self.row[k] * v[k] for k in np.flatnonzero(self.row)), 0.0)

    def _along(self, mechanism: Mechanism, q: Array) -> Number:
        """Sum of ratio q [rad or m] over the joints of one coordinate."""
        driven = [j for j in mechanism.leaders if self.row[j.v].any()]
        return sum((self.row[j.v][0] * q[j.q][0] for j in driven), 0.0)

    # --- its definition, checked ---

    def completed(self) -> Self:
        """The same, if both ends of the line of torque and speed are given, or none."""
        given = {"stall_torque": self.stall_torque, "no_load_speed": self.no_load_speed}
        lacking = [key for key, value in given.items() if not np.isfinite(value)]
        if len(lacking) == 1:
            raise ModelError(f"{lacking[0]} is lacking: torque and speed are bounded together", self.label)
        return self

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """What is wrong with its joints, and with the body that it is measured from."""
        yield from self._cable_faults(draft.joints)
        for joint, numbers in self.ratios:
            kind = draft.kinds.get(joint)
            if kind is None:
                yield Fault(f"ratios: {unknown_name('joint', joint, draft.kinds).reason}", self.label)
            elif numbers.shape != (kind.nv,):
                wanted = f"{kind.nv} numbers, one for each velocity" if kind.nv else "none, as it cannot move"
                yield Fault(f"ratios of joint {joint!r} must be {wanted}; got {numbers.tolist()}", self.label)
            elif self.bias[1] != 0.0 and not kind.nq == kind.nv == 1:
                reason = f"bias[1] acts on a length, which joint {joint!r}, a {type(kind).__name__}, does not have"
                yield Fault(f"bias: {reason}", self.label, "let it be 0, or drive joints of one coordinate")

    def _cable_faults(self, joints: Mapping[str, JointRequest]) -> Iterator[Fault]:
        body = self.measured_from
        for joint in self.joints if body is not None else ():
            if joint not in joints:
                continue
            path = list(_inboard(joint, joints))
            inner = [one.parent for one in path]
            if body not in inner:
                reason = unknown_name("body", str(body), inner).reason
                yield Fault(f"measured_from, inboard of joint {joint!r}: {reason}", self.label)
                continue
            for one in path[: inner.index(body) + 1]:
                if one.kind.nv > 1:
                    reason = f"its cables run over joint {one.name!r}, a {type(one.kind).__name__}"
                    yield Fault(f"{reason}; they run over joints of one velocity", self.label)

    def laid_out(self, layout: Layout) -> Self:
        """The same with the ratios of all joints that its cables run over, and its row."""
        found: dict[str, Array] = {}
        for joint, numbers in self.ratios if self.measured_from is not None else ():
            for one in _inboard(joint, layout.requests):
                if one.kind.nv:
                    found[one.name] = found.get(one.name, np.zeros(1)) + numbers
                if one.parent == self.measured_from:
                    break
        return replace(self, reached=tuple(found.items())).numbered(layout.joints)

    def numbered(self, joints: Named[Joint]) -> Self:
        """The same with its row in the coordinates of these joints."""
        row, offset = np.zeros(max((joint.v.stop for joint in joints), default=0)), 0.0
        for name, numbers in self.reached or self.ratios:
            mimic = joints[name].mimic
            row[joints[name].v] += numbers if mimic is None else numbers * mimic.multiplier
            offset += 0.0 if mimic is None else float(numbers[0]) * mimic.offset
        row.flags.writeable = False  # a mechanism never changes
        return replace(self, row=row, offset=offset)

    def describe(self) -> tuple[str, str]:
        """Its numbers, as far as they are unusual, and its ratios."""
        parts = [f"gain {self.gain:g}"]
        parts += [f"gear {self.gear:g}"] if self.gear != 1.0 else []
        parts += [f"rotor {self.rotor_inertia:g}"] if self.rotor_inertia else []
        parts += (
            [f"efficiency {self.efficiency[0]:g}, {self.efficiency[1]:g}"] if (self.efficiency != 1.0).any() else []
        )
        parts += [f"{self.stall_torque:g} at rest to 0 at {self.no_load_speed:g}"] if self.has_speed_limit else []
        ratios = [f"{joint} x {' '.join(f'{x:g}' for x in numbers)}" for joint, numbers in self.ratios]
        return ", ".join(parts), ", ".join(ratios)


def _inboard(joint: str, joints: Mapping[str, JointRequest]) -> Iterator[JointRequest]:
    """A joint, the one that carries its parent, and so on to the world."""
    carriers = {one.child: one for one in joints.values()}
    now: JointRequest | None = joints[joint]
    for _ in joints:  # rings end, too
        if now is not None:
            yield now
            now = carriers.get(now.parent)


def _clipped(x: Number, limits: Array) -> Number:
    """A number within limits, of which infinite ones leave no trace."""
    lower, upper = limits
    x = maximum(x, lower) if lower > -np.inf else x
    return minimum(x, upper) if upper < np.inf else x
