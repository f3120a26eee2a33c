"""Memory of large results is reused only when no reference to the result or to a view of it is left."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler import result_buffers
from linkwork.compiler.result_buffers import LARGE_BYTES, Results
from random_mechanisms import state, tree

SHAPE = (LARGE_BYTES // (8 * 64), 8, 8)


def test_memory_of_a_result_is_not_reused_while_it_is_referenced() -> None:
    memory = Results()
    first = memory.new(SHAPE)
    view, buffer, address = first[3, :2], first.data, first.ctypes.data
    del first
    second = memory.new(SHAPE)
    assert second.ctypes.data != address
    view[:] = 1.0
    second[:] = 2.0
    del second
    third = memory.new(SHAPE)
    third[:] = 3.0
    assert (view == 1.0).all()
    assert np.asarray(buffer)[3, 0, 0] == 1.0


def test_memory_of_a_released_result_is_reused_if_it_fits() -> None:
    memory = Results()
    address = memory.new(SHAPE).ctypes.data
    again = memory.new(SHAPE)
    assert again.ctypes.data == address
    assert address % 64 == 0
    del again
    assert memory.new((SHAPE[0] + 1, 8, 8)).shape == (SHAPE[0] + 1, 8, 8)


def test_memory_that_waits_for_reuse_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_buffers, "MAX_SPARE_BYTES", LARGE_BYTES - 1)
    memory = Results()
    memory.new(SHAPE)
    assert memory.spare is None


def test_result_array_stays_valid_after_its_kernel_is_deleted() -> None:
    m = lw.example("double_pendulum")
    q = np.tile([0.3, -0.4], (LARGE_BYTES // 32 + 1, 1))
    found = lw.compile(m).mass_matrix(q)
    assert (found == found[0]).all()


@pytest.mark.parametrize("remainder", [0, 1, 2, 3])
def test_results_of_large_batches_are_bit_identical_to_those_of_small_batches(remainder: int) -> None:
    """Non-temporal stores (aligned, whole tiles) and cached stores give the same bits."""
    m = next(m for m in map(tree, range(300)) if m.nv > 4 and m.nv % 4 == remainder)
    d, q = lw.compile(m), np.array([state(m, seed).q for seed in range(61)])
    turns = -(-LARGE_BYTES // (8 * m.nv**2 * len(q)))
    many, few = np.tile(q, (turns, 1)), np.tile(d.mass_matrix(q), (turns, 1, 1))
    assert np.array_equal(d.mass_matrix(many), few)
    beside = np.empty(few.size + 1)[1:].reshape(few.shape)
    assert np.array_equal(d.mass_matrix(many, out=beside), few)
