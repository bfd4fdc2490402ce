"""Which pages the site has, and where each of them goes."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Modules whose API has a page, and what it is called.
MODULES = {
    "trendweave": "Queries, workloads and stores",
    "trendweave.operators": "Operators",
    "trendweave.build": "Queries from Python",
    "trendweave.build.intervals": "Interval queries from Python",
    "trendweave.pictures": "Pictures",
    "trendweave.datasets": "Sample data",
    "trendweave.errors": "Exceptions",
}


def find_pages() -> dict[Path, Path]:
    """Pages by where they are in the repository; each with its place in the site."""
    found = {Path("README.md"): Path("index.md")}
    found |= {Path(name): Path(name.lower()) for name in ("CHANGELOG.md", "CONTRIBUTING.md")}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        found[page.relative_to(ROOT)] = page.relative_to(ROOT / "docs")
    for page in sorted((ROOT / "examples" / "cookbook").glob("*.md")):
        found[page.relative_to(ROOT)] = Path("cookbook", "index.md" if page.name == "README.md" else page.name)
    for notebook in sorted((ROOT / "examples" / "notebooks").glob("*.ipynb")):
        found[notebook.relative_to(ROOT)] = Path("notebooks", f"{notebook.stem}.md")
    found |= {Path("examples", name, "README.md"): Path(f"{name}.md") for name in ("queries", "rules")}
    found[Path("benchmarks/RESULTS.md")] = Path("results.md")
    return found


def place_of_api(module: str) -> Path:
    """Where the page of a module goes."""
    return Path("api", f"{module.replace('.', '_')}.md")
