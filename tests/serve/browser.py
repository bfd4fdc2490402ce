"""The browser that tests of the page use: the system's, or what `tools/ensure_chromium.py` has left."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
STATE = Path(__file__).parents[2] / ".chromium" / "state.json"


def find_browser(state: Path = STATE) -> tuple[str | None, str]:
    """Its path, or None and the reason."""
    if found := next((found for name in NAMES if (found := shutil.which(name))), None):
        return found, ""
    try:
        left = json.loads(state.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None, "no browser is installed; `make chromium` fetches one"
    if "browser" in left and Path(left["browser"]).exists():
        return left["browser"], ""
    return None, f"no browser: {left.get('reason', 'it is no longer there')}"
