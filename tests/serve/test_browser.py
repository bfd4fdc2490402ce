"""The page in a real browser: typing, carets, rows, pictures, a stream, keys, light and dark."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serve.browser import find_browser
from tests.serve.serving_here import Server, serve_here, wait_until
from trendweave.serve.serving import Limits, Serving

BROWSER, WHY_NOT = find_browser()
COUNTED = "RETURN COUNT(*) AS n\nPATTERN Stock S+\nWITHIN 2 seconds SLIDE 2 seconds"
MARKUP = "<img src=x onerror=alert(1)>"

pytestmark = pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    rows = [f"{second},Stock,{second % 7}" for second in range(400)]
    (folder / "stock.csv").write_text("\n".join(["time,type,price", *rows]))
    named = ["1,MOTOR VEHICLE THEFT,3,4", "2,Motor,5,6"]
    (folder / "named.csv").write_text("\n".join(["time,type,my col,my``own", *named]))
    (folder / "odd.csv").write_text(f"time,type,name\n1,A,{MARKUP}\n2,A,<script>alert(2)</script>\n")
    for name, least in (("all", 0), ("large", 3)):
        text = COUNTED.replace("Stock S+", f"Stock S+\nWHERE S.price >= {least}")
        (folder / "rules").mkdir(exist_ok=True)
        (folder / "rules" / f"{name}.tw").write_text(text)
    with serve_here(Serving(folder, limits=Limits(runs=1, streams=1))) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any, server: Server) -> Iterator[Any]:
    """A page on the served file; whatever its console complains of fails the test."""
    context = browser.new_context(color_scheme="light", viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    opened.on("request", lambda asked: asked.url.startswith(server.address) or complaints.append(asked.url))
    opened.set_default_timeout(60_000)
    opened.goto(server.address)
    opened.wait_for_selector("html[data-ready]")
    opened.select_option("#source", "file:stock.csv")
    opened.wait_for_selector("text=400 events, 0 to 399")
    yield opened
    context.close()
    assert complaints == []


def write(page: Any, text: str) -> None:
    page.fill("#query-text", text)


def test_a_mistake_is_underlined_and_has_carets(page: Any) -> None:
    write(page, "RETURN COUNT(*)\nPATTERN Stock S+\nWITHIN 10 parsecs")
    problem = page.wait_for_selector(".problem:has-text('parsecs')")
    lines = problem.inner_text().split("\n")
    assert lines[0].startswith("TW106: unknown time unit parsecs (line 3")
    assert lines[2].rstrip() == "           ^^^^^^^^^^"
    assert "".join(one.inner_text() for one in page.query_selector_all(".wrong-place")) == "10 parsecs"

    inside = "one => one.scrollWidth <= one.closest('section').clientWidth"
    assert problem.evaluate(inside)
    page.press("#query-text", "F8")
    assert page.evaluate("getSelection().toString()") == "10 parsecs"
    page.keyboard.type("5 s")
    page.wait_for_selector("#state .fine")
    assert page.query_selector(".problem") is None
    page.wait_for_selector("#plan pre:has-text('WITHIN 5 s')", state="attached")


def test_words_and_columns_are_completed_by_keys_alone(page: Any) -> None:
    write(page, "")
    page.focus("#query-text")
    page.keyboard.type("RETURN COUNT(*) PATTERN St")
    page.wait_for_selector("#completions li")
    page.keyboard.press("Tab")
    page.keyboard.type(" S+ WHERE S.pr")
    assert page.wait_for_selector("#completions li").inner_text().split() == ["price", "int64"]
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#query-text", "aria-activedescendant") == "completion-0"
    page.keyboard.press("Enter")
    assert page.input_value("#query-text") == "RETURN COUNT(*) PATTERN Stock S+ WHERE S.price"
    page.keyboard.type(" > ")
    page.press("#columns button", "End")
    page.keyboard.press("Enter")
    assert page.input_value("#query-text").endswith("WHERE S.price > price"), "a column writes its name"
    assert not page.is_visible("#completions")
    words = [one.inner_text() for one in page.query_selector_all("#shown-text .word")]
    assert words == ["RETURN", "PATTERN", "WHERE"]
    write(page, "GROUP BY a ORDER-BY b GROUP-BY c-d")
    words = [one.inner_text() for one in page.query_selector_all("#shown-text .word")]
    assert words == ["GROUP", "BY", "ORDER-BY", "GROUP-BY"]


def test_names_that_need_backticks_are_completed(page: Any) -> None:
    page.select_option("#source", "file:named.csv")
    page.wait_for_selector("text=2 events")
    for before, word, offered in (
        ("PATTERN ", "MOTOR", ["`MOTOR VEHICLE THEFT`", "Motor"]),
        ("PATTERN ", "`motor v", ["`MOTOR VEHICLE THEFT`"]),
        ("PATTERN Motor a WHERE a.", "my", ["`my col`", "`my````own`"]),
        ("PATTERN Motor a WHERE a.", "`my c", ["`my col`"]),
        ("PATTERN Motor a WHERE a.", "`", ["time", "type", "`my col`", "`my````own`"]),
        ("PATTERN Motor a WHERE a.", "`my````o", ["`my````own`"]),
        ("WHERE a.type = '", "MOTOR VEH", ["MOTOR VEHICLE THEFT"]),
        ("WHERE a.type = 'Motor' AND a.`my col` > ", "tim", ["TIMESTAMP", "time"]),
        ("WHERE a.`my col` > 1 WITHIN 1 ", "hou", ["hours"]),
    ):
        write(page, before)
        page.press("#query-text", "End")
        page.keyboard.type(word)
        page.keyboard.press("Control+Space")
        found = [one.inner_text() for one in page.query_selector_all("#completions li span")]
        assert found == offered, before + word
        page.keyboard.press("Tab")
        assert page.input_value("#query-text") == before + offered[0]


def test_rows_come_in_pages_and_as_a_picture(page: Any) -> None:
    write(page, COUNTED)
    page.press("#query-text", "Control+Enter")
    page.wait_for_selector("#rows tbody tr")
    assert "rows 1 to 50 of 200" in page.inner_text("#panel-rows")
    heads = [one.inner_text().split()[0] for one in page.query_selector_all("#rows th")]
    assert heads == ["window_start", "window_end", "n"]
    assert [one.inner_text() for one in page.query_selector_all("#rows tbody tr:first-child td")] == ["0", "2", "3"]
    assert page.eval_on_selector("#rows td.number-cell", "one => getComputedStyle(one).textAlign") == "right"
    page.keyboard.press("Alt+PageDown")
    assert "rows 51 to 100 of 200" in page.inner_text("#panel-rows")

    assert not page.is_visible("#old-rows")
    page.fill("#query-text", COUNTED + " ")
    assert page.is_visible("#old-rows"), "rows of another query say so"
    page.fill("#query-text", COUNTED)
    assert not page.is_visible("#old-rows")

    page.keyboard.press("Alt+2")
    assert page.is_visible("#picture svg")
    assert "n over time" in page.text_content("#picture svg")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#tab-plan", "aria-selected") == "true"
    assert page.is_visible("#plan svg")


def cells(page: Any, column: int) -> list[str]:
    return [one.inner_text() for one in page.query_selector_all(f"#rows tbody > tr > td:nth-child({column})")]


def test_rows_are_sorted_by_their_columns_and_taken_along_as_csv(page: Any, tmp_path: Path) -> None:
    write(
        page,
        "RETURN COUNT(*) AS n, AVG(S.price) AS mean\nPATTERN Stock S+\nWHERE S.price > 1\n"
        "WITHIN 31 seconds SLIDE 31 seconds",
    )
    page.press("#query-text", "Control+Enter")
    page.wait_for_selector("#rows tbody tr")
    came, starts = cells(page, 3), cells(page, 1)
    numbers = [int(text.replace(",", "")) for text in came]
    assert [f"{number:,}" for number in numbers] == came
    assert max(numbers) > 1_000
    assert starts == [str(31 * place) for place in range(13)], "times that are numbers have no separators"

    for sort, expected in (("ascending", sorted(numbers)), ("descending", sorted(numbers, reverse=True))):
        page.click("#rows th:nth-child(3) button")
        assert page.get_attribute("#rows th:nth-child(3)", "aria-sort") == sort
        assert cells(page, 3) == [f"{number:,}" for number in expected]
    with page.expect_download() as started:
        page.click("#csv")
    assert started.value.suggested_filename == "rows.csv"
    started.value.save_as(tmp_path / "rows.csv")
    lines = list(csv.reader((tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()))
    assert lines[0] == ["window_start", "window_end", "n", "mean"]
    assert [int(row[2]) for row in lines[1:]] == sorted(numbers, reverse=True)
    page.click("#rows th:nth-child(3) button")
    assert (cells(page, 1), page.get_attribute("#rows th:nth-child(3)", "aria-sort")) == (starts, None)


def test_values_of_every_kind_are_sorted_and_written(page: Any) -> None:
    done = page.evaluate("""async () => {
        const { grouped, sortedPlaces, writeCsv } = await import("/static/table.js");
        const sort = (values, kind, down) =>
            sortedPlaces(values.map((one) => [one]), 0, kind, down).map((one) => values[one]);
        return {
            numbers: sort(["10", "9", null, "-3", "1e+20", "2.5", "nan", "inf", "-inf"], "number", false),
            down: sort(["1", null, "2"], "number", true),
            digits: sort(["100000000000000000000002", "100000000000000000000001"], "number", false),
            times: sort(["2024-01-01 00:00:01", "2024-01-01 00:00:00.5", "2024-01-01 00:00:00"], "time", false),
            grouped: ["1", "-1234", "1234567.25", "999", "1e+20", "nan", "12345678901234567890"].map(grouped),
            csv: writeCsv([{ name: "a,b" }, { name: "c" }], [["x", null], ['say "no"', ""], ["two\\nlines", "1"]]),
        };
    }""")
    assert done == {
        "numbers": ["-inf", "-3", "2.5", "9", "10", "1e+20", "inf", "nan", None],
        "down": ["2", "1", None],
        "digits": ["100000000000000000000001", "100000000000000000000002"],
        "times": ["2024-01-01 00:00:00", "2024-01-01 00:00:00.5", "2024-01-01 00:00:01"],
        "grouped": ["1", "-1,234", "1,234,567.25", "999", "1e+20", "nan", "12,345,678,901,234,567,890"],
        "csv": '"a,b",c\r\nx,\r\n"say ""no""",""\r\n"two\nlines",1\r\n',
    }


def test_a_row_opens_its_events(page: Any) -> None:
    write(page, COUNTED)
    page.press("#query-text", "Control+Enter")
    page.wait_for_selector("#rows tbody tr")
    page.click("#rows tbody tr:nth-child(2) button.open")
    page.wait_for_selector("#rows tr.events tbody tr")
    assert "2 events of this window and group" in page.inner_text("#rows tr.events")
    shown = [one.inner_text() for one in page.query_selector_all("#rows tr.events tbody td")]
    assert shown == ["2", "Stock", "2", "3", "Stock", "3"]
    page.click("#rows tbody tr:nth-child(2) button.open")
    assert page.query_selector("#rows tr.events") is None

    write(page, "RETURN TRENDS(A.price) PATTERN SEQ(Stock A, Stock B) WHERE A.price = 6 WITHIN 2 seconds")
    page.press("#query-text", "Control+Enter")
    page.wait_for_selector("#rows th:has-text('events')")
    page.click("#rows tbody tr:first-child button.open")
    page.wait_for_selector("#rows tr.events tbody tr")
    assert "2 events of this trend" in page.inner_text("#rows tr.events")
    shown = [one.inner_text() for one in page.query_selector_all("#rows tr.events tbody td")]
    assert shown == ["A", "6", "Stock", "6", "B", "7", "Stock", "NULL"]


def test_text_of_events_is_never_markup(page: Any) -> None:
    page.select_option("#source", "file:odd.csv")
    page.wait_for_selector("text=2 events")
    write(page, "RETURN name, COUNT(*)\nPATTERN A\nWHERE [name]\nGROUP-BY name\nWITHIN 1 second SLIDE 1 second")
    page.press("#query-text", "Control+Enter")
    page.wait_for_selector("#rows tbody tr")
    assert MARKUP in [one.inner_text() for one in page.query_selector_all("#rows td")]
    page.click("#tab-picture")
    assert MARKUP in page.text_content("#picture svg")
    assert page.query_selector_all("main img, main script, main iframe") == []


def test_a_second_query_shows_what_is_shared(page: Any) -> None:
    write(page, COUNTED)
    assert not page.is_visible("#tab-shared"), "one query shares nothing"
    page.keyboard.press("Alt+4")
    assert page.get_attribute("#tab-rows", "aria-selected") == "true"
    page.press("#rules [role=tab]", "F2")
    page.keyboard.type("renamed")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "renamed"
    page.click("[aria-label='Add a query']")
    page.wait_for_selector("#state .fine")
    assert page.query_selector(".problem") is None, "nothing is wrong where nothing was written yet"
    page.keyboard.type(COUNTED.replace("Stock S+", "Stock S+ WHERE S.price > 3"))
    page.keyboard.press("Escape")
    page.click("#tab-shared")
    page.wait_for_selector("#shared svg")
    assert "workload     2 queries" in page.inner_text("#shared pre")
    page.click("[aria-label^='Remove query']")
    page.wait_for_selector("#tab-shared", state="hidden")
    assert page.get_attribute("#tab-rows", "aria-selected") == "true"

    page.select_option("#example", label="rules")
    page.click("#tab-shared")
    tabs = [one.inner_text() for one in page.query_selector_all("#rules [role=tab]")]
    assert tabs == ["all", "large"]
    page.wait_for_selector("#shared pre:has-text('all, large')")
    assert page.is_visible("#shared svg")


def test_a_stream_is_watched_until_it_is_stopped(page: Any) -> None:
    write(page, COUNTED)
    page.keyboard.press("Alt+5")
    page.select_option("#live-rate", "20")
    page.fill("#live-watermark", "1 second")
    page.fill("#live-column", "n")
    page.fill("#live-value", "1")
    page.click("#live-start")
    page.wait_for_selector("#live tr.alert")
    assert page.inner_text("#live .badge") == "alert"
    numbers = page.inner_text("#live .tiles")
    assert "late events" in numbers
    page.wait_for_selector("#live .spark path.rate")
    page.keyboard.press("Escape")
    page.wait_for_selector("#live-stop", state="hidden")
    assert page.inner_text("#live-said") == "Stopped."


def test_light_and_dark(page: Any) -> None:
    def paper() -> str:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    light = paper()
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    assert paper() != light
    page.select_option("#theme", "light")
    assert paper() == light
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.input_value("#theme") == "light"
    assert page.input_value("#source") == "file:stock.csv"


def test_a_text_without_end_stays_plain_and_a_blank_one_is_no_mistake(page: Any) -> None:
    write(page, "RETURN x AS y, " * 10_000)
    assert len(page.query_selector_all("#shown-text span")) == 1
    page.wait_for_selector(".problem:has-text('at most 100,000')")
    write(page, " ")
    page.wait_for_selector(".problem", state="detached")
    assert "Write a query" in page.text_content("#plan")


@pytest.mark.nightly
def test_eight_tabs_watch_at_once(browser: Any) -> None:
    """A browser has six connections to a server, and no stream keeps one."""
    context = browser.new_context()
    with serve_here(Serving(limits=Limits(streams=8))) as running:
        tabs = [context.new_page() for _ in range(8)]
        for tab in tabs:
            tab.goto(running.address)
            tab.wait_for_selector("html[data-ready]")
            tab.click("#tab-live")
            tab.select_option("#live-rate", "20")
            tab.click("#live-start")
        for tab in tabs:
            tab.wait_for_selector("#live .spark path.rate", timeout=60_000)
        assert all(tab.is_visible("#live-stop") for tab in tabs)
        assert running.lanes.streams.running == 8
        context.close()
        wait_until(lambda: running.lanes.streams.running == 0)


def test_everything_has_a_name_and_room_in_a_narrow_window(page: Any) -> None:
    nameless = page.evaluate("""() => [...document.querySelectorAll("button, input, select, textarea")].filter((one) =>
        !(one.labels?.length || one.ariaLabel || one.textContent.trim() || one.title)).map((one) => one.outerHTML)""")
    assert nameless == []

    page.set_viewport_size({"width": 380, "height": 800})
    for panel in ("live", "rows"):
        page.click(f"#tab-{panel}")
        assert page.evaluate("document.documentElement.scrollWidth") == 380
        outside = page.evaluate("""() => [...document.querySelectorAll("button, input, select")].filter((one) => {
            const card = one.closest("section, .card")?.getBoundingClientRect(), own = one.getBoundingClientRect();
            return card && own.width && (own.right > card.right || own.left < card.left);
        }).map((one) => one.id)""")
        assert outside == []
