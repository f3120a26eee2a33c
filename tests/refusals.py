"""How broken model files of any format must be refused."""

import os
from pathlib import Path

import pytest

import linkwork as lw
from effort import calls
from linkwork.model.documents.loading import find_faults


def refused_at(line: int | None, path: Path, content: str | bytes, says: tuple[str, ...]) -> lw.ModelError:
    """The error that a file of this content is refused with: at its line, in these words, as one fault."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    before = os.listdir(path.parent)
    with pytest.raises(lw.ModelError) as caught:
        lw.load(path)
    error, message = caught.value, str(caught.value)
    assert type(error) is lw.ModelError
    assert (error.file, error.line) == (str(path), line), message
    assert message.startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert len(message) < 2000
    assert [fault.line for fault in find_faults(path) if fault.severity == "error"] == [line]  # one fault, told once
    for words in says:
        assert words in message
    assert os.listdir(path.parent) == before  # nothing is written
    return error


def refused_for_many_faults(most: int, path: Path, content: str, half: str) -> None:
    """A file with hundreds of faults, of which at most so many are told, is refused in few words.

    It is twice the work that one with `half` of them is.
    """
    path.write_text(half)
    _, less = calls(find_faults, path)
    path.write_text(content)
    found, work = calls(find_faults, path)
    assert 100 <= len(found) <= most
    assert work < 2.3 * less
    with pytest.raises(lw.ModelError, match=r"and \d+ more faults") as caught:
        lw.load(path)
    assert len(str(caught.value)) < 2000
