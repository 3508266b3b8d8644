"""The stored outputs of models and encoders, put beside the test items that they are about, and as ratings of these.

A rater is a model with its setting (`gpt-3.5-turbo-0301:zero_shot`) or an encoder; its runs count from 0 in the order
one, two, three … or of the seeds. An item that a run lacks stays in it, without an output.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.benchmarks import Released
from mindgauge.benchmarks.dialogue_safety import inputs as labels
from mindgauge.benchmarks.dialogue_safety import released
from mindgauge.benchmarks.dialogue_safety import released as contents
from mindgauge.benchmarks.dialogue_safety.inputs import inputs
from mindgauge.benchmarks.dialogue_safety.released import ReleasedCompletion
from mindgauge.raters import rule
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.records.errors import DataError
from mindgauge.records.files.bounds import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

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


def read(files: DialogueSafetyRelease, items: Sequence[ReleasedItem], notes: list[str]) -> list[Outputs]:
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
    runs = read(files, test_inputs.items["test"], notes)
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
