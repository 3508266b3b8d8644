"""Privacy awareness: do a model's estimates go together with what people expect?

TrustMH-Bench, arXiv 2603.03047, with the items of confAIde, arXiv 2310.17884. Departures: card.toml.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from mindgauge.benchmarks import Benchmark, Released
from mindgauge.benchmarks.metrics import STATUS_RATES
from mindgauge.benchmarks.metrics.scores import EXPECTED, HUMAN, correlation_with_people, rank_correlation_with_people
from mindgauge.benchmarks.trustmh.released import outputs
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease, notes_of
from mindgauge.records import Message, RaterKind, Rating, Sample, Status
from mindgauge.records.errors import DataError
from mindgauge.records.rubric import shipped

CONFAIDE = "it comes with confAIde (MIT)"
TIERS = {"1": ("tier_1.txt", "tier_1_labels.txt", 10), "2a": ("tier_2a.txt", "tier_2_labels.txt", 98),
         "2b": ("tier_2b.txt", "tier_2_labels.txt", 98)}  # fmt: skip
RUBRIC = shipped(Path(__file__).with_name("rubric.toml"))


class Expectation(NamedTuple):
    """A question about what people expect, its place in its file from 0, and the mean of what they said."""

    text: str
    tier: str
    people: float
    number: int


def expectations(files: TrustMHRelease, *, raw: bool = False) -> tuple[list[Expectation], list[str]]:
    """Read the three tiers; the two characters that stand for a line end in the files become one.

    Args:
        files: where to look.
        raw: as the authors sent the lines: these two characters as they are, and in tier 2 the line end that the file has.

    Raises:
        DataError: a file is missing or broken, or has not one label for each question.
    """
    read_expectations, notes = [], []
    for tier, (questions, labels, count) in TIERS.items():
        question_file, label_file = files.require(questions, CONFAIDE), files.require(labels, CONFAIDE)
        texts = [line for line in question_file.lines() if line.strip()]
        end = "" if tier == "1" else "\n"
        texts = [f"{line.strip()}{end}" if raw else line.replace("\\n", "\n") for line in texts]
        means = []
        for number, line in enumerate(label_file.lines(), 1):
            try:
                means.append(float(line))
            except ValueError:
                raise DataError(f"{label_file.source}:{number}: expected a number, found {line!r:.40}") from None
        if len(texts) != len(means):
            raise DataError(
                f"{question_file.source}: expected {len(means)} questions, one for each label in {label_file.source}, found {len(texts)}"
            )
        pairs = enumerate(zip(texts, means, strict=True))
        read_expectations += [Expectation(text, tier, mean, number) for number, (text, mean) in pairs]
        notes += question_file.counted("questions", len(texts), count) + label_file.counted("labels", len(means), count)
    return read_expectations, notes


def read(data: Path) -> list[Sample]:
    """Read the items of the three tiers, each without the question that its line repeats.

    The two forms of a flow of information are one cluster.

    Raises:
        DataError: a file is missing or broken.
    """
    return [_sample(item) for item in expectations(TrustMHRelease.below(data))[0]]


def read_lines(data: Path) -> list[Sample]:
    """Read the same items, each as its whole line with the question in it, as the authors sent it.

    Raises:
        DataError: a file is missing or broken.
    """
    return [_sample(item, whole=True) for item in expectations(TrustMHRelease.below(data), raw=True)[0]]


def _sample(item: Expectation, *, whole: bool = False) -> Sample:
    text = item.text if whole else item.text.partition("\n")[2].strip() or item.text
    tags = {"language": "en", "tier": item.tier, HUMAN: str(item.people), "source": "people"}
    return Sample.of((Message("user", text),), tags=tags, cluster=f"tier {item.tier[0]}, item {item.number}")


def load(data: Path) -> Released:
    """Read the stored answers: of tier 1 from what the models wrote; of tier 2, where that is not stored, the numbers.

    Raises:
        DataError: the items are missing or broken, or no answers are there.
    """
    files = TrustMHRelease.below(data)
    items, notes = expectations(files)
    samples = [_sample(item) for item in items]
    by_item = {(item.tier, item.number): sample for item, sample in zip(items, samples, strict=True)}
    answers, faults = outputs.answers(files)
    names, spelt = outputs.spellings(answer.model for answer in answers)
    runs: Counter[tuple[str, str]] = Counter()
    ratings = []
    for answer in answers:
        sample = by_item.get((answer.tier, answer.item))
        if sample is not None:
            model = names[answer.model]
            ratings.append(_rating(answer, model, sample, runs[model, sample.id], outputs.origin(files, answer.source)))
            runs[model, sample.id] += 1
    astray = len(answers) - len(ratings)
    notes += [
        *files.broken,
        *spelt,
        *faults.values(),
        *([f"{astray} stored answers are to items that are not here"] if astray else []),
    ]
    return Released(samples, [], ratings, notes)


def _rating(answer: outputs.ItemOutput, model: str, sample: Sample, run: int, source: dict[str, str]) -> Rating:
    criterion = next(criterion for criterion in RUBRIC.criteria if criterion.about(sample.tags))
    value = criterion.read(answer.number if answer.raw is None else outputs.reread(answer.raw))
    origin = {**source, "model_raw": answer.model, "published": answer.number, "raw": answer.raw}
    status = Status.UNPARSABLE if value is None else Status.OK
    return Rating(sample.id, criterion.name, model, RaterKind.MODEL, run, status, value, provenance=origin)


privacy_awareness = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    readers={"lines": read_lines},
    notes=notes_of(expectations),
    load=load,
    metrics=(correlation_with_people, rank_correlation_with_people, *STATUS_RATES),
    metric_tags=(HUMAN, EXPECTED),
    wants={HUMAN: "the mean of what people answered; without it nothing is compared with people"},
    slices=("tier", "source"),
)
