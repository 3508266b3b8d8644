"""How a dialogue can end."""

from __future__ import annotations

from enum import StrEnum

from mindgauge.records import Status


class Outcome(StrEnum):
    """What became of a dialogue. A failure of the client says nothing of the target."""

    COMPLETE = "complete"
    CLIENT_LEFT = "client_left"
    CLIENT_REFUSED = "client_refused"
    CLIENT_BROKE_ROLE = "client_broke_role"
    TARGET_REFUSED = "target_refused"
    FILTERED = "filtered"
    FAILED = "failed"

    @property
    def of_client(self) -> bool:
        """Whether it is the client's failure, so that the dialogue is no evidence of the target."""
        return self in CLIENT_FAILURES

    @classmethod
    def of_reply(cls, status: Status) -> Outcome:
        """Return how a dialogue ends with a reply of the target that is not `ok`."""
        ends = {Status.REFUSED: cls.TARGET_REFUSED, Status.FILTERED: cls.FILTERED}
        return ends.get(status, cls.FAILED)


CLIENT_FAILURES = (Outcome.CLIENT_LEFT, Outcome.CLIENT_REFUSED, Outcome.CLIENT_BROKE_ROLE)
