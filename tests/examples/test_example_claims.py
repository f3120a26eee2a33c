"""Every built-in example is listed, builds, and satisfies its claim."""

import pytest

import linkwork as lw

EXAMPLES = {found.name: found for found in lw.examples()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_satisfies_its_claim(name: str) -> None:
    claim = EXAMPLES[name].claim()
    assert claim.holds, claim
    assert 0.0 <= claim.error <= claim.tolerance < 1e-9


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_has_its_file_name_and_a_one_line_description(name: str) -> None:
    found = EXAMPLES[name]
    assert lw.example(name).name == name
    assert found.about
    assert "\n" not in found.about


def test_examples_are_sorted_by_name_and_include_the_papers_mechanisms() -> None:
    assert list(EXAMPLES) == sorted(EXAMPLES)
    assert {"double_pendulum", "two_body_robot", "branched_tree", "free_flyer"} <= set(EXAMPLES)
