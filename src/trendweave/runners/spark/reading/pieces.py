"""Files cut into pieces, and pieces dealt to tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from trendweave.runners.spark.reading.files import File

#: So many bytes of files for a task: a second or less of work, so that tasks are neither few nor tiny.
BYTES_OF_A_TASK = 16 * 2**20
#: To open a file costs as much as to read so many bytes.
_OPENING = 4 * 2**20
#: Where the size of a file is not known here, it is one piece.
_UNKNOWN = 2**62


@dataclass(frozen=True, slots=True)
class Piece:
    """The row groups of a file that begin between two of its bytes; each begins in one piece."""

    file: File
    first: int
    end: int


def deal_pieces(files: Sequence[File], most: int) -> tuple[tuple[Piece, ...], ...]:
    """Pieces per task, in the order of files. Files without a byte have no rows.

    Args:
        files: All files.
        most: How many bytes a task reads, if they can be cut so.
    """
    tasks: list[tuple[Piece, ...]] = []
    held: list[Piece] = []
    taken = 0
    for piece, cost in _cut(files, max(1, min(most, BYTES_OF_A_TASK))):
        if held and taken + cost > most:
            tasks.append(tuple(held))
            held, taken = [], 0
        held.append(piece)
        taken += cost
    return (*tasks, tuple(held)) if held else tuple(tasks)


def _cut(files: Sequence[File], most: int) -> Iterator[tuple[Piece, int]]:
    for file in files:
        if file.size is None:
            yield Piece(file, 0, _UNKNOWN), most
        elif file.size:
            number = -(-file.size // most)
            edges = [file.size * place // number for place in range(number)] + [_UNKNOWN]
            for first, end in pairwise(edges):
                yield Piece(file, first, end), (min(end, file.size) - first) + _OPENING * (first == 0)


def bytes_of_a_task(read_setting: Callable[[str], str | None]) -> int:
    """How many bytes a task reads at most: ours, unless the session's are fewer."""
    given = read_setting("spark.sql.files.maxPartitionBytes") or ""
    number = given.lower().removesuffix("b")
    return min(BYTES_OF_A_TASK, int(number)) if number.isdigit() and int(number) else BYTES_OF_A_TASK
