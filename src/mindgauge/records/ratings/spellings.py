"""Values as people write them in cells: `4 - good`, `3,5`, `4/5`, a tick; each is read in one way for a whole criterion, and said."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.records.ratings.columns import DECIMAL_COMMA

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

_NUMBER = r"-?\d+(?:[.,]\d+)?"
_LABELLED = (
    re.compile(rf"^({_NUMBER})\s*(?:[-–—:=.)]\s*|\s)([^\d\s%/].*)$"),
    re.compile(rf"^({_NUMBER})\s*[(\[（](.+)[)\]）]$"),
)
_LABEL_FIRST = re.compile(rf"^([^\d]*[^\d\s(\[（:=–-])\s*(?:[:=–-]\s*({_NUMBER})|[(\[（]({_NUMBER})[)\]）])$")
_SHARE = re.compile(rf"^({_NUMBER})\s*(?:/|of|von|out of)\s*({_NUMBER})$")
_TICKS, _CROSSES = {"✓", "✔", "☑", "✅", "√", "●"}, {"✗", "✘", "☐", "❌", "×", "○"}
_EITHER = {"x"}
"""A cross alone is a tick; beside ticks it is none."""
YES, NO = "yes", "no"


def written(frame: pl.DataFrame, idle: Collection[str], said: Collection[str], notes: list[str]) -> pl.DataFrame:
    """Read what people write beside a number, or instead of a word, criterion by criterion.

    Args:
        frame: ratings in long form, their values as they stand.
        idle: values, in small letters, that are no levels.
        said: levels, in small letters, that the user names; a criterion with one of them stays as it is.
        notes: where to say what was read otherwise than it stands.
    """
    number = pl.col("value").cast(pl.Float64, strict=False).is_finite().fill_null(value=False)
    odd = frame.filter(pl.col("value").is_not_null(), ~number).select("criterion", "value").unique()
    values = frame.filter(pl.col("value").is_not_null()).select("criterion", "value").unique()
    values = values.join(odd.select("criterion").unique(), on="criterion").sort("criterion", "value")
    replaced: list[tuple[str, str, str]] = []
    ticked: list[str] = []
    for (criterion,), own in values.group_by("criterion", maintain_order=True):
        levels = [v for v in own["value"] if v.casefold() not in idle]
        if not levels or any(level.casefold() in said for level in levels):
            continue
        for spelling in (_quoted, _commas, _percent, _shares, _labelled, _ticks):
            spelled = spelling(levels)
            if any(level != target for level, target in spelled.items()):
                replaced += [(str(criterion), *spelling) for spelling in spelled.items()]
                first, target = next((a, b) for a, b in spelled.items() if a != b)
                notes.append(f"{criterion}: values such as {first!r} are read as {target!r}")
                if spelling is _ticks and NO not in spelled.values():
                    ticked.append(str(criterion))
                break
    if replaced:
        table = pl.DataFrame(replaced, schema=["criterion", "value", "spelled"], orient="row")
        frame = frame.join(table, on=["criterion", "value"], how="left", maintain_order="left")
        frame = frame.with_columns(value=pl.coalesce("spelled", "value")).drop("spelled")
    return _unticked(frame, ticked, notes) if ticked else frame


def _all(levels: Sequence[str], read: Callable[[str], str | None]) -> dict[str, str]:
    """Read each level; nothing, where one cannot be read so."""
    spelled = {level: read(level) for level in levels}
    return (
        {level: target for level, target in spelled.items() if target is not None}
        if None not in spelled.values()
        else {}
    )


def _bare(number: str) -> str:
    """Write a number as tables do: with a point, without decimals where it is whole."""
    return re.sub(r"\.0+$", "", number.replace(",", "."))


def _quoted(levels: Sequence[str]) -> dict[str, str]:
    return _all(levels, lambda level: _bare(level[1:]) if re.fullmatch(f"'{_NUMBER}", level) else _plain(level))


def _plain(level: str) -> str | None:
    return level if re.fullmatch(r"-?\d+(?:\.\d+)?", level) else None


def _commas(levels: Sequence[str]) -> dict[str, str]:
    return _all(levels, lambda level: _bare(level) if re.match(DECIMAL_COMMA, level) else _plain(level))


def _percent(levels: Sequence[str]) -> dict[str, str]:
    def bare(level: str) -> str | None:
        match = re.fullmatch(rf"({_NUMBER})\s*[%％]", level)
        return None if match is None else _bare(match[1])

    return _all(levels, bare)


def _shares(levels: Sequence[str]) -> dict[str, str]:
    wholes = {match[2] for level in levels if (match := _SHARE.match(level))}
    if len(wholes) != 1:
        return {}

    def bare(level: str) -> str | None:
        match = _SHARE.match(level)
        return _plain(level) if match is None else _bare(match[1])

    return _all(levels, bare)


def _labelled(levels: Sequence[str]) -> dict[str, str]:
    """Read numbers with a word for each, `4 - good`, `good (4)`; a number that has two words, or a word two numbers, is none."""
    labels: dict[str, str] = {}
    spelled: dict[str, str] = {}
    for level in levels:
        match = next((m for pattern in _LABELLED if (m := pattern.match(level))), None)
        last = None if match else _LABEL_FIRST.match(level)
        if match:
            number, label = match[1], match[2]
        elif last:
            number, label = last[2] or last[3], last[1]
        elif _plain(level):
            number, label = level, ""
        else:
            return {}
        number, label = _bare(number), " ".join(label.casefold().split())
        if label and labels.setdefault(number, label) != label:
            return {}
        spelled[level] = number
    if not labels or len(set(spelled.values())) < 2 or len(set(labels.values())) < len(labels):
        return {}
    return spelled


def _ticks(levels: Sequence[str]) -> dict[str, str]:
    marks = {level.casefold() for level in levels}
    if not marks <= _TICKS | _CROSSES | _EITHER:
        return {}
    crossed = _CROSSES | (_EITHER if marks & _TICKS else set())
    return {level: NO if level.casefold() in crossed else YES for level in levels}


def _unticked(frame: pl.DataFrame, criteria: list[str], notes: list[str]) -> pl.DataFrame:
    """Read an empty cell of criteria that were only ticked as `no`, in rows with a rating."""
    own = pl.col("criterion").is_in(criteria)
    rows = ["file", "row", "rater", "system"]
    only_ticks = (
        pl.col("value").is_null() | pl.col("value").str.to_lowercase().is_in([YES, NO, *_TICKS, *_EITHER])
    ).all()
    frame = frame.with_columns(rated=pl.col("value").is_not_null().any().over(rows), ticks=only_ticks.over("criterion"))
    frame = frame.with_columns(rated=pl.col("rated") | pl.col("ticks").all().over(rows))
    empty = own & pl.col("value").is_null() & pl.col("rated")
    for criterion, blank in frame.filter(empty).group_by("criterion", maintain_order=True).len().iter_rows():
        notes.append(
            f"{criterion}: {blank:,} empty {'cell is' if blank == 1 else 'cells are'} read as {NO!r}, since it was only ticked; where an empty cell "
            "is a missing rating, write yes and no"
        )
    value = pl.when(empty).then(pl.lit(NO)).otherwise("value")
    return frame.with_columns(value=value).drop("rated", "ticks")
