"""How a dialogue is read, and files that people bring: columns, labels, splits, and what is said of a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from mindgauge.raters.classifiers import dialogues
from mindgauge.records import Message, Reply, Role, Sample, Status
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.rubric import Criterion, Level, Scale

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CRITERION = Criterion(
    "risk", Scale.NOMINAL, (Level("self-harm", {"en": "x"}, ("selfharm", "自伤")), Level("no_crisis", {"en": "y"}))
)


def read(*rows: dict[str, Any], **columns: str) -> list[Sample]:
    return list(dialogues.samples(dialogues.rows(pl.DataFrame(list(rows)), columns), CRITERION))


def test_a_csv_holds_texts_replies_and_whole_dialogues(tmp_path: Path) -> None:
    path = tmp_path / "logs.csv"
    path.write_text(
        "text,messages,reply,label,cluster,split,language\n"
        "I am fine,,,no_crisis,,train,en\n"
        '我又想了,"[{""role"": ""user"", ""content"": ""早""}]",我在听,自伤,7,val,zh\n'
        ",,Take care,NO_CRISIS,,,\n",
        encoding="utf-8",
    )
    first, second, third = dialogues.samples(dialogues.rows(path, {}), CRITERION)
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
    rubric = dialogues.rubric_of(dialogues.rows(path, {}), "logs")
    assert rubric.name == "logs@1" and rubric.criteria[0].values == ("3", "no", "yes")
    with pytest.raises(DataError, match="needs at least two labels, found yes"):
        dialogues.rubric_of(dialogues.rows(write([{"text": "a", "label": "yes"}]), {}), "logs")


def test_labels_may_be_numbers_and_differ_in_case(write: Callable[..., Path]) -> None:
    rows = dialogues.rows(
        write([{"text": t, "label": v} for t, v in (("a", 1), ("b", 2.0), ("c", True), ("d", "true"))]), {}
    )
    rubric = dialogues.rubric_of(rows, "logs")
    assert rubric.criteria[0].values == ("1", "2", "True")
    assert [s.target for s in dialogues.samples(rows, rubric.criteria[0])] == ["1", "2", "True", "True"]
    levels = Criterion("empathy", Scale.ORDINAL, tuple(Level(i, {"en": "x"}) for i in (1, 2, 3)))
    assert [dialogues.label(value, levels, "here") for value in (1, "2", 3.0)] == [1, 2, 3]
    with pytest.raises(DataError, match=r"here: the label '2\.5' is not in the rubric"):
        dialogues.label(2.5, levels, "here")


def test_a_csv_from_a_spreadsheet_and_in_chinese_is_read(tmp_path: Path) -> None:
    path = tmp_path / "标注.csv"
    path.write_bytes('label,text\r\n自伤,我又想了\r\nno_crisis,"今天\n很好"\r\n'.encode("utf-8-sig"))
    found = list(dialogues.samples(dialogues.rows(path, {}), CRITERION))
    assert [(s.messages[0].content, s.target) for s in found] == [
        ("我又想了", "self-harm"),
        ("今天\n很好", "no_crisis"),
    ]


def turns(*roles: Role) -> dialogues.Dialogue:
    return tuple(Message(role, f"turn {i}") for i, role in enumerate(roles))


def test_what_is_read_is_what_dialogues_end_with() -> None:
    reply, message = (Sample.of(turns(*roles)) for roles in (("user", "assistant"), ("assistant", "user")))
    blank = Sample.of((*turns("user", "assistant"), Message("user", " ")))
    assert dialogues.reads([reply, reply, blank]) == "reply"
    assert dialogues.reads([message]) == "message"
    with pytest.raises(DataError, match="2 dialogues end with a reply and 1 with the person's message"):
        dialogues.reads([reply, message, reply])


def test_earlier_turns_carry_their_tags() -> None:
    assert (
        dialogues.earlier(turns("system", "user", "assistant", "user"))
        == "[system]turn 0[seeker]turn 1[supporter]turn 2"
    )
    assert not dialogues.earlier(turns("user"))
    typed = (Message("user", "so [supporter] you [x]"), Message("user", "hm"))
    assert dialogues.earlier(typed) == "[seeker]so (supporter) you [x]"


def test_blank_turns_say_nothing_and_blank_dialogues_are_refused() -> None:
    blank = Message("assistant", " \n")
    assert dialogues.dialogue(Sample.of((Message("user", "hi"), blank))) == (Message("user", "hi"),)
    with pytest.raises(DataError, match="an empty dialogue"):
        dialogues.dialogue(Sample.of((blank,)))


def test_a_reply_becomes_the_last_message() -> None:
    sample = Sample.of((Message("user", "I am tired"),), target="x", cluster="talk")
    found = dialogues.with_reply(sample, Reply.of(sample.id, "model", 0, Status.OK, "Since when?"))
    assert found.messages == (*sample.messages, Message("assistant", "Since when?"))
    assert (found.id, found.cluster) == (sample.id, "talk")


def test_keys_ignore_width_case_and_blanks() -> None:
    assert dialogues.key([Message("user", "Ｈello  World")]) == dialogues.key([Message("user", "hello world ")])
    assert dialogues.key([Message("user", "a")]) != dialogues.key([Message("assistant", "a")])
