"""What the documentation shows is what happens: its blocks of code are run, and so are the examples in docstrings."""

from __future__ import annotations

import doctest
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import trendweave
from tests.documentation import PAGES, ROOT, blocks_of, needs_spark, outside_blocks, run_page
from tests.spark.comparing import settings
from trendweave.errors import CODES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_runs_and_prints_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page)


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.parametrize("page", list(filter(needs_spark, PAGES)), ids=lambda page: page.name)
def test_code_runs_on_spark(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    """In a folder that has some events; streams that a page starts take them all. README's sets up its own state."""
    monkeypatch.chdir(tmp_path)
    _look_for_files_in(tmp_path, spark)
    (tmp_path / "events").mkdir()
    event = {"time": "2024-01-01T00:00:00Z", "type": "Stock", "company": "X", "price": 1.0}
    (tmp_path / "events" / "some.json").write_text(json.dumps(event), encoding="utf-8")
    kind = "HDFSBacked" if page.name == "README.md" else "RocksDB"
    provider = f"org.apache.spark.sql.execution.streaming.state.{kind}StateStoreProvider"
    with settings(
        spark,
        sql_streaming_stateStore_providerClass=provider,
        sql_streaming_stateStore_encodingFormat="avro",
        buckets=2,
    ):
        try:
            run_page(page, spark)
            for stream in spark.streams.active:
                stream.processAllAvailable()
        finally:
            for stream in spark.streams.active:
                stream.stop()
            _look_for_files_in(ROOT, spark)


def _look_for_files_in(folder: Path, spark: SparkSession) -> None:
    """The JVM does not follow when Python goes elsewhere."""
    java = spark._jvm
    java.java.lang.System.setProperty("user.dir", str(folder))
    files = java.org.apache.hadoop.fs.FileSystem.get(spark._jsc.hadoopConfiguration())
    files.setWorkingDirectory(java.org.apache.hadoop.fs.Path(str(folder)))


#: As if nothing were installed that the package does not bring.
WITHOUT_EXTRAS = """
import sys

class NoExtras:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("cupy", "deltalake", "pandas", "polars", "pyspark", "yaml"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NoExtras())
"""


def test_the_first_example_needs_nothing_but_the_base_install(tmp_path: Path) -> None:
    first, printed = blocks_of(ROOT / "README.md")[:2]
    program = WITHOUT_EXTRAS + first.code
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert (done.stdout.rstrip(), done.stderr) == (printed.code, "")


def test_the_picture_of_the_readme_shows_what_the_demo_finds() -> None:
    from trendweave.cli.demo import DELAYS, flights_of_new_york

    rows = trendweave.query(DELAYS).run(flights_of_new_york(), numbers="int64").to_pylist()
    picture = (ROOT / "docs" / "pictures" / "delays.svg").read_text(encoding="utf-8")
    marked = re.findall(r"<title>(\w+) .*?([\d,]+)</title>", picture)
    assert sorted(marked) == sorted((row["origin"], f"{row['trends']:,}") for row in rows)


def test_pages_have_code() -> None:
    assert len(blocks_of(ROOT / "README.md")) >= 20
    assert sum(block.reason is not None for page in PAGES for block in blocks_of(page)) <= 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_code_is_hidden_from_these_tests(page: Path) -> None:
    """Code that is merely indented would not be run."""
    assert re.findall(r"\n\n {4,}\S.*", outside_blocks(page)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```python\nprint(1)\n```\n\n```text\n2\n```", "line 5"),
        ("```text\n2\n```", "nothing prints this"),
        ("```sql\nPATTERN SEQ(\n```", "TW101"),
        ("```console\n$ trendweave check nothing.tw\n```", "check nothing.tw"),
        ("```text\ntrendweave run --event X\n```", "--event X"),
        ("```sh\nmake tests\n```", "make tests"),
    ],
)
def test_wrong_pages_fail(text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises((AssertionError, trendweave.TrendweaveError), match=re.escape(message)):
        run_page(page)


DOCTESTED = ["trendweave", "trendweave.build", "trendweave.build.intervals", "trendweave.cli.own_words"]
DOCTESTED += ["trendweave.datasets", "trendweave.operators"]


@pytest.mark.parametrize("module", DOCTESTED)
def test_docstrings(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0


def test_every_code_is_documented() -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| (TW\d+) \| (.*?) \|", page, re.MULTILINE))
    assert listed == CODES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_headings_lead_to_headings(page: Path) -> None:
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", outside_blocks(page)):
        target = page.parent / path if path else page
        assert anchor in headings_of(target), f"{path}#{anchor}"


def headings_of(page: Path) -> set[str]:
    """The headings of a page, as links spell them: small letters, and - for blanks."""
    titles = re.findall(r"^#+ (.+)$", outside_blocks(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name in ("CONTRIBUTING.md", "development.md")])
def test_paths_that_a_page_names_are_there(page: Path) -> None:
    named = set(re.findall(r"`([a-z_]+(?:/[\w.]+)*/[\w.]*)`", page.read_text(encoding="utf-8")))
    assert named
    roots = (ROOT, ROOT / "src" / "trendweave")
    assert [path for path in sorted(named) if not any((root / path).exists() for root in roots)] == []
