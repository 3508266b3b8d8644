"""The released crisis labels as records: the people's, and every run of every labelling model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks import Released
from mindgauge.benchmarks.help_or_harm import released
from mindgauge.benchmarks.help_or_harm.inputs import inputs
from mindgauge.benchmarks.help_or_harm.released import plural
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.benchmarks.help_or_harm.inputs import HelpOrHarmInputs
    from mindgauge.benchmarks.help_or_harm.released import HelpOrHarmRelease, ReleasedFile

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
