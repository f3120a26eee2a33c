"""Graph operations that read and write rows of memory at computed indices; see `spatial.row_arrays`.

A `Region` is a part of a kernel's workspace. Only operands order the operations of a graph. Every write therefore
returns a *version*, a number whose value has no meaning; the reads after this write, and the next write, take it as an
operand.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Region:
    """Memory for `count` rows of `size` numbers; `number` distinguishes the regions of one kernel.

    With `shared`, all SIMD lanes have the same numbers.
    """

    number: int
    count: int
    size: int
    shared: bool = False


@dataclass(frozen=True)
class ReadRow:
    """A graph operation that reads the number in a column of a region; its operands are the row's index and a version.

    The index is that of the first SIMD lane, rounded down and clamped to the region's rows.
    """

    region: Region
    column: int


@dataclass(frozen=True)
class WriteRow:
    """A graph operation that writes numbers to a row of a region from column `first` on, and returns a new version.

    Its operands are the version before, a condition (lanes in which it is false keep the old numbers), the row's index,
    and the numbers.
    """

    region: Region
    first: int
