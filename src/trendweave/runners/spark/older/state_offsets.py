"""Spark 3.5 reads from where to where the rows of a key go as floats, which newer versions of pyarrow refuse.

Its worker asks pandas for a column of structs in which some are NULL, so that their whole numbers become floats, and
then cuts a batch at them. No stream with state in Python runs that way, ours or another; with whole numbers all do.
"""

from __future__ import annotations

from typing import Any

_OFFSETS = ("startOffset", "numRows")


def read_whole_offsets() -> None:
    """In this process, a worker of Spark's, from now on."""
    from pyspark.sql.pandas import serializers

    serializer: Any = vars(serializers).get("ApplyInPandasWithStateSerializer")
    read = getattr(serializer, "arrow_to_pandas", None)
    if read is None or hasattr(serializer, "reads_whole_offsets"):  # newer versions have others, or do it otherwise
        return

    def read_column(self: Any, column: Any, *options: Any, **named: Any) -> Any:
        found = read(self, column, *options, **named)
        fields = {field.name for field in column.type} if str(column.type).startswith("struct") else set()
        return found.map(_in_whole_numbers) if fields.issuperset(_OFFSETS) else found

    serializer.arrow_to_pandas, serializer.reads_whole_offsets = read_column, True


def _in_whole_numbers(state: dict[str, Any] | None) -> dict[str, Any] | None:
    return state if state is None else state | {name: int(state[name]) for name in _OFFSETS}
