"""Drawings of the examples for the documentation: `python -m linkwork.app.example_gallery FOLDER` or `make figures`."""

from __future__ import annotations

import sys
from pathlib import Path

import linkwork as lw
from linkwork.app.check_command import BROKEN, refusal
from linkwork.app.terminal_output import Terminal, exiting_after_interrupt
from linkwork.examples import cable_arm, cockroach, differential_cart
from linkwork.papers.nelson_quinn_figures import figures
from linkwork.papers.nelson_quinn_simulations import walked
from linkwork.papers.output_folder import ready_folder
from linkwork.simulation.results.figure_files import save_figure

# Times [s] at which each example is drawn, in a run from its keyframe "start"
TIMES = {
    "closed_two_body_robot": (0.0, 0.15, 0.3, 0.45),
    "five_bar": (0.0, 0.06, 0.12),
    "four_bar": (0.0, 0.1, 0.2, 0.35),
    "four_bar_ladder": (0.0, 0.2, 0.4),
    "friction_four_bar": (0.0, 0.1, 0.2, 0.35),
    "frontal_biped": (0.0, 0.45, 0.65),
    "scissor_lift": (0.0, 0.3),
    "slider_crank": (0.0, 0.08, 0.16, 0.24),
    "stewart_platform": (0.0,),
    "worm_gear": (0.0,),
}
# For examples that define a controller or schedule: the function that runs the example, and times [s] of its drawing
DRIVEN = {
    "cable_arm": (cable_arm.run, (0.0, 0.2, 0.35, 0.5)),
    "differential_cart": (differential_cart.run, (0.0, 1.0, 2.5, 4.0, 5.0, 6.0)),
}
WALKS = ("cockroach", *figures())


def main(folder: Path) -> int:
    """Simulate and draw all examples of the documentation; write one PNG file for each example to `folder`."""
    console = Terminal()
    try:
        ready_folder(folder)
        for name, times in TIMES.items():
            run = lw.simulate(lw.example(name), duration=times[-1] + 0.1, dt=1e-3)
            run.draw(times, folder / f"{name}.png")
            console.print(f"{folder / name}.png")
        for name, (runs, times) in DRIVEN.items():
            runs(times[-1]).draw(times, folder / f"{name}.png")
            console.print(f"{folder / name}.png")
        for name in WALKS:
            _draw_walk(name, folder / f"{name}.png")
            console.print(f"{folder / name}.png")
    except lw.LinkworkError as error:
        Terminal(stderr=True).print(refusal(error), soft_wrap=True)
        return BROKEN
    return 0


def _draw_walk(name: str, file: Path) -> None:
    """Write a drawing of the example `name` to `file`: the cockroach during its walk, or a figure of the K2T Walker."""
    if name == "cockroach":
        run = lw.simulate(**cockroach.arguments(0.8), record=("q", "v"))
        lw.draw(run.mechanism, run.q[:: len(run.t) // 2], path=file)
    else:
        shown = figures()[name]
        save_figure(shown.draw(walked(shown.walk).run), file)


if __name__ == "__main__":
    with exiting_after_interrupt():
        sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures")))
