"""`trendweave serve`: what is refused before it starts, and a server that starts, says where it is, and ends."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.cli.command import trendweave
from trendweave.cli.commands import read_stores
from trendweave.cli.failure import Failure


def test_stores_have_names(tmp_path: Path) -> None:
    (tmp_path / "quotes").mkdir()
    path = str(tmp_path / "quotes")
    assert read_stores([path, f"more={path}", "far=s3://bucket/x"]) == {
        **{"quotes": path, "more": path, "far": "s3://bucket/x"}
    }
    with pytest.raises(Failure, match="two stores are called quotes"):
        read_stores([path, f"quotes={path}"])
    with pytest.raises(Failure, match="is not a folder"):
        read_stores([str(tmp_path / "nowhere")])


def test_wrong_usage_is_told_in_one_line(tmp_path: Path) -> None:
    missing = trendweave("serve", str(tmp_path / "nowhere"))
    assert missing.returncode == 1
    assert "is not a folder" in missing.stderr
    assert "at least 8 characters" in trendweave("serve", "--token", "short").stderr
    assert trendweave("serve", "--port", "-1").returncode == 2
    assert "--host is empty" in trendweave("serve", "--host", "").stderr
    assert "choose another --host" in trendweave("serve", "--host", "nowhere.invalid").stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        told = trendweave("serve", "--port", str(taken.getsockname()[1]))
    assert (told.returncode, "choose another --port" in told.stderr) == (1, True)


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "trendweave.serve.starting", raising=False)
    told = trendweave("serve")
    assert told.returncode == 1
    assert "pip install 'trendweave[web]'" in told.stderr


def test_a_server_starts_says_where_it_is_and_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trendweave", "serve", str(tmp_path), "--port", "0", "--token", "long enough"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            first = server.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/", first)
            assert found, first
            assert "?token=long%20enough" in first
            assert f"files in {tmp_path}" in server.stdout.readline()
            request = urllib.request.Request(f"{found[0]}api/about", headers={"Authorization": "Bearer long enough"})
            with urllib.request.urlopen(request) as answer:
                assert answer.status == 200
            # Somebody who still watches a stream must not hold the server.
            wanted = {"rules": [{"text": "RETURN COUNT(*) PATTERN Stock S WITHIN 1 s"}], "stream": {"rate": 1}}
            wanted["source"] = {"kind": "sample", "name": "stock"}
            request = urllib.request.Request(f"{found[0]}api/live", json.dumps(wanted).encode(), request.headers)
            request.add_header("Content-Type", "application/json")
            with urllib.request.urlopen(request) as watching:
                assert b"event" in watching.readline()
                server.send_signal(signal.SIGINT)
                assert server.wait(20) in (0, 130, -signal.SIGINT)
        finally:
            server.kill()
        assert (server.stderr.read() if server.stderr else "") == ""
