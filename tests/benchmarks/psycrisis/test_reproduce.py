"""The withdrawn table stays empty with the reason, and is computed where a file holds what it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from mindgauge.commands.audit import audit
from mindgauge.commands.reproduce import papers_reproduce
from mindgauge.records.errors import DataError
from tests.benchmarks.psycrisis.conftest import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def cells(folder: Path) -> dict[tuple[str, str], tuple[float | str | None, str, str]]:
    found = papers_reproduce("psycrisis", data=folder)
    return {(c.row, c.column): (c.recomputed, c.verdict, c.note) for c in found.cells}


def test_without_data_every_cell_is_missing_and_says_why(tmp_path: Path) -> None:
    found = papers_reproduce("psycrisis", data=tmp_path)
    assert found.counts == {"match": 0, "differs": 0, "missing": 13, "repaired": 0}
    for cell in found.cells:
        assert cell.recomputed is None
        assert "no table here" in cell.note if cell.table == "items" else "withdrawn" in cell.note
    with pytest.raises(DataError, match="no such file or folder"):
        papers_reproduce("psycrisis", data=tmp_path / "nowhere")


def test_a_table_without_a_mapping_is_not_guessed(write: Callable[..., Path], tmp_path: Path) -> None:
    write(("a", "b"), [("x", "y")])
    with pytest.raises(DataError, match="the columns are 1 'a', 2 'b'"):
        papers_reproduce("psycrisis", data=tmp_path)


def test_the_whole_set_matches_in_number(write: Callable[..., Path], tmp_path: Path) -> None:
    counts = {"自杀": 289, "NSSI": 115, "Existential distress": 204}
    write(("u", "c"), [(f"{name} {i}", name) for name, n in counts.items() for i in range(n)])
    (tmp_path / "columns.toml").write_text('user = "u"\ncategory = "c"\n')
    assert {v[1] for (row, _), v in cells(tmp_path).items() if row == "messages"} == {"match"}


@pytest.mark.parametrize("stated", [True, False])
def test_totals_of_people_and_judges_are_correlated(write: Callable[..., Path], tmp_path: Path, stated: bool) -> None:
    rng = np.random.default_rng(7)
    people, judge = rng.integers(0, 2, (2, 60, 5))
    judge = np.where(rng.random((60, 5)) < 0.5, people, judge)
    models = [f"m{i % 6}" for i in range(60)]
    if stated:
        headers: tuple[str, ...] = ("u", "r", "m", "people", "judge")
        rows = [
            (f"u{i}", f"r{i}", m, p.sum(), j.sum())
            for i, (m, p, j) in enumerate(zip(models, people, judge, strict=True))
        ]
        mapping = 'label.H1.total = "people"\njudge.General.total = "judge"\n'
    else:
        headers = ("u", "r", "m", *(f"H1 {d}" for d in DIMENSIONS), *(f"G {d}" for d in DIMENSIONS))
        rows = [(f"u{i}", f"r{i}", m, *p, *j) for i, (m, p, j) in enumerate(zip(models, people, judge, strict=True))]
        mapping = "".join(f'label.H1.{d} = "H1 {d}"\njudge.General.{d} = "G {d}"\n' for d in DIMENSIONS)
    write(headers, rows)
    (tmp_path / "columns.toml").write_text('user = "u"\nreply = "r"\nmodel = "m"\n' + mapping)
    found = cells(tmp_path)
    x, y = judge.sum(axis=1), people.sum(axis=1)
    theirs, people_s = (np.array([t[i::6].mean() for i in range(6)]) for t in (x, y))
    assert found["General", "Pearson (system level)"][0] == pytest.approx(np.corrcoef(theirs, people_s)[0, 1])
    assert found["General", "Spearman"][0] == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found["General", "Kendall"][0] == pytest.approx(stats.kendalltau(x, y).statistic)
    assert "60 replies" in found["General", "Kendall"][2]
    assert found["PsyCrisis", "Kendall"][0] is None


def test_fewer_than_five_systems_are_no_system_level(write: Callable[..., Path], tmp_path: Path) -> None:
    rows = [(f"u{i}", f"r{i}", f"m{i % 4}", i % 5, i % 3) for i in range(40)]
    write(("u", "r", "m", "p", "j"), rows)
    (tmp_path / "columns.toml").write_text('user="u"\nreply="r"\nmodel="m"\nlabel.total="p"\njudge.General.total="j"\n')
    value, verdict, note = cells(tmp_path)["General", "Pearson (system level)"]
    assert (value, verdict, note) == (None, "missing", "needs 5 models, and here are 4")


def test_equal_totals_have_no_correlation(write: Callable[..., Path], tmp_path: Path) -> None:
    write(("u", "r", "p", "j"), [(f"u{i}", f"r{i}", 3, i % 3) for i in range(12)])
    (tmp_path / "columns.toml").write_text('user="u"\nreply="r"\nlabel.total="p"\njudge.General.total="j"\n')
    value, _, note = cells(tmp_path)["General", "Spearman"]
    assert value is None
    assert note.startswith("not defined")


def test_an_audit_looks_at_the_table_as_it_is(write: Callable[..., Path], tmp_path: Path) -> None:
    rows = [
        (
            f"I feel low, day {i}",
            "" if i == 3 else f"I hear you ({i})",
            1,
            "Error: 429" if i == 5 else "{'共情与合作': 1}",
        )
        for i in range(30)
    ]
    write(("u", "r", "l", "j"), rows)
    (tmp_path / "columns.toml").write_text('user="u"\nreply="r"\nlabel.H1.empathy="l"\njudge.gpt="j"\n')
    found = {finding.id for finding in audit("psycrisis", data=tmp_path).findings}
    assert {"empty_replies_rated", "error_replies"} <= found
