"""Drives: motors that act on joints through constant ratios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from linkwork.errors import ModelError, unknown_name
from linkwork.model.builder_specifications import Draft, JointSpecification, Layout
from linkwork.model.elements.actuator import Actuator
from linkwork.model.elements.element import Rotor
from linkwork.model.elements.key_types import (
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
from linkwork.model.model_definition_faults import Fault
from linkwork.model.named_collections import Named
from linkwork.model.parameter_value_checks import FADING_SPEED
from linkwork.spatial.scalar import Array, Number, maximum, minimum, where

if TYPE_CHECKING:
    from linkwork.model.mechanism import Joint, Mechanism


class Drive(Actuator, section="drives"):
    """Add a motor that drives joints through constant ratios.

    For a control u, the motor's position l, speed l' and force f are

        l  = gear * sum(ratio q)   [rad or m], if every joint has one coordinate
        l' = gear * sum(ratio v)   [rad/s or m/s]
        f  = clip(gain clip(u, control_limits) + bias[0] + bias[1] l + bias[2] l', force_limits)   [N m or N]

    and each joint receives the force gear * ratio * f (MuJoCo's affine actuator). A torque motor has gain 1 and no
    bias; a position servo has gain k and bias (0, -k, -d).

    The rotor turns at the speed l'; its kinetic energy is rotor_inertia l'^2 / 2. While the motor drives the joints,
    the joints receive the fraction efficiency[0] of the power of the motor; while the joints drive the motor, the motor
    receives the fraction efficiency[1] of the power of the joints. The torque-speed line of the motor bounds its force:
    -1 - l'/no_load_speed <= f/stall_torque <= 1 - l'/no_load_speed.

    With `measured_from`, the motor is mounted on this inboard body and drives its joints by cables over all joints in
    between. The ratios then also apply to the joints in between, so that l is the rotation of the outer body relative
    to the motor's body (Nelson and Quinn, equation 29).

    `forward_dynamics` does not include the forces of drives; the controller `lw.feedback.drives` applies these forces.

    Examples
    --------
    >>> b = lw.Builder().body("arm", 1.0, (0, 0, 0.3), (0.1, 0.1, 0.01)).joint("hip", lw.Revolute(), "world", "arm")
    >>> m = b.drive("motor", {"hip": 1.0}, gear=50.0, rotor_inertia=1e-4).build()
    >>> round(float(m.armature[0]), 6)
    0.25

    """

    ratios: Any = key(
        numbers_by_joint_name,
        "Factors of the joint velocities in the motor speed, by joint: one number, or one for each velocity of a joint",
    )
    measured_from: str | None = key(
        body_name("measured_from", wanted="the name of a body"),
        "Body on which the motor is mounted, inboard of its joints; cables run over all joints between this body "
        "and the driven body. None: the parent body of each joint",
        default=None, kw_only=True,
    )  # fmt: skip
    gain: Number = key(finite("N m or N"), "Motor force per unit of control", default=1.0, kw_only=True, parameter=True)
    bias: Any = key(
        three_numbers,
        "Force of the motor at zero control: bias[0] + bias[1] l + bias[2] l', with the position l and speed l' of "
        "the motor [N m or N; per rad or m; per rad/s or m/s]",
        default=ZERO,
        kw_only=True,
    )
    control_limits: Any = key(
        bounds, "Lower and upper limit of the control u; None: no limits", default=None, kw_only=True
    )
    force_limits: Any = key(
        bounds, "Lower and upper limit of the motor force f [N m or N]; None: no limits", default=None, kw_only=True
    )
    gear: Number = key(
        nonzero(),
        "Motor speed l' divided by the sum of joint velocities weighted with `ratios`",
        default=1.0,
        kw_only=True,
        parameter=True,
    )
    rotor_inertia: Number = key(
        not_negative("kg m^2 or kg"),
        "Inertia of the rotor, which turns at the motor speed l'",
        default=0.0, kw_only=True, parameter=True,
    )  # fmt: skip
    stall_torque: Number = key(
        positive("N m or N", infinite=True),
        "Largest motor force or torque at speed zero",
        default=np.inf,
        kw_only=True,
        parameter=True,
    )
    no_load_speed: Number = key(
        positive("rad/s or m/s", infinite=True),
        "Motor speed at which the largest motor force is zero",
        default=np.inf, kw_only=True, parameter=True,
    )  # fmt: skip
    efficiency: Any = key(
        efficiencies,
        "Transmitted fraction of the power, above 0 and at most 1, when the motor drives the joints "
        "and when the joints drive the motor; one number sets both",
        default=1.0, kw_only=True, parameter=True,
    )  # fmt: skip
    # The motor has the position l = gear (row . q + offset), if all joints have one coordinate, and the speed
    # l' = gear (row . v); q and v are those of the independent joints, and mimic joints are eliminated
    reached: tuple[tuple[str, Array], ...] = derived(default=())  # ratios of all driven joints, if the drive has cables
    row: Array = derived(default_factory=lambda: np.zeros(0))  # pyright: ignore[reportIncompatibleMethodOverride]
    offset: float = derived(default=0.0)

    @property
    def joints(self) -> tuple[str, ...]:
        """The names of all joints on which the motor acts, including those that its cables run over."""
        return tuple(joint for joint, _ in self.reached or self.ratios)

    @property
    def has_speed_limit(self) -> bool:
        """Whether a torque-speed line bounds the motor's force."""
        return is_finite(self.stall_torque)

    @property
    def rotor(self) -> Rotor | None:
        """The motor's rotor as an additional inertia, or None if the rotor inertia is the constant zero."""
        inertia = self.rotor_inertia
        if np.asarray(inertia).dtype != object and inertia == 0.0:
            return None
        return Rotor(self.name, self.joints, inertia * (self.gear * self.gear), self.row)

    # --- force of the drive ---

    def speed(self, v: Array) -> Number:
        """Return the motor speed l' [rad/s or m/s], the rate of the motor's position l, at the velocities v (nv,)."""
        return self._turning(v) * self.gear

    def motor_force(self, mechanism: Mechanism, q: Array, v: Array, u: Number) -> Number:
        """Return the motor's force f [N m or N] for its control u at q (nq,) and v (nv,), before gear ratio and losses.

        Terms with zero coefficients are left out, so that the traced graph has no operations for these terms.
        """
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
        """Return the output force [N m or N] of the drive, after gear ratio and losses, for the motor force f.

        v (nv,) are the velocities of the mechanism. The force on velocity k is row[k] times the output force.
        """
        return self._after_losses(f, v) * self.gear

    def _after_losses(self, f: Number, v: Array) -> Number:
        """Return the motor force f [N m or N] after losses, before the gear ratio multiplies it.

        The driven side receives less power: the joints if the motor drives them, the motor if the joints drive it. Near
        rest the losses fade to zero, so that the force is continuous. v (nv,) are the velocities of the mechanism.
        """
        if self.efficiency.dtype != object and (self.efficiency == 1.0).all():
            return f
        driving, back = self.efficiency
        speed = self._turning(v) * self.gear
        along = where(f * speed > 0.0, abs(speed), -abs(speed)) / np.sqrt(speed * speed + FADING_SPEED**2)
        return f * (1.0 - (1.0 - driving) * maximum(along, 0.0) + (1.0 / back - 1.0) * maximum(-along, 0.0))

    def _turning(self, v: Array) -> Number:
        """Return the sum of ratio times velocity over all driven joints [rad/s or m/s], at the velocities v (nv,).

        It is the motor speed divided by `gear`.
        """
        return sum((self.row[k] * v[k] for k in np.flatnonzero(self.row)), 0.0)

    def _along(self, mechanism: Mechanism, q: Array) -> Number:
        """Return the sum of ratio times coordinate over all driven joints [rad or m], at the coordinates q (nq,).

        The position l of the motor is `gear` times this sum plus the constant `offset`. Only the first coordinate of a
        joint counts; motors whose force depends on l drive only joints with one coordinate.
        """
        driven = [j for j in mechanism.leaders if self.row[j.v].any()]
        return sum((self.row[j.v][0] * q[j.q][0] for j in driven), 0.0)

    # --- checks of the definition ---

    def completed(self) -> Self:
        """Return the drive; raise a ModelError if only one of stall torque and no-load speed is given."""
        given = {"stall_torque": self.stall_torque, "no_load_speed": self.no_load_speed}
        lacking = [key for key, value in given.items() if not np.isfinite(value)]
        if len(lacking) == 1:
            raise ModelError(
                f"{lacking[0]} is missing; give both stall_torque and no_load_speed, or neither", self.label
            )
        return self

    def draft_faults(self, draft: Draft) -> Iterator[Fault]:
        """Yield a fault for each invalid joint or ratio of the drive, and for an invalid body `measured_from`.

        `draft` is the content of the Builder before `build`.
        """
        yield from self._cable_faults(draft.joints)
        for joint, numbers in self.ratios:
            kind = draft.kinds.get(joint)
            if kind is None:
                yield Fault(f"ratios: {unknown_name('joint', joint, draft.kinds).reason}", self.label)
            elif numbers.shape != (kind.nv,):
                wanted = f"{kind.nv} numbers, one for each velocity" if kind.nv else "omitted, since it cannot move"
                yield Fault(f"ratios of joint {joint!r} must be {wanted}; got {numbers.tolist()}", self.label)
            elif self.bias[1] != 0.0 and not kind.nq == kind.nv == 1:
                reason = f"bias[1] multiplies the length, which joint {joint!r}, a {type(kind).__name__}, does not have"
                yield Fault(f"bias: {reason}", self.label, "set bias[1] to 0, or drive joints with one coordinate")

    def _cable_faults(self, joints: Mapping[str, JointSpecification]) -> Iterator[Fault]:
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
                    yield Fault(f"{reason}; cables can run only over joints with one velocity", self.label)

    def laid_out(self, layout: Layout) -> Self:
        """Return the drive with its `row` (nv,) of all ratios, including those of the joints that its cables run over.

        `layout` has the numbered bodies and joints of the mechanism.
        """
        found: dict[str, Array] = {}
        for joint, numbers in self.ratios if self.measured_from is not None else ():
            for one in _inboard(joint, layout.specifications):
                if one.kind.nv:
                    found[one.name] = found.get(one.name, np.zeros(1)) + numbers
                if one.parent == self.measured_from:
                    break
        return replace(self, reached=tuple(found.items())).numbered(layout.joints)

    def numbered(self, joints: Named[Joint]) -> Self:
        """Return the drive with its ratios `row` (nv,) and its `offset`; `joints` are the numbered joints."""
        row, offset = np.zeros(max((joint.v.stop for joint in joints), default=0)), 0.0
        for name, numbers in self.reached or self.ratios:
            mimic = joints[name].mimic
            row[joints[name].v] += numbers if mimic is None else numbers * mimic.multiplier
            offset += 0.0 if mimic is None else float(numbers[0]) * mimic.offset
        row.flags.writeable = False  # a mechanism never changes
        return replace(self, row=row, offset=offset)

    def describe(self) -> tuple[str, str]:
        """Return two cells for `linkwork check`: gain and all numbers that differ from defaults, and ratios."""
        parts = [f"gain {self.gain:g}"]
        parts += [f"gear {self.gear:g}"] if self.gear != 1.0 else []
        parts += [f"rotor {self.rotor_inertia:g}"] if self.rotor_inertia else []
        parts += (
            [f"efficiency {self.efficiency[0]:g}, {self.efficiency[1]:g}"] if (self.efficiency != 1.0).any() else []
        )
        parts += (
            [f"stall torque {self.stall_torque:g}, no-load speed {self.no_load_speed:g}"]
            if self.has_speed_limit
            else []
        )
        ratios = [f"{joint} x {' '.join(f'{x:g}' for x in numbers)}" for joint, numbers in self.ratios]
        return ", ".join(parts), ", ".join(ratios)


def _inboard(joint: str, joints: Mapping[str, JointSpecification]) -> Iterator[JointSpecification]:
    """Yield the joint called `joint`, then the joint of its parent body, and so on up to the world.

    `joints` are the joints of the Builder by name.
    """
    carriers = {one.child: one for one in joints.values()}
    now: JointSpecification | None = joints[joint]
    for _ in joints:  # bounded, so that the loop ends even if joints form a cycle
        if now is not None:
            yield now
            now = carriers.get(now.parent)


def _clipped(x: Number, limits: Array) -> Number:
    """Return x clipped to `limits` (2,), [lower, upper]; an infinite limit adds no operation to a traced graph."""
    lower, upper = limits
    x = maximum(x, lower) if lower > -np.inf else x
    return minimum(x, upper) if upper < np.inf else x
