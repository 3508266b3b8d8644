"""How two files' versions of one table differ: rows moved, texts changed, records replaced."""

from __future__ import annotations

from collections import defaultdict
from difflib import SequenceMatcher
from typing import NamedTuple

import polars as pl

VERSIONS = 0.5
"""Two files are versions of one table if they have this share of their texts in common."""
EDITED = 0.5
"""Two versions of a text that are less alike than this (difflib's ratio) are two texts: one replaced the other."""
COMPARED = 2000
"""Characters of each text that are compared for likeness."""


class VersionDifference(NamedTuple):
    """A row whose text differs between two files; `moved` is how many rows away the first file has it, if at all."""

    key: str
    row: int
    other: int
    moved: int | None
    alike: float


def versions(rows: pl.DataFrame) -> dict[tuple[str, str], list[VersionDifference]]:
    """Compare the files that have versions of one table with the first of them, text by text.

    Texts are matched by kind, system, split and key (the id, or the row where ids are no keys). Returns the differences
    of each pair of files (first, other); pairs without any are left out.
    """
    differences_by_pair: dict[tuple[str, str], list[VersionDifference]] = {}
    tables: dict[tuple[str, ...], dict[str, dict[str, tuple[int, str]]]] = defaultdict(lambda: defaultdict(dict))
    columns = ["kind", "system", "split", "file", "key", "row", "plain"]
    reply_system = pl.when(pl.col("kind").is_in(("reply", "verdict"))).then(
        "system"
    )  # an input is the same for all systems
    rows = rows.with_columns(system=reply_system)
    shared = rows.filter(pl.col("file").n_unique().over("kind", "system", "split", "key") > 1)
    for kind, system, split, file, key, row, plain in shared.select(columns).iter_rows():
        tables[kind, system, split][file].setdefault(key, (row, plain))
    for files in tables.values():
        compared: list[str] = []
        for file, texts in files.items():
            first = next((earlier_file for earlier_file in compared if _same_table(files[earlier_file], texts)), None)
            compared.append(file)
            if first is not None and (differences := _differences(files[first], texts)):
                differences_by_pair.setdefault((first, file), []).extend(differences)
    return differences_by_pair


def _same_table(first: dict[str, tuple[int, str]], other: dict[str, tuple[int, str]]) -> bool:
    """Whether most keys of the smaller table are in both, and most of its texts too."""
    keys = len(first.keys() & other.keys())
    texts, others = {text for _, text in first.values()}, {text for _, text in other.values()}
    threshold = VERSIONS * min(len(first), len(other))
    return keys >= threshold and len(texts & others) >= VERSIONS * min(len(texts), len(others))


def _differences(first: dict[str, tuple[int, str]], other: dict[str, tuple[int, str]]) -> list[VersionDifference]:
    shared_keys = [key for key in other if key in first]
    differing = [key for key in shared_keys if first[key][1] != other[key][1]]
    if not differing:
        return []
    places: dict[str, list[int]] = defaultdict(list)
    for row, text in first.values():
        places[text].append(row)
    differences = []
    for key in differing:
        row, text = other[key]
        first_row = first[key][0]
        moved = min((place - first_row for place in places.get(text, [])), key=abs, default=None)
        alike = 0.0 if moved is not None else _alike(first[key][1], text)
        differences.append(VersionDifference(key, first_row, row, moved, alike))
    return differences


def _alike(first: str, second: str) -> float:
    matcher = SequenceMatcher(None, first[:COMPARED], second[:COMPARED], autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= EDITED else 0.0
