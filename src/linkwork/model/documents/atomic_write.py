"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from pathlib import Path


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a file beside the one at `path`, which it then replaces.

    Whoever reads sees all of the old file or all of the new one; what fails is raised and leaves nothing behind.
    """
    target = Path(os.path.realpath(path))  # the file that a link leads to, not the link
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {str(target.parent)!r}; make it first")
    beside = target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}")
    try:
        write(beside)
        with open(beside, "rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def reason_of(error: Exception) -> str:
    """Why the operating system refused something, to be continued from a colon."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return reason[:1].lower() + reason[1:]
