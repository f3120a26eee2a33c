"""Checks that invalid model files of any format are rejected with the right error."""

import os
from pathlib import Path

import pytest

import linkwork as lw
from call_counting import count_calls
from linkwork.model.documents.loading import find_faults


def assert_rejected_at(line: int | None, path: Path, content: str | bytes, says: tuple[str, ...]) -> lw.ModelError:
    """Assert that loading a file with this content raises one fault at this line whose message has these words.

    Return the error.
    """
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    before = os.listdir(path.parent)
    with pytest.raises(lw.ModelError) as caught:
        lw.load(path)
    error, message = caught.value, str(caught.value)
    assert type(error) is lw.ModelError
    assert (error.file, error.line) == (str(path), line), message
    assert message.startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert len(message) < 2000
    assert [fault.line for fault in find_faults(path) if fault.severity == "error"] == [line]  # reported once
    for words in says:
        assert words in message
    assert os.listdir(path.parent) == before  # nothing is written
    return error


def assert_many_faults_rejected(most: int, path: Path, content: str, half: str) -> None:
    """Assert that a file with hundreds of faults is rejected with a short message of at most `most` faults.

    It takes at most 2.3 times the work of the file `half`, which has half of the faults.
    """
    path.write_text(half)
    _, less = count_calls(find_faults, path)
    path.write_text(content)
    found, work = count_calls(find_faults, path)
    assert 100 <= len(found) <= most
    assert work < 2.3 * less
    with pytest.raises(lw.ModelError, match=r"and \d+ more faults") as caught:
        lw.load(path)
    assert len(str(caught.value)) < 2000
