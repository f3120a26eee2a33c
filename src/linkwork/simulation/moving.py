"""What a step of any method changes, and what a step is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linkwork.simulation.system import System
from linkwork.spatial.scalar import Array, Number

NO_CONTACTS, NO_SLIP = np.zeros((0, 4)), np.zeros(0)


class Moving(NamedTuple):
    """What a step changes: coordinates q (nq,), velocities v (nv,), work done by forces without energy [J].

    `repair` is the farthest [m or rad] that any step so far moved a coordinate to close loops again; `touch` (n, 4) is
    what contacts remember; `slip` (k,) which way clutches and brakes slip, of those that can.
    """

    q: Array
    v: Array
    work: Number
    repair: Number = 0.0
    touch: Array = NO_CONTACTS
    slip: Array = NO_SLIP


Step = Callable[[System, Number, Moving, Number, Array], tuple[Moving, Any]]
