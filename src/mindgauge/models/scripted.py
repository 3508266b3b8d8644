"""A model that is a Python function: for tests, for examples, and for planting a known behaviour in a judge."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

from mindgauge.records import Exchange, Status
from mindgauge.records.request import BARE, FREE

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.records.request import Price, Request


class Scripted:
    """Answers with what `answer(request)` returns: a text, or an `Exchange` of any status."""

    host = ""
    price: Price | None = FREE
    max_tokens = 4096
    context: int | None = None
    own_machine = False
    setup = BARE
    at_once: int | None = None

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

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass
