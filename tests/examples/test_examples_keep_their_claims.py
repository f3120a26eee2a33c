"""Every built-in machine is listed, builds, and shows what it claims."""

import pytest

import linkwork as lw

EXAMPLES = {found.name: found for found in lw.examples()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_its_claim_holds(name: str) -> None:
    claim = EXAMPLES[name].claim()
    assert claim.holds, claim
    assert 0.0 <= claim.error <= claim.tolerance < 1e-9


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_has_its_file_name_and_one_line_about_it(name: str) -> None:
    found = EXAMPLES[name]
    assert lw.example(name).name == name
    assert found.about
    assert "\n" not in found.about


def test_examples_are_sorted_by_name_and_hold_the_papers_machines() -> None:
    assert list(EXAMPLES) == sorted(EXAMPLES)
    assert {"double_pendulum", "two_body_robot", "branched_tree", "free_flyer"} <= set(EXAMPLES)
