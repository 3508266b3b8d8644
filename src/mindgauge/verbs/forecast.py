"""How long a command would take, on how many machines, and what room its run needs: a model of a few constants.

A model that is asked `n` times, `c` calls at once, `s` seconds each, takes max(n · s / c, n / p) seconds, where `p` is
what one process of ours plans, calls, reads and commits per second (Little's law, and the engine's own limit).
`docs/scale.md` says where each constant was measured, and lays the same model out for runs of up to 10⁸ judgements.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from mindgauge.models.request import Model
    from mindgauge.models.spec import Settings
    from mindgauge.verbs.ahead import Step

PER_PROCESS = 2_000.0
"""Calls per second that one process carries, measured with room to spare."""
FIRST_TOKEN, WRITTEN = 0.7, 80.0
"""Seconds before a hosted model begins to answer, and tokens per second that it then writes. Assumed."""
READ_HERE, WRITTEN_HERE = 800.0, 100.0
"""Tokens per second that the embedded model reads and writes on two cores, measured."""
BATCH_ROUND = 24 * 3600.0
"""Seconds within which a batch service promises to answer."""
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


def forecast(path: Path, steps: Iterable[tuple[Step, bool]], models: Sequence[Model], settings: Settings) -> Forecast:
    """Say what a command would take.

    Args:
        path: its run directory; calls that it holds say how fast a model is.
        steps: of the command, each with whether it waits until replies are written.
        models: that the steps name.
        settings: how they are called.
    """
    known = {model.name: model for model in models}
    pace = _measured(path)
    busy: dict[tuple[bool, str], float] = defaultdict(float)
    size, rests_on, rate = 0.0, {}, 0.0
    for step, later in steps:
        model = known.get(step.model)
        if model is None or not step.calls:
            continue
        size += step.calls * CALL_BYTES + step.completion_tokens * TOKEN_BYTES
        each = pace.get(step.model)
        if model.own_machine:
            took = step.prompt_tokens / READ_HERE + step.completion_tokens / WRITTEN_HERE
            rests_on[step.model] = f"{step.model} reads {READ_HERE:g} and writes {WRITTEN_HERE:g} tokens a second here"
        else:
            rests_on[step.model] = (
                f"{step.model} takes {each:.2g} s a call, as in this run so far"
                if each is not None
                else f"{step.model} takes {FIRST_TOKEN:g} s to begin and writes {WRITTEN:g} tokens a second, as assumed"
            )
            each = FIRST_TOKEN + step.completion_tokens / step.calls / WRITTEN if each is None else each
            took = clock(step.calls, each, settings.concurrency)
            rate = max(rate, settings.concurrency / each)
        busy[later, step.model] += took
    phases = [max((s for (when, _), s in busy.items() if when is later), default=0.0) for later in (False, True)]
    if settings.batch:
        return Forecast(None, 1, round(size), sum(seconds > 0 for seconds in phases))
    return Forecast(sum(phases), max(1, math.ceil(rate / PER_PROCESS)), round(size), rests_on=tuple(rests_on.values()))


def clock(calls: int, each: float, at_once: int) -> float:
    """Return the seconds that so many calls take, of `each` seconds, so many at once, made by one process."""
    return max(calls * each / at_once, calls / PER_PROCESS)


def _measured(path: Path) -> Mapping[str, float]:
    """Return the mean seconds of a call, by model, as the run has seen them."""
    if not (path / "run.sqlite").is_file():
        return {}
    query = "SELECT model, avg(seconds) FROM calls WHERE status = 'ok' AND seconds > 0 GROUP BY model"
    with Store(path) as store:
        return dict(store.select(query).fetchall())
