"""Judges' reasons: planted faults are counted as what they are, and people rate them blindly, there and back."""

from __future__ import annotations

import shutil
import stat
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

import mindgauge
from mindgauge.commands.judges.rationales import rationales, rationales_export, rationales_import
from mindgauge.records import RaterKind
from mindgauge.records.errors import DataError, UsageError
from mindgauge.store import Store
from tests.commands.judges.forms import chain, fill, judged, rows

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.rationales import Rationales
    from mindgauge.benchmarks import Benchmark


def of(run: Path, criterion: str) -> Rationales:
    (found,) = (r for r in rationales(run).rationales if r.criterion == criterion)
    return found


def test_planted_faults_are_counted_as_what_they_are(care: Benchmark, tmp_path: Path) -> None:
    def said(number: int) -> str:
        asks: dict[str, Any] = {"value": "no", "quotes": []}
        if number < 3:  # contradicts itself: no question, and yet it asks
            asks = {"value": "yes", "quotes": ["I hear you"]}
        elif number < 5:  # claims what it cannot show
            asks = {
                "value": "yes",
                "checks": {"question": "yes"},
                "quotes": ["How are you tonight?"],
                "uncertain": True,
            }
        elif number < 9:
            asks = {"value": "yes", "checks": {"question": "yes"}, "quotes": ["I feel low"]}
        return chain({"value": 2, "rationale": "它说了这句话。" if number == 0 else "it says so"}, asks)

    run = judged(tmp_path, said)
    asks, warmth = of(run, "asks"), of(run, "warmth")
    assert (asks.n, asks.clusters, asks.absent) == (24, 12, 6)
    assert asks.traceable.value == pytest.approx(7 / 9)
    assert asks.quoted_reply.value == pytest.approx(3 / 7), "of those with a found quote; the others quote the dialogue"
    assert asks.contradicting.value == pytest.approx(3 / 12)
    assert asks.contradicting.low == pytest.approx(0.0549, abs=1e-4), "Clopper-Pearson for 3 of 12 conversations"
    assert asks.unsupported.value == pytest.approx(2 / 6)
    assert asks.uncertain.value == pytest.approx(2 / 12)
    assert (warmth.traceable.value, warmth.answered_elsewhere) == (1, 2)
    assert warmth.contradicting.note == "no chain of reasoning", "it has no checks"


@pytest.fixture
def run(care: Benchmark, tmp_path: Path) -> Path:
    return judged(tmp_path, lambda n: chain({"value": 1 + n % 3, "rationale": '=HYPERLINK("x")'}, {"value": "no"}))


def test_a_form_hides_whose_verdict_it_is(run: Path) -> None:
    found = rationales_export(run, people=2, seed=7)
    first, second = (rows(run / "rationales" / f"form_{n}.csv") for n in (1, 2))
    assert found.verdicts == len(first) == 48
    assert {r["id"] for r in first} == {r["id"] for r in second}
    assert [r["id"] for r in first] != [r["id"] for r in second], "each person has an order of their own"
    content = "".join(path.read_text(encoding="utf-8") for path in (run / "rationales").rglob("*") if path.is_file())
    assert not any(name in content for name in ("secret-model", "s0", "s1", "chain"))
    with Store(run) as store:
        assert not any(reply.id in content for reply in store.replies("care"))
    assert {r["rationale"] for r in first} == {'\'=HYPERLINK("x")', "it says so"}, "a spreadsheet runs no formula"
    assert all(not r[q] for r in first for q in ("rationality", "traceability", "consistency"))
    assert not list((run / "rationales").glob("*key*"))
    assert len({row["judge"] for row in rows(run / "rationales-key.csv")}) == 1


def test_the_same_seed_gives_the_same_form_of_a_run_and_of_a_copy_without_its_secret_another(
    run: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(run, tmp_path / "copy")
    for of, seed, name in ((run, 1, "a"), (run, 1, "b"), (run, 2, "c"), (copy, 1, "d")):
        rationales_export(of, out=tmp_path / name, seed=seed, limit=10)
    a, b, c = ((tmp_path / name / "form_1.csv").read_bytes() for name in "abc")
    assert a == b != c
    assert not {r["id"] for r in rows(tmp_path / "a/form_1.csv")} & {r["id"] for r in rows(tmp_path / "d/form_1.csv")}
    assert stat.S_IMODE((run / "rationales-key.csv").stat().st_mode) == 0o600


def test_a_limit_spreads_over_criteria_and_values(run: Path, tmp_path: Path) -> None:
    rationales_export(run, out=tmp_path / "few", limit=8)
    few = rows(tmp_path / "few" / "form_1.csv")
    assert len({(r["criterion"], r["value"]) for r in few}) == 4
    assert {sum((r["criterion"], r["value"]) == kind for r in few) for kind in (("asks", "no"), ("warmth", "1"))} == {2}


def test_there_and_back(run: Path) -> None:
    rationales_export(run)
    paths = [run / "rationales" / f"form_{n}.csv" for n in (1, 2)]
    fill(paths[0], rationality=4, traceability=5, consistency=lambda row: 2 if row["criterion"] == "asks" else 4)
    fill(paths[1], rationality=4, traceability=4, consistency=lambda row: 2 if row["criterion"] == "asks" else 5)
    found = rationales_import(run, filled=paths)
    assert found.ratings == 2 * 3 * 48
    by = {q.question: q for q in found.questions}
    assert by["rationality"].means["secret-model (chain)"].value == 4
    assert by["traceability"].means["secret-model (chain)"].value == 4.5
    assert by["consistency"].means["secret-model (chain)"].value == pytest.approx((2 + 4.5) / 2)
    assert by["rationality"].agreement["same_level"].value == 1
    assert (by["traceability"].agreement["same_level"].value, by["traceability"].agreement["within_1"].value) == (0, 1)
    assert by["consistency"].agreement["icc_a1"].value == pytest.approx(0.8597, abs=5e-5), "of single persons"
    before = mindgauge.score(run)
    again = rationales_import(run, filled=paths)
    assert again.questions == found.questions
    assert mindgauge.score(run).metrics == before.metrics, "no score sees them"
    with Store(run) as store:
        kinds = {rating.rater_kind for rating in store.ratings("care:rationales")}
    assert kinds == {RaterKind.PERSON}


def test_what_cannot_be_read_is_missing_and_named(run: Path) -> None:
    rationales_export(run, people=1)
    path = run / "rationales" / "form_1.csv"
    fill(path, rationality="9", traceability="", consistency="3")
    found = rationales_import(run, filled=path)
    assert found.notes == [
        "form_1.csv: 48 ratings are not from 1 to 5 and count as missing (line 2: rationality '9')",
        "form_1.csv: 48 cells are empty",
    ]
    by = {q.question: q for q in found.questions}
    assert (by["rationality"].n, by["rationality"].missing, by["rationality"].means) == (48, 48, {})
    assert by["traceability"].n == 0
    assert by["consistency"].agreement["icc_a1"].note == "no verdict was rated by two people"


def test_a_form_of_another_run_is_refused_and_a_filled_one_not_overwritten(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no key to any form here"):
        rationales_import(run, filled=tmp_path / "x.csv")
    rationales_export(run)
    path = run / "rationales" / "form_1.csv"
    fill(path, rationality=1)
    with pytest.raises(UsageError, match=r"holds form_1\.csv"):
        rationales_export(run)
    fill(path, id=lambda row: f"x{row['id']}")
    with pytest.raises(DataError, match=r"form_1\.csv:2: id 'xv[0-9a-f]{16}' is in no key of this run"):
        rationales_import(run, filled=path)


def test_where_no_verdict_has_reasons_that_is_said(run: Path) -> None:
    with Store(run, write=True) as store:
        for rating in list(store.ratings("care")):
            store.add_rating("care", structs.replace(rating, provenance={}))
    with pytest.raises(UsageError, match="no verdict of a judge here came with reasons"):
        rationales(run)


def test_the_reliability_card_says_how_far_reasons_can_be_checked(care: Benchmark, tmp_path: Path) -> None:
    asks = {"checks": {"question": "yes"}, "value": "no", "quotes": ["never said"]}
    folder = judged(tmp_path, lambda n: chain({"value": 1 + n % 3}, asks))
    with Store(folder, write=True) as store:
        for rating in list(store.ratings("care")):
            store.add_rating("care", structs.replace(rating, rater="p", rater_kind=RaterKind.PERSON, provenance={}))
    cards = {card.criterion: card for card in mindgauge.reliability(folder).cards}
    assert cards["asks"].estimates["rationale_contradicting"].value == 1
    assert cards["asks"].estimates["rationale_traceable"].value == 0
    assert cards["warmth"].estimates["rationale_traceable"].value == 1
    assert "rationale_contradicting" not in cards["warmth"].estimates, "no chain"
