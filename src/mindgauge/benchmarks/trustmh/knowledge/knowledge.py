"""Knowledge: examination questions about mental disorders, each asked with its options in two orders.

USMLE-mental of PsyEval; as a task of TrustMH-Bench, arXiv 2603.03047. Departures from the paper: card.toml.
"""

from __future__ import annotations

from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING

import msgspec

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, accuracy, accuracy_of_read, fleiss_kappa
from mindgauge.benchmarks.metrics.variants import PLACES, chance, option_consistency
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease, notes_of
from mindgauge.benchmarks.variants.options import MultipleChoice, generator, pick
from mindgauge.records import BASE
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from mindgauge.records import Sample


USMLE, CRISIS_QA = "USMLE-mental.jsonl", "Crisis_Response_QA.jsonl"
PSY_EVAL = "they come with PsyEval (MIT)"
_TOLD = {USMLE: ("meta_info1", "meta_info2")}
"""What a file says of its questions beside them: the step of the examination, the condition."""
SOURCES = {"usmle": (USMLE, 727), "crisis_qa": (CRISIS_QA, 153)}


class _ExaminationRow(msgspec.Struct, frozen=True):
    question: str
    options: dict[str, str]
    answer: str
    meta_info1: str | None = None
    meta_info2: list[str] | str | None = None

    @property
    def about(self) -> dict[str, str]:
        """The step of the examination and the condition, as far as they are there."""
        conditions = self.meta_info2 or []
        condition = conditions if isinstance(conditions, str) else ", ".join(conditions)
        tags = {"step": (self.meta_info1 or "").removeprefix("step"), "condition": condition}
        return {name: value for name, value in tags.items() if value}


def examination(
    files: TrustMHRelease, name: str, count: int
) -> tuple[list[tuple[MultipleChoice, dict[str, str]]], list[str]]:
    """Read a file of examination questions (`question`, `options` by letter, `answer`), and what it says of each.

    Where the file says so, an item is about a `step` of the examination and a `condition`.

    Raises:
        DataError: it is missing or broken, or an answer is none of the options.
    """
    file = files.require(name, PSY_EVAL)
    items, rows = [], file.records(_ExaminationRow)
    for place, (number, row) in enumerate(rows, 1):
        letters = sorted(row.options)
        answer = row.answer.strip()
        if answer not in letters:
            raise DataError(f"{file.source}:{number}: expected an answer among {', '.join(letters)}, found {answer!r}")
        options = tuple(row.options[letter].strip() for letter in letters)
        question = MultipleChoice(row.question.strip(), options, letters.index(answer))
        items.append((question, {"row": str(place), **row.about}))
    untold = [key for key in _TOLD.get(name, ()) if not any(getattr(row, key) for _, row in rows)]
    notes = [f"{file.source}: expected {key} in the rows, found it in none; nothing is sliced by it" for key in untold]
    return items, file.counted("questions", len(items), count) + notes


def read(data: Path) -> list[Sample]:
    """Read the examination questions, and those of Crisis_Response_QA where they are there, too.

    Raises:
        DataError: the examination questions are missing, or a file is broken.
    """
    return questions(TrustMHRelease.below(data))[0]


def questions(files: TrustMHRelease) -> tuple[list[Sample], list[str]]:
    """Read the questions of both files, and what is odd about these.

    Raises:
        DataError: the examination questions are missing, or a file is broken.
    """
    samples, notes = [], []
    for source, (name, count) in SOURCES.items():
        if source == "usmle" or files.find(name) is not None:
            items, remarks = examination(files, name, count)
            samples += [_sample(*item, source) for item in items]
            notes += remarks
    return samples, notes


def _sample(question: MultipleChoice, about: dict[str, str], source: str) -> Sample:
    text, *options = map(_whole, (question.text, *question.options))
    tags = {"language": "en", "source": source, "row": about["row"], "order": "released", **about}
    return MultipleChoice(text, tuple(options), question.right).sample(tags)


def _whole(text: str) -> str:
    """Return a text without the quotation mark that was left at its end where the file was made."""
    return text[:-1].rstrip() if text.endswith('"') and text.count('"') % 2 else text


def written(sample: Sample) -> Sample:
    """Complete a question of the user's own.

    Raises:
        DataError: its message does not end with lettered options.
    """
    return MultipleChoice.written(sample, order="released")


def both_orders(samples: list[Sample]) -> list[Sample]:
    """Return each sample, and after it the same with its options rotated by a drawn number of places, never none.

    The tag `order` says which of the two it is, `places` where the option at each letter stood as released.
    """
    return [turned for sample in samples for turned in (sample.variant(sample.messages), _rotated(sample))]


def _rotated(sample: Sample) -> Sample:
    question = _question(sample)
    places = [*range(len(question.options))]
    shift = 1 + pick(places[:-1], generator(sample.id, "rotation").random())
    places = places[shift:] + places[:shift]
    turned = question.ordered(places).sample()
    placing = ",".join(map(str, places))
    return sample.variant(turned.messages, target=turned.target, order="rotated", places=placing)


def _question(sample: Sample) -> MultipleChoice:
    """Return the question that a sample was written from, as `MultipleChoice.sample` writes it."""
    letters = ascii_uppercase[: int(sample.tags["options"])]
    text, options = sample.messages[0].content, list[str]()
    for letter in reversed(letters):
        text, begun, option = text.rpartition(f"\n{letter}. ")
        if not begun:
            raise ValueError(f"sample {sample.id} is not written with the options {letters}")
        options.insert(0, option)
    right = None if sample.target is None else letters.index(str(sample.target))
    return MultipleChoice(text.removesuffix("\n"), tuple(options), right)


HERE = Path(__file__).parent

knowledge = Benchmark.from_folder(
    HERE,
    read=read,
    notes=notes_of(questions),
    variants=both_orders,
    completed=written,
    metrics=(accuracy, accuracy_of_read, option_consistency, chance("options"), fleiss_kappa, *STATUS_RATES),
    slices=("order", "step", "condition"),
    keep={"source": ("usmle",)},
    metric_tags=(BASE, PLACES, "options"),
)
