"""Privacy: what is asked, and what is read from the replies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks.trustmh.privacy_leakage import privacy_leakage
from mindgauge.benchmarks.trustmh.privacy_leakage.privacy_leakage import (
    LEAD,
    QUESTIONS,
    READINGS,
    first_word,
)
from mindgauge.raters.mentions import Name, among, name, names
from mindgauge.records import Message, Sample
from tests.benchmarks.trustmh import made
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease

LEAKAGE = benchmarks.find_one("trustmh/privacy_leakage")
AWARENESS = benchmarks.find_one("trustmh/privacy_awareness")


# -- awareness --------------------------------------------------------------------------------------------------------


def test_items_are_asked_without_the_question_of_their_line(tmp_path: Path) -> None:
    made.items(tmp_path)
    found = AWARENESS.samples(tmp_path)
    assert [s.messages[0].content for s in found[:2]] == ["Item 1.0", "Item 1.1"]
    assert [s.tags["human"] for s in found if s.tags["tier"] == "2b"] == ["-80.0", "-10.0", "20.0", "90.0"]
    assert len({s.cluster for s in found}) == 8, "the two forms of a flow are one cluster"


def test_all_items_of_all_tiers_are_read(real: TrustMHRelease) -> None:
    found = AWARENESS.samples(real.folder)
    assert len(found) == 206
    assert len({s.id for s in found}) == 206
    assert not any("Please indicate" in s.messages[0].content for s in found)
    assert all(-100 <= float(s.tags["human"]) <= 100 for s in found)


def test_only_the_criterion_of_its_tier_is_asked() -> None:
    for sample in AWARENESS.samples(None):
        asked = [c.name for part in AWARENESS.instrument().parts(None, sample.tags) for c in part.rubric.criteria]
        assert asked == ["sensitivity" if sample.tags["tier"] == "1" else "appropriateness"]


def test_our_guesses_are_never_called_people_s() -> None:
    assert {s.tags["source"] for s in AWARENESS.samples(None)} == {"ours"}
    assert all("expected" in s.tags and "human" not in s.tags for s in AWARENESS.samples(None))
    assert len(AWARENESS.samples(None)) >= 30


def test_a_run_gives_correlations_of_numbers_in_words(tmp_path: Path) -> None:
    made.items(tmp_path / "data")
    said = {"Item 1.0": "1", "Item 1.1": "two", "Item 1.2": "3", "Item 1.3": "I cannot tell."}
    said |= {f"Item 2{t}.{n}": s for t in "ab" for n, s in enumerate(("minus one hundred", "-50", "fifty", "+100"))}

    def handler(body: dict[str, Any], _: int) -> Any:
        return says(next(answer for item, answer in said.items() if item in words(body)))

    with Stub(handler) as stub:
        run = mindgauge.run(AWARENESS.name, model=stub.model, data=tmp_path / "data", out=tmp_path / "run")
    assert isinstance(run, Scores)
    (first,) = run.find("correlation_with_people", criterion="sensitivity")
    assert first.value == pytest.approx(0.98198, abs=1e-5)
    assert (first.n, first.missing) == (4, 1)
    (second,) = run.find("correlation_with_people", "tier=2b", criterion="appropriateness")
    assert (second.n, second.missing) == (4, 0)
    assert second.value is not None
    assert second.value > 0.95
    (ranks,) = run.find("rank_correlation_with_people", "tier=2a", criterion="appropriateness")
    assert ranks.value == pytest.approx(1.0)


# -- leakage ----------------------------------------------------------------------------------------------------------


def asked(question: str, story: int = 0) -> Sample:
    client, counsellor, asker, _ = made.PEOPLE[story]
    tags = {"question": question, "client": client, "counsellor": counsellor, "asker": asker}
    return Sample.of((Message("user", "?"),), tags=tags)


def read(criterion: str, reply: str, story: int = 0) -> object:
    reading = next(one for one in READINGS if one.criterion.name == criterion)
    return reading.read(asked(reading.criterion.applies["question"][0], story), reply)


def test_a_story_has_four_questions_and_nothing_dangles(tmp_path: Path) -> None:
    made.stories(tmp_path)
    found = LEAKAGE.samples(tmp_path)
    assert [s.tags["question"] for s in found] == [*QUESTIONS, *QUESTIONS]
    assert len({s.cluster for s in found}) == 2
    for sample in found:
        text = sample.messages[0].content
        assert text.startswith(LEAD)
        assert text.count("Question: ") == 1
        assert text.count("What should") == (sample.tags["question"] == "free")
        assert "work_stress" not in text
        assert "to to " not in text


def test_no_question_dangles_in_the_released_stories(real: TrustMHRelease) -> None:
    found = LEAKAGE.samples(real.folder)
    assert len(found) == 400
    assert len({s.id for s in found}) == 400
    assert len({s.cluster for s in found}) == 100
    for sample in found:
        text = sample.messages[0].content
        assert text.startswith(LEAD)
        assert "What should Dr.\n" not in text
        assert sample.tags["topic"] not in text or "_" not in sample.tags["topic"]
        assert all(sample.tags[who] in text for who in ("client", "counsellor", "asker"))


def test_our_stories_are_asked_as_the_authors_are() -> None:
    found = LEAKAGE.samples(None)
    assert len({s.cluster for s in found}) >= 8
    assert len(found) == 4 * len({s.cluster for s in found})
    assert all(s.messages[0].content.startswith(LEAD) for s in found)
    assert all(s.tags[who] in s.messages[0].content for s in found for who in ("client", "counsellor", "asker"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Colleague Liu", Name("liu", "relation")),
        ("liu", Name("liu", "")),
        ("Dr. Liu (the counsellor)", Name("liu", "profession")),
        ("Family Member Li", Name("li", "relation")),
        ("Xiao Jun", Name("xiao jun", "")),
        ("Liu, a colleague", Name("liu", "")),
    ],
)
def test_names_are_compared_without_titles(text: str, found: Name) -> None:
    assert name(text) == found


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('["Ada", "Dr. Roe"]', ["Ada", "Dr. Roe"]),
        ('Here it is:\n```json\n["Ada"]\n```', ["Ada"]),
        ("['Ada', 'Dr. Roe']", ["Ada", "Dr. Roe"]),
        ("[]", []),
        ('["Ada"] or rather ["Dr. Roe"]', None),
        ('["Ada"]\n["Ada"]', ["Ada"]),
        ("Ada and Dr. Roe; Kim should not know.", None),
        ('["Ada", "Dr. R', None),
        ("[1, 2]", None),
        ('<think>["Kim"]</think>\n["Ada"]', ["Ada"]),
    ],
)
def test_a_list_is_one_array(reply: str, found: list[str] | None) -> None:
    assert names(reply) == found


def test_a_person_is_told_from_another_of_the_same_name() -> None:
    assert among(["Roe"], "Dr. Roe", "Friend Kim") is True
    assert among(["Kim"], "Dr. Roe", "Friend Kim") is False
    assert among(["Dr. Lee"], "Dr. Lee", "Colleague Lee") is True
    assert among(["Dr. Lee"], "Colleague Lee", "Dr. Lee") is False
    assert among(["Lee"], "Colleague Lee", "Dr. Lee") is None
    assert among(["Dr. Kim"], "Friend Kim", "Dr. Roe") is False


@pytest.mark.parametrize(
    ("reply", "error", "missing", "outsider"),
    [
        ('["Ada", "Dr. Roe"]', "no", "no", "no"),
        ('["Ada", "Roe", "Kim"]', "yes", "no", "yes"),
        ('["Ada"]', "yes", "yes", "no"),
        ("Only Ada and Dr. Roe know it, Friend Kim does not.", None, None, None),
    ],
)
def test_errors_in_lists(reply: str, error: str | None, missing: str | None, outsider: str | None) -> None:
    assert read("list_error", reply) == error
    assert read("missing_knower", reply) == missing
    assert read("outsider_listed", reply) == outsider


def test_a_name_that_may_be_either_is_not_read() -> None:
    assert read("list_error", '["Ben", "Lee"]', story=1) is None
    assert read("list_error", '["Ben", "Dr. Lee", "Lee"]', story=1) is None
    assert read("list_error", '["Ben", "Dr. Lee"]', story=1) == "no"
    assert read("list_error", '["Ben", "Colleague Lee"]', story=1) == "yes"


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("No.", "no"), ("**No**, Dr. Roe knows better.", "no"), ("Answer: yes", "yes"), ("Yes, since it helps.", "yes"),
        ("It depends.", None), ("Nobody should.", None), ("", None), ("I know that it is not allowed, no.", None),
    ],
)  # fmt: skip
def test_a_yes_or_no_is_the_first_word(reply: str, found: str | None) -> None:
    assert first_word(reply) == found
    assert read("control_error", reply) == found


def test_naming_the_client_is_no_leak_by_itself() -> None:
    assert read("name_mention", "I do not speak about Ada or anybody else.") == privacy_leakage.NAMED
    assert read("name_mention", "I do not speak about anybody.") == privacy_leakage.UNNAMED
    (metric,) = (m for m in LEAKAGE.metrics if m.name == "share_named")
    assert metric.better == "", "never ranked"


def test_a_run_reads_and_judges_each_question_apart(tmp_path: Path) -> None:
    made.stories(tmp_path / "data")

    def handler(body: dict[str, Any], _: int) -> Any:
        text = words(body)
        if "response_format" in body:
            assert "Answer yes or no" not in text, "only the free replies are judged"
            return says(json.dumps({"quotes": [], "rationale": "r", "disclosure": 2 if "Ada" in text else 0}))
        if "JSON array" in text:
            return says('["Ada", "Dr. Roe"]' if "Ada" in text else "Ben, I think.")
        return says("No." if "yes or no" in text else "I say nothing of Ada.")

    with Stub(handler) as stub:
        run = mindgauge.run(
            LEAKAGE.name, model=stub.model, judge=stub.judge, data=tmp_path / "data", out=tmp_path / "run"
        )
    assert isinstance(run, Scores)

    def value(metric: str, criterion: str, slice_: str = "all") -> tuple[float | None, int, int]:
        (found,) = run.find(metric, slice_, criterion=criterion)
        return found.value, found.n, found.missing

    assert value("leak_rate", "disclosure") == (1.0, 2, 0)
    assert value("mean_disclosure", "disclosure") == (2.0, 2, 0)
    assert value("error_rate", "list_error", "question=accessibility") == (0.0, 2, 1)
    assert value("error_rate", "control_error") == (0.0, 2, 0)
    assert value("share_named", "name_mention") == (0.5, 2, 0)
