"""What is known of each reply: who wrote it, how long it is, what judges and classifiers said, and what people said and would call unsafe."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis import composites, drawn, frame, unsafe_replies
from mindgauge.analysis import unsafe_replies as stated
from mindgauge.analysis.reliability import pairs
from mindgauge.analysis.reliability.scale import Unsafe, of_criterion
from mindgauge.analysis.reliability.unsafe_levels import UnsafeRule
from mindgauge.records import Evidence, instruments
from mindgauge.records.errors import DataError, UsageError
from mindgauge.store import manifest
from mindgauge.store.textless import characters

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.scale import ValueScale
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rubric import Criterion
    from mindgauge.store import Store

    Codes = NDArray[np.intp]

    Floats = NDArray[np.float64]

    Mask = NDArray[np.bool_]


class UnsafeOn(NamedTuple):
    """The unsafe values of a criterion, with its scale; `text` is how the user wrote it."""

    criterion: str
    scale: ValueScale
    unsafe: Unsafe
    text: str

    def number(self, value: str) -> float | None:
        """Return where a value stands on the scale, None if it is not on it; a mean may stand between levels."""
        if self.scale.words:
            return float(self.scale.words.index(value)) if value in self.scale.words else None
        try:
            return float(value)
        except ValueError:
            return None

    def holds(self, value: str) -> bool:
        """Whether a value, as text, is an unsafe one."""
        number = self.number(value)
        return number is not None and self.unsafe.has(number)


def read_rule(text: str, criteria: Mapping[str, Criterion]) -> UnsafeOn:
    """Read a rule; one that names no criterion is about the only one there is.

    Args:
        text: `safety<=2`, `risk<=partly` or `label=harmful,unclear`.
        criteria: those that people rated.

    Raises:
        UsageError: it is no rule, or the criterion or a level is unknown.
    """
    rule = UnsafeRule.read(text)
    name = rule.about(list(criteria))
    scale = of_criterion(criteria[name])
    rule = rule._replace(criterion=name, text=rule.text if rule.criterion else f"{name}{rule.text}")
    return UnsafeOn(name, scale, rule.on(scale), rule.text)


# What is known of each reply: who wrote it, how long it is, what judges and classifiers said, and what people said.


_PROBABILITIES = """
SELECT subject, rater, json_extract(provenance, '$.probabilities') FROM ratings
WHERE benchmark = ? AND criterion = ? AND rater_kind = 'classifier' AND json_extract(provenance, '$.probabilities') NOT NULL"""


_REASONS = """
SELECT subject, rater, rationale, evidence, json_extract(provenance, '$.checks') FROM ratings
WHERE benchmark = ? AND criterion = ? AND rater_kind = 'model' AND status = 'ok' ORDER BY subject, rater, run"""


class Subjects(NamedTuple):
    """Replies, or the samples of a closed question, as columns of n rows.

    `judges` and `classifiers` hold risks from 0 (best) to 1 (worst), NaN where there is no verdict: the mean of a
    judge's verdicts as a share of the scale, or where classes have no order the share that is unsafe; the probability
    that a classifier gives to the unsafe levels. `unsafe` is 1, 0, or NaN where people have not said; `asked` where they
    were asked. `value` is the median of people's values as a number of the scale, of two the mean; NaN where people have
    not said, and for classes. `words` holds what each judge wrote of each reply, when first asked: its reason, its quotes,
    its checks as name=answer; empty where nothing is stored, and nobody's until they are read (`with_words`).
    """

    benchmark: Benchmark
    rule: UnsafeOn
    people: list[str]
    ids: list[str]
    cluster: Codes
    system: NDArray[np.str_]
    category: NDArray[np.str_]
    length: Floats
    judges: dict[str, Floats]
    classifiers: dict[str, Floats]
    unsafe: Floats
    asked: Mask
    value: Floats
    selection: str
    notes: list[str]
    weight: Floats
    """How many each reply stands for: one over its probability where people's were drawn, else 1."""
    drawn: str = ""
    """How they were drawn, in words."""
    words: Mapping[str, list[str]] = MappingProxyType({})

    @property
    def labelled(self) -> Mask:
        """Where people's word is known."""
        return np.isfinite(self.unsafe)

    def some(self, mask: Mask) -> Subjects:
        """Return some of the replies; conversations are numbered anew."""
        return self._replace(
            ids=[ident for ident, keep in zip(self.ids, mask, strict=True) if keep],
            cluster=np.unique(self.cluster[mask], return_inverse=True)[1].astype(np.intp),
            system=self.system[mask],
            category=self.category[mask],
            length=self.length[mask],
            judges={name: risk[mask] for name, risk in self.judges.items()},
            classifiers={name: risk[mask] for name, risk in self.classifiers.items()},
            unsafe=self.unsafe[mask],
            asked=self.asked[mask],
            weight=self.weight[mask],
            value=self.value[mask],
            words={
                name: [text for text, keep in zip(texts, mask, strict=True) if keep]
                for name, texts in self.words.items()
            },
        )


def rated_by_people(store: Store, benchmarks: Sequence[Benchmark], named: Sequence[str]) -> list[Benchmark]:
    """Return the benchmarks of a run that hold what people said, or the raters that are named."""
    query = "SELECT DISTINCT rater, rater_kind FROM ratings WHERE benchmark = ?"
    people = {"person", "gold"}
    return [
        b
        for b in benchmarks
        if any((rater in named) if named else (kind in people) for rater, kind in store.select(query, (b.name,)))
    ]


def read(store: Store, benchmark: Benchmark, text: str, named: Sequence[str] = ()) -> Subjects:
    """Gather what a run knows of a benchmark's replies.

    Args:
        store: of the run.
        benchmark: whose replies.
        text: what is unsafe, as `UnsafeRule` reads it.
        named: whose word counts; people's if not given.

    Raises:
        UsageError: the rule cannot be read, or a rater is unknown.
        DataError: nobody judged, or no person rated.
    """
    rows, notes = frame.ratings(store, benchmark), list[str]()
    people, others = pairs.split(rows, named, notes)
    loaded = bool(manifest.read(store.folder).get("plan", {}).get("loaded"))
    used = instruments.by_rater(frame.distinct(rows, "rater", "instrument").iter_rows(), loaded=loaded)
    notes[:0] = instruments.all_differences(others, people, used)
    by_name = composites.criteria(benchmark)
    rated_criteria = set(rows.filter(pl.col("rater").is_in(people))["criterion"].unique())
    rule = read_rule(text, {name: by_name[name] for name in by_name if name in rated_criteria})
    rows = rows.filter(pl.col("criterion") == rule.criterion)
    rows = rows.with_columns(risk=_risk(rule, rows["value"]))
    bad = tuple(value for value in by_name[rule.criterion].values if rule.holds(str(value)))
    criterion = msgspec.structs.replace(by_name[rule.criterion], unsafe=bad)
    part = drawn.alone(rows.filter(pl.col("rater").is_in(people)))
    word, asked_ids, selection = _word(part.rows, criterion)
    judges = rows.filter((pl.col("rater_kind") == "model") & pl.col("rater").is_in(others))
    risks = _means(judges, _stated(store, benchmark, rule, people), word.keys(), notes)
    if not risks:
        raise DataError(f"no judge has rated {rule.criterion}, so there is nothing to order the replies by")
    about = _about(store, benchmark)
    ids = about["id"].to_list()
    labels = _categories(rows, benchmark)
    return Subjects(
        benchmark, rule, people, ids,
        about["cluster"].rank("dense").to_numpy().astype(np.intp) - 1,
        np.array(about["model"].fill_null("").to_list(), dtype=np.str_),
        np.array([labels.get(ident) or "" for ident in ids], dtype=np.str_),
        np.log1p(about["length"].to_numpy().astype(float)),
        {name: _placed(risk_map, ids) for name, risk_map in sorted(risks.items())},
        {name: _placed(risk_map, ids) for name, risk_map in sorted(_classified(store, benchmark, rule).items())},
        _placed(word, ids), np.isin(ids, list(asked_ids)), _placed(_values(part.rows, rule), ids),
        selection, notes, _weights(part.rows, ids), part.note,
    )  # fmt: skip


def with_words(rated: Subjects, store: Store) -> Subjects:
    """Add what each judge wrote of each reply when first asked, else what a released review set says it wrote."""
    benchmark, criterion = rated.benchmark.name, rated.rule.criterion
    words: dict[str, dict[str, str]] = {judge: {} for judge in rated.judges}
    for subject, judge, reason, evidence, checks in store.select(_REASONS, (benchmark, criterion)):
        if judge in words and subject not in words[judge]:
            quotes = [passage.quote for passage in msgspec.json.decode(evidence or "[]", type=tuple[Evidence, ...])]
            answers = [f"{name}={answer}" for name, answer in msgspec.json.decode(checks or "{}").items()]
            words[judge][subject] = " ".join([reason or "", *quotes, *answers]).strip()
    for subject, judge, reason in stated.reasons(store, rated.benchmark, criterion):
        if judge in words and not words[judge].get(subject):
            words[judge][subject] = reason
    return rated._replace(words={judge: [texts.get(i, "") for i in rated.ids] for judge, texts in words.items()})


def _weights(people_rows: pl.DataFrame, ids: Sequence[str]) -> Floats:
    """Return how many replies each stands for, by what people rated of one draw."""
    if not drawn.is_drawn(people_rows):
        return np.ones(len(ids))
    probabilities = dict(people_rows.select("subject", "probability").unique("subject").iter_rows())
    return np.array([1 / probabilities.get(ident, 1.0) for ident in ids])


def _risk(rule: UnsafeOn, values: pl.Series) -> pl.Series:
    """Turn values into risks: distance from the best level as a share of the scale, or 1 for an unsafe class."""
    worst, best = rule.scale.worst, rule.scale.best

    def one(value: str) -> float | None:
        number = rule.number(value)
        if not rule.scale.ordered:
            return float(rule.holds(value))
        return None if number is None else (best - number) / (best - worst)

    distinct = [value for value in values.unique().to_list() if value is not None]
    return values.replace_strict({value: one(value) for value in distinct}, default=None, return_dtype=pl.Float64)


def _means(
    judges: pl.DataFrame, stated: dict[str, dict[str, float]], labelled: Collection[str], notes: list[str]
) -> dict[str, dict[str, float]]:
    """Return each judge's mean risk of each reply; where a run has no rating of it, what the release states stands in."""
    rated = judges.filter(pl.col("status") == "ok", pl.col("risk").is_not_null())
    risks = {
        str(rater): dict(part.group_by("subject", maintain_order=True).agg(pl.col("risk").mean()).iter_rows())
        for (rater,), part in rated.group_by("rater", maintain_order=True)
    }
    stand_in = 0
    for rater, means in stated.items():
        judged = set(judges.filter(pl.col("rater") == rater)["subject"])
        absent = {subject: risk for subject, risk in means.items() if subject not in judged}
        risks[rater] = {**risks.get(rater, {}), **absent}
        stand_in += len(absent.keys() & labelled)
    if stand_in:
        notes.append(f"{stand_in} means of judges stand in the released review set only; they are taken from there")
    asked_count, answered = (part.filter(pl.col("subject").is_in(list(labelled))).height for part in (judges, rated))
    if asked_count > answered:
        notes.append(
            f"{asked_count - answered} of {asked_count} verdicts are missing; a judge's mean of a reply is of its others"
        )
    return risks


def _stated(store: Store, benchmark: Benchmark, rule: UnsafeOn, people: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the mean risks that released review sets state of single judges, by judge and reply."""
    rows = stated.means(store, benchmark).filter(
        pl.col("criterion") == rule.criterion, ~pl.col("rater").is_in(list(people))
    )
    risks: dict[str, dict[str, float]] = {}
    for subject, rater, risk in (
        rows.with_columns(risk=_risk(rule, rows["value"])).select("subject", "rater", "risk").iter_rows()
    ):
        if risk is not None:
            risks.setdefault(rater, {})[subject] = risk
    return risks


def _classified(store: Store, benchmark: Benchmark, rule: UnsafeOn) -> dict[str, dict[str, float]]:
    """Return the probability that each classifier gives to the unsafe levels; an abstention has one, too."""
    risks: dict[str, dict[str, float]] = {}
    for subject, rater, text in store.select(_PROBABILITIES, (benchmark.name, rule.criterion)):
        probabilities = msgspec.json.decode(text, type=dict[str, float])
        risks.setdefault(rater, {})[subject] = sum(p for level, p in probabilities.items() if rule.holds(level))
    return risks


def _word(people_rows: pl.DataFrame, criterion: Criterion) -> tuple[dict[str, float], set[str], str]:
    """Return what people together say of each reply (`analysis.unsafe`), who was asked about it, and why only these were.

    It is 1 where they call the reply unsafe, else 0. A reply on which no person has a value is not among them, nor is one to
    which the criterion does not apply.
    """
    verdicts = unsafe_replies.on(people_rows, criterion)
    chosen = "; ".join(sorted(people_rows["selection"].drop_nulls().unique().to_list()))
    decided = verdicts.drop_nulls().with_columns(pl.col("unsafe").cast(pl.Float64))
    return dict(decided.iter_rows()), set(verdicts["subject"]), chosen


def _values(people_rows: pl.DataFrame, rule: UnsafeOn) -> dict[str, float]:
    """Return the median of people's values of each reply, each person's being the mean of theirs; nothing for classes."""
    if not rule.scale.ordered:
        return {}
    distinct = people_rows["value"].drop_nulls().unique().to_list()
    number = pl.col("value").replace_strict(
        {v: rule.number(v) for v in distinct}, default=None, return_dtype=pl.Float64
    )
    valued = people_rows.filter(pl.col("status") == "ok").with_columns(number=number).drop_nulls("number")
    by_person = valued.group_by("subject", "rater", maintain_order=True).agg(pl.col("number").mean())
    return dict(by_person.group_by("subject", maintain_order=True).agg(pl.col("number").median()).iter_rows())


def _categories(rows: pl.DataFrame, benchmark: Benchmark) -> dict[str, str | None]:
    """Return the protocol by which each reply was rated, else that of its sample; none where the rubric has none."""
    if not benchmark.protocol:
        return {}
    tag = [name for name in rows.columns if name == frame.tag(benchmark.protocol)]
    categories = rows.with_columns(protocol=pl.coalesce("protocol", *tag))
    return dict(
        categories.group_by("subject", maintain_order=True).agg(pl.col("protocol").drop_nulls().first()).iter_rows()
    )


def _about(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Return id, sample, cluster, model and length in characters of every reply, or of every sample's last message."""
    samples = {s.id: (s.cluster, characters(s.messages[-1].content)) for s in store.samples(benchmark.name)}
    columns = {"id": pl.String, "sample": pl.String, "cluster": pl.String, "model": pl.String, "length": pl.Int64}
    if benchmark.closed:
        rows = [(ident, ident, cluster, None, length) for ident, (cluster, length) in samples.items()]
    else:
        query = "SELECT id, sample, model, text FROM replies WHERE benchmark = ?"
        rows = [
            (ident, sample, samples[sample][0], model, characters(text))
            for ident, sample, model, text in store.select(query, (benchmark.name,))
        ]
    if not rows:
        raise UsageError(f"{store.folder}: {benchmark.name} has no replies yet")
    return pl.DataFrame(rows, columns, orient="row")


def _placed(risks: dict[str, float], ids: Sequence[str]) -> Floats:
    return np.array([risks.get(ident, np.nan) for ident in ids], dtype=float)
