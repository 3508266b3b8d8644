"""The samples of the two released sets, and their crisis labels as records: the people's, and every run of every labelling model.

The files have no item id, so a text is its own key: rows of the same text are one sample, in whichever file they stand.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks import Released
from mindgauge.benchmarks.help_or_harm import released
from mindgauge.benchmarks.help_or_harm.released import ReleasedFile, plural
from mindgauge.records import Message, RaterKind, Rating, Sample, Status, digest
from mindgauge.records.errors import DataError, MissingDataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from mindgauge.benchmarks.help_or_harm.released import HelpOrHarmRelease


LABELLER_OF_TEST = "gpt-4o-mini"
"""Whose labels the authors put on the test set; another model's serve where its are missing."""


class DataSet(msgspec.Struct, frozen=True):
    """One of the authors' two sets: its texts and source ids, row by row, and the file that was read for them."""

    name: str
    split: str
    texts: list[str]
    sources: list[str]
    file: ReleasedFile
    parts: list[dict[str, str]]
    """Of each row, what a prompt of the authors may show: its sentences as JSON, and its `dataset_id`, as they stand in the file."""


class HelpOrHarmInputs(msgspec.Struct, frozen=True):
    """Every sample once, by its text, and the sets it comes from by name."""

    samples: dict[str, Sample]
    sets: dict[str, DataSet]
    notes: list[str]

    def rows_of(self, file: ReleasedFile) -> list[str]:
        """Return the texts of the set that a file is about; people's files, which name none, are about validation."""
        if file.dataset:
            return self.sets[file.dataset].texts
        return next((input_set.texts for input_set in self.sets.values() if input_set.split == "validation"), [])

    def set_of(self, split: str) -> str:
        """Return the name of the first set of a split; a name that no file has where there is none."""
        return next((input_set.name for input_set in self.sets.values() if input_set.split == split), f"no {split} set")


def read_inputs(data: Path) -> list[Sample]:
    """Read the validation and test inputs, validation first; a text that occurs several times is one sample.

    The target is the strict mode of the four people's labels, without the model's vote that the authors counted as a
    fifth; where people tie, and on the test set, which no person labelled, there is none.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    released_inputs = inputs(released.find(data))
    if not released_inputs.samples:
        raise MissingDataError(f"{data}: no inputs here; {released.EXPECTED}")
    return list(released_inputs.samples.values())


def read_as_shipped(data: Path) -> list[Sample]:
    """Read every row of both sets, duplicates included, with the label that the authors shipped as target and category.

    Rows of one text are one cluster. A row whose label they left open has no target and no category: it is answered, and,
    as in the paper, no judge scores it (2 of the test set, 16 of the validation set).

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    files = released.find(data)
    read = inputs(files)
    if not read.samples:
        raise MissingDataError(f"{data}: no inputs here; {released.EXPECTED}")
    shipped = _shipped_rows(files, read)
    rows = []
    for data_set in read.sets.values():
        for number, (text, source) in enumerate(zip(data_set.texts, data_set.sources, strict=True)):
            label = shipped[data_set.name][number]
            tags = {
                "language": "en",
                "split": data_set.split,
                "source": source,
                "row": str(number),
                **({"category": label, "shipped_label": label} if label else {}),
            }
            plain = Sample.of((Message("user", text),))
            ident = digest("row", data_set.split, number, plain.id)
            tags = {k: v for k, v in tags.items() if v}
            rows.append(Sample(ident, plain.messages, label, tags, plain.id, data_set.parts[number]))
    return rows


def _shipped_rows(files: HelpOrHarmRelease, read: HelpOrHarmInputs) -> dict[str, list[str | None]]:
    """Return the shipped label of every row, by data set: by its place, or, where no file has it by row, by its text."""
    labels: dict[str, list[str | None]] = {}
    for name, data_set in read.sets.items():
        candidates = [*files.of("consensus"), *files.of("merged_labels", dataset=name)]
        candidates = [
            f
            for f in candidates
            if len(f.rows()) == len(data_set.texts) and (f.kind == "consensus") == (data_set.split == "validation")
        ]
        candidates.sort(key=lambda file: file.model != LABELLER_OF_TEST)
        rows = candidates[0].rows() if candidates else []
        by_text = {s.messages[0].content: s.tags.get("shipped_label") for s in read.samples.values()}
        labels[name] = [released.category(row.get("label")) for row in rows] or [by_text.get(t) for t in data_set.texts]
    return labels


def inputs(files: HelpOrHarmRelease) -> HelpOrHarmInputs:
    """Read the samples of all sets and what the files say about their categories; none where no file holds inputs.

    Raises:
        DataError: a file is broken.
    """
    notes = list(files.notes)
    people = {file.rater: file.rows() for file in files.of("human_labels")}
    sets = sorted(_sets(files, people, notes), key=lambda input_set: (input_set.split != "validation", input_set.name))
    if not sets:
        notes.append("processed/: no inputs here, nor another file that repeats them")
    shipped = _first_labels(row for file in files.of("consensus") for row in file.rows())
    votes: dict[str, dict[str, str | None]] = {}
    for rater, rows in people.items():
        for row in rows:
            votes.setdefault(released.text(row["inputs"]), {}).setdefault(rater, released.category(row.get("label")))
    samples: dict[str, Sample] = {}
    for input_set in sets:
        model_labels = _model_labels(files, input_set.name, notes) if input_set.split == "test" else {}
        first: dict[str, int] = {}
        for number, (text, source) in enumerate(zip(input_set.texts, input_set.sources, strict=True)):
            place = f"{input_set.file.source}: row {number} has the text of"
            if text in first:
                notes.append(f"{place} row {first[text]}; both are one sample")
                continue
            first[text] = number
            if text in samples:
                notes.append(f"{place} a validation row; kept there only")
                continue
            if input_set.split == "test":
                samples[text] = _sample(text, source, "test", shipped=model_labels.get(text))
            else:
                gold = released.mode(votes.get(text, {}).values())
                samples[text] = _sample(text, source, "validation", gold=gold, shipped=shipped.get(text))
            samples[text] = msgspec.structs.replace(samples[text], parts=input_set.parts[number])
    return HelpOrHarmInputs(samples, {input_set.name: input_set for input_set in sets}, notes)


def _sample(text: str, source: str, split: str, *, gold: str | None = None, shipped: str | None = None) -> Sample:
    """Build a sample: on the test set, which no person labelled, the shipped label is the category, but no target."""
    category = shipped if split == "test" else gold
    tags = {
        "category": category,
        "label_source": category and ("model" if split == "test" else "human"),
        "language": "en",
        "split": split,
        "source": source,
        "shipped_label": shipped,
    }
    present = {name: value for name, value in tags.items() if value}
    return Sample.of((Message("user", text),), target=gold, tags=present)


def new_sample(row: dict[str, Any]) -> Sample:
    """Build the sample of a row whose text none of the input files holds; of its category nothing is known."""
    return _sample(released.text(row["inputs"]), released.data_set(row.get("dataset_id")), "")


def _sets(files: HelpOrHarmRelease, people: dict[str, list[dict[str, Any]]], notes: list[str]) -> Iterator[DataSet]:
    """Take each set's rows from the file made for it, or else from another that repeats them row by row."""
    labelled = [[released.text(row["inputs"]) for row in rows] for rows in people.values()]
    kinds = ("inputs", "merged_labels", "labels", "answers", "judgements")
    for name in sorted({file.dataset for kind in kinds for file in files.of(kind)}):
        candidates = [file for kind in kinds for file in files.of(kind, dataset=name)]
        file = candidates[0]
        rows = file.rows()
        if file.kind != "inputs":
            notes.append(f"processed/{name}.json: missing; its inputs are read from {file.source}")
        texts = [released.text(row["inputs"]) for row in rows]
        sources = [released.data_set(row.get("dataset_id")) for row in rows]
        parts = [
            {"inputs_json": json.dumps(row["inputs"]), "dataset_id": str(row.get("dataset_id") or "")} for row in rows
        ]
        yield DataSet(name, _split(name, texts, labelled), texts, sources, file, parts)
        labelled = [other for other in labelled if not _same(texts, other)]
    if labelled:  # people's labels of a set of which nothing else is here
        file = files.of("human_labels")[0]
        notes.append(f"processed/: the set that people labelled is missing; its inputs are read from {file.source}")
        empty: list[dict[str, str]] = [{}] * len(labelled[0])
        yield DataSet("", "validation", labelled[0], [""] * len(labelled[0]), file, empty)


def _split(name: str, texts: list[str], labelled: list[list[str]]) -> str:
    """People labelled the validation set only; without their files the set's name must tell."""
    if any(_same(texts, other) for other in labelled):
        return "validation"
    return "validation" if "merged" in name else "test"


def _same(texts: list[str], other: list[str]) -> bool:
    """Whether two files are about the same set: most texts of the shorter one are in both."""
    return 2 * len({*texts} & {*other}) > min(len({*texts}), len({*other}))


def _model_labels(files: HelpOrHarmRelease, name: str, notes: list[str]) -> dict[str, str]:
    """Read a model's labels of a set: the authors' merge, or the mode of its runs where that file is missing."""
    merged, runs = files.of("merged_labels", dataset=name), files.of("labels", dataset=name)
    models = sorted({f.model for f in (*merged, *runs)}, key=lambda m: (m != LABELLER_OF_TEST, m))
    if not models:
        notes.append(f"llm_label/*-labeled-{name}-merged-labels.json: missing; these samples have no category")
        return {}
    for file in (file for file in merged if file.model == models[0]):
        rows = file.rows()
        _note_conflicts(file, rows, notes)
        return _first_labels(rows)
    notes.append(f"llm_label/{models[0]}-labeled-{name}-merged-labels.json: missing; merged anew from its runs")
    votes: dict[str, list[str | None]] = {}
    for file in (file for file in runs if file.model == models[0]):
        for text, label in _first_labels(file.rows()).items():
            votes.setdefault(text, []).append(label)
    modes = {text: released.mode(labels) for text, labels in votes.items()}
    return {text: label for text, label in modes.items() if label}


def _first_labels(rows: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return the category of each text, that of its first row."""
    labels: dict[str, str | None] = {}
    for row in rows:
        labels.setdefault(released.text(row["inputs"]), released.category(row.get("label")))
    return {text: label for text, label in labels.items() if label}


def _note_conflicts(file: ReleasedFile, rows: list[dict[str, Any]], notes: list[str]) -> None:
    labels: dict[str, set[str | None]] = {}
    for row in rows:
        labels.setdefault(released.text(row["inputs"]), set()).add(row.get("label"))
    count = sum(len(spellings) > 1 for spellings in labels.values())
    if count:
        notes.append(f"{file.source}: {count} texts that occur several times carry different labels; the first is kept")


# The released crisis labels as records: the people's, and every run of every labelling model.


CRITERION = "crisis_type"
PEOPLE = ("H1", "H2", "H3", "H4")


def load_crisis_type(data: Path) -> Released:
    """Load the crisis labels: samples, the people's labels and every run of every labelling model.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    files = released.find(data)
    released_inputs = inputs(files)
    notes = [*released_inputs.notes, *_missing_label_files(files)]
    ratings: list[Rating] = []
    for file in files.of("human_labels"):
        ratings += _labels(file, released_inputs, notes, rater=file.rater, kind=RaterKind.PERSON, run=0)
    for file in sorted(
        files.of("labels"), key=lambda f: (released_inputs.sets[f.dataset].split != "validation", f.path.name)
    ):
        times = [other.time for other in files.of("labels", model=file.model, dataset=file.dataset)]
        run, rater = times.index(file.time), released.model(file.model)
        ratings += _labels(file, released_inputs, notes, rater=rater, kind=RaterKind.MODEL, run=run)
    if not released_inputs.samples:
        raise DataError(f"{data}: no inputs here; {released.EXPECTED}")
    if not ratings:
        notes.append("no label of a person or a model is here: expected human_label/ and llm_label/")
    return Released(list(released_inputs.samples.values()), [], unique(ratings, notes), notes)


def _labels(
    file: ReleasedFile, released_inputs: HelpOrHarmInputs, notes: list[str], *, rater: str, kind: RaterKind, run: int
) -> Iterator[Rating]:
    strangers, unknown, elsewhere = [], [], []
    texts = released_inputs.rows_of(file)
    for number, row in enumerate(file.rows()):
        text = released.text(row["inputs"])
        sample = released_inputs.samples.get(text)
        if sample is None:
            strangers.append(number)
            continue
        if text not in texts[number : number + 1]:
            elsewhere.append(number)
        raw = row.get("label")
        label = released.category(raw)
        origin: dict[str, Any] = {"source_file": file.source, "source_row": number}
        if file.model:
            origin |= {"model_raw": file.model, "tokens": row.get("tokens")}
        if label is None:
            unknown.append(number)
            origin["raw"] = raw
        status = Status.OK if label else Status.UNPARSABLE
        explanation = released.as_text(row.get("explanation"))
        if released.is_json(row.get("explanation")):
            origin["explanation_is_json"] = True
        yield Rating(sample.id, CRITERION, rater, kind, run, status, label, explanation, provenance=origin)
    if strangers:
        notes.append(f"{file.source}: {plural(strangers)} a text that is not in the set; left out")
    if elsewhere:
        notes.append(f"{file.source}: {plural(elsewhere)} another place in the set; joined by their text")
    if unknown:
        notes.append(f"{file.source}: {plural(unknown)} no label of the seven; kept as unparsable")


def unique(ratings: list[Rating], notes: list[str]) -> list[Rating]:
    """Keep each rater's first rating of a subject, criterion and run; note the others, file by file."""
    firsts: dict[tuple[str, str, str, int], Rating] = {}
    repeated: dict[str, list[bool]] = {}
    for rating in ratings:
        first = firsts.setdefault((rating.subject, rating.criterion, rating.rater, rating.run), rating)
        if first is not rating:
            repeated.setdefault(rating.provenance["source_file"], []).append(first.value != rating.value)
    for source, differs in repeated.items():
        difference = f"{sum(differs)} with another value" if any(differs) else "with the same value"
        notes.append(f"{source}: {len(differs)} ratings of a subject already rated ({difference}); the first is kept")
    return list(firsts.values())


def _missing_label_files(files: HelpOrHarmRelease) -> list[str]:
    """List what the authors released on labels and is not here."""
    raters = {file.rater for file in files.of("human_labels")}
    notes = [f"human_label/{rater}_labeled_*.json: missing" for rater in PEOPLE if rater not in raters]
    if not files.of("consensus"):
        notes.append("human_label/human-labeled-*-merged_labels.json: missing; no shipped_label on validation samples")
    if not files.of("labels"):
        notes.append("llm_label/*-labeled-*.json: missing; no model's labels")
    return notes
