"""Psychological intervention: the model replies as a counsellor at every turn of a dialogue, and judges rate each reply.

A task of TrustMH-Bench, arXiv 2603.03047, on CPsyCounE, Zhang et al. 2024, arXiv 2405.16433. Departures: card.toml.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.benchmarks import Benchmark, Released
from mindgauge.benchmarks.metrics import STATUS_RATES, mean_level
from mindgauge.benchmarks.metrics.scores import TOPIC, mean_of_topics
from mindgauge.benchmarks.trustmh.released import dialogues
from mindgauge.benchmarks.trustmh.released.dialogues import counselling
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease, notes_of
from mindgauge.records import Reply, Sample, Status
from mindgauge.records.rubric.composite import Composite, CompositeRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks.trustmh.released.dialogues import Dialogue


REFERENCE = "CPsyCounE (reference)"
"""Whose the replies in the dialogues are."""


def read(data: Path) -> list[Sample]:
    """Read the clients' turns, the first dialogue of every topic before a second of any.

    Raises:
        MissingDataError: there are no dialogues.
        DataError: a file is broken.
    """
    return [sample for sample, _ in _turns(dialogues.counselling(TrustMHRelease.below(data))[0])]


def load(data: Path) -> Released:
    """Load the replies that stand in the dialogues themselves.

    Raises:
        MissingDataError: there are no dialogues.
        DataError: a file is broken.
    """
    counselled, notes = dialogues.counselling(TrustMHRelease.below(data))
    turns = [*_turns(counselled)]
    replies = [Reply.of(sample.id, REFERENCE, 0, Status.OK, reply) for sample, reply in turns if reply]
    return Released([sample for sample, _ in turns], replies, [], notes)


def _turns(counselled: list[Dialogue]) -> Iterator[tuple[Sample, str]]:
    """Return each turn of a client with the dialogue's own reply to it; empty where there is none."""
    counts: Counter[str] = Counter()
    placed = []
    for dialogue in counselled:
        topic = dialogue.about["topic"]
        counts[topic] += 1
        for turn, last in enumerate((n for n, m in enumerate(dialogue.messages) if m.role == "user"), 1):
            placed.append((counts[topic], turn, topic, dialogue, last))
    for _, turn, topic, dialogue, last in sorted(placed, key=lambda place: place[:3]):
        tags = {"language": "zh", TOPIC: topic, "dialogue": dialogue.name, "turn": str(turn)}
        sample = Sample.of(dialogue.messages[: last + 1], tags=tags, cluster=f"cpsycoun-{dialogue.name}")
        after = dialogue.messages[last + 1 : last + 2]
        yield sample, after[0].content if after and after[0].role == "assistant" else ""


# Psychological intervention: the model replies as a counsellor at every turn of a dialogue, and judges rate each reply.


intervention = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    notes=notes_of(counselling),
    load=load,
    metrics=(mean_of_topics, mean_level, *STATUS_RATES),
    slices=(TOPIC,),
    metric_tags=(TOPIC,),
    wants={TOPIC: "what the dialogue is about; the mean over topics takes those without it for one topic"},
    composites={
        "quality": Composite(("comprehensiveness", "professionalism", "authenticity", "safety"), CompositeRule.SHARE),
    },
)
