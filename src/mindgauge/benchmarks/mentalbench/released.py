"""The authors' files as they released them: which there are, who rated in them, which systems replied, and which rows are about one conversation.

A file is known by its header, wherever it lies below the folder given and whatever its sheet is called:

- ratings, .xlsx or .csv: `ConvID`, `context`, and a column `human_response_SYSTEM` or `judge_response_SYSTEM` for each
  system, whose cells hold the seven values as JSON. A judge's name is taken from the file's name; a judge that is none of
  the paper's four has the name that its file has.
- the replies themselves (the 100k schema): `context`, `response` (the original reply) and a column for each system.

Positions in a file (`row`) count from 0, below the header.

The authors join their files by `ConvID`, that is by row. What a row is about is its concern, though, and in some rows
the files hold different concerns under one ConvID. So a row belongs to the conversation whose concern it shows, blanks
aside. Where a file shows one concern in several rows, the row whose ConvID the other files give to that concern comes
first (occurrence 0); what a further one really rates cannot be known, so it is kept as a reply of its own (1, 2, …)
that no other file rates, and is never paired.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.benchmarks.mentalbench import cells
from mindgauge.benchmarks.released import source_name
from mindgauge.records import Message, RaterKind, Sample
from mindgauge.records.errors import DataError, MissingDataError
from mindgauge.records.files import bounds, folder, tables
from mindgauge.records.files.bounds import clean
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.benchmarks.mentalbench.cells import CellScores
    from mindgauge.records.files.folder import File
    from mindgauge.records.files.input_table import InputTable

    Column = list[str | None]


PEOPLE = "panel"
"""The rater of the people's file: one consensus vector for each reply, without the persons behind it."""
ORIGINAL = "original"
_ROWS = 1_000
"""How many rows each released sheet has."""
_SYSTEMS = {
    ORIGINAL: ("original", "response", "human"),
    "claude-3.5-haiku": ("claude",),
    "deepseek-llama-8b": ("ds_llama", "deepseek-llama"),
    "deepseek-qwen-7b": ("ds_qwen", "deepseek-qwen"),
    "gemini-2.0-flash": ("gemini",),
    "gpt-4o": (),
    "gpt-4o-mini": (),
    "llama-3.1-8b": ("llama_3", "Llama-3.1"),
    "qwen-2.5-7b": ("qwen_2", "Qwen-2.5"),
    "qwen-3-4b": ("qwen_3",),
}
_DATE = r"(?:20\d{6}|latest)?"
_JUDGES = {
    "claude-3-7-sonnet-20250219": rf"claude(?:37sonnet{_DATE})?",
    "gpt-4o": rf"gpt4o{_DATE}",
    "gemini": rf"gemini(?:25flash{_DATE})?",
    "o4-mini": rf"(?:gpt|openai)?o4mini{_DATE}",
}
"""The paper's judges, and which letters and digits name them; the repository and its README write them in several ways."""
_FOURTH, _ITS_README_NAME = "o4-mini", "gpt-4o-mini"
OWN_SYSTEM = {
    "claude-3-7-sonnet-20250219": "claude-3.5-haiku",
    "gpt-4o": "gpt-4o",
    "gemini": "gemini-2.0-flash",
    "o4-mini": "gpt-4o-mini",
}
"""The system that the authors leave out for a judge, as its own; near relations stay in."""
_NO_SYSTEM = {"convid", "context", "unnamed: 0"}
_FOLDERS = ("Human_Judge", "LLMs_as_a_judge")
_PREFIXES = {"human_response_": RaterKind.PERSON, "judge_response_": RaterKind.MODEL}
EXPECTED = (
    "expected Human_Judge/Human_judge.xlsx, LLMs_as_a_judge/*_llm_judge.xlsx (columns ConvID, context and "
    "human_response_… or judge_response_…) or the 100k replies (a CSV with context, response, …)"
)


class RaterSheet(NamedTuple):
    """One rater's cells: for each row its ConvID, its concern and, by system, the cell's text."""

    source: str
    rater: str
    kind: RaterKind
    row: list[int]
    conversation: list[str]
    context: list[str]
    cells: dict[str, Column]

    def scores(self) -> dict[str, list[CellScores]]:
        """Read the cells, by system."""
        return {system: [cells.read(cell) for cell in column] for system, column in self.cells.items()}


class Texts(NamedTuple):
    """The replies themselves: for each row its concern and, by system, the reply; None where it is empty."""

    source: str
    row: list[int]
    conversation: list[str]
    context: list[str]
    replies: dict[str, Column]


class MentalBenchRelease(NamedTuple):
    """The released files that are there: people's ratings first, then judges' by name; the replies, if they are there."""

    sheets: tuple[RaterSheet, ...]
    texts: Texts | None
    notes: tuple[str, ...]


def find(data: Path) -> MentalBenchRelease:
    """Find and open the released files below a folder.

    Raises:
        DataError: there is no such folder, nothing of theirs is in it, or a file of theirs is broken.
    """
    lying = folder.below(data, EXPECTED)
    by_name: dict[str, RaterSheet | Texts] = {}
    notes: list[str] = []
    others: list[str] = []
    others += [f"{line}; not read" for line in lying.broken]
    for path in sorted(lying.all, key=lambda path: path.place):
        if path.suffix.lower() not in {".xlsx", ".csv"} or path.name.startswith("~$"):
            continue
        source = source_name(path.place, data, _FOLDERS)
        try:
            opened = tables.open_tables(path)
        except DataError as error:
            if path.suffix.lower() == ".xlsx":
                raise
            others.append(f"{error}; not read")
            continue
        parts = [part for table in opened for part in _parts(table, path, source)]
        for part in parts:
            name = part.rater if isinstance(part, RaterSheet) else "the replies"
            if (first := by_name.setdefault(name, part)) is not part:
                notes.append(_once_more(first, part))
        if not parts:
            columns = ", ".join(header for table in opened for header in table.headers) or "none"
            others.append(
                f"{source}: none of the released tables, or no row of one; not read (columns: {columns[:120]})"
            )
    if not by_name:
        raise MissingDataError("; ".join([f"{data}: none of the released files here", EXPECTED, *others[:3]]))
    sheets = [part for part in by_name.values() if isinstance(part, RaterSheet)]
    sheets = [_named(sheet, {*by_name}, notes) for sheet in sheets]
    sheets.sort(key=lambda sheet: (sheet.kind is not RaterKind.PERSON, sheet.rater))
    texts = next((part for part in by_name.values() if isinstance(part, Texts)), None)
    return MentalBenchRelease(tuple(sheets), texts, (*notes, *others))


def _named(sheet: RaterSheet, names: set[str], notes: list[str]) -> RaterSheet:
    """Say of a judge that is none of the paper's four by which name it is read; its fourth has another in the paper's README."""
    if sheet.kind is RaterKind.PERSON or sheet.rater in OWN_SYSTEM:
        return sheet
    if sheet.rater == _ITS_README_NAME and _FOURTH not in names:
        notes.append(f"{sheet.source}: read as {_FOURTH}, the judge that the paper's README calls GPT-4o-Mini")
        return sheet._replace(rater=_FOURTH)
    notes.append(f"{sheet.source}: none of the paper's four judges; read as a further judge, {sheet.rater}")
    return sheet


def notes(data: Path) -> list[str]:
    """Say which files are read once of two, which are not, and which judges are none of the paper's."""
    files = find(data)
    return [*files.notes, *in_part(files)]


def in_part(files: MentalBenchRelease) -> list[str]:
    """Say where no sheet has as many rows as were released; sheets that differ are a fault of the release."""
    most = max((len(sheet.row) for sheet in files.sheets), default=_ROWS)
    return (
        [f"no sheet has more than {most:,} rows, and {_ROWS:,} were released; read as a part"] if most < _ROWS else []
    )


def _once_more(first: RaterSheet | Texts, part: RaterSheet | Texts) -> str:
    """Say of a second file of the same that it is not read; two of one rater must hold the same, blanks and line ends aside.

    Raises:
        DataError: they do not.
    """
    if isinstance(first, Texts) or isinstance(part, Texts):
        return f"{part.source}: the replies once more, not read (first: {first.source})"
    texts, copy = (
        {
            (system, ident): " ".join((cell or "").split())
            for system, column in sheet.cells.items()
            for ident, cell in zip(sheet.conversation, column, strict=True)
        }
        for sheet in (first, part)
    )
    differing = sum(texts.get(key) != copy.get(key) for key in texts.keys() | copy.keys())
    if differing:
        raise DataError(
            f"{first.source} and {part.source} both hold the ratings of {first.rater}, and differ in "
            f"{plural(differing, 'cell')}; remove one of them"
        )
    return f"{part.source}: {part.rater} once more, not read (first: {first.source})"


def _parts(table: InputTable, path: File, source: str) -> Iterator[RaterSheet | Texts]:
    """Read what a table holds of theirs: the ratings of one rater, or of people and a judge joined, or the replies."""
    prefixes = [p for p in _PREFIXES if any(header.casefold().startswith(p) for header in table.headers)]
    if not prefixes and not _has_replies(table.headers):
        return
    places = _positions(table.headers, path)
    missing = [name for name in ("ConvID", "context") if prefixes and name.casefold() not in places]
    if missing:
        raise DataError(f"{path}: no column {' and '.join(missing)}; found {', '.join(table.headers)}")
    columns = table.lists()
    rows = [i for i, cells in enumerate(zip(*columns, strict=True)) if any(cells)]  # a sheet's last rows may be blank
    if not rows:
        return
    context = [columns[places["context"]][i] or "" for i in rows]
    ids = columns[places["convid"]] if "convid" in places else [None] * len(columns[0])
    conversation = [_whole(ids[i], i) for i in rows]
    if not prefixes:
        yield Texts(source, rows, conversation, context, _by_system(columns, places, "", rows, path))
    for prefix in prefixes:
        kind = _PREFIXES[prefix]
        rater = PEOPLE if kind is RaterKind.PERSON else judge(path.stem)
        by_system = _by_system(columns, places, prefix, rows, path)
        yield RaterSheet(source, rater, kind, rows, conversation, context, by_system)


def _positions(headers: list[str], path: File) -> dict[str, int]:
    """Return where each header stands, letter case aside.

    Raises:
        DataError: a header occurs twice.
    """
    names = [header.casefold() for header in headers]
    twice = bounds.twice(names)
    if twice is not None:
        raise DataError(f"{path}: the column {headers[names.index(twice)]} occurs twice; remove one of them")
    return {name: position for position, name in enumerate(names) if name}


def _has_replies(headers: list[str]) -> bool:
    """Whether these are the columns of the 100k schema: the concern, the original reply, and one known system at least."""
    names = {header.casefold() for header in headers}
    return {"context", "response"} <= names and any(_letters(n) in _KNOWN_SYSTEMS for n in names - {"response"})


def _by_system(
    columns: list[Column], places: dict[str, int], prefix: str, rows: list[int], path: File
) -> dict[str, Column]:
    by_system: dict[str, Column] = {}
    for header, position in places.items():
        if header.startswith(prefix) and header not in _NO_SYSTEM:
            name = system(header.removeprefix(prefix))
            if name in by_system:
                raise DataError(f"{path}: two columns hold the system {name}; remove one of them")
            by_system[name] = [columns[position][i] for i in rows]
    return by_system


def _whole(cell: str | None, row: int) -> str:
    """Return a ConvID as text, the same from a number of a spreadsheet and from text."""
    return re.sub(r"\.0+$", "", cell.strip()) if cell and cell.strip() else f"row {row}"


def system(raw: str) -> str:
    """Return a system's name as we write it, from any of the authors' spellings; an unknown one as it is, in small letters."""
    return _KNOWN_SYSTEMS.get(_letters(raw), _slug(raw))


def judge(stem: str) -> str:
    """Return a judge's name from the name of its file, without the ending."""
    raw = re.sub(
        r"(?:(?<![\s_-])[\s_-]++)?+(?:llms?[\s_-]*+)?+(?:as[\s_-]an?[\s_-])?judge[\s_-]*",
        " ",
        stem,
        flags=re.IGNORECASE,
    )
    letters = _letters(raw)
    matches = (name for name, spelling in _JUDGES.items() if re.fullmatch(spelling, letters))
    return next(matches, _slug(raw) or _slug(stem))


def _letters(raw: str) -> str:
    return re.sub(r"[^a-z0-9]", "", raw.casefold())


def _slug(raw: str) -> str:
    return re.sub(r"[\s_]+", "-", raw.strip().lower())


_KNOWN_SYSTEMS = {_letters(raw): name for name, spellings in _SYSTEMS.items() for raw in (name, *spellings)}


# Which rows of which files are about the same conversation.


class ConversationRow(NamedTuple):
    """The conversation (its concern) that a row is about, and which of the file's rows about it this is."""

    concern: str
    occurrence: int


class ParsedSheet(NamedTuple):
    """A rater's sheet, read: by system, a cell's scores for each row; and each row's place, None without a concern."""

    sheet: RaterSheet
    places: list[ConversationRow | None]
    scores: dict[str, list[CellScores]]


class Conversations:
    """The conversations of all files, in the order in which they come."""

    def __init__(self, files: MentalBenchRelease) -> None:
        votes: dict[str, dict[str, int]] = {}
        for sheet in files.sheets:
            for ident, context in zip(sheet.conversation, sheet.context, strict=True):
                votes.setdefault(concern(context), {}).setdefault(ident, 0)
                votes[concern(context)][ident] += 1
        self.ids = {text: max(counts, key=counts.__getitem__) for text, counts in votes.items() if text}
        """For each concern the ConvID that most files give it."""
        others = (concern(context) for context in (files.texts.context if files.texts else ()))
        self.concerns = list(dict.fromkeys([*self.ids, *(text for text in others if text)]))

    def samples(self) -> dict[str, Sample]:
        """Return each conversation as a sample, by its concern."""
        return {text: self._sample(text) for text in self.concerns}

    def _sample(self, text: str) -> Sample:
        tags = {"language": "en"} | ({"conv_id": self.ids[text]} if text in self.ids else {})
        return Sample.of((Message("user", text),), tags=tags)

    def places(self, part: RaterSheet | Texts) -> list[ConversationRow | None]:
        """Return the place of each row."""
        texts = [concern(context) for context in part.context]
        rows: dict[str, list[int]] = {}
        for row, text in enumerate(texts):
            rows.setdefault(text, []).append(row)
        places: list[ConversationRow | None] = [None] * len(texts)
        for text, together in rows.items():
            ids, home = part.conversation, self.ids.get(text)
            for occurrence, row in enumerate(sorted(together, key=lambda row: ids[row] != home) if text else ()):
                places[row] = ConversationRow(text, occurrence)
        return places

    def rated(self, files: MentalBenchRelease) -> list[ParsedSheet]:
        """Read every rater's sheet."""
        return [ParsedSheet(sheet, self.places(sheet), sheet.scores()) for sheet in files.sheets]


def concern(context: str) -> str:
    """Return a concern as one line: what every file writes alike."""
    return " ".join(clean(context).split())


def empty_replies(
    files: MentalBenchRelease, conversations: Conversations, rated: list[ParsedSheet]
) -> set[tuple[ConversationRow, str]]:
    """Return (place, system) of the replies that are empty: by their text, or where that is not here by the judges' word.

    A missing reply was put to the judges as the word `nan`; two of them have to say so, or the only one there is. What
    the people's file holds for such a reply (nothing, zeros, levels) varies, so it proves nothing.
    """
    saying_empty: dict[tuple[ConversationRow, str], int] = {}
    judges = [sheet_rated for sheet_rated in rated if sheet_rated.sheet.kind is RaterKind.MODEL]
    for judge in judges:
        for system, column in judge.scores.items():
            for place, scores in zip(judge.places, column, strict=True):
                if place is not None and cells.says_empty(scores.explanation):
                    saying_empty[place, system] = saying_empty.get((place, system), 0) + 1
    empty = {reply for reply, judges_saying in saying_empty.items() if judges_saying >= min(2, len(judges))}
    if files.texts is not None:
        places = conversations.places(files.texts)
        for system, replies in files.texts.replies.items():
            for place, text in zip(places, replies, strict=True):
                if place is not None:
                    (empty.discard if written(text) else empty.add)((place, system))
    return empty


def written(text: str | None) -> str:
    """Return the text of a reply; none where a table says `nan`."""
    cleaned = clean(text or "").strip()
    return "" if cleaned.casefold() == "nan" else cleaned
