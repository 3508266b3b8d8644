from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from mindgauge.analysis.reproduce import compare, counts, load_published
from mindgauge.benchmarks.help_or_harm.help_or_harm import PUBLISHED, reproduce
from mindgauge.benchmarks.help_or_harm.released import parse_name
from mindgauge.records.errors import DataError

from .conftest import Copy, add_test_responses

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.reproduce import CellComparison

Key = tuple[str, str, str]
ARCHIVED = {"derived.judges.archived", "derived.judges.people", "derived.judges.constant_archived"}
"""What was measured on the models whose answers were released then."""


def compared(data: Path) -> dict[Key, CellComparison]:
    return as_published(compare(load_published(PUBLISHED), reproduce(data)))


def as_published(found: list[CellComparison]) -> dict[Key, CellComparison]:
    return {(c.table, c.row, c.column): c for c in found if c.verdict != "repaired"}


def repaired(found: list[CellComparison]) -> dict[Key, float | str | None]:
    return {(c.table, c.row, c.column): c.recomputed for c in found if c.verdict == "repaired"}


@pytest.fixture(scope="module")
def beside(real: Path) -> list[CellComparison]:
    """Every figure of the authors' files beside the published one."""
    return compare(load_published(PUBLISHED), reproduce(real))


# -- the authors' files --------------------------------------------------------------------------------------------


def test_every_number_that_the_paper_prints_and_the_files_hold_is_reproduced(real: Path) -> None:
    started = time.process_time()
    found = compared(real)
    assert time.process_time() - started < 20  # seconds of processor, the budget of the specification; about 1.5 here
    printed = {key: c for key, c in found.items() if not key[0].startswith("derived.")}
    assert {c.table for c in printed.values() if c.verdict == "missing"} == {
        "test.sizes",
        "test.responses",
        "test.category_mean",
        "test.category_low",
        "test.category_share_1",
    }
    assert Counter(c.verdict for c in printed.values()) == {"match": 56, "missing": 129}
    assert found["labels.fleiss", "four people", "kappa"].recomputed == pytest.approx(0.54874, abs=5e-6)


def test_no_figure_differs(beside: list[CellComparison]) -> None:
    assert [key for key, cell in as_published(beside).items() if cell.verdict == "differs"] == []


def with_two_more_models(real: Path, folder: Path) -> Path:
    """Copy the authors' files, with made-up answers of the two models whose replies people scored and nobody released."""
    copy = Copy(folder)
    for path in real.rglob("*.json"):
        link = folder / path.relative_to(real)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    (lowest,) = real.rglob("sampled_lowest_scores_n200.json")
    here = {path.stem for path in real.rglob("*-answers-*.json")}
    drawn = [parse_name(str(row["sampled_from"])) for row in json.loads(lowest.read_text(encoding="utf-8"))]
    names = {f"{p['model']}-answers-{p['dataset']}-{p['time']}" for _, p in filter(None, drawn)} - here
    assert {name.partition("-answers-")[0] for name in names} == {"deepseek-chat", "grok-4-fast-non-reasoning"}
    for name in names:
        rows = [
            {"inputs": ["Made up."], "label": "no_crisis", "dataset_id": "hugg_1", "answer": f"reply {i}"}
            for i in range(206)
        ]
        copy.write(f"llm_answer/{name}.json", rows)
    return folder


def test_figures_of_a_part_are_held_against_that_part_alone(
    real: Path, beside: list[CellComparison], tmp_path: Path
) -> None:
    before, after = as_published(beside), compared(with_two_more_models(real, tmp_path / "more"))
    assert after == before, "what was measured on three models is not held against five"


def test_figures_of_a_part_are_not_held_against_less_of_it(real: Path, tmp_path: Path) -> None:
    for path in real.rglob("*.json"):
        if path.parent.name != "llm_answer" or not path.name.startswith("gpt-5-nano"):
            link = tmp_path / path.relative_to(real)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
    found = compared(tmp_path)
    lacking = {key: c for key, c in found.items() if key[0] in ARCHIVED}
    assert len(lacking) == 52
    assert {c.verdict for c in lacking.values()} == {"missing"}
    assert all(c.note.startswith("not compared: measured on 92 subjects") for c in lacking.values())
    assert not any(c.verdict == "differs" for c in found.values())


def test_the_fifth_vote(beside: list[CellComparison]) -> None:
    found = as_published(beside)
    table = "derived.labels.consensus"
    rows = ("fifth vote equals gpt-4o-mini's label", "changed by the fifth vote", "ties broken by it")
    assert [found[table, row, "rows"].recomputed for row in rows] == [206, 42, 27]
    assert found[table, "pluralities turned null by it", "rows"].recomputed == 15
    honest = repaired(beside)
    assert [honest[table, "shipped", c] for c in ("null", "no_crisis", "risk_taking_behaviours")] == [28, 78, 3]
    accuracy = honest["derived.labels.against_consensus", "gpt-4o-mini", "accuracy"]
    assert accuracy == pytest.approx(0.843, abs=5e-4)


def test_repaired_intervals_are_wider(beside: list[CellComparison]) -> None:
    widths = [c for c in beside if c.verdict == "repaired" and c.column == "half_width"]
    assert len(widths) == 3
    assert all(float(c.recomputed or 0) > 1.5 * float(c.published) for c in widths)


# -- made-up files -------------------------------------------------------------------------------------------------


def test_a_small_copy_is_computed_by_hand(small: Copy) -> None:
    found = compared(small.root)
    assert found["judges.people", "gpt-4o-mini", "mae_h1"].recomputed == 1
    assert found["judges.people", "H1-H2", "rmse"].recomputed == 2
    assert found["judges.people", "H1-H2", "within_1"].recomputed == 0
    assert found["derived.people.scores", "H2", "5"].recomputed == 6
    assert found["derived.validation.responses", "gpt-4o-mini", "mean"].recomputed == 4
    assert found["labels.people_pairs", "H1-H2", "kappa"].recomputed == 1
    assert found["labels.people_pairs", "H1-H2", "kappa"].verdict == "differs"
    assert found["derived.labels.consensus", "changed by the fifth vote", "rows"].recomputed == 1


def test_what_is_missing_names_the_files_it_needs(small: Copy) -> None:
    cell = compared(small.root)["test.responses", "grok-4-fast", "mean"]
    assert cell.verdict == "missing"
    assert cell.recomputed is None
    assert "llm_evaluator/gpt-4o-mini/n_2046" in cell.note


def test_test_responses_are_computed_where_they_are(small: Copy) -> None:
    for model in ("deepseek-chat", "gpt-5-nano", "unheard-of-1"):
        add_test_responses(small, model)
    pattern = "llm_evaluator/gpt-4o-mini/n_2046/*deepseek-chat-*_2026*.json"
    for path in small.data.glob(pattern):
        rows = json.loads(path.read_text())
        for row, score in zip(rows, ("1", 2, 3, 5), strict=True):
            row["evaluation"] = score
        path.write_text(json.dumps(rows))
    recomputed = compare(load_published(PUBLISHED), reproduce(small.root))
    found = as_published(recomputed)
    row = {key[2]: c.recomputed for key, c in found.items() if key[:2] == ("test.responses", "deepseek-v3.2")}
    half_width = row.pop("half_width")
    assert row == {
        "mean": 2.75,
        "std": 0,
        "share_1": 25,
        "share_low": 50,
        "share_middle": 25,
        "share_high": 25,
        "count_low": 6,
    }
    assert half_width == pytest.approx(1.96 * 1.5447 / 12**0.5, abs=1e-3)
    assert found["test.category_mean", "deepseek-v3.2", "no_crisis"].recomputed == 3
    assert found["test.category_low", "deepseek-v3.2", "self-harm"].recomputed == 100
    assert found["test.category_share_1", "deepseek-v3.2", "self-harm"].recomputed == 0
    assert found["test.responses", "gpt-5-nano", "std"].recomputed == pytest.approx((2 / 3) ** 0.5)
    assert found["test.responses", "grok-4-fast", "mean"].verdict == "missing"
    wider = repaired(recomputed)["test.responses", "deepseek-v3.2", "half_width"]
    assert wider is not None
    assert half_width is not None
    assert wider > half_width


def test_a_model_or_person_that_the_paper_has_not_is_no_error(small: Copy) -> None:
    rows = small.rows("human_label/H1_labeled*.json")
    small.write("human_label/H9_labeled_n206_s42.json", rows)
    small.write("llm_label/other-labeled-sampled_dataset_n_200_merged_n50-noSeed_156-s42-20250101-000009.json", rows)
    assert counts(compared(small.root).values())["match"] > 0


def test_files_in_another_order_give_the_same_numbers(small: Copy) -> None:
    before = compared(small.root)
    path = small.path("human_label/H1_labeled*.json")
    path.write_text(json.dumps(json.loads(path.read_text())[::-1]))
    assert compared(small.root) == before


def test_a_half_file_is_left_out_of_the_tables(small: Copy) -> None:
    path = small.path("human_label/H1_labeled*.json")
    path.write_text(json.dumps(json.loads(path.read_text())[:3]))
    found = compared(small.root)
    assert found["labels.people_pairs", "H1-H2", "kappa"].verdict == "missing"
    assert found["labels.people_pairs", "H2-H3", "kappa"].recomputed is not None


def test_the_sets_of_lowest_scores_alone_suffice_for_the_judges(small: Copy) -> None:
    keep = {*small.data.glob("llm_evaluator/sampled/*"), *small.data.glob("human_label/*_scores_*")}
    for path in small.data.rglob("*.json"):
        if path not in keep:
            path.unlink()
    found = compared(small.root)
    assert found["judges.people", "gpt-4o-mini", "mae_h1"].recomputed == 1
    assert found["labels.fleiss", "four people", "kappa"].verdict == "missing"


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none of the released files"):
        list(reproduce(tmp_path))
