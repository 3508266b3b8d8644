"""What is known of each reply: who wrote it, how long it is, what judges and classifiers said, and what people said and would call unsafe.

Risks of different fits are not comparable, since each knows another base rate. So a fit is put in units of the jury's
mean: the jury's risk, plus what words, length and category add to it, divided by the jury's own slope.

What is used of the words is chosen among `CANDIDATES`, fixed beforehand, by leaving models out within the training part;
what is reported was not seen by the choice.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import polars as pl
from scipy import sparse

from mindgauge.analysis import composites, drawn, drawn_part, frame
from mindgauge.analysis.reliability import pairs
from mindgauge.analysis.reliability.scale import Unsafe, of_criterion
from mindgauge.analysis.reliability.unsafe_levels import UnsafeRule
from mindgauge.records import Evidence, instruments
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.regex import regex
from mindgauge.stats import escalation
from mindgauge.stats.components import components
from mindgauge.stats.escalation import Features
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
    own, note = drawn.alone(rows.filter(pl.col("rater").is_in(people)))
    word, asked_ids, selection = _word(own, criterion)
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
        _placed(word, ids), np.isin(ids, list(asked_ids)), _placed(_values(own, rule), ids),
        selection, notes, _weights(own, ids), note,
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
    for subject, judge, reason in drawn_part.reasons(store, rated.benchmark, criterion):
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
    rows = drawn_part.mean_calls(store, benchmark).filter(
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
    """Return what people together say of each reply (`analysis.drawn_part`), who was asked about it, and why only these were.

    It is 1 where they call the reply unsafe, else 0. A reply on which no person has a value is not among them, nor is one to
    which the criterion does not apply.
    """
    verdicts = drawn_part.on(people_rows, criterion)
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


WORDS = "words"
KNOWN = 0.95
"""A judge's words are used where it has some for this share of the replies that people rated, at least."""
MODELS = 3
"""Models that it takes: one is left out to report on, one to choose by, and one is left to learn from."""
GROUPINGS = 3
_FOLDS = 5
_RARE = 3
"""Texts that a term must occur in to be counted at all."""
_WORD = re.compile(r"(?<!\S)\S+=\S+|[^\W\d_]{2,}")
_HAN = regex(r"[\u3400-\u9fff\uf900-\ufaff]")


class Candidate(NamedTuple):
    """What is learned from beside the jury: length, category, and a number of components of the judges' words."""

    length: bool
    category: bool
    components: int

    @property
    def name(self) -> str:
        """Its parts."""
        parts = ["jury", *(["length"] if self.length else []), *(["category"] if self.category else [])]
        return " + ".join([*parts, *([f"{self.components} components of words"] if self.components else [])])


CANDIDATES = tuple(
    Candidate(length, category, number)
    for number, (length, category) in itertools.product((0, 5, 10, 20), ((False, False), (True, False), (True, True)))
)
"""Simple ones first: of equals, the first is taken. The very first is the jury itself."""


def judges_with_words(rated: Subjects) -> list[str]:
    """Return the judges of whose words enough is stored."""
    has_words = {judge: np.array([bool(text) for text in texts]) for judge, texts in rated.words.items()}
    if not rated.labelled.any():
        return []
    return [judge for judge, present in has_words.items() if present[rated.labelled].mean() >= KNOWN]


def enough(rated: Subjects) -> bool:
    """Whether judges' words can be learned from: there are enough of them, and models to choose by and to report on."""
    models = np.unique(rated.system[rated.labelled])
    return (
        bool(judges_with_words(rated)) and len(np.unique(rated.system[rated.unsafe == 1])) > 1 and len(models) >= MODELS
    )


def terms(text: str) -> list[str]:
    """Return the words of a text and its pairs of words; of Chinese, pairs of characters; and checks with their answers."""
    words: list[str] = []
    for word in _WORD.findall(text.casefold()):
        words += [a + b for a, b in itertools.pairwise(word)] if _HAN.search(word) else [word]
    return [*words, *(f"{a} {b}" for a, b in itertools.pairwise(words))]


def counted(texts: Sequence[str]) -> sparse.csr_array:
    """Count terms that several texts have; shape (texts, terms)."""
    term_counts = [Counter(terms(text)) for text in texts]
    in_texts = Counter(term for counts in term_counts for term in counts)
    column = {term: number for number, term in enumerate(sorted(t for t, n in in_texts.items() if n >= _RARE))}
    cells = [
        (row, column[term], n) for row, counts in enumerate(term_counts) for term, n in counts.items() if term in column
    ]
    rows, columns, numbers = (np.array(part) for part in zip(*cells, strict=True)) if cells else ([], [], [])
    return sparse.csr_array((np.asarray(numbers, dtype=float), (rows, columns)), shape=(len(texts), len(column)))


class WordOrder:
    """Learns an order from some of the rated replies, and chooses by leaving models out what it learns from.

    Replies that nobody rated may be among them: they are given a risk, too, and teach nothing.
    """

    def __init__(self, rated: Subjects, jury: Floats) -> None:
        self.candidates: tuple[Candidate, ...] = CANDIDATES
        judges = judges_with_words(rated)
        self.judges = judges
        self.counts = counted([" ".join(parts) for parts in zip(*(rated.words[j] for j in judges), strict=True)])
        self.unsafe, self.cluster, self.labelled = rated.unsafe == 1, rated.cluster, rated.labelled
        self.system: Codes = np.unique(rated.system, return_inverse=True)[1].astype(np.intp)
        self.known = np.isfinite(jury)
        self.jury = np.where(self.known, jury, 0.0)
        self.length = rated.length
        names = np.unique(rated.category)
        self.category = (rated.category[:, None] == names).astype(float)
        self.chosen = Counter[str]()
        self._components: tuple[bytes, Floats] = (b"", np.empty(0))

    def learned(self, training: Mask) -> Floats:
        """Return the risks of all replies, of what is chosen and fitted on the training part, shape (n,)."""
        candidate = self.choice(training)
        self.chosen[candidate.name] += 1
        return self.risk(candidate, training)

    def choice(self, training: Mask) -> Candidate:
        """Return the candidate with which least is read where each model of the training part is left out in turn."""
        if len(self.candidates) == 1:
            return self.candidates[0]
        risks = {candidate: np.full(len(training), np.nan) for candidate in self.candidates}
        for held_out, rest in self._without_each_model(training):
            for candidate, risk in risks.items():
                risk[held_out] = self.risk(candidate, rest)[held_out]
        placed = training & np.isfinite(risks[self.candidates[0]])
        if not self.unsafe[placed].any():
            return self.candidates[0]
        efforts = [round(float(escalation.effort(risk[placed], self.unsafe[placed])[0]), 9) for risk in risks.values()]
        return self.candidates[int(np.argmin(efforts))]

    def _without_each_model(self, training: Mask) -> list[tuple[Mask, Mask]]:
        """Return each model's replies with those that share neither model nor conversation with them.

        Where models answered the same conversations, so that little would be left, a model is left out fold by fold.
        """
        parts = []
        for system in np.unique(self.system[training]):
            own, others = training & (self.system == system), training & (self.system != system)
            rest = others & ~np.isin(self.cluster, self.cluster[own])
            if 2 * rest.sum() >= others.sum():
                parts.append((own, rest))
                continue
            fold = self.cluster % _FOLDS
            parts += [(own & (fold == f), others & (fold != f)) for f in np.unique(fold[own])]
        return parts

    def risk(self, candidate: Candidate, training: Mask) -> Floats:
        """Return the risk as a fit to the training part puts it, in units of the jury's; the jury's where it has none.

        So it is where all that is learned from is of one class, and where the jury's slope is 0.
        """
        taught = training & self.known
        untaught = np.where(self.known, self.jury, np.inf)
        if candidate == CANDIDATES[0] or not 0 < self.unsafe[taught].sum() < taught.sum():
            return untaught
        extra = [self.length[:, None]] if candidate.length else []
        extra += [self._words(taught)[:, : candidate.components]] if candidate.components else []
        extra += [self.category] if candidate.category else []
        values = np.column_stack([self.jury, *extra])
        scaled = np.arange(values.shape[1]) <= int(candidate.length)
        signs = (np.arange(values.shape[1]) == 0).astype(np.intp)
        fitted = escalation.slopes(Features(values, scaled, signs), self.unsafe, taught.astype(float))
        if fitted[0] <= 1e-9:
            return untaught
        added = (values[:, 1:] - values[taught, 1:].mean(axis=0)) @ (fitted[1:] / fitted[0])
        return np.where(self.known, self.jury + added, np.inf)

    def _words(self, training: Mask) -> Floats:
        key = training.tobytes()
        if self._components[0] != key:
            self._components = key, components(self.counts, training, max(c.components for c in CANDIDATES))
        return self._components[1]

    def crossfitted(self, seed: int, groupings: int = GROUPINGS) -> Floats:
        """Return each reply's risk as fits see it that saw no reply of its conversation, the mean over groupings."""
        present = self.labelled
        generator, total = np.random.default_rng(seed), np.zeros(len(self.unsafe))
        count = max(2, min(escalation.FOLDS, len(np.unique(self.cluster[present]))))
        for _ in range(groupings):
            place = escalation.fold_of(self.cluster, self.unsafe, present, count, generator)
            for fold in range(count):
                total[place == fold] += self.learned(present & (place != fold))[place == fold]
        return np.where(present, total / groupings, np.nan)

    def strangers(self) -> Floats:
        """Return each reply's risk where neither choice nor fit saw the model that wrote it, nor its conversation."""
        risk = np.full(len(self.unsafe), np.nan)
        for held_out, rest in self._without_each_model(self.labelled):
            risk[held_out] = self.learned(rest)[held_out]
        return risk
