"""The command `linkwork check`, which lists the bodies, joints and elements of a model file, and all its faults."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from rich.box import SIMPLE
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from linkwork.app.terminal_output import labelled, plain
from linkwork.errors import LinkworkError, ModelWarning
from linkwork.model import Mechanism
from linkwork.model.documents.loading import find_faults, load
from linkwork.model.model_definition_faults import Fault

CLEAN, DOUBTFUL, BROKEN = 0, 1, 2  # exit codes
COLORS = {"error": "bold red", "warning": "yellow"}


def check(
    console: Console,
    file: Path,
    floating: bool | None = None,
    mimic: bool = True,
    packages: Sequence[Path] = (),
    contacts: bool | Literal["ground"] | None = None,
) -> int:
    """Print a report of a model file; return the exit code: CLEAN, DOUBTFUL (warnings) or BROKEN (errors).

    The options are those of `load`.
    """
    faults = find_faults(file, floating=floating, mimic=mimic, packages=packages, contacts=contacts)
    errors = sum(fault.severity == "error" for fault in faults)
    if not errors:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # warnings are printed as faults
            m = load(file, floating=floating, mimic=mimic, packages=packages, contacts=contacts)
        console.print(description(m))
    for fault in faults:
        console.print(fault_text(fault), soft_wrap=True)
    console.print(verdict(str(file), errors, len(faults) - errors), soft_wrap=True)
    return BROKEN if errors else DOUBTFUL if faults else CLEAN


def description(m: Mechanism) -> RenderableType:
    """Return the mechanism as a text for the terminal: summary, table of joints and bodies, table of elements."""
    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("joint", "kind", "parent", "child", "mass [kg]", "limits [rad, m]", "mimics"):
        table.add_column(title, justify="right" if title.startswith("mass") else "left", overflow="fold")
    for joint in m.joints:
        body = m.bodies[joint.o]
        welded = [part.name for part in body.parts[1:]]
        child = joint.child + (f" + {', '.join(welded)}" if welded else "")
        low, high = joint.limits
        limits = ", ".join(f"{a:.3g} to {b:.3g}" for a, b in zip(low, high, strict=True) if a > -1e9 or b < 1e9)
        mimic = "" if joint.mimic is None else f"{joint.mimic.of} x {joint.mimic.multiplier:g}"
        table.add_row(joint.name, type(joint.kind).__name__, joint.parent, child, f"{body.mass:.4g}", limits, mimic)
    title = f"{m.name}: {m.nbodies} bodies, {len(m.joints)} joints, {m.nv} degrees of freedom, {m.mass:.6g} kg"
    return Group(plain(title, "bold"), table, *_element_table(m), *_solid_pairs(m), *_unused_shapes(m))


def _element_table(m: Mechanism) -> Iterator[RenderableType]:
    """Yield the table of a mechanism's elements, if it has any."""
    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("element", "name", "properties", "on"):
        table.add_column(title, overflow="fold")
    for items in m.elements.values():
        for one in items:
            table.add_row(one.what, one.name, *one.describe())
    if table.row_count:
        yield table


def _solid_pairs(m: Mechanism) -> Iterator[RenderableType]:
    """Yield a line with the number of solid pairs that can touch, if there are any."""
    if m.solid_pairs:
        count = len(m.solid_pairs)
        yield plain("1 pair of solids can touch" if count == 1 else f"{count} pairs of solids can touch")


def _unused_shapes(m: Mechanism) -> Iterator[RenderableType]:
    """Yield a line on unused collision shapes, if the mechanism has shapes on moving bodies but no contacts."""
    count = sum(shape.role == "collision" for body in m.bodies[1:] for shape in body.geometry)
    if count and not (m.contacts or m.collisions):
        number = "1 collision shape of a moving body" if count == 1 else f"{count} collision shapes of moving bodies"
        yield plain(f"{number} without contacts: see the argument `contacts` of lw.load")


def fault_text(fault: Fault) -> Text:
    """Return a fault of a model as one line: severity, file and line, element, reason and remedy."""
    return labelled(f"{fault.severity}: ", COLORS[fault.severity], str(fault))


def verdict(file: str, errors: int, doubts: int) -> Text:
    """Return the last line of the report: whether the file is usable, and its numbers of errors and warnings.

    `doubts` is the number of warnings.
    """
    counts = [f"{n} {what}{'s' * (n > 1)}" for n, what in ((errors, "error"), (doubts, "warning")) if n]
    if errors:
        return plain(f"{file} is not usable: {', '.join(counts)}", "bold red")
    return plain(f"{file} is usable: {counts[0] if counts else 'no errors, no warnings'}", "green")


def refusal(error: LinkworkError) -> Text:
    """Return the text of a LinkworkError as the command line prints it."""
    return labelled("error: ", COLORS["error"], str(error))
