"""Rows of memory that compiled loops read and write at computed indices, and visits of selected rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from linkwork.compiler.kernel import Kernel
from linkwork.errors import NotTraceable
from linkwork.spatial.row_arrays import row_array, selected_rows, selected_rows_of_groups
from linkwork.spatial.scalar import Array, lookup, where
from linkwork.spatial.traceable_loops import iterate, repeat

PARTNER = np.array([[3.0], [0.0], [4.0], [1.0], [2.0]])


def filled(x: Array) -> Any:
    """Return a row array of the numbers x (n,) and their squares."""
    rows = row_array(len(x), 2)
    for k, entry in enumerate(x):
        rows = rows.put(float(k), [entry, entry * entry])
    return rows


def partners(x: Array) -> Array:
    """The sum of x_k times the square of its partner, read through a constant table."""
    rows = filled(x)

    def body(k: Any, total: Any) -> tuple[Any]:
        return (total + rows.at(k)[0] * rows.at(lookup(PARTNER, k)[0])[1],)

    return np.array(repeat(len(x), body, 0.0))


def running_sums(x: Array) -> Array:
    """Running sums, written in place to the second column of the rows, and read back at fixed indices."""
    rows = filled(x)

    def body(k: Any, rows: Any, total: Any) -> tuple[Any, Any]:
        total = total + rows.at(k)[0]
        return rows.put(k, [total], first=1), total

    rows, _ = repeat(len(x), body, rows, 0.0)
    return np.array([rows.at(float(k))[1] for k in range(len(x))])


def visited(x: Array) -> Array:
    """Sum, count and last of the positive numbers of x, and all numbers with the positive ones replaced."""
    flags = row_array(len(x), 1)
    for k, entry in enumerate(x):
        flags = flags.put(float(k), [where(entry > 0.0, 1.0, 0.0)])
    rows = filled(x)

    def body(k: Any, rows: Any, total: Any, count: Any, _: Any) -> tuple[Any, ...]:
        here = rows.at(k)[0]
        return rows.put(k, [-here]), total + here, count + 1.0, here

    rows, *found = selected_rows(flags).visit(body, rows, 0.0, 0.0, 99.0)
    return np.array([*found, *(rows.at(float(k))[0] for k in range(len(x)))])


def visited_in_groups(x: Array) -> Array:
    """The sum, and the last place j, of all positive products x_j x_k of positive x_k, computed twice."""
    n, rows = len(x), filled(x)

    def product(k: Any, j: Any) -> Any:
        return 0.01 * rows.at(k)[0] * rows.at(j)[0]

    own, flags = row_array(n, 1), row_array(n * n, 1)
    for k in range(n):
        own = own.put(float(k), [where(x[k] > 0.0, 1.0, 0.0)])
        for j in range(n):
            flags = flags.put(float(n * k + j), [where(product(float(k), float(j)) > 0.0, 1.0, 0.0)])
    positive = selected_rows(own)
    groups = selected_rows_of_groups(flags, n, positive)

    def total_of(k: Any, total: Any, last: Any) -> tuple[Any, Any]:
        return groups.of(k).visit(lambda j, total, _: (total + product(k, j), j), total, last)

    return np.array(repeat(2, lambda _, *state: positive.visit(total_of, *state), 0.0, -1.0))


def relaxed(x: Array) -> Array:
    """A visit inside a loop that each member ends separately: halve numbers above 1 until none is."""
    flags, rows = row_array(len(x), 1), filled(x)
    for k in range(len(x)):
        flags = flags.put(float(k), [where(x[k] > 1.0, 1.0, 0.0)])
    above = selected_rows(flags)

    def sweep(rows: Any) -> tuple[tuple[Any], Any]:
        def halve(k: Any, rows: Any, largest: Any) -> tuple[Any, Any]:
            here = rows.at(k)[0] * 0.5
            return rows.put(k, [here]), where(here > largest, here, largest)

        rows, largest = above.visit(halve, rows, 0.0)
        return (rows,), largest <= 1.0

    (rows,), sweeps, _ = iterate(40, sweep, rows)
    return np.array([sweeps, *(rows.at(float(k))[0] for k in range(len(x)))])


@pytest.mark.parametrize("function", [partners, running_sums, visited, visited_in_groups, relaxed])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_compiled_row_arrays_match_python_for_every_batch_member(
    function: Callable[[Array], Array], count: int
) -> None:
    x = np.random.default_rng(count).normal(size=(count, 5)) * 3.0
    wanted = np.array([function(row) for row in x])
    kernel = Kernel(function.__name__, function, [(5,)], [wanted[0].shape], key=None)
    (found,), finite = kernel.over_batch([x], (count,), 1)
    assert finite
    assert np.abs(found - wanted).max() < 1e-13
    alone = np.array([kernel.over_batch([row[None]], (1,), 1)[0][0][0] for row in x])
    assert (alone == found).all()


def test_row_array_index_that_differs_between_batch_members_is_rejected() -> None:
    with pytest.raises(NotTraceable, match="must be the counter of a loop"):
        Kernel("bad", lambda x: np.array([filled(x).at(x[0])[0]]), [(5,)], [(1,)], key=None).traced()


def test_old_version_of_a_row_array_is_rejected_after_a_write() -> None:
    def stale(x: Array) -> Array:
        rows = filled(x)
        rows.put(0.0, [7.0])
        return np.array([rows.at(0.0)[0]])

    with pytest.raises(NotTraceable, match="later version"):
        Kernel("stale", stale, [(5,)], [(1,)], key=None).traced()
    with pytest.raises(AssertionError, match="later version"):
        stale(np.ones(5))
