"""User functions in plain NumPy give the same results in kernels as on floats."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.traced_array import lifted
from linkwork.compiler.traced_ufuncs import NUMBERWISE
from linkwork.compiler.tracing import trace
from linkwork.spatial.scalar import Array

GAINS = np.array([[2.0, 0.1, 0.0], [0.0, 1.0, -0.5], [0.3, 0.0, 3.0]])


def pd(t: Any, q: Array, v: Array) -> Array:
    """Feedback to a moving target, with limits and a dead band."""
    target = np.stack([np.sin(t), np.tanh(t - 1.0), np.minimum(t, 1.0)])
    error = target - q
    error = np.where(np.abs(error) > 0.05, error, 0.0)
    tau = GAINS @ error - 0.3 * v
    return np.clip(tau, -1.0, 1.0)


def mixed(t: Any, q: Array, v: Array) -> Array:
    """Return a result of plain and traced values in one array, in-place changes, reductions and norms."""
    out = np.zeros_like(q)
    out[0] = np.linalg.norm(q[:2]) + np.hypot(v[0], v[1])
    out[1] = np.max(q) - np.min(v)
    out[2] = np.sum(q * v) / (1.0 + np.dot(q, q))
    out += np.concatenate([q[:1], np.ones(2)]) * np.exp(-np.abs(t))
    return out * 2.0


def choices(t: Any, q: Array, v: Array) -> list[Any]:
    ahead = (q > 0.0) & ~(v > 0.5) | (q <= -0.5)
    both = np.logical_and(q[0] < v[0], q[1] != v[1])
    return [
        lw.where(both, q[0] ** 2, np.sqrt(np.abs(q[0]))),
        np.where(ahead, q, v).sum(),
        np.sign(q[2]) * np.floor(3.0 * v[2]) + np.arctan2(q[0], 2.0) + np.arctan2(-1.0, v[1]) + np.arctan(q[1]),
    ]


def geometry(t: Any, q: Array, v: Array) -> Array:
    axis = np.cross(q, v)
    frame = np.array([[np.cos(t), -np.sin(t), 0.0], [np.sin(t), np.cos(t), 0.0], [0.0, 0.0, 1.0]])
    return frame @ axis + np.outer(q, v)[1] + np.einsum("ij,j->i", GAINS, q) + np.mean(v) + v.T.reshape(3)[::-1]


@pytest.mark.parametrize("function", [pd, mixed, choices, geometry])
def test_traced_function_matches_numpy(function: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    t, q, v = rng.normal(size=40), rng.normal(size=(40, 3)), rng.normal(size=(40, 3))
    kernel = Kernel(function.__name__, lifted(function), [(), (3,), (3,)], [(3,)], key=function.__name__)
    (found,), _ = kernel.over_batch([t, q, v], (40,), 1)
    expected = np.array([function(t[k], q[k], v[k]) for k in range(40)])
    assert np.abs(found - expected).max() < 1e-13


ONE = [u for u in NUMBERWISE if u.nin == 1 and u is not np.logical_not]


@pytest.mark.parametrize("ufunc", ONE, ids=lambda u: u.__name__)
def test_every_unary_ufunc_matches_numpy(ufunc: np.ufunc) -> None:
    x = np.linspace(0.05, 0.95, 20)
    signed = x if ufunc in (np.sqrt, np.log) else np.concatenate([-x, x])
    kernel = Kernel(ufunc.__name__, lifted(ufunc), [(2,)], [(2,)], key=f"one {ufunc.__name__}")
    (found,), _ = kernel.over_batch([signed.reshape(-1, 2)], (len(signed) // 2,), 1)
    assert np.abs(found.ravel() - ufunc(signed)).max() < 1e-15 * 64


def test_traced_functions_propagate_nan() -> None:
    limited = lifted(lambda x: np.clip(np.sign(x) + np.tanh(x), -1.0, 1.0))
    kernel = Kernel("limited", limited, [(1,)], [(1,)], key="limited")
    (found,), finite = kernel.over_batch([np.array([[np.nan], [800.0], [-800.0], [0.0]])], (4,), 1)
    assert np.isnan(found[0])
    assert (found[1:, 0] == [1.0, -1.0, 0.0]).all()
    assert not finite


def branches(x: Array) -> Any:
    return x[0] if x[0] > 0.0 else x[1]


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (branches, "branches on a traced number; write linkwork.where"),
        (lambda x: max(x[0], 0.0), "branches on"),
        (lambda x: float(x[0]), "needs the value"),
        (lambda x: np.sin(np.array([x[0], 1.0])), "np.stack"),
        (lambda x: x[np.argmax(x)], "branches on"),
    ],
)
def test_functions_that_cannot_be_traced_are_rejected(function: Callable[..., Any], says: str) -> None:
    with pytest.raises(lw.NotTraceable, match=says) as caught:
        trace(lifted(function), [(3,)])
    assert "test_numpy_tracing.py:" in str(caught.value) or "np.stack" in str(caught.value)
