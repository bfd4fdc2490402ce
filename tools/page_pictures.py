"""Take the pictures of the page of `trendweave serve` that the README and docs/serve.md show: `make page-pictures`.

It serves the page on a free port of this machine, and looks at it with the Chromium that `tools/ensure_chromium.py` has
found. Events are a sample with a seed, so that a picture changes only where the page does (and where a run took another
time).
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import sync_playwright

from tools.ensure_chromium import STATE
from trendweave.serve.app import make_app
from trendweave.serve.serving import Serving

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
#: README and pages load fast.
MOST_BYTES = 200_000
_SIZE = {"width": 1280, "height": 800}


def show_picture(page: Any) -> None:
    """A query, and a picture of its rows."""
    _run(page, "carts left behind")
    page.click("#tab-picture")
    page.wait_for_selector("#picture svg")


def show_rows(page: Any) -> None:
    """A query, its rows, and the events of one of them."""
    _run(page, "failed logins")
    page.click("#rows tbody tr:nth-child(3) button.open")
    page.wait_for_selector("#rows tr.events table")


def _run(page: Any, example: str) -> None:
    """Twice, as the first run may compile."""
    page.select_option("#source", "sample:web_clicks")
    page.wait_for_selector("text=20,000 events")
    page.select_option("#example", label=example)
    page.wait_for_selector("#state .fine")
    for _ in range(2):
        page.click("#run")
        page.wait_for_selector("#state:has-text('done')", timeout=120_000)
        page.wait_for_selector("#run:not([disabled])")


SHOWN: dict[str, Callable[[Any], None]] = {"serve.png": show_picture, "serve_rows.png": show_rows}


@contextmanager
def serve() -> Iterator[str]:
    """The address of the page."""
    server = uvicorn.Server(uvicorn.Config(make_app(Serving()), port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()


def main(folder: Path = PICTURES) -> int:
    browser = json.loads(STATE.read_text(encoding="utf-8")).get("browser") if STATE.exists() else None
    if browser is None:
        print("There is no Chromium: see `make chromium`.")
        return 1
    with serve() as address, sync_playwright() as started:
        opened = started.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for name, show in SHOWN.items():
            page = opened.new_context(color_scheme="light", viewport=_SIZE).new_page()
            page.goto(address)
            page.wait_for_selector("html[data-ready]")
            show(page)
            size = len(page.screenshot(path=folder / name))
            print(f"{folder / name}: {size:,} bytes")
            if size > MOST_BYTES:
                print(f"More than {MOST_BYTES:,} bytes.")
                return 1
        opened.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
