"""From tables to materials: which tables belong together, which column is what, and the texts, ratings and options in them."""

from __future__ import annotations

import json
import re
from itertools import groupby, islice, zip_longest
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.benchmarks.released import RATINGS, TEXTS, Material, frame
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, mapping
from mindgauge.records.files import folder as files
from mindgauge.records.files import tables as reader
from mindgauge.records.files.folder import File
from mindgauge.records.files.input_table import RecordTable
from mindgauge.records.files.mapping import NOTHING
from mindgauge.records.files.texts import decoded
from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mindgauge.records.files.mapping import ColumnMap


Row = dict[str, str]
KINDS = (*reader.ENDINGS, ".txt")
_ROLE, _CONTENT = ("role", "speaker", "author", "from"), ("content", "text", "utterance", "value")
_BULKY = {"usage", "logprobs", "raw"}
_BLOCK = re.compile(r"^(?=<BEGIN>)", re.MULTILINE)
REPORT = 0.5
"""A text of which fewer lines than this are distinct is no list of items."""
_DEPTH = 4


class AuditTable(NamedTuple):
    """Rows of one file, sheet or list inside a file. `part` names the latter two; `lines` marks a text without columns."""

    file: str
    rows: list[Row]
    part: str = ""
    lines: bool = False

    @property
    def name(self) -> str:
        """Its file and part."""
        return f"{self.file}#{self.part}" if self.part else self.file


def tables(paths: Iterable[Path | File], notes: list[str], column_map: ColumnMap = mapping.NOTHING) -> list[AuditTable]:
    """Read files, folders and zips into tables; files that hold one record each become one table per folder."""
    tables_read: list[AuditTable] = []
    single: dict[str, list[tuple[str, Row]]] = {}
    for file in _files(paths, notes):
        name = str(file)
        try:
            parsed = list(_read(file, notes, column_map))
        except bounds.Fault as fault:
            notes.append(f"{fault.at(name)}, not read")
            continue
        except DataError as error:
            notes.append(f"{error}, not read")
            continue
        for table in parsed:
            if len(parsed) == 1 and len(table.rows) == 1 and name.endswith(".json"):
                single.setdefault(str(PurePosixPath(name).parent), []).append((name, table.rows[0]))
            elif table.rows:
                tables_read.append(table)
            elif not table.lines:
                notes.append(f"{table.name}: no rows")
    for folder, records in single.items():
        if len(records) == 1:
            tables_read.append(AuditTable(records[0][0], [records[0][1]]))
        else:
            tables_read.append(AuditTable(folder, [row for _, row in sorted(records, key=lambda r: natural(r[0]))]))
    return tables_read


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sorting key that takes digits as numbers."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _files(paths: Iterable[Path | File], notes: list[str]) -> Iterator[File]:
    """Yield files by their names below what was given, in natural order (2 before 10); say what cannot be read."""
    for path in paths:
        inside = [(path.name, path)] if isinstance(path, File) or not path.is_dir() else [
            (file.relative_to(path).as_posix(), file) for file in files.walk(path)
        ]  # fmt: skip
        for name, file in sorted(inside, key=lambda pair: natural(pair[0])):
            if file.suffix.lower() == ".zip" and isinstance(file, Path):
                yield from _members(file, name, notes)
            elif file.suffix.lower() in KINDS:
                yield named_file(file, name)
            else:
                notes.append(f"{name}: not a table or text, not read")


def named_file(file: Path | File, name: str) -> File:
    """Return a file under the name that an audit gives it."""
    return File(PurePosixPath(name), name, lambda: files.content(file))


def _members(path: Path, name: str, notes: list[str]) -> Iterator[File]:
    try:
        lying = files.members(path, PurePosixPath())
    except DataError as error:
        notes.append(f"{name}: not a readable zip ({str(error).removeprefix(f'{path}: ')})")
        return
    for member in sorted(lying, key=lambda file: natural(file.place.as_posix())):
        place = f"{name}/{member.place}"
        if member.suffix.lower() in KINDS:
            yield named_file(member, place)
        else:
            kind = "a zip inside a zip" if member.suffix.lower() == ".zip" else "not a table or text"
            notes.append(f"{place}: {kind}, not read")


def _read(file: File, notes: list[str], column_map: ColumnMap) -> Iterator[AuditTable]:
    name, suffix = str(file), file.suffix.lower()
    if suffix in {".txt", ".json"}:
        text = decoded(file, column_map.layout.encoding, notes).decode()
        yield from [_lines(name, text, notes)] if suffix == ".txt" else _read_json(name, text, notes)
        return
    for table in reader.open_tables(file, column_map.layout, notes):
        if suffix == ".tsv" and not column_map.columns and len(table.headers) == 1:
            notes.append(f"{name}: no tab in it, read line by line")
            yield _lines(name, decoded(file, column_map.layout.encoding, []).decode(), notes)
        elif isinstance(table, RecordTable):
            yield AuditTable(name, _within_bounds(flat(row) for _, row in table.rows(column_map.columns)))
        else:
            places = table.places(column_map.columns)
            names = [*(header for header in table.headers if header not in places), *places]
            positions = [*(n for n, header in enumerate(table.headers) if header not in places), *places.values()]
            rows = ([cells[n] if n < len(cells) else None for n in positions] for _, cells in table.cells())
            yield AuditTable(name, [_filled(names, cells) for cells in rows], table.part)


def _filled(columns: list[str], cells: list[Any]) -> Row:
    return {name: _text_of(cell) for name, cell in zip(columns, cells, strict=True) if cell is not None}


def _lines(name: str, text: str, notes: list[str]) -> AuditTable:
    """Read a text: blocks that begin with <BEGIN>, or else lines; row numbers are those of the blocks or lines."""
    bounds.refuse_lines(text.encode(), quotes=False)
    parts = _BLOCK.split(text)[1:] if len(_BLOCK.findall(text)) > 1 else text.splitlines()
    lines = [part for part in parts if part.strip()]
    if len(set(lines)) < REPORT * len(lines):
        notes.append(f"{name}: most lines repeat each other, so it is taken for a report and not audited")
        lines = []
    return AuditTable(name, [{"line": line} for line in lines], lines=True)


def _within_bounds(rows: Iterator[Row]) -> list[Row]:
    """Take rows, each with columns of its own, as long as their table is no larger than is read.

    Raises:
        Fault: it is larger.
    """
    taken_rows: list[Row] = []
    columns: set[str] = set()
    cells = 0
    for row in rows:
        taken_rows.append(row)
        columns.update(row)
        cells += len(row)
        if len(columns) > bounds.COLUMNS:
            raise bounds.Fault(f"its rows have more than {bounds.COLUMNS:,} columns together, the most that are read")
        if len(taken_rows) > bounds.ROWS or cells > bounds.CELLS:
            raise bounds.Fault(f"it has more than {bounds.ROWS:,} rows or {bounds.CELLS:,} cells, the most that are read; split it into several files")  # fmt: skip
    return taken_rows


def _read_json(name: str, text: str, notes: list[str]) -> Iterator[AuditTable]:
    content = bounds.json_value(text, as_written=True)
    if isinstance(content, dict):
        lists = {key: value for key, value in content.items() if _is_table(value)}
        if lists:
            for key, records in lists.items():
                yield AuditTable(name, _within_bounds(flat(record) for record in records), key)
        else:
            yield AuditTable(name, [flat(content)])
    elif _is_table(content) or (isinstance(content, list) and content and isinstance(content[0], dict)):
        yield AuditTable(name, _within_bounds(flat(record) if isinstance(record, dict) else {"value": _text_of(record)} for record in content))  # fmt: skip
    elif isinstance(content, list):
        yield AuditTable(name, [{"dialogue": _text_of(content)}] if content else [])
    else:
        notes.append(f"{name}: neither a list nor an object, not read")


def _is_table(value: object) -> bool:
    """Whether a value is a list of records, not the turns of one dialogue."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(record, dict) for record in value):
        return False
    return not (any(k in value[0] for k in _ROLE) and any(k in value[0] for k in _CONTENT))


def flat(record: dict[str, Any], prefix: str = "", depth: int = 0) -> Row:
    """Flatten a record: `item.label`; lists become lines, dialogues lines of `role: text`, options `A. text`."""
    row: Row = {}
    for key, value in record.items():
        name = f"{prefix}{key}"
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            value = value[0]  # noqa: PLW2901 - a list of one record is the record
        if isinstance(value, dict) and key in _BULKY:
            continue
        if isinstance(value, dict) and depth < _DEPTH and not _is_options(value):
            row |= flat(value, f"{name}.", depth + 1)
        elif value is not None:
            row[name] = _text_of(value)
    return row


def _is_options(value: dict[str, Any]) -> bool:
    return bool(value) and all(re.fullmatch(r"[A-Z]", key) for key in value)


def _text_of(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        if _is_options(value):
            return "\n".join(f"{letter}. {text}" for letter, text in value.items())
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, list):
        return "\n".join(_turn(part) for part in value)
    return str(value)


def _turn(part: Any) -> str:
    if isinstance(part, dict):
        role = next((str(part[key]) for key in _ROLE if key in part), "")
        content = next((str(part[key]) for key in _CONTENT if key in part), None)
        if content is not None:
            return f"{role}: {' '.join(content.split())}" if role else content
    return _text_of(part)


LOOKED_AT = 2000
"""Rows that are looked at to tell what a column is."""
FILLED = 0.02
"""Columns with fewer filled cells say nothing of a table."""
_IDS = (
    "id", "sample_id", "example_id", "item_id", "question_id", "qid", "convid", "conversation_id", "dialogue_id", "data_id",
    "index", "idx", "uid", "uuid", "user", "column_0", "unnamed:_0",
)  # fmt: skip
_INPUTS = (
    "input", "inputs", "prompt", "question", "query", "context", "post", "user", "message", "messages", "dialogue", "dialog",
    "conversation", "scenario", "text", "situation", "concern", "line",
)  # fmt: skip
_REPLIES = ("reply", "response", "gpt_response", "assistant_response", "output", "completion", "generation", "model_reasoning")  # fmt: skip
_VERDICTS = ("explanation", "rationale", "reason", "justification", "judge_raw", "remark")
_LABELS = (
    "label", "gold", "target", "expected_reasoning", "ground_truth_option", "ground_truth", "answer", "correct_answer", "class",
    "is_asshole", "emotion_label",
)  # fmt: skip
_OPTIONS = ("options", "choices")
_SYSTEMS = ("model", "system", "model_name", "generator", "answer_model")
_SPLITS = ("split", "fold")
_SOURCES = ("source", "dataset", "dataset_id", "origin", "corpus")
_SCORES = re.compile(r"^(?:sc\d+|score|rating|evaluation|.*_score|.*_rating|.*_human|.*_gpt4o|human|judge|model)$")
_RATED = re.compile(r"^(?P<criterion>.+?)_(?P<rater>human|gpt4o|judge)$")
_WIDE = regex(r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]")
_OPTION = re.compile(r"^[^\S\n]*+([A-Z])[.):](?=\s|\w)", re.MULTILINE)


class Roles(NamedTuple):
    """What the columns of a table are. `texts` and `scores` map a column to its kind, and to (criterion, rater)."""

    id: str | None
    system: str | None
    split: str | None
    source: str | None
    label: str | None
    options: str | None
    texts: dict[str, str]
    answers: list[str]
    scores: dict[str, tuple[str, str]]


def roles(rows: Sequence[Row]) -> Roles:
    """Tell what the columns of a table are from its first rows."""
    rows = rows[:LOOKED_AT]
    names = dict.fromkeys(name for row in rows for name in row)
    cells = {name: [row[name] for row in rows if row.get(name, "").strip()] for name in names}
    columns = [name for name in names if len(cells[name]) > FILLED * len(rows)]
    label = _first(columns, _LABELS, lambda name: _closed(cells[name]))
    golds = {cell.strip() for cell in cells[label]} if label else set()
    texts = _roles_texts(columns, cells)
    return Roles(
        id=_first(columns, _IDS, lambda name: len(set(cells[name])) > 1 and not cells[name][0].startswith("chatcmpl")),
        system=_first(columns, _SYSTEMS, lambda name: _closed(cells[name]) and not _numeric(cells[name])),
        split=_first(columns, _SPLITS, lambda name: _closed(cells[name])),
        source=_first(columns, _SOURCES, lambda name: _closed(cells[name])),
        label=label,
        options=_first(columns, _OPTIONS, lambda name: any(_OPTION.search(cell) for cell in cells[name])),
        texts=texts,
        answers=[
            name for name in columns
            if name != label and name not in texts and label and leaf(name) not in _LABELS and _closed(cells[name])
            and len({cell.strip() for cell in cells[name]} & golds) > 0.5 * len({cell.strip() for cell in cells[name]})
            and not (_numeric(cells[name]) and "predict" not in name)
        ],
        scores=_scores(columns, cells, texts),
    )  # fmt: skip


def leaf(name: str) -> str:
    """Return the telling part of a flattened name: `item.label` is a label, `judge_raw.content` a judge's words."""
    parts = re.sub(r"(?<!\s)\s*\([^)\n]{0,200}+\)", "", name.casefold()).replace(" ", "_").split(".")
    if parts[-1] in {"content", "text"} and len(parts) > 1:
        return "response" if "choices" in parts else parts[-2]
    return parts[-1]


def letters(options: str) -> list[str]:
    """Return the letters of an options cell."""
    return _OPTION.findall(options)


def _first(columns: list[str], names: Sequence[str], fits: object) -> str | None:
    ranked = sorted((names.index(leaf(name)), i, name) for i, name in enumerate(columns) if leaf(name) in names)
    return next((name for _, _, name in ranked if fits(name)), None)  # type: ignore[operator]


def _closed(cells: list[str]) -> bool:
    """Whether a column holds one of a few short values in each row."""
    distinct = {cell.strip() for cell in cells}
    return 1 <= len(distinct) <= max(20, len(cells) // 20) and len(cells) >= 2 * len(distinct) and max(map(len, distinct)) <= 60  # fmt: skip


def _numeric(cells: list[str]) -> bool:
    return bool(cells) and sum(re.fullmatch(r"\s*-?\d+(?:\.\d+)?\s*", cell) is not None for cell in cells) > 0.9 * len(cells)  # fmt: skip


def _prose(cells: list[str]) -> bool:
    """Whether a column holds texts that somebody wrote, not codes, names or numbers."""
    if len(set(cells)) < 2 or _closed(cells):
        return False
    prose_cells = sum(len(cell) >= 8 and (" " in cell.strip() or bool(_WIDE.search(cell))) for cell in cells)
    longest = max(map(len, cells))
    return prose_cells > 0.5 * len(cells) or (prose_cells > 0 and longest >= 100)


def _roles_texts(columns: list[str], cells: dict[str, list[str]]) -> dict[str, str]:
    """Give each column of texts its kind; the first of a kind by name has it, others go by their own name."""
    kinds: dict[str, str] = {}
    contents = set()
    for name in columns:
        key = hash(tuple(cells[name]))
        if _prose(cells[name]) and key not in contents:
            contents.add(key)
            kinds[name] = name
    for kind, names in (("input", _INPUTS), ("reply", _REPLIES), ("verdict", _VERDICTS)):
        named = sorted((names.index(leaf(name)), i, name) for i, name in enumerate(kinds) if leaf(name) in names)
        if named:
            kinds[named[0][2]] = kind
    if "input" not in kinds.values():
        rest = [
            name for name, kind in kinds.items() if kind == name and not re.search(r"reason|explan|prompt", leaf(name))
        ]
        if rest:
            kinds[max(rest, key=lambda name: sum(map(len, cells[name])))] = "input"
    judged = {name for name in kinds if re.fullmatch(r".*_reason|judge.*", leaf(name)) or (kinds[name] == name and _json(cells[name]))}  # fmt: skip
    return {name: "verdict" if name in judged else kind for name, kind in kinds.items()}


def _json(cells: list[str]) -> bool:
    """Whether most cells are JSON objects, as judges write them."""
    return sum(re.match(r"\s*(?:```(?:json)?\s*)?\{", cell) is not None for cell in cells) > 0.5 * len(cells)


def _scores(columns: list[str], cells: dict[str, list[str]], texts: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Find columns of scores: (criterion, rater) by column."""
    scored = {}
    for name in columns:
        parts = name.split(".")
        judged = len(parts) > 1 and parts[-2].startswith("judge") and parts[-1] != "content"
        if name in texts or not (_SCORES.match(leaf(name)) or judged) or not _numeric(cells[name]):
            continue
        rated = _RATED.match(leaf(name))
        if rated:
            scored[name] = (rated["criterion"], rated["rater"])
        elif leaf(name) in {"human", "model", "judge"}:
            scored[name] = ("value", leaf(name))
        else:
            scored[name] = (leaf(name), parts[-2] if len(parts) > 1 else "score")
    return scored


# Which tables belong together: files of one kind for several systems, runs or splits.


ALIKE = 0.5
"""Tables belong together if they have more than this share of their columns in common."""
_TIME = re.compile(r"[-_]?\d{8}[-_]\d{2}[-_]?\d{2}[-_]?\d{2}")
_SPLIT = re.compile(r"(?<![A-Za-z])((?i:train(?:ing)?|dev|valid(?:ation)?|val|test))(?![a-z])")
_MODEL = re.compile(
    r"gpt|claude|gemini|gemma|llama|qwen|deepseek|mi[sx]tral|meditron|medtron|soulchat|bert|phi-?\d|glm|\bo\d-|palm|falcon|vicuna|human",
    re.IGNORECASE,
)


class GroupTable(NamedTuple):
    """A table of a group: the system and split that its name tells, if any."""

    table: AuditTable
    system: str | None
    split: str | None


class Group(NamedTuple):
    """Tables of one kind, and what they are called together."""

    name: str
    parts: list[GroupTable]


def group(tables: Sequence[AuditTable]) -> list[Group]:
    """Put tables of one kind together, and read systems and splits from what differs between their names."""
    kinds: list[tuple[set[str], list[AuditTable]]] = []
    for table in tables:
        columns = {name for row in table.rows[:50] for name in row}
        for shared_columns, members in kinds:
            if _neighbours(members[0], table) and len(columns & shared_columns) > ALIKE * len(columns | shared_columns):
                members.append(table)
                shared_columns.update(columns)
                break
        else:
            kinds.append((columns, [table]))
    return [table_group for _, members in kinds for table_group in _named(members)]


def names_model(word: str) -> bool:
    """Whether a word is, or holds, the name of a known family of models."""
    return _MODEL.search(word) is not None


def _neighbours(first: AuditTable, other: AuditTable) -> bool:
    """Whether two tables can be of one kind by where they stand."""
    if first.part != other.part or first.lines != other.lines:
        return False
    if first.lines:
        return _without_split(first.file) == _without_split(other.file)
    (folder, name), (folder_2, name_2) = (_placed(table.file) for table in (first, other))
    suffix, suffix_2 = (_suffix(file) for file in (name, name_2))
    return suffix == suffix_2 and (
        folder == folder_2 or (not suffix and folder.split("/")[0] == folder_2.split("/")[0])
    )


def _suffix(name: str) -> str:
    match = re.search(r"\.(?:csv|tsv|jsonl?|ndjson|parquet|xlsx|txt)$", name, re.IGNORECASE)
    return match[0].lower() if match else ""


def _placed(file: str) -> tuple[str, str]:
    folder, _, name = file.rpartition("/")
    return folder, name


def _without_split(file: str) -> str:
    return _SPLIT.sub("", file)


def _split(file: str) -> str | None:
    words = _SPLIT.findall(file)
    names = {"training": "train", "valid": "validation", "val": "validation", "dev": "validation"}
    return names.get(words[-1].lower(), words[-1].lower()) if words else None


def _named(members: list[AuditTable]) -> list[Group]:
    """Read the system from what differs between the names; tables that differ in more are groups of their own."""
    if len(members) == 1:
        return [Group(members[0].name, [GroupTable(members[0], None, _split(members[0].file))])]
    words = [_words(table.file) for table in members]
    same_length = len({len(w) for w in words}) == 1
    differing = [i for i in range(len(words[0])) if len({w[i] for w in words}) > 1] if same_length else []
    if not differing:
        rests = [_between(table.file, [other.file for other in members]) for table in members]
        return [_group(members, [rest or None for rest in rests])]
    models = [i for i in differing if all(names_model(w[i]) for w in words)]
    chosen = models[:1] or differing
    others = [i for i in differing if i not in chosen]
    systems = ["/".join(_trimmed([w[i] for w in words])[k] for i in chosen) for k in range(len(members))]
    keyed = sorted(range(len(members)), key=lambda k: [words[k][i] for i in others])
    return [
        _group([members[k] for k in keys], [systems[k] for k in keys])
        for keys in (list(group_keys) for _, group_keys in groupby(keyed, key=lambda k: [words[k][i] for i in others]))
    ]


def _group(members: list[AuditTable], systems: list[str | None] | list[str]) -> Group:
    name = members[0].name if len(members) == 1 else f"{members[0].name} and {len(members) - 1} more like it"
    parts = [GroupTable(table, system, _split(table.file)) for table, system in zip(members, systems, strict=True)]
    return Group(name, parts)


def _words(file: str) -> list[str]:
    bare = _without_split(_TIME.sub("", file.removesuffix(_suffix(file))))
    return [word for word in re.split(r"[/_]", bare) if word]


def _trimmed(words: list[str]) -> list[str]:
    """Take off what all words end with, from a hyphen on: `gpt-4o-ethics`, `claude-ethics` → `gpt-4o`, `claude`."""
    tails = [word.rpartition("-")[2] for word in words]
    while len(set(words)) > 1 and len(set(tails)) == 1 and all("-" in word for word in words):
        words = [word.rpartition("-")[0] for word in words]
        tails = [word.rpartition("-")[2] for word in words]
    return words


def _between(file: str, files: list[str]) -> str:
    """Return what stands between the common beginning and the common end of the names."""
    names = [_without_split(_TIME.sub("", name)) for name in files]
    own = _without_split(_TIME.sub("", file))
    start = next((i for i, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1), len(own))
    backwards = [name[start:][::-1] for name in names]
    end = next((i for i, letters in enumerate(zip(*backwards, strict=False)) if len(set(letters)) > 1), 0)
    return own[start : len(own) - end].strip("-_/. ")


# From groups of tables to materials: the texts, ratings and options that stand in them.


LABEL = "label"


def read(paths: Iterable[Path | File], column_map: ColumnMap = NOTHING) -> Iterator[tuple[str, Material]]:
    """Read files and folders of any kind: a material for each group of tables of one kind, by its name.

    What could not be read, or only with a guess, is told in the notes of a last material, which is otherwise empty.
    """
    notes: list[str] = []
    for table_group in group(tables(paths, notes, column_map)):
        yield table_group.name, material(table_group)
    if notes:
        yield "the files", remarks(notes)


def remarks(notes: Iterable[str]) -> Material:
    """Return a material that only tells what could not be read."""
    return Material(frame([], TEXTS), frame([], RATINGS), {}, {}, tuple(notes))


def material(table_group: Group) -> Material:
    """Read the texts and ratings of tables of one kind."""
    texts: list[tuple[object, ...]] = []
    ratings: list[tuple[object, ...]] = []
    options: dict[str, None] = {}
    sampled_rows = list(islice(zip_longest(*(part.table.rows for part in table_group.parts)), LOOKED_AT))
    columns = roles([row for rows in sampled_rows for row in rows if row is not None])
    if not _versions(table_group, columns):
        table_group = table_group._replace(parts=[part._replace(system=None) for part in table_group.parts])
    if columns.system and all(part.system for part in table_group.parts) and _constant(table_group, columns.system):
        columns = columns._replace(system=None)  # the files' names tell systems, runs or settings apart
    repeats: set[tuple[object, ...]] = set()
    for part in table_group.parts:
        for number, row in enumerate(part.table.rows):
            texts += _texts(part, columns, number, row)
            for rating in _ratings(part, columns, number, row):
                verdict = (*rating[:4], rating[6])
                if (
                    rating[3] == "model" or verdict not in repeats
                ):  # each system's file repeats gold labels and people's values
                    ratings.append(rating)
                    repeats.add(verdict)
            if columns.options:
                options |= dict.fromkeys(letters(row.get(columns.options, "")))
    offered = {LABEL: tuple(sorted(options))} if options else {}
    return Material(frame(texts, TEXTS), frame(ratings, RATINGS), {}, offered)


def _versions(table_group: Group, columns: Roles) -> bool:
    """Whether the tables are several systems' or runs' versions of the same items; else their names tell no systems."""
    inputs = [name for name, kind in columns.texts.items() if kind not in {"reply", "verdict"}]
    first, *others = (
        {row[name] for row in part.table.rows for name in inputs if name in row} for part in table_group.parts
    )
    named = all(part.system and names_model(part.system) for part in table_group.parts)
    return named or not inputs or all(2 * len(first & other) >= min(len(first), len(other)) for other in others)


def _constant(table_group: Group, column: str) -> bool:
    return all(len({row.get(column) for row in part.table.rows}) == 1 for part in table_group.parts)


def _texts(part: GroupTable, columns: Roles, number: int, row: Row) -> Iterator[tuple[object, ...]]:
    system, split = _system(part, columns, row), _cell(row, columns.split) or part.split
    for name, kind in columns.texts.items():
        if name in row or (kind == "reply" and any(name in other for other in part.table.rows[:LOOKED_AT])):
            label = None if kind == "verdict" else _cell(row, columns.label)
            yield (
                part.table.name, number, kind, _cell(row, columns.id), row.get(name, ""), system, _cell(row, columns.source),
                split, label,
            )  # fmt: skip


def _ratings(part: GroupTable, columns: Roles, number: int, row: Row) -> Iterator[tuple[object, ...]]:
    system = _system(part, columns, row)
    item = _cell(row, columns.id) or str(number)
    if part.split or not part.system:
        item = f"{part.split or part.table.name}:{item}"
    location = (part.table.name, number)
    if columns.label and len(part.table.rows) > 1:
        yield item, LABEL, "gold", "gold", None, *_value(row.get(columns.label)), None, item, *location
    for name in filter(row.__contains__, columns.answers):
        rater = system or leaf(name)
        yield item, LABEL, rater, "model", None, *_value(row.get(name)), rater, item, *location
    for name, (criterion, rater) in columns.scores.items():
        if name not in row:  # in a file of another system
            continue
        value = _value(row[name])
        if rater == "human":
            yield item, criterion, rater, "person", None, *value, None, item, *location
        elif rater == "model":
            yield item, criterion, system or rater, "model", None, *value, system or rater, item, *location
        else:
            subject = f"{system}:{item}" if system else item
            yield subject, criterion, rater, "model", None, *value, system, item, *location


def _cell(row: Row, name: str | None) -> str | None:
    return row.get(name) if name else None


def _system(part: GroupTable, columns: Roles, row: Row) -> str | None:
    return _cell(row, columns.system) or part.system


def _value(cell: str | None) -> tuple[str, str | None]:
    """Return a rating's status and value."""
    return ("ok", cell) if cell else ("missing", None)
