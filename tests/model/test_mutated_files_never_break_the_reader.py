"""Two thousand mutated URDFs end with a mechanism or a LinkworkError; `make fuzz` tries a hundred thousand."""

from fuzz_urdf import fuzz


def test_nothing_but_mechanisms_and_linkwork_errors() -> None:
    found = fuzz(2000)
    assert sum(found.values()) == 2000
    assert found["loaded"] > 100  # some mutations leave a robot, so that all of the reader is reached
    assert found["refused"] > 1000
