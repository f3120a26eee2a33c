"""What the numbers of a series are: a title, a name for every entry, and units. For data sets and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from linkwork.model.mechanism import Joint, Mechanism


class Axis(NamedTuple):
    """An axis of a series: what it runs over, and the name of every entry."""

    name: str
    entries: tuple[str, ...]


class Label(NamedTuple):
    """What a series is: its title, its axes after the batch's and time, and the unit of every entry of the last one.

    A series of single numbers has no axes and one unit.
    """

    title: str
    axes: tuple[Axis, ...]
    units: tuple[str, ...]

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the last axis's entries; one empty name of single numbers."""
        return self.axes[-1].entries if self.axes else ("",)

    @property
    def unit(self) -> str:
        """All units that occur, in order."""
        return ", ".join(dict.fromkeys(self.units))


def label_of(mechanism: Mechanism, series: str, shape: tuple[int, ...] = ()) -> Label:
    """The label of a series of a mechanism's run, whose rows have this shape where the mechanism does not say it."""
    m, kind = mechanism, series.partition(".")[0]
    if series in SINGLE:
        return Label(*SINGLE[series])
    if series in BY_VELOCITY:
        title, turning, sliding = BY_VELOCITY[series]
        units = _of_joints(m, lambda j: (turning if turn else sliding for turn in j.kind.turns))
        return Label(title, (Axis("velocity", velocity_names(m)),), units)
    if series == "q":
        units = _of_joints(m, lambda j: (unit for _, unit in j.kind.coordinates))
        return Label("positions", (Axis("coordinate", coordinate_names(m)),), units)
    if series in WRENCHES:
        title, axis = WRENCHES[series]
        names = m.bodies.names[1:] if axis == "body" else (*m.joints.names, *m.loops.names)
        return Label(title, (Axis(axis, names), WRENCH), _six("N", "N m"))
    if series == "carried":
        names = tuple(item.name for item in m.holders for _ in item.ties)
        return Label("forces of clutches, brakes, gears", (Axis("holder", names),), ("N m or N",) * len(names))
    if series in OF_DRIVES:
        title, unit = OF_DRIVES[series]
        return Label(title, (Axis("drive", m.drives.names),), (unit,) * len(m.drives))
    if series in OF_CONTACTS:
        title, unit = OF_CONTACTS[series]
        names = Axis("contact", tuple(pair.name for pair in m.touches))
        vector = series not in ("contact.state", "contact.since")
        return Label(title, (names, DIRECTION) if vector else (names,), (unit,) * (3 if vector else len(m.touches)))
    if kind in OF_FRAMES:
        title, axes, units = OF_FRAMES[kind]
        return Label(f"{title} of {series.partition('.')[2]!r}", axes, units)
    axes = tuple(Axis(f"{series}_{k}", tuple(map(str, range(size)))) for k, size in enumerate(shape))
    return Label(OTHERS.get(series, series), axes, ("1",) * (shape[-1] if shape else 1))


def coordinate_names(mechanism: Mechanism) -> tuple[str, ...]:
    """The names of all coordinates (nq,): that of the joint, or "joint.qw" where it has several."""
    return _of_joints(mechanism, lambda j: (_full(j, name) for name, _ in j.kind.coordinates))


def velocity_names(mechanism: Mechanism) -> tuple[str, ...]:
    """The names of all velocities (nv,): that of the joint, or "joint.wx" where it has several."""
    return _of_joints(mechanism, lambda j: (_full(j, name) for name in j.kind.velocities))


def _of_joints(mechanism: Mechanism, answer: Callable[[Joint], Iterable[str]]) -> tuple[str, ...]:
    return tuple(text for joint in mechanism.leaders for text in answer(joint))


def _full(joint: Joint, name: str) -> str:
    return f"{joint.name}.{name}" if name else joint.name


def _six(linear: str, angular: str) -> tuple[str, ...]:
    return (linear,) * 3 + (angular,) * 3


WRENCH = Axis("wrench", ("fx", "fy", "fz", "tx", "ty", "tz"))
TWIST = Axis("twist", ("vx", "vy", "vz", "wx", "wy", "wz"))
WHOLE = Axis("component", ("px", "py", "pz", "lx", "ly", "lz"))
DIRECTION = Axis("direction", ("x", "y", "z"))
POSE = (Axis("row", ("x", "y", "z", "one")), Axis("column", ("ex", "ey", "ez", "origin")))

BY_VELOCITY = {  # title, unit where it turns, unit where it slides
    "v": ("velocities", "rad/s", "m/s"),
    "tau": ("joint forces of controllers", "N m", "N"),
    "stops": ("joint forces of stops", "N m", "N"),
    "passive": ("joint forces of springs, dampers and friction", "N m", "N"),
}
SINGLE = {
    "t": ("time", (), ("s",)),
    "work": ("work of forces without energy", (), ("J",)),
    "energy": ("energy", (), ("J",)),
    "energy.kinetic": ("kinetic energy", (), ("J",)),
    "energy.gravity": ("energy of gravity", (), ("J",)),
    "energy.springs": ("energy of springs", (), ("J",)),
    "momentum": ("momentum about the centre of mass", (WHOLE,), _six("kg m/s", "kg m^2/s")),
    "center_of_mass": ("centre of mass", (DIRECTION,), ("m",) * 3),
    "contact.energy": ("energy of springs of contacts", (), ("J",)),
}
OF_DRIVES = {
    "drive.force": ("forces of motors", "N m or N"),
    "drive.speed": ("speeds of motors", "rad/s or m/s"),
}
OF_CONTACTS = {
    "contact.state": ("states of contacts", "1"),
    "contact.since": ("times since when contacts are in their states", "s"),
    "contact.force": ("forces of contacts", "N"),
    "contact.anchor": ("anchors of contacts", "m"),
    "contact.slip": ("slip of contacts", "m/s"),
    "contact.torque": ("rolling and spinning torques of contacts", "N m"),
}
WRENCHES = {
    "wrenches": ("wrenches on bodies", "body"),
    "contact.wrenches": ("wrenches of contacts on bodies", "body"),
    "reactions": ("reactions of joints", "joint"),
}
OF_FRAMES = {"pose": ("pose", POSE, ("1", "1", "1", "m")), "velocity": ("twist", (TWIST,), _six("m/s", "rad/s"))}
OTHERS = {"memory": "memory of the controller"}
