"""No regular expression of ours takes the square of its text: twice the text takes at most three times as long."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.attacks import growth
from tests.attacks.built_expressions import ANCHORED, BUILT
from tests.attacks.expressions import SOURCES, Expression, every, texts
from tests.attacks.growth import superlinear

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PACKAGE = "mindgauge."
FIFTH = 5
"""Of the expressions are tried by default; the long form tries all, with more texts."""


def expressions() -> Iterator[Expression]:
    """Yield those that modules hold, and those that their functions build."""
    yield from every()[0]
    for place, built in BUILT.items():
        for pattern in built():
            compiled = pattern if isinstance(pattern, re.Pattern) else re.compile(pattern.pattern, pattern._flags)
            yield Expression(place, compiled, place in ANCHORED, scanned=False)


def slow(found: Iterable[Expression], *, many: bool) -> list[str]:
    """Return which expressions take the square of a text, with the first such text of each."""
    told = (
        next((f"{each.place}: {each.pattern.pattern[:120]!r} on {how}" for text in texts(each.pattern, many=many) if (how := superlinear(each.read, *text))), "")
        for each in found
    )  # fmt: skip
    return [line for line in told if line]


def test_every_expression_that_a_function_builds_is_tried() -> None:
    unknown = {each.place.removeprefix(PACKAGE) for each in every()[1]}
    assert unknown == BUILT.keys()
    assert BUILT.keys() >= ANCHORED
    assert len(every()[0]) > 400


def test_no_expression_of_a_fifth_takes_the_square_of_its_text() -> None:
    assert not slow([*expressions()][::FIFTH], many=False)


@pytest.mark.long
def test_no_expression_takes_the_square_of_any_text() -> None:
    assert not slow(expressions(), many=True)


@pytest.mark.parametrize(
    ("pattern", "anchored"),
    [
        (r"\s+$", False),
        (r"\[[^\]]*\]", False),
        (r"^\s*(?:ask|say):", False),
        (r"\[[^\[\]\n]*\bended\b[^\[\]\n]*\]", True),
        (r"(.+?)\s*\((.+)\)", True),
        (r"(a|b|ab)*c", True),
        (r"'(?:[^'\\]|\\.)*'", False),
    ],
)
def test_an_expression_that_takes_the_square_is_found(
    pattern: str, *, anchored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "OVERDUE", 1.0)
    told = Expression("here:1", re.compile(pattern, re.MULTILINE), anchored, scanned=False)
    assert slow([told], many=False)


def test_names_of_files_have_a_length() -> None:
    from mindgauge.benchmarks.help_or_harm.released import parse_name

    name = "a-labeled-b-merged_labels.json"
    assert parse_name(name) == ("merged_labels", {"model": "a", "dataset": "b"})
    assert parse_name("a" * 255 + name) is None


def test_a_translated_page_keeps_every_character_of_its_scripts() -> None:
    from mindgauge.reports.language.spoken import _TOKEN

    scripts = [path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.js")]
    assert len(scripts) > 10
    for page in (
        *scripts,
        "<script>if (a < b) { c = '<b>'; }</script><p>x",
        '<p title="a > b">x<br',
        "x<!-- y",
        '<a "',
    ):
        assert "".join(match[0] for match in _TOKEN.finditer(page)) == page


def test_the_note_that_a_conversation_ended_is_read_as_before() -> None:
    from mindgauge.records.transcripts.labelled import _ENDED

    for note in (
        "[Conversation ended]",
        "[The user ended the chat]",
        "[end of transcript]",
        "[10:22 Chat ended by bot]",
    ):
        assert _ENDED.fullmatch(note)
    for text in ("[Conversation ended", "[nothing] ended]", "[it bended]", "Conversation ended]", "[weekend of chat]"):
        assert not _ENDED.fullmatch(text)
