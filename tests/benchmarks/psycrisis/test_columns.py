"""A mapping is explicit: what it names is found, or one line says which columns there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mindgauge.benchmarks.psycrisis import released
from mindgauge.benchmarks.psycrisis.released import RUBRIC, load, load_mapped
from mindgauge.records import RaterKind
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import tables

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HEADERS = ("来访者", "Reply text", "B", "标注:共情")
ROWS = [("我很难受", "我在听", "自杀", "1"), ("I feel empty", "Tell me more", "nssi", "0")]


def resolved(path: Path, **said: str) -> released.Columns:
    return released.resolve(
        {key.replace("__", "."): value for key, value in said.items()}, tables.open_table(path), RUBRIC
    )


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx", "t.jsonl", "t.parquet"])
def test_a_column_is_named_by_header_position_or_letter(write: Callable[..., Path], name: str) -> None:
    path = write(HEADERS, ROWS, name)
    found = resolved(path, user="来访者", reply="#2", category="C", label__H1__共情="标注:共情")
    assert found.fields == {"user": 0, "reply": 1, "category": 2}
    assert found.labels == [released.Labels("H1", RaterKind.PERSON, "empathy", 3)]
    assert resolved(path, user="reply TEXT").fields == {"user": 1}
    assert resolved(path, user="A", reply="B").fields == {"user": 0, "reply": 2}, "a header goes before a letter"
    assert found.note == (
        f"{name}: read user from column 1 ('来访者'), reply from column 2 ('Reply text'), category from column 3 ('B'), "
        "label.H1.共情 from column 4 ('标注:共情')"
    )


def test_nothing_is_guessed(write: Callable[..., Path]) -> None:
    path = write(("user", "reply"), ROWS and [("I feel low", "I hear you")])
    with pytest.raises(DataError, match=r"--map user=COLUMN,reply=COLUMN.*the columns are 1 'user', 2 'reply'$"):
        load(path)
    with pytest.raises(DataError, match="no column is mapped to user, the person's message; the columns are 1 'user'"):
        load_mapped(path, {"reply": "reply"})


@pytest.mark.parametrize("column", ["#0", "#9", "message", "AZ", "a", "", "#-1", "1"])
def test_a_column_that_is_not_there_names_those_that_are(write: Callable[..., Path], column: str) -> None:
    path = write(HEADERS, ROWS)
    with pytest.raises(DataError) as caught:
        load_mapped(path, {"user": column})
    assert f"no column {column!r} for user; the columns are 1 '来访者', 2 'Reply text'" in str(caught.value)


def test_raters_and_judges_are_told_apart_by_their_keys(write: Callable[..., Path]) -> None:
    path = write(tuple("abcdefg"), [("u", "r", "1", "0", "3", "{}", "1")])
    found = resolved(
        path, user="a", reply="b", label__empathy="c", label__Dr__Li__referral="d", label__total="e", judge__gpt_4__1="f",
        judge__m__外部支持与干预="g",
    )  # fmt: skip
    assert [(label.rater, label.kind, label.criterion) for label in found.labels] == [
        ("people", RaterKind.PERSON, "empathy"), ("Dr.Li", RaterKind.PERSON, "referral"), ("people", RaterKind.PERSON, "total"),
        ("m", RaterKind.MODEL, "referral"),
    ]  # fmt: skip
    assert found.answers == {"gpt_4.1": 5}


@pytest.mark.parametrize(
    ("mapping", "fault"),
    [
        ({"label.H1.kindness": "c"}, "label.H1.kindness: not known here; map user, reply"),
        ({"answer": "c"}, "answer: not known here"),
        ({"label": "c"}, "label: not known here"),
        ({"judge.empathy": "c"}, "judge.empathy: not known here"),
        ({"label.H1.empathy": "c", "label.H1.共情": "d"}, "two columns are mapped to one rater's values"),
        ({"label.X.empathy": "c", "judge.X": "d"}, "X is mapped in two ways"),
        ({"judge.X.empathy": "c", "judge.X": "d"}, "X is mapped in two ways"),
    ],
)
def test_a_key_that_means_nothing_is_refused(write: Callable[..., Path], mapping: dict[str, str], fault: str) -> None:
    path = write(tuple("abcd"), [("u", "r", "1", "1")])
    with pytest.raises(UsageError, match=fault):
        load_mapped(path, {"user": "a", "reply": "b", **mapping})


def test_labels_need_a_reply(write: Callable[..., Path]) -> None:
    path = write(("u", "x"), [("I feel low", "1")])
    with pytest.raises(DataError, match="no column is mapped to reply; the columns are 1 'u', 2 'x'"):
        load_mapped(path, {"user": "u", "label.empathy": "x"})


def test_the_mapping_may_lie_beside_the_file(write: Callable[..., Path], tmp_path: Path) -> None:
    write(HEADERS, ROWS)
    (tmp_path / "columns.toml").write_text(
        'user = "#1"\nreply = "#2"\nlabel.H1.empathy = "#4"\n[judge]\n"m.1" = "#3"\n'
    )
    found = load(tmp_path)
    assert [s.messages[0].content for s in found.samples] == ["我很难受", "I feel empty"]
    assert {(r.rater, r.rater_kind) for r in found.ratings} == {("H1", RaterKind.PERSON), ("m.1", RaterKind.MODEL)}


@pytest.mark.parametrize(
    ("text", "fault"), [("user = 1", 'user must name a column as text, for example "#1"'), ("user", "cannot read")]
)
def test_a_bad_mapping_file_is_one_line(write: Callable[..., Path], tmp_path: Path, text: str, fault: str) -> None:
    path = write(HEADERS, ROWS)
    (tmp_path / "columns.toml").write_text(text)
    with pytest.raises(DataError, match=fault):
        load(path)


def test_two_headers_of_one_name_need_positions(write: Callable[..., Path]) -> None:
    path = write(("text", "Text"), [("I feel low", "I hear you")])
    with pytest.raises(DataError, match=r"several columns are called 'text'; name user by its position"):
        load_mapped(path, {"user": "text"})
    assert load_mapped(path, {"user": "#1", "reply": "#2"}).replies[0].text == "I hear you"
