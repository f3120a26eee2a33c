"""A run as an xarray.Dataset: named axes, named entries, units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.simulation.results.run import Run
from linkwork.simulation.results.series_labels import Label, label_of

if TYPE_CHECKING:
    import xarray


def to_xarray(run: Run, series: Sequence[str] = ()) -> xarray.Dataset:
    """The named series of a run, all that were recorded if none are named, and how its members ended."""
    try:
        import xarray
    except ImportError:
        raise LinkworkError("a data set needs xarray, which is not installed: pip install 'linkwork[data]'") from None
    names = list(series) if series else list(run.recorded)
    batch = batch_axes(run)
    variables: dict[str, Any] = {}
    coordinates: dict[str, Any] = {"time": ("time", run.t, {"units": "s"})}
    for name in names:
        values, label = run[name], run_label(run, name)
        axes = [axis.name for axis in label.axes]
        variables[name] = ((*batch, "time", *axes), values, attributes(label))
        coordinates |= {axis.name: (axis.name, np.array(axis.entries, dtype=str)) for axis in label.axes}
    kinds = np.array([outcome.kind for outcome in run.outcomes.flat], dtype=str).reshape(run.batch)
    times = np.array([outcome.time for outcome in run.outcomes.flat]).reshape(run.batch)
    variables["outcome"] = (batch, kinds, {"long_name": "how the member ended"})
    variables["outcome_time"] = (batch, times, {"long_name": "when the member ended", "units": "s"})
    for name, values in run.parameters.items():
        variables[f"parameter.{name}"] = _parameter(run, name, values)
    settings = {key: value for key, value in asdict(run.settings).items() if value is not None}
    told = {key: int(value) if isinstance(value, bool) else value for key, value in settings.items()}
    return xarray.Dataset(variables, coordinates, {"title": f"run of {run.mechanism.name}", **told})


def batch_axes(run: Run) -> tuple[str, ...]:
    """What a batch's axes are called."""
    return ("member",) if len(run.batch) == 1 else tuple(f"batch_{k}" for k in range(len(run.batch)))


def run_label(run: Run, series: str) -> Label:
    """The label of a series of a run."""
    return label_of(run.mechanism, series, run[series].shape[len(run.batch) + 1 :])


def attributes(label: Label) -> dict[str, str]:
    """Title and units; where entries differ in it, all their units in order."""
    found = {"long_name": label.title, "units": label.unit}
    return found if len(set(label.units)) <= 1 else found | {"units_of_entries": ", ".join(label.units)}


def _parameter(run: Run, name: str, values: Any) -> tuple[Any, ...]:
    """A parameter's axes and values (*batch, shape), members that share one having it each."""
    core = run.mechanism.parameters[name].shape
    axes = tuple(f"parameter.{name}_{k}" for k in range(len(core)))
    return (*batch_axes(run), *axes), np.broadcast_to(values, run.batch + core), {"long_name": f"parameter {name}"}
