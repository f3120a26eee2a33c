"""Solving the same states with every formulation and reporting how far they differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.evaluation.formulations import Formulation, formulations
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array

QUANTITIES = ("accelerations", "joint forces", "mass matrix", "reactions")
REFERENCE = "articulated bodies"


@dataclass(frozen=True)
class CrossCheck:
    """Largest differences of each formulation from the reference, relative to it, by formulation and quantity."""

    mechanism: str
    samples: int
    reference: str
    differences: dict[str, dict[str, float]]

    @property
    def worst(self) -> float:
        """The largest relative difference of all."""
        return max((d for row in self.differences.values() for d in row.values()), default=0.0)

    def __str__(self) -> str:
        wide = max(map(len, (*self.differences, "formulation")))
        lines = [
            f"{self.mechanism}, {self.samples} random states: largest difference from {self.reference}",
            " ".join([f"{'formulation':{wide}}", *(f"{quantity:>13}" for quantity in QUANTITIES)]),
        ]
        for name, row in self.differences.items():
            cells = (f"{row[quantity]:13.1e}" if quantity in row else f"{'-':>13}" for quantity in QUANTITIES)
            lines.append(" ".join([f"{name:{wide}}", *cells]))
        return "\n".join([*lines, f"worst: {self.worst:.1e}"])


def cross_check(mechanism: Mechanism, samples: int = 100, seed: int = 0) -> CrossCheck:
    """Solve `samples` random states with every formulation; the table of largest relative differences."""
    rng = np.random.default_rng(seed)
    m, reference = mechanism, formulations[REFERENCE]
    others = [f for f in formulations.values() if f is not reference]
    differences: dict[str, dict[str, float]] = {f.name: {} for f in others}
    for _ in range(samples):
        q, v, tau = m.random(rng), rng.normal(size=m.nv), rng.normal(size=m.nv) * 10.0
        wrenches = rng.normal(size=(m.nbodies, 6))
        expected = _answers(reference, m, q, v, tau, wrenches)
        for other in others:
            row = differences[other.name]
            for quantity, value in _answers(other, m, q, v, tau, wrenches).items():
                row[quantity] = max(row.get(quantity, 0.0), relative_difference(value, expected[quantity]))
    return CrossCheck(m.name, samples, REFERENCE, differences)


def relative_difference(a: Array, b: Array) -> float:
    """Largest |a - b| over largest |b|; zero for empty arrays."""
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-300)) if a.size else 0.0


def _answers(f: Formulation, m: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array) -> dict[str, Array]:
    found = {
        "accelerations": f.forward(m, q, v, tau, wrenches),
        "joint forces": f.inverse(m, q, v, tau, wrenches),  # tau serves as any acceleration
        "mass matrix": f.mass(m, q),
    }
    return found | ({"reactions": f.reactions(m, q, v, tau, wrenches)} if f.reactions else {})
