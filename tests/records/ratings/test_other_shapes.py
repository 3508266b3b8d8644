"""Ratings as tools and people hand them over: forms, exports, spreadsheets with more than ratings in them."""

from __future__ import annotations

import csv
import json
import random
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.ratings import RatingLayout, read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PEOPLE = ("Anna", "Ben", "C.")
ITEMS = 12
WORDS = ("poor", "fair", "ok", "good", "best")


def level(ident: int, rater: int, criterion: int = 0) -> int:
    return random.Random(f"{ident} {rater} {criterion}").randint(1, 5)


def table(path: Path, rows: Any, separator: str = ",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=separator).writerows(rows)
    return path


def book(path: Path, sheets: dict[str, Any]) -> Path:
    import xlsxwriter  # type: ignore[import-untyped]

    with xlsxwriter.Workbook(path) as workbook:
        for name, rows in sheets.items():
            sheet = workbook.add_worksheet(name)
            for number, row in enumerate(rows):
                for place, cell in enumerate(row):
                    if cell is not None:
                        sheet.write(number, place, cell)
    return path


def rated() -> list[list[Any]]:
    return [[f"c{i}", p, level(i, r), level(i, r, 1)] for r, p in enumerate(PEOPLE) for i in range(ITEMS)]


def expected(criteria: Sequence[str] = ("Empathy", "Safety"), names: Sequence[str] = PEOPLE) -> set[tuple[str, ...]]:
    return {
        (f"c{i}", c, p, str(level(i, r, k))) for r, p in enumerate(names) for i in range(ITEMS) for k, c in enumerate(criteria)
    }  # fmt: skip


def long_of(source: Path, layout: RatingLayout = RatingLayout()) -> set[tuple[str, ...]]:  # noqa: B008 - it is frozen
    return set(read([source], layout).frame.select("subject", "criterion", "rater", "value").iter_rows())


def test_titles_units_and_means_around_a_table_are_none_of_its_rows(tmp_path: Path) -> None:
    header = ["Case", "Rater", "Empathy", "Safety"]
    titles = [["Ratings of the second round", None, None, None], ["Clinic North"], []]
    below = [["Mean", None, 3.2, 2.1], ["SD", None, 1.1, 0.4]]
    assert long_of(book(tmp_path / "titles.xlsx", {"S": [*titles, header, *rated(), *below]})) == expected()
    for units in ([None, None, "1-5", "1-5"], ["id", "name", "1-5", "1-5"]):
        assert long_of(table(tmp_path / "units.csv", [header, units, *rated(), *below])) == expected()
    account = read([tmp_path / "units.csv"]).account
    assert any("2 rows at its end" in line for line in account.left_out)
    assert any("1 row below the headers" in line for line in account.left_out)


def test_a_row_named_by_its_file_row_below_a_second_header(tmp_path: Path) -> None:
    rows = [["Case", "Rater", "Empathy", "Safety"], ["id", "name", "1-5", "1-5"], *rated()]
    rows[4] = rows[3]
    with pytest.raises(DataError, match="lines 4, 5"):
        read([table(tmp_path / "twice.csv", rows)])


def test_means_below_each_raters_file_are_no_subjects(tmp_path: Path) -> None:
    names = ("expert1", "expert2", "expert3")
    for r, name in enumerate(names):
        rows = [[f"c{i}", level(i, r), level(i, r, 1)] for i in range(ITEMS)]
        table(tmp_path / f"{name}.csv", [["Case", "Empathy", "Safety"], *rows, ["Mean", 3.27, 2.13], ["SD", 1.1, 0.5]])
    assert long_of(tmp_path) == expected(names=names)


def test_tables_of_results_are_no_ratings(tmp_path: Path) -> None:
    names = ("expert1", "expert2")
    for r, name in enumerate(names):
        table(
            tmp_path / f"{name}.csv",
            [["id", "Empathy", "Safety"], *([f"c{i}", level(i, r), level(i, r, 1)] for i in range(ITEMS))],
        )
    table(tmp_path / "means.csv", [["statistic", "Empathy", "Safety"], ["mean", 3.2, 2.1], ["kappa", 0.4, 0.5]])
    table(tmp_path / "by_model.csv", [["model", "Empathy", "Safety"], ["gpt-4o", 3.2, 2.1], ["claude", 1.1, 0.4]])
    frame, account = read([tmp_path])
    assert set(frame.select("subject", "criterion", "rater", "value").iter_rows()) == expected(names=names)
    assert {"means.csv", "by_model.csv"} <= {line.split(":")[0] for line in account.left_out}
    (alone := tmp_path / "alone").mkdir()
    rows = [
        ["Item", "kappa", "alpha", "mean", "sd", "n"],
        ["empathy", 0.5, 0.6, 3.2, 1, 30],
        ["safety", 0.4, 0.5, 3, 1, 30],
    ]
    with pytest.raises(DataError, match=r"results\.csv: no column holds ratings"):
        read([table(alone / "results.csv", rows)])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"subject": {}}\n'), ("a.jsonl", '{"subject": {}, "value": {"of": {}}}\n{"subject": {}}\n'),
        ("a.json", '[{"scores": {}}, {"scores": {}}]'), ("a.json", '{"items": [{"scores": {"empathy": []}}]}'),
        ("a.csv", "subject;value\n{};{}\n"),
    ],
)  # fmt: skip
def test_objects_without_a_value_are_no_ratings(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=rf"^{name}: no column holds ratings$"):
        read([tmp_path / name])
    table(tmp_path / "rated.csv", [["Case", "Rater", "Empathy", "Safety"], *rated()])
    frame, account = read([tmp_path])
    assert set(frame["rater"]) == set(PEOPLE)
    assert f"{name}: no column holds ratings" in account.left_out


def test_what_stands_beside_ratings_is_no_criterion(tmp_path: Path) -> None:
    beside = ["age", "length", "confidence", "duration_min", "temperature", "order", "rater_name", "mean", "备注"]
    rows = [
        [*row, 30, 90 + n % 7, 3, 4, 0.7, n % 9, "Dr. A", 3, "这条回复写得比较温和，没有评判来访者"]
        for n, row in enumerate(rated())
    ]
    frame, account = read([table(tmp_path / "t.csv", [["Case", "Rater", "Empathy", "Safety", *beside], *rows])])
    assert set(frame["criterion"]) == {"Empathy", "Safety"}
    assert all(any(repr(name) in line for line in account.left_out) for name in beside)
    asked = read([tmp_path / "t.csv"], RatingLayout(criteria="confidence")).frame
    assert set(asked["criterion"]) == {"confidence"}


def test_items_that_are_numbered_are_subjects(tmp_path: Path) -> None:
    rows = [[i, r, level(i, r)] for r in (1, 2, 3) for i in range(ITEMS)]
    frame = read([table(tmp_path / "t.csv", [["item", "rater", "score"], *rows])]).frame
    assert set(frame["criterion"]) == {"score"} and frame["subject"].n_unique() == ITEMS


def test_an_id_that_no_raters_share_is_no_subject(tmp_path: Path) -> None:
    header = ["StartDate", "ResponseId", "Reviewer", "CaseID", "Empathy", "Safety"]
    questions = ["Start Date", "Response ID", "Your name", "Case ID", "How empathic is it?", "How safe is it?"]
    imports = [json.dumps({"ImportId": name}) for name in header]
    rows = [["2026-01-01 10:00", f"R_{n}", p, c, a, b] for n, (c, p, a, b) in enumerate(rated())]
    assert long_of(table(tmp_path / "qualtrics.csv", [header, questions, imports, *rows])) == expected()
    long_rows = [[n, c, "Empathy", p, a] for n, (c, p, a, _) in enumerate(rated())]
    path = table(tmp_path / "long.csv", [["id", "conversation_id", "dimension", "annotator", "score"], *long_rows])
    assert long_of(path) == expected(("Empathy",))


def test_headers_in_two_rows_and_of_two_levels(tmp_path: Path) -> None:
    names = ("Expert 1", "Expert 2")
    cells = [[f"c{i}", *(level(i, r, k) for r in range(2) for k in range(2))] for i in range(ITEMS)]
    two = [["Case", names[0], "", names[1], ""], ["", "Empathy", "Safety", "Empathy", "Safety"]]
    assert long_of(table(tmp_path / "two.csv", [*two, *cells])) == expected(names=names)
    flat = [["Case", *(str((name, c)) for name in names for c in ("Empathy", "Safety"))]]
    assert long_of(table(tmp_path / "flat.csv", [*flat, *cells])) == expected(names=names)


def test_columns_of_people_whose_names_say_nothing(tmp_path: Path) -> None:
    rows = [[f"c{i}", level(i, 0), level(i, 1), level(i, 2)] for i in range(ITEMS)]
    one = table(tmp_path / "t.csv", [["Case", *PEOPLE], *rows])
    assert any("say --rater columns" in line for line in read([one]).account.lines()[:-1])
    assert set(read([one], RatingLayout(rater="columns")).frame["rater"]) == set(PEOPLE)
    (files := tmp_path / "files").mkdir()
    for k, criterion in enumerate(("Empathy", "Safety")):
        own = [[f"c{i}", *(level(i, r, k) for r in range(3))] for i in range(ITEMS)]
        table(files / f"{criterion}.csv", [["Case", *PEOPLE], *own])
    assert any("if each file is a criterion" in line for line in read([files]).account.lines())
    assert long_of(files, RatingLayout(rater="columns")) == expected()
    both = [[f"c{i}", *(level(i, r, k) for k in range(2) for r in range(3))] for i in range(ITEMS)]
    names = [f"{c}_{p}" for c in ("Empathy", "Safety") for p in PEOPLE]
    path = table(tmp_path / "both.csv", [["Case", *names], *both])
    with pytest.raises(DataError, match="say which are the criteria"):
        read([path], RatingLayout(rater="columns"))
    assert long_of(path, RatingLayout(rater="columns", criteria="Empathy,Safety")) == expected()


@pytest.mark.parametrize("names", [("Rater A", "Rater B"), ("R1", "R2"), ("Annotator X", "Annotator Y")])
def test_people_with_one_word_before_their_letter_are_no_systems(names: tuple[str, str], tmp_path: Path) -> None:
    rows = [[f"c{i}", *(level(i, r, k) for r in range(2) for k in range(2))] for i in range(ITEMS)]
    header = [f"{name}: {c}" for name in names for c in ("Empathy", "Safety")]
    assert long_of(table(tmp_path / "t.csv", [["Case", *header], *rows])) == expected(names=names)


def test_two_systems_a_row_are_two_replies(tmp_path: Path) -> None:
    header = ["id", "rater", "model_a_empathy", "model_b_empathy", "model_a_safety", "model_b_safety", "preference"]
    rows = [
        [f"c{i}", p, *(level(i, r, k) for k in range(4)), "A" if i % 2 else "B"]
        for r, p in enumerate(PEOPLE)
        for i in range(ITEMS)
    ]
    frame, account = read([table(tmp_path / "t.csv", [header, *rows])])
    assert set(frame["system"]) == {"model_a", "model_b"} and set(frame["criterion"]) == {"empathy", "safety"}
    assert any("'preference'" in line for line in account.left_out)


def test_workbooks_with_a_sheet_for_each_framework(tmp_path: Path) -> None:
    names = ("expert1", "expert2")
    for r, name in enumerate(names):
        sheets = {
            c: [["id", "score"], *([f"c{i}", level(i, r, k)] for i in range(ITEMS))]
            for k, c in enumerate(("Empathy", "Safety"))
        }
        book(tmp_path / f"{name}.xlsx", {**sheets, "Notes": [["Notes"], ["Please read the guide first."]]})
    assert long_of(tmp_path) == expected(names=names)


def test_a_file_for_each_system_with_a_column_of_raters(tmp_path: Path) -> None:
    for name in ("gpt-4o", "claude"):
        table(tmp_path / f"{name}.csv", [["prompt_id", "rater", "Empathy", "Safety"], *rated()])
    frame = read([tmp_path]).frame
    assert set(frame["system"]) == {"gpt-4o", "claude"} and set(frame["rater"]) == set(PEOPLE)
    assert frame["subject"].n_unique() == 2 * ITEMS


def test_classes_that_people_judge_are_ratings_though_they_are_called_category(tmp_path: Path) -> None:
    words = ["self_harm", "violence", "none"]
    for r, name in enumerate(("H1", "H2")):
        table(
            tmp_path / f"{name}.csv",
            [["reply_id", "category"], *([f"c{i}", words[level(i, r) % 3]] for i in range(ITEMS))],
        )
    frame = read([tmp_path]).frame
    assert set(frame["criterion"]) == {"category"} and frame.height == 2 * ITEMS


@pytest.mark.parametrize(
    ("write", "separator"),
    [
        (lambda v: f"{v} - {WORDS[v - 1]}", ","),
        (lambda v: f"{v} ({WORDS[v - 1]})", ","),
        (lambda v: f"{WORDS[v - 1]} ({v})", ","),
        (lambda v: f"{v} (poor)" if v == 1 else str(v), ","),
        (lambda v: f"{v},0", ";"),
        (lambda v: f"{v}/5", ","),
        (lambda v: f"{v} %", ","),
        (lambda v: f"'{v}", ","),
    ],
)
def test_numbers_with_something_beside_them(write: Any, separator: str, tmp_path: Path) -> None:
    rows = [[c, p, write(a), write(b)] for c, p, a, b in rated()]
    path = table(tmp_path / "t.csv", [["Case", "Rater", "Empathy", "Safety"], *rows], separator)
    frame, account = read([path])
    assert set(frame.select("subject", "criterion", "rater", "value").iter_rows()) == expected()
    assert any("are read as" in note for note in account.notes)


def test_a_number_with_two_words_stays_as_it_is(tmp_path: Path) -> None:
    rows = [[c, p, f"{1 + a % 2} - {'low' if a < 3 else 'high'}"] for c, p, a, _ in rated()]
    values = read([table(tmp_path / "t.csv", [["Case", "Rater", "Empathy"], *rows])]).frame["value"]
    assert all(" - " in value for value in values)


def test_ticks_are_yes_and_what_is_not_ticked_is_no(tmp_path: Path) -> None:
    rows = [[c, p, "x" if a > 3 else "", a] for c, p, a, _ in rated()]
    frame, account = read([table(tmp_path / "t.csv", [["Case", "Rater", "harmful", "Empathy"], *rows])])
    own = frame.filter(pl.col("criterion") == "harmful")
    assert dict(own["value"].value_counts().iter_rows()) == {
        "yes": sum(r[2] == "x" for r in rows),
        "no": sum(r[2] == "" for r in rows),
    }
    assert any("only ticked" in note for note in account.notes)


def argilla_1(status: str) -> list[dict[str, Any]]:
    return [
        {
            "id": f"c{i}",
            **{c: [{"user_id": p, "value": level(i, r, k), "status": "submitted"} for r, p in enumerate(PEOPLE)]
               + [{"user_id": "D", "value": 1, "status": status}] for k, c in enumerate(("Empathy", "Safety"))},
        }
        for i in range(ITEMS)
    ]  # fmt: skip


def argilla_by_person() -> list[dict[str, Any]]:
    return [
        {"id": f"c{i}", "fields": {"text": "x"}, "responses": [
            {"user_id": p, "status": "submitted", "values": {c: {"value": level(i, r, k)} for k, c in enumerate(("Empathy", "Safety"))}}
            for r, p in enumerate(PEOPLE)
        ]}
        for i in range(ITEMS)
    ]  # fmt: skip


def argilla_2() -> list[dict[str, Any]]:
    return [
        {"id": f"c{i}", "status": "completed", "fields": {"text": "x"}, "responses": {
            c: [{"user_id": p, "value": level(i, r, k)} for r, p in enumerate(PEOPLE)] for k, c in enumerate(("Empathy", "Safety"))
        }}
        for i in range(ITEMS)
    ]  # fmt: skip


def label_studio() -> list[dict[str, Any]]:
    return [
        {"id": f"c{i}", "data": {"text": "x"}, "annotations": [
            {"id": 10 * i + r, "completed_by": {"email": p}, "was_cancelled": False, "result": [
                {"from_name": "Empathy", "type": "rating", "value": {"rating": level(i, r)}},
                {"from_name": "Safety", "type": "choices", "value": {"choices": [str(level(i, r, 1))]}},
            ]}
            for r, p in enumerate(PEOPLE)
        ]}
        for i in range(ITEMS)
    ]  # fmt: skip


def mlflow() -> list[dict[str, Any]]:
    return [
        {"trace_id": f"c{i}", "assessment_name": c, "source": {"source_type": "HUMAN", "source_id": p}, "feedback": {"value": level(i, r, k)}}
        for i in range(ITEMS) for r, p in enumerate(PEOPLE) for k, c in enumerate(("Empathy", "Safety"))
    ]  # fmt: skip


def phoenix() -> dict[str, Any]:
    data = [
        {"span_id": f"c{i}", "name": c, "annotator_kind": "HUMAN", "result": {"label": None, "score": level(i, r, k)}, "metadata": {"annotator": p}, "identifier": ""}
        for i in range(ITEMS) for r, p in enumerate(PEOPLE) for k, c in enumerate(("Empathy", "Safety"))
    ]  # fmt: skip
    return {"data": data, "next_cursor": None}


def langfuse() -> dict[str, Any]:
    data = [
        {"id": f"{i}{p}{c}", "traceId": f"c{i}", "name": c, "source": "ANNOTATION", "value": level(i, r, k), "dataType": "NUMERIC", "authorUserId": p, "trace": {"tags": []}}
        for i in range(ITEMS) for r, p in enumerate(PEOPLE) for k, c in enumerate(("Empathy", "Safety"))
    ]  # fmt: skip
    return {"data": data, "meta": {"page": 1}}


@pytest.mark.parametrize(
    "records",
    [
        argilla_1("draft"),
        argilla_1("discarded"),
        argilla_by_person(),
        argilla_2(),
        label_studio(),
        mlflow(),
        phoenix(),
        langfuse(),
    ],
    ids=[
        "argilla 1",
        "argilla 1, discarded",
        "argilla by person",
        "argilla 2",
        "label studio",
        "mlflow",
        "phoenix",
        "langfuse",
    ],
)
def test_exports_of_tools(records: Any, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    assert long_of(path) == expected()
    if isinstance(records, list):
        pl.DataFrame(records).write_parquet(tmp_path / "export.parquet")
        assert long_of(tmp_path / "export.parquet") == expected()


def test_prodigy_answers(tmp_path: Path) -> None:
    lines = [
        {"text": "x", "_input_hash": i, "_annotator_id": p, "answer": "ignore" if i == 0 else "accept", "accept": ["safe" if level(i, r) > 2 else "unsafe"], "options": [{"id": "safe"}]}
        for i in range(ITEMS) for r, p in enumerate(PEOPLE)
    ]  # fmt: skip
    path = tmp_path / "p.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    frame, account = read([path])
    assert set(frame["value"]) == {"safe", "unsafe"} and set(frame["rater"]) == set(PEOPLE)
    assert frame["subject"].n_unique() == ITEMS - 1 and any("3 answers" in line for line in account.left_out)


def test_gold_among_lists_is_no_person(tmp_path: Path) -> None:
    lines = [
        {"id": i, "q.responses": [1 + i % 2, 2, 1], "q.responses.users": ["H1", "gold", "gpt-4o"], "q.responses.status": ["submitted"] * 3}
        for i in range(ITEMS)
    ]  # fmt: skip
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    kinds: dict[str, str] = dict(read([path]).frame.select("rater", "rater_kind").unique().iter_rows())
    assert kinds == {"H1": "person", "gold": "gold", "gpt-4o": "model"}


def test_none_is_a_level_among_words_and_nothing_among_numbers(tmp_path: Path) -> None:
    words = ["none", "some", "high"]
    rows = [[c, p, words[a % 3], "None" if b == 5 else b] for c, p, a, b in rated()]
    path = table(tmp_path / "t.csv", [["Case", "Rater", "risk", "Safety"], *rows])
    frame = read([path]).frame
    assert set(frame.filter(pl.col("criterion") == "risk")["value"].drop_nulls()) == set(words)
    assert "None" not in frame["value"].drop_nulls()
    said = read([path], RatingLayout(levels="high,some,none", criteria="risk")).account
    assert said.missing == 0


def test_the_criterion_of_a_column_for_each_rater_is_said(tmp_path: Path) -> None:
    rows = [[f"c{i}", *(level(i, r) for r in range(2))] for i in range(ITEMS)]
    path = table(tmp_path / "t.csv", [["Case", "expert1", "gpt-4o"], *rows])
    assert long_of(path, RatingLayout(criteria="Empathy")) == expected(("Empathy",), ("expert1", "gpt-4o"))


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_a_long_table_that_was_written_is_read_back(ending: str, tmp_path: Path) -> None:
    from mindgauge import ratings

    idents = ["=1+1", "-x", "+3", "@a", "'q", 'é,"x"']
    rows = [[i, r, 1 + n % 5, n % 3] for r in ("=Anna", "Ben") for n, i in enumerate(idents)]
    first = ratings(
        table(tmp_path / "t.csv", [["id", "rater", "Empathy", "Safety"], *rows]), out=tmp_path / "new" / f"long{ending}"
    )
    second = ratings(tmp_path / "new" / f"long{ending}")
    assert second.table.drop("file", "row").equals(first.table.drop("file", "row"))


@pytest.mark.parametrize("name", ["{c} [Reply {i}]", "{c}[r{i}]", "Reply {i} [{c}]"])
def test_a_form_with_a_column_for_each_question_and_reply(name: str, tmp_path: Path) -> None:
    criteria = ("How empathic is it?", "Does it name the risk?")
    header = ["Timestamp", "Email Address", *(name.format(c=c, i=i) for c in criteria for i in range(1, 9))]
    rows = [
        [f"2026/01/0{r + 1}", f"{p}@example.org", *(level(i, r, k) for k in range(2) for i in range(1, 9))]
        for r, p in enumerate(PEOPLE)
    ]
    frame = read([table(tmp_path / "form.csv", [header, *rows])]).frame
    assert (frame["subject"].n_unique(), frame["rater"].n_unique(), set(frame["criterion"])) == (8, 3, set(criteria))
    ident = name.format(c="", i=3).strip("[] ")
    own = frame.filter(
        pl.col("subject") == ident, pl.col("rater") == "Ben@example.org", pl.col("criterion") == criteria[1]
    )
    assert own["value"].to_list() == [str(level(3, 1, 1))]


def test_what_is_said_of_nothing_is_refused(tmp_path: Path) -> None:
    from mindgauge import ratings

    path = table(tmp_path / "t.csv", [["id", "rater", "Empathy", "Safety"], *rated()])
    long_path = tmp_path / "out" / "long.csv"
    ratings(path, out=long_path)
    for source in (path, long_path):
        for layout in (RatingLayout(subject="nope"), RatingLayout(drop="nope"), RatingLayout(drop="Ana")):
            with pytest.raises(UsageError, match="is called so"):
                read([source], layout)
    assert read([path], RatingLayout(drop="Anna,Safety")).frame["rater"].n_unique() == 2


def test_the_files_that_are_read_are_not_written_over(tmp_path: Path) -> None:
    from mindgauge import ratings

    path = table(tmp_path / "t.csv", [["id", "rater", "Empathy", "Safety"], *rated()])
    before = path.read_bytes()
    for source in (path, tmp_path, [str(path)]):
        with pytest.raises(UsageError, match="among what is read"):
            ratings(source, out=path)
    assert path.read_bytes() == before


def test_numbers_among_which_some_do_not_apply_stay_as_they_are(tmp_path: Path) -> None:
    rows = [[c, p, "不适用" if a == 5 else a] for c, p, a, _ in rated()]
    frame, account = read([table(tmp_path / "t.csv", [["样本编号", "评分者", "共情"], *rows])])
    assert set(frame["value"].drop_nulls()) <= {"1", "2", "3", "4"} and account.not_applicable > 0


def test_an_audit_says_why_ratings_cannot_be_read(tmp_path: Path) -> None:
    from mindgauge import audit

    table(tmp_path / "expert1.csv", [["id", "Empathy"], *([i, level(i, 0)] for i in range(ITEMS))])
    table(tmp_path / "expert2.csv", [["id", "Empathy"], *([f"{i:03}", level(i, 1)] for i in range(ITEMS))])
    with pytest.raises(DataError, match="spelled in different ways by different raters"):
        audit(tmp_path)


def test_an_audit_reads_ratings_beside_a_table_of_all_of_them_whose_columns_come_twice(tmp_path: Path) -> None:
    from mindgauge import audit

    for rater in ("expert1", "expert2"):
        table(tmp_path / f"{rater}_ratings.csv", [["id", "empathy"], *([f"c{n}", 1 + n % 5] for n in range(20))])
    lines = [f"c{n % 10},a,{1 + n % 4},b,{1 + n % 3}" for n in range(20)]
    (tmp_path / "combined.csv").write_text("id,method,empathy,method,empathy\n" + "\n".join(lines), encoding="utf-8")
    assert audit(tmp_path).ratings == len(read([tmp_path]).frame) == 40


def test_an_audit_says_of_another_encoding_that_it_is_one(tmp_path: Path) -> None:
    from mindgauge import audit

    rows = "".join(f"c{n},{rater},{1 + n % 5}\n" for n in range(20) for rater in ("王芳", "李娜"))
    (tmp_path / "a.csv").write_bytes(f"编号,评分者,共情\n{rows}".encode("gb18030"))
    with pytest.raises(DataError, match=r"not UTF-8 at byte 0; .*encoding=.*gb18030"):
        audit(tmp_path / "a.csv")


def test_the_guess_is_shown_beside_what_is_computed_from_it_and_beside_a_refusal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mindgauge import reliability
    from mindgauge.cli import cards

    for criterion in ("empathy", "safety"):
        rows = [[f"c{n}", 1 + n % 5, 1 + n % 4] for n in range(20)]
        table(tmp_path / f"{criterion}.csv", [["id", "Ana", "Ben"], *rows])
    refusal = r"which raters are people\?.*one file for each rater.*say --rater columns.*--subject A,B"
    with pytest.raises(UsageError, match=refusal):
        reliability(tmp_path)
    layout = RatingLayout(rater="columns")
    cards.show(reliability(tmp_path, reference=["Ana", "Ben"], layout=layout, scale="1:5"), full=False)
    assert "a column for each rater" in capsys.readouterr().out
