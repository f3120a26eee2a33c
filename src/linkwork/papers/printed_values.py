"""Comparison of values that linkwork computes with the values that a paper prints, and frames in a plane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.spatial import Transform
from linkwork.spatial.rotation import matrix_about_axis, rpy_from_matrix
from linkwork.spatial.scalar import Array

# difference that counts as round-off, relative to the largest number of a value, or to 1 if that is larger
AGREES = 1e-12
UPWARD = np.array([0.0, 0.0, 1.0])


class Compared(NamedTuple):
    """A vector or matrix: its `symbol`, its meaning, its value `found` by linkwork, and the `printed` value.

    If the paper has a misprint, `printed` is the corrected value, and `correction` names the misprint.
    """

    symbol: str
    about: str
    found: Array
    printed: Array
    correction: str = ""

    @property
    def agrees(self) -> bool:
        """Whether both values differ by round-off only."""
        return bool(np.abs(self.found - self.printed).max() <= AGREES * max(1.0, np.abs(self.printed).max()))

    def text(self) -> str:
        """Return the value found by linkwork as text, with dots in place of zeros."""
        cells = [[_cell(x) for x in row] for row in np.atleast_2d(self.found)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(" ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)


def _cell(x: float) -> str:
    """Return a number as text, or a dot if it is zero."""
    return f"{x:.4g}" if abs(x) > AGREES else "."


def planar(x: float, y: float, angle: float) -> Transform:
    """Return the pose of a frame at the position x, y, 0 [m], rotated about z by `angle` [rad]."""
    return Transform(matrix_about_axis(UPWARD, angle), np.array([x, y, 0.0]))


def position(X: Transform) -> Array:
    """Return the position six-vector (6,) of a frame with the pose X: x, y, z [m], roll, pitch, yaw [rad]."""
    return np.concatenate([X.p, rpy_from_matrix(X.R)])


def position_in_plane(x: float, y: float, angle: float) -> Array:
    """Return the position six-vector (6,) of a planar frame at x, y [m] with the yaw angle `angle` [rad].

    The yaw angle is reduced to the interval from -pi to pi.
    """
    return np.array([x, y, 0.0, 0.0, 0.0, np.arctan2(np.sin(angle), np.cos(angle))])
