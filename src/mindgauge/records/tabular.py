"""What a command returns: a record that is also a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl


class Tabular:
    """A result that lists records. A notebook shows it as their table."""

    __slots__ = ()

    @property
    def table(self) -> pl.DataFrame:
        """What it lists as a table, one row each."""
        import polars as pl

        rows = [row if isinstance(row, dict) else msgspec.structs.asdict(row) for row in self._listed()]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _listed(self) -> Iterable[msgspec.Struct | dict[str, Any]]:
        """Return the records, or the rows that stand for them."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self.table._repr_html_()
