"""What an import is checked against: the people, items, criteria and levels of a project, also under the file's names; an item as one text; cells."""

from __future__ import annotations

import difflib
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.annotation.labels import LONGEST_NOTE, InvalidAnswerError, check
from mindgauge.annotation.records import Answer, Answered, Item, Person, Role
from mindgauge.raters.quotes import DIALOGUE, REPLY
from mindgauge.raters.window import Unit
from mindgauge.records import Evidence, Status
from mindgauge.records.drawn import COLUMNS as DRAWN_COLUMNS
from mindgauge.records.drawn import of_row
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, mapping
from mindgauge.records.files.bounds import clean
from mindgauge.records.prompt import transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from mindgauge.records.rubric import Criterion, Rubric

COLUMNS = ("subject", "criterion", "rater", "value")
MORE_COLUMNS = ("rater_kind", "status", "answered", "phase", "at", "seconds", "note", "evidence", "path")
HANDED_ON = "handed_on"
_ANSWERED = {
    Status.OK.value: Answered.OK.value, Status.UNPARSABLE.value: Answered.CANNOT_TELL.value,
    Status.NOT_APPLICABLE.value: Answered.NOT_APPLICABLE.value, Status.REFUSED.value: HANDED_ON,
}  # fmt: skip
"""The status of a rating → what became of the question."""
_WORDS = {word.value: word for word in (Answered.CANNOT_TELL, Answered.NOT_APPLICABLE)}
_MILLISECONDS = 1e11
"""A point in time beyond this is in milliseconds: in seconds it were in the year 5138."""
_LONGEST, _SOME = 60, 8
"""Characters of a name in a message, and names listed there."""


def plain(cell: object) -> str:
    """Write a cell as text: a whole number without its point, nothing as an empty text."""
    if cell is None:
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def moment_text(seconds: float) -> str:
    """Write a point in time as ISO 8601 has it, to the microsecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _moment(cell: object, place: str) -> float | None:
    if cell is None or cell == "":
        return None
    try:
        if isinstance(cell, datetime):
            time = cell
        elif isinstance(cell, int | float) or str(cell).replace(".", "", 1).isdigit():
            since = float(str(cell))
            time = datetime.fromtimestamp(since / 1000 if since > _MILLISECONDS else since, UTC)
        else:
            time = datetime.fromisoformat(str(cell).strip())
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise DataError(
            f"{place}: {_short(str(cell))} is not a date and time; write it like 2026-01-31T09:30:00Z"
        ) from error


def _number(cell: object) -> float | None:
    try:
        return float(plain(cell))
    except ValueError:
        return None


# An item as one text, for tools that show one, and where marked words are in it. Places count characters from 0.


def dialogue(item: Item) -> str:
    """Return the dialogue, one speaker a paragraph; of several turns, each with the number of its turn."""
    if not item.unit:
        return transcript(item.messages)
    paragraphs, turn = [], 0
    for message in item.messages:
        turn += message.role == "user"
        paragraphs.append(f"[{turn}] {transcript((message,))}")
    return "\n\n".join(paragraphs)


def whole(item: Item) -> str:
    """Return the dialogue and the reply to it, where the question is about one."""
    judged = "\n\nMessage to judge: " if item.unit == Unit.CLIENT else "\n\nReply: "
    return f"{dialogue(item)}{judged}{item.reply}" if item.reply else dialogue(item)


def mark_place(item: Item, mark: Evidence) -> tuple[str, int, str] | None:
    """Return in which text marked words are, where they begin there, and the words; None where they are in none letter for letter."""
    for source, text in ((REPLY, item.reply), (DIALOGUE, dialogue(item))):
        if text and mark.source in {"", source} and (start := text.find(mark.quote)) >= 0:
            return source, start, mark.quote
    return None


def marked(item: Item, start: int, end: int) -> Evidence | None:
    """Return what is between two places of the whole text; None where that is nothing."""
    text = whole(item)
    if not 0 <= start < end <= len(text):
        return None
    inside = item.reply and start >= len(text) - len(item.reply)
    return Evidence(text[start:end], source=REPLY if inside else DIALOGUE)


def drawn(item: Item) -> dict[str, Any]:
    """Return with which probability an item was drawn, as columns of a file; nothing where it was not."""
    return dict(zip(DRAWN_COLUMNS, item.drawn.cells, strict=True)) if item.drawn is not None else {}


class ImportedLabel(msgspec.Struct, frozen=True):
    """One answer of a file, under the names of the project; without an answer, the item was handed on."""

    place: str
    person: Person
    item: Item
    answer: Answer | None
    note: str = ""
    evidence: tuple[Evidence, ...] = ()
    time: float | None = None
    """Seconds since 1970; None where the file does not say."""
    seconds: float = 0.0


class Known:
    """The names of a project, and what a file calls them."""

    def __init__(
        self,
        people: Sequence[Person],
        items: Iterable[Item],
        rubric_for: Callable[[Item], Rubric],
        names: Mapping[str, str] | None = None,
        own_ids: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Take the project's.

        Args:
            people: everybody.
            items: all of them.
            rubric_for: item → the criteria that are about it.
            names: what `--map` says: columns, and what the file calls a person (`rater.H1`) or criterion (`criterion.empathy`).
            own_ids: the id that items had in the file that the project was made from → their subjects.

        Raises:
            UsageError: a name is none of ours.
        """
        self.how = mapping.read(names, (*COLUMNS, *MORE_COLUMNS), (mapping.RATER, mapping.CRITERION))
        """Which column holds what, and how the file is to be read."""
        self._people = {person.name.casefold(): person for person in people}
        self._items: dict[str, Item] = {}
        """By id, and by the subject of their ratings."""
        self._rubrics: dict[str, Rubric] = {}
        self._criteria: dict[str, str] = {}
        for item in items:
            self._items |= {item.id: item, item.subject: item}
            self._rubrics[item.id] = rubric_for(item)
            for criterion in self._rubrics[item.id].criteria:
                self._criteria |= {name.casefold(): criterion.name for name in (criterion.name, *criterion.aliases)}
        self._own_ids = {
            name: [self._items[subject] for subject in subjects if subject in self._items]
            for name, subjects in (own_ids or {}).items()
        }
        self.criteria = list(dict.fromkeys(self._criteria.values()))
        """All criteria, by the project's names."""
        self._raters = list(dict.fromkeys(p.name for p in self._people.values() if p.role is Role.ANNOTATOR))
        self._learn(mapping.RATER, self._people, self._raters)
        self._learn(mapping.CRITERION, self._criteria, self.criteria)

    def _learn(self, prefix: str, names: dict[str, Any], choices: Sequence[str]) -> None:
        """Know a person or a criterion by the file's name for it, too."""
        for option, alias in self.how.columns.items():
            if not option.startswith(prefix):
                continue
            own_name = option.removeprefix(prefix).casefold()
            if own_name not in names:
                raise UsageError(f"--map {option}={alias}: {option!r} is unknown; choose from {', '.join(prefix + name for name in choices)}")  # fmt: skip
            names[alias.casefold()] = names[own_name]

    @property
    def columns(self) -> dict[str, str]:
        """What the file calls columns of ours."""
        return {name: alias for name, alias in self.how.columns.items() if name in {*COLUMNS, *MORE_COLUMNS}}

    def criterion(self, name: object) -> str | None:
        """Return the project's name of a criterion of any item; None where there is none of this name."""
        return self._criteria.get(name.strip().casefold()) if isinstance(name, str) else None

    def reads(self, criterion: str, item: Item, answer: str) -> bool:
        """Say whether an answer is a level of an item's criterion, or a word for why there is none."""
        name = self.criterion(criterion)
        definition = next((c for c in self._rubrics[item.id].criteria if c.name == name), None)
        return definition is not None and (definition.read(answer) is not None or _word(answer) is not None)

    def label(self, place: str, row: Mapping[str, Any]) -> ImportedLabel | None:
        """Read one answer; None where it was taken back.

        Args:
            place: file and line, for messages.
            row: cells under our names. `rater` gave it; `subject` is the item, by its id, the subject of its ratings, or the
                id that it had in the file that it came from; `criterion` was asked; `value` is a level, one of its aliases,
                `cannot_tell` or `not_applicable`; where it is empty, `answered` or `status` says why. `path` is a walk,
                (node from 0, answer); `note` the person's words, `evidence` marked ones; `at` seconds or milliseconds since
                1970, or a date as ISO 8601 has it, UTC where it names no zone; `seconds` how long the item was on the screen.

        Raises:
            DataError: the project does not know one of these; the message names `place` and what is known.
        """
        answered = _answered(row, place)
        if answered == Answered.WITHDRAWN:
            return None
        item, time = self.item(row.get("subject"), place, row), _moment(row.get("at"), place)
        if answered == HANDED_ON:
            return ImportedLabel(place, self._rater(row.get("rater"), place), item, None, time=time)
        criterion = self._criterion(row.get("criterion"), item, place)
        note = clean(plain(row.get("note")))
        if len(note) > LONGEST_NOTE:
            raise DataError(f"{place}: a note of {len(note):,} characters; {LONGEST_NOTE:,} are kept at most")
        person = self._rater(row.get("rater"), place)
        value = row.get("value") if answered == Answered.OK else answered
        answer = _answer(criterion, self._rubrics[item.id], value, _list(row, "path", place), place)
        try:
            marks = msgspec.convert(_list(row, "evidence", place), tuple[Evidence, ...])
        except msgspec.ValidationError as error:
            raise DataError(f"{place}: the column `evidence` is no list of quotes ({error})") from error
        evidence = tuple(Evidence(clean(mark.quote), source=mark.source) for mark in marks if mark.quote)
        duration = _number(row.get("seconds")) if plain(row.get("seconds")) else 0.0
        if duration is None or not 0 <= duration < math.inf:
            raise DataError(f"{place}: {_short(plain(row.get('seconds')))} is no number of seconds")
        return ImportedLabel(place, person, item, answer, note, evidence, time, duration)

    def item(self, subject: object, place: str, row: Mapping[str, Any] | None = None) -> Item:
        """Find an item by its id, by the subject of its ratings, or by the id that it had in the file that it came from.

        Args:
            subject: one of these.
            place: file and line, for messages.
            row: what the file says of it; the probability there is the one with which the project drew the item.

        Raises:
            DataError: there is none, there are several, or it was drawn with another probability.
        """
        name = plain(subject).strip()
        items = [self._items[name]] if name in self._items else self._own_ids.get(name, [])
        if len(items) > 1:
            raise DataError(f"{place}: {name!r} is the id of {len(items)} items here; name the subject's own id")
        if not items:
            subjects = dict.fromkeys(item.subject for item in self._items.values())
            raise _unknown("subject", name, [*subjects, *self._own_ids], place)
        record = of_row(row or {}, place)
        probability = items[0].drawn.probability if items[0].drawn is not None else 0.0
        if record is not None and not math.isclose(probability, record.probability, rel_tol=1e-6):
            state = f"was drawn with probability {probability:g}" if probability else "was not drawn"
            raise DataError(
                f"{place}: probability {record.probability:g}, but in the project the item {items[0].id} {state}"
            )
        return items[0]

    def _rater(self, rater: object, place: str) -> Person:
        name = plain(rater).strip()
        person = self._people.get(name.casefold())
        if person is None:
            raise _unknown("rater", name, self._raters, place, "; name theirs")
        if person.role is not Role.ANNOTATOR:
            raise DataError(f"{place}: {person.name} is {person.role}; only annotators' labels can be imported")
        return person

    def _criterion(self, criterion: object, item: Item, place: str) -> Criterion:
        name = plain(criterion).strip()
        own_name = self._criteria.get(name.casefold())
        if own_name is None:
            raise _unknown("criterion", name, self.criteria, place, "; or name it")
        definition = next((c for c in self._rubrics[item.id].criteria if c.name == own_name), None)
        if definition is None:
            raise DataError(f"{place}: the criterion {own_name} is not about the item {item.id}")
        return definition


def _answered(row: Mapping[str, Any], place: str) -> str:
    """Return what became of the question: as the file says, or as its value and status show."""
    word = plain(row.get("answered"))
    if not word and row.get("value") is not None:
        return Answered.OK.value
    answered = word or _ANSWERED.get(plain(row.get("status")), "")
    empty = answered == Answered.OK and row.get("value") is None
    if empty or answered not in {*_ANSWERED.values(), Answered.WITHDRAWN}:
        choices = ", ".join(_ANSWERED.values())
        raise DataError(f"{place}: no value, and neither `answered` nor `status` says why; known are {choices}")
    return answered


def _list(row: Mapping[str, Any], name: str, place: str) -> object:
    """Read a cell that holds JSON; in Parquet and JSONL it may be the list itself."""
    cell = row.get(name)
    if not isinstance(cell, str):
        return cell or ()
    try:
        return bounds.json_value(cell)
    except ValueError as error:
        raise DataError(f"{place}: the column `{name}` is not JSON") from error


def _answer(criterion: Criterion, rubric: Rubric, value: object, path: object, place: str) -> Answer:
    level = criterion.read(value if isinstance(value, int | str) else plain(value))
    if level is None:
        level = criterion.read(plain(_number(value)))  # 3.0, as spreadsheets write a 3
    answered = Answered.OK if level is not None else _word(value)
    if answered is None:
        near = _near(plain(value), [str(v) for v in criterion.values])
        choices = ", ".join(map(str, (*criterion.values, *_WORDS)))
        raise DataError(f"{place}: {criterion.name} has no level {_short(plain(value))}{near}; known are {choices}")
    try:
        answer = Answer(criterion.name, answered, level, msgspec.convert(path, tuple[tuple[int, str], ...]))
        check(rubric.only(criterion), [answer])
    except (msgspec.ValidationError, InvalidAnswerError) as error:
        raise DataError(f"{place}: {error}") from error
    return answer


def _word(answer: object) -> Answered | None:
    return _WORDS.get(plain(answer).strip().casefold().replace(" ", "_"))


def _unknown(kind: str, name: str, choices: Sequence[str], place: str, advice: str = "") -> DataError:
    listed = ", ".join(choices[:_SOME]) + (f" and {len(choices) - _SOME} more" if len(choices) > _SOME else "")
    advice = advice and f"{advice} with --map {kind}.OURS={' '.join(name.split())[:_LONGEST] or 'THEIRS'}"
    return DataError(f"{place}: unknown {kind} {_short(name)}{_near(name, choices)}; known are {listed}{advice}")


def _short(name: str) -> str:
    return repr(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…")


def _near(name: str, choices: Collection[str]) -> str:
    near = difflib.get_close_matches(name, choices, 1) if len(name) < 200 else []
    return f" (did you mean {near[0]}?)" if near else ""
