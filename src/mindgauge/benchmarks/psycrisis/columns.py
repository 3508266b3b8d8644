"""A user's table: which column holds what, as the user says it, and how one cell is read; what is not plainly a value is none.

A column is named by its header, by its position (`#1`), or, where no header is so called, by its letter in a spreadsheet.
Nothing is guessed.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.raters import verdict
from mindgauge.raters.echo import PromptText
from mindgauge.records import RaterKind, Rating, Reply, Status
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files.mapping import FILE, LAYOUT, place
from mindgauge.records.rubric import Rubric, shipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mindgauge.records.files.input_table import InputTable
    from mindgauge.records.rubric import Criterion


FIELDS = ("user", "reply", "category", "model", "rater", "id", "source", "language")
LABEL, JUDGE, TOTAL, RATER = "label", "judge", "total", "rater"
PEOPLE = "people"
"""Who labelled where no name is given."""
_USE = f"{', '.join(FIELDS)}, label.RATER.CRITERION, judge.NAME.CRITERION, judge.NAME (its raw answer), {', '.join(LAYOUT)} (`header` is its row, 0 for none)"


class Labels(NamedTuple):
    """A column with one rater's values on one criterion; `total` stands for the sum of the five dimensions."""

    rater: str
    kind: RaterKind
    criterion: str
    column: int


class Columns(NamedTuple):
    """Positions (from 0) of the fields, of everybody's values, and of judges' raw answers; `note` says it in words."""

    fields: dict[str, int]
    labels: list[Labels]
    answers: dict[str, int]
    note: str


def resolve(mapped: Mapping[str, str], sheet: InputTable, rubric: Rubric) -> Columns:
    """Find the columns that a mapping names.

    Raises:
        DataError: there is no mapping, or it does not fit the table; the message names the columns found.
        UsageError: it maps something that is not known.
    """
    if not mapped.keys() - {*LAYOUT}:
        raise DataError(
            f"{sheet}: say which column is which with --map user=COLUMN,reply=COLUMN,…, or in {FILE} beside it "
            f'(user = "COLUMN"); the columns are {sheet.columns}'
        )
    names = {
        name.casefold(): criterion.name
        for criterion in rubric.criteria
        for name in (criterion.name, *criterion.aliases)
    } | {TOTAL: TOTAL, "总分": TOTAL}
    places = {key: place(key, column, sheet.headers, sheet) for key, column in mapped.items() if key not in LAYOUT}
    if "user" not in places:
        raise DataError(f"{sheet}: no column is mapped to user, the person's message; the columns are {sheet.columns}")
    fields = {key: position for key, position in places.items() if key in FIELDS}
    labels, answers = [], {}
    for key, position in places.items():
        if key in FIELDS:
            continue
        kind, *rest = key.split(".")
        criterion = names.get(rest[-1].casefold()) if rest else None
        if kind == LABEL and criterion is not None:
            labels.append(Labels(".".join(rest[:-1]) or PEOPLE, RaterKind.PERSON, criterion, position))
        elif kind == JUDGE and criterion is not None and len(rest) > 1:
            labels.append(Labels(".".join(rest[:-1]), RaterKind.MODEL, criterion, position))
        elif kind == JUDGE and rest and criterion is None:
            answers[".".join(rest)] = position
        else:
            raise UsageError(
                f"--map {key}: not known here; map {_USE}; criteria are {', '.join(dict.fromkeys(names.values()))}"
            )
    _check(fields, labels, answers, sheet)
    sources = ", ".join(
        f"{key} from column {position + 1} ({sheet.headers[position][:40]!r})" for key, position in places.items()
    )
    delimiter = "" if sheet.separator == "," else f", cells separated by {sheet.separator!r}"
    return Columns(fields, labels, answers, f"{PurePath(sheet.name).name}: read {sources}{delimiter}")


def _check(fields: dict[str, int], labels: list[Labels], answers: dict[str, int], sheet: InputTable) -> None:
    """Refuse values without a reply that they are about, and two columns for one rater's values."""
    if (labels or answers) and "reply" not in fields:
        raise DataError(
            f"{sheet}: labels rate replies, but no column is mapped to reply; the columns are {sheet.columns}"
        )
    named = next((label.rater for label in labels if label.kind is RaterKind.PERSON and label.rater != PEOPLE), None)
    if RATER in fields and named is not None:
        raise UsageError(
            f"--map {LABEL}.{named}.…: a column is mapped to {RATER}, so write {LABEL}.CRITERION without a name"
        )
    raters = {(label.rater, label.criterion) for label in labels}
    if len(raters) < len(labels):
        raise UsageError("--map: two columns are mapped to one rater's values on one criterion")
    kinds = {(label.rater, label.kind) for label in labels} | {(judge, RaterKind.MODEL) for judge in answers}
    both = {rater for rater, kind in kinds if kind is RaterKind.PERSON} & {
        r for r, kind in kinds if kind is RaterKind.MODEL
    }
    twice = {label.rater for label in labels if label.kind is RaterKind.MODEL} & answers.keys()
    if both or twice:
        raise UsageError(f"--map: {min(both | twice)} is mapped in two ways; give each rater one name")


# Reading one cell of a user's table: a category, a level, a judge's raw answer. What is not plainly one is none.


RUBRIC = shipped(Path(__file__).parent / "rubric.toml")
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
