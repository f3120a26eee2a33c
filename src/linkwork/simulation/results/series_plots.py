"""Plots of recorded series over time: one panel per series and unit, for many joints and many batch members."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from math import ceil
from textwrap import shorten
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkwork.simulation.derived_series import ENERGIES
from linkwork.simulation.results.figure_files import checked_path, empty_figure, save_figure
from linkwork.simulation.results.run_data import RunData
from linkwork.simulation.results.xarray_dataset import run_label
from linkwork.simulation.series import Axis
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES = 8  # largest number of coloured lines in a panel; the other lines are grey
MOST_BANDS = 4  # replaces MOST_LINES for a batch, where each line has a band
SINGLE_MEMBERS = 3  # number of single members drawn with each band
BAND = (5.0, 95.0)  # percentiles of the band
POINTS = 2000  # largest number of points per line, above the number of pixels of a figure
EXPLODED = 1e5  # ratio of largest to median value above which the axis is logarithmic
PANEL = (5.6, 2.6)  # size of a panel [inches]
LARGEST = 1e150  # larger values are clipped, because matplotlib overflows
LONGEST = 110  # largest number of characters of the failure diagnosis in the title
GREY = "0.75"


class Panel(NamedTuple):
    """One panel of a figure: title, unit, names of its lines, and their values over time."""

    title: str
    unit: str  # empty if dimensionless
    names: Sequence[str]
    lines: Array  # (lines, *batch, T)


def plot_run(run: RunData, series: Sequence[str] = (), path: str | os.PathLike[str] | None = None) -> Figure:
    """Return a figure of the named series of a run; by default coordinates, velocities, controller forces and energies.

    The figure is also written to the file `path`, if given.
    """
    file = checked_path(path)
    panels = [panel for name in series or _default_series(run) for panel in _panels(run, name)]
    across = 1 if len(panels) <= 2 else 2
    down = max(1, ceil(len(panels) / across))
    figure = empty_figure(PANEL[0] * across, PANEL[1] * down + 0.6)
    grid = figure.subplots(down, across, sharex=True, squeeze=False).T.ravel()  # panels fill the grid column by column
    for axes, panel in zip(grid, panels, strict=False):
        _draw(axes, run, panel)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    for column in grid.reshape(across, down):
        shown = [axes for axes in column if axes.get_visible()]
        if shown:
            shown[-1].set_xlabel("time [s]")
            shown[-1].tick_params(labelbottom=True)
    figure.suptitle(_title(run), fontsize=10)
    save_figure(figure, file)
    return figure


def _default_series(run: RunData) -> list[str]:
    """Return the names of the series that `plot_run` shows if the user names none."""
    names = [name for name in ("q", "v", "tau") if name in run.recorded]
    return names + (["energy"] if "energy" in run else [])


def _title(run: RunData) -> str:
    """Return the title of a figure: mechanism, method and how the run ended."""
    settings = run.settings
    step = f"rtol {settings.rtol:g}" if settings.rtol is not None else f"dt {settings.dt:g} s"
    first, _, diagnosis = run.ending.partition(": ")
    more = shorten(diagnosis, LONGEST, placeholder=" ...")
    if run.batch:
        more = f"thick: median; bands: {BAND[0]:g} to {BAND[1]:g} % of the members; thin: {SINGLE_MEMBERS} members"
    return f"{run.mechanism.name}: {settings.method}, {step}; {first}" + (f"\n{more}" if more else "")


# --- panels ---


def _panels(run: RunData, series: str) -> Iterator[Panel]:
    """Yield the panels for a series of a run, one per unit; all energies and the work share one panel."""
    if series == "energy":
        parts = [*ENERGIES, "work"] if "work" in run.recorded else [*ENERGIES]
        named = {name: run[name] for name in parts}
        shown = {name.removeprefix("energy."): x for name, x in named.items() if name == "energy" or np.any(x)}
        yield Panel("energies", "J", list(shown), np.array(list(shown.values())))
        return
    values = run[series]
    label = run_label(run, series)
    names, units = _flat_names(label.axes, label.entries), np.resize(label.units, _count(label.axes))
    lines = np.moveaxis(values.reshape(*run.batch, len(run.t), -1), -1, 0)
    constant = series.startswith("pose.")  # the last row of a pose is always 0 0 0 1
    for unit in dict.fromkeys(units.tolist()):
        own = [k for k in np.flatnonzero(units == unit) if not (constant and names[k].startswith("one."))]
        if series == "tau" and len(set(units.tolist())) > 1 and not np.nan_to_num(lines[own]).any():
            continue  # a series that is zero, such as the forces of an unactuated base, has no panel
        title = "quaternions" if series == "q" and unit == "1" else label.title
        yield Panel(title, "" if unit == "1" else unit, [names[k] for k in own], lines[own])


def _count(axes: Sequence[Axis]) -> int:
    """Return the number of entries of a series with the given axes."""
    return int(np.prod([len(axis.entries) for axis in axes], dtype=int))


def _flat_names(axes: Sequence[Axis], entries: Sequence[str]) -> list[str]:
    """Return the name of each entry of a series with several axes: the names along all axes, joined by dots."""
    names = list(entries)
    for axis in reversed(axes[:-1]):
        names = [f"{outer}.{inner}" for outer in axis.entries for inner in names]
    return names


def _draw(axes: Axes, run: RunData, panel: Panel) -> None:
    """Draw all lines of a panel into `axes`: those with the largest ranges in colour, the others in grey."""
    axes.set_title(panel.title, fontsize=10, loc="left")
    axes.set_ylabel(f"[{panel.unit}]" if panel.unit else "")
    axes.grid(color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.0)
    every = max(1, len(run.t) // POINTS)
    rows = np.append(np.arange(0, len(run.t) - 1, every), len(run.t) - 1) if len(run.t) else np.arange(0)
    t, lines = run.t[rows], np.clip(panel.lines[..., rows], -LARGEST, LARGEST)
    order, most = _by_range(lines), MOST_BANDS if run.batch else MOST_LINES
    coloured = sorted(order[:most].tolist()) if len(order) > most else list(range(len(order)))
    rest = [k for k in range(len(order)) if k not in coloured]
    for k in rest:
        x = _members(lines[k])
        axes.plot(t, np.nanmedian(x, axis=0) if run.batch else x[0], color=GREY, linewidth=0.7, zorder=1)
    for number, k in enumerate(coloured):
        _line(axes, t, lines[k], panel.names[k], f"C{number}", bool(run.batch))
    if rest:
        axes.plot([], [], color=GREY, label=f"{len(rest)} more curves with smaller ranges")
    _scale_axis(axes, lines)
    _mark_end(axes, run)
    if len(panel.names) > 1 or panel.names[0]:
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, handlelength=1.2)


def _by_range(lines: Array) -> Array:
    """Return the indices of a panel's lines, ordered by the range of their values, largest first."""
    flat = np.nan_to_num(lines.reshape(len(lines), -1), posinf=0.0, neginf=0.0)
    return np.argsort(-np.ptp(flat, axis=1), kind="stable") if flat.shape[1] else np.arange(len(lines))


def _members(line: Array) -> Array:
    """Return the values of one line for all batch members as an array (members, T)."""
    return line.reshape(-1, line.shape[-1])


def _line(axes: Axes, t: Array, line: Array, name: str, color: str, batch: bool) -> None:
    """Draw one line (*batch, T) of a panel over the times t (T,) [s]; for a batch, its median, a percentile band and a
    few members.

    `axes` are the axes of the panel, `name` is the name of the line in the legend, and `color` its colour. `batch` is
    true for a batch.
    """
    members = _members(line)
    if not batch:
        axes.plot(t, members[0], color=color, linewidth=1.3, label=name, zorder=3)
        return
    there = np.isfinite(members).any(axis=0)
    low, middle, high = np.full((3, len(t)), np.nan)
    low[there], middle[there], high[there] = np.nanpercentile(members[:, there], (BAND[0], 50.0, BAND[1]), axis=0)
    axes.fill_between(t, low, high, color=color, alpha=0.15, linewidth=0.0, zorder=2)
    for k in np.unique(np.linspace(0, len(members) - 1, SINGLE_MEMBERS).astype(int)):
        axes.plot(t, members[k], color=color, linewidth=0.6, alpha=0.6, zorder=2)
    axes.plot(t, middle, color=color, linewidth=1.8, label=f"{name}, median" if name else "median", zorder=4)


def _scale_axis(axes: Axes, lines: Array) -> None:
    """Make the axis of a panel logarithmic if a few values far exceed all others, as in a run that diverged.

    `lines` (lines, *batch, T) are the values of all lines of the panel.
    """
    size = np.abs(lines[np.isfinite(lines) & (lines != 0.0)])
    if size.size and size.max() > EXPLODED * np.median(size):
        usual, most = np.floor(np.log10([np.median(size), size.max()]))
        axes.set_yscale("symlog", linthresh=10.0**usual)
        powers = 10.0 ** np.array([np.round((usual + most) / 2.0), most])
        axes.set_yticks([*-powers[::-1], 0.0, *powers], minor=False)


def _mark_end(axes: Axes, run: RunData) -> None:
    """Mark in a panel the time at which a single run ended before its planned duration."""
    if not run.batch and run.outcome.kind != "finished":
        axes.axvline(run.outcome.time, color="firebrick", linestyle="--", linewidth=1.0)
        axes.annotate(
            run.outcome.kind, (run.outcome.time, 1.0), xycoords=("data", "axes fraction"), xytext=(-3, -3),
            textcoords="offset points", ha="right", va="top", fontsize=7, color="firebrick", rotation=90,
        )  # fmt: skip
