"""What is worst stands first, in the order of levels and never of their numbers: over every criterion of every benchmark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from mindgauge import benchmarks
from mindgauge.analysis import drawn_part, frame, scoring_views
from mindgauge.analysis.escalation import subjects
from mindgauge.analysis.escalation.review import queue
from mindgauge.analysis.jury.jury import Bench, JuryMethod, verdicts
from mindgauge.analysis.profile.records import _valued, criteria_of
from mindgauge.analysis.reliability.scale import of_criterion
from mindgauge.records import RaterKind, Rating, Reply, Status
from mindgauge.records.rubric import Scale
from mindgauge.records.rubric.criterion import better, numbers_of_levels, rising, shares
from mindgauge.reports import read_first, system_findings
from mindgauge.reports.content import System
from mindgauge.reports.profile.section import _worst
from mindgauge.reports.runs import Section
from mindgauge.store import Store, manifest
from tests.thinned import sampled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rubric import Criterion

ALL = [b for b in map(benchmarks.find_one, benchmarks.names()) if b.persons is None]
"""Dialogues stand in a section of their own (`tests/reports/test_dialogues.py`)."""
CRITERIA = [(b, c) for b in ALL for c in criteria_of(b).values() if c.scale is Scale.ORDINAL or c.unsafe]
RATED = [(b, c) for b, c in CRITERIA if c in b.rubric.criteria]
OPEN = [(b, c) for b, c in RATED if not b.closed and not {"client", "dialogue"} & {*c.applies.get("unit", ())}]
FEW = 12
MODEL, JUDGE = "acme/model", "other/judge"


def ids(value: object) -> str:
    return str(getattr(value, "name", value))


def each(pairs: list[tuple[Benchmark, Criterion]]) -> pytest.MarkDecorator:
    """Test some criteria, and all in the long form; where few are concerned, all."""
    return pytest.mark.parametrize(
        ("benchmark", "criterion"), pairs if len(pairs) < FEW else sampled(pairs, 3), ids=ids
    )


def ends(criterion: Criterion) -> tuple[Any, Any]:
    """Return a worst and a best value: of classes one that is unsafe, and one that is not."""
    if criterion.scale is Scale.ORDINAL:
        return criterion.worst_first[0], criterion.worst_first[-1]
    return criterion.unsafe[0], next(value for value in criterion.values if value not in criterion.unsafe)


class Planted:
    """A run in which two replies (of a closed question: samples) stand at the ends of each criterion, rated on it alone."""

    def __init__(self, folder: Path, benchmark: Benchmark, raters: dict[str, RaterKind]) -> None:
        self.benchmark = benchmark
        self.at: dict[str, tuple[str, str]] = {}
        with Store(folder, write=True) as store:
            manifest.begin(folder, {"benchmarks": [benchmark.name], "models": [MODEL]}, "")
            self._plant(store, raters)
        self.store = Store(folder)

    def _plant(self, store: Store, raters: dict[str, RaterKind]) -> None:
        benchmark = self.benchmark
        samples = benchmark.samples(None)
        store.put_samples(benchmark.name, samples)
        rest = iter(samples)
        for number, criterion in enumerate(c for b, c in RATED if b.name == benchmark.name):
            found = []
            for value in ends(criterion):
                if benchmark.closed:
                    subject = next(rest).id
                else:
                    reply = Reply.of(samples[0].id, MODEL, 0, Status.OK, f"An invented reply: {number}, {value}.")
                    store.add_reply(benchmark.name, reply)
                    subject = reply.id
                for rater, kind in raters.items():
                    store.add_rating(benchmark.name, Rating(subject, criterion.name, rater, kind, 0, Status.OK, value))
                found.append(subject)
            self.at[criterion.name] = (found[0], found[1])

    @property
    def section(self) -> Section:
        ratings, replies = frame.ratings(self.store, self.benchmark), frame.replies(self.store, self.benchmark)
        return Section(0, self.benchmark, ratings, replies, drawn_part.mean_calls(self.store, self.benchmark))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Planted]]:
    root = tmp_path_factory.mktemp("judged")
    planted = {b.name: Planted(root / b.name, b, {JUDGE: RaterKind.MODEL}) for b in ALL}
    yield planted
    for run in planted.values():
        run.store.close()


@pytest.fixture(scope="module")
def read_by_people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Planted]]:
    root = tmp_path_factory.mktemp("people")
    raters = {"Anna": RaterKind.PERSON, "Bea": RaterKind.PERSON, JUDGE: RaterKind.MODEL}
    planted = {b.name: Planted(root / b.name, b, raters) for b in ALL if not b.closed}
    yield planted
    for run in planted.values():
        run.store.close()


@each(CRITERIA)
def test_each_level_stands_between_the_worst_and_the_best(benchmark: Benchmark, criterion: Criterion) -> None:
    placed = shares(criterion)
    low, high = ends(criterion)
    assert (placed[low], placed[high]) == (0, 1)
    if criterion.scale is Scale.ORDINAL:
        assert [placed[value] for value in criterion.worst_first] == sorted(placed.values())
        assert len(set(placed.values())) == len(criterion.values)
    column = pl.DataFrame({"value": [str(value) for value in criterion.values]}).select(frame.share(criterion))
    assert column.to_series().to_list() == pytest.approx([placed[value] for value in criterion.values])
    assert all(placed[value] < placed[high] for value in criterion.unsafe)


@each([(b, c) for b, c in CRITERIA if c.scale is Scale.ORDINAL])
def test_a_mean_s_direction_is_its_criterion_s(benchmark: Benchmark, criterion: Criterion) -> None:
    low, high = (numbers_of_levels(criterion)[end] for end in ends(criterion))
    assert better(criterion) == ("higher" if high > low else "lower")
    question = scoring_views.find(benchmark, criterion.name, "model")
    means = [] if question is None else [m for m in question.metrics if m.of_level]
    assert all(metric.better == better(criterion) for metric in means)


@each(OPEN)
def test_the_report_s_list_of_the_worst(benchmark: Benchmark, criterion: Criterion, judged: dict[str, Planted]) -> None:
    run: Any = SimpleNamespace(sections=[judged[benchmark.name].section], scores=SimpleNamespace(unfit=[]))
    rated = read_first._rated([run])
    lowest = rated.sort("mean", "later", "subject")["subject"].to_list()
    low, high = judged[benchmark.name].at[criterion.name]
    assert lowest.index(low) < lowest.index(high)
    means = dict(rated.select("subject", "mean").iter_rows())
    assert (means[low], means[high]) == (0, 1)
    assert dict(rated.select("subject", "against").iter_rows())[low] == float(criterion.veto)


@each(RATED)
def test_the_review_list(benchmark: Benchmark, criterion: Criterion, judged: dict[str, Planted]) -> None:
    listed = [entry.subject for entry in queue(judged[benchmark.name].store, benchmark)[0]]
    low, high = judged[benchmark.name].at[criterion.name]
    assert listed.index(low) < listed.index(high)


@each(OPEN)
def test_a_profile_s_example_is_the_worst(
    benchmark: Benchmark, criterion: Criterion, judged: dict[str, Planted]
) -> None:
    score = SimpleNamespace(model=MODEL, rater=JUDGE, criterion=criterion.name)
    section = judged[benchmark.name].section
    assert _worst(section, score) == judged[benchmark.name].at[criterion.name][0]  # type: ignore[arg-type]
    rows = section.ratings.filter(pl.col("criterion") == criterion.name)
    worth = dict(_valued(rows, criterion, closed=False).select("subject", "item_score").iter_rows())
    assert [worth[subject] for subject in judged[benchmark.name].at[criterion.name]] == [0, 1]


@each([(b, c) for b, c in OPEN if c.scale is Scale.ORDINAL])
def test_how_often_the_worst_levels_were_given(
    benchmark: Benchmark, criterion: Criterion, judged: dict[str, Planted]
) -> None:
    standings: Any = SimpleNamespace(not_estimable=lambda _: False)
    judging = system_findings._ReplyVerdicts(judged[benchmark.name].section, System(MODEL, MODEL, 0, 0), standings)
    whole: Any = SimpleNamespace(criterion=criterion.name, rater=JUDGE)
    counts = system_findings._counts(judging, whole, criterion, "all")
    assert (counts.n, counts.good, counts.bad, counts.lowest) == (2, 1, 1, 1)
    assert counts.worst[0] == criterion.worst_first[0]


@each([(b, c) for b, c in OPEN if c.unsafe])
def test_what_people_call_unsafe(
    benchmark: Benchmark, criterion: Criterion, read_by_people: dict[str, Planted]
) -> None:
    planted = read_by_people[benchmark.name]
    called = drawn_part.anywhere(planted.section.by_people, {criterion.name: criterion})
    low, high = planted.at[criterion.name]
    assert dict(called.iter_rows()) == {low: True, high: False}


@each([(b, c) for b, c in OPEN if c.unsafe])
def test_a_risk_is_highest_at_the_worst_level(
    benchmark: Benchmark, criterion: Criterion, read_by_people: dict[str, Planted]
) -> None:
    planted = read_by_people[benchmark.name]
    known = subjects.read(planted.store, benchmark, f"{criterion.name}={','.join(map(str, criterion.unsafe))}")
    risk = dict(zip(known.ids, known.judges[JUDGE].tolist(), strict=True))
    bad = dict(zip(known.ids, known.unsafe.tolist(), strict=True))
    assert [risk[subject] for subject in planted.at[criterion.name]] == [1, 0]
    assert [bad[subject] for subject in planted.at[criterion.name]] == [1, 0]


@each([(b, c) for b, c in CRITERIA if c.scale is Scale.ORDINAL])
def test_a_jury_s_minimum_is_the_worst_that_a_member_says(benchmark: Benchmark, criterion: Criterion) -> None:
    scale = of_criterion(criterion)
    worst_, best = (scale.place(str(value)) for value in ends(criterion))
    rows = pl.DataFrame(
        [("r", "r", "", name, "model", 0, "ok", "", place) for name, place in (("a", worst_), ("b", best))],
        {
            "subject": pl.String, "cluster": pl.String, "system": pl.String, "rater": pl.String, "rater_kind": pl.String,
            "run": pl.Int64, "status": pl.String, "value": pl.String, "number": pl.Float64,
        },
        orient="row",
    )  # fmt: skip
    bench = Bench.of(rows, ["a", "b"], scale)
    assert verdicts(bench, JuryMethod.MINIMUM)["number"].to_list() == [worst_]
    assert verdicts(bench, JuryMethod.MEDIAN)["number"].to_list() == [worst_], (
        "of an even number the worse of the middle two"
    )


def test_some_criteria_fall_so_that_the_numbers_alone_would_mislead() -> None:
    falling = {f"{b.name}: {c.name}" for b, c in CRITERIA if c.scale is Scale.ORDINAL and not rising(c)}
    assert {
        "trustmh/toxicity: toxicity",
        "trustmh/privacy_leakage: disclosure",
        "trustmh/privacy_awareness: sensitivity",
    } <= falling
