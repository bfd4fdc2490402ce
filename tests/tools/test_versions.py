"""The table of versions says what tests said, and an environment that cannot be had is told."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tools.versions import __main__ as command
from tools.versions.environments import ROOT, Environment, NotInstalled, list_environments
from tools.versions.table import KINDS, Outcome, Row, read_report, write_table

REPORT = """<testsuites><testsuite>
<testcase name="test_batch_gives[a]"/>
<testcase name="test_stream_gives[a]"/>
<testcase name="test_stream_goes_on"><failure message="no"/></testcase>
<testcase name="test_store_is_filled"/>
<testcase name="test_store_is_followed"><skipped message="no sources"/></testcase>
<testcase name="test_connect_batch"><skipped message="no server"/></testcase>
</testsuite></testsuites>"""


def test_a_report_becomes_a_row(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT)
    row = Row("spark-3.5", "3.5.9", read_report(tmp_path / "report.xml"))

    table = write_table([row, Row("python-3.12", "", missing="there is no python3.12 on this machine")])

    assert row.failed
    assert (
        "| 3.5.9 | yes | **fails** | not tried | not tried | not tried | not tried | in part | no | not tried |"
        in table
    )
    assert "- no server\n\n- no sources" in table
    assert "| python-3.12 |  | not tried: there is no python3.12 on this machine |" in table


def test_counts_of_others() -> None:
    outcomes = (Outcome("test_a", "passed"), Outcome("test_b", "passed"), Outcome("test_c", "skipped", "why"))

    assert "| pandas-3 | pandas 3.0 | 2 passed, 1 skipped |" in write_table([Row("pandas-3", "pandas 3.0", outcomes)])


def test_every_kind_has_tests() -> None:
    on_spark = list_environments()[0].tests
    text = "".join((ROOT / file).read_text() for file in on_spark)

    assert [kind for kind in KINDS if f"def test_{kind}_" not in text] == []
    assert all((ROOT / test).exists() for environment in list_environments() for test in environment.tests)


def test_what_cannot_be_installed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    unknown = Environment("spark-0.0", (), (), python="python0.0")
    monkeypatch.setattr(command, "list_environments", lambda: [unknown])

    with pytest.raises(NotInstalled, match=r"there is no python0\.0"):
        unknown.build()
    assert command.main([]) == 1
    assert command.main(["--brief"]) == 0
    assert "NONE OF ITS TESTS RAN: there is no python0.0 on this machine" in capsys.readouterr().out
    assert command.main(["spark-1.0"]) == 2


@pytest.mark.parametrize(("pandas", "warned_of"), [("2.3.3", False), ("3.0.0", True)])
def test_the_extra_spark_has_the_pandas_that_pyspark_supports(
    pandas: str, warned_of: bool, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    """Where PySpark supports a newer one, the bound in pyproject.toml moves with it."""
    import pandas as installed
    from packaging.requirements import Requirement
    from pyspark.sql.pandas.utils import require_minimum_pandas_version

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    [bound] = [found for text in extras["spark"] if (found := Requirement(text)).name == "pandas"]
    monkeypatch.setattr(installed, "__version__", pandas)

    require_minimum_pandas_version()

    assert any("pandas" in str(warning.message) for warning in recwarn) == warned_of
    assert bound.specifier.contains(pandas) != warned_of
