"""Where a member of a run is: all that its future depends on."""

from __future__ import annotations

from typing import NamedTuple

from linkwork.simulation.methods.step import Moving
from linkwork.spatial.scalar import Array, Number

GOING, EVENT, NOT_CONVERGED, NON_FINITE, STOPPED = 0.0, 1.0, 2.0, 3.0, 4.0  # why a member goes on, or no longer does
HUGE = 1e300  # beyond this a number is as good as infinite


class Carry(NamedTuple):
    """The state of a member, or with batch axes in front of all members.

    `step` counts steps since the run began, so that the time is step dt exactly, whatever was computed in one call;
    `code` says why a member no longer goes on; `work` [J] was done by forces without energy; `held` (nv,) [N m or N]
    are the joint forces of a sampled controller, and `memory` (k,) is what it remembers; `repair` [m or rad] is the
    farthest that a step moved a coordinate to close loops again; `touch` (n, 5) is what contacts remember, the number
    of their state, their anchor [m] and since when they are in that state [s]; `slip` (k,) is which way holders slip,
    of those that can. `rounds` are those in which the last step's equations were solved, and `most_rounds` those of the
    step that took most. `modes` (m,) are the parameters that are switched on the way, `armed` (g,) is what latches and
    guards remember; `log` (n, 7) is what switched by itself since someone looked, and `logged` how often. `left` [m/s]
    is the most by which a step left the laws of rigid contacts broken.
    """

    step: Number
    code: Number
    q: Array
    v: Array
    work: Number
    held: Array
    memory: Array
    repair: Number
    touch: Array
    slip: Array
    rounds: Number
    most_rounds: Number
    modes: Array
    armed: Array
    log: Array
    logged: Number
    left: Number

    @property
    def moving(self) -> Moving:
        """What a step changes."""
        kept = (self.repair, self.touch, self.slip, self.rounds, self.modes, self.armed, self.log, self.logged)
        return Moving(self.q, self.v, self.work, *kept, left=self.left)
