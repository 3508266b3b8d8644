"""A reading: a criterion that is read from every reply by rule, whoever else rates it. It costs nothing and never differs."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mindgauge.records import RaterKind, Rating, Reply, Sample, Status, Value
from mindgauge.rubric import Criterion


class Reading(msgspec.Struct, frozen=True):
    """What is read from replies, and how; `criterion` says of which samples (`applies`)."""

    criterion: Criterion
    read: Callable[[Sample, str], Value | None]
    """The level that a reply to a sample shows; None where it cannot be told."""

    @property
    def rater(self) -> str:
        """Who rates, as ratings carry it."""
        return f"rule/{self.criterion.name}"

    def rate(self, sample: Sample, reply: Reply) -> Rating:
        """Rate one reply; one that never came keeps its status."""
        status, value = reply.status, None
        if not self.criterion.about(sample.tags):
            status = Status.NOT_APPLICABLE
        elif status is Status.OK:
            value = self.read(sample, reply.text)
            status = Status.UNPARSABLE if value is None else Status.OK
        name = self.criterion.name
        return Rating(reply.id, name, self.rater, RaterKind.RULE, 0, status, value, instrument=self.rater)
