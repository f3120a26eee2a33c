"""The command `linkwork`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter
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
    return check(_console(), file, floating, mimic, packages)


@app.command(name="run")
def run_one(
    what: str,
    *,
    duration: float | None = None,
    dt: float | None = None,
    method: str | None = None,
    out: Path = Path("out"),
    seed: int = 0,
    plot: bool | None = None,
    report: bool = True,
    compare: bool = False,
) -> int:
    """Run an example or a model file, tell how far to trust it, and write a run file and a figure.

    Examples with motors, clutches or gears move as they are meant to: the walker walks. Others start from the keyframe
    "start" or the model's first, or from the neutral position with small random velocities, and are let go; loops that
    are open there are closed. The exit code is 0 if all checks of the run passed, 1 if one failed, 2 if
    there are errors.

    Parameters
    ----------
    what
        The name of an example (see `linkwork examples`), or a model: URDF, MJCF, xacro or linkwork's own TOML.
    duration
        How long it moves [s]: 10 s if not given, or as long as the example does.
    dt
        The step [s]; chosen if not given.
    method
        semi-implicit, rk4, midpoint, dop853, radau, lsoda, or auto; chosen if not given.
    out
        The folder in which files are written; it is made if it is not there.
    seed
        Of the random velocities.
    plot
        Draw a figure; by default where matplotlib is installed.
    report
        Show the trust report.
    compare
        Run it again with half the step, and estimate the error.

    """
    from linkwork.app.running import run_machine

    how = {"duration": duration, "dt": dt, "method": method}
    return run_machine(_console(), what, out, seed, plot, report, compare, **how)


@app.command
def bench(*arguments: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
    """Measure how fast linkwork is on this machine.

    Where the repository's benchmarks are at hand (from its folder, `python -m linkwork.app.cli bench`), they run beside
    linkwork's peers, with these arguments; elsewhere it is a short measurement of the examples.
    """
    from linkwork.app.quick_bench import bench as measure

    return measure(_console(), arguments)


@app.command(name="paper")
def paper_anew(name: str, *, out: Path = Path("out"), plot: bool | None = None) -> int:
    """Compute a paper's tables and figures anew, beside what it prints, as a page.

    The exit code is 0 if all numbers agree, 1 if some do not, 2 if there are errors.

    Parameters
    ----------
    name
        wendlandt: Tables 2.1 and 2.2 and Figures 2.2 to 2.12, integrators from a discrete variational principle.
        nelson-quinn: the matrices (42) to (49) of an eight-legged walker, by limbs in quasicoordinates.
    out
        The folder in which the page is written; it is made if it is not there.
    plot
        Draw the figures; by default where matplotlib is installed.

    """
    from linkwork.papers.reproduction import write_paper

    return write_paper(_console(), name, out, plot)


@app.command
def examples() -> None:
    """List the built-in example machines."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for example in lw.examples():
        table.add_row(example.name, example.about)
    Console().print(table)


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else WIDTH)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; errors are told in one line, unless --debug is given, and end it with code 2."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    try:
        app([word for word in words if word != "--debug"], exit_on_error=False)
    except CycloptsError:  # told by then
        sys.exit(BROKEN)
    except lw.LinkworkError as error:
        if debug:
            raise
        Console(stderr=True).print(refusal(error), soft_wrap=True)
        sys.exit(BROKEN)


if __name__ == "__main__":
    main()
