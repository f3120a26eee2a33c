"""The box of Wendlandt's section 5.3, thrown on a rubber floor: checks of statements, and Figures 5.3 to 5.6."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.examples import box_drop
from linkwork.papers.wendlandt_integrator_figures import Drawn, as_drawn
from linkwork.papers.wendlandt_integrators import timed
from linkwork.simulation.results.run import Run
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DURATION, STEP = 1.5, 1e-3  # simulated time, integration step [s]
STILL = 0.1  # [m/s, rad/s] speeds below which the box has settled
FLAT = 1e-9  # [m, m/s] largest variation that counts as constant
STATES = {1: "no contact", 2: "sliding", 3: "to sticking", 4: "sticking", 5: "to sliding", 6: "no normal force"}
COLOURS = ("#1f5fa8", "#c2571a", "#2a9d57", "#7a3b9e")

ABOUT = """<h2>Box on a floor (section 5.3)</h2><p>A box of 70 kg is thrown at 5 m/s on a rubber floor. Each of its
eight vertices has a contact of section 5.2. Method "variational", h = 0.001 s. The paper prints neither friction
coefficients nor inertia. Friction coefficients from 0.36 to 0.44 reproduce its text and figures; {friction:g} is used
here. The box is uniform. The table compares the statements in the paper's text with linkwork.</p>
"""


class Box(NamedTuple):
    """The simulated run of the box, and the computing time `seconds` [s]."""

    run: Run
    seconds: float


class Statement(NamedTuple):
    """A statement of the paper, the result of linkwork, and whether the result passes the check of the statement."""

    paper: str
    ours: str
    agrees: bool


def box_experiment() -> Box:
    """Return the simulated run of the box with the printed data, and the computing time."""
    series = ("q", "v", "contact.state", "iterations")
    m = box_drop.build()
    return Box(*timed(lambda: lw.simulate(m, duration=DURATION, dt=STEP, method="variational", record=series).check()))


def statements(box: Box) -> list[Statement]:
    """Return the statements of Wendlandt's section 5.3, each with linkwork's result from the run `box`."""
    run, t = box.run, box.run.t
    x, y, z = run.q[:, :3].T
    states, iterations = run["contact.state"], run["iterations"]
    first = _first(states[:, 0] > 1.0)
    flying, lands, settled = t < t[first], t[first], t[_first(_from_then_on(np.abs(run.v).max(axis=1) < STILL))]
    variation = np.ptp(np.diff(x[flying])) / STEP
    drop = float((np.maximum.accumulate(y) - y).max())
    weight = box_drop.MASS * box_drop.GRAVITY
    depth, expected_depth = 0.5 * box_drop.SIZE[2] - z[-1], weight / (4.0 * box_drop.STIFFNESS)
    quaternion = run.q[-1, 3:]
    sliding = (t >= lands) & (t < t[first + _first(states[first:, 0] != 2.0)])
    return [
        Statement(
            "the first vertex hits the ground at 0.102 s",
            f"vertex 1 at {lands:.3f} s",
            bool(abs(lands - 0.102) < 0.5 * STEP and (states[first, 1:] == 1.0).all()),
        ),
        Statement("the velocity in X is constant until then", f"within {variation:.0e} m/s", variation < FLAT),
        Statement("the box is at rest at approximately 1.3 s", f"at {settled:.3f} s", abs(settled - 1.3) < 0.05),
        Statement(
            "Y is constant until the collision, then increases until the box is at rest",
            f"constant within {np.abs(y[flying]).max():.0e} m; then up to {y[-1]:.4f} m, drops by {1e3 * drop:.1f} mm",
            bool(np.abs(y[flying]).max() < FLAT and y[-1] > 0.01 and drop < 2e-3),
        ),
        Statement(
            "the box penetrates the floor in equilibrium",
            f"{1e3 * depth:.3f} mm; weight and stiffness give {1e3 * expected_depth:.3f} mm",
            abs(depth - expected_depth) < 1e-6,
        ),
        Statement(
            "the box flips upside down about Y, with a slight rotation about X",
            f"quaternion ({', '.join(f'{one:.3f}' for one in np.round(quaternion, 3) + 0.0)})",
            bool(abs(quaternion[2]) > 0.99 and 0.01 < abs(quaternion[1]) < 0.15),
        ),
        *_vertex_statements([_sequence(states[:, k]) for k in range(8)]),
        Statement(
            "at most 5 Newton iterations, when vertex 1 first slides; 1 at rest (tolerance not given)",
            f"at most {iterations.max():.0f}; {iterations[sliding].max():.0f} when vertex 1 first slides; "
            f"{iterations[-1]:.0f} at rest (tolerance: round-off)",
            bool(iterations.max() <= 5),
        ),
        Statement("411 s of CPU time for 1.5 s (Matlab, 200 MHz)", f"{box.seconds:.3f} s", box.seconds < 411.0),
    ]


def _vertex_statements(sequences: list[str]) -> list[Statement]:
    """Return Wendlandt's statements about the contact states of the eight vertices, with linkwork's results.

    `sequences` are linkwork's sequences of contact states as text, one for each vertex.
    """
    return [
        Statement(
            "vertex 1 slides, loses its normal force before it leaves the floor, and ends without contact",
            f"states {sequences[0]}",
            sequences[0].startswith("1 2 6") and sequences[0].endswith("1"),
        ),
        Statement(
            "vertex 2 slides and ends without contact",
            f"states {sequences[1]}",
            sequences[1].startswith("1 2") and sequences[1].endswith("1"),
        ),
        Statement(
            "vertices 3 and 4 are never in contact",
            f"states {sequences[2]} and {sequences[3]}",
            sequences[2] == sequences[3] == "1",
        ),
        Statement(
            "vertices 5 to 8 slide, then stick, and end sticking",
            "states " + "; ".join(sequences[4:]),
            all("2" in one and "3" in one and one.endswith("4") for one in sequences[4:]),
        ),
    ]


def _first(conditions: Array) -> int:
    """Return the first index at which the boolean array `conditions` is True."""
    return int(np.argmax(conditions))


def _from_then_on(conditions: Array) -> Array:
    """Return a boolean array (T,): True for each sample at which, and after which, `conditions` (T,) is always True."""
    return np.logical_and.accumulate(conditions[::-1])[::-1]


def _sequence(states: Array) -> str:
    """Return the sequence of different contact states in `states` (T,) as text, such as "1 2 1"."""
    changes = np.flatnonzero(np.diff(states)) + 1
    return " ".join(f"{state:.0f}" for state in states[[0, *changes]])


def as_page(found: list[Statement]) -> str:
    """Return the HTML section on the box, with a table of the statements `found`."""
    return ABOUT.format(friction=box_drop.FRICTION) + statement_table(found)


def statement_table(found: list[Statement]) -> str:
    """Return the statements of Wendlandt's thesis and linkwork's results as an HTML table."""
    text = '<div class="table"><table class="said"><tr><th>paper</th><th>linkwork</th></tr>'
    for one in found:
        kind = "" if one.agrees else ' class="far"'
        text += f'<tr><td class="paper">{html.escape(one.paper)}</td><td{kind}>{html.escape(one.ours)}</td></tr>'
    return text + "</table></div>"


def box_figures(box: Box) -> Iterator[Drawn]:
    """Yield Figures 5.3 to 5.6 of Wendlandt's thesis, computed by linkwork."""
    run = box.run
    figure, grid = _grid((6.4, 3.8), 3, 1)
    for axes, line, name, colour in zip(grid.flat, run.q[:, :3].T, "xyz", COLOURS, strict=False):
        axes.plot(run.t, line, color=colour, linewidth=1.2)
        axes.set_ylabel(f"{name} [m]")
    yield as_drawn("5.3", "Box: centre of mass against time", figure)
    figure, grid = _grid((6.4, 3.8), 1, 1)
    for line, name, colour in zip(run.q[:, 3:].T, "sxyz", COLOURS, strict=True):
        grid[0, 0].plot(run.t, line, color=colour, linewidth=1.2, label=name)
    grid[0, 0].set_ylabel("quaternion")
    grid[0, 0].legend(fontsize=8)
    yield as_drawn("5.4", "Box: quaternion against time", figure)
    figure, grid = _grid((12.8, 5.2), 4, 2)
    for k, axes in enumerate(grid.T.flat):
        axes.step(run.t, run["contact.state"][:, k], where="post", color=COLOURS[0], linewidth=1.0)
        axes.set_yticks(list(STATES), [f"{name} {number}" for number, name in STATES.items()], fontsize=6.5)
        axes.set_ylim(0.5, 6.5)
        axes.set_title(f"vertex {k + 1}", fontsize=9, loc="left")
    yield as_drawn("5.5", "Box: contact states of its vertices against time", figure)._replace(wide=True)
    figure, grid = _grid((12.8, 2.6), 1, 1)
    grid[0, 0].plot(run.t[1:], run["iterations"][1:], ".", markersize=3.0, color=COLOURS[0])
    grid[0, 0].set_ylim(0, 6)
    grid[0, 0].set_ylabel("iterations")
    yield as_drawn("5.6", "Box: Newton iterations per step against time", figure)._replace(wide=True)


def _grid(size: tuple[float, float], down: int, across: int) -> tuple[Figure, Any]:
    """Return a figure of the given size [inches] and its grid of axes (down, across) with a common time axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(down, across, sharex=True, sharey=across > 1, squeeze=False)
    for axes in grid.flat:
        axes.grid(color="0.92", linewidth=0.8)
        axes.set_axisbelow(True)
    for axes in grid[-1]:
        axes.set_xlabel("time [s]")
    return figure, grid
