"""Transcripts in tables: a dialogue a row, a message a row, or a message and its reply a row; JSON of any of these."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records import content, drawn
from mindgauge.records.english import named
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, texts
from mindgauge.records.files.mapping import TAG, described
from mindgauge.records.text import visible
from mindgauge.records.transcripts import labelled
from mindgauge.records.transcripts.account import ROW
from mindgauge.records.transcripts.transcript import Transcript, Utterance, folded, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.records.files.input_table import InputTable
    from mindgauge.records.transcripts.transcript import Speakers, Tally


ROLE = ("role", "from", "speaker", "sender", "author")
CONTENT = ("content", "value", "text", "message", "utterance", "parts")
"""Keys of a message, in the order in which they are looked for."""
_CALLS = ("tool_calls", "function_call")
_PAIR = 2


def is_message(item: object) -> bool:
    """Whether an object looks like a message: somebody says something."""
    return isinstance(item, dict) and any(k in item for k in ROLE) and any(k in item for k in (*CONTENT, *_CALLS))


def message_utterances(value: Any, place: str, speakers: Speakers, tally: Tally) -> tuple[list[Utterance], str]:
    """Read a dialogue from JSON, or from a cell with JSON or with lines that name their speakers.

    Returns:
        Who says what; the line that notes the end of the conversation; as `labelled.utterances`.

    Raises:
        DataError: it is no dialogue, or not one of a person and a bot; the message names `place`.
    """
    if isinstance(value, str):
        try:
            value = bounds.json_value(value) if value.lstrip().startswith(("[", "{")) else bounds.clean(value)
        except bounds.Fault as error:
            if not labelled.has_speakers(value, place, speakers):
                raise DataError(f"{place}: the dialogue is not JSON ({error})") from error
    if isinstance(value, str):
        return labelled.utterances(value, place, speakers, tally)
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if not isinstance(value, list):
        raise DataError(f"{place}: expected a list of messages, found {type(value).__name__}")
    if value and all(isinstance(item, str) for item in value):
        return labelled.utterances(bounds.clean("\n\n".join(value)), place, speakers, tally)
    spoken = list(_message_text(value, place, speakers, tally))
    return told_apart(spoken, place, speakers, tally), ""


def told_apart(spoken: Sequence[tuple[str, str]], place: str, speakers: Speakers, tally: Tally) -> list[Utterance]:
    """Say of each speaker which side it is.

    Args:
        spoken: names of speakers, and what they say.
        place: where the dialogue stands, for messages.
        speakers: who is who.
        tally: counts the names.

    Raises:
        DataError: a speaker is unknown, or two are on one side and nothing says so.
    """
    names = {name: speakers.part(name) for name, _ in spoken}
    sides = [name for name, part in names.items() if part in {None, "user", "assistant"}]
    distinct = {(names[name], name.casefold()) for name in sides}
    doubled = any(
        part not in speakers.mapped and sum(other == part for other, _ in distinct) > 1
        for part, _ in distinct
        if part is not None
    )
    if doubled or any(names[name] is None for name in sides):
        raise refusal(place, sides, speakers)
    tally.speakers.update({(part, name) for name, part in names.items() if part is not None})
    return [Utterance(part, text) for name, text in spoken if (part := names[name]) is not None]


def _message_text(items: list[Any], place: str, speakers: Speakers, tally: Tally) -> Iterator[tuple[str, str]]:
    for number, item in enumerate(items, 1):
        message_place = f"{place}, message {number}"
        if isinstance(item, list) and len(item) == _PAIR and all(isinstance(text, str | None) for text in item):
            for name, text in zip(("user", "assistant"), item, strict=True):
                if text is not None:
                    yield name, bounds.clean(text)
        elif not isinstance(item, dict):
            raise DataError(
                f"{message_place}: expected an object with a role and a content, found {type(item).__name__}"
            )
        elif any(key in item for key in ROLE):
            name = name_of(item, message_place)
            text, parts = text_of(item, message_place)
            tally.parts += parts
            if not text and parts and speakers.part(name) == "assistant":
                continue  # it called a tool, and told the person nothing
            yield name, text
        elif item and all(speakers.part(str(key)) and isinstance(text, str) for key, text in item.items()):
            yield from ((str(key), bounds.clean(text)) for key, text in item.items())
        else:
            raise DataError(
                f"{message_place}: no role in it ({', '.join(ROLE)}), found {', '.join(map(str, item)) or 'nothing'}"
            )


def name_of(item: Mapping[str, Any], place: str) -> str:
    """Return the name of who says a message.

    Raises:
        DataError: the role is no text.
    """
    value = next((item[key] for key in ROLE if key in item), None)
    if isinstance(value, dict):
        value = value.get("role", value.get("name"))
    if not isinstance(value, str | int) or not str(value).strip():
        raise DataError(f"{place}: the role must be text, found {str(value)[:40]!r}")
    return bounds.clean(str(value)).strip()


def text_of(item: Mapping[str, Any], place: str) -> tuple[str, int]:
    """Return the text of a message, and how many parts of it are none.

    Raises:
        DataError: the content is no text and no list of parts.
    """
    key = next((key for key in CONTENT if item.get(key) is not None), "")
    value = item.get(key)
    calls = sum(bool(item.get(name)) for name in _CALLS)
    if isinstance(value, dict | list):
        parts = content.read(value)
        assert parts is not None
        return bounds.clean(parts.text()).strip(), calls + len(parts.reasoning) + parts.others
    if value is not None and not isinstance(value, str | int | float):
        raise DataError(f"{place}: the content must be text, found {type(value).__name__}")
    return bounds.clean("" if value is None else str(value)).strip(), calls


KNOWN = ("id", "cluster", "persona", "participant", "model", "run", "language", "category")
"""What may be known of a dialogue, in a column each."""
_TAGS = ("persona", "participant", "language", "category")
_IDENTITY = ("cluster", "persona", "participant", "model", "run")
"""What all messages of a dialogue share."""
_USUAL = {
    "messages": ("messages", "conversation", "conversations", "dialogue", "dialog", "dialogues", "history", "turns", "chat", "transcript", "对话"),
    "conversation": (
        "conversation", "conversation_id", "conversationid", "conv_id", "conv", "dialogue_id", "dialog_id", "dialogue", "dialog",
        "chat_id", "chat", "session_id", "session", "thread_id", "thread", "transcript_id", "transcript", "对话",
    ),
    "role": (*ROLE, "角色"),
    "content": (*CONTENT, "body", "内容"),
    "turn": ("turn", "turn_id", "turn_index", "turn_number", "position", "order", "index", "message_index"),
    "time": ("time", "timestamp", "created_at", "sent_at", "datetime", "date", "create_time"),
}  # fmt: skip
"""What a column may be called that holds the dialogue, or a part of it; the first that is there counts."""
NAMES = (*_USUAL, *KNOWN)
"""Columns that `--map` may name, beside `tag.NAME`."""


class UnreadError(DataError):
    """A file that holds no transcript as far as one can see."""


class _Said(NamedTuple):
    """A row that holds a message, or a message and its reply."""

    row: Mapping[str, Any]
    line: int
    spoken: list[tuple[str, str]]


def transcripts(
    table: InputTable, name: str, mapped: Mapping[str, str], speakers: Speakers, tally: Tally
) -> Iterator[Transcript]:
    """Read the transcripts of a table.

    Args:
        table: that holds them.
        name: by which those are called that have no id.
        mapped: our name → the table's column.
        speakers: who is who.
        tally: what is counted.

    Raises:
        UnreadError: no column holds dialogues or messages.
        DataError: a dialogue is broken; the message names the line.
    """
    if not table.headers:
        raise UnreadError(f"{table}: holds nothing, no column and no row")
    columns = _columns(table.headers, mapped)
    others = {*columns.values()}  # a participant and a model are no sides
    sides = [h for h in table.headers if speakers.part(h) in {"user", "assistant"} and h not in others]
    whole_rows = "messages" in mapped or columns.get("messages") != columns.get("conversation")
    exchanges = len({speakers.part(header) for header in sides}) > 1 and not whole_rows
    by_message = {"role", "content"} <= {*columns} and "messages" not in mapped
    if not (by_message or exchanges) and "messages" not in columns:
        raise UnreadError(
            f"{table}: no column holds dialogues; a dialogue a row has `messages`, a message a row has `role` and `content` (and "
            f"`conversation`): name them with --map messages=COLUMN or --map conversation=COLUMN,role=COLUMN,content=COLUMN; the columns "
            f"are {described(table.headers)}"
        )
    if not (by_message or exchanges):
        row_columns = {key: column for key, column in columns.items() if key == "messages" or key not in _USUAL}
        if "conversation" in columns and columns["conversation"] != columns["messages"]:
            row_columns.setdefault("id", columns["conversation"])
        yield from _dialogues(table, name, row_columns, speakers, tally)
        return
    used = {key: column for key, column in columns.items() if key != "messages" or key in mapped}
    if not by_message:
        used = {key: column for key, column in used.items() if key not in {"role", "content"}}
    yield from _grouped(table, name, used, speakers, tally, () if by_message else sides)


def _columns(headers: Sequence[str], mapped: Mapping[str, str]) -> dict[str, str]:
    spelled: dict[str, str] = {}
    for header in headers:
        spelled.setdefault(header.strip().casefold().replace(" ", "_"), header)
    usual = {**_USUAL, **{key: (key,) for key in KNOWN}}
    usual_columns = {
        key: next((spelled[name] for name in names if name in spelled), "") for key, names in usual.items()
    }
    tags = {header: header for header in headers if header.startswith(TAG) and header != TAG}
    lot = {name: name for name in (*drawn.COLUMNS, drawn.WEIGHT) if name in headers and "probability" in headers}
    return {**tags, **lot, **{key: header for key, header in usual_columns.items() if header}, **mapped}


def _dialogues(
    table: InputTable, name: str, columns: Mapping[str, str], speakers: Speakers, tally: Tally
) -> Iterator[Transcript]:
    for line, cells in table.rows(columns):
        row, place = texts.filled(cells, {"messages"}), f"{table}:{line}"
        if row.get("messages") is None:
            tally.left_out.append(f"{place}: the row has no dialogue")
            continue
        spoken, ending = message_utterances(row["messages"], place, speakers, tally)
        transcript = composed(
            spoken,
            f"{name}:{line}",
            tally,
            source=str(table),
            line=line,
            ending=ending,
            shape=ROW,
            **of_row(row, place),
        )
        if transcript is not None:
            yield transcript


def _grouped(
    table: InputTable, name: str, columns: Mapping[str, str], speakers: Speakers, tally: Tally, sides: Sequence[str]
) -> Iterator[Transcript]:
    rows = [(line, texts.filled(cells)) for line, cells in table.rows(columns)]
    group_column = "conversation" if "conversation" in columns else ""
    if not group_column and "id" in columns:
        ids = [row.get("id") for _, row in rows]
        group_column = "id" if len({str(ident) for ident in ids}) < len(ids) else ""
    if not group_column and not rows:
        return
    groups: dict[str, list[_Said]] = {}
    for line, row in rows:
        place = f"{table}:{line}"
        ident = texts.words(row, group_column).get(group_column, "") if group_column else name
        if not ident:
            raise DataError(
                f"{place}: no {columns[group_column]!r}, so that nobody knows to which dialogue the row belongs"
            )
        groups.setdefault(ident, []).append(_Said(row, line, _spoken(row, place, speakers, tally, sides)))
    kind = "a message and its reply a row" if sides else "a message a row"
    shape = f"{kind}, one for each {columns[group_column]!r}" if group_column else f"{kind}, one for each file"
    for ident, said_rows in groups.items():
        place = f"{table}:{said_rows[0].line}" + (f" (dialogue {ident[:60]!r})" if group_column else "")
        ordered = _ordered(said_rows, place, tally)
        spoken = told_apart([pair for said_row in ordered for pair in said_row.spoken], place, speakers, tally)
        fields = of_row(_shared([said_row.row for said_row in said_rows], place, tally), place)
        if group_column:
            fields |= {"id": ident, "named": True}
        else:
            fields |= {"named": False, "id": ""}
        transcript = composed(spoken, name, tally, source=str(table), line=said_rows[0].line, shape=shape, **fields)
        if transcript is not None:
            yield transcript


def _spoken(
    row: Mapping[str, Any], place: str, speakers: Speakers, tally: Tally, sides: Sequence[str]
) -> list[tuple[str, str]]:
    if sides:
        return [(side, text_of({"content": row[side]}, place)[0]) for side in sides if side in row]
    if not texts.words(row, "role").get("role"):
        raise DataError(f"{place}: no role, so that nobody knows who speaks")
    text, parts = text_of(row, place)
    tally.parts += parts
    role = name_of(row, place)
    return [] if not text and parts and speakers.part(role) == "assistant" else [(role, text)]


def _ordered(rows: list[_Said], place: str, tally: Tally) -> list[_Said]:
    """Return the rows of a dialogue in the order of their turns, else of their times, else as they stand."""
    if any("turn" in row.row for row in rows):
        return sorted(rows, key=lambda row: texts.whole(row.row.get("turn"), f"{place}: line {row.line}", "turn"))
    if not any("time" in row.row for row in rows):
        return rows
    times = [_time(row.row.get("time")) for row in rows]
    read_times = [time for time in times if time is not None]
    if len(read_times) < len(rows):
        tally.notes.append(f"{place}: its times are not read as such ({str(rows[times.index(None)].row.get('time', 'none'))[:40]!r}); the messages are in the order of the rows")  # fmt: skip
        return rows
    return [rows[index] for index in sorted(range(len(rows)), key=read_times.__getitem__)]


def _time(cell: object) -> float | None:
    """Return a time in seconds; one without a zone counts as UTC."""
    if isinstance(cell, datetime.datetime):
        moment = cell
    elif isinstance(cell, int | float) and not isinstance(cell, bool):
        return float(cell)
    else:
        try:
            moment = datetime.datetime.fromisoformat(str(cell).strip())
        except ValueError:
            try:
                return float(str(cell))
            except ValueError:
                return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()


def _shared(rows: list[Mapping[str, Any]], place: str, tally: Tally) -> dict[str, Any]:
    """Return what the rows of a dialogue say of it: of what differs between them, nothing.

    Raises:
        DataError: it has two models, runs, people or clusters.
    """
    names = dict.fromkeys(name for row in rows for name in row if name in KNOWN or name.startswith(TAG))
    shared: dict[str, Any] = {}
    for name in names:
        values = list(dict.fromkeys(texts.words(row, name)[name] for row in rows if name in row))
        if len(values) == 1:
            shared[name] = values[0]
        elif name in _IDENTITY:
            raise DataError(f"{place}: several values of {name} in one dialogue ({named([repr(v[:40]) for v in values])}); a dialogue has one")  # fmt: skip
        elif name != "id":
            note = f"{name} differs between messages of one dialogue, so that it is not kept"
            tally.notes.extend([note] if note not in tally.notes else [])
    return shared


def of_row(row: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return what a row says of its dialogue, as fields of a transcript.

    Raises:
        DataError: the run is no whole number; the message names `place`.
    """
    cells = texts.words(row, *KNOWN)
    cluster = cells.get("cluster") or cells.get("persona") or cells.get("participant") or ""
    others = {name.removeprefix(TAG): name for name in row if name.startswith(TAG) and name != TAG}
    tags = {name: texts.restored(cell) for name, column in others.items() for cell in texts.words(row, column).values()}
    return {
        "id": cells.get("id", ""),
        "named": bool(cells.get("id")),
        "cluster": cluster,
        "model": cells.get("model", ""),
        "run": texts.whole(row["run"], place, "run") if "run" in row else 0,
        "drawn": drawn.of_row(row, place),
        "tags": {**{name: cells[name] for name in _TAGS if name in cells}, **tags},
    }


def composed(utterances: Sequence[Utterance], name: str, tally: Tally, **fields: Any) -> Transcript | None:
    """Make a transcript of what was said; None, with a word in the account, where nobody says anything.

    Args:
        utterances: who says what.
        name: its id, where the fields have none.
        tally: what is counted.
        fields: of the transcript.

    Raises:
        DataError: it has more turns than are read.
    """
    system, dialogue = folded(utterances, tally)
    place = f"{fields['source']}:{fields['line']}" if fields.get("line") else fields["source"]
    turns = sum(message.role == "user" for message in dialogue)
    if turns > bounds.TURNS:
        ident = visible(str(fields.get("id") or name))[:60]
        raise DataError(f"{place}: dialogue {ident!r}: {bounds.excess(turns, 'turns', bounds.TURNS, 'split it into several dialogues, such as one for each day')}")  # fmt: skip
    if not any(message.content.strip() for message in dialogue):
        tally.left_out.append(f"{place}: nobody says anything in it")
        return None
    ident = fields.pop("id", "") or name
    return Transcript(ident, dialogue, system=system, **fields)


# JSON: what stands in a file, as rows.


def of_json(value: Any, place: str) -> list[dict[str, Any]]:
    """Return the rows that JSON holds: dialogues, or the messages of one.

    Raises:
        UnreadError: it holds neither.
    """
    json_rows = _of_object(value, place) if isinstance(value, dict) else _of_list(value, place)
    if not json_rows:
        raise UnreadError(f"{place}: no dialogues in it as far as one can see; expected a list of messages, or of objects with `messages`")  # fmt: skip
    return json_rows


def _of_object(value: dict[str, Any], place: str) -> list[dict[str, Any]]:
    holder = next((key for key in _USUAL["messages"] if isinstance(value.get(key), list | str)), "")
    if holder and not _nested(value[holder]):
        return [value]
    if all(isinstance(part, list) and part and all(map(is_message, part)) for part in value.values()):
        return [{"id": key, "messages": part} for key, part in value.items()]
    if not holder and "mapping" in value:
        return [_exported(value, place)]
    lists = [part for part in value.values() if isinstance(part, list) and part]
    inner = value[holder] if holder else lists[0] if len(lists) == 1 else None
    return of_json(inner, place)


def _of_list(value: Any, place: str) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        return []
    if all(isinstance(item, dict) for item in value):
        keys = {*_USUAL["messages"]}
        return [_exported(item, place) if "mapping" in item and not keys & {*item} else item for item in value]
    if all(isinstance(item, str) for item in value) or all(map(_pair, value)):
        return [{"messages": value}]
    return [{"messages": item} for item in value] if all(isinstance(item, list) for item in value) else []


def _nested(value: object) -> bool:
    """Whether it is a list of dialogues rather than of messages."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and any(isinstance(first.get(key), list) for key in _USUAL["messages"])


def _pair(item: object) -> bool:
    return isinstance(item, list) and len(item) == 2 and all(isinstance(text, str) for text in item)


def _exported(item: dict[str, Any], place: str) -> dict[str, Any]:
    """Return the dialogue of an export of ChatGPT, which keeps a tree of messages: the branch that was shown last.

    Raises:
        UnreadError: it is no such tree.
    """
    tree, node = item.get("mapping"), item.get("current_node")
    branch: list[Any] = []
    while (
        isinstance(tree, dict)
        and isinstance(node, str)
        and isinstance(tree.get(node), dict)
        and len(branch) <= len(tree)
    ):
        branch.append(tree[node].get("message"))
        node = tree[node].get("parent")
    spoken = [message for message in reversed(branch) if is_message(message)]
    if not spoken or len(branch) > len(tree or ()):
        raise UnreadError(f"{place}: a `mapping` of messages without a branch that leads to `current_node`")
    ident = item.get("id", item.get("conversation_id"))
    return {**({"id": ident} if isinstance(ident, str) else {}), "messages": spoken}
