"""What is done to the pages once they are made: none of them asks another server for anything."""

from __future__ import annotations

import os
import re
from pathlib import Path

#: What Zensical lets pages load for search from the disk, and what they load instead.
_SHIM, _OWN = "https://unpkg.com/iframe-worker/shim", "scripts/worker_from_disk.js"
_ELSEWHERE = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>")


def finish(site: Path) -> None:
    """Let pages load their own script for search, and check that they load nothing from elsewhere.

    Args:
        site: The folder of the site.

    Raises:
        ValueError: A page loads something from elsewhere.
    """
    for page in sorted(site.rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        own = Path(os.path.relpath(site / _OWN, page.parent)).as_posix()
        text = text.replace(_SHIM, own)
        found = _ELSEWHERE.search(text)
        if found is not None:
            raise ValueError(f"{page.relative_to(site)} loads something from another server: {found[0]}")
        page.write_text(text, encoding="utf-8")
