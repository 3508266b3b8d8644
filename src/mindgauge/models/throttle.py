"""How many calls may be under way at one endpoint: halved when the server pushes back, grown while it keeps up.

Additive increase, multiplicative decrease (Chiu and Jain 1989), as in TCP. One overload cuts once: answers to calls
that began before the last cut say nothing about the new limit.
"""

from __future__ import annotations

import asyncio
from collections import deque


class Throttle:
    """A gate for at most `limit` calls at once, where `limit` moves between 1 and `most`."""

    def __init__(self, limit: int) -> None:
        self.most = limit
        self.limit = float(limit)
        self.under_way = 0
        """Calls that are being answered."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._epoch = 0

    @property
    def free(self) -> int:
        """Places that are free; below 0 just after a cut."""
        return int(self.limit) - self.under_way

    async def enter(self) -> int:
        """Wait for a place; returns the epoch in which the call begins."""
        while self.free <= 0:
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            await place
        self.under_way += 1
        return self._epoch

    def leave(self) -> None:
        """Give the place back."""
        self.under_way -= 1
        free = self.free
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1

    def succeeded(self) -> None:
        """Grow by one for every `limit` calls that went well."""
        if self.limit < self.most:
            self.limit = min(self.most, self.limit + 1 / self.limit)

    def pushed_back(self, epoch: int) -> None:
        """Halve, unless the limit was already cut since that call began."""
        if epoch == self._epoch:
            self._epoch += 1
            self.limit = max(1.0, self.limit / 2)
