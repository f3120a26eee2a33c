"""Operations of a compiled closed mechanism grow with its bodies, however many loops it has."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.reduction import closed_again, closed_forward_dynamics
from linkwork.compiler.tracing import trace
from linkwork.examples import scissor_lift
from zoo import hanging_chain


def chain(links: int) -> lw.Mechanism:
    """A hanging chain whose first and last links are tied by a rod each, to the world and to the link before."""
    b = hanging_chain(links)
    b.close("first", lw.Rod(1.0), "world", "link 1", at=(0, 0, 1))
    b.close("last", lw.Rod(0.5), f"link {links - 3}", f"link {links - 1}", at=(0, 0, 0.3))
    return b.build()


def operations(m: lw.Mechanism, algorithm: str) -> int:
    """How many operations the compiled algorithm has."""
    if algorithm == "forward dynamics":
        graph = trace(lambda q, v, tau: closed_forward_dynamics(m, q, v, tau).a, [(m.nq,), (m.nv,), (m.nv,)])
    else:
        graph = trace(lambda q, v: np.concatenate(closed_again(m, q, v)[:2]), [(m.nq,), (m.nv,)])
    return len(graph.nodes)


@pytest.mark.parametrize("algorithm", ["forward dynamics", "closing again"])
@pytest.mark.parametrize("build", [scissor_lift.build, chain], ids=["a loop for every stage", "two loops"])
def test_twice_as_many_bodies_cost_twice_as_much(build, algorithm):
    counts = [operations(build(size), algorithm) for size in (4, 8, 16)]
    assert counts[2] - counts[1] <= 2.02 * (counts[1] - counts[0])
