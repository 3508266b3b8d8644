"""The five dimensions on five points: a variant of the rubric by name, with the samples of the benchmark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks import standalone_rubric
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.records.errors import RubricError, UsageError
from mindgauge.store import Store
from tests.benchmarks.psycrisis.conftest import DIMENSIONS
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

VARIANT = "psycrisis/likert"
NAME = "psycrisis_likert"


def answered(body: dict[str, Any], count: int) -> web.Response:
    """Answer as the model under test; as a judge who gives every dimension 3 and 4 in turn."""
    if body["model"] != "judge":
        return says("I hear how heavy this is. Who could sit with you tonight?")
    levels = dict.fromkeys(DIMENSIONS, 3 + count % 2)
    return says(json.dumps({"quotes": [], "rationale": "r", **levels}))


def test_the_rubric_has_the_five_dimensions_on_five_points_in_both_languages() -> None:
    likert, binary = standalone_rubric.alone(VARIANT), benchmarks.find_one("psycrisis").rubric
    assert [criterion.name for criterion in likert.rubric.criteria] == list(DIMENSIONS)
    for criterion in likert.rubric.criteria:
        assert criterion.values == (1, 2, 3, 4, 5)
        assert all({*level.text} == {"en", "zh"} for level in criterion.levels)
        ours = next(c for c in binary.criteria if c.name == criterion.name)
        assert {*criterion.aliases} <= {*ours.aliases}
        assert criterion.not_applicable == ours.not_applicable


def test_models_are_asked_our_messages_and_judged_on_five_points(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with Stub(answered) as stub:
        scores = mindgauge.run(rubric=VARIANT, model=stub.model, judge=stub.judge, judge_runs=2, limit=8, out=run)
    assert isinstance(scores, Scores)
    bodies = [body for body in stub.bodies if body["model"] == "judge" and "response_format" in body]
    assert len(bodies) == 8 * 2
    for body in bodies:
        properties = body["response_format"]["json_schema"]["schema"]["properties"]
        assert all(properties[name]["enum"][:5] == [1, 2, 3, 4, 5] for name in DIMENSIONS)
    assert any("此人" in words(body) for body in bodies), "Chinese messages are judged by Chinese words"
    whole = {(s.criterion, s.name): s for s in scores.metrics if s.slice == "all"}
    assert all(3 <= (whole[name, "mean"].value or 0) <= 4 for name in DIMENSIONS)
    assert (NAME, "fleiss_kappa") in {(s.benchmark, s.name) for s in scores.metrics}, "repeats are held together"
    with Store(run, write=True) as store:
        for reply in [*store.replies(NAME)]:
            for place, person in enumerate(("ana", "ben")):
                store.add_rating(
                    NAME,
                    Rating(
                        reply.id, "empathy", person, RaterKind.PERSON, 0, Status.OK, 3 + place, instrument=f"{NAME}@1"
                    ),
                )
    card = next(card for card in mindgauge.reliability(run, resamples=100).cards if card.criterion == "empathy")
    assert (card.reference, card.scale, card.n) == ("ana, ben", [1, 2, 3, 4, 5], 8)
    assert NAME in (mindgauge.report(run).path.read_text(encoding="utf-8"))


def test_replies_of_a_file_are_judged_on_both_scales(tmp_path: Path) -> None:
    file = tmp_path / "replies.csv"
    file.write_text("user,reply\n我觉得活着没有意思。,我在听。\n", encoding="utf-8")
    with Stub(answered) as stub:
        scores = mindgauge.rate(rubric=VARIANT, replies=file, judge=stub.judge, out=tmp_path / "rated")
    assert isinstance(scores, Scores)
    assert {s.benchmark for s in scores.metrics} == {NAME}


def test_a_variant_may_be_named_with_its_benchmark_and_with_no_other(tmp_path: Path) -> None:
    alone, named = (standalone_rubric.all_asked(names, VARIANT) for names in ([], ["psycrisis"]))
    assert [b.name for b in named] == [b.name for b in alone] == [NAME]
    assert standalone_rubric.asked("psycrisis", VARIANT, None, {}).name == NAME
    with Stub(answered) as stub:
        scores = mindgauge.run("psycrisis", rubric=VARIANT, model=stub.model, limit=2, out=tmp_path / "run")
    assert isinstance(scores, Scores)
    assert scores.run == str(tmp_path / "run")
    for names in (["trustmh/ethics"], ["psycrisis", "mentalbench"]):
        with pytest.raises(UsageError, match=f"--rubric stands alone: leave out {', '.join(names)}"):
            standalone_rubric.all_asked(names, VARIANT)


def test_a_file_of_the_users_goes_before_a_variant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "psycrisis").mkdir()
    (tmp_path / "psycrisis" / "likert").write_text("no rubric", encoding="utf-8")
    with pytest.raises(RubricError, match="likert"):
        standalone_rubric.alone(VARIANT)
    with pytest.raises(RubricError, match="psycrisis/pairwise"):
        standalone_rubric.alone("psycrisis/pairwise")
