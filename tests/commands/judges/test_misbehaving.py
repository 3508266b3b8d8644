"""A judge that misbehaves gets a status for each way of doing so, never a value that it did not give."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.models.scripted import Scripted
from mindgauge.models.settings import Settings
from mindgauge.raters.verdict import BROKEN, CUT, NO_OBJECT, TWICE
from mindgauge.records import Exchange, Rating, Status
from mindgauge.store import Store
from tests.commands.judges.conftest import replies_file
from tests.stub import Stub, says

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.request import Request

GOOD = json.dumps({"quotes": ["I hear you"], "rationale": "it listens", "warmth": 2, "asks": "no"})


def rubric_itself(request: Request) -> str:
    text = request.messages[0].content
    return text[text.index("## warmth") : text.index("<dialogue")]


def form_itself(request: Request) -> str:
    text = request.messages[0].content
    return text[text.index("{\n") : text.index("\n}") + 2]


def judged(tmp_path: Path, answer: Callable[[Request], str | Exchange], **more: Any) -> list[Rating]:
    path = replies_file(tmp_path / "r.jsonl", 1, 1)
    mindgauge.rate("care", replies=path, judge=Scripted("j", answer), out=tmp_path / "out", **more)
    with Store(tmp_path / "out") as store:
        return [rating for rating in store.ratings("care") if rating.rater_kind == "model"]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("The reply is kind and asks nothing; I would say it is polite.", NO_OBJECT),
        (rubric_itself, BROKEN),
        (form_itself, BROKEN),
        (GOOD[:-20], BROKEN),
        ('{"warmth": 1, "warmth": 2, "asks": "no"}', TWICE),
        ('{"warmth": 9, "asks": "perhaps"}', '"warmth" is none of 1, 2, 3'),
        ('{"warmth": null, "asks": []}', '"warmth" is none of 1, 2, 3'),
        ('{"warmth": "not_applicable", "asks": "not_applicable"}', '"warmth" is none of 1, 2, 3'),
        ('{"thoughts": "' + "well, " * 50_000, "it is longer than 64 KiB"),
        ("\x00\ud800", NO_OBJECT),
    ],
    ids=[
        "prose",
        "the rubric",
        "the form",
        "half JSON",
        "a key twice",
        "off the scale",
        "null",
        "not offered",
        "endless",
        "noise",
    ],
)
def test_what_cannot_be_read_is_unparsable_after_one_repair(
    care: Benchmark, tmp_path: Path, answer: str | Callable[[Request], str], problem: str
) -> None:
    calls: list[Request] = []

    def said(request: Request) -> str:
        calls.append(request)
        return answer if isinstance(answer, str) else answer(request)

    ratings = judged(tmp_path, said)
    assert len(calls) == 2
    assert [(r.status, r.value) for r in ratings] == [(Status.UNPARSABLE, None)] * 2
    assert next(r for r in ratings if r.criterion == "warmth").provenance["problem"].startswith(problem)


@pytest.mark.parametrize(
    ("answer", "method"),
    [
        (GOOD, "rule"),
        ("{'quotes': ['I hear you'], 'warmth': 2, 'asks': 'no'}", "rule"),
        ("Thinking.\n```json\n" + GOOD + "\n```\nDone.", "rule"),
        ('{"quotes": {"safety": 5}, "verdict": 1} ' + GOOD, "rule"),
        ('{"warmth": {"value": 2}, "asks": {"checks": {"question": "no"}, "value": "no"}}', "chain"),
        (GOOD, "chain"),
        (GOOD.replace("it listens", "no\\u0000thing\\ud800"), "rule"),
    ],
    ids=["as asked", "Python's quotes", "fenced", "after another object", "chain", "flat in a chain", "surrogates"],
)
def test_what_can_be_read_is_read(care: Benchmark, tmp_path: Path, answer: str, method: str) -> None:
    ratings = judged(tmp_path, lambda request: answer, method=method)
    assert {r.criterion: (r.status, r.value) for r in ratings} == {"warmth": (Status.OK, 2), "asks": (Status.OK, "no")}
    for rating in ratings:
        rating.rationale.encode()


def test_an_answer_in_another_language_is_read_and_said(care: Benchmark, tmp_path: Path) -> None:
    answer = json.dumps({"quotes": [], "rationale": "回复表达了倾听，但没有提问。", "warmth": 2, "asks": "no"})
    ratings = judged(tmp_path, lambda request: answer)
    assert {r.status for r in ratings} == {Status.OK}
    assert {r.provenance["answered_in"] for r in ratings} == {"Chinese"}


def test_an_answer_in_the_prompt_s_language_is_not_remarked(care: Benchmark, tmp_path: Path) -> None:
    assert not any("answered_in" in r.provenance for r in judged(tmp_path, lambda request: GOOD))


def test_a_conclusion_against_the_chain_is_kept_and_marked(care: Benchmark, tmp_path: Path) -> None:
    answer = json.dumps({"warmth": {"value": 1}, "asks": {"checks": {"question": "yes"}, "value": "no"}})
    ratings = {r.criterion: r for r in judged(tmp_path, lambda request: answer, method="chain")}
    assert (ratings["asks"].value, ratings["asks"].provenance["implied"]) == ("no", "yes"), "never corrected by us"
    assert "implied" not in ratings["warmth"].provenance


def test_an_answer_that_was_cut_off_is_unparsable_and_said(care: Benchmark, tmp_path: Path) -> None:
    def endless(request: Request) -> Exchange:
        return Exchange(Status.OK, '{"quotes": ["' + "on and on " * 100, "length")

    ratings = judged(tmp_path, endless)
    assert {(r.status, r.provenance["problem"]) for r in ratings} == {(Status.UNPARSABLE, CUT)}


@pytest.mark.parametrize("status", [Status.REFUSED, Status.FILTERED, Status.FAILED])
def test_no_answer_keeps_its_reason(care: Benchmark, tmp_path: Path, status: Status) -> None:
    ratings = judged(tmp_path, lambda request: Exchange(status, error="why"))
    assert {(r.status, r.value) for r in ratings} == {(status, None)}


def test_replies_with_null_bytes_and_lone_surrogates_are_judged(care: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"user": "I feel\\u0000 low", "reply": "I hear\\ud83d you", "model": "m"}\n', encoding="utf-8")
    seen: list[str] = []

    def said(request: Request) -> str:
        seen.append(request.messages[0].content)
        return GOOD

    found = mindgauge.rate("care", replies=path, judge=Scripted("j", said), out=tmp_path / "out")
    assert isinstance(found, Scores)
    assert found.statuses == {"ok": 3}
    assert "\x00" not in seen[0] and "\ud83d" not in seen[0]


def test_what_is_too_long_is_said_before_the_run_and_missing_after_it(care: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    rows = [
        {"user": "I feel low. " * (1 + 2000 * (n == 1)), "reply": f"I hear you {n}.", "model": "m"} for n in range(3)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    told: list[str] = []

    def handler(body: dict[str, Any], count: int) -> Any:
        assert told, "the notice comes before the first call"
        if len(body["messages"][0]["content"]) > 8000:
            return _refused()
        return says(GOOD)

    with Stub(handler) as stub:
        found = mindgauge.rate(
            "care", replies=path, judge=f"{stub.url}#judge", out=tmp_path / "out", notice=told.append,
            settings=Settings(context=2000, tries=1), judge_max_tokens=100,
        )  # fmt: skip
    assert isinstance(found, Scores)
    assert len(told) == 1
    assert "1 of 3 replies are probably longer than its context of 2000 tokens" in told[0]
    assert found.statuses == {"ok": 3 + 4, "failed": 2}


def _refused() -> Any:
    from aiohttp import web

    error = {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"}
    return web.json_response({"error": error}, status=400)


def test_nothing_is_said_where_everything_fits_or_nobody_knows(care: Benchmark, tmp_path: Path) -> None:
    told: list[str] = []
    roomy = Scripted("roomy", lambda request: GOOD)
    roomy.context, roomy.max_tokens = 100_000, 100
    path = replies_file(tmp_path / "r.jsonl", 2, 1)
    mindgauge.rate(
        "care", replies=path, judge=[roomy, Scripted("j", lambda r: GOOD)], out=tmp_path / "o", notice=told.append
    )
    assert told == []
