"""Figures of the K2T Walker as it walks: its gait, a turn from above, and ways over the ground from the side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.examples import walker_gaits as gaits
from linkwork.examples import walker_machine
from linkwork.simulation.results.drawing import outline
from linkwork.simulation.results.solids import solids_of
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STICKING = 4.0  # the state of a contact that does
COLOURS = {name: frame.color[:3] for name, frame in walker_machine.NUMBERS.items()}
GROUND = "#8a7f70"
PERIODS = 3  # that are shown of a gait
APART = 1.05  # [m] of the way between two pictures of the walker, a little more than its length
CLIMB = ((-0.75, 4.85),)  # where along x [m] a way is shown, row by row
ROUGH = ((-0.75, 5.35), (5.35, 11.45))


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
            "The gait: angles of the motors, heights of two feet, and which feet are on the ground. Femurs are lowered "
            "where tibiae stand aslant, so that the frames keep their height.",
        ),
        "walker_turn": Shown(
            "turning",
            path_figure,
            "A turn by yaw, from above: the walker after each metre, and where its feet stood. Before and after, a "
            "brake locks the frames to each other.",
        ),
        "walker_climb": Shown(
            "climb",
            lambda run: side_figure(run, CLIMB),
            "Up a step of 14 cm: the walker after each metre. Before the step the clutches of its back femurs were "
            "reversed, for a part of their way down, so that it leans back; after it, it is made straight again.",
            wide=True,
        ),
        "walker_rough": Shown(
            "rough",
            lambda run: side_figure(run, ROUGH),
            "Ten metres over rough ground: the walker after each metre, and the way of its top frame.",
            wide=True,
        ),
    }


def gait_figure(run: lw.Run) -> Figure:
    """Angles of motors, heights of feet, and which are on the ground, over some periods of a straight walk."""
    figure, (angles, heights, feet) = _new(3, (4.8, 4.6), sharex=True, height_ratios=(1.2, 0.7, 1.2))
    rows = run.t >= run.t[-1] - PERIODS * gaits.PERIOD
    t, q = run.t[rows], run.q[rows]
    for frame, colour in COLOURS.items():
        for what, style in (("femurs", "-"), ("tibiae", "--")):
            drive = run.mechanism.drives[f"{frame} {what}"]
            joints = [run.mechanism.joints[joint].q.start for joint in drive.joints]
            angles.plot(t, q[:, joints].sum(axis=1), style, color=colour, label=f"{frame} {what}")
        height = run.dynamics.pose(q, f"{frame} {walker_machine.LEGS[0]} foot")[:, 2, 3]
        heights.plot(t, 100.0 * height, color=colour)
    angles.set_ylabel("motors [rad]")
    angles.legend(fontsize=8, ncols=4, loc="lower center", bbox_to_anchor=(0.45, 1.0), frameon=False, columnspacing=1.0)
    heights.set_ylabel("feet [cm]")
    names = [pair.contact.name.removesuffix(" sole") for pair in run.mechanism.contact_pairs]
    for place, name in enumerate(names):
        down = run["contact.state"][rows, place] > 1.0
        feet.fill_between(t, place - 0.35, place + 0.35, where=down, color=COLOURS[name.split()[0]], linewidth=0)
    feet.set_yticks(range(len(names)), names, fontsize=8)
    feet.invert_yaxis()
    feet.set_xlabel("time [s]")
    figure.align_ylabels([angles, heights])
    return figure


def path_figure(run: lw.Run) -> Figure:
    """From above: the way of the top frame, the walker every so often, and where feet stood."""
    figure, (axes,) = _new(1, (5.0, 5.2))
    for row in _rows(run):
        _seen(axes, run, row, (0, 1))
    stood = run["contact.state"] == STICKING
    for frame, colour in COLOURS.items():
        own = [k for k, pair in enumerate(run.mechanism.contact_pairs) if pair.contact.name.startswith(frame)]
        places = run["contact.anchor"][:, own][stood[:, own]]
        axes.plot(*places[:, :2].T, ".", color=colour, markersize=3.0, label=f"feet of the {frame} frame", zorder=3)
    axes.plot(*run.q[:, :2].T, "k", linewidth=1.0, label="way of the top frame", zorder=4)
    axes.set_aspect("equal")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.legend(fontsize=8, loc="upper left", markerscale=2.5)
    return figure


def side_figure(run: lw.Run, parts: Sequence[tuple[float, float]]) -> Figure:
    """From the right, in parts of the way along x [m] below each other: the walker, its way, and the ground."""
    length = max(end - start for start, end in parts)
    figure, rows = _new(len(parts), (8.0, 0.35 + len(parts) * (0.4 + 7.2 * 0.62 / length)))
    for axes, (start, end) in zip(rows, parts, strict=True):
        x = np.linspace(start, end, 500)
        axes.fill_between(x, [ground_height(run.mechanism, at) for at in x], -0.1, color=GROUND, linewidth=0)
        for row in _rows(run):
            if start - APART < run.q[row, 0] < end + APART:
                _seen(axes, run, row, (0, 2))
        axes.plot(run.q[:, 0], run.q[:, 2], "k:", linewidth=1.0)
        axes.set_aspect("equal")
        axes.set(xlim=(start, end), ylim=(-0.1, 0.56), yticks=(0.0, 0.25, 0.5), ylabel="z [m]")
    rows[-1].set_xlabel("x [m]")
    return figure


def ground_height(m: lw.Mechanism, x: float, y: float = 0.0) -> float:
    """How high the walker's ground is [m] at a place of the world [m]."""
    surface = m.surfaces["ground"]
    near = surface.shape.near(np.array([x, y, 0.0]) - surface.place.pose.p)
    return float(-near.distance / near.normal[2])


def _new(down: int, size: tuple[float, float], **options: Any) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(down, 1, squeeze=False, **options)[:, 0].tolist()
    for one in axes:
        one.grid(color="0.92", linewidth=0.8)
        one.set_axisbelow(True)
    return figure, axes


def _rows(run: lw.Run) -> list[int]:
    """At the start, and where the top frame has gone on by `APART`."""
    way = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(run.q[:, :2], axis=0), axis=1))])
    return [int(np.abs(way - far).argmin()) for far in np.arange(0.0, way[-1], APART)]


def _seen(axes: Axes, run: lw.Run, row: int, along: tuple[int, int]) -> None:
    """The walker in a row, along two of the world's axes: from the right or from above, what is nearer last."""
    poses, shapes = run.dynamics.poses(run.q[row]), []
    for body in list(run.mechanism.bodies)[1:]:
        pose = poses[body.index - 1]
        shapes += [(solid.points @ pose[:3, :3].T + pose[:3, 3], solid.color) for solid in solids_of(body)]

    def near(shape: tuple[Array, Any]) -> float:
        """How near the eye a shape is [m]."""
        return float(shape[0][:, 2].mean() if along == (0, 1) else -shape[0][:, 1].mean())

    for points, color in sorted(shapes, key=near):
        pale = tuple(0.5 + 0.5 * part for part in color)
        axes.fill(*outline(points[:, list(along)]).T, facecolor=pale, edgecolor=color, linewidth=0.7, zorder=2)
