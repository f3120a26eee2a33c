"""The command `linkwork`, as tests call it."""

import pytest

from linkwork.app.cli import main


def command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    """Its exit code and all that it prints; nobody sees a traceback."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return int(ended.value.code or 0), out + err
