"""Detects the processor and its vector width, compiles LLVM IR to object code, and loads object code."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm

# LLVM's level of code generation. Level 1 compiles in 13 % less time than 2, for code with the same speed within 3 %;
# level 0 in 80 % less time, for code that takes 1.3 to 2.7 times as long. Measured, Zen 3: dynamics, derivatives and
# runs, 2 to 36 dof, one state and many. All levels give the same bits; most tests use 0.
CODE_GENERATION_LEVEL = 1


class Processor(NamedTuple):
    """A processor: `name` and `features` as LLVM reports them.

    `width` is the number of doubles per vector, and `has_fma` whether the processor has fused multiply-add
    instructions.
    """

    name: str
    features: str
    width: int
    has_fma: bool


@cache
def processor() -> Processor:
    """Return the processor on which this process runs."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    avx512 = features.get("avx512f", False)
    width = 8 if avx512 else 4 if features.get("avx", False) else 2
    has_fma = bool(features.get("fma", False) or features.get("neon", False) or avx512)
    return Processor(llvm.get_host_cpu_name(), features.flatten(), width, has_fma)


def identity(host: Processor) -> str:
    """Return a text with all properties of the computer that affect generated code; it is part of the cache key.

    The properties are LLVM's target triple (with the operating system), the processor `host` with its vector width, the
    versions of LLVM and llvmlite, and the level of code generation.
    """
    llvm_version = ".".join(map(str, llvm.llvm_version_info))
    machine = f"{llvm.get_default_triple()} {host.name} {host.features} width {host.width}"
    return f"{machine} llvm {llvm_version} llvmlite {llvmlite.__version__} level {CODE_GENERATION_LEVEL}"


def _target_machine() -> Any:
    """Return a new LLVM target machine for the processor of this process.

    Each linker needs a separate one, because a linker takes ownership of its target machine.
    """
    host = processor()
    target = llvm.Target.from_default_triple()
    # Small code model: constants close to the code, one instruction each instead of two, 5 to 25 % less time
    # (9 and 38 dof).
    return target.create_target_machine(
        cpu=host.name, features=host.features, opt=CODE_GENERATION_LEVEL, reloc="pic", codemodel="small", jit=True
    )


def object_code(text: str) -> bytes:
    """Return the object code that LLVM generates from the LLVM IR `text`, for the processor of this process.

    LLVM runs only code generation, no optimization passes, because linkwork simplifies graphs before it prints them.
    The IR is not verified here, which would take 1 % of the time; the tests verify all IR that they compile.
    """
    return _target_machine().emit_object(llvm.parse_assembly(text))


@cache
def _linker() -> llvm.LLJIT:
    """Return the JIT linker of this process, which places object code in memory.

    The linker is JITLink, which gives each object one block of memory. LLVM's older linker MCJIT could map sections
    more than 2 GiB apart; the 32-bit offsets of the small code model then crashed the process.
    """
    processor()
    return llvm.create_lljit_compiler(_target_machine(), use_jit_link=True)


_numbers = count()  # serial numbers that make library names unique


class Loaded:
    """Object code loaded in memory; `address` is the address of its function `symbol`.

    The address is valid as long as this object exists. `imports` maps the names of functions that the code calls,
    except those of the C library, to their addresses.
    """

    def __init__(self, code: bytes, symbol: str, imports: Mapping[str, int] = MappingProxyType({})):
        library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(symbol)
        for name, address in imports.items():
            library.import_symbol(name, address)
        self._linked = library.link(_linker(), f"kernel {next(_numbers)}")
        self.address: int = self._linked[symbol]


def python_api(*names: str) -> dict[str, int]:
    """Return the addresses of functions of Python's C API, by name."""
    pointers = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in names}
    return {name: address for name, address in pointers.items() if address is not None}
