"""The authors' JSON files, compared with each other: rows of a set, means beside their evaluations, labels beside their votes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks.help_or_harm import released
from mindgauge.benchmarks.help_or_harm.responses import origin
from mindgauge.benchmarks.self_stated import of_mean

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.benchmarks.self_stated import Fault


def faults(data: Path, checked: Counter[str]) -> Iterator[Fault]:
    """Yield where a file contradicts itself, or the others.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    files = released.find(data)
    heights = {file.dataset: len(file.rows()) for file in files.of("inputs")}
    for file in files.files:
        rows = file.rows()
        if file.dataset in heights:
            checked["numbers of rows"] += 1
            if len(rows) != heights[file.dataset]:
                yield file.source, f"{len(rows):,} rows, and its set has {heights[file.dataset]:,}"
        merged = files.of("judgements", judge=file.judge) if file.kind == "merged_judgements" else []
        single = [other.rows() for other in merged if origin(other) == origin(file)]
        for place, row in enumerate(rows):
            if fault := _fault(row, [other[place] for other in single if place < len(other)], checked):
                yield file.source, f"row {place}: {fault}"


def _fault(row: dict[str, Any], single: list[dict[str, Any]], checked: Counter[str]) -> str:
    """Say what a row has other than its own parts say; empty where nothing is wrong."""
    evals, votes, panel = row.get("evals"), row.get("all_labels"), row.get("llm_evaluations")
    if isinstance(votes, list):
        checked["labels"] += 1
        label, mode = row.get("label") or None, released.mode(votes)
        return "" if label == mode else f"label is {label!r}, and its votes give {mode!r}"
    repeats = evals if isinstance(evals, list) else [*panel.values()] if isinstance(panel, dict) else None
    if repeats is None:
        return ""
    checked["means"] += 1
    names = ("evaluation", "evaluation_std", "its evaluations")
    if fault := of_mean(row.get("evaluation"), row.get("evaluation_std"), repeats, names):
        return fault
    scores = [released.score(other.get("evaluation")) for other in single]
    merged = [released.score(value) for value in repeats]
    # Where a file of single evaluations is not here, more are merged than are single.
    lost = any(score is not None and scores.count(score) > merged.count(score) for score in scores)
    return "evals are not those of the files of single evaluations" if lost else ""
