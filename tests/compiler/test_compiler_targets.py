"""No code outside a target's folder depends on its machine, and kernels run on any target of the interface."""

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import linkwork
from linkwork.compiler.graph import FOLD
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.kernel_plan import Chunk, Moves
from linkwork.compiler.targets import Batch, Code, OneStateCall, Program, Target, target_named
from linkwork.spatial.scalar import Array, where

PACKAGE = Path(linkwork.__file__).parent
TARGETS = PACKAGE / "compiler" / "targets"


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_only_the_folder_of_a_compiler_target_imports_its_machine_library() -> None:
    folders = [path.name for path in TARGETS.iterdir() if (path / "__init__.py").exists()]
    assert "cpu" in folders
    machines = tuple(f"linkwork.compiler.targets.{folder}" for folder in folders)
    for path in PACKAGE.rglob("*.py"):
        if not any(TARGETS / folder in path.parents for folder in folders):
            assert not [name for name in imports(path) if name.startswith((*machines, "llvmlite"))], path


def test_error_names_the_missing_library_of_a_compiler_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    for name in [name for name in sys.modules if name.startswith(("linkwork.compiler.targets.cpu", "llvmlite."))]:
        monkeypatch.delitem(sys.modules, name)
    target_named.cache_clear()
    with pytest.raises(ModuleNotFoundError, match="llvmlite"):
        target_named("cpu")


def test_error_for_an_unknown_compiler_target_lists_the_valid_targets() -> None:
    with pytest.raises(linkwork.LinkworkError, match=r"'gpu'.*cpu"):
        target_named("gpu")


class Interpreter:
    """A target that runs the steps of a plan one by one on floats."""

    def __init__(self) -> None:
        self.programs: dict[bytes, Program] = {}

    def digest(self) -> str:
        return "interpreter"

    def has_fused_multiply_add(self) -> bool:
        return False

    def variant(self, count: int) -> str:
        return "any"

    def build(self, program: Program, variant: str) -> bytes:
        name = str(len(self.programs)).encode()
        self.programs[name] = program
        return name

    def load(self, code: bytes) -> Code:
        return Interpreted(self.programs[code])


class Interpreted:
    def __init__(self, program: Program):
        self.plan, self.arguments, _ = program

    def launch(self, batch: Batch, threads: int | None) -> bool:
        for k in range(batch.nstates):
            arrays = zip(batch.inputs, batch.strides, self.arguments, strict=True)
            given = [array.reshape(-1)[k * stride :][: port.size] for array, stride, port in arrays]
            batch.results[0].reshape(batch.nstates, -1)[k] = self.one(np.concatenate(given))
        return bool(np.isfinite(batch.results[0]).all())

    def one(self, numbers: Array) -> list[Any]:
        memory: dict[int, Any] = dict(enumerate(numbers))
        for step in self.plan.steps:
            if isinstance(step, Moves):
                memory |= {to: memory[source] if isinstance(source, int) else source for source, to in step.pairs}
            elif isinstance(step, Chunk):
                self.compute(step, memory)
        return [memory[k] for k in self.plan.outputs]

    def compute(self, chunk: Chunk, memory: dict[int, Any]) -> None:
        values: dict[int, Any] = {}
        for k in chunk.nodes:
            operation, *operands = chunk.graph.nodes[k]
            for i in operands:
                if i not in values:
                    known = chunk.graph.value(i)
                    values[i] = memory[chunk.slots[i]] if known is None else known
            function: Callable[..., Any] = where if operation == "select" else FOLD[operation]
            values[k] = function(*(values[i] for i in operands))
        memory |= {chunk.slots[k]: values[k] for k in chunk.nodes if k in chunk.live_out}

    def fast_call(self, call: OneStateCall) -> Callable[..., Any]:
        return call.general


def function(x: Array, y: Array) -> Array:
    turned = np.sin(x) * y[0] + np.sqrt(np.abs(y[1]) + 1.0)
    return np.stack([where(turned[0] < x[1], turned[1], -y[0]), turned[2], turned @ x])


def test_kernel_runs_on_a_custom_target(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("linkwork.compiler.targets.interpreter.interpreter_target")
    module.TARGET = Interpreter()
    monkeypatch.setitem(sys.modules, module.__name__, module)
    target_named.cache_clear()
    target: Target = target_named("interpreter")
    assert target.digest() == "interpreter"
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(7, 3)), rng.normal(size=2)
    expected = np.array([function(one, y) for one in x])
    for name in ("interpreter", "cpu"):
        kernel = Kernel("function", function, [(3,), (2,)], [(3,)], key=f"on {name}", target=name)
        (found,), finite = kernel.over_batch([x, y], (7,), 1)
        assert finite
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        assert kernel.over_batch([x[2], y], (), 1)[0][0].tobytes() == found[2].tobytes()
        general = kernel.fast_call(lambda *arrays: kernel.over_batch(arrays, (), 1)[0][0], "function", "")  # noqa: B023
        assert general(x[2], y).tobytes() == found[2].tobytes()
    target_named.cache_clear()
