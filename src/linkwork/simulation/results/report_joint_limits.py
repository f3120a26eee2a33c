"""Report rows about velocity limits and effort limits of joints, for information: they do not fail a report."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkwork.simulation.effort_limits import effort_limits
from linkwork.simulation.results.report_rows import Row
from linkwork.simulation.results.run_data import RunData
from linkwork.spatial.scalar import Array

COMMANDED = "tau.commanded"


def velocity_and_effort_limits(run: RunData) -> Iterator[Row]:
    """Yield report rows on joint velocities and controller forces that exceed the limits of joints, and on clipped
    forces.
    """
    m = run.mechanism
    speeds = np.concatenate([np.zeros(0), *(joint.velocity_limit for joint in m.leaders)])
    if "v" in run.recorded and np.isfinite(speeds).any():
        yield _exceeded(
            run, "velocity limits", run.v, speeds, "rad/s or m/s", "simulations do not enforce velocity limits"
        )
    efforts = effort_limits(m)
    if "tau" not in run.recorded or not np.isfinite(efforts).any():
        return
    if run.settings.clip_effort:
        yield _clipped(run, efforts)
    else:
        remedy = "use clip_effort=True to clip the forces of controllers other than drives"
        yield _exceeded(run, "effort limits", run.tau, efforts, "N m or N", remedy)


def _exceeded(run: RunData, title: str, series: Array, bound: Array, unit: str, remark: str) -> Row:
    """Return the report row on whether a series (*batch, T, nv) exceeds the joint limits `bound` (nv,).

    `title` is the name of the row. Its note names the joint with the largest ratio of value to limit, with their
    `unit`, and ends with `remark`.
    """
    note = f"{_worst_joint_text(run, series, bound, unit)}; {remark}"
    exceeded = _exceeds(series, bound).any()
    return Row(title, "exceeded" if exceeded else "not exceeded", note=note if exceeded else "")


def _clipped(run: RunData, bound: Array) -> Row:
    """Return the report row on the clipping of controller forces: in which part of the samples, and by how much.

    `bound` (nv,) [N m or N] are the effort limits.
    """
    known = COMMANDED in run.recorded
    found = run[COMMANDED] if known else run.tau
    clipped = _exceeds(found, bound) if known else np.abs(found) >= bound
    samples = np.count_nonzero(np.isfinite(found).all(axis=-1))
    part = np.count_nonzero(clipped.any(axis=-1)) / max(1, samples)
    if not part:
        return Row("effort limits", "not clipped")
    note = (
        _worst_joint_text(run, found, bound, "N m or N", "commanded ")
        if known
        else f"record {COMMANDED!r} to see the excess"
    )
    return Row("effort limits", f"clipped in {100.0 * part:.3g} % of samples", note=note)


def _exceeds(series: Array, bound: Array) -> Array:
    """Return a boolean array (*batch, T, nv): whether each value of a series exceeds its limit in `bound` (nv,)."""
    return np.abs(series) > bound


def _worst_joint_text(run: RunData, series: Array, bound: Array, unit: str, what: str = "") -> str:
    """Return a text that names the joint whose value is largest relative to its limit, with value and limit.

    `series` (*batch, T, nv) has the values, `bound` (nv,) the limits, both in `unit`. `what` precedes the value.
    """
    m = run.mechanism
    largest = np.nanmax(np.abs(series).reshape(-1, m.nv), axis=0, initial=0.0)
    ratios = np.where(largest > 0.0, largest / bound, 0.0)
    worst = int(np.argmax(ratios))
    joint = next(one.name for one in m.leaders if one.v.start <= worst < one.v.stop)
    return f"joint {joint!r}: {what}{largest[worst]:.3g} of {bound[worst]:.3g} {unit}"
