"""SIMD machine code for the processor that this process runs on, through LLVM: one state per lane.

`batch_loop` prints a kernel with the help of `printer`, `transfers` and `vector_math`; `code_loader` makes object code
of it and loads that; `launcher` runs it over batches on threads, and `fast_call` on one state with little overhead.
"""
