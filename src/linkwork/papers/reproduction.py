"""`linkwork paper NAME`: reproduces tables and figures of a paper, and compares them with the printed ones."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

import linkwork as lw
from linkwork.errors import unknown_name
from linkwork.papers.html_pages import NO_FIGURES, figure, write_page
from linkwork.papers.muir_neuman import muir_neuman
from linkwork.papers.nelson_quinn import nelson_quinn
from linkwork.papers.output_folder import FAILED, PASSED, drawing, ready_folder
from linkwork.papers.wendlandt_biped import biped_experiments, biped_page, biped_statements
from linkwork.papers.wendlandt_biped_figures import biped_figures
from linkwork.papers.wendlandt_box import Statement, as_page, box_experiment, box_figures, statements
from linkwork.papers.wendlandt_integrator_figures import Drawn, figures
from linkwork.papers.wendlandt_integrators import Experiment, pendulum_experiment, rigid_body_experiment

AGREES = 0.03  # largest relative difference from a printed number
ROUND_OFF = 1e-9  # largest error that agrees with a printed zero

ABOUT = """<h1>Wendlandt: variational integrators, balance control and contact</h1>
<p>J. M. Wendlandt, <i>Control and Simulation of Multibody Systems</i>, PhD dissertation, University of California,
Berkeley, Memorandum UCB/ERL M97/48, 1997. linkwork {version} computed Tables 2.1 and 2.2 and Figures 2.2 to 2.12, 4.3
to 4.19 and 5.3 to 5.6. Grey numbers and circles are results of the paper; crosses and lines are results of linkwork.
Percentages are relative differences from the printed errors. Run times are for one compiled run on this machine; the
paper measured them on an SGI Indy at 100 MHz.</p>
"""
BODY = """<h2>Rigid body</h2><p>Unit quaternions with one constraint, 30 s, by the discrete variational principle
(DVP) with the midpoint rule. As in the paper, an Euler step of 1e-5 s and then DVP steps of 1e-5 s give the second
point. The quaternion is normalized after the Euler step. The paper does not mention this normalization. With it, the
energy at h = 0.001 s is 32.99993724 J, as printed; without it, 32.99993728 J. The reference for energy and momentum
is the state after the Euler step; the reference for quaternions is the run at h = 0.0001 s.</p>
"""
PENDULUM = """<h2>Double spherical pendulum</h2><p>Two masses on rods, 30 s, by DVP and by Gonzalez' energy-momentum
method (EM). EM at h = 0.0001 s is the reference and gives the second points of DVP. DVP energies use the mean
velocity and the midpoint position of a step. The paper does not state the duration; 30 s reproduces its numbers. The
paper prints the initial state with three decimals. The printed state has an energy of 24.9396 J, but the runs of the
paper have 24.9445 J; it has a momentum of 199.8319 kg m²/s, but the runs of the paper have 199.8255 kg m²/s. Further
decimals that give these values change the errors by some tenths of a percent, which explains the differences for h of
0.001 s and more. The larger differences at h = 0.0001 s have another cause, perhaps round-off in the paper's two-step
form, whose momentum varies by 1.4e-8 there. Where the paper prints a zero error, linkwork's error is round-off.</p>
"""


def write_paper(console: Console, name: str, out: Path, plot: bool | None) -> int:
    """Reproduce the paper `name`; return PASSED, or FAILED if a result differs from the printed one.

    `out` is the folder for results. `plot` is whether to draw figures; None: if matplotlib is installed.
    """
    if name not in PAPERS:
        raise unknown_name("paper", name, PAPERS)
    drawn = drawing(plot)
    ready_folder(out)
    return PAPERS[name](console, out, drawn)


def _wendlandt(console: Console, out: Path, drawn: bool) -> int:
    """Reproduce Wendlandt's thesis; return PASSED, or FAILED if a result differs from the printed one."""
    console.print("Simulating rigid body and double spherical pendulum, 30 s each, step sizes 0.0001 s to 0.1 s ...")
    body, pendulum = rigid_body_experiment(), pendulum_experiment()
    tables = (("Table 2.1", BODY, "quaternion", body), ("Table 2.2", PENDULUM, "position", pendulum))
    text = ABOUT.format(version=html.escape(lw.__version__))
    far = count = 0
    for title, about, position, experiment in tables:
        rows = _rows(experiment)
        far += sum(not cell.agrees for row in rows for cell in row)
        count += 3 * len(rows)
        head = ["h [s]", "method", "run time [s]", f"{position} error", "energy error", "momentum error"]
        console.print(_table(title, head, rows))
        text += about + f"<h3>{title}</h3>" + _as_html(head, rows)
    text += _figures(figures(body, pendulum)) if drawn else NO_FIGURES
    console.print("Simulating the biped of chapter 4: both experiments, and throws at many speeds ...")
    biped = biped_experiments()
    on_biped = biped_statements(biped)
    console.print(_statements("Biped of chapter 4", on_biped))
    text += biped_page(on_biped) + (_figures(biped_figures(biped)) if drawn else "")
    box = box_experiment()
    on_box = statements(box)
    console.print(_statements("Box of section 5.3", on_box))
    text += as_page(on_box) + (_figures(box_figures(box)) if drawn else "")
    file = out / "wendlandt.html"
    write_page(file, "Wendlandt: integrators, balance and contact", text)
    tables_agree = f"{far} of {count} errors differ by more than {AGREES:.0%}"
    tables_agree = tables_agree if far else f"all errors agree within {AGREES:.0%}"
    counts = f"biped: {_count_passed(on_biped)}; box: {_count_passed(on_box)}"
    verdict = f"Tables 2.1 and 2.2: {tables_agree}; {counts}"
    failed = bool(far) or not all(one.agrees for one in (*on_biped, *on_box))
    console.print(Text(f"{verdict}; page written to {file}", "bold red" if failed else ""), soft_wrap=True)
    return FAILED if failed else PASSED


def _count_passed(found: Sequence[Statement]) -> str:
    """Return a text with the number of statements that pass their check."""
    return f"{sum(one.agrees for one in found)} of {len(found)} checks passed"


PAPERS: dict[str, Callable[[Console, Path, bool], int]] = {
    "wendlandt": _wendlandt,
    "nelson-quinn": nelson_quinn,
    "muir-neuman": muir_neuman,
}


# --- tables ---


class Cell(NamedTuple):
    """A table cell: linkwork's number, the number printed in the paper, and whether both agree."""

    ours: str
    paper: str = ""
    agrees: bool = True


def _rows(experiment: Experiment) -> list[list[Cell]]:
    """Return the table rows of an experiment: one for each method and step size."""
    rows = []
    for (method, h), ours in experiment.measured.items():
        paper, differences = experiment.printed[method, h], experiment.differences()[method, h]
        time = Cell(f"{ours.seconds:.3g}", f"{paper.seconds:g}")
        errors = [_error(*three) for three in zip(ours[1:], paper[1:], differences, strict=True)]
        rows.append([Cell(f"{h:g}"), Cell(method), time, *errors])
    return rows


def _error(ours: float, paper: float, difference: float) -> Cell:
    """Return the table cell of an error: the error of linkwork, the printed error, and whether both agree.

    `difference` is the relative difference of the two errors; it is nan if the printed error is zero.
    """
    if np.isnan(difference):  # the paper prints zero
        return Cell(f"{ours:.1e}" if ours else "0", "0", ours < ROUND_OFF)
    percent = round(100.0 * difference, 2) + 0.0  # adding 0.0 changes -0 to 0
    return Cell(f"{ours:.3e}", f"{paper:.3e} ({percent:{'+' if percent else ''}.2f} %)", abs(difference) < AGREES)


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
    """Return a table with a title, column headings and rows for the terminal."""
    table = Table(
        *head,
        box=SIMPLE,
        title=f"{title}: linkwork, then paper (relative difference)",
        title_justify="left",
    )
    for row in rows:
        table.add_row(*(Text(f"{cell.ours}  {cell.paper}", "" if cell.agrees else "bold red") for cell in row))
    return table


def _as_html(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return a table with column headings and rows as HTML."""
    text = '<div class="table"><table><tr>' + "".join(f"<th>{html.escape(one)}</th>" for one in head) + "</tr>"
    for row in rows:
        cells = ""
        for cell in row:
            kind = "" if cell.agrees else ' class="far"'
            cells += f'<td{kind}>{html.escape(cell.ours)}<br><span class="paper">{html.escape(cell.paper)}</span></td>'
        text += f"<tr>{cells}</tr>"
    return text + "</table></div>"


def _statements(title: str, found: Sequence[Statement]) -> Table:
    """Return the table of statements for the terminal."""
    table = Table("paper", "linkwork", box=SIMPLE, title=f"{title}: statements of the paper", title_justify="left")
    for one in found:
        table.add_row(one.paper, Text(one.ours, "" if one.agrees else "bold red"))
    return table


def _figures(all_: Iterable[Drawn]) -> str:
    """Return the HTML of all figures in `all_`, with their captions."""
    pictures = [figure(drawn.svg, f"{drawn.called}. {drawn.about}", drawn.wide) for drawn in all_]
    return f'<h2>Figures</h2><div class="figures">{"".join(pictures)}</div>'
