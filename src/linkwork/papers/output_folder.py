"""Output of the commands that compute results: output folder, whether to draw figures, and exit codes."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path

import linkwork as lw
from linkwork.model.documents.atomic_write import reason_of

PASSED, FAILED = 0, 1  # exit codes: all checks passed, a check failed; the exit code 2 is an error


def ready_folder(folder: Path) -> None:
    """Create the output folder if it does not exist; raise a LinkworkError if it is not writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        raise lw.LinkworkError(f"cannot write to the folder {str(folder)!r}: {reason_of(error)}") from None


def drawing(wanted: bool | None) -> bool:
    """Return whether to draw figures: the choice `wanted` of the user, or if it is None, whether matplotlib is
    installed.
    """
    installed = find_spec("matplotlib") is not None
    if wanted and not installed:
        raise lw.LinkworkError("figures need matplotlib, which is not installed: pip install 'linkwork[plot]'")
    return installed if wanted is None else wanted
