"""Psychological diagnosis: which label do the holders of D4 and SWMH give to what a person writes?

Yao et al., D4, EMNLP 2022; Ji et al., SWMH, 2022; as a task of TrustMH-Bench, arXiv 2603.03047. Departures from the
paper: card.toml.

A file belongs to the set whose name, `d4` or `swmh`, stands in its path (`d4/train.json`, `swmh_test.csv`), the last
one where both do. Columns are found by their usual names; a file `columns.toml` beside a file names others:
`text = "post"`, `label = "class"`, where a dot leads into an object (`"portrait.level"`).
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import (
    STATUS_RATES,
    accuracy,
    accuracy_of_read,
    fleiss_kappa,
    levels_off,
    macro_f1,
    quadratic_kappa,
    weighted_f1,
)
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease
from mindgauge.benchmarks.variants.options import generator, order
from mindgauge.records import Message, Sample, Value
from mindgauge.records.errors import DataError, MissingDataError
from mindgauge.records.files import bounds, mapping, tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mindgauge.benchmarks.trustmh.released.files import SourceFile
    from mindgauge.records import Role


D4, SWMH = "d4", "swmh"
COLUMNS = {
    "text": ("text", "dialogue", "dialog", "conversation", "messages", "log", "post", "content", "utterances"),
    "label": ("label", "severity", "depression_severity", "depression", "depression_risk", "drisk", "risk", "class"),
}
"""The usual names of the two columns, in the order in which they are looked for; letter case aside."""
SPEAKERS = ("speaker", "role", "from")
WORDS = ("text", "content", "utterance", "value")
_SEVERITIES = {
    "control": ("0", "none", "healthy", "normal", "no depression", "无", "正常", "健康", "对照", "无抑郁"),
    "mild": ("1", "mild depression", "轻度", "轻度抑郁"),
    "moderate": ("2", "moderate depression", "中度", "中度抑郁"),
    "severe": ("3", "severe depression", "重度", "重度抑郁"),
}
_COMMUNITIES: dict[str, tuple[str, ...]] = {
    name: (f"self.{name}",) for name in ("anxiety", "bipolar", "depression", "suicidewatch", "offmychest")
}
_LABELS = {D4: _SEVERITIES, SWMH: _COMMUNITIES}
_ASKING = ("doctor", "assistant", "supporter", "counselor", "counsellor", "therapist", "医生", "大夫", "咨询师")
_ASKED = ("patient", "user", "person", "seeker", "client", "患者", "病人", "来访者", "求助者")
_WHO: dict[str, Role] = {**dict.fromkeys(_ASKING, "assistant"), **dict.fromkeys(_ASKED, "user")}
_TURN = re.compile(rf"\s*({'|'.join(_WHO)})\s*[:：]\s*", re.IGNORECASE)
_SET = re.compile(r"(?<![a-z0-9])(d4|swmh)(?![a-z0-9])")
_SPLIT = re.compile(r"(?<![a-z])(train|val|dev|test)")
_SPLITS = {"train": "train", "val": "validation", "dev": "validation", "test": "test"}


def cases(files: TrustMHRelease, name: str) -> list[Sample]:
    """Read all files of D4 or SWMH; none where there are none. `split` is `whole` where a file's name does not say which.

    Raises:
        DataError: a file is broken, its columns are not found, or a label is none of the set's.
    """
    return [
        case
        for path, file in files.files.items()
        if _set_of(files, path) == name
        for case in _cases(files, path, file, name)
    ]


def _set_of(files: TrustMHRelease, path: str) -> str:
    """Return which of the two sets a file belongs to; empty for neither."""
    if not path.lower().endswith(tables.ENDINGS):
        return ""
    named = _SET.findall(f"{files.folder.resolve().name}/{path}".lower())
    return named[-1] if named else ""


def _cases(files: TrustMHRelease, path: str, file: SourceFile, name: str) -> Iterator[Sample]:
    column_names = _said(files, path)
    split = _SPLIT.search(PurePosixPath(path).name.lower())
    table = file.opened(layout=mapping.layout(column_names))
    for number, row in table.rows():
        place = f"{file.source}:{number}"
        messages = _messages(_cell(row, "text", column_names, place), place)
        label = _label(_cell(row, "label", column_names, place), _LABELS[name], place)
        tags = {"set": name, "language": LANGUAGES[name], "split": _SPLITS[split[0]] if split else "whole"}
        if name == D4:
            yield Sample.of(messages, target=label, tags=tags)
        else:
            yield Sample.of(messages, tags={**tags, TARGET_OF_CONDITION: label})


def _said(files: TrustMHRelease, path: str) -> dict[str, str]:
    """Return what `columns.toml` beside a file says; nothing where there is none."""
    file = files.files.get(PurePosixPath(path).with_name(mapping.FILE).as_posix())
    column_names = {} if file is None else mapping.from_file(file.file)
    odd = next((field for field in column_names if field not in {*COLUMNS, *mapping.LAYOUT}), None)
    if odd is not None:
        raise DataError(f"{mapping.FILE} beside {path}: expected columns for text and label, found {odd} = {column_names[odd]!r:.60}")  # fmt: skip
    return column_names


def _cell(row: dict[str, Any], field: str, column_names: dict[str, str], place: str) -> Any:
    wanted = (column_names[field],) if field in column_names else COLUMNS[field]
    names = {str(name).casefold(): name for name in row}
    for column in wanted:
        value: Any = row.get(names.get(column.casefold(), column))
        if value is None and "." in column:
            value = _within(row, column)
        if value is not None:
            return value
    raise DataError(
        f"{place}: expected the {field} in a column {' or '.join(wanted)}, found {', '.join(map(str, row)) or 'nothing'};"
        f" name it in {mapping.FILE}"
    )


def _within(row: dict[str, Any], path: str) -> Any:
    value: Any = row
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _label(value: Any, labels: dict[str, tuple[str, ...]], place: str) -> str:
    spelling = str(value).strip().casefold()
    name = next((label for label, spellings in labels.items() if spelling in (label, *spellings)), None)
    if name is None:
        raise DataError(f"{place}: expected a label among {', '.join(labels)}, found {str(value)[:40]!r}")
    return name


def _messages(value: Any, place: str) -> tuple[Message, ...]:
    """Read a post, or a conversation up to the last turn of the person that it is about."""
    if isinstance(value, str) and value.lstrip().startswith("[{"):
        value = _decoded(value, place)
    turns = _lines(value.splitlines()) if isinstance(value, str) else _turns(value, place)
    spoken = [turn for turn in turns if turn.content]
    last = max((number for number, turn in enumerate(spoken, 1) if turn.role == "user"), default=0)
    if not last:
        raise DataError(f"{place}: expected something that the person says, found none")
    return tuple(spoken[:last])


def _decoded(value: str, place: str) -> Any:
    try:
        return bounds.json_value(value)
    except ValueError as error:
        raise DataError(f"{place}: expected the conversation as JSON, found {error}") from None


def _turns(value: Any, place: str) -> list[Message]:
    if isinstance(value, list) and value and all(isinstance(turn, str) for turn in value):
        return _lines(value)
    if not isinstance(value, list) or not all(isinstance(turn, dict) for turn in value):
        raise DataError(
            f"{place}: expected a text or a list of turns, found {json.dumps(value, ensure_ascii=False)[:40]}"
        )
    return [_turn(turn, f"{place}: turn {number}") for number, turn in enumerate(value, 1)]


def _turn(turn: dict[str, Any], place: str) -> Message:
    speaker, words = (next((turn[key] for key in keys if key in turn), None) for keys in (SPEAKERS, WORDS))
    role = _WHO.get(str(speaker).strip().casefold())
    if role is None or not isinstance(words, str):
        wanted = f"{' or '.join(SPEAKERS)} (a doctor or a patient) and {' or '.join(WORDS)}"
        raise DataError(f"{place}: expected {wanted}, found {json.dumps(turn, ensure_ascii=False)[:60]}")
    return Message(role, words.strip())


def _lines(lines: Iterable[str]) -> list[Message]:
    """Read a conversation whose turns begin with who speaks; where no line does, the person says it all."""
    messages: list[Message] = []
    for line in lines:
        opening = _TURN.match(line)
        if opening:
            messages.append(Message(_WHO[opening[1].casefold()], line[opening.end() :].strip()))
        elif messages:
            messages[-1] = Message(messages[-1].role, f"{messages[-1].content}\n{line}".strip())
        else:
            messages.append(Message("user", line.strip()))
    return messages


LANGUAGES = {D4: "zh", SWMH: "en"}
TARGET_OF_CONDITION = "target.condition"
DRAWN = 200
"""How many samples of each part of a set `read_drawn` takes."""


def read(data: Path) -> list[Sample]:
    """Read whichever of the two sets is there, D4 first; a text that stands there several times is one sample.

    Raises:
        DataError: neither is there, or a file is broken.
    """
    files = TrustMHRelease.below(data)
    samples: dict[str, Sample] = {}
    for name in LANGUAGES:
        for sample in cases(files, name):
            samples.setdefault(sample.id, sample)
    if not samples:
        raise MissingDataError(
            f"{data}: no D4 or SWMH here, in a folder d4 or swmh; their owners provide them for research"
            " (D4: x-lance.github.io/D4, SWMH: AIMH/SWMH)"
        )
    return [*samples.values()]


def read_drawn(data: Path) -> list[Sample]:
    """Read 200 samples of each part of each set, drawn, with as many of each label as there are.

    Raises:
        DataError: neither set is there, or a file is broken.
    """
    samples = read(data)
    turns: Counter[tuple[str, ...]] = Counter()
    ranked: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for place in order(generator("diagnosis", "drawn"), len(samples)):
        tags = samples[place].tags
        part, label = (tags["set"], tags["split"]), str(samples[place].target or tags[TARGET_OF_CONDITION])
        turns[*part, label] += 1
        ranked[part].append((turns[*part, label], place))
    return [samples[place] for place in sorted(place for part in ranked.values() for _, place in sorted(part)[:DRAWN])]


HERE = Path(__file__).parent


def _severities(levels: tuple[Value, ...]) -> bool:
    return "control" in levels


diagnosis = Benchmark.from_folder(
    HERE,
    read=read,
    metrics=(
        macro_f1,
        accuracy,
        accuracy_of_read,
        weighted_f1,
        *(msgspec.structs.replace(metric, supports=_severities) for metric in (quadratic_kappa, levels_off)),
        fleiss_kappa,
        *STATUS_RATES,
    ),
    slices=("set",),
    keep={"split": ("test", "whole")},
)
