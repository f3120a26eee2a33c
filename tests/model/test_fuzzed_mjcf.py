"""Hundreds of mutated MJCFs give a mechanism or a LinkworkError; `python tests/fuzz_mjcf.py` tries more."""

from pathlib import Path

import pytest

from fuzz_mjcf import fuzz

pytest.importorskip("mujoco", reason="MuJoCo is not installed (the extra 'mjcf')")


def test_mutated_mjcf_gives_only_mechanisms_or_linkwork_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = fuzz(300)
    assert sum(found.values()) == 300
    assert found["loaded"] > 15  # some mutations leave a model, so that all of the reader is reached
    assert found["refused"] > 150
    assert not list(tmp_path.iterdir())  # MuJoCo keeps a log of its warnings, if it is let
