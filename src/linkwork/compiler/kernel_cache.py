"""Disk cache of compiled machine code. Each file contains its key and a checksum; both are verified on loading."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

MAGIC = b"linkwork object code 1\n"
MAX_BYTES = 1 << 30  # largest size [bytes] of the cache; the least recently used files are removed beyond it
CHECKSUM_BYTES = 32  # length of a SHA-256 checksum


def folder() -> Path:
    """Return the folder of the disk cache: $LINKWORK_CACHE_DIR if set, else the user's cache folder."""
    chosen = os.environ.get("LINKWORK_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return _base("LOCALAPPDATA", "AppData", "Local") / "linkwork" / "cache"
    if sys.platform == "darwin":
        return _base("", "Library", "Caches") / "linkwork"
    return _base("XDG_CACHE_HOME", ".cache") / "linkwork"


def _base(variable: str, *below_home: str) -> Path:
    """Return the folder that an environment variable names, or a default folder if it does not name an absolute path.

    The default is the folder `below_home` in the home folder, or a temporary folder if the user has no home folder.
    """
    named = Path(os.environ.get(variable, ""))
    if named.is_absolute():  # relative paths must be ignored (XDG Base Directory Specification)
        return named
    try:
        return Path.home().joinpath(*below_home)
    except RuntimeError:  # no HOME, and no entry for the user, as in some containers
        user = os.getuid() if hasattr(os, "getuid") else "user"
        return Path(tempfile.gettempdir()) / f"linkwork-{user}"


def digest(*parts: str | bytes) -> str:
    """Return the SHA-256 hash of a sequence of strings or bytes, as a hexadecimal string."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()


def text_digest(*folders: Path) -> str:
    """Return a hash of the text of all Python files in the given folders."""
    walked = (path for folder in folders for path in os.walk(folder))
    files = sorted(os.path.join(path, name) for path, _, names in walked for name in names if name.endswith(".py"))
    return digest(*map(_bytes_of, files))


def _bytes_of(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


def stored(key: str, build: Callable[[], bytes]) -> bytes:
    """Return the machine code cached under `key`; if there is none, call `build`, store its result and return it."""
    code = load(key)
    if code is None:
        code = build()
        store(key, code)
    return code


def load(key: str) -> bytes | None:
    """Return the machine code stored in the disk cache under `key`, or None if there is none.

    The function warns about a damaged file, or a file of another user, and ignores it.
    """
    path = folder() / key[:2] / key
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            state = os.fstat(file.fileno())
            data = file.read() if S_ISREG(state.st_mode) else b""
    except OSError:
        return None
    if hasattr(os, "getuid") and state.st_uid != os.getuid():
        warnings.warn(f"linkwork: the cached kernel {path} belongs to another user; it is ignored", stacklevel=2)
        return None
    head = MAGIC + key.encode() + b"\n"
    body = data[len(head) + CHECKSUM_BYTES :]
    if not data.startswith(head) or hashlib.sha256(body).digest() != data[len(head) : len(head) + CHECKSUM_BYTES]:
        warnings.warn(f"linkwork: the cached kernel {path} is damaged; it is built again", stacklevel=2)
        return None
    with suppress(OSError):
        os.utime(path)  # marks the file as recently used
    return body


def _without_waiting(path: str, flags: int) -> int:
    """Open the file at `path` and return its descriptor; do not wait if the file is a pipe without a writer.

    `flags` are those of `os.open`.
    """
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def store(key: str, body: bytes) -> None:
    """Write machine code `body` to the disk cache under `key`, atomically; warn if the cache is not writable."""
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
        _remove_least_recent()
    except OSError as reason:
        warnings.warn(
            f"linkwork: kernels cannot be stored in {folder()} ({reason}); they are compiled each time", stacklevel=2
        )


def _remove_least_recent() -> None:
    """Remove the least recently used files of the disk cache until its size is at most MAX_BYTES.

    Other processes may remove files at the same time.
    """
    found = []
    for path in folder().glob("??/*"):
        with suppress(OSError):
            state = path.stat()
            found.append((state.st_mtime, state.st_size, path))
    excess = sum(size for _, size, _ in found) - MAX_BYTES
    for _, size, path in sorted(found):
        if excess <= 0:
            break
        with suppress(OSError):
            path.unlink()
        excess -= size
