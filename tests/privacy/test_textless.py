"""A run without text keeps every number of the same run with text, and nothing that anybody said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.models.settings import Settings
from mindgauge.records.errors import BudgetError, MindgaugeError, UsageError
from mindgauge.records.request import Price
from mindgauge.store import Store, manifest
from mindgauge.store.textless import characters
from tests.privacy.said import REPLY, SPOKEN, found, speaking
from tests.stub import Stub
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.records import Rating

RESPONSE, CRISIS = "help_or_harm/response", "help_or_harm/crisis_type"
FAST = Settings(tries=1, concurrency=8)


@pytest.fixture
def server() -> Iterator[Stub]:
    with Stub(speaking) as stub:
        yield stub


def run(stub: Stub, out: Path, name: str = RESPONSE, **more: Any) -> Scores:
    more = {"settings": FAST, "limit": 8, "own_family": True, **more}
    if not benchmarks.find_one(name).closed:
        more.setdefault("judge", [stub.model, "rule/refusal"])
    result = mindgauge.run(name, model=stub.model, out=out, **more)
    assert isinstance(result, Scores)
    return result


def contents(name: str) -> list[str]:
    return [message.content for sample in benchmarks.find_one(name).samples(None) for message in sample.messages]


def numbers(rating: Rating) -> tuple[Any, ...]:
    """Return what a rating says in numbers and names, and where its quotes stand."""
    places = [(e.found, e.source, e.start, e.end) for e in rating.evidence]
    told = {k: rating.provenance.get(k) for k in ("protocol", "implied", "uncertain", "calls", "stated_total")}
    return (replace(rating, rationale="", evidence=(), provenance={}), places, told)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        later(RESPONSE, {"mode": "split", "protocol": "recognised", "runs": 2}),
        ("psycrisis", {"method": "chain", "qualify": True, "anchors": 4}),
        later("mentalbench", {"mode": "split", "judge_runs": 2}),
        (CRISIS, {"runs": 2}),
        later("dialogue_safety", {"ask": ["few-shot", "sequential"]}),
        ("trustmh/privacy_leakage", {}),
    ],
    ids=["recognised", "chain", "split", "closed", "sequential", "readings"],
)
def test_the_numbers_are_those_of_a_run_with_text_and_no_word_is_kept(
    server: Stub, tmp_path: Path, name: str, how: dict[str, Any]
) -> None:
    texts = [*contents(name), *SPOKEN]
    with_text, without = tmp_path / "with", tmp_path / "without"
    expected = run(server, with_text, name, **how)
    result = run(server, without, name, text=False, **how)

    assert found(with_text, texts), "the search finds what is there"
    assert found(without, texts) == []
    assert not (without / "pending").exists()
    assert (result.metrics, result.statuses, result.statuses_by) == (
        expected.metrics,
        expected.statuses,
        expected.statuses_by,
    )
    with Store(with_text) as there, Store(without) as here:
        names = [row[0] for row in there.select("SELECT DISTINCT benchmark FROM samples")]
        for each in names:
            for full, bare in zip(there.samples(each), here.samples(each), strict=True):
                assert (bare.id, bare.tags, bare.target, bare.cluster) == (
                    full.id,
                    full.tags,
                    full.target,
                    full.cluster,
                )
                sizes = [(m.role, len(m.content)) for m in full.messages]
                assert [(m.role, characters(m.content)) for m in bare.messages] == sizes
            replies = {r.id: (r.sample, r.run, r.status, r.usage, len(r.text)) for r in there.replies(each)}
            kept = {r.id: (r.sample, r.run, r.status, r.usage, characters(r.text)) for r in here.replies(each)}
            assert kept == replies
            assert [numbers(r) for r in here.ratings(each)] == [numbers(r) for r in there.ratings(each)]
            assert not any(r.rationale or any(e.quote for e in r.evidence) for r in here.ratings(each))


@pytest.mark.long
def test_reliability_and_every_other_reading_work_without_text(server: Stub, tmp_path: Path) -> None:
    with Stub(speaking) as other:
        for out, text in (("with", True), ("without", False)):
            run(server, tmp_path / out, judge=[server.model, other.model], text=text, limit=14)
    cards = mindgauge.reliability(tmp_path / "without", reference=other.model, resamples=200).cards
    assert cards
    assert cards == mindgauge.reliability(tmp_path / "with", reference=other.model, resamples=200).cards
    page = tmp_path / "report.html"
    mindgauge.report(tmp_path / "without", out=page)
    assert "kept without text" in page.read_text(encoding="utf-8")
    assert found(tmp_path, [*contents(RESPONSE), *SPOKEN], without="with") == []
    mindgauge.compare([tmp_path / "without", tmp_path / "with"])
    for form in ("csv", "parquet"):
        mindgauge.export(tmp_path / "without", to=form, out=tmp_path / form)
    assert found(tmp_path / "csv", [*contents(RESPONSE), *SPOKEN]) == []


def test_a_finished_run_has_nothing_left_to_do(server: Stub, tmp_path: Path) -> None:
    first = run(server, tmp_path, CRISIS, text=False)
    calls = server.calls
    failed = first.statuses.get("failed", 0)
    again = run(server, tmp_path, CRISIS, text=False)
    assert server.calls - calls == failed, "only what failed is asked again"
    assert (again.metrics, again.statuses) == (first.metrics, first.statuses)


def test_a_budget_that_stops_leaves_the_texts_and_says_where(server: Stub, tmp_path: Path) -> None:
    price = Price(1e-6, 1e-4)
    told: list[str] = []
    how: dict[str, Any] = {"text": False, "notice": told.append, "mode": "split", "limit": 12}
    dear = replace(FAST, price=price)
    with pytest.raises(
        BudgetError, match=r"run the same command to go on; texts wait in .*pending, remove that folder"
    ):
        run(server, tmp_path / "r", settings=replace(dear, max_tokens=64), max_cost=0.016, **how)
    assert any("pending, which is removed when the command is done" in line for line in told)
    assert found(tmp_path / "r", [*contents(RESPONSE), *SPOKEN]) == []
    assert found(tmp_path / "r", [REPLY], without="none"), "the texts that wait are there"
    cut = server.calls
    result = run(server, tmp_path / "r", settings=replace(dear, max_tokens=64), **how)
    resumed = server.calls
    whole = run(server, tmp_path / "whole", settings=replace(dear, max_tokens=64), **how)
    failed = sum(n for status, n in whole.statuses.items() if status == "failed")
    assert 0 < cut < resumed
    assert resumed - (server.calls - resumed) <= failed * 2, "only what failed is asked again"
    assert result.metrics == whole.metrics
    assert not (tmp_path / "r" / "pending").exists()


def test_replies_whose_texts_are_gone_are_asked_for_again_where_they_lack_a_rating(tmp_path: Path) -> None:
    down = True

    def judging_fails(body: dict[str, Any], n: int) -> Any:
        if down and "response_format" in body and len(str(body["messages"])) % 3 == 0:
            from aiohttp import web

            return web.Response(status=400, text=f"no: {body['messages'][0]['content']}")
        from tests.conftest import obliging

        return obliging(body, n)

    with Stub(judging_fails) as stub:
        first = run(stub, tmp_path, text=False, judge=stub.judge)
        lost = first.statuses["failed"]
        assert 0 < lost < 8
        down = False
        calls = stub.calls
        again = run(stub, tmp_path, text=False, judge=stub.judge)
        assert stub.calls - calls == 2 * lost, "each is answered and judged once more, and no other"
        assert again.statuses == {"ok": 16}
    with Store(tmp_path) as store:
        assert store.count_replies(RESPONSE) == 8
    assert not (tmp_path / "pending").exists()


def test_a_plan_with_text_and_one_without_are_not_mixed(server: Stub, tmp_path: Path) -> None:
    run(server, tmp_path / "with")
    run(server, tmp_path / "without", text=False)
    assert manifest.read(tmp_path / "without")["plan"]["text"] is False
    with pytest.raises(UsageError, match="keeps no text; add --no-text to continue it"):
        run(server, tmp_path / "without")
    with pytest.raises(UsageError, match="keeps its texts; leave out --no-text to continue it"):
        run(server, tmp_path / "with", text=False)
    assert not (tmp_path / "with" / "pending").exists()
    with pytest.raises(UsageError, match="kept without text, and this needs what was said"):
        mindgauge.rate(RESPONSE, replies=tmp_path / "without", judge="rule/outside_help")
    with pytest.raises(UsageError, match="keeps its texts"):
        mindgauge.rate(RESPONSE, replies=tmp_path / "with", judge="rule/outside_help", text=False)
    with pytest.raises(UsageError, match="kept without text"):
        mindgauge.annotate_new(tmp_path / "p", benchmark=RESPONSE, items=tmp_path / "without", annotators=["Ana"])


def test_a_file_of_replies_is_rated_without_keeping_it(server: Stub, tmp_path: Path) -> None:
    rows = [
        {
            "user": f"I have hardly slept since the move, night {n}. 搬家以后我几乎睡不着。",
            "reply": f"{REPLY} {n}",
            "category": "anxiety_crisis" if n % 2 else "suicidal_ideation",
            "id": f"row {n} of what was written down by hand in the evening by somebody who could not sleep any more",
        }
        for n in range(8)
    ]
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    out = tmp_path / "r"
    for _ in range(2):
        mindgauge.rate(RESPONSE, replies=path, judge=server.model, out=out, text=False, settings=FAST)
        said = [*(str(row[key]) for row in rows for key in ("user", "reply", "id")), *SPOKEN]
        assert found(out, said) == []
        assert not (out / "pending").exists()


def test_what_cannot_be_opened_leaves_no_folder_behind(server: Stub, tmp_path: Path) -> None:
    run(server, tmp_path / "r", CRISIS, text=False)
    with Store(tmp_path / "r", write=True), pytest.raises(MindgaugeError, match="another process"):
        run(server, tmp_path / "r", CRISIS, text=False)
    assert not (tmp_path / "r" / "pending").exists()
