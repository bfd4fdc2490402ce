"""Make the site: `python -m tools.site`. It needs no network, nor do its readers, and any warning is an error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.site.finishing import finish
from tools.site.gathering import gather
from tools.site.places import ROOT

PAGES = ROOT / "build" / "docs"


def main() -> int:
    gather(PAGES, run_notebooks=True)
    command = [Path(sys.executable).parent / "zensical", "build", "--clean", "--strict"]
    done = subprocess.run([*command, "--config-file", str(ROOT / "zensical.toml")], cwd=ROOT, check=False)
    if done.returncode == 0:
        finish(ROOT / "build" / "site")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
