"""A judge's reasons in the report: whether they can be checked, and what people said of them on blind forms."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.commands.judges.rationales import rationales, rationales_export, rationales_import
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


def test_reasons_stand_in_the_judges_card_as_the_command_has_them(run: Path) -> None:
    (told,) = trust(run)["judges"]
    asks = next(r for r in rationales(run).rationales if r.criterion == "asks")
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


def test_what_people_said_on_blind_forms_stands_there_too(run: Path, tmp_path: Path) -> None:
    assert not [fact for fact in trust(run)["judges"][0]["facts"] if "blind" in fact]
    forms = rationales_export(run, people=2, limit=10)
    filled = []
    for number, file in enumerate(sorted((tmp_path / "run" / "rationales").glob("form_*.csv"))):
        with file.open(encoding="utf-8-sig", newline="") as source:
            rows = list(csv.DictReader(source))
        for place, row in enumerate(sorted(rows, key=lambda r: r["id"])):
            row |= {"rationality": str(1 + place % 5), "traceability": "4", "consistency": str(2 + number)}
        path = tmp_path / f"person_{number}.csv"
        with path.open("w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        filled.append(path)
    assert forms.verdicts == 10
    there = rationales_import(run, filled=filled)
    means = {q.question: next(iter(q.means.values())).value or 0.0 for q in there.questions}
    told = trust(run)
    (said,) = (fact for fact in told["judges"][0]["facts"] if fact.startswith("On blind forms, 2 people"))
    for question, mean in means.items():
        assert f"{question} (" in said
        assert f") {mean:.1f} (" in said
    assert "10 of 10 verdicts" in said
    assert any("rationality 1.00" in fact for fact in told["general"]), "both said the same of rationality"
