from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import polars as pl
import pytest
import xlsxwriter  # type: ignore[import-untyped]

import mindgauge
from mindgauge.benchmarks.mentalbench import released
from mindgauge.benchmarks.mentalbench.mentalbench import load, read
from mindgauge.records import RaterKind
from mindgauge.records.errors import DataError
from tests import in_process

from .conftest import CLAUDE, GPT, PEOPLE, ROWS, Copy, cell, concern, rated

if TYPE_CHECKING:
    from pathlib import Path


def test_people_come_first_and_systems_have_our_names(small: Copy) -> None:
    found = released.find(small.root)
    assert [(s.rater, s.kind) for s in found.sheets] == [
        ("panel", RaterKind.PERSON),
        ("claude-3-7-sonnet-20250219", RaterKind.MODEL),
        ("gpt-4o", RaterKind.MODEL),
    ]
    assert {s.source for s in found.sheets} == {PEOPLE, CLAUDE, GPT}
    for sheet in found.sheets:
        assert list(sheet.cells) == [
            "original", "claude-3.5-haiku", "deepseek-llama-8b", "deepseek-qwen-7b", "gemini-2.0-flash", "gpt-4o",
            "gpt-4o-mini", "llama-3.1-8b", "qwen-2.5-7b", "qwen-3-4b",
        ]  # fmt: skip
        assert sheet.row == list(range(ROWS))
        assert sheet.conversation == [str(i + 1) for i in range(ROWS)]
    assert found.notes == ()


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("claude_llm_judge", "claude-3-7-sonnet-20250219"),
        ("gpt4o_llm_judge", "gpt-4o"),
        ("Gemini LLM as a judge", "gemini"),
        ("o4_mini_judge", "o4-mini"),
        ("o4-mini-2025-04-16_llm_judge", "o4-mini"),
        ("gpt-o4mini-llm_judge", "o4-mini"),
        ("claude-3-7-sonnet_llm_judge", "claude-3-7-sonnet-20250219"),
        ("claude-3-5-sonnet_llm_judge", "claude-3-5-sonnet"),
        ("gemini-2.5-flash_llm_judge", "gemini"),
        ("gemini-2.0-flash_llm_judge", "gemini-2.0-flash"),
        ("gpt-4o-llm_judge", "gpt-4o"),
        ("Mistral_7B_llm_judge", "mistral-7b"),
        ("judge", "judge"),
    ],
)
def test_a_judge_has_its_files_name(stem: str, name: str) -> None:
    assert released.judge(stem) == name


def test_any_rows_any_systems_any_place_xlsx_or_csv(small: Copy) -> None:
    small.write("deep/er/mistral_llm_judge.csv", rated(1, " judge_response_", ("gpt4o", "my_model 7B"), 3))
    found = {s.rater: s for s in released.find(small.root).sheets}
    assert {name: len(column) for name, column in found["mistral"].cells.items()} == {"gpt-4o": 3, "my-model-7b": 3}
    assert found["mistral"].source == "deep/er/mistral_llm_judge.csv"
    assert found["mistral"].context == [concern(row) for row in range(3)]


def test_the_sheet_with_the_right_header_is_taken(small: Copy) -> None:
    path = small.root / CLAUDE
    with xlsxwriter.Workbook(path) as book:
        pl.DataFrame({"about": ["this file"]}).write_excel(book, worksheet="notes")
        rated(1, "judge_response_").write_excel(book, worksheet="other")
    assert len(released.find(small.root).sheets) == 3


def test_people_and_a_judge_in_one_joined_file(tmp_path: Path) -> None:
    both = pl.concat(
        [rated(0, "human_response_"), rated(1, "judge_response_").drop("ConvID", "context")], how="horizontal"
    )
    both.write_csv(tmp_path / "claude_judge.csv")
    assert [(s.rater, len(s.cells)) for s in released.find(tmp_path).sheets] == [("panel", 10), ("claude-3-7-sonnet-20250219", 10)]  # fmt: skip


def test_numbers_booleans_and_nothing_where_text_is_expected(small: Copy) -> None:
    frame = rated(1, "judge_response_").with_columns(
        pl.Series("ConvID", [float(i + 1) for i in range(ROWS)]),
        pl.Series("judge_response_gpt4o", [5] * ROWS),
        pl.Series("judge_response_gemini", [True, None] * (ROWS // 2)),
    )
    small.write(CLAUDE, pl.concat([frame, frame.clear(2)]))
    found = released.find(small.root).sheets[1]
    assert found.conversation == [str(i + 1) for i in range(ROWS)]
    assert {str(scores.fault) for scores in found.scores()["gpt-4o"]} == {"no verdict"}
    assert {str(scores.fault) for scores in found.scores()["gemini-2.0-flash"]} == {"no verdict", "empty cell"}


def test_a_copy_of_a_file_is_named_and_not_read_and_another_version_refused(small: Copy) -> None:
    """Line ends and blanks at the ends aside: a CSV of the same workbook is a copy."""
    copy = rated(1, "judge_response_").with_columns(pl.col("judge_response_gpt4o") + "\r\n")
    small.write("copy/claude-3-7-sonnet_llm_judge.csv", copy)
    found = released.find(small.root)
    assert len(found.sheets) == 3
    assert found.notes == (
        f"copy/claude-3-7-sonnet_llm_judge.csv: claude-3-7-sonnet-20250219 once more, not read (first: {CLAUDE})",
    )
    small.set("copy/claude-3-7-sonnet_llm_judge.csv", "gemini", 4, cell(1))
    with pytest.raises(DataError, match=r"both hold the ratings of claude-3-7-sonnet-20250219, and differ in 1 cell;"):
        released.find(small.root)


def test_the_readme_s_names_in_csv_give_the_same_cells_as_the_workbooks(small: Copy, tmp_path: Path) -> None:
    names = {PEOPLE: "HumanEvaluation", CLAUDE: "claude-3-7-sonnet_llm_judge", GPT: "gpt-4o-llm_judge"}
    as_csv = Copy(tmp_path / "csv")
    for name, stem in names.items():
        as_csv.write(f"{name.partition('/')[0]}/{stem}.csv", small.frames[name])
    workbooks, tables = (
        [
            (c.row, c.column, c.recomputed, c.verdict)
            for c in mindgauge.papers_reproduce("mentalbench", data=copy.root).cells
        ]
        for copy in (small, as_csv)
    )
    assert tables == workbooks


def test_a_judge_that_is_none_of_the_papers_is_named_in_a_line_and_loaded(small: Copy, tmp_path: Path) -> None:
    """The paper's README has the fourth judge as GPT-4o-Mini; a file of that name is it only where there is no other."""
    for stem in ("mistral-large", "gpt-4o-mini"):
        small.write(f"LLMs_as_a_judge/{stem}_llm_judge.csv", rated(1, "judge_response_"))
    further = "LLMs_as_a_judge/mistral-large_llm_judge.csv: none of the paper's four judges; read as a further judge, mistral-large"
    fourth = "LLMs_as_a_judge/gpt-4o-mini_llm_judge.csv: read as o4-mini, the judge that the paper's README calls GPT-4o-Mini"
    found = mindgauge.papers_reproduce("mentalbench", data=small.root)
    assert found.notes[:2] == [fourth, further]
    assert any(c.row == "o4-mini / Safety" and c.column == "c1" and c.recomputed is not None for c in found.cells)
    shown = in_process.mindgauge("papers", "reproduce", "mentalbench", "--data", small.root).stdout
    assert "read as a further judge, mistral-large" in " ".join(shown.split())
    assert {fourth, further} <= {*mindgauge.papers_load("mentalbench", data=small.root, out=tmp_path / "run").notes}
    rows = mindgauge.papers_reproduce("mentalbench", data=small.root, beside=tmp_path / "run").beside
    assert {row.row.partition(" / ")[0] for row in rows} == {"mistral-large"}
    assert rows[0].values["c1"] is not None
    small.write("LLMs_as_a_judge/o4-mini_llm_judge.csv", rated(2, "judge_response_"))
    assert any("read as a further judge, gpt-4o-mini" in note for note in released.find(small.root).notes)


def test_a_zip_is_read_as_the_folder_that_it_holds(small: Copy, tmp_path: Path) -> None:
    packed = tmp_path / "data.zip"
    with zipfile.ZipFile(packed, "w") as file:
        for path in small.root.rglob("*.xlsx"):
            file.write(path, path.relative_to(small.root))
    assert [s.cells for s in released.find(packed).sheets] == [s.cells for s in released.find(small.root).sheets]


def test_other_tables_are_named_and_lock_files_are_not_opened(small: Copy) -> None:
    (small.root / "~$Human_judge.xlsx").write_bytes(b"locked")
    (small.root / "other.csv").write_text("a,b\n1,2\n")
    small.write("header_llm_judge.xlsx", rated(1, "judge_response_").clear())
    assert len(released.find(small.root).sheets) == 3
    notes = released.find(small.root).notes
    assert [note.split(":")[0] for note in notes] == ["header_llm_judge.xlsx", "other.csv"]
    assert "columns: a, b" in notes[1]


def test_a_folder_above_or_below_gives_the_same_names(small: Copy) -> None:
    above = {s.source for s in released.find(small.root.parent).sheets}
    below = {s.source for s in released.find(small.root / "LLMs_as_a_judge").sheets}
    assert above == {PEOPLE, CLAUDE, GPT}
    assert below == {CLAUDE, GPT}


# -- what cannot be used -------------------------------------------------------------------------------------------


def test_an_empty_or_missing_folder_says_what_was_expected(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        for reader in (read, load):
            with pytest.raises(DataError, match=r"expected Human_Judge/Human_judge\.xlsx") as caught:
                reader(folder)
            assert "\n" not in str(caught.value)


def test_only_other_tables_are_named_with_their_columns(tmp_path: Path) -> None:
    pl.DataFrame({"ConvID": [1], "context": ["x"], "rating": [3]}).write_excel(tmp_path / "a.xlsx")
    pl.DataFrame().write_excel(tmp_path / "b.xlsx")
    with pytest.raises(DataError, match=r"a\.xlsx.*ConvID, context, rating.*b\.xlsx.*columns: none"):
        released.find(tmp_path)


@pytest.mark.parametrize("kind", ["html", "zip", "cut", "empty"])
def test_a_broken_workbook_is_named_in_one_line(small: Copy, kind: str) -> None:
    path = small.root / CLAUDE
    whole = path.read_bytes()
    path.write_bytes({"html": b"<html><body>not found</body></html>", "cut": whole[: len(whole) // 2]}.get(kind, b""))
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("a.txt", "no workbook")
    with pytest.raises(DataError, match=r"claude_llm_judge\.xlsx: not a workbook that can be read") as caught:
        released.find(small.root)
    assert "\n" not in str(caught.value)


def test_a_missing_column_says_which_and_what_was_found(small: Copy) -> None:
    small.write(GPT, rated(2, "judge_response_").drop("context"))
    with pytest.raises(
        DataError, match=r"gpt-4o_llm_judge\.xlsx: no column context; found ConvID, judge_response_original"
    ):
        released.find(small.root)


def test_a_column_or_a_system_that_stands_there_twice_is_refused(small: Copy) -> None:
    small.write(GPT, rated(2, "judge_response_").with_columns(pl.lit(cell(3)).alias("judge_response_gpt4o ")))
    with pytest.raises(DataError, match="column judge_response_gpt4o occurs twice"):
        released.find(small.root)
    small.write(GPT, rated(2, "judge_response_").with_columns(pl.lit(cell(3)).alias("judge_response_GPT-4o")))
    with pytest.raises(DataError, match="two columns hold the system gpt-4o"):
        released.find(small.root)


def test_a_csv_that_is_not_utf8_is_refused_in_one_line(tmp_path: Path) -> None:
    text = f'ConvID,context,judge_response_gpt4o\n1,caf\xe9,"{cell(3).replace(chr(34), chr(34) * 2)}"\n'
    (tmp_path / "x_llm_judge.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match="UTF-8") as caught:
        released.find(tmp_path)
    assert "\n" not in str(caught.value)
