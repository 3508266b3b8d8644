"""What a command may spend: the worst case of every call is set aside before it begins."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mindgauge.records.errors import BudgetError
from mindgauge.records.rounding import dollars

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mindgauge.records.request import Model, Request


class Budget:
    """What may be spent. A call begins only while its worst case still fits beside all calls under way."""

    def __init__(self, limit: float | None, spent: float = 0.0) -> None:
        """Args: limit and spent so far, in US dollars."""
        self.limit = limit
        self.spent = spent
        self._reserved = 0.0
        self._changed = asyncio.Condition()

    async def reserve(self, amount: float) -> None:
        """Set the worst case of a call aside, waiting for others to come in below theirs.

        Raises:
            BudgetError: the call would not fit even alone.
        """
        if self.limit is None:
            return
        async with self._changed:
            while self.spent + self._reserved + amount > self.limit and self._reserved > 1e-12:
                await self._changed.wait()
            if self.spent + amount > self.limit:
                raise BudgetError(
                    f"stopped at {dollars(self.spent)}: the next call could cost {dollars(amount)} and pass --max-cost {self.limit:g}; "
                    "everything is kept, raise --max-cost and run the same command to go on"
                )
            self._reserved += amount

    async def settle(self, reserved: float, paid: float) -> None:
        """Replace what was set aside by what was paid."""
        self.spent += paid
        if self.limit is None:
            return
        async with self._changed:
            self._reserved -= reserved
            self._changed.notify_all()


def tokens(messages: Iterable[Any]) -> int:
    """Estimate tokens from above: a third of the bytes fits English (4 a token) and Chinese (3 a character) alike."""
    return sum(len(message.content.encode()) // 3 + 8 for message in messages)


def system_tokens(model: Model) -> int:
    """Estimate the tokens of the system message that a model's setup opens every call with, from above."""
    return len(model.setup.system.encode()) // 3 + 8 if model.setup.system else 0


def worst_case(model: Model, request: Request) -> float:
    """Return what a call can cost at most, in US dollars; 0 where no price is known."""
    if model.price is None or (model.price.prompt == 0 and model.price.completion == 0):
        return 0.0
    asked = system_tokens(model) + tokens(request.messages)
    return model.price.of(asked, request.parameters.get("max_tokens", model.max_tokens))
