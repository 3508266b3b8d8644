"""Files that people bring: columns, labels, splits, and what is said of a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from mindgauge.raters.classifiers import labelled
from mindgauge.records import Message, Sample
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.rubric import Criterion, Level, Scale

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CRITERION = Criterion(
    "risk", Scale.NOMINAL, (Level("self-harm", {"en": "x"}, ("selfharm", "自伤")), Level("no_crisis", {"en": "y"}))
)


def read(*rows: dict[str, Any], **columns: str) -> list[Sample]:
    return list(labelled.samples(labelled.rows(pl.DataFrame(list(rows)), columns), CRITERION))


def test_a_csv_holds_texts_replies_and_whole_dialogues(tmp_path: Path) -> None:
    path = tmp_path / "logs.csv"
    path.write_text(
        "text,messages,reply,label,cluster,split,language\n"
        "I am fine,,,no_crisis,,train,en\n"
        '我又想了,"[{""role"": ""user"", ""content"": ""早""}]",我在听,自伤,7,val,zh\n'
        ",,Take care,NO_CRISIS,,,\n",
        encoding="utf-8",
    )
    first, second, third = labelled.samples(labelled.rows(path, {}), CRITERION)
    assert first.messages == (Message("user", "I am fine"),)
    assert second.messages == (Message("user", "早"), Message("assistant", "我在听"))
    assert third.messages == (Message("assistant", "Take care"),)
    assert [s.target for s in (first, second, third)] == ["no_crisis", "self-harm", "no_crisis"]
    assert second.tags == {"language": "zh", "split": "dev"} and second.cluster == "7"
    assert third.cluster == third.id


def test_columns_may_have_other_names() -> None:
    [found] = read({"Frage": "hm", "Urteil": "selfharm"}, user="Frage", label="Urteil")
    assert found.messages == (Message("user", "hm"),) and found.target == "self-harm"
    with pytest.raises(UsageError, match="'mood' is not one of Mindgauge's columns"):
        read({"x": "y"}, mood="x")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {"text": "a", "label": "selfharn"},
            r"the table:1: the label 'selfharn' is not in the rubric: did you mean 'self-harm'\?",
        ),
        ({"text": "a", "label": "7"}, "the label '7' is not in the rubric: known are self-harm, no_crisis"),
        ({"text": "a", "label": " "}, "the table:1: no label"),
        ({"text": "  ", "label": "no_crisis"}, "the table:1: an empty dialogue"),
        ({"user": "a", "reply": " ", "label": "no_crisis"}, "the table:1: an empty reply"),
        ({"user": "a", "reply": 7, "label": "no_crisis"}, "reply must be text, found int"),
        ({"text": "a", "label": "no_crisis", "split": "later"}, "split must be train, dev or test, found 'later'"),
        (
            {"sentence": "a", "class": "b"},
            "expected `label` and `text`.*found class, sentence; other names go with --map",
        ),
        ({"text": "a", "class": "b"}, "expected `label`"),
    ],
)
def test_faults_name_the_row(row: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        read(row)


def test_a_files_own_labels_make_a_rubric(write: Callable[..., Path]) -> None:
    path = write([{"text": "a", "label": "yes"}, {"text": "b", "label": "no"}, {"text": "c", "label": 3}])
    rubric = labelled.rubric_of(labelled.rows(path, {}), "logs")
    assert rubric.name == "logs@1" and rubric.criteria[0].values == ("3", "no", "yes")
    with pytest.raises(DataError, match="needs at least two labels, found yes"):
        labelled.rubric_of(labelled.rows(write([{"text": "a", "label": "yes"}]), {}), "logs")


def test_labels_may_be_numbers_and_differ_in_case(write: Callable[..., Path]) -> None:
    rows = labelled.rows(
        write([{"text": t, "label": v} for t, v in (("a", 1), ("b", 2.0), ("c", True), ("d", "true"))]), {}
    )
    rubric = labelled.rubric_of(rows, "logs")
    assert rubric.criteria[0].values == ("1", "2", "True")
    assert [s.target for s in labelled.samples(rows, rubric.criteria[0])] == ["1", "2", "True", "True"]
    levels = Criterion("empathy", Scale.ORDINAL, tuple(Level(i, {"en": "x"}) for i in (1, 2, 3)))
    assert [labelled.label(value, levels, "here") for value in (1, "2", 3.0)] == [1, 2, 3]
    with pytest.raises(DataError, match=r"here: the label '2\.5' is not in the rubric"):
        labelled.label(2.5, levels, "here")


def test_a_csv_from_a_spreadsheet_and_in_chinese_is_read(tmp_path: Path) -> None:
    path = tmp_path / "标注.csv"
    path.write_bytes('label,text\r\n自伤,我又想了\r\nno_crisis,"今天\n很好"\r\n'.encode("utf-8-sig"))
    found = list(labelled.samples(labelled.rows(path, {}), CRITERION))
    assert [(s.messages[0].content, s.target) for s in found] == [
        ("我又想了", "self-harm"),
        ("今天\n很好", "no_crisis"),
    ]
