"""What must be installed wherever tasks run: packages that are compiled for a machine cannot travel in a zip."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version

from trendweave.runners.shipping.package_files import OWN

#: What tasks import and cannot take from a zip.
INSTALLED = ("numba", "numpy", "pandas", "pyarrow")
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*([^;]*)")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package that executors need."""

    name: str
    #: Versions that will do, such as `>=18`; empty where that is not known.
    wanted: str
    #: The version here; empty where it is missing.
    here: str

    def __str__(self) -> str:
        return f"{self.name}{self.wanted}" + (f" ({self.here} here)" if self.here else " (missing here)")


def list_requirements() -> tuple[Requirement, ...]:
    """What executors need, with the versions that this package asks for and those that are installed here."""
    try:
        declared = requires(OWN) or []
    except PackageNotFoundError:
        declared = []  # not installed here either: versions of this machine are known to work
    wanted = {found[1]: found[2].strip() for text in declared if (found := _REQUIREMENT.match(text)) is not None}
    return tuple(Requirement(name, wanted.get(name, ""), _version(name)) for name in INSTALLED)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
