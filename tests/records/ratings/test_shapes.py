"""The same ratings in every shape that people have them in are read alike."""

from __future__ import annotations

import json
import random
import zipfile
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from mindgauge.analysis.reliability.ratings import read as checked
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.ratings import RatingLayout, read
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PEOPLE, MODELS, CRITERIA = (
    ("expert1", "expert2", "expert3"),
    ("gpt-4o", "claude"),
    ("empathy", "stays_in_role", "names_risk"),
)
LEVELS = {"empathy": 5, "stays_in_role": 3, "names_risk": 7}
ITEMS = 30


def cells(seed: int = 0, raters: Sequence[str] = PEOPLE) -> dict[tuple[str, str, str], int]:
    """Return made-up values: (subject, criterion, rater) → level."""
    chance = random.Random(seed)
    return {
        (f"conv-{number:03}", criterion, rater): chance.randint(1, LEVELS[criterion])
        for number in range(ITEMS)
        for criterion in CRITERIA
        for rater in raters
    }


def rows_of(values: dict[tuple[str, str, str], int]) -> set[tuple[str, str, str, str]]:
    return {(*key, str(value)) for key, value in values.items()}


def long_of(path: Any, layout: RatingLayout = RatingLayout()) -> set[tuple[str, ...]]:  # noqa: B008 - it is frozen
    frame = read(path if isinstance(path, list) else [path], layout).frame
    return set(frame.select("subject", "criterion", "rater", "value").iter_rows())


def ids(raters: Sequence[str]) -> list[str]:
    return [f"conv-{number:03}" for number in range(ITEMS)]


def as_long(values: dict[tuple[str, str, str], int], folder: Path) -> Path:
    columns = zip(*((*key, value) for key, value in values.items()), strict=True)
    pl.DataFrame(dict(zip(("subject", "criterion", "rater", "value"), columns, strict=True))).write_csv(
        folder / "long.csv"
    )
    return folder / "long.csv"


def as_other_words(values: dict[tuple[str, str, str], int], folder: Path) -> Path:
    columns = zip(*((*key, value) for key, value in values.items()), strict=True)
    pl.DataFrame(dict(zip(("Item ID", "Dimension", "Annotator", "Score"), columns, strict=True))).write_parquet(
        folder / "long.parquet"
    )
    return folder / "long.parquet"


def as_row_per_rater(values: dict[tuple[str, str, str], int], folder: Path) -> Path:
    raters = list(dict.fromkeys(rater for _, _, rater in values))
    rows = [
        {
            "conversation_id": ident,
            "annotator": rater,
            **{c: values[ident, c, rater] for c in CRITERIA},
            "comments": "fine",
        }
        for ident in ids(raters)
        for rater in raters
    ]
    pl.DataFrame(rows).write_csv(folder / "wide.csv", separator=";")
    return folder / "wide.csv"


def as_file_per_rater(values: dict[tuple[str, str, str], int], folder: Path) -> Path:
    place = folder / "files"
    place.mkdir()
    for number, rater in enumerate(dict.fromkeys(rater for _, _, rater in values)):
        rows = [
            {"": place, "conv_id": ident, **{c: values[ident, c, rater] for c in CRITERIA}}
            for place, ident in enumerate(ids([]))
        ]
        random.Random(number).shuffle(rows)
        pl.DataFrame(rows).write_csv(place / f"{rater}_ratings.csv")
    return place


def as_folder_per_framework(values: dict[tuple[str, str, str], int], folder: Path) -> Path:
    for criteria in (CRITERIA[:1], CRITERIA[1:]):
        place = folder / "frameworks" / criteria[0]
        place.mkdir(parents=True)
        for rater in dict.fromkeys(rater for _, _, rater in values):
            rows = [{"conv_id": ident, **{c: values[ident, c, rater] for c in criteria}} for ident in ids([])]
            pl.DataFrame(rows).write_csv(place / f"{rater}.csv")
    return folder / "frameworks"


def as_folder_per_rater(values: dict[tuple[str, str, str], int], folder: Path) -> Path:
    for rater in dict.fromkeys(rater for _, _, rater in values):
        place = folder / "people" / rater
        place.mkdir(parents=True)
        rows = [{"conv_id": ident, **{c: values[ident, c, rater] for c in CRITERIA}} for ident in ids([])]
        pl.DataFrame(rows).write_csv(place / "ratings.csv")
    return folder / "people"


def as_zip(values: dict[tuple[str, str, str], int], folder: Path) -> Path:
    files = as_file_per_rater(values, folder)
    with zipfile.ZipFile(folder / "ratings.zip", "w") as archive:
        for path in sorted(files.iterdir()):
            archive.write(path, f"release/{path.name}")
    return folder / "ratings.zip"


def as_sheets(values: dict[tuple[str, str, str], int], folder: Path) -> Path:
    import xlsxwriter  # type: ignore[import-untyped]

    with xlsxwriter.Workbook(folder / "ratings.xlsx") as book:
        for rater in dict.fromkeys(rater for _, _, rater in values):
            rows = [{"Case": ident, **{c: values[ident, c, rater] for c in CRITERIA}} for ident in ids([])]
            pl.DataFrame(rows).write_excel(book, rater)
        pl.DataFrame({"Remarks": ["The third case was hard to read.", "Please see the guide, page two."]}).write_excel(
            book, "comments"
        )
    return folder / "ratings.xlsx"


def as_rater_by_criterion(values: dict[tuple[str, str, str], int], folder: Path) -> Path:
    raters = list(dict.fromkeys(rater for _, _, rater in values))
    rows = [{"dialogue_id": i, **{f"{r}_{c}": values[i, c, r] for r in raters for c in CRITERIA}} for i in ids([])]
    pl.DataFrame(rows).write_csv(folder / "grid.csv")
    return folder / "grid.csv"


def as_criterion_by_rater(values: dict[tuple[str, str, str], int], folder: Path) -> Path:
    raters = list(dict.fromkeys(rater for _, _, rater in values))
    rows = [{"dialogue_id": i, **{f"{c} ({r})": values[i, c, r] for r in raters for c in CRITERIA}} for i in ids([])]
    pl.DataFrame(rows).write_csv(folder / "grid2.csv")
    return folder / "grid2.csv"


def as_sheet_per_criterion(values: dict[tuple[str, str, str], int], folder: Path) -> Path:
    import xlsxwriter

    raters = list(dict.fromkeys(rater for _, _, rater in values))
    with xlsxwriter.Workbook(folder / "criteria.xlsx") as book:
        for criterion in CRITERIA:
            rows = [{"item": ident, **{r: values[ident, criterion, r] for r in raters}} for ident in ids([])]
            pl.DataFrame(rows).write_excel(book, criterion)
    return folder / "criteria.xlsx"


def as_lists(values: dict[tuple[str, str, str], int], folder: Path, *, dotted: bool = True) -> Path:
    raters = list(dict.fromkeys(rater for _, _, rater in values))
    users, status = (".responses.users", ".responses.status") if dotted else (".users", ".status")
    with (folder / "argilla.jsonl").open("w", encoding="utf-8") as file:
        for ident in ids([]):
            record: dict[str, Any] = {"id": ident, "text": "A message about a hard week."}
            for criterion in CRITERIA:
                record[f"{criterion}.responses"] = [*(values[ident, criterion, r] for r in raters), 1]
                record[f"{criterion}{users}"] = [*raters, "somebody"]
                record[f"{criterion}{status}"] = [*["submitted"] * len(raters), "discarded"]
            file.write(json.dumps(record) + "\n")
    return folder / "argilla.jsonl"


def as_lists_in_csv(values: dict[tuple[str, str, str], int], folder: Path) -> Path:
    rows = [
        json.loads(line) for line in as_lists(values, folder, dotted=False).read_text(encoding="utf-8").splitlines()
    ]
    pl.DataFrame([{key: str(cell) for key, cell in row.items()} for row in rows]).write_csv(folder / "argilla.csv")
    return folder / "argilla.csv"


def as_langfuse(values: dict[tuple[str, str, str], int], folder: Path) -> Path:
    with (folder / "scores.jsonl").open("w", encoding="utf-8") as file:
        for number, ((ident, criterion, rater), value) in enumerate(values.items()):
            person = rater in PEOPLE
            score = {
                "id": f"s{number}", "timestamp": "2026-10-01 10:00:00.000000", "project_id": "p", "trace_id": f"t-{ident}", "observation_id": ident,
                "name": criterion, "value": value, "string_value": None, "data_type": "NUMERIC", "source": "ANNOTATION" if person else "EVAL",
                "author_user_id": rater if person else None, "evaluator_id": None if person else rater, "comment": "ok",
            }  # fmt: skip
            file.write(json.dumps(score) + "\n")
        file.write(
            json.dumps(score | {"id": "x", "name": "summary", "data_type": "TEXT", "string_value": "a remark"}) + "\n"
        )
    return folder / "scores.jsonl"


def as_openinference(values: dict[tuple[str, str, str], int], folder: Path) -> Path:
    rows = [
        {
            "span_id": ident, "annotation_name": criterion, "annotator_kind": "HUMAN" if rater in PEOPLE else "LLM", "identifier": rater,
            "result.score": float(value), "result.label": None, "result.explanation": "because", "created_at": "2026-10-01",
        }
        for (ident, criterion, rater), value in values.items()
    ]  # fmt: skip
    pl.DataFrame(rows).write_parquet(folder / "annotations.parquet")
    return folder / "annotations.parquet"


def as_objects(values: dict[tuple[str, str, str], int], folder: Path) -> Path:
    rows = [
        {"id": ident, "rater": rater, "scores": {c: values[ident, c, rater] for c in CRITERIA}}
        for ident in ids([])
        for rater in dict.fromkeys(r for _, _, r in values)
    ]
    (folder / "objects.json").write_text(json.dumps(rows), encoding="utf-8")
    return folder / "objects.json"


Writer = "Callable[[dict[tuple[str, str, str], int], Path], Path]"
SHAPES = [
    as_long, as_other_words, as_row_per_rater, as_file_per_rater, as_folder_per_framework, as_folder_per_rater, as_zip, as_sheets,
    as_rater_by_criterion, as_criterion_by_rater, as_sheet_per_criterion, as_lists, as_lists_in_csv, as_langfuse, as_openinference,
]  # fmt: skip


@pytest.mark.parametrize("raters", [later(PEOPLE), (*PEOPLE[:2], *MODELS)], ids=["people", "people and models"])
@pytest.mark.parametrize("write", SHAPES, ids=lambda write: write.__name__.removeprefix("as_"))
def test_every_shape_is_read_alike(write: Any, raters: Sequence[str], tmp_path: Path) -> None:
    values = cells(raters=raters)
    assert long_of(write(values, tmp_path)) == rows_of(values)
    (again := tmp_path / "again").mkdir()
    kinds: dict[str, str] = dict(read([write(values, again)]).frame.select("rater", "rater_kind").unique().iter_rows())
    if write is not as_long:
        assert kinds == {rater: "person" if rater in PEOPLE else "model" for rater in raters}


def test_objects_in_cells_are_columns(tmp_path: Path) -> None:
    values = cells()
    read_rows = long_of(as_objects(values, tmp_path))
    assert {(s, c.removeprefix("scores."), r, v) for s, c, r, v in read_rows} == rows_of(values)


def test_cards_are_equal_from_every_shape(tmp_path: Path) -> None:
    values = cells(raters=(*PEOPLE[:2], "gpt-4o"))
    tables = []
    for write in (as_other_words, as_row_per_rater, as_file_per_rater, as_rater_by_criterion, as_lists, as_sheets):
        (folder := tmp_path / write.__name__).mkdir()
        rated = checked([write(values, folder)])
        tables.append((rated.frame.sort("subject", "criterion", "rater"), rated.scales))
    assert all(frame.equals(tables[0][0]) and scales == tables[0][1] for frame, scales in tables)


def test_a_column_for_each_system_and_criterion(tmp_path: Path) -> None:
    chance = random.Random(1)
    rows = [
        {"id": f"c{i}", "rater": rater, **{f"{system}_{c}": chance.randint(1, 5) for system in MODELS for c in CRITERIA}}
        for i in range(20) for rater in PEOPLE
    ]  # fmt: skip
    path = tmp_path / "systems.csv"
    pl.DataFrame(rows).write_csv(path)
    frame = read([path]).frame
    assert set(frame["rater"]) == set(PEOPLE)
    assert set(frame["system"]) == set(MODELS)
    assert frame["cluster"].n_unique() == 20
    assert frame["subject"].n_unique() == 40
    expected = {(f"{r['id']} / {s}", c, r["rater"], str(r[f"{s}_{c}"])) for r in rows for s in MODELS for c in CRITERIA}
    assert set(frame.select("subject", "criterion", "rater", "value").iter_rows()) == expected


def test_what_was_read_is_shown_with_what_was_left_out(tmp_path: Path) -> None:
    path = as_sheets(cells(), tmp_path)
    lines = read([path]).account.lines()
    assert lines[0].startswith(
        "90 rows read as 270 ratings of 30 subjects by 3 raters (expert1, expert2 and expert3) on 3 criteria"
    )
    assert "one sheet for each rater, a column for each criterion; the subject is 'Case'" in lines[1]
    assert any("(comments): no column holds ratings" in line for line in lines)
    assert lines[-1].startswith("To have it read otherwise: --subject")
    assert read([as_long(cells(), tmp_path)]).account.plain


def test_what_is_said_is_done(tmp_path: Path) -> None:
    rows = [
        {"a": f"x{n // 2}", "b": n % 2, "Anna": 1 + n % 5, "Ben": 1 + (n + 1) % 5, "note_score": 3} for n in range(20)
    ]
    path = tmp_path / "t.csv"
    pl.DataFrame(rows).write_csv(path)
    layout = RatingLayout(subject="a,b", rater="columns", criteria="", drop="note_score")
    frame = read([path], layout).frame
    assert set(frame["rater"]) == {"Anna", "Ben"}
    assert frame["subject"].n_unique() == 20
    assert set(frame["subject"].head(2)) == {"x0 / 0", "x0 / 1"}
    by_criterion = read([path], RatingLayout(subject=("a", "b"), rater="file", criteria="Anna,Ben")).frame
    assert set(by_criterion["criterion"]) == {"Anna", "Ben"} and set(by_criterion["rater"]) == {"t"}
    with pytest.raises(UsageError, match="--criteria warmth"):
        read([path], RatingLayout(criteria="warmth"))
    with pytest.raises(DataError, match="no column 'who' for --rater"):
        read([path], RatingLayout(rater="who"))


def test_answers_that_do_not_apply_are_not_missing(tmp_path: Path) -> None:
    words = ["Best Practice", "Not Relevant", "High Potential for Harm", "", "N/A"]
    rows = [{"id": f"c{n}", "rater": r, "confirms": words[(n + k) % 5], "guides": "Best Practice"} for n in range(20) for k, r in enumerate(PEOPLE)]  # fmt: skip
    path = tmp_path / "w.csv"
    pl.DataFrame(rows).write_csv(path)
    layout = RatingLayout(
        levels="High Potential for Harm,Suboptimal,best practice", not_applicable='"Not Relevant",N/A'
    )
    frame, account = read([path], layout)
    own = frame.filter(pl.col("criterion") == "confirms")
    assert dict(own["status"].value_counts().iter_rows()) == {"ok": 24, "not_applicable": 24, "unparsable": 12}
    assert (account.missing, account.not_applicable) == (12, 24)
    assert set(own["value"].drop_nulls()) == {"best practice", "High Potential for Harm"}
    scale = checked([path], layout=layout).scales["confirms"]
    assert scale.ordered and scale.words == ("High Potential for Harm", "Suboptimal", "best practice")
    assert any("--not-applicable N/A" in note for note in read([path]).account.notes)


def table_of(rows: Sequence[dict[str, Any]], path: Path) -> Path:
    pl.DataFrame(list(rows)).write_csv(path)
    return path


def test_a_subject_that_occurs_twice_for_a_rater_is_named_with_its_rows(tmp_path: Path) -> None:
    rows = [{"id": f"c{n}", "empathy": 1 + n % 5, "warmth": 1 + n % 3} for n in range(20)]
    rows[7]["id"] = "c3"
    for name in PEOPLE[:2]:
        table_of(rows, tmp_path / f"{name}.csv")
    with pytest.raises(DataError, match=r"expert1\.csv: .*repeat.*'c3', empathy, expert1, lines 5, 9\).*--subject"):
        read([tmp_path])


def test_a_rater_under_two_spellings_is_one_or_is_refused(tmp_path: Path) -> None:
    rows = [{"id": f"c{n}", "rater": "A. Smith" if n < 10 else "a smith", "empathy": 1 + n % 5} for n in range(20)]
    rows += [{"id": f"c{n}", "rater": "B", "empathy": 1 + n % 4} for n in range(20)]
    frame, account = read([table_of(rows, tmp_path / "a.csv")])
    assert frame["rater"].n_unique() == 2
    assert any("taken for one rater" in note for note in account.notes)
    rows[10]["id"] = "c3"
    with pytest.raises(DataError, match="look like one rater under several spellings, and both rate 'c3'"):
        read([table_of(rows, tmp_path / "b.csv")])


def test_the_first_subject_that_two_spellings_rate_is_named_each_time_alike(tmp_path: Path) -> None:
    rows = [
        {"id": f"c{n}", "rater": rater, "empathy": 1 + n % 5} for n in range(200) for rater in ("Anna", "anna", "B")
    ]
    path = table_of(rows, tmp_path / "a.csv")
    for _ in range(5):
        with pytest.raises(DataError, match=r"both rate 'c0' \(lines 2, 3\)"):
            read([path])


def test_levels_in_two_languages_are_refused_until_they_are_said_to_be_the_same(tmp_path: Path) -> None:
    english, german = ["low", "middle", "high"], ["niedrig", "mittel", "hoch"]
    for name, words in (("expert1", english), ("expert2", german)):
        table_of([{"id": f"c{n}", "empathy": words[n % 3]} for n in range(20)], tmp_path / f"{name}.csv")
    with pytest.raises(DataError, match=r"expert1 and expert2 use other words for its levels.*--levels"):
        read([tmp_path])
    frame = read([tmp_path], RatingLayout(levels="low|niedrig,middle|mittel,high|hoch")).frame
    assert set(frame["value"]) == set(english)


def test_numbers_here_and_words_there_are_refused(tmp_path: Path) -> None:
    table_of([{"id": f"c{n}", "empathy": 1 + n % 3} for n in range(20)], tmp_path / "expert1.csv")
    table_of([{"id": f"c{n}", "empathy": ["low", "high"][n % 2]} for n in range(20)], tmp_path / "expert2.csv")
    with pytest.raises(
        DataError,
        match=r"empathy is numbers for expert1 \(1, expert1\.csv line 2\) and words for expert2 \('low', expert2",
    ):
        read([tmp_path])


def test_ids_that_are_nearly_the_same_are_refused(tmp_path: Path) -> None:
    table_of([{"id": f"conv_{n:03}", "empathy": 1 + n % 5} for n in range(20)], tmp_path / "expert1.csv")
    table_of([{"id": f"Conv-{n}", "empathy": 1 + n % 4} for n in range(20)], tmp_path / "expert2.csv")
    with pytest.raises(
        DataError,
        match=r"20 subjects are spelled in different ways by different raters \(first: 'conv_000' and 'Conv-0'",
    ):
        read([tmp_path])


def test_two_shapes_in_one_folder_are_both_read_or_named(tmp_path: Path) -> None:
    values = cells(raters=(*PEOPLE, "gpt-4o"))
    people = {key: value for key, value in values.items() if key[2] in PEOPLE}
    judge = {key: value for key, value in values.items() if key[2] not in PEOPLE}
    place = as_file_per_rater(people, tmp_path)
    as_long(judge, place)
    pl.DataFrame({"Dimension": CRITERIA, "kappa": [0.4, 0.5, 0.6]}).write_csv(place / "agreement.csv")
    frame, account = read([place])
    assert set(frame.select("subject", "criterion", "rater", "value").iter_rows()) == rows_of(values)
    assert any(line.startswith("agreement.csv:") for line in account.left_out)
    as_row_per_rater(people, place)
    assert any("that other files hold as well" in line for line in read([place]).account.left_out)


def test_people_who_rated_a_part_have_no_missing_ratings_of_the_rest(tmp_path: Path) -> None:
    rows = [
        {"id": f"c{n}", "expert1_empathy": 1 + n % 5, "expert1_warmth": 2, "expert2_empathy": 1 + n % 5 if n < 8 else None, "expert2_warmth": 3 if n < 7 else None}
        for n in range(20)
    ]  # fmt: skip
    frame, account = read([table_of(rows, tmp_path / "part.csv")])
    assert dict(frame["rater"].value_counts().iter_rows()) == {"expert1": 40, "expert2": 16}
    assert account.missing == 1
    assert any("did not rate at all" in line for line in account.left_out)


def test_rows_without_a_subject_such_as_means_are_left_out_and_said(tmp_path: Path) -> None:
    rows = [{"id": f"c{n}", "rater": r, "empathy": float(1 + n % 5)} for n in range(20) for r in PEOPLE]
    rows.append({"id": None, "rater": "expert1", "empathy": 3.27})
    frame, account = read([table_of(rows, tmp_path / "m.csv")])
    assert frame.height == 60
    assert any("without a subject" in note for note in account.notes)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n1,x\n", "no"),
        ("text\nI had a hard week and nobody noticed.\n", "no"),
        ("", "0 rows"),
        ("id,empathy,id\n1,2,3\n", "id"),
    ],
)
def test_what_holds_no_ratings_gets_one_line(content: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as error:
        read([path])
    assert words in str(error.value) and "\n" not in str(error.value) and "t.csv" in str(error.value)


def test_a_clinicians_workbook_and_a_judges_file_are_one_set(tmp_path: Path) -> None:
    from xlsxwriter import Workbook

    with Workbook(tmp_path / "review.xlsx") as book:
        for place, name in enumerate(("Dr. Chen", "M. Rossi")):
            rows = [{"Reply no.": f"R{n:02}", "Empathy": 1 + (n + place) % 5, "Comment": "ok"} for n in range(12)]
            pl.DataFrame(rows).write_excel(book, name)
    judge = table_of([{"Reply no.": f"R{n:02}", "Empathy": 1 + n % 5} for n in range(12)], tmp_path / "gpt-4o.csv")
    frame, account = read([tmp_path / "review.xlsx", judge])
    kinds = dict(frame.select("rater", "rater_kind").unique().iter_rows())
    assert kinds == {"Dr. Chen": "person", "M. Rossi": "person", "gpt-4o": "model"}
    assert "3 files and sheets): one file for each rater" in account.shapes[0]
