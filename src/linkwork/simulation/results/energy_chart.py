"""Chart of the energy of a run: stored energy, and heat of friction in each joint, of dampers and of other elements.

The stored energy and all heat add up to the energy at the start plus the energy that controllers, wrenches and switches
have supplied since then. The chart stacks the parts and draws this sum as a line; a gap between the stack and the line
would be an error of the energy balance.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.simulation.derived_series import run_energies
from linkwork.simulation.loop_friction import loop_sites
from linkwork.simulation.results.figure_files import checked_path, empty_figure, save_figure
from linkwork.simulation.results.report_tolerances import SMALLEST_PART
from linkwork.simulation.results.run_data import RunData
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (8.0, 4.2)  # of the figure [inches]
MOST_JOINTS = 8  # largest number of joints with a colour of their own; the other joints share a colour
STORED = {"potential energy": "#9ecae1", "kinetic energy": "#3182bd"}
OTHERS = {"work.joints": "dampers", "work.clutches": "clutches and brakes", "work.contacts": "contacts"}
GREYS = ("#636363", "#969696", "#bdbdbd")


class Part(NamedTuple):
    """One part of the energy of a run: its name, its values (T,) [J] and its colour."""

    name: str
    values: Array
    color: str


def draw_energies(run: RunData, path: str | os.PathLike[str] | None = None) -> Figure:
    """Return a figure of the parts of the energy of a run over time, and write it to the file `path` if given."""
    file = checked_path(path)
    if run.batch:
        raise LinkworkError(
            f"run.plot_energy needs a run without a batch; this one has shape {run.batch}: simulate one member alone"
        )
    if absent := [name for name in ("q", "v", "work") if name not in run.recorded]:
        raise LinkworkError(f"run.plot_energy needs q, v and work; not recorded: {', '.join(absent)}")
    parts, total = energy_parts(run)
    figure = empty_figure(*SIZE)
    axes = figure.subplots()
    ends = [float(part.values[-1]) for part in parts]
    labels = [f"{part.name}: {end:.3g} J" for part, end in zip(parts, ends, strict=True)]
    axes.stackplot(run.t, *(part.values for part in parts), colors=[part.color for part in parts], labels=labels)
    axes.plot(run.t, total, color="black", linewidth=1.2, label=f"initial plus supplied energy: {total[-1]:.3g} J")
    axes.set_title(f"{run.mechanism.name}: energy and heat", fontsize=10, loc="left")
    axes.set_xlabel("time [s]")
    axes.set_ylabel("[J]")
    axes.margins(x=0.0)
    axes.spines[["top", "right"]].set_visible(False)
    handles, names = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1], names[::-1], fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False,
        title="at the end", title_fontsize=7, alignment="left",
    )  # fmt: skip
    save_figure(figure, file)
    return figure


def energy_parts(run: RunData) -> tuple[list[Part], Array]:
    """Return the parts of the energy of a run, and a sum (T,) [J]: the energy at the start plus the energy supplied
    since then.

    Potential energy is relative to its lowest value in the run. Parts that are always very small are left out.
    """
    stored = run.once(run_energies)
    potential = np.asarray(stored.potential)
    values = [potential - np.nanmin(potential), np.asarray(stored.kinetic)]
    parts = [Part(name, x, color) for (name, color), x in zip(STORED.items(), values, strict=True)]
    parts += [*_joint_heat(run), *_other_heat(run)]
    work = run["work"] - run["work"][0]
    lost = sum((part.values for part in parts[len(STORED) :]), np.zeros(len(run.t)))
    total = values[0][0] + values[1][0] + work + lost
    least = SMALLEST_PART * float(np.nanmax(np.abs(total), initial=0.0))
    return [part for part in parts if np.nanmax(np.abs(part.values), initial=0.0) > least], total


def _joint_heat(run: RunData) -> list[Part]:
    """Return the heat of dry friction of the joints with the most heat, and the sum for all other joints."""
    if "friction.heat" not in run.recorded:
        return []
    from matplotlib import colormaps

    heat = run["friction.heat"] - run["friction.heat"][0]
    order = [k for k in np.argsort(-np.nan_to_num(heat[-1]), kind="stable") if np.nanmax(heat[:, k]) > 0.0]
    shades = colormaps["YlOrRd"](np.linspace(0.85, 0.25, max(1, min(len(order), MOST_JOINTS))))
    names = [*run.mechanism.joints.names, *(site.name for site in loop_sites(run.mechanism))]
    parts = [
        Part(f"friction of {names[k]}", heat[:, k], shade)
        for k, shade in zip(order[:MOST_JOINTS], shades, strict=False)
    ]
    if rest := order[MOST_JOINTS:]:
        parts.append(Part(f"friction of {len(rest)} other joints", heat[:, rest].sum(axis=1), "#ffffcc"))
    return parts


def _other_heat(run: RunData) -> list[Part]:
    """Return the heat of dampers, of clutches and brakes, and of contacts, as far as their work was recorded."""
    parts = []
    for (series, name), color in zip(OTHERS.items(), GREYS, strict=True):
        if series not in run.recorded:
            continue
        heat = -(run[series] - run[series][0])
        if series == "work.joints" and "friction.heat" in run.recorded:
            heat = heat - (run["friction.heat"] - run["friction.heat"][0]).sum(axis=1)
        parts.append(Part(name, heat, color))
    return parts
