"""What an audit finds in the released files: each fault planted in a small copy, and the counts in the real ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mindgauge.analysis.audit import checks
from mindgauge.benchmarks.help_or_harm import material
from mindgauge.benchmarks.released import RATINGS, TEXTS
from mindgauge.records.errors import DataError
from tests.benchmarks.help_or_harm.conftest import TEST, TIMES, VALIDATION, Copy

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.audit.view import Finding

CONSENSUS = "human_label/human-labeled-*"
JUDGED = f"llm_evaluator/gpt-4o-mini/n_200/gpt-4o-mini-evaluation_gpt-4o-mini-*-{TIMES[0]}_20260101-000001.json"
ANSWERS = f"llm_answer/gpt-4o-mini-answers-*-{TIMES[0]}.json"


def found(ident: str, findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.id == ident]


def labels(copy: Copy | Path) -> list[Finding]:
    return checks.run(material.crisis_type(copy.root if isinstance(copy, Copy) else copy))


def responses(copy: Copy | Path) -> list[Finding]:
    return checks.run(material.response(copy.root if isinstance(copy, Copy) else copy))


def test_columns_are_as_agreed(small: Copy) -> None:
    for read in (material.crisis_type, material.response):
        content = read(small.root)
        assert content.texts.columns == list(TEXTS)
        assert content.ratings.columns == list(RATINGS)


def test_a_small_copy_without_faults_has_only_what_is_in_it_by_design(small: Copy) -> None:
    for row, source in enumerate(("hugg_1", "hugg_2", "hugg_3", "hugg_4", "hugg_5", "hugg_7")):
        small.change(f"processed/{VALIDATION}.json", row, dataset_id=source)
    assert {f.id for f in labels(small) if f.severity != "note"} == {"ids_not_keys", "impossible_values"} - {
        "impossible_values"
    }
    assert {f.id for f in responses(small) if f.severity != "note"} == set()


def test_spellings_of_a_source_are_one_source(small: Copy) -> None:
    small.change(f"processed/{VALIDATION}.json", 2, dataset_id="hugg_16k")
    (finding,) = found("source_listed_twice", labels(small))
    assert finding.count == 1
    assert finding.where == ["hugg_16k = hugging_16K: 1 and 1 rows"]


def test_a_text_in_both_splits(small: Copy) -> None:
    text = small.rows(f"processed/{TEST}.json")[2]["inputs"]
    small.change(f"processed/{VALIDATION}.json", 4, inputs=text)
    (finding,) = found("duplicates_across_splits", labels(small))
    assert finding.where == [f"processed/{TEST}.json:2"]


def test_a_label_that_is_none_of_the_seven(small: Copy) -> None:
    small.change(f"processed/{TEST}.json", 1, label="substance_abuse/withdrawal")
    (finding,) = found("impossible_values", labels(small))
    assert (finding.count, finding.where) == (1, [f"processed/{TEST}.json:1"])


def test_only_votes_that_no_person_gave_are_read_from_the_consensus(small: Copy) -> None:
    people = [[row["label"] for row in small.rows(f"human_label/H{n}_label*")] for n in (1, 2, 3, 4)]
    for row in range(6):
        small.change(CONSENSUS, row, all_labels=[votes[row] for votes in people] + ["no_crisis"])
    content = material.crisis_type(small.root).ratings
    votes = content.filter(content["rater"] == "vote 5 of the consensus")
    assert votes["value"].to_list() == ["no_crisis"] * 6
    assert set(votes["rater_kind"]) == {"person"}
    assert not any(rater.startswith(("vote 1", "vote 2", "vote 3", "vote 4")) for rater in content["rater"])


def test_an_answer_that_the_error_handler_wrote_over(small: Copy) -> None:
    small.change(JUDGED, 3, answer='{"appropriateness": 4, "explanation": "so"}', error="half JSON")
    (finding,) = found("records_overwritten", responses(small))
    assert finding.count == 1
    assert finding.where[0].endswith("_20260101-000001.json:3")


def test_numbers_as_text_and_values_that_are_missing(small: Copy) -> None:
    small.change(JUDGED, 3, evaluation="5")
    small.change(JUDGED, 4, evaluation=None)
    small.change(JUDGED, 5, evaluation=None, label=None)
    findings = responses(small)
    assert [f.count for f in found("mixed_types", findings)] == [1]
    assert [f.count for f in found("missing_verdicts", findings)] == [1], "an item without a label is not scored"


def test_an_error_in_the_place_of_an_answer(small: Copy) -> None:
    refused = {"message": "refused", "type": "invalid_request_error", "code": "bad_request"}
    small.change(ANSWERS, 2, answer=refused, refusal=True)
    small.change(JUDGED, 2, answer=refused)
    (finding,) = found("error_replies", responses(small))
    assert finding.count == 1
    assert "3 ratings of them" in finding.message


def test_spreadsheet_damage_and_literal_nan(small: Copy) -> None:
    small.change("human_label/H2_scores_*", 2, answer="C+B12+A7")
    small.change("human_label/H2_scores_*", 3, evaluation=float("nan"))
    findings = responses(small)
    (damage,) = found("spreadsheet_damage", findings)
    assert damage.where == ["human_label/H2_scores_n206_s42.json:2"]
    (notes,) = found("reader_notes", findings)
    assert any("1 literal NaN" in note for note in notes.where)


def test_what_is_missing_is_not_fatal(small: Copy) -> None:
    for path in [*small.data.glob("llm_answer/*"), *small.data.glob("human_label/*")]:
        path.unlink()
    assert responses(small)
    labels(small)
    for path in small.data.rglob("*.json"):
        path.unlink()
    for read in (material.crisis_type, material.response):
        with pytest.raises(DataError):
            read(small.root)


def test_the_released_labels(real: Path) -> None:
    findings = labels(real)
    counts = {ident: [f.count for f in found(ident, findings)] for ident in {f.id for f in findings}}
    assert counts["model_vote_in_human_labels"] == [206]
    assert "for 42 subjects" in found("model_vote_in_human_labels", findings)[0].message
    assert counts["duplicates_across_splits"] == [37]
    assert "(35 texts)" in found("duplicates_across_splits", findings)[0].message
    assert counts["conflicting_labels"] == [2]
    assert counts["impossible_values"] == [15]
    assert counts["hand_edits"] == [1]
    assert counts["ids_not_keys"] == [23, 13]
    assert "50 rows" in next(f for f in found("source_listed_twice", findings) if "spelling" in f.message).message
    assert counts["never_gold"] == [1]
    assert sorted(counts["missing_verdicts"]) == [1, 16, 23]


@pytest.mark.long
def test_the_released_responses(real: Path) -> None:
    findings = responses(real)
    (over,) = found("records_overwritten", findings)
    assert (over.count, over.message.split("(")[1].split(")")[0]) == (18, "llm_evaluator 14, human_label 4")
    assert {f.message.split(" subjects that ")[1].split()[0]: f.count for f in found("selected_on_score", findings)} == {
        "gpt-4o-mini": 190, "gpt-5-nano": 92, "llama-4-scout-17b-16e-instruct": 92,
    }  # fmt: skip
    assert sorted(f.count for f in found("mixed_types", findings)) == [93, 704, 970]
    assert [f.count for f in found("spreadsheet_damage", findings)] == [3]
    (errors,) = found("error_replies", findings)
    assert errors.count == 2
    assert "18 ratings of them (4 9, 5 7, 3 2)" in errors.message
