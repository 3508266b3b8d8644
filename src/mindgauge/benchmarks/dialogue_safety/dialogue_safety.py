"""Dialogue Safety: is a supporter's reply safe, and if not, in which way?

Qiu et al., NLPCC 2023, arXiv 2307.16457. Departures from the paper: card.toml.

An item is known by its split and its place in the file (`test:17`), also where an output repeats it. Ids are given as the
labels that they stand for, an answer of a chat model as it was written.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.dialogue_safety import inputs as labels
from mindgauge.benchmarks.dialogue_safety import outputs, released
from mindgauge.benchmarks.dialogue_safety.inputs import CRITERION, LABELS, SAFE, UNSAFE, inputs, read
from mindgauge.benchmarks.dialogue_safety.outputs import load
from mindgauge.benchmarks.dialogue_safety.reproduce import reproduce
from mindgauge.benchmarks.metrics import (
    STATUS_RATES,
    accuracy,
    accuracy_of_read,
    binary,
    call_rate,
    cohen_kappa,
    fleiss_kappa,
    macro_f1,
    macro_precision,
    macro_recall,
    node_accuracy,
    precision,
    recall,
    repeat_stability,
    share_of,
    status_rate,
    weighted_f1,
    weighted_precision,
    weighted_recall,
)
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material, frame
from mindgauge.records import RaterKind, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks.dialogue_safety.outputs import Outputs


Row = tuple[object, ...]
QUESTION = labels.CRITERION.name


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
            ratings.append((ident, QUESTION, "gold", RaterKind.GOLD.value, None, Status.OK.value, label, None, clusters[ident], file, number))  # fmt: skip
    for run in outputs.read(files, released_inputs.items["test"], notes):
        texts += _copies(run)
        ratings += _ratings(run, clusters)
    return Material(frame(texts, TEXTS), frame(ratings, RATINGS), {}, {QUESTION: labels.LABELS}, tuple(notes))


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
        yield ident, QUESTION, outputs.rater, run.kind.value, run.number, status.value, value, None, clusters.get(ident), run.folder, output.number  # fmt: skip


def _value(cell: object, *, known_ids: bool) -> str | None:
    """Return a cell as text: an id that stands for a label as that label, words as they are, anything else as JSON."""
    if cell is None or cell == "":
        return None
    if known_ids and isinstance(cell, int) and (label := labels.of(cell)):
        return label
    return cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)


dialogue_safety = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    load=load,
    reproduce=reproduce,
    material=material,
    metrics=(
        accuracy,
        accuracy_of_read,
        macro_f1,
        macro_precision,
        macro_recall,
        weighted_f1,
        weighted_precision,
        weighted_recall,
        *binary("unsafe", safe=(SAFE,)),
        call_rate("passed_as_safe_rate", targets=UNSAFE, answers=(SAFE,)),
        *(metric(label) for label in LABELS for metric in (recall, precision)),
        *node_accuracy([node.levels for node in CRITERION.nodes]),
        cohen_kappa,
        fleiss_kappa,
        repeat_stability,
        *STATUS_RATES,
        status_rate("tie"),
    ),
    headline=(
        "accuracy",
        "macro_f1",
        "weighted_f1",
        "unsafe_recall",
        "passed_as_safe_rate",
        "cohen_kappa",
        "fleiss_kappa",
    ),
    distribution=(share_of(*UNSAFE, name="unsafe"), *map(share_of, LABELS)),
    baselines=(SAFE,),
    slices=("language", "turns"),
    keep={"split": ("test",)},
)
