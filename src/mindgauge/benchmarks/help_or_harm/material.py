"""The released files as they are, for an audit: inputs, labels, answers and scores, faulty ones too.

An item has no id of its own; it is known by its split and row (`validation:17`), an answer by its file and row. A number
that stands in a file as text keeps its quotes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks.help_or_harm import released
from mindgauge.benchmarks.help_or_harm.inputs import CRITERION as CRISIS_TYPE
from mindgauge.benchmarks.help_or_harm.inputs import inputs
from mindgauge.benchmarks.help_or_harm.responses import CRITERION as APPROPRIATENESS
from mindgauge.benchmarks.help_or_harm.responses import answer_text, named_source, origin, sampled_from
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material, frame
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.benchmarks.help_or_harm.inputs import HelpOrHarmInputs
    from mindgauge.benchmarks.help_or_harm.released import HelpOrHarmRelease, ReleasedFile
    from mindgauge.benchmarks.help_or_harm.responses import Origin

Row = tuple[object, ...]
VALIDATION = "validation"


def crisis_type(data: Path) -> Material:
    """Read the inputs of both splits, and everybody's labels of them.

    An input's `id` is its `dataset_id`, which the authors check echoes by; its label is the shipped one. Raters are the
    people, every vote inside the people's consensus that no person's file explains, the labelling models, and the
    source data sets, where these have labels.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    files = released.find(data)
    released_inputs = inputs(files)
    if not released_inputs.sets:
        raise DataError(f"{data}: no inputs here; {released.EXPECTED}")
    texts: list[Row] = []
    ratings: list[Row] = []
    for file in files.of("inputs"):
        split = _split(released_inputs, file)
        shipped = _shipped(files, file, split)
        for number, row in enumerate(file.rows()):
            source = row.get("dataset_id")
            label = shipped[number] if number < len(shipped) else None
            texts.append(
                (file.source, number, "input", source, released.text(row["inputs"]), None, source, split, label)
            )
            if row.get("label"):
                ratings.append(_label(file, number, split, "the source data set", "classifier", None, row["label"]))
    people = {file.rater: file.rows() for file in files.of("human_labels")}
    for file in files.of("human_labels"):
        texts += _copies(file, VALIDATION)
        ratings += [_label(file, n, VALIDATION, file.rater, "person", None, row.get("label")) for n, row in enumerate(people[file.rater])]  # fmt: skip
    for file in files.of("consensus"):
        texts += _copies(file, VALIDATION)
        ratings += _consensus(file, people)
    for file in files.of("labels"):
        split, rater = _split(released_inputs, file), released.model(file.model)
        texts += _copies(file, split)
        run = [other.time for other in files.of("labels", model=file.model, dataset=file.dataset)].index(file.time)
        for number, row in enumerate(file.rows()):
            ratings.append(_label(file, number, split, rater, "model", run, row.get("label")))
            texts.append(_verdict(file, number, f"{split}:{number}", row, rater, None, split))
    return Material(frame(texts, TEXTS), frame(ratings, RATINGS), {}, {CRISIS_TYPE: released.CATEGORIES}, _notes(files))


def response(data: Path) -> Material:
    """Read the answers, their copies in every file that repeats them, and all scores.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    files = released.find(data)
    if not any(files.of(kind) for kind in ("answers", "judgements", "lowest")):
        raise DataError(f"{data}: no answers here; {released.EXPECTED}")
    released_inputs = inputs(files)
    texts: list[Row] = []
    ratings: list[Row] = []
    for kind in ("answers", "judgements", "merged_judgements"):
        for file in files.of(kind):
            split = _split(released_inputs, file)
            texts += _copies(file, split)
            texts += [
                _reply(file, n, _reply_id(origin(file), n), row, file.model, split) for n, row in enumerate(file.rows())
            ]
    for file in files.of("judgements"):
        same = files.of("judgements", judge=file.judge, model=file.model, dataset=file.dataset, time=file.time)
        run, split = sorted(other.again for other in same).index(file.again), _split(released_inputs, file)
        for number, row in enumerate(file.rows()):
            subject = _reply_id(origin(file), number)
            ratings.append(_score(file, number, subject, row, file.judge, run, file.model, split))
            texts.append(_verdict(file, number, subject, row, released.model(file.judge), file.model, split))
    drawn = _lowest(files, texts, ratings)
    for file in files.of("human_scores"):
        texts += _copies(file, VALIDATION)
        for number, row in enumerate(file.rows()):
            texts.append(_reply(file, number, f"lowest:{number}", row, None, VALIDATION))
            subject, system = drawn.get(number, (f"lowest:{number}", None))
            ratings.append(_score(file, number, subject, row, file.rater, None, system, VALIDATION))
    return Material(frame(texts, TEXTS), frame(ratings, RATINGS), {APPROPRIATENESS: (1.0, 5.0)}, {}, _notes(files))


def _lowest(files: HelpOrHarmRelease, texts: list[Row], ratings: list[Row]) -> dict[int, tuple[str, str | None]]:
    """Read the sets of lowest scores; return which reply stands in each row of the first judge's.

    Its scores are read for the replies of models whose scores are not released otherwise.
    """
    released_scores = {origin(file) for file in files.of("judgements")}
    drawn: dict[int, tuple[str, str | None]] = {}
    for file in sorted(files.of("lowest"), key=lambda file: file.rater != ""):
        texts += _copies(file, VALIDATION)
        for number, row in enumerate(file.rows()):
            texts.append(_reply(file, number, f"lowest:{number}", row, None, VALIDATION))
            source = sampled_from(row)
            if file.rater or source is None:
                continue
            drawn[number] = _reply_id(source, number), source[0]
            judge = named_source(row).get("judge", "")
            if source not in released_scores and isinstance(row.get("evals"), list):
                ratings += [
                    _score(file, number, drawn[number][0], row | {"evaluation": value}, judge, run, source[0], VALIDATION)
                    for run, value in enumerate(row["evals"])
                ]  # fmt: skip
    return drawn


def _consensus(file: ReleasedFile, people: dict[str, list[dict[str, Any]]]) -> Iterator[Row]:
    """Read the consensus as gold, and its votes as people's, but for those that a person's file holds."""
    rows = file.rows()
    for number, row in enumerate(rows):
        yield _label(file, number, VALIDATION, "consensus", "gold", None, row.get("label"))
    for position in range(max((len(row.get("all_labels") or []) for row in rows), default=0)):
        votes = [(row.get("all_labels") or [None] * (position + 1))[position] for row in rows]
        if any(votes == [row.get("label") for row in labels] for labels in people.values()):
            continue
        for number, vote in enumerate(votes):
            yield _label(file, number, VALIDATION, f"vote {position + 1} of the consensus", "person", None, vote)


def _shipped(files: HelpOrHarmRelease, file: ReleasedFile, split: str) -> list[str | None]:
    """Return the labels that the authors put on a set, row by row."""
    kinds = files.of("consensus") if split == VALIDATION else files.of("merged_labels", dataset=file.dataset)
    return [row.get("label") or None for row in kinds[0].rows()] if kinds else []


def _split(released_inputs: HelpOrHarmInputs, file: ReleasedFile) -> str:
    input_set = released_inputs.sets.get(file.dataset)
    return input_set.split if input_set else VALIDATION


def _copies(file: ReleasedFile, split: str) -> list[Row]:
    """Return the inputs that a file repeats; the people's files join sentences by another sign."""
    return [
        (file.source, number, "input", None, released.text(row["inputs"]).replace(" | ", "\n"), None, None, split, None)
        for number, row in enumerate(file.rows())
    ]  # fmt: skip


def _reply_id(source: Origin, number: int) -> str:
    return f"{'/'.join(source)}:{number}"


def _reply(file: ReleasedFile, number: int, ident: str, row: dict[str, Any], model: str | None, split: str) -> Row:
    return file.source, number, "reply", ident, answer_text(row), model and released.model(model), None, split, None


def _verdict(
    file: ReleasedFile, number: int, ident: str, row: dict[str, Any], rater: str, model: str | None, split: str
) -> Row:
    words = released.as_text(row.get("explanation"))
    return file.source, number, "verdict", ident, words, model and released.model(model), rater, split, None


def _label(file: ReleasedFile, number: int, split: str, rater: str, kind: str, run: int | None, value: object) -> Row:
    item = f"{split}:{number}"
    status, text = _value(value)
    return item, CRISIS_TYPE, rater, kind, run, status, text, None, item, file.source, number


def _score(
    file: ReleasedFile,
    number: int,
    subject: str,
    row: dict[str, Any],
    rater: str,
    run: int | None,
    model: str | None,
    split: str,
) -> Row:
    """Build a rating from a score as it stands. The authors score no item without a label."""
    status, text = _value(row.get("evaluation"))
    if text is None and "label" in row and row["label"] is None:
        status = "not_applicable"
    name, kind = (rater, "person") if file.kind == "human_scores" else (released.model(rater), "model")
    system = model and released.model(model)
    return subject, APPROPRIATENESS, name, kind, run, status, text, system, f"{split}:{number}", file.source, number


def _value(value: object) -> tuple[str, str | None]:
    """Return a status and a value as released: a number written as text keeps its quotes."""
    if value is None or value == "":
        return "unparsable", None
    if isinstance(value, str):
        return "ok", json.dumps(value) if value.strip().replace(".", "", 1).isdigit() else value
    return "ok", json.dumps(value)


def _notes(files: HelpOrHarmRelease) -> tuple[str, ...]:
    """Say what strict readers stumble over: literal NaN, and names that are spelled in two ways."""
    notes = list(files.notes)
    for file in files.files:
        count = file.path.read_text(encoding="utf-8-sig").count(": NaN") if file.kind == "human_scores" else 0
        if count:
            notes.append(f"{file.source}: {count} literal NaN, which JSON does not know")
        for usual, odd in (("labeled", "labelled"), ("merged_labels", "merged-labels")):
            if odd in file.path.name and any(usual in other.path.name for other in files.files):
                notes.append(f"{file.source}: {odd!r} in the name where other files have {usual!r}")
    return tuple(notes)
