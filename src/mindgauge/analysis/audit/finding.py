"""What an audit reports, and how a check is declared."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mindgauge.analysis.audit.view import View

SHOWN = 10
"""Places that a finding names; the rest are counted."""


class Severity(StrEnum):
    """How much a fault matters. The most severe comes first."""

    ERROR = "error"
    """Numbers computed from this are wrong."""
    WARNING = "warning"
    """Numbers computed from this may mislead."""
    NOTE = "note"
    """A fact to know and to report beside the numbers."""


class Finding(msgspec.Struct, frozen=True):
    """One fault: what it is, how often it occurs, where, and what it does to results.

    `where` holds up to ten places, as `file:row` (rows count from 0) or as short facts, and last how many more there
    are. `subject` is the part of the data that was audited: a benchmark's member, a file, or several files of one kind.
    """

    id: str
    severity: Severity
    count: int
    where: list[str]
    effect: str
    message: str
    subject: str = ""


class CheckResult(msgspec.Struct, frozen=True):
    """What a check returns for each fault. `severity` replaces the check's own where this case matters less or more.

    `raters` are those whose values are one, on `criterion`; empty where the fault is another.
    """

    count: int
    message: str
    places: list[str]
    severity: Severity | None = None
    raters: tuple[str, ...] = ()
    criterion: str = ""


class AuditCheck(NamedTuple):
    """A check: a function from the material to the faults it finds, and what they mean."""

    id: str
    severity: Severity
    effect: str
    find: Callable[[View], Iterable[CheckResult]]

    def findings(self, view: View, subject: str) -> list[Finding]:
        """Run the check."""
        return [
            Finding(self.id, result.severity or self.severity, result.count, result.places, self.effect, result.message, subject)
            for result in self.find(view)
        ]  # fmt: skip


def check(
    ident: str, severity: Severity, effect: str
) -> Callable[[Callable[[View], Iterable[CheckResult]]], AuditCheck]:
    """Declare a function as a check; `effect` says what the fault does to results."""
    return lambda find: AuditCheck(ident, severity, effect, find)


def limited(facts: Sequence[str]) -> list[str]:
    """Return the first ten facts and how many more there are."""
    surplus = len(facts) - SHOWN
    return [*facts[:SHOWN], f"… and {surplus:,} more"] if surplus > 0 else list(facts)


def places(rows: pl.DataFrame) -> list[str]:
    """Return where rows stand, `file:row`, each place once, in the order of the files."""
    rows_named = rows.select("file", "row").unique().sort("file", "row")
    listed = [f"{file}:{row}" for file, row in rows_named.head(SHOWN).iter_rows()]
    surplus = rows_named.height - SHOWN
    return [*listed, f"… and {surplus:,} more"] if surplus > 0 else listed


def counted(rows: pl.DataFrame, column: str, limit: int = 8) -> str:
    """Say how often each value of a column occurs, the most frequent first: "a 12, b 3"."""
    counts = rows.group_by(pl.col(column).fill_null("–")).len().sort("len", column, descending=[True, False])
    listed = ", ".join(f"{value} {n:,}" for value, n in counts.head(limit).iter_rows())
    return listed + (", …" if counts.height > limit else "")
