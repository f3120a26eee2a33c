"""What is wrong with a model, as records: gathered while reading and building, then raised or warned about."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from linkwork.errors import ModelError, ModelWarning

MOST_WARNINGS = 100  # of one model; of the rest only the number is told


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: `reason` says what, `remedy` what would be right, `element` names the culprit.

    `file` and `line` say where it is written, if it is written. An "error" makes the model unusable; a "warning"
    can be computed with.
    """

    reason: str
    element: str | None = None
    remedy: str = ""
    severity: Literal["error", "warning"] = "error"
    file: str | None = None
    line: int | None = None

    @staticmethod
    def of(error: ModelError) -> Fault:
        """What a ModelError says."""
        return Fault(error.reason, error.element, file=error.file, line=error.line)

    def as_error(self, others: int = 0) -> ModelError:
        """The same as a ModelError that tells how many `others` there are."""
        reason = f"{self.reason}; {self.remedy}" if self.remedy else self.reason
        if others:
            reason += f" (and {others} more {'faults' if others > 1 else 'fault'})"
        return ModelError(reason, self.element, self.file, self.line)

    def __str__(self) -> str:
        return str(self.as_error())


def as_warnings(faults: Iterable[Fault]) -> list[Fault]:
    """The same faults, none of which makes the model unusable."""
    return [replace(fault, severity="warning") for fault in faults]


def errors_in(faults: Iterable[Fault]) -> list[Fault]:
    """Those that make the model unusable."""
    return [fault for fault in faults if fault.severity == "error"]


def raise_first(faults: Iterable[Fault]) -> None:
    """Raise the first error, if there is one."""
    errors = errors_in(faults)
    if errors:
        raise errors[0].as_error(len(errors) - 1)


def settle(faults: Iterable[Fault]) -> None:
    """Raise the first error; without any, warn of the rest in the name of whoever called the caller."""
    faults = list(faults)
    raise_first(faults)
    messages = [str(fault) for fault in faults[:MOST_WARNINGS]]
    if len(faults) > MOST_WARNINGS:
        messages.append(f"{faults[0].file or 'the model'}: there are {len(faults) - MOST_WARNINGS} more warnings")
    for message in messages:
        warnings.warn(message, ModelWarning, stacklevel=3)
