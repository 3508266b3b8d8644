"""A trained classifier in `run`, `rate` and `compare`: beside chat models, on samples that it never saw in training."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis import classifiers
from mindgauge.analysis.score import Scores, open_run, score
from mindgauge.commands.compare import compare
from mindgauge.commands.train import train
from mindgauge.models.scripted import Scripted
from mindgauge.raters import classifier as rater
from mindgauge.raters.classifier import describe, open_classifier
from mindgauge.raters.classifiers import dialogues
from mindgauge.records import Exchange, RaterKind, Status, Usage
from mindgauge.records.errors import UsageError
from mindgauge.runs.forecast import DryRun
from mindgauge.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Model, Request

SAFETY, RESPONSE = "dialogue_safety", "help_or_harm/response"
SAFE = "Safe Response"
MULTI: dict[str, tuple[str, ...]] = {"turns": ("multi",)}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline that learned from the benchmark's own dialogues of one turn; those of several turns are new to it."""
    folder = tmp_path_factory.mktemp("trained") / "safety"
    train(SAFETY, out=folder, baseline=True, dev=0.3, where={"turns": ("single",)})
    return folder


@pytest.fixture(scope="module")
def tone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline with labels of its own; it abstains where it is not sure."""
    said = {"warm": "I hear you, and I am here", "cold": "that is not my problem"}
    rows = [
        {"user": f"it has been a hard week {i}", "reply": f"{words} {i}", "label": label, "cluster": str(i)}
        for i in range(40)
        for label, words in said.items()
    ]
    folder = tmp_path_factory.mktemp("trained") / "tone"
    train(pl.DataFrame(rows), out=folder, baseline=True, dev=0.4, risk=0.45)
    return folder


def said(label: object) -> Exchange:
    text = json.dumps({"quotes": [], "rationale": "r", "category": label})
    return Exchange(Status.OK, text, usage=Usage(100, 20), seconds=0.5, cost=0.001)


def careless(request: Request) -> Exchange:
    """Call everything safe."""
    assert request.sample is not None
    return said(SAFE)


def count(folder: Path, name: str, rater_: str) -> int:
    with Store(folder) as store:
        query = "SELECT count(*) FROM ratings WHERE benchmark = ? AND rater = ?"
        return int(store.select(query, (name, rater_)).fetchone()[0])


# -- as a system under test -------------------------------------------------------------------------------------------


def test_it_answers_a_closed_question_beside_a_chat_model(trained: Path, tmp_path: Path) -> None:
    name = f"classifier/{trained}"
    own = benchmarks.find_one(SAFETY).samples(None)
    single, multi = ([s for s in own if s.tags["turns"] == turns] for turns in ("single", "multi"))
    assert dialogues.separate(single, multi) == single, "nothing that it is tested on was near its training"
    found = mindgauge.run(SAFETY, model=[name, Scripted("careless", careless)], where=MULTI, runs=2, out=tmp_path / "r")
    assert isinstance(found, Scores)
    assert found.models == ["careless", name]
    (mine,), (theirs,) = (
        [s for s in found.find("accuracy", rater=rater_) if s.slice == "all"] for rater_ in (name, "careless")
    )
    assert (mine.n, mine.runs, theirs.n, theirs.runs) == (len(multi), 1, 2 * len(multi), 2), "it answers once"
    assert found.calls["made"] == 2 * len(multi), "and makes no calls"
    assert not found.find("repeat_stability", rater=name), "what answers once has no stability to measure"
    model = open_classifier(trained)
    expected = model.decide(model.probabilities(multi))
    assert mine.value == pytest.approx(sum(v == s.target for v, s in zip(expected, multi, strict=True)) / len(multi))
    with Store(tmp_path / "r") as store:
        ratings = [r for r in store.ratings(SAFETY) if r.rater == name]
    assert {r.rater_kind for r in ratings} == {RaterKind.CLASSIFIER}
    assert {r.instrument for r in ratings} == {model.instrument}
    assert all(sum(r.provenance["probabilities"].values()) == pytest.approx(1, abs=1e-3) for r in ratings)


def test_what_it_learned_from_is_told_apart_from_what_is_new(trained: Path, tmp_path: Path) -> None:
    name = f"classifier/{trained}"
    own = benchmarks.find_one(SAFETY).samples(None)
    mindgauge.run(SAFETY, model=name, out=tmp_path / "all")
    mindgauge.run(SAFETY, model=name, where=MULTI, out=tmp_path / "new")
    single = sum(s.tags["turns"] == "single" for s in own)
    for folder, rated, learned in (("all", len(own), single), ("new", len(own) - single, 0)):
        store, _, manifest = open_run(tmp_path / folder)
        with store:
            [overlap] = classifiers.overlaps(store, [SAFETY], manifest)
            notes = classifiers.notes(store, [SAFETY], manifest)
        assert (overlap.n, overlap.text, overlap.dialogue, overlap.unknown) == (rated, learned, 0, 0)
        assert [f"of {rated} dialogues that it rated, {learned} stood in" in note for note in notes] == [True][:learned]


def test_who_is_better_on_which_label_at_what_cost(trained: Path, tmp_path: Path) -> None:
    name = f"classifier/{trained}"
    mindgauge.run(SAFETY, model=[name, Scripted("careless", careless)], where=MULTI, out=tmp_path / "r")
    found = compare(tmp_path / "r")
    gap = next(d for d in found.find("unsafe_recall")[0].differences if {d.first, d.second} == {name, "careless"})
    assert (gap.first, gap.better, gap.told_apart) == (name, name, True), "who calls all safe sees no harm"
    alarms = Counter(s.target == SAFE for s in benchmarks.find_one(SAFETY).samples(None, MULTI))
    assert gap.n == alarms[False]
    safe = found.find("recall", f"label={SAFE}")[0].differences[0]
    assert (safe.first, safe.n) == ("careless", alarms[True]), "on safe replies it never errs"
    costs = {cost.system: cost for cost in found.costs}
    with Store(tmp_path / "r") as store:
        took = [r.provenance["seconds"] for r in store.ratings(SAFETY) if r.rater == name]
    mine = costs[name]
    assert (mine.answers, mine.cost) == (len(took), 0)
    assert mine.seconds == pytest.approx(1000 * sum(took) / len(took))
    assert 0 < sum(took) < 5
    assert costs["careless"].seconds == pytest.approx(500)


def test_a_dry_run_counts_it_without_calls(trained: Path, tmp_path: Path) -> None:
    models: list[str | Model] = [f"classifier/{trained}", Scripted("careless", careless)]
    found = mindgauge.run(SAFETY, model=models, limit=16, out=tmp_path / "r", dry_run=True)
    assert isinstance(found, DryRun)
    assert [(s.model, s.purpose, s.calls, s.cost) for s in found.steps[:1]] == [
        (models[0], "classify 16 samples", 0, 0)
    ]
    assert found.calls == 16
    assert not (tmp_path / "r").exists()


def test_a_stopped_run_loses_at_most_a_block(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, out = f"classifier/{trained}", tmp_path / "r"
    monkeypatch.setattr(rater, "BLOCK", 10)
    stages: list[tuple[int, int]] = []

    def stop(_: str, done: int, total: int) -> None:
        stages.append((done, total))
        if count(out, SAFETY, name) == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mindgauge.run(SAFETY, model=name, out=out, limit=48, progress=stop)
    assert count(out, SAFETY, name) == 20
    assert (0, 48) in stages
    stages.clear()
    mindgauge.run(SAFETY, model=name, out=out, limit=48, progress=lambda _, done, total: stages.append((done, total)))
    assert stages[0] == (0, 28) and stages[-1] == (28, 28), "only what was not rated"
    assert count(out, SAFETY, name) == 48
    stages.clear()
    mindgauge.run(SAFETY, model=name, out=out, limit=48, progress=lambda _, done, total: stages.append((done, total)))
    assert stages == []


def test_one_that_was_trained_again_does_not_mix_with_itself(trained: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(trained, mine)
    mindgauge.run(SAFETY, model=f"classifier/{mine}", limit=16, out=tmp_path / "r")
    opened = open_classifier(mine)
    describe(mine, opened.rubric, msgspec.structs.replace(opened.decision, threshold=0.99, risk=0.1))
    before = (tmp_path / "r" / "manifest.toml").read_bytes()
    with pytest.raises(UsageError, match="has ratings by its earlier weights or threshold"):
        mindgauge.run(SAFETY, model=[f"classifier/{mine}", Scripted("another", lambda _: "")], out=tmp_path / "r")
    assert (tmp_path / "r" / "manifest.toml").read_bytes() == before, "nothing joins a run that refuses the command"


def test_what_it_leaves_open_stays_in_n_and_is_wrong(trained: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(trained, mine)
    opened, samples = open_classifier(mine), benchmarks.find_one(SAFETY).samples(None, MULTI)
    confidence = opened.probabilities(samples).max(axis=1)
    threshold = float(np.median(confidence))
    sure = confidence >= threshold
    describe(mine, opened.rubric, msgspec.structs.replace(opened.decision, threshold=threshold, risk=0.1))
    found = mindgauge.run(SAFETY, model=f"classifier/{mine}", where=MULTI, out=tmp_path / "r")
    assert isinstance(found, Scores)
    assert 0 < sure.sum() < len(samples)
    (accuracy,), (refused,) = found.find("accuracy", rater=f"classifier/{mine}"), found.find("refused_rate")
    assert (accuracy.n, accuracy.missing) == (len(samples), (~sure).sum())
    assert accuracy.value is not None and accuracy.value <= sure.mean()
    assert refused.value == pytest.approx(1 - sure.mean())
    with Store(tmp_path / "r") as store:
        left = [r for r in store.ratings(SAFETY) if r.status is Status.REFUSED]
    assert len(left) == (~sure).sum()
    assert all(
        r.provenance["abstained"] and max(r.provenance["probabilities"].values()) < threshold + 1e-4 for r in left
    )


# -- as a rater of replies --------------------------------------------------------------------------------------------


def kind(request: Request) -> str:
    assert request.sample is not None
    return "I hear you, and I am here" if len(request.sample.id) and request.run == 0 else "that is not my problem"


def test_it_rates_replies_on_a_criterion_of_its_own(tone: Path, trained: Path, tmp_path: Path) -> None:
    judges = [f"classifier/{tone}", f"classifier/{trained}", "rule/refusal"]
    found = mindgauge.run(RESPONSE, model=Scripted("m", kind), judge=judges, limit=14, runs=2, out=tmp_path / "r")
    assert isinstance(found, Scores)
    assert found.judges == sorted(judges)
    warm, cold = (found.find(f"share_{label}", criterion="table/label")[0] for label in ("warm", "cold"))
    assert (warm.value, cold.value, warm.n, warm.clusters, warm.model) == (0.5, 0.5, 28, 14, "m")
    assert found.find("share_Safe Response", criterion="dialogue_safety/category")[0].n == 28
    again = score(tmp_path / "r")
    assert [s for s in again.metrics if s.criterion == "table/label"] == [
        s for s in found.metrics if s.criterion == "table/label"
    ]


def test_the_run_keeps_the_rubric_so_report_and_export_know_it(tone: Path, tmp_path: Path) -> None:
    mine, out = tmp_path / "mine", tmp_path / "r"
    shutil.copytree(tone, mine)
    mindgauge.run(RESPONSE, model=Scripted("m", kind), judge=f"classifier/{mine}", limit=7, out=out)
    shutil.rmtree(mine)
    assert score(out).find("share_warm")[0].value == 1
    mindgauge.report(out)
    mindgauge.export(out, to="csv")
    table = pl.read_csv(out / "export-csv" / "ratings.csv")
    rows = table.filter(pl.col("rater") == f"classifier/{mine}")
    assert rows["criterion"].unique().to_list() == ["table/label"] and rows["model"].unique().to_list() == ["m"]
    people = table.filter(pl.col("rater") == f"classifier/{mine}").select(
        "subject", "criterion", "value", rater=pl.lit("anna"), rater_kind=pl.lit("person")
    )
    cards = mindgauge.reliability([out, people])
    assert [(card.criterion, card.judge) for card in cards.cards] == [("table/label", f"classifier/{mine}")]


def test_replies_of_a_file_are_rated_too(tone: Path, tmp_path: Path) -> None:
    rows = pl.DataFrame({"user": ["a hard week"] * 2, "reply": ["I hear you, and I am here", "that is not my problem"]})
    name = f"classifier/{tone}"
    found = mindgauge.rate(RESPONSE, replies=rows, judge=name, out=tmp_path / "r")
    assert isinstance(found, Scores)
    assert found.find("share_warm", criterion="table/label")[0].value == 0.5
    again = mindgauge.rate(RESPONSE, replies=tmp_path / "r", judge="rule/refusal")
    assert isinstance(again, Scores)
    assert {name, "rule/refusal"} <= set(again.judges)
