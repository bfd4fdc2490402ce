"""Tables that are kept as they are, and are read only if somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from trendweave.programs.program import Carry


class KeptTables(Mapping[str, pa.Table]):
    """Some tables of a carry, by name, with others beside them."""

    def __init__(self, carry: Carry, names: tuple[str, ...], others: Mapping[str, pa.Table]) -> None:
        self._carry, self._names, self._others = carry, dict.fromkeys(names), others

    def others_than(self, carry: Carry) -> Mapping[str, pa.Table]:
        """The tables that may differ from those of a carry; all, unless they were taken from this very one."""
        return self._others if carry is self._carry else self

    def __getitem__(self, name: str) -> pa.Table:
        if name in self._others:
            return self._others[name]
        if name not in self._names:
            raise KeyError(name)
        return self._carry[name]

    def __contains__(self, name: object) -> bool:
        return name in self._others or name in self._names

    def __iter__(self) -> Iterator[str]:
        yield from self._others
        yield from (name for name in self._names if name not in self._others)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def keep_tables(carry: Carry, names: tuple[str, ...], others: Mapping[str, pa.Table]) -> Carry:
    """Some tables of a carry with others beside them; those that are at hand are taken out of it, so that what it had
    beside them can go."""
    if isinstance(carry, dict):
        return {name: carry[name] for name in names} | dict(others)
    return KeptTables(carry, names, others)
