"""The authors' JSON files, compared with each other: rows of a set, answers, means of evaluations, labels and their votes."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks.help_or_harm import released
from mindgauge.benchmarks.help_or_harm.responses import answer_text, named_source, origin
from mindgauge.benchmarks.self_stated import broken, of_mean
from mindgauge.records.errors import DataError
from mindgauge.records.files import folder, tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mindgauge.benchmarks.help_or_harm.released import HelpOrHarmRelease, ReleasedFile
    from mindgauge.benchmarks.self_stated import Fault

_Rows = dict[str, list[dict[str, Any]]]
_Means = dict[tuple[str, str], list[tuple[str, object]]]
"""By inputs and answer: the judges of a reply, and the mean that each has."""
_NAMES = ("evaluation", "evaluation_std", "its evaluations")
_RUNS = 3
"""How often the authors had each reply evaluated."""
_FIRST_JUDGE = "gpt-4o-mini"
"""Whose the set of lowest scores is that names none."""


def faults(data: Path, checked: Counter[str]) -> Iterator[Fault]:
    """Yield where a file contradicts itself, or the others.

    Raises:
        DataError: nothing usable is there.
    """
    files, rows = released.find(data), _Rows()
    for file in files.files:
        try:
            rows[file.source] = file.rows()
        except DataError as error:
            yield broken(error, data)
    files = released.HelpOrHarmRelease(files.root, tuple(f for f in files.files if f.source in rows), ())
    yield from _sets(files, rows, checked)
    yield from _tables(data, files, rows, checked)
    yield from _answers(files, rows, checked)
    means: _Means = defaultdict(list)
    for file in files.of("merged_judgements"):
        for row in rows[file.source]:
            means[released.text(row["inputs"]), answer_text(row)].append((file.judge, row.get("evaluation")))
    for file in files.files:
        single = [rows[other.source] for other in _single(files, file)]
        for place, row in enumerate(rows[file.source]):
            beside = [other[place] for other in single if place < len(other)]
            fault = _fault(file, row, beside, checked) or _of_lowest(file, row, means, checked)
            if fault:
                yield file.source, f"row {place}: {fault}"


def _single(files: HelpOrHarmRelease, file: ReleasedFile) -> list[ReleasedFile]:
    """Return the files that a merged file was made of."""
    if file.kind == "merged_judgements":
        return [other for other in files.of("judgements", judge=file.judge) if origin(other) == origin(file)]
    if file.kind == "merged_labels":
        return files.of("labels", model=file.model, dataset=file.dataset)
    return files.of("human_labels") if file.kind == "consensus" else []


def _set(file: ReleasedFile) -> str:
    """Return the set that a file is about: empty for that of the people, which the authors merged from two."""
    return "" if "merged" in file.dataset else file.dataset


def _sets(files: HelpOrHarmRelease, rows: _Rows, checked: Counter[str]) -> Iterator[Fault]:
    """Compare files with their set: how many rows they have, and whether these are its items."""
    inputs = {_set(file): len(rows[file.source]) for file in files.of("inputs")}
    for name in {_set(file): None for file in files.files}:
        about = [file for file in files.files if _set(file) == name]
        heights = Counter(len(rows[file.source]) for file in about)
        own_height = inputs.get(name)
        height_of_set = max(heights, key=lambda height: (heights[height], height == own_height, height))
        source_of_height = "its set has" if height_of_set == own_height else "the other files of its set have"
        checked["numbers of rows"] += len(about)
        texts = {}
        for file in about:
            if (height := len(rows[file.source])) != height_of_set:
                yield file.source, f"{height:,} rows, and {source_of_height} {height_of_set:,}"
            elif file.dataset:
                texts[file.source] = [released.text(row["inputs"]) for row in rows[file.source]]
        holding = Counter(text for column in texts.values() for text in {*column})
        for source, column in texts.items():
            strangers = [place for place, text in enumerate(column) if 2 * holding[text] < len(texts)]
            yield from ((source, f"row {place}: inputs that most files of its set do not have") for place in strangers)


def _tables(data: Path, files: HelpOrHarmRelease, rows: _Rows, checked: Counter[str]) -> Iterator[Fault]:
    """Compare the tables (CSV) of lowest scores with the JSON files of their names."""
    by_name = {file.path.stem: rows[file.source] for file in files.of("lowest")}
    for file in folder.below(data).all:
        if file.suffix != ".csv" or file.stem not in by_name:
            continue
        checked["numbers of rows"] += 1
        try:
            cells = [row for _, row in tables.open_table(file).rows()]
        except DataError as error:
            yield broken(error, data)
            continue
        if len(cells) != (height := len(by_name[file.stem])):
            yield file.place.as_posix(), f"{len(cells):,} rows, and {file.stem}.json has {height:,}"
            continue
        for place, (row, other) in enumerate(zip(cells, by_name[file.stem], strict=True)):
            if fault := of_mean(row.get("evaluation"), None, [other.get("evaluation")], ("evaluation", "", f"the rows of {file.stem}.json")):  # fmt: skip
                yield file.place.as_posix(), f"row {place}: {fault}"


def _answers(files: HelpOrHarmRelease, rows: _Rows, checked: Counter[str]) -> Iterator[Fault]:
    """Compare answers with the evaluation files, which repeat them but where an `error` took an answer's place."""
    for file in files.of("answers"):
        about = [f for kind in ("judgements", "merged_judgements") for f in files.of(kind) if origin(f) == origin(file)]
        for place, row in enumerate(rows[file.source]):
            others = [f for f in about if place < len(rows[f.source])]
            checked["answers"] += len(others)
            changes = [f for f in others if _other_answer(row, rows[f.source][place])]
            if 2 * len(changes) > len(others) > 1:
                yield file.source, f"row {place}: an answer other than in {len(changes)} files that evaluate it"
            else:
                yield from ((f.source, f"row {place}: an answer other than in {file.source}") for f in changes)


def _other_answer(row: dict[str, Any], judged: dict[str, Any]) -> bool:
    return not judged.get("error") and row["inputs"] == judged["inputs"] and answer_text(row) != answer_text(judged)


def _fault(file: ReleasedFile, row: dict[str, Any], single: list[dict[str, Any]], checked: Counter[str]) -> str:
    """Say what a row has other than its own parts say; empty where nothing is wrong."""
    evals, votes, panel = row.get("evals"), row.get("all_labels"), row.get("llm_evaluations")
    if isinstance(votes, list):
        checked["labels"] += 1
        label, mode = row.get("label") or None, released.mode(votes)
        if label != mode:
            return f"label is {label!r}, and its votes give {mode!r}"
        votes_of_files = Counter(other["label"] for other in single if other.get("label"))
        return "" if votes_of_files <= Counter(votes) else "its votes are not those of the files of single labels"
    scores = [released.score(other.get("evaluation")) for other in single]
    if evals is None and panel is None and file.kind == "merged_judgements":
        evals = scores
    repeats = evals if isinstance(evals, list) else [*panel.values()] if isinstance(panel, dict) else None
    if not repeats or (panel and None in repeats and row.get("evaluation") is None):
        return ""  # a panel has a mean of replies that all of it scored
    checked["means"] += 1
    if fault := of_mean(row.get("evaluation"), row.get("evaluation_std"), repeats, _NAMES):
        return fault
    votes_of_files, merged = (
        Counter(score for score in some if score is not None) for some in (scores, map(released.score, repeats))
    )
    # Where a file of single evaluations is not here, more are merged than are single.
    match = votes_of_files == merged if len(single) >= _RUNS else votes_of_files <= merged
    return "" if match else "evals are not those of the files of single evaluations"


def _of_lowest(file: ReleasedFile, row: dict[str, Any], means: _Means, checked: Counter[str]) -> str:
    """Say what a row of a set of lowest scores has other than the merged files on the same reply."""
    if file.kind != "lowest":
        return ""
    panel = row.get("llm_evaluations")
    judge = named_source(row).get("judge") or file.rater or _FIRST_JUDGE
    by_judge: Mapping[str, Any] = panel if isinstance(panel, dict) else {judge: row.get("evaluation")}
    for name, score in by_judge.items():
        merged = means.get((released.text(row["inputs"]), answer_text(row)), [])
        scores = [mean for judge, mean in merged if f"{judge}-".startswith(f"{name}-")]
        checked["means"] += bool(scores)
        contradictions = [
            of_mean(score, None, [mean], ("evaluation", "", f"the merged files of {name}")) for mean in scores
        ]
        if contradictions and all(contradictions):
            return contradictions[0]
    return ""
