"""Which tables belong together: files of one kind for several systems, runs or splits."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.audit.reading.tables import AuditTable

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
