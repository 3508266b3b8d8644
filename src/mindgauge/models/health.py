"""How one of several servers is doing: well, busy, or sick; a sick one rests, and one call tries it again.

What load balancers call passive health checks with ejection, and Nygard ("Release It!", 2007) a circuit breaker.
Times are seconds on a clock that only goes forward.
"""

from __future__ import annotations

STRIKES = 3
"""Calls that a server leaves unanswered one after the other before it is sick; one where it cannot be reached or
refuses us."""
SHORTEST_REST, LONGEST_REST = 1.0, 60.0
"""Seconds that a sick server is left alone; twice as long after each call that tried it in vain."""


class Health:
    """The state of one server."""

    def __init__(self) -> None:
        self.sick = False
        self.rests_until = 0.0
        self.busy_until = 0.0
        self._tried = False
        self._strikes = 0
        self._rest = SHORTEST_REST

    @property
    def pauses(self) -> tuple[float, float]:
        """When its rest and its pause end."""
        return self.rests_until, self.busy_until

    def able(self, moment: float) -> bool:
        """Whether it may be given a call: it is well, or has rested and no other call is trying it."""
        return not self.sick or (moment >= self.rests_until and not self._tried)

    def begin(self, moment: float) -> bool:
        """Give it a call; returns whether this one tries whether it is well again."""
        tries = self.sick and self.able(moment)
        self._tried = self._tried or tries
        return tries

    def end(self, *, tried: bool) -> None:
        """Take note that a call is over, however it ended."""
        if tried:
            self._tried = False

    def answered(self) -> None:
        """Take note of an answer: it is well."""
        self.sick, self._strikes, self._rest = False, 0, SHORTEST_REST

    def busy(self, moment: float, pause: float) -> None:
        """Take note that it has too much to do, and would rather be asked after a pause."""
        self.sick, self._strikes = False, 0
        self.busy_until = max(self.busy_until, moment + pause)

    def failed(self, moment: float, *, at_once: bool, tried: bool) -> None:
        """Take note that a call brought no answer.

        Args:
            moment: the time.
            at_once: whether this one call is enough to call it sick.
            tried: whether the call tried whether it is well again.
        """
        self._strikes += 1
        if self.sick and not tried:
            return
        if self.sick:
            self._rest = min(LONGEST_REST, 2 * self._rest)
        if self.sick or at_once or self._strikes >= STRIKES:
            self.sick = True
            self.rests_until = moment + self._rest
