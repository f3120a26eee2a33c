"""Chunks that differ only in constants and slots share one function, with bit-identical results."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from linkwork.algorithms.forward_dynamics import forward_dynamics
from linkwork.compiler import kernel_plan as planning
from linkwork.compiler.code_deduplication import shared_chunks
from linkwork.compiler.graph_partitioning import MAX_OPERATIONS, MIN_OPERATIONS
from linkwork.compiler.graph_partitioning import chunks as cut
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.kernel_plan import Plan, Workspace, chunks_of, plan
from linkwork.compiler.tracing import trace
from linkwork.spatial.scalar import Array, lookup, where
from linkwork.spatial.traceable_loops import repeat
from random_mechanisms import hanging_chain, state, tree

SHARED, STRAIGHT = 0, 1 << 60  # numbers of nodes from which on chunks share code


def with_length(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "MIN_NODES_TO_SHARE", length)


def assert_same_bits_with_and_without_sharing(
    function: Callable[..., Any], arrays: list[Array], result: int, monkeypatch: pytest.MonkeyPatch, *counts: int
) -> None:
    """Assert the same bits with shared code and without, for one state and for a batch."""
    found = {}
    for length in (SHARED, STRAIGHT):
        with_length(length, monkeypatch)
        shapes = [array.shape[1:] for array in arrays]
        key = f"{function.__name__} {shapes} {length}"
        kernel = Kernel(function.__name__, function, shapes, [(result,)], key=key, counts=len(counts))
        (many,), _ = kernel.over_batch(arrays, arrays[0].shape[:1], 1, counts=counts)
        (one,), _ = kernel.over_batch([array[:1] for array in arrays], (1,), 1, counts=counts)
        assert one.tobytes() == many[:1].tobytes()
        found[length] = many
    assert np.isfinite(found[SHARED]).all()
    assert found[SHARED].tobytes() == found[STRAIGHT].tobytes()


# --- the same bits ---


def stages(x: Array) -> Array:
    """Equal stages with different constants, including zeros of both signs, and booleans passed between chunks."""
    numbers = np.random.default_rng(0).normal(size=(150, 3)).tolist()
    table = np.arange(12.0).reshape(4, 3)
    y, was = x, x[0] > 0.0
    for k, (a, b, c) in enumerate(numbers):
        bent = np.sin(y * a) + lookup(table, np.abs(y[0]) * 4.0) * b
        now = bent[0] < c
        zero = where(was, -0.0 if k % 2 else 0.0, bent[1])
        y = np.stack([bent[1] * 0.5 + zero, where(now & was, bent[2], -bent[2]), np.sqrt(np.abs(bent[0]) + 1.0)])
        was = now
    return y


def exchanged(x: Array, count: Any) -> Array:
    """A loop whose state arrays swap places between iterations."""

    def body(k: Any, a: Array, b: Array, c: Array) -> tuple[Array, Array, Array]:
        return b, a, c * 0.5 + a

    a, b, c = repeat(count, body, x, x * 2.0 + 1.0, np.zeros(len(x)))
    return a - b + c


def test_code_sharing_does_not_change_the_bits_of_programs_with_booleans_and_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert_same_bits_with_and_without_sharing(stages, [np.random.default_rng(1).normal(size=(9, 3))], 3, monkeypatch)


def test_loop_that_exchanges_its_state_reads_all_values_before_it_writes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(2).normal(size=(9, 100))
    assert_same_bits_with_and_without_sharing(exchanged, [x], 100, monkeypatch, 5)
    with_length(SHARED, monkeypatch)
    kernel = Kernel("exchanged", exchanged, [(100,)], [(100,)], key="exchanged alone", counts=1)
    (found,), _ = kernel.over_batch([x], (9,), 1, counts=(5,))
    assert np.abs(found - [exchanged(row, 5) for row in x]).max() < 1e-14


@pytest.mark.parametrize("seed", [4, 9])
def test_forward_dynamics_of_trees_has_the_same_bits_with_shared_code(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, start = tree(seed), state(tree(seed), seed)

    def forward(q: Array, v: Array, tau: Array) -> Array:
        return forward_dynamics(m, q, v, tau)

    forward.__name__ = f"forward dynamics of tree {seed}"
    assert_same_bits_with_and_without_sharing(
        forward, [np.tile(x, (5, 1)) for x in (start.q, start.v, start.tau)], m.nv, monkeypatch
    )


# --- how much is shared ---


def planned(links: int, monkeypatch: pytest.MonkeyPatch) -> Plan:
    with_length(SHARED, monkeypatch)
    m = hanging_chain(links).build()
    return plan(trace(lambda q, v, tau: forward_dynamics(m, q, v, tau), [(m.nq,), (m.nv,), (m.nv,)], [(m.nv,)]))


def test_size_of_the_shared_code_hardly_grows_with_the_length_of_a_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (planned(links, monkeypatch) for links in (30, 60))
    texts = [shared_chunks(one) for one in (few, many)]
    assert len(list(chunks_of(many.steps))) > 1.9 * len(list(chunks_of(few.steps)))
    assert len(texts[1]) < 1.3 * len(texts[0])
    largest = max(texts[1], key=lambda text: len(text[1]))
    assert len(largest[0].rows[0]) < len(largest[0].slots) / 2  # slots at fixed distances share a column


def test_cutting_repeated_patterns_at_the_same_places_saves_a_fifth_of_the_operations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def operations() -> int:
        return sum(len(shared.chunk.nodes) for shared, _ in shared_chunks(planned(60, monkeypatch)))

    in_step = operations()
    monkeypatch.setattr(planning, "chunks", lambda graph, work, *_: cut(graph, work, share=False))
    assert in_step < 0.8 * operations()


@pytest.mark.parametrize("share", [False, True])
def test_chunks_contain_each_operation_once_and_obey_the_size_limits(share: bool) -> None:
    for seed in (4, 9, 14):
        m = tree(seed)
        graph = trace(lambda q, v, tau: forward_dynamics(m, q, v, tau), [(m.nq,), (m.nv,), (m.nv,)])  # noqa: B023
        work = [k for k in range(len(graph.nodes)) if graph.operands(k)]
        found = cut(graph, work, share)
        assert [k for chunk in found for k in chunk] == work
        assert all(MIN_OPERATIONS <= len(chunk) <= MAX_OPERATIONS for chunk in found[:-1])


def test_every_code_chunk_has_a_table_row_with_its_memory_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    for shared, chunks in shared_chunks(planned(30, monkeypatch)):
        assert len(shared.rows) == len(chunks)
        for row, chunk in zip(shared.rows, chunks, strict=True):
            found = {at.distance + (0 if at.column is None else row[at.column]) for at in shared.slots.values()}
            used = {k for n in chunk.nodes for k in chunk.graph.operands(n)} - set(chunk.nodes)
            own = used | (chunk.live_out & set(chunk.nodes))
            assert found == {chunk.slots[k] for k in own if k in chunk.slots}


@pytest.mark.parametrize("grouped", [False, True])
def test_no_memory_slot_of_a_kernel_is_allocated_twice(grouped: bool) -> None:
    rng = np.random.default_rng(3)
    workspace, out, most = Workspace(grouped), list[tuple[int, int]](), 0
    for _ in range(2000):
        if out and rng.random() < 0.5:
            workspace.give_back(*out.pop(int(rng.integers(len(out)))))
        else:
            size = int(rng.integers(1, 9)) if grouped else 1
            out.append((workspace.take(size), size))
        used = [slot for first, size in out for slot in range(first, first + size)]
        assert len(used) == len(set(used))
        assert max(used, default=0) < max(workspace.total, 1)
        most = max(most, len(used))
    assert workspace.total <= (1.5 * most if grouped else most)
