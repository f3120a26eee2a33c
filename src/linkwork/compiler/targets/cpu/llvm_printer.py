"""Prints graph operations as LLVM IR on vectors of W doubles (the vector width), one state per lane."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from llvmlite import ir

from linkwork.compiler.code_deduplication import SharedChunk, SlotAddress
from linkwork.compiler.graph import COMPARISONS, FUSED, LOGIC, Graph, Lookup, bits_of, is_truth
from linkwork.compiler.kernel_plan import Moves
from linkwork.compiler.row_array_operations import ReadRow, Region, WriteRow
from linkwork.compiler.targets.cpu.vector_math import constant_vector, math_function, worth_a_vector

BINARY_INSTRUCTIONS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
# Minimum and maximum propagate NaN
INTRINSICS = {"sqrt": "sqrt", "abs": "fabs", "floor": "floor", "min": "minimum", "max": "maximum"}
COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq"}
PAIRED = {"sin": ("sincos", 0), "cos": ("sincos", 1), "uniform": ("uniforms", 0), "uniform_second": ("uniforms", 1)}
MATH = ("tan", "asin", "acos", "exp", "log", "atan2")

OUTSIDE = "!1001"  # alias scope of values from outside a chunk, to which the chunk never stores


def literal(value: float) -> str:
    """Return the double `value` in LLVM's exact hexadecimal notation."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def table_definition(name: str, table: bytes) -> str:
    """Return the LLVM IR of a module constant `name` with a table of doubles."""
    numbers = ", ".join(f"double 0x{word:016X}" for word in struct.unpack(f"<{len(table) // 8}Q", table))
    return f"@{name} = private unnamed_addr constant [{len(table) // 8} x double] [{numbers}], align 64"


def whole_numbers(name: str, numbers: Sequence[int]) -> str:
    """Return the LLVM IR of a module constant `name`: a table of the 64-bit integers `numbers`."""
    text = ", ".join(f"i64 {number}" for number in numbers)
    return f"@{name} = private unnamed_addr constant [{len(numbers)} x i64] [{text}], align 64"


class ChunkPrinter:
    """Prints chunks of operations, and copies of numbers, as LLVM IR functions that run for `count` blocks of states.

    A block has W states, where W is the vector width; `count` is at most `panel`. Each block has a workspace of `total`
    slots (one vector each); the workspaces of all blocks are contiguous.
    """

    def __init__(self, total: int, width: int, panel: int, regions: Mapping[Region, int] | None = None):
        self.total, self.width, self.panel = total, width, panel
        self.regions = regions or {}  # first slot of each row array
        self.real = "double" if width == 1 else f"<{width} x double>"
        self.truth = "i1" if width == 1 else f"<{width} x i1>"
        self.suffix = "f64" if width == 1 else f"v{width}f64"
        self.module = ir.Module(name="math")
        self.declared: dict[str, str] = {}
        self.tables: dict[bytes, str] = {}
        self.lines: list[str] = []
        self.temporaries = 0
        self.graph = Graph()

    def declarations(self) -> str:
        """Return the LLVM IR of the mathematical functions, tables and declarations that the printed functions use."""
        math = "\n".join(
            line for line in str(self.module).splitlines() if not line.startswith(("target", "source", ";"))
        )
        missing = [line for name, line in self.declared.items() if f'@"{name}"(' not in math]
        scopes = [f"{OUTSIDE} = !{{!1002}}", "!1002 = !{!1002, !1003}", "!1003 = !{!1003}"]
        return "\n".join(
            [math, *missing, *scopes, *(table_definition(name, table) for table, name in self.tables.items())]
        )

    def chunk(self, name: str, shared: SharedChunk) -> str:
        """Return the LLVM IR of the function `name` that computes the chunks of operations which share its code.

        If the chunks differ in constants or slots, the function has a further argument: the chunk's row of the table.
        `shared` describes the chunks and their table.
        """
        self.start()
        chunk, self.shared = shared.chunk, shared
        self.graph = chunk.graph
        self.bases: dict[int | None, str] = {None: "%w"}  # column of the chunk's table: address of its slot
        self.values: dict[int, str] = {}  # node: name of its value, if available in the chunk
        self.pairs: dict[tuple[str, tuple[int, ...]], str] = {}  # (function, operands): IR value with both results
        self.rows: dict[tuple[int, int], list[str]] = {}  # (index, number of rows): table row of each lane
        self.places: dict[tuple[int, Region], str] = {}  # (index, region): address of the row
        inside = set(chunk.nodes)
        for k in chunk.nodes:
            for operand in self.graph.operands(k):
                if operand not in self.values:
                    self._make_available(operand, operand in inside)
            self._operation(k)
            if k in chunk.live_out:
                self._store_at(self._as_real(k), shared.slots[k])
        return self.over_blocks(name, ["ptr noalias %row"] if shared.rows[0] else [])

    def moves(self, name: str, moves: Moves) -> str:
        """Return the LLVM IR of the function `name` that makes the copies `moves`.

        It reads all numbers before it writes any.
        """
        self.start()
        sources = [self.constant(x) if isinstance(x, float) else self.load(x) for x, _ in moves.pairs]
        for source, (_, target) in zip(sources, moves.pairs, strict=True):
            self.store(source, target)
        return self.over_blocks(name)

    def many_moves(self, name: str, moves: Moves) -> str:
        """Return the LLVM IR of the function `name` that makes the copies `moves` in a loop over a table.

        No copy may read a slot that another copy writes.
        """
        self.start()
        constant = isinstance(moves.pairs[0][0], float)
        numbers = [
            number
            for source, target in moves.pairs
            for number in (bits_of(source) if isinstance(source, float) else source * self.width, target * self.width)
        ]
        self.lines += ["  br label %pair", "pair:", "  %i = phi i64 [ 0, %block ], [ %i.next, %pair ]"]
        row = self.new(f"getelementptr inbounds [2 x i64], ptr @{name}.pairs, i64 %i")
        target = self.new(f"load i64, ptr {self.new(f'getelementptr inbounds i64, ptr {row}, i64 1')}, align 8")
        if constant:
            value = self.splat(self.new(f"load double, ptr {row}, align 8"))
        else:
            source = self.new(f"load i64, ptr {row}, align 8")
            source = self.new(f"getelementptr inbounds double, ptr %w, i64 {source}")
            value = self.new(f"load {self.real}, ptr {source}, align {8 * self.width}")
        target = self.new(f"getelementptr inbounds double, ptr %w, i64 {target}")
        self.lines += [
            f"  store {self.real} {value}, ptr {target}, align {8 * self.width}",
            "  %i.next = add i64 %i, 1",
            f"  %i.more = icmp slt i64 %i.next, {len(moves.pairs)}",
            "  br i1 %i.more, label %pair, label %moved",
            "moved:",
        ]
        return "\n".join([whole_numbers(f"{name}.pairs", numbers), self.over_blocks(name, last="moved")])

    # --- building blocks of functions ---

    def start(self, *lines: str) -> None:
        """Begin a new IR function with the given `lines`; discard the lines of the previous function."""
        self.lines, self.temporaries = list(lines), 0

    def constant(self, value: float | bool) -> str:
        """Return the LLVM IR of a vector with the constant `value` in every lane."""
        text = ("true" if value else "false") if isinstance(value, bool) else literal(value)
        kind = "i1" if isinstance(value, bool) else "double"
        return text if self.width == 1 else f"splat ({kind} {text})"

    def splat(self, value: str) -> str:
        """Append the IR that copies the double `value` to every lane of a vector; return the name of the vector."""
        if self.width == 1:
            return value
        one = self.new(f"insertelement {self.real} poison, double {value}, i32 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return self.new(f"shufflevector {self.real} {one}, {self.real} poison, {zeros}")

    def new(self, text: str) -> str:
        """Append the IR instruction `text` to the function; return the name of its value."""
        name = f"%t{self.temporaries}"
        self.temporaries += 1
        self.lines.append(f"  {name} = {text}")
        return name

    def _address(self, slot: int) -> str:
        return self.new(f"getelementptr inbounds double, ptr %w, i64 {slot * self.width}")

    def load(self, slot: int) -> str:
        """Append an IR load from a slot of the workspace %w; return the name of the loaded value."""
        return self.new(f"load {self.real}, ptr {self._address(slot)}, align {8 * self.width}")

    def store(self, value: str, slot: int) -> None:
        """Append an IR store of a value to a slot of the workspace %w."""
        self.lines.append(f"  store {self.real} {value}, ptr {self._address(slot)}, align {8 * self.width}")

    def over_blocks(
        self, name: str, arguments: Sequence[str] = (), carried: str = "", result: str = "void", last: str = "block"
    ) -> str:
        """Return the appended IR lines as the function `name`, which runs them for `count` blocks of states.

        The workspaces of the blocks are contiguous. `arguments` are further parameters of the function. If `carried` is
        given, it is the initial value of a variable that is updated from block to block: the lines read it as %before
        and define its next value %after; the function returns the last one, with type `result`. The lines end in the
        basic block with label `last`.
        """
        loops, body, returned = self.panel > 1, "\n".join(self.lines), f"{result} %after" if carried else "void"
        # Values that pass from block to block: name, type, initial value and next value.
        going = [("%k", "i64", "0", "%k.next"), ("%w", "ptr", "%first", "%w.next")]
        going += [("%before", result, carried, "%after")] if carried else []
        values = "\n".join(
            f"  {value} = phi {kind} [ {first}, %entry ]" + (f", [ {following}, %{last} ]" if loops else "")
            for value, kind, first, following in going
        )
        given = ", ".join(["ptr noalias %first", "i64 %count", *arguments])
        return f"""define internal {result} @{name}({given}) nounwind {{
entry:
  br label %block
block:
{values}
{body}
{self._next_block() if loops else "  br label %done"}
done:
  ret {returned}
}}"""

    def _next_block(self) -> str:
        """Return the IR at the end of a block of states: the next workspace's address, and the branch to it.

        The mask does not change an aligned address, but hides its derivation. Otherwise loop strength reduction, which
        gains nothing here, takes 15 to 20 % of the time of code generation.
        """
        mask = "llvm.ptrmask.p0.i64"
        self.declared[mask] = f"declare ptr @{mask}(ptr, i64)"
        return f"""  %w.end = getelementptr inbounds double, ptr %w, i64 {self.total * self.width}
  %w.next = call ptr @{mask}(ptr %w.end, i64 {-8 * self.width})
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %count
  br i1 %more, label %block, label %done"""

    # --- operations ---

    def _make_available(self, k: int, inside: bool) -> None:
        """Append the IR that loads the value of graph node `k`: a constant, or a value that another chunk computes.

        If `inside` is true, the chunk itself computes the value, and nothing is appended.
        """
        node = self.graph.nodes[k]
        if k in self.shared.constants:
            self.values[k] = self._constant_from_row(self.shared.constants[k])
        elif node[0] == "const":
            self.values[k] = self._constant_value(node[1])
        elif not inside:
            value = self._load_at(self.shared.slots[k])
            zero = self.constant(0.0)
            self.values[k] = self.new(f"fcmp une {self.real} {value}, {zero}") if is_truth(self.graph, k) else value

    def _column(self, column: int, kind: str) -> str:
        """Append an IR load of type `kind` from a column of the chunk's table row; return the value's name."""
        return self.new(f"load {kind}, ptr {self.new(f'getelementptr inbounds i64, ptr %row, i64 {column}')}, align 8")

    def _constant_from_row(self, column: int) -> str:
        """Append the IR that loads a constant from a column of the chunk's table row into every lane of a vector.

        Return the name of the vector.
        """
        return self.splat(self._column(column, "double"))

    def _slot_address(self, at: SlotAddress) -> str:
        """Append the IR that computes the address of a workspace slot; return the name of the pointer.

        `at` is the slot address relative to the chunk's table row, see `SlotAddress`.
        """
        if at.column is not None and at.column not in self.bases:
            first = self._column(at.column, "i64")
            self.bases[at.column] = self.new(f"getelementptr inbounds double, ptr %w, i64 {first}")
        offset = at.distance * self.width
        return self.new(f"getelementptr inbounds double, ptr {self.bases[at.column]}, i64 {offset}")

    def _load_at(self, at: SlotAddress) -> str:
        return self.new(
            f"load {self.real}, ptr {self._slot_address(at)}, align {8 * self.width}, !alias.scope {OUTSIDE}"
        )

    def _store_at(self, value: str, at: SlotAddress) -> None:
        self.lines.append(
            f"  store {self.real} {value}, ptr {self._slot_address(at)}, align {8 * self.width}, !noalias {OUTSIDE}"
        )

    def _constant_value(self, value: float | bool) -> str:
        """Return the IR name of the constant `value` as an operand, loaded from memory if that is faster."""
        if isinstance(value, bool) or not worth_a_vector(value, self.width):
            return self.constant(value)
        name = constant_vector(self.module, value, self.width).name
        return self.new(f'load {self.real}, ptr @"{name}", align {8 * self.width}')

    def _as_real(self, k: int) -> str:
        """Return the IR name of the value of graph node `k` as stored in the workspace: truth values as 1 and 0."""
        if not is_truth(self.graph, k):
            return self.values[k]
        one, zero = self.constant(1.0), self.constant(0.0)
        return self.new(f"select {self.truth} {self.values[k]}, {self.real} {one}, {self.real} {zero}")

    def _operation(self, k: int) -> None:
        operation, *operands = self.graph.nodes[k]
        values, real = [self.values[operand] for operand in operands], self.real
        if isinstance(operation, Lookup):
            result = self._lookup(operation, operands[0], values[0])
        elif isinstance(operation, ReadRow):
            at = self._row_address(operation.region, operands[0], values[0], operation.column)
            result = self.new(f"load {real}, ptr {at}, align {8 * self.width}")
        elif isinstance(operation, WriteRow):
            result = self._write_row(operation, operands[2], values)
        elif operation in BINARY_INSTRUCTIONS:
            result = self.new(f"{BINARY_INSTRUCTIONS[operation]} {real} {values[0]}, {values[1]}")
        elif operation in FUSED:
            result = self._fused(operation, values)
        elif operation == "neg":
            result = self.new(f"fneg {real} {values[0]}")
        elif operation in PAIRED:
            result = self._one_of_pair(*PAIRED[operation], tuple(operands), values)
        elif operation in INTRINSICS:
            result = self._call(f"llvm.{INTRINSICS[operation]}.{self.suffix}", values)
        elif operation in MATH:
            name = math_function(self.module, operation, self.width).name
            arguments = ", ".join(f"{real} {value}" for value in values)
            result = self.new(f'call {real} @"{name}"({arguments})')
        elif operation in COMPARISONS:
            result = self.new(f"fcmp {COMPARE[operation]} {real} {values[0]}, {values[1]}")
        elif operation == "any":
            result = self._in_any_lane(values[0])
        elif operation in LOGIC:
            second = self.constant(True) if operation == "not" else values[1]
            instruction = {"and": "and", "or": "or", "not": "xor"}[operation]
            result = self.new(f"{instruction} {self.truth} {values[0]}, {second}")
        else:  # select
            result = self.new(f"select {self.truth} {values[0]}, {real} {values[1]}, {real} {values[2]}")
        self.values[k] = result

    def _fused(self, operation: str, values: list[str]) -> str:
        a, b, c = values
        if operation == "fms":
            c = self.new(f"fneg {self.real} {c}")
        if operation == "fnma":
            a = self.new(f"fneg {self.real} {a}")
        return self._call(f"llvm.fma.{self.suffix}", [a, b, c])

    def _call(self, intrinsic: str, values: list[str]) -> str:
        kinds = ", ".join([self.real] * len(values))
        self.declared[intrinsic] = f"declare {self.real} @{intrinsic}({kinds})"
        arguments = ", ".join(f"{self.real} {value}" for value in values)
        return self.new(f"call {self.real} @{intrinsic}({arguments})")

    def _one_of_pair(self, function: str, index: int, operands: tuple[int, ...], values: list[str]) -> str:
        """Return the IR name of result `index` of a function with two results, such as sine and cosine.

        The function is called once for both results; later uses read the stored result. `operands` are the nodes of the
        arguments, and `values` the names of their IR values.
        """
        key = function, operands
        if key not in self.pairs:
            name = math_function(self.module, function, self.width).name
            arguments = ", ".join(f"{self.real} {value}" for value in values)
            self.pairs[key] = self.new(f'call {{{self.real}, {self.real}}} @"{name}"({arguments})')
        return self.new(f"extractvalue {{{self.real}, {self.real}}} {self.pairs[key]}, {index}")

    def _lookup(self, lookup: Lookup, operand: int, index: str) -> str:
        """Append the IR of a table lookup, in which each lane loads from a separate row; return the value's name.

        On Zen 3 this was 7 to 20 % faster than the gather instruction. `operand` is the node of the row's index and
        `index` its IR value.
        """
        table = self.tables.setdefault(lookup.table, f"table{len(self.tables)}")
        key = operand, lookup.rows
        if key not in self.rows:
            self.rows[key] = self._lanes_of_index(index, lookup.rows)
        vector = "poison"
        for lane, row in enumerate(self.rows[key]):
            row_type = f"[{lookup.size} x double]"
            at = self.new(f"getelementptr inbounds {row_type}, ptr @{table}, i64 {row}, i64 {lookup.column}")
            value = self.new(f"load double, ptr {at}, align 8")
            if self.width == 1:
                return value
            vector = self.new(f"insertelement {self.real} {vector}, double {value}, i32 {lane}")
        return vector

    def _row_address(self, region: Region, operand: int, index: str, column: int) -> str:
        """Append the IR that computes the address of a number of a row array; return the name of the pointer.

        `operand` is the node of the row's index and `index` its IR value. The index of the first lane is used for all
        lanes. `region` is the memory of the row array, and `column` the column of the number.
        """
        if (operand, region) not in self.places:
            row = self._lanes_of_index(index, region.count, first_only=True)[0]
            offset = self.new(f"mul i64 {row}, {region.size * self.width}")
            begin = self._address(self.regions[region])
            self.places[operand, region] = self.new(f"getelementptr inbounds double, ptr {begin}, i64 {offset}")
        at = self.places[operand, region]
        return self.new(f"getelementptr inbounds double, ptr {at}, i64 {column * self.width}")

    def _write_row(self, write: WriteRow, operand: int, values: list[str]) -> str:
        """Append the IR of the operation `write` on a row of a row array; return an IR value for its result, 0.

        The result (a version, see `WriteRow`) only orders operations. `operand` is the node of the row's index.
        `values` are the IR values of the operands: previous version, condition, index, and numbers to write.
        """
        _, condition, index, *numbers = values
        for column, number in enumerate(numbers, start=write.first):
            at = self._row_address(write.region, operand, index, column)
            new = number
            if condition != self.constant(True):
                old = self.new(f"load {self.real}, ptr {at}, align {8 * self.width}")
                new = self.new(f"select {self.truth} {condition}, {self.real} {number}, {self.real} {old}")
            self.lines.append(f"  store {self.real} {new}, ptr {at}, align {8 * self.width}, !noalias {OUTSIDE}")
        return self.constant(0.0)

    def _in_any_lane(self, condition: str) -> str:
        """Append the IR that computes whether a condition is true in any lane; return a vector of this truth value."""
        if self.width == 1:
            return condition
        reduce = f"llvm.vector.reduce.or.v{self.width}i1"
        self.declared[reduce] = f"declare i1 @{reduce}({self.truth})"
        found = self.new(f"call i1 @{reduce}({self.truth} {condition})")
        one = self.new(f"insertelement {self.truth} poison, i1 {found}, i32 0")
        return self.new(f"shufflevector {self.truth} {one}, {self.truth} poison, <{self.width} x i32> zeroinitializer")

    def _lanes_of_index(self, index: str, rows: int, first_only: bool = False) -> list[str]:
        """Append the IR that converts a vector of indices to row numbers; return the IR name of each lane's row number.

        `index` is the IR value of the vector. Indices are rounded down and clamped to a table of `rows` rows. A NaN
        index gives row 0, because its comparisons are false. If `first_only` is true, the method returns only the row
        of the first lane.
        """
        bounded = index
        for relation, bound in (("ogt", 0.0), ("olt", rows - 1.0)):
            limit = self.constant(bound)
            inside = self.new(f"fcmp {relation} {self.real} {bounded}, {limit}")
            bounded = self.new(f"select {self.truth} {inside}, {self.real} {bounded}, {self.real} {limit}")
        # AVX2 converts to i32 with one instruction, unlike i64
        whole = "i32" if self.width == 1 else f"<{self.width} x i32>"
        floored = self.new(f"fptosi {self.real} {bounded} to {whole}")
        lanes = [floored]
        if self.width > 1:
            count = 1 if first_only else self.width
            lanes = [self.new(f"extractelement {whole} {floored}, i32 {lane}") for lane in range(count)]
        return [self.new(f"zext i32 {lane} to i64") for lane in lanes]
