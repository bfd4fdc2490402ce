"""Rules in files: a folder of `.tw` files, one such file, or all rules in a JSON or YAML file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from trendweave.rules.rule import unreadable

#: How a file with one query ends.
ENDING = ".tw"
_JSON, _YAML = (".json",), (".yaml", ".yml")
_NOTE = re.compile(r"--\s*(version|description)\s*:\s*(.*)", re.IGNORECASE)


def read_path(path: Path) -> Any:
    """What stands at a path, as Python's mappings and lists; its queries are not read yet.

    Args:
        path: A folder, or a file whose ending tells what it is.

    Raises:
        LanguageError: There is nothing that can be read.
    """
    if path.is_dir():
        return _read_folder(path)
    ending = path.suffix.lower()
    if ending == ENDING:
        return {path.stem: read_query_file(path)}
    if ending in (*_JSON, *_YAML):
        text = _read_text(path)
        found = _read_json(path, text) if ending in _JSON else _read_yaml(path, text)
        if isinstance(found, dict | list):
            return found
        message = f"{path.name} holds {type(found).__name__}, not rules"
        raise unreadable(message, "write names with queries, or a list of rules with name and query")
    if not path.exists():
        raise unreadable(f"{path} cannot be read: there is no such file or folder", "is the path right?")
    known = " ".join((ENDING, *_JSON, *_YAML))
    raise unreadable(f"what {path.name} holds is not known by its ending", f"use a folder, or one of {known}")


def read_query_file(path: Path) -> dict[str, str | None]:
    """A file with one query, as a rule without a name.

    Comments before the query may hold `-- version: ...` and `-- description: ...`; a description may take several
    such lines. They stay part of the text, so that places in it are those of the file.
    """
    text = _read_text(path)
    notes: dict[str, list[str]] = {"version": [], "description": []}
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("--"):
            break
        if note := _NOTE.match(line.strip()):
            notes[note[1].lower()].append(note[2].strip())
    return {"query": text, **{name: " ".join(lines) or None for name, lines in notes.items()}}


def _read_folder(folder: Path) -> dict[str, dict[str, str | None]]:
    # Names that begin with _ or . are notes of other programs, as among events.
    found = [path for path in folder.rglob(f"*{ENDING}") if path.is_file()]
    names = {path.relative_to(folder).with_suffix("").as_posix(): path for path in found}
    shown = {name: path for name, path in names.items() if not re.search(r"(^|/)[_.]", name)}
    if not shown:
        raise unreadable(f"the folder {folder} holds no {ENDING} files", "is the path right?")
    return {name: read_query_file(shown[name]) for name in sorted(shown)}


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(f"{path} cannot be read: {error}", "is it there, and is it text in UTF-8?") from error


def _read_json(path: Path, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_once(path))
    except json.JSONDecodeError as error:
        raise unreadable(f"{path.name} is no JSON: {error}", "mend it at that place") from error


def _read_yaml(path: Path, text: str) -> Any:
    try:
        import yaml
    except ImportError as error:
        message = f"{path.name} cannot be read: YAML needs PyYAML, which is not installed"
        raise unreadable(message, "pip install 'trendweave[yaml]', or write JSON or a folder of .tw files") from error

    # Plain values only, and every name once.
    loader_type: Any = type("Loader", (yaml.SafeLoader,), {})

    def make_mapping(loader: Any, node: Any) -> Any:
        def pairs() -> list[tuple[Any, ...]]:
            return [tuple(loader.construct_object(part, deep=True) for part in pair) for pair in node.value]

        if not any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
            return _once(path)(pairs())
        loader.flatten_mapping(node)  # what is merged into a mapping gives way to what stands there
        return dict(pairs())

    loader_type.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, make_mapping)
    try:
        return yaml.load(text, loader_type)
    except yaml.YAMLError as error:
        raise unreadable(f"{path.name} is no YAML: {error}", "mend it at that place") from error


def _once(path: Path) -> Any:
    """Makes a mapping, in which a name that stands twice would hide a rule."""

    def make(pairs: list[tuple[Any, ...]]) -> dict[Any, Any]:
        try:
            made = dict(pairs)
        except TypeError as error:
            raise unreadable(f"{path.name} has a name that is no text", "write names as texts") from error
        if len(made) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise unreadable(f"{path.name} has {twice} twice", "give each query a name of its own")
        return made

    return make
