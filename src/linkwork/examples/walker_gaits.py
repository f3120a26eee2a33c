"""How the walker walks: angles of its five motors as functions of time, and what is clutched when.

While the legs of one frame stand and stroke backward, those of the other are lifted and brought forward; then they
change over. The walker turns by yaw: each frame turns while it is lifted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.drive_forces import drive_forces
from linkwork.examples.walker_machine import FEMUR_LENGTH, TIBIA_LENGTH, build
from linkwork.model import HeightField, Mechanism
from linkwork.spatial.scalar import Array, Number, maximum, minimum, where

STEP, ROW = 5e-4, 0.02  # [s] between steps, and between recorded rows
PERIOD = 0.9  # [s] of both frames together
STANDING = 0.56  # part of it for which the legs of a frame stand: a little more than half, so that some always do
STRIDE = 0.22  # [m] that a foot strokes backward while it stands
LIFT = 0.45  # [rad] by which femurs are lifted
EARLY = 0.15  # part of a swing, at its beginning and its end, in which feet are too low for the frame to turn
RAMP = 0.9  # [s] in which strides grow at the start
STEER, YAW_MOST = 2.0, 0.25  # yaw [rad] by error of heading [rad], and at most
TURN_RATE = 0.35  # [rad/s] at which the heading is led to a new one


def smooth(x: Number) -> Number:
    """From 0 to 1 where x does so, without jumps of the rate; constant before and after."""
    x = minimum(maximum(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)


class Swing(NamedTuple):
    """Where a frame is in its cycle: how far its feet are `back`, from -1/2 to 1/2 as they stand, and `lifted`, to 1.

    `moved` goes from 0 to 1 while they are in the air, and is 0 while they stand.
    """

    back: Number
    lifted: Number
    moved: Number


def swing(phase: Number) -> Swing:
    """The cycle begins where feet are put down before the frame; it is 1 long and comes again.

    Feet that stand must not scrape: a swing begins and ends with the speed of a stroke, and is lifted at once, by the
    mean of a parabola, which would land hard, and of its square.
    """
    phase = phase - np.floor(phase)
    stood = phase / STANDING
    flown = maximum((phase - STANDING) / (1.0 - STANDING), 0.0)
    arc = 4.0 * flown * (1.0 - flown)
    forward = smooth(flown) - 0.25 * (1.0 - STANDING) / STANDING * arc * (1.0 - 2.0 * flown)
    moved = smooth((flown - EARLY) / (1.0 - 2.0 * EARLY))
    return Swing(where(flown > 0.0, 0.5 - forward, stood - 0.5), 0.5 * (arc + arc * arc), moved)


def leg_angles(back: Number, lifted: Number, stride: Number) -> tuple[Number, Number]:
    """Angles [rad] of femurs and tibiae with feet `back` [m] of their places, in strides of so many metres.

    Femurs keep the height of the frame. They are as far above the horizon in the middle of a stride as below it at
    its ends, where they reach equally far, so that front feet and back feet keep their distance.
    """
    dropped = _dropped(back) - 0.5 * _dropped(0.5 * stride)
    return np.arcsin(dropped / FEMUR_LENGTH) - lifted, np.arcsin(back / TIBIA_LENGTH)


def _dropped(back: Number) -> Number:
    """By how much [m] a tibia reaches less far down with its foot so far `back` [m]."""
    return TIBIA_LENGTH - np.sqrt(TIBIA_LENGTH**2 - back * back)


def heading(m: Mechanism, q: Array) -> Number:
    """Where the walker looks [rad], the mean of both frames, from x towards y."""
    w, x, y, z = q[m.joints["float"].q][3:]
    return np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)) + 0.5 * q[m.joints["yaw"].q.start]


def motor_angles(m: Mechanism, t: Number, q: Array, stride: Number, lift: Number, wanted: Number) -> Array:
    """Angles of the five motors (5,) [rad] that lead to the `wanted` heading [rad], in the order of `m.drives`."""
    begun, phase = smooth(t / RAMP), t / PERIOD - np.floor(t / PERIOD)
    bottom, top = swing(phase), swing(phase + 0.5)
    off = wanted - heading(m, q)
    off = np.arctan2(np.sin(off), np.cos(off))
    most = minimum(maximum(STEER * off, -YAW_MOST), YAW_MOST)
    yaw = most * where(phase < 0.5, 1.0 - 2.0 * top.moved, 2.0 * bottom.moved - 1.0)
    stride, lift = stride * begun, lift * begun
    legs = [leg_angles(one.back * stride, one.lifted * lift, stride) for one in (bottom, top)]
    return np.array([yaw * begun, *legs[0], *legs[1]])


def controller(m: Mechanism) -> Callable[..., Array]:
    """A controller that walks, and from `when` [s] on turns by `turn` [rad], with gains that may differ in a batch."""

    def walk(t: Number, q: Array, v: Array, stride: Number, lift: Number, turn: Number, when: Number) -> Array:
        since = maximum(t - when, 0.0) * TURN_RATE
        wanted = minimum(maximum(turn, -since), since)
        return drive_forces(m, q, v, motor_angles(m, t, q, stride, lift, wanted))

    return walk


# --- walks ---


GAINS = ("stride", "lift", "turn", "when")


class Walk(NamedTuple):
    """A walker on its ground, what is switched when, how long [s] it walks, and how: gains of the controller."""

    mechanism: Mechanism
    schedule: list[Any]
    duration: float
    stride: Any = STRIDE
    lift: Any = LIFT
    turn: Any = 0.0
    when: Any = 0.0

    def member(self, number: int) -> Walk:
        """One walk of a batch of them."""
        schedule = [(np.broadcast_to(time, np.shape(self.when))[number], *what) for time, *what in self.schedule]
        one = {name: np.broadcast_to(getattr(self, name), np.shape(self.when))[number] for name in GAINS}
        return self._replace(schedule=schedule, **one)

    @property
    def request(self) -> dict[str, Any]:
        """What `lw.simulate(**walk.request)` is told; gains and times of the schedule may be arrays, for a batch."""
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
            "schedule": self.schedule,
            "every": round(ROW / STEP),
            "gains": gains,
        }


def engaged(m: Mechanism) -> list[Any]:
    """What engages all clutches at the start, so that eleven coordinates are left of 23."""
    return [(0.0, "engage", clutch.name) for clutch in m.clutches]


def straight(duration: float = 26.0) -> Walk:
    """Straight on, over flat ground, with the frames locked to each other."""
    m = build()
    return Walk(m, [*engaged(m), (0.0, "lock", "yaw brake")], duration)


AHEAD = 6.0  # [m] from the start to the middle of rough ground
CELL = 0.1  # [m] between its heights


def rough_ground(height: float, step: float = 0.0, at: float = 2.0, seed: int = 0) -> HeightField:
    """Ground over 14 m by 6 m with random heights [m] up to `height`, and from `at` [m] before the start a `step` [m].

    Its middle belongs `AHEAD` of the start, around which it is flat.
    """
    size = (14.0, 6.0)
    counts = [round(length / CELL) + 1 for length in size]
    x = np.linspace(-0.5 * size[0], 0.5 * size[0], counts[0]) + AHEAD
    heights = np.random.default_rng(seed).uniform(-height, height, counts) * np.clip(2.0 * (x - 0.6), 0.0, 1.0)[:, None]
    return HeightField(size, heights + np.where(x > at, step, 0.0)[:, None])


def rough(duration: float = 28.0, height: float = 0.03) -> Walk:
    """Straight on over rough ground; yaw keeps the heading."""
    m = build(rough_ground(height), (AHEAD, 0.0, 0.0))
    return Walk(m, engaged(m), duration, lift=0.55)


def turning(turn: float = 0.5 * np.pi, when: float = 3.0, duration: float = 14.0) -> Walk:
    """On flat ground, a turn to the left by `turn` [rad]; the frames are locked to each other before and after."""
    m, lasts = build(), round((abs(turn) / TURN_RATE + 2.0) / ROW) * ROW
    switches = [(0.0, "lock", "yaw brake"), (when, "unlock", "yaw brake"), (when + lasts, "lock", "yaw brake")]
    return Walk(m, [*engaged(m), *switches], duration, turn=turn, when=when)


def crowd(count: int, duration: float, seed: int = 0) -> Walk:
    """So many walks on flat ground, all different: their strides, turns, and the rows at which yaw is unlocked."""
    rng, one = np.random.default_rng(seed), turning(duration=duration)
    parts = np.array([[0.3], [0.6]]) + rng.uniform(0.0, 0.25, (2, count))
    unlock, lock = (parts * duration / ROW).round() * ROW
    switches = [*one.schedule[:-2], (unlock, "unlock", "yaw brake"), (lock, "lock", "yaw brake")]
    stride, turn = rng.uniform(0.1, 0.24, count), rng.uniform(-1.0, 1.0, count)
    return one._replace(schedule=switches, stride=stride, turn=turn, when=unlock)


def leaning(m: Mechanism, cycle: int, part: float, forward: bool = False) -> list[Any]:
    """What is switched in a cycle so that the walker then leans back, or forward again.

    While the femurs of a frame are lowered in the air, the clutches of its back legs are reversed (3.1.4) from the
    highest place on, for a `part` of the way: front femurs sink and back femurs rise. Forward it is while they are
    lifted, up to the highest place.
    """
    arc = np.sqrt(0.25 + 2.0 * (1.0 - part)) - 0.5  # where a swing is lifted by 1 - part; see `swing`
    flown = 0.5 + 0.5 * np.sqrt(1.0 - arc)
    found = []
    for frame, before in (("top", STANDING - 0.5), ("bottom", STANDING)):
        clutches = [name for name in m.clutches.names if name.startswith(f"{frame} back") and "femur" in name]
        for at in (1.0 - flown, 0.5) if forward else (0.5, flown):
            time = PERIOD * (cycle + before + (1.0 - STANDING) * at)
            found += [(time, "reverse", name) for name in clutches]
    return found


def climb(step: float = 0.14, duration: float = 12.0, height: float = 0.01, lean: float = 0.4) -> Walk:
    """Over rough ground and up a step, leaning back from before it until after it."""
    m = build(rough_ground(height, step), (AHEAD, 0.0, 0.0))
    switches = [*leaning(m, 2, lean), *leaning(m, 9, lean, forward=True)] if lean else []
    return Walk(m, [*engaged(m), *switches], duration, lift=0.65)


def tilt(q: Array) -> Array:
    """How far (...,) the top frame leans [rad] at q (..., nq)."""
    x, y = q[..., 4], q[..., 5]
    return np.arccos(1.0 - 2.0 * (x * x + y * y))
