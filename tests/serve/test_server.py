"""The server as a browser meets it: who may ask, what is answered, and what happens to work that nobody waits for."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.serve.serving_here import FALLING, STOCK, Server, asked, serve_here, wait_until
from trendweave.serve.app import make_app
from trendweave.serve.lanes import Busy, Lane
from trendweave.serve.pieces import Pieces
from trendweave.serve.serving import Limits, Serving, is_loopback
from trendweave.serve.starting import with_token

TOKEN = "a token of this test, ‼ too"
SLOW = {"rate": 1, "watermark": "1 second"}
#: Every event is compared with every other, which takes minutes.
ENDLESS = "RETURN COUNT(*) PATTERN Stock S+ WHERE S.price + S.volume > NEXT(S).price * 2 + S.company"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "stock.csv").write_text("time,type,price\n1,Stock,10\n2,Stock,9\n")
    (folder.parent / "secret.csv").write_text("time,type,price\n1,Stock,10\n")
    with serve_here(Serving(folder, limits=Limits(runs=2, streams=2))) as running:
        yield running


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_the_page_comes_with_all_that_it_needs(server: Server) -> None:
    page = server.get("/")
    assert page.status == 200
    assert "<title>Trendweave</title>" in page.body.decode()
    for name in ("style.css", "results.css", "main.js", "editor.js", "live.js", "icon.svg"):
        assert server.get(f"/static/{name}").status == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "server" not in page.headers or "uvicorn" in page.headers["server"]
    assert b"http://" not in page.body.replace(b"http://www.w3.org", b"")

    about = server.get("/api/about").json
    assert about["files"] == ["stock.csv"]
    assert "RETURN" in about["language"]["clauses"]


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/%2e%2e/errors.py", "/secret.csv", "/api", "/static/"],
)
def test_nothing_else_is_sent(server: Server, path: str) -> None:
    assert server.get(path).status in (403, 404)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""])
def test_other_names_of_this_server_are_refused(server: Server, host: str) -> None:
    assert server.get("/", headers={"Host": host}).status == 421


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:8760", "192.0.2.1:8760"])
def test_own_names_and_addresses_are_known(server: Server, host: str) -> None:
    assert server.get("/", headers={"Host": host}).status == 200


def test_the_name_of_the_machine_is_for_servers_that_others_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "Workbench")
    for host, known in (("127.0.0.1", False), ("0.0.0.0", True)):
        guard: Any = make_app(Serving(host=host, token=TOKEN))
        assert guard._knows("workbench:8760") is known


def test_pages_of_others_may_not_ask(server: Server) -> None:
    wanted = asked(FALLING)
    assert server.post("check", wanted, headers={"Origin": "http://evil.example"}).status == 403
    assert server.post("check", wanted, headers={"Origin": "null"}).status == 403
    assert server.post("check", wanted, headers={"Sec-Fetch-Site": "cross-site"}).status == 403
    assert server.post("check", wanted, headers={"Content-Type": "text/plain"}).status == 400
    own = {"Origin": server.address.rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    assert server.post("check", wanted, headers=own).json["event"] == "ok"


@pytest.mark.parametrize("raw", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b'"text"', b"x" * 300_000])
def test_bad_bodies_are_refused(server: Server, raw: bytes) -> None:
    answer = server.post("check", None, raw=raw, headers={"Content-Type": "application/json"})
    assert (answer.status, answer.json["event"]) == (400, "refused")


def test_methods_and_paths_that_are_not_there(server: Server) -> None:
    assert server.get("/api/run").status == 405
    assert server.post("delete", {}).status == 404
    assert server.ask("PUT", "/static/style.css").status == 405


def test_a_query_is_checked_planned_and_run(server: Server) -> None:
    wrong = server.post("check", asked("RETURN COUNT(*) PATTERN Stock S+ WITHIN 1 parsec")).json
    assert "^^^^" in wrong["problems"][0]["shown"]
    assert server.post("plan", asked(FALLING)).json["queries"][0]["kind"] == "trends"
    assert server.post("columns", {"source": STOCK}).json["rows"] == 2_000

    done = server.post("run", asked(FALLING))
    assert done.headers["content-type"].startswith("application/x-ndjson")
    assert len(done.only("rows")["rows"]) == done.only("result")["total"] == 20
    outside = server.post("run", asked(FALLING, source={"kind": "file", "name": "../secret.csv"}))
    assert "there is no file" in outside.only("refused")["message"]


def test_ten_tabs_at_once_all_get_their_rows(server: Server) -> None:
    def visit(tab: int) -> int:
        assert server.post("check", asked(FALLING)).json["event"] == "ok"
        done = server.post("run", asked(FALLING, source={**STOCK, "events": 1_000 + tab}))
        assert done.only("result")["events"] == 1_000 + tab
        return len(done.only("rows")["rows"])

    with ThreadPoolExecutor(10) as tabs:
        rows = list(tabs.map(visit, range(10)))
    assert min(rows) > 0
    assert len(server.lanes.runs.processes) <= 2


def test_streams_are_told_as_they_go_and_end_with_their_tab(server: Server) -> None:
    opened = [server.open("POST", "/api/live", asked(FALLING, stream=SLOW)) for _ in range(2)]
    first = json.loads(opened[0][1].readline())
    while first["event"] != "tick":
        first = json.loads(opened[0][1].readline())
    assert 0 < first["sent"] < 2_000
    assert "try again" in server.post("live", asked(FALLING, stream=SLOW)).only("refused")["message"]
    processes = server.lanes.streams.processes
    assert len(processes) == 2

    for connection, answer in opened:  # the tabs are closed
        answer.close()
        connection.close()

    wait_until(lambda: server.lanes.streams.running == 0 and not any(map(is_there, processes)), 5)


def test_pages_take_answers_in_pieces(server: Server) -> None:
    piece = server.post("begin/run", asked(FALLING)).json
    messages = piece["messages"]
    while piece["ticket"]:
        piece = server.post("more", {"ticket": piece["ticket"]}).json
        messages += piece["messages"]
    assert [len(one["rows"]) for one in messages if one["event"] == "rows"] == [20]
    assert messages[-1]["event"] == "result"

    outside = server.post("begin/run", asked(FALLING, source={"kind": "file", "name": "../secret.csv"})).json
    assert "there is no file" in str(outside["messages"])
    for wrong in ({"ticket": "none"}, {}, []):
        assert "does not know" in server.post("more", wrong).json["message"]
    wait_until(lambda: not server.app.app.state.pieces.tickets)


def test_a_page_that_leaves_between_pieces_ends_its_stream(server: Server) -> None:
    ticket = server.post("begin/live", asked(FALLING, stream=SLOW)).json["ticket"]
    wait_until(lambda: server.lanes.streams.running == 1)
    (process,) = (one.number for one in server.lanes.streams._running)
    body = json.dumps({"ticket": ticket}).encode()
    head = (
        f"POST /api/more HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port)) as tab:
        tab.sendall(head.replace("Host: x", f"Host: 127.0.0.1:{server.port}").encode() + body)
    wait_until(lambda: server.lanes.streams.running == 0 and not is_there(process), 5)
    wait_until(lambda: server.app.app.state.pieces.tickets == ())


def test_answers_that_nobody_asks_for_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    async def talk(number: int) -> AsyncGenerator[dict[str, Any], None]:
        try:
            for place in range(number):
                yield {"place": place}
        finally:
            closed.append(number)

    async def forget() -> None:
        pieces = Pieces()
        for number in (1, 1_000):
            pieces.begin(talk(number))
        while pieces.tickets:
            await asyncio.sleep(0.01)

    monkeypatch.setattr("trendweave.serve.pieces._PATIENCE", 0.1)
    asyncio.run(forget())
    assert sorted(closed) == [1, 1_000]


def test_pieces_have_all_messages_in_order() -> None:
    async def talk() -> AsyncGenerator[dict[str, Any], None]:
        for place in range(350):
            yield {"place": place}

    async def take_all() -> list[int]:
        pieces = Pieces()
        ticket = pieces.begin(talk())
        found: list[int] = []
        piece: dict[str, Any] = {"ticket": ticket}
        while piece["ticket"]:
            piece = await pieces.take(ticket)
            assert len(piece["messages"]) <= 100
            found += [message["place"] for message in piece["messages"]]
        return found

    assert asyncio.run(take_all()) == list(range(350))


@pytest.mark.nightly
def test_ten_tabs_watch_streams_at_once() -> None:
    def watch(tab: int) -> int:
        stream = {"rate": 500, "watermark": "1 second", "delay": tab}
        return running.post("live", asked(FALLING, stream=stream)).only("ends")["sent"]

    with serve_here(Serving(limits=Limits(streams=10))) as running:
        with ThreadPoolExecutor(10) as tabs:
            assert list(tabs.map(watch, range(10))) == [2_000] * 10
        processes = running.lanes.processes
        assert len(running.lanes.streams.processes) == 1, "one waits for the next, the others have ended"
    assert not any(map(is_there, processes))


def test_a_run_in_compiled_code_ends_with_its_tab(server: Server) -> None:
    connection, answer = server.open("POST", "/api/run", asked(ENDLESS, source={**STOCK, "events": 30_000}))
    while "running over" not in json.loads(answer.readline()).get("what", ""):
        pass
    for _ in range(2):  # it goes on for a while
        assert json.loads(answer.readline())["event"] == "working"
    (process,) = (one.number for one in server.lanes.runs._running)

    answer.close()
    connection.close()

    wait_until(lambda: server.lanes.runs.running == 0 and not is_there(process), 5)
    assert len(server.post("run", asked(FALLING)).only("rows")["rows"]) == 20


def test_a_token_is_asked_for() -> None:
    with serve_here(Serving(token=TOKEN)) as server:
        assert "asks for the token" in server.get("/").body.decode()
        assert "That is not the token" not in server.get("/").body.decode()
        assert "That is not the token" in server.get("/?token=wrong").body.decode()
        for path in ("/", "/?token=wrong", "/static/main.js", "/api/about"):
            assert server.get(path).status == 401
        assert server.get("/static/style.css").status == 200, "the page that asks for the token has its style"
        assert server.post("run", asked(FALLING)).status == 401
        assert (
            server.get(
                "/api/about", headers={"Authorization": f"Bearer {TOKEN[:-1]}".encode().decode("latin-1")}
            ).status
            == 401
        )
        assert (
            server.get("/api/about", headers={"Authorization": f"Bearer {TOKEN}".encode().decode("latin-1")}).status
            == 200
        )

        opened = server.get(f"/?token={quote(TOKEN)}")
        assert (opened.status, opened.headers["location"]) == (303, "/")
        cookie = opened.headers["set-cookie"]
        assert TOKEN not in cookie
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert server.get("/", headers={"Cookie": cookie.split(";")[0]}).status == 200
        assert server.get("/", headers={"Cookie": cookie.split(";")[0][:-2]}).status == 401
        processes = server.lanes.processes
    assert not any(map(is_there, processes)), "a server that ends leaves nothing behind"


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("a.example", False),
    ],
)
def test_who_can_be_reached_by_others_has_a_token(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone
    made = with_token(Serving(host=host)).token
    assert (made is None) is alone
    assert made is None or len(made) >= 32
    assert with_token(Serving(host=host, token="given")).token == "given"


def job_of(kind: str, wanted: Any) -> dict[str, Any]:
    return {"kind": kind, "asked": wanted, "folder": None, "stores": {}, "limits": asdict(Limits())}


async def events_of(messages: AsyncGenerator[dict[str, Any], None]) -> list[dict[str, Any]]:
    async with aclosing(messages) as found:
        return [message async for message in found]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a worker ends by the limit of its time")
def test_a_worker_ends_with_a_server_that_is_killed() -> None:
    start = "import os, time; from trendweave.serve.worker.__main__ import _end_with_the_server as begin; "
    work = "os.fork() or (begin(), print(os.getpid(), flush=True), time.sleep(60)); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", start + work], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert is_there(worker)
        parent.kill()
    wait_until(lambda: not is_there(worker))


def test_limits_of_time_and_memory_end_a_process() -> None:
    async def go_beyond(lane: Lane, kind: str) -> dict[str, Any]:
        try:
            return (await events_of(lane.run(job_of(kind, asked(FALLING, stream=SLOW)))))[-1]
        finally:
            assert lane.running == 0
            assert lane.processes == ()
            await lane.close()

    slow = asyncio.run(go_beyond(Lane(1, 1, 0, 0.5, 1 << 31), "live"))
    assert (slow["reason"], slow["message"]) == ("time", "this took longer than 0.5 seconds")
    large = asyncio.run(go_beyond(Lane(1, 1, 0, 60, 40 << 20), "live"))
    assert (large["reason"], large["message"]) == ("memory", "this took more than 40 MB of memory")


def test_those_who_wait_are_told_and_too_many_are_refused() -> None:
    async def crowd() -> tuple[list[dict[str, Any]], tuple[int, ...]]:
        lane = Lane(1, 1, 1, 60, 1 << 31)
        first = asyncio.ensure_future(events_of(lane.run(job_of("check", asked(FALLING, source=None)))))
        await asyncio.sleep(0.05)
        second = asyncio.ensure_future(events_of(lane.run(job_of("check", asked(FALLING, source=None)))))
        await asyncio.sleep(0.05)
        with pytest.raises(Busy, match="1 requests wait already"):
            await events_of(lane.run(job_of("check", {})))
        assert (await first)[-1]["event"] == "ok"
        found, kept = await second, lane.processes
        await lane.close()
        return found, kept

    found, kept = asyncio.run(crowd())
    assert (found[0]["event"], found[-1]["event"]) == ("waiting", "ok")
    assert len(kept) == 1, "the second job ran in the process of the first"
    assert not is_there(kept[0])
