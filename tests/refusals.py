"""How broken model files of any format must be refused."""

import os
import time
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.model.loading import find_faults


def refused_at(line: int | None, path: Path, content: str | bytes, says: tuple[str, ...]) -> lw.ModelError:
    """The error that a file of this content is refused with: at once, at its line, in these words, as one fault."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    before = os.listdir(path.parent)
    start = time.process_time()
    with pytest.raises(lw.ModelError) as caught:
        lw.load(path)
    assert time.process_time() - start < 3.0
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
