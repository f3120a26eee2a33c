"""`linkwork paper NAME`: a paper's tables and figures, computed anew and set beside what is printed, as one page."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

import linkwork as lw
from linkwork.errors import unknown_name
from linkwork.papers.nelson_quinn import nelson_quinn
from linkwork.papers.output import DOUBTED, TRUSTED, drawing, ready_folder
from linkwork.papers.pages import NO_FIGURES, figure, write_page
from linkwork.papers.wendlandt import Experiment, pendulum_experiment, rigid_body_experiment
from linkwork.papers.wendlandt_biped import biped_experiments, biped_page, biped_statements
from linkwork.papers.wendlandt_biped_figures import biped_figures
from linkwork.papers.wendlandt_box import Statement, as_page, box_experiment, box_figures, statements
from linkwork.papers.wendlandt_figures import Drawn, figures

AGREES = 0.03  # part of a printed number by which ours may differ
ROUND_OFF = 1e-9  # of errors that the paper prints as zero

ABOUT = """<h1>Wendlandt: mechanical integrators, balance and contact</h1>
<p>J. M. Wendlandt, <i>Control and Simulation of Multibody Systems</i>, PhD dissertation, University of California,
Berkeley, Memorandum UCB/ERL M97/48, 1997. Tables 2.1 and 2.2, Figures 2.2 to 2.12, 4.3 to 4.19 and 5.3 to
5.6, computed by linkwork {version}. Grey numbers and circles are the paper's; crosses and lines are linkwork's.
Differences are those of the errors, in percent of what is printed. Times are those of one run in machine code on this
machine; the paper's were measured on an SGI Indy of 100 MHz.</p>
"""
BODY = """<h2>The rigid body</h2><p>Quaternions with one constraint, 30 s, by the discrete variational principle (DVP)
with the midpoint rule. The start is as printed: an Euler step of 1e-5 s, then DVP with 1e-5 s up to the second point.
The paper does not say that the Euler step is followed by a normalization. We normalize: only so does the energy at
h = 0.001 s become the quoted 32.99993724 J, and not 32.99993728 J. Energies and momenta are compared with those after
the Euler step, quaternions with the run at h = 0.0001 s.</p>
"""
PENDULUM = """<h2>The double spherical pendulum</h2><p>Two masses on rods, 30 s, by DVP and by Gonzalez'
energy-momentum method (EM). EM at h = 0.0001 s is the standard, and gives the second points of DVP. Energies of DVP are
those of the mean velocity at the midpoint. The paper does not state the duration; 30 s gives its numbers. Its start
is printed with three decimals, which make an energy of 24.9396 J where its runs have 24.9445 J, and a momentum of
199.8319 kg m²/s where they have 199.8255. Other decimals that fit both change the errors by some tenths of a percent,
which is what the differences are from h = 0.001 s on. At h = 0.0001 s they are larger. That is not the decimals'
doing; it may be round-off in the paper's two-step form, whose momentum varies by 1.4e-8 there. Errors that the paper
prints as zero are round-off here too.</p>
"""


def write_paper(console: Console, name: str, out: Path, plot: bool | None) -> int:
    """Compute a paper anew; TRUSTED, or DOUBTED if a number differs from what is printed."""
    if name not in PAPERS:
        raise unknown_name("paper", name, PAPERS)
    drawn = drawing(plot)
    ready_folder(out)
    return PAPERS[name](console, out, drawn)


def _wendlandt(console: Console, out: Path, drawn: bool) -> int:
    console.print("The rigid body and the double spherical pendulum, each 30 s at steps from 0.0001 s to 0.1 s ...")
    body, pendulum = rigid_body_experiment(), pendulum_experiment()
    tables = (("Table 2.1", BODY, "quaternion", body), ("Table 2.2", PENDULUM, "position", pendulum))
    text = ABOUT.format(version=html.escape(lw.__version__))
    far = 0
    for title, about, position, experiment in tables:
        rows = _rows(experiment)
        far += sum(not cell.agrees for row in rows for cell in row)
        head = ["h [s]", "method", "time [s]", f"{position} error", "energy error", "momentum error"]
        console.print(_told(title, head, rows))
        text += about + f"<h3>{title}</h3>" + _as_html(head, rows)
    text += _figures(figures(body, pendulum)) if drawn else NO_FIGURES
    console.print("The biped of chapter 4: both experiments, and blocks thrown at many speeds ...")
    biped = biped_experiments()
    told = biped_statements(biped)
    console.print(_sentences("The biped of chapter 4", told))
    text += biped_page(told) + (_figures(biped_figures(biped)) if drawn else "")
    box = box_experiment()
    said = statements(box)
    wrong = [one for one in said if not one.agrees]
    fallen = [one for one in told if not one.agrees]
    console.print(_sentences("The box of 5.3", said))
    text += as_page(said) + (_figures(box_figures(box)) if drawn else "")
    file = out / "wendlandt.html"
    write_page(file, "Wendlandt: integrators, balance and contact", text)
    verdict = f"{far} number(s) differ by more than {AGREES:.0%}" if far else f"all errors agree within {AGREES:.0%}"
    verdict += f", {len(fallen)} sentence(s) on the biped do not hold" if fallen else ", the biped balances"
    verdict += f", {len(wrong)} sentence(s) on the box do not hold" if wrong else ", the box moves as the paper says"
    doubted = bool(far or fallen or wrong)
    console.print(Text(f"{verdict}; written: {file}", "bold red" if doubted else ""), soft_wrap=True)
    return DOUBTED if doubted else TRUSTED


PAPERS: dict[str, Callable[[Console, Path, bool], int]] = {"wendlandt": _wendlandt, "nelson-quinn": nelson_quinn}


# --- tables ---


class Cell(NamedTuple):
    """A number of ours, what the paper prints, and whether they agree."""

    ours: str
    paper: str = ""
    agrees: bool = True


def _rows(experiment: Experiment) -> list[list[Cell]]:
    rows = []
    for (method, h), ours in experiment.measured.items():
        paper, differences = experiment.printed[method, h], experiment.differences()[method, h]
        time = Cell(f"{ours.seconds:.3g}", f"{paper.seconds:g}")
        errors = [_error(*three) for three in zip(ours[1:], paper[1:], differences, strict=True)]
        rows.append([Cell(f"{h:g}"), Cell(method), time, *errors])
    return rows


def _error(ours: float, paper: float, difference: float) -> Cell:
    if np.isnan(difference):  # the paper has zero
        return Cell(f"{ours:.1e}" if ours else "0", "0", ours < ROUND_OFF)
    percent = round(100.0 * difference, 2) + 0.0  # not minus zero
    return Cell(f"{ours:.3e}", f"{paper:.3e} ({percent:{'+' if percent else ''}.2f} %)", abs(difference) < AGREES)


def _told(title: str, head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
    table = Table(
        *map(escape, head), box=SIMPLE, title=f"{title}: linkwork, then the paper (difference)", title_justify="left"
    )
    for row in rows:
        table.add_row(*(Text(f"{cell.ours}  {cell.paper}", "" if cell.agrees else "bold red") for cell in row))
    return table


def _as_html(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    text = '<div class="table"><table><tr>' + "".join(f"<th>{html.escape(one)}</th>" for one in head) + "</tr>"
    for row in rows:
        cells = ""
        for cell in row:
            kind = "" if cell.agrees else ' class="far"'
            cells += f'<td{kind}>{html.escape(cell.ours)}<br><span class="paper">{html.escape(cell.paper)}</span></td>'
        text += f"<tr>{cells}</tr>"
    return text + "</table></div>"


def _sentences(title: str, said: Sequence[Statement]) -> Table:
    table = Table("the paper", "linkwork", box=SIMPLE, title=f"{title}: what the paper says", title_justify="left")
    for one in said:
        table.add_row(one.paper, Text(one.ours, "" if one.agrees else "bold red"))
    return table


def _figures(all_: Iterable[Drawn]) -> str:
    pictures = [figure(drawn.svg, f"{drawn.called}. {drawn.about}", drawn.wide) for drawn in all_]
    return f'<h2>Figures</h2><div class="figures">{"".join(pictures)}</div>'
