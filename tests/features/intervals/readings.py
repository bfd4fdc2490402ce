"""Events of interval queries by name, and their matches as text.

`readings("a1 ab2 -3 b5")`: at second 1 column a holds, at 2 a and b, at 3 neither, at 5 b.
"""

from __future__ import annotations

from typing import Any

from tests.features.runs import Row

#: Situations A and B last as long as columns a and b hold.
A_AND_B = "FROM Readings DEFINE A AS a = 1, B AS b = 1"


def readings(written: str, **columns: list[Any]) -> list[Row]:
    rows = []
    for word in written.split():
        letters = word.rstrip("0123456789")
        time = int(word[len(letters) :])
        rows.append({"time": time, "type": "R", "a": int("a" in letters), "b": int("b" in letters)})
    for name, values in columns.items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return rows


def matches(rows: list[Row]) -> list[str]:
    """`5: A1-3 B5-` is a match of A from 1 to 3 and B from 5, which still runs, detected at 5; sorted."""
    return sorted(f"{row['time']}: {' '.join(_situations(row))}" for row in rows)


def _situations(row: Row) -> list[str]:
    names = [name.removesuffix("_start") for name in row if name.endswith("_start")]
    return [_as_text(name, row[f"{name}_start"], row[f"{name}_end"]) for name in names]


def situations(rows: list[Row]) -> list[str]:
    """`A1-3` is a situation of RETURN SITUATIONS; sorted."""
    return sorted(_as_text(row["name"], row["start"], row["end"]) for row in rows)


def _as_text(name: str, start: Any, end: Any) -> str:
    return f"{name}{start}-{'' if end is None else end}"
