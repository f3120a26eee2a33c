"""Drives: motors that act on joints through fixed ratios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkwork.errors import ModelError, unknown_name
from linkwork.model.faults import Fault
from linkwork.model.joints import JointKind
from linkwork.model.mimic import Mimic
from linkwork.model.naming import Named
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Joint
    from linkwork.model.specifications import JointRequest


DRIVE_PARAMETERS = ("gain", "gear", "rotor_inertia", "efficiency", "stall_torque", "no_load_speed")


@dataclass(frozen=True, eq=False)
class Drive:
    """A motor whose one coordinate is a sum of joints' coordinates, in fixed ratios.

    `ratios` has the name of each joint with one number per velocity. For a control u,

        length  l  = gear times the sum of ratio q [rad or m], where all joints have one coordinate
        rate    l' = gear times the sum of ratio v [rad/s or m/s]
        force   f  = clip(gain clip(u, control_limits) + bias[0] + bias[1] l + bias[2] l', force_limits) [N m or N]

    and each joint feels gear ratio f (MuJoCo's affine actuator). A torque motor has gain 1 and no bias; a position
    servo has gain k and bias (0, -k, -d). `control_limits` and `force_limits` are (2,), infinite where there are none.

    The rotor turns at l': its kinetic energy is rotor_inertia l'^2 / 2, with `rotor_inertia` [kg m^2 or kg]. Of the
    motor's power the joints get the part efficiency[0]; where they drive the motor, it gets the part efficiency[1] of
    theirs. The voltage of a motor bounds its force by the lines from `stall_torque` [N m or N] at rest to nothing at
    `no_load_speed` [rad/s or m/s], both ways: -1 - l'/no_load_speed <= f/stall_torque <= 1 - l'/no_load_speed.

    A motor that sits on the body `measured_from` pulls its joints by cables that run over all joints in between. Its
    coordinate is the turn of their outer bodies against that body, and has their ratios for those joints too (S0 29).

    In the mechanism's own coordinates, in which joints may mimic others, l' = gear row v with `row` (nv,), and l is
    gear times row q over the joints of one coordinate, plus gear times `offset`.
    """

    name: str
    ratios: tuple[tuple[str, Array], ...]
    gain: float
    bias: Array
    control_limits: Array
    force_limits: Array
    gear: Number = 1.0
    rotor_inertia: Number = 0.0
    efficiency: Array = field(default_factory=lambda: np.ones(2))
    stall_torque: Number = np.inf
    no_load_speed: Number = np.inf
    measured_from: str | None = None
    reached: tuple[tuple[str, Array], ...] = ()  # ratios of all joints, with those that cables run over
    row: Array = field(default_factory=lambda: np.zeros(0))  # until joints are numbered
    offset: float = 0.0

    @property
    def joints(self) -> tuple[str, ...]:
        """The names of the joints that it drives."""
        return tuple(joint for joint, _ in self.reached or self.ratios)

    @property
    def parameters(self) -> dict[str, Array]:
        """What may vary of it, by name: its numbers, but those of torque and speed only where it has such limits."""
        keys = DRIVE_PARAMETERS if self.has_speed_limit else DRIVE_PARAMETERS[:-2]
        return {key: np.asarray(getattr(self, key)) for key in keys}

    @property
    def has_speed_limit(self) -> bool:
        """Whether its force is bounded by a line from its stall torque to its no-load speed."""
        return np.asarray(self.stall_torque).dtype == object or bool(np.isfinite(self.stall_torque))

    @property
    def rotor(self) -> Rotor | None:
        """Its rotor, if it has or may have one."""
        inertia = self.rotor_inertia
        if np.asarray(inertia).dtype != object and inertia == 0.0:
            return None
        return Rotor(self.name, self.joints, inertia * (self.gear * self.gear), self.row)

    def faults(self, kinds: Mapping[str, JointKind]) -> Iterator[Fault]:
        """What is wrong with it, given the kinds of all joints."""
        element = f"drive {self.name!r}"
        for joint, numbers in self.ratios:
            kind = kinds.get(joint)
            if kind is None:
                yield Fault(f"ratios: {unknown_name('joint', joint, kinds).reason}", element)
            elif numbers.shape != (kind.nv,):
                wanted = f"{kind.nv} numbers, one for each velocity" if kind.nv else "none, as it cannot move"
                yield Fault(f"ratios of joint {joint!r} must be {wanted}; got {numbers.tolist()}", element)
            elif self.bias[1] != 0.0 and not kind.nq == kind.nv == 1:
                reason = f"bias[1] acts on a length, which joint {joint!r}, a {type(kind).__name__}, does not have"
                yield Fault(f"bias: {reason}", element, "let it be 0, or drive joints of one coordinate")

    def cable_faults(self, joints: Mapping[str, JointRequest]) -> Iterator[Fault]:
        """What is wrong with the body that it is measured from, given all joints."""
        element, body = f"drive {self.name!r}", self.measured_from
        for joint in self.joints if body is not None else ():
            if joint not in joints:
                continue
            way = list(_inboard(joint, joints))
            inner = [one.parent for one in way]
            if body not in inner:
                reason = unknown_name("body", str(body), inner).reason
                yield Fault(f"measured_from, inboard of joint {joint!r}: {reason}", element)
                continue
            for one in way[: inner.index(body) + 1]:
                if one.kind.nv > 1:
                    reason = f"its cables run over joint {one.name!r}, a {type(one.kind).__name__}"
                    yield Fault(f"{reason}; they run over joints of one velocity", element)

    def extended(self, joints: Mapping[str, JointRequest]) -> Drive:
        """The same with the ratios of all joints that its cables run over."""
        if self.measured_from is None:
            return self
        found: dict[str, Array] = {}
        for joint, numbers in self.ratios:
            for one in _inboard(joint, joints):
                if one.kind.nv:
                    found[one.name] = found.get(one.name, np.zeros(1)) + numbers
                if one.parent == self.measured_from:
                    break
        return replace(self, reached=tuple(found.items()))

    def numbered(self, joints: Named[Joint], mimics: Named[Mimic]) -> Drive:
        """The same with its row in the coordinates of these joints."""
        row, offset = np.zeros(max((joint.v.stop for joint in joints), default=0)), 0.0
        for name, numbers in self.reached or self.ratios:
            if name in mimics:  # it has one coordinate, and the slices of the joint that it follows
                row[joints[name].v] += numbers * mimics[name].multiplier
                offset += float(numbers[0]) * mimics[name].offset
            else:
                row[joints[name].v] += numbers
        row.flags.writeable = False  # a mechanism never changes
        return replace(self, row=row, offset=offset)


def _inboard(joint: str, joints: Mapping[str, JointRequest]) -> Iterator[JointRequest]:
    """A joint, the one that carries its parent, and so on to the world."""
    carriers = {one.child: one for one in joints.values()}
    now: JointRequest | None = joints[joint]
    for _ in joints:  # rings end, too
        if now is not None:
            yield now
            now = carriers.get(now.parent)


class Rotor(NamedTuple):
    """A rotor that turns with `joints`: its kinetic energy is inertia (row v)^2 / 2, with `row` (nv,)."""

    drive: str
    joints: tuple[str, ...]
    inertia: Number
    row: Array

    @property
    def alone(self) -> bool:
        """Whether it turns with one velocity alone, so that it is an armature."""
        return np.count_nonzero(self.row) == 1

    @property
    def scaled(self) -> Array:
        """The row (nv,) whose rate has half its square as kinetic energy [J]."""
        size = np.sqrt(self.inertia)
        return np.array([x * size if x != 0.0 else 0.0 for x in self.row])


def refuse_zero_ratios(ratios: Mapping[str, Array], element: str, what: str = "ratios") -> None:
    """Raise a ModelError if there are no ratios, or only zeros for some joint."""
    if not ratios:
        raise ModelError(f"{what} must name at least one joint", element)
    for joint, numbers in ratios.items():
        if not numbers.any():
            raise ModelError(f"{what} of joint {joint!r} must not all be 0; got {numbers.tolist()}", element)


def refuse_half_a_line(stall_torque: float, no_load_speed: float, element: str) -> None:
    """Raise a ModelError unless both ends of the line of torque and speed are given, or none."""
    given = {"stall_torque": stall_torque, "no_load_speed": no_load_speed}
    lacking = [key for key, value in given.items() if not np.isfinite(value)]
    if len(lacking) == 1:
        raise ModelError(f"{lacking[0]} is lacking: torque and speed are bounded together", element)
