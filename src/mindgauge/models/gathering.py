"""Models that gather calls, send them together, and may be left while they are under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from mindgauge.records.request import Model

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.store.batches import Batches


@runtime_checkable
class Gathering(Model, Protocol):
    """A model that gathers calls, sends them together, and may be left while they are under way."""

    def keep(self, batches: Batches, progress: Callable[[str, int, int], None]) -> None:
        """Take, before it is opened, the run's record of what is under way, and whom to tell how far that is."""
        ...

    def leave(self) -> str:
        """Stop waiting: whoever waits gets an error. Returns what goes on without us, empty if nothing does."""
        ...
