"""What counts as a line of code."""

from pathlib import Path

from tools.size import count_code_lines, measure

SOURCE = '''"""A module."""

# why
import math  # for pi


def area(radius):
    """Of a circle.

    In two lines.
    """
    text = """a string
    of two lines"""
    return (
        math.pi * radius**2
    )
'''


def test_blank_lines_comments_and_docstrings_do_not_count() -> None:
    assert count_code_lines(SOURCE) == 7


def test_lines_and_files_are_told_by_folder(tmp_path: Path) -> None:
    (tmp_path / "kernels" / "inner").mkdir(parents=True)
    (tmp_path / "kernels" / "inner" / "one.py").write_text(SOURCE)
    (tmp_path / "kernels" / "two.py").write_text("x = 1\n")
    (tmp_path / "top.py").write_text("")
    lines, files = measure(tmp_path)
    assert (lines["kernels"], files["kernels"]) == (8, 2)
    assert (lines["(top)"], files["(top)"]) == (0, 1)
