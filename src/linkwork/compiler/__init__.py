"""Compiler: traces plain NumPy functions of one state into expression graphs and compiles these to batch kernels.

A `Kernel` traces its function (`tracing`, `traced_number`, `traced_loops`), divides the graph into chunks of operations
(`kernel_plan`), has a target generate machine code (`targets`), caches the code on disk (`kernel_cache`) and runs it
over batches. Derivatives are graphs too (`automatic_differentiation`, `function_jacobian`). The compiler does not
depend on mechanisms.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwork.compiler.automatic_differentiation import pushforward
    from linkwork.compiler.function_jacobian import (
        is_structurally_zero,
        jacobian,
        jacobian_if_short,
        traced_on_new_inputs,
    )
    from linkwork.compiler.graph import description
    from linkwork.compiler.in_memory_kernel_cache import shared
    from linkwork.compiler.kernel import Kernel, building_seconds
    from linkwork.compiler.kernel_cache import digest, text_digest
    from linkwork.compiler.kernel_shapes import Count, Rows
    from linkwork.compiler.purity_checks import Repeatable, refuse_unrepeatable
    from linkwork.compiler.result_buffers import Results
    from linkwork.compiler.targets import target_named
    from linkwork.compiler.traced_array import lifted
    from linkwork.compiler.tracing import trace

# Imported at first use, so that a package that needs one name does not load the whole compiler
ON_DEMAND = {
    "Count": "kernel_shapes",
    "Kernel": "kernel",
    "Repeatable": "purity_checks",
    "Results": "result_buffers",
    "Rows": "kernel_shapes",
    "building_seconds": "kernel",
    "description": "graph",
    "digest": "kernel_cache",
    "jacobian": "function_jacobian",
    "jacobian_if_short": "function_jacobian",
    "lifted": "traced_array",
    "traced_on_new_inputs": "function_jacobian",
    "pushforward": "automatic_differentiation",
    "refuse_unrepeatable": "purity_checks",
    "shared": "in_memory_kernel_cache",
    "target_named": "targets",
    "text_digest": "kernel_cache",
    "trace": "tracing",
    "is_structurally_zero": "function_jacobian",
}

__all__ = [
    "Count",
    "Kernel",
    "Repeatable",
    "Results",
    "Rows",
    "building_seconds",
    "description",
    "digest",
    "is_structurally_zero",
    "jacobian",
    "jacobian_if_short",
    "lifted",
    "pushforward",
    "refuse_unrepeatable",
    "shared",
    "target_named",
    "text_digest",
    "trace",
    "traced_on_new_inputs",
]


def __getattr__(name: str) -> Any:
    if name not in ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{ON_DEMAND[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
