"""`status`: how far a run has come, also while it is being written; nothing is computed of what it holds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.records.rubric import Method
from mindgauge.store import Store, manifest
from mindgauge.store.locks import writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

_BENCHMARKS = "SELECT benchmark FROM samples UNION SELECT benchmark FROM replies UNION SELECT benchmark FROM series"
_REPLIES = "SELECT model, status, count(*) FROM replies WHERE benchmark = ? GROUP BY 1, 2"
_CALLS = """
SELECT model, benchmark, status, count(*), sum(prompt_tokens), sum(cached_tokens), sum(completion_tokens),
    sum(attempts - 1), sum(cost), sum(seconds) FROM calls GROUP BY 1, 2, 3"""
_BATCHES = """
SELECT model, count(DISTINCT batch), count(*) FROM batches JOIN batch_calls ON batch_calls.batch = batches.id
GROUP BY 1 ORDER BY 1"""
_GOLD = "gold"


class RecordCount(msgspec.Struct, frozen=True):
    """How many samples (without status), replies by a model or ratings by a rater ended in one status."""

    benchmark: str
    kind: str
    name: str
    status: str
    n: int


class CallUsage(msgspec.Struct, frozen=True):
    """What the calls to one model on one benchmark with one outcome took. `cost` is in US dollars, None if unknown."""

    model: str
    benchmark: str
    status: str
    n: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    retries: int
    cost: float | None
    model_seconds: float


class Left(msgspec.Struct, frozen=True):
    """How much of what the plan asks of a model or judge is there: `kind` is `reply` or `rating`, a subject counts once."""

    benchmark: str
    kind: str
    name: str
    of: int
    done: int
    left: int


class BatchesUnderWay(msgspec.Struct, frozen=True):
    """How many calls to a model are in how many batches of its provider."""

    model: str
    batches: int
    calls: int


class RunStatus(msgspec.Struct, frozen=True):
    """How far a run has come. `writer` is the process that is writing it now; `left` is empty where no plan says it."""

    run: str
    benchmarks: list[str]
    models: list[str]
    judges: list[str]
    writer: str | None
    created: str
    ended: str
    seconds: float
    bytes: int
    counts: list[RecordCount]
    calls: list[CallUsage]
    left: list[Left]
    batches: list[BatchesUnderWay]

    @property
    def table(self) -> pl.DataFrame:
        """The counts as a table, one row each."""
        import polars as pl

        return pl.DataFrame([msgspec.structs.asdict(count) for count in self.counts], infer_schema_length=None)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def status(run: str | Path) -> RunStatus:
    """Say how far a run has come: what it holds by status, what its calls took, what is left, and who is writing it.

    It may be asked at any time, also while another process writes the run.

    Args:
        run: a run directory.

    Raises:
        UsageError: there is no run in the folder, another version wrote it, or it is damaged.
    """
    folder = Path(run)
    content = manifest.read(folder)
    plan = content.get("plan", {})
    with Store(folder) as store:
        names = plan.get("benchmarks") or sorted(row[0] for row in store.select(_BENCHMARKS))
        counts = [count for name in names for count in _counts(store, name)]
        rated = {name: _rated(store, name) for name in names}
        return RunStatus(
            run=str(folder),
            benchmarks=names,
            models=plan.get("models", []),
            judges=_judges(content),
            writer=writer(folder),
            created=content.get("created", ""),
            ended=content.get("ended", ""),
            seconds=content.get("seconds", 0.0),
            bytes=sum(path.stat().st_size for path in folder.glob("run.sqlite*")),
            counts=counts,
            calls=[CallUsage(*row) for row in store.select(_CALLS)],
            left=[]
            if plan.get("loaded")
            else [task for name in names for task in _left(content, name, counts, rated[name])],
            batches=[BatchesUnderWay(*row) for row in store.select(_BATCHES)],
        )


def _counts(store: Store, benchmark: str) -> Iterator[RecordCount]:
    yield RecordCount(benchmark, "sample", "", "", store.count_samples(benchmark))
    for model, status_, n in store.select(_REPLIES, (benchmark,)):
        yield RecordCount(benchmark, "reply", model, status_, n)
    ratings: Counter[tuple[str, str]] = Counter()
    for rater, _, status_, n in store.count_ratings(benchmark):
        ratings[rater, status_] += n
    for (rater, status_), n in ratings.items():
        yield RecordCount(benchmark, "rating", rater, status_, n)


def _rated(store: Store, benchmark: str) -> dict[str, int]:
    """Return how many subjects each rater is done with: on the criterion on which it has rated the fewest."""
    by_rater: dict[str, Counter[str]] = {}
    for rater, criterion, status_, n in store.count_ratings(benchmark):
        by_rater.setdefault(rater, Counter())[criterion] += n if status_ != "failed" else 0
    return {rater: min(counts.values()) for rater, counts in by_rater.items()}


def _judges(content: dict[str, Any]) -> list[str]:
    """Return who rates replies by the plan, and who came to do so later."""
    added = (name for noted in content.get("rated", []) for name in noted["judges"])
    return list(dict.fromkeys([*content.get("plan", {}).get("judges", []), *added]))


def _left(
    content: dict[str, Any], benchmark: str, counts: Sequence[RecordCount], rated: dict[str, int]
) -> Iterator[Left]:
    """Compare what the plan asks of everybody with what is there."""
    plan = content.get("plan", {})
    own_counts = [count for count in counts if count.benchmark == benchmark]
    samples = sum(count.n for count in own_counts if count.kind == "sample")
    replies = Counter[str]()
    for count in own_counts:
        if count.kind == "reply":
            replies[count.name] += count.n if count.status != "failed" else 0
    runs, judge_runs = plan.get("runs", 1), plan.get("judge_runs", 1)
    models = plan.get("models", [])
    if _GOLD in rated:  # a closed question, which models answer themselves
        for rater in _raters(models, plan.get("ask", []), "flat"):
            times = 1 if rater.startswith("classifier/") else runs
            yield _task(benchmark, "rating", rater, samples * times, rated.get(rater, 0))
        return
    for model in models:
        yield _task(benchmark, "reply", model, samples * runs, replies[model])
    reply_total = samples * runs * len(models) if models else replies.total()
    for judge in _raters(_judges(content), plan.get("methods", []), Method.RULE):
        times = 1 if judge.startswith(("classifier/", "rule/")) else judge_runs
        yield _task(benchmark, "rating", judge, reply_total * times, rated.get(judge, 0))


def _task(benchmark: str, kind: str, name: str, total: int, finished: int) -> Left:
    return Left(benchmark, kind, name, total, finished, max(0, total - finished))


def _raters(names: Sequence[str], ways: Sequence[str], usual: str) -> list[str]:
    """Name the raters that models are in several ways of asking or judging, one of them without a name of its own."""
    return [
        name if way == usual or name.startswith(("classifier/", "rule/")) else f"{name} ({way})"
        for name in names
        for way in (ways or [usual])
    ]
