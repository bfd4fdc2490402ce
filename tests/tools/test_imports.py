"""Tools and benchmarks that no test runs name things of the package that exist."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(len(sys.argv) - 1)
"""


def test_tools_and_benchmarks_can_be_imported() -> None:
    files = [path for folder in ("tools", "benchmarks") for path in (_ROOT / folder).rglob("*.py")]
    names = [
        ".".join(path.relative_to(_ROOT).with_suffix("").parts) for path in files if not path.name.startswith("__")
    ]
    assert len(names) > 60
    done = subprocess.run([sys.executable, "-c", _IMPORT_ALL, *names], cwd=_ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == str(len(names)), done.stderr[-2000:]
