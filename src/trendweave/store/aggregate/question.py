"""What is asked of a store: aggregates such as `COUNT(*), AVG(price) AS mean`, checked against its columns."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import pyarrow as pa

from trendweave.errors import Problem, near_names, raise_problems
from trendweave.programs.operators.measured import is_measured
from trendweave.results.types import single_aggregate_type

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
