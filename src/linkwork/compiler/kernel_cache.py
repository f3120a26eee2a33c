"""Object code kept on disk between runs, never trusted blindly: each file carries its key and a checksum."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

MAGIC = b"linkwork object code 1\n"
MOST_BYTES = 1 << 30  # kept; beyond that the kernels that were not used for longest go


def folder() -> Path:
    """Where object code is kept: $LINKWORK_CACHE_DIR, or the user's cache folder."""
    chosen = os.environ.get("LINKWORK_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "linkwork" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "linkwork"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "linkwork"


def digest(*parts: str | bytes) -> str:
    """A name for what the parts say together."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()


def load(key: str) -> bytes | None:
    """What was kept under `key`, or None if there is nothing sound; a damaged file is told of and ignored."""
    path = folder() / key[:2] / key
    try:
        with path.open("rb") as file:
            owner = os.fstat(file.fileno()).st_uid
            data = file.read()
    except OSError:
        return None
    if hasattr(os, "getuid") and owner != os.getuid():
        warnings.warn(f"linkwork: the cached kernel {path} belongs to another user; it is not used", stacklevel=2)
        return None
    head = MAGIC + key.encode() + b"\n"
    body = data[len(head) + 32 :]
    if not data.startswith(head) or hashlib.sha256(body).digest() != data[len(head) : len(head) + 32]:
        warnings.warn(f"linkwork: the cached kernel {path} is damaged; it is built anew", stacklevel=2)
        return None
    with suppress(OSError):
        os.utime(path)  # used now
    return body


def keep(key: str, body: bytes) -> None:
    """Keep `body` under `key`, whole or not at all; where that is impossible, say so and go on."""
    path = folder() / key[:2] / key
    data = MAGIC + key.encode() + b"\n" + hashlib.sha256(body).digest() + body
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".part-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        _make_room()
    except OSError as reason:
        warnings.warn(
            f"linkwork: kernels cannot be kept in {folder()} ({reason}); they are built each time", stacklevel=2
        )


def _make_room() -> None:
    """Remove what was not used for longest until the rest is within bounds; others may do so at the same time."""
    found = []
    for path in folder().glob("??/*"):
        with suppress(OSError):
            state = path.stat()
            found.append((state.st_mtime, state.st_size, path))
    excess = sum(size for _, size, _ in found) - MOST_BYTES
    for _, size, path in sorted(found):
        if excess <= 0:
            break
        with suppress(OSError):
            path.unlink()
        excess -= size
