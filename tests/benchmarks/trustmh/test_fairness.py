"""The same dialogue by people who differ in one sentence, and a judge who never sees it."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis import frame
from mindgauge.analysis.cross_checks import group_differences
from mindgauge.analysis.score import Scores, open_run
from mindgauge.benchmarks.trustmh.fairness.fairness import alike, contexts, turns
from mindgauge.benchmarks.variants.by_name import PERSONA
from mindgauge.records import Message, Sample
from mindgauge.records.errors import MissingDataError
from tests.benchmarks.variants.test_personas import undescribed
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease

FAIRNESS = benchmarks.find_one("trustmh/fairness")
SENTENCES = 22


def dialogue(*roles: str) -> Sample:
    who: dict[str, Any] = {"u": "user", "a": "assistant"}
    return Sample.of(tuple(Message(who[role], f"{role}{n}") for n, role in enumerate(roles)), cluster="c")


def test_contexts_end_with_a_turn_of_the_person() -> None:
    assert turns(dialogue(*"auuaua").messages) == [2, 4]
    found = contexts(dialogue(*"uauauauaua"))
    assert [one.messages[-1].content for one in found] == ["u2", "u4", "u8"]
    assert [one.tags["turn"] for one in found] == ["2", "3", "5"]
    assert {one.cluster for one in found} == {"c"}
    assert len(contexts(dialogue("u"))) == 1


def test_situations_in_nearly_the_same_words_are_one() -> None:
    told = ["I fear to lose my job", "I fear to lose my new job", "Alone", "alone", "My cat is ill, and I fear for it"]
    assert alike(told) == [told[0], told[0], told[2], told[2], told[4]]


@pytest.mark.parametrize("released", [True, False])
def test_variants_differ_from_their_base_in_one_sentence(released: bool, request: pytest.FixtureRequest) -> None:
    data = request.getfixturevalue("real").folder if released else None
    samples = FAIRNESS.samples(data)
    known = {s.id: s for s in samples}
    assert len(known) == len(samples)
    for one in samples:
        base = known[one.tags["base"]]
        assert base.tags["axis"] == "nobody"
        assert (base.cluster, base.tags["turn"]) == (one.cluster, one.tags["turn"])
        assert undescribed(one) == base.messages
        assert (one.messages == base.messages) == (one.tags["axis"] == "nobody")
    sizes = Counter(s.tags["base"] for s in samples)
    assert {*sizes.values()} == {SENTENCES}


def test_released_dialogues_are_eleven_in_nine_clusters(real: TrustMHRelease) -> None:
    samples = FAIRNESS.samples(real.folder)
    assert len(samples) == 33 * SENTENCES
    assert len({s.cluster for s in samples}) == 9
    bases = [s for s in samples if s.tags["axis"] == "nobody"]
    assert sorted(Counter(s.cluster for s in bases).values()) == [3] * 7 + [6] * 2
    assert all(s.messages[-1].role == "user" for s in samples)
    assert len(FAIRNESS.samples(real.folder, limit=3)) == 3 * 3 * SENTENCES, "of three dialogues"


def test_our_dialogues_have_three_turns_at_least() -> None:
    own = FAIRNESS.own_samples()
    assert len(own) >= 8
    assert all(len(turns(sample.messages)) >= 3 for sample in own)
    assert {sample.tags["language"] for sample in own} == {"en", "zh"}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"ESConv_fair\.json"):
        FAIRNESS.samples(tmp_path)


def _worse_for(sentence: str, seen: list[str]) -> Any:
    """Reply curtly where the person says this of themselves; judge curt replies as bad."""

    def handler(body: dict[str, Any], _: int) -> web.StreamResponse:
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        if not schema:
            return says("Hm." if sentence in words(body) else "I hear you.")
        seen.append(words(body))
        level = 2 if "Hm." in words(body).rsplit("<reply ", 1)[1] else 4
        told = {name: level for name, said in schema["properties"].items() if "enum" in said}
        return says(json.dumps({"quotes": [], "rationale": "so it reads", **told}))

    return handler


def _run(sentence: str, folder: Path, seen: list[str]) -> Scores:
    with Stub(_worse_for(sentence, seen)) as stub:
        found = mindgauge.run(
            FAIRNESS.name, model=stub.model, judge=stub.judge, out=folder, limit=2, where={"language": ("en",)}, qualify=False,
        )  # fmt: skip
    assert isinstance(found, Scores)
    return found


class Served(NamedTuple):
    """A run in which one group is served worse, and what its judge saw."""

    folder: Path
    scores: Scores
    seen: list[str]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    folder, seen = tmp_path_factory.mktemp("run"), list[str]()
    return Served(folder, _run("I'm 70 years old.", folder, seen), seen)


def test_the_judge_never_sees_who_the_person_is(served: Served) -> None:
    said = {s.tags[PERSONA] for s in FAIRNESS.samples(None, {"language": ("en",)}) if PERSONA in s.tags}
    assert len(said) == SENTENCES - 1
    assert len(served.seen) == 2 * 6, "one call for each context and reply, however many variants got it"
    assert not any(sentence in text for sentence in said for text in served.seen)


def test_a_group_that_is_served_worse_shows(served: Served) -> None:
    figures = {(m.name, m.slice): m for m in served.scores.metrics if m.criterion == "quality"}
    sd = (0.5**2 * 0.25 * 0.75) ** 0.5
    assert figures["spread", "label=age"].value == pytest.approx(sd)
    assert figures["gap", "label=age"].value == figures["largest_gap", "all"].value == pytest.approx(0.5)
    assert figures["spread", "label=race"].value == 0
    assert figures["noise_floor", "all"].value == 0
    assert figures["spread_above_noise", "all"].value == pytest.approx(sd / 4)
    assert figures["mean", "group=70"].value == pytest.approx(0.25)
    assert figures["mean", "group=45"].value == pytest.approx(0.75)
    store, (benchmark,), _ = open_run(served.folder)
    with store:
        rows = frame.ratings(store, benchmark)
    quality = frame.criteria(benchmark)["quality"]
    tests = {one.axis: one for one in group_differences(rows, quality, permutations=999)}
    assert tests["age"].spread == pytest.approx(sd)
    assert tests["age"].p == pytest.approx(1 / 4**5, abs=0.005), "four groups, six contexts"
    assert (tests["race"].p, tests["neutral"].p) == (1, 1)


@pytest.mark.long
def test_replies_that_are_alike_differ_in_nothing(tmp_path: Path) -> None:
    found = _run("nobody says this", tmp_path, [])
    for name in ("group_spread", "largest_gap", "noise_floor", "spread_above_noise"):
        (one,) = found.find(name, criterion="quality")
        assert (one.value, one.low, one.high) == (0, None, None), "no interval of width zero"
