"""`reproduce`: stated and published numbers, the repaired ones beside them, and what broken files do not break."""

from __future__ import annotations

import json
import time
import zipfile
from typing import TYPE_CHECKING

import pytest

from mindgauge import benchmarks
from mindgauge.analysis.reproduce import CellComparison, compare, counts, load_published
from mindgauge.benchmarks.trustmh import reproduce as intervals
from mindgauge.benchmarks.trustmh.reproduce import PUBLISHED, reproduce
from tests.benchmarks.trustmh import made

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease


def compared(folder: Path) -> list[CellComparison]:
    return compare(load_published(PUBLISHED), reproduce(folder))


def cells(found: list[CellComparison], **fields: str) -> list[CellComparison]:
    return [cell for cell in found if all(getattr(cell, name) == value for name, value in fields.items())]


def test_the_family_reproduces_exactly_once() -> None:
    members = [b for b in benchmarks.find("trustmh") if b.name.startswith("trustmh/") and b.reproduce is not None]
    assert [b.name for b in members] == ["trustmh/ethics"]
    assert members[0].published == PUBLISHED


def test_all_that_the_released_files_allow(real: TrustMHRelease) -> None:
    began = time.process_time()
    found = compared(real.folder)
    assert time.process_time() - began <= 15
    assert counts(found) == {"match": 387, "differs": 0, "missing": 234, "repaired": 21}
    lacking = {cell.note for cell in cells(found, verdict="missing")}
    assert lacking == {
        "the scores behind the ranks are not released", "the raw outputs are not stored", "the proxy's predictions are not stored",
    }  # fmt: skip
    repaired = {(c.table, c.row, c.column): c.recomputed for c in cells(found, verdict="repaired")}
    assert repaired["derived.privacy_awareness", "gpt-4o-mini", "tier_2a"] == pytest.approx(0.8462, abs=5e-5)
    assert repaired["derived.privacy_awareness", "gpt-4o-mini", "tier_2b"] == pytest.approx(0.6334, abs=5e-5)
    assert repaired["derived.privacy_awareness", "claude-sonnet-4-5-20250929", "tier_1"] == pytest.approx(
        0.7554, abs=5e-5
    )
    assert repaired["ethics", "gpt-5.1", "f1"] == pytest.approx(0.697, abs=5e-4)
    assert all("interval" in cell.note for cell in cells(found, verdict="repaired"))


def test_the_paper_s_ranks_need_no_file(tmp_path: Path) -> None:
    found = compared(tmp_path)
    assert len(cells(found, table="derived.mean_ranks", verdict="match")) == 96
    assert (
        len(cells(found, table="radar", verdict="match")) + len(cells(found, table="derived.radar", verdict="match"))
        == 96
    )
    assert {cell.note for cell in cells(found, table="derived.ethics", row="gpt-5.1")} == {
        "no outputs of gpt-5.1 that can be read"
    }


def test_models_that_we_do_not_know_are_held_against_what_their_files_state(tmp_path: Path) -> None:
    made.ethics(tmp_path, "new-1", "CABD")
    made.tier_1(tmp_path, "new-1", ["1)", "2)", "2)", "4)"], [1.0, 2.0, 2.0, 4.0], 0.5)
    four = ("I know Ada.", "Ada", "Ada", "Yes.")
    made.replies(
        tmp_path, "new-1", four, four, stated={("free-response", "string-match"): 0.5, ("control", "error"): 1.0}
    )
    found = [cell for cell in compared(tmp_path) if cell.row == "new-1"]
    told = {(c.table, c.column, c.verdict): (c.published, c.recomputed) for c in found}
    assert told["ethics", "accuracy", "match"] == (0.75, 0.75)
    assert told["ethics", "accuracy", "repaired"] == (0.75, 0.75)
    assert told["ethics", "sc1 mean", "match"] == (5.0, 5.0)
    assert told["privacy_awareness", "tier_1", "differs"][1] == pytest.approx(0.9180, abs=5e-5)
    assert told["privacy_leakage", "free-response string-match", "match"] == (0.5, 0.5)
    assert told["privacy_leakage", "control error", "match"] == (1.0, 1.0)
    assert told["privacy_leakage", "control error", "repaired"] == (1.0, 1.0)


def test_another_spelling_is_the_same_model(tmp_path: Path) -> None:
    made.ethics(tmp_path, "GPT-5.1", "CABD")
    found = compared(tmp_path)
    (cell,) = cells(found, table="ethics", row="gpt-5.1", column="accuracy", verdict="match")
    assert "gpt-5.1 is also written GPT-5.1; taken as one model" in cell.note
    assert cells(found, table="derived.ethics", row="gpt-5.1", column="accuracy")[0].recomputed == 0.75


def test_common_items_are_those_that_all_models_have(tmp_path: Path) -> None:
    made.tier_2(tmp_path, "gpt-5.1", "2a", [-100.0, 0.0, 0.0, -100.0])
    made.tier_2(tmp_path, "gpt-4o-mini", "2a", [-100.0, 0.0, 50.0])
    found = cells(compared(tmp_path), table="derived.privacy_awareness", row="gpt-5.1", column="tier_2a")
    whole, common = found
    assert whole.note.startswith("4 items")
    assert common.note.startswith("3 items")
    assert common.verdict == "repaired"
    assert whole.recomputed != common.recomputed


def test_each_broken_file_is_one_line_and_the_rest_is_recomputed(tmp_path: Path) -> None:
    made.ethics(tmp_path, "whole", "CABD")
    cut = made.ethics(tmp_path, "cut", "CABD")
    cut.write_text(cut.read_text()[:300])
    short = made.ethics(tmp_path, "short", "CABD")
    content = json.loads(short.read_text())
    short.write_text(json.dumps({**content, "judged": content["judged"][:-1]}))
    latin = made.ethics(tmp_path, "latin", "CABD")
    latin.write_bytes(latin.read_bytes().replace(b"case", b"\xe9\xff"))
    made.tier_1(tmp_path, "m", ["1)", "2)", "2)", "4)"], [1.0, 2.0, 2.0, 4.0], 0.5)
    (tmp_path / "result/summary_m_tier1.json").write_text('{"model": "m"}')
    made.tier_2(tmp_path, "m", "2a", [0.0])
    (tmp_path / "result/final_report_m_data_tier_2a_nsamples_1.json").write_text(
        '[{"id": 0, "human": "x", "model": 0}]'
    )
    made.replies(tmp_path, "m", ("a", "b", "c", "d"), ("a", "b", "c", "d"), stated={("control", "error"): 1.0})
    (tmp_path / "result/summary_m_data_tier_3_nsamples_1.csv").write_text("model,tier\nm,3\n")
    found = compared(tmp_path)
    lines = {cell.row.rpartition("/")[2]: cell.note for cell in cells(found, table="files", verdict="missing")}
    faults = {
        cut.name: ":1: broken JSON (Unterminated string starting at)",
        short.name: ": judged: expected 4 entries as under results, found 3",
        latin.name: ": not UTF-8 at byte 152; save it as UTF-8, or name its encoding: --map encoding=cp1252 (Western Europe), gb18030 (Chinese) or another",
        "summary_m_tier1.json": ": expected pearson_r, found model",
        "final_report_m_data_tier_2a_nsamples_1.json": ":1: human: expected a number, found 'x'",
        "summary_m_data_tier_3_nsamples_1.csv": ": expected columns q_type, metric, mean, found model, tier",
    }
    assert {name: note.partition(name)[2] for name, note in lines.items()} == faults
    assert cells(found, table="ethics", row="whole", column="accuracy", verdict="match")


def test_files_are_found_in_zips(tmp_path: Path) -> None:
    made.ethics(tmp_path / "in", "new-1", "CABD")
    with zipfile.ZipFile(tmp_path / "ethics.zip", "w") as zipped:
        for path in sorted((tmp_path / "in").rglob("*.json")):
            zipped.write(path, f"Ethics/outputs/{path.name}")
            path.unlink()
    assert cells(compared(tmp_path), table="ethics", row="new-1", column="accuracy", verdict="match")


def test_a_broken_zip_is_one_line(tmp_path: Path) -> None:
    made.ethics(tmp_path, "new-1", "CABD")
    (tmp_path / "privacy.zip").write_bytes(b"PK\x03\x04 and no more")
    found = compared(tmp_path)
    (line,) = cells(found, table="files")
    assert line.row.endswith("privacy.zip")
    assert line.row in line.note
    assert cells(found, table="ethics", row="new-1", column="accuracy", verdict="match")


def test_a_copy_beside_its_zip_is_the_same_file(tmp_path: Path) -> None:
    path = made.ethics(tmp_path, "new-1", "CABD")
    with zipfile.ZipFile(tmp_path / "ethics.zip", "w") as zipped:
        zipped.write(path, f"Ethics/outputs/{path.name}")
    assert len(cells(compared(tmp_path), table="ethics", row="new-1", column="accuracy")) == 2


def test_intervals_say_what_resampling_cannot() -> None:
    assert intervals.mean_interval([0.0] * 100) == (0.0, "100 items, exact 95 % interval 0.000 to 0.036")
    value, note = intervals.mean_interval([0.0, 1.0] * 50)
    assert value == 0.5
    assert note.startswith("100 items, 95 % interval 0.4")
    assert intervals.correlation_interval([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]) == (None, "3 items")
    assert intervals.correlation_interval([1.0, 2.0], [2.0, 3.0]) == (None, "2 items")
    assert intervals.mean_interval([]) == (None, "0 items")
