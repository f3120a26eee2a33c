"""Prints the functions that copy arrays of states to a kernel's workspace, and results back, transposed in tiles.

The tiles are W x W, where W is the vector width. In the caller's arrays the numbers of a state are adjacent; in the
workspace the same number of W states is one vector of W lanes. Tiles of W numbers of W states are therefore loaded
state by state, transposed in registers and stored number by number; and vice versa. If W does not divide the size of an
array, its last tile overlaps the previous one. Arrays smaller than W are copied number by number.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.compiler.targets.cpu.llvm_printer import ChunkPrinter

# Measured, AVX2: tiles instead of single numbers, and results read in place instead of copied, save 20 to 30 % for mass
# matrices (7 to 38 dof), 3 % for forward and inverse dynamics, 8 % for derivatives (38 dof).
# Large results are written without reading their memory into the caches: saves 30 % for mass matrices (18, 38 dof).
# Whole vectors only: on AVX-512 half vectors, two to a cache line, took 50 to 100 % more time than through the caches.
ARGUMENTS = ["i64 %state", "i64 %last", "ptr %array", "i64 %stride", "i64 %offset"]
NONTEMPORAL = "!1000"  # metadata of stores that bypass the caches; its number is above those that llvmlite gives


class TransferPrinter:
    """Prints LLVM IR functions that copy `count` blocks of W states (W the vector width) between arrays and workspaces.

    The functions take these arguments: the address of the first block's workspace, `count`, the index `state` of the
    first state and the index `last` of the last state of the batch. In the array, successive states are `stride`
    doubles apart; copying begins `offset` doubles after the start of each state.
    """

    def __init__(self, printer: ChunkPrinter):
        self.printer, self.width, self.real = printer, printer.width, printer.real

    def gather(self, name: str, first: int, size: int) -> str:
        """Return the LLVM IR of the function `name` that copies states from an array to workspace slots.

        It copies `size` numbers per state to the slots from `first` on. The function is `void name(first block, count,
        state, last, array, stride, offset)`; the class docstring defines these arguments.
        """
        lanes = self._lanes()
        new, width = self.printer.new, self.width
        if size >= width:
            at = self._open_tiles(size)
            vectors = [new(f"load {self.real}, ptr {self._at(lane, at)}, align 8") for lane in lanes]
            target = self._at(self._at("%w", first * width), new(f"mul i64 {at}, {width}"))
            for i, vector in enumerate(self._transposed(vectors)):
                self._store(vector, self._at(target, i * width))
            self._close_tiles(size)
        else:
            for i in range(size):
                vector = "poison"
                for n, lane in enumerate(lanes):
                    value = new(f"load double, ptr {self._at(lane, i)}, align 8")
                    vector = new(f"insertelement {self.real} {vector}, double {value}, i32 {n}")
                self._store(vector, self._at("%w", (first + i) * width))
        return self._over_blocks(name, tiled=size >= width)

    def scatter(self, name: str, slots: Sequence[int], streams: bool) -> str:
        """Return the LLVM IR of the function `name` that writes numbers from workspace slots to a result array.

        The function name(first block, count, state, last, array, stride, offset, known) writes the numbers in `slots`
        for each state. Its last argument and its result are the accumulated check for finite numbers: it returns
        `known`, or NaN in the lanes where a written number is not finite. If `streams` is true, a second function,
        name.past, does the same for arrays aligned to whole vectors, past the caches.
        """
        table = ", ".join(f"i64 {slot * self.width}" for slot in slots)
        constant = f"@{name}.slots = private constant [{len(slots)} x i64] [{table}]"
        past = f"align {8 * self.width}, !nontemporal {NONTEMPORAL}"
        variants = {name: "align 8"} | ({f"{name}.past": past} if streams else {})
        return "\n".join([constant, *(self._scatter(name, variant, slots, how) for variant, how in variants.items())])

    def _scatter(self, name: str, variant: str, slots: Sequence[int], how: str) -> str:
        """Return the LLVM IR of the function `variant`, which writes the numbers in workspace `slots` to an array.

        `how` are the attributes of the store instructions of whole tiles: alignment, and whether to bypass the caches.
        `name` is the prefix of the name of the table of slots.
        """
        lanes = self._lanes()
        new, width, size = self.printer.new, self.width, len(slots)
        if size >= width:
            at = self._open_tiles(size, f"%sum = phi {self.real} [ %before, %block ], [ %after, %tile ]")
            entry = new(f"getelementptr inbounds i64, ptr @{name}.slots, i64 {at}")
            vectors = []
            for i in range(width):
                slot = new(f"load i64, ptr {new(f'getelementptr inbounds i64, ptr {entry}, i64 {i}')}")
                vectors.append(self._load(self._at("%w", slot)))
            for lane, vector in zip(lanes, self._transposed(vectors), strict=True):
                self.printer.lines.append(f"  store {self.real} {vector}, ptr {self._at(lane, at)}, {how}")
            self._sum("%sum", vectors)
            self._close_tiles(size)
        else:
            vectors = [self._load(self._at("%w", slot * width)) for slot in slots]
            for i, vector in enumerate(vectors):
                for n, lane in enumerate(lanes):
                    value = new(f"extractelement {self.real} {vector}, i32 {n}")
                    self.printer.lines.append(f"  store double {value}, ptr {self._at(lane, i)}, align 8")
            self._sum("%before", vectors)
        return self._over_blocks(variant, tiled=size >= width, summing=True)

    # --- building blocks ---

    def _at(self, pointer: str, offset: int | str) -> str:
        return self.printer.new(f"getelementptr inbounds double, ptr {pointer}, i64 {offset}")

    def _load(self, pointer: str) -> str:
        return self.printer.new(f"load {self.real}, ptr {pointer}, align {8 * self.width}")

    def _store(self, value: str, pointer: str) -> None:
        self.printer.lines.append(f"  store {self.real} {value}, ptr {pointer}, align {8 * self.width}")

    def _lanes(self) -> list[str]:
        """Begin an IR function; return the IR names of the addresses of a block's states, one for each lane.

        An address points `offset` doubles after the start of the state in the array. Lanes beyond the last state use
        the last state.
        """
        self.printer.start()
        new, lanes = self.printer.new, []
        first = new(f"add i64 %state, {new(f'mul i64 %k, {self.width}')}")
        for lane in range(self.width):
            row = new(f"add i64 {first}, {lane}")
            inside = new(f"icmp slt i64 {row}, %last")
            state = new(f"select i1 {inside}, i64 {row}, i64 %last")
            lanes.append(self._at("%array", new(f"add i64 {new(f'mul i64 {state}, %stride')}, %offset")))
        return lanes

    def _sum(self, before: str, vectors: Sequence[str]) -> None:
        """Append the IR that sets %after to `before`, or to NaN in lanes where one of `vectors` is not finite.

        `before` is the IR value of the check for finite numbers so far; `vectors` are the IR values to check.
        """
        zero = self.printer.constant(0.0)
        for vector in vectors:
            before = self.printer.new(
                f"fadd {self.real} {before}, {self.printer.new(f'fmul {self.real} {vector}, {zero}')}"
            )
        self.printer.lines.append(f"  %after = fadd {self.real} {before}, {zero}")

    def _transposed(self, rows: list[str]) -> list[str]:
        """Append the IR that transposes a W x W tile of W vectors `rows`; return the names of the resulting vectors.

        The transposition swaps off-diagonal squares of increasing size.
        """
        rows, distance = list(rows), 1
        while distance < self.width:
            for i in range(self.width):
                if not i & distance:
                    a, b = rows[i], rows[i + distance]
                    even = [k if not k & distance else k - distance + self.width for k in range(self.width)]
                    rows[i] = self._shuffled(a, b, even)
                    rows[i + distance] = self._shuffled(a, b, [k + distance for k in even])
            distance *= 2
        return rows

    def _shuffled(self, a: str, b: str, lanes: Sequence[int]) -> str:
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.printer.new(f"shufflevector {self.real} {a}, {self.real} {b}, <{self.width} x i32> <{mask}>")

    def _open_tiles(self, size: int, carried: str = "") -> str:
        """Append the beginning of an IR loop over the tiles of an array; return the IR name of a tile's first index.

        The index counts the numbers of a state, of which the array has `size`, and is at most size - W. `carried` is
        the phi instruction of a value that is updated from tile to tile.
        """
        lines = self.printer.lines
        lines += ["  br label %tile", "tile:", "  %i = phi i64 [ 0, %block ], [ %i.next, %tile ]"]
        lines += [f"  {carried}"] if carried else []
        early = self.printer.new(f"icmp slt i64 %i, {size - self.width}")
        return self.printer.new(f"select i1 {early}, i64 %i, i64 {size - self.width}")

    def _close_tiles(self, size: int) -> None:
        self.printer.lines += [
            f"  %i.next = add i64 %i, {self.width}",
            f"  %i.more = icmp slt i64 %i.next, {size}",
            "  br i1 %i.more, label %tile, label %tiled",
            "tiled:",
        ]

    def _over_blocks(self, name: str, tiled: bool, summing: bool = False) -> str:
        """Return the appended IR lines as the function `name`, which runs them for each block of states.

        `tiled` is true if the lines end in a loop over tiles. If `summing` is true, the function takes the check for
        finite numbers so far as an argument and returns the updated check.
        """
        arguments = [*ARGUMENTS, f"{self.real} %known"] if summing else ARGUMENTS
        carried, result = ("%known", self.real) if summing else ("", "void")
        return self.printer.over_blocks(name, arguments, carried, result, "tiled" if tiled else "block")
