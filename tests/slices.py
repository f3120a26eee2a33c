"""Many samples of a law, of which a few run always and the rest in `make test-all`."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest


def some_quick(samples: Iterable[Any], quick: Collection[Any], name: Callable[[Any], str] = str) -> list[Any]:
    """The samples as parameters of a test, marked slow unless they are among the `quick` ones."""
    return [
        pytest.param(sample, id=name(sample), marks=() if sample in quick else pytest.mark.slow) for sample in samples
    ]
