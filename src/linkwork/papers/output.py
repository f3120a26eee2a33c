"""Output folders, whether figures are drawn, and exit codes: shared by commands that compute something."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path

import linkwork as lw
from linkwork.model.documents.atomic_write import reason_of

TRUSTED, DOUBTED = 0, 1  # exit codes; errors are 2


def ready_folder(folder: Path) -> None:
    """Make a folder if it is not there; a LinkworkError unless files can be written in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        raise lw.LinkworkError(f"nothing can be written in the folder {str(folder)!r}: {reason_of(error)}") from None


def drawing(wanted: bool | None) -> bool:
    """Whether figures are drawn: if they are wanted, or by themselves where matplotlib is installed."""
    there = find_spec("matplotlib") is not None
    if wanted and not there:
        raise lw.LinkworkError("figures need matplotlib, which is not installed: pip install 'linkwork[plot]'")
    return there if wanted is None else wanted
