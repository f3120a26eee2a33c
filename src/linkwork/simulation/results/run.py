"""`Run`: the result of a simulation, with its files, data sets, figures and report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from linkwork.errors import LinkworkError
from linkwork.simulation.results.run_data import RunData

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from linkwork.simulation.results.report import Report


@dataclass(frozen=True, eq=False, repr=False)
class Run(RunData):
    """The motion of a mechanism, or of a batch of them.

    `t` (T,) [s]; `run[name]` is a series (..., T, ...), where the leading `...` is the batch. "q", "v", "tau", "work",
    ... were recorded; "energy", "momentum", "center_of_mass", "pose.FRAME", "velocity.FRAME", "passive", "reactions",
    ... are computed from these; `list(run)` names all. `linkwork.simulation.series` defines every series, and users'
    own. A member that ended early has numbers until then and nan after. `outcome` says how the run ended: an `Outcome`,
    for a batch an array of them. A run is continued from its state `final`; `wall` is the time that it took [s].
    """

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a file that ends in .npz or .nc (netCDF); `lw.open_run` reads it.

        The file is complete, or is not written at all.
        """
        from linkwork.simulation.results.run_files import save_run

        save_run(self, path)

    def to_xarray(self, *series: str) -> xarray.Dataset:
        """The named series as an xarray.Dataset with names of entries and units; without names, all recorded ones."""
        from linkwork.simulation.results.datasets import to_xarray

        return to_xarray(self, series)

    def plot(self, *series: str, path: str | os.PathLike[str] | None = None) -> Figure:
        """A matplotlib Figure of the named series, by default positions, velocities, joint forces and energies.

        `path` saves it as .png, .svg or .pdf. For a batch it shows medians, bands that contain nine tenths of the
        members, and a few members. The figure does not change the state of pyplot.
        """
        from linkwork.simulation.results.figures import plot_run

        return plot_run(self, series, path)

    def draw(self, at: float | Sequence[float] = (), path: str | os.PathLike[str] | None = None) -> Figure:
        """A matplotlib Figure of the mechanism at times `at` [s], by default at start and end; all but the last faint.

        Dashed curves are the paths of its frames. `path` saves it as .png, .svg or .pdf; `lw.draw` says what is drawn.
        """
        from linkwork.simulation.results.drawing import draw_run

        return draw_run(self, at, path)

    def report(self, compare: bool = False, structure: bool = False) -> Report:
        """Checks of the run: energy balance, momenta, constraints, limits. `print` it, or see `.passed`.

        With `compare` the run is repeated with half the step, or tighter tolerances, to estimate the error of its
        states. With `structure` the derivatives of some steps show by how much they miss the symplectic form.
        """
        from linkwork.simulation.results.report import report

        return report(self, compare, structure)

    def check(self) -> Run:
        """The run itself, or a LinkworkError if a member neither finished nor reached its event."""
        bad = [outcome for outcome in self.outcomes.flat if outcome.kind not in ("finished", "event")]
        if bad:
            raise LinkworkError(f"{len(bad)} of {self.outcomes.size} members did not finish; the first: {bad[0]}")
        return self


def open_run(path: str | os.PathLike[str]) -> Run:
    """The run that `run.save(path)` wrote, with all its series and the state from which it can be continued."""
    from linkwork.simulation.results.run_files import read_run  # importing linkwork is quicker without it

    found = read_run(path)
    return Run(**{field.name: getattr(found, field.name) for field in fields(found)})
