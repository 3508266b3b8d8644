"""Dialogues in which a server misbehaves in the middle: how each ends, and that every figure counts it."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.models.settings import Settings
from mindgauge.records import Reply, Status
from mindgauge.store import Store
from tests.reports import talked
from tests.stub import CUT, Stub, says
from tests.thinned import sampled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Answer = web.StreamResponse | Awaitable[web.StreamResponse]

NAME = "conversations/risk"
BROKEN = 3
"""The turn in which a server misbehaves."""
WORDS = (
    "rain", "bus", "kettle", "homework", "neighbour", "garden", "shift", "window", "letter", "stairs", "cousin", "market",
)  # fmt: skip


def hold(folder: Path, model: Any, *, tries: int = 1, timeout: float = 30, **options: Any) -> Scores:
    """Hold dialogues of four turns in English."""
    usual: dict[str, Any] = {"turns": 4, "limit": 6, "where": {"language": ("en",)}, "qualify": False}
    settings = Settings(tries=tries, timeout=timeout)
    scores = mindgauge.run(NAME, model=model, out=folder, settings=settings, **{**usual, **options})
    assert isinstance(scores, Scores)
    return scores


def turn_of(body: dict[str, Any]) -> int:
    return sum(message["role"] == "user" for message in body["messages"])


def listens(body: dict[str, Any]) -> web.Response:
    return says(f"That sounds hard ({turn_of(body)}). What happened then?")


def plays(body: dict[str, Any]) -> web.Response:
    """Play a person who says another thing each time, and nothing that a check minds."""
    return says(" and ".join(random.Random(json.dumps(body["messages"])).sample(WORDS, 5)))


async def _never() -> web.Response:
    await asyncio.sleep(30)
    return web.Response()


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message}}, status=status)


WAYS: dict[str, tuple[Callable[[], Answer], Status, str]] = {
    "an empty text": (lambda: says(""), Status.UNPARSABLE, "failed"),
    "blanks": (lambda: says(" \n\t"), Status.UNPARSABLE, "failed"),
    "a refusal": (lambda: says(None, refusal="I cannot talk about this."), Status.REFUSED, "target_refused"),
    "a filter": (lambda: says("", finish_reason="content_filter"), Status.FILTERED, "filtered"),
    "a filter's error": (lambda: _error(400, "content_filter was triggered"), Status.FILTERED, "filtered"),
    "an error": (lambda: _error(500, "boom"), Status.FAILED, "failed"),
    "a context that is full": (lambda: _error(400, "maximum context length is 8192"), Status.FAILED, "failed"),
    "HTML": (lambda: web.Response(text="<html>Bad gateway</html>", content_type="text/html"), Status.FAILED, "failed"),
    "a cut answer": (lambda: CUT, Status.FAILED, "failed"),
    "a text without an end": (lambda: says("x" * (1 << 21)), Status.FAILED, "failed"),
    "a time-out": (_never, Status.FAILED, "failed"),
}


def kept(folder: Path, unit: str) -> list[Reply]:
    with Store(folder) as store:
        return [reply for reply in store.replies(NAME) if reply.provenance["unit"] == unit]


@pytest.mark.parametrize("way", sampled(WAYS, 6))
def test_a_dialogue_that_the_target_breaks_off_is_in_every_figure(tmp_path: Path, way: str) -> None:
    answer, status, outcome = WAYS[way]
    with Stub(lambda body, _: answer() if turn_of(body) == BROKEN else listens(body)) as stub:
        scores = hold(tmp_path, stub.model, judge=talked.judge(), timeout=0.5 if answer is _never else 30)
    wholes, turns = kept(tmp_path, "dialogue"), kept(tmp_path, "turn")
    assert [(whole.status, whole.provenance["outcome"]) for whole in wholes] == [(status, outcome)] * 6
    behind = {} if status is Status.FAILED else {(4, Status.NOT_APPLICABLE): 6}  # what failed is asked for again
    assert Counter((r.provenance["turn"], r.status) for r in turns) == {
        **{(turn, Status.OK): 6 for turn in range(1, BROKEN)}, (BROKEN, status): 6, **behind,
    }  # fmt: skip
    with Store(tmp_path) as store:
        tags = [sample.tags for sample in store.samples(NAME) if sample.tags["unit"] == "dialogue"]
    at_risk = sum(known["planned"] not in {"everyday", "distress"} for known in tags)
    assert 0 < at_risk < 6
    for name, n, worst, best in (
        ("worst_turn", 6, 1, 3), ("vetoed_dialogues", 6, 1, 0), ("over_escalation", 6 - at_risk, 1, 0),
        ("never_recognised", at_risk, 1, 0),
    ):  # fmt: skip
        [figure] = scores.find(name)
        assert (figure.n, figure.missing, figure.worst, figure.best) == (n, n, worst, best), name
        assert figure.void == f"no usable verdict in {n} of {n}, for want of replies", "nothing that the judge did"
    [wait] = scores.find("turns_to_recognition")
    assert (wait.n, wait.missing, wait.best) == (at_risk, at_risk, 0)


def test_one_error_is_asked_again_and_leaves_no_trace(tmp_path: Path) -> None:
    seen = Counter[str]()

    def answer(body: dict[str, Any], _: int) -> Answer:
        seen[text := json.dumps(body["messages"])] += 1
        return _error(500, "boom") if turn_of(body) == BROKEN and seen[text] == 1 else listens(body)

    with Stub(answer) as stub:
        hold(tmp_path, stub.model, tries=2, limit=2)
    assert {whole.provenance["outcome"] for whole in kept(tmp_path, "dialogue")} == {"complete"}
    assert {reply.status for reply in kept(tmp_path, "turn")} == {Status.OK}


def test_a_long_answer_is_part_of_the_dialogue(tmp_path: Path) -> None:
    long = "very long words. " * 20_000
    with Stub(lambda body, _: says(long) if turn_of(body) == BROKEN else listens(body)) as stub:
        began = time.process_time()
        hold(tmp_path, stub.model, client=talked.client("first"), limit=1)
        assert time.process_time() - began < 10
    assert [reply.text for reply in kept(tmp_path, "turn")][BROKEN - 1] == long
    assert [whole.provenance["outcome"] for whole in kept(tmp_path, "dialogue")] == ["complete"]


@pytest.mark.parametrize("way", ["an error", "HTML", "a time-out"])
def test_a_client_that_does_not_answer_leaves_the_dialogue_open_until_it_does(tmp_path: Path, way: str) -> None:
    broken = {"is": True}
    answer = WAYS[way][0]

    def client(body: dict[str, Any], _: int) -> Answer:
        return answer() if broken["is"] and turn_of(body) == BROKEN else plays(body)

    with Stub(lambda body, _: listens(body)) as target, Stub(client) as person:
        hold(tmp_path, target.model, client=f"{person.url}#person", limit=2, timeout=1)
        assert [whole.status for whole in kept(tmp_path, "dialogue")] == [Status.FAILED] * 2
        assert (target.calls, person.calls) == (4, 4), "turns 1 and 2; turns 2 and 3, since the first words are ours"
        broken["is"] = False
        hold(tmp_path, target.model, client=f"{person.url}#person", limit=2)
        assert {whole.provenance["outcome"] for whole in kept(tmp_path, "dialogue")} == {"complete"}
        assert (target.calls, person.calls) == (8, 8), "what was answered is not asked again"


def test_a_client_that_writes_a_book_is_stopped_at_once(tmp_path: Path) -> None:
    def client(message: str) -> str:
        return "very long words. " * 20_000

    began = time.process_time()
    where = {"language": ("en",), "persona": ("dairy_farmer",)}
    hold(tmp_path, talked.target("deaf"), client=mindgauge.Function(client, name="book"), where=where, limit=1)
    assert time.process_time() - began < 10, "comparing it with what was said took a minute"
    assert [whole.provenance["outcome"] for whole in kept(tmp_path, "dialogue")] == ["client_broke_role"]
