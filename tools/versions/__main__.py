"""`python -m tools.versions [NAME ...]`: build environments, run their tests, and print a table.

With `--brief`, for `make test-all`, only what is not marked nightly runs, and an environment that cannot be had is
told and does not fail.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.versions.environments import ROOT, Environment, NotInstalled, list_environments
from tools.versions.table import Row, read_report, write_table

_TELL_VERSIONS = """
import platform
from importlib.metadata import version
print(version("pyspark") if {spark} else f"Python {{platform.python_version()}}, pandas {{version('pandas')}}")
"""


def main(arguments: list[str]) -> int:
    brief = "--brief" in arguments
    names = [argument for argument in arguments if not argument.startswith("-")]
    known = {environment.name: environment for environment in list_environments()}
    if unknown := [name for name in names if name not in known]:
        print(f"There is no environment {unknown[0]}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    rows = [try_environment(known[name], brief) for name in names or known]
    if not brief:
        print()
        print(write_table(rows))
    missing = [row for row in rows if row.missing and (row.name in names or row.name.startswith("spark-"))]
    return 1 if any(row.failed for row in rows) or (missing and not brief) else 0


def try_environment(environment: Environment, brief: bool) -> Row:
    print(f"== {environment.name}", flush=True)
    try:
        environment.build()
    except NotInstalled as why:
        print(f"{environment.name} could not be installed, so NONE OF ITS TESTS RAN: {why}", flush=True)
        return Row(environment.name, "", missing=str(why))
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        run_tests(environment, report, brief)
        return Row(environment.name, tell_versions(environment), read_report(report))


def run_tests(environment: Environment, report: Path, brief: bool) -> None:
    """Warnings of other versions are for those to mend, so they are no errors."""
    # The brief part leaves Spark Connect to the newest version.
    tests = environment.tests[:1] if brief else environment.tests
    marks = [] if environment.python is None else ["-m", "not spark"]
    subprocess.run(
        [environment.executable, "-m", "pytest", "-q", "-n0", "-W", "ignore", "--junit-xml", report, *marks, *tests],
        cwd=ROOT,
        env=os.environ
        | {"PYSPARK_PYTHON": str(environment.executable), "HYPOTHESIS_PROFILE": "ci" if brief else "nightly"}
        | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    )
    if not report.exists():
        raise SystemExit(f"pytest did not run in {environment.name}")


def tell_versions(environment: Environment) -> str:
    program = _TELL_VERSIONS.format(spark=environment.name.startswith("spark-"))
    return subprocess.run(
        [environment.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
