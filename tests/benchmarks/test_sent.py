"""What a card says is sent is what is sent: the requests of every benchmark, captured, are held against its card."""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.raters.window import Unit
from mindgauge.store import Store
from tests.conftest import obliging
from tests.stub import Stub, says
from tests.thinned import sampled

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.card import Sent

ALL = [benchmarks.find_one(name) for name in benchmarks.names()]
each = pytest.mark.parametrize("benchmark", ALL, ids=lambda b: b.name)
some = pytest.mark.parametrize("benchmark", sampled(ALL, 3), ids=lambda b: b.name)
REPEATS = 2
_FENCE = re.compile(r"<(dialogue|message|reply|story|posts|question|item)[^<>]* ([0-9a-f]{16})>")


def answering(body: dict[str, Any], n: int) -> Any:
    """Answer any question so that a judge has something to rate."""
    if "response_format" in body:
        return obliging(body, n)
    return says('{"choice": "A", "reasoning": "I would listen first, and ask."}')


def sent(body: dict[str, Any], claimed: Sent) -> dict[str, Any]:
    """Read a request as a card describes it; `repairs` and the seed's value show in several requests only."""
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    names = [*schema.get("properties", {})]
    return {
        "temperature": body.get("temperature", "own"),
        "seed": "seed" in body,
        "room": body["max_tokens"],
        "system": body["messages"][0]["role"] == "system",
        "fence": any(_FENCE.search(message["content"]) for message in body["messages"]),
        "schema": names[:2] == ["quotes", "rationale"] and len(names) > 2,
        "repairs": claimed.repairs,
    }


def check(bodies: list[dict[str, Any]], claimed: Sent | None) -> None:
    assert claimed is not None, "the card does not say what is sent"
    assert bodies, "nothing was sent"
    fields = {name: getattr(claimed, name) for name in claimed.__struct_fields__}
    for body in bodies:
        assert sent(body, claimed) == fields
        assert body.keys() <= {"model", "messages", "seed", "max_tokens", "temperature", "response_format"}


@pytest.mark.parametrize("benchmark", sampled(ALL, 2), ids=lambda b: b.name)
def test_every_request_is_as_the_card_says(benchmark: Benchmark, tmp_path: Path) -> None:
    with Stub(answering) as stub:
        more: dict[str, Any] = {} if benchmark.closed else {"judge": stub.judge, "judge_runs": REPEATS}
        mindgauge.run(benchmark.name, model=stub.model, out=tmp_path, limit=2, runs=REPEATS, **more)
        asked = [body for body in stub.bodies if body["model"] == "stub"]
        judged = [body for body in stub.bodies if body["model"] == "judge"]
    check(asked, benchmark.card.asks)
    assert {body["seed"] for body in asked} == set(range(REPEATS)), "the seed is the repeat's number"
    if not benchmark.closed:
        check(judged, benchmark.card.judging)
        assert {body["seed"] for body in judged} == set(range(REPEATS))
    with Store(tmp_path) as store:
        provenances = [
            r.provenance for r in store.ratings(benchmark.name) if r.rater_kind == "model" and "call" in r.provenance
        ]
    stated = {json.dumps(provenance["parameters"]) for provenance in provenances}
    claimed = benchmark.card.asks if benchmark.closed else benchmark.card.judging
    assert claimed is not None
    assert stated == {json.dumps({} if claimed.temperature == "own" else {"temperature": claimed.temperature})}


@pytest.mark.parametrize("benchmark", [b for b in ALL if not b.closed], ids=lambda b: b.name)
def test_an_open_question_is_the_bare_dialogue(benchmark: Benchmark, tmp_path: Path) -> None:
    with Stub(obliging) as stub:
        mindgauge.run(benchmark.name, model=stub.model, out=tmp_path, limit=3)
        with Store(tmp_path) as store:
            samples, replies = [*store.samples(benchmark.name)], [*store.replies(benchmark.name)]
    sent = [[(m["role"], m["content"]) for m in body["messages"]] for body in stub.bodies]
    if benchmark.persons is None:
        dialogues = [[(m.role, m.content) for m in s.messages] for s in samples]
        assert all(messages[bool(benchmark.prompts.get("reply")) :] in dialogues for messages in sent)
        return
    words = {s.id: [m.content for m in s.messages] for s in samples if s.tags["unit"] == Unit.TURN}
    answers = {reply.sample: reply.text for reply in replies if reply.sample in words}
    by_words = {tuple(spoken): answers[ident] for ident, spoken in words.items()}
    assert len(by_words) == len(words) == len(sent)
    for spoken in words.values():
        between = [by_words[tuple(spoken[:turn])] for turn in range(1, len(spoken))]
        dialogue = [*zip(("user", "assistant") * len(between), chain(*zip(spoken, between, strict=False)), strict=True)]
        assert [*dialogue, ("user", spoken[-1])] in sent, "the person's words, and the model's own answers between them"


@some
def test_an_unreadable_answer_is_asked_again_as_often_as_the_card_says(benchmark: Benchmark, tmp_path: Path) -> None:
    def mute(body: dict[str, Any], n: int) -> Any:
        return says("…") if "response_format" in body else answering(body, n)

    with Stub(mute) as stub:
        more: dict[str, Any] = {} if benchmark.closed else {"judge": stub.judge}
        mindgauge.run(benchmark.name, model=stub.model, out=tmp_path, limit=1, **more)
        bodies = [body for body in stub.bodies if "response_format" in body]
    claimed = benchmark.card.asks if benchmark.closed else benchmark.card.judging
    assert claimed is not None
    again = [body for body in bodies if "An earlier answer could not be read" in body["messages"][0]["content"]]
    assert again
    assert len(again) == claimed.repairs * (len(bodies) - len(again))


@pytest.mark.parametrize("benchmark", [b for b in ALL if b.closed and b.about_reply], ids=lambda b: b.name)
def test_a_closed_question_about_replies_of_a_file_is_asked_as_the_card_says_of_judges(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text(json.dumps({"user": "I feel low.", "reply": "I hear you."}) + "\n", encoding="utf-8")
    with Stub(obliging) as stub:
        mindgauge.rate(benchmark.name, replies=path, judge=stub.judge, out=tmp_path / "r")
        check(stub.bodies, benchmark.card.judging)


def test_judges_that_recognise_the_protocol_themselves_are_asked_like_judges(tmp_path: Path) -> None:
    name = "help_or_harm/response"
    with Stub(obliging) as stub:
        mindgauge.run(
            name, model=stub.model, judge=stub.judge, protocol="recognised", temperature=0.7, limit=3, out=tmp_path
        )
        temperatures = {(body["model"], body["temperature"]) for body in stub.bodies}
    assert temperatures == {("stub", 0.7), ("judge", 0)}


def test_what_a_command_says_goes_before_the_card(tmp_path: Path) -> None:
    with Stub(obliging) as stub:
        mindgauge.run(
            "help_or_harm/response", model=stub.model, judge=stub.judge, temperature=1.0, judge_temperature=0.5, limit=3,
            out=tmp_path / "a",
        )  # fmt: skip
        assert {(body["model"], body["temperature"]) for body in stub.bodies} == {("stub", 1.0), ("judge", 0.5)}
    with Stub(obliging) as stub:
        mindgauge.run(
            "help_or_harm/response",
            model=stub.model,
            judge=stub.judge,
            judge_temperature=None,
            limit=3,
            out=tmp_path / "b",
        )
        assert not any("temperature" in body for body in stub.bodies)


@each
def test_what_a_departure_says_of_a_setting_the_card_states_as_a_field(benchmark: Benchmark) -> None:
    """Words on temperature are held against the field: they may tell of the source's, and of ours only what is sent."""
    for departure in benchmark.card.departures:
        ours = re.split(r"; (?=the (?:paper|source))", departure)[0]
        told = re.search(r"temperature", ours, re.IGNORECASE)
        number = re.search(r"temperature (?:is |of )?(\d(?:\.\d+)?)", ours, re.IGNORECASE)
        if told:
            kinds = [kind for kind in (benchmark.card.asks, benchmark.card.judging) if kind is not None]
            assert number is None or float(number[1]) in {kind.temperature for kind in kinds}, departure
