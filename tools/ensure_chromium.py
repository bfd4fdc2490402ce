"""Find a Chromium for the tests of the page, or unpack one into `.chromium`; no root needed, nothing is installed.

Run it with the Python of the virtual environment. `.chromium/state.json` says where the browser is, or why there is
none. It always ends with 0: without a browser its tests skip with that reason. A second run does nothing, unless the
first one failed. `--ignore-system` (or IGNORE_SYSTEM_CHROMIUM=1) acts as on a machine without a browser.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / ".chromium"
STATE = FOLDER / "state.json"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 120  # seconds in all; a registry that does not answer must not hold up the tests
DEADLINE = time.monotonic() + PATIENCE
#: A page without letters would be no page.
PACKAGES = ("chromium", "chromium-common", "fonts-dejavu-core")
WRAPPER = """\
#!/bin/sh
# Starts the unpacked Chromium with the libraries that were unpacked beside it.
export LD_LIBRARY_PATH="{libraries}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}" FONTCONFIG_FILE="{fonts}"
exec "{program}" "$@"
"""
FONTS = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir>{root}/usr/share/fonts</dir>
  <cachedir>{cache}</cachedir>
</fontconfig>
"""


class NotFound(Exception):
    """The reason why, as one sentence."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ignored = os.environ.get("IGNORE_SYSTEM_CHROMIUM") == "1"
    parser.add_argument("--ignore-system", action="store_true", default=ignored)
    ignore_system = parser.parse_args().ignore_system
    if done_before():
        return 0
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    ways: tuple[Callable[[], Path], ...] = (unpack_from_debian, download_with_playwright)
    if not ignore_system:
        ways = (find_on_path, *ways)
    reasons = []
    for way in ways:
        try:
            browser = way()
        except NotFound as why:
            reasons.append(str(why))
            continue
        STATE.write_text(json.dumps({"browser": str(browser)}) + "\n")
        print(f"Chromium for the tests of the page: {browser}")
        return 0
    STATE.write_text(json.dumps({"reason": "; ".join(reasons)}) + "\n")
    print(f"No Chromium: {'; '.join(reasons)}. The tests of the page in a browser will be skipped.")
    return 0


def done_before() -> bool:
    try:
        return Path(json.loads(STATE.read_text())["browser"]).exists()
    except (OSError, ValueError, KeyError):
        return False


def find_on_path() -> Path:
    found = next((found for name in NAMES if (found := shutil.which(name))), None)
    if found is None:
        raise NotFound(f"none of {', '.join(NAMES)} is on the PATH")
    return Path(found)


def unpack_from_debian() -> Path:
    """Debian's Chromium and what it needs that this machine lacks, by apt with a memory of its own."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise NotFound("there is no apt-get to fetch Debian's packages with")
    print("Unpacking Debian's Chromium for the tests of the page (less than a minute as a rule)")
    own, packages, root = FOLDER / "apt", FOLDER / "packages", FOLDER / "root"
    for folder in (own / "lists" / "partial", own / "cache" / "archives" / "partial", packages, root):
        folder.mkdir(parents=True)
    apt = [
        *("apt-get", "-qq", "-o", f"Dir::State::Lists={own / 'lists'}", "-o", f"Dir::Cache={own / 'cache'}"),
        *("-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=", "-o", "Acquire::http::Timeout=20"),
        *("-o", "Acquire::Retries=0", "-o", "Acquire::Languages=none"),
    ]
    run([*apt, "update"], check=False)  # lists of other places may be missing; what is needed is asked for next
    planned = run([*apt, "install", "--simulate", "--no-install-recommends", "--reinstall", *PACKAGES])
    wanted = re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", planned, re.MULTILINE)
    run([*apt, "download", *(f"{name}={version}" for name, version in wanted)], cwd=packages)
    for package in packages.glob("*.deb"):
        run(["dpkg-deb", "--extract", str(package), str(root)])
    shutil.rmtree(packages)
    shutil.rmtree(own)
    return write_wrapper(root)


def write_wrapper(root: Path) -> Path:
    program = root / "usr" / "lib" / "chromium" / "chromium"
    libraries = sorted({library.parent for library in root.rglob("*.so*")} - {program.parent})
    fonts, wrapper = FOLDER / "fonts.conf", FOLDER / "chromium"
    fonts.write_text(FONTS.format(root=root, cache=FOLDER / "fonts-cache"))
    wrapper.write_text(WRAPPER.format(libraries=":".join(map(str, libraries)), fonts=fonts, program=program))
    wrapper.chmod(0o755)
    return opens_a_page(wrapper)


def download_with_playwright() -> Path:
    """The browser that Playwright is made for."""
    downloads = FOLDER / "playwright"
    command = [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]
    run(command, environment={"PLAYWRIGHT_BROWSERS_PATH": str(downloads)})
    found = [path for path in downloads.rglob("*") if path.name in ("headless_shell", "chrome-headless-shell")]
    if not found:
        raise NotFound("Playwright downloaded no browser for this machine")
    return opens_a_page(found[0])


def opens_a_page(browser: Path) -> Path:
    """The browser, where it runs here."""
    run(
        [
            str(browser),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--dump-dom",
            "about:blank",
        ]
    )
    return browser


def run(
    command: list[str], cwd: Path | None = None, check: bool = True, environment: dict[str, str] | None = None
) -> str:
    """What a command prints. Addresses are left out of reasons: they belong to the machine's settings."""
    what = Path(command[0]).name if "playwright" not in command else "Playwright"
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=max(1, DEADLINE - time.monotonic()),
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
        )
    except subprocess.TimeoutExpired:
        raise NotFound(f"{what} was not done within {PATIENCE} seconds") from None
    if check and done.returncode != 0:
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        told = re.sub(r"\w+://\S+", "...", said[-1])[:200] if said else "it said nothing"
        raise NotFound(f"{what} failed: {told}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
