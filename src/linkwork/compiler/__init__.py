"""Compiler: traces plain NumPy functions of one state into expression graphs and compiles these to batch kernels.

A `Kernel` traces its function (`tracing`, `traced`, `program`), plans the graph as chunks of operations (`plan`), lets
a target build code from the plan (`targets`), caches the code on disk (`kernel_cache`) and runs it over batches.
Derivatives are graphs too (`differentiate`, `calculus`). The compiler does not depend on mechanisms.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwork.compiler.calculus import jacobian, jacobian_if_short, on_inputs, vanishes
    from linkwork.compiler.differentiate import pushforward
    from linkwork.compiler.graph import description
    from linkwork.compiler.kernel import Kernel, building_seconds
    from linkwork.compiler.kernel_cache import digest, text_digest
    from linkwork.compiler.loaded_kernels import shared
    from linkwork.compiler.repeatability import Repeatable, refuse_unrepeatable
    from linkwork.compiler.result_buffers import Results
    from linkwork.compiler.rows import Count, Rows
    from linkwork.compiler.targets import target_named
    from linkwork.compiler.traced_array import lifted
    from linkwork.compiler.tracing import trace

# Imported at first use, so that a package that needs one name does not load the whole compiler
ON_DEMAND = {
    "Count": "rows",
    "Kernel": "kernel",
    "Repeatable": "repeatability",
    "Results": "result_buffers",
    "Rows": "rows",
    "building_seconds": "kernel",
    "description": "graph",
    "digest": "kernel_cache",
    "jacobian": "calculus",
    "jacobian_if_short": "calculus",
    "lifted": "traced_array",
    "on_inputs": "calculus",
    "pushforward": "differentiate",
    "refuse_unrepeatable": "repeatability",
    "shared": "loaded_kernels",
    "target_named": "targets",
    "text_digest": "kernel_cache",
    "trace": "tracing",
    "vanishes": "calculus",
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
    "jacobian",
    "jacobian_if_short",
    "lifted",
    "on_inputs",
    "pushforward",
    "refuse_unrepeatable",
    "shared",
    "target_named",
    "text_digest",
    "trace",
    "vanishes",
]


def __getattr__(name: str) -> Any:
    if name not in ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{ON_DEMAND[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
