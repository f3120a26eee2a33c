"""`linkwork paper nelson-quinn`: compares matrices of the K2T Walker with the printed matrices, and simulates walks."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

import linkwork as lw
from linkwork.examples import walker
from linkwork.papers.html_pages import NO_FIGURES, figure, write_page
from linkwork.papers.nelson_quinn_figures import figures
from linkwork.papers.nelson_quinn_simulations import COURSES, GAIT_COLUMNS, WALK_COLUMNS, Walked, walked
from linkwork.papers.output_folder import FAILED, PASSED
from linkwork.spatial.scalar import Array

AGREES = 1e-10  # relative difference of accelerations that counts as round-off
STATES = 20  # number of random states at which formulations are compared
# motor angles [rad] in the drawing: yaw, bottom femurs, bottom tibiae, top femurs, top tibiae
TURNED = (0.3, 0.0, 0.0, -0.6, 0.4)
SHOWN = (
    "The walker in its initial position (faint) and with these motor angles: yaw 0.3 rad, femurs of the top frame "
    "-0.6 rad (feet lifted), tibiae of the top frame 0.4 rad."
)
EQUATIONS = {"D bottom": "(42), (43)", "D top": "(42), (43)", "D1": "(44) to (46)", "D2": "(47)", "D3": "(48), (49)"}
MEANINGS = {
    "D bottom": "angular velocities of top frame, bottom frame, femur and tibia, from the top frame and three joints",
    "D top": "angular velocities of top frame, femur and tibia, from the top frame and two joints",
    "D1": "velocities of eight limbs with separate bases, from those of eight limbs on one base",
    "D2": "velocities of eight limbs on one base, from base, yaw joint, and hip and tibia of each leg",
    "D3": "velocities of base, yaw joint, and hip and tibia of each leg, from base and five motors",
}

ABOUT = """<h1>Nelson and Quinn: the K<sup>2</sup>T Walker</h1>
<p>G. Nelson and R. Quinn, <i>A quasicoordinate formulation for dynamic simulation of complex multibody systems with
constraints</i>, Case Western Reserve University. linkwork {version} computes the matrices (42) to (49) from the tree
of its example <code>walker</code>. The paper gives no masses and lengths; the example has chosen values. The base
coordinates are angular velocities here and rates of Euler angles in the paper.</p>
"""
WALKING = """<h2>Walking</h2><p>The paper shows no simulation results; ground, gaits and motors are chosen. The motors
are position servos whose set points are functions of time. The motors drive the front left leg of each frame; twelve
clutches couple the other legs to the front left legs. Tibia angles are measured from the frame by (29). While the
legs of one frame are in stance and stroke backward, those of the other frame swing forward. Tilt is that of the top
frame.</p>
"""
WALKED = """<p>The values of the next table are measured after strides have reached their full length. Foot slip is
the largest horizontal distance of a foot from its touch-down point during one stance phase. Motor power is the mean
mechanical power of all motors; braking motors count as zero. Cost of transport is motor power divided by weight and
speed. During a turn, the strokes of the two frames are not parallel, so feet slip; on rough ground, feet land on
slopes.</p>
"""
SWITCHES = "switches during the walks (all clutches are engaged at 0 s)"
EVENT_COLUMNS = ("walk", "time", "event", "energy [J]", "impulse [N m s]", "constraint torque [N m]")


class Matrix(NamedTuple):
    """A matrix of Nelson and Quinn's paper with its name, as computed by linkwork (`found`) and as printed."""

    name: str
    found: Array
    printed: Array

    @property
    def agrees(self) -> bool:
        """Whether the computed and the printed matrix are identical."""
        return np.array_equal(self.found, self.printed)

    @property
    def size(self) -> str:
        """The numbers of rows and columns of the matrix, as text."""
        return "{} x {}".format(*self.found.shape)

    def text(self) -> str:
        """Return the matrix as text, with dots in place of zeros."""
        return "\n".join(" ".join(f"{x:2g}" if x else " ." for x in row) for row in self.found)


def nelson_quinn(console: Console, out: Path, drawn: bool) -> int:
    """Reproduce Nelson and Quinn's paper; return PASSED, or FAILED if a matrix, acceleration or walk fails its check.

    `out` is the folder for results; figures are drawn if `drawn` is true.
    """
    m = lw.example("walker")
    system, printed = walker.limbs(m), walker.printed()
    matrices = [Matrix(name, found, printed[name]) for name, found in walker.matrices(system).items()]
    counts = [sum(D.shape[1] for D in system.D0), *(D.shape[1] for D in (system.D1, system.D2, system.D3))]
    reduction = "Coordinates: " + " -> ".join(map(str, counts)) + "."
    whole, coupled = walker.differences(m, STATES)
    agreement = (
        f"Largest relative difference of accelerations at {STATES} random states: {whole:.1e} from articulated bodies "
        f"({m.nv} coordinates), {coupled:.1e} from the projected mass matrix ({counts[-1]} coordinates)."
    )
    for matrix in matrices:
        console.print(f"{matrix.name}: {MEANINGS[matrix.name]}", Text(matrix.text() + "\n", no_wrap=True), sep="\n")
    console.print(_matrix_table(matrices), reduction, agreement, sep="\n")
    console.print("Simulating the walks; this takes a while ...")
    walks = {name: walked(name) for name in COURSES}
    console.print(_table("walks", WALK_COLUMNS, [walk.summary() for walk in walks.values()]))
    console.print(_table("gaits", GAIT_COLUMNS, [walk.gait() for walk in walks.values()]))
    console.print(_table(SWITCHES, EVENT_COLUMNS, _events(walks)))
    file = out / "nelson-quinn.html"
    body = _body(matrices, f"{reduction} {agreement}") + _drawing(m, drawn) + _walks(walks, drawn)
    write_page(file, "Nelson and Quinn: the K2T Walker", body)
    failed = [f"matrix {matrix.name}" for matrix in matrices if not matrix.agrees]
    failed += [f"walk {name!r}" for name, walk in walks.items() if not walk.arrived]
    failed += [
        f"accelerations {which} motors"
        for which, difference in (("without", whole), ("with", coupled))
        if difference > AGREES
    ]
    verdict = "all matrices equal the printed ones, and all walks reached their goal"
    if failed:
        verdict = f"checks failed: {', '.join(failed)}"
    console.print(Text(f"{verdict}; page written to {file}", "bold red" if failed else ""), soft_wrap=True)
    return FAILED if failed else PASSED


def _drawing(m: lw.Mechanism, drawn: bool) -> str:
    """Return the HTML of a drawing of the walker `m`: faint in its start position, and opaque with the motor angles
    TURNED.

    If `drawn` is false, the result is a note that there are no figures.
    """
    if not drawn:
        return NO_FIGURES
    start, stream = m.keyframes["start"].q, io.BytesIO()
    q = m.integrate(start, walker.limbs(m).velocity_map @ np.array([0.0] * 6 + [*TURNED]))
    lw.draw(m, np.stack([start, q])).savefig(stream, format="svg", metadata={"Date": None})
    return figure(stream.getvalue(), SHOWN)


def _events(walks: Mapping[str, Walked]) -> list[tuple[str, ...]]:
    """Return a table row of texts for each event of each walk; EVENT_COLUMNS are the headings."""
    return [(name, *event) for name, walk in walks.items() for event in walk.events()]


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table with a title, column headings and rows for the terminal."""
    table = Table(box=SIMPLE, title=title, title_justify="left")
    for column, name in enumerate(head):
        table.add_column(name, justify="right" if _is_numeric(rows, column) else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _is_numeric(rows: Sequence[Sequence[str]], column: int) -> bool:
    """Return whether all cells of the table column with the index `column` start with a digit or a minus sign."""
    return all(row[column][0] in "-0123456789" for row in rows)


def _as_html(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with column headings and rows as HTML."""
    kinds = [' class="number"' if _is_numeric(rows, column) else "" for column in range(len(head))]
    lines = ["".join(f"<th{kind}>{html.escape(one)}</th>" for kind, one in zip(kinds, head, strict=True))]
    lines += [
        "".join(f"<td{kind}>{html.escape(one)}</td>" for kind, one in zip(kinds, row, strict=True)) for row in rows
    ]
    cells = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="table"><table class="said lines">{cells}</table></div>'


def _walks(walks: Mapping[str, Walked], drawn: bool) -> str:
    """Return the HTML section on the simulated walks, with figures if `drawn`."""
    text = WALKING + _as_html(WALK_COLUMNS, [walk.summary() for walk in walks.values()])
    text += WALKED + _as_html(GAIT_COLUMNS, [walk.gait() for walk in walks.values()])
    if drawn:
        pictures = []
        for shown in figures().values():
            if shown.walk in walks:
                stream = io.BytesIO()
                shown.draw(walks[shown.walk].run).savefig(stream, format="svg", metadata={"Date": None})
                pictures.append(figure(stream.getvalue(), shown.about, shown.wide))
        text += f'<div class="figures">{"".join(pictures)}</div>'
    return text + f"<h3>{SWITCHES.capitalize()}</h3>" + _as_html(EVENT_COLUMNS, _events(walks))


def _matrix_table(matrices: list[Matrix]) -> Table:
    """Return the table that compares the matrices with the printed ones, for the terminal."""
    table = Table("matrix", "equation", "size", "equals printed", box=SIMPLE)
    for matrix in matrices:
        style = "" if matrix.agrees else "bold red"
        table.add_row(matrix.name, EQUATIONS[matrix.name], matrix.size, Text("yes" if matrix.agrees else "no", style))
    return table


def _body(matrices: list[Matrix], summary: str) -> str:
    """Return the HTML text on the matrices, after an introduction with the sentence `summary`."""
    text = ABOUT.format(version=html.escape(lw.__version__)) + f"<p>{html.escape(summary)}</p>"
    text += '<div class="table"><table class="said lines">'
    text += "<tr><th>matrix</th><th>equation</th><th>size</th><th>equals printed</th></tr>"
    for matrix in matrices:
        verdict = "yes" if matrix.agrees else '<span class="far">no</span>'
        cells = (matrix.name, EQUATIONS[matrix.name], matrix.size, verdict)
        text += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    text += "</table></div>"
    for matrix in matrices:
        shown = re.sub(r"-?\d", r"<b>\g<0></b>", matrix.text())
        text += f"<h2>{matrix.name}</h2><p>{MEANINGS[matrix.name].capitalize()}.</p><pre>{shown}</pre>"
    return text
