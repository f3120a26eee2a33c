"""What a trust report is made of: its rows, how they are shown, and numbers of members.

`ALLOWED` says how much a relative imbalance may be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.errors import unknown_name
from linkwork.simulation.results.run import Run
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from rich.console import RenderableType

# Relative imbalance that is allowed. Good steps of smooth motion stay far below; where stops, friction and sampled
# controllers make kinks, methods of any order are about as good as one of second order with a step of 1 ms.
ALLOWED = 1e-4
ALLOWED_ROUGH = 1e-2  # for methods of first order, whose balance is off by about the step times the motion's rate
PASSED, FAILED, TOLD = "ok", "bad", ""


class Row(NamedTuple):
    """A line of the report: what was measured, what it may be, "ok" or "bad" ("" where nothing is asked), and more."""

    name: str
    value: float | str
    bound: float | None = None
    verdict: str = TOLD
    note: str = ""


@dataclass(frozen=True)
class Report:
    """What was found about a run. `passed` is whether nothing was bad; `print` shows it, `rows` has the numbers."""

    title: str
    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is bad."""
        return not self.failures

    @property
    def failures(self) -> tuple[str, ...]:
        """The names of the rows that are bad."""
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
        colors = {PASSED: "green", FAILED: "bold red", TOLD: ""}
        for row in self.rows:
            bound = "" if row.bound is None else f"{row.bound:.2g}"
            value = row.value if isinstance(row.value, str) else f"{row.value:.2e}"
            table.add_row(row.name, value, bound, Text(row.verdict, colors[row.verdict]), Text(row.note, "dim"))
        last = "trusted: everything is as it must be" if self.passed else f"NOT trusted: {', '.join(self.failures)}"
        return Group(Text(self.title, "bold"), table, Text(last, "bold green" if self.passed else "bold red"))


def allowed(run: Run) -> float:
    """The relative imbalance that a run by this method may have: a good step of it stays well below."""
    return ALLOWED_ROUGH if run.settings.order == 1 else ALLOWED


# --- numbers of members ---


def most(series: Array) -> Array:
    """The largest magnitude in time (*batch,) of a series (*batch, T); nan is of members that had ended."""
    return np.nan_to_num(np.abs(series), nan=0.0, posinf=np.inf).max(axis=-1, initial=0.0)


def span(series: Array) -> Array:
    """Largest less smallest in time (*batch,)."""
    return np.ptp(np.where(np.isfinite(series), series, series[..., :1]), axis=-1)


def ratio(error: Array, scale: Array) -> Array:
    """Error over scale; zero where there is no error, whatever the scale."""
    with np.errstate(all="ignore"):
        found = np.asarray(error) / np.asarray(scale)
    return np.where(np.asarray(error) == 0.0, 0.0, np.nan_to_num(found, nan=np.inf, posinf=np.inf))


def worst(run: Run, name: str, values: Array, note: str, bound: float | None = None) -> Row:
    """The row of the member with the largest value."""
    bound = allowed(run) if bound is None else bound
    flat = np.asarray(values).reshape(-1)
    number = int(np.argmax(flat)) if flat.size else 0
    value = float(flat[number]) if flat.size else 0.0
    return Row(name, value, bound, verdict(value <= bound), who(run, number) + note)


def who(run: Run, number: int) -> str:
    """Which member of a batch, by its number."""
    if not run.batch:
        return ""
    index = [int(k) for k in np.unravel_index(number, run.batch)]
    return f"member {index[0] if len(index) == 1 else tuple(index)}: "


def verdict(good: Any) -> str:
    """The word for good, or for bad."""
    return PASSED if good else FAILED
