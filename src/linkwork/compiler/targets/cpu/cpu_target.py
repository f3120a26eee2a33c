"""The CPU target: scalar code for one state, and SIMD code of the processor's vector width for batches."""

from __future__ import annotations

from linkwork.compiler.targets.cpu.code_loader import identity, object_code, processor
from linkwork.compiler.targets.cpu.launcher import MachineCode, packed
from linkwork.compiler.targets.target_interface import Program, Target

ONE, MANY = "one state", "batch"  # the variants of a program's code


class CpuTarget:
    """Target that compiles and runs kernels on the CPU of this process; implements the interface `Target`."""

    def digest(self) -> str:
        """Return a text that identifies the processor and the code generator (see `code_loader.identity`)."""
        return f"cpu {identity(processor())}"

    def has_fused_multiply_add(self) -> bool:
        """Return whether the processor has fused multiply-add instructions."""
        return processor().has_fma

    def variant(self, count: int) -> str:
        """Return the name of the code variant for `count` states: code for single states, or SIMD code for batches.

        The code for a single state has no loops over blocks of states.
        """
        return ONE if count == 1 else MANY

    def build(self, program: Program, variant: str) -> bytes:
        """Return the object code of a program, with a header (see `packed`).

        `variant` is a name that `CpuTarget.variant` returned.
        """
        # Imported here, because cached code needs no printer
        from linkwork.compiler.targets.cpu.kernel_printer import emit

        width = 1 if variant == ONE else processor().width
        text = emit(program, width)
        return packed(width, text.workspace, object_code(text.text))

    def load(self, code: bytes) -> MachineCode:
        """Load object code into memory and return it as callable `MachineCode`."""
        return MachineCode(code)


TARGET: Target = CpuTarget()
