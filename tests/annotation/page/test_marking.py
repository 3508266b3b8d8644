"""Words marked as evidence: kept as quotes, with whether and where they stand in the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mindgauge.annotation.records import Item
from mindgauge.records import Message
from tests.annotation.conftest import begin
from tests.annotation.page.labelling import Seat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.annotation.project import Annotation
    from mindgauge.records import Evidence

ITEM = Item(
    "i1",
    (
        Message("user", "I cannot sleep.\nEverything | is grey."),
        Message("assistant", "Since when?"),
        Message("user", "自从那天以后。"),
    ),
    "Everybody has grey days. 别多想。",
    {"language": "en"},
    batch=1,
)


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Annotation]:
    with begin(tmp_path / "p", items=(ITEM,)) as opened:
        yield opened


def marked(project: Annotation, **fields: object) -> list[tuple[str, str, bool]]:
    Seat(project, "ana").post("/item/decide", answer="Nonsense", **fields)
    [label] = project.labels()
    return [(mark.quote, mark.source, mark.found) for mark in _evidence(label.evidence)]


def _evidence(marks: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    return marks


def test_words_stand_where_they_were_marked(one: Annotation) -> None:
    found = marked(
        one,
        evidence=[
            "reply|grey days",
            "dialogue|I cannot sleep. Everything",
            "dialogue|那天",
            "dialogue|Everything | is",
        ],
    )
    assert found == [
        ("grey days", "reply", True),
        ("I cannot sleep. Everything", "dialogue", True),
        ("那天", "dialogue", True),
        ("Everything | is", "dialogue", True),
    ]


def test_words_that_stand_nowhere_are_kept_and_said_not_to(one: Annotation) -> None:
    assert marked(one, evidence=["reply|blue days", "dialogue|grey days"]) == [
        ("blue days", "", False),
        ("grey days", "", False),
    ]


def test_the_same_words_count_once_and_empty_ones_not_at_all(one: Annotation) -> None:
    assert marked(one, evidence=["reply|grey", "reply|grey", "reply|", "", "reply| "]) == [("grey", "reply", True)]


def test_without_a_script_quotes_are_written_a_line_each(one: Annotation) -> None:
    found = marked(one, quotes="别多想\r\n\r\nSince when?\r\nnever said", evidence=["reply|grey"])
    assert found == [("别多想", "reply", True), ("Since when?", "dialogue", True), ("never said", "", False)]


def test_marks_come_back_with_the_page(one: Annotation) -> None:
    ana = Seat(one, "ana")
    ana.post("/item/decide", answer="no", evidence=['reply|"><b>', "dialogue|那天"])
    assert ana.form("/item/decide")["evidence"] == ['reply|"><b>', "dialogue|那天"]


def test_there_is_an_end_to_it(one: Annotation) -> None:
    found = marked(one, evidence=[f"reply|{n}" for n in range(80)], note="n" * 20_000)
    assert len(found) == 50
    assert len(one.labels()[0].note) == 10_000
