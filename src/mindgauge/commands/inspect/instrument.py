"""What a task works with: the benchmark's samples, as `mindgauge run` takes them, and the judge's instrument."""

from __future__ import annotations

import inspect
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge import benchmarks
from mindgauge.benchmarks.persons.dialogues import PersonMode
from mindgauge.benchmarks.persons.dialogues import dialogues as put_together
from mindgauge.commands.run import run
from mindgauge.runs import conversations, plan
from mindgauge.runs.inputs import at_hand
from mindgauge.runs.options import RunConfig, RunOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.persons.dialogues import Slots
    from mindgauge.raters.judge import Instrument, Judge
    from mindgauge.records import Sample
    from mindgauge.records.request import Model


class TaskOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What may be said with `-T`; each is the option of `mindgauge run` of this name."""

    benchmark: str
    language: str = ""
    """Languages of the messages, separated by commas; all if empty."""
    data: str = ""
    """A copy of the authors' released files, or a table of one's own."""
    mode: str = "joint"
    method: str = "rule"
    own_family: bool = False
    turns: int = 0
    """Of a dialogue; 10 if 0."""
    person: str = ""
    """Who makes the person's turns; see `mindgauge run --person`."""
    clients: tuple[str, ...] = ()
    """The models that play it."""


def taking(names: Iterable[str], function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of `**options` show Inspect which options it takes; it asks for the signature."""
    fields = inspect.signature(TaskOptions).parameters
    function.__signature__ = inspect.Signature([fields[name] for name in names])  # type: ignore[attr-defined]
    return function


class TaskMaterial:
    """The samples of a task and its instrument, read when they are first needed."""

    def __init__(self, **options: Any) -> None:
        """Describe it by `TaskOptions`; nothing is read."""
        self.options = TaskOptions(**{**options, "clients": tuple(options.get("clients") or ())})
        self._data = Path(self.options.data) if self.options.data else None

    @cached_property
    def config(self) -> RunConfig:
        """How models are asked and judge.

        Raises:
            UsageError: an option has no such value.
        """
        options = self.options
        judged = {"mode": options.mode, "method": options.method}
        return RunConfig.of(
            {**judged, "turns": options.turns or None, "person": options.person or None}, RunOptions, run
        )

    @cached_property
    def benchmark(self) -> Benchmark:
        """The benchmark, with the dialogues that are held.

        Raises:
            UsageError: there is none of this name.
            DataError: the authors' files are there, and cannot be used.
        """
        benchmark = benchmarks.find_one(self.options.benchmark).on(self._data)
        planned = conversations.held([benchmark], self.options.clients, self.config, self._data, text=True)
        return planned.benchmarks[0]

    @property
    def converses(self) -> bool:
        """Whether dialogues of several turns are held."""
        dialogues = self.benchmark.dialogues
        return dialogues is not None and dialogues.mode is not PersonMode.PREFIXED

    @cached_property
    def samples(self) -> list[Sample]:
        """What is asked about; of dialogues, their slots.

        Raises:
            DataError: nothing is there, or nothing is left.
        """
        tags = {"language": tuple(self.options.language.split(","))} if self.options.language else None
        return at_hand([self.benchmark], self._data, tags, None, by_protocol=True).samples[0]

    @cached_property
    def by_id(self) -> dict[str, Sample]:
        """The samples by their ids."""
        return {sample.id: sample for sample in self.samples}

    @cached_property
    def dialogues(self) -> dict[str, Slots]:
        """The dialogues by the ids of their slots for the whole."""
        return {slots.whole.id: slots for slots in put_together(self.samples)} if self.converses else {}

    @cached_property
    def judge_instrument(self) -> Instrument:
        """What judges work with.

        Raises:
            UsageError: the benchmark has no prompt for the method.
        """
        (instrument,) = plan.instruments(self.benchmark, self.config.judging)
        return instrument

    def judge(self, model: Model) -> Judge:
        """Put the instrument into a model's hands."""
        return plan.judging_by(model, self.judge_instrument, self.config)
