"""`mindgauge judges` at the terminal: tables for people, JSON for programs, one line for what is wrong."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from mindgauge.cli import app
from tests.commands.judges.conftest import replies_file
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aiohttp import web

    from mindgauge.benchmarks import Benchmark


def truthful(body: dict[str, Any], count: int) -> web.StreamResponse:
    found = re.search(r"\[(\d),(\w+)\]", words(body))
    assert found is not None
    warmth, asks = int(found[1]), found[2]
    reasons = {"quotes": ["I hear you"], "rationale": "it says so"}
    usage = {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 60}}
    if '"checks"' not in words(body):
        return says(json.dumps({**reasons, "warmth": warmth, "asks": asks}), usage=usage)
    chain = {"warmth": {**reasons, "value": warmth}, "asks": {**reasons, "checks": {"question": asks}, "value": asks}}
    return says(json.dumps(chain), usage=usage)


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub(truthful) as server:
        yield server


def invoke(*arguments: object) -> str:
    found = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.output


@pytest.mark.long
def test_compare_and_rationales(care: Benchmark, tmp_path: Path, stub: Stub) -> None:
    path, out = replies_file(tmp_path / "r.jsonl", 6, 5), tmp_path / "out"
    asked = (
        "judges",
        "compare",
        "care",
        "--replies",
        path,
        "--judge",
        f"{stub.url}#j",
        "--out",
        out,
        "--judge-runs",
        2,
    )
    dry = json.loads(invoke(*asked, "--dry-run", "--json"))
    assert dry["calls"] == 6 * 5 * 2 * 3 and stub.calls == 0
    short, shown = invoke(*asked), invoke(*asked, "--full")
    assert "agrees most with people" in short and "Asked again" not in short
    assert stub.calls == dry["calls"]
    for told in ("judges against people", "(chain)", "Asked again", "What it took", "of them cached", "Systems' means"):
        assert told in shown
    assert "0 of" in short and "0 of" in shown and "differences are real" in shown
    found = json.loads(invoke(*asked, "--json"))
    assert stub.calls == dry["calls"], "nothing is asked twice"
    assert {a["judge"].partition("#")[2] for a in found["agreements"]} == {"j", "j (general)", "j (chain)"}
    assert {t["cached_tokens"] for t in found["taken"]} == {30}, "two verdicts a call"
    (card, *_) = json.loads(invoke("reliability", out, "--json"))["cards"]
    assert card["estimates"]["rationale_traceable"]["value"] == 1
    invoke("reliability", out, "--full")


def test_rate_by_several_methods_counts_cached_tokens(care: Benchmark, tmp_path: Path, stub: Stub) -> None:
    path = replies_file(tmp_path / "r.jsonl", 2, 1)
    shown = invoke(
        "rate", "care", "--replies", path, "--judge", f"{stub.url}#j", "--method", "general,chain",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert "4 calls (0 failed), 400 (240 from cache) + 36 tokens" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "rules"), "--method is general, rule, chain or several of them, not 'rules'"),
        (("--reference", "H1"), "--reference names raters of a run"),
        (("--mode", "apart"), "--mode is joint or split"),
    ],
)
def test_what_is_wrong_is_one_line(
    care: Benchmark, tmp_path: Path, stub: Stub, arguments: tuple[str, ...], message: str
) -> None:
    path = replies_file(tmp_path / "r.jsonl", 1, 1)
    found = CliRunner().invoke(
        app, ["judges", "compare", "care", "--replies", str(path), "--judge", f"{stub.url}#j", *arguments]
    )
    assert message in str(found.exception)
    assert stub.calls == 0
