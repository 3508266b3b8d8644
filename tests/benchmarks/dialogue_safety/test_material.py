"""What an audit finds in the released files: faults planted in a small copy, and the counts in the real ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mindgauge.analysis.audit import checks
from mindgauge.benchmarks.dialogue_safety.dialogue_safety import material
from mindgauge.benchmarks.dialogue_safety.inputs import LABELS
from mindgauge.benchmarks.released import RATINGS, TEXTS

from .conftest import CHAT, ENCODER, ITEMS, PROMPT, completion, row

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.audit.view import Finding

    from .conftest import Copy


def findings(data: Path) -> dict[str, Finding]:
    return {finding.id: finding for finding in checks.run(material(data))}


def test_it_holds_items_their_copies_and_all_labels(small: Copy) -> None:
    found = material(small.root)
    assert (found.texts.columns, found.ratings.columns) == (list(TEXTS), list(RATINGS))
    assert found.texts.height == 2 * ITEMS * (1 + 15)
    assert found.ratings.height == ITEMS * (1 + 15)
    assert found.options == {"category": LABELS}
    assert set(found.ratings["rater_kind"]) == {"gold", "model", "classifier"}
    assert found.ratings["cluster"].null_count() == 0
    assert PROMPT not in json.dumps([*found.texts["text"], *found.ratings["value"]], ensure_ascii=False)


def test_answers_stand_as_they_were_written(small: Copy) -> None:
    small.answer("zero_shot/one/3", " unamiable judgment\n")
    small.answer("zero_shot/one/4", None)
    small.write(f"{ENCODER}/42/5.json", row(5) | {"predict_label": 9})
    ratings = material(small.root).ratings
    zero = ratings.filter(ratings["file"] == f"{CHAT}/zero_shot/one")
    assert zero["value"].to_list()[3:5] == [" unamiable judgment\n", None]
    assert zero["status"].to_list()[3:5] == ["ok", "unparsable"]
    encoder = ratings.filter(ratings["file"] == f"{ENCODER}/42")
    assert encoder["value"].to_list()[5] == "9"
    assert findings(small.root)["impossible_values"].count == ITEMS * 5 + 2  # every few-shot answer ends in a full stop


def test_an_output_that_repeats_its_item_in_other_words_is_found(small: Copy) -> None:
    assert (
        not {"texts_changed", "rows_misaligned", "conflicting_labels", "duplicate_texts"} & findings(small.root).keys()
    )
    small.write(
        f"{CHAT}/zero_shot/one/6.json", completion(row(6) | {"response": "[supporter]第6条改写的回复。"}, LABELS[6])
    )
    assert findings(small.root)["texts_changed"].where == [f"{CHAT}/zero_shot/one:6"]


def test_one_item_with_two_labels_is_found(small: Copy) -> None:
    small.change(11, **(row(10) | {"label": 5}))
    assert findings(small.root)["conflicting_labels"].count == 1


def test_a_training_file_that_leaks_is_found(small: Copy) -> None:
    small.write("train.json", [row(5), *(row(item) for item in range(20, 40))])
    assert findings(small.root)["duplicates_across_splits"].count == 1


@pytest.mark.long
def test_the_released_files(real: Path) -> None:
    found = checks.run(material(real))
    assert {(finding.id, finding.count) for finding in found} == {
        ("impossible_values", 361 + 26), ("shared_passages", 307), ("sorted_by_label", 800), ("repeated_inputs", 31),
        ("rare_labels", 5), ("reader_notes", 4), ("unused_level", 1),
    }  # fmt: skip
    told = {finding.id: finding.message for finding in found}
    assert "16 of them with different labels" in told["repeated_inputs"]
    assert "zero_shot 361" in told["impossible_values"]
