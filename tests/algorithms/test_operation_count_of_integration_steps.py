"""The operation count of an integration step grows linearly with bodies and loops (Wendlandt, Algorithm 5.1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.graph import Graph, Loop
from linkwork.compiler.tracing import trace
from linkwork.examples import four_bar_ladder
from linkwork.simulation.methods.method_registry import METHODS
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import StepState
from random_mechanisms import hanging_chain


def nodes(graph: Graph) -> int:
    """Number of nodes of a graph, including the bodies of its loops."""
    return sum(1 + (nodes(node[0].body) if isinstance(node[0], Loop) else 0) for node in graph.nodes)


def operations(m: lw.Mechanism, method: str) -> int:
    def step(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        moved, _ = METHODS[method].step(System(m), 0.0, StepState(q, v, 0.0), 0.01, np.zeros(m.nv))
        return np.concatenate([moved.q, moved.v])

    return nodes(trace(step, [(m.nq,), (m.nv,)]))


def geared_chain(size: int) -> lw.Builder:
    """A chain with a motor whose rotor rotates with every two neighbouring joints."""
    b = hanging_chain(size)
    for k in range(size - 1):
        b.drive(f"motor {k}", {f"joint {k}": 1.0, f"joint {k + 1}": -1.0}, rotor_inertia=0.01)
    return b


def tied_chain(size: int) -> lw.Builder:
    """Return a chain with springs from every link to the link after the next."""
    b = hanging_chain(size)
    for k in range(size - 2):
        b.spring(f"spring {k}", f"link {k}", f"link {k + 2}", (0, 0, 0.1), (0, 0.1, 0), stiffness=10.0, length=0.3)
    return b


@pytest.mark.parametrize("method", ["midpoint", "variational", "energy-momentum"])
def test_operation_count_of_a_step_grows_linearly_with_loops(method: str) -> None:
    counts = [operations(four_bar_ladder.build(cells), method) for cells in (2, 4, 8)]
    assert counts[2] - counts[1] <= 2.02 * (counts[1] - counts[0])


@pytest.mark.parametrize("chain", [hanging_chain, geared_chain, tied_chain])
@pytest.mark.parametrize("method", ["variational", "energy-momentum"])
def test_operation_count_of_a_step_grows_linearly_with_links(method: str, chain: Callable[[int], lw.Builder]) -> None:
    counts = [operations(chain(size).build(), method) for size in (4, 8, 16)]
    assert counts[2] - counts[1] <= 2.02 * (counts[1] - counts[0])
