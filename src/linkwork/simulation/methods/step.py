"""What a step of any method changes, what a step is, and the equations behind those that solve some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from linkwork.model.mechanism import Mechanism
from linkwork.simulation.system import System
from linkwork.spatial.scalar import Array, Number, where

NO_CONTACTS, NOTHING, NO_LOG = np.zeros((0, 5)), np.zeros(0), np.zeros((0, 7))


class Moving(NamedTuple):
    """What a step changes: coordinates q (nq,), velocities v (nv,), work done by forces without energy [J].

    `repair` is the farthest [m or rad] that any step so far moved a coordinate to close loops again; `touch` (n, 5) is
    what contacts remember; `slip` (k,) which way holders slip, of those that can; `rounds` is how many rounds the last
    step took to solve its equations. `modes` (m,) are the parameters that are switched, `armed` (g,) what latches and
    guards remember, `log` (n, 7) what happened and `logged` how often; `seen` is what parts of a step look for; `left`
    is the largest speed [m/s] by which any step so far left the laws of rigid contacts broken.
    """

    q: Array
    v: Array
    work: Number
    repair: Number = 0.0
    touch: Array = NO_CONTACTS
    slip: Array = NOTHING
    rounds: Number = 0.0
    modes: Array = NOTHING
    armed: Array = NOTHING
    log: Array = NO_LOG
    logged: Number = 0.0
    seen: Array = NOTHING
    left: Number = 0.0

    def carrying(self, before: Moving) -> Moving:
        """The same with what steps do not look at, as it was before."""
        kept = ("slip", "modes", "armed", "log", "logged", "seen")
        return self._replace(**{name: getattr(before, name) for name in kept})


def chosen(condition: Any, yes: Any, no: Any) -> Any:
    """One of two numbers, or of two arrays, which may be empty."""
    return where(condition, yes, no) if np.ndim(yes) == 0 or np.size(yes) else no


Step = Callable[[System, Number, Moving, Number, Array], tuple[Moving, Any]]


class Found(NamedTuple):
    """What solving the equations of a step gave: the unknown (n,), the state that follows, whether it is a solution."""

    unknown: Array
    moved: Moving
    solved: Any


class Witness:
    """What is seen of equations that are solved in plain numbers: what was left after every round.

    `lack` (nv,) and errors of what is held (nh,) are those of the best guess.
    """

    def __init__(self) -> None:
        self.history: list[float] = []
        self.lack, self.errors = np.zeros(0), np.zeros(0)

    def see(self, size: float, lack: Array, errors: Array, better: bool) -> None:
        """One round: what is left, of one, and where."""
        self.history.append(float(size))
        if better or len(self.history) == 1:
            self.lack, self.errors = np.asarray(lack, dtype=float), np.asarray(errors, dtype=float)


class Equations(Protocol):
    """The equations of one step from one state, whose solution is found in rounds."""

    def __init__(self, system: System, t: Number, now: Moving, h: Number, held: Array): ...

    @staticmethod
    def unknowns(mechanism: Mechanism) -> int:
        """How many unknowns there are."""
        ...

    def found(self, witness: Witness | None = None) -> Found:
        """The solution; a `witness` sees how it was found, where numbers are plain."""
        ...

    def residual(self, unknown: Array) -> Array:
        """What is lacking (n,) at a guess at the unknown (n,), zero at the solution."""
        ...

    def moved(self, unknown: Array) -> Moving:
        """The state that follows from the solution."""
        ...


def solving(posed: type[Equations]) -> Step:
    """The step that solves these equations."""

    def run(system: System, t: Number, now: Moving, h: Number, held: Array) -> tuple[Moving, Any]:
        found = posed(system, t, now, h, held).found()
        return found.moved, found.solved

    return run
