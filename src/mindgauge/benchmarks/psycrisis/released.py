"""A user's copy of the released set, or any table of messages and replies, as records: by an explicit mapping of columns.

The released files are not ours to pass on, and their columns are not published. The first column is the person's
message and the second the reply in what the authors' code reads (`user=#1,reply=#2`).

A column is named by its header, by its position (`#1`), or, where no header is so called, by its letter in a spreadsheet.
Nothing is guessed.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.benchmarks import Released
from mindgauge.raters import verdict
from mindgauge.raters.echo import PromptText
from mindgauge.records import Message, RaterKind, Rating, Reply, Sample, Status
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import input_table, mapping, tables
from mindgauge.records.files.mapping import FILE, LAYOUT, place
from mindgauge.records.rubric import Rubric, shipped
from mindgauge.records.text import HAN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mindgauge.records.files.folder import Readable
    from mindgauge.records.files.input_table import InputTable

    Cells = list[tuple[int, list[str | None]]]
    "Rows of texts, with their lines."
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


PUBLISHED = {"suicide": 289, "nssi": 115, "existential_distress": 204}
"""How many messages of each category the paper counts."""
UNNAMED = "unnamed"
"""The model that wrote a reply, where no column says it."""
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
    path = tables.find(data)
    return load_mapped(path, mapping.beside(path))


def load_mapped(data: Readable, mapped: Mapping[str, str]) -> Released:
    """Load a table's messages, replies, and people's and judges' values on them.

    A row without a message is left out, and said so. A reply that is empty is `unparsable`, and so is every value on it;
    so are values off the scale. A row on which a rater has no value at all is not one that this rater rated.

    Raises:
        DataError: the mapping does not fit the table, or nothing usable is there.
        UsageError: it maps something that is not known.
    """
    sheet, read_from, cells = opened(data, mapped)
    rows = Rows(sheet, read_from, cells)
    samples = rows.samples()
    if not samples:
        raise DataError(f"{sheet}: no row holds a message")
    replies = rows.replies(samples)
    ratings = [rating for number, reply in replies.items() for rating in rows.ratings(number, reply)]
    by_sample = {sample.id: sample for sample in samples.values()}
    by_reply = {reply.id: reply for reply in replies.values()}
    notes = [read_from.note, *_doubtful(sheet, read_from, mapped), *rows.notes()]
    return Released(list(by_sample.values()), list(by_reply.values()), ratings, notes)


def _doubtful(sheet: InputTable, read_from: Columns, mapped: Mapping[str, str]) -> Iterator[str]:
    """Say where what was taken for headers may be none: a mapped column has none, or what is mapped reads like data."""
    places = {*read_from.fields.values(), *(column.column for column in read_from.labels), *read_from.answers.values()}
    bare = [str(place + 1) for place in sorted(places) if not sheet.headers[place]]
    labels = [(column.column, c) for column in read_from.labels for c in RUBRIC.criteria if c.name == column.criterion]
    like_data = [str(place + 1) for place, criterion in labels if level(criterion, sheet.headers[place])[0] is not None]
    if mapping.HEADER in mapped or PurePath(sheet.name).suffix.lower() not in input_table.HEADED:
        return
    if bare:
        yield f"no header above column {', '.join(bare)}; if the headers are further down, give --map header=ROW, or 0 if there are none"
    if like_data:
        yield f"the header above column {', '.join(like_data)} looks like a label; if the table has no headers, give --map header=0"


def opened(data: Readable, mapped: Mapping[str, str]) -> tuple[InputTable, Columns, Cells]:
    """Read a table and find the columns that a mapping names in it.

    Raises:
        DataError: it cannot be read, or the mapping does not fit it.
        UsageError: the mapping maps something that is not known.
    """
    sheet = tables.open_table(data, mapping.layout(mapped))
    rows = list(sheet.texts())
    if not rows:
        raise DataError(f"{sheet}: a table without rows")
    return sheet, resolve(mapped, sheet, RUBRIC), rows


class Rows:
    """The rows of a table, read by a mapping, with what had to be said of them."""

    def __init__(self, table: InputTable, read_from: Columns, rows: Cells) -> None:
        """Take a table, the columns that a mapping names in it, and its rows."""
        self._file, self._columns = PurePath(table.name).name, read_from
        self._cells = dict(rows)
        self._said: dict[str, list[int]] = {}
        self._categories: dict[int, str | None] = {}
        self._messages: dict[str, str | None] = {}

    def _cell(self, number: int, field: str) -> str | None:
        place = self._columns.fields.get(field)
        return None if place is None else self._cells[number][place]

    def _say(self, oddity: str, number: int) -> None:
        self._said.setdefault(oddity, []).append(number)

    def samples(self) -> dict[int, Sample]:
        """Return each row's message; rows with the same message have the same sample, as the first of them tells it."""
        first_samples: dict[str, Sample] = {}
        row_samples = {}
        for number in self._cells:
            text = self._cell(number, "user")
            if text is None:
                self._say("no message; left out", number)
                continue
            sample = Sample.of((Message("user", text),), tags=self._tags(number, text))
            first = first_samples.setdefault(sample.id, sample)
            if first is not sample and "reply" not in self._columns.fields:
                self._say("the message occurs further up; kept once", number)
            if first.tags.get("category") != sample.tags.get("category"):
                self._say("the message occurs further up under another category, which counts", number)
            row_samples[number] = first
        self._categories = {number: sample.tags.get("category") for number, sample in row_samples.items()}
        self._messages = {sample.id: sample.tags.get("category") for sample in first_samples.values()}
        return row_samples

    def _tags(self, number: int, text: str) -> dict[str, str]:
        language = self._cell(number, "language") or ("zh" if HAN.search(text) else "en")
        tags = {"language": language.strip(), "id": self._cell(number, "id"), "source": self._cell(number, "source")}
        named = self._cell(number, "category")
        if named is None and "category" in self._columns.fields:
            self._say("no category", number)
        return {name: value for name, value in {**tags, "category": named and category(named)}.items() if value}

    def replies(self, samples: Mapping[int, Sample]) -> dict[int, Reply]:
        """Return each row's reply.

        Replies of one model to one message count as repeats, in the order of the rows. Where a column names the rater,
        rows of several raters with the same message, model and reply are about one reply.
        """
        if "reply" not in self._columns.fields:
            return {}
        runs: Counter[tuple[str, str]] = Counter()
        repeats: dict[tuple[str, str, str], list[Reply]] = {}
        rated: Counter[tuple[str | None, str, str, str]] = Counter()
        row_replies = {}
        for number, sample in samples.items():
            text, model = self._cell(number, "reply") or "", self._cell(number, "model") or UNNAMED
            rater, same = self._cell(number, RATER), (sample.id, model, text)
            if RATER in self._columns.fields and rater is None:
                self._say("no rater; its labels are left out", number)
            before = repeats.setdefault(same, [])
            if rater is not None and rated[rater, *same] < len(before):
                row_replies[number] = before[rated[rater, *same]]
            else:
                if not text:
                    self._say("the reply is empty; it and every value on it are unparsable", number)
                elif before:
                    self._say("message, model and reply occur further up; kept as a repeat", number)
                row_replies[number] = self._reply(number, sample, model, runs[sample.id, model], text)
                before.append(row_replies[number])
                runs[sample.id, model] += 1
            rated[rater, *same] += 1
        return row_replies

    def _reply(self, number: int, sample: Sample, model: str, run: int, text: str) -> Reply:
        provenance: dict[str, Any] = {"source_file": self._file, "source_row": number}
        if "id" in self._columns.fields:
            provenance["source_id"] = self._cell(number, "id")
        status = Status.OK if text else Status.UNPARSABLE
        return Reply.of(sample.id, model, run, status, text, provenance=provenance)

    def ratings(self, number: int, reply: Reply) -> Iterator[Rating]:
        """Return everybody's values on one row's reply; a judge's where the reply stands first."""
        cells = self._cells[number]
        origin = {"source_file": self._file, "source_row": number}
        first = reply.provenance["source_row"] == number
        mapped = [self._by(number, label) for label in self._columns.labels if first or label.kind is RaterKind.PERSON]
        labels = [label for label in mapped if label.rater]
        rated = {label.rater for label in labels if cells[label.column] is not None}
        for rater in dict.fromkeys(label.rater for label in labels):
            if rater not in rated:
                self._say(f"{rater} gave no value at all; not rated by {rater}", number)
        for label in labels:
            if label.criterion != TOTAL and label.rater in rated:
                yield self._value(label, cells[label.column], number, reply, origin)
        for judge, column in self._columns.answers.items() if first else ():
            if (text := cells[column]) is not None:
                yield from answer(judge, text, reply, origin)

    def _by(self, number: int, label: Labels) -> Labels:
        """Name a label's rater: as the row does, where a column says it."""
        if label.kind is not RaterKind.PERSON or RATER not in self._columns.fields:
            return label
        return label._replace(rater=self._cell(number, RATER) or "")

    def _value(self, label: Labels, cell: str | None, number: int, reply: Reply, origin: dict[str, Any]) -> Rating:
        criterion = next(c for c in RUBRIC.criteria if c.name == label.criterion)
        value, status = level(criterion, cell)
        fault = "" if status is not Status.UNPARSABLE else "an empty cell" if cell is None else "off the scale"
        if fault:
            self._say(f"{label.rater}'s {label.criterion} is {fault}; unparsable", number)
        elif reply.status is not Status.OK:
            value, status, fault = None, Status.UNPARSABLE, "an empty reply"
        problem = {"fault": fault, **({"released": cell} if cell else {})} if fault else {}
        return Rating(
            reply.id, criterion.name, label.rater, label.kind, 0, status, value, provenance={**origin, **problem}
        )  # fmt: skip

    def notes(self) -> list[str]:
        """Say what was found wrong, with the first rows, and how the messages compare with the paper's counts."""
        notes = []
        for oddity, numbers in self._said.items():
            surplus = f" and {len(numbers) - _FIRST} more" if len(numbers) > _FIRST else ""
            notes.append(
                f"{'rows' if len(numbers) > 1 else 'row'} {', '.join(map(str, numbers[:_FIRST]))}{surplus}: {oddity}"
            )
        return [*notes, *self._counted()]

    def _counted(self) -> Iterator[str]:
        if "category" not in self._columns.fields:
            return
        # Of messages alone each row is one of the paper's; with replies, a message may have several rows.
        categories = self._messages if "reply" in self._columns.fields else self._categories
        counts = Counter(category for category in categories.values() if category is not None)
        others = {category: n for category, n in counts.items() if category not in PUBLISHED}
        if others:
            named = ", ".join(f"{category[:40]!r} {n}" for category, n in sorted(others.items())[:_FIRST])
            yield f"categories that are not the paper's, in no group of at-risk messages: {named}"
        same = counts == Counter(PUBLISHED) and len(categories) == sum(PUBLISHED.values())
        counted = ", ".join(f"{counts[category]} {category}" for category in PUBLISHED)
        paper = f"{sum(PUBLISHED.values())} ({', '.join(str(n) for n in PUBLISHED.values())})"
        yield f"{len(categories)} messages, {counted}; " + (
            f"as in the paper: {paper}" if same else f"the paper has {paper}"
        )
