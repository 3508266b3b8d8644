"""What people label is at once a run: `score`, `reliability`, `audit`, `compare`, `report` and `train` read it as it is."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.ratings import ratings
from mindgauge.commands.annotate.new import annotate_new
from mindgauge.commands.train import Learning, gather
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.records.errors import DataError, UsageError
from mindgauge.store import Store
from tests.annotation.rounds_of_work import everybody_works
from tests.pages import text_of
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.annotation.tasks import Assignment
    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion

RUBRIC = """
id = "warmth"
version = "1"
source = "written for this test"
[[criteria]]
name = "warmth"
scale = "ordinal"
text.en = "How warm is the reply?"
levels = [{value = 1, text.en = "cold"}, {value = 2, text.en = "even"}, {value = 3, text.en = "warm"}]
[[criteria]]
name = "kind"
scale = "nominal"
text.en = "What does it do?"
levels = [{value = "listens", text.en = "it listens"}, {value = "advises", text.en = "it advises"}]
"""
JUDGES = {"openai/judge": 0.05, "other/judge": 0.9}
"""Of each judge, how often it answers by chance."""


def says(person: str, now: Assignment, criterion: Criterion) -> Value | None:
    """Answer by the item, and in the first round now and then by chance."""
    true = random.Random(now.item.subject + criterion.name).choice(criterion.values)
    draw = random.Random(f"{person} {now.phase} {now.item.subject} {criterion.name}")
    return true if draw.random() > 0.25 else draw.choice(criterion.values)


def texts(name: str, count: int) -> list[dict[str, object]]:
    """Write our own texts as the rows of a file of items: those of a closed question, or anchors by two systems."""
    task = benchmarks.find_one(name)
    if task.closed:
        samples = [s for s in task.own_samples() if s.tags["language"] == "en"][:count]
        return [_row(s.messages[:-1], reply=s.messages[-1].content, language="en") for s in samples]
    anchors = [a for a in task.anchors() if a.sample.tags["language"] == "en"][:count]
    return [_row(a.sample.messages, reply=a.reply, model=f"m{k % 2}", **a.sample.tags) for k, a in enumerate(anchors)]


def _row(messages: tuple[object, ...], **columns: str) -> dict[str, object]:
    return {"messages": [{"role": m.role, "content": m.content} for m in messages], **columns}  # type: ignore[attr-defined]


def annotated(folder: Path, texts_of: str, count: int, *, rubric: str = "", gate: float = 0.4) -> Path:
    """Set a project up, let three people label all of it, and put two judges beside them; return the run."""
    items = folder / "items.jsonl"
    items.write_text("".join(json.dumps(row) + "\n" for row in texts(texts_of, count)), encoding="utf-8")
    run = folder / "work"
    if rubric:
        (folder / "own.toml").write_text(rubric, encoding="utf-8")
        asked: dict[str, object] = {"rubric": folder / "own.toml"}
    else:
        asked = {"benchmark": texts_of}
    annotate_new(
        run, items=items, annotators=["ana", "ben", "chi"], adjudicator="dana", batch=count, gate=gate, training=0,
        **asked,  # type: ignore[arg-type]
    )  # fmt: skip
    with Annotation.open(run) as a:
        everybody_works(a, says)
        gold = sorted(
            (rating for rating in ratings(a) if rating.rater == "people"), key=lambda one: (one.subject, one.criterion)
        )
        criteria = {criterion.name: criterion for criterion in a.rubric().criteria}
    assert gold
    with Store(run, write=True) as store:
        name = mindgauge.score(run).benchmark
        for judge, noise in JUDGES.items():
            draw = random.Random(judge)
            for rating in gold:
                by_chance = rating.value is None or draw.random() < noise
                value = draw.choice(criteria[rating.criterion].values) if by_chance else rating.value
                put = Rating(rating.subject, rating.criterion, judge, RaterKind.MODEL, 0, Status.OK, value)
                store.add_rating(name, put)
    return run


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return annotated(tmp_path_factory.mktemp("closed"), "dialogue_safety", 30, gate=0.95)


@pytest.fixture(scope="module", params=["help_or_harm/response", later("mentalbench")])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return annotated(tmp_path_factory.mktemp("open"), request.param, 24, gate=0.0)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return annotated(tmp_path_factory.mktemp("alone"), "mentalbench", 24, rubric=RUBRIC)


def test_reliability_shows_a_stored_judge_against_people(closed: Path, opened: Path, alone: Path) -> None:
    for run in (closed, opened, alone):
        found = mindgauge.reliability(run, resamples=100)
        for card in found.cards:
            assert card.judge in JUDGES
            assert card.reference == "ana, ben, chi"
        agreed = {(card.judge, card.criterion): card.estimates["alpha"].value for card in found.cards}
        for criterion in {card.criterion for card in found.cards}:
            near, far = (agreed[judge, criterion] for judge in JUDGES)
            assert near is not None
            assert far is not None
            assert near > far


def test_a_closed_question_is_scored_by_the_peoples_gold(closed: Path) -> None:
    scores = mindgauge.score(closed, resamples=100)
    with Store(closed) as store:
        gold = {r.subject: r.value for r in store.ratings("dialogue_safety") if r.rater == "people"}
        answers = {r.subject: r.value for r in store.ratings("dialogue_safety") if r.rater == "openai/judge"}
    known = [subject for subject, value in gold.items() if value is not None]
    right = sum(answers[subject] == gold[subject] for subject in known) / len(known)
    (accuracy,) = scores.find("accuracy", model="openai/judge")
    assert accuracy.value == pytest.approx(right)
    assert accuracy.n == len(known)
    (ceiling,) = scores.find("fleiss_kappa", model="people")
    assert ceiling.value is not None
    compared = mindgauge.compare([closed], resamples=100)
    assert {system.label for system in compared.systems} >= set(JUDGES)


def test_people_rate_an_open_question_beside_judges(opened: Path, alone: Path) -> None:
    for run in (opened, alone):
        scores = mindgauge.score(run, resamples=100)
        raters = {metric.rater for metric in scores.metrics}
        assert raters == {"ana", "ben", "chi", *JUDGES}
        assert {metric.model for metric in scores.metrics} == {"m0", "m1"}
        assert {measure.rater for measure in mindgauge.compare([run], resamples=100).measures} == raters


def test_a_rubric_of_ones_own_has_the_metrics_that_its_levels_allow(alone: Path) -> None:
    found = {(m.name, m.criterion) for m in mindgauge.score(alone, resamples=100).metrics}
    assert ("mean", "warmth") in found
    assert {("share_listens", "kind"), ("share_advises", "kind")} <= found
    assert ("mean", "kind") not in found


def test_audit_finds_nothing_wrong_with_how_people_stand_in_the_run(closed: Path, opened: Path, alone: Path) -> None:
    for run in (closed, opened, alone):
        found = mindgauge.audit(run)
        assert not [finding for finding in found.findings if finding.severity == "error"]


@pytest.mark.long
def test_the_report_says_who_labelled_and_what_the_gate_said(closed: Path, opened: Path, alone: Path) -> None:
    for run in (closed, opened, alone):
        mindgauge.report(run)
        report = json.loads((run / "report.json").read_text(encoding="utf-8"))
        (told,) = (fact for fact in report["trust"]["general"] if "The gate was" in fact)
        assert told.startswith("ana, ben and chi labelled")
        assert "after the first round" in told
        assert "policy: adjudicated" in told
        assert told in text_of((run / "report.html").read_text(encoding="utf-8"))
        assert ["Labelled by", "ana, ben and chi; dana adjudicated"] in report["how"]["runs"][0]["facts"]


@pytest.mark.long
def test_a_batch_that_failed_its_gate_is_told_as_such(closed: Path, opened: Path) -> None:
    for run, expected in (
        (closed, {"it was not reached", "it was reached after"}),
        (opened, {"it was reached at once"}),
    ):
        with Annotation.open(run) as a:
            passed = [gate.passed for gate in a.gates(1)]
        told = json.loads(_report(run))["trust"]["general"][0]
        known = (
            "it was reached at once" if passed[0] else "it was reached after" if any(passed) else "it was not reached"
        )
        assert known in told
        assert known in expected


def _report(run: Path) -> str:
    mindgauge.report(run)
    return (run / "report.json").read_text(encoding="utf-8")


def test_a_classifier_learns_from_the_gold(closed: Path, tmp_path: Path) -> None:
    found = gather([closed], Learning())
    with Store(closed) as store:
        gold = {r.subject: r.value for r in store.ratings("dialogue_safety") if r.rater == "people"}
    known = {subject: value for subject, value in gold.items() if value is not None}
    assert {sample.id: sample.target for sample in found.train} == known
    assert found.reads == "reply"
    assert found.task is not None
    if len(known) < len(gold):
        assert any(f"{len(gold) - len(known)} left out" in note for note in found.notes)
    trained = mindgauge.train(closed, out=tmp_path / "learned", baseline=True, dev=0.2)
    assert any("rater people" in note for note in trained.notes)
    assert (tmp_path / "learned" / "classifier.toml").is_file()


def test_it_learns_from_replies_on_the_criterion_that_is_named(opened: Path, alone: Path) -> None:
    for run, criterion in ((opened, None), (alone, "kind")):
        name = criterion or ("empathy" if "mentalbench" in mindgauge.score(run).benchmark else "appropriateness")
        found = gather([run], Learning(criterion=name))
        with Store(run) as store:
            task = mindgauge.score(run).benchmark
            gold = {r.subject: r.value for r in store.ratings(task) if r.rater == "people" and r.criterion == name}
            replies = {reply.id: reply.text for reply in store.replies(task)}
        assert {s.id: s.target for s in found.train} == {i: v for i, v in gold.items() if v is not None}
        assert all(s.messages[-1].content == replies[s.id] for s in found.train)


def test_what_a_run_cannot_be_asked_in_training_is_refused(closed: Path, alone: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--where and --labels-from go by the tags"):
        gather([closed], Learning(where={"language": ("en",)}))
    with pytest.raises(UsageError, match="several criteria"):
        gather([alone], Learning())
    items = tmp_path / "items.jsonl"
    items.write_text("".join(json.dumps(row) + "\n" for row in texts("mentalbench", 4)), encoding="utf-8")
    run = tmp_path / "work"
    annotate_new(run, items=items, annotators=["ana", "ben"], benchmark="mentalbench", training=0)
    with pytest.raises(DataError, match="nothing here has a label on empathy"):
        gather([run], Learning(criterion="empathy"))
