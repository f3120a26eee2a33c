"""Hundreds of mutated files give a mechanism or a LinkworkError; `make fuzz` tries a hundred thousand of each."""

import pytest

from fuzz_urdf_and_toml import FORMATS, fuzz


@pytest.mark.parametrize("suffix", FORMATS)
def test_mutated_urdf_and_toml_files_give_only_mechanisms_or_linkwork_errors(suffix: str) -> None:
    found = fuzz(300, suffix)
    assert sum(found.values()) == 300
    assert found["loaded"] > 15  # some mutations leave a robot, so that all of the reader is reached
    assert found["refused"] > 150
