"""The authors' JSON files, held against each other: rows of a set, means beside their evaluations, labels beside their votes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks.help_or_harm import released
from mindgauge.benchmarks.help_or_harm.responses import origin
from mindgauge.benchmarks.self_stated import of_mean

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.benchmarks.help_or_harm.released import HelpOrHarmRelease, ReleasedFile
    from mindgauge.benchmarks.self_stated import Fault

_NAMES = ("evaluation", "evaluation_std", "its evaluations")


def faults(data: Path, checked: Counter[str]) -> Iterator[Fault]:
    """Yield where a file contradicts itself, or the others.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    files = released.find(data)
    heights = {file.dataset: len(file.rows()) for file in files.of("inputs")}
    for file in files.files:
        rows = file.rows()
        if file.kind != "inputs" and file.dataset in heights:
            checked["numbers of rows"] += 1
            if len(rows) != heights[file.dataset]:
                yield file.source, f"{len(rows):,} rows, and its set has {heights[file.dataset]:,}"
        single = _single(files, file, len(rows)) if file.kind == "merged_judgements" else []
        for place, row in enumerate(rows):
            if fault := _fault(row, [other[place] for other in single], checked):
                yield file.source, f"row {place}: {fault}"


def _single(files: HelpOrHarmRelease, merged: ReleasedFile, height: int) -> list[list[dict[str, Any]]]:
    """Return the files of single evaluations that a file was merged from; none where some lack rows."""
    own = [f.rows() for f in files.of("judgements", judge=merged.judge) if origin(f) == origin(merged)]
    return own if all(len(rows) == height for rows in own) else []


def _fault(row: dict[str, Any], single: list[dict[str, Any]], checked: Counter[str]) -> str:
    """Say what a row has other than its own parts say; empty where nothing is wrong."""
    evals, votes, panel = row.get("evals"), row.get("all_labels"), row.get("llm_evaluations")
    if isinstance(votes, list):
        checked["labels"] += 1
        label = released.mode(votes)
        return (
            ""
            if label == (row.get("label") or None)
            else f"label is {row.get('label')!r}, and its votes give {label!r}"
        )
    repeats = evals if isinstance(evals, list) else list(panel.values()) if isinstance(panel, dict) else None
    if repeats is None:
        return ""
    checked["means"] += 1
    fault = of_mean(row.get("evaluation"), row.get("evaluation_std"), repeats, _NAMES)
    if fault or not single or evals is None:
        return fault
    single_scores = sorted(score for other in single if (score := released.score(other.get("evaluation"))) is not None)
    merged_scores = sorted(score for value in repeats if (score := released.score(value)) is not None)
    # A file of single evaluations may be missing here: what is kept is then more than what is single_scores.
    missing = [score for score in set(single_scores) if single_scores.count(score) > merged_scores.count(score)]
    return "evals are not those of the files of single evaluations" if missing else ""
