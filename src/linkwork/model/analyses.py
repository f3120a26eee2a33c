"""What the answers tell to questions of a mechanism that take more than this room to answer."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class LoopCheck:
    """What loops, and holders that are engaged, leave free in one position.

    `mobility` is the number of independent velocities; `rank` that of independent rows among `nc`. `redundant` names
    loops some of whose rows repeat those of loops before them, with how many, and `repeating` holders that repeat what
    is held without them, as "clutch 'short'". `free` (mobility, nv) are orthonormal directions of velocities that keep
    all loops closed and all holders still. Those of `singular` (k, nv), which are among them, do so in this position
    alone: rows that repeat others here no longer do after a small move along them. There the mechanism can change over
    into another branch of motion, or cannot move that way at all.
    """

    mobility: int
    rank: int
    nc: int
    redundant: dict[str, int]
    free: Array
    singular: Array
    repeating: dict[str, int]

    def __str__(self) -> str:
        lines = [f"mobility {self.mobility}: {self.rank} of {self.nc} closure rows are independent"]
        named = {f"loop {name!r}": count for name, count in self.redundant.items()} | self.repeating
        for name, count in named.items():
            lines.append(f"{name}: {f'{count} rows repeat' if count > 1 else '1 row repeats'} others")
        if len(self.singular):
            lines.append(
                f"singular position: {len(self.singular)} of the free directions are free in this position alone"
            )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Symmetry:
    """A motion of the whole world that changes nothing for a mechanism, to which a momentum belongs that is kept.

    `momentum` names it. `twist` (6,) is [linear; angular] about the world's origin in its axes, with an angular part of
    one, or a linear one where it does not turn; `through` (3,) [m] is the point of its axis that is nearest to the
    origin.
    """

    momentum: str
    twist: Array
    through: Array


@dataclass(frozen=True, eq=False)
class Independent:
    """Coordinates that tell how a closed chain moves, and how all others follow them near one state.

    `numbers` (k,) are those of the independent velocities, `joints` the names of their joints. v = map z with map
    (nv, k), and a = map z' + bias, with bias (nv,) that of the velocities at which this was asked. `condition` is that
    of the choice: 1 at best, and endless where the velocities depend on each other.
    """

    numbers: Array
    joints: list[str]
    map: Array
    bias: Array
    condition: float
