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
    """The result of `lw.simulate`: the recorded motion of a mechanism, or of a batch.

    `run[name]` returns a series (..., T, ...) with the batch shape in front; `list(run)` names all series. "q", "v",
    "tau", "work", ... are recorded. "energy", "momentum", "center_of_mass", "pose.FRAME", "velocity.FRAME", "passive",
    "reactions", ... are computed from recorded series when you read them. `linkwork.simulation.series` defines all
    series; users can add their own. The samples of a member after its end are nan. Pass a run as `q0` to `lw.simulate`
    to continue it.

    Parameters
    ----------
    mechanism : Mechanism
        The simulated mechanism.
    settings : Settings
        Method, reason for its choice (`why`), step dt [s], steps between samples (`every`), duration [s], tolerances.
    t : array, shape (T,), unit [s]
        The times of the samples.
    recorded : mapping of str to array, shape (..., T, ...)
        The recorded series by name.
    final : MemberState
        The final state of all members, from which the run can be continued.
    parameters : mapping of str to array
        The varied and switched parameters by name, with their final values.
    outcomes : array of Outcome, shape of the batch
        How each member ended. `run.outcome` is the same, or a single `Outcome` if there is no batch.
    events : tuple of Event
        All events in order of time.
    wall : float, unit [s]
        The computing time.
    again : callable or None
        Repeats the run with smaller steps, for `report(compare=True)`. None for runs from files.

    Examples
    --------
    >>> run = lw.simulate(lw.example("double_pendulum"), [1.0, 0.5], duration=2.0, dt=0.01)
    >>> run
    <Run of 'double_pendulum': 201 samples to 2 s by rk4, finished at 2 s>
    >>> run.q.shape, run["energy"].shape, run.outcome.kind
    ((201, 2), (201,), 'finished')

    """

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a file that `lw.open_run` reads.

        The file is complete or is not written at all. Floats are stored exactly.

        Parameters
        ----------
        path : str or path
            A file name that ends in .npz or .nc (netCDF, needs xarray, h5netcdf and h5py).

        Raises
        ------
        LinkworkError
            If the file type is not supported, a package is missing, or the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> run = lw.simulate(lw.example("double_pendulum"), [1.0, 0.5], duration=1.0, dt=0.01)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run.save(f"{folder}/swing.npz")
        ...     same = lw.open_run(f"{folder}/swing.npz")
        >>> bool((same.q == run.q).all())
        True

        """
        from linkwork.simulation.results.run_files import save_run

        save_run(self, path)

    def to_xarray(self, *series: str) -> xarray.Dataset:
        """Return series as an xarray.Dataset with named axes, named entries and units.

        Parameters
        ----------
        *series : str
            Names of series. Without names: all recorded series.

        Returns
        -------
        xarray.Dataset
            The series, outcomes and parameters.

        Raises
        ------
        LinkworkError
            If xarray is not installed, a series does not exist, or the series need more memory than this machine has.

        Examples
        --------
        >>> run = lw.simulate(lw.example("double_pendulum"), [1.0, 0.5], duration=1.0, dt=0.01)
        >>> data = run.to_xarray("q", "energy")
        >>> data["q"].dims, data["energy"].attrs["units"]
        (('time', 'coordinate'), 'J')

        """
        from linkwork.simulation.results.xarray_dataset import to_xarray

        return to_xarray(self, series)

    def plot(self, *series: str, path: str | os.PathLike[str] | None = None) -> Figure:
        """Return a matplotlib Figure of series over time.

        For a batch it shows the median, a band that contains 90 % of the members, and three members. The figure does
        not change the state of pyplot.

        Parameters
        ----------
        *series : str
            Names of series. Without names: positions, velocities, joint forces of the controller, and energies.
        path : str, path or None, default None
            File to save the figure to: .png, .svg or .pdf.

        Returns
        -------
        matplotlib.figure.Figure
            One panel per series and unit.

        Raises
        ------
        LinkworkError
            If matplotlib is not installed, a series does not exist, or the file cannot be written.

        Examples
        --------
        >>> run = lw.simulate(lw.example("double_pendulum"), [1.0, 0.5], duration=1.0, dt=0.01)
        >>> [axes.get_title(loc="left") for axes in run.plot("q", "energy").axes]
        ['positions', 'energies']

        """
        from linkwork.simulation.results.series_plots import plot_run

        return plot_run(self, series, path)

    def plot_energy(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Return a matplotlib Figure that stacks the energies of the run and the heat of its elements over time.

        The areas are the potential and kinetic energy, the heat of dry friction in each joint, and the heat of dampers,
        clutches and contacts. Their sum is the energy at the start plus the supplied energy, drawn as a black line.
        With adaptive methods, the only heat is that of joint friction and dampers, for mechanisms with dry friction.

        Parameters
        ----------
        path : str, path or None, default None
            File to save the figure to: .png, .svg or .pdf.

        Returns
        -------
        matplotlib.figure.Figure
            The chart.

        Raises
        ------
        LinkworkError
            If the run has a batch, did not record q, v and work, or the file cannot be written.

        Examples
        --------
        >>> b = lw.Builder("slider", gravity=(0, 0, 0)).body("mass", 2.0)
        >>> m = b.joint("slide", lw.Prismatic(), "world", "mass", stiffness=100.0, friction=7.0).build()
        >>> run = lw.simulate(m, [0.5], duration=2.0)
        >>> run.plot_energy().axes[0].get_title(loc="left")
        'slider: energy and heat'

        """
        from linkwork.simulation.results.energy_chart import draw_energies

        return draw_energies(self, path)

    def draw(self, at: float | Sequence[float] = (), path: str | os.PathLike[str] | None = None) -> Figure:
        """Return a matplotlib Figure of the mechanism at some times of the run.

        Dashed curves are the paths of its frames. See `lw.draw` for the symbols.

        Parameters
        ----------
        at : float or sequence of float, unit [s], default ()
            Times. The nearest samples are drawn, all but the last faint. Default: start and end.
        path : str, path or None, default None
            File to save the figure to: .png, .svg or .pdf.

        Returns
        -------
        matplotlib.figure.Figure
            The drawing.

        Raises
        ------
        LinkworkError
            If the run has a batch, a time is outside the run, or the file cannot be written.

        Examples
        --------
        >>> run = lw.simulate(lw.example("double_pendulum"), [1.0, 0.5], duration=1.0, dt=0.01)
        >>> run.draw(at=[0.0, 0.5, 1.0]).axes[0].get_title(loc="left")
        'double_pendulum at 0, 0.5, 1 s'

        """
        from linkwork.simulation.results.mechanism_drawing import draw_run

        return draw_run(self, at, path)

    def report(self, compare: bool = False, structure: bool = False) -> Report:
        """Return a report that checks the run: energy balance, momenta, constraint errors, joint limits.

        Print the report to see all checks and what was not checked. `report.passed` is true if no check failed.

        Parameters
        ----------
        compare : bool, default False
            Whether to repeat the run with half the step, or tighter tolerances, to estimate the error of q and v.
        structure : bool, default False
            Whether to differentiate some steps with respect to their initial state, and report the symplectic defect:
            how far the steps are from preserving the symplectic form.

        Returns
        -------
        Report
            `report["energy balance"]` is one check, with the measured `value`, the allowed `bound`, the `verdict` and a
            `note`.

        Raises
        ------
        LinkworkError
            If `compare` is true and the run was read from a file or did not record q and v.

        Examples
        --------
        >>> run = lw.simulate(lw.example("double_pendulum"), [1.0, 0.5], duration=1.0, dt=0.01)
        >>> report = run.report()
        >>> report.passed, report.summary
        (True, 'all checks passed')
        >>> report["energy balance"].value < 1e-6
        True

        """
        from linkwork.simulation.results.report import report

        return report(self, compare, structure)

    def check(self) -> Run:
        """Return the run itself if every member finished or was ended by `stop_when`; else raise an error.

        Returns
        -------
        Run
            The run itself, so that calls can be chained.

        Raises
        ------
        LinkworkError
            If the outcome of a member is "not converged", "non-finite", "jammed" (the friction of a joint has no unique
            solution), or "stopped" (by Ctrl-C).

        Examples
        --------
        >>> run = lw.simulate(lw.example("double_pendulum"), [1.0, 0.5], duration=1.0, dt=0.01).check()
        >>> run.outcome.kind
        'finished'

        """
        bad = [outcome for outcome in self.outcomes.flat if outcome.kind not in ("finished", "event")]
        if bad:
            raise LinkworkError(f"{len(bad)} of {self.outcomes.size} members did not finish; first failure: {bad[0]}")
        return self


def open_run(path: str | os.PathLike[str]) -> Run:
    """Read a run that `run.save(path)` wrote.

    The run has all recorded series and can be continued. `report(compare=True)` is not available, because a file does
    not contain the user's functions.

    Parameters
    ----------
    path : str or path
        A file that ends in .npz or .nc.

    Returns
    -------
    Run
        The stored run.

    Raises
    ------
    LinkworkError
        If the file does not exist, is damaged, is not a run file, or was written by a newer linkwork.

    Examples
    --------
    >>> import tempfile
    >>> run = lw.simulate(lw.example("double_pendulum"), [1.0, 0.5], duration=1.0, dt=0.01)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run.save(f"{folder}/swing.npz")
    ...     lw.open_run(f"{folder}/swing.npz")
    <Run of 'double_pendulum': 101 samples to 1 s by rk4, finished at 1 s>

    """
    from linkwork.simulation.results.run_files import read_run  # imported here, so that importing linkwork stays quick

    found = read_run(path)
    return Run(**{field.name: getattr(found, field.name) for field in fields(found)})
