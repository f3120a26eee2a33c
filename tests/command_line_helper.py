"""Helper that runs the `linkwork` command in tests."""

import pytest

from linkwork.app.cli import main


def command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    """Run a `linkwork` command; return its exit code and printed output. A printed traceback fails the test."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    out, errors = capsys.readouterr()
    assert "Traceback" not in out + errors
    return int(ended.value.code or 0), out + errors
