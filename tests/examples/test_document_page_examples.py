"""docs/toml_documents.md shows for every example mechanism exactly what `lw.save` writes."""

import re

import numpy as np
import pytest

import linkwork as lw
from document_page_generator import saved, shown

NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


def test_document_page_lists_all_examples_in_order() -> None:
    assert list(shown()) == [found.name for found in lw.examples()]


@pytest.mark.parametrize("name", [found.name for found in lw.examples()])
def test_document_page_shows_the_document_that_save_writes(name: str) -> None:
    """Equal text, except for the last digit of sines and cosines, which differs between processors."""
    (about, document), (expected_about, expected) = shown()[name], saved()[name]
    remedy = "run: python tests/document_page_generator.py"
    assert about == expected_about, remedy
    assert NUMBER.sub("number", document) == NUMBER.sub("number", expected), remedy
    numbers, expected_numbers = (np.array(NUMBER.findall(text), dtype=float) for text in (document, expected))
    assert np.allclose(numbers, expected_numbers, rtol=0, atol=1e-15), remedy
