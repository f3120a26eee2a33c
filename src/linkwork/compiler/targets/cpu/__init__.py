"""SIMD machine code for the processor of this process, through LLVM: one state per lane.

`batch_loop` prints a kernel with the help of `printer`, `transfers` and `vector_math`; `code_loader` compiles it to
object code and loads it; `launcher` runs it over batches on threads, and `fast_call` on one state with little overhead.
"""
