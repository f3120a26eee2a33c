"""Figures 2.2 to 2.12 of Wendlandt's chapter 2, computed by linkwork, with the values printed in the paper."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkwork.papers.wendlandt_integrators import STEPS, Experiment, Measured, Trace
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 3000  # approximate number of points per line, more than a figure has pixels
COLOURS = {"DVP": "#1f5fa8", "EM": "#c2571a"}
SIZE = (6.4, 3.8)  # size of a figure [inches]


class Drawn(NamedTuple):
    """A drawn figure: its number in the paper (or empty), its caption, the SVG, and whether it spans the page."""

    number: str
    about: str
    svg: bytes
    wide: bool = False

    @property
    def called(self) -> str:
        """The beginning of a figure's caption: "Figure" and its number, or "Not in the paper"."""
        return f"Figure {self.number}" if self.number else "Not in the paper"


def figures(body: Experiment, pendulum: Experiment) -> Iterator[Drawn]:
    """Yield all figures of chapter 2 in the order of Wendlandt's thesis."""
    yield _against_step("2.2", "Rigid body: run time against step size", body, "seconds", "time [s]")
    yield _against_step("2.3", "Rigid body: quaternion error against step size", body, "position", "error")
    yield _coordinate("2.4", "Rigid body: q_y against time, h = 0.0001 s and 0.1 s", body, 2, "q_y", ("DVP",))
    yield _against_step("2.5", "Rigid body: energy error against step size", body, "energy", "error [J]")
    momentum = "momentum error against step size"
    yield _against_step("2.6", f"Rigid body: {momentum}", body, "momentum", "error [kg m²/s]")
    yield _against_step("2.7", "Pendulum: run time against step size", pendulum, "seconds", "time [s]")
    yield _against_step("2.8", "Pendulum: position error against step size", pendulum, "position", "error [m]")
    about = "Pendulum: y of the second mass against time, h = 0.0001 s and 0.1 s"
    yield _coordinate("2.9", about, pendulum, 4, "y of the second mass [m]", ("DVP", "EM"))
    yield _against_step("2.10", "Pendulum: energy error against step size", pendulum, "energy", "error [J]")
    yield _against_step("2.11", f"Pendulum: {momentum}", pendulum, "momentum", "error [kg m²/s]")
    yield _energies(pendulum)


def _new(down: int = 1) -> tuple[Figure, list[Axes]]:
    """Return an empty figure with `down` axes below each other."""
    from matplotlib.figure import Figure

    size = SIZE if down == 1 else (2.0 * SIZE[0], 0.72 * down * SIZE[1])
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(down, 1, squeeze=False)[:, 0])
    for one in axes:
        one.grid(color="0.92", linewidth=0.8)
        one.set_axisbelow(True)
    return figure, axes


def as_drawn(number: str, about: str, figure: Figure) -> Drawn:
    """Return a matplotlib figure as SVG, with its number `number` in Wendlandt's thesis and its caption `about`."""
    stream = io.BytesIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    return Drawn(number, about, stream.getvalue())


def _against_step(number: str, about: str, experiment: Experiment, column: str, unit: str) -> Drawn:
    """Return a figure of one column of the tables of linkwork and of Wendlandt's thesis, over the step size.

    `column` is the name of the column in `Measured`, and `unit` the label of the vertical axis. Columns of errors get a
    reference line of second order. `number` and `about` are number and caption of the figure.
    """
    figure, (axes,) = _new()
    place = Measured._fields.index(column)
    for method in dict.fromkeys(name for name, _ in experiment.measured):
        for whose, lines in (("linkwork", experiment.measured), ("paper", experiment.printed)):
            values = np.array([lines[method, h][place] for h in STEPS])
            shown = values > (
                0.0 if column == "seconds" else 1e-9
            )  # the zero error of the reference and round-off are not drawn
            style = {"marker": "o", "markersize": 9, "fillstyle": "none", "linestyle": "none"}
            style = style if whose == "paper" else {"marker": "x", "markersize": 6, "linewidth": 1.2}
            if shown.any():
                label = f"{method}, {whose}"
                axes.loglog(np.array(STEPS)[shown], values[shown], color=COLOURS[method], label=label, **style)
    if column != "seconds":
        last = experiment.printed["DVP", STEPS[-1]][place]
        steps = np.array(STEPS)
        axes.loglog(steps, 0.3 * last * (steps / steps[-1]) ** 2, "0.6", linestyle=":", label="second order")
    axes.set_xlabel("h [s]")
    axes.set_ylabel(unit)
    axes.legend(fontsize=8)
    return as_drawn(number, about, figure)


def _thinned(t: Array, values: Array) -> tuple[Array, Array]:
    """Return times and values of evenly spaced samples, about POINTS of them."""
    stride = max(1, len(t) // POINTS)
    return t[::stride], values[::stride]


def _coordinate(
    number: str, about: str, experiment: Experiment, place: int, label: str, methods: tuple[str, ...]
) -> Drawn:
    """Return a figure of one coordinate over time for several methods.

    `place` is the index of the coordinate, `label` the label of the vertical axis. `number` and `about` are number and
    caption of the figure.
    """
    figure, (axes,) = _new()
    for method in methods:
        for h, style in ((STEPS[0], "-"), (STEPS[-1], "--")):
            trace = experiment.traces[method, h]
            line = _thinned(trace.t, trace.x[:, place])
            axes.plot(*line, style, color=COLOURS[method], linewidth=1.0, label=f"{method}, h = {h:g} s")
    axes.set_xlabel("time [s]")
    axes.set_ylabel(label)
    axes.set_ylim(top=axes.get_ylim()[1] + 0.25 * np.ptp(axes.get_ylim()))
    axes.legend(fontsize=8, ncols=2, loc="upper right")
    return as_drawn(number, about, figure)


def _energies(experiment: Experiment) -> Drawn:
    """Return a figure of the energies of two DVP runs over time, with the multipliers in a panel between them.

    The run in the upper panel has small steps, that in the lower panel large steps. The energies oscillate with the
    multipliers.
    """
    figure, (upper, middle, lower) = _new(3)
    for axes, steps in ((upper, (1e-3, 1e-4)), (lower, (1e-1, 1e-2))):
        for h, colour in zip(steps, ("#1f5fa8", "#2a9d57"), strict=True):
            trace: Trace = experiment.traces["DVP", h]
            axes.plot(*_thinned(trace.t[1:] - 0.5 * h, trace.energy), color=colour, linewidth=0.9, label=f"h = {h:g} s")
        axes.set_ylabel("energy [J]")
    upper.ticklabel_format(useOffset=False)
    trace = experiment.traces["DVP", 1e-3]
    for k, colour in enumerate(("#7a3b9e", "#c2571a")):
        line = _thinned(trace.t[1:] - 0.5e-3, trace.multipliers[1:, k])
        middle.plot(*line, color=colour, linewidth=0.9, label=f"λ{k + 1}, h = 0.001 s")
    middle.set_ylabel("multipliers [N/m]")
    lower.set_xlabel("time [s]")
    for axes in (upper, middle, lower):  # the legend is outside, because the lines fill the axes
        axes.margins(x=0.01)
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return as_drawn("2.12", "Pendulum: energy and multipliers of DVP against time", figure)._replace(wide=True)
