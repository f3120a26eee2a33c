"""Run the `linkwork` command in tests."""

import pytest

from linkwork.app.cli import main


def command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    """Exit code and printed output of a `linkwork` command; fails if it prints a traceback."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    out, errors = capsys.readouterr()
    assert "Traceback" not in out + errors
    return int(ended.value.code or 0), out + errors
