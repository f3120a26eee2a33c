"""The base class of the readers of model files: options of `load`, result of reading, and the collection of faults."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from linkwork.errors import ModelError
from linkwork.model.builder import Builder
from linkwork.model.mechanism import Mechanism
from linkwork.model.model_definition_faults import Fault

STANDARD_GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2] gravity of models whose file does not give it
LARGEST = 1e50  # numbers in files must be smaller than this, so that their squares and products stay finite
LONGEST_NAME = 200
GROUND: Literal["ground"] = "ground"  # value of the option `contacts`, and name of the plane z = 0 that it adds
MOST_ERRORS = 1000  # number of errors after which reading stops


@dataclass(frozen=True)
class Reading:
    """The result of reading a model file: the mechanism, or None if it is invalid, and all faults, ordered by line."""

    mechanism: Mechanism | None
    faults: list[Fault]


@dataclass(frozen=True)
class Options:
    """The arguments of `load` that a reader uses; `load` describes them. None means that the file decides."""

    floating: bool | None
    gravity: Any
    mimic: bool
    packages: tuple[str, ...]
    contacts: bool | Literal["ground"] | None = None


class FileLocation(Protocol):
    """A location in a model file: the line number, and, as `str`, a text for messages."""

    @property
    def line(self) -> int | None:
        """The line number of the location in the file, from 1."""
        ...


class EnoughError(Exception):
    """Raised to stop reading a model file that has too many faults."""


class Reader(ABC):
    """Base class of a reader, which passes the content of a model file to a Builder and collects all faults.

    `file` is the name of the file in messages.
    """

    builder: Builder

    def __init__(self, file: str):
        self.file = file
        self.faults: list[Fault] = []
        self.errors = 0

    @abstractmethod
    def fill_builder(self) -> None:
        """Add all objects that the model file describes to the Builder."""

    @abstractmethod
    def placed(self, fault: Fault) -> Fault:
        """Return a fault that the Builder reported, completed with file, line and name of the faulty element."""

    def read(self) -> Reading:
        """Read the model file and return the mechanism with all faults of the file."""
        mechanism = None
        with suppress(EnoughError):
            self.fill_builder()
            mechanism, faults = self.builder.examine(strict=False, cycles=False)
            self.faults += map(self.placed, faults)
        return Reading(mechanism, self.in_order())

    def error(self, at: FileLocation, reason: str, remedy: str = "") -> None:
        """Record an error at the location `at` in the file, with its `reason` and a `remedy`.

        Returns None, so that callers can return the result instead of a value.
        """
        self.errors += 1
        self.faults.append(Fault(reason, str(at), remedy, "error", self.file, at.line))
        if self.errors >= MOST_ERRORS:
            raise EnoughError

    def warning(self, at: FileLocation, reason: str, remedy: str = "") -> None:
        """Record a warning at the location `at` in the file, with its `reason` and a `remedy`."""
        self.faults.append(Fault(reason, str(at), remedy, "warning", self.file, at.line))

    def recording_faults(self, at: FileLocation, act: Callable[[], Any], stand_in: Any = None) -> Any:
        """Call `act` and return its result; if it raises a ModelError, record the error and return `stand_in`.

        `at` is the location in the file that the recorded error names.
        """
        try:
            return act()
        except ModelError as error:
            self.error(at, error.reason)
            return stand_in

    def in_order(self) -> list[Fault]:
        """Return all recorded faults of the file, ordered by line."""
        return sorted(self.faults, key=lambda fault: fault.line or 0)
