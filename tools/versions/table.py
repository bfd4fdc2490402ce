"""What tests said, as a table for the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

#: What a test on Spark is about, by the first word of its name, and what the table calls it.
KINDS = {
    "batch": "batch",
    "stream": "streams",
    "workload": "workloads",
    "metrics": "metrics",
    "operators": "operators",
    "files": "`trendweave.read`",
    "store": "stores",
    "connect": "Spark Connect",
    "cluster": "from a zip on a cluster",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one test: `passed`, `failed` or `skipped`, and why it was skipped."""

    test: str
    result: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """What an environment has, and what its tests said; `missing` says why there are none."""

    name: str
    versions: str
    outcomes: tuple[Outcome, ...] = ()
    missing: str = ""

    @property
    def failed(self) -> bool:
        return any(outcome.result == "failed" for outcome in self.outcomes)


def read_report(file: Path) -> tuple[Outcome, ...]:
    """The outcomes in a report that pytest wrote (`--junit-xml`)."""
    return tuple(_read_case(case) for case in ElementTree.parse(file).iter("testcase"))


def _read_case(case: ElementTree.Element) -> Outcome:
    name = case.get("name", "")
    for mark in ("failure", "error"):
        if case.find(mark) is not None:
            return Outcome(name, "failed")
    skipped = case.find("skipped")
    return Outcome(name, "passed") if skipped is None else Outcome(name, "skipped", skipped.get("message", ""))


def write_table(rows: Sequence[Row]) -> str:
    """Versions of Spark with a column for each kind of test, then the others with their counts."""
    on_spark = [row for row in rows if row.name.startswith("spark-")]
    others = [row for row in rows if row not in on_spark]
    parts = []
    if on_spark:
        parts.append(_write([["Spark", *KINDS.values()], *(_tell_kinds(row) for row in on_spark)]))
        reasons = {o.reason for row in on_spark for o in row.outcomes if o.result == "skipped"}
        parts += [f"- {reason}" for reason in sorted(reasons)]
    if others:
        parts.append(_write([["environment", "versions", "tests"], *(_tell_counts(row) for row in others)]))
    return "\n\n".join(parts)


def _tell_kinds(row: Row) -> list[str]:
    if row.missing:
        return [row.name.removeprefix("spark-"), *("not tried" for _ in KINDS)]
    return [row.versions, *(tell(row.outcomes, kind) for kind in KINDS)]


def tell(outcomes: Sequence[Outcome], kind: str) -> str:
    """One cell: whether this kind of work is done."""
    results = {outcome.result for outcome in outcomes if outcome.test.startswith(f"test_{kind}")}
    if "failed" in results:
        return "**fails**"
    if results == {"passed"}:
        return "yes"
    return "in part" if "passed" in results else "no" if results else "not tried"


def _tell_counts(row: Row) -> list[str]:
    if row.missing:
        return [row.name, "", f"not tried: {row.missing}"]
    counts = {result: sum(one.result == result for one in row.outcomes) for result in ("passed", "failed", "skipped")}
    return [row.name, row.versions, ", ".join(f"{count} {result}" for result, count in counts.items() if count)]


def _write(lines: Sequence[Sequence[str]]) -> str:
    head, *rest = ("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *rest])
