"""What kernels hand to Python is built without running any Python.

Numba makes a named tuple by calling its class, and does not look whether that has raised something. Signals raise where
Python runs next: there, and the process ends. So a kernel that Python calls returns numbers, arrays and plain tuples.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "trendweave"
DECORATORS = {"inner", "outer", "inlined", "inlined_late"}


def is_kernel(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(one, ast.Name) and one.id in DECORATORS for one in node.decorator_list
    )


def names_outside_kernels(tree: ast.AST) -> set[str]:
    found, waiting = set[str](), [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            found.add(node.id)
        waiting.extend(child for child in ast.iter_child_nodes(node) if not is_kernel(child))
    return found


def names_of_values(node: ast.AST) -> Iterator[str]:
    """Names whose value is in what an expression gives; of a tuple's attribute it is not."""
    if isinstance(node, ast.Name):
        yield node.id
    elif not isinstance(node, ast.Attribute) or node.attr == "_replace":
        for child in ast.iter_child_nodes(node):
            yield from names_of_values(child)


def returned_names(kernel: ast.FunctionDef) -> set[str]:
    """Names in what is returned, and in what was assigned to them."""
    found = {name for node in ast.walk(kernel) if isinstance(node, ast.Return) for name in names_of_values(node)}
    for node in ast.walk(kernel):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        targets = {target.id for target in node.targets if isinstance(target, ast.Name)}
        if found & targets and isinstance(node.value.func, ast.Name):
            found.add(node.value.func.id)
    return found


def test_python_is_handed_no_named_tuples() -> None:
    trees = [ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))]
    nodes = [node for tree in trees for node in tree.body]
    named = {
        node.name
        for node in nodes
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "NamedTuple" for base in node.bases)
    }
    kernels = [node for node in nodes if isinstance(node, ast.FunctionDef) and is_kernel(node)]
    # What gives a named tuple to another kernel may be handed on by that one.
    builders = {kernel.name for kernel in kernels if returned_names(kernel) & named}
    called = set[str]().union(*map(names_outside_kernels, trees))

    assert len(kernels) > 50, "kernels are marked in another way than this test knows"
    assert len(called & {kernel.name for kernel in kernels}) > 10
    example = ast.parse("def make(x):\n    found = Made(x)\n    return found").body[0]
    assert isinstance(example, ast.FunctionDef)
    assert "Made" in returned_names(example), "what is returned is found in another way than this test knows"
    bad = [kernel.name for kernel in kernels if kernel.name in called and returned_names(kernel) & (named | builders)]
    assert not bad
