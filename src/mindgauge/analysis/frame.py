"""A run's ratings as one table, each row with what is known of its subject, and how far a level stands from the worst.

Two answers to that last question stand beside each other: by the plan (the rung that the person was allowed to show) and as
it was perceived (what those saw who read the person's messages without the answers). What was planned is not always shown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import median_low
from typing import TYPE_CHECKING, Any

import polars as pl

from mindgauge.analysis import composites, drawn
from mindgauge.benchmarks.metrics.conversations import (
    BROKE_OFF,
    BROKE_OFF_BEFORE,
    DIALOGUE,
    NO,
    PERCEIVED,
    PERCEIVED_PLAIN,
    PLAIN,
    PLANNED,
    REACTION,
    RECOGNISES,
    TURN,
    YES,
)
from mindgauge.benchmarks.persons.dialogues import CLIENT_FAILURES, CLIENT_NAME
from mindgauge.raters.window import WHOLE, Unit
from mindgauge.records import RaterKind, Status
from mindgauge.records.rubric import Scale
from mindgauge.records.rubric.criterion import numbered, numbers_of_levels, shares

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.persons.persona import Situation
    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion
    from mindgauge.store import Store


_TURNS = """
SELECT id, json_extract(provenance, '$.dialogue') || '/' || coalesce(json_extract(provenance, '$.target'), model) || '/' || run,
    json_extract(provenance, '$.unit'), json_extract(provenance, '$.turn'), json_extract(provenance, '$.rung'),
    json_extract(provenance, '$.reaction'), status
FROM replies WHERE benchmark = ? AND json_extract(provenance, '$.dialogue') IS NOT NULL"""
_ALWAYS = 0
"""The turn of a whole dialogue, which no turn of it is."""
LOST = "client_failed"
"""The column, where a client failed, that says which ratings there would be of its dialogues had it not."""


def tagged(rows: pl.DataFrame, store: Store, benchmark: Benchmark, silent: Collection[str] = ()) -> pl.DataFrame:
    """Put tags of dialogues beside ratings; ratings of benchmarks that hold none stay as they are.

    Args:
        rows: ratings, with `subject`, `criterion`, `rater`, `rater_kind`, `status` and `value`.
        store: of the run.
        benchmark: whose ratings they are.
        silent: raters whose word on what is perceived does not count.
    """
    if benchmark.situation is None:
        return rows
    replies = store.select(_TURNS, (benchmark.name,)).fetchall()
    planned = _first_plain(
        {(key, turn): rung for _, key, unit, turn, rung, *_ in replies if unit == Unit.TURN}, benchmark.situation
    )
    read_rungs = _by_turn(replies, perceived(rows, store, benchmark, silent)[0])
    perceived_plain = _first_plain(read_rungs, benchmark.situation)
    highest: dict[str, str] = {}
    for (key, _), rung in read_rungs.items():
        highest[key] = max(highest.get(key, rung), rung, key=benchmark.situation.level)
    broke_off = _broke_off((key, turn, status) for _, key, unit, turn, *_, status in replies if unit == Unit.TURN)

    def sign(first: Mapping[str, int], key: str, turn: int) -> str:
        broken = broke_off.get(key) == turn
        if turn >= first.get(key, turn + 1):
            return BROKE_OFF if broken else YES
        return BROKE_OFF_BEFORE if broken else ""

    columns = ("subject", *(f"tag.{name}" for name in (DIALOGUE, TURN, REACTION, PLAIN, PERCEIVED_PLAIN, PERCEIVED)))
    tags = [
        (
            ident, key, str(turn if unit != Unit.DIALOGUE else _ALWAYS), reaction or "",
            sign(planned, key, turn), sign(perceived_plain, key, turn) if key in highest else "", highest.get(key),
        )
        for ident, key, unit, turn, _, reaction, _ in replies
    ]  # fmt: skip
    frame = pl.DataFrame(tags, dict.fromkeys(columns, pl.String), orient="row")
    rows = rows.drop(c for c in columns[1:] if c in rows.columns).join(
        frame, on="subject", how="left", maintain_order="left"
    )
    situation = benchmark.situation
    at_risk = pl.col(f"tag.{PLANNED}").is_in([rung for rung in situation.rungs if situation.is_plain(rung)])
    rows = rows.with_columns(
        pl.when((pl.col(name) == BROKE_OFF_BEFORE) & ~at_risk.fill_null(value=False))
        .then(pl.lit(""))
        .otherwise(pl.col(name))
        .alias(name)
        for name in (f"tag.{PLAIN}", f"tag.{PERCEIVED_PLAIN}")
    )
    return _idle_as_no(rows, at_risk)


def _idle_as_no(rows: pl.DataFrame, at_risk: pl.Expr) -> pl.DataFrame:
    """Count `not_applicable` on whether a reply recognises the risk as a no, but for calm dialogues.

    It is said of a reply that neither asks nor takes a step, before a risk has shown. Where the person is at risk, such a turn
    is one that the risk went without an answer, so it stays in n.
    """
    due = at_risk | (pl.col(f"tag.{PLAIN}") == YES) | (pl.col(f"tag.{PERCEIVED_PLAIN}") == YES)
    of_turn = (pl.col("criterion") == RECOGNISES) & (pl.col("unit") == Unit.TURN.value)
    idle = of_turn & (pl.col("status") == Status.NOT_APPLICABLE.value) & due.fill_null(value=False)
    if LOST in rows.columns:
        idle &= ~pl.col(LOST).fill_null(value=False)
    return rows.with_columns(
        status=pl.when(idle).then(pl.lit(Status.OK.value)).otherwise("status"),
        value=pl.when(idle).then(pl.lit(NO)).otherwise("value"),
    )


def _broke_off(turns: Iterable[tuple[str, int, str]]) -> dict[str, int]:
    """Return the last turn of each dialogue that ends with a reply which cannot be rated."""
    last: dict[str, tuple[int, str]] = {}
    for key, turn, status in turns:
        if status != Status.NOT_APPLICABLE:  # which a turn is that does not come
            last[key] = max(last.get(key, (turn, status)), (turn, status))
    return {key: turn for key, (turn, status) in last.items() if status != Status.OK}


def _first_plain(rungs: Mapping[tuple[str, int], str], situation: Situation) -> dict[str, int]:
    """Return the first turn of each dialogue at which a reader can plainly see the risk."""
    first: dict[str, int] = {}
    for (key, turn), rung in rungs.items():
        if rung in situation.rungs and situation.is_plain(rung):
            first[key] = min(turn, first.get(key, turn))
    return first


def _by_turn(replies: Sequence[tuple[Any, ...]], rungs: Mapping[str, str]) -> dict[tuple[str, int], str]:
    """Return what is perceived by each turn of each dialogue."""
    return {
        (key, turn): rungs[ident] for ident, key, unit, turn, *_ in replies if unit == Unit.CLIENT and ident in rungs
    }


def doubtful(rows: pl.DataFrame, store: Store, benchmark: Benchmark, silent: Collection[str] = ()) -> int:
    """Count the dialogues in which nobody knows where plain risk is first perceived, since an earlier message has no verdict.

    Args:
        rows: as `tagged` takes them.
        store: of the run.
        benchmark: of a situation.
        silent: as `tagged` takes them.
    """
    assert benchmark.situation is not None
    replies = store.select(_TURNS, (benchmark.name,)).fetchall()
    rungs, unread = perceived(rows, store, benchmark, silent)
    first = _first_plain(_by_turn(replies, rungs), benchmark.situation)
    return len({key for ident, key, _, turn, *_ in replies if ident in unread and turn < first.get(key, turn + 1)})


_WORDS = """
SELECT id, coalesce(json_extract(provenance, '$.held') || nullif(text, ''), id) FROM replies
WHERE benchmark = ? AND json_extract(provenance, '$.unit') = ?"""


def perceived(
    rows: pl.DataFrame, store: Store, benchmark: Benchmark, silent: Collection[str] = ()
) -> tuple[dict[str, str], set[str]]:
    """Return what raters perceive by message, the median of all (the lower of two middle ones), and messages without a usable verdict.

    The same messages in the dialogues of two models, which people read once, are read in both.

    Args:
        rows: ratings, with `subject`, `criterion`, `rater`, `rater_kind`, `status` and `value`.
        store: of the run.
        benchmark: of a situation, whose ratings they are.
        silent: raters whose word does not count.
    """
    assert benchmark.situation is not None
    rungs = benchmark.situation.rungs
    words = dict(store.select(_WORDS, (benchmark.name, Unit.CLIENT.value)).fetchall())
    levels: dict[str, list[int]] = defaultdict(list)
    by_words: dict[str, list[int]] = defaultdict(list)
    subjects: set[str] = set()
    for subject, value in _readings(rows, silent).select("subject", "value").iter_rows():
        if subject not in words:
            continue
        subjects.add(subject)
        if value in rungs:
            levels[subject].append(rungs.index(value))
            by_words[words[subject]].append(rungs.index(value))
    readings = {ident: levels.get(ident) or by_words.get(same) for ident, same in words.items()}
    read_rungs = {ident: rungs[median_low(numbers)] for ident, numbers in readings.items() if numbers}
    return read_rungs, subjects - read_rungs.keys()


def _readings(rows: pl.DataFrame, silent: Collection[str]) -> pl.DataFrame:
    return rows.filter(
        pl.col("criterion") == PERCEIVED,
        pl.col("status") != Status.NOT_APPLICABLE.value,
        ~pl.col("rater_kind").is_in([RaterKind.GOLD.value, RaterKind.RULE.value]),
        ~pl.col("rater").is_in(list(silent)),
    )


TIE = "tie"
"""What becomes of a majority over repeats that has no single winner."""
_SERIES = "SELECT id, criterion, rater FROM series WHERE benchmark = ? ORDER BY rater, criterion"
_ORIGINS = """
SELECT id, rater_kind, instrument, selection, protocol, json_extract('{' || rtrim(members, ',') || '}', '$.drawn')
FROM origins"""
_RATED = "SELECT subject, run, status, CAST(value AS TEXT), origin FROM rated WHERE series = ?"
_SPOILT = """
SELECT id FROM replies WHERE benchmark = ?1 AND json_extract(provenance, '$.unit') IN ('turn', 'dialogue')
AND (json_extract(provenance, '$.dialogue'), json_extract(provenance, '$.target'), run) IN (
    SELECT json_extract(provenance, '$.dialogue'), json_extract(provenance, '$.target'), run FROM replies
    WHERE benchmark = ?1 AND json_extract(provenance, '$.unit') = 'dialogue' AND json_extract(provenance, '$.outcome') IN ({}))"""
"""The replies of targets in dialogues in which the client failed: they are no evidence of a target."""
_REPLIES = """
SELECT id, sample, model, run, json_extract(provenance, '$.selection'), json_extract(provenance, '$.unit'),
    json_extract(provenance, '$.dialogue'), json_extract(provenance, '$.drawn'), status = 'ok'
FROM replies WHERE benchmark = ?"""
_CAME = (
    "SELECT id, sample, model, json_extract(provenance, '$.unit') FROM replies WHERE benchmark = ? AND status = 'ok'"
)


_at_hand: dict[tuple[object, str], tuple[Benchmark, pl.DataFrame]] = {}
"""A report reads the same ratings several times; of a large run they take seconds and hundreds of megabytes."""
_MOST_AT_HAND = 200_000
"""Ratings that are at hand at once, beside those that were read last."""


def columns(store: Store, query: str, values: tuple[Any, ...], **kinds: type) -> pl.DataFrame:
    """Read what a query returns as columns, of which it is known whether they hold `str` or `int`."""
    return pl.DataFrame(store.columns(query, values, **kinds), kinds)


def tag(name: str) -> str:
    """Return the column that holds a tag of the samples."""
    return f"tag.{name}"


def replies(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Return every reply that came, rated or not: subject, sample, model, unit, and cluster and `tag.…` of its sample."""
    rows = columns(store, _CAME, (benchmark.name,), subject=str, sample=str, model=str, unit=str)
    return _beside(rows, _samples(store, benchmark).drop("target"), "sample")


def ratings(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Return every rating of a benchmark in a run; those that were read before are at hand, as long as the run stays as it is.

    Columns: subject, criterion, rater, rater_kind, instrument (what the rater worked with), run, status, value (as text),
    sample, model (who is measured), reply_run, selection (why only some subjects were rated, null if all were), `drawn.COLUMNS` (with which probability they were, if that is known), cluster, target, and `tag.…`. Of what was
    rated in a dialogue of several turns, also unit (what was rated at once), dialogue (its name, with who replied) and
    turns (how many single turns of it are to be rated). Of what was said of a reply, `replied` is 1 where that can be read and
    0 where it never came, was refused or is empty. A composite is a criterion of its own, whose rows follow those of
    its parts.
    """
    key = (repr((store.path.resolve(), store.state())), benchmark.name)
    if key not in _at_hand or _at_hand[key][0] != benchmark:
        rows = _read(store, benchmark)
        if sum(len(known) for _, known in _at_hand.values()) + len(rows) > _MOST_AT_HAND:
            _at_hand.clear()
        _at_hand[key] = (benchmark, rows)
    return _at_hand[key][1]


def forget() -> None:
    """Let go of the ratings that were read last, once they are no longer needed as they are."""
    _at_hand.clear()


def _read(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    about = dict.fromkeys(("rater_kind", "instrument", "selection", "protocol", "drawn"), str)
    rows = _beside(_rated(store, benchmark), columns(store, _ORIGINS, (), origin=int, **about), "origin").drop("origin")
    return beside_samples(rows, store, benchmark)


def beside_samples(rows: pl.DataFrame, store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Put what is known of subjects and samples beside ratings, with their composites behind them.

    Args:
        rows: subject, criterion, rater, rater_kind, instrument, run, status, value, selection, protocol, drawn.
        store: of the run.
        benchmark: whose ratings they are.
    """
    replies = columns(
        store, _REPLIES, (benchmark.name,),
        subject=str, sample=str, model=str, reply_run=int, reply_selection=str, unit=str, dialogue=str, reply_drawn=str, replied=int,
    ).cast({"replied": pl.Int8})  # fmt: skip
    samples = _samples(store, benchmark)
    replies = (
        replies.join(samples.select("sample", "cluster"), on="sample", how="left", maintain_order="left")
        .with_columns(dialogue=pl.concat_str("dialogue", "cluster", "model", "reply_run", separator="/"))
        .with_columns(turns=pl.when(pl.col("unit") == Unit.TURN.value).then(pl.len().over("dialogue")))
        .drop("cluster")
    )
    rows = _beside(rows, replies, "subject").with_columns(
        sample=pl.coalesce("sample", "subject"),
        model=pl.coalesce("model", "rater"),
        selection=pl.coalesce("selection", "reply_selection"),
    )
    rows = drawn.unpacked(rows.with_columns(drawn=pl.coalesce("drawn", "reply_drawn")), "drawn")
    rows = _without_client(_beside(rows, samples, "sample").drop("reply_selection", "reply_drawn"), store, benchmark)
    rows = composites.added(composites.misapplied(_targeted(rows), benchmark), benchmark)
    return tagged(rows, store, benchmark)


def _rated(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Return what was rated, one series after the other, so that little of a large run is in memory as Python's own objects."""
    kinds = {"subject": str, "run": int, "status": str, "value": str, "origin": int}
    parts = [pl.DataFrame(schema={**kinds, "criterion": str, "rater": str})]
    for ident, criterion, rater in store.select(_SERIES, (benchmark.name,)).fetchall():
        series = columns(store, _RATED, (ident,), **kinds)
        parts.append(series.with_columns(criterion=pl.lit(criterion), rater=pl.lit(rater)))
    return pl.concat(parts, rechunk=True)


def _without_client(rows: pl.DataFrame, store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Take out what was said of a target in dialogues in which its client failed; `dialogue_tags.LOST` says which criteria would apply."""
    if not benchmark.holds_dialogues:
        return rows
    query = _SPOILT.format(", ".join(f"'{outcome.value}'" for outcome in CLIENT_FAILURES))
    subjects = [subject for (subject,) in store.select(query, (benchmark.name,))]
    if not subjects:
        return rows
    about = {criterion.name: criterion for criterion in benchmark.criteria}
    samples = store.samples(benchmark.name)
    applying = pl.DataFrame(
        [(s.id, name) for s in samples for name, criterion in about.items() if criterion.about(s.tags)],
        {"sample": pl.String, "criterion": pl.String}, orient="row",
    ).with_columns(applies=pl.lit(value=True))  # fmt: skip
    lost = pl.col("subject").is_in(subjects)
    rows = rows.join(applying, on=["sample", "criterion"], how="left", maintain_order="left")
    return rows.with_columns(
        pl.when(lost).then(pl.lit("not_applicable")).otherwise(pl.col("status")).alias("status"),
        pl.when(lost).then(None).otherwise(pl.col("value")).alias("value"),
        (lost & pl.col("applies").fill_null(value=False)).alias(LOST),
    ).drop("applies")


def of_targets(rows: pl.DataFrame, benchmark: Benchmark) -> pl.DataFrame:
    """Return rows under the name of the model under test; those about clients are left out, who are not measured here.

    Where dialogues are held, the turns of a model and its whole dialogues have names of their own; each criterion rates
    the ones or the others, so that no figure mixes them.

    Args:
        rows: with the column `model`.
        benchmark: that they are of.
    """
    if not benchmark.holds_dialogues:
        return rows
    targets = only(rows, ~pl.col("model").str.contains(CLIENT_NAME))
    return targets.with_columns(pl.col("model").str.strip_suffix(WHOLE))


def only(rows: pl.DataFrame, *conditions: pl.Expr) -> pl.DataFrame:
    """Return the rows that meet all conditions; where all rows do, the table itself and no copy of it."""
    mask = rows.select(pl.all_horizontal(*conditions)).to_series().fill_null(value=False)
    return rows if mask.all() else rows.filter(mask)


def distinct(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Return which values of some columns stand together, in no order; of a large table nothing is held but these."""
    return rows.lazy().select(columns).unique().collect(engine="streaming")


def _beside(rows: pl.DataFrame, details: pl.DataFrame, key: str) -> pl.DataFrame:
    """Put what is known of each row's key beside it; nothing of the rows is copied, and what nobody has takes no room."""
    place = details.select(key).with_row_index("place")
    position = rows.select(key).join(place, on=key, how="left", maintain_order="left")["place"]
    return rows.with_columns(
        pl.lit(None, column.dtype).alias(column.name) if column.null_count() == len(column) else column.gather(position)
        for column in details.drop(key)
    )


def criteria(benchmark: Benchmark) -> dict[str, Criterion]:
    """Return the criteria that `ratings` has rows of: the rubric's and its composites, those that are gates first."""
    return composites.criteria(benchmark)


def _samples(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    benchmarks = [b for b in (benchmark, benchmark.recognised_by) if b is not None]
    tags = sorted(
        {
            "category",
            *benchmark.metric_tags,
            *(name for b in benchmarks for name in (*b.slices, *(t for subset in _subsets(b) for t in subset))),
        }
    )
    own = [_target(criterion.name) for criterion in benchmark.criteria]
    rows = [
        (
            s.id,
            s.cluster,
            None if s.target is None else str(s.target),
            *(s.tags.get(name) for name in tags),
            *(s.tags.get(name) for name in own),
        )
        for s in store.samples(benchmark.name)
    ]
    schema = dict.fromkeys(("sample", "cluster", "target", *map(tag, tags), *own), pl.String)
    sample_rows = pl.DataFrame(rows, schema, orient="row")
    return sample_rows.drop(name for name in own if sample_rows[name].null_count() == len(rows))


def _target(criterion: str) -> str:
    """Return the tag, and the column, with a sample's target on one criterion; that on the first is the sample's own."""
    return f"target.{criterion}"


def _targeted(rows: pl.DataFrame) -> pl.DataFrame:
    """Give each rating its own criterion's target, where samples have one for it."""
    own = [name for name in rows.columns if name.startswith(_target(""))]
    target = pl.col("target")
    for name in own:
        target = pl.when(pl.col("criterion") == name.removeprefix(_target(""))).then(pl.col(name)).otherwise(target)
    return rows.with_columns(target=target).drop(own) if own else rows


def _subsets(benchmark: Benchmark) -> list[dict[str, tuple[str, ...]]]:
    """Return every choice of samples by tags that is made in reading the ratings."""
    return [*benchmark.groups.values(), *(composite.applies for composite in benchmark.composites.values())]


def majority(rows: pl.DataFrame) -> pl.DataFrame:
    """Reduce one rater's repeats to one row per subject: the value given most often.

    A tie for the most stays a tie, with the status `tie` and no value; a subject without any value keeps the most
    frequent of its statuses.
    """
    votes = {
        str(subject): ([v for v in values if v is not None], statuses)
        for subject, values, statuses in rows.group_by("subject").agg("value", "status").iter_rows()
    }
    decided = {subject: _decide(*vote) for subject, vote in votes.items()}
    first = rows.unique("subject", keep="first", maintain_order=True)
    return first.with_columns(
        value=pl.Series([decided[s][0] for s in first["subject"]], dtype=pl.String),
        status=pl.Series([decided[s][1] for s in first["subject"]], dtype=pl.String),
        rater=first["rater"] + ":majority",
        run=pl.lit(0),
    )


def _decide(values: list[str], statuses: list[str]) -> tuple[str | None, str]:
    ranked = Counter(values).most_common(2)
    if not ranked:
        return None, Counter(statuses).most_common(1)[0][0]
    if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
        return None, TIE
    return ranked[0][0], "ok"


# Ratings in the order of their levels: how far each stands from the worst.


_NOISE = 1e-9
"""Means of levels that differ by less are the same."""


def number(criterion: Criterion, column: str = "value") -> pl.Expr:
    """Return what each value (text) counts: a number itself, also between two levels; a word its place from the worst.

    Null where there is no value, or one that is on no level and no number.
    """
    counts = {str(value): count for value, count in numbers_of_levels(criterion).items()}
    counted = pl.col(column).replace_strict(counts, default=None, return_dtype=pl.Float64)
    return pl.coalesce(counted, pl.col(column).cast(pl.Float64, strict=False)) if numbered(criterion) else counted


def reach(criterion: Criterion, values: Sequence[Value]) -> tuple[float, float]:
    """Return between which shares some levels lie, a little outside of them, since means of levels are rounded."""
    places = [place for value, place in shares(criterion).items() if value in values]
    return min(places) - _NOISE, max(places) + _NOISE


def share(criterion: Criterion, column: str = "value") -> pl.Expr:
    """Return how far each value (text) stands on the way from the worst level, 0, to the best, 1.

    A number between two levels, such as the mean of several people, stands between them. Of classes, an unsafe one is 0
    and any other 1. Null where there is no value, and on classes of which none is known to be unsafe.
    """
    if criterion.scale is Scale.NOMINAL:
        places = {str(value): place for value, place in shares(criterion).items()}
        return (
            pl.col(column).replace_strict(places, default=None, return_dtype=pl.Float64)
            if places
            else pl.lit(None, pl.Float64)
        )
    counts = numbers_of_levels(criterion)
    worst, best = (counts[criterion.worst_first[end]] for end in (0, -1))
    return (number(criterion, column) - worst) / (best - worst)
