"""Command-line program `linkwork`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter
from rich.table import Table

import linkwork as lw
from linkwork.app.check_command import BROKEN, check, refusal
from linkwork.app.terminal_output import Terminal, exiting_after_interrupt

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
    contacts: Literal["file", "ground"] | None = None,
) -> int:
    """Read a model file; list its bodies, joints and elements, and all faults.

    Exit code: 0 if there are no faults, 1 if there are warnings, 2 if there are errors.

    Parameters
    ----------
    file
        Model file: URDF, MJCF, xacro or TOML.
    floating
        Connect the root link of a URDF to the world by a free joint. Default: fix the root link to the world.
    mimic
        Couple mimic joints to the joints that they mimic; --no-mimic makes all joints independent.
    packages
        Folders in which files of package:// addresses are searched.
    contacts
        Contacts to load: "file" those of the file, between geoms or links; "ground" those with the plane z = 0.

    """
    return check(Terminal(), file, floating, mimic, packages, True if contacts == "file" else contacts)


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
    """Simulate an example or a model file; print a report with checks, write a run file and a figure.

    Examples with motors, clutches or gears define a controller and a schedule. All other mechanisms move without
    control. A run starts at the keyframe "start", else at the first keyframe, else at the neutral position. If the
    start has no velocities, they are small random numbers. Loops that are not closed in this position are closed first.
    Exit code: 0 if all checks of the run passed, 1 if a check failed, 2 if there are errors.

    Parameters
    ----------
    what
        Name of an example (see `linkwork examples`), or a model file: URDF, MJCF, xacro or TOML.
    duration
        Simulated time [s]. Default: that of the example, or 10 s.
    dt
        Integration step [s]. Default: chosen automatically.
    method
        Integration method of lw.simulate, such as semi-implicit, rk4, midpoint, dop853, radau, lsoda or auto. Default:
        chosen automatically.
    out
        Folder for the run file and the figure; it is created if it does not exist.
    seed
        Seed of the random velocities.
    plot
        Draw a figure. Default: draw if matplotlib is installed.
    report
        Print the report.
    compare
        Simulate again with half the step to estimate the error of positions and velocities.

    """
    from linkwork.app.run_command import run_machine

    how = {"duration": duration, "dt": dt, "method": method}
    return run_machine(Terminal(), what, out, seed, plot, report, compare, **how)


@app.command
def bench(*arguments: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
    """Measure the speed of linkwork on this computer.

    In a clone of the repository, `python -m linkwork.app.cli bench` runs the full benchmarks, which compare linkwork
    with other libraries. In any other folder, the command measures the examples for a short time.

    Parameters
    ----------
    arguments
        Arguments of the full benchmarks, such as --quick or --only NAME.

    """
    from linkwork.app.bench_command import bench as measure

    return measure(Terminal(), arguments)


@app.command(name="paper")
def paper(name: str, *, out: Path = Path("out"), plot: bool | None = None) -> int:
    """Reproduce tables and figures of a paper, compare them with the printed results, and write an HTML page.

    Exit code: 0 if all results agree with the paper, 1 if some differ, 2 if there are errors.

    Parameters
    ----------
    name
        wendlandt: variational integrators (Tables 2.1 and 2.2, Figures 2.2 to 2.12), balance control of a biped
        (Figures 4.3 to 4.19), and a box in contact with a floor (Figures 5.3 to 5.6).
        nelson-quinn: matrices (42) to (49) of an eight-legged walker, whose limbs are serial chains, and its walks.
        muir-neuman: all vectors, matrices and equations of a double pendulum and of a biped (sections 4.1 and 4.2).
    out
        Folder for the page; it is created if it does not exist.
    plot
        Draw the figures. Default: draw if matplotlib is installed.

    """
    from linkwork.papers.reproduction import write_paper

    return write_paper(Terminal(), name, out, plot)


@app.command
def examples() -> None:
    """List the built-in examples."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for example in lw.examples():
        table.add_row(example.name, example.about)
    Terminal().print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. Errors print one line and exit with code 2; --debug shows the traceback.

    Ctrl-C exits with code 130.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    try:
        with exiting_after_interrupt():
            app([word for word in words if word != "--debug"], exit_on_error=False)
    except CycloptsError:  # cyclopts has already printed the message
        sys.exit(BROKEN)
    except lw.LinkworkError as error:
        if debug:
            raise
        Terminal(stderr=True).print(refusal(error), soft_wrap=True)
        sys.exit(BROKEN)


if __name__ == "__main__":
    main()
