"""`out` may share memory with an input: the result is as without `out`."""

import numpy as np
import pytest

import linkwork as lw


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("shift", [0, 1, 7, 50])
def test_result_array_out_may_overlap_an_input(target: str, shift: int) -> None:
    d, rng = lw.compile(lw.example("double_pendulum"), target=target), np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 100, 2))
    expected = d.forward_dynamics(q, v, tau)
    for k in range(3):
        shared = np.zeros((150, 2))
        inputs = [q, v, tau]
        shared[:100] = inputs[k]
        inputs[k] = shared[:100]
        np.testing.assert_array_equal(d.forward_dynamics(*inputs, out=shared[shift : shift + 100]), expected)


def test_result_of_a_single_call_may_overwrite_its_input() -> None:
    d = lw.compile(lw.example("double_pendulum"))
    q, v, tau = np.array([0.3, 0.2]), np.array([1.0, -1.0]), np.array([0.1, 0.2])
    expected = d.forward_dynamics(q, v, tau)
    for _ in range(2):  # the second call goes through the compiled entry point
        written = v.copy()
        np.testing.assert_array_equal(d.forward_dynamics(q, written, tau, out=written), expected)
