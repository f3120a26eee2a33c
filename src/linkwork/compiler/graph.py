"""Expression graphs: equal expressions are one node, constants are folded, and unused nodes are pruned.

A node is a tuple (operation, operand, ...). Operands are indices of earlier nodes, so nodes are in order of evaluation.
`("const", value)` and `("input", k)` are the leaves. An operation is a name, a `Loop` over another graph, a `Value` of
a loop, a `Lookup` in a table, or a `ReadRow` or `WriteRow` of memory.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork.compiler.kernel_shapes import Count
from linkwork.compiler.row_array_operations import ReadRow, WriteRow
from linkwork.spatial.random_numbers import pair

Node = tuple[Any, ...]

UNARY: dict[str, Callable[[float], float]] = {
    "neg": lambda a: -a,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "exp": math.exp,
    "log": math.log,
    "abs": abs,
    "floor": math.floor,
}
BINARY: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "atan2": math.atan2,
    "min": min,
    "max": max,
}
# The two random numbers of a block; operands: seed, counter, stream + 2^32 block
RANDOM: dict[str, Callable[..., float]] = {
    "uniform": lambda *numbers: pair(*numbers)[0],
    "uniform_second": lambda *numbers: pair(*numbers)[1],
}
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
}
LOGIC: dict[str, Callable[..., bool]] = {
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
    "any": lambda a: a,  # whether the operand is true in any SIMD lane; here there is one lane
}
FUSED = ("fma", "fms", "fnma")  # a b + c, a b - c, c - a b, each rounded once
PLAIN = frozenset({"add", "sub", "mul"})  # operations that can be simplified only if an operand is REDUCIBLE
REDUCIBLE = frozenset({"const", "neg", "div"})
COMMUTE = frozenset({"add", "mul", "min", "max", "eq", "and", "or"})
FOLD: dict[str, Callable[..., Any]] = UNARY | BINARY | RANDOM | COMPARISONS | LOGIC
ARITY = (
    dict.fromkeys(UNARY, 1)
    | dict.fromkeys((*BINARY, *COMPARISONS), 2)
    | {"and": 2, "or": 2, "not": 1, "any": 1, "select": 3}
    | dict.fromkeys((*FUSED, *RANDOM), 3)
)
TRUTHS = frozenset({*COMPARISONS, *LOGIC})  # operations whose value is a truth value, not a number
LEAVES = ("const", "input")


class Table(NamedTuple):
    """An array argument of a kernel from which a loop reads one row of `size` numbers in each iteration.

    `argument` is the index of the array among the kernel's arguments.
    """

    argument: int
    size: int


@dataclass(frozen=True, eq=False)
class Loop:
    """A graph operation that runs the graph `body` for `count` iterations, or until all SIMD lanes have finished.

    The operands are the `nstate` numbers of the initial state and the values that the body uses from the enclosing
    graph. The body's inputs are the state, one row of each of `tables`, and the values from the enclosing graph. Its
    outputs are the next state and the values that an iteration records. The recorded values become rows of the kernel's
    results with the indices `series`. If `watch` is given, the loop continues only while entry `watch` of the state is
    nonzero in any lane.
    """

    body: Graph
    nstate: int
    count: int | Count
    tables: tuple[Table, ...] = ()
    series: tuple[int, ...] = ()  # indices of the kernel's results
    watch: int | None = None


class Value(NamedTuple):
    """A graph operation that returns entry `number` of a loop's final state; its operand is the node of the loop."""

    number: int


@dataclass(frozen=True)
class Lookup:
    """A graph operation that reads entry `column` of a row of a constant table; its operand is the index of the row.

    The table has `size` doubles per row. The index is rounded down and clamped to the table; NaN reads the first row.
    The table is stored as `bytes`, which compare bit by bit and cache their hash.
    """

    table: bytes
    size: int
    column: int

    @property
    def rows(self) -> int:
        """Number of rows of the constant table that this lookup reads."""
        return len(self.table) // (8 * self.size)

    def at(self, index: float) -> float:
        """Return the table entry that the lookup reads for a constant `index`."""
        row = int(min(max(0.0, index), self.rows - 1.0))
        return struct.unpack_from("<d", self.table, 8 * (row * self.size + self.column))[0]

    def is_constant(self) -> bool:
        """Return whether the column that the lookup reads has the same bits in every row of the table."""
        return len(set(memoryview(self.table).cast("q")[self.column :: self.size])) == 1


class Graph:
    """An expression graph: its nodes in order of evaluation.

    Add nodes with `constant`, `input` and `apply`, then set `outputs`. A node is identified by its index in `nodes`.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.outputs: list[int] = []
        self.ninputs = 0
        self._numbers: dict[Node, int] = {}

    def operands(self, number: int) -> Sequence[int]:
        """Return the operands of node `number`, as indices of nodes."""
        node = self.nodes[number]
        return () if node[0] in LEAVES else node[1:]

    def _node(self, node: Node) -> int:
        """Return the index of a node in the graph; if the graph does not have this node yet, append it."""
        key = node
        if node[0] == "const" and isinstance(node[1], bool):
            key = (*node, True)  # True == 1.0 in Python, but here they are different nodes
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.nodes)
            self.nodes.append(node)
        return number

    def constant(self, value: float | bool) -> int:
        """Return the index of the node for a constant value."""
        return self._node(("const", value))

    def input(self) -> int:
        """Add an input to the graph and return the index of its node."""
        self.ninputs += 1
        return self._node(("input", self.ninputs - 1))

    def value(self, number: int) -> Any:
        """Return the value of node `number` if the node is a constant, else None."""
        node = self.nodes[number]
        return node[1] if node[0] == "const" else None

    def apply(self, operation: str | Loop | Value | Lookup | ReadRow | WriteRow, *operands: int) -> int:
        """Return the node of an operation on given operand nodes, after simplification and constant folding."""
        if operation in PLAIN:  # shortcut for the most frequent case: no rule applies
            a, b = operands
            nodes = self.nodes
            if a != b and nodes[a][0] not in REDUCIBLE and nodes[b][0] not in REDUCIBLE:
                return self._node((operation, b, a) if a > b and operation != "sub" else (operation, a, b))
        if isinstance(operation, Lookup):
            index = 0.0 if operation.is_constant() else self.value(operands[0])
            return self._node((operation, *operands)) if index is None else self.constant(operation.at(index))
        if not isinstance(operation, str):
            return self._node((operation, *operands))
        rule = RULES.get(operation)
        if rule is not None:
            simpler = rule(self, *operands)
            if simpler is not None:
                return simpler
        if operation in FOLD:
            values = [self.value(k) for k in operands]
            if None not in values:
                with suppress(ArithmeticError, ValueError):  # if it fails, the kernel computes inf or NaN
                    return self.constant(FOLD[operation](*values))
        if operation in COMMUTE and operands[0] > operands[1]:
            operands = operands[::-1]
        return self._node((operation, *operands))


def _add(g: Graph, a: int, b: int) -> int | None:
    if g.value(a) == 0.0:
        return b
    if g.value(b) == 0.0:
        return a
    if g.nodes[b][0] == "neg":
        return g.apply("sub", a, g.nodes[b][1])
    if g.nodes[a][0] == "neg":
        return g.apply("sub", b, g.nodes[a][1])
    return None


def _sub(g: Graph, a: int, b: int) -> int | None:
    if a == b:
        return g.constant(0.0)
    if g.value(b) == 0.0:
        return a
    if g.value(a) == 0.0:
        return g.apply("neg", b)
    if g.nodes[b][0] == "neg":
        return g.apply("add", a, g.nodes[b][1])
    if g.nodes[a][0] == "neg":
        return g.apply("neg", g.apply("add", g.nodes[a][1], b))
    return None


def _neg(g: Graph, a: int) -> int | None:
    node = g.nodes[a]
    if node[0] == "neg":
        return node[1]
    if node[0] == "sub":
        return g.apply("sub", node[2], node[1])
    return None


def _mul(g: Graph, a: int, b: int) -> int | None:
    for x, y in ((a, b), (b, a)):
        factor, node = g.value(x), g.nodes[y]
        if factor == 0.0:
            return g.constant(0.0)
        if factor == 1.0:
            return y
        if factor == -1.0:
            return g.apply("neg", y)
        if node[0] == "neg":
            return g.apply("neg", g.apply("mul", x, node[1]))
        if node[0] == "div" and node[2] == x and g.value(node[1]) == 1.0:
            return g.constant(1.0)  # x * (1 / x) = 1
        if factor is not None and node[0] == "mul":  # combine constants: c (d x) = (c d) x
            for known, other in ((node[1], node[2]), (node[2], node[1])):
                if g.value(known) is not None:
                    return g.apply("mul", g.constant(factor * g.value(known)), other)
    return None


def _div(g: Graph, a: int, b: int) -> int | None:
    divisor = g.value(b)
    if divisor is not None and divisor != 0.0:
        return g.apply("mul", a, g.constant(1.0 / divisor))
    if a == b:
        return g.constant(1.0)
    if g.value(a) == 0.0:
        return g.constant(0.0)
    if g.nodes[a][0] == "neg":
        return g.apply("neg", g.apply("div", g.nodes[a][1], b))
    return None


def _rule_for_odd_function(operation: str) -> Callable[[Graph, int], int | None]:
    """Return the simplification rule f(-x) = -f(x) for an odd function f, the given `operation`."""
    return lambda g, a: g.apply("neg", g.apply(operation, g.nodes[a][1])) if g.nodes[a][0] == "neg" else None


def _rule_for_even_function(operation: str) -> Callable[[Graph, int], int | None]:
    """Return the simplification rule f(-x) = f(x) for an even function f, the given `operation`."""
    return lambda g, a: g.apply(operation, g.nodes[a][1]) if g.nodes[a][0] == "neg" else None


def _select(g: Graph, condition: int, yes: int, no: int) -> int | None:
    if yes == no:
        return yes
    known = g.value(condition)
    return None if known is None else yes if known else no


def _rule_for_equal_operands(value: bool | None) -> Callable[[Graph, int, int], int | None]:
    """Return the simplification rule of an operation for two equal operands.

    The rule replaces the operation by the constant `value`, or by the operand if `value` is None.
    """
    return lambda g, a, b: None if a != b else a if value is None else g.constant(value)


RULES: dict[str, Callable[..., int | None]] = {
    "add": _add,
    "sub": _sub,
    "neg": _neg,
    "mul": _mul,
    "div": _div,
    "sin": _rule_for_odd_function("sin"),
    "tan": _rule_for_odd_function("tan"),
    "asin": _rule_for_odd_function("asin"),
    "cos": _rule_for_even_function("cos"),
    "abs": _rule_for_even_function("abs"),
    "select": _select,
    "lt": _rule_for_equal_operands(False),
    "min": _rule_for_equal_operands(None),
    "max": _rule_for_equal_operands(None),
}


# --- passes: each returns a new graph ---


def needed(graph: Graph, outputs: Iterable[int]) -> list[bool]:
    """Return, for each node of a graph, whether it must be computed for the given `outputs`.

    A node must be computed if an output depends on it, or if it is a loop that records values.
    """
    live = [isinstance(node[0], Loop) and bool(node[0].series) for node in graph.nodes]
    for number in outputs:
        live[number] = True
    for number in reversed(range(len(live))):
        if live[number]:
            for operand in graph.operands(number):
                live[operand] = True
    return live


def pruned(graph: Graph) -> Graph:
    """Return a copy of the graph with only the nodes that must be computed for its outputs (see `needed`)."""
    return _rewritten(graph, lambda node, uses, nodes: node)


def fused(graph: Graph) -> Graph:
    """Return the graph with multiplications and additions combined to fused multiply-adds.

    The combination is made here, not by LLVM, so that all vector widths round equally. A product becomes part of a
    fused multiply-add if only one sum or difference uses it.
    """

    def fuse(node: Node, uses: list[int], nodes: list[Node]) -> Node:
        if node[0] not in ("add", "sub"):
            return node
        a, b = node[1:]
        if nodes[b][0] == "mul" and uses[b] == 1:
            return ("fma" if node[0] == "add" else "fnma", *nodes[b][1:], a)
        if nodes[a][0] == "mul" and uses[a] == 1:
            return ("fma" if node[0] == "add" else "fms", *nodes[a][1:], b)
        return node

    return pruned(_rewritten(graph, fuse))


def _rewritten(graph: Graph, change: Callable[[Node, list[int], list[Node]], Node]) -> Graph:
    """Return a copy of a graph's live nodes, in which each node is the result of `change(node, uses, nodes)`.

    `node` is the copied node; `nodes` are the original nodes, and `uses` has the number of uses of each original node.
    """
    live = needed(graph, graph.outputs)
    uses = [0] * len(graph.nodes)
    for number in range(len(graph.nodes)):
        if live[number]:
            for operand in graph.operands(number):
                uses[operand] += 1
    for number in graph.outputs:
        uses[number] += 1
    result, place = Graph(), [-1] * len(graph.nodes)
    result.ninputs = graph.ninputs
    for number, node in enumerate(graph.nodes):
        if live[number]:
            operation, *rest = change(node, uses, graph.nodes)
            if isinstance(operation, Loop):
                operation = replace(operation, body=_rewritten(operation.body, change))
            operands = rest if operation in LEAVES else [place[k] for k in rest]
            place[number] = result._node((operation, *operands))
    result.outputs = [place[number] for number in graph.outputs]
    return result


def description(graph: Graph) -> str:
    """Return a text of all operations of a graph, used as a key: graphs with equal texts compute equal results."""

    def text_of(part: Any) -> str:
        return repr(replace(part, body=None)) + description(part.body) if isinstance(part, Loop) else repr(part)  # type: ignore[arg-type]

    return repr(graph.outputs) + "".join("(" + ",".join(map(text_of, node)) + ")" for node in graph.nodes)


def verify(graph: Graph) -> None:
    """Raise AssertionError if the graph is invalid: unknown operation, operand after its use, or wrong operand type."""
    for number, node in enumerate(graph.nodes):
        operation, operands = node[0], graph.operands(number)
        assert all(0 <= k < number for k in operands), (number, node)
        truths = [is_truth(graph, k) for k in operands]
        wanted = [operation in LOGIC] * len(operands)
        if operation == "input":
            assert 0 <= node[1] < graph.ninputs, (number, node)
        elif isinstance(operation, Loop):
            _verify_loop(operation, len(operands))
        elif isinstance(operation, Value):
            loop = graph.nodes[operands[0]][0]
            assert isinstance(loop, Loop), (number, node)
            assert 0 <= operation.number < loop.nstate, (number, node)
        elif isinstance(operation, Lookup):
            assert len(operands) == 1, (number, node)
            assert operation.rows > 0, (number, node)
            assert 0 <= operation.column < operation.size, (number, node)
        elif isinstance(operation, ReadRow):
            assert len(operands) == 2, (number, node)
            assert 0 <= operation.column < operation.region.size, (number, node)
        elif isinstance(operation, WriteRow):
            assert operation.first + len(operands) - 3 <= operation.region.size, (number, node)
            wanted = [k == 1 for k in range(len(operands))]
        elif operation != "const":
            assert len(operands) == ARITY[operation], (number, node)
            wanted = [True, False, False] if operation == "select" else wanted
        assert truths == wanted, (number, node)
    assert all(0 <= k < len(graph.nodes) for k in graph.outputs)
    assert not any(is_truth(graph, k) for k in graph.outputs)


def _verify_loop(loop: Loop, noperands: int) -> None:
    rows = sum(table.size for table in loop.tables)
    assert loop.body.ninputs == noperands + rows, loop
    assert loop.nstate <= min(noperands, len(loop.body.outputs)), loop
    assert bool(loop.series) == (len(loop.body.outputs) > loop.nstate), loop
    assert loop.watch is None or (0 <= loop.watch < loop.nstate and not loop.series), loop
    verify(loop.body)


def is_truth(graph: Graph, number: int) -> bool:
    """Return whether the value of graph node `number` is a truth value rather than a number."""
    node = graph.nodes[number]
    return node[0] in TRUTHS or (node[0] == "const" and isinstance(node[1], bool))


def bits_of(number: float) -> int:
    """Return the 64-bit pattern of the double `number` as a signed integer."""
    return struct.unpack("<q", struct.pack("<d", number))[0]
