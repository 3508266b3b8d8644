"""One command's work on a run: calls within a budget, workers, and commits that a kill cannot undo.

A number of workers draw jobs from a lazy plan; each waits for its model and then for the disk. A worker that has an
answer is not done until the answer is committed, so a kill can cost at most the calls that were in flight, and
commits are shared: all answers that arrive within a millisecond reach the disk together.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import msgspec

from mindgauge.models.bots.bot import Bot
from mindgauge.records import Exchange, Status
from mindgauge.records.errors import BudgetError, MindgaugeError, UsageError, WaitingError
from mindgauge.records.files.bounds import clean
from mindgauge.records.request import FREE, Model, identity
from mindgauge.records.rounding import dollars
from mindgauge.store.batches import Batches

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Iterable, Iterator

    from mindgauge.records.request import Request
    from mindgauge.runs.verdict_cache import VerdictCache
    from mindgauge.store import Store
    from mindgauge.store.batches import CallsUnderWay


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
    return model.price.of(asked, request.parameters.get("max_tokens") or model.max_tokens)


# Models that gather calls, send them together, and may be left while they are under way.


@runtime_checkable
class Gathering(Model, Protocol):
    """A model that gathers calls, sends them together, and may be left while they are under way."""

    def keep(self, batches: Batches, progress: Callable[[str, int, int], None]) -> None:
        """Take, before it is opened, the run's record of what is under way, and whom to tell how far that is."""
        ...

    def leave(self) -> str:
        """Stop waiting: whoever waits gets an error. Returns what goes on without us, empty if nothing does."""
        ...


# One command's work on a run: calls within a budget, workers, and commits that a kill cannot undo.


T = TypeVar("T")
Progress: TypeAlias = "Callable[[str, int, int], None]"
"""Called with the stage, how many of its calls are done, and how many there are."""
Job: TypeAlias = "Callable[[], Awaitable[None]]"
COMMIT_WITHIN = 0.001
"""Seconds between an answer's arrival and its commit, at most."""
GIVE_UP_AFTER = 50
"""Calls that fail one after the other before a model is given up; each has been retried."""


class Session:
    """One command's work on a run: its store, its budget, its way to stop in good order."""

    def __init__(
        self, store: Store, *, concurrency: int, budget: Budget, progress: Progress | None = None, verdicts: VerdictCache | None = None
    ) -> None:  # fmt: skip
        self.store = store
        self.verdicts = verdicts
        self.concurrency = concurrency
        self.budget = budget
        self.progress = progress or (lambda *_: None)
        self.stop: MindgaugeError | None = None
        self.calls_made = 0
        self._under_way: dict[bytes, asyncio.Future[Exchange]] = {}
        self._commit: asyncio.Future[None] | None = None
        self._failures: dict[str, int] = {}
        self._holders: Counter[int] = Counter()
        self._opened: set[int] = set()
        self._gathering: dict[int, Gathering] = {}
        self._in_batches: dict[str, CallsUnderWay] = {}

    # -- models -----------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def holding(self, model: Model) -> AsyncIterator[None]:
        """Keep a model open, once something has opened it, until the last who holds it lets go.

        A model that takes several steps in a row keeps its connections, and one on this machine its weights.
        """
        self._holders[id(model)] += 1
        try:
            yield
        finally:
            self._holders[id(model)] -= 1
            if not self._holders[id(model)] and id(model) in self._opened:
                self._opened.remove(id(model))
                self._gathering.pop(id(model), None)
                await model.__aexit__(None, None, None)

    @contextlib.asynccontextmanager
    async def using(self, model: Model) -> AsyncIterator[None]:
        """Open a model, if it is not open already."""
        async with self.holding(model):
            if id(model) not in self._opened:
                batches = Batches(self.store)
                if isinstance(model, Gathering):
                    model.keep(batches, self.progress)
                    self._gathering[id(model)] = model
                elif (pending := batches.under_way(model.name)).calls:
                    self._in_batches[model.name] = pending
                await model.__aenter__()
                self._opened.add(id(model))
            yield

    def places(self, model: Model) -> int:
        """Return how many calls to a model may be under way at once."""
        return model.at_once or self.concurrency

    def halt(self, error: MindgaugeError) -> None:
        """Stop in good order, for the first reason given: calls under way are finished, batches go on without us."""
        if self.stop is not None:
            return
        self.stop = error
        messages = [message for model in self._gathering.values() if (message := model.leave())]
        if messages:
            error.args = (f"{error}; {' and '.join(messages)}: the same command collects what is there by then",)

    # -- calls ------------------------------------------------------------------------------------------------------

    async def call(
        self, model: Model, request: Request, ask: Callable[[Request], Awaitable[Exchange]] | None = None
    ) -> Exchange:
        """Make one call within the budget. What it cost is known or, where the server does not count, estimated.

        Args:
            model: that is asked.
            request: what.
            ask: the way to it, where that is not the model's own: a conversation that is under way.
        """
        self._not_twice(model, request)
        worst = worst_case(model, request)
        await self.budget.reserve(worst)
        paid = 0.0
        try:
            exchange = await (ask or model.ask)(request)
            self.calls_made += 1
            if (text := clean(exchange.text)) is not exchange.text or exchange.error or exchange.reasoning:
                error, reasoning = clean(exchange.error), clean(exchange.reasoning)
                exchange = msgspec.structs.replace(exchange, text=text, error=error, reasoning=reasoning)
            if model.price is not None and exchange.status is not Status.FAILED and not exchange.usage.prompt_tokens:
                exchange = msgspec.structs.replace(
                    exchange, cost=model.price.of(tokens(request.messages), len(exchange.text.encode()) / 3)
                )
            paid = exchange.cost or 0.0
            if exchange.overdue:
                at_most, free = worst * exchange.overdue, model.price == FREE
                paid += at_most
                cost = exchange.cost if exchange.status is not Status.FAILED else 0.0 if free else None
                exchange = msgspec.structs.replace(exchange, cost=cost, at_most=None if free else at_most)
        finally:
            await self.budget.settle(worst, paid)
        self._watch(model, exchange)
        return exchange

    def _not_twice(self, model: Model, request: Request) -> None:
        """Refuse a call that is under way in a batch, where it will be paid for."""
        pending = self._in_batches.get(model.name)
        if pending is not None and Batches(self.store).holding(request.key(identity(model))):
            raise UsageError(
                f"{pending.calls:,} calls to {model.name} are under way in batches and would be paid for twice; "
                "run the same command with --batch to collect them first"
            )

    def _watch(self, model: Model, exchange: Exchange) -> None:
        if isinstance(model, Bot):  # each of its failures is a finding about it
            return
        failures = self._failures.get(model.name, 0) + 1 if exchange.status is Status.FAILED else 0
        self._failures[model.name] = failures
        if failures >= GIVE_UP_AFTER:
            self.halt(
                MindgaugeError(
                    f"{model.name}: {failures} calls failed one after the other, the last with: {exchange.error}; "
                    "everything finished is kept, run the same command to go on"
                )
            )

    def asker(
        self, model: Model, benchmark: str, *, judging: bool = False, kept_as: Callable[[Exchange], Exchange] | None = None,
        anew: Collection[bytes] = (),
    ) -> Callable[[Request], Awaitable[Exchange]]:  # fmt: skip
        """Return a way to ask that remembers: the same call is made once, and committed before it counts as made.

        Args:
            model: that is asked.
            benchmark: of the run.
            judging: whether it judges, so that what it answered in other runs is taken where it was kept.
            kept_as: what becomes of an answer before it is kept, if anything.
            anew: keys of calls that are made again although they were answered.
        """
        hashed = identity(model)
        verdicts = self.verdicts if judging else None

        async def ask(request: Request) -> Exchange:
            key = request.key(hashed)
            if key in self._under_way:
                return await self._under_way[key]
            stored = None if key in anew else self.store.exchange(key)
            if stored is not None:
                return stored
            answer = self._under_way[key] = asyncio.get_running_loop().create_future()
            try:
                kept = verdicts.find(key) if verdicts is not None else None
                exchange = kept if kept is not None else await self.call(model, request)
                exchange = kept_as(exchange) if kept_as is not None else exchange
                if verdicts is not None and kept is None:
                    verdicts.keep(key, exchange)
                self.store.add_call(key, request.prompt_hash, benchmark, model.name, request.run, exchange)
                await self.committed()
            except BaseException as error:
                if not answer.done():
                    answer.set_exception(error)
                    answer.exception()  # raised here, and perhaps to nobody else
                raise
            else:
                if not answer.done():
                    answer.set_result(exchange)
                return exchange
            finally:
                del self._under_way[key]

        return ask

    def committed(self) -> asyncio.Future[None]:
        """Return what is done when everything added so far is on disk."""
        if self._commit is None:
            loop = asyncio.get_running_loop()
            self._commit = loop.create_future()
            loop.call_later(COMMIT_WITHIN, self._flush)
        return self._commit

    def _flush(self) -> None:
        commit, self._commit = self._commit, None
        assert commit is not None
        try:
            self.store.flush()
        except MindgaugeError as error:
            self.halt(error)
            if not commit.cancelled():
                commit.set_exception(error)
        else:
            if not commit.cancelled():
                commit.set_result(None)

    # -- work -------------------------------------------------------------------------------------------------------

    async def work(self, jobs: Iterator[Job], stage: str, total: int, at_once: int | None = None) -> None:
        """Do all jobs, `at_once` or else `concurrency` at a time. On a stop, calls under way are finished and kept, then it is raised."""
        finished = 0
        self.progress(stage, 0, total)

        async def worker() -> None:
            nonlocal finished
            for job in jobs:
                try:
                    await job()
                    finished += 1
                except WaitingError:  # it is filed, and the others go on
                    pass
                except MindgaugeError as error:
                    self.halt(error)
                if self.stop is not None:
                    return
                self.progress(stage, finished, total)

        with _seldom_collected():
            async with asyncio.TaskGroup() as group:
                for _ in range(min(at_once or self.concurrency, max(total, 1))):
                    group.create_task(worker())
        self.store.flush()
        if self.stop is not None:
            raise self.stop


@contextlib.contextmanager
def _seldom_collected() -> Iterator[None]:
    """Let the garbage collector look less often: calls leave no cycles, and it took a sixth of the engine's time."""
    before = gc.get_threshold()
    gc.set_threshold(max(10_000, before[0]), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


# -- several models side by side, stopped in good order, from a script or a notebook ---------------------------------------


class Interrupted(MindgaugeError):  # noqa: N818 - it is no error
    """The user stopped the run."""

    exit_code = 130


def run_async(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also from a notebook, whose own loop is already running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    result: list[T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            result.append(asyncio.run(coroutine))
        except BaseException as error:  # noqa: BLE001 - carried to the caller's thread
            failure.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return result[0]
