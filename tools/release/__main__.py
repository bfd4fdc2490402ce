"""Build the source distribution and the wheel, look into them, install them elsewhere, and run the README."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.release.contents import ROOT, compare_sources, compare_wheel, list_tracked

DIST = ROOT / "dist"


def main() -> int:
    shutil.rmtree(DIST, ignore_errors=True)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        sources, wheel = build(place)
        tracked = list_tracked()
        wrong = [f"{sources.name}: {what}" for what in compare_sources(sources, tracked)]
        wrong += [f"{wheel.name}: {what}" for what in compare_wheel(wheel, tracked)]
        if wrong:
            print("\n".join(wrong), file=sys.stderr)
            return 1
        print(f"{sources.name} and {wheel.name} hold what they should")
        try_base_install(place, wheel)
        try_readme(place, wheel)
    print(f"Both are in {DIST.relative_to(ROOT)}/ and work in a clean environment")
    return 0


def build(place: Path) -> tuple[Path, Path]:
    """The source distribution of the repository, and the wheel that is made of it alone."""
    python = make_environment(place / "builder", "hatchling")
    run(python, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(DIST), cwd=ROOT)
    sources = next(DIST.glob("*.tar.gz"))
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(DIST), str(sources), cwd=place)
    return sources, next(DIST.glob("*.whl"))


def try_base_install(place: Path, wheel: Path) -> None:
    """The first example of the README, the command, and a new project, without any extra."""
    sys.path.append(str(ROOT / "src"))
    from tests.documentation import blocks_of

    python = make_environment(place / "base", str(wheel))
    command = python.with_name("trendweave")
    first, printed = blocks_of(ROOT / "README.md")[:2]
    found = run(python, "-c", first.code, cwd=place)
    if found.rstrip() != printed.code:
        raise SystemExit(f"the first example of README.md prints\n{found}")
    print(run(command, "--version", cwd=place).strip())
    run(command, "new", "project", cwd=place)
    run(command, "run", "falling.tw", "--events", "stock.csv", cwd=place / "project")
    run(python, "-m", "unittest", cwd=place / "project")
    print("the base install runs the first example of README.md, and a new project")


def try_readme(place: Path, wheel: Path) -> None:
    """All of the README, on Spark too."""
    python = make_environment(place / "spark", f"{wheel}[spark]")
    (place / "readme").mkdir()
    script = str(Path(__file__).with_name("run_readme.py"))
    print(run(python, script, str(ROOT), cwd=place / "readme", PYSPARK_PYTHON=str(python)).strip().splitlines()[-1])


def make_environment(place: Path, *packages: str) -> Path:
    """A new environment with some packages; its Python."""
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", *packages, cwd=ROOT)
    return python


def run(program: Path, *arguments: str, cwd: Path, **variables: str) -> str:
    """What a program prints; it must not fail. It sees nothing of this process's packages."""
    seen = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    if "PIP_CONSTRAINT" in seen:
        seen["PIP_CONSTRAINT"] = str(ROOT / "constraints.txt")
    done = subprocess.run(
        [str(program), *arguments], cwd=cwd, env={**seen, **variables}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{program.name} {' '.join(arguments[:3])} failed:\n{(done.stdout + done.stderr)[-6_000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
