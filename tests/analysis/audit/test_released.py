"""What an audit finds in the authors' files, where they are at hand: the counts that bench/results/audit.md states."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mindgauge.commands.audit import audit

if TYPE_CHECKING:
    from mindgauge.analysis.audit.view import Finding

DATA = Path(os.environ.get("MINDGAUGE_DATA") or Path(__file__).parents[3] / "../shared/data")


def findings(name: str, *, benchmark: bool = False) -> list[Finding]:
    if not (DATA / name).is_dir():
        pytest.skip(f"the authors' files are not at hand ({DATA / name}); set MINDGAUGE_DATA")
    return (audit(name, data=DATA / name) if benchmark else audit(DATA / name)).findings


def counts(found: list[Finding], subject: str = "") -> dict[str, list[int]]:
    """Return the counts of each finding whose subject begins so."""
    result: dict[str, list[int]] = {}
    for finding in found:
        if finding.subject.startswith(subject):
            result.setdefault(finding.id, []).append(finding.count)
    return result


@pytest.mark.long
def test_mentalbench() -> None:
    found = findings("mentalbench", benchmark=True)
    assert counts(found) == {
        "out_of_scale": [239], "empty_replies_rated": [148, 148], "rows_misaligned": [10], "records_overwritten": [9],
        "straight_lining": [5922, 1499], "sorted_by_text": [1000], "cut_replies_rated": [392, 9], "missing_by_system": [40],
        "duplicate_texts": [8], "ceiling": [7, 5, 3], "drift": [7], "judge_of_own_family": [21000], "one_person": [9943],
        "missing_verdicts": [409, 7], "blanks_differ": [2], "reader_notes": [2],
    }  # fmt: skip
    told = {finding.id: finding for finding in reversed(found)}
    assert "(0 231, 6 8)" in told["out_of_scale"].message
    assert "(qwen-2.5-7b 125, qwen-3-4b 23)" in told["empty_replies_rated"].message
    assert told["rows_misaligned"].message.endswith("moved 10 by +1")
    rows = [
        place.rpartition(":")[2] for ident in ("rows_misaligned", "records_overwritten") for place in told[ident].where
    ]
    conversations = sorted(int(row) + 1 for row in rows)
    assert conversations == [164, 165, 401, 430, *range(501, 511), 529, 535, 638, 647, 717]
    assert any("safety: rows 0-798: 4.88, rows 799-999: 4.17" in fact for fact in told["drift"].where)


@pytest.mark.long  # any folder is read by default, and these files as their own benchmark has them
def test_mentalbench_as_any_folder() -> None:
    (notes,) = [
        finding
        for finding in findings("mentalbench")
        if finding.id == "reader_notes" and finding.subject == "the files"
    ]
    assert notes.count == 6
    assert all("has blanks around it" in note for note in notes.where)


@pytest.mark.long
def test_dialogue_safety() -> None:
    found = counts(findings("dialogue_safety"), "test.json")
    assert found == {"shared_passages": [307], "sorted_by_label": [800], "repeated_inputs": [31], "rare_labels": [5]}


@pytest.mark.long  # the others are read by default, and these files by their own benchmark's tests
def test_trustmh() -> None:
    found = findings("trustmh")
    assert counts(found, "external/cssrs")["cut_texts"] == [28]
    assert [counts(found, f"external/confaide/tier_{t}.txt")["literal_escapes"] for t in ("1", "2a", "2b")] == [
        [10],
        [98],
        [98],
    ]
    assert counts(found, "external/psy_eval/Crisis")["stray_blanks"] == [4]
    assert counts(found, "external/elephant/oeq")["verdicts_as_replies"] == [8]
    assert counts(found, "external/esconv/dev")["duplicates_across_splits"] == [2]
    ethics = [finding for finding in found if finding.subject == "ethics.zip/Ethics/data/EthicMH.csv"]
    assert {"mojibake": [311], "replacement_characters": [16], "never_gold": [1]}.items() <= counts(ethics).items()
    outputs = counts(found, "ethics.zip/Ethics/outputs")
    assert (outputs["form_differs"], outputs["fields_by_system"]) == ([375], [3])
    unequal = [finding for finding in found if finding.id == "unequal_n"]
    assert len(unequal) == 2
    assert unequal[0].where == ["claude-sonnet-4-5-20250929: 20 of 98, the first 20", "gpt-5.1: 20 of 98, the first 20"]
