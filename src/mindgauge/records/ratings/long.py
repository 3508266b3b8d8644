"""From ratings in long form to checked ones: values, statuses, spellings, repeats; what is wrong is named with its rows."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.records.english import named
from mindgauge.records.errors import DataError
from mindgauge.records.ratings import raters
from mindgauge.records.ratings.columns import DECIMAL_COMMA
from mindgauge.records.ratings.layout import OPTIONAL, REQUIRED
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from mindgauge.records.ratings.layout import RatingLayout

COLUMNS = (*REQUIRED, *OPTIONAL, "file", "row")
"""Columns of ratings in long form, all text but `run` and `row`; beside them stands `line`, by which messages name a row."""
MISSING = ("", "nan", "null", "none", "na", "n/a", "-", "–", "?")
NOT_APPLICABLE = (
    "not applicable", "not relevant", "does not apply", "not_applicable", "nicht zutreffend", "entfällt", "trifft nicht zu", "不适用",
)  # fmt: skip
_KEY = ("subject", "criterion", "rater", "run")
_FIRST = 3


def shaped(frame: pl.DataFrame) -> pl.DataFrame:
    """Give ratings all columns of the long form."""
    absent = [name for name in COLUMNS if name not in frame.columns]
    return frame.with_columns(pl.lit(None, pl.String).alias(name) for name in absent).select(
        *(pl.col(name).cast(pl.String) for name in COLUMNS if name != "row"), pl.col("row", "line").cast(pl.Int64)
    )


def dropped(frame: pl.DataFrame, layout: RatingLayout, left_out: list[str]) -> pl.DataFrame:
    """Leave out the criteria and raters that the user drops."""
    for column in ("criterion", "rater"):
        gone = [name for name in layout.drop if (frame[column] == name).any()]
        if gone:
            left_out.append(f"the {column}{'s' if len(gone) > 1 else ''} {named(gone)}: dropped")
            frame = frame.filter(~pl.col(column).is_in(gone))
    return frame


def refuse_incomplete(frame: pl.DataFrame) -> None:
    """Refuse ratings that do not say of what, on what or by whom they are.

    Raises:
        DataError: there are some; the message names their rows.
    """
    for column in ("criterion", "rater"):
        empty = frame.filter(pl.col(column).is_null())
        if len(empty):
            raise DataError(
                f"{_file(empty)}{plural(len(empty), 'row')} {'has' if len(empty) == 1 else 'have'} no {column} (first: {lines(empty)})"
            )


def without_subject(frame: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Leave out rows that name no subject, such as a row of means below a table, and say so."""
    empty = frame.filter(pl.col("subject").is_null())
    if not len(empty):
        return frame
    rows = empty.unique(["file", "row"], maintain_order=True)
    notes.append(
        f"{_file(rows)}{plural(len(rows), 'row')} without a subject {'is' if len(rows) == 1 else 'are'} left out (first: {lines(rows)})"
    )
    return frame.filter(pl.col("subject").is_not_null())


def one_spelling(frame: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Write raters and criteria that differ in letter case, blanks and punctuation alone in one way, the most frequent.

    Raises:
        DataError: two spellings of a rater rated the same thing, so that they may be two people.
    """
    frame = frame.with_columns(
        pl.col("rater").replace({name: raters.spelled(name) for name in frame["rater"].drop_nulls().unique()})
    )
    for column in ("rater", "criterion"):
        counts = frame.group_by(column, maintain_order=True).len().sort("len", descending=True, maintain_order=True)
        spelled: dict[str, list[str]] = {}
        for name in counts[column].to_list():
            spelled.setdefault(raters.folded(name), []).append(name)
        for names in filter(lambda names: len(names) > 1, spelled.values()):
            rows = frame.filter(pl.col(column).is_in(names))
            key = [name for name in _KEY if name != column]
            both = (
                rows.group_by(key, maintain_order=True)
                .agg(n=pl.col(column).n_unique(), lines=pl.col("line"))
                .filter(pl.col("n") > 1)
            )
            if len(both):
                raise DataError(
                    f"{named([repr(name) for name in names])} look like one {column} under several spellings, and both rate {both['subject'][0]!r} "
                    f"(lines {', '.join(map(str, both['lines'][0].to_list()[:2]))}); write one {column} in one way, or two in ways that differ"
                )
            notes.append(f"{named([repr(name) for name in names])} are taken for one {column}, {names[0]!r}")
            frame = frame.with_columns(pl.col(column).replace(dict.fromkeys(names, names[0])))
    return frame


def valued(frame: pl.DataFrame, layout: RatingLayout, notes: list[str]) -> pl.DataFrame:
    """Give each rating its value and status: an answer that does not apply is not a missing one.

    Raises:
        DataError: a kind of rater is unknown; a criterion is numbers for one rater and words for another, or its words
            for levels differ altogether between two.
    """
    text = pl.col("value").str.strip_chars()
    folded = text.str.to_lowercase()
    nested = frame.filter(text.str.contains(r"^[\[{]"))
    if len(nested):
        raise DataError(
            f"{_file(nested)}the column with values holds lists or objects ({lines(nested)}); one value per row is needed"
        )
    idle = {word.casefold() for word in (*NOT_APPLICABLE, *layout.not_applicable)}
    missing = [word for word in MISSING if word not in {*idle, *layout.words}]
    unclear = frame.filter(folded.is_in(["n/a", "na"]) & ~folded.is_in(list(idle)))
    if len(unclear):
        notes.append(
            f"{plural(len(unclear), 'answer')} {unclear['value'][0]!r} {'counts' if len(unclear) == 1 else 'count'} as missing; "
            f"where that means that a criterion does not apply, say --not-applicable {unclear['value'][0]}"
        )
    # Among words, `none` is a level, as of risk; among numbers, it is what a program writes for nothing.
    words = (
        (~_number("value") & pl.col("value").is_not_null() & ~folded.is_in([*MISSING, *idle])).any().over("criterion")
    )
    absent = folded.is_in(missing) & ~(words & (folded == "none"))
    frame = frame.with_columns(value=pl.when(~absent).then(text))
    frame = written(frame, {*missing, *idle} - {"none"}, layout.words, notes)
    applies = ~folded.is_in(list(idle)).fill_null(value=False)
    value = pl.when(applies).then(text)
    status = pl.when(~applies).then(pl.lit("not_applicable")).when(value.is_not_null()).then(pl.lit("ok"))
    kind = pl.col("rater_kind").str.to_lowercase()
    frame = frame.with_columns(
        status=status.otherwise(pl.coalesce("status", pl.lit("unparsable"))),
        value=value,
        rater_kind=kind.replace(raters.SYNONYMS),
    )
    odd = frame.filter(pl.col("rater_kind").is_not_null() & ~pl.col("rater_kind").is_in(raters.KINDS))
    if len(odd):
        raise DataError(
            f"{_file(odd)}unknown rater_kind {odd['rater_kind'][0]!r} (first: {lines(odd)}); known are {', '.join(raters.KINDS)}"
        )
    frame = _words(frame, layout, notes)
    _refuse_mixed(frame)
    _refuse_languages(frame)
    return frame


def _words(frame: pl.DataFrame, layout: RatingLayout, notes: list[str]) -> pl.DataFrame:
    """Write a level's words in one way: as the user says it, else as most do."""
    said = layout.words
    counts = frame.filter(pl.col("value").is_not_null(), ~_number("value")).group_by("criterion", "value").len().sort("len", "value", descending=[True, False])  # fmt: skip
    spelled: dict[tuple[str, str], str] = {}
    same: dict[tuple[str, str], str] = {}
    for criterion, word, _ in counts.iter_rows():
        target = said.get(word.casefold()) or spelled.setdefault((criterion, " ".join(word.casefold().split())), word)
        if target != word:
            same[criterion, word] = target
    for (criterion, word), target in same.items():
        if target.casefold() != word.casefold() or not layout.levels:
            notes.append(f"{criterion}: {word!r} is read as {target!r}")
        frame = frame.with_columns(
            value=pl.when((pl.col("criterion") == criterion) & (pl.col("value") == word))
            .then(pl.lit(target))
            .otherwise("value")
        )
    return frame


def _number(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.Float64, strict=False).is_finite().fill_null(value=False)


def _refuse_mixed(frame: pl.DataFrame) -> None:
    """Refuse a criterion that is numbers for one rater and words for another."""
    present = frame.filter(pl.col("value").is_not_null()).with_columns(number=_number("value"))
    forms = present.group_by("criterion", "rater", maintain_order=True).agg(
        numbers=pl.col("number").mean(),
        file=pl.col("file").first(),
        value=pl.col("value").first(),
        line=pl.col("line").first(),
    )
    for (criterion,), own in forms.group_by("criterion", maintain_order=True):
        numbers, words = own.filter(pl.col("numbers") == 1), own.filter(pl.col("numbers") == 0)
        if len(numbers) and len(words):
            raise DataError(
                f"{criterion} is numbers for {numbers['rater'][0]} ({numbers['value'][0]}, {_place(numbers)}) and words for {words['rater'][0]} "
                f"({words['value'][0]!r}, {_place(words)}); write it in one way, or leave one out with --drop"
            )


def _refuse_languages(frame: pl.DataFrame) -> None:
    """Refuse levels in words of which two raters share none, though they rated the same subjects."""
    words = frame.filter(pl.col("value").is_not_null(), ~_number("value"))
    for (criterion,), rows in words.group_by("criterion", maintain_order=True):
        if rows["value"].n_unique() > 2 * raters.MOST_LEVELS:
            continue
        sets = {
            str(rater): (set(own["value"].to_list()), set(own["subject"].to_list()), own)
            for (rater,), own in rows.group_by("rater", maintain_order=True)
        }
        several = {rater: part for rater, part in sets.items() if len(part[0]) > 1}
        # Where one differs from the rest, it differs from its neighbour.
        for (first, (a, of_a, rows_a)), (second, (b, of_b, rows_b)) in pairwise(several.items()):
            if not a & b and of_a & of_b:
                raise DataError(
                    f"{criterion}: {first} and {second} use other words for its levels ({named(sorted(a))}, {_place(rows_a)}; {named(sorted(b))}, "
                    f"{_place(rows_b)}); say which are the same, worst first: --levels '{min(a)}|{min(b)},…'"
                )


def not_rated(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Leave out what a person did not rate at all: of a subject, all criteria are empty. A model's are missing verdicts."""
    empty = pl.col("value").is_null() & (pl.col("status") != "not_applicable")
    person = (pl.col("rater_kind") != "model").fill_null(value=True)
    idle = (empty.all().over("file", "row", "rater", "system") & person).alias("idle")
    kept = frame.filter(~idle)
    return kept, len(frame) - len(kept)


def whole_subjects(frame: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Where a subject is named like its conversation and only the system tells replies apart, name the reply."""
    frame = frame.with_columns(cluster=pl.coalesce("cluster", "subject"))
    if frame["system"].null_count() == len(frame):
        return frame
    systems = frame.lazy().select("subject", "system").unique().collect(engine="streaming")
    if not systems["subject"].is_duplicated().any():
        return frame
    notes.append("subjects occur under several systems, so each subject is taken together with its system")
    return frame.with_columns(subject=pl.concat_str("subject", pl.col("system").fill_null(""), separator=" / "))


def without_copies(frame: pl.DataFrame, left_out: list[str]) -> pl.DataFrame:
    """Leave out ratings that another table holds as well, with the same value.

    Raises:
        DataError: a rater rated a subject twice; the message names the rows.
    """
    if frame.select(_KEY).is_unique().all():
        return frame
    repeated = frame.filter(pl.struct(_KEY).is_duplicated())
    groups = repeated.group_by(_KEY, maintain_order=True).agg(
        values=pl.col("value").n_unique(),
        files=pl.col("file").n_unique(),
        n=pl.len(),
        lines=pl.col("line"),
        places=pl.col("file"),
    )
    twice = groups.filter((pl.col("values") > 1) | (pl.col("files") < pl.col("n")))
    if len(twice):
        first = twice.row(0, named=True)
        several, surplus = len(set(first["places"])) > 1, int((twice["n"] - 1).sum())
        places = [
            f"{file} line {line}" if several else str(line)
            for file, line in zip(first["places"], first["lines"], strict=True)
        ]
        raise DataError(
            f"{'' if several else first['places'][0] + ': '}{plural(surplus, 'row')} {'repeats' if surplus == 1 else 'repeat'} a subject, criterion, rater and run (first: "
            f"{first['subject']!r}, {first['criterion']}, {first['rater']}, {'' if several else 'lines '}{', '.join(places[:_FIRST])}); number "
            "repeats in a column `run`, name further columns that tell subjects apart with --subject A,B, say --subject row where all files "
            "have one order, or remove the copies"
        )
    kept = frame.unique(_KEY, keep="first", maintain_order=True)
    copies = frame.join(kept.select("file", "row", *_KEY), on=["file", "row", *_KEY], how="anti", nulls_equal=True)
    for (file,), rows in copies.group_by("file", maintain_order=True):
        left_out.append(f"{file}: {plural(len(rows), 'rating')} that other files hold as well")
    return kept


def near_ids(frame: pl.DataFrame) -> None:
    """Refuse subjects of two raters that are the same but for letter case, blanks, punctuation or leading zeros.

    Raises:
        DataError: there are such; joined as they stand, nothing of the two raters would be compared.
    """
    subjects = frame["subject"].unique(maintain_order=True)
    bare = subjects.str.to_lowercase().str.replace_all(r"[\s_\-.#:/]+", "").str.replace(r"^([a-z]*)0+(\d)", "$1$2")
    if bare.n_unique() == len(subjects):
        return
    pairs = pl.DataFrame({"subject": subjects, "bare": bare}).filter(
        pl.col("bare").is_duplicated(), pl.col("bare") != ""
    )
    rows = (
        frame.select("subject", "rater", "file", "row")
        .unique(["subject", "rater"], keep="first", maintain_order=True)
        .join(pairs, on="subject")
    )
    spelled = rows.group_by("bare", maintain_order=True).agg(
        n=pl.col("subject").n_unique(), raters=pl.col("rater").n_unique(), overlap=pl.struct("subject", "rater").n_unique(),
        subject=pl.col("subject").unique(maintain_order=True), file=pl.col("file"), row=pl.col("row"), who=pl.col("rater"),
    )  # fmt: skip
    # Each rater uses one of the spellings: they are one subject. Where a rater uses both, they are two.
    same = spelled.filter((pl.col("n") > 1) & (pl.col("overlap") == pl.col("raters")))
    if len(same):
        first = same.row(0, named=True)
        raise DataError(
            f"{plural(len(same), 'subject')} {'is' if len(same) == 1 else 'are'} spelled in different ways by different raters (first: "
            f"{named([repr(s) for s in first['subject']])}, by {named([str(w) for w in dict.fromkeys(first['who'])])}), so they would not be compared; "
            f"write each subject in one way"
        )


def _file(rows: pl.DataFrame) -> str:
    return f"{rows['file'][0]}: " if rows["file"][0] is not None else ""


def _place(rows: pl.DataFrame) -> str:
    return f"{rows['file'][0]} line {rows['line'][0]}" if rows["file"][0] is not None else f"line {rows['line'][0]}"


def lines(rows: pl.DataFrame) -> str:
    """Name the first lines on which rows begin."""
    first = ", ".join(str(line) for line in rows["line"].head(_FIRST))
    return f"line {first}" if len(rows) == 1 else f"lines {first}"


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
