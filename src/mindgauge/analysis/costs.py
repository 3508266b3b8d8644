"""What a system's answers took, from the calls that a run keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge.analysis.compared import Cost
from mindgauge.records import RaterKind, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mindgauge.benchmark import Benchmark
    from mindgauge.store import Store


class _Call(NamedTuple):
    model: str
    status: str
    cost: float | None
    seconds: float


class _Origin(msgspec.Struct):
    """What the provenance of a rating says of the calls it came from, or of the time it took without any."""

    calls: list[str] = []
    seconds: float | None = None


def costs(store: Store, benchmark: Benchmark) -> Iterator[Cost]:
    """Return what each system of a run took on one benchmark; `system` is its name in this run."""
    # A call for a reply leaves its words to the reply, which tells it from one for a verdict by the same model.
    query = "SELECT key, model, status, cost, seconds FROM calls WHERE benchmark = ? AND (text IS NULL) = ?"
    calls = {row[0].hex(): _Call(*row[1:]) for row in store.select(query, (benchmark.name, not benchmark.closed))}
    yield from (_of_answers if benchmark.closed else _of_replies)(store, benchmark.name, calls)


def _of_replies(store: Store, benchmark: str, calls: dict[str, _Call]) -> Iterator[Cost]:
    query = "SELECT model, count(*) FROM replies WHERE benchmark = ? GROUP BY 1"
    for model, answers in store.select(query, (benchmark,)):
        yield _cost(benchmark, model, answers, [call for call in calls.values() if call.model == model])


def _of_answers(store: Store, benchmark: str, calls: dict[str, _Call]) -> Iterator[Cost]:
    """Tell the calls of one way of asking a model from those of another by what ratings say of themselves."""
    answers: dict[str, int] = {}
    named: dict[str, set[str]] = {}
    took: dict[str, list[float]] = {}
    query = "SELECT rater, rater_kind, provenance FROM ratings WHERE benchmark = ? AND rater_kind != 'gold'"
    for rater, kind, provenance in store.select(query, (benchmark,)):
        origin = msgspec.json.decode(provenance, type=_Origin)
        answers[rater] = answers.get(rater, 0) + 1
        named.setdefault(rater, set()).update(calls.keys() & origin.calls)
        if kind == RaterKind.CLASSIFIER and origin.seconds is not None:
            took.setdefault(rater, []).append(origin.seconds)
    for rater, n in answers.items():
        if rater in took:
            yield Cost(benchmark, rater, n, 0.0, 1000 * sum(took[rater]) / len(took[rater]))
        else:
            yield _cost(benchmark, rater, n, [calls[key] for key in named[rater]])


def _cost(benchmark: str, system: str, answers: int, calls: Iterable[_Call]) -> Cost:
    made = list(calls)
    if not made:
        return Cost(benchmark, system, answers, None, None)
    priced = [call.cost for call in made if call.status != Status.FAILED]
    paid = [cost for cost in priced if cost is not None]
    dollars = 1000 * sum(paid) / answers if paid and len(paid) == len(priced) else None
    return Cost(benchmark, system, answers, dollars, 1000 * sum(call.seconds for call in made) / answers)
