"""References pass through their points with the stated smoothness, hold their end values, and match in kernels."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import linkwork as lw
from linkwork.compiler.graph import Count, Lookup
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.traced_array import lifted
from linkwork.compiler.traced_loops import Rows
from linkwork.compiler.tracing import trace
from linkwork.spatial.scalar import Array
from linkwork.spatial.traceable_loops import record

KINDS = ("hold", "linear", "cubic")
RNG = np.random.default_rng(5)
EVEN = 0.1 * np.arange(12) - 0.3  # not exactly uniform: 0.1 is rounded
UNEVEN = np.cumsum(RNG.uniform(0.02, 0.4, size=21))
VALUES = {12: RNG.normal(size=(12, 3)), 21: RNG.normal(size=(21, 3))}
TIMES = {"even": EVEN, "uneven": UNEVEN}


def reference(kind: str, spacing: str) -> lw.Reference:
    return lw.Reference(TIMES[spacing], VALUES[len(TIMES[spacing])], kind)


def instants(times: Array) -> Array:
    """The times, their neighbouring floats, times between, and times outside on both sides."""
    beside = [np.nextafter(times, -np.inf), times, np.nextafter(times, np.inf)]
    return np.concatenate([*beside, RNG.uniform(times[0] - 1.0, times[-1] + 1.0, size=50)])


@pytest.mark.parametrize("spacing", TIMES)
@pytest.mark.parametrize("kind", KINDS)
def test_reference_passes_through_its_points_and_holds_its_ends(kind: str, spacing: str) -> None:
    r = reference(kind, spacing)
    for t, value in zip(r.times, r.values, strict=True):
        assert (r(t) == value).all()
    for t, value in ((r.times[0] - 1e-12, r.values[0]), (-1e9, r.values[0]), (r.times[-1] + 1e-12, r.values[-1])):
        assert (r(t) == value).all()
        assert (r.rate(t) == 0.0).all()
        assert (r.acceleration(t) == 0.0).all()


@pytest.mark.parametrize("spacing", TIMES)
def test_references_of_kind_hold_and_linear_match_numpy(spacing: str) -> None:
    hold, linear = reference("hold", spacing), reference("linear", spacing)
    times, values = hold.times, hold.values
    for t in instants(times):
        k = np.searchsorted(times, t, side="right") - 1
        assert (hold(t) == values[max(k, 0)]).all()
        assert (hold.rate(t) == 0.0).all()
        expected = [np.interp(t, times, column) for column in values.T]
        assert np.abs(linear(t) - expected).max() < 1e-14
        inside = 0 <= k < len(times) - 1
        slope = (values[k + 1] - values[k]) / (times[k + 1] - times[k]) if inside else np.zeros(3)
        assert (linear.rate(t) == slope).all()


@pytest.mark.parametrize("spacing", TIMES)
@pytest.mark.parametrize("ends", [0.0, RNG.normal(size=(2, 3))])
def test_cubic_reference_is_the_clamped_spline(spacing: str, ends: Any) -> None:
    times = TIMES[spacing]
    r = lw.Reference(times, VALUES[len(times)], end_rates=ends)
    rates = np.broadcast_to(ends, (2, 3))
    clamped: Any = ((1, rates[0]), (1, rates[1]))
    theirs = CubicSpline(times, r.values, bc_type=clamped)
    inside = [t for t in instants(times) if times[0] <= t < times[-1]]
    for order, ours in enumerate((r, r.rate, r.acceleration)):
        scale = np.abs(theirs(times, order)).max()
        for t in inside:
            assert np.abs(ours(t) - theirs(t, order)).max() < 1e-12 * scale


def test_cubic_references_have_continuous_rates_and_inside_continuous_accelerations() -> None:
    r = reference("cubic", "uneven")
    for k, t in enumerate(r.times):
        before, after = np.nextafter(t, -np.inf), np.nextafter(t, np.inf)
        assert np.abs(r.rate(before) - r.rate(after)).max() < 1e-11
        if 0 < k < len(r.times) - 1:
            assert np.abs(r.acceleration(before) - r.acceleration(after)).max() < 1e-9


def test_reference_accepts_values_of_any_shape_and_an_array_of_times() -> None:
    single = lw.Reference([0, 1, 3], [1, 2, 0], "linear")
    assert single(2.0) == 1.0
    assert np.ndim(single(0.5)) == np.ndim(single.acceleration(0.5)) == 0
    assert (single([0.0, 0.5, 9.0]) == [1.0, 1.5, 0.0]).all()
    assert lw.Reference([0, 1], np.zeros((2, 4, 4)))(0.3).shape == (4, 4)


# --- in kernels ---


def followed(r: lw.Reference) -> Callable[[Any], Any]:
    return lambda t: np.stack([r(t), r.rate(t), r.acceleration(t)])


@pytest.mark.parametrize("spacing", TIMES)
@pytest.mark.parametrize("kind", KINDS)
def test_reference_kernel_matches_python_in_every_lane(kind: str, spacing: str) -> None:
    r = reference(kind, spacing)
    kernel = Kernel("followed", lifted(followed(r)), [()], [(3, 3)], key=f"followed {kind} {spacing}")
    t = RNG.permutation(instants(r.times))
    (found,), _ = kernel.over_batch([t], (len(t),), 1)
    expected = np.array([followed(r)(one) for one in t])
    scale = np.abs(expected).max(axis=(0, 2), keepdims=True) + 1e-300
    assert (np.abs(found - expected) / scale).max() < 1e-13
    for k in range(0, len(t), 17):
        assert (kernel.over_batch([t[k]], (), 1)[0][0] == found[k]).all()


@pytest.mark.parametrize(("count", "at_most"), [(12, 1), (21, 5), (1000, 10)])
def test_interval_search_of_a_reference_needs_few_table_lookups(count: int, at_most: int) -> None:
    times = np.arange(count, dtype=float) if count == 12 else np.cumsum(RNG.uniform(0.1, 1.0, count))
    r = lw.Reference(times, np.zeros(count), "linear")
    graph = trace(lambda t: r._piece(t), [()])
    assert sum(isinstance(node[0], Lookup) for node in graph.nodes) <= at_most


def test_simulated_motion_follows_a_reference() -> None:
    r, steps = reference("cubic", "uneven"), Count(0)

    def track(x: Array, count: Any) -> tuple[Any, Any]:
        def step(k: Any, t: Any, x: Array) -> tuple[Any, Any]:
            new = x + 0.05 * (r.rate(t) + np.clip(3.0 * (r(t) - x), -1.0, 1.0))
            return (t + 0.05, new), (new,)

        (_, last), (path,) = record(count, step, x[0], x)
        return last, path

    plain = lifted(track)
    kernel = Kernel("tracked", plain, [(3,)], [(3,), Rows(steps, (3,))], key="tracked", counts=1)
    starts = RNG.normal(size=(6, 3))
    (last, path), _ = kernel.over_batch([starts], (6,), 1, counts=(40,))
    for k in range(6):
        expected = track(starts[k], 40)
        assert np.abs(last[k] - expected[0]).max() < 1e-12
        assert np.abs(path[k] - expected[1]).max() < 1e-12


def test_numpy_functions_of_references_with_constant_components_can_be_compiled() -> None:
    r = lw.Reference([0.0, 1.0], [[0.0, 2.0], [1.0, 2.0]])
    function = lifted(lambda t: np.sin(r(t)) + np.clip(r.rate(t), -0.5, 0.5))
    kernel = Kernel("half constant", function, [()], [(2,)], key="half constant reference")
    ((found,), _) = kernel.over_batch([np.array(0.3)], (), 1)
    assert np.abs(found - (np.sin(r(0.3)) + np.clip(r.rate(0.3), -0.5, 0.5))).max() < 1e-15


# --- what is refused ---


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([0.0, 1.0, 1.0], [1, 2, 3]), r"times\[2\] = 1 is not after times\[1\] = 1"),
        (([0.0], [1]), "n at least 2"),
        (([[0.0, 1.0]], [[1, 2]]), r"expected \(n,\)"),
        (([0.0, 1.0], [1, 2, 3]), r"values have shape \(3,\), expected \(2, ...\)"),
        (([0.0, np.nan], [1, 2]), r"times\[1\] is nan"),
        (([0.0, 1.0], [1, np.inf]), r"values\[1\] is inf"),
        (([0.0, 1.0], ["a", "b"]), "values must be an array of real numbers"),
        (([0.0, 1.0], [1, 2], "cubik"), "Did you mean 'cubic'"),
        (([0.0, 1.0], [1, 2], "cubic", [1, 2, 3]), r"end_rates have shape \(3,\)"),
        (([0.0, 1.0], [1, 2], "linear", 1.0), "end_rates are only for kind 'cubic'"),
    ],
)
def test_invalid_references_are_rejected(arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(lw.LinkworkError, match=says):
        lw.Reference(*arguments)
