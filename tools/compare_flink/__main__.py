"""Compare the meaning of our strategies with Flink's CEP library on small cases, and list every difference; and that of
AFTER MATCH SKIP, and of the cookbook, with MATCH_RECOGNIZE of Flink SQL.

Flink's jars come from PyPI into `.flink`, which has an environment of its own; the Java programs beside this file run
the cases there. Ends with 1 where a case differs that is not known to, or agrees though it is said to differ.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import trendweave
from tools.compare_flink import cookbook, matches
from tools.compare_flink.cases import CASES, Case, Event, streams

HERE = Path(__file__).resolve().parent
FLINK = HERE.parent.parent / ".flink"
VERSION = "2.2.1"
JAVA_OPTIONS = ("--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED")
Matches = dict[tuple[int, int], set[tuple[int, ...]]]


def main() -> int:
    jars = flink_jars()
    with tempfile.TemporaryDirectory() as place:
        theirs = run_flink(jars, Path(place))
        recognized = run_flink_sql(jars, Path(place))
        recipes = run_cookbook(jars, Path(place))
    return max(report(theirs), report_matches(recognized), cookbook.report(recipes))


def flink_jars() -> Path:
    """The folder of Flink's jars, fetched once."""
    done = FLINK / f"installed-{VERSION}"
    if not done.exists():
        print(f"Fetching Flink {VERSION} into .flink (a few hundred MB)", flush=True)
        shutil.rmtree(FLINK, ignore_errors=True)
        venv.create(FLINK, with_pip=True)
        # The Python side of Flink is not needed, and neither is what it depends on.
        command = [FLINK / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*command, f"apache-flink-libraries=={VERSION}"], check=True)
        done.touch()
    return next(FLINK.glob("lib/python*/site-packages/pyflink/lib"))


def run_java(program: str, jars: Path, place: Path) -> None:
    """Compile one of the programs beside this file, and run it from `cases` to `matches`."""
    java = Path(os.environ["JAVA_HOME"]) / "bin"
    if not (java / "javac").exists():
        sys.exit("this Java has no compiler (javac); set JAVA_HOME to a JDK")
    path = os.pathsep.join([str(place), str(jars / "*")])
    subprocess.run([java / "javac", "-cp", path, "-d", place, HERE / f"{program}.java"], check=True)
    command = [java / "java", *JAVA_OPTIONS, "-cp", path, program, place / "cases", place / "matches"]
    with (place / "log").open("w") as log:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=log)
    if done.returncode:
        sys.exit("Flink failed:\n" + "\n".join((place / "log").read_text().splitlines()[-30:]))


def run_flink(jars: Path, place: Path) -> Matches:
    (place / "cases").write_text("".join(case_lines()))
    run_java("FlinkCases", jars, place)
    found: Matches = {}
    for line in (place / "matches").read_text().splitlines():
        case, stream, ids = line.split("\t")
        match = tuple(int(one) for one in ids.split(","))
        known = found.setdefault((int(case), int(stream)), set())
        assert match not in known, "Flink gave a match twice"
        known.add(match)
    return found


def run_flink_sql(jars: Path, place: Path) -> list[set[tuple[int, ...]]]:
    """The matches of MATCH_RECOGNIZE, per case as the stream and the first and last event of each variable."""
    with (place / "cases").open("w") as cases:
        for number, case in enumerate(matches.CASES):
            events = place / f"events_{number}.csv"
            events.write_text("".join(matches.csv_lines(case)))
            cases.write(f"{number}\t{events}\t{case.sql}\n")
    run_java("FlinkMatches", jars, place)
    found: list[set[tuple[int, ...]]] = [set() for _ in matches.CASES]
    for line in (place / "matches").read_text().splitlines():
        number, *match = map(int, line.split("\t"))
        found[number].add(tuple(match))
    return found


def run_cookbook(jars: Path, place: Path) -> list[str]:
    (place / "cases").write_text("".join(cookbook.case_line(task, place) for task in cookbook.sql_tasks()))
    run_java("FlinkQueries", jars, place)
    return (place / "matches").read_text().splitlines()


def case_lines() -> Iterator[str]:
    for number, case in enumerate(CASES):
        for place, events in enumerate(streams(case)):
            written = " ".join(f"{event.id}:{event.time}:{event.type}:{event.x}" for event in events)
            predicate = "rising" if case.rising else "-"
            yield "\t".join([str(number), case.strategy, " ".join(case.steps), predicate, str(place), written]) + "\n"


def ours(case: Case, events: list[Event]) -> set[tuple[int, ...]]:
    """Trends as the ids of their events, which are carried along as a column."""
    table = pa.Table.from_pylist([vars(event) for event in events])
    types = [step.rstrip("+") for step in case.steps]
    shown = ", ".join(f"{one}.id" for one in types)
    query = case.query.replace("TRENDS", f"TRENDS({shown})", 1)
    rows = trendweave.query(query).run(table).column("events").to_pylist()
    trends = [tuple(event["id"] for event in row) for row in rows]
    assert len(trends) == len(set(trends)), "a trend came out twice"
    return set(trends)


def report(theirs: Matches) -> int:
    wrong = 0
    print(f"\nTrendweave and Flink {VERSION} (CEP), on {len(streams(CASES[0]))} streams a case\n")
    print(f"{'strategy':<22}{'pattern':<28}{'streams alike':>14}{'only ours':>11}{'only theirs':>13}")
    reasons: dict[str, list[str]] = {}
    for number, case in enumerate(CASES):
        alike, mine, others = 0, 0, 0
        made = streams(case)
        for place, events in enumerate(made):
            one, two = ours(case, events), theirs.get((number, place), set())
            alike, mine, others = alike + (one == two), mine + len(one - two), others + len(two - one)
        expected = (alike < len(made)) == (case.differs is not None)
        wrong += not expected
        mark = "" if expected else "  <- not what cases.py says"
        print(f"{case.strategy:<22}{case.name:<28}{alike:>9} / {len(made):<2}{mine:>11}{others:>13}{mark}")
        if case.differs is not None:
            reasons.setdefault(case.differs, []).append(f"{case.strategy}, {case.name}")
    print("\nDifferences")
    for reason, places in reasons.items():
        print(f"- {'; '.join(places)}:\n  {reason}.")
    return min(wrong, 1)


def report_matches(theirs: list[set[tuple[int, ...]]]) -> int:
    print(f"\nAFTER MATCH SKIP and MATCH_RECOGNIZE of Flink SQL {VERSION}, on {matches.STREAMS} streams a case\n")
    print(f"{'contiguous matches':<50}{'alike':>8}{'only ours':>11}{'only theirs':>13}")
    wrong = 0
    for case, two in zip(matches.CASES, theirs, strict=True):
        one = matches.ours(case)
        wrong += one != two
        print(f"{case.name:<50}{len(one & two):>8}{len(one - two):>11}{len(two - one):>13}")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
