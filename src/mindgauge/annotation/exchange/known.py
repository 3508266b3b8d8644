"""What an import is held against: the people, items, criteria and levels of a project, also under the file's names; an item as one text; what stands in a cell."""

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
from mindgauge.records import Evidence
from mindgauge.records.drawn import COLUMNS as DRAWN_COLUMNS
from mindgauge.records.drawn import of_row
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import mapping
from mindgauge.records.files.bounds import clean
from mindgauge.records.prompt import transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mindgauge.records.rubric import Criterion, Rubric


_MILLISECONDS = 1e11
"""A point in time beyond this is in milliseconds: in seconds it were in the year 5138."""
_LONGEST = 60
"""Characters of a name in a message."""


def plain(cell: object) -> str:
    """Write a cell as text: a whole number without its point, nothing as an empty text."""
    if cell is None:
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def number(cell: object) -> float | None:
    """Read a number; None where it is none."""
    try:
        return float(plain(cell))
    except ValueError:
        return None


def moment(cell: object, place: str) -> float | None:
    """Read a point in time.

    Raises:
        DataError: it is none.
    """
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
            f"{place}: {short(str(cell))} is not a date and time; write it like 2026-01-31T09:30:00Z"
        ) from error


def written(seconds: float) -> str:
    """Write a point in time as ISO 8601 has it, to the microsecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def length(seconds: object, place: str) -> float:
    """Read how long something took, in seconds.

    Raises:
        DataError: it is no such number.
    """
    value = number(seconds) if plain(seconds) else 0.0
    if value is None or not 0 <= value < float("inf"):
        raise DataError(f"{place}: {short(plain(seconds))} is no number of seconds")
    return value


def short(name: str) -> str:
    """Quote a name, or its beginning, in a message."""
    return repr(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…")


# An item as one text, for tools that show one, and where marked words stand in it. Places count characters from 0.


_REPLY = "\n\nReply: "
_MESSAGE = "\n\nMessage to judge: "


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
    judged = _MESSAGE if item.unit == Unit.CLIENT else _REPLY
    return f"{dialogue(item)}{judged}{item.reply}" if item.reply else dialogue(item)


def drawn(item: Item) -> dict[str, Any]:
    """Return with which probability an item was drawn, as columns of a file; nothing where it was not."""
    return dict(zip(DRAWN_COLUMNS, item.drawn.cells, strict=True)) if item.drawn is not None else {}


def same_draw(item: Item, row: Mapping[str, Any], place: str) -> None:
    """Refuse a row that says another probability than the project, in which each item has one.

    Raises:
        DataError: it does.
    """
    record = of_row(row, place)
    probability = item.drawn.probability if item.drawn is not None else None
    if record is None or (probability is not None and math.isclose(probability, record.probability, rel_tol=1e-6)):
        return
    state = "was not drawn" if probability is None else f"was drawn with probability {probability:g}"
    raise DataError(f"{place}: probability {record.probability:g}, but in the project the item {item.id} {state}")


def place(item: Item, mark: Evidence) -> tuple[int, int] | None:
    """Return where marked words begin and end in the whole text; None where they do not stand in it letter for letter."""
    begin = len(whole(item)) - len(item.reply)
    if mark.source != DIALOGUE and item.reply and (start := item.reply.find(mark.quote)) >= 0:
        return begin + start, begin + start + len(mark.quote)
    start = -1 if mark.source == REPLY else dialogue(item).find(mark.quote)
    return None if start < 0 else (start, start + len(mark.quote))


def marked(item: Item, start: int, end: int) -> Evidence | None:
    """Return what stands between two places of the whole text; None where that is nothing."""
    text = whole(item)
    if not 0 <= start < end <= len(text):
        return None
    inside = item.reply and start >= len(text) - len(item.reply)
    return Evidence(text[start:end], source=REPLY if inside else DIALOGUE)


# What an import is held against: the people, items, criteria and levels of a project, also under the file's names.


COLUMNS = ("subject", "criterion", "rater", "value")
MORE_COLUMNS = ("rater_kind", "status", "answered", "phase", "at", "seconds", "note", "evidence", "path")
HANDED_ON = "handed_on"
_WORDS = {word.value: word for word in (Answered.CANNOT_TELL, Answered.NOT_APPLICABLE)}
_SOME = 8
"""Names listed in a message."""


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
        self._call(mapping.RATER, self._people, self.raters)
        self._call(mapping.CRITERION, self._criteria, self.criteria)

    def _call(self, prefix: str, names: dict[str, Any], choices: Sequence[str]) -> None:
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

    @property
    def raters(self) -> list[str]:
        """The annotators' names."""
        return list(dict.fromkeys(p.name for p in self._people.values() if p.role is Role.ANNOTATOR))

    @property
    def criteria(self) -> list[str]:
        """All criteria, by the project's names."""
        return list(dict.fromkeys(self._criteria.values()))

    def column(self, name: str) -> str:
        """Return what the file calls a column of ours."""
        return self.how.columns.get(name, name)

    def is_criterion(self, name: object) -> bool:
        """Say whether a name of the file's is a criterion of any item."""
        return isinstance(name, str) and name.strip().casefold() in self._criteria

    def rubric(self, item: Item) -> Rubric:
        """Return the criteria that are about an item."""
        return self._rubrics[item.id]

    def reads(self, criterion: str, item: Item, answer: str) -> bool:
        """Say whether an answer is a level of an item's criterion, or a word for why there is none."""
        name = self._criteria.get(criterion.strip().casefold())
        definition = next((c for c in self._rubrics[item.id].criteria if c.name == name), None)
        return definition is not None and (definition.read(answer) is not None or _word(answer) is not None)

    def entry(
        self,
        place: str,
        *,
        rater: object,
        subject: object,
        criterion: object,
        value: object,
        path: object = (),
        note: object = "",
        evidence: Iterable[Evidence] = (),
        time: object = None,
        seconds: object = None,
    ) -> ImportedLabel:
        """Read one answer.

        Args:
            place: file and line, for messages.
            rater: who gave it.
            subject: the item: its id, the subject of its ratings, or the id that it had in the file that it came from.
            criterion: what was asked.
            value: a level, one of its aliases, `cannot_tell` or `not_applicable`.
            path: (node from 0, answer) of a walk.
            note: in the person's words.
            evidence: marked words.
            time: seconds or milliseconds since 1970, or a date as ISO 8601 has it, UTC where it names no zone.
            seconds: how long the item was on the screen.

        Raises:
            DataError: the project does not know one of these; the message names `place` and what is known.
        """
        item = self.item(subject, place)
        definition = self._criterion(criterion, item, place)
        text = clean(plain(note))
        if len(text) > LONGEST_NOTE:
            raise DataError(f"{place}: a note of {len(text):,} characters; {LONGEST_NOTE:,} are kept at most")
        return ImportedLabel(
            place,
            self._rater(rater, place),
            item,
            _answer(definition, self._rubrics[item.id], value, path, place),
            text,
            tuple(Evidence(clean(mark.quote), source=mark.source) for mark in evidence if mark.quote),
            moment(time, place),
            length(seconds, place),
        )

    def handed_on(self, place: str, *, rater: object, subject: object, time: object = None) -> ImportedLabel:
        """Read that somebody handed an item on.

        Raises:
            DataError: the project does not know the person or the item.
        """
        return ImportedLabel(
            place, self._rater(rater, place), self.item(subject, place), None, time=moment(time, place)
        )

    def item(self, subject: object, place: str) -> Item:
        """Find an item by its id, by the subject of its ratings, or by the id that it had in the file that it came from.

        Raises:
            DataError: there is none, or there are several.
        """
        name = plain(subject).strip()
        if name in self._items:
            return self._items[name]
        items = self._own_ids.get(name, [])
        if len(items) > 1:
            raise DataError(f"{place}: {name!r} is the id of {len(items)} items here; name the subject's own id")
        if not items:
            subjects = [item.subject for item in self._items.values()]
            raise DataError(
                f"{place}: unknown subject {short(name)}{_hint(name, [*dict.fromkeys(subjects), *self._own_ids])}"
            )
        return items[0]

    def _rater(self, rater: object, place: str) -> Person:
        name = plain(rater).strip()
        person = self._people.get(name.casefold())
        if person is None:
            hint = _hint(name, self.raters)
            raise DataError(
                f"{place}: unknown rater {short(name)}{hint}; name theirs with --map rater.OURS={_bare(name)}"
            )
        if person.role is not Role.ANNOTATOR:
            raise DataError(f"{place}: {person.name} is {person.role}; only annotators' labels can be imported")
        return person

    def _criterion(self, criterion: object, item: Item, place: str) -> Criterion:
        name = plain(criterion).strip()
        own_name = self._criteria.get(name.casefold())
        criteria = {c.name: c for c in self._rubrics[item.id].criteria}
        if own_name is None:
            hint = _hint(name, self.criteria)
            raise DataError(
                f"{place}: unknown criterion {short(name)}{hint}; or name it with --map criterion.OURS={_bare(name)}"
            )
        if own_name not in criteria:
            raise DataError(f"{place}: the criterion {own_name} is not about the item {item.id}")
        return criteria[own_name]


def _answer(criterion: Criterion, rubric: Rubric, value: object, path: object, place: str) -> Answer:
    level = criterion.read(value if isinstance(value, int | str) else plain(value))
    if level is None:
        level = criterion.read(plain(number(value)))  # 3.0, as spreadsheets write a 3
    word = _word(value)
    if level is None and word is None:
        choices = ", ".join(map(str, (*criterion.values, *_WORDS)))
        near = _near(plain(value), [str(v) for v in criterion.values])
        raise DataError(f"{place}: {criterion.name} has no level {short(plain(value))}{near}; known are {choices}")
    try:
        walk = msgspec.convert(path, tuple[tuple[int, str], ...])
        answered = Answered.OK if level is not None else word
        assert answered is not None
        answer = Answer(criterion.name, answered, level, walk)
        check(rubric.only(criterion), [answer])
    except (msgspec.ValidationError, InvalidAnswerError) as error:
        raise DataError(f"{place}: {error}") from error
    return answer


def _word(answer: object) -> Answered | None:
    return _WORDS.get(plain(answer).strip().casefold().replace(" ", "_"))


def _hint(name: str, choices: Sequence[str]) -> str:
    listed = ", ".join(choices[:_SOME]) + (f" and {len(choices) - _SOME} more" if len(choices) > _SOME else "")
    return f"{_near(name, choices)}; known are {listed}"


def _near(name: str, choices: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, choices, 1) if len(name) < 200 else []
    return f" (did you mean {near[0]}?)" if near else ""


def _bare(name: str) -> str:
    return " ".join(name.split())[:60] or "THEIRS"
