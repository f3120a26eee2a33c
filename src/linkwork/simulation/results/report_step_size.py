"""Report check: whether the steps are small enough to resolve the recorded motion.

Energy and momenta do not show every error: "energy-momentum" conserves them at any step. The second difference of a
velocity that oscillates with the angular frequency w [1/s] is (w dt)^2 times its amplitude, and the error of a method
of order p is proportional to (w dt)^p. The report estimates w dt and compares it with a limit for the order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkwork.simulation.results.report_rows import PASSED, WARNING, Row, member_name
from linkwork.simulation.results.report_tolerances import LEAST_MOVING, LEAST_VARIATION, RESOLUTION
from linkwork.simulation.results.run_data import RunData
from linkwork.simulation.state_series import friction_names
from linkwork.spatial.scalar import Array


def step_resolution(run: RunData) -> Iterator[Row]:
    """Yield the report row that compares the step with the rate at which velocities vary, with a warning for coarse
    steps.

    There is no row for adaptive methods, nor for runs with contacts, switches and other events, because no step size
    resolves velocity jumps. When dry friction stops a joint or the joint begins to slip, there is no velocity jump.
    """
    name, order = "step resolution", run.settings.order
    if order is None or run.mechanism.touches or _velocities_change_suddenly(run) or "v" not in run.recorded:
        return
    if run.settings.every > 1:
        reason = "only some steps were recorded; use every=1"
        yield Row(name, "unknown", note=reason, not_checked=reason)
        return
    found = variation_per_step(run.v).reshape(-1)
    if not found.size:
        return
    number = int(np.argmax(found))
    value, bound = float(found[number]), RESOLUTION[min(order, 4)]
    note = member_name(run, number) + "step times the rate at which velocities vary"
    if value > bound:
        note += f"; coarse for a method of order {order}: use a smaller dt, or report(compare=True)"
    yield Row(name, value, bound, PASSED if value <= bound else WARNING, note)


def _velocities_change_suddenly(run: RunData) -> bool:
    """Return whether a run has events with velocity jumps: any events except stops and starts of joint slip."""
    smooth = {f"{name} {what}" for name in friction_names(run.mechanism) for what in ("slips", "holds")}
    return any(event.impulse or event.what not in smooth for event in run.events)


def variation_per_step(v: Array) -> Array:
    """Return the product (*batch,) of the step and the rate at which velocities v (*batch, T, nv) vary; the largest of
    all nv.

    Velocities that vary much less than others are ignored. After the end of a member, its velocities are nan.
    """
    if v.shape[-2] < 3 or not v.shape[-1]:
        return np.zeros(v.shape[:-2])
    filled = np.where(np.isfinite(v), v, 0.0)
    ended: Array = np.asarray(np.isnan(v).any(axis=-1, keepdims=True))
    count = np.maximum(np.sum(~ended, axis=-2), 1)
    mean = filled.sum(axis=-2) / count
    size = np.sqrt(np.where(ended, 0.0, (filled - mean[..., None, :]) ** 2).sum(axis=-2) / count)
    bends = np.where(ended[..., 2:, :], 0.0, np.diff(filled, n=2, axis=-2))
    second = np.sqrt((bends**2).sum(axis=-2) / count)
    least = np.maximum(LEAST_VARIATION * size.max(axis=-1, keepdims=True), LEAST_MOVING)
    return np.sqrt(np.where(size > least, second / np.maximum(size, least), 0.0)).max(axis=-1)
