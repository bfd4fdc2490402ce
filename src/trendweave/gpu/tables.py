"""Tables whose columns stay on a card from one operator to the next.

Columns of types that a card has no array for stay in this process; of these, the table knows which rows are left.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from trendweave.gpu.card import Card
from trendweave.gpu.columns import CardColumn, get_column, put_column, storage
from trendweave.gpu.masks import Kept


@dataclass(frozen=True, slots=True)
class CardTable:
    """A table, most of it on a card.

    Attributes:
        card: The card.
        columns: Columns on the card, by name.
        rest: Other columns, of all rows that there were.
        origin: For each row its row in `rest`, int64 on the card; None where all rows are left, in order.
        count: How many rows there are.
    """

    card: Card
    columns: Mapping[str, CardColumn]
    rest: pa.Table
    origin: Any | None
    count: int

    def keep(self, kept: Kept) -> CardTable:
        """The rows that are kept."""
        columns = {name: kept.move_column(self.card, column) for name, column in self.columns.items()}
        origin = None
        if self.rest.num_columns:
            origin = kept.rows(self.card) if self.origin is None else kept.move(self.card, self.origin)
        return CardTable(self.card, columns, self.rest, origin, kept.count)


def put_table(card: Card, table: pa.Table, wanted: Collection[str]) -> CardTable:
    """A table of this process, with those of some columns on the card that can be there; others that are not wanted are
    left out."""
    sent = [name for name in table.column_names if name in wanted and storage(table.schema.field(name).type)]
    columns = {name: put_column(card, table.column(name)) for name in sent}
    rest = table.select([name for name in table.column_names if name in wanted and name not in columns])
    return CardTable(card, columns, rest, None, table.num_rows)


def get_values(card: Card, column: CardColumn, rows: Any) -> pa.Array:
    """Some values of a column as an Arrow array; rows are numbers on the card."""
    valid = None if column.valid is None else column.valid[rows]
    return get_column(card, CardColumn(column.kind, column.values[rows], valid))
