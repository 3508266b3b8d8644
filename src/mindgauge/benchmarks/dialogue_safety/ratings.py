"""The released outputs as ratings: each chat model and encoder is a rater of the test items."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks import Released
from mindgauge.benchmarks.dialogue_safety import labels, outputs, released
from mindgauge.benchmarks.dialogue_safety.inputs import inputs
from mindgauge.raters import rule
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.records.files.bounds import clean

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.benchmarks.dialogue_safety.outputs import Output, Outputs
    from mindgauge.benchmarks.dialogue_safety.released import SystemRun
    from mindgauge.records import Sample

_NO_LABEL = (Status.UNPARSABLE, Status.REFUSED, Status.FILTERED)


def load(data: Path) -> Released:
    """Load the test items and every stored run: answers are read leniently, and kept as they are in `provenance`.

    An answer that names no label is `unparsable`, an item for which a run has no output is `failed`; both count as wrong.

    Raises:
        DataError: there is no test.json, or a file or a row of the items is not as it should be.
    """
    files = released.find(data)
    test_inputs = inputs(files)
    notes = test_inputs.notes
    runs = outputs.read(files, test_inputs.items["test"], notes)
    if not runs:
        notes.append(
            "no stored output is here: expected ChatGPT_gen/ or finetuned_model_predict/, in a folder or a zip"
        )
    ratings: dict[tuple[str, str, int], Rating] = {}
    for run in runs:
        run_ratings = list(_ratings(run, test_inputs.of_item["test"]))
        for rating in run_ratings:
            ratings.setdefault((rating.subject, rating.rater, rating.run), rating)
        counts = Counter(rating.status for rating in run_ratings)
        notes += [f"{run.run.folder}: {counts[status]} answers are {status}" for status in _NO_LABEL if counts[status]]
    return Released(test_inputs.samples, [], list(ratings.values()), notes)


def _ratings(outputs: Outputs, samples: list[Sample]) -> Iterator[Rating]:
    run = outputs.run
    for number, (sample, output) in enumerate(zip(samples, outputs.of_item, strict=True)):
        label, status = (None, Status.FAILED) if output is None else _outcome(output)
        origin = _origin(run, number, output)
        yield Rating(sample.id, labels.CRITERION.name, outputs.rater, run.kind, run.number, status, label, provenance=origin)  # fmt: skip


def _outcome(output: Output) -> tuple[str | None, Status]:
    label = output.label
    if label is not None:
        return label, Status.OK
    if output.facts.get("finish_reason") == "content_filter":
        return None, Status.FILTERED
    if isinstance(output.answer, str) and rule.refusal(output.answer):
        return None, Status.REFUSED
    return None, Status.UNPARSABLE


def _origin(run: SystemRun, number: int, output: Output | None) -> dict[str, Any]:
    """Say where a rating comes from: the run's folder, the item's number in it, and the archive that holds it."""
    origin: dict[str, Any] = {"source_folder": run.folder, "source_row": number if output is None else output.number}
    if run.kind is RaterKind.CLASSIFIER:
        origin["seed"] = int(run.name)
    if output is None:
        return origin
    if output.member.name:
        origin["source_file"] = output.member.source
    return {**origin, "raw": clean(output.answer) if isinstance(output.answer, str) else output.answer, **output.facts}
