"""Table lookup at a computed index gives the same values in kernels as on floats, with a separate row per lane."""

from typing import Any

import numpy as np
import pytest

from linkwork.compiler.automatic_differentiation import pullback, pushforward
from linkwork.compiler.graph import Count, Graph, Lookup, fused, pruned, verify
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.kernel_plan import plan
from linkwork.compiler.targets.cpu import cpu_target
from linkwork.compiler.targets.cpu.kernel_printer import emit
from linkwork.compiler.targets.cpu.llvm_printer import table_definition
from linkwork.compiler.targets.target_interface import Port, Program
from linkwork.compiler.traced_loops import Rows
from linkwork.compiler.tracing import trace
from linkwork.spatial.scalar import Array, lookup
from linkwork.spatial.traceable_loops import record

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(13, 3))
TABLE[4] = [0.0, -0.0, np.inf]
INDICES = np.array([0.0, -0.0, 0.999, 1.0, 5.5, 11.999, 12.0, 12.5, 13.0, 1e300, np.inf, -1.0, -1e300, -np.inf, np.nan])


def lookups(graph: Graph) -> list[Lookup]:
    return [node[0] for node in graph.nodes if isinstance(node[0], Lookup)]


def test_lookup_index_is_rounded_down_and_clipped_to_the_table() -> None:
    rows = [0, 0, 0, 1, 5, 11, 12, 12, 12, 12, 12, 0, 0, 0, 0]
    for index, row in zip(INDICES, rows, strict=True):
        assert (lookup(TABLE, index) == TABLE[row]).all()
        assert lookup(TABLE[:, 0], float(index)) == TABLE[row, 0]


@pytest.mark.parametrize("count", [1, 2, 3, 15])
def test_every_lane_looks_up_its_own_table_row(count: int) -> None:
    kernel = Kernel("rows", lambda x: lookup(TABLE, x), [()], [(3,)], key="rows of a table")
    (found,), _ = kernel.over_batch([INDICES[:count]], (count,), 1)
    expected = np.array([lookup(TABLE, index) for index in INDICES[:count]])
    assert found.tobytes() == expected.tobytes()  # to the bit: also the sign of zero
    for k in range(count):
        assert kernel.over_batch([INDICES[k]], (), 1)[0][0].tobytes() == expected[k].tobytes()


@pytest.mark.parametrize("width", [2, 4, 8])
def test_table_lookup_reads_the_same_entries_at_every_vector_width(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    other = cpu_target.processor()._replace(width=width)
    monkeypatch.setattr(cpu_target, "processor", lambda: other)
    kernel = Kernel("rows", lambda x: lookup(TABLE, x), [()], [(3,)], key="rows of a table at any width")
    (found,), _ = kernel.over_batch([INDICES], (len(INDICES),), 1)
    assert found.tobytes() == np.array([lookup(TABLE, index) for index in INDICES]).tobytes()


def test_lookup_tables_can_have_one_or_several_axes() -> None:
    table = RNG.normal(size=(5, 2, 2))

    def function(x: Any) -> Any:
        return lookup(table, x).T @ np.array([lookup(table[:, 0, 0], x + 1.0), 2.0])

    kernel = Kernel("axes", function, [()], [(2,)], key="axes of a table")
    x = RNG.uniform(-1, 6, size=30)
    (found,), _ = kernel.over_batch([x], (30,), 1)
    assert np.abs(found - np.array([function(one) for one in x])).max() < 1e-15


def test_index_of_a_table_lookup_can_come_from_another_lookup() -> None:
    links = np.array([3.0, 0.0, 4.0, 2.0, 1.0])
    kernel = Kernel("links", lambda x: lookup(links, lookup(links, x)), [()], [()], key="links of a table")
    (found,), _ = kernel.over_batch([np.arange(5.0)], (5,), 1)
    assert (found == links[links.astype(int)]).all()


def repeated_lookup(start: Any, steps: Any) -> tuple[Any, Any]:
    def step(k: Any, x: Any) -> tuple[Any, Any]:
        row = lookup(TABLE[:, :2], x + k)
        return (x + row[0],), (row,)

    (last,), (rows,) = record(steps, step, start)
    return last, rows


def test_table_lookup_inside_a_compiled_loop_matches_python() -> None:
    steps = Count(0)
    kernel = Kernel("walked", repeated_lookup, [()], [(), Rows(steps, (2,))], key="walk along a table", counts=1)
    start = RNG.uniform(0.0, 9.0, size=11)
    (last, rows), _ = kernel.over_batch([start], (11,), 1, counts=(6,))
    for k in range(11):
        expected = repeated_lookup(start[k], 6)
        assert last[k] == expected[0]
        assert (rows[k] == expected[1]).all()


# --- the graph ---


def test_table_lookups_with_constant_results_are_folded() -> None:
    same = np.column_stack([np.full(4, 2.5), np.arange(4.0)])
    graph = trace(lambda x: [*lookup(same, x[0]), lookup(same, x[0])[1], *lookup(same, 2.0 + 0.0 * x[1])], [(2,)])
    assert [(one.size, one.column) for one in lookups(graph)] == [(2, 1)]
    assert [graph.value(k) for k in graph.outputs] == [2.5, None, None, 2.5, 2.0]


def test_lookups_drop_unused_table_columns_and_still_fuse_multiply_adds() -> None:
    graph = fused(trace(lambda x: lookup(TABLE, x[0])[0] * x[1] + lookup(TABLE, x[1])[0], [(2,)]))
    verify(graph)
    assert [one.column for one in lookups(graph)] == [0, 0]
    assert any(node[0] == "fma" for node in graph.nodes)


@pytest.mark.parametrize("node", [(), (0, 0)])
def test_graph_verifier_rejects_invalid_operands_of_a_table_lookup(node: tuple[int, ...]) -> None:
    graph = pruned(trace(lambda x: lookup(TABLE, x[0])[0], [(1,)]))
    verify(graph)
    graph.nodes[-1] = (graph.nodes[-1][0], *node)
    with pytest.raises(AssertionError):
        verify(graph)


def test_equal_lookup_tables_are_printed_once_into_the_code() -> None:
    graph = trace(lambda x: [*lookup(TABLE, x[0]), *lookup(TABLE.copy(), x[1]), lookup(TABLE[:, 0], x[0])], [(2,)])
    text = emit(Program(plan(graph), [Port(2)], [Port(7)]), 4).text
    assert text.count("private unnamed_addr constant [39 x double]") == 1
    assert text.count("private unnamed_addr constant [13 x double]") == 1
    assert table_definition("t", np.array([1.0]).tobytes()).endswith("[double 0x3FF0000000000000], align 64")


def test_derivative_of_a_table_lookup_is_zero() -> None:
    def function(x: Array) -> Array:
        y = lookup(TABLE, x[0])[:2] * x[1]
        return np.concatenate([pushforward(y, x, np.eye(2)).ravel(), pullback(y, x, np.eye(2)).ravel()])

    kernel = Kernel("slopes", function, [(2,)], [(8,)], key="slopes of a table")
    ((found,), _) = kernel.over_batch([np.array([2.5, 7.0])], (), 1)
    a, b = TABLE[2, :2]
    assert (found == [0.0, 0.0, a, b, 0.0, a, 0.0, b]).all()
