"""Atomic writing of files: other programs see the complete old file or the complete new file."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from pathlib import Path


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically: `write` writes a temporary file in the same folder, which then replaces `path`.

    A reader sees the complete old file or the complete new one. If writing fails, the temporary file is removed and the
    error is raised.
    """
    target = Path(os.path.realpath(path))  # resolves symbolic links, so that a link stays a link
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {str(target.parent)!r}; create it first")
    beside = target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}")
    try:
        write(beside)
        with open(beside, "rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def reason_of(error: Exception) -> str:
    """Return the message of an operating-system error in lower case, for use after a colon in another message."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return reason[:1].lower() + reason[1:]
