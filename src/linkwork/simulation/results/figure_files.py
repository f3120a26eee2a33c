"""Figures that pyplot does not know of, and their files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from linkwork.errors import LinkworkError
from linkwork.model.documents.atomic_write import reason_of, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
DPI = 110


def empty_figure(width: float, height: float, layout: Literal["constrained", "compressed"] = "constrained") -> Figure:
    """A figure of that size in inches, of which pyplot knows nothing; "compressed" is for axes of one scale."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise LinkworkError("figures need matplotlib, which is not installed: pip install 'linkwork[plot]'") from None
    return Figure(figsize=(width, height), layout=layout, dpi=DPI)


def checked_path(path: str | os.PathLike[str] | None) -> Path | None:
    """The file of a figure, checked before anything is drawn; None if there is none."""
    if path is None:
        return None
    try:
        file = Path(path)
    except TypeError:
        raise LinkworkError(f"a path is a text or a pathlib.Path; got {path!r}") from None
    if file.suffix.lower() not in SUFFIXES:
        raise LinkworkError(f"{file}: figures end in {', '.join(SUFFIXES)}; got {file.suffix!r}")
    return file


def save_figure(figure: Figure, file: Path | None) -> None:
    """Write a figure to its file, if it has one; the file is complete or is not written."""
    if file is None:
        return
    try:
        write_whole(file, lambda beside: figure.savefig(beside, format=file.suffix.lower()[1:]))
    except (OSError, ValueError) as error:
        raise LinkworkError(f"{file}: it cannot be written: {reason_of(error)}") from None
