"""The API from docstrings: one page per module, a section per name that is public there."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import griffe

from tools.site.places import MODULES, place_of_api


@dataclass(frozen=True)
class ApiPage:
    """A page of the site."""

    place: Path
    title: str
    text: str


def write_api_pages() -> list[ApiPage]:
    """The pages of all modules."""
    return [_write_page(_Sources(), module, title) for module, title in MODULES.items()]


class _Sources:
    """What is written in the source files: signatures as their authors wrote them, and docstrings."""

    def module(self, name: str) -> Any:
        path = Path(inspect.getfile(import_module(name)))
        return griffe.visit(
            name,
            path,
            path.read_text(encoding="utf-8"),
            docstring_parser=griffe.Parser.google,
            docstring_options={"returns_multiple_items": False, "returns_named_value": False},
        )

    def of(self, value: Any) -> Any:
        """A class or function, in the module that defines it."""
        return self.module(value.__module__).members[value.__name__]


def _write_page(sources: _Sources, module: str, title: str) -> ApiPage:
    there = import_module(module)
    parts = [f"# {title}", f"`import {module}`", *_write_docstring(sources.module(module))]
    for name in sorted(there.__all__, key=str.lower):
        value = getattr(there, name)
        parts.append(f"## {name}")
        if inspect.ismodule(value):
            parts += _write_docstring(sources.module(value.__name__))
        elif inspect.isclass(value):
            parts += _write_class(sources, value, name)
        else:
            written = sources.of(value) if inspect.isfunction(value) else sources.module(module).members[name]
            parts += [_signature(written), *_write_docstring(written)]
    return ApiPage(place_of_api(module), title, "\n\n".join(filter(None, parts)) + "\n")


def _write_class(sources: _Sources, value: type, name: str) -> Iterator[str]:
    written = sources.of(value)
    bases = ", ".join(str(base) for base in written.bases)
    yield f"```python\nclass {name}{f'({bases})' if bases else ''}\n```"
    yield from _write_docstring(written)
    seen: set[str] = set()
    for owner in value.__mro__:
        if owner.__module__.startswith("trendweave"):
            for member in _public_members(sources.of(owner)):
                if member.name not in seen:
                    seen.add(member.name)
                    yield f"### {name}.{member.name}"
                    yield _signature(member)
                    yield from _write_docstring(member)


def _public_members(owner: Any) -> list[Any]:
    """In the order in which they are written; what has no docstring explains itself in that of its class."""
    own = [member for member in owner.members.values() if not member.is_alias and member.docstring is not None]
    return [member for member in own if not member.name.startswith("_") and "Deprecated:" not in member.docstring.value]


def _signature(member: Any) -> str:
    if not member.is_function:
        value = f": {member.annotation}" if member.annotation is not None else ""
        return f"```python\n{member.name}{value}\n```"
    shown, star_seen = [], False
    for parameter in member.parameters:
        if parameter.name in ("self", "cls"):
            continue
        kind = parameter.kind.value if parameter.kind is not None else ""
        if kind == "keyword-only" and not star_seen:
            shown.append("*")
        star_seen = star_seen or kind in ("keyword-only", "variadic positional")
        stars = {"variadic positional": "*", "variadic keyword": "**"}.get(kind, "")
        text = stars + parameter.name + (f": {parameter.annotation}" if parameter.annotation is not None else "")
        default = "" if stars or parameter.default is None else f" = {parameter.default}"
        shown.append(text + default)
    returns = f" -> {member.returns}" if member.returns is not None else ""
    line = f"{member.name}({', '.join(shown)}){returns}"
    if len(line) > 100:
        inside = "".join(f"    {part},\n" for part in shown)
        line = f"{member.name}(\n{inside}){returns}"
    return f"```python\n{line}\n```"


def _write_docstring(member: Any) -> Iterator[str]:
    if member.docstring is None:
        return
    for section in member.docstring.parsed:
        kind = section.kind.value
        if kind == "text":
            yield from (_fence_example(part) for part in section.value.split("\n\n"))
        elif kind == "examples":
            code = "\n".join(text for _, text in section.value)
            yield f"```pycon\n{code}\n```"
        elif kind in ("parameters", "other parameters", "attributes", "raises", "returns", "yields"):
            yield f"**{kind.capitalize()}**"
            yield "\n".join(_write_item(member, kind, item) for item in section.value)


def _fence_example(paragraph: str) -> str:
    return f"```pycon\n{paragraph}\n```" if paragraph.lstrip().startswith(">>> ") else paragraph


def _write_item(member: Any, kind: str, item: Any) -> str:
    said = " ".join(item.description.split())
    if kind == "raises":
        return f"- `{item.annotation}`: {said}"
    if kind in ("returns", "yields"):
        # Words before a colon are taken for a type; ours stand in the signature.
        before = "" if str(item.annotation) in str(member.returns) else f"{item.annotation}: "
        return f"- {before}{said}"
    return f"- `{item.name}`: {said}"
