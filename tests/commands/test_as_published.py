"""`--as-published`: what is sent under a paper's protocol, held against what its specification states, fact by fact.

The words are ours throughout; so are the samples, so that nothing here is comparable, and the run says why.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.reproduce import load_published
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks import replica
from mindgauge.records import Status
from mindgauge.records.errors import UsageError
from mindgauge.runs import as_published
from mindgauge.store import Store, manifest
from tests.benchmarks.help_or_harm.conftest import Copy, small
from tests.benchmarks.trustmh import made
from tests.stub import PROBED, Stub, says, words

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

__all__ = ["small"]
ALL = [b for b in map(benchmarks.find_one, benchmarks.names()) if replica.replicas(b.folder)]
ASK = {
    "ask.unordered.en.md": "Which label?\n{dialogue}\n{reply}\n{examples}",
    "shots.en.md": "Such as:\n{examples}",
    "instrument.toml": 'name = "authors"\nanswer = "label"\nfence = false',
}
JUDGE = {
    "judge.en.md": "{rubric}\n{dialogue}\n{reply}\nT={target}\nC={category}",
    "instrument.toml": 'name = "authors"\nanswer = "json"\nfence = false',
}


def sent(
    name: str, tmp_path: Path, files: dict[str, str] | None = None, **options: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what models under test and judges were sent in a run of four samples as published."""
    if files is not None:
        folder = tmp_path / "authors"
        folder.mkdir()
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        options["instrument"] = folder
    with Stub(lambda body, count: says("I hear you.")) as stub:
        if not benchmarks.asked_one(name).closed:
            options["judge"] = stub.judge
        scores = mindgauge.run(name, model=stub.model, as_published=True, out=tmp_path / "run", limit=4, **options)
    assert isinstance(scores, Scores)
    bodies = [body for body in stub.bodies if body.get("max_tokens") != PROBED]
    return [b for b in bodies if b["model"] == "stub"], [b for b in bodies if b["model"] == "judge"]


def facts(body: dict[str, Any], *names: str) -> list[Any]:
    return [body.get(name) for name in names]


@pytest.mark.parametrize("benchmark", ALL, ids=lambda b: b.name)
def test_a_replica_names_what_the_benchmark_has(benchmark: benchmarks.Benchmark) -> None:
    assert benchmark.published is not None
    tables: dict[str, set[str]] = {number.table: set() for number in load_published(benchmark.published)}
    for number in load_published(benchmark.published):
        tables[number.table].add(number.column)
    for protocol in replica.replicas(benchmark.folder):
        assert {*protocol.criteria, *protocol.unconditional} <= {c.name for c in benchmark.rubric.criteria}
        assert not protocol.table or {*protocol.columns} <= tables[protocol.table]
        assert bool(protocol.table) == bool(protocol.compares_with)
        columns = protocol.columns.values()
        assert all(c.mean_of or c.count_of or benchmark.metric(c.metric) for c in columns)
        assert {name for column in columns for name in column.mean_of} <= protocol.columns.keys()
        assert not protocol.reader or protocol.reader in benchmark.readers
        assert protocol.prompts.keys() | {*protocol.prompts.values()} <= benchmark.prompts.keys()


def test_dialogue_safety_zero_shot(tmp_path: Path) -> None:
    tested, _ = sent("dialogue_safety", tmp_path, ASK)
    assert len(tested) == 4 * 5, "five runs, nothing asked twice"
    for body in tested:
        assert facts(body, "temperature", "top_p", "max_tokens", "seed", "response_format") == [
            1.0,
            1.0,
            10,
            None,
            None,
        ]
        assert [message["role"] for message in body["messages"]] == ["user"]
        assert words(body).startswith("Which label?"), "English words, whatever the dialogue's language"
    entry = manifest.read(tmp_path / "run")["as_published"]
    assert (entry["protocol"], entry["table"], entry["comparable"]) == ("zero-shot", "Table 2", False)
    assert any("--data" in reason for reason in entry["lacks"])
    assert not any("--instrument" in reason for reason in entry["lacks"])


def test_dialogue_safety_few_shot_has_new_examples_in_each_run(tmp_path: Path) -> None:
    tested, _ = sent("dialogue_safety", tmp_path, ASK, ask="few-shot", where={"language": ("zh",)})
    by_question: dict[str, set[str]] = {}
    for body in tested:
        text = words(body)
        assert text.startswith("Which label?")
        question, _, examples = text.partition("Such as:")
        by_question.setdefault(question, set()).add(examples)
        assert facts(body, "temperature", "top_p", "max_tokens", "seed") == [1.0, 1.0, 10, None]
    example_ids = manifest.read(tmp_path / "run")["plan"]["shown"]["dialogue_safety"]
    assert len(example_ids) > len(benchmarks.asked_one("dialogue_safety").rubric.criteria[0].levels)
    assert len({examples for sets in by_question.values() for examples in sets}) > 1


def test_help_or_harm_sends_no_parameter_and_no_schema(tmp_path: Path) -> None:
    names = [*benchmarks.asked_one("help_or_harm/response").rubric.criteria[0].protocols]
    table = "label,1,2,3,4,5\n" + "".join(f"{name},a,b,c,d,e\n" for name in names)
    tested, judges = sent("help_or_harm/response", tmp_path, {**JUDGE, "protocol.csv": table})
    assert (len(tested), len(judges)) == (4 * 3, 4 * 3 * 3), "equal replies are each judged"
    for body in (*tested, *judges):
        assert facts(body, "temperature", "top_p", "seed", "response_format") == [None] * 4
        assert [message["role"] for message in body["messages"]] == ["user"]
    assert all(words(body).splitlines()[-1].removeprefix("C=") in names for body in judges), (
        "the judge is told the item's label"
    )


def test_psycrisis_asks_its_five_criteria_in_one_call_the_fourth_of_every_reply(tmp_path: Path) -> None:
    _, judges = sent("psycrisis", tmp_path)
    for body in judges:
        properties = body["response_format"]["json_schema"]["schema"]["properties"]
        assert {*properties} - {"quotes", "rationale"} == {
            "empathy",
            "regulation",
            "exploration",
            "risk_assessment",
            "referral",
        }
        assert properties["risk_assessment"]["enum"] == ["no", "yes"]
        assert facts(body, "temperature", "seed") == [0.7, None]


def test_psycrisis_by_the_authors_words_is_a_system_message_and_the_two_texts_asked_once(tmp_path: Path) -> None:
    """Their answer is a dictionary of levels, and whatever comes is not asked for again."""
    files = {
        "system.zh.md": "你是专家。\n{rubric}",
        "judge.zh.md": "来访者：{dialogue}\n咨询师：{reply}",
        "instrument.toml": 'name = "authors"\nanswer = "dict"\nfence = false',
    }
    tested, judges = sent("psycrisis", tmp_path, files, where={"language": ("zh",)})
    assert len(tested) == len(judges) == 4
    for body in judges:
        assert [message["role"] for message in body["messages"]] == ["system", "user"]
        assert body["messages"][1]["content"].startswith("来访者：")
        assert body["messages"][1]["content"].endswith("咨询师：I hear you.")
        assert facts(body, "temperature", "seed", "top_p", "response_format") == [0.7, None, None, None]


def test_an_item_without_a_shipped_label_is_answered_and_rated_by_nobody(small: Copy, tmp_path: Path) -> None:
    """So are 2 of the paper's 2,046 test items and 16 of its 206: replies to all were asked for, and those left unscored."""
    small.change("llm_label/*merged-labels.json", 1, label=None)
    small.change("llm_label/*merged-labels.json", 2, label="suicidal_ideation")

    def answered(body: dict[str, Any], count: int) -> web.Response:
        judging = body["model"] == "judge"
        return says('{"quotes": [], "rationale": "r", "appropriateness": 4}' if judging else f"I hear you, {count}.")

    with Stub(answered) as stub:
        scores = mindgauge.run(
            "help_or_harm/response", model=stub.model, judge=stub.judge, data=small.root, as_published=True,
            out=tmp_path / "run",
        )  # fmt: skip
    bodies = [body for body in stub.bodies if body.get("max_tokens") != PROBED]
    asked = [body for body in bodies if body["model"] == "stub"]
    judged = [b for b in bodies if b["model"] == "judge" and "test message" in words(b)]
    assert len(asked) == 4 * 3, "four rows, three replies each"
    assert len(judged) == 3 * 3 * 3, "three labelled rows, three replies, three verdicts"
    assert not any("This is test message 1." in words(body) for body in judged)
    assert isinstance(scores, Scores)
    (mean,) = [s for s in scores.metrics if (s.name, s.slice) == ("mean", "all") and s.rater == stub.judge]
    assert (mean.value, mean.missing) == (4.0, 0), "what nobody was to rate is not missing"
    with Store(tmp_path / "run") as store:
        statuses = Counter(r.status for r in store.ratings("help_or_harm/response") if r.rater == stub.judge)
    assert statuses == {Status.OK: 27, Status.NOT_APPLICABLE: 9}
    rows = mindgauge.papers_reproduce("help_or_harm", data=small.root, beside=tmp_path / "run").beside
    assert not any("missing" in reason for row in rows for reason in row.reasons)


def test_trustmh_ethics_has_a_judge_that_sees_gold_behaviour_and_the_whole_reply(tmp_path: Path) -> None:
    reply = 'Well. {"choice": "A", "reasoning": "so"}'
    files = {
        "reply.en.md": "Choose.\n{dialogue}",
        "judge.en.md": "{rubric}\n{dialogue}\n{reply}\nB={model_behavior}\nT={target}",
        "instrument.toml": 'name = "authors"\nanswer = "json"\nfence = false',
    }
    folder = tmp_path / "authors"
    folder.mkdir()
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    made.dilemmas(tmp_path / "data")
    with Stub(lambda body, count: says(reply)) as stub:
        mindgauge.run(
            "trustmh/ethics", model=stub.model, judge=stub.judge, as_published=True, instrument=folder,
            data=tmp_path / "data", out=tmp_path / "run",
        )  # fmt: skip
    bodies = [body for body in stub.bodies if body.get("max_tokens") != PROBED]
    tested, judges = ([b for b in bodies if b["model"] == model] for model in ("stub", "judge"))
    assert len(tested) == len(judges) == 4, "once each, options as they stand alone"
    for body in (*tested, *judges):
        assert facts(body, "temperature", "seed", "top_p", "response_format") == [0.0, None, None, None]
        assert [m["role"] for m in body["messages"]] == ["user"]
    assert all(words(body).startswith("Choose.\nCase ") for body in tested)
    shown = sorted(words(body).splitlines()[-3:] for body in judges)
    assert shown == sorted([reply, "B=unseen", f"T={letter}"] for letter in made.RIGHT)


def test_without_as_published_no_prompt_is_told_what_the_data_say_of_models(tmp_path: Path) -> None:
    made.dilemmas(tmp_path / "data")
    samples = benchmarks.asked_one("trustmh/ethics").samples(tmp_path / "data")
    assert not any("model_behavior" in sample.tags for sample in samples)


def test_privacy_awareness_asks_each_line_alone_and_reads_a_bare_number(tmp_path: Path) -> None:
    files = {
        "ask.en.md": "{dialogue}\nAnswer: ",
        "instrument.toml": 'name = "authors"\nanswer = "label"\nfence = false',
    }
    folder = tmp_path / "authors"
    folder.mkdir()
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    with Stub(lambda body, count: says("3")) as stub:
        mindgauge.run(
            "trustmh/privacy_awareness", model=stub.model, as_published=True, instrument=folder, out=tmp_path / "run",
            where={"tier": ("1",)}, limit=4,
        )  # fmt: skip
    bodies = [body for body in stub.bodies if body.get("max_tokens") != PROBED]
    assert len(bodies) == 4
    for body in bodies:
        assert facts(body, "temperature", "max_tokens", "seed", "response_format") == [1.0, 365, None, None]
        assert words(body).endswith("\nAnswer: ")
    with Store(tmp_path / "run") as store:
        answers = [r.value for r in store.ratings("trustmh/privacy_awareness") if r.status is Status.OK]
    assert answers == [3] * 4


def test_mentalbench_asks_in_one_message_for_512_tokens(tmp_path: Path) -> None:
    tested, judges = sent(
        "mentalbench", tmp_path, {**JUDGE, "reply.en.md": "You are kind. {dialogue}"}, where={"language": ("en",)}
    )
    assert len(tested) == 4
    for body in tested:
        assert facts(body, "temperature", "max_tokens", "seed", "top_p") == [0.7, 512, None, None]
        assert [m["role"] for m in body["messages"]] == ["user"]
        assert words(body).startswith("You are kind. ")
    for body in judges:
        assert facts(body, "temperature", "max_tokens", "seed", "response_format") == [0.7, 512, None, None]


def test_privacy(tmp_path: Path) -> None:
    tested, _ = sent("trustmh/privacy_leakage", tmp_path)
    assert {tuple(facts(b, "temperature", "max_tokens", "seed")) for b in tested} == {(0.0, 256, None)}


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("dialogue_safety", {"runs": 3}, "--runs is 5 in the paper, and 3 was asked for"),
        ("dialogue_safety", {"temperature": 0.2}, "--temperature is 1.0 in the paper"),
        ("dialogue_safety", {"ask": "sequential"}, "--ask is unordered in the paper"),
        ("psycrisis", {"mode": "split"}, "--mode is joint in the paper"),
        ("trustmh", {}, "--as-published is for one benchmark"),
        ("conversations/risk", {}, "no protocol of a paper is on record"),
    ],
)
def test_what_contradicts_the_paper_is_refused_in_one_line(
    name: str, options: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=reason) as raised:
        mindgauge.run(name, model="replay/none", as_published=True, out=tmp_path / "run", **options)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("judge", "rated_by_it"),
    [
        ("openai/gpt-4.1", True),
        ("gpt-4.1-2025-04-14 (authors)", True),
        ("http://127.0.0.1:9/v1#gpt-4.1", True),
        ("openai/gpt-4.1-mini", False),
        ("acme/not-gpt-4.1", False),
    ],
)
def test_the_papers_judge_is_no_sibling_of_it(judge: str, rated_by_it: bool) -> None:
    ethics = benchmarks.asked_one("trustmh/ethics")
    (protocol,) = replica.replicas(ethics.folder)
    lacking = as_published.to_bring(protocol, ethics, None, [], [judge])
    assert any(protocol.judge in entry for entry in lacking) is not rated_by_it
