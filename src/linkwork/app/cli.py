"""The command `linkwork`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table

import linkwork as lw
from linkwork.app.check import BROKEN, check, refusal

WIDTH = 160  # where the output is no terminal

app = App(
    name="linkwork", help="Multibody dynamics for robots, spacecraft and mechanisms.", version=lambda: lw.__version__
)


@app.command(name="check")
def check_file(
    file: Path,
    *,
    floating: bool | None = None,
    mimic: bool = True,
    packages: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
) -> int:
    """Read a model and list its bodies and joints, and everything that is wrong with it.

    The exit code is 0 if nothing is, 1 if there are warnings, 2 if there are errors.

    Parameters
    ----------
    file
        A model: URDF, MJCF, xacro or linkwork's own TOML.
    floating
        Put a free joint under the root of a URDF.
    mimic
        Let mimic joints follow; --no-mimic leaves them independent.
    packages
        Folders in which package:// is sought.

    """
    return check(Console(width=None if sys.stdout.isatty() else WIDTH), file, floating, mimic, packages)


@app.command
def examples() -> None:
    """List the built-in example machines."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for example in lw.examples():
        table.add_row(example.name, example.about)
    Console().print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; errors are told in one line, unless --debug is given."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    try:
        app([word for word in words if word != "--debug"])
    except lw.LinkworkError as error:
        if debug:
            raise
        Console(stderr=True).print(refusal(error), soft_wrap=True)
        sys.exit(BROKEN)
