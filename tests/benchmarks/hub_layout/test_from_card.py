"""A release written from its card alone: it is loaded, recomputed, exported and loaded again, and nothing of it is lost."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import mindgauge
from tests.benchmarks.hub_layout import from_card

if TYPE_CHECKING:
    from pathlib import Path

NAME = "help_or_harm"
UNEQUAL = {"unequal_n"}


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return from_card.write(tmp_path_factory.mktemp("card") / "hub")


@pytest.fixture(scope="module")
def exported(card: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    mindgauge.load(NAME, data=card, out=folder / "run")
    mindgauge.export(folder / "run", to="hub", out=folder / "hub", licence="CC-BY-NC-4.0")
    return folder / "hub"


def tables(folder: Path) -> dict[str, pl.DataFrame]:
    own = [path for part in ("responses", "evaluations") for path in sorted((folder / part).rglob("*.parquet"))]
    return {path.relative_to(folder).as_posix(): pl.read_parquet(path) for path in own}


def test_there_are_as_many_files_as_the_card_says(card: Path) -> None:
    assert len(tables(card)) == 56


def test_every_table_comes_back_under_its_name_with_its_ids_and_scores(card: Path, exported: Path) -> None:
    before, after = tables(card), tables(exported)
    assert sorted(before) == sorted(after)
    for name, table in before.items():
        key = "evaluation_id" if "evaluation_id" in table.columns else "response_id"
        columns = [
            column for column in table.columns
            if column in after[name].columns and column not in {"score_runs", "source_file"}
        ]  # fmt: skip
        assert_frame_equal(table.select(columns).sort(key), after[name].select(columns).sort(key), check_dtypes=False)
        assert {"response_id", "example_id", key} <= {*columns}
        if "score_runs" in table.columns and "jury" not in name:
            assert table.sort(key)["score_runs"].to_list() == after[name].sort(key)["score_runs"].to_list()


def test_what_was_exported_is_exported_alike_once_more(exported: Path, tmp_path: Path) -> None:
    mindgauge.load(NAME, data=exported, out=tmp_path / "run")
    mindgauge.export(tmp_path / "run", to="hub", out=tmp_path / "hub", licence="CC-BY-NC-4.0")
    files = [path.relative_to(exported) for path in exported.rglob("*") if path.is_file()]
    assert [file for file in files if (tmp_path / "hub" / file).read_bytes() != (exported / file).read_bytes()] == []


@pytest.mark.parametrize("spelled", ["both", "raw", "plain"])
def test_every_cell_of_the_test_tables_is_recomputed_by_either_name_of_a_model(tmp_path: Path, spelled: str) -> None:
    folder = from_card.write(tmp_path / "hub", spelled=spelled, ids=False)
    cells = [c for c in mindgauge.reproduce(NAME, data=folder).cells if c.table.startswith("test.")]
    assert len(cells) >= 129
    assert [(c.table, c.row, c.column) for c in cells if c.recomputed is None] == []


def test_people_are_called_as_their_tables_are_and_both_are_read(card: Path, tmp_path: Path) -> None:
    loaded = mindgauge.load(NAME, data=card, out=tmp_path / "run")
    n = from_card.SMALL["validation"]
    assert {rater: loaded.ratings[rater] for rater in ("H1", "H2")} == {"H1": n, "H2": n}
    findings = Counter(finding.id for finding in mindgauge.audit(NAME, data=card).findings)
    assert not {"duplicate_ratings", "contradicts_itself", *UNEQUAL} & {*findings}, (
        "an evaluator of the validation set alone is no system with fewer items"
    )


def test_means_alone_keep_their_ids_too(card: Path, tmp_path: Path) -> None:
    folder = from_card.write(tmp_path / "hub")
    for path in (folder / "evaluations" / "llm_raw").rglob("*.parquet"):
        path.unlink()
    mindgauge.load(NAME, data=folder, out=tmp_path / "run")
    mindgauge.export(tmp_path / "run", to="hub", out=tmp_path / "again", licence="CC-BY-NC-4.0")
    name = "evaluations/llm_merged/gpt-4o-mini/test/gpt-5-nano.parquet"
    assert {*tables(tmp_path / "again")[name]["evaluation_id"]} == {*tables(card)[name]["evaluation_id"]}
