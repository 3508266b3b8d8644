"""What a list of steps would take, before anything is sent: calls, tokens, dollars, time, room, and what is too long.

Time is a model of a few constants: a model that is asked `n` times, `c` calls at once, `s` seconds each, takes
max(n · s / c, n / p) seconds, where `p` is what one process of ours plans, calls, reads and commits per second (Little's
law, and the engine's own limit). `docs/tasks/scale.md` says where each constant was measured, and lays the same model out for
runs of up to 10⁸ judgements.

Whether a text is too long is estimated from above for English and most Chinese, so the server has the last word: what it
refuses as too long has the status `failed`, and an answer that it cuts off is `unparsable`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.models.by_hand import ByHand
from mindgauge.models.chat_endpoint import ChatModel
from mindgauge.records.command_result import Tabular, first_of
from mindgauge.records.rounding import count, dollars, duration, plural
from mindgauge.runs.rating_steps import ClassifierStep, RatingStep
from mindgauge.runs.session import system_tokens, tokens
from mindgauge.runs.steps import CallStep, PlannedStep, PlannedSubject
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.models.settings import Settings
    from mindgauge.raters.window import Window
    from mindgauge.records.request import Model, Request
    from mindgauge.runs.options import Notice, RunConfig
    from mindgauge.runs.steps import Step

PER_PROCESS = 2_000.0
"""Calls per second that one process carries, measured with room to spare."""
FIRST_TOKEN, WRITTEN = 0.7, 80.0
"""Seconds before a hosted model begins to answer, and tokens per second that it then writes. Assumed."""
READ_HERE, WRITTEN_HERE = 800.0, 100.0
"""Tokens per second that the embedded model reads and writes on two cores, measured."""
TO_COME = "(the reply)"
"""What a shown request has in the place of a reply that is not written."""
CALL_BYTES, TOKEN_BYTES = 700, 5
"""What a call takes of a run's file, and on top a token of what is written: it is kept raw and as what was read."""


class Forecast(msgspec.Struct, frozen=True):
    """Seconds on the clock for one process, bytes of the run; `rests_on` says what was taken for granted.

    `machines` is how many could be kept busy at this concurrency, each with a run of its own: above 1, our
    side is the limit. `seconds` is None where a batch service decides: `rounds` of at most a day each.
    """

    seconds: float | None
    machines: int
    bytes: int
    rounds: int = 0
    rests_on: tuple[str, ...] = ()


class ShownRequest(msgspec.Struct, frozen=True):
    """A request as it would be sent: to whom, for what, and its body."""

    model: str
    purpose: str
    body: dict[str, Any]


class DryRun(Tabular, msgspec.Struct, frozen=True):
    """What a command would take. `done` counts what the run directory holds already; time and room are a `Forecast`."""

    run: str
    benchmark: str
    calls: int
    done: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    steps: list[PlannedStep]
    forecast: Forecast
    requests: list[ShownRequest] = []
    """The first of each step, where they were asked for."""

    def summary(self) -> list[str]:
        """Say what would be asked of whom, and what it would take; nothing was sent."""
        steps = [
            f"{step.model}, {step.purpose}: {plural(step.calls, 'call')}, about {count(step.prompt_tokens)} + {count(step.completion_tokens)} tokens"
            for step in self.steps
        ]
        cost = "unknown cost" if self.cost is None else f"about {dollars(self.cost)}"
        seconds = self.forecast.seconds
        takes = "as long as the batches take" if seconds is None else f"about {duration(seconds)}"
        return [
            f"{self.benchmark}: nothing is sent ({plural(self.done, 'call')} done before)",
            *first_of(steps, 5),
            f"{plural(self.calls, 'call')}, about {count(self.prompt_tokens)} + {count(self.completion_tokens)} tokens, {cost}, {takes}",
            f"The run would be {self.run}.",
        ]

    def _listed(self) -> list[PlannedStep]:
        return self.steps


def foresee(path: Path, benchmarks: Sequence[Benchmark], steps: Iterable[Step], config: RunConfig) -> DryRun:
    """Say what steps would take in a run, which need not be there; nothing is written or sent."""
    steps, shown = [*steps], config.show_requests
    names = [benchmark.name for benchmark in benchmarks]
    models: dict[str, Model] = {}
    steps_ahead: list[tuple[PlannedStep, bool]] = []
    calls_done = 0
    for step, expected, done in _expected(path, steps):
        if isinstance(step, CallStep):
            models[step.model.name] = step.model
        ambiguous = len(names) > 1 and isinstance(step, CallStep) and step.benchmark.name in names
        named = {"purpose": f"{step.benchmark.name}: {expected.purpose}"} if ambiguous else {}
        steps_ahead.append((msgspec.structs.replace(expected, **named), isinstance(step, CallStep) and step.later))
        calls_done += done
    planned = [entry for entry, _ in steps_ahead]
    costs = [entry.cost for entry in planned]
    return DryRun(
        str(path), ", ".join(names), sum(entry.calls for entry in planned), calls_done,
        sum(entry.prompt_tokens for entry in planned), sum(entry.completion_tokens for entry in planned),
        None if None in costs else sum(cost for cost in costs if cost is not None), planned,
        forecast(path, steps_ahead, [*models.values()], config.settings),
        [request for step in steps if isinstance(step, CallStep) for request in islice(_requests(step), shown)],
    )  # fmt: skip


def _requests(step: CallStep) -> Iterator[ShownRequest]:
    """Yield the requests of a step as they would be sent; one about a reply that is not written has a word in its place."""
    for sample, reply, _ in step.subjects():
        written = reply is None or bool(reply.model)
        shown_reply = reply if reply is None or written else msgspec.structs.replace(reply, text=TO_COME)
        for request in step.requests(PlannedSubject(sample, shown_reply)):
            plain = {"messages": request.messages, **request.parameters}
            body = step.model.body(request) if isinstance(step.model, ChatModel) else plain
            yield ShownRequest(step.asked_as, step.purpose, msgspec.json.decode(msgspec.json.encode(body)))


def calls_by_model(path: Path, steps: Iterable[Step]) -> dict[str, int]:
    """Count the calls that steps would make to each model, less those that a run holds."""
    calls: dict[str, int] = {}
    for _, expected, _ in _expected(path, steps):
        calls[expected.model] = calls.get(expected.model, 0) + expected.calls
    return calls


def _expected(path: Path, steps: Iterable[Step]) -> Iterator[tuple[CallStep | ClassifierStep, PlannedStep, int]]:
    counted: set[Hashable] = set()
    with Store.begun(path) as store:
        for step in steps:
            if isinstance(step, CallStep):
                yield step, *step.expected(store, counted)
            elif isinstance(step, ClassifierStep):
                yield step, *step.expected(store)


# -- time and room -------------------------------------------------------------------------------------------------------


def forecast(
    path: Path, steps: Iterable[tuple[PlannedStep, bool]], models: Sequence[Model], settings: Settings
) -> Forecast:
    """Say how long a command would take, on how many machines, and what room its run needs.

    Args:
        path: its run directory; calls that it holds say how fast a model is.
        steps: of the command, each with whether it waits until replies are written.
        models: that the steps name.
        settings: how they are called.
    """
    by_name = {model.name: model for model in models}
    pace = _measured(path)
    busy: dict[tuple[bool, str], float] = defaultdict(float)
    size, rests_on, rate = 0.0, {}, 0.0
    for step, deferred in steps:
        model = by_name.get(step.model)
        if model is None or not step.calls:
            continue
        size += step.calls * CALL_BYTES + step.completion_tokens * TOKEN_BYTES
        if isinstance(model, ByHand):
            rests_on[step.model] = f"{step.model} answers by hand, which this time leaves out"
            continue
        call_seconds = pace.get(step.model)
        if model.own_machine:
            took = step.prompt_tokens / READ_HERE + step.completion_tokens / WRITTEN_HERE
            rests_on[step.model] = f"{step.model} reads {READ_HERE:g} and writes {WRITTEN_HERE:g} tokens a second here"
        else:
            rests_on[step.model] = (
                f"{step.model} takes {call_seconds:.2g} s a call, as in this run so far"
                if call_seconds is not None
                else f"{step.model} takes {FIRST_TOKEN:g} s to begin and writes {WRITTEN:g} tokens a second, as assumed"
            )
            call_seconds = (
                FIRST_TOKEN + step.completion_tokens / step.calls / WRITTEN if call_seconds is None else call_seconds
            )
            took = clock(step.calls, call_seconds, settings.concurrency)
            rate = max(rate, settings.concurrency / call_seconds)
        busy[deferred, step.model] += took
    phases = [
        max((s for (phase, _), s in busy.items() if phase is deferred), default=0.0) for deferred in (False, True)
    ]
    if settings.batch:
        return Forecast(None, 1, round(size), sum(seconds > 0 for seconds in phases))
    return Forecast(sum(phases), max(1, math.ceil(rate / PER_PROCESS)), round(size), rests_on=tuple(rests_on.values()))


def clock(calls: int, call_seconds: float, at_once: int) -> float:
    """Return the seconds that calls of `call_seconds` each take, `at_once` side by side, made by one process."""
    return max(calls * call_seconds / at_once, calls / PER_PROCESS)


def _measured(path: Path) -> Mapping[str, float]:
    """Return the mean seconds of a call, by model, as the run has seen them."""
    query = "SELECT model, avg(seconds) FROM calls WHERE status = 'ok' AND seconds > 0 GROUP BY model"
    with Store.begun(path) as store:
        return {} if store is None else dict(store.select(query).fetchall())


# -- length --------------------------------------------------------------------------------------------------------------


def warn_of_length(steps: Iterable[Step], notice: Notice) -> None:
    """Say how much of what each model is asked about is too long for it, as far as it is written."""
    for step in steps:
        if not isinstance(step, CallStep) or step.model.context is None or step.within:
            continue
        lengths: list[int] = []
        windows: list[Window] = []
        for subject in step.subjects():
            requests = step.requests(subject) if subject.written else []
            if not requests:
                continue
            if isinstance(step, RatingStep) and subject.reply is not None and "unit" in subject.reply.provenance:
                windows.append(_window(step, subject))
            else:
                lengths.append(max(_length(step.model, request) for request in requests))
        name = step.judge.rater if isinstance(step, RatingStep) else step.model.name
        _warn(notice, name, "replies" if step.later else "dialogues", lengths, step.model.context)
        _warn_of_shortened(notice, name, windows, step.model.context)


def _window(step: RatingStep, subject: PlannedSubject) -> Window:
    assert subject.reply is not None
    return step.judge.window(subject.sample, subject.reply, step.protocol(subject.sample))


def _length(model: Model, request: Request) -> int:
    """Estimate the tokens of a question with the longest answer to it."""
    room: int = request.parameters.get("max_tokens") or model.max_tokens
    return system_tokens(model) + tokens(request.messages) + room


def _warn(notice: Notice, name: str, subjects: str, lengths: Sequence[int], context: int) -> None:
    too_long = [length for length in lengths if length > context]
    if too_long:
        notice(
            f"{name}: {len(too_long)} of {len(lengths)} {subjects} are probably longer than its context of {context} tokens "
            f"(the longest about {max(too_long)}, with room for the answer); what it cannot read will be missing, not guessed"
        )


def _warn_of_shortened(notice: Notice, name: str, windows: Sequence[Window], context: int) -> None:
    """Say how many dialogues, up to what is rated of them, are shortened, and how many cannot be."""
    room = f"its context of {context} tokens"
    alone = sum(not window.fits for window in windows)
    if alone:
        notice(
            f"{name}: {alone} of {len(windows)} turns or dialogues have more words to rate than fit into {room}, with room "
            "for the answer; they will be missing, not guessed"
        )
    cut = [window for window in windows if window.left_out]
    if cut:
        longest = max(sum(last - first + 1 for first, last in window.left_out) for window in cut)
        at_risk = [window.first_risk in window.turns_shown for window in cut if window.first_risk is not None]
        notice(
            f"{name}: {len(cut)} of {len(windows)} dialogues are shortened to {room} (the longest has "
            f"{max(window.turns for window in cut)} turns; up to {longest} are left out); the first sign of risk stays in "
            f"{sum(at_risk)} of {len(at_risk)} that show one; each rating says which turns were left out"
        )
