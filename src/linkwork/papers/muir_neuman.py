"""`linkwork paper muir-neuman`: vectors, matrices and equations of both examples, compared with the printed ones."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

import linkwork as lw
from linkwork.papers import muir_neuman_biped, muir_neuman_friction, muir_neuman_pendulum
from linkwork.papers.html_pages import NO_FIGURES, figure, write_page
from linkwork.papers.output_folder import FAILED, PASSED
from linkwork.papers.printed_values import Compared

ABOUT = """<h1>Muir and Neuman: force/torque propagation</h1>
<p>P. F. Muir and C. P. Neuman, <i>Dynamic Modeling of Multibody Robotic Mechanisms: Incorporating Closed-Chains,
Friction, Higher-Pair Joints, and Unactuated and Unsensed Joints</i>, Carnegie Mellon University, 1988. linkwork
{version} computes everything that sections 4.1 and 4.2 print, by its formulation <code>propagation</code>, and compares
it with the printed formulas. The paper gives no numbers; masses, lengths and states are chosen. Misprints are
corrected; docs/papers/muir-neuman.md proves the corrections.</p>
"""
PENDULUM = (
    "Section 4.1: planar double pendulum",
    "Masses 2 and 3.5 kg, links of 4 and 3 m, angles 0.6 and 0.4 rad, rates 1 and -0.5 rad/s. The columns of equations "
    f"(3) to (7) are the coefficients of {muir_neuman_pendulum.UNKNOWNS}, after inserting (8) to (11).",
)
BIPED = (
    "Section 4.2: biped in the frontal plane",
    "Both feet are on the ground; the left leg leans by 0.07 rad and turns at 0.4 rad/s. Equations (1) and (2) are "
    "compared by their residuals for random forces of the ground and random accelerations that keep both feet at rest.",
)

FRICTION = (
    "Friction in the pins",
    "The paper describes friction as coupling, but both examples are without friction. Here all pins are journal "
    "bearings with the coefficient 0.2 and radii of 300 mm (pendulum) and 30 mm (biped), in the same states. The "
    "column 'agrees' compares the solution by coupling matrices with that by friction laws, which depend on "
    "the load.",
)
CHARTS = {
    muir_neuman_friction.swinging_pendulum: "Where the energy of the pendulum goes, from rest at 1.2 and 0.5 rad.",
    muir_neuman_friction.swaying_biped: "Where the energy of the biped goes, from rest with the left leg at 0.12 rad, "
    "with a spring at the left ankle.",
}


def muir_neuman(console: Console, out: Path, drawn: bool) -> int:
    """Reproduce the examples of Muir and Neuman's paper; return PASSED, or FAILED if a value differs.

    `out` is the folder for the page; figures are drawn if `drawn` is true.
    """
    sections = {
        PENDULUM: muir_neuman_pendulum.pendulum_results(),
        BIPED: muir_neuman_biped.biped_results(),
        FRICTION: muir_neuman_friction.friction_results(),
    }
    text = ABOUT.format(version=html.escape(lw.__version__))
    for (title, about), results in sections.items():
        console.print(_table(title, results), about, sep="\n")
        text += f"<h2>{html.escape(title)}</h2><p>{html.escape(about)}</p>" + _as_html(results)
    text += _charts() if drawn else NO_FIGURES
    file = out / "muir-neuman.html"
    write_page(file, "Muir and Neuman: force/torque propagation", text)
    every = [one for results in sections.values() for one in results]
    wrong = [one.symbol for one in every if not one.agrees]
    misprints = sum(bool(one.correction) for one in every)
    verdict = f"all {len(every)} values and equations agree; {misprints} of the printed ones have misprints"
    if wrong:
        verdict = f"values that differ: {', '.join(wrong)}"
    console.print(Text(f"{verdict}; page written to {file}", "bold red" if wrong else ""), soft_wrap=True)
    return FAILED if wrong else PASSED


def _charts() -> str:
    """Return the HTML of the energy charts of both examples with friction."""
    pictures = []
    for simulated, about in CHARTS.items():
        stream = io.BytesIO()
        simulated().plot_energy().savefig(stream, format="svg", metadata={"Date": None}, bbox_inches="tight")
        pictures.append(figure(stream.getvalue(), about))
    return f'<div class="figures">{"".join(pictures)}</div>'


def _table(title: str, results: Sequence[Compared]) -> Table:
    """Return the table of the compared values, with the title `title`, for the terminal."""
    table = Table("value", "what", "linkwork", "misprint", "agrees", box=SIMPLE, title=title, title_justify="left")
    for one in results:
        verdict = Text("yes") if one.agrees else Text("no", "bold red")
        table.add_row(one.symbol, one.about, Text(one.text(), no_wrap=True), one.correction, verdict)
    return table


def _as_html(results: Sequence[Compared]) -> str:
    """Return the table of the compared values as HTML."""
    rows = ["<tr><th>value</th><th>what</th><th>linkwork</th><th>misprint</th><th>agrees</th></tr>"]
    for one in results:
        shown = re.sub(r"-?\d[\d.e+-]*", r"<b>\g<0></b>", one.text())
        verdict = "yes" if one.agrees else '<span class="far">no</span>'
        cells = (
            _symbol(one.symbol),
            html.escape(one.about),
            f"<pre>{shown}</pre>",
            html.escape(one.correction),
            verdict,
        )
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return f'<div class="table"><table class="said lines">{"".join(rows)}</table></div>'


def _symbol(plain: str) -> str:
    """Return a symbol such as "^A p_L11" as HTML, with the frame as superscript and the index as subscript."""
    above, _, rest = plain.rpartition(" ")
    letter, _, index = rest.partition("_")
    left = f"<sup>{html.escape(above[1:])}</sup>" if above.startswith("^") else ""
    return f"{left}<i>{html.escape(letter)}</i>" + (f"<sub>{html.escape(index)}</sub>" if index else "")
