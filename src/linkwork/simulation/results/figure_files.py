"""Creation and saving of matplotlib figures without pyplot."""

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
    """Return an empty figure of the size `width` x `height` [inches], without pyplot.

    The layout "compressed" is for axes of equal scale.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise LinkworkError("matplotlib is not installed; install it with: pip install 'linkwork[plot]'") from None
    return Figure(figsize=(width, height), layout=layout, dpi=DPI)


def checked_path(path: str | os.PathLike[str] | None) -> Path | None:
    """Return `path` as the path of a figure file, or None; raise a LinkworkError if its file type is not supported."""
    if path is None:
        return None
    try:
        file = Path(path)
    except TypeError:
        raise LinkworkError(f"path must be a str or a pathlib.Path; got {path!r}") from None
    if file.suffix.lower() not in SUFFIXES:
        raise LinkworkError(f"{file}: unsupported figure type {file.suffix!r}; expected {', '.join(SUFFIXES)}")
    return file


def save_figure(figure: Figure, file: Path | None) -> None:
    """Write a figure to `file`; do nothing if `file` is None. A failed write leaves no partial file."""
    if file is None:
        return
    try:
        write_whole(file, lambda beside: figure.savefig(beside, format=file.suffix.lower()[1:]))
    except (OSError, ValueError) as error:
        raise LinkworkError(f"{file}: the figure cannot be written: {reason_of(error)}") from None
