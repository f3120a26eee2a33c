"""Result types of three analyses of a mechanism: mobility, symmetries and independent velocities.

The package `evaluation` computes these results.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class LoopCheck:
    """The mobility of a mechanism with constraints at one position.

    `mobility` is the number of independent velocities. `nc` counts the constraint rows of all closed loops and engaged
    velocity constraints, and `rank` the independent rows among them. `redundant` maps the name of each loop with
    redundant rows to their number; such rows depend on rows of earlier constraints. `repeating` has this number for
    velocity constraints, by label, such as "clutch 'short'". The rows of `free` (mobility, nv) are orthonormal
    velocities that satisfy all constraints. The rows of `singular` (k, nv) are combinations of these velocities that
    satisfy the constraints at this position only: after a small motion along such a direction, dependent rows become
    independent. At this position the mechanism can change to another branch of motion, or cannot move in this direction
    at all.
    """

    mobility: int
    rank: int
    nc: int
    redundant: dict[str, int]
    free: Array
    singular: Array
    repeating: dict[str, int]

    def __str__(self) -> str:
        lines = [f"mobility {self.mobility}: {self.rank} of {self.nc} constraint rows are independent"]
        named = {f"loop {name!r}": count for name, count in self.redundant.items()} | self.repeating
        for name, count in named.items():
            lines.append(f"{name}: {f'{count} rows are' if count > 1 else '1 row is'} redundant")
        if len(self.singular):
            lines.append(f"singular position: {len(self.singular)} of the free directions exist at this position only")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Symmetry:
    """A rigid motion of the whole mechanism that leaves its dynamics unchanged, and its conserved momentum.

    `momentum` is the name of the momentum. `twist` (6,) is the rigid motion [linear; angular] about the world's origin,
    in world axes. Its angular part has unit length; for a pure translation, its linear part has. `through` (3,) [m] is
    the point on the axis of the twist that is nearest to the world's origin.
    """

    momentum: str
    twist: Array
    through: Array


@dataclass(frozen=True, eq=False)
class Independent:
    """Independent velocities z (k,) of a mechanism with constraints at one state; k is their number.

    `numbers` (k,) are the indices of the independent velocities in v (nv,), and `joints` the names of their joints. All
    velocities are v = map z, with `map` (nv, k), and all accelerations a = map dz/dt + bias, with `bias` (nv,) at the
    given velocity. `condition` is the condition number of the choice: 1 at best, infinite if the chosen velocities are
    dependent.
    """

    numbers: Array
    joints: list[str]
    map: Array
    bias: Array
    condition: float
