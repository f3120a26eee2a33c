"""The box of Wendlandt's section 5.3, thrown on a rubber floor: what the paper says of it, and Figures 5.3 to 5.6."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.examples import box_drop
from linkwork.papers.wendlandt import timed
from linkwork.papers.wendlandt_figures import Drawn, as_drawn
from linkwork.simulation.results.run import Run
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DURATION, STEP = 1.5, 1e-3  # [s]
STILL = 0.1  # [m/s, rad/s] below which the box has settled
FLAT = 1e-9  # of what the paper calls constant
STATES = {1: "apart", 2: "sliding", 3: "slid, sticks", 4: "sticking", 5: "stuck, slides", 6: "pulled"}
COLOURS = ("#1f5fa8", "#c2571a", "#2a9d57", "#7a3b9e")

ABOUT = """<h2>The box on a floor (5.3)</h2><p>A box of 70 kg, thrown at 5 m/s on a rubber floor, with a contact of
section 5.2 at each of its eight corners; method "variational", h = 0.001 s. The paper prints neither the friction nor
the inertia: friction is {friction:g} here, which is in the middle of what its words and figures fit (0.36 to 0.44), and
the box is uniform. It gives no numbers but those in its text, which are beside ours here.</p>
"""


class Box(NamedTuple):
    """The run of the box, and how long it took [s]."""

    run: Run
    seconds: float


class Statement(NamedTuple):
    """What the paper says, what is found here, and whether that agrees."""

    paper: str
    ours: str
    agrees: bool


def box_experiment() -> Box:
    """The box as printed, and its time."""
    series = ("q", "v", "contact.state", "iterations")
    m = box_drop.build()
    return Box(*timed(lambda: lw.simulate(m, duration=DURATION, dt=STEP, method="variational", record=series).check()))


def statements(box: Box) -> list[Statement]:
    """Section 5.3, sentence by sentence."""
    run, t = box.run, box.run.t
    x, y, z = run.q[:, :3].T
    states, rounds = run["contact.state"], run["iterations"]
    first = _first(states[:, 0] > 1.0)
    flies, lands, settled = t < t[first], t[first], t[_first(_ever_after(np.abs(run.v).max(axis=1) < STILL))]
    speed = np.ptp(np.diff(x[flies])) / STEP
    falls = float((np.maximum.accumulate(y) - y).max())
    weight = box_drop.MASS * box_drop.GRAVITY
    depth, bears = 0.5 * box_drop.SIZE[2] - z[-1], weight / (4.0 * box_drop.STIFFNESS)
    turn = run.q[-1, 3:]
    walks = [_walk(states[:, k]) for k in range(8)]
    slides = (t >= lands) & (t < t[first + _first(states[first:, 0] != 2.0)])
    return [
        Statement(
            "the first vertex strikes the ground at 0.102 s",
            f"corner 1, at {lands:.3f} s",
            bool(abs(lands - 0.102) < 0.5 * STEP and (states[first, 1:] == 1.0).all()),
        ),
        Statement("the velocity in X is constant until then", f"within {speed:.0e} m/s", speed < FLAT),
        Statement("it settles to rest at approximately 1.3 s", f"{settled:.3f} s", abs(settled - 1.3) < 0.05),
        Statement(
            "Y stays constant until the collision and increases until it settles",
            f"within {np.abs(y[flies]).max():.0e} m; then to {y[-1]:.4f} m, falling by {1e3 * falls:.1f} mm on the way",
            bool(np.abs(y[flies]).max() < FLAT and y[-1] > 0.01 and falls < 2e-3),
        ),
        Statement(
            "there is a penetration as the equilibrium is reached",
            f"{1e3 * depth:.3f} mm, {1e3 * bears:.3f} mm by weight and stiffness",
            abs(depth - bears) < 1e-6,
        ),
        Statement(
            "the top of the box flips to the bottom about Y, with a slight rotation about X",
            f"quaternion ({', '.join(f'{one:.3f}' for one in np.round(turn, 3) + 0.0)})",
            bool(abs(turn[2]) > 0.99 and 0.01 < abs(turn[1]) < 0.15),
        ),
        Statement(
            "vertex 1 slides, has no normal force before it leaves, and ends without contact",
            f"states {walks[0]}",
            walks[0].startswith("1 2 6") and walks[0].endswith("1"),
        ),
        Statement(
            "vertex 2 slides and ends without contact",
            f"states {walks[1]}",
            walks[1].startswith("1 2") and walks[1].endswith("1"),
        ),
        Statement("vertices 3 and 4 never touch", f"states {walks[2]} and {walks[3]}", walks[2] == walks[3] == "1"),
        Statement(
            "vertices 5 to 8 slide, come to stick, and end sticking",
            "; ".join(walks[4:]),
            all("2" in walk and "3" in walk and walk.endswith("4") for walk in walks[4:]),
        ),
        Statement(
            "at most 5 rounds of Newton's method, in the first sliding of vertex 1; 1 at rest, to an unknown tolerance",
            f"{rounds.max():.0f}; {rounds[slides].max():.0f} in that sliding; {rounds[-1]:.0f} at rest, to round-off",
            bool(rounds.max() <= 5),
        ),
        Statement("411 s for 1.5 s (Matlab, 200 MHz)", f"{box.seconds:.3f} s", box.seconds < 411.0),
    ]


def _first(conditions: Array) -> int:
    """The first row where it is so."""
    return int(np.argmax(conditions))


def _ever_after(conditions: Array) -> Array:
    return np.logical_and.accumulate(conditions[::-1])[::-1]


def _walk(states: Array) -> str:
    """The states of a contact, one after the other."""
    changes = np.flatnonzero(np.diff(states)) + 1
    return " ".join(f"{state:.0f}" for state in states[[0, *changes]])


def as_page(found: list[Statement]) -> str:
    """What the page says of the box."""
    return ABOUT.format(friction=box_drop.FRICTION) + said_table(found)


def said_table(found: list[Statement]) -> str:
    """Statements as a table of a page."""
    text = '<div class="table"><table class="said"><tr><th>the paper</th><th>linkwork</th></tr>'
    for one in found:
        kind = "" if one.agrees else ' class="far"'
        text += f'<tr><td class="paper">{html.escape(one.paper)}</td><td{kind}>{html.escape(one.ours)}</td></tr>'
    return text + "</table></div>"


def box_figures(box: Box) -> Iterator[Drawn]:
    """Figures 5.3 to 5.6."""
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
        axes.set_title(f"corner {k + 1}", fontsize=9, loc="left")
    yield as_drawn("5.5", "Box: states of the contacts at its corners against time", figure)._replace(wide=True)
    figure, grid = _grid((12.8, 2.6), 1, 1)
    grid[0, 0].plot(run.t[1:], run["iterations"][1:], ".", markersize=3.0, color=COLOURS[0])
    grid[0, 0].set_ylim(0, 6)
    grid[0, 0].set_ylabel("iterations")
    yield as_drawn("5.6", "Box: rounds of Newton's method against time", figure)._replace(wide=True)


def _grid(size: tuple[float, float], down: int, across: int) -> tuple[Figure, Any]:
    """A figure of that size [inches] with axes (down, across) over the same time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(down, across, sharex=True, sharey=across > 1, squeeze=False)
    for axes in grid.flat:
        axes.grid(color="0.92", linewidth=0.8)
        axes.set_axisbelow(True)
    for axes in grid[-1]:
        axes.set_xlabel("time [s]")
    return figure, grid
