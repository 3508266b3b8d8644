"""The card as files beside the report: a page for people, JSON for machines, Markdown for a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.records.english import ended
from mindgauge.records.rounding import NONE
from mindgauge.records.text import code
from mindgauge.records.text import text as plain
from mindgauge.reports import content, render
from mindgauge.reports.evaluation_card.scope import HASHES
from mindgauge.reports.sections import STATEMENT_HEADS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.reports.content import ReportTable
    from mindgauge.reports.evaluation_card.records import CardEntry, EvaluationCard

MARK = "<!-- a Mindgauge evaluation card -->"
"""How its page and its Markdown end: only such files are replaced."""
STATES = {"valid": "Valid until", "expired": "Expired", "undated": "Without an expiry date"}


def place(page: Path) -> Path:
    """Return where the card of a report stands: beside its page."""
    return page.with_name("card.html" if page.stem == "report" else f"{page.stem}_card.html")


def contents(card: EvaluationCard, path: Path) -> dict[Path, str]:
    """Return each file's content."""
    return {
        path: _page(card, path.with_suffix(".json").name),
        path.with_suffix(".json"): msgspec.json.format(msgspec.json.encode(card), indent=1).decode(),
        path.with_suffix(".md"): _markdown(card),
    }


def validity_line(card: EvaluationCard) -> str:
    """Say in one line whether the card holds."""
    holds = card.validity
    day = "" if not holds.expires else f" {holds.expires}" if holds.state == "valid" else f" on {holds.expires}"
    return f"{STATES[holds.state]}{day}"


def _page(card: EvaluationCard, json_name: str) -> str:
    from markupsafe import Markup

    style = Markup((render.TEMPLATES / "style.css").read_text(encoding="utf-8"))  # noqa: S704 - ours
    own_style = Markup((render.TEMPLATES / "card.css").read_text(encoding="utf-8"))  # noqa: S704 - ours
    html = render.environment().get_template("card.html.j2").render(
        c=card, heads=STATEMENT_HEADS, holds=validity_line(card), style=style, own_style=own_style, json_name=json_name
    )  # fmt: skip
    return f"{html.rstrip()}\n{MARK}\n"


def _markdown(card: EvaluationCard) -> str:
    owner = f" Owner: {plain(ended(card.owner))}" if card.owner else ""
    parts = [
        [f"# Evaluation card: {plain(card.title)}"],
        [f"{plain(ended(card.subtitle))} **{plain(validity_line(card))}.**{owner}"],
        *(
            [f"**{STATEMENT_HEADS[number]}.** {plain(text)}"]
            for number, text in enumerate(card.findings)
            if number < len(STATEMENT_HEADS)
        ),
        *(part for entry in card.entries for part in _entry(entry)),
        [f"[The report]({card.report}). {card.software}, {card.made[:10]}."],
        [MARK],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _entry(entry: CardEntry) -> Iterator[list[str]]:
    yield [f"## {entry.title}"]
    yield [
        *(f"- {plain(text)} (stated by the owner)" for text in entry.stated),
        *(f"- {plain(text)}" for text in entry.computed),
        *(f"- **Open:** {plain(text)}" for text in entry.open),
    ]
    for cases in entry.cases:
        yield [plain(cases.title), "", *(f"- [{plain(link.text)}]({link.report})" for link in cases.links)]
    for sheet in entry.tables:
        yield _table(sheet)


def _table(sheet: ReportTable) -> list[str]:
    shown = content.of_page(sheet, render.MOST_ROWS)
    columns = [column.name for column in shown.columns]
    hashes = sheet.name == HASHES
    rows = [[code(cell) if hashes and cell != NONE else plain(cell) for cell in row] for row in shown.rows]
    same = [f"In every row: {'; '.join(f'{name} {plain(value)}' for name, value in shown.same)}."] if shown.same else []
    return [f"| {' | '.join(line)} |" for line in (columns, ["---"] * len(columns), *rows)] + (
        ["", *same] if same else []
    )
