"""The fast entry of a kernel takes one state; it passes all other calls on to the method it replaces."""

import gc
import weakref

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.graph import Count
from linkwork.compiler.kernel import Kernel
from linkwork.spatial.scalar import Array
from linkwork.spatial.traceable_loops import repeat

M = lw.example("heavy_top")


@pytest.fixture
def d() -> lw.Dynamics:
    found = lw.compile(M)
    found.forward_dynamics(M.neutral(), np.ones(3), np.zeros(3))  # now the quick entry is in place
    assert type(found.forward_dynamics).__name__ == "builtin_function_or_method"
    return found


def test_fast_call_returns_a_new_array_each_time(d: lw.Dynamics) -> None:
    first = d.forward_dynamics(M.neutral(), np.ones(3), np.zeros(3))
    copy = first.copy()
    second = d.forward_dynamics(M.random(0), np.zeros(3), np.ones(3))
    assert second is not first
    assert (first == copy).all()
    assert first.shape == (3,)
    assert first.flags.owndata
    assert first.flags.writeable


def test_fast_call_takes_batches_lists_keywords_and_wrenches(d: lw.Dynamics) -> None:
    q, v, tau = M.random(0), np.ones(3), np.zeros(3)
    one = d.forward_dynamics(q, v, tau)
    assert (d.forward_dynamics(q[None], v, tau)[0] == one).all()
    assert (d.forward_dynamics(q.tolist(), [1, 1, 1], tau) == one).all()
    assert (d.forward_dynamics(q=q, v=v, tau=tau) == one).all()
    assert (d.forward_dynamics(np.repeat(q, 2)[::2], v, tau) == one).all()
    assert (d.forward_dynamics(q, v, tau, np.zeros((1, 6))) == one).all()
    q.flags.writeable = False
    assert (d.forward_dynamics(q, v, tau) == one).all()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((np.zeros(3), np.zeros(3), np.zeros(3)), lw.ShapeError),
        ((M.neutral(), np.zeros(4), np.zeros(3)), lw.ShapeError),
        ((M.neutral(), "text", np.zeros(3)), lw.ShapeError),
        ((M.neutral(), None, None), lw.ShapeError),
        ((M.neutral(), np.array([np.nan, 0, 0]), np.zeros(3)), lw.NonFinite),
        ((np.zeros(4), np.zeros(3), np.zeros(3)), lw.NonFinite),
        ((M.neutral(), b"123456789012345678901234", np.zeros(3)), lw.ShapeError),
        ((M.neutral(), np.zeros(3, dtype=np.int64), np.zeros((3, 3)).T[1:]), lw.LinkworkError),
    ],
)
def test_fast_call_with_invalid_arguments_raises_the_errors_of_the_method(
    d: lw.Dynamics, arguments: tuple, error: type
) -> None:
    good = (M.random(1), np.ones(3), np.zeros(3))
    before = d.forward_dynamics(*good)
    if error is lw.LinkworkError:  # a batch of two after all
        assert d.forward_dynamics(*arguments).shape == (2, 3)
    else:
        with pytest.raises(error):
            d.forward_dynamics(*arguments)
    assert (d.forward_dynamics(*good) == before).all()


def test_fast_call_with_a_wrong_number_of_arguments_raises_type_error(d: lw.Dynamics) -> None:
    with pytest.raises(TypeError):
        d.forward_dynamics(M.neutral())  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError):
        d.forward_dynamics(M.neutral(), np.zeros(3), np.zeros(3), nonsense=1)  # pyright: ignore[reportCallIssue]


def test_fast_call_keeps_its_docstring_and_name(d: lw.Dynamics) -> None:
    assert "Return the accelerations" in (d.forward_dynamics.__doc__ or "")
    assert d.forward_dynamics.__name__ == "forward_dynamics"


def test_fast_call_stays_usable_after_its_dynamics_is_deleted_and_leaks_no_memory() -> None:
    d = lw.compile(M)
    d.forward_dynamics(M.neutral(), np.ones(3), np.zeros(3))
    quick, expected = d.forward_dynamics, d.forward_dynamics(M.random(0), np.ones(3), np.zeros(3))
    gone = weakref.ref(d)
    del d
    gc.collect()
    assert (quick(M.random(0), np.ones(3), np.zeros(3)) == expected).all()
    del quick
    gc.collect()
    assert gone() is None


def test_repeated_fast_calls_leak_no_references(d: lw.Dynamics) -> None:
    import sys

    q, v, tau = M.random(0), np.ones(3), np.zeros(3)
    before = [sys.getrefcount(x) for x in (q, v, tau)]
    for _ in range(1000):
        d.forward_dynamics(q, v, tau)
        d.forward_dynamics(q, v, [0, 0, 0])
    assert [sys.getrefcount(x) for x in (q, v, tau)] == before


def test_fast_calls_of_one_kernel_have_separate_iteration_counts() -> None:
    def powers(x: Array, count: Count) -> Array:
        return repeat(count, lambda k, y: (y * x,), np.ones(2))[0]

    kernel = Kernel("powers", powers, [(2,)], [(2,)], None, counts=1)
    x = np.array([2.0, -3.0])
    calls = {n: kernel.fast_call(lambda x: "general", "powers", "", (n,)) for n in (0, 1, 5)}
    for n in (5, 0, 1, 5):
        assert np.array_equal(calls[n](x), x**n)
        assert np.array_equal(kernel.over_batch([x], (), 1, counts=(n,))[0][0], x**n)
    assert calls[5](1e200 * x) == "general"  # not finite
