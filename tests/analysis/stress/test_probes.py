"""What the versions of a reply are: the same content in another form, and the same every time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from mindgauge import benchmarks
from mindgauge.analysis.stress import probes
from mindgauge.analysis.stress.probes import OriginalReply, Version
from mindgauge.raters.judge import Mode
from mindgauge.records.errors import UsageError
from mindgauge.records.rubric import Method
from mindgauge.records.text import split
from tests.analysis.stress.planted import folded

if TYPE_CHECKING:
    from mindgauge.benchmarks import Benchmark

JUDGE = "acme/judge-7"
WORDS = {(form.probe, form.version): form.text for form in probes.FORMS}
SHIPPED = ("mentalbench", "help_or_harm/response", "psycrisis")


def made(benchmark: Benchmark) -> list[tuple[str, OriginalReply, Version]]:
    found = [OriginalReply.of(anchor) for anchor in benchmark.anchors()]
    return list(probes.versions(found, probes.NAMES, benchmark.instrument(), JUDGE, 2))


@pytest.mark.parametrize("name", SHIPPED)
def test_content_stays(name: str) -> None:
    for probe, item, version in made(benchmarks.find_one(name)):
        if probe == "paraphrase":
            continue
        reply = folded(version.reply)
        assert all(folded(sentence) in reply for sentence in split(item.reply.text)), (probe, version.name)
        assert version.sample.cluster == item.sample.cluster
        assert version.sample.messages[:-1] == item.sample.messages[:-1]
        assert version.sample.messages[-1].content.startswith(item.sample.messages[-1].content) or probe == "injection"


@pytest.mark.parametrize("name", SHIPPED)
def test_the_same_every_time_and_every_record_its_own(name: str) -> None:
    benchmark = benchmarks.find_one(name)
    first, again = made(benchmark), made(benchmark)
    assert first == again
    ids = Counter(version.record(item, probe).id for probe, item, version in first)
    assert set(ids.values()) == {1}


def test_what_each_version_is(warmth: Benchmark) -> None:
    found: dict[str, tuple[OriginalReply, Version]] = {}
    for probe, item, version in made(warmth):
        if item.language == "en":
            found.setdefault(f"{probe}: {version.name}", (item, version))
    item, twice = found["verbosity: said twice"]
    sentences = split(item.reply.text)
    assert split(twice.reply.replace("In other words: ", "")) == [
        s for sentence in sentences for s in (sentence, sentence)
    ]
    assert found["format: list"][1].reply == "\n".join(f"- {sentence}" for sentence in sentences)
    assert found["format: bold"][1].reply.startswith("**This is kind** answer")
    assert found["format: headings"][1].reply.count("## Part") == 2
    assert found["named model: own family"][1].reply.startswith("Written by judge-7:\n\n")
    assert found["named model: other family"][1].reply.startswith("Written by gpt-5:\n\n")
    assert found["sycophancy: praise"][1].sample.messages[-1].content.endswith(WORDS["sycophancy", "praise"]["en"])
    assert found["paraphrase: paraphrase"][1].reply == item.paraphrase
    assert found["language: instructions in Chinese"][1].sample.tags["language"] == "zh"


def test_a_placebo_is_as_long_as_what_it_stands_beside() -> None:
    for language in ("en", "zh"):
        cues = [form for form in probes.FORMS if form.against == "placebo"]
        assert [form.version for form in cues] == ["clinician", "praise", "contempt"]
        for cue in cues:
            placebo = WORDS[cue.probe, cue.against]
            assert len(placebo[language]) == pytest.approx(len(cue.text[language]), rel=0.15), (language, cue)


def test_a_judge_is_not_named_as_its_own_stranger() -> None:
    item = OriginalReply.of(benchmarks.find_one("mentalbench").anchors()[0])
    own, other = (
        f.write(item, "openai/gpt-5-nano", frozenset({"en"})) for f in probes.FORMS if f.probe == "named model"
    )
    assert "gpt-5-nano" in own.reply
    assert "claude" in other.reply


def test_counterparts_are_two_languages_of_one_conversation_at_the_same_levels(warmth: Benchmark) -> None:
    found = [OriginalReply.of(anchor) for anchor in warmth.anchors()]
    replies = probes.originals(found)
    by_id = {item.reply.id: item for item in found}
    twins = [(by_id[r.id], by_id[r.provenance["stress"]["counterpart"]]) for r in replies if r.provenance["stress"]]
    assert len(twins) == 24
    for chinese, english in twins:
        assert (chinese.language, english.language) == ("zh", "en")
        assert (chinese.sample.cluster, chinese.stated_levels) == (english.sample.cluster, english.stated_levels)


def test_orders() -> None:
    rubric = benchmarks.find_one("mentalbench")
    usual = rubric.instrument()
    names = [c.name for c in usual.rubric.criteria]
    turned = {turn.version: turn for turn in probes.turns(usual, rubric.instrument(Mode.SPLIT), probes.NAMES)}
    assert list(turned) == [probes.REVERSED, probes.ROTATED, probes.BEST_FIRST, probes.APART]
    assert [c.name for c in turned[probes.REVERSED].rubric.criteria] == names[::-1]
    rotated = [c.name for c in turned[probes.ROTATED].rubric.criteria]
    assert sorted(rotated) == sorted(names) and rotated[0] not in {names[0], names[-1]}
    best_first = turned[probes.BEST_FIRST].rubric.criteria[0]
    assert best_first.values == usual.rubric.criteria[0].values[::-1]
    assert turned[probes.APART].mode is Mode.SPLIT
    assert len({usual.rater("m"), *(turn.rater("m") for turn in turned.values())}) == 5
    split = probes.turns(rubric.instrument(Mode.SPLIT), usual, probes.NAMES)
    assert [turn.version for turn in split] == [probes.BEST_FIRST, probes.TOGETHER]


def test_protocols_turn_with_their_levels() -> None:
    usual = benchmarks.find_one("help_or_harm/response").instrument()
    (turn,) = probes.turns(usual, None, ["order"])
    assert turn.rubric.under("self-harm").criteria[0].levels == usual.rubric.under("self-harm").criteria[0].levels[::-1]


def test_in_a_chain_the_levels_keep_their_order(warmth: Benchmark) -> None:
    usual = warmth.instrument(method=Method.CHAIN)
    assert probes.BEST_FIRST not in {turn.version for turn in probes.turns(usual, None, probes.NAMES)}


def test_an_unknown_probe_is_named() -> None:
    with pytest.raises(UsageError, match=r"no probe 'colour'; they are verbosity, format"):
        probes.named(["verbosity", "colour"])
    assert probes.named(["injection", "named_model", "joint-or-split"]) == (
        "joint or split",
        "named model",
        "injection",
    )
