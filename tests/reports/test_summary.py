"""The Markdown summary carries every caveat of the page: what limits a claim stands beside it there, too."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.reports.page import ReportFiles

REPORTS = ("rated_files", "crisis_files", "suite_files", "asked_files", "files")


def caveats(content: Any) -> Iterator[str]:
    """Yield, of the report's content, every sentence that limits what is claimed."""
    yield from content["people"]
    if content["first"]["table"]:
        yield content["first"]["table"]["note"]
    for answer in content["answers"]:
        yield from (*answer["withheld"], *answer["caveats"])
    yield from (*content["caveats"], *content["weak"]["withheld"], *content["wrong"]["facts"], *content["hidden"])
    trust = content["trust"]
    yield from trust["general"]
    for found in (*trust["agreement"], *trust["calibration"], *trust["entry"], *trust["escalated"]):
        yield found["measure"]
    for found in (*trust["juries"], *trust["escalated"]):
        yield from (*found["said"], *found.get("notes", []))
    for judge in trust["judges"]:
        for part in (judge, *judge["parts"]):
            yield from part["facts"]
            yield from (warning for card in part["cards"] for warning in card["warnings"])
    for task in content["tasks"]:
        yield task["not_shown"]
        yield from (text for said in task["told"] for text in (*said["facts"], *said["withheld"]))
    if content["paired"]:
        paired = content["paired"]
        yield from (*paired["withheld"], *paired["notes"], *paired["parts_said"])
        yield from (text for contrast in paired["contrasts"] for text in contrast["said"])
    if content["profile"]:
        yield from (*content["profile"]["said"], *content["profile"]["notes"], *content["profile"]["lacking"])
    yield from content["not_shown"]


def plain(text: str) -> str:
    """Return a text without what its place does to it: kinds of blanks and minus signs, its case."""
    return " ".join(text.replace("\N{NO-BREAK SPACE}", " ").replace("−", "-").split()).casefold()


def of_page(path: Path) -> str:
    """Return the words of a page."""
    text = re.sub(r"<(svg|style)\b.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return plain(html.unescape(re.sub(r"<[^>]+>", "", text)))


def lacks(files: ReportFiles) -> tuple[list[str], list[str]]:
    """Return the caveats that the page lacks, and those that the summary lacks."""
    content = json.loads(files.json.read_text(encoding="utf-8"))
    said = list(dict.fromkeys(text for text in caveats(content) if text))
    assert len(said) > 5
    page, summary = of_page(files.path), plain(files.markdown.read_text(encoding="utf-8").replace("\\", ""))
    missing = [[text for text in said if plain(text).rstrip(".?!") not in there] for there in (page, summary)]
    return missing[0], missing[1]


@pytest.mark.parametrize("name", REPORTS)
def test_every_caveat_of_the_page_stands_in_the_summary(name: str, request: pytest.FixtureRequest) -> None:
    missing_on_page, missing_in_summary = lacks(request.getfixturevalue(name))
    assert missing_on_page == []
    assert missing_in_summary == []


def test_also_where_people_rated_a_selection(selected_files: ReportFiles) -> None:
    assert lacks(selected_files) == ([], [])


def test_how_much_people_must_read_is_said_with_what_it_holds_for(help_or_harm_files: ReportFiles) -> None:
    """The share holds for replies that were chosen, of models that the fit has seen; of another model it is another one."""
    line = next(
        line for line in help_or_harm_files.markdown.read_text().splitlines() if line.startswith("- To find 95 %")
    )
    assert "28.9 % of all" in line
    assert "For a model of which people have rated nothing, 42.1 % would be read" in line
    assert "These replies were chosen for people (lowest\\_scores\\_n200)" in line
    assert lacks(help_or_harm_files) == ([], [])


def test_a_comparison_by_a_judge_that_may_not_be_trusted_says_so(help_or_harm_files: ReportFiles) -> None:
    content = json.loads(help_or_harm_files.json.read_text())
    doubt = "how far this judge can be trusted is not estimable"
    assert all(doubt in contrast["finding"] for contrast in content["paired"]["contrasts"])
    assert all(figure["finding"].endswith(f"; {doubt}") for figure in content["weak"]["figures"])
    claims = [fact for answer in content["answers"] for fact in answer["facts"] if fact.startswith("The judge ")]
    assert claims
    assert all(f"({doubt})" in claim for claim in claims)
