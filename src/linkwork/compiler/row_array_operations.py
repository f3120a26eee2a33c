"""Graph operations that read and write rows of memory at computed indices; see `spatial.row_arrays`.

A `Region` is a part of a kernel's workspace. In a graph, only operands determine the order of operations. Every write
therefore returns a *version*, a number whose value has no meaning; reads that must follow this write, and the next
write, have the version as an operand.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Region:
    """Memory of one row array: `count` rows of `size` numbers; `number` distinguishes the regions of one kernel.

    If `shared` is true, the stored numbers are equal in all SIMD lanes.
    """

    number: int
    count: int
    size: int
    shared: bool = False


@dataclass(frozen=True)
class ReadRow:
    """A graph operation that reads the number in column `column` of a row of a region.

    Its operands are the index of the row, and the version (see the module's docstring) that the last write to the
    region before this read returned. The index of the first SIMD lane is used for all lanes; it is rounded down and
    clamped to the region's rows.
    """

    region: Region
    column: int


@dataclass(frozen=True)
class WriteRow:
    """A graph operation that writes numbers to a row of a region from column `first` on, and returns a new version.

    A version stands for the contents of the region after a write; it only orders operations. The operands are the
    previous version, a condition (SIMD lanes in which it is false do not write), the index of the row, and the numbers
    to write.
    """

    region: Region
    first: int
