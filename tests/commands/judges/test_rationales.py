"""Judges' reasons: planted faults are counted as what they are, and people rate them in an annotation project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.rationales import reasons
from mindgauge.annotation.project import Annotation
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.records.errors import UsageError
from mindgauge.store import Store
from tests.commands.judges.forms import chain, judged

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.rationales import Rationales
    from mindgauge.benchmarks import Benchmark


def of(run: Path, criterion: str) -> Rationales:
    with Store(run) as store:
        (found,) = (r for r in reasons(store, benchmarks.find_one("care"))[0] if r.criterion == criterion)
    return found


def test_planted_faults_are_counted_as_what_they_are(care: Benchmark, tmp_path: Path) -> None:
    def said(number: int) -> str:
        asks: dict[str, Any] = {"value": "no", "quotes": []}
        if number < 3:  # contradicts itself: no question, and yet it asks
            asks = {"value": "yes", "quotes": ["I hear you"]}
        elif number < 5:  # claims what it cannot show
            asks = {
                "value": "yes",
                "checks": {"question": "yes"},
                "quotes": ["How are you tonight?"],
                "uncertain": True,
            }
        elif number < 9:
            asks = {"value": "yes", "checks": {"question": "yes"}, "quotes": ["I feel low"]}
        return chain({"value": 2, "rationale": "它说了这句话。" if number == 0 else "it says so"}, asks)

    run = judged(tmp_path, said)
    asks, warmth = of(run, "asks"), of(run, "warmth")
    assert (asks.n, asks.clusters, asks.absent) == (24, 12, 6)
    assert asks.traceable.value == pytest.approx(7 / 9)
    assert asks.quoted_reply.value == pytest.approx(3 / 7), "of those with a found quote; the others quote the dialogue"
    assert asks.contradicting.value == pytest.approx(3 / 12)
    assert asks.contradicting.low == pytest.approx(0.0549, abs=1e-4), "Clopper-Pearson for 3 of 12 conversations"
    assert asks.unsupported.value == pytest.approx(2 / 6)
    assert asks.uncertain.value == pytest.approx(2 / 12)
    assert (warmth.traceable.value, warmth.answered_elsewhere) == (1, 2)
    assert warmth.contradicting.note == "no chain of reasoning", "it has no checks"


def test_people_rate_reasons_in_an_annotation_project_and_see_no_judge(care: Benchmark, tmp_path: Path) -> None:
    run = judged(tmp_path, lambda n: chain({"value": 1 + n % 3, "rationale": "it shows warmth"}, {"value": "no"}))
    project = tmp_path / "project"
    made = mindgauge.annotate_new(project, items=run, rubric="rationales", annotators=["Ana", "Ben"], training=0)
    assert (made.rubric, made.items) == ("rationales@1", 48)
    with Annotation.open(project) as annotation:
        items = annotation.items()
    shown = " ".join(item.reply for item in items)
    assert "warmth: 2\n> I hear you\nit shows warmth" in shown
    assert "asks: no\nquestion: no\n> I hear you\nit says so" in shown
    assert "secret-model" not in str(items)
    with Store(project, write=True) as store:
        for reply in store.replies("rationales"):
            assert reply.model == "secret-model (chain)"
            for person, value in (("Ana", 4), ("Ben", 5)):
                store.add_rating("rationales", Rating(
                    reply.id, "traceability", person, RaterKind.PERSON, 0, Status.OK, value, instrument="rationales@1",
                ))  # fmt: skip
    means = {s.rater: s.value for s in mindgauge.score(project).metrics if s.name == "mean" and s.value is not None}
    assert (means["Ana"], means["Ben"]) == (4, 5), "by judge, as the model whose replies the reasons are"


def test_reasons_are_of_a_run_in_which_a_judge_gave_some(care: Benchmark, tmp_path: Path) -> None:
    how: dict[str, Any] = {"rubric": "rationales", "annotators": ["Ana"]}
    with pytest.raises(
        UsageError, match="--rubric rationales asks about the reasons of judges; name their run with --items"
    ):
        mindgauge.annotate_new(tmp_path / "p", items=tmp_path / "no.csv", **how)
    run = judged(tmp_path, lambda n: chain({"value": 1}, {"value": "no"}))
    with Store(run, write=True) as store:
        for rating in list(store.ratings("care")):
            store.add_rating("care", structs.replace(rating, rationale=""))
    with pytest.raises(UsageError, match="no judge gave reasons here"):
        mindgauge.annotate_new(tmp_path / "p", items=run, **how)


def test_the_reliability_card_says_how_far_reasons_can_be_checked(care: Benchmark, tmp_path: Path) -> None:
    asks = {"checks": {"question": "yes"}, "value": "no", "quotes": ["never said"]}
    folder = judged(tmp_path, lambda n: chain({"value": 1 + n % 3}, asks))
    with Store(folder, write=True) as store:
        for rating in list(store.ratings("care")):
            store.add_rating("care", structs.replace(rating, rater="p", rater_kind=RaterKind.PERSON, provenance={}))
    cards = {card.criterion: card for card in mindgauge.reliability(folder).cards}
    assert cards["asks"].estimates["rationale_contradicting"].value == 1
    assert cards["asks"].estimates["rationale_traceable"].value == 0
    assert cards["warmth"].estimates["rationale_traceable"].value == 1
    assert "rationale_contradicting" not in cards["warmth"].estimates, "no chain"
