"""Variants, readings, criteria that apply to some samples, and what a judge is shown, from end to end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import mindgauge
from mindgauge.analysis import frame
from mindgauge.analysis.rating_part import RatingPart
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks import Benchmark, registry
from mindgauge.benchmarks.metrics import STATUS_RATES, accuracy, mean_level, share_of
from mindgauge.raters.rule import RuleCriterion
from mindgauge.records.rubric import Criterion, Level, Scale
from mindgauge.records.rubric.composite import Composite, CompositeRule
from mindgauge.store import Store
from tests.cards import CARD
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from aiohttp import web

    from mindgauge.records import Sample

HEAD = 'id = "r"\nversion = "1"\nsource = "ours"\n'
TWO_LETTERS = (
    HEAD
    + """
[[criteria]]
name = "feeling"
text.en = "The feeling."
scale = "nominal"
options = "options.feeling"
levels = [{ value = "A" }, { value = "B" }, { value = "C" }]
[[criteria]]
name = "cause"
text.en = "The cause."
scale = "nominal"
options = "options.cause"
applies.cause = ["asked"]
levels = [{ value = "A" }, { value = "B" }, { value = "C" }]
"""
)
KIND = (
    HEAD
    + """
[[criteria]]
name = "kind"
text.en = "The kind."
scale = "ordinal"
levels = [{ value = 1, text.en = "low" }, { value = 2, text.en = "mid" }, { value = 3, text.en = "high" }]
[[criteria]]
name = "safe"
text.en = "The safe."
scale = "ordinal"
levels = [{ value = "no", text.en = "no" }, { value = "yes", text.en = "yes" }]
"""
)
ASK = "Which?\n{rubric}\n{form}\n{nonce}\n{dialogue}"
JUDGE = "Judge.\n{rubric}\n{form}\n{nonce}\n{dialogue}\n{reply}"


def folder(tmp_path: Path, rubric: str, prompt: str, text: str, *rows: dict[str, Any]) -> Path:
    found = tmp_path / "task"
    found.mkdir()
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    for name, content in (("card.toml", CARD), ("rubric.toml", rubric), (prompt, text), ("samples.jsonl", lines)):
        (found / name).write_text(content, encoding="utf-8")
    return found


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def known(monkeypatch: pytest.MonkeyPatch, benchmark: Benchmark) -> Benchmark:
    monkeypatch.setattr(registry, "_known", lambda: registry._Known({benchmark.name: benchmark}, {}))
    return benchmark


def louder(samples: list[Sample]) -> list[Sample]:
    made = []
    for sample in samples:
        loud = tuple(m.__class__(m.role, m.content.upper()) for m in sample.messages)
        made += [sample.variant(sample.messages), sample.variant(loud, voice="loud")]
    return made


def test_lettered_options_are_cut_and_each_criterion_has_its_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = {"language": "en", "options.feeling": "2"}
    benchmark = known(
        monkeypatch,
        Benchmark.from_folder(
            folder(
                tmp_path, TWO_LETTERS, "ask.en.md", ASK,
                {"messages": said("one"), "target": "A",
                 "tags": {**tags, "options.cause": "3", "cause": "asked", "target.cause": "C"}},
                {"messages": said("two"), "target": "B",
                 "tags": {**tags, "options.cause": "3", "cause": "asked", "target.cause": "A"}},
                {"messages": said("three"), "target": "A", "tags": tags},
            ),
            read=lambda _: [],
            metrics=(accuracy, *STATUS_RATES),
            composites={"both": Composite(("feeling", "cause"), CompositeRule.RIGHT)},
        ),
    )  # fmt: skip
    asked = []

    def answer(body: dict[str, Any], _: int) -> web.StreamResponse:
        asked.append(body["response_format"]["json_schema"]["schema"]["properties"])
        return says(json.dumps({"quotes": [], "rationale": "", "feeling": "A", "cause": "C"}))

    with Stub(answer) as stub:
        found = mindgauge.run(benchmark.name, model=stub.model, out=tmp_path / "run")
    assert isinstance(found, Scores)
    assert {tuple(one["feeling"]["enum"]) for one in asked} == {("A", "B")}
    assert sorted(tuple(one["cause"]["enum"]) for one in asked if "cause" in one) == [("A", "B", "C")] * 2
    values = {m.criterion: (m.value, m.n) for m in found.find("accuracy")}
    assert values == {"feeling": (2 / 3, 3), "cause": (1 / 2, 2), "both": (1 / 2, 2)}
    with Store(tmp_path / "run") as store:
        gold = {(r.criterion, r.value) for r in store.ratings(benchmark.name) if r.rater == "gold"}
    assert gold == {("feeling", "A"), ("feeling", "B"), ("cause", "C"), ("cause", "A")}


def test_targets_that_differ_from_criterion_to_criterion_are_no_contradiction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"messages": said(f"{n}"), "target": "A", "tags": {"language": "en", "cause": "asked", "target.cause": "C"}}
        for n in range(3)
    ]
    benchmark = known(
        monkeypatch,
        Benchmark.from_folder(
            folder(tmp_path, TWO_LETTERS, "ask.en.md", ASK, *rows), read=lambda _: [], metrics=(accuracy,)
        ),
    )
    with Stub(lambda *_: says('{"feeling": "A", "cause": "C"}')) as stub:
        mindgauge.run(benchmark.name, model=[f"{stub.url}#a", f"{stub.url}#b"], out=tmp_path / "run")
    found = mindgauge.compare([tmp_path / "run"])
    assert not any("another target" in note for note in found.notes)
    assert {(m.criterion, standing.n) for m in found.measures for standing in m.standings} == {
        ("feeling", 3),
        ("cause", 3),
    }


def test_an_answer_missing_on_one_of_two_parts_is_wrong_on_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = {"language": "en", "cause": "asked", "target.cause": "C"}
    benchmark = known(
        monkeypatch,
        Benchmark.from_folder(
            folder(tmp_path, TWO_LETTERS, "ask.en.md", ASK, {"messages": said("one"), "target": "A", "tags": tags}),
            read=lambda _: [],
            metrics=(accuracy,),
            composites={"both": Composite(("feeling", "cause"), CompositeRule.RIGHT)},
        ),
    )
    with Stub(lambda *_: says('{"feeling": "A", "cause": "Z"}')) as stub:
        found = mindgauge.run(benchmark.name, model=stub.model, out=tmp_path / "run")
    assert isinstance(found, Scores)
    both = found.find("accuracy", criterion="both")[0]
    assert (both.value, both.n, both.missing) == (0.0, 1, 1)


def test_a_judge_sees_the_base_s_dialogue_and_the_part_of_the_reply_that_it_is_to_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ({"messages": said(f"quiet {n}"), "tags": {"language": "en", "voice": "none"}} for n in range(3))
    loud = Criterion("shouts", Scale.NOMINAL, (Level("no"), Level("yes")), applies={"voice": ("loud",)})
    benchmark = known(
        monkeypatch,
        Benchmark.from_folder(
            folder(tmp_path, KIND, "judge.en.md", JUDGE, *rows),
            read=lambda _: [],
            metrics=(mean_level, share_of("yes"), *STATUS_RATES),
            variants=louder,
            judged_on="base",
            judged_part=lambda text: text.partition("because ")[2] or None,
            readings=(RuleCriterion(loud, lambda sample, text: "yes" if sample.messages[0].content in text else None),),
            composites={"quality": Composite(("kind", "safe"), CompositeRule.SHARE)},
            slices=("voice",),
            metric_tags=("base", "voice"),
        ),
    )
    judged = []

    def answer(body: dict[str, Any], _: int) -> web.StreamResponse:
        text = words(body)
        if "response_format" in body:
            judged.append(text)
            return says(json.dumps({"quotes": [], "rationale": "", "kind": 2, "safe": "yes"}))
        return says("nothing" if text == "QUIET 1" else f"{text} because I say so")

    with Stub(answer) as stub:
        found = mindgauge.run(benchmark.name, model=stub.model, judge=stub.judge, out=tmp_path / "run")
        assert isinstance(found, Scores)
        calls = stub.calls
        mindgauge.run(benchmark.name, model=stub.model, judge=stub.judge, out=tmp_path / "run")
        assert stub.calls == calls, "nothing is asked or read twice"
    assert len(judged) == 3, "equal dialogues with equal parts of replies are one call"
    assert all("QUIET" not in text and "I say so" in text for text in judged)
    (quality,) = found.find("mean", criterion="quality")
    assert (quality.value, quality.n, quality.missing) == (0.75, 6, 1)
    (shouts,) = found.find("share_yes", criterion="shouts")
    assert (shouts.value, shouts.n, shouts.missing) == (1.0, 3, 1)
    assert found.judges == [stub.judge], "what is read by rule is not a judge's"
    with Store(tmp_path / "run") as store:
        rows_ = frame.ratings(store, benchmark)
        kind = RatingPart.of(rows_.filter(rows_["criterion"] == "kind"))
        table = kind.table(benchmark.rubric.criteria[0], benchmark.metric_tags)
    assert sorted(table.tags["voice"]) == ["loud"] * 3 + ["none"] * 3
    assert len({*table.tags["base"]}) == 3
