"""Evaluation of the dynamics algorithms on batches of states: `compile`, `Dynamics`, cross-check, loop assembly."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from linkwork.model.mechanism_method_registry import IMPLEMENTATIONS

if TYPE_CHECKING:
    from linkwork.evaluation.dynamics import Dynamics, compile

__all__ = ["Dynamics", "compile"]

# Methods of Mechanism that are implemented in this package. A Mechanism imports this package at their first call, so
# that importing linkwork stays quick
IMPLEMENTATIONS.update(
    check_loops=("linkwork.evaluation.mobility", "checked_loops"),
    independent=("linkwork.evaluation.mobility", "independent"),
    symmetries=("linkwork.evaluation.conserved_momenta", "named_symmetries"),
)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.dynamics"), name)
    return found
