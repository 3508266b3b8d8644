"""The released files as they are, for an audit: items, the outputs' copies of them, answers and labels, faulty ones too.

An item is known by its split and its place in the file (`test:17`), also where an output repeats it. Ids are given as the
labels that they stand for, an answer of a chat model as it was written.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mindgauge.benchmarks.dialogue_safety import inputs as labels
from mindgauge.benchmarks.dialogue_safety import outputs, released
from mindgauge.benchmarks.dialogue_safety.inputs import inputs
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material, frame
from mindgauge.records import RaterKind, Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.benchmarks.dialogue_safety.outputs import Outputs

Row = tuple[object, ...]
CRITERION = labels.CRITERION.name


def material(data: Path) -> Material:
    """Read the released files as they are.

    Raises:
        DataError: there is no test.json, or a file or a row of the items is not as it should be.
    """
    files = released.find(data)
    released_inputs = inputs(files)
    notes = released_inputs.notes
    texts: list[Row] = []
    ratings: list[Row] = []
    clusters = {
        f"{split}:{number}": sample.cluster
        for split, samples in released_inputs.of_item.items()
        for number, sample in enumerate(samples)
    }
    for split, items in released_inputs.items.items():
        file = files.sets[split].source
        for number, (context, response, label) in enumerate(items):
            ident = f"{split}:{number}"
            texts += _texts(file, number, ident, split, context, response, label)
            ratings.append((ident, CRITERION, "gold", RaterKind.GOLD.value, None, Status.OK.value, label, None, clusters[ident], file, number))  # fmt: skip
    for run in outputs.read(files, released_inputs.items["test"], notes):
        texts += _copies(run)
        ratings += _ratings(run, clusters)
    return Material(frame(texts, TEXTS), frame(ratings, RATINGS), {}, {CRITERION: labels.LABELS}, tuple(notes))


def _texts(
    file: str, number: int, ident: str, split: str, context: object, response: object, label: str | None
) -> Iterator[Row]:
    for kind, text in (("input", context), ("reply", response)):
        if isinstance(text, str):
            yield file, number, kind, ident, text, None, None, split, label


def _copies(run: Outputs) -> Iterator[Row]:
    for output in run.released:
        item = output.item
        label = _value(item.label, known_ids=True)
        yield from _texts(run.run.folder, output.number, f"test:{output.number}", "test", item.context, item.response, label)  # fmt: skip


def _ratings(outputs: Outputs, clusters: dict[str, str]) -> Iterator[Row]:
    run = outputs.run
    for output in outputs.released:
        ident = f"test:{output.number}"
        value = _value(output.answer, known_ids=run.kind is RaterKind.CLASSIFIER)
        status = Status.UNPARSABLE if value is None else Status.OK
        yield ident, CRITERION, outputs.rater, run.kind.value, run.number, status.value, value, None, clusters.get(ident), run.folder, output.number  # fmt: skip


def _value(cell: object, *, known_ids: bool) -> str | None:
    """Return a cell as text: an id that stands for a label as that label, words as they are, anything else as JSON."""
    if cell is None or cell == "":
        return None
    if known_ids and isinstance(cell, int) and (label := labels.of(cell)):
        return label
    return cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)
