"""SIMD machine code through LLVM."""
