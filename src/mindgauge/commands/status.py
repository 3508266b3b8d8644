"""`status`: how far a run has come, also while it is being written; nothing is computed of what it holds.

What is left is a fold over what the steps of the plan leave, as the manifest has it (`runs/steps.py`).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from mindgauge.commands.command import command
from mindgauge.records.command_result import Tabular
from mindgauge.records.english import named
from mindgauge.records.rounding import count, megabytes, plural, spending
from mindgauge.runs.step_outputs import REPLY, judges, recorded
from mindgauge.store import Store, manifest, reading
from mindgauge.store.locks import writer
from mindgauge.store.run import UNPRICED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.runs.step_outputs import StepOutput

_BENCHMARKS = "SELECT benchmark FROM samples UNION SELECT benchmark FROM replies UNION SELECT benchmark FROM series"
_REPLIES = "SELECT model, status, count(*) FROM replies WHERE benchmark = ? GROUP BY 1, 2"
_OF_MESSAGES = """
SELECT DISTINCT series.rater, series.criterion FROM series JOIN rated ON rated.series = series.id
WHERE series.benchmark = ? AND EXISTS (SELECT 1 FROM replies WHERE replies.benchmark = series.benchmark)
AND rated.subject IN (SELECT id FROM samples WHERE samples.benchmark = series.benchmark)"""
_CALLS = f"""
SELECT model, benchmark, status, count(*), sum(prompt_tokens), sum(cached_tokens), sum(completion_tokens),
    sum(attempts - 1), sum(cost), sum({UNPRICED}), sum(seconds) FROM calls GROUP BY 1, 2, 3"""  # noqa: S608 - constant text
_BATCHES = """
SELECT model, count(DISTINCT batch), count(*) FROM batches JOIN batch_calls ON batch_calls.batch = batches.id
GROUP BY 1 ORDER BY 1"""
_SLOTS = """
SELECT json_extract(body, '$.tags.unit'), json_extract(body, '$.tags.client'), count(*) FROM samples
WHERE benchmark = ? AND json_extract(body, '$.tags.unit') IS NOT NULL GROUP BY 1, 2"""
_BY_PEOPLE = "SELECT DISTINCT subject, rater FROM ratings WHERE benchmark = ? AND rater_kind = 'person'"
_REPLY_IDS = "SELECT id FROM replies WHERE benchmark = ?"
_GOLD = "gold"
RatingCount: TypeAlias = tuple[str, str, str, int]
"""Rater, criterion, status, and how many such ratings there are."""


class RecordCount(msgspec.Struct, frozen=True):
    """How many samples (without status), replies by a model or ratings by a rater ended in one status."""

    benchmark: str
    kind: str
    name: str
    status: str
    n: int


class CallUsage(msgspec.Struct, frozen=True):
    """What the calls to one model on one benchmark with one outcome took.

    `cost` is in US dollars, None if nothing of it is known; `unpriced` counts calls and attempts of unknown cost.
    """

    model: str
    benchmark: str
    status: str
    n: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    retries: int
    cost: float | None
    unpriced: int
    model_seconds: float


class Left(msgspec.Struct, frozen=True):
    """How much of what the plan asks of a model or judge is there: `kind` is `reply` or `rating`, a subject counts once.

    Of what is left, so many were asked for and `failed`; the others were not asked for yet.
    """

    benchmark: str
    kind: str
    name: str
    of: int
    done: int
    left: int
    failed: int


class BatchesUnderWay(msgspec.Struct, frozen=True):
    """How many calls to a model are in how many batches of its provider."""

    model: str
    batches: int
    calls: int


class ReadCount(msgspec.Struct, frozen=True):
    """How many of a benchmark's replies, of a closed question its samples, people read: rated, or had open in `view` for long enough."""

    benchmark: str
    read: int
    of: int
    people: list[str]


class RunStatus(Tabular, msgspec.Struct, frozen=True):
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
    read: list[ReadCount]
    """Of benchmarks of which people read anything."""
    waiting: str
    """Which requests waited for an answer by hand when the last command ended, and what to do; empty where none did."""

    @property
    def read_by_people(self) -> str:
        """Say how many replies people read; empty where they read none."""
        if not self.read:
            return ""
        return f"Read by people: {count(sum(r.read for r in self.read))} of {count(sum(r.of for r in self.read))}."

    def summary(self) -> list[str]:
        """Say what is done, what failed, what it cost, what is left, and who is writing it."""
        calls, failed = sum(c.n for c in self.calls), sum(c.n for c in self.calls if c.status == "failed")
        known, unpriced = sum(c.cost or 0.0 for c in self.calls), sum(c.unpriced for c in self.calls)
        cost = spending(known, unpriced) or "unknown cost"
        judges_ = f", judged by {named(self.judges)}" if self.judges else ""
        parts = [
            f"{_of_kind(task.left, task.kind)} by {task.name} of {count(task.of)}" for task in self.left if task.left
        ]
        return [
            f"{named(self.benchmarks)}: {named(self.models) or 'no model'}{judges_}",
            "; ".join(_counted(self.counts, kind) for kind in ("sample", "reply", "rating")),
            *([self.read_by_people] if self.read else []),
            f"{plural(calls, 'call')} ({count(failed)} failed), {cost}",
            f"Still to come: {named(parts)}"
            if parts
            else "All that was planned is there."
            if self.left
            else "No model or judge was to be asked.",
            f"Process {self.writer} is working on it now." if self.writer else "No command is running.",
            f"{self.run} ({megabytes(self.bytes)})",
        ]

    def _listed(self) -> list[RecordCount]:
        return self.counts


def _of_kind(n: int, kind: str) -> str:
    return plural(n, kind, "replies" if kind == REPLY else "")


def _counted(counts: Sequence[RecordCount], kind: str) -> str:
    """Count records of a kind, and those of them that are not ok by what became of them."""
    own = [entry for entry in counts if entry.kind == kind]
    other: Counter[str] = Counter()
    for entry in own:
        other[entry.status] += entry.n
    trouble = ", ".join(f"{count(n)} {name}" for name, n in sorted(other.items()) if name not in {"", "ok"})
    total = _of_kind(sum(entry.n for entry in own), kind)
    return f"{total} ({trouble})" if trouble else total


@command(each=True)
def status(run: str | Path) -> RunStatus:
    """Say how far runs have come, also while they are being written.

    It may be asked at any time, also while another process writes the run.

    Args:
        run: Run directories.

    Raises:
        UsageError: there is no run in the folder, another version wrote it, or it is damaged.
    """
    folder = Path(run)
    content = manifest.read(folder)
    plan = content.get("plan", {})
    with Store(folder) as store:
        names = plan.get("benchmarks") or sorted(row[0] for row in store.select(_BENCHMARKS))
        ratings = {name: store.count_ratings(name) for name in names}
        counts = [count for name in names for count in _counts(store, name, ratings[name])]
        return RunStatus(
            run=str(folder),
            benchmarks=names,
            models=plan.get("models", []),
            judges=judges(content),
            writer=writer(folder),
            created=content.get("created", ""),
            ended=content.get("ended", ""),
            seconds=content.get("seconds", 0.0),
            bytes=sum(map(_size, folder.glob("run.sqlite*"))),
            counts=counts,
            calls=[CallUsage(*row) for row in store.select(_CALLS)],
            left=list(_left_by_plan(store, content, counts, ratings)),
            batches=[BatchesUnderWay(*row) for row in store.select(_BATCHES)],
            read=list(_read(store, names)),
            waiting=content.get("waiting", ""),
        )


def _size(path: Path) -> int:
    """Return the bytes of a file of a run; the database takes its journal away when it likes."""
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0


def unasked(run: Path) -> dict[str, list[str]]:
    """Say what of the plan of a run was not asked for yet, by benchmark; what was asked for and failed is counted elsewhere."""
    content = manifest.read(run)
    plan = content.get("plan", {})
    parts: dict[str, list[str]] = {}
    with Store(run) as store:
        ratings = {name: store.count_ratings(name) for name in plan.get("benchmarks", []) if not plan.get("loaded")}
        counts = [count for name, rows in ratings.items() for count in _counts(store, name, rows)]
        for part in _left_by_plan(store, content, counts, ratings):
            if part.left > part.failed:
                of = plural(part.of, part.kind, "replies" if part.kind == REPLY else "")
                parts.setdefault(part.benchmark, []).append(f"{count(part.left - part.failed)} of {of} by {part.name}")
    return parts


def _counts(store: Store, benchmark: str, ratings: Sequence[RatingCount]) -> Iterator[RecordCount]:
    yield RecordCount(benchmark, "sample", "", "", store.count_samples(benchmark))
    for model, status_, n in store.select(_REPLIES, (benchmark,)):
        yield RecordCount(benchmark, "reply", model, status_, n)
    by_status: Counter[tuple[str, str]] = Counter()
    for rater, _, status_, n in ratings:
        by_status[rater, status_] += n
    for (rater, status_), n in by_status.items():
        yield RecordCount(benchmark, "rating", rater, status_, n)


def _read(store: Store, benchmarks: Sequence[str]) -> Iterator[ReadCount]:
    """Count what people read of each benchmark."""
    opened = reading.read_subjects(store.folder)
    for name in benchmarks:
        replies = {ident for (ident,) in store.select(_REPLY_IDS, (name,))} or set(store.sample_ids(name))
        pairs = {*store.select(_BY_PEOPLE, (name,))}
        pairs |= {(subject, who) for (about, subject), readers in opened.items() if about == name for who in readers}
        own = {(subject, who) for subject, who in pairs if subject in replies}
        if own:
            yield ReadCount(name, len({subject for subject, _ in own}), len(replies), sorted({who for _, who in own}))


def _slots(store: Store, benchmark: str) -> Counter[tuple[str, str]]:
    """Count the slots of dialogues by unit, and a client's by the client, too."""
    counted: Counter[tuple[str, str]] = Counter()
    for unit, client, n in store.select(_SLOTS, (benchmark,)):
        counted[unit, ""] += n
        counted[unit, client or ""] += n if client else 0
    return counted


def _rated(
    store: Store, benchmark: str, ratings: Sequence[RatingCount], *, recognised: bool
) -> dict[str, tuple[int, int]]:
    """Return how many subjects each rater was asked about, and is done with: on the criterion on which it has rated the fewest.

    Judges that recognise the category of a message rate that, too; it is no part of what they say of a reply.
    """
    of_messages = set(store.select(_OF_MESSAGES, (benchmark,))) if recognised else set()
    asked: dict[str, Counter[str]] = {}
    usable: dict[str, Counter[str]] = {}
    for rater, criterion, status_, n in ratings:
        if (rater, criterion) in of_messages:
            continue
        asked.setdefault(rater, Counter())[criterion] += n
        usable.setdefault(rater, Counter())[criterion] += n if status_ != "failed" else 0
    return {rater: (min(n.values()), min(usable[rater].values())) for rater, n in asked.items()}


def _left_by_plan(
    store: Store,
    content: dict[str, Any],
    counts: Sequence[RecordCount],
    ratings: Mapping[str, Sequence[RatingCount]],
) -> Iterator[Left]:
    """Say what the plan of a run leaves, benchmark by benchmark; of what was loaded there is no plan of calls."""
    plan = content.get("plan", {})
    for name, rows in ({} if plan.get("loaded") else ratings).items():
        rated = _rated(store, name, rows, recognised=plan.get("protocol") == "recognised")
        yield from _left(recorded(content, closed=_closed(rated)), name, counts, rated, _slots(store, name))


def _left(
    outputs: Sequence[StepOutput],
    benchmark: str,
    counts: Sequence[RecordCount],
    rated: dict[str, tuple[int, int]],
    slots: Counter[tuple[str, str]],
) -> Iterator[Left]:
    """Compare what the steps of the plan leave on a benchmark with what is there."""
    own_counts = [entry for entry in counts if entry.benchmark == benchmark]
    total_samples = sum(entry.n for entry in own_counts if entry.kind == "sample")

    def samples(output: StepOutput) -> int:
        """Count the samples that an output is of: of dialogues, the slots of its unit."""
        return slots[output.unit, output.client] if output.unit else total_samples

    replies: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    for entry in own_counts:
        if entry.kind == REPLY:
            (lost if entry.status == "failed" else replies)[entry.name] += entry.n
    asked_for = [samples(output) * output.repeats for output in outputs if output.kind == REPLY]
    rated_subjects = total_samples if _closed(rated) else sum(asked_for) if asked_for else replies.total()
    for output in outputs:
        if output.kind == REPLY:
            total = samples(output) * output.repeats
            finished, failed = replies[output.name], lost[output.name]
        else:
            total = rated_subjects * output.repeats
            asked, finished = rated.get(output.name) or _with_own_prompts(rated, output.name, {o.name for o in outputs})
            failed = asked - finished
        remaining = max(0, total - finished)
        yield Left(benchmark, output.kind, output.name, total, finished, remaining, min(failed, remaining))


def _with_own_prompts(rated: Mapping[str, tuple[int, int]], name: str, planned: set[str]) -> tuple[int, int]:
    """Return what a rater is done with whose name has the user's prompts, or a tree of questions, behind the planned one."""
    begin = f"{name.removesuffix(')')}, " if name.endswith(")") else f"{name} ("
    named_so = [n for rater, n in rated.items() if rater.startswith(begin) and rater not in planned]
    return max(named_so, key=lambda n: n[1], default=(0, 0))


def _closed(rated: Mapping[str, tuple[int, int]]) -> bool:
    """Whether a benchmark's question is closed, which models answer themselves: its targets are ratings, too."""
    return _GOLD in rated
