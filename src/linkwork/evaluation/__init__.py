"""Evaluation of the algorithms on batches of states: `compile`, `Dynamics`, cross-check, assembly and mobility."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from linkwork.model.answers import ANSWERS

if TYPE_CHECKING:
    from linkwork.evaluation.dynamics import Dynamics, compile

__all__ = ["Dynamics", "compile"]

# Methods of Mechanism that this package implements. It is imported at their first call, so that importing
# linkwork is quick
ANSWERS.update(
    check_loops=("linkwork.evaluation.mobility", "checked_loops"),
    independent=("linkwork.evaluation.mobility", "independent"),
    symmetries=("linkwork.evaluation.conserved_momenta", "named_symmetries"),
)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.dynamics"), name)
    return found
