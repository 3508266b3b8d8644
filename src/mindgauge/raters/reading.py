"""A reading: a criterion that is read from every reply by rule, whoever else rates it. It costs nothing and never differs.

Readers of what models say are written not to fail, whatever it is. Where one fails all the same, this costs the one rating,
which says so (`unread_because`), and never the run.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mindgauge.records import RaterKind, Rating, Reply, Sample, Status, Value
from mindgauge.rubric import Criterion


def unread_because(error: Exception) -> str:
    """Say that a reader failed, in words of ours alone: an error may repeat what it was given."""
    return f"reading it failed with {type(error).__name__}; please report this"


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
        status, value, problem = reply.status, None, {}
        if not self.criterion.about(sample.tags):
            status = Status.NOT_APPLICABLE
        elif status is Status.OK:
            try:
                value = self.read(sample, reply.text)
            except Exception as error:  # noqa: BLE001 - a fault of ours, whatever it is
                problem = {"problem": unread_because(error)}
            status = Status.UNPARSABLE if value is None else Status.OK
        return Rating(
            reply.id, self.criterion.name, self.rater, RaterKind.RULE, 0, status, value,
            instrument=self.rater, provenance=problem,
        )  # fmt: skip
