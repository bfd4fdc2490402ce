"""Which files belong to a store: those that others put there, and those of appends that were finished.

Appends are numbered once and for all, so that streams read them in one order; one process compacts at a time; the
log of a Delta table tells its files itself (`deltalake` is needed, the extra `delta`).
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs

from trendweave.errors import DataError, ExecutionError, Problem
from trendweave.store.layout.files import DataFile, data_file, list_data_files
from trendweave.store.layout.places import OWN_FOLDER, Place

_FOLDER = f"{OWN_FOLDER}/sequence"


class Sequence:
    """The appends of a store in their order, and the files that others put there."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._entries: list[tuple[str, ...]] = []

    def count(self) -> int:
        """How many there are now; those that have no number get one."""
        self._look()
        known = {name for entry in self._entries for name in entry}
        for names in self._unknown(known):
            while not self._place.write_once(_name(len(self._entries)), json.dumps(names).encode()):
                self._look()  # another process was quicker
                if any(names[0] in entry for entry in self._entries):
                    break
            else:
                self._entries.append(names)
        return len(self._entries)

    def _look(self) -> None:
        """Read the numbers that were given since."""
        while self._place.exists(name := _name(len(self._entries))):
            self._entries.append(tuple(json.loads(self._place.read(name))))

    def _unknown(self, known: set[str]) -> list[tuple[str, ...]]:
        commits = sorted(load_commits(self._place), key=lambda commit: commit.number)
        appends = [commit.files for commit in commits if commit.files and not commit.removed]
        others = [(file.name,) for file in list_files(self._place) if not is_own_name(file.name)]
        return [names for names in (*appends, *others) if names[0] not in known]

    def files(self, first: int, end: int) -> list[DataFile]:
        """The files of some of them, wherever they lie now.

        Raises:
            DataError: One is gone: it was replaced and swept away before the stream came to it.
        """
        if len(self._entries) < end:
            self._look()
        numbers = {name: commit.number for commit in load_commits(self._place) for name in commit.files}
        return [self._find(name, numbers) for entry in self._entries[first:end] for name in entry]

    def _find(self, name: str, numbers: dict[str, str]) -> DataFile:
        if name in numbers:
            return locate_committed(self._place, name, numbers[name])
        info = self._place.info(name)
        if info.type != pafs.FileType.File:
            message = f"{name} was removed before a stream had read it"
            raise DataError([Problem("TW331", message, "start the stream with a new checkpoint")])
        return data_file(self._place, info)


def _name(number: int) -> str:
    return f"{_FOLDER}/{number:012}.json"


@contextmanager
def alone(place: Place, what: str) -> Iterator[None]:
    """Hold the lock of a store. File systems that are not this machine's have none: there, one must not start two.

    Raises:
        ExecutionError: Another process holds it.
    """
    if not place.is_local:
        yield
        return
    place.make_folder(OWN_FOLDER)
    handle = os.open(place.path(f"{OWN_FOLDER}/.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        message = f"another process is changing the files of {place.address}, so that {what} has to wait"
        raise ExecutionError([Problem("TW431", message, "try again when it is done")]) from error
    try:
        yield
    finally:
        os.close(handle)


_LOG = "_delta_log"
#: Features of a table under which its files do not hold its rows as they are.
_NOT_PLAIN = {"deletionVectors": "deletion vectors", "columnMapping": "columns under other names"}


def is_delta(place: Place) -> bool:
    """Whether a folder is a Delta table."""
    return place.info(_LOG).type == pafs.FileType.Directory


def list_delta_files(place: Place) -> list[DataFile]:
    """The files of the newest version, in the order of their names.

    Raises:
        DataError: `deltalake` is not installed, or the table has a feature that hides rows in its files.
    """
    table = open_table(place)
    problems = [
        Problem("TW331", f"the table {place.address} has {what}", "read it with Spark")
        for what in _hidden_features(table)
    ]
    if problems:
        raise DataError(problems)
    actions = pa.table(table.get_add_actions(flatten=False)).to_pylist()
    names = {unquote(action["path"]): action.get("partition") or {} for action in actions}
    infos = place.system.get_file_info([place.path(name) for name in names])
    files = []
    for info, (name, values) in zip(infos, names.items(), strict=True):
        found = data_file(place, info, name)
        folders = tuple((key, None if value is None else str(value)) for key, value in values.items())
        files.append(DataFile(name, found.size, found.changed, folders))
    return sorted(files, key=lambda file: file.name)


def delta_schema(place: Place) -> pa.Schema:
    """The columns of the newest version."""
    return pa.schema(open_table(place).schema().to_arrow())


def _hidden_features(table: Any) -> list[str]:
    protocol = table.protocol()
    settings = table.metadata().configuration
    found = []
    for feature, what in _NOT_PLAIN.items():
        on = {
            "deletionVectors": settings.get("delta.enableDeletionVectors", "false") == "true",
            "columnMapping": settings.get("delta.columnMapping.mode", "none") != "none",
        }[feature]
        if on or (feature == "deletionVectors" and feature in (protocol.reader_features or [])):
            found.append(what)
    return found


def append_to_delta(place: Place, table: pa.Table, batch: tuple[str, int] | None = None) -> bool:
    """Add events to a table, as one version of it; False where the batch of a stream is there already, as the table's
    own log says."""
    known = open_table(place)
    import deltalake

    properties = None
    if batch is not None:
        done = known.transaction_version(batch[0])
        if done is not None and done >= batch[1]:
            return False
        properties = deltalake.CommitProperties(app_transactions=[deltalake.Transaction(*batch)])
    deltalake.write_deltalake(known, table, mode="append", schema_mode="merge", commit_properties=properties)
    return True


def open_table(place: Place) -> Any:
    """The newest version of a table."""
    try:
        import deltalake
    except ImportError as error:
        message = f"{place.address} is a Delta table, and deltalake is not installed"
        raise DataError([Problem("TW331", message, "pip install 'trendweave[delta]'")]) from error
    return deltalake.DeltaTable(_address(place))


def _address(place: Place) -> str:
    return place.root if place.is_local else place.address


_RECORDS = f"{OWN_FOLDER}/commits"
STAGING = f"{OWN_FOLDER}/staging"
REPLACED = f"{OWN_FOLDER}/replaced"
_OWN_NAME = re.compile(r"(?:^|/)part-([0-9a-f]{32})-bucket-\d+-of-\d+[^/]*\.parquet$")


#: Records that this process has read, by path, size and time of writing: they never change.
_KNOWN: dict[tuple[str, int, int], Commit] = {}
_MOST_KNOWN = 200_000


@dataclass(frozen=True)
class Commit:
    """A change of a store.

    Attributes:
        number: What names it, 32 letters.
        files: The files that it adds.
        removed: The files that it takes away.
        rows: How many rows the added files have.
        batch: Of a stream, its name and the number of the batch.
    """

    number: str
    files: tuple[str, ...]
    removed: tuple[str, ...] = ()
    rows: int = 0
    batch: dict[str, Any] = field(default_factory=dict)

    def save(self, place: Place) -> bool:
        """Write the record; False where there is one of this number."""
        facts = {"version": 1, "files": self.files, "removed": self.removed, "rows": self.rows, "batch": self.batch}
        return place.write_once(record_name(self.number), json.dumps(facts).encode())


def new_number(batch: tuple[str, int] | None = None) -> str:
    """A number that no other change has: those of later changes are higher. The same batch of a stream always has the
    same one."""
    if batch is not None:
        return uuid.uuid5(uuid.NAMESPACE_OID, f"{batch[1]}/{batch[0]}").hex
    return f"{time.time_ns():016x}{uuid.uuid4().hex[:16]}"


def record_name(number: str) -> str:
    """The file of a record."""
    return f"{_RECORDS}/{number}.json"


def is_own_name(name: str) -> bool:
    """Whether a file beside the data is one of an append, which counts only if it was recorded."""
    return not name.startswith(f"{OWN_FOLDER}/") and _OWN_NAME.search(name) is not None


def is_committed(place: Place, number: str) -> bool:
    """Whether there is a record of this number."""
    return place.exists(record_name(number))


def load_commits(place: Place) -> list[Commit]:
    """All records.

    Raises:
        DataError: One cannot be read: without it rows would be missing.
    """
    found = []
    for info in place.list(_RECORDS):
        name = place.relative(info.path)
        if info.type != pafs.FileType.File or not name.endswith(".json") or info.base_name.startswith("."):
            continue
        key = (info.path, info.size, info.mtime_ns or 0)
        if key not in _KNOWN:
            if len(_KNOWN) > _MOST_KNOWN:
                _KNOWN.clear()
            _KNOWN[key] = _read(place, name)
        found.append(_KNOWN[key])
    return found


def _read(place: Place, name: str) -> Commit:
    try:
        facts = json.loads(place.read(name))
        if facts["version"] != 1:
            raise ValueError("it is of another version")
        number = name.rpartition("/")[2].removesuffix(".json")
        lists = tuple(facts["files"]), tuple(facts["removed"])
        return Commit(number, *lists, int(facts["rows"]), dict(facts["batch"]))
    except (ValueError, KeyError, TypeError) as error:
        message = f"the record {name} of an append cannot be read: {error}"
        raise DataError([Problem("TW331", message, "restore it, or read the folder with other tools")]) from error


def list_files(place: Place) -> list[DataFile]:
    """The files of a store, in the order of their names.

    Raises:
        DataError: A file of an append is gone.
    """
    commits = load_commits(place)
    lying = {file.name: file for file in list_data_files(place)}
    visible = {name: file for name, file in lying.items() if not _OWN_NAME.search(name)}
    committed = {name: commit.number for commit in commits for name in commit.files}
    removed = {name for commit in commits for name in commit.removed}
    for name, number in committed.items():
        if name not in removed:
            visible[name] = lying.get(name) or locate_committed(place, name, number)
    return [visible[name] for name in sorted(visible.keys() - removed)]


def locate_committed(place: Place, name: str, number: str) -> DataFile:
    """A file that is not in its place yet. It may come there while it is looked for."""
    for location in (staged_name(number, name), name, f"{REPLACED}/{name}"):
        info = place.info(location)
        if info.type == pafs.FileType.File:
            return data_file(place, info, name)
    message = f"{name} belongs to the store, but is missing"
    raise DataError([Problem("TW331", message, f"restore it, or delete {record_name(number)} to ignore it")])


def staged_name(number: str, name: str) -> str:
    """Where a file lies before it is in its place."""
    return f"{STAGING}/{number}/{name}"


def settle(place: Place, commits: Iterable[Commit] | None = None) -> None:
    """Finish what was recorded and not done: put files in their place, and take replaced ones away. Others may be
    doing the same."""
    if not place.is_local:
        return
    for commit in load_commits(place) if commits is None else commits:
        for name in commit.removed:
            _move(place, name, f"{REPLACED}/{name}")
        for name in commit.files:
            _move(place, staged_name(commit.number, name), name)


def _move(place: Place, name: str, target: str) -> None:
    if place.exists(name):
        try:
            place.move(name, target)
        except OSError:
            if place.exists(name):  # else another process was quicker
                raise
