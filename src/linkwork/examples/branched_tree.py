"""Wendlandt's tree of eight bodies: chain 1-2-3-4, bodies 5 and 6 on body 4, chain 7-8 on body 2 (his Figure 3.1)."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.formulations.mass_matrix_factorization import factorization
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.examples.catalogue import Claim
from linkwork.model import Ball, Builder, Free, JointKind, Mechanism, Prismatic, Revolute, Universal

PARENTS = (0, 1, 2, 3, 4, 4, 2, 7)
KINDS: tuple[JointKind, ...] = (
    Free(),
    Revolute((0, 0, 1)),
    Ball(),
    Prismatic((1, 0, 0)),
    Universal(),
    Revolute((0, 1, 0)),
    Revolute((1, 0, 0)),
    Ball(),
)


def build() -> Mechanism:
    """Build the tree of eight bodies with a free root.

    Wendlandt's thesis gives only the graph; the joint kinds, masses and positions are linkwork's choice.
    """
    b = Builder("branched_tree")
    for k, (parent, kind) in enumerate(zip(PARENTS, KINDS, strict=True), start=1):
        b.body(f"body {k}", mass=1.0 + 0.5 * k, com=(0.1, 0.02 * k, 0.2), inertia=(0.05, 0.06, 0.04))
        at = (0.3, 0.1 * (-1) ** k, 0.2) if parent else (0, 0, 0)
        b.joint(
            f"joint {k}", kind, "world" if parent == 0 else f"body {parent}", f"body {k}", at=at, rpy=(0.1 * k, 0, 0)
        )
    return b.build()


def claim() -> Claim:
    """Check that Wendlandt's factorization H^T phi^T M phi H equals the mass matrix of linkwork.

    linkwork computes the mass matrix by the composite-rigid-body algorithm. Return the measured error and its tolerance
    as a `Claim`.
    """
    m, rng = build(), np.random.default_rng(0)
    q = m.random(rng)
    expected = mass_matrix(m, q)
    found = factorization(m, q, np.zeros(m.nv)).mass_matrix
    return Claim(
        "relative error of the factorized mass matrix against the composite-rigid-body algorithm",
        float(np.abs(found - expected).max() / np.abs(expected).max()),
        1e-13,
    )
