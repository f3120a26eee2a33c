"""Faults of a model, which are collected while a model is read and built, then raised as errors or warnings."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from linkwork.errors import ModelError, ModelWarning

MOST_WARNINGS = 100  # largest number of warnings about one model; of further warnings only the number is reported


@dataclass(frozen=True)
class Fault:
    """One fault of a model: the label of the faulty `element`, the `reason`, and the `remedy`.

    `file` and `line` say where the fault is, if the model is from a file. `severity` is "error" if the model is
    unusable, and "warning" if it can be used.
    """

    reason: str
    element: str | None = None
    remedy: str = ""
    severity: Literal["error", "warning"] = "error"
    file: str | None = None
    line: int | None = None

    @staticmethod
    def of(error: ModelError) -> Fault:
        """Return the fault that describes the ModelError `error`."""
        return Fault(error.reason, error.element, file=error.file, line=error.line)

    def as_error(self, others: int = 0) -> ModelError:
        """Return the fault as a ModelError, whose message also gives the number `others` of further errors."""
        reason = f"{self.reason}; {self.remedy}" if self.remedy else self.reason
        if others:
            reason += f" (and {others} more {'faults' if others > 1 else 'fault'})"
        return ModelError(reason, self.element, self.file, self.line)

    def __str__(self) -> str:
        return str(self.as_error())


def as_warnings(faults: Iterable[Fault]) -> list[Fault]:
    """Return copies of the faults with the severity "warning"."""
    return [replace(fault, severity="warning") for fault in faults]


def errors_in(faults: Iterable[Fault]) -> list[Fault]:
    """Return the faults with the severity "error"."""
    return [fault for fault in faults if fault.severity == "error"]


def raise_first(faults: Iterable[Fault]) -> None:
    """Raise the first of the `faults` with the severity "error" as a ModelError, if there is one."""
    errors = errors_in(faults)
    if errors:
        raise errors[0].as_error(len(errors) - 1)


def raise_or_warn(faults: Iterable[Fault]) -> None:
    """Raise the first fault that is an error; if there is none, issue all faults as warnings.

    The warnings show the source line of the caller of the calling function.
    """
    faults = list(faults)
    raise_first(faults)
    messages = [str(fault) for fault in faults[:MOST_WARNINGS]]
    if len(faults) > MOST_WARNINGS:
        messages.append(f"{faults[0].file or 'the model'}: there are {len(faults) - MOST_WARNINGS} more warnings")
    for message in messages:
        warnings.warn(message, ModelWarning, stacklevel=3)
