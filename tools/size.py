"""Code lines of the package, by folder: `make size`. Blank lines, comments and docstrings do not count."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "trendweave"
_NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


def count_code_lines(source: str) -> int:
    """Lines that hold something beside comments and docstrings."""
    lines = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                lines.difference_update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


def measure(package: Path = PACKAGE) -> tuple[Counter[str], Counter[str]]:
    """Code lines and files by folder at the top of the package; modules at the top stand together."""
    lines, files = Counter[str](), Counter[str]()
    for path in sorted(package.rglob("*.py")):
        inner = path.relative_to(package).parts
        folder = inner[0] if len(inner) > 1 else "(top)"
        lines[folder] += count_code_lines(path.read_text(encoding="utf-8"))
        files[folder] += 1
    return lines, files


def main() -> None:
    lines, files = measure()
    for folder, count in lines.most_common():
        print(f"{folder:<14}{count:>8,}{files[folder]:>6} files")
    print(f"{'all':<14}{lines.total():>8,}{files.total():>6} files")


if __name__ == "__main__":
    main()
