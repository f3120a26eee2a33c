"""SIMD machine code for the processor that this process runs on, through LLVM: one state per lane.

`batch_loop` prints a kernel with the help of `printer`, `transfers` and `vector_math`; `loader` makes object code of it
and loads that; `launcher` runs it over batches on threads, and `fast_call` on one state with little overhead.
"""

from linkwork.compiler.targets.cpu.cpu_target import TARGET

__all__ = ["TARGET"]
