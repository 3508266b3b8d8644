"""A user's copy of the released set, or any table of messages and replies, as records: by an explicit mapping of columns.

The released files are not ours to pass on, and their columns are not published. The first column is the person's
message and the second the reply in what the authors' code reads (`user=#1,reply=#2`).
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge.benchmark import Released
from mindgauge.benchmarks.psycrisis import columns, sheet
from mindgauge.errors import DataError
from mindgauge.raters import verdict
from mindgauge.records import Message, RaterKind, Rating, Reply, Sample, Status
from mindgauge.rubric import Rubric

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mindgauge.benchmarks.psycrisis.columns import Columns
    from mindgauge.benchmarks.psycrisis.sheet import Sheet
    from mindgauge.rubric import Criterion

RUBRIC = Rubric.load(Path(__file__).parent / "rubric.toml")
DIMENSIONS = ("empathy", "regulation", "exploration", "risk_assessment", "referral")
PUBLISHED = {"suicide": 289, "nssi": 115, "existential_distress": 204}
"""How many messages of each category the paper counts."""
UNNAMED = "unnamed"
"""The model that wrote a reply, where no column says it."""
_CATEGORIES = {
    "suicide": ("suicide", "suicidal", "suicidal ideation", "自杀", "自杀意念"),
    "nssi": ("nssi", "self harm", "selfharm", "non suicidal self injury", "自伤", "自残", "非自杀性自伤"),
    "existential_distress": (
        "existential distress", "existential", "存在性痛苦", "存在主义痛苦", "存在性困扰", "存在痛苦", "存在危机",
    ),
}  # fmt: skip
_NAMES = {name: category for category, names in _CATEGORIES.items() for name in names}
_INAPPLICABLE = {"not_applicable", "not applicable", "n/a", "na", "不适用"}
_HAN = re.compile("[\u3400-\u9fff]")
_STATED = re.compile(r"['\"“]?(?:总分|total)['\"”]?\s*[:：]\s*['\"]?(\d{1,2})\b", re.IGNORECASE)
_FIRST = 8


def read(data: Path) -> list[Sample]:
    """Read the messages of a table, by the mapping that lies beside it.

    Raises:
        DataError: there is no mapping, it does not fit the table, or nothing usable is there.
    """
    return load(data).samples


def load(data: Path) -> Released:
    """Load a table by the mapping that lies beside it (`columns.toml`).

    Raises:
        DataError: there is no mapping, it does not fit the table, or nothing usable is there.
        UsageError: it maps something that is not known.
    """
    path = sheet.find(data)
    return load_mapped(path, columns.beside(path))


def load_mapped(data: Path, mapping: Mapping[str, str]) -> Released:
    """Load a table's messages, replies, and people's and judges' values on them.

    A row without a message is left out, and said so. A reply that is empty is `unparsable`, and so is every value on it;
    so are values off the scale. A row on which a rater has no value at all is not one that this rater rated.

    Raises:
        DataError: the mapping does not fit the table, or nothing usable is there.
        UsageError: it maps something that is not known.
    """
    found, read_from = opened(data, mapping)
    rows = Rows(found, read_from)
    samples = rows.samples()
    if not samples:
        raise DataError(f"{found.path}: no row holds a message")
    replies = rows.replies(samples)
    ratings = [rating for number, reply in replies.items() for rating in rows.ratings(number, reply)]
    known = {sample.id: sample for sample in samples.values()}
    notes = [read_from.told, *rows.notes()]
    return Released(list(known.values()), list(replies.values()), ratings, notes)


def opened(data: Path, mapping: Mapping[str, str]) -> tuple[Sheet, Columns]:
    """Read a table and find the columns that a mapping names in it.

    Raises:
        DataError: it cannot be read, or the mapping does not fit it.
        UsageError: the mapping maps something that is not known.
    """
    found = sheet.read(sheet.find(data), mapping.get(columns.SHEET, ""))
    return found, columns.resolve(mapping, found, RUBRIC)


class Rows:
    """The rows of a table, read by a mapping, with what had to be said of them."""

    def __init__(self, table: Sheet, read_from: Columns) -> None:
        """Take a table and the columns that a mapping names in it."""
        self._table, self._columns = table, read_from
        self._cells = dict(table.rows)
        self._said: dict[str, list[int]] = {}
        self._categories: dict[str, str | None] = {}

    def _cell(self, number: int, field: str) -> str | None:
        place = self._columns.fields.get(field)
        return None if place is None else self._cells[number][place]

    def _say(self, what: str, number: int) -> None:
        self._said.setdefault(what, []).append(number)

    def samples(self) -> dict[int, Sample]:
        """Return each row's message; rows with the same message have the same sample, as the first of them tells it."""
        known: dict[str, Sample] = {}
        found = {}
        for number in self._cells:
            text = self._cell(number, "user")
            if text is None:
                self._say("no message; left out", number)
                continue
            sample = Sample.of((Message("user", text),), tags=self._tags(number, text))
            first = known.setdefault(sample.id, sample)
            if first.tags.get("category") != sample.tags.get("category"):
                self._say("a message that stands further up under another category; that counts", number)
            found[number] = first
        self._categories = {sample.id: sample.tags.get("category") for sample in known.values()}
        return found

    def _tags(self, number: int, text: str) -> dict[str, str]:
        language = self._cell(number, "language") or ("zh" if _HAN.search(text) else "en")
        tags = {"language": language.strip(), "id": self._cell(number, "id"), "source": self._cell(number, "source")}
        category = self._cell(number, "category")
        if category is None and "category" in self._columns.fields:
            self._say("no category", number)
        return {name: value for name, value in {**tags, "category": category and _category(category)}.items() if value}

    def replies(self, samples: Mapping[int, Sample]) -> dict[int, Reply]:
        """Return each row's reply; replies of one model to one message count as repeats, in the order of the rows."""
        if "reply" not in self._columns.fields:
            return {}
        runs: Counter[tuple[str, str]] = Counter()
        seen: set[tuple[str, str, str]] = set()
        found = {}
        for number, sample in samples.items():
            text, model = self._cell(number, "reply") or "", self._cell(number, "model") or UNNAMED
            if not text:
                self._say("no reply; unparsable, and so is every value on it", number)
            elif (sample.id, model, text) in seen:
                self._say("message, model and reply stand further up; kept as a repeat", number)
            seen.add((sample.id, model, text))
            provenance: dict[str, Any] = {"source_file": self._table.path.name, "source_row": number}
            if "id" in self._columns.fields:
                provenance["source_id"] = self._cell(number, "id")
            status = Status.OK if text else Status.UNPARSABLE
            run = runs[sample.id, model]
            found[number] = Reply.of(sample.id, model, run, status, text, provenance=provenance)
            runs[sample.id, model] += 1
        return found

    def ratings(self, number: int, reply: Reply) -> Iterator[Rating]:
        """Return everybody's values on one row's reply."""
        cells = self._cells[number]
        origin = {"source_file": self._table.path.name, "source_row": number}
        rated = {label.rater for label in self._columns.labels if cells[label.column] is not None}
        for rater in dict.fromkeys(label.rater for label in self._columns.labels):
            if rater not in rated:
                self._say(f"{rater} gave no value at all; not rated by {rater}", number)
        for label in self._columns.labels:
            if label.criterion != columns.TOTAL and label.rater in rated:
                yield self._value(label, cells[label.column], number, reply, origin)
        for judge, place in self._columns.answers.items():
            if (said := cells[place]) is not None:
                yield from _read(judge, said, reply, origin)

    def _value(
        self, label: columns.Labels, cell: str | None, number: int, reply: Reply, origin: dict[str, Any]
    ) -> Rating:
        criterion = next(c for c in RUBRIC.criteria if c.name == label.criterion)
        value, status = level(criterion, cell)
        fault = "" if status is not Status.UNPARSABLE else "an empty cell" if cell is None else "off the scale"
        if fault:
            self._say(f"{label.rater}'s {label.criterion} is {fault}; unparsable", number)
        elif reply.status is not Status.OK:
            value, status, fault = None, Status.UNPARSABLE, "an empty reply"
        why = {"fault": fault, **({"released": cell} if cell else {})} if fault else {}
        return Rating(
            reply.id, criterion.name, label.rater, label.kind, 0, status, value, provenance={**origin, **why}
        )  # fmt: skip

    def notes(self) -> list[str]:
        """Say what was found wrong, with the first rows, and how the messages compare with the paper's counts."""
        found = []
        for what, numbers in self._said.items():
            more = f" and {len(numbers) - _FIRST} more" if len(numbers) > _FIRST else ""
            found.append(
                f"{'rows' if len(numbers) > 1 else 'row'} {', '.join(map(str, numbers[:_FIRST]))}{more}: {what}"
            )
        return [*found, *self._counted()]

    def _counted(self) -> Iterator[str]:
        if "category" not in self._columns.fields:
            return
        by = Counter(category for category in self._categories.values() if category is not None)
        others = {category: n for category, n in by.items() if category not in PUBLISHED}
        if others:
            named = ", ".join(f"{category[:40]!r} {n}" for category, n in sorted(others.items())[:_FIRST])
            yield f"categories that are not the paper's, in no group of at-risk messages: {named}"
        same = by == Counter(PUBLISHED) and len(self._categories) == sum(PUBLISHED.values())
        counted = ", ".join(f"{by[category]} {category}" for category in PUBLISHED)
        paper = f"{sum(PUBLISHED.values())} ({', '.join(str(n) for n in PUBLISHED.values())})"
        yield f"{len(self._categories)} messages, {counted}; " + (
            f"as in the paper: {paper}" if same else f"the paper has {paper}"
        )


def _category(cell: str) -> str:
    """Return the paper's category that a cell names; another one as it stands."""
    return _NAMES.get(re.sub(r"[\s_-]+", " ", cell.strip().casefold()), cell.strip())


def level(criterion: Criterion, cell: str | None) -> tuple[str | None, Status]:
    """Read a cell as a level; whatever else stands there is no value."""
    if cell is not None and criterion.not_applicable and cell.strip().casefold() in _INAPPLICABLE:
        return None, Status.NOT_APPLICABLE
    plain = re.sub(r"^(\d+)\.0+$", r"\1", cell.strip()) if cell is not None else None
    value = criterion.read(plain)
    return (None, Status.UNPARSABLE) if value is None else (str(value), Status.OK)


def _read(judge: str, said: str, reply: Reply, origin: dict[str, Any]) -> Iterator[Rating]:
    """Read a judge's raw answer on the five dimensions; a total that it states is held against ours."""
    five = [criterion for criterion in RUBRIC.criteria if criterion.name in DIMENSIONS]
    found = verdict.read(said, five)
    values = [found[c.name].value for c in five]
    stated = _STATED.findall(said)
    total = {"stated_total": int(stated[-1])} if stated and int(stated[-1]) != values.count("yes") else {}
    for criterion in five:
        one = found[criterion.name]
        usable = reply.status is Status.OK
        yield Rating(
            reply.id, criterion.name, judge, RaterKind.MODEL, 0, one.status if usable else Status.UNPARSABLE,
            one.value if usable else None, one.rationale,
            provenance={**origin, **total, **({"problem": one.problem} if one.problem else {})},
        )  # fmt: skip
