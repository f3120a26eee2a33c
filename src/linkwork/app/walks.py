"""Walks of the K2T Walker: runs of `examples.walker_gaits`, what happened on them, and figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.examples import walker
from linkwork.examples import walker_gaits as gaits
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RECORDED = ("q", "v", "contact.state", "contact.anchor")
STANDS = np.radians(45.0)  # the walker has fallen where it leans more
ROUND_OFF = 1e-6  # of energies [J], impulses [N m s] and torques [N m]
STICKING = 4.0  # the state of a contact that does
COLOURS = {"bottom": "#c2571a", "top": "#1f5fa8"}
GROUND = "#8a7f70"
PERIODS = 3  # that are shown of a gait


class Course(NamedTuple):
    """A walk to be made, what it is in words, and whether a run of it has got where it should."""

    walk: Callable[[], gaits.Walk]
    about: str
    arrived: Callable[[lw.Run], bool]


COURSES = {
    "straight": Course(gaits.straight, "flat ground, frames locked to each other", lambda run: run.q[-1, 0] > 10.0),
    "rough": Course(gaits.rough, "rough ground, yaw keeps the heading", lambda run: run.q[-1, 0] > 10.0),
    "turning": Course(gaits.turning, "flat ground, to the left by 90°", lambda run: abs(_heading(run) - 90.0) < 3.0),
    "climb": Course(gaits.climb, "rough ground, up a step of 14 cm", lambda run: run.q[-1, 0] > 3.5),
}


class Walked(NamedTuple):
    """A walk that was made: its name, what it is, and the run."""

    name: str
    course: Course
    run: lw.Run

    @property
    def arrived(self) -> bool:
        """Whether the walker got where it should, and never fell."""
        return self.run.outcome.kind == "finished" and self.leaned < STANDS and bool(self.course.arrived(self.run))

    @property
    def leaned(self) -> float:
        """How far the top frame leaned at most [rad]."""
        return float(gaits.tilt(self.run.q).max())

    def told(self) -> tuple[str, ...]:
        """Name, ground, time, way, heading at the end, leaning, and whether it arrived."""
        way = float(np.hypot(*self.run.q[-1, :2]))
        leaned, verdict = f"{np.degrees(self.leaned):.1f}°", "yes" if self.arrived else "no"
        time = f"{self.run.t[-1]:g} s"
        return self.name, self.course.about, time, f"{way:.2f} m", f"{round(_heading(self.run))}°", leaned, verdict

    def events(self) -> list[tuple[str, ...]]:
        """When, what, energy won, impulse and torque of each switch but those at the start."""
        return [
            (f"{event.time:.3f} s", event.what.partition(" (")[0], *map(_number, event[3:]))
            for event in self.run.events
            if event.time > 0.0
        ]


TOLD = ("walk", "where", "time", "way", "heading", "leans", "arrived")


def walked(name: str) -> Walked:
    """The walk of that name, made."""
    course = COURSES[name]
    return Walked(name, course, lw.simulate(**course.walk().request, record=RECORDED))


def _number(x: float) -> str:
    return f"{x:.3g}" if abs(x) > ROUND_OFF else "0"


def _heading(run: lw.Run) -> float:
    """Where the walker looks at the end [degrees]."""
    return float(np.degrees(gaits.heading(run.mechanism, run.q[-1])))


# --- figures ---


class Shown(NamedTuple):
    """A figure of a walk, drawn when it is asked for, what it shows, and whether it is as wide as a page."""

    walk: str
    draw: Callable[[lw.Run], Figure]
    about: str
    wide: bool = False


def figures() -> dict[str, Shown]:
    """All of them, by names that files may have."""
    return {
        "walker_gait": Shown(
            "straight",
            gait_figure,
            "The gait: angles of the motors, and which feet are on the ground. Femurs are lowered a little where "
            "tibiae stand aslant, so that the frames keep their height.",
        ),
        "walker_turn": Shown(
            "turning",
            path_figure,
            "A turn by yaw, from above: the walker every 2 s, and where its feet stood. Before and after, a brake "
            "locks the frames to each other.",
        ),
        "walker_climb": Shown(
            "climb",
            side_figure,
            "Up a step of 14 cm: the walker every 2.4 s. Before the step the clutches of its back femurs were "
            "reversed, for a part of their way down, so that it leans back; after it, it is made straight again.",
            wide=True,
        ),
        "walker_rough": Shown(
            "rough",
            lambda run: side_figure(run, 2.4, 10.9),
            "Ten metres over rough ground: the walker every 2.4 s.",
            wide=True,
        ),
    }


def gait_figure(run: lw.Run) -> Figure:
    """Angles of motors, and which feet are on the ground, over some periods of a straight walk."""
    figure, (angles, feet) = _new(2, 1, (5.2, 3.8), sharex=True)
    end = float(run.t[-1])
    rows = run.t >= end - PERIODS * gaits.PERIOD
    t, lengths = run.t[rows], run.q[rows]
    for frame, colour in COLOURS.items():
        for what, style in (("femurs", "-"), ("tibiae", "--")):
            drive = run.mechanism.drives[f"{frame} {what}"]
            joints = [run.mechanism.joints[joint].q.start for joint in drive.joints]
            angles.plot(t, lengths[:, joints].sum(axis=1), style, color=colour, label=f"{frame} {what}")
    angles.set_ylabel("angle of the motor [rad]")
    angles.legend(fontsize=7, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    names = [pair.contact.name.removesuffix(" sole") for pair in run.mechanism.touches]
    for place, name in enumerate(names):
        down = run["contact.state"][rows, place] > 1.0
        feet.fill_between(t, place - 0.35, place + 0.35, where=down, color=COLOURS[name.split()[0]], linewidth=0)
    feet.set_yticks(range(len(names)), names, fontsize=7)
    feet.invert_yaxis()
    feet.set_xlabel("time [s]")
    return figure


def path_figure(run: lw.Run, apart: float = 2.0) -> Figure:
    """From above: the way of the top frame, the walker every so often [s], and where feet stood."""
    figure, ((axes,),) = _new(1, 1, (5.0, 5.0))
    stood = run["contact.state"] == STICKING
    for frame, colour in COLOURS.items():
        own = [k for k, pair in enumerate(run.mechanism.touches) if pair.contact.name.startswith(frame)]
        places = run["contact.anchor"][:, own][stood[:, own]]
        axes.plot(places[:, 0], places[:, 1], ".", color=colour, markersize=1.5, alpha=0.5, label=f"feet, {frame}")
    for row in _rows(run, apart):
        _seen(axes, run, row, (0, 1))
    axes.plot(*run.q[:, :2].T, "k", linewidth=1.0, label="top frame")
    axes.set_aspect("equal")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.legend(fontsize=7, loc="upper left")
    return figure


def side_figure(run: lw.Run, apart: float = 2.4, until: float = 4.4) -> Figure:
    """From the right: the walker every so often [s], the way of its top frame, and the ground below it."""
    figure, ((axes,),) = _new(1, 1, (8.0, 2.0 if until < 6.0 else 1.4))
    x = np.linspace(-0.8, until, 500)
    surface = run.mechanism.surfaces["ground"]
    ground = [_height(surface, np.array([at, 0.0, 0.0])) for at in x]
    axes.fill_between(x, ground, -0.12, color=GROUND, linewidth=0)
    for row in _rows(run, apart):
        if run.q[row, 0] < until - 0.6:
            _seen(axes, run, row, (0, 2))
    shown = run.q[:, 0] < until - 0.1
    axes.plot(run.q[shown, 0], run.q[shown, 2], "k:", linewidth=1.0)
    axes.set_aspect("equal")
    axes.set_xlim(-0.8, until)
    axes.set_ylim(-0.12, 0.62)
    axes.set_xlabel("x [m]")
    axes.set_ylabel("z [m]")
    return figure


def _new(down: int, across: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(down, across, squeeze=False, **options)
    for one in axes.ravel():
        one.grid(color="0.92", linewidth=0.8)
        one.set_axisbelow(True)
    return figure, axes if across > 1 or down == 1 else axes[:, 0]


def _rows(run: lw.Run, apart: float) -> list[int]:
    return [int(np.abs(run.t - time).argmin()) for time in np.arange(0.0, run.t[-1] + 1e-9, apart)]


def _height(surface: Any, place: Array) -> float:
    """The ground's height [m] at a place (3,) [m] of the world, straight below or above it."""
    if isinstance(surface.shape, lw.Plane):
        return 0.0
    near = surface.shape.near(place - surface.place.pose.p)
    return float(-near.distance / near.normal[2])


def _seen(axes: Axes, run: lw.Run, row: int, along: tuple[int, int]) -> None:
    """The walker in a row, along two of the world's axes: its frames, and its legs from hip to knee to foot."""
    d = run.dynamics
    for frame, colour in COLOURS.items():
        x, y, _ = 0.5 * np.array(walker.NUMBERS[frame].size)
        box = np.array([[x, y], [x, -y], [-x, -y], [-x, y], [x, y]])
        pose = d.pose(run.q[row], frame)
        outline = box @ pose[:3, :2].T + pose[:3, 3]
        axes.plot(*outline.T[list(along)], color=colour, linewidth=1.0)
        for leg in walker.LEGS:
            names = [f"{frame} {leg} {part}" for part in ("femur", "tibia", "foot")]
            points = np.array([d.pose(run.q[row], name)[:3, 3] for name in names])
            axes.plot(*points.T[list(along)], color=colour, linewidth=1.5, solid_capstyle="round")
