"""`linkwork paper nelson-quinn`: the matrices of the K2T Walker beside those that are printed, and how it walks."""

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
from rich.markup import escape
from rich.table import Table
from rich.text import Text

import linkwork as lw
from linkwork.examples import walker
from linkwork.papers.output import DOUBTED, TRUSTED
from linkwork.papers.pages import NO_FIGURES, figure, write_page
from linkwork.papers.walk_figures import figures
from linkwork.papers.walks import COURSES, GAIT, TOLD, Walked, walked
from linkwork.spatial.scalar import Array

AGREES = 1e-10  # relative difference of accelerations that is still round-off
STATES = 20  # random ones, at which formulations are compared
TURNED = (0.3, 0.0, 0.0, -0.6, 0.4)  # by motors: yaw, femurs and tibiae of the bottom frame and of the top one [rad]
SHOWN = (
    "The walker at its start, faint, and with motors turned: yaw by 0.3 rad, the femurs of the top frame by -0.6 rad, "
    "which lifts its feet, and their tibiae by 0.4 rad."
)
EQUATIONS = {"D bottom": "(42), (43)", "D top": "(42), (43)", "D1": "(44) to (46)", "D2": "(47)", "D3": "(48), (49)"}
MEANINGS = {
    "D bottom": "turns of the frames top, bottom, femur, tibia, from those of the top and three joints",
    "D top": "turns of top, femur, tibia, from those of the top and two joints",
    "D1": "coordinates of eight limbs, each with a base of its own, from those of limbs on one base",
    "D2": "those of limbs on one base, from base, yaw, and hip and tibia of each leg",
    "D3": "base, yaw, and hip and tibia of each leg, from base and five motors",
}

ABOUT = """<h1>Nelson and Quinn: the K<sup>2</sup>T Walker</h1>
<p>G. Nelson and R. Quinn, <i>A quasicoordinate formulation for dynamic simulation of complex multibody systems with
constraints</i>, Case Western Reserve University. Matrices (42) to (49), which linkwork {version} finds from the tree of
its example <code>walker</code>. The paper gives no masses and lengths; those of the example are chosen. Turns of the
base are its angular velocities, where the paper has rates of Euler angles.</p>
"""
WALKING = """<h2>Walking</h2><p>Ground, gaits and motors are chosen too; the paper shows no results. The motors hold
angles that are functions of time; twelve clutches carry them from the front left leg of each frame to the others,
tibiae measured from the frame by (29). The legs of one frame stand and stroke backward while those of the other are
lifted. Leaning is that of the top frame.</p>
"""
WALKED = """<p>Once strides are full: how far a foot gets from where it was put down while it stands, in half of all
stands and in 19 of 20; how high the top frame is; what motors give, without winning back where they brake, and that
by weight and way. In a turn the strokes of both frames are not parallel, so that feet slip; on rough ground they are
put down on slopes.</p>
"""
SWITCHED = "what is switched on the way, after all clutches were engaged at the start"
EVENT = ("walk", "time", "what", "energy [J]", "impulse [N m s]", "carries [N m]")


class Matrix(NamedTuple):
    """A matrix of the paper, as found and as printed."""

    name: str
    found: Array
    printed: Array

    @property
    def agrees(self) -> bool:
        """Whether both are the same, to the last bit."""
        return np.array_equal(self.found, self.printed)

    @property
    def size(self) -> str:
        """Rows and columns."""
        return "{} x {}".format(*self.found.shape)

    def told(self) -> str:
        """The matrix in lines of text, with dots for zeros."""
        return "\n".join(" ".join(f"{x:2g}" if x else " ." for x in row) for row in self.found)


def nelson_quinn(console: Console, out: Path, drawn: bool) -> int:
    """Compare the walker's matrices and motion; TRUSTED, or DOUBTED if some differ."""
    m = lw.example("walker")
    system, printed = walker.limbs(m), walker.printed()
    matrices = [Matrix(name, found, printed[name]) for name, found in walker.matrices(system).items()]
    counts = [sum(D.shape[1] for D in system.D0), *(D.shape[1] for D in (system.D1, system.D2, system.D3))]
    fewer = "Coordinates: " + " -> ".join(map(str, counts)) + "."
    whole, coupled = walker.differences(m, STATES)
    moves = (
        f"Accelerations at {STATES} random states differ, relative, by {whole:.1e} from those of articulated bodies "
        f"({m.nv} coordinates), and by {coupled:.1e} from the projected mass matrix ({counts[-1]} coordinates)."
    )
    for matrix in matrices:
        console.print(f"{matrix.name}: {MEANINGS[matrix.name]}", Text(matrix.told() + "\n", no_wrap=True), sep="\n")
    console.print(_table(matrices), fewer, moves, sep="\n")
    console.print("It walks, which takes a while ...")
    walks = {name: walked(name) for name in COURSES}
    console.print(_told("walks", TOLD, [walk.told() for walk in walks.values()]))
    console.print(_told("gaits", GAIT, [walk.gait() for walk in walks.values()]))
    console.print(_told(SWITCHED, EVENT, _events(walks)))
    file = out / "nelson-quinn.html"
    body = _body(matrices, f"{fewer} {moves}") + _drawing(m, drawn) + _walks(walks, drawn)
    write_page(file, "Nelson and Quinn: the K2T Walker", body)
    far = [matrix.name for matrix in matrices if not matrix.agrees]
    far += [f"the walk {name!r}" for name, walk in walks.items() if not walk.arrived]
    far += [
        f"motion {what}" for what, difference in (("whole", whole), ("with motors", coupled)) if difference > AGREES
    ]
    verdict = "all matrices are as printed, and the walker got where it should"
    if far:
        verdict = f"not as printed, computed otherwise or not arrived: {', '.join(far)}"
    console.print(Text(f"{verdict}; written: {file}", "bold red" if far else ""), soft_wrap=True)
    return DOUBTED if far else TRUSTED


def _drawing(m: lw.Mechanism, drawn: bool) -> str:
    """The walker at its start, faint, and where its motors turned it."""
    if not drawn:
        return NO_FIGURES
    start, stream = m.keyframes["start"].q, io.BytesIO()
    q = m.integrate(start, walker.limbs(m).spread @ np.array([0.0] * 6 + [*TURNED]))
    lw.draw(m, np.stack([start, q])).savefig(stream, format="svg", metadata={"Date": None})
    return figure(stream.getvalue(), SHOWN)


def _events(walks: Mapping[str, Walked]) -> list[tuple[str, ...]]:
    return [(name, *event) for name, walk in walks.items() for event in walk.events()]


def _told(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=SIMPLE, title=title, title_justify="left")
    for place, name in enumerate(head):
        table.add_column(escape(name), justify="right" if _counts(rows, place) else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _counts(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Whether a column has numbers alone, with their units."""
    return all(row[place][0] in "-0123456789" for row in rows)


def _as_html(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    kinds = [' class="number"' if _counts(rows, place) else "" for place in range(len(head))]
    lines = ["".join(f"<th{kind}>{html.escape(one)}</th>" for kind, one in zip(kinds, head, strict=True))]
    lines += [
        "".join(f"<td{kind}>{html.escape(one)}</td>" for kind, one in zip(kinds, row, strict=True)) for row in rows
    ]
    cells = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="table"><table class="said lines">{cells}</table></div>'


def _walks(walks: Mapping[str, Walked], drawn: bool) -> str:
    """How it walks, with figures where they can be drawn."""
    text = WALKING + _as_html(TOLD, [walk.told() for walk in walks.values()])
    text += WALKED + _as_html(GAIT, [walk.gait() for walk in walks.values()])
    if drawn:
        pictures = []
        for shown in figures().values():
            if shown.walk in walks:
                stream = io.BytesIO()
                shown.draw(walks[shown.walk].run).savefig(stream, format="svg", metadata={"Date": None})
                pictures.append(figure(stream.getvalue(), shown.about, shown.wide))
        text += f'<div class="figures">{"".join(pictures)}</div>'
    return text + f"<h3>{SWITCHED.capitalize()}</h3>" + _as_html(EVENT, _events(walks))


def _table(matrices: list[Matrix]) -> Table:
    table = Table("matrix", "equation", "size", "as printed", box=SIMPLE)
    for matrix in matrices:
        style = "" if matrix.agrees else "bold red"
        table.add_row(matrix.name, EQUATIONS[matrix.name], matrix.size, Text("yes" if matrix.agrees else "no", style))
    return table


def _body(matrices: list[Matrix], summary: str) -> str:
    text = ABOUT.format(version=html.escape(lw.__version__)) + f"<p>{html.escape(summary)}</p>"
    text += '<div class="table"><table class="said lines">'
    text += "<tr><th>matrix</th><th>equation</th><th>size</th><th>as printed</th></tr>"
    for matrix in matrices:
        verdict = "yes" if matrix.agrees else '<span class="far">no</span>'
        cells = (matrix.name, EQUATIONS[matrix.name], matrix.size, verdict)
        text += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    text += "</table></div>"
    for matrix in matrices:
        shown = re.sub(r"-?\d", r"<b>\g<0></b>", matrix.told())
        text += f"<h2>{matrix.name}</h2><p>{MEANINGS[matrix.name].capitalize()}.</p><pre>{shown}</pre>"
    return text
