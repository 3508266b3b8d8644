"""A judge's reasons in the report: whether they can be checked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.analysis.rationales import reasons
from mindgauge.store import Store
from tests.commands.judges.conftest import care, judge, replies_file

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark

__all__ = ["care"]


def contradicting(method: str, warmth: int, asks: str, _: object) -> Any:
    """Quote what is there for warmth; say yes against an own check of no, of every reply that asks nothing."""
    reasons = {"quotes": ["I hear you"], "rationale": "it says <b>so</b>", "uncertain": False}
    return json.dumps({
        "warmth": {**reasons, "value": warmth},
        "asks": {**reasons, "checks": {"question": asks}, "quotes": ["never said"], "value": "yes"},
    })  # fmt: skip


@pytest.fixture
def run(care: Benchmark, tmp_path: Path) -> Path:
    out = tmp_path / "run"
    mindgauge.rate("care", replies=replies_file(tmp_path / "r.jsonl", 12, 2), judge=judge(contradicting), out=out, method="chain")  # fmt: skip
    return out


def trust(run: Path) -> Any:
    return json.loads(mindgauge.report([run]).json.read_text(encoding="utf-8"))["trust"]


def test_reasons_stand_in_the_judges_card(care: Benchmark, run: Path) -> None:
    (told,) = trust(run)["judges"]
    with Store(run) as store:
        asks = next(r for r in reasons(store, care)[0] if r.criterion == "asks")
    share = f"{100 * (asks.contradicting.value or 0):.0f} %"
    assert asks.contradicting.value
    assert any(f"{share} contradict the judge's own checks (" in fact for fact in told["facts"])
    assert any("at least 0 % quote only what stands in the text, least on asks" in fact for fact in told["facts"])
    (sheet,) = told["reasons"]
    rows = {row[0]: row for row in sheet["rows"]}
    names = [column["name"] for column in sheet["columns"]]
    assert rows["asks"][names.index("against its own checks")] == asks.contradicting.value
    assert rows["asks"][names.index("verdicts")] == 24
    assert rows["warmth"][names.index("against its own checks")] is None, "it has no chain, which is no 0"
