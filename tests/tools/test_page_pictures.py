"""The pictures of the page can be taken anew, and are small."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.serve.browser import find_browser
from tools import page_pictures

BROWSER, WHY_NOT = find_browser()


@pytest.mark.long
@pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)
def test_pictures_are_taken(tmp_path: Path) -> None:
    assert page_pictures.main(tmp_path) == 0
    for name in page_pictures.SHOWN:
        taken = (tmp_path / name).read_bytes()
        assert taken.startswith(b"\x89PNG")
        assert 20_000 < len(taken) < page_pictures.MOST_BYTES


def test_pictures_of_the_pages_are_small() -> None:
    for name in page_pictures.SHOWN:
        assert (page_pictures.PICTURES / name).stat().st_size < page_pictures.MOST_BYTES
