"""`tools/ensure_chromium.py`: where a browser comes from, and what is said where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.serve import browser
from tools import ensure_chromium
from tools.ensure_chromium import NotFound


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ensure_chromium, "FOLDER", tmp_path / ".chromium")
    monkeypatch.setattr(ensure_chromium, "STATE", tmp_path / ".chromium" / "state.json")
    monkeypatch.setattr("sys.argv", ["ensure_chromium.py"])
    return tmp_path / ".chromium" / "state.json"


def test_the_browser_of_the_system_is_taken(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "chromium"
    program.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ensure_chromium.main() == 0
    assert json.loads(state.read_text()) == {"browser": str(program)}


def test_reasons_are_told_and_tests_skip_with_them(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(command: list[str], **_: object) -> str:
        raise NotFound(f"{command[0]} failed")

    monkeypatch.setattr(ensure_chromium, "run", fails)
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert ensure_chromium.main() == 0
    found, reason = browser.find_browser(state)
    assert found is None
    assert "none of chromium" in reason
    assert "there is no apt-get" in reason


def test_what_was_unpacked_is_found_again(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked = tmp_path / "unpacked"
    unpacked.touch()
    state.parent.mkdir()
    state.write_text(json.dumps({"browser": str(unpacked)}))
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert browser.find_browser(state) == (str(unpacked), "")
    assert ensure_chromium.done_before()
    unpacked.unlink()
    assert browser.find_browser(state)[0] is None
    assert not ensure_chromium.done_before()


def test_a_wrapper_brings_libraries_and_fonts(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = state.parent / "root"
    program, library = root / "usr/lib/chromium/chromium", root / "usr/lib/here/libx.so.1"
    for file in (program, library):
        file.parent.mkdir(parents=True)
        file.touch()
    program.write_text('#!/bin/sh\necho "$LD_LIBRARY_PATH $FONTCONFIG_FILE $1"\n')
    program.chmod(0o755)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    wrapper = ensure_chromium.write_wrapper(root)
    said = ensure_chromium.run([str(wrapper), "--version"])
    assert said.split() == [str(library.parent), str(state.parent / "fonts.conf"), "--version"]
    assert str(root / "usr/share/fonts") in (state.parent / "fonts.conf").read_text()
