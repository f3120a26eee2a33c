"""Graphs share equal expressions, fold constants, prune unused nodes, and reject untraceable functions."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.forward_dynamics import forward_dynamics
from linkwork.compiler.graph import ARITY, Graph, fused, is_truth, pruned, verify
from linkwork.compiler.tracing import trace
from linkwork.spatial.scalar import where


def operations(graph: Graph) -> list[str]:
    return [node[0] for node in graph.nodes if node[0] in ARITY]


def traced(function, *shapes: tuple[int, ...]) -> list[str]:
    return operations(trace(function, shapes or [(3,)]))


@pytest.mark.parametrize(
    "nothing",
    [
        lambda x: x[0] + 0.0,
        lambda x: 1.0 * x[0],
        lambda x: x[0] / 1.0,
        lambda x: 0.0 - (0.0 - x[0]),
        lambda x: x[0] - (x[1] - x[1]),
        lambda x: x[0] * (x[1] * (1.0 / x[1])),
        lambda x: x[0] + np.sin(0.0) * x[1],
        lambda x: where(x[1] < x[1], x[2], x[0]),
        lambda x: where(x[1] < 2.0, x[0], x[0]),
        lambda x: x[0] ** 1,
        lambda x: x[0] * (x[1] / x[1]),
    ],
)
def test_operations_without_effect_are_removed_from_the_graph(nothing) -> None:
    assert traced(nothing) == []


def test_equal_expressions_become_one_node_of_the_graph() -> None:
    assert traced(lambda x: [x[0] * x[1], x[1] * x[0]]) == ["mul"]
    assert traced(lambda x: [np.sin(-x[0]), np.sin(x[0])]).count("sin") == 1
    assert traced(lambda x: (x[0] + x[1]) - (x[1] + x[0])) == []


def test_constants_are_combined_and_negations_are_moved_out_of_products() -> None:
    assert traced(lambda x: 2.0 * (x[0] * 3.0)) == ["mul"]
    assert traced(lambda x: x[0] + (-x[1])) == ["sub"]
    assert traced(lambda x: -(x[0] - x[1])) == ["sub"]
    assert traced(lambda x: (-x[0]) * (-x[1])) == ["mul"]


def test_unused_operations_are_removed_from_the_graph() -> None:
    def wasteful(x):
        _ = np.exp(x[0]) * x[1]
        return x[2] * 2.0

    assert traced(wasteful) == ["mul"]


def test_products_that_are_used_once_are_fused_into_multiply_adds() -> None:
    once = fused(trace(lambda x: x[0] * x[1] + x[2], [(3,)]))
    assert operations(once) == ["fma"]
    twice = fused(trace(lambda x: [x[0] * x[1] + x[2], x[0] * x[1]], [(3,)]))
    assert operations(twice) == ["mul", "add"]
    assert operations(fused(trace(lambda x: x[2] - x[0] * x[1], [(3,)]))) == ["fnma"]
    assert operations(fused(trace(lambda x: x[0] * x[1] - x[2], [(3,)]))) == ["fms"]


def test_seven_joint_arm_needs_at_most_two_thousand_operations() -> None:
    """Forward dynamics of an arm with offset centres of mass and full inertias."""
    b, parent, rng = lw.Builder("arm"), "world", np.random.default_rng(0)
    for k in range(7):
        A = rng.normal(size=(3, 3))
        inertia = np.trace(A @ A.T) * np.eye(3) - A @ A.T / 2
        b.body(f"link {k}", mass=1.0 + k, com=rng.normal(size=3) * 0.1, inertia=inertia * 0.01)
        turn = (-1) ** k * np.pi / 2 if k else 0.0
        b.joint(f"joint {k}", lw.Revolute((0, 0, 1)), parent, f"link {k}", at=(0, 0, 0.2), rpy=(turn, 0, 0))
        parent = f"link {k}"
    m = b.build()
    graph = trace(lambda q, v, tau: forward_dynamics(m, q, v, tau), [(7,), (7,), (7,)])
    assert len(operations(graph)) <= 2000


def branches(x):
    return x[0] if x[0] > 0.0 else -x[0]


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (branches, "branches on a traced number; write linkwork.where"),
        (lambda x: float(x[0]), "needs the value"),
        (lambda x: [1.0, 2.0][x[0]], "needs the value"),
        (lambda x: abs(x[0]) and x[1], "branches on"),
        (lambda x: x[0] + "one", "not a number"),
        (lambda x: max(x[0], x[1]), "branches on"),
    ],
)
def test_functions_that_cannot_be_traced_are_rejected_with_their_line(function, says: str) -> None:
    with pytest.raises(lw.NotTraceable, match=says) as caught:
        trace(function, [(3,)])
    if "being traced" in str(caught.value):
        assert "test_graph_simplification.py:" in str(caught.value)


def test_traced_numbers_of_another_trace_are_rejected() -> None:
    leaked = []
    trace(lambda x: leaked.append(x[0]) or x[0], [(1,)])
    with pytest.raises(lw.NotTraceable, match="earlier trace"):
        trace(lambda x: x[0] + leaked[0], [(1,)])


@pytest.mark.parametrize("damage", ["operand after use", "unknown input", "wrong arity", "truth as a number"])
def test_graph_verifier_rejects_damaged_graphs(damage: str) -> None:
    graph = pruned(trace(lambda x: where(x[0] < x[1], x[0] * x[1], x[2] + 1.0), [(3,)]))
    verify(graph)
    place = [node[0] for node in graph.nodes].index("mul")
    graph.nodes[place] = {
        "operand after use": ("mul", len(graph.nodes) - 1, 0),
        "unknown input": ("input", 7),
        "wrong arity": ("mul", 0),
        "truth as a number": ("mul", [node[0] for node in graph.nodes].index("lt"), 0),
    }[damage]
    with pytest.raises(AssertionError):
        verify(graph)


def test_boolean_true_and_the_number_one_are_different_nodes_of_the_graph() -> None:
    """True equals 1.0 in Python, but they are two nodes of a graph."""
    graph = Graph()
    assert graph.constant(1.0) != graph.constant(True)
    assert is_truth(graph, graph.constant(True))
    assert not is_truth(graph, graph.constant(1.0))
