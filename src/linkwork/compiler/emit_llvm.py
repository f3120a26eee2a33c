"""Printing a graph as LLVM IR on vectors of W doubles, one state per lane: one table of operations.

A kernel is one function `run` that walks over blocks of W states: it gathers a panel of blocks into a workspace, calls
the chunks of the graph one after the other, each for all blocks of the panel, and scatters the results. Chunks keep
their values in registers and pass on through the workspace what others need. Their bounded size keeps the time of code
generation linear in the graph, and running each over a whole panel keeps its instructions in the first cache.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from llvmlite import ir

from linkwork.compiler.graph import COMPARISONS, FUSED, LOGIC, TRUTHS, Graph
from linkwork.compiler.vector_math import math_function

# Measured on forward dynamics, AVX2: chunks of 200 to 500 operations in panels of 4 to 8 blocks take 5 % (9 dof) and
# 25 % (38 dof) less time than chunks of 1500, block by block, whose instructions leave the first cache in between.
CHUNK = 200  # operations
PANEL_BYTES = 1 << 17  # of workspace, which must stay in the second cache
LONGEST_PANEL = 8  # blocks
BINARY_INSTRUCTIONS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
INTRINSICS = {"sqrt": "sqrt", "abs": "fabs", "floor": "floor"}
COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq"}
MATH = ("tan", "asin", "acos", "exp", "log", "atan2")


class Program(NamedTuple):
    """LLVM text, the symbol to call and the workspace it needs, in doubles."""

    text: str
    symbol: str
    workspace: int


def emit(graph: Graph, sizes: Sequence[int], width: int, symbol: str = "run") -> Program:
    """The kernel of a fused graph whose inputs are arrays of the given sizes, on vectors of `width` doubles.

    double run(i64 start, i64 stop, i64 last, ptr workspace, ptr inputs, ptr strides, ptr out) computes the states
    start to stop - 1 in blocks and returns zero if all results are finite, else not a number. `last` is the number of
    the last state there is: lanes beyond it repeat it, so that every state goes through the same instructions. `inputs`
    and `strides` hold one pointer and one distance between states (in doubles, 0 for a shared input) for each array;
    `out` holds the results state by state.
    """
    return _Printer(graph, sizes, width, symbol).program()


def literal(value: float) -> str:
    """A double as LLVM writes it exactly."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class _Printer:
    def __init__(self, graph: Graph, sizes: Sequence[int], width: int, symbol: str):
        self.graph, self.sizes, self.width, self.symbol = graph, sizes, width, symbol
        self.real = "double" if width == 1 else f"<{width} x double>"
        self.truth = "i1" if width == 1 else f"<{width} x i1>"
        self.suffix = "f64" if width == 1 else f"v{width}f64"
        self.module = ir.Module(name="math")
        self.declared: dict[str, str] = {}
        self.lines: list[str] = []

    def program(self) -> Program:
        chunks = self._chunks()
        slots, self.total = self._slots(chunks)
        self.panel = max(1, min(LONGEST_PANEL, PANEL_BYTES // (8 * self.width * max(1, self.total))))
        bodies = [self._chunk(number, nodes, slots) for number, nodes in enumerate(chunks)]
        bodies += [self._gather(), self._scatter()]
        run = self._run(len(chunks))
        math = "\n".join(
            line for line in str(self.module).splitlines() if not line.startswith(("target", "source", ";"))
        )
        missing = [line for name, line in self.declared.items() if f'@"{name}"(' not in math]
        text = "\n".join([math, *missing, *bodies, run])
        return Program(text, self.symbol, self.total * self.width * self.panel)

    # --- cutting the graph ---

    def _chunks(self) -> list[list[int]]:
        work = [k for k, node in enumerate(self.graph.nodes) if node[0] not in ("const", "input")]
        return [work[k : k + CHUNK] for k in range(0, len(work), CHUNK)]

    def _slots(self, chunks: list[list[int]]) -> tuple[dict[int, int], int]:
        """A place in the workspace for every value that leaves its chunk; places are used again once free.

        Inputs come first, then the results; a result that others need is read from its place there.
        """
        home = {k: number for number, nodes in enumerate(chunks) for k in nodes}
        last_use: dict[int, int] = {}
        for number, nodes in enumerate(chunks):
            for k in nodes:
                for operand in self.graph.nodes[k][1:]:
                    if operand in home and home[operand] != number:
                        last_use[operand] = number
        ninputs = sum(self.sizes)
        slots = {k: node[1] for k, node in enumerate(self.graph.nodes) if node[0] == "input"}
        total = ninputs + len(self.graph.outputs)
        for place, k in enumerate(self.graph.outputs):
            if k in home:
                slots.setdefault(k, ninputs + place)
        free: list[int] = []
        ending: dict[int, list[int]] = {}
        for number, nodes in enumerate(chunks):
            for k in nodes:
                if k in last_use and k not in slots:
                    if not free:
                        free.append(total)
                        total += 1
                    slots[k] = free.pop()
                    ending.setdefault(last_use[k], []).append(slots[k])
            free += ending.pop(number, [])
        self.leaving = set(last_use) | {k for k in self.graph.outputs if k in home}
        return slots, total

    # --- one chunk ---

    def _chunk(self, number: int, nodes: list[int], slots: dict[int, int]) -> str:
        self.lines, self.temporaries = [], 0
        self.values: dict[int, str] = {}  # names of the values that the chunk knows
        self.pairs: dict[int, str] = {}  # sine and cosine of a value
        inside = set(nodes)
        for k in nodes:
            for operand in self.graph.nodes[k][1:]:
                if operand not in self.values:
                    self._bring(operand, operand in inside, slots)
            self._operation(k)
            if k in self.leaving:
                self._store(self._as_real(k), slots[k])
        return self._over_blocks(f"chunk{number}")

    def _bring(self, k: int, inside: bool, slots: dict[int, int]) -> None:
        """Make a value from outside the chunk known inside it."""
        node = self.graph.nodes[k]
        if node[0] == "const":
            self.values[k] = self._constant(node[1])
        elif not inside:
            value = self._load(slots[k])
            zero = self._constant(0.0)
            self.values[k] = self._new(f"fcmp une {self.real} {value}, {zero}") if self._is_truth(k) else value

    def _as_real(self, k: int) -> str:
        """A value as the workspace holds it: truths are 1 and 0 there."""
        if not self._is_truth(k):
            return self.values[k]
        one, zero = self._constant(1.0), self._constant(0.0)
        return self._new(f"select {self.truth} {self.values[k]}, {self.real} {one}, {self.real} {zero}")

    def _constant(self, value: float | bool) -> str:
        text = ("true" if value else "false") if isinstance(value, bool) else literal(value)
        kind = "i1" if isinstance(value, bool) else "double"
        return text if self.width == 1 else f"splat ({kind} {text})"

    def _new(self, text: str) -> str:
        name = f"%t{self.temporaries}"
        self.temporaries += 1
        self.lines.append(f"  {name} = {text}")
        return name

    def _place(self, slot: int) -> str:
        return self._new(f"getelementptr inbounds double, ptr %w, i64 {slot * self.width}")

    def _load(self, slot: int) -> str:
        return self._new(f"load {self.real}, ptr {self._place(slot)}, align {8 * self.width}")

    def _store(self, value: str, slot: int) -> None:
        self.lines.append(f"  store {self.real} {value}, ptr {self._place(slot)}, align {8 * self.width}")

    def _operation(self, k: int) -> None:
        operation, *operands = self.graph.nodes[k]
        values, real = [self.values[operand] for operand in operands], self.real
        if operation in BINARY_INSTRUCTIONS:
            result = self._new(f"{BINARY_INSTRUCTIONS[operation]} {real} {values[0]}, {values[1]}")
        elif operation in FUSED:
            result = self._fused(operation, values)
        elif operation == "neg":
            result = self._new(f"fneg {real} {values[0]}")
        elif operation in ("sin", "cos"):
            result = self._sine_or_cosine(operation, operands[0], values[0])
        elif operation in INTRINSICS:
            result = self._call(f"llvm.{INTRINSICS[operation]}.{self.suffix}", values)
        elif operation in MATH:
            name = math_function(self.module, operation, self.width).name
            arguments = ", ".join(f"{real} {value}" for value in values)
            result = self._new(f'call {real} @"{name}"({arguments})')
        elif operation in COMPARISONS:
            result = self._new(f"fcmp {COMPARE[operation]} {real} {values[0]}, {values[1]}")
        elif operation in LOGIC:
            second = self._constant(True) if operation == "not" else values[1]
            instruction = {"and": "and", "or": "or", "not": "xor"}[operation]
            result = self._new(f"{instruction} {self.truth} {values[0]}, {second}")
        else:  # select
            kind = self.truth if self._is_truth(operands[1]) else real
            result = self._new(f"select {self.truth} {values[0]}, {kind} {values[1]}, {kind} {values[2]}")
        self.values[k] = result

    def _is_truth(self, k: int) -> bool:
        node = self.graph.nodes[k]
        return node[0] in TRUTHS or isinstance(node[1], bool)

    def _fused(self, operation: str, values: list[str]) -> str:
        a, b, c = values
        if operation == "fms":
            c = self._new(f"fneg {self.real} {c}")
        if operation == "fnma":
            a = self._new(f"fneg {self.real} {a}")
        return self._call(f"llvm.fma.{self.suffix}", [a, b, c])

    def _call(self, intrinsic: str, values: list[str]) -> str:
        kinds = ", ".join([self.real] * len(values))
        self.declared[intrinsic] = f"declare {self.real} @{intrinsic}({kinds})"
        arguments = ", ".join(f"{self.real} {value}" for value in values)
        return self._new(f"call {self.real} @{intrinsic}({arguments})")

    def _sine_or_cosine(self, operation: str, operand: int, value: str) -> str:
        """Both come from one call; the second to be asked for finds it."""
        if operand not in self.pairs:
            name = math_function(self.module, "sincos", self.width).name
            self.pairs[operand] = self._new(f'call {{{self.real}, {self.real}}} @"{name}"({self.real} {value})')
        index = 0 if operation == "sin" else 1
        return self._new(f"extractvalue {{{self.real}, {self.real}}} {self.pairs[operand]}, {index}")

    def _over_blocks(self, name: str) -> str:
        """The lines so far as a function that runs them for `count` blocks, whose workspaces follow each other."""
        body = "\n".join(self.lines)
        return f"""define internal void @{name}(ptr noalias %first, i64 %count) nounwind {{
entry:
  br label %block
block:
  %k = phi i64 [ 0, %entry ], [ %k.next, %block ]
  %distance = mul i64 %k, {self.total * self.width}
  %w = getelementptr inbounds double, ptr %first, i64 %distance
{body}
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %count
  br i1 %more, label %block, label %done
done:
  ret void
}}"""

    # --- the walk over states ---

    def _run(self, nchunks: int) -> str:
        """Panels of blocks: gather them all, run each chunk over them all, scatter them all."""
        calls = "\n".join(f"  call void @chunk{number}(ptr %w, i64 %count)" for number in range(nchunks))
        zero, stride = self._constant(0.0), self.total * self.width
        arguments = "i64 %start, i64 %stop, i64 %last, ptr noalias %w, ptr %inputs, ptr %strides, ptr noalias %out"
        return f"""define double @{self.symbol}({arguments}) nounwind {{
entry:
  br label %head
head:
  %state = phi i64 [ %start, %entry ], [ %state.next, %tail ]
  %finite = phi {self.real} [ {zero}, %entry ], [ %sum, %tail ]
  %any = icmp slt i64 %state, %stop
  br i1 %any, label %panel, label %done
panel:
  %left = sub i64 %stop, %state
  %left.up = add i64 %left, {self.width - 1}
  %blocks = sdiv i64 %left.up, {self.width}
  %few = icmp slt i64 %blocks, {self.panel}
  %count = select i1 %few, i64 %blocks, i64 {self.panel}
  br label %in
in:
  %i = phi i64 [ 0, %panel ], [ %i.next, %in ]
  %i.rows = mul i64 %i, {self.width}
  %i.state = add i64 %state, %i.rows
  %i.offset = mul i64 %i, {stride}
  %i.w = getelementptr inbounds double, ptr %w, i64 %i.offset
  call void @gather(ptr %i.w, i64 %i.state, i64 %last, ptr %inputs, ptr %strides)
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i.next, %count
  br i1 %i.more, label %in, label %work
work:
{calls}
  br label %out.block
out.block:
  %o = phi i64 [ 0, %work ], [ %o.next, %out.block ]
  %o.sum = phi {self.real} [ %finite, %work ], [ %sum, %out.block ]
  %o.rows = mul i64 %o, {self.width}
  %o.state = add i64 %state, %o.rows
  %o.offset = mul i64 %o, {stride}
  %o.w = getelementptr inbounds double, ptr %w, i64 %o.offset
  %part = call {self.real} @scatter(ptr %o.w, i64 %o.state, i64 %last, ptr %out)
  %sum = fadd {self.real} %o.sum, %part
  %o.next = add i64 %o, 1
  %o.more = icmp slt i64 %o.next, %count
  br i1 %o.more, label %out.block, label %tail
tail:
  %rows = mul i64 %count, {self.width}
  %state.next = add i64 %state, %rows
  br label %head
done:
{self._total()}
}}"""

    def _total(self) -> str:
        if self.width == 1:
            return "  ret double %finite"
        name = f"llvm.vector.reduce.fadd.{self.suffix}"
        self.declared[name] = f"declare double @{name}(double, {self.real})"
        return f"  %total = call double @{name}(double 0.0, {self.real} %finite)\n  ret double %total"

    def _rows(self) -> list[str]:
        """The states of the lanes of a block; lanes beyond the last repeat it."""
        rows = []
        for lane in range(self.width):
            row = self._new(f"add i64 %state, {lane}")
            inside = self._new(f"icmp slt i64 {row}, %last")
            rows.append(self._new(f"select i1 {inside}, i64 {row}, i64 %last"))
        return rows

    def _gather(self) -> str:
        """A function that brings the inputs of W states together in the workspace."""
        self.lines, self.temporaries = ["entry:"], 0
        new = self._new
        rows, before, offset = self._rows(), "entry", 0
        for k, size in enumerate(self.sizes):
            pointer = new(f"load ptr, ptr {new(f'getelementptr inbounds ptr, ptr %inputs, i64 {k}')}")
            stride = new(f"load i64, ptr {new(f'getelementptr inbounds i64, ptr %strides, i64 {k}')}")
            lanes = self._lanes(pointer, [new(f"mul i64 {row}, {stride}") for row in rows])
            if size:
                place, sources = self._loop(f"array{k}", before, offset, lanes)
                values = [new(f"load double, ptr {source}, align 8") for source in sources]
                vector = values[0]
                if self.width > 1:
                    vector = "poison"
                    for lane, value in enumerate(values):
                        vector = new(f"insertelement {self.real} {vector}, double {value}, i32 {lane}")
                self.lines.append(f"  store {self.real} {vector}, ptr {place}, align {8 * self.width}")
                before = self._end_loop(f"array{k}", size)
            offset += size
        body = "\n".join([*self.lines, "  ret void"])
        arguments = "ptr noalias %w, i64 %state, i64 %last, ptr %inputs, ptr %strides"
        return f"define internal void @gather({arguments}) nounwind {{\n{body}\n}}"

    def _scatter(self) -> str:
        """A function that hands the results out to W states; what it returns is zero where all of them are finite."""
        self.lines, self.temporaries = ["entry:"], 0
        new, size, offset = self._new, len(self.graph.outputs), sum(self.sizes)
        self._plain_results(offset)
        rows = self._rows()
        lanes = self._lanes("%out", [new(f"mul i64 {row}, {size}") for row in rows])
        place, targets = self._loop(
            "results",
            "entry",
            offset,
            lanes,
            f"%before = phi {self.real} [ {self._constant(0.0)}, %entry ], [ %sum, %results ]",
        )
        vector = new(f"load {self.real}, ptr {place}, align {8 * self.width}")
        for lane, target in enumerate(targets):
            value = vector if self.width == 1 else new(f"extractelement {self.real} {vector}, i32 {lane}")
            self.lines.append(f"  store double {value}, ptr {target}, align 8")
        zero = new(f"fmul {self.real} {vector}, {self._constant(0.0)}")
        self.lines.append(f"  %sum = fadd {self.real} %before, {zero}")
        self._end_loop("results", size)
        body = "\n".join([*self.lines, f"  ret {self.real} %sum"])
        arguments = "ptr noalias %w, i64 %state, i64 %last, ptr noalias %out"
        return f"define internal {self.real} @scatter({arguments}) nounwind {{\n{body}\n}}"

    def _lanes(self, pointer: str, offsets: list[str]) -> list[str]:
        return [self._new(f"getelementptr inbounds double, ptr {pointer}, i64 {offset}") for offset in offsets]

    def _loop(self, name: str, before: str, offset: int, lanes: list[str], carried: str = "") -> tuple[str, list[str]]:
        """Open a loop over the numbers of an array: the place of one in the workspace, and in each lane's state."""
        self.lines += [f"  br label %{name}", f"{name}:"]
        self.lines.append(f"  %{name}.i = phi i64 [ 0, %{before} ], [ %{name}.next, %{name} ]")
        if carried:
            self.lines.append(f"  {carried}")
        slot = self._new(f"add i64 %{name}.i, {offset}")
        first = self._new(f"mul i64 {slot}, {self.width}")
        place = self._new(f"getelementptr inbounds double, ptr %w, i64 {first}")
        return place, [self._new(f"getelementptr inbounds double, ptr {lane}, i64 %{name}.i") for lane in lanes]

    def _end_loop(self, name: str, size: int) -> str:
        self.lines += [
            f"  %{name}.next = add i64 %{name}.i, 1",
            f"  %{name}.more = icmp slt i64 %{name}.next, {size}",
            f"  br i1 %{name}.more, label %{name}, label %{name}.end",
            f"{name}.end:",
        ]
        return f"{name}.end"

    def _plain_results(self, offset: int) -> None:
        """Results that no chunk stores in their place: constants, inputs, and values that are results twice."""
        seen: set[int] = set()
        for place, k in enumerate(self.graph.outputs):
            node = self.graph.nodes[k]
            if node[0] == "const":
                self._store(self._constant(node[1]), offset + place)
            elif node[0] == "input":
                self._store(self._load(node[1]), offset + place)
            elif k in seen:
                self._store(self._load(offset + self.graph.outputs.index(k)), offset + place)
            seen.add(k)
