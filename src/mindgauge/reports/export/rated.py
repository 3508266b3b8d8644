"""What raters said of replies in their places, read a few replies at a time, and the words of both.

Of a run with a million ratings no more is held than is written at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.records import RaterKind, Rating, Status
from mindgauge.store.failures import damaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.reports.export.placed import Placed
    from mindgauge.store import Store

_REPLIES = 500
"""How many replies are looked up at a time."""
_KNOWN = """
SELECT id FROM replies WHERE benchmark = ?1 AND sample IN (SELECT id FROM samples WHERE benchmark = ?1)"""
_COUNTS = f"""
SELECT rater, criterion, rater_kind, instrument, known, count(*), max(run) FROM (
    SELECT rater, criterion, rater_kind, instrument, run, subject IN ({_KNOWN}) AS known
    FROM ratings WHERE benchmark = ?1
) GROUP BY rater, criterion, rater_kind, instrument, known"""  # noqa: S608 - constant text
_RATING = "subject, criterion, rater_kind, run, status, value, rationale, instrument, provenance"
_RATINGS = f"""
SELECT {_RATING} FROM ratings WHERE benchmark = ? AND rater = ? AND subject IN (SELECT value FROM json_each(?))"""  # noqa: S608 - constant text
_FIRST = f"""
SELECT {_RATING} FROM ratings WHERE benchmark = ?1 AND rater = ?2 AND criterion = ?3 AND +rater_kind = 'model'
    AND subject IN ({_KNOWN})
ORDER BY subject, run LIMIT 1"""  # noqa: S608 - constant text
_SELECTED = """
SELECT DISTINCT subject, criterion, rater_kind, selection FROM ratings WHERE benchmark = ? AND selection IS NOT NULL"""
_LABELS = """
SELECT subject, criterion, rater_kind, protocol FROM ratings
WHERE benchmark = ? AND instrument = '' AND json_type(provenance, '$.protocol') IS NOT NULL
ORDER BY rater, criterion, subject, run"""
_CALLS = """
SELECT run, at, min(rowid) FROM calls WHERE benchmark = ? AND model = ? AND text IS NOT NULL AND at > 0
GROUP BY run, at HAVING count(*) = 1"""
_TABLED = {RaterKind.MODEL.value, RaterKind.PERSON.value}
"""Who has a table in the layout; rules, classifiers and panels have none."""


Pair = tuple["Placed", Rating]
"""A reply in its place, and what somebody said of it."""


def raw_rater(rating: Rating) -> Any:
    """Return a rater's name as its file, or its server, gave it, if either did."""
    return rating.provenance.get("model_raw") or rating.provenance.get("model")


class ExportedRatings:
    """The ratings of a benchmark's replies that have a table in the layout, and how many have none."""

    def __init__(self, store: Store, benchmark: Benchmark) -> None:
        """Count who rated what."""
        self._store, self._benchmark = store, benchmark.name
        self._criteria = {criterion.name for criterion in benchmark.rubric.criteria}
        self.left_out: dict[str, int] = {}
        self.judges: dict[str, int] = {}
        """How often each model was asked."""
        self.people: list[str] = []
        self.instruments: set[tuple[str, str]] = set()
        """What models rated with: rater, instrument."""
        people: set[str] = set()
        for rater, criterion, kind, instrument, present, count, last in store.select(_COUNTS, (benchmark.name,)):
            if not present or not self._tabled(criterion, kind):
                left_out = f"{kind if kind == RaterKind.PERSON.value else rater} on {criterion}"
                self.left_out[left_out] = self.left_out.get(left_out, 0) + count
            elif kind == RaterKind.PERSON.value:
                people.add(rater)
            else:
                self.judges[rater] = max(self.judges.get(rater, 0), last + 1)
                self.instruments.add((rater, instrument))
        self.people = sorted(people)

    def of(
        self, rater: str, kind: RaterKind, placed: Sequence[Placed], order: Callable[[Placed], tuple[Any, ...]]
    ) -> Iterator[Pair]:
        """Stream what somebody said of replies: by reply, in the given order, then by criterion and run."""
        ranked = sorted(placed, key=order)
        for start in range(0, len(ranked), _REPLIES):
            chunk = {p.reply.id: p for p in ranked[start : start + _REPLIES]}
            subjects = msgspec.json.encode(list(chunk)).decode()
            rows = self._store.select(_RATINGS, (self._benchmark, rater, subjects))
            pairs = [
                (chunk[row[0]], self._rating(rater, row)) for row in rows if row[2] == kind and row[1] in self._criteria
            ]
            yield from sorted(pairs, key=lambda pair: (order(pair[0]), pair[1].criterion, pair[1].subject, pair[1].run))

    def raw_name(self, judge: str) -> Any:
        """Return a judge's name as its file, or its server, gave it with the first rating, if either did."""
        for criterion in sorted(self._criteria):
            row = self._store.select(_FIRST, (self._benchmark, judge, criterion)).fetchone()
            if row is not None:
                return raw_rater(self._rating(judge, row))
        return None

    def selected(self) -> list[tuple[str, str]]:
        """Return for which selection a reply was rated: the reply's id, the selection."""
        rows = self._store.select(_SELECTED, (self._benchmark,))
        return [(subject, name) for subject, criterion, kind, name in rows if name and self._tabled(criterion, kind)]

    def labels(self) -> dict[str, str | None]:
        """Return the label that stood in the very row that was rated, of replies whose ratings were read from a file."""
        rows = self._store.select(_LABELS, (self._benchmark,))
        return {subject: label for subject, criterion, kind, label in rows if self._tabled(criterion, kind)}

    def _tabled(self, criterion: str, kind: str) -> bool:
        return criterion in self._criteria and kind in _TABLED

    def _rating(self, rater: str, row: tuple[Any, ...]) -> Rating:
        subject, criterion, kind, run, status, value, rationale, instrument, provenance = row
        try:
            origin = msgspec.json.decode(provenance)
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            raise damaged(self._store.path, error) from error
        return Rating(
            subject, criterion, rater, RaterKind(kind), run, Status(status), value, rationale or "",
            instrument=instrument, provenance=origin,
        )  # fmt: skip


class WordingIndex:
    """What was said in which words: looked up where it is written."""

    def __init__(self, store: Store, benchmark: str) -> None:
        self._store, self._benchmark = store, benchmark
        self._judge: str | None = None
        self._calls: dict[tuple[int, float], int] = {}
        self._last: tuple[int, str] | None = None

    def reply(self, placed: Placed) -> str:
        """Return what a reply says."""
        query = "SELECT text FROM replies WHERE benchmark = ? AND id = ?"
        text: str = self._store.select(query, (self._benchmark, placed.reply.id)).fetchone()[0]
        return text

    def call(self, judge: str, run: int, ended: float) -> str | None:
        """Return a judge's own words by run and time, where one call alone ended then."""
        if judge != self._judge:
            rows = self._store.select(_CALLS, (self._benchmark, judge))
            self._judge, self._calls = judge, {(run, ended): row for run, ended, row in rows}
        row = self._calls.get((run, ended))
        if row is None:
            return None
        if self._last is None or self._last[0] != row:  # ratings of one answer follow each other
            self._last = row, self._store.select("SELECT text FROM calls WHERE rowid = ?", (row,)).fetchone()[0]
        return self._last[1]
