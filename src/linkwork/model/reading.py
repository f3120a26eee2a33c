"""What every reader of model files is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.model.faults import Fault
from linkwork.model.mechanism import Mechanism

LARGEST = 1e50  # squares and products of what is read must stay finite
STANDARD_GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2], where a format says nothing of it


@dataclass(frozen=True)
class Options:
    """What `load` was asked for; None where the file decides."""

    floating: bool | None
    gravity: Any
    mimic: bool
    packages: tuple[str, ...]


@dataclass(frozen=True)
class Reading:
    """What came of reading a file: the mechanism, if there is one, and all faults in the file's order."""

    mechanism: Mechanism | None
    faults: list[Fault]
