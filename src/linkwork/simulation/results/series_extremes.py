"""Largest magnitude and range of a recorded series over time, for each batch member."""

from __future__ import annotations

import numpy as np

from linkwork.spatial.scalar import Array


def largest_magnitude(series: Array) -> Array:
    """Return the largest magnitude over time (*batch,) of a series (*batch, T), in its unit; nan of ended members
    counts as 0.
    """
    return np.nan_to_num(np.abs(series), nan=0.0, posinf=np.inf).max(axis=-1, initial=0.0)


def range_over_time(series: Array) -> Array:
    """Return maximum minus minimum over time (*batch,) of a series (*batch, T); nan after the end of a member is
    ignored.
    """
    return np.ptp(np.where(np.isfinite(series), series, series[..., :1]), axis=-1)


def relative(error: Array, scale: Array) -> Array:
    """Return the relative error `error` / `scale` (*batch,); 0 where the error is 0, inf where only the scale is 0."""
    with np.errstate(all="ignore"):
        found = np.asarray(error) / np.asarray(scale)
    return np.where(np.asarray(error) == 0.0, 0.0, np.nan_to_num(found, nan=np.inf, posinf=np.inf))
