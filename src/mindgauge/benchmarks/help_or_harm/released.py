"""The authors' files as they released them: which there are, what their names say, and what their cells mean.

Files are found by name, wherever they lie below the folder given: any model, any time stamp, any number of rows, and
every spelling the authors used. Positions in a file (`row`) count from 0, as the authors' own indices do.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks.released import source_name
from mindgauge.records.errors import DataError, MissingDataError
from mindgauge.records.files import folder
from mindgauge.records.files.bounds import clean
from mindgauge.records.files.folder import Readable
from mindgauge.records.files.texts import read_records

if TYPE_CHECKING:
    from collections.abc import Iterable

CATEGORIES = (
    "suicidal_ideation",
    "self-harm",
    "anxiety_crisis",
    "violent_thoughts",
    "substance_abuse_or_withdrawal",
    "risk_taking_behaviours",
    "no_crisis",
)
_CATEGORY_ALIASES = {
    "suicidal-ideation": "suicidal_ideation",
    "risk-taking": "risk_taking_behaviours",
    "substance-use/withdrawal": "substance_abuse_or_withdrawal",
    "substance_abuse/withdrawal": "substance_abuse_or_withdrawal",  # a stale label of one source data set
}
# Two ids for one data set, and the spelling of the older sample.
_SOURCE_ALIASES = {"hugg_6": "hugg_2"}

_TIME = r"\d{8}-\d{6}"
_ANSWERS = rf"(?P<model>.+)-answers-(?P<dataset>.+)-(?P<time>{_TIME})"
_LABELLED = r"label+ed"  # labeled, labelled
_MERGED = r"-merged[-_]labels"
# Tried in this order: the people's consensus would also pass as the merged labels of a model called "human".
_LONGEST = 255
"""Characters of a file's name; no file system has longer ones."""
_PATTERNS = {
    kind: re.compile(pattern + r"\.json")
    for kind, pattern in {
        "human_labels": rf"(?P<rater>H\d+)_{_LABELLED}_.+",
        "human_scores": r"(?P<rater>H\d+)_scores_.+",
        "consensus": rf"human-{_LABELLED}-.+{_MERGED}",
        "merged_labels": rf"(?P<model>.+)-{_LABELLED}-(?P<dataset>.+){_MERGED}",
        "labels": rf"(?P<model>.+)-{_LABELLED}-(?P<dataset>.+)-(?P<time>{_TIME})",
        "judgements": rf"(?P<judge>.+)-evaluation_{_ANSWERS}_(?P<again>{_TIME})",
        "merged_judgements": rf"(?P<judge>.+)-evaluation_{_ANSWERS}_merged",
        "answers": _ANSWERS,
        "lowest": r"sampled_lowest_scores_n?\d+(?:__(?P<rater>.+))?",
        "inputs": r"(?P<dataset>sampled_dataset_.+)",
    }.items()
}
_FOLDERS = ("processed", "human_label", "llm_label", "llm_answer", "llm_evaluator")
EXPECTED = (
    "expected the authors' data/ with processed/sampled_dataset_*.json, human_label/H*_labeled_*.json, "
    "llm_label/*-labeled-*.json, llm_answer/*-answers-*.json or llm_evaluator/*/*/*-evaluation_*.json"
)
OBTAIN = "copy the folder data/ of ellisalicante/LLMs-Mental-Health-Crisis there"


class ReleasedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One released file and what its name says. Parts that a kind of file has not are empty.

    `source` is its path below the authors' data folder, the same wherever the user keeps that folder; `again` is the
    time stamp of the evaluation, `time` that of the labels or answers; `rater` is a person, or the judge of a set of
    lowest scores (empty: the first judge's).
    """

    path: Readable
    source: str
    kind: str
    rater: str = ""
    judge: str = ""
    model: str = ""
    dataset: str = ""
    time: str = ""
    again: str = ""

    def rows(self) -> list[dict[str, Any]]:
        """Read its rows.

        Raises:
            DataError: it is broken, or a row has no `inputs`; the message names the line or row.
        """
        rows = read_records(self.path)
        for number, row in enumerate(rows):
            inputs = row.get("inputs")
            if not isinstance(inputs, str) and not (
                isinstance(inputs, list) and all(isinstance(s, str) for s in inputs)
            ):
                raise DataError(f"{self.path}: row {number} needs `inputs`, a list of sentences")
        return rows


class HelpOrHarmRelease(msgspec.Struct, frozen=True):
    """The released files that are there, in the order of their names."""

    root: Path
    files: tuple[ReleasedFile, ...]
    notes: tuple[str, ...]

    def of(self, kind: str, **parts: str) -> list[ReleasedFile]:
        """Return the files of a kind whose names have these parts."""
        return [f for f in self.files if f.kind == kind and all(getattr(f, k) == v for k, v in parts.items())]


def find(data: Path) -> HelpOrHarmRelease:
    """Find the released files below a folder.

    Raises:
        DataError: there is no such folder, or nothing of theirs in it.
    """
    folder.need(data, EXPECTED)
    by_name: dict[str, ReleasedFile] = {}
    lying = folder.below(data)
    notes = [f"{line}; not read" for line in lying.broken]
    for path in lying.all:
        named = parse_name(path.name)
        if named is None:
            continue
        kind, parts = named
        file = ReleasedFile(path=path, source=source_name(path.place, data, _FOLDERS), kind=kind, **parts)
        if path.name in by_name:
            notes.append(f"{file.source}: a second file of this name, not read (first: {by_name[path.name].source})")
        else:
            by_name[path.name] = file
    if not by_name:
        raise MissingDataError(f"{data}: none of the released files here; {EXPECTED}; {OBTAIN}")
    in_order = sorted(by_name.values(), key=lambda file: (file.kind, file.path.name))
    return HelpOrHarmRelease(data, tuple(in_order), tuple(notes))


def parse_name(name: str) -> tuple[str, dict[str, str]] | None:
    """Return what kind of file this is and the parts of its name, or None for a file that is not the authors'."""
    for kind, pattern in _PATTERNS.items():
        match = pattern.fullmatch(name) if len(name) <= _LONGEST else None
        if match and not name.startswith("."):
            return kind, {part: value or "" for part, value in match.groupdict().items()}
    return None


def text(inputs: list[str] | str) -> str:
    """Join the sentences of a row into the one message that the authors sent."""
    return clean(inputs if isinstance(inputs, str) else "\n".join(inputs))


def as_text(cell: object) -> str:
    """Return a cell as text: nothing as "", what is no string as JSON, written in the one way equal content has."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return clean(cell)
    return clean(json.dumps(cell, ensure_ascii=False, sort_keys=True, separators=(",", ":")))


def is_json(cell: object) -> bool:
    """Whether a cell holds neither a string nor nothing, so that its text is JSON."""
    return cell is not None and not isinstance(cell, str)


def aligned(rows: list[dict[str, Any]], texts: list[str]) -> list[dict[str, Any]] | None:
    """Return a file's rows in the order of a set's texts, or None if it has not a row for each.

    The authors' files keep that order, so that a row belongs to the position where it stands if the text there is
    the same; in a file that was sorted anew, rows of the same text are taken in their order.
    """
    row_texts = [text(row["inputs"]) for row in rows]
    if row_texts == texts:
        return rows
    waiting: dict[str, list[dict[str, Any]]] = {}
    for row, key in zip(reversed(rows), reversed(row_texts), strict=True):
        waiting.setdefault(key, []).append(row)
    matched = [waiting[key].pop() if waiting.get(key) else None for key in texts]
    return None if None in matched else [row for row in matched if row is not None]


def category(label: object) -> str | None:
    """Return the category that a label names in any of its spellings, or None where it names none."""
    if not isinstance(label, str):
        return None
    name = _CATEGORY_ALIASES.get(label, label)
    return name if name in CATEGORIES else None


def model(raw: str) -> str:
    """Return a model's name as we write it, from the name in a file name, or from a hub's with the owner before it."""
    return raw.rpartition("/")[2].removeprefix("meta-llama-").lower()


def data_set(raw: object) -> str:
    """Return the source data set's id as we write it, from any of the authors' spellings."""
    name = str(raw or "").lower()
    name = re.sub(r"^hugging_", "hugg_", name)
    return _SOURCE_ALIASES.get(name, name)


def score(value: object) -> int | None:
    """Return a score of 1 to 5 written as 4, "4" or 4.0, or None for whatever else stands there."""
    if isinstance(value, str) and re.fullmatch(r"\s*[1-5](\.0+)?\s*", value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value not in {1, 2, 3, 4, 5}:
        return None
    return int(value)


def mode(labels: Iterable[str | None]) -> str | None:
    """Return the one most frequent label among those that are there; None if several share that place."""
    counts: dict[str, int] = {}
    for label in labels:
        if label:
            counts[label] = counts.get(label, 0) + 1
    top = [label for label, count in counts.items() if count == max(counts.values())]
    return top[0] if len(top) == 1 else None


def plural(rows: list[int]) -> str:
    """Name some rows, as the subject of "to have", the first ten of them by number."""
    listed = ", ".join(map(str, rows[:10])) + (", …" if len(rows) > 10 else "")
    return f"row {listed} has" if len(rows) == 1 else f"{len(rows)} rows ({listed}) have"
