"""Prints a whole kernel as LLVM IR: the loop over a batch of states, and the loops of its program.

A kernel is one function `run` that loops over blocks of W states, one panel of blocks at a time, where W is the vector
width. `run` gathers the inputs into workspaces, executes the steps of the plan, each for all blocks of the panel, and
scatters the results. Running each chunk over a whole panel keeps its instructions in the L1 cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from linkwork.compiler.code_deduplication import SharedChunk, shared_chunks
from linkwork.compiler.kernel_plan import Chunk, LoopStep, Moves, Step
from linkwork.compiler.kernel_shapes import Count
from linkwork.compiler.result_buffers import LARGE_BYTES
from linkwork.compiler.targets.cpu.gather_scatter_printer import NONTEMPORAL, TransferPrinter
from linkwork.compiler.targets.cpu.llvm_printer import ChunkPrinter, whole_numbers
from linkwork.compiler.targets.target_interface import Program

# Measured on forward dynamics, AVX2: chunks of 200 to 500 operations in panels of 4 to 8 blocks take 5 % (9 dof) and
# 25 % (38 dof) less time than chunks of 1500, block by block, whose instructions are evicted from the L1 cache.
# Panels of 4, chunks of 200: 4 % (7 dof), 7 % (18 dof) and 12 % (38 dof) less than of 8, whose workspace exceeds L1.
# Derivatives (38 dof): panels of 2 take 5 % less than single blocks. On AVX-512, with blocks of twice the size, panels
# of 2 instead of 4 save 11 % and 20 % in forward and inverse dynamics of 18 dof, 4 % and 10 % of 38 dof.
PANEL_BYTES = 1 << 15  # size [bytes] up to which the workspaces of a panel's blocks fit the L1 cache
MIN_PANEL, MAX_PANEL = 2, 4  # limits of the number of blocks in a panel; if blocks run one by one, it is 1
# If chunks share code, the code fits the L1 cache anyway, and workspaces should fit L2: variational steps of 128 joints
# take 5 %, of 512 joints 10 % less time in single blocks than in panels of two.
SECOND_CACHE_BYTES = 1 << 18
MIN_TABLE_MOVES = 64  # number of copies from which a loop over a table makes them, instead of straight-line code
ARGUMENTS = "i64 %start, i64 %stop, i64 %last, ptr noalias %first, ptr %inputs, ptr %strides, ptr %counts, ptr %results"


class KernelText(NamedTuple):
    """The LLVM IR `text` of a kernel, and the size of the `workspace` that each thread needs, in doubles."""

    text: str
    workspace: int


def emit(program: Program, width: int) -> KernelText:
    """Return the LLVM IR of a program's kernel for vectors of `width` doubles.

    double run(i64 start, i64 stop, i64 last, ptr workspace, ptr inputs, ptr strides, ptr counts, ptr results) computes
    the states start to stop - 1 in blocks. It returns 0 if all results are finite, else NaN. `last` is the index of the
    last state of the batch: lanes beyond it compute this state again, so that every state is computed by the same
    instructions. `inputs` has one pointer for each array, and `strides` its stride between states, in doubles (0 for a
    shared input). `counts` are the iteration counts of loops, and `results` has one pointer for each result.
    """
    return _BatchLoop(program, width).kernel()


class _BatchLoop:
    """Prints the LLVM IR of a program's function `run`, and of the functions that it calls."""

    def __init__(self, program: Program, width: int):
        self.plan, self.arguments, self.results = program
        self.width = width
        self.panel = self._panel()
        self.printer = ChunkPrinter(self.plan.total, width, self.panel, self.plan.regions)
        self.transfer = TransferPrinter(self.printer)
        self.functions: list[str] = []
        self.calls = self._chunks()
        self.counters: list[str] = []  # names of the loop counters in the IR
        self.streams = False  # whether stores of results bypass the caches
        self.series = [number for number, port in enumerate(self.results) if port.rows is not None]

    def kernel(self) -> KernelText:
        run = self._run()
        notes = [f"{NONTEMPORAL} = !{{i32 1}}"] if self.streams else []
        text = "\n".join([self.printer.declarations(), *self.functions, run, *notes])
        return KernelText(text, self.plan.total * self.width * self.panel)

    def _panel(self) -> int:
        """Return the number of blocks per panel; `run` executes each chunk for all blocks of a panel in turn.

        A block has one state per SIMD lane. Code for one state (width 1) has no loops over blocks. If the program uses
        row arrays, a panel is one block: the loops over rows end early, and each block should execute only the
        iterations that it needs.
        """
        if self.plan.regions:
            return 1
        block = 8 * self.width * max(1, self.plan.usual)  # bytes of the usual workspace of one block
        if self.width == 1 or (self.plan.shares_chunks and MIN_PANEL * block > SECOND_CACHE_BYTES):
            return 1
        return max(MIN_PANEL, min(MAX_PANEL, PANEL_BYTES // block))

    # --- run ---

    def _run(self) -> str:
        work: list[str] = []
        first = 0
        for number, port in enumerate(self.arguments):
            if port.rows is None:
                work += self._gather(number, port.size, first, "0")
                first += port.size
        work += self._steps(self.plan.steps)
        slots = iter(self.plan.outputs)
        for number, port in enumerate(self.results):
            if port.rows is None:
                work += self._scatter(number, list(islice(slots, port.size)), str(port.size), "0")
        real, zero = self.printer.real, self.printer.constant(0.0)
        counters = "\n".join(f"  %{name} = alloca i64" for name in self.counters)
        body = "\n".join(work)
        return f"""define double @run({ARGUMENTS}) nounwind {{
entry:
  %finite = alloca {real}, align {8 * self.width}
  store {real} {zero}, ptr %finite, align {8 * self.width}
  %state.p = alloca i64
  store i64 %start, ptr %state.p
{counters}
  br label %head
head:
  %state = load i64, ptr %state.p
  %any = icmp slt i64 %state, %stop
  br i1 %any, label %panel, label %done
panel:
  %left = sub i64 %stop, %state
  %left.up = add i64 %left, {self.width - 1}
  %blocks = sdiv i64 %left.up, {self.width}
  %few = icmp slt i64 %blocks, {self.panel}
  %count = select i1 %few, i64 %blocks, i64 {self.panel}
{body}
  %rows = mul i64 %count, {self.width}
  %state.next = add i64 %state, %rows
  store i64 %state.next, ptr %state.p
  br label %head
done:
  {"fence seq_cst" if self.streams else ""}
  %sum = load {real}, ptr %finite, align {8 * self.width}
{self._total()}
}}"""

    def _total(self) -> str:
        if self.width == 1:
            return "  ret double %sum"
        name = f"llvm.vector.reduce.fadd.{self.printer.suffix}"
        self.printer.declared[name] = f"declare double @{name}(double, {self.printer.real})"
        return f"  %total = call double @{name}(double 0.0, {self.printer.real} %sum)\n  ret double %total"

    def _name(self, what: str) -> str:
        return f"{what}{len(self.functions)}"

    # --- steps ---

    def _steps(self, steps: Sequence[Step]) -> list[str]:
        """Return the IR lines of `run` that execute the given plan steps for the blocks of a panel."""
        lines: list[str] = []
        for step in steps:
            if isinstance(step, LoopStep):
                lines += self._loop(step)
            elif isinstance(step, Chunk):
                lines.append(self.calls[id(step)])
            else:
                lines += self._moves(step)
        return lines

    def _moves(self, moves: Moves) -> list[str]:
        """Return the IR lines of `run` that copy numbers in the workspace, and print the functions that do this.

        All copies of `moves` must read their sources before any of them writes. Copies to slots that no copy reads can
        be made first: if there are many, a loop over a table makes them. One function makes all remaining copies.
        """
        read = {source for source, _ in moves.pairs if isinstance(source, int)}
        rest, lines = moves.pairs, []
        for kind in (int, float):
            some = [pair for pair in rest if isinstance(pair[0], kind) and pair[1] not in read]
            if len(some) >= MIN_TABLE_MOVES:
                rest = [pair for pair in rest if not isinstance(pair[0], kind) or pair[1] in read]
                name = self._name("moves")
                self.functions.append(self.printer.many_moves(name, Moves(some)))
                lines.append(f"  call void @{name}(ptr %first, i64 %count)")
        if rest:
            name = self._name("moves")
            self.functions.append(self.printer.moves(name, Moves(rest)))
            lines.append(f"  call void @{name}(ptr %first, i64 %count)")
        return lines

    def _chunks(self) -> dict[int, str]:
        """Print the LLVM IR functions of all chunks; return the IR lines that call them, by the `id` of the chunk."""
        calls: dict[int, str] = {}
        for shared, chunks in shared_chunks(self.plan):
            name, size = self._name("chunk"), len(shared.rows[0])
            self.functions.append(self.printer.chunk(name, shared))
            if size:
                self.functions.append(whole_numbers(f"{name}.rows", self._scaled(shared)))
            for i, chunk in enumerate(chunks):
                row = f", ptr getelementptr inbounds (i64, ptr @{name}.rows, i64 {i * size})" if size else ""
                calls[id(chunk)] = f"  call void @{name}(ptr %first, i64 %count{row})"
        return calls

    def _scaled(self, shared: SharedChunk) -> list[int]:
        """Return the table of a shared chunk as one list, with slot numbers converted to memory offsets in doubles."""
        constants = set(shared.constants.values())
        return [x if i in constants else x * self.width for row in shared.rows for i, x in enumerate(row)]

    def _loop(self, step: LoopStep) -> list[str]:
        """Return the IR lines of `run` that execute a loop of the program for all blocks of a panel.

        `step` is the plan step of the loop.
        """
        loop, name = step.loop, f"loop{len(self.counters)}"
        self.counters.append(f"{name}.p")
        k, most = f"%{name}.k", f"%{name}.most"
        lines = [f"  store i64 0, ptr %{name}.p"]
        if isinstance(loop.count, Count):
            lines += self._count(most, loop.count)
        else:
            lines.append(f"  {most} = add i64 0, {loop.count}")
        lines += [
            f"  br label %{name}.head",
            f"{name}.head:",
            f"  {k} = load i64, ptr %{name}.p",
            f"  {k}.more = icmp slt i64 {k}, {most}",
            f"  br i1 {k}.more, label %{name}.{'watch' if step.watched is not None else 'body'}, label %{name}.end",
        ]
        if step.watched is not None:
            watch = self._watch(step.watched)
            lines += [
                f"{name}.watch:",
                f"  %{name}.going = call i1 @{watch}(ptr %first, i64 %count)",
                f"  br i1 %{name}.going, label %{name}.body, label %{name}.end",
            ]
        lines.append(f"{name}.body:")
        first = step.rows
        for table in loop.tables:
            offset = f"%{name}.row{first}"
            lines.append(f"  {offset} = mul i64 {k}, {table.size}")
            lines += self._gather(table.argument, table.size, first, offset)
            first += table.size
        return [
            *lines,
            *self._steps(step.steps),
            *self._recorded(step, name, k, most),
            *self._steps([step.update]),  # after recording, which may read the old state
            f"  {k}.next = add i64 {k}, 1",
            f"  store i64 {k}.next, ptr %{name}.p",
            f"  br label %{name}.head",
            f"{name}.end:",
        ]

    def _recorded(self, step: LoopStep, name: str, k: str, most: str) -> list[str]:
        """Return the IR lines of `run` that write the values recorded in iteration `k` to the results.

        `name` is the name of the loop, a prefix of its IR values. `step` is the plan step of the loop. `k` and `most`
        are the IR names of the iteration index and of the number of iterations.
        """
        lines: list[str] = []
        slots = iter(step.recorded)
        for one in step.loop.series:
            number = self.series[one]
            size = self.results[number].size
            offset, stride = f"%{name}.at{number}", f"%{name}.length{number}"
            capacity, counted = most, self.results[number].capacity
            if counted is not None:
                capacity = f"%{name}.capacity{number}"
                lines += self._count(capacity, counted)
            lines += [f"  {offset} = mul i64 {k}, {size}", f"  {stride} = mul i64 {capacity}, {size}"]
            lines += self._scatter(number, list(islice(slots, size)), stride, offset)
        return lines

    def _count(self, name: str, count: Count) -> list[str]:
        """Return the IR lines of `run` that load the iteration count `count`; it becomes the IR value `name`."""
        return [
            f"  {name}.p = getelementptr inbounds i64, ptr %counts, i64 {count.number}",
            f"  {name} = load i64, ptr {name}.p",
        ]

    def _watch(self, slot: int) -> str:
        """Print an IR function that returns whether a workspace slot is nonzero in any lane of any block of a panel.

        Return the name of the function.
        """
        name, printer = self._name("watch"), self.printer
        printer.start()
        value = printer.load(slot)
        going = printer.new(f"fcmp une {printer.real} {value}, {printer.constant(0.0)}")
        if self.width > 1:
            reduce = f"llvm.vector.reduce.or.v{self.width}i1"
            printer.declared[reduce] = f"declare i1 @{reduce}({printer.truth})"
            going = printer.new(f"call i1 @{reduce}({printer.truth} {going})")
        printer.lines.append(f"  %after = or i1 %before, {going}")
        self.functions.append(printer.over_blocks(name, carried="false", result="i1"))
        return name

    # --- between the arrays of the caller and the workspaces ---

    def _gather(self, number: int, size: int, first: int, offset: str) -> list[str]:
        """Return the IR lines of `run` that copy argument `number` of the panel's states to the slots from `first` on.

        The lines copy `size` numbers per state, beginning `offset` doubles (an IR value) after the start of the state.
        """
        if size == 0:
            return []
        name = self._name("gather")
        self.functions.append(self.transfer.gather(name, first, size))
        at = f"%{name}.at"
        return [
            f"  {at}.p = getelementptr inbounds ptr, ptr %inputs, i64 {number}",
            f"  {at} = load ptr, ptr {at}.p",
            f"  {at}.stride.p = getelementptr inbounds i64, ptr %strides, i64 {number}",
            f"  {at}.stride = load i64, ptr {at}.stride.p",
            f"  call void @{name}(ptr %first, i64 %count, i64 %state, i64 %last, "
            f"ptr {at}, i64 {at}.stride, i64 {offset})",
        ]

    def _scatter(self, number: int, slots: Sequence[int], stride: str, offset: str) -> list[str]:
        """Return the IR lines of `run` that write result `number` of the panel's states from workspace slots.

        The lines also accumulate the check for finite numbers. In the result array, successive states are `stride`
        doubles apart, and writing begins `offset` doubles after the start of each state; both are IR values or numbers.
        """
        if not slots:
            return []
        name, real, size = self._name("scatter"), self.printer.real, len(slots)
        streams = offset == "0" and self.width > 1 and size % self.width == 0
        self.functions.append(self.transfer.scatter(name, slots, streams))
        at, function = f"%{name}.at", f"@{name}"
        lines = [
            f"  {at}.p = getelementptr inbounds ptr, ptr %results, i64 {number}",
            f"  {at} = load ptr, ptr {at}.p",
            f"  {at}.known = load {real}, ptr %finite, align {8 * self.width}",
        ]
        if streams:
            function = f"{at}.function"
            lines += [
                f"  {at}.address = ptrtoint ptr {at} to i64",
                f"  {at}.beside = and i64 {at}.address, {8 * self.width - 1}",
                f"  {at}.aligned = icmp eq i64 {at}.beside, 0",
                f"  {at}.large = icmp sge i64 %last, {LARGE_BYTES // (8 * size)}",
                f"  {at}.stream = and i1 {at}.aligned, {at}.large",
                f"  {function} = select i1 {at}.stream, ptr @{name}.past, ptr @{name}",
            ]
            self.streams = True
        return [
            *lines,
            f"  {at}.sum = call {real} {function}(ptr %first, i64 %count, i64 %state, i64 %last, "
            f"ptr {at}, i64 {stride}, i64 {offset}, {real} {at}.known)",
            f"  store {real} {at}.sum, ptr %finite, align {8 * self.width}",
        ]
