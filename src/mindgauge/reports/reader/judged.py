"""Every verdict on some lines of the reader, in columns, with its reason and what it quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from mindgauge.analysis import frame
from mindgauge.records import Evidence
from mindgauge.reports import texts
from mindgauge.reports.reader.passages import ShownText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.runs import OpenRun, Section

LONGEST_REASON = 20_000
_SERIES = "SELECT id, rater, criterion FROM series WHERE benchmark = ? ORDER BY id"
_RATED = """
SELECT subject, run, status, CAST(value AS TEXT), origin, reason, quotes FROM rated
WHERE series = ? AND status != 'not_applicable'"""
_COLUMNS = {"subject": str, "run": int, "status": str, "value": str, "origin": int, "reason": int, "quotes": int}
_ORIGINS = "SELECT id, rater_kind, coalesce(protocol, '') FROM origins"
_PIECES = "SELECT id, said FROM pieces WHERE id IN (SELECT value FROM json_each(?))"
_KINDS = {"person": 0, "model": 1, "classifier": 2, "panel": 3, "rule": 4}
_FEW = pl.Schema({"status": pl.Categorical(), "value": pl.Categorical()})
"""Columns of few different texts."""
_decode_evidence = msgspec.json.Decoder(tuple[Evidence, ...]).decode


class ShardVerdicts(msgspec.Struct, frozen=True):
    """Verdicts in columns; `line` is counted in the file, of closed questions it is the group's first.

    `level` is a place among the criterion's values, -1 for none of them; then `other` has the value itself, by the
    verdict's place. `reason` and `quotes` are places in their lists, -1 for none.
    """

    line: list[int]
    rater: list[int]
    kind: list[str]
    criterion: list[int]
    run: list[int]
    status: list[str]
    level: list[int]
    other: dict[int, str]
    protocol: list[str]
    reason: list[int]
    quotes: list[int]
    reasons: list[ShownText]
    quoted: list[list[tuple[str, bool]]]


class VerdictRows:
    """The verdicts of one benchmark in one run, as numbers, in the order of the lines; texts are read as they are needed."""

    def __init__(
        self, run: OpenRun, section: Section, lines: pl.DataFrame, raters: dict[str, int], criteria: Sequence[Criterion]
    ) -> None:
        """Read them.

        Args:
            run: where they stand.
            section: whose verdicts.
            lines: the section's, with `line`.
            raters: rater → place.
            criteria: the section's, in their order.
        """
        self._run, self._criteria = run, criteria
        key = "sample" if section.benchmark.closed else "subject"
        first = lines.group_by(key, maintain_order=True).agg(pl.col("line").min()).rename({key: "subject"})
        columns = pl.DataFrame(schema={**_COLUMNS, **first.schema, "rater": int, "criterion": int}).drop("subject")
        parts = [columns.cast(_FEW)]
        places = {criterion.name: place for place, criterion in enumerate(criteria)}
        for ident, rater, criterion in run.store.select(_SERIES, (section.benchmark.name,)).fetchall():
            if rater in raters and criterion in places:
                series = frame.columns(run.store, _RATED, (ident,), **_COLUMNS).cast(_FEW)
                series = series.join(first, on="subject", maintain_order="left").drop("subject")
                place = {"rater": pl.lit(raters[rater], pl.Int64), "criterion": pl.lit(places[criterion], pl.Int64)}
                parts.append(series.with_columns(**place))
        origins = frame.columns(run.store, _ORIGINS, (), origin=int, kind=str, protocol=str).with_columns(
            pl.col("protocol").cast(pl.Categorical), place=pl.col("kind").replace_strict(_KINDS, default=None, return_dtype=pl.Int64)
        )  # fmt: skip
        self.rows = (
            pl.concat(parts).join(origins.drop_nulls("place"), on="origin", maintain_order="left")
            .sort("line", "criterion", "place", "rater", "run", maintain_order=True).drop("origin", "place")
        )  # fmt: skip

    def of_lines(self, part: pl.DataFrame) -> ShardVerdicts:
        """Return those of some lines that stand side by side, less what may not be shown."""
        first, end = int(part["line"][0]), int(part["line"][-1]) + 1
        start, stop = (int(self.rows["line"].search_sorted(line, "left")) for line in (first, end))
        hidden = part.filter("hidden")["line"]
        rows = self.rows.slice(start, stop - start).with_columns(
            pl.when(~pl.col("line").is_in(hidden.implode())).then(pl.col("reason", "quotes"))
        )
        language = {line: name or "en" for line, name in part.select("line", "language").iter_rows()}
        reasons = {ident: language[line] for ident, line in rows.select("reason", "line").drop_nulls().iter_rows()}
        quotes = list(dict.fromkeys(rows["quotes"].drop_nulls().to_list()))
        pieces: dict[int, str] = dict(
            self._run.store.select(_PIECES, (msgspec.json.encode(list(dict.fromkeys([*reasons, *quotes]))).decode(),))
        )
        levels, other = self._levels(rows)
        return ShardVerdicts(
            (rows["line"].cast(pl.Int64) - first).to_list(), rows["rater"].to_list(), rows["kind"].to_list(), rows["criterion"].to_list(),
            rows["run"].to_list(), rows["status"].to_list(), levels, other, rows["protocol"].to_list(),
            _placed(rows["reason"], list(reasons)), _placed(rows["quotes"], quotes),
            [_said(pieces.get(ident, ""), of) for ident, of in reasons.items()],
            [[(texts.clean(q.quote), q.found) for q in _decode_evidence(pieces[ident])] for ident in quotes],
        )  # fmt: skip

    def _levels(self, rows: pl.DataFrame) -> tuple[list[int], dict[int, str]]:
        """Return each value's place among its criterion's, and, by their places, the values that are on no level."""
        places = [{str(value): place for place, value in enumerate(c.values)} for c in self._criteria]
        values = list(zip(rows["criterion"].to_list(), rows["value"].to_list(), strict=True))
        levels = [places[criterion].get(value, -1) for criterion, value in values]
        other = {
            place: texts.clean(value)
            for place, (_, value) in enumerate(values)
            if levels[place] < 0 and value is not None
        }
        return levels, other


def _placed(idents: pl.Series, known: Sequence[int]) -> list[int]:
    places = {ident: place for place, ident in enumerate(known)}
    return [places.get(ident, -1) for ident in idents.to_list()]


def _said(reason: str, language: str) -> ShownText:
    text = texts.clean(texts.cut(reason, LONGEST_REASON)[0])
    return ShownText("", text, texts.language_of(text, language))
