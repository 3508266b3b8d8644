"""Dialogue Safety: is a supporter's reply safe, and if not, in which way?

Qiu et al., NLPCC 2023, arXiv 2307.16457. Departures from the paper: card.toml.

An item is known by its split and its place in the file (`test:17`), also where an output repeats it. Ids are given as the
labels that they stand for, an answer of a chat model as it was written.

As published reads answers by the authors' rule. Repaired reads them leniently and gives macro averages: in the weighted
ones two labels make up nine tenths, and the weighted recall repeats the accuracy. An answer that names no label counts as
wrong in both; the authors' own script stops there, or takes the label of the item before. Runs that lack an item are left
out.

A rater is a model with its setting (`gpt-3.5-turbo-0301:zero_shot`) or an encoder; its runs count from 0 in the order
one, two, three … or of the seeds. An item that a run lacks stays in it, without an output.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mindgauge.benchmarks import Benchmark, RecomputedCell, Released
from mindgauge.benchmarks.dialogue_safety import inputs as labels
from mindgauge.benchmarks.dialogue_safety import released
from mindgauge.benchmarks.dialogue_safety import released as contents
from mindgauge.benchmarks.dialogue_safety.inputs import CRITERION, LABELS, SAFE, UNSAFE, inputs, read
from mindgauge.benchmarks.dialogue_safety.released import ReleasedCompletion
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
from mindgauge.raters import rule
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.records.errors import DataError
from mindgauge.records.files.bounds import clean
from mindgauge.stats import classification
from mindgauge.stats.agreement import confusion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    from collections.abc import Sequence

    from mindgauge.benchmarks.dialogue_safety.inputs import ReleasedItem
    from mindgauge.benchmarks.dialogue_safety.released import (
        DialogueSafetyRelease,
        EchoedItem,
        ReleaseMember,
        SystemRun,
    )
    from mindgauge.records import Sample


class Output(NamedTuple):
    """What one file holds: where it stands, the answer as released, the item that it names, and facts about the call."""

    member: ReleaseMember
    number: int
    answer: object
    item: EchoedItem
    facts: dict[str, Any]

    @property
    def label(self) -> str | None:
        """The label that the answer names, read leniently."""
        return labels.normalising(self.answer) if isinstance(self.answer, str) else labels.of(self.answer)

    @property
    def label_as_published(self) -> str | None:
        """The label by the authors' own reading."""
        return labels.as_published(self.answer) if isinstance(self.answer, str) else labels.of(self.answer)


class Outputs(NamedTuple):
    """One run of a rater: its outputs as released, and those of the test items, in their order, None where it lacks one."""

    rater: str
    run: SystemRun
    released: list[Output]
    of_item: list[Output | None]

    @property
    def whole(self) -> bool:
        """Whether it has an output for every item."""
        return None not in self.of_item


def read_outputs(files: DialogueSafetyRelease, items: Sequence[ReleasedItem], notes: list[str]) -> list[Outputs]:
    """Read all runs; what is damaged, misplaced or missing is noted, one line for each run and kind of fault."""
    by_text: dict[tuple[str, str], int] = {}
    for number, item in enumerate(items):
        by_text.setdefault((item.context, item.response), number)
    decoded = [(run, list(_decode(run, notes))) for run in files.runs]
    raters = _raters(decoded, notes)
    runs = [
        Outputs(raters[run.system], run, placed, _place(run, placed, items, by_text, notes)) for run, placed in decoded
    ]
    present = {run.system for run in files.runs}
    notes += [f"{system}: missing ({name})" for system, name in released.SYSTEMS.items() if system not in present]
    return runs


def _decode(run: SystemRun, notes: list[str]) -> Iterator[Output]:
    faults: dict[str, list[int]] = defaultdict(list)
    for number, member in run.items.items():
        try:
            content = contents.decode(member, run.kind)
        except DataError as error:
            faults[str(error)].append(number)
            continue
        if isinstance(content, ReleasedCompletion):
            yield Output(member, number, content.answer, content.item, _facts(content))
        else:
            yield Output(member, number, content.predict_label, content, {})
    _note(run, faults, notes)


def _facts(completion: ReleasedCompletion) -> dict[str, Any]:
    return {
        "model": completion.model,
        "id": completion.id,
        "created": completion.created,
        "finish_reason": completion.finish_reason,
        "prompt_tokens": completion.usage.get("prompt_tokens", 0),
        "completion_tokens": completion.usage.get("completion_tokens", 0),
    }


def _raters(decoded: list[tuple[SystemRun, list[Output]]], notes: list[str]) -> dict[str, str]:
    """Name each system by the model that its completions name, or else by its folder."""
    names: dict[str, Counter[str]] = {}
    for run, decoded_outputs in decoded:
        counts = names.setdefault(run.system, Counter())
        counts.update(model for output in decoded_outputs if (model := output.facts.get("model")))
    raters: dict[str, str] = {}
    for system, counts in names.items():
        _, version, *setting = system.split("/")
        model = counts.most_common(1)[0][0] if counts else version
        if len(counts) > 1:
            notes.append(f"{system}: {', '.join(f'{n} by {name}' for name, n in counts.most_common())}; taken as {model}")  # fmt: skip
        name = ":".join([model, *setting])
        raters[system] = name if name not in raters.values() else f"{name}:{version}"
    return raters


def _place(
    run: SystemRun,
    run_outputs: list[Output],
    items: Sequence[ReleasedItem],
    by_text: dict[tuple[str, str], int],
    notes: list[str],
) -> list[Output | None]:
    """Put outputs beside items: by number if the item is the same or not repeated, otherwise by the item's text."""
    faults: dict[str, list[int]] = defaultdict(list)
    placed: list[Output | None] = [None] * len(items)
    for output in run_outputs:
        item, number = output.item, output.number
        row = items[number] if number < len(items) else None
        if item.context is not None and (row is None or (item.context, item.response) != row[:2]):
            number = by_text.get((item.context, item.response), -1)
            if number < 0:
                faults["the item is not in test.json; left out"].append(output.number)
                continue
            faults["the item stands elsewhere in test.json; joined by its text"].append(output.number)
        elif row is None:
            faults["test.json has no such row; left out"].append(output.number)
            continue
        if placed[number] is not None:
            faults["the item was answered by another file of this run; left out"].append(output.number)
            continue
        placed[number] = output
        if item.label is not None and labels.of(item.label) != items[number].label:
            faults["the label is not that of test.json, which is kept"].append(output.number)
    faults["no output; counted as failed"] = [number for number, output in enumerate(placed) if output is None]
    _note(run, faults, notes)
    return placed


def _note(run: SystemRun, faults: dict[str, list[int]], notes: list[str]) -> None:
    for fault, numbers in faults.items():
        if numbers:
            listed = ", ".join(map(str, numbers[:10])) + (", …" if len(numbers) > 10 else "")
            subject = "item" if len(numbers) == 1 else f"{len(numbers)} items:"
            notes.append(f"{run.folder}: {subject} {listed}: {fault}")


# The released outputs as ratings: each chat model and encoder is a rater of the test items.


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
    runs = read_outputs(files, test_inputs.items["test"], notes)
    if not runs:
        notes.append(
            "no stored output is here: expected ChatGPT_gen/ or finetuned_model_predict/, in a folder or a zip"
        )
    ratings: dict[tuple[str, str, int], Rating] = {}
    for run in runs:
        run_ratings = list(_output_ratings(run, test_inputs.of_item["test"]))
        for rating in run_ratings:
            ratings.setdefault((rating.subject, rating.rater, rating.run), rating)
        counts = Counter(rating.status for rating in run_ratings)
        notes += [f"{run.run.folder}: {counts[status]} answers are {status}" for status in _NO_LABEL if counts[status]]
    return Released(test_inputs.samples, [], list(ratings.values()), notes)


def _output_ratings(outputs: Outputs, samples: list[Sample]) -> Iterator[Rating]:
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


PUBLISHED = Path(__file__).parent / "published.toml"
RUNS = 5
FIRST_BLOCK = 203
"""So many single-turn items stand first in the authors' test file."""
_FIGURES: dict[str, Callable[[Floats], Floats]] = {
    "accuracy": classification.accuracy,
    "precision": classification.weighted_precision,
    "recall": classification.weighted_recall,
    "f1": classification.weighted_f1,
}
_REPAIRED: dict[str, Callable[[Floats], Floats]] = {
    "accuracy": classification.accuracy,
    "precision": classification.macro_precision,
    "recall": classification.macro_recall,
    "f1": classification.macro_f1,
}
_UNSAFE = [LABELS.index(label) for label in UNSAFE]


def reproduce(data: Path) -> Iterator[RecomputedCell]:
    """Recompute what the files that are there suffice for; a cell without its files says which it needs.

    Tables whose names begin with `derived.` are not in the paper: their published values are those that were computed
    from the same files beforehand.

    Raises:
        DataError: there is no test.json, or a file or a row of the items is not as it should be.
    """
    files = released.find(data)
    items = inputs(files).items["test"]
    gold = codes(item.label for item in items)
    runs: dict[str, list[Outputs]] = {}
    for run in read_outputs(files, items, []):
        if run.whole:
            runs.setdefault(run.run.system, []).append(run)
    cells = [
        *_constants(gold),
        *(cell for system, of_system in runs.items() for cell in _system(system, of_system, gold)),
    ]
    printed = {number[:3]: needs for number, needs in _printed()}
    yield from (cell for cell in cells if (cell.table, cell.row, cell.column) in printed)
    for missing in printed.keys() - {(cell.table, cell.row, cell.column) for cell in cells}:
        yield RecomputedCell(*missing, None, printed[missing])


def codes(labels: Iterable[str | None]) -> Codes:
    """Return labels as ids, -1 where there is none."""
    return np.array([-1 if label is None else LABELS.index(label) for label in labels], dtype=np.intp)


def majority(runs: Codes) -> Codes:
    """Return the most frequent label of each item; of several the one that comes first in the order of the runs.

    Args:
        runs: shape (runs, n), codes; -1 is a label like any other.
    """
    votes = (runs[:, None] == runs[None]).sum(axis=1)  # how many runs say what this one says
    return np.asarray(np.take_along_axis(runs, votes.argmax(axis=0)[None], axis=0)[0])


def _printed() -> Iterator[tuple[tuple[str, str, str], str]]:
    """Yield table, row and column of every published number, and what it needs."""
    folders = {name: folder for folder, name in released.SYSTEMS.items()}
    for table in tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["table"]:
        for row, values in table["rows"].items():
            needs = "needs " + ": ".join(filter(None, (folders.get(row), table["needs"])))
            for column, value in zip(table["columns"], values, strict=True):
                if not math.isnan(value):
                    yield (table["name"], row, column), needs


def _constants(gold: Codes) -> Iterator[RecomputedCell]:
    for label in LABELS:
        hits = 100 * (gold == LABELS.index(label))
        parts = {"all": hits, "first_203": hits[:FIRST_BLOCK], "others": hits[FIRST_BLOCK:]}
        for column, part in parts.items():
            yield RecomputedCell("derived.constant", f"always {label}", column, _mean(part))


def _system(system: str, runs: list[Outputs], gold: Codes) -> Iterator[RecomputedCell]:
    row = released.SYSTEMS.get(system, system)
    published = np.stack([codes(output and output.label_as_published for output in run.of_item) for run in runs])
    lenient = np.stack([codes(output and output.label for output in run.of_item) for run in runs])
    short = "" if len(runs) == RUNS else f"from {len(runs)} runs instead of {RUNS}"
    tables, repaired = _tables(gold, published), _tables(gold, lenient)
    for column, figure in _FIGURES.items():
        values = 100 * figure(tables)
        note = "; ".join(filter(None, (short, _unread(published, "by the authors' rule"))))
        for table in ("results", "derived.results"):
            yield RecomputedCell(table, row, column, _mean(values), note)
            yield RecomputedCell(table, row, f"{column}_sd", _sd(values), note)
        values = 100 * _REPAIRED[column](repaired)
        macro = "" if column == "accuracy" else "macro average"
        note = "; ".join(filter(None, (macro, "answers read leniently", short, _unread(lenient, "so"))))
        yield RecomputedCell("results", row, column, _mean(values), note, repaired=True)
        yield RecomputedCell("results", row, f"{column}_sd", _sd(values), note, repaired=True)
    for number, value in enumerate(100 * classification.accuracy(repaired), 1):
        yield RecomputedCell("derived.runs", row, str(number), float(value))
    for column, value in _more(gold, lenient, repaired).items():
        yield RecomputedCell("derived.more", row, column, value, short)
    for label, value in zip(LABELS, 100 * classification.recall(repaired).mean(axis=0), strict=True):
        yield RecomputedCell("derived.recall", row, label, float(value), short)


def _more(gold: Codes, runs: Codes, tables: Floats) -> dict[str, float | None]:
    right, nonsense = runs == gold, gold == LABELS.index("Nonsense")
    return {
        "macro_f1": _mean(100 * classification.macro_f1(tables)),
        "unsafe_accuracy": _mean(100 * classification.binary_accuracy(tables, _UNSAFE)),
        "unsafe_precision": _mean(100 * classification.binary_precision(tables, _UNSAFE)),
        "unsafe_recall": _mean(100 * classification.binary_recall(tables, _UNSAFE)),
        "unsafe_f1": _mean(100 * classification.binary_f1(tables, _UNSAFE)),
        "agree": _mean(100 * (runs == runs[0]).all(axis=0)),
        "majority": _mean(100 * (majority(runs) == gold)),
        "first_203": _mean(100 * right[:, :FIRST_BLOCK]),
        "others": _mean(100 * right[:, FIRST_BLOCK:]),
        "nonsense_found": float(right[:, nonsense].any(axis=0).sum()),
    }


def _tables(gold: Codes, runs: Codes) -> Floats:
    """Return each run's confusion table, shape (runs, q, q+1)."""
    return np.concatenate([confusion(gold, run, len(LABELS)) for run in runs])


def _unread(runs: Codes, manner: str) -> str:
    count = int((runs < 0).sum())
    return f"{count} of {runs.size:,} answers cannot be read {manner}, counted as wrong" if count else ""


def _mean(values: Floats | Codes) -> float | None:
    return float(values.mean()) if values.size else None


def _sd(values: Floats) -> float | None:
    return float(values.std(ddof=1)) if len(values) > 1 else None


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
    for run in read_outputs(files, released_inputs.items["test"], notes):
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
