"""What is asked of a store: aggregates such as `COUNT(*), AVG(price) AS mean`, checked against its columns, over
windows that are made of slices (thesis, 3.3.3).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, OptionError, Problem, near_names, raise_problems
from trendweave.language.durations import read_duration
from trendweave.programs.operators.measured import is_measured
from trendweave.results.types import single_aggregate_type
from trendweave.rows.times import TimeType, steps_of

FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX")
_PART = re.compile(
    r"\s*(?P<function>\w+)\s*\(\s*(?P<column>\*|`[^`]+`|[^()`*,]+?)\s*\)\s*(?:as\s+(?P<name>`[^`]+`|\w+)\s*)?", re.I
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """An aggregate.

    Attributes:
        function: One of `FUNCTIONS`.
        column: What it is of; None for COUNT(*).
        name: The name of the result's column.
        kind: The type of the column in the store.
    """

    function: str
    column: str | None
    name: str
    kind: pa.DataType

    @property
    def result(self) -> pa.DataType:
        """The type of the result's column."""
        return single_aggregate_type(self.function, self.kind, "decimal")


def read_question(text: str, schema: pa.Schema) -> tuple[Wanted, ...]:
    """Aggregates as they are written, all problems told together.

    Args:
        text: Such as `COUNT(*), AVG(price)`.
        schema: The columns of the store.

    Raises:
        TrendweaveError: It cannot be read, or does not fit the columns.
    """
    wanted: list[Wanted] = []
    problems: list[Problem] = []
    place = 0
    while place < len(text) or not place:
        found = _PART.match(text, place)
        if found is None or (found.end() < len(text) and text[found.end()] != ","):
            hint = "write for example COUNT(*), AVG(price) AS mean"
            problems.append(Problem("TW101", "this is not a list of aggregates", hint, line=1, column=place + 1))
            break
        place = found.end() + 1
        _add(found, schema, wanted, problems)
        if found.end() + 1 == len(text):
            problems.append(Problem("TW101", "an aggregate is missing after the comma", "write one", 1, len(text)))
    twice = sorted(name for name, number in Counter(one.name for one in wanted).items() if number > 1)
    problems += [Problem("TW214", f"two aggregates are called {name}", "rename one with AS") for name in twice]
    raise_problems(problems, text)
    return tuple(wanted)


def _add(found: re.Match[str], schema: pa.Schema, wanted: list[Wanted], problems: list[Problem]) -> None:
    function = found["function"].upper()
    at = found.start("function") + 1
    if function not in FUNCTIONS:
        hint = near_names(function, FUNCTIONS) or f"the aggregates are {', '.join(FUNCTIONS)}"
        problems.append(Problem("TW110", f"unknown aggregate {found['function']}", hint, 1, at))
        return
    name = found["name"].strip("`") if found["name"] else None
    if found["column"] == "*":
        if function != "COUNT":
            problems.append(Problem("TW213", f"{function} needs a column", f"write {function}(price)", 1, at))
        wanted.append(Wanted(function, None, name or "count", pa.null()))
        return
    column = found["column"].strip("`")
    if column not in schema.names:
        hint = near_names(column, schema.names)
        problems.append(Problem("TW301", f"the store has no column {column}", hint, 1, found.start("column") + 1))
        return
    kind = schema.field(column).type
    one = Wanted(function, column, name or f"{function.lower()}_{column}", kind)
    of_numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if (function in ("SUM", "AVG") and not of_numbers) or (function in ("MIN", "MAX") and not is_measured(kind)):
        problems.append(Problem("TW304", f"{function} of {column}, which is {kind}", "ask for COUNT of it", 1, at))
    wanted.append(one)


#: Rows of a result that would not fit a usual memory.
MOST_WINDOWS = 1_000_000_000
_EVENTS = re.compile(r"\s*([1-9]\d*)\s*(events?|rows?)\s*", re.I)


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows [i * slide, i * slide + length), of time or of events by their number.

    Attributes:
        length: In steps, or in events.
        slide: The same.
        of_events: Whether events are counted: the first has number 0, and only full windows are rows.
    """

    length: int
    slide: int
    of_events: bool = False

    @property
    def rest(self) -> int:
        """How far behind the beginning of a window another one ends."""
        return self.length % self.slide

    @property
    def whole(self) -> int:
        """How many slides a window has."""
        return self.length // self.slide

    @property
    def stride(self) -> int:
        """How many slices a slide has."""
        return 2 if self.rest else 1

    def slice_of(self, moments: np.ndarray) -> np.ndarray:
        """The slices in which some moments or numbers of events lie."""
        window = np.floor_divide(moments, self.slide)
        if not self.rest:
            return window
        return 2 * window + (moments - window * self.slide >= self.rest)

    def holding(self, slices: np.ndarray) -> np.ndarray:
        """All windows that hold one of these ascending slices, ascending."""
        if not slices.size:
            return slices
        last = slices // self.stride
        first = last - self.whole + (1 if not self.rest else slices & 1)
        first = np.maximum(first, np.concatenate(([first[0]], last[:-1] + 1)))
        lengths = np.maximum(last - first + 1, 0)
        ends = np.cumsum(lengths)
        if lengths.astype(np.float64).sum() > MOST_WINDOWS:
            message = f"there are more than {MOST_WINDOWS:,} windows with an event"
            raise ExecutionError([Problem("TW432", message, "ask for a longer slide, or for less time")])
        return np.repeat(first - (ends - lengths), lengths) + np.arange(ends[-1])

    def reach(self, windows: np.ndarray, slices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The places of the first slice of each window and of the first one behind it, among ascending slices."""
        end = self.stride * (windows + self.whole) + (1 if self.rest else 0)
        return np.searchsorted(slices, self.stride * windows), np.searchsorted(slices, end)


def read_windows(within: str | None, slide: str | None, kind: TimeType) -> Windows | None:
    """Windows as they are written; None for one window over all.

    Args:
        within: A length of time such as `1 day`, or a number of events such as `1000 events`.
        slide: How far a window moves, in the same.
        kind: How the time column counts.

    Raises:
        TrendweaveError: They cannot be read, or do not fit each other or the time column.
    """
    if within is None:
        if slide is not None:
            raise _wrong("slide without within", "say how long a window is, within=")
        return None
    if slide is None:
        hint = "slide=within gives tumbling windows"
        raise _wrong("within needs a slide here", hint)
    counted = [_EVENTS.fullmatch(str(text)) for text in (within, slide)]
    if all(counted):
        length, step = (int(found[1]) for found in counted if found)
    elif any(counted):
        raise _wrong("within and slide are of two kinds", "write both in events or both as lengths of time")
    else:
        length = steps_of(read_duration(within, "within"), kind, "within")
        step = steps_of(read_duration(slide, "slide"), kind, "slide")
    if step > length:
        raise _wrong("slide is larger than within", "some events would be in no window")
    return Windows(length, step, of_events=all(counted))


def _wrong(message: str, hint: str) -> OptionError:
    return OptionError([Problem("TW408", message, hint)])
