"""Conversion of a run to an xarray.Dataset with named axes, named entries and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.simulation.results.run_data import RunData, refuse_large_series
from linkwork.simulation.series import Axis, Label, label_of
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    import xarray


def to_xarray(run: RunData, series: Sequence[str] = ()) -> xarray.Dataset:
    """Return the named series of a run, or all recorded series, as a Dataset with outcomes and parameters."""
    try:
        import xarray
    except ImportError:
        raise LinkworkError("xarray is not installed; install it with: pip install 'linkwork[data]'") from None
    names = list(series) if series else list(run.recorded)
    refuse_large_series(run, names)
    batch = batch_axes(run)
    variables: dict[str, Any] = {}
    coordinates: dict[str, Any] = {"time": ("time", run.t, {"units": "s"})}
    axes_by_name: dict[str, Axis] = {}
    for name in names:
        values, label = run[name], run_label(run, name)
        axes = {_axis_name(axis, name, axes_by_name): axis for axis in label.axes}
        axes_by_name |= axes
        variables[name] = ((*batch, "time", *axes), values, attributes(label))
    for name, axis in axes_by_name.items():
        coordinates[name] = (name, np.array(axis.entries, dtype=str))
    kinds = np.array([outcome.kind for outcome in run.outcomes.flat], dtype=str).reshape(run.batch)
    times = np.array([outcome.time for outcome in run.outcomes.flat]).reshape(run.batch)
    variables["outcome"] = (batch, kinds, {"long_name": "outcome of the member"})
    variables["outcome_time"] = (batch, times, {"long_name": "end time of the member", "units": "s"})
    for name, values in run.parameters.items():
        variables[f"parameter.{name}"] = _parameter(run, name, values)
    settings = {key: value for key, value in asdict(run.settings).items() if value is not None}
    plain = {key: int(value) if isinstance(value, bool) else value for key, value in settings.items()}
    return xarray.Dataset(variables, coordinates, {"title": f"run of {run.mechanism.name}", **plain})


def _axis_name(axis: Axis, series: str, taken: Mapping[str, Axis]) -> str:
    """Return the name of a data set dimension: the name of the axis, or "series_axis" if that name has other entries.

    `taken` has the axes of other series; axes with equal names and entries share a dimension.
    """
    return axis.name if taken.get(axis.name, axis).entries == axis.entries else f"{series}_{axis.name}"


def batch_axes(run: RunData) -> tuple[str, ...]:
    """Return the names of the batch axes of a run."""
    return ("member",) if len(run.batch) == 1 else tuple(f"batch_{k}" for k in range(len(run.batch)))


def run_label(run: RunData, series: str) -> Label:
    """Return the label (title, axes, units) of a series of a run."""
    return label_of(run.facts, series, run[series].shape[len(run.batch) + 1 :])


def attributes(label: Label) -> dict[str, str]:
    """Return title and unit of a series, from its label, as attributes of a Dataset variable.

    If entries have different units, the attributes also have the list of all units.
    """
    found = {"long_name": label.title, "units": label.unit}
    return found if len(set(label.units)) <= 1 else found | {"units_of_entries": ", ".join(label.units)}


def _parameter(run: RunData, name: str, values: Array) -> tuple[tuple[str, ...], Array, dict[str, str]]:
    """Return the axis names, the values and the title attribute of the parameter called `name`, for a Dataset variable.

    The values have the batch shape, then that of the parameter in the model; `values` is repeated if all members share
    it.
    """
    core = run.mechanism.parameters[name].shape
    axes = tuple(f"parameter.{name}_{k}" for k in range(len(core)))
    return (*batch_axes(run), *axes), np.broadcast_to(values, run.batch + core), {"long_name": f"parameter {name}"}
