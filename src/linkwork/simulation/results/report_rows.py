"""The rows of the report on a run, the summary, and how they are printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkwork.errors import unknown_name, visible
from linkwork.simulation.results.report_tolerances import BALANCE, BALANCE_FIRST_ORDER
from linkwork.simulation.results.run_data import RunData
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from rich.console import RenderableType

PASSED, FAILED, WARNING, NOT_CHECKED = "ok", "bad", "warning", ""


class Row(NamedTuple):
    """A row of a report: name of the check, measured `value` (a number in the unit of the note, or a text), limit
    (`bound`), verdict and note.

    The verdict is "ok", "bad" or "warning", or "" for information and for values that were not checked. `not_checked`
    is the reason why a check was not made; it is empty otherwise.
    """

    name: str
    value: float | str
    bound: float | None = None
    verdict: str = NOT_CHECKED
    note: str = ""
    not_checked: str = ""


@dataclass(frozen=True)
class Report:
    """The checks of a run: `rows` has one `Row` for each measured value, and `print` shows all checks.

    `passed` is true if no check failed. `left_out` has pairs (name, reason) for the checks that have no row.
    """

    title: str
    rows: tuple[Row, ...]
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def passed(self) -> bool:
        """True if no check failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[str, ...]:
        """The names of the rows whose checks failed."""
        return tuple(row.name for row in self.rows if row.verdict == FAILED)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The names of the rows with warnings; a warning does not fail the report."""
        return tuple(row.name for row in self.rows if row.verdict == WARNING)

    @property
    def not_checked(self) -> dict[str, str]:
        """The checks that were left out, as a dict from the name of the check to the reason."""
        return {row.name: row.not_checked for row in self.rows if row.not_checked} | dict(self.left_out)

    def __getitem__(self, name: str) -> Row:
        """Return the row of the check called `name`."""
        named = {row.name: row for row in self.rows}
        if name not in named:
            raise unknown_name("row", name, named)
        return named[name]

    def __str__(self) -> str:
        from io import StringIO

        from rich.console import Console

        stream = StringIO()
        Console(file=stream, width=160, color_system=None).print(self.__rich__())
        return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())

    def __rich__(self) -> RenderableType:
        from rich.box import SIMPLE_HEAD
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table("", "value", "limit", "", "", box=SIMPLE_HEAD, pad_edge=False)
        colors = {PASSED: "green", FAILED: "bold red", WARNING: "yellow", NOT_CHECKED: ""}
        for row in self.rows:
            bound = "" if row.bound is None else f"{row.bound:.2g}"
            value = row.value if isinstance(row.value, str) else f"{row.value:.2e}"
            mark, note = Text(row.verdict, colors[row.verdict]), Text(visible(row.note), "dim")
            table.add_row(Text(visible(row.name)), Text(visible(value)), bound, mark, note)
        left_out = ", ".join(f"{name} ({reason})" for name, reason in self.not_checked.items())
        notes = [Text(visible(f"not checked: {left_out}"), "dim")] if left_out else []
        summary = Text(visible(self.summary), "bold green" if self.passed else "bold red")
        return Group(Text(visible(self.title), "bold"), table, summary, *notes)

    @property
    def summary(self) -> str:
        """One line of text: "all checks passed" and the rows with warnings, or number and names of failed checks."""
        if self.passed:
            return "all checks passed" + (f"; warning: {', '.join(self.warnings)}" if self.warnings else "")
        count = len(self.failures)
        return f"{count} check{'s' if count > 1 else ''} failed: {', '.join(self.failures)}"


def checked(run: RunData, name: str, values: Array, note: str, bound: float | None = None) -> Row:
    """Return a report row that checks whether the largest of `values` (*batch,) is at most `bound`.

    `name` and `note` are the name and note of the row. If `bound` is None, the limit of energy and momentum errors
    applies.
    """
    bound = _balance(run) if bound is None else bound
    flat = np.asarray(values).reshape(-1)
    if not flat.size:
        return Row(name, "none", note="the batch is empty")
    number = int(np.argmax(flat))
    value = float(flat[number])
    return Row(name, value, bound, verdict(value <= bound), member_name(run, number) + note)


def _balance(run: RunData) -> float:
    """Return the limit of relative energy and momentum errors for the method of a run."""
    # when compliant solids land, damping forces begin suddenly
    sudden = bool(run.mechanism.solid_pairs) and not run.facts.rigid
    return BALANCE_FIRST_ORDER if sudden or run.settings.order == 1 else BALANCE


def member_name(run: RunData, number: int) -> str:
    """Return the text that names a batch member in a message, such as "member 3: "; empty for a single run.

    `number` is the flat number of the member.
    """
    if not run.batch:
        return ""
    index = [int(k) for k in np.unravel_index(number, run.batch)]
    return f"member {index[0] if len(index) == 1 else tuple(index)}: "


def verdict(good: bool | np.bool_) -> str:
    """Return the verdict text of a check: "ok" if it is `good` (passed), else "bad"."""
    return PASSED if good else FAILED
