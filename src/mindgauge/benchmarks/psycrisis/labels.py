"""Reading one cell of a user's table: a category, a level, a judge's raw answer. What is not plainly one is none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge.raters import verdict
from mindgauge.raters.echo import PromptText
from mindgauge.records import RaterKind, Rating, Reply, Status
from mindgauge.records.rubric import Rubric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.records.rubric import Criterion

RUBRIC = Rubric.load(Path(__file__).parent / "rubric.toml")
DIMENSIONS = ("empathy", "regulation", "exploration", "risk_assessment", "referral")
_CATEGORIES = {
    "suicide": ("suicide", "suicidal", "suicidal ideation", "自杀", "自杀意念", "自杀倾向", "自杀风险"),
    "nssi": ("nssi", "self harm", "selfharm", "non suicidal self injury", "自伤", "自残", "非自杀性自伤", "非自杀性自伤行为"),
    "existential_distress": (
        "existential distress", "existential", "existential crisis", "存在性痛苦", "存在主义痛苦", "存在性困扰", "存在痛苦", "存在危机",
        "存在性危机", "存在主义危机",
    ),
}  # fmt: skip
_NAMES = {name: category for category, names in _CATEGORIES.items() for name in names}
_BETWEEN = re.compile(r"[/、,，;；|()（）]+")
_INAPPLICABLE = {"not_applicable", "not applicable", "n/a", "na", "不适用"}
_SPELLED = {"有": "yes", "无": "no", "没有": "no", "y": "yes", "n": "no"}
_WIDE = {0xFF10 + digit: str(digit) for digit in range(10)}
_POINTS = re.compile(r"(\d+)(?:\.0+)?\s*分?")


def category(cell: str) -> str:
    """Return the paper's category that a cell names, perhaps twice (`自伤/NSSI`); another one as it stands."""
    parts = {re.sub(r"[\s_-]+", " ", part.strip().casefold()) for part in _BETWEEN.split(cell)} - {""}
    names = {_NAMES.get(part) for part in parts}
    named = names.pop() if len(names) == 1 else None
    return named or cell.strip()


def level(criterion: Criterion, cell: str | None) -> tuple[str | None, Status]:
    """Read a cell as a level; whatever else stands there is no value."""
    if cell is None:
        return None, Status.UNPARSABLE
    plain = cell.translate(_WIDE).strip().casefold()
    if criterion.not_applicable and plain in _INAPPLICABLE:
        return None, Status.NOT_APPLICABLE
    points = _POINTS.fullmatch(plain)
    value = criterion.read(points[1] if points else _SPELLED.get(plain, plain))
    return (None, Status.UNPARSABLE) if value is None else (str(value), Status.OK)


def answer(judge: str, text: str, reply: Reply, origin: dict[str, Any]) -> Iterator[Rating]:
    """Read a judge's raw answer on the five dimensions; a total that it states is held against ours."""
    five = [criterion for criterion in RUBRIC.criteria if criterion.name in DIMENSIONS]
    verdicts = verdict.read(text, five, PromptText(reply.text))
    values = [verdicts[c.name].value for c in five]
    stated = verdict.stated_total(text)
    total = {"stated_total": stated} if stated not in {None, values.count("yes")} else {}
    for criterion in five:
        judged = verdicts[criterion.name]
        usable = reply.status is Status.OK
        yield Rating(
            reply.id, criterion.name, judge, RaterKind.MODEL, 0, judged.status if usable else Status.UNPARSABLE,
            judged.value if usable else None, judged.rationale,
            provenance={**origin, **total, **({"problem": judged.problem} if judged.problem else {})},
        )  # fmt: skip
