"""Delta tables: which files are part of one now, as its own log says. `deltalake` is needed, the extra `delta`."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs

from trendweave.errors import DataError, Problem
from trendweave.store.layout.files import DataFile, data_file
from trendweave.store.layout.places import Place

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
