"""A trained classifier as a rater of samples and replies: probabilities kept, abstaining where it is not sure.

`classifier/PATH` names the folder that `mindgauge train` wrote.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge.raters.classifiers.form import with_reply
from mindgauge.raters.classifiers.saved import open_classifier
from mindgauge.raters.rule import unread_because
from mindgauge.raters.window import status_alone
from mindgauge.records import RaterKind, Rating, Reply, Sample, Status
from mindgauge.records.errors import MindgaugeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mindgauge.raters.classifiers.saved import Classifier
    from mindgauge.records.rubric import Criterion, Rubric

PREFIX = "classifier/"
BLOCK = 2048
"""Subjects that are sorted by length together; a kill costs at most so many."""

Subject = tuple[Sample, Reply | None]


class ClassifierRater:
    """A rater that puts the label it finds likeliest, or none; it is deterministic, so it rates a subject once.

    An abstention is a declined verdict: its status is `refused`, its provenance says `abstained`. How the classifier has
    `seen` a dialogue when it learned stands there too, where it is known (`seen.How`).

    Attributes:
        name: as ratings carry it.
        classifier: what rates.
        criterion: what it rates, under the name that its ratings have.
    """

    def __init__(self, name: str, classifier: Classifier, criterion: Criterion | None = None) -> None:
        self.name = name
        self.classifier = classifier
        self.criterion = criterion or classifier.criterion

    def answering(self, rubric: Rubric, *, about_reply: bool) -> ClassifierRater:
        """Return it as a rater of samples, whose last message is the reply that is asked about, or the person's.

        Raises:
            UsageError: it was trained on another rubric, or on dialogues that end otherwise.
        """
        self.classifier.fit_for(rubric)
        self._see_that_it_reads("reply" if about_reply else "message")
        return self

    def judging(self, rubric: Rubric) -> ClassifierRater:
        """Return it as a rater of replies: on the rubric's criterion, or on one of its own where the rubric has none.

        A criterion of its own is named after the rubric it was trained on, `RUBRIC/CRITERION`.

        Raises:
            UsageError: it reads what a person says, or the rubric's criterion of that name is another.
        """
        self._see_that_it_reads("reply")
        own = self.classifier.criterion
        if own.name in {criterion.name for criterion in rubric.criteria}:
            self.classifier.fit_for(rubric)
            return self
        name = f"{self.classifier.rubric.id}/{own.name}"
        return ClassifierRater(self.name, self.classifier, msgspec.structs.replace(own, name=name))

    def _see_that_it_reads(self, wanted: str) -> None:
        if self.classifier.decision.reads == wanted:
            return
        ends = {"reply": "the reply that is rated", "message": "the person's message"}
        raise UsageError(
            f"{self.name}: the dialogues it was trained on end with {ends[self.classifier.decision.reads]}, and here "
            f"they end with {ends[wanted]}; train one on such dialogues"
        )

    def rate(self, subjects: Iterable[Subject], progress: Callable[[int], None] | None = None) -> Iterator[Rating]:
        """Rate replies, or samples themselves where there is none; a reply that never came keeps its status.

        It is about no whole dialogue and no person's message.

        Args:
            subjects: samples with their replies.
            progress: hears how many are done, more than once in a block.

        Raises:
            DataError: a dialogue is empty.
            MindgaugeError: the memory does not suffice.
        """
        waiting, count = iter(subjects), 0
        while block := list(islice(waiting, BLOCK)):
            yield from self._block(block, None if progress is None else partial(_beyond, progress, count))
            count += len(block)
            if progress is not None:
                progress(count)

    def _block(self, block: list[Subject], progress: Callable[[int], None] | None) -> Iterator[Rating]:
        answered = [(sample, reply) for sample, reply in block if reply is None or status_alone(reply) is Status.OK]
        read = [with_reply(s, r) if r is not None else s for s, r in answered]
        began = time.perf_counter()
        try:
            predicted = self.classifier.probabilities(read, progress)
        except MindgaugeError:
            raise
        except Exception as error:  # noqa: BLE001 - a fault of ours, whatever it is; the others are rated all the same
            if len(block) == 1:
                yield self._rating(*block[0], Status.UNPARSABLE, provenance={"problem": unread_because(error)})
            else:
                for half in (block[: len(block) // 2], block[len(block) // 2 :]):
                    yield from self._block(half, None)
            return
        seconds = (time.perf_counter() - began) / max(1, len(answered))
        decided = iter(zip(read, predicted.tolist(), self.classifier.decide(predicted), strict=True))
        for sample, reply in block:
            if reply is not None and (status := status_alone(reply)) is not Status.OK:
                yield self._rating(sample, reply, status)
                continue
            dialogue, probabilities, value = next(decided)
            named = zip(map(str, self.classifier.labels), (round(p, 4) for p in probabilities), strict=True)
            provenance: dict[str, object] = {"probabilities": dict(named), "seconds": round(seconds, 9)}
            if self.classifier.seen is not None:
                provenance["seen"] = self.classifier.seen.how(dialogue)
            if value is None:
                yield self._rating(sample, reply, Status.REFUSED, provenance={**provenance, "abstained": True})
            else:
                yield self._rating(sample, reply, Status.OK, value=value, provenance=provenance)

    def _rating(self, sample: Sample, reply: Reply | None, status: Status, **fields: object) -> Rating:
        return Rating(
            (reply or sample).id, self.criterion.name, self.name, RaterKind.CLASSIFIER, 0, status,
            instrument=self.classifier.instrument, **fields,  # type: ignore[arg-type]  # value and provenance
        )  # fmt: skip


def _beyond(progress: Callable[[int], None], before: int, count: int) -> None:
    progress(before + count)


def is_classifier(spec: object) -> bool:
    """Whether a name is one of a classifier, `classifier/PATH`."""
    return isinstance(spec, str) and spec.startswith(PREFIX)


def open_classifier_rater(spec: str) -> ClassifierRater:
    """Open the classifier that `classifier/PATH` names; its ratings carry that name.

    Raises:
        UsageError: there is no classifier, or it is damaged.
    """
    path = Path(spec.removeprefix(PREFIX))
    return ClassifierRater(f"{PREFIX}{path}", open_classifier(path))
