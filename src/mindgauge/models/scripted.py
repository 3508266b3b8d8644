"""A model that is a Python function: for tests, for examples, and for planting a known behaviour in a judge."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mindgauge.records import Exchange, Status
from mindgauge.records.request import Costless

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.records.request import Request


class Scripted(Costless):
    """Answers with what `answer(request)` returns: a text, or an `Exchange` of any status."""

    def __init__(self, name: str, answer: Callable[[Request], str | Exchange]) -> None:
        self.name = name
        self._answer = answer

    async def ask(self, request: Request) -> Exchange:
        """Call the function."""
        answer = self._answer(request)
        if isinstance(answer, Exchange):
            return answer
        status = Status.OK if answer.strip() else Status.UNPARSABLE
        return Exchange(status, answer, "stop", model_resolved=self.name, cost=0.0, at=time.time())
