"""Figures 4.3 to 4.19 of Wendlandt's chapter 4, computed by linkwork, and a map of throws from which the biped
recovers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.examples import biped, biped_hit
from linkwork.papers.wendlandt_biped import Biped, BipedRun, Map, experiment, survived
from linkwork.papers.wendlandt_integrator_figures import Drawn, as_drawn
from linkwork.simulation.results.mechanism_drawing import draw
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#1f5fa8", "#c2571a", "#2a9d57", "#7a3b9e", "#b8a02c", "#5aa9c8")
SNAPSHOT = 0.2  # [s] time of Figure 4.11, at which the heels are lifted; in the paper it is 0.32 s
SIZE, TALL = (6.4, 3.8), (6.4, 4.4)  # sizes of figures [inches]


def biped_figures(found: Biped) -> Iterator[Drawn]:
    """Yield all figures in the order of Wendlandt's thesis, then the map of throws."""
    yield from _of_run(found.reach, 3, "Experiment 1")
    about = f"Experiment 2: biped and block at {SNAPSHOT:g} s with lifted heels; faint: at 0 s"
    yield as_drawn("4.11", about, _snapshot(found.hit))
    yield from _of_run(found.hit, 12, "Experiment 2")
    about = "Throws of the 1.8 kg block from which the biped recovers (blue), by speed and lateral position"
    yield as_drawn("", about, _map(found.survived))._replace(wide=True)


def _of_run(one: BipedRun, first: int, name: str) -> Iterator[Drawn]:
    """Yield the figures of a biped run: joint angles, joint torques, trunk pose and errors, desired trunk wrench.

    `one` is the run, `first` the number of its first figure, and `name` its name in captions.
    """
    run, t = one.run, one.run.t
    angles = [np.degrees(run.q[:, run.mechanism.joints[joint].q.start]) for joint in _joints()]
    torques = [run["tau"][:, run.mechanism.joints[joint].v.start] for joint in _joints()]
    position, quaternion = 100.0 * run.q[:, :3].T, run.q[:, 3:7].T
    force, torque = one.wrench[:, :3].T, one.wrench[:, 3:].T
    made = (
        _legs(f"{name}: joint angles", t, angles, "[degrees]"),
        _legs(f"{name}: joint torques", t, torques, "[N m]"),
        _lines(f"{name}: position of the trunk", t, position, "xyz", "[cm]", stacked=True),
        _lines(f"{name}: quaternion of the trunk", t, quaternion, "sxyz", "quaternion", stacked=False),
        _lines(f"{name}: position error", t, 100.0 * one.error[:, :3].T, "xyz", "error [cm]", stacked=False),
        _lines(
            f"{name}: quaternion of the orientation error", t, one.error[:, 3:].T, "sxyz", "quaternion", stacked=False
        ),
        _lines(f"{name}: desired force on the trunk, in trunk axes", t, force, "xyz", "force [N]", stacked=False),
        _lines(f"{name}: desired torque on the trunk, in trunk axes", t, torque, "xyz", "torque [N m]", stacked=False),
    )
    for k, (about, figure) in enumerate(made):
        yield as_drawn(f"4.{first + k}", about, figure)


def _joints() -> list[str]:
    """Return the names of the twelve leg joints."""
    return [f"{side} {joint}" for side in biped.SIDES for joint in biped.JOINTS]


def _figure(size: tuple[float, float], down: int, across: int = 1) -> tuple[Figure, Any]:
    """Return an empty figure of the given size [inches] and its grid of axes (down, across)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(down, across, sharex=True, squeeze=False)
    for axes in grid.flat:
        axes.grid(color="0.92", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.margins(x=0.01)
    for axes in grid[-1]:
        axes.set_xlabel("time [s]")
    return figure, grid


def _legs(about: str, t: Array, lines: Sequence[Array], unit: str) -> tuple[str, Figure]:
    """Return the caption `about` and a figure with the curves of the left leg above those of the right leg.

    `lines` has one curve (T,) over the times t (T,) [s] for each of the twelve joints; `unit` is the label of the
    vertical axes.
    """
    figure, grid = _figure(TALL, 2)
    for k, axes in enumerate(grid[:, 0]):
        numbers = range(6 * k, 6 * k + 6)
        for number, colour in zip(numbers, COLOURS, strict=True):
            label = f"{number + 2} {biped.JOINTS[number % 6]}"
            axes.plot(t, lines[number], color=colour, linewidth=1.1, label=label)
        axes.set_ylabel(f"{list(biped.SIDES)[k]} {unit}")
        axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return about, figure


def _lines(about: str, t: Array, lines: Array, names: str, unit: str, stacked: bool) -> tuple[str, Figure]:
    """Return the caption `about` and a figure of the curves `lines` (k, T) over the times t (T,) [s].

    The curves are in k panels below each other if `stacked` is true, else in one panel. `names` has one letter for each
    curve, and `unit` is the label of the vertical axis.
    """
    figure, grid = _figure(SIZE, len(lines) if stacked else 1)
    for k, (line, name) in enumerate(zip(lines, names, strict=True)):
        axes = grid[k if stacked else 0, 0]
        axes.plot(t, line, color=COLOURS[k], linewidth=1.2, label=name)
        axes.set_ylabel(f"{name} {unit}" if stacked else unit)
    if not stacked:
        grid[0, 0].legend(fontsize=8)
    return about, figure


def _snapshot(one: BipedRun) -> Figure:
    """Return a drawing of the biped while it stands on its toes, and faintly at 0 s."""
    sample = int(np.argmin(np.abs(one.run.t - SNAPSHOT)))
    return draw(one.run.mechanism, one.run.q[[0, sample]])


def _map(found: Map) -> Figure:
    """Return the map of throws by speed and lateral position; throws from which the biped recovers are blue."""
    figure, grid = _figure((12.8, 3.8), 1, 2)
    titles = ("the paper's controller", "friction cones, stance detected from contacts")
    x, y = _edges(found.speeds), 100.0 * _edges(found.places)
    for axes, recovered, title in zip(grid[0], (found.printed, found.in_cones), titles, strict=True):
        axes.pcolormesh(x, y, recovered.T, cmap=_two_colours(), vmin=0, vmax=1)
        printed = -biped_hit.SPEED[0], 100.0 * biped_hit.PLACE[1]
        axes.plot(*printed, "o", color="black", fillstyle="none", label="the paper's block")
        axes.set_title(f"{title}: recovery in {int(recovered.sum())} of {recovered.size}", fontsize=9, loc="left")
        axes.set_xlabel("speed of the block [m/s]")
        axes.set_ylabel("y of the block [cm]")
        axes.legend(fontsize=8, loc="lower left")
    return figure


def _edges(middles: Array) -> Array:
    """Return the borders (n + 1,) of adjacent map cells along one axis, whose centres are at `middles` (n,)."""
    inner = middles[1:] - 0.5 * np.diff(middles)
    return np.r_[2.0 * middles[0] - inner[0], inner, 2.0 * middles[-1] - inner[-1]]


def _two_colours() -> Any:
    """Return a colour map of two colours, for throws without and with recovery."""
    from matplotlib.colors import ListedColormap

    return ListedColormap(["#f3e4d8", "#8db7dd"])


def main(folder: Path) -> None:
    """Write two drawings of docs/control.md to a folder: the biped, and the map of throws."""
    for name, figure in (("biped_hit", _snapshot(experiment(biped_hit))), ("biped_speeds", _map(survived()))):
        figure.savefig(folder / f"{name}.png", dpi=90)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures"))
