"""Prices as they were measured on this machine, in the user's folder for caches. Whatever cannot be read there is as if
it was never measured."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from trendweave.devices.choosing import Costs

_VERSION = 1


def costs_file() -> Path:
    """Where prices are kept; XDG_CACHE_HOME says where caches are."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "trendweave" / "devices.json"


def save_costs(costs: Costs, facts: Mapping[str, str]) -> Path:
    """Keep prices, with facts of the machine for people who look at the file."""
    path = costs_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {"version": _VERSION, "machine": platform.node(), **facts, "nanoseconds": asdict(costs)}
    path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    return path


def load_costs() -> Costs:
    """Prices of this machine; those of some machine where none were measured here."""
    path = costs_file()
    try:
        return _load(path, path.stat().st_mtime_ns)
    except OSError:
        return Costs()


@lru_cache(maxsize=1)
def _load(path: Path, changed: int) -> Costs:
    """What a file says that was changed at a time."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["version"] != _VERSION or kept["machine"] != platform.node():
            return Costs()
        return _read(kept["nanoseconds"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Costs()


def _read(given: Mapping[str, Any]) -> Costs:
    """Prices that are numbers above zero; others, and those that are missing, are as usual."""
    usual, values = Costs(), dict[str, Any]()
    for one in fields(Costs):
        before, now = getattr(usual, one.name), given.get(one.name)
        if isinstance(before, Mapping):
            measured = now if isinstance(now, Mapping) else {}
            values[one.name] = {kind: _price(measured.get(kind), price) for kind, price in before.items()}
        else:
            values[one.name] = _price(now, before)
    return Costs(**values)


def _price(value: object, usual: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        return usual
    return float(value)
