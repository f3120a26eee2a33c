"""The processor and its vector width; LLVM text becomes object code, and object code addresses that can be called."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm


class Processor(NamedTuple):
    """Name and features as LLVM knows them, and how many doubles its vectors hold."""

    name: str
    features: str
    width: int
    has_fma: bool


@cache
def processor() -> Processor:
    """The processor this process runs on."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    avx512 = features.get("avx512f", False)
    width = 8 if avx512 else 4 if features.get("avx", False) else 2
    has_fma = bool(features.get("fma", False) or features.get("neon", False) or avx512)
    return Processor(llvm.get_host_cpu_name(), features.flatten(), width, has_fma)


def identity(host: Processor) -> str:
    """What object code depends on besides its graph: processor, vector width, LLVM and llvmlite."""
    llvm_version = ".".join(map(str, llvm.llvm_version_info))
    machine = f"{llvm.get_default_triple()} {host.name} {host.features} width {host.width}"
    return f"{machine} llvm {llvm_version} llvmlite {llvmlite.__version__}"


def _target_machine() -> Any:
    """A new one each time: an execution engine owns and ends the one it is given."""
    host = processor()
    target = llvm.Target.from_default_triple()
    # Constants close to the code: one instruction each instead of two, 5 to 25 % less time (9 and 38 dof).
    # Level 1 takes 13 % less time than 2 for code that is as fast within 3 %; 0 takes 80 % less, for code that takes
    # 1.3 to 2.7 times as long. Measured, Zen 3: dynamics, derivatives and runs, 2 to 36 dof, one state and many.
    return target.create_target_machine(
        cpu=host.name, features=host.features, opt=1, reloc="pic", codemodel="small", jit=True
    )


def object_code(text: str) -> bytes:
    """LLVM text as object code. Graphs are simplified before they are printed: no passes but code generation run."""
    module = llvm.parse_assembly(text)
    module.verify()
    return _target_machine().emit_object(module)


class Loaded:
    """Object code in memory; addresses stay valid while this object lives."""

    def __init__(self, code: bytes):
        processor()
        # One block of memory for all sections: offsets of the small code model have 32 bits, and sections that were
        # mapped apart from each other ended the process on a machine with much memory
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(), use_lmm=True)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, symbol: str) -> int:
        """Where a function begins."""
        return self._engine.get_function_address(symbol)


def python_api(*names: str) -> None:
    """Let object code call these functions of Python's C API."""
    for name in names:
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        llvm.add_symbol(name, address)
