"""Selection of test samples: a few always run, and the rest run in `make test-all`."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest


def mark_slow_except(samples: Iterable[Any], quick: Collection[Any], name: Callable[[Any], str] = str) -> list[Any]:
    """Return the samples as pytest parameters, marked slow unless they are in `quick`."""
    return [
        pytest.param(sample, id=name(sample), marks=() if sample in quick else pytest.mark.slow) for sample in samples
    ]
