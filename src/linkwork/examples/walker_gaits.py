"""Gaits of the walker: angles of its five motors as functions of time, and schedules of its clutches.

While the legs of one frame are in stance and move backward, the legs of the other frame swing forward; then they change
roles. The walker turns by yaw: each frame rotates while its legs are in the air. The two frames, bottom and top, are
bodies of the walker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.drive_forces import drive_forces
from linkwork.examples.walker_mechanism import FEMUR_LENGTH, TIBIA_LENGTH, build
from linkwork.model import HeightField, Mechanism
from linkwork.spatial.scalar import Array, Number, maximum, minimum, where

STEP, ROW = 5e-4, 0.02  # integration step, and interval between samples [s]
PERIOD = 0.9  # period of the gait cycle of both frames [s]
# duty factor of the legs of a frame: more than half, so that the legs of one frame are always in stance
STANDING = 0.56
STRIDE = 0.22  # backward stroke of a foot in stance [m]
LIFT = 0.45  # lift of the femurs in swing [rad]
EARLY = 0.15  # fraction of a swing, at its start and its end, in which the feet are too low for yaw
RAMP = 0.9  # time after the start in which strides grow [s]
STEER, YAW_MOST = 2.0, 0.25  # yaw [rad] per heading error [rad], and largest yaw [rad]
TURN_RATE = 0.35  # rate of the desired heading in a turn [rad/s]


def smooth(x: Number) -> Number:
    """Return a smooth step function of x: 0 for x < 0, 1 for x > 1, with a continuous first derivative."""
    x = minimum(maximum(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)


class Swing(NamedTuple):
    """Position of the feet of one body frame of the walker in the gait cycle, dimensionless.

    `back` is their backward position, as a fraction of the stride, from -1/2 to 1/2 in stance. `lifted` is their lift,
    as a fraction of the largest lift, 0 in stance. `moved` is the progress of the yaw motion: 0 in stance, in swing it
    increases from 0 to 1.
    """

    back: Number
    lifted: Number
    moved: Number


def swing(phase: Number) -> Swing:
    """Return the position of the feet of a body frame at a `phase` of its gait cycle; integer phases are touchdowns.

    The swing begins and ends with the speed of the stroke, so that feet do not drag on the ground. The height is the
    mean of a parabola and its square; with the parabola alone, the feet would land hard.
    """
    phase = phase - np.floor(phase)
    stood = phase / STANDING
    flown = maximum((phase - STANDING) / (1.0 - STANDING), 0.0)
    arc = 4.0 * flown * (1.0 - flown)
    forward = smooth(flown) - 0.25 * (1.0 - STANDING) / STANDING * arc * (1.0 - 2.0 * flown)
    moved = smooth((flown - EARLY) / (1.0 - 2.0 * EARLY))
    return Swing(where(flown > 0.0, 0.5 - forward, stood - 0.5), 0.5 * (arc + arc * arc), moved)


def leg_angles(back: Number, lifted: Number, stride: Number) -> tuple[Number, Number]:
    """Return the angles [rad] of the femurs and of the tibiae for feet `back` [m] behind their neutral position.

    `stride` [m] is the length of a footstep. The height of the walker's body frame above the ground is constant. The
    femurs are as far above the horizontal in the middle of a stride as below it at the ends. The distance between front
    and back feet is therefore constant. In swing, the femurs rise by the angle `lifted` [rad].
    """
    dropped = _dropped(back) - 0.5 * _dropped(0.5 * stride)
    return np.arcsin(dropped / FEMUR_LENGTH) - lifted, np.arcsin(back / TIBIA_LENGTH)


def _dropped(back: Number) -> Number:
    """Return by how much [m] the height of a tibia decreases if its foot is moved back by `back` [m] from neutral."""
    return TIBIA_LENGTH - np.sqrt(TIBIA_LENGTH**2 - back * back)


def heading(m: Mechanism, q: Array) -> Number:
    """Return the heading [rad] of the walker from x towards y: the mean of the headings of bottom and top frame."""
    w, x, y, z = q[m.joints["float"].q][3:]
    return np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)) + 0.5 * q[m.joints["yaw"].q.start]


def motor_angles(m: Mechanism, t: Number, q: Array, stride: Number, lift: Number, wanted: Number) -> Array:
    """Return the desired angles (5,) [rad] of the five motors, in the order of `m.drives`.

    They depend on the time t [s] and, by the heading, on the coordinates q (nq,). `wanted` [rad] is the desired
    heading, `stride` [m] the length of the footsteps, and `lift` [rad] the angle by which the femurs rise in swing.
    """
    begun, phase = smooth(t / RAMP), t / PERIOD - np.floor(t / PERIOD)
    bottom, top = swing(phase), swing(phase + 0.5)
    error = wanted - heading(m, q)
    error = np.arctan2(np.sin(error), np.cos(error))
    most = minimum(maximum(STEER * error, -YAW_MOST), YAW_MOST)
    yaw = most * where(phase < 0.5, 1.0 - 2.0 * top.moved, 2.0 * bottom.moved - 1.0)
    stride, lift = stride * begun, lift * begun
    legs = [leg_angles(one.back * stride, one.lifted * lift, stride) for one in (bottom, top)]
    return np.array([yaw * begun, *legs[0], *legs[1]])


def controller(m: Mechanism) -> Callable[..., Array]:
    """Return the walking controller, a function of t, q, v and the gains `stride`, `lift`, `turn` and `when`.

    The walker walks with footsteps of the length `stride` [m] and femur lift `lift` [rad]. From the time `when` [s] on,
    it turns by `turn` [rad]. The gains may differ between the members of a batch.
    """

    def walk(t: Number, q: Array, v: Array, stride: Number, lift: Number, turn: Number, when: Number) -> Array:
        since = maximum(t - when, 0.0) * TURN_RATE
        wanted = minimum(maximum(turn, -since), since)
        return drive_forces(m, q, v, motor_angles(m, t, q, stride, lift, wanted))

    return walk


# --- walks ---


GAINS = ("stride", "lift", "turn", "when")


class Walk(NamedTuple):
    """A walk to simulate: the mechanism with its ground, the schedule, the duration [s], and the controller's gains."""

    mechanism: Mechanism
    schedule: list[Any]
    duration: float
    stride: Any = STRIDE
    lift: Any = LIFT
    turn: Any = 0.0
    when: Any = 0.0

    def member(self, number: int) -> Walk:
        """Return the walk of the batch member with the index `number`."""
        schedule = [(np.broadcast_to(time, np.shape(self.when))[number], *what) for time, *what in self.schedule]
        one = {name: np.broadcast_to(getattr(self, name), np.shape(self.when))[number] for name in GAINS}
        return self._replace(schedule=schedule, **one)

    @property
    def arguments(self) -> dict[str, Any]:
        """Return keyword arguments for `lw.simulate`; gains and times of the schedule may be arrays, for a batch."""
        gains = {name: getattr(self, name) for name in GAINS}
        batch = np.broadcast_shapes(*(np.shape(gain) for gain in gains.values()))
        start = self.mechanism.keyframes["start"].q
        return {
            "mechanism": self.mechanism,
            "q0": np.broadcast_to(start, (*batch, len(start))),
            "duration": self.duration,
            "dt": STEP,
            "method": "semi-implicit",
            "controller": controller(self.mechanism),
            "schedule": [entry for entry in self.schedule if np.min(entry[0]) <= self.duration],
            "every": round(ROW / STEP),
            "gains": gains,
        }


def engaged(m: Mechanism) -> list[Any]:
    """Return a schedule that engages all clutches of the walker at 0 s: 11 of its 23 degrees of freedom remain."""
    return [(0.0, "engage", clutch.name) for clutch in m.clutches]


def straight(duration: float = 26.0) -> Walk:
    """Return a straight walk on flat ground, with bottom and top frame of the walker locked to each other."""
    m = build()
    return Walk(m, [*engaged(m), (0.0, "lock", "yaw brake")], duration)


AHEAD = 6.0  # distance from the start to the centre of the rough ground [m]
CELL = 0.1  # grid spacing of the rough ground [m]


def rough_ground(height: float, step: float = 0.0, at: float = 2.0, seed: int = 0) -> HeightField:
    """Return a ground of 14 m by 6 m along x and y, with random heights between -`height` and `height` [m].

    An upward step of the height `step` [m] is `at` [m] ahead of the start of the walk. The centre of the ground must be
    placed AHEAD [m] of the start. The ground is flat up to 0.6 m ahead of the start. `seed` seeds the random heights.
    """
    size = (14.0, 6.0)
    counts = [round(length / CELL) + 1 for length in size]
    x = np.linspace(-0.5 * size[0], 0.5 * size[0], counts[0]) + AHEAD
    heights = np.random.default_rng(seed).uniform(-height, height, counts) * np.clip(2.0 * (x - 0.6), 0.0, 1.0)[:, None]
    return HeightField(size, heights + np.where(x > at, step, 0.0)[:, None])


def rough(duration: float = 28.0, height: float = 0.03) -> Walk:
    """Return a straight walk over rough ground, on which yaw control maintains the heading.

    The heights of the ground are between -`height` and `height` [m]; `duration` [s] is the simulated time.
    """
    m = build(rough_ground(height), (AHEAD, 0.0, 0.0))
    return Walk(m, engaged(m), duration, lift=0.55)


def turning(turn: float = 0.5 * np.pi, when: float = 3.0, duration: float = 14.0) -> Walk:
    """Return a walk with a turn to the left by `turn` [rad] on flat ground.

    The turn begins at the time `when` [s]; `duration` [s] is the time of the whole walk. Before and after the turn,
    bottom and top frame are locked to each other.
    """
    m, lasts = build(), round((abs(turn) / TURN_RATE + 2.0) / ROW) * ROW
    switches = [(0.0, "lock", "yaw brake"), (when, "unlock", "yaw brake"), (when + lasts, "lock", "yaw brake")]
    return Walk(m, [*engaged(m), *switches], duration, turn=turn, when=when)


def crowd(count: int, duration: float, seed: int = 0) -> Walk:
    """Return a batch of `count` walks on flat ground with random strides, turns, and times at which yaw is unlocked."""
    rng, one = np.random.default_rng(seed), turning(duration=duration)
    parts = np.array([[0.3], [0.6]]) + rng.uniform(0.0, 0.25, (2, count))
    unlock, lock = (parts * duration / ROW).round() * ROW
    switches = [*one.schedule[:-2], (unlock, "unlock", "yaw brake"), (lock, "lock", "yaw brake")]
    stride, turn = rng.uniform(0.1, 0.24, count), rng.uniform(-1.0, 1.0, count)
    return one._replace(schedule=switches, stride=stride, turn=turn, when=unlock)


def leaning(m: Mechanism, cycle: int, part: float, forward: bool = False) -> list[Any]:
    """Return a schedule after which the walker leans back, or `forward` again; it acts in gait cycle number `cycle`.

    The clutches of the back legs of a frame are reversed (section 3.1.4 of Nelson and Quinn) while its femurs move down
    in swing. The front femurs then sink, and the back femurs rise. The clutches are reversed from the highest point on,
    for the fraction `part` of the motion. To lean forward, the clutches are reversed while the femurs move up, until
    the highest point.
    """
    # value of the function `arc` of `swing` at which the lift is 1 - part
    arc = np.sqrt(0.25 + 2.0 * (1.0 - part)) - 0.5
    flown = 0.5 + 0.5 * np.sqrt(1.0 - arc)
    found = []
    for frame, before in (("top", STANDING - 0.5), ("bottom", STANDING)):
        clutches = [name for name in m.clutches.names if name.startswith(f"{frame} back") and "femur" in name]
        for at in (1.0 - flown, 0.5) if forward else (0.5, flown):
            time = PERIOD * (cycle + before + (1.0 - STANDING) * at)
            found += [(time, "reverse", name) for name in clutches]
    return found


def climb(step: float = 0.14, duration: float = 12.0, height: float = 0.01, lean: float = 0.4) -> Walk:
    """Return a walk over rough ground and up a step, for which the walker leans back.

    The walker leans back from before the step until after the step. `step` [m] is the height of the step; the heights
    of the rough ground are between -`height` and `height` [m]. `lean` is the argument `part` of `leaning`; with 0, the
    walker does not lean. `duration` [s] is the simulated time.
    """
    m = build(rough_ground(height, step), (AHEAD, 0.0, 0.0))
    switches = [*leaning(m, 2, lean), *leaning(m, 9, lean, forward=True)] if lean else []
    return Walk(m, [*engaged(m), *switches], duration, lift=0.75)


def tilt(q: Array) -> Array:
    """Return the angle (...,) [rad] between the z axis of the walker's top frame and the vertical at q (..., nq)."""
    x, y = q[..., 4], q[..., 5]
    return np.arccos(1.0 - 2.0 * (x * x + y * y))
