"""The rows of a report on a run, and how they are printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkwork.errors import unknown_name
from linkwork.simulation.results.report_limits import BALANCE, BALANCE_FIRST_ORDER
from linkwork.simulation.results.run_data import RunData
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from rich.console import RenderableType

PASSED, FAILED, NOT_CHECKED = "ok", "bad", ""


class Row(NamedTuple):
    """A row of a report: what was measured, its limit, "ok" or "bad" ("" where it is not checked), and a note."""

    name: str
    value: float | str
    bound: float | None = None
    verdict: str = NOT_CHECKED
    note: str = ""


@dataclass(frozen=True)
class Report:
    """Checks of a run. `passed` says whether none failed; `print` shows all, `rows` has the numbers."""

    title: str
    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[str, ...]:
        """The names of the rows whose checks failed."""
        return tuple(row.name for row in self.rows if row.verdict == FAILED)

    def __getitem__(self, name: str) -> Row:
        """The row of that name."""
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

        table = Table("", "found", "allowed", "", "", box=SIMPLE_HEAD, pad_edge=False)
        colors = {PASSED: "green", FAILED: "bold red", NOT_CHECKED: ""}
        for row in self.rows:
            bound = "" if row.bound is None else f"{row.bound:.2g}"
            value = row.value if isinstance(row.value, str) else f"{row.value:.2e}"
            table.add_row(row.name, value, bound, Text(row.verdict, colors[row.verdict]), Text(row.note, "dim"))
        return Group(Text(self.title, "bold"), table, Text(self.summary, "bold green" if self.passed else "bold red"))

    @property
    def summary(self) -> str:
        """Whether all checks passed, or which failed, in one line."""
        return "all checks passed" if self.passed else f"checks FAILED: {', '.join(self.failures)}"


def checked(run: RunData, name: str, values: Array, note: str, bound: float | None = None) -> Row:
    """The row of the member with the largest value (*batch,); without a bound, that of energy and momenta."""
    bound = _balance(run) if bound is None else bound
    flat = np.asarray(values).reshape(-1)
    if not flat.size:
        return Row(name, "none", note="the batch is empty")
    number = int(np.argmax(flat))
    value = float(flat[number])
    return Row(name, value, bound, verdict(value <= bound), member_name(run, number) + note)


def _balance(run: RunData) -> float:
    return BALANCE_FIRST_ORDER if run.settings.order == 1 else BALANCE


def member_name(run: RunData, number: int) -> str:
    """The member of a batch with that number, as the beginning of a note; empty for a single run."""
    if not run.batch:
        return ""
    index = [int(k) for k in np.unravel_index(number, run.batch)]
    return f"member {index[0] if len(index) == 1 else tuple(index)}: "


def verdict(good: bool | np.bool_) -> str:
    """The word for a check that passed, or that failed."""
    return PASSED if good else FAILED
