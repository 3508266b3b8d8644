"""Emotional support, the same under noise, and counselling turn by turn: what is asked, what is judged, what comes out."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks.trustmh import trustmh
from mindgauge.benchmarks.trustmh.emotional_support import emotional_support
from mindgauge.records import Message
from mindgauge.records.errors import DataError, MissingDataError
from tests.conftest import obliging
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease
    from mindgauge.records import Sample

SUPPORT, ROBUSTNESS, INTERVENTION = (
    benchmarks.find_one(f"trustmh/{name}") for name in ("emotional_support", "robustness_support", "intervention")
)
CRITERIA = ["understanding", "empathy", "helpfulness", "coherence", "safety"]


def value(found: Scores | Any, name: str, criterion: str, model: str = "", slice_: str = "all") -> float | None:
    assert isinstance(found, Scores)
    (score,) = (
        s
        for s in found.metrics
        if (s.name, s.criterion, s.slice) == (name, criterion, slice_) and model in {"", s.model}
    )
    return score.value


def ends_with_the_person(samples: list[Sample]) -> bool:
    return all(sample.messages[-1].role == "user" for sample in samples)


# -- ESConv -----------------------------------------------------------------------------------------------------------


def test_windows_that_the_supporter_answers_are_drawn_from_every_dialogue(real: TrustMHRelease) -> None:
    found = emotional_support.read(real.folder)
    assert ends_with_the_person(found)
    assert Counter(sample.tags["drawn"] for sample in found) == {"60": 60, "300": 240, "all": 1703}
    assert len({sample.id for sample in found}) == 2003
    drawn = SUPPORT.samples(real.folder)
    assert drawn == emotional_support.read_drawn(real.folder) == found[:300]
    assert len({sample.cluster for sample in drawn}) == len({sample.cluster for sample in found}) == 209
    assert len({sample.cluster for sample in drawn[:60]}) == 60
    assert max(Counter(sample.cluster for sample in drawn).values()) == 2
    assert {sample.tags["drawn"] for sample in SUPPORT.samples(real.folder, {"drawn": ("all",)})} == {"all"}


def test_one_speaker_s_utterances_in_a_row_are_one_message(real: TrustMHRelease) -> None:
    for sample in emotional_support.read(real.folder):
        roles = [message.role for message in sample.messages]
        assert all(one != other for one, other in pairwise(roles))
        assert len(roles) <= 4


def test_people_s_replies_are_loaded_beside_replies_to_another_dialogue(real: TrustMHRelease) -> None:
    found = emotional_support.load(real.folder)
    assert Counter(reply.model for reply in found.replies) == {
        emotional_support.REFERENCE: 300,
        emotional_support.ANOTHER: 300,
    }
    assert found.notes == []
    own = {reply.sample: reply.text for reply in found.replies if reply.model == emotional_support.REFERENCE}
    other = {reply.sample: reply.text for reply in found.replies if reply.model == emotional_support.ANOTHER}
    cluster = {sample.id: sample.cluster for sample in found.samples}
    whose = {own[sample.id]: sample.cluster for sample in found.samples}
    assert all(own[ident] and other[ident] for ident in cluster)
    assert sum(whose[text] != cluster[ident] for ident, text in other.items()) >= 299, "short replies occur twice"


def utterance(dialogue: int, turn: int) -> str:
    return f"what was said {dialogue} {turn}"


@pytest.fixture
def esconv(tmp_path: Path) -> Path:
    """Four dialogues of ours, written as ESConv's windows are, each with one window of five utterances."""
    lines = []
    for dialogue in range(4):
        written = [f"1.0 {turn % 2} {turn} {'[Other] ' * (turn % 2)}{utterance(dialogue, turn)}" for turn in range(6)]
        lines += [" EOS ".join(written[max(0, last - 4) : last + 1]) for last in (1, 3, 5)]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "testWithStrategy_short.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "data"


def test_the_reference_is_not_shown(esconv: Path) -> None:
    found = emotional_support.read(esconv)
    assert len(found) == 4
    dialogues = {sample.cluster: sample for sample in found}
    assert dialogues["esconv-2"].messages == (
        Message("assistant", utterance(2, 1)),
        Message("user", utterance(2, 2)),
        Message("assistant", utterance(2, 3)),
        Message("user", utterance(2, 4)),
    )


def test_a_judge_that_is_any_good_places_the_reference_above_the_reply_to_another_dialogue(
    esconv: Path, tmp_path: Path
) -> None:
    def judge(body: dict[str, Any], _: int) -> Any:
        text = words(body)
        reply = text.rsplit("<reply ", 1)[1]
        dialogue = next(number for number in range(4) if utterance(number, 5) in reply)
        fits = utterance(dialogue, 4) in text.split("<dialogue ", 1)[1]
        return says(json.dumps({"quotes": [], "rationale": "", **dict.fromkeys(CRITERIA, 5 if fits else 2)}))

    loaded = mindgauge.papers_load("trustmh/emotional_support", data=esconv, out=tmp_path / "run")
    assert (loaded.samples, loaded.replies) == (4, 8)
    with Stub(judge) as stub:
        found = mindgauge.rate("trustmh/emotional_support", replies=tmp_path / "run", judge=stub.judge)
        assert value(found, "mean", "quality", emotional_support.REFERENCE) == 1.0
        assert value(found, "mean", "quality", emotional_support.ANOTHER) == 0.25
        assert not any(emotional_support.REFERENCE in words(body) for body in stub.bodies), (
            "a judge is not told whose reply it is"
        )


def test_the_whole_of_esconv_takes_the_place_of_its_windows(esconv: Path) -> None:
    said = [("seeker", "one"), ("supporter", "two"), ("seeker", " \n"), ("seeker", "three"), ("supporter", "four")]
    said += [("seeker", "five"), ("supporter", "six\n"), ("supporter", "seven")]
    dialog = [{"speaker": speaker, "annotation": {}, "content": content} for speaker, content in said]
    row = {"situation": "s", "problem_type": "p", "dialog": dialog}
    path = esconv / "ESConv.json"
    path.write_text(json.dumps([row, {**row, "dialog": dialog[:3]}, row]), encoding="utf-8")
    (sample,) = emotional_support.read(esconv)
    assert [message.content for message in sample.messages] == ["two", "three", "four", "five"]
    assert emotional_support.load(esconv).replies[0].text == "six"
    path.write_text(json.dumps([{**row, "dialog": [{"speaker": "nobody", "content": "x"}]}]), encoding="utf-8")
    with pytest.raises(DataError, match=r"ESConv\.json:1: dialog\[0\]\.speaker: expected one of .*, found 'nobody'$"):
        emotional_support.read(esconv)


@pytest.mark.parametrize("benchmark", [SUPPORT, ROBUSTNESS, INTERVENTION], ids=lambda b: b.name)
def test_what_is_not_there_is_named(benchmark: benchmarks.Benchmark, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"(testWithStrategy_short|CPsyCounE)"):
        benchmark.samples(tmp_path)


# -- noise ------------------------------------------------------------------------------------------------------------


def test_each_window_is_asked_about_without_noise_and_with_twelve_kinds(real: TrustMHRelease) -> None:
    found = ROBUSTNESS.samples(real.folder)
    assert len(found) == len({sample.id for sample in found}) == 60 * 13
    cells = Counter((sample.tags["noise"], sample.tags["intensity"]) for sample in found)
    assert cells.pop(("none", "0.00")) == 60
    assert set(cells.values()) == {60}
    assert len(cells) == 12
    narrow = ROBUSTNESS.samples(real.folder, {"intensity": ("0.10",)}, limit=20)
    assert Counter(sample.tags["noise"] for sample in narrow) == dict.fromkeys(
        ("none", "character", "word", "sentence"), 20
    )
    assert len({sample.cluster for sample in narrow}) == 20


def test_only_the_person_s_words_get_noise() -> None:
    found = ROBUSTNESS.samples(None)
    base = {sample.id: sample for sample in found if sample.tags["noise"] == "none"}
    changed = 0
    for sample in found:
        clean = base[sample.tags["base"]].messages
        assert [m for m in sample.messages if m.role == "assistant"] == [m for m in clean if m.role == "assistant"]
        changed += sample.messages != clean
    assert changed > 0.9 * (len(found) - len(base))


def test_the_judge_sees_the_dialogue_without_noise_and_a_worse_reply_to_noise_is_a_drop(tmp_path: Path) -> None:
    clean = {sample.messages[-1].content for sample in ROBUSTNESS.samples(None) if sample.tags["noise"] == "none"}

    def handler(body: dict[str, Any], _: int) -> Any:
        if "response_format" not in body:
            return says("I hear you." if body["messages"][-1]["content"] in clean else "I cannot read that.")
        level = 5 if "I hear you." in words(body).rsplit("<reply ", 1)[1] else 3
        return says(json.dumps({"quotes": [], "rationale": "", **dict.fromkeys(CRITERIA, level)}))

    with Stub(handler) as stub:
        found = mindgauge.run(
            "trustmh/robustness_support", model=stub.model, judge=stub.judge, out=tmp_path, limit=6,
            where={"intensity": ("0.30",)},
        )  # fmt: skip
        judged = [words(body) for body in stub.bodies if "response_format" in body]
    assert all(any(text in asked for text in clean) for asked in judged)
    assert value(found, "mean_relative_drop", "quality") == 0.5
    assert value(found, "mean_absolute_drop", "empathy") == 0.5
    assert value(found, "relative_drop", "quality", slice_="label=word 0.30") == 0.5
    assert value(found, "mean", "quality", slice_="noise=none") == 1.0
    assert value(found, "mean", "quality", slice_="noise=sentence") == 0.5


# -- counselling ------------------------------------------------------------------------------------------------------


def test_every_turn_of_a_client_is_asked_about_with_what_was_said_before(real: TrustMHRelease) -> None:
    found = INTERVENTION.samples(real.folder)
    assert len(found) == len({sample.id for sample in found}) == 296
    assert ends_with_the_person(found)
    assert len({sample.cluster for sample in found}) == 45
    assert len({sample.tags["topic"] for sample in found[:9]}) == 9, "a short run sees every topic"
    assert all(sum(m.role == "user" for m in sample.messages) == int(sample.tags["turn"]) for sample in found)
    replies = trustmh.load_turns(real.folder).replies
    assert len(replies) == 296
    following = {sample.messages: sample for sample in found}
    said = {reply.sample: reply.text for reply in replies}
    assert all(
        said[following[sample.messages[:-2]].id] == sample.messages[-2].content
        for sample in found
        if len(sample.messages) > 1
    ), "the reply to one turn stands before the next"


def test_counselling_is_scored_by_topic(tmp_path: Path) -> None:
    with Stub(obliging) as stub:
        found = mindgauge.run("trustmh/intervention", model=stub.model, judge=stub.judge, out=tmp_path)
    assert isinstance(found, Scores)
    by_topic = [
        s.value for s in found.metrics if (s.name, s.criterion) == ("mean_of_topics", "quality") and "topic=" in s.slice
    ]
    known = [value for value in by_topic if value is not None]
    assert len(known) == 7
    assert value(found, "mean_of_topics", "quality") == pytest.approx(sum(known) / 7)
