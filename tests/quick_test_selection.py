"""Selection of test samples: a few always run, and the rest run in `make test-all`."""

from collections.abc import Callable, Collection, Iterable
from itertools import product
from typing import Any

import pytest


def mark_slow_except(samples: Iterable[Any], quick: Collection[Any], name: Callable[[Any], str] = str) -> list[Any]:
    """Return the samples as pytest parameters, marked slow unless they are in `quick`."""
    return [
        pytest.param(sample, id=name(sample), marks=() if sample in quick else pytest.mark.slow) for sample in samples
    ]


def mark_slow_pairs(first: Iterable[Any], second: Iterable[Any], name: Callable[[Any], str] = str) -> list[Any]:
    """Return all pairs of two lists as pytest parameters; those that always run have each value at least once."""
    one, two = list(first), list(second)
    quick = {(i % len(one), i % len(two)) for i in range(max(len(one), len(two)))}
    return [
        pytest.param(a, b, id=f"{name(a)}-{name(b)}", marks=() if (i, j) in quick else pytest.mark.slow)
        for (i, a), (j, b) in product(enumerate(one), enumerate(two))
    ]
