"""Figures of the walking K2T Walker: gait diagram, top view of a turn, and side views on rough ground."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.examples import walker_gaits as gaits
from linkwork.examples import walker_mechanism
from linkwork.simulation.results.drawing_shapes import solids_of
from linkwork.simulation.results.mechanism_drawing import outline
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STICKING = 4.0  # number of the contact state "sticking"
COLOURS = {name: frame.color[:3] for name, frame in walker_mechanism.NUMBERS.items()}
GROUND = "#8a7f70"
PERIODS = 3  # number of gait periods in the gait diagram
APART = 1.05  # [m] length of path between two drawings of the walker, a little more than the length of the walker
CLIMB = ((-0.75, 4.85),)  # for each panel of the figure of the climb, the range of x [m]
ROUGH = ((-0.75, 5.35), (5.35, 11.45))


class Shown(NamedTuple):
    """Description of a figure of a walk: name of the walk, drawing function, caption, and whether it spans the page."""

    walk: str
    draw: Callable[[lw.Run], Figure]
    about: str
    wide: bool = False


def figures() -> dict[str, Shown]:
    """Return the descriptions of all figures of walks, by file name."""
    return {
        "walker_gait": Shown(
            "straight",
            gait_figure,
            "Gait: motor angles, heights of two feet, and contact of all feet. Femurs are lower where tibiae are "
            "inclined, which keeps the height of the frames constant.",
        ),
        "walker_turn": Shown(
            "turning",
            path_figure,
            "Turn by yaw, top view: the walker every 1.05 m of its path, and the footholds. Before and after the turn, "
            "a brake locks the yaw joint.",
        ),
        "walker_climb": Shown(
            "climb",
            lambda run: side_figure(run, CLIMB),
            "Climb of a 14 cm ledge: the walker every 1.05 m of its path. Before the ledge, the clutches of the back "
            "femurs are reversed during part of a swing, so that the walker leans back; after it, it becomes level.",
            wide=True,
        ),
        "walker_rough": Shown(
            "rough",
            lambda run: side_figure(run, ROUGH),
            "Rough ground, ten metres: the walker every 1.05 m of its path, and the path of its top frame.",
            wide=True,
        ),
    }


def gait_figure(run: lw.Run) -> Figure:
    """Return the gait diagram of a straight walk: motor angles, foot heights and foot contacts in the last periods."""
    figure, (angles, heights, feet) = _new(3, (4.8, 4.6), sharex=True, height_ratios=(1.2, 0.7, 1.2))
    late = run.t >= run.t[-1] - PERIODS * gaits.PERIOD
    t, q = run.t[late], run.q[late]
    for frame, colour in COLOURS.items():
        for what, style in (("femurs", "-"), ("tibiae", "--")):
            drive = run.mechanism.drives[f"{frame} {what}"]
            joints = [run.mechanism.joints[joint].q.start for joint in drive.joints]
            angles.plot(t, q[:, joints].sum(axis=1), style, color=colour, label=f"{frame} {what}")
        height = run.dynamics.pose(q, f"{frame} {walker_mechanism.LEGS[0]} foot")[:, 2, 3]
        heights.plot(t, 100.0 * height, color=colour)
    angles.set_ylabel("motors [rad]")
    angles.legend(fontsize=8, ncols=4, loc="lower center", bbox_to_anchor=(0.45, 1.0), frameon=False, columnspacing=1.0)
    heights.set_ylabel("feet [cm]")
    names = [pair.contact.name.removesuffix(" sole") for pair in run.mechanism.contact_pairs]
    for place, name in enumerate(names):
        down = run["contact.state"][late, place] > 1.0
        feet.fill_between(t, place - 0.35, place + 0.35, where=down, color=COLOURS[name.split()[0]], linewidth=0)
    feet.set_yticks(range(len(names)), names, fontsize=8)
    feet.invert_yaxis()
    feet.set_xlabel("time [s]")
    figure.align_ylabels([angles, heights])
    return figure


def path_figure(run: lw.Run) -> Figure:
    """Return the top view of a walk: path of the top frame, drawings of the walker every APART metres, and
    footholds.
    """
    figure, (axes,) = _new(1, (5.0, 5.2))
    for sample in _drawn_samples(run):
        _draw_walker(axes, run, sample, (0, 1))
    sticking = run["contact.state"] == STICKING
    for frame, colour in COLOURS.items():
        own = [k for k, pair in enumerate(run.mechanism.contact_pairs) if pair.contact.name.startswith(frame)]
        places = run["contact.anchor"][:, own][sticking[:, own]]
        axes.plot(*places[:, :2].T, ".", color=colour, markersize=3.0, label=f"footholds, {frame} frame", zorder=3)
    axes.plot(*run.q[:, :2].T, "k", linewidth=1.0, label="path of the top frame", zorder=4)
    axes.set_aspect("equal")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.legend(fontsize=8, loc="upper left", markerscale=2.5)
    return figure


def side_figure(run: lw.Run, ranges: Sequence[tuple[float, float]]) -> Figure:
    """Return the side view of a walk from the right: walker, path and ground.

    `ranges` has the range of x [m] of each panel.
    """
    length = max(end - start for start, end in ranges)
    figure, panels = _new(len(ranges), (8.0, 0.35 + len(ranges) * (0.4 + 7.2 * 0.62 / length)))
    for axes, (start, end) in zip(panels, ranges, strict=True):
        x = np.linspace(start, end, 500)
        axes.fill_between(x, [ground_height(run.mechanism, at) for at in x], -0.1, color=GROUND, linewidth=0)
        for sample in _drawn_samples(run):
            if start - APART < run.q[sample, 0] < end + APART:
                _draw_walker(axes, run, sample, (0, 2))
        axes.plot(run.q[:, 0], run.q[:, 2], "k:", linewidth=1.0)
        axes.set_aspect("equal")
        axes.set(xlim=(start, end), ylim=(-0.1, 0.56), yticks=(0.0, 0.25, 0.5), ylabel="z [m]")
    panels[-1].set_xlabel("x [m]")
    return figure


def ground_height(m: lw.Mechanism, x: float, y: float = 0.0) -> float:
    """Return the height of the ground [m] at world coordinates x, y [m]."""
    surface = m.surfaces["ground"]
    at = np.array([x, y, 0.0]) - surface.place.pose.p
    return float(surface.shape.height(*at[:2]) - at[2]) if isinstance(surface.shape, lw.HeightField) else -at[2]


def _new(down: int, size: tuple[float, float], **options: Any) -> tuple[Figure, list[Axes]]:
    """Return an empty figure of the given size [inches] with `down` axes below each other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(down, 1, squeeze=False, **options)[:, 0].tolist()
    for one in axes:
        one.grid(color="0.92", linewidth=0.8)
        one.set_axisbelow(True)
    return figure, axes


def _drawn_samples(run: lw.Run) -> list[int]:
    """Return the indices of the samples at which to draw the walker: every APART metres along the path of the top
    frame.
    """
    path = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(run.q[:, :2], axis=0), axis=1))])
    return [int(np.abs(path - distance).argmin()) for distance in np.arange(0.0, path[-1], APART)]


def _draw_walker(axes: Axes, run: lw.Run, sample: int, along: tuple[int, int]) -> None:
    """Draw the walker at the sample with the index `sample`, projected on the world axes with the indices `along`.

    `along` is (0, 1) in the top view. The nearest shape is drawn last.
    """
    poses, shapes = run.dynamics.poses(run.q[sample]), []
    for body in list(run.mechanism.bodies)[1:]:
        pose = poses[body.index - 1]
        shapes += [(solid.points @ pose[:3, :3].T + pose[:3, 3], solid.color) for solid in solids_of(body)]

    def near(shape: tuple[Array, Any]) -> float:
        """Return the mean coordinate [m] of a shape along the direction towards the viewer."""
        return float(shape[0][:, 2].mean() if along == (0, 1) else -shape[0][:, 1].mean())

    for points, color in sorted(shapes, key=near):
        pale = tuple(0.5 + 0.5 * part for part in color)
        axes.fill(*outline(points[:, list(along)]).T, facecolor=pale, edgecolor=color, linewidth=0.7, zorder=2)
