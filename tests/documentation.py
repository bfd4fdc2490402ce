"""The pages of the documentation as blocks of code, and what runs them.

Every fenced block is run, or says why not in a comment before it (`<!-- not run: reason -->`):

- `python`: the blocks of a page share their names; `python spark` needs a session, which is called `spark`
- `text`: what the block before it prints; or, where it begins with `trendweave`, usage, whose options must be there
- `sql`: a query, which must be planned
- `console`: `$ cat FILE` shows a file that the commands after it find, `$ trendweave ...` a command and what it prints;
  `$ trendweave serve` is ended when it has printed that. The current folder is shown as /home/me
- `sh`: targets of `make`
- `sh cluster`, `python cluster`: for clusters of others; commands of ours must be there, and Python must be Python
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

import trendweave
from trendweave.cli.commands import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md"]
_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?(?P<indent> *)```(?P<words>[a-z ]+)\n(?P<code>.*?)\n^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """`line` is where it begins in its page."""

    language: str
    needs_spark: bool
    needs_cluster: bool
    code: str
    reason: str | None
    line: int


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            language=found["words"].split()[0],
            needs_spark="spark" in found["words"].split(),
            needs_cluster="cluster" in found["words"].split(),
            code=re.sub(rf"^{found['indent']}", "", found["code"], flags=re.MULTILINE),
            reason=found["reason"],
            line=text[: found.start()].count("\n") + 1,
        )
        for found in _BLOCK.finditer(text)
    ]


def needs_spark(page: Path) -> bool:
    return any(block.needs_spark and block.reason is None for block in blocks_of(page))


def outside_blocks(page: Path) -> str:
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


def run_page(page: Path, spark: Any = None) -> None:
    """Blocks one after the other, in the current folder; those that need Spark only where there is a session."""
    names: dict[str, Any] = {"spark": spark, "__name__": "documentation"}
    printed: str | None = None  # by the block before
    for block in blocks_of(page):
        at = f"{page.name}, line {block.line}"
        if block.reason is not None or (block.needs_spark and spark is None):
            printed = None if block.reason is not None else ANYTHING
        elif block.needs_cluster:
            _check_without_running(block, at)
        elif block.language == "python":
            printed = _printed_by(block, at, names)
        elif block.language == "text" and block.code.startswith("trendweave "):
            _check_usage(block.code, at)
        elif block.language == "text":
            assert printed is not None, f"{at}: nothing prints this"
            assert printed is ANYTHING or printed.rstrip() == block.code.rstrip(), at
            printed = None
        else:
            {"sql": _plan, "console": _run_console, "sh": _check_targets}[block.language](block.code, at)


#: Stands for what a block prints that was not run.
ANYTHING = "..."


def _printed_by(block: Block, at: str, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * block.line + block.code, at, "exec"), names)
    return printed.getvalue()


def _plan(code: str, at: str) -> None:
    assert trendweave.query(code).plan is not None, at


def _run_console(code: str, at: str) -> None:
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        words = shlex.split(command)
        if words[0] == "cat":
            Path(words[1]).parent.mkdir(parents=True, exist_ok=True)
            Path(words[1]).write_text(shown, encoding="utf-8")
            continue
        assert words[0] == "trendweave", at
        if words[1] == "serve":
            assert _serve(words[2:], shown.rstrip().count("\n") + 1) == shown.rstrip(), f"{at}: {command}"
            continue
        result = CliRunner().invoke(app, words[1:], env={"COLUMNS": "120"})
        assert result.output.rstrip() == shown.rstrip(), f"{at}: {command}"


def _serve(words: list[str], lines: int) -> str:
    """The first lines that a server prints, at any port that is free, as if it had the usual one."""
    command = [sys.executable, "-m", "trendweave", "serve", *words, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            printed = "".join(server.stdout.readline() for _ in range(lines))
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
    return re.sub(r":\d+/", ":8760/", printed).replace(str(Path.cwd()), "/home/me").rstrip()


def _check_without_running(block: Block, at: str) -> None:
    if block.language == "python":
        compile(block.code, at, "exec")
    else:
        ours = (line for line in block.code.splitlines() if line.startswith("trendweave "))
        _check_usage("\n".join(ours), at)


def _check_usage(code: str, at: str) -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for line in code.splitlines():
        _, name, *_ = line.split()
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", line)) <= known, f"{at}: {line}"


def _check_targets(code: str, at: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for line in code.splitlines():
        words = line.split("#")[0].split()
        assert words[0] == "make", at
        assert words[1] in targets, f"{at}: {line}"
