"""What clients did beside the limits: how dialogues ended, roles, leaks, recovery of the plan, length, repetition.

Intervals are of other personas: all dialogues with one persona, in whichever language, are drawn together. What a judge gave no
usable verdict on counts against the client in `worst` and for it in `best`; where that decides, nobody can tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mindgauge.analysis.fidelity.limits import limits
from mindgauge.analysis.fidelity.records import FidelityCheck, Fitness
from mindgauge.benchmarks.persons.client import length, repetition
from mindgauge.records.rounding import bounded, count, decimal, percent
from mindgauge.stats import agreement, bootstrap, proportion
from mindgauge.stats.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.analysis.fidelity.dialogues import ClientMessage, ClientRecord
    from mindgauge.records.rounding import Kind

Floats = NDArray[np.float64]
FAILURES, ROLE, LEAKS, RECOVERY, LENGTH, REPETITION = "failures", "role", "leaks", "recovery", "length", "repetition"
RESAMPLES = 2000


class ReaderVerdicts(NamedTuple):
    """What one rater said of messages: criterion → message id → levels, None where there is no usable one."""

    rater: str
    by_criterion: Mapping[str, Mapping[str, Sequence[str | None]]]

    def of(self, criterion: str, message: str) -> Sequence[str | None]:
        """Return the verdicts on a message; a single missing one where there is none."""
        return self.by_criterion.get(criterion, {}).get(message, (None,))

    @property
    def rated(self) -> bool:
        """Whether there is a usable verdict at all."""
        return any(
            v is not None for by_message in self.by_criterion.values() for levels in by_message.values() for v in levels
        )


class _Item(NamedTuple):
    """A number of a persona; None where it is missing."""

    persona: str
    value: float | None


class _Size(NamedTuple):
    """How many dialogues and personas speak."""

    dialogues: int
    personas: int

    @property
    def enough(self) -> bool:
        return self.dialogues >= limits().enough.dialogues and self.personas >= limits().enough.personas


def by_rule(record: ClientRecord) -> Iterator[FidelityCheck]:
    """Check what needs no reader: how dialogues ended, failed checks of role, length, and repetition."""
    failed = [_Item(ended.persona, float(ended.outcome.of_client)) for ended in record.ended]
    size = _size(record)
    yield _share(FAILURES, "", failed, limits().failures.most, size, fact=True)
    broke = [_Item(message.persona, float(message.broke_role)) for message in record.messages]
    yield _share(ROLE, "", broke, limits().role.most, size)
    texts = [message for message in record.messages if message.text.strip()]
    people = limits().people
    lengths = [_Item(m.persona, length(m.text, m.language) / people[_spoken(m)]) for m in texts]
    yield _mean(LENGTH, lengths, limits().length.most, size, "level")
    repeated = [_Item(m.persona, repetition(m.text, m.history, m.language)) for m in texts]
    yield _mean(
        REPETITION, [item for item in repeated if item.value is not None], limits().repetition.most, size, "share"
    )


def by_judge(record: ClientRecord, verdicts: ReaderVerdicts, rungs: Sequence[str]) -> Iterator[FidelityCheck]:
    """Check what a reader said, blind to the target: role, what was shown too early, and whether the plan was recovered.

    Args:
        record: what the client did with a target.
        verdicts: of one reader.
        rungs: the situation's, lowest first.
    """
    size, rater = _size(record), verdicts.rater
    broke = [
        _Item(message.persona, 1.0 if message.broke_role else None if level is None else float(level == "no"))
        for message in record.messages
        for level in verdicts.of("in_role", message.id)
    ]
    yield _share(ROLE, rater, broke, limits().role.most, size)
    passed = [message for message in record.messages if not message.problem and message.rung in rungs]
    leaked = [
        _Item(message.persona, None if level is None else float(rungs.index(level) > rungs.index(message.rung)))
        for message in passed
        for level in verdicts.of("rung_shown", message.id)
    ]
    yield _share(LEAKS, rater, leaked, limits().leaks.most, size)
    yield _recovery(record, passed, verdicts, rungs)


def _spoken(message: ClientMessage) -> str:
    return "zh" if message.language == "zh" else "en"


def _size(record: ClientRecord) -> _Size:
    return _Size(len(record.ended), len({ended.persona for ended in record.ended}))


def _share(
    name: str, rater: str, items: Sequence[_Item], ceiling: float, size: _Size, *, fact: bool = False
) -> FidelityCheck:
    """Compare a share of bad things with its limit; a `fact` of these dialogues is decided by its value, whatever their number."""
    personas, missing = _personas(items)

    def bound(filling: float | None) -> Interval:
        values = [
            (persona, filling if v is None else v) for persona, v in items if v is not None or filling is not None
        ]
        spoken = len({persona for persona, _ in values})
        return proportion.share(float(np.mean([v for _, v in values])), spoken) if values else Interval(None)

    value, worst, best = bound(None), bound(1.0), bound(0.0)
    decided = {_below(extreme, ceiling, enough=fact or size.enough, by_value=fact) for extreme in (worst, best)}
    return _check(
        name, rater, value, (worst.value, best.value), (len(items), missing, personas), ceiling, "share", decided
    )


def _mean(name: str, items: Sequence[_Item], ceiling: float, size: _Size, kind: Kind) -> FidelityCheck:
    personas, _ = _personas(items)
    numbers = np.array([item.value for item in items], dtype=np.float64)
    sums = np.stack([_summed(items, numbers), _summed(items, np.ones(len(items)))], axis=1)
    value = bootstrap.interval_of_sums(lambda totals: totals[:, 0] / totals[:, 1], sums, resamples=RESAMPLES)
    decided = {_below(value, ceiling, enough=size.enough)}
    return _check(name, "", value, (value.value, value.value), (len(items), 0, personas), ceiling, kind, decided)


def _recovery(
    record: ClientRecord, passed: Sequence[ClientMessage], verdicts: ReaderVerdicts, rungs: Sequence[str]
) -> FidelityCheck:
    """Compare the rung that was open last with the risk that a reader sees by then, dialogue by dialogue."""
    failed = {ended.dialogue for ended in record.ended if ended.outcome.of_client}
    last: dict[str, ClientMessage] = {}
    for message in passed:
        if message.dialogue not in failed and (
            message.dialogue not in last or last[message.dialogue].turn < message.turn
        ):
            last[message.dialogue] = message
    q = len(rungs)
    cells = [
        _Item(message.persona, rungs.index(message.rung) * (q + 1) + (q if level is None else rungs.index(level)))
        for message in last.values()
        for level in verdicts.of("perceived", message.id)
    ]
    personas = len({cell.persona for cell in cells})
    missing = sum(cell.value % (q + 1) == q for cell in cells if cell.value is not None)
    value = Interval(None)
    if cells:
        tables = np.stack([_summed(cells, np.array([c.value == cell for c in cells], float)) for cell in range(q * (q + 1))], axis=1)  # fmt: skip
        value = bootstrap.interval_of_sums(
            lambda totals: agreement.cohen_kappa(totals.reshape(-1, q, q + 1), "quadratic"), tables, resamples=RESAMPLES
        )
    floor, size = limits().recovery.least, _size(record)
    sides = _below(_negative(value), -floor, enough=size.enough)
    return _check(
        RECOVERY, verdicts.rater, value, (value.value, value.value), (len(cells), missing, personas), floor, "level", {sides}
    )  # fmt: skip


def _personas(items: Sequence[_Item]) -> tuple[int, int]:
    """Return how many personas items are of, and how many are missing."""
    return len({item.persona for item in items}), sum(item.value is None for item in items)


def _summed(items: Sequence[_Item], numbers: Floats) -> Floats:
    """Sum numbers over personas, shape (personas,)."""
    place = np.unique([item.persona for item in items], return_inverse=True)[1] if items else np.zeros(0, dtype=np.intp)
    return np.bincount(place, numbers).astype(np.float64)


def _below(value: Interval, ceiling: float, *, enough: bool, by_value: bool = False) -> Fitness:
    """Say whether a value keeps below a limit: by its interval, or by itself where there is enough to go by."""
    if value.value is None:
        return Fitness.UNKNOWN
    if not by_value and value.low is not None and value.low > ceiling:
        return Fitness.UNFIT
    if not by_value and value.high is not None and value.high <= ceiling:
        return Fitness.FIT
    if not enough:
        return Fitness.UNKNOWN
    return Fitness.FIT if value.value <= ceiling else Fitness.UNFIT


def _negative(value: Interval) -> Interval:
    """Turn an estimate round, so that what has to be above a limit has to be below it."""
    number, low, high = (None if v is None else -v for v in (value.value, value.high, value.low))
    return Interval(number, low, high)


def _check(
    name: str,
    rater: str,
    value: Interval,
    extremes: tuple[float | None, float | None],
    counts: tuple[int, int, int],
    limit: float,
    kind: Kind,
    decided: set[Fitness],
) -> FidelityCheck:
    verdict = decided.pop() if len(decided) == 1 else Fitness.UNKNOWN
    n, missing, personas = counts
    by = f"by {rater}, " if rater else ""
    too_few = verdict is Fitness.UNKNOWN and value.value is not None and not missing
    if value.value is None:
        clause = f"{by}nobody can tell {_QUESTIONS[name]}: {_no_value(value, n, missing)}"
    else:
        clause = _CLAUSES[name].format(
            value=bounded(value.value, value.low, value.high, kind), n=count(n),
            limit=percent(limit) if kind == "share" else decimal(limit, 1), by=by,
        )  # fmt: skip
        clause += _unknown(missing, personas) if verdict is Fitness.UNKNOWN else ""
    return FidelityCheck(
        name, rater, value.value, value.low, value.high, *extremes, n, missing, personas, limit, kind, verdict,
        "" if verdict is Fitness.FIT else clause, too_few,
    )  # fmt: skip


_CLAUSES = {
    FAILURES: "it left, refused or broke its role in {value} of {n} dialogues (at most {limit})",
    ROLE: "{by}it was out of role in {value} of {n} messages (at most {limit})",
    LEAKS: "{by}it showed more than was open in {value} of {n} messages (at most {limit})",
    RECOVERY: "{by}the risk that a reader sees at the end agrees with what was open by a quadratic kappa of {value} in {n} dialogues (at least {limit})",
    LENGTH: "its {n} messages are {value} times as long as people's (at most {limit} times)",
    REPETITION: "it repeats {value} of its earlier words in {n} messages (at most {limit})",
}


_QUESTIONS = {
    FAILURES: "how often it left, refused or broke its role", ROLE: "how often it was out of role",
    LEAKS: "how often it showed more than was open", RECOVERY: "whether a reader sees the risk that was open",
    LENGTH: "how long it writes beside people", REPETITION: "how much it repeats itself",
}  # fmt: skip


def _no_value(value: Interval, n: int, missing: int) -> str:
    """Say why there is no value."""
    if not n:
        return "there is nothing to go by"
    return f"none of {count(n)} verdicts can be used" if missing == n else value.undefined or "it is not defined on these dialogues"  # fmt: skip


def _unknown(missing: int, personas: int) -> str:
    """Say why nobody can tell by a value."""
    if missing:
        return f": {count(missing)} without a usable verdict leave it open"
    return f": too few dialogues to tell ({count(personas)} personas)"
