"""Steps of mechanisms of higher order: a symmetric one, several times, some of them backwards in time."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.simulation.methods.step import Moving, Step
from linkwork.simulation.system import System
from linkwork.spatial.loops import repeat
from linkwork.spatial.scalar import Array, Number, lookup, maximum, where


def composed(step: Step, parts: tuple[float, ...]) -> Step:
    """Steps of these parts of the whole, one after the other, each with the forces of its own time."""
    lengths = np.array(parts)
    begins = np.cumsum(lengths) - lengths

    def run(system: System, t: Number, now: Moving, h: Number, held: Array) -> tuple[Moving, Any]:
        def part(k: Number, good: Number, *state: Any) -> tuple[Any, ...]:
            before = Moving(*state)
            moved, solved = step(system, t + lookup(begins, k) * h, before, lookup(lengths, k) * h, held)
            rounds = maximum(before.rounds, moved.rounds)
            return where(solved, good, 0.0), *moved._replace(rounds=rounds)

        good, *moved = repeat(len(parts), part, 1.0, *now._replace(rounds=0.0))
        return Moving(*moved), good == 1.0

    return run
