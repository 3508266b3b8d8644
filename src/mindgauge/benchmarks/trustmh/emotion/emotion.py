"""Emotion recognition: what does a person in a story feel, and why?

Sabour et al., EmoBench, 2024; as a task of TrustMH-Bench, arXiv 2603.03047. Departures from the paper: card.toml.
"""

from __future__ import annotations

from pathlib import Path
from string import ascii_uppercase
from typing import Literal

import msgspec

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, accuracy, accuracy_of_read, fleiss_kappa
from mindgauge.benchmarks.metrics.variants import chance
from mindgauge.benchmarks.trustmh.released import files as lists
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease, notes_of
from mindgauge.benchmarks.variants.options import MultipleChoice, listed
from mindgauge.records import Message, Sample
from mindgauge.records.errors import DataError
from mindgauge.records.rubric.composite import Composite, CompositeRule

UNDERSTANDING = "EU.jsonl"
EMOBENCH = "they come with EmoBench (MIT)"
SEED = 0
_ASKED = {
    "en": ("What does {subject} feel at the end?", "Why?"),
    "zh": ("{subject}最后的感受是什么？", "原因是什么？"),
}


class _UnderstandingRow(msgspec.Struct, frozen=True):
    qid: str | int
    language: Literal["en", "zh"]
    scenario: str
    subject: str
    coarse_category: str
    emotion_choices: list[str] | str
    emotion_label: str
    cause_choices: list[str] | str
    cause_label: str


def understanding(
    files: TrustMHRelease,
) -> tuple[list[tuple[MultipleChoice, MultipleChoice, str, dict[str, str]]], list[str]]:
    """Read EmoBench's emotional understanding: for each scenario the emotion, its cause, its id and its tags.

    Raises:
        DataError: the file is missing or broken.
    """
    file = files.require(UNDERSTANDING, EMOBENCH)
    stories = []
    for number, row in file.records(_UnderstandingRow):
        about = {"subject": row.subject, "category": row.coarse_category, "language": row.language}
        where = f"{file.source}:{number}"
        emotion = _question(where, row.scenario, row.emotion_choices, row.emotion_label, "emotion_")
        cause = _question(where, row.scenario, row.cause_choices, row.cause_label, "cause_")
        stories.append((emotion, cause, str(row.qid), about))
    return stories, file.counted("rows", len(stories), 400)


def _question(where: str, scenario: str, choices: list[str] | str, label: str, part: str = "") -> MultipleChoice:
    """Return a question; its columns' names begin with `part`."""
    try:
        options = lists.read(choices)[0] if isinstance(choices, str) else choices
    except ValueError as error:
        raise DataError(f"{where}: {part}choices: expected a list, found {error}") from None
    if label not in options:
        raise DataError(f"{where}: expected {part}label among {part}choices, found {label!r:.60}")
    return MultipleChoice(scenario.strip(), tuple(options), options.index(label))


def read(data: Path) -> list[Sample]:
    """Read EmoBench's stories; the two languages of one are one cluster.

    Raises:
        DataError: the file is missing or broken.
    """
    stories, _ = understanding(TrustMHRelease.below(data))
    return [
        story(emotion.shuffled(SEED, f"{row}|emotion"), cause.shuffled(SEED, f"{row}|cause"), about, row)
        for emotion, cause, row, about in stories
    ]


def story(feelings: MultipleChoice, reasons: MultipleChoice, about: dict[str, str], cluster: str) -> Sample:
    """Write a story with its two questions as one message.

    Args:
        feelings: the story as its text, the feelings as its options.
        reasons: the reasons as its options.
        about: tags, `subject` (whose feeling it is) and `language` among them.
        cluster: what its other languages share.
    """
    feeling_question, reason_question = _ASKED[about["language"]]
    parts = [feelings.text, _listed(feeling_question.format_map(about), feelings), _listed(reason_question, reasons)]
    tags = {
        **about,
        "options.emotion": str(len(feelings.options)),
        "options.cause": str(len(reasons.options)),
        "target.cause": _letter(reasons),
    }
    return Sample.of((Message("user", "\n\n".join(parts)),), target=_letter(feelings), tags=tags, cluster=cluster)


def written(sample: Sample) -> Sample:
    """Complete a story of the user's own: it ends with two lists of lettered options, feelings before reasons.

    Raises:
        DataError: it does not.
    """
    lists = listed(sample.messages[-1].content)
    if len(lists) != 2:
        raise DataError(
            "the message does not hold two lists of options (feelings, then reasons), one a line: A. …, B. …"
        )
    feelings, reasons = lists
    tags = {"options.emotion": str(len(feelings)), "options.cause": str(len(reasons))}
    return msgspec.structs.replace(sample, tags={**sample.tags, **tags})


def _listed(lead: str, question: MultipleChoice) -> str:
    lettered = (f"{letter}. {option}" for letter, option in zip(ascii_uppercase, question.options, strict=False))
    return "\n".join([lead, *lettered])


def _letter(question: MultipleChoice) -> str:
    if question.right is None:
        raise ValueError("a question without a right option")
    return ascii_uppercase[question.right]


HERE = Path(__file__).parent
FEELINGS, REASONS = "options.emotion", "options.cause"

emotion = Benchmark.from_folder(
    HERE,
    read=read,
    completed=written,
    notes=notes_of(understanding),
    metrics=(
        accuracy,
        accuracy_of_read,
        chance(FEELINGS, levels=6),
        chance(REASONS, levels=7),
        chance(FEELINGS, REASONS, levels=2),
        fleiss_kappa,
        *STATUS_RATES,
    ),
    composites={"both": Composite(("emotion", "cause"), CompositeRule.RIGHT)},
    slices=("language", "category"),
    metric_tags=(FEELINGS, REASONS),
)
