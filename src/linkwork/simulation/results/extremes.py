"""Extremes over time of series, member by member."""

from __future__ import annotations

import numpy as np

from linkwork.spatial.scalar import Array


def largest_magnitude(series: Array) -> Array:
    """The largest magnitude in time (*batch,) of a series (*batch, T); nan belongs to members that had ended."""
    return np.nan_to_num(np.abs(series), nan=0.0, posinf=np.inf).max(axis=-1, initial=0.0)


def range_over_time(series: Array) -> Array:
    """Largest minus smallest in time (*batch,) of a series (*batch, T)."""
    return np.ptp(np.where(np.isfinite(series), series, series[..., :1]), axis=-1)


def relative(error: Array, scale: Array) -> Array:
    """Error over scale (*batch,); zero where there is no error, whatever the scale."""
    with np.errstate(all="ignore"):
        found = np.asarray(error) / np.asarray(scale)
    return np.where(np.asarray(error) == 0.0, 0.0, np.nan_to_num(found, nan=np.inf, posinf=np.inf))
