"""The operation count of a compiled closed-loop mechanism grows linearly with its bodies, for any number of loops."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.mimic_reduction import constrained_forward_dynamics, project_state
from linkwork.compiler.tracing import trace
from linkwork.examples import scissor_lift
from random_mechanisms import hanging_chain


def chain(links: int) -> lw.Mechanism:
    """A hanging chain with two rods: world to second link, and between two of the last three links."""
    b = hanging_chain(links)
    b.close("first", lw.Rod(1.0), "world", "link 1", at=(0, 0, 1))
    b.close("last", lw.Rod(0.5), f"link {links - 3}", f"link {links - 1}", at=(0, 0, 0.3))
    return b.build()


def operations(m: lw.Mechanism, algorithm: str) -> int:
    """Number of operations of the compiled algorithm."""
    if algorithm == "forward dynamics":
        graph = trace(lambda q, v, tau: constrained_forward_dynamics(m, q, v, tau).a, [(m.nq,), (m.nv,), (m.nv,)])
    else:
        graph = trace(lambda q, v: np.concatenate(project_state(m, q, v)[:2]), [(m.nq,), (m.nv,)])
    return len(graph.nodes)


@pytest.mark.parametrize("algorithm", ["forward dynamics", "closing again"])
@pytest.mark.parametrize("build", [scissor_lift.build, chain], ids=["a loop for every stage", "two loops"])
def test_operation_count_of_closed_loops_grows_linearly_with_bodies(build, algorithm):
    counts = [operations(build(size), algorithm) for size in (4, 8, 16)]
    assert counts[2] - counts[1] <= 2.02 * (counts[1] - counts[0])
