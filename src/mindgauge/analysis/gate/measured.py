"""What a gate looks at: the ratings of a run's systems, what else is known of the run, and which judges a policy trusts."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis import compare, scoring_views, stock
from mindgauge.analysis.gate.outcome import GateOutcome, RuleFinding
from mindgauge.analysis.rating_part import RatingPart
from mindgauge.analysis.reliability.card import GOOD, LIMITED, MODERATE
from mindgauge.analysis.score import MAJORITY
from mindgauge.benchmarks.anchors import EntryResult
from mindgauge.records import RaterKind
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import count, percent, plural

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mindgauge.analysis.compare import SystemRatings
    from mindgauge.analysis.gate.policy import GateNeeds
    from mindgauge.analysis.score import Scores
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion

_LABEL = re.compile(r"@[\w.+-]+(?= \(|$)")


class GateSide(NamedTuple):
    """The ratings of one side, by benchmark and by what was rated at once; columns as in `SystemRatings`."""

    name: str
    parts: list[SystemRatings]
    notes: list[str]

    def models(self, benchmark: str) -> list[str]:
        """Return its systems on a benchmark."""
        parts = [part for part in self.parts if part.benchmark.name == benchmark]
        return sorted({model for part in parts for model in part.rows["model"].unique()})

    @property
    def benchmarks(self) -> list[str]:
        """The names of its benchmarks."""
        return list(dict.fromkeys(part.benchmark.name for part in self.parts))


class SystemBlock(NamedTuple):
    """Ratings of one system on one criterion and slice, by one rater or, on a closed question, by itself."""

    benchmark: Benchmark
    criterion: str
    rater: str
    kind: str
    model: str
    rows: pl.DataFrame

    @property
    def instruments(self) -> set[str]:
        """What the rater worked with."""
        return set(self.rows["instrument"].drop_nulls())


def read(folder: Path) -> GateSide:
    """Read the side of a run.

    Raises:
        UsageError: there is no run in the folder.
    """
    parts, _, notes = compare.read_systems([folder], drawn=True)
    return GateSide(str(folder), [part._replace(rows=_asked_for(part)) for part in parts], notes)


def _asked_for(part: SystemRatings) -> pl.DataFrame:
    """Leave out constant raters, and what is said of stock replies unasked: no policy names it, and a side may have none."""
    raters = [*scoring_views.baseline_names(part.benchmark), stock.RATER]
    return part.rows.filter(pl.col("run_number") != compare.NO_RUN, ~pl.col("rater").is_in(raters))


def blocks(
    part: SystemRatings, slice_: str, *, criterion: str = "", rater: str = "", model: str = ""
) -> list[SystemBlock]:
    """Return the ratings on one slice, each system, criterion and rater apart; what is not named may be any."""
    wanted = [
        pl.col(column) == name
        for column, name in (("criterion", criterion), ("rater", rater), ("model", model))
        if name
    ]
    rows = part.rows.filter(pl.col("rater_kind") != "gold", *wanted)
    cut = scoring_views.slices(part.benchmark, RatingPart.of(rows))
    sliced = next((sliced.rows for name, sliced in cut if name == slice_), rows.clear())
    keys = ["criterion", "rater", "rater_kind", "model"]
    groups = sorted(sliced.group_by(keys), key=lambda group: tuple(map(str, group[0])))
    return [
        SystemBlock(part.benchmark, str(criterion_), str(rater_), str(kind), str(model_), group)
        for (criterion_, rater_, kind, model_), group in groups
    ]


def counterpart(model: str, models: Sequence[str], others: Sequence[str]) -> str:
    """Return which of the other side's systems a system is compared with.

    That of its name, else the one of its name but for the label, which says which build it is; else the only one there is.
    """
    if model in others:
        return model
    builds = [other for other in others if unlabelled(other) == unlabelled(model)]
    if len(builds) == 1:
        return builds[0]
    return others[0] if len(models) == len(others) == 1 else ""


def unlabelled(model: str) -> str:
    """Return a system's name without the label that says which build it is."""
    return _LABEL.sub("", model)


def levels_among(criterion: Criterion, wanted: Iterable[Value]) -> set[str]:
    """Return those of some levels that a criterion has, as ratings hold them."""
    by_form = {_form(value): str(value) for value in criterion.values}
    return {by_form[form] for form in map(_form, wanted) if form in by_form}


def refuse_unknown_levels(title: str, wanted: Iterable[Value], criteria: Sequence[Criterion]) -> None:
    """See that each level is one of some criterion's: one that is written wrongly would never be met.

    Raises:
        UsageError: one is not; the message names those there are.
    """
    known = {_form(value) for criterion in criteria for value in criterion.values}
    unknown = [str(level) for level in wanted if _form(level) not in known]
    if unknown:
        levels = "; ".join(f"{c.name} has {', '.join(map(str, c.values))}" for c in criteria)
        raise UsageError(f"{title}: there is no level {', '.join(unknown)}; {levels}")


def _form(value: Value) -> str:
    """Write a level in one way; a number as a number, however it was given."""
    try:
        return f"{float(value):g}"
    except ValueError:
        return str(value)


JUDGES = {RaterKind.MODEL.value, RaterKind.PANEL.value, RaterKind.CLASSIFIER.value}
_ASKED = {"good": "good", "moderate": "moderate or good"}
_ENOUGH = {"good": {GOOD}, "moderate": {GOOD, MODERATE}, "tested": {GOOD, MODERATE}}


class Build(NamedTuple):
    """A run that is to be released: its ratings, its scores, its benchmarks, and what else is known of it.

    `cards` are the judges' verdicts by benchmark, criterion and judge; `tested` the judges that passed their entry test
    before, each with its instrument; `samples` the hashes of what was asked; `unfinished` what is left to do: in a
    sentence, with the share of its plan that it is.
    """

    side: GateSide
    scores: Scores
    benchmarks: Sequence[Benchmark]
    cards: Mapping[tuple[str, str, str], str]
    tested: Collection[tuple[str, str]]
    samples: Sequence[str]
    unfinished: Sequence[tuple[str, float]]
    asked: int
    """Messages of the run, whatever was said of the replies to them."""
    unused: Mapping[tuple[str, str, str], str] = MappingProxyType({})
    """Benchmark, criterion and judge → why the judge says nothing about the worst level alone."""
    looked_at: Collection[tuple[str, str, str]] = ()
    """Benchmark, criterion and judge: people or an entry test show whether the judge uses the worst level."""


def distrust(needs: GateNeeds, build: Build) -> dict[tuple[str, str, str], str]:
    """Return the judges that are not to be trusted as far as the policy asks: benchmark, criterion and judge → why."""
    reasons = {(unfit.benchmark, unfit.criterion, unfit.judge): unfit.reason for unfit in build.scores.unfit}
    results = {(q.benchmark, q.criterion, q.judge): (q.result, q.reason) for q in build.scores.qualifications}
    for part in build.side.parts:
        if part.benchmark.closed:
            continue
        columns = ("criterion", "rater", "rater_kind", "instrument")
        for criterion, rater, kind, instrument in part.rows.select(columns).unique().sort(columns).iter_rows():
            key = (part.benchmark.name, criterion, rater)
            if kind not in JUDGES or key in reasons:
                continue
            known = (rater, instrument) in build.tested
            doubts = (
                _doubt(
                    needs, build.cards.get((key[0], name, rater), ""), results.get((key[0], name, rater)), known=known
                )
                for name in _parts(part.benchmark, criterion)
            )
            own = build.cards.get(key, "")
            if reason := _says_limited(own) or ("" if own in _enough(needs) else next(filter(None, doubts), "")):
                reasons[key] = reason
    return reasons


def _parts(benchmark: Benchmark, criterion: str) -> Iterator[str]:
    """Yield what is rated of a criterion: itself or, of a composite, all that it follows from."""
    if criterion in benchmark.composites:
        for name in benchmark.composites[criterion].of:
            yield from _parts(benchmark, name)
    else:
        yield criterion


def _enough(needs: GateNeeds) -> set[str]:
    return _ENOUGH.get(needs.judge, set())


def _says_limited(card: str) -> str:
    return "its card says that people must rate" if card == LIMITED else ""


def _doubt(needs: GateNeeds, card: str, test: tuple[str, str] | None, *, known: bool) -> str:
    """Say why a judge is not trusted on a criterion as far as is asked; empty where it is."""
    result, why = test or ("", "")
    if result == EntryResult.FAILED:
        return f"it failed its entry test: {why}"
    if limited := _says_limited(card):
        return limited
    if needs.judge == "any" or card in _enough(needs):
        return ""
    aside = f"its card says {card}" if card else "no people rated beside it"
    if needs.judge != "tested":
        return f"{aside}, and the policy asks for a card that is {_ASKED[needs.judge]}"
    if result == EntryResult.PASSED or (known and not test):
        return ""
    undecided = f"its entry test is undecided: {why} (--qualify takes every reply of known level)"
    return undecided if test else f"{aside}, and it took no entry test (run with --qualify)"


def findings(needs: GateNeeds, build: Build, distrusted: Mapping[tuple[str, str, str], str]) -> list[RuleFinding]:
    """Say what of the needs is not met; one finding that all are, otherwise."""
    result = [
        *(_finding(sentence) for sentence, share in build.unfinished if share > needs.missing),
        *_judges(distrusted),
        *_without_score(build.scores, distrusted),
        *_missing(needs, build.side),
        *_pinned(needs, build),
    ]
    return result or [RuleFinding(outcome=GateOutcome.PASSED, sentence=_met(needs, build.side))]


def _met(needs: GateNeeds, side: GateSide) -> str:
    judge = {"any": "", "tested": "judges are trusted by card or entry test, "}.get(
        needs.judge, "judges' cards suffice, "
    )
    return f"{judge}at most {percent(needs.missing)} of verdicts are missing, the run is complete ({plural(len(side.benchmarks), 'benchmark')})"


def _finding(sentence: str, **facts: object) -> RuleFinding:
    return RuleFinding(outcome=GateOutcome.CANNOT_TELL, sentence=sentence, **facts)  # type: ignore[arg-type]


def _judges(distrusted: Mapping[tuple[str, str, str], str]) -> Iterator[RuleFinding]:
    """Say once of each judge why it is not trusted, with the criteria that this is so on."""
    criteria: dict[tuple[str, str, str], list[str]] = {}
    for (benchmark, criterion, judge), reason in distrusted.items():
        criteria.setdefault((benchmark, judge, reason), []).append(criterion)
    for (benchmark, judge, reason), names in criteria.items():
        yield _finding(f"{judge} on {named(names)}: {reason}", benchmark=benchmark, rater=judge, criterion=names[0])


def _without_score(scores: Scores, distrusted: Mapping[tuple[str, str, str], str]) -> Iterator[RuleFinding]:
    """Say once of each rater and system why there is no score at all: no rule can tell anything of what was left out."""
    criteria: dict[tuple[str, str, str, str], list[str]] = {}
    for score in scores.metrics:
        known = (score.benchmark, score.criterion, score.rater) in distrusted or score.rater.endswith(MAJORITY)
        if score.void and score.slice == "all" and not known:
            criteria.setdefault((score.benchmark, score.model, score.rater, score.void), []).append(score.criterion)
    for (benchmark, model, rater, reason), listed in criteria.items():
        about = f"{rater}, of {model}" if rater != model else model
        names = list(dict.fromkeys(listed))
        yield _finding(f"{about} on {named(names)}: there is no score: {reason}", benchmark=benchmark, rater=rater, model=model, criterion=names[0])  # fmt: skip


def _missing(needs: GateNeeds, side: GateSide) -> Iterator[RuleFinding]:
    for part in side.parts:
        groups = part.rows.group_by("model", "rater", "criterion", maintain_order=True)
        for (model, rater, criterion), rows in sorted(groups, key=lambda group: tuple(map(str, group[0]))):
            missing = rows["value"].null_count()
            if missing > needs.missing * rows.height:
                about = f"{rater}, of {model} on {criterion}" if rater != model else f"{model} on {criterion}"
                yield _finding(
                    f"{about}: {count(missing)} of {count(rows.height)} verdicts are missing, more than {percent(needs.missing)}",
                    benchmark=part.benchmark.name, criterion=str(criterion), rater=str(rater), model=str(model), n=rows.height, missing=missing,
                )  # fmt: skip


def _pinned(needs: GateNeeds, build: Build) -> Iterator[RuleFinding]:
    """Say which instruments and samples are not those that the policy names."""
    if needs.instruments:
        used = sorted({name for part in build.side.parts for name in part.rows["instrument"].drop_nulls().unique()})
        pinned = [text.removesuffix("…") for text in needs.instruments]
        for name in used:
            if not any(part.startswith(text) for part in name.split(", ") for text in pinned):
                yield _finding(
                    f"the instrument {name} is not among those of the policy ({named(needs.instruments, limit=9)})"
                )
    if needs.samples:
        pinned = [text.removesuffix("…") for text in needs.samples]
        for name in build.samples:
            if not any(name.startswith(text) for text in pinned):
                yield _finding(
                    f"this run asked other messages than the policy pins: its {plural(build.asked, 'message')} are the samples {name[:12]}, "
                    f"the policy's are {named([text[:12] for text in needs.samples], limit=9)} (were --data, --limit or --where others?)"
                )
