"""Anchors are checked line by line against the rubric they are for, and a short test still sees every level."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks import anchors
from mindgauge.records import RaterKind, Sample, Status
from mindgauge.records.errors import DataError
from mindgauge.records.rubric import Criterion, Level, Rubric, Scale
from mindgauge.runs.entry_test import USUAL
from tests.conftest import obliging
from tests.stub import Stub, says
from tests.thinned import sampled

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark

DIALOGUES = [b for b in map(benchmarks.find_one, benchmarks.names()) if b.persons]

LEVELS = tuple(Level(n) for n in (1, 2, 3))
RUBRIC = Rubric(
    "r", "1", "ours",
    (
        Criterion("warmth", Scale.ORDINAL, LEVELS, protocols={p: ({"en": "x"},) * 3 for p in ("grief", "panic")}),
        Criterion("safety", Scale.ORDINAL, LEVELS, not_applicable={"en": "No danger was named."}),
    ),
)  # fmt: skip


def row(number: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "messages": [{"role": "user", "content": f"I feel low ({number})"}], "reply": "I hear you.",
        "tags": {"category": "grief", "language": "en"}, "ratings": {"warmth": 2, "safety": None}, **more,
    }  # fmt: skip


def read(tmp_path: Path, *rows: Any) -> list[anchors.Anchor]:
    path = tmp_path / "anchors.jsonl"
    path.write_text("".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in rows), encoding="utf-8")
    return anchors.read(path, RUBRIC, "category")


def test_an_anchor_is_a_reply_with_its_authors_ratings(tmp_path: Path) -> None:
    (found,) = read(tmp_path, row())
    reply, ratings = found.records("r@1")
    assert (reply.model, reply.run, reply.status, reply.text) == ("anchors", 0, Status.OK, "I hear you.")
    assert [(r.criterion, r.status, r.value) for r in ratings] == [
        ("warmth", Status.OK, 2), ("safety", Status.NOT_APPLICABLE, None),
    ]  # fmt: skip
    assert {(r.subject, r.rater, r.rater_kind, r.instrument) for r in ratings} == {
        (reply.id, "anchors", RaterKind.GOLD, "r@1")
    }
    assert reply.sample == found.sample.id


def test_an_anchor_is_not_taken_for_a_sample_with_the_same_words(tmp_path: Path) -> None:
    one, other = read(tmp_path, row(), row(reply="Calm down."))
    same_words = Sample.of(one.sample.messages)
    assert one.sample.id != same_words.id
    assert one.sample == other.sample, "several replies to one dialogue"
    assert one.sample.cluster == same_words.cluster
    assert one.records("")[0].id != other.records("")[0].id


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        ("{", "2: Input data was truncated"),
        (row(1, ratings={"warmth": 4}), "2: warmth has no level 4 (it has 1, 2, 3)"),
        (row(1, ratings={"warmth": "2"}), "2: warmth has no level '2'"),
        (row(1, ratings={"kindness": 2}), "2: the rubric has no criterion 'kindness' (it has warmth, safety)"),
        (row(1, ratings={"warmth": None}), "2: warmth is null, but the rubric does not say when it does not apply"),
        (row(1, ratings={"warmth": 2.5}), "2: Expected `int | str | null`, got `float`"),
        (row(1, ratings={}), "2: it has no ratings"),
        (row(1, reply="  "), "2: the reply is empty"),
        (row(1, messages=[]), "2: the dialogue does not end with the person's message"),
        (row(1, messages=[{"role": "assistant", "content": "Hello"}]), "2: the dialogue does not end with the person's message"),
        (row(1, tags={"category": "joy"}), "2: the category is 'joy', known are grief, panic"),
        (row(1, tags={}), "2: the category is None, known are grief, panic"),
        (row(1, note="x"), "2: Object contains unknown field `note`"),
        (row(0, ratings={"warmth": 3}), "2: the same dialogue and reply stand in line 1"),
        ("", "2: Input data was truncated"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named(tmp_path: Path, bad: Any, fault: str) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, row(), bad)
    assert f"anchors.jsonl:{fault}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_file_and_an_empty_one_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"anchors\.jsonl: no anchors to read \(No such file"):
        anchors.read(tmp_path / "anchors.jsonl", RUBRIC)
    with pytest.raises(DataError, match=r"anchors\.jsonl: no anchors in it"):
        read(tmp_path)


def test_a_short_test_still_sees_every_level_and_category(tmp_path: Path) -> None:
    rows = [
        row(i, ratings={"warmth": level}, tags={"category": category})
        for i, (category, level) in enumerate((c, v) for c in ("grief", "panic") for v in (1, 2, 3) for _ in range(4))
    ]
    found = read(tmp_path, *rows)
    chosen = anchors.spread(found, 6, "category")
    assert Counter(a.ratings["warmth"] for a in chosen) == {1: 2, 2: 2, 3: 2}
    assert Counter(a.sample.tags["category"] for a in chosen) == {"grief": 3, "panic": 3}
    assert chosen == sorted(chosen, key=found.index), "in the order of the file"
    assert anchors.spread(found, 100, "category") == found


def pair(name: str = "safety-01", **more: Any) -> list[dict[str, Any]]:
    tags = {"category": "grief", "language": "en", "pair": name}
    return [row(7, reply=reply, ratings={"safety": level}, tags=tags, **more) for reply, level in (("a", 1), ("b", 3))]


def test_a_pair_knows_its_one_criterion_and_its_dialogue(tmp_path: Path) -> None:
    one, other = read(tmp_path, *pair(cluster="told-once"))
    assert one.sample == other.sample
    assert one.sample.cluster == "told-once"
    assert [rating.criterion for rating in one.records("")[1]] == ["safety"], "of the rest no level is known"


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (pair()[:1], "'safety-01' is not two replies to one dialogue"),
        ([*pair(), pair(messages=[{"role": "user", "content": "x"}])[0]], "'safety-01' is not two replies"),
        ([pair()[0], {**pair()[1], "ratings": {"safety": 1}}], "does not stand at two levels of one criterion"),
        ([pair()[0], {**pair()[1], "ratings": {"warmth": 3}}], "does not stand at two levels of one criterion"),
        (
            [{**each, "ratings": {"safety": i, "warmth": i}} for i, each in enumerate(pair(), 1)],
            "does not stand at two",
        ),
    ],
)
def test_what_is_no_pair_is_named(tmp_path: Path, bad: list[dict[str, Any]], fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        read(tmp_path, *bad)


def test_a_paraphrase_is_kept_and_is_no_copy(tmp_path: Path) -> None:
    (found,) = read(tmp_path, row(paraphrase="I am listening."))
    assert found.paraphrase == "I am listening."
    with pytest.raises(DataError, match="1: the paraphrase is the reply itself"):
        read(tmp_path, row(paraphrase=" I hear you. "))


def test_a_short_test_weighs_pairs_and_whole_anchors_alike(tmp_path: Path) -> None:
    pairs = [each for n in range(6) for each in pair(f"safety-{n}", messages=[{"role": "user", "content": str(n)}])]
    wholes = [row(i, ratings={"warmth": 1 + i % 3, "safety": 1 + i % 3}) for i in range(6)]
    chosen = anchors.spread(read(tmp_path, *pairs, *wholes), 8, "category")
    assert {a.ratings["warmth"] for a in chosen if "warmth" in a.ratings} == {1, 2, 3}


@pytest.mark.parametrize("benchmark", sampled(DIALOGUES, 3), ids=lambda b: b.name)
def test_turns_dialogues_and_clients_are_anchored_each_with_a_prompt_of_its_own(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    written = benchmark.anchors()

    def answer(body: dict[str, Any], n: int) -> Any:
        if "response_format" not in body:
            return obliging(body, n)
        text = body["messages"][0]["content"]
        names = body["response_format"]["json_schema"]["schema"]["properties"].keys() - {"quotes", "rationale"}
        fitting = [a for a in written if a.reply in text and a.ratings.keys() == names]
        levels = fitting[0].ratings if fitting else {}
        values = {name: "not_applicable" if levels.get(name) is None else levels[name] for name in names}
        return says(json.dumps({"quotes": [], "rationale": "", **values})) if fitting else obliging(body, n)

    with Stub(answer) as stub:
        scores = mindgauge.run(
            benchmark.name, model=stub.model, judge=stub.judge, qualify=True, limit=1, turns=1, out=tmp_path
        )
        judged = [body["messages"][0]["content"] for body in stub.bodies if "response_format" in body]
    assert isinstance(scores, Scores)
    assert {q.criterion: q.result for q in scores.qualifications} == {
        criterion.name: "passed" for criterion in benchmark.rubric.criteria
    }, "a judge that sees what we wrote passes on all: there are enough of each level"
    for anchor in written:
        (question,) = (text for text in judged if anchor.reply in text)
        unit, language = anchor.sample.tags["unit"], anchor.sample.tags["language"]
        kind = {"turn": "judge", "dialogue": "judge.dialogue", "client": "judge.client"}[unit]
        opening = benchmark.prompts[kind][language].fill(dict.fromkeys(benchmark.prompts[kind][language].slots, "¶"))
        assert question.startswith(opening.partition("¶")[0]), (unit, anchor.reply)
        assert all(message.content in question for message in anchor.sample.messages)


def test_of_equal_anchors_those_of_other_dialogues_come_first(tmp_path: Path) -> None:
    rows = [
        row(dialogue, reply=f"{dialogue} {level} {n}", ratings={"warmth": level}, cluster=str(dialogue))
        for dialogue in range(3) for level in (1, 3) for n in range(3)
    ]  # fmt: skip
    chosen = anchors.spread(read(tmp_path, *rows), 6)
    assert Counter(a.sample.cluster for a in chosen) == {"0": 2, "1": 2, "2": 2}


@pytest.mark.parametrize("name", ["psycrisis", "help_or_harm/response", *(b.name for b in DIALOGUES), "mentalbench"])
def test_the_usual_test_sees_every_criterion_often_enough_to_decide(name: str) -> None:
    """So few replies of a criterion that even a judge without a fault is undecided test nobody."""
    benchmark = benchmarks.find_one(name)
    chosen = benchmark.anchors(None, USUAL)
    for criterion in benchmark.rubric.criteria:
        about = [a for a in chosen if criterion.name in a.ratings]
        levels = Counter(a.ratings[criterion.name] for a in about)
        assert len(about) >= anchors.limits().anchors["replies"], criterion.name
        assert len({a.sample.cluster for a in about}) >= 6, criterion.name
        assert len([n for n in levels.values() if n > 1]) >= 2, f"{criterion.name}: {levels}"


def test_the_usual_test_sees_each_veto_of_psycrisis_at_both_ends() -> None:
    psycrisis = benchmarks.find_one("psycrisis")
    chosen = psycrisis.anchors(None, USUAL)
    for criterion in psycrisis.rubric.criteria:
        levels = Counter(a.ratings[criterion.name] for a in chosen if criterion.name in a.ratings)
        assert min(levels["yes"], levels["no"]) >= 5, f"{criterion.name}: {levels}"
