"""What readers of all formats share: what was asked for, what came of it, and how faults are gathered on the way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from linkwork.errors import ModelError
from linkwork.model.builder import Builder
from linkwork.model.faults import Fault
from linkwork.model.mechanism import Mechanism

STANDARD_GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2], where a format says nothing of it
LARGEST = 1e50  # squares and products of what is read must stay finite
LONGEST_NAME = 200
MOST_ERRORS = 1000  # after which reading stops


@dataclass(frozen=True)
class Reading:
    """What came of reading a file: the mechanism, if there is one, and all faults in the file's order."""

    mechanism: Mechanism | None
    faults: list[Fault]


@dataclass(frozen=True)
class Options:
    """What `load` was asked for; None where the file decides."""

    floating: bool | None
    gravity: Any
    mimic: bool
    packages: tuple[str, ...]


class Place(Protocol):
    """Where something is written: its line, and as a text how messages call it."""

    @property
    def line(self) -> int | None:
        """Counted from 1."""
        ...


class EnoughError(Exception):
    """There are so many faults that looking for more helps nobody."""


class Reader(ABC):
    """Tells a Builder what is in one file, which messages call `file`, and gathers its faults."""

    builder: Builder

    def __init__(self, file: str):
        self.file = file
        self.faults: list[Fault] = []
        self.errors = 0

    @abstractmethod
    def tell(self) -> None:
        """Tell the Builder everything that is in the file."""

    @abstractmethod
    def placed(self, fault: Fault) -> Fault:
        """A fault that the Builder found, with the place where its culprit is written."""

    def read(self) -> Reading:
        """All that is in the file, and all that is wrong with it."""
        mechanism = None
        with suppress(EnoughError):
            self.tell()
            mechanism, faults = self.builder.examine(strict=False, cycles=False)
            self.faults += map(self.placed, faults)
        return Reading(mechanism, self.in_order())

    def error(self, at: Place, reason: str, remedy: str = "") -> None:
        """Note what makes the model unusable; gives None, for whoever wanted something else."""
        self.errors += 1
        self.faults.append(Fault(reason, str(at), remedy, "error", self.file, at.line))
        if self.errors >= MOST_ERRORS:
            raise EnoughError

    def warning(self, at: Place, reason: str, remedy: str = "") -> None:
        """Note what is missing or doubtful."""
        self.faults.append(Fault(reason, str(at), remedy, "warning", self.file, at.line))

    def told(self, at: Place, act: Callable[[], Any], stand_in: Any = None) -> Any:
        """What `act` gives; if it raises a ModelError, that is noted and `stand_in` is given."""
        try:
            return act()
        except ModelError as error:
            self.error(at, error.reason)
            return stand_in

    def in_order(self) -> list[Fault]:
        """All faults in the order of the file's lines."""
        return sorted(self.faults, key=lambda fault: fault.line or 0)
