"""The tree of bodies as the graph matrices of the SpaceDyn paper (section 3.1), and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork.spatial.scalar import Array


class Topology(NamedTuple):
    """The connections of links 1 to n as integer arrays in the notation of the SpaceDyn paper; link 0 is the world.

    Entry j of each vector belongs to link j. `B` (n,) has the parent of each link. Entry i, j of `S` (n, n) is +1 if
    link i is the parent of link j, -1 if i = j, else 0. `S0` (n,) is 1 for children of link 0, else 0. `Se` (n,) is 1
    for terminal links, which have no children, else 0. Arrays start with the entry of link 1.
    """

    B: Array
    S: Array
    S0: Array
    Se: Array


def topology(parents: Sequence[int]) -> Topology:
    """Return the graph matrices of a tree, by rules 2 to 5 in section 3.1 of the SpaceDyn paper.

    parents[j - 1] is the number of the parent of link j >= 1; link 0 is the world, the paper's reference link.
    """
    n = len(parents)
    B = np.array(parents, dtype=int)
    S = -np.eye(n, dtype=int)
    for j, i in enumerate(B):
        if i > 0:
            S[i - 1, j] = 1
    return Topology(B, S, (B == 0).astype(int), 1 - np.isin(np.arange(1, n + 1), B).astype(int))


def tree_text(labels: Sequence[str], parents: Sequence[int]) -> str:
    """Return a drawing of a tree as text, with one line for each node.

    labels[0] is the text of the root, and parents[j - 1] the number of the parent of node j >= 1.
    """
    children: list[list[int]] = [[] for _ in labels]
    for j, i in enumerate(parents, start=1):
        children[i].append(j)
    lines: list[str] = []
    stack: list[tuple[int, str, str]] = [(0, "", "")]
    while stack:
        k, lead, indent = stack.pop()
        lines.append(lead + labels[k])
        for place, child in enumerate(reversed(children[k])):
            last = place == 0
            stack.append((child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  ")))
    return "\n".join(lines)
