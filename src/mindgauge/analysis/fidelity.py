"""Whether the models that play persons are fit for their part, decided before any score of the model that they talk to.

What clients did is read from a run and compared with limits that were fixed beforehand (`fidelity.toml`): how dialogues ended,
roles, leaks, recovery of the plan, length, repetition. Intervals are of other personas: all dialogues with one persona, in
whichever language, are drawn together. What a judge gave no usable verdict on counts against the client in `worst` and for it
in `best`; where that decides, nobody can tell. No score is shown over persons that were badly played.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import polars as pl

from mindgauge.benchmarks.persons.client import HEARD, length, repetition
from mindgauge.benchmarks.persons.dialogues import Outcome, PersonMode, whole_name
from mindgauge.models.family import same_family
from mindgauge.raters.window import Unit
from mindgauge.records import HELD, Message, RaterKind, Reply, Sample, Status
from mindgauge.records.english import ended as full_stop
from mindgauge.records.english import named
from mindgauge.records.rounding import bounded, count, decimal, percent, plural
from mindgauge.stats import agreement, bootstrap, proportion
from mindgauge.stats.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.fitness import Unfit
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rounding import Kind
    from mindgauge.store import Store

    Floats = NDArray[np.float64]
    Items = Sequence[tuple[str, float | None]]
    """Of each thing its persona and a number; None where that is missing. Of a share the number is 1 where the thing is bad."""
    Verdicts = Mapping[str, Mapping[str, Sequence[str | None]]]
    """Of one rater: criterion → reply → levels, None where there is no usable one."""

FAILURES, ROLE, LEAKS, RECOVERY, LENGTH, REPETITION = "failures", "role", "leaks", "recovery", "length", "repetition"
FAMILIES = 2
"""Of clients, for a score: one family's way of playing is otherwise taken for the target's."""
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
_LEVELS = (RECOVERY, LENGTH)
"""The checks whose value is no share."""


class Fitness(StrEnum):
    """Whether something keeps within its limit."""

    FIT = "fit"
    UNFIT = "unfit"
    UNKNOWN = "cannot tell"


class FidelityCheck(msgspec.Struct, frozen=True):
    """One figure of a client beside its limit; `judge` is empty where rules tell it.

    `low` and `high` are 95 % bounds for other personas. `missing` of the `n` have no usable verdict: `worst` and `best` are
    the value if all of them spoke against the client, or for it. `kind` is `share` or `level`.
    """

    name: str
    judge: str
    value: float | None
    low: float | None
    high: float | None
    worst: float | None
    best: float | None
    n: int
    missing: int
    personas: int
    limit: float
    kind: str
    verdict: Fitness
    reason: str
    """In a clause, why it is not fit; empty where it is."""
    too_few: bool = False
    """Whether nobody can tell because too few dialogues speak."""


class ClientFidelity(msgspec.Struct, frozen=True):
    """What a client did with one target."""

    client: str
    dialogues: int
    outcomes: dict[str, int]
    """How dialogues ended → how many."""
    failures: int
    """Dialogues in which the client failed."""
    begun_again: int
    """Dialogues that were held anew, since a bot with a state of its own had broken off."""
    messages: int
    heard_by: dict[str, int]
    """Who read what replies did (`client`: it itself; `cues`: our words) → before how many of its messages."""
    same_family: bool
    """Whether it comes from a family of the target."""
    checks: list[FidelityCheck]
    verdict: Fitness
    reasons: list[str]


class Fidelity(msgspec.Struct, frozen=True):
    """The clients of one target in one benchmark; `withheld` says why its scores are not shown, empty where they are."""

    benchmark: str
    target: str
    clients: list[ClientFidelity]
    families: int
    """Different families among the clients."""
    verdict: Fitness
    withheld: list[str]
    bounds: str = ""
    """What the worst and best of scores allow for."""

    @property
    def names(self) -> tuple[str, str]:
        """What the target's replies, and its whole dialogues, are called."""
        return self.target, whole_name(self.target)


@cache
def limits() -> dict[str, dict[str, float]]:
    """Read when a client is fit: the limit of each check, how many dialogues and personas are `enough`, the length of `people`'s turns."""
    content = Path(__file__).with_suffix(".toml").read_bytes()
    return msgspec.toml.decode(content, type=dict[str, dict[str, float]])


class _Played(NamedTuple):
    """All that a client did with one target: the dialogues that ended, and its messages, each slot with what is in it."""

    client: str
    target: str
    ended: list[tuple[Sample, Reply]]
    messages: list[tuple[Sample, Reply]]

    @property
    def enough(self) -> bool:
        """Whether there are enough dialogues and personas for a value to decide."""
        minimum, personas = limits()["enough"], {sample.cluster for sample, _ in self.ended}
        return len(self.ended) >= minimum["dialogues"] and len(personas) >= minimum["personas"]

    @property
    def failures(self) -> list[bool]:
        """Whether the client failed, of each dialogue."""
        return [Outcome(reply.provenance["outcome"]).of_client for _, reply in self.ended]


def check_clients(
    store: Store, benchmark: Benchmark, rows: pl.DataFrame, unfit: Sequence[Unfit] = ()
) -> list[Fidelity]:
    """Check the clients of every target in a run; empty where no client plays.

    Args:
        store: of the run.
        benchmark: one of its benchmarks.
        rows: its ratings, as `frame.ratings` returns them.
        unfit: judges that cannot be used, which say nothing of clients either.
    """
    by_target: dict[str, list[_Played]] = {}
    for played in _played(store, benchmark):
        by_target.setdefault(played.target, []).append(played)
    if not by_target:
        return []
    verdicts = _verdicts(rows, {(entry.judge, entry.criterion) for entry in unfit})
    rungs = next((tuple(map(str, c.values)) for c in benchmark.rubric.criteria if c.name == "perceived"), ())
    return [
        _of_target(
            benchmark.name, target, [_of_client(played, verdicts, rungs) for played in clients], rated=bool(rungs)
        )
        for target, clients in by_target.items()
    ]


def allowed(rows: pl.DataFrame, judged: Iterable[Fidelity]) -> pl.DataFrame:
    """Return ratings without those of targets whose scores are withheld."""
    names = [name for entry in judged if entry.withheld for name in entry.names]
    return rows.filter(~pl.col("model").is_in(names)) if names else rows


def of_targets(rows: pl.DataFrame, judged: Sequence[Fidelity]) -> pl.DataFrame:
    """Return the ratings of targets whose scores are not withheld; what clients wrote is nobody's reply."""
    clients = pl.col("unit").eq_missing(pl.lit(Unit.CLIENT.value))
    return allowed(rows.filter(~clients) if judged else rows, judged)


def sentences(judged: Iterable[Fidelity]) -> list[str]:
    """Say of each target why it has no score, a sentence each."""
    return [
        full_stop(f"{entry.benchmark}: no score of {entry.target} is shown: {'; '.join(entry.withheld)}")
        for entry in judged
        if entry.withheld
    ]


def _played(store: Store, benchmark: Benchmark) -> list[_Played]:
    """Read what each client did with each target, in the order of their names; nothing where no client plays."""
    if not benchmark.holds_dialogues:
        return []
    samples = {s.id: s for s in store.samples(benchmark.name) if s.tags.get("mode") == PersonMode.SIMULATED}
    if not samples:
        return []
    replies = [(samples[reply.sample], reply) for reply in store.replies(benchmark.name) if reply.sample in samples]
    targets = sorted({reply.provenance["target"] for sample, reply in replies if sample.tags["unit"] != Unit.CLIENT})
    clients = sorted({sample.tags["client"] for sample in samples.values()})
    played = {(target, client): _Played(client, target, [], []) for target in targets for client in clients}
    for sample, reply in replies:
        pair = played.get((reply.provenance["target"], sample.tags["client"]))
        if pair is not None and sample.tags["unit"] == Unit.DIALOGUE:
            pair.ended.append((sample, reply))
        elif pair is not None and sample.tags["unit"] == Unit.CLIENT and reply.status is not Status.NOT_APPLICABLE:
            pair.messages.append((sample, reply))
    return [*played.values()]


def _verdicts(rows: pl.DataFrame, unfit: set[tuple[str, str]]) -> dict[str, Verdicts]:
    """Collect what judges and people said of clients, by rater; a verdict that does not apply is none."""
    if "unit" not in rows.columns:
        return {}
    of_clients = rows.filter(
        pl.col("unit") == Unit.CLIENT.value,
        ~pl.col("rater_kind").is_in([RaterKind.RULE.value, RaterKind.GOLD.value]),
        pl.col("criterion").is_in(["in_role", "rung_shown", "perceived"]),
        pl.col("status") != Status.NOT_APPLICABLE.value,
    )
    by_rater: dict[str, dict[str, dict[str, list[str | None]]]] = {}
    usable: set[str] = set()
    columns = of_clients.sort("rater", "subject", "run").select("rater", "criterion", "subject", "status", "value")
    for rater, criterion, subject, status, value in columns.iter_rows():
        if (rater, criterion) not in unfit:
            levels = by_rater.setdefault(rater, {}).setdefault(criterion, {}).setdefault(subject, [])
            levels.append(value if status == Status.OK.value else None)
            usable |= {rater} if levels[-1] is not None else set()
    return {rater: verdicts for rater, verdicts in by_rater.items() if rater in usable}


def _of_target(benchmark: str, target: str, clients: list[ClientFidelity], *, rated: bool) -> Fidelity:
    """Say what follows for a target; `rated` says whether the rubric asks anything of clients, as another's instrument may not."""
    names = [client.client for client in clients]
    groups: list[set[str]] = []  # families: clients that share one, directly or over others, are of one
    for name in names:
        kin = [group for group in groups if any(same_family(name, other) for other in group)]
        groups = [group for group in groups if group not in kin] + [{name}.union(*kin)]
    withheld = []
    if len(names) < FAMILIES:
        withheld.append(f"one client, {names[0]}, plays all persons, and a score takes two of different families")
    elif len(groups) < FAMILIES:
        withheld.append(f"the clients {named(names)} are of one family, and a score takes two")
    if own := [client.client for client in clients if client.same_family]:
        verb, whose = ("plays", "its") if len(own) == 1 else ("play", "their")
        withheld.append(f"{named(own)} {verb} the person for a model of {whose} own family")
    ceiling = limits()[FAILURES]["most"]
    for client in clients:  # that nobody can tell is said, and withholds nothing, unless nobody looked
        player = f"the client {client.client}"
        if client.dialogues and client.failures / client.dialogues > ceiling:
            withheld.append(f"{player} failed in {count(client.failures)} of {count(client.dialogues)} dialogues (at most {percent(ceiling)})")  # fmt: skip
        others = [check for check in client.checks if check.verdict is Fitness.UNFIT and check.name != FAILURES]
        withheld += [f"{player} is unfit: {check.reason}" for check in others]
        if rated and not any(check.judge for check in client.checks):
            withheld += [f"{player} was never checked: {reason}" for reason in client.reasons[-1:]]
    bounds = ""
    if failures := sum(client.failures for client in clients):
        bounds = (
            f"{plural(failures, 'dialogue')} of {count(sum(client.dialogues for client in clients))} in which a client failed {'is' if failures == 1 else 'are'} in no score; the worst and "
            "best of each allow for them, as if all their turns had been the worst, or the best, that they could be"
        )
    verdict = _gravest(client.verdict for client in clients)
    return Fidelity(benchmark, target, clients, len(groups), verdict, withheld, bounds)


def _of_client(played: _Played, verdicts: Mapping[str, Verdicts], rungs: Sequence[str]) -> ClientFidelity:
    own = {reply.id for _, reply in played.messages}
    rating = [rater for rater, said in verdicts.items() if any(own & replies.keys() for replies in said.values())]
    read = [check for rater in rating for check in _by_judge(played, rater, verdicts[rater], rungs)]
    checks = [*_by_rule(played, with_role=not read), *read]
    reasons = [check.reason for check in checks if check.reason]
    verdict = _gravest(check.verdict for check in checks)
    if not rating:
        verdict = _gravest((verdict, Fitness.UNKNOWN))
        if not rungs:
            reasons.append("the rubric asks nothing of clients, so role, leaks and recovery were not checked")
        elif not played.messages:
            reasons.append("it has written nothing yet")
        else:
            reasons.append("nobody rated what it wrote, so role, leaks and recovery were never checked: name a judge (mindgauge rate)")  # fmt: skip
    outcomes = Counter(reply.provenance["outcome"] for _, reply in played.ended)
    readers = Counter(by for _, reply in played.messages if (by := reply.provenance.get(HEARD, {}).get("by", "")))
    return ClientFidelity(
        played.client, len(played.ended), dict(sorted(outcomes.items())), sum(played.failures),
        sum(reply.provenance.get("begun_again", 0) > 0 for _, reply in played.ended), len(played.messages),
        dict(sorted(readers.items())), same_family(played.client, played.target), checks, verdict, reasons,
    )  # fmt: skip


def _by_rule(played: _Played, *, with_role: bool) -> Iterator[FidelityCheck]:
    """Check what needs no reader: how dialogues ended, failed checks of role, length, and repetition."""
    messages, enough = played.messages, played.enough
    failed = [(s.cluster, float(failed)) for (s, _), failed in zip(played.ended, played.failures, strict=True)]
    yield _share(FAILURES, "", failed, enough=enough, fact=True)
    if with_role:  # who reads counts what the checks found, too
        broke = [(sample.cluster, float(_broke_role(reply))) for sample, reply in messages]
        yield _share(ROLE, "", broke, enough=enough)
    lengths, repeated = [], []
    for sample, reply in messages:
        language = sample.tags["language"]
        if reply.text.strip():
            usual = limits()["people"]["zh" if language == "zh" else "en"]
            lengths.append((sample.cluster, length(reply.text, language) / usual))
            history = [m.content for m in msgspec.convert(reply.provenance.get(HELD, ()), tuple[Message, ...])]
            if (share := repetition(reply.text, history, language)) is not None:
                repeated.append((sample.cluster, share))
    for name, items in ((LENGTH, lengths), (REPETITION, repeated)):
        columns = np.array([(value, 1.0) for _, value in items]).reshape(-1, 2)
        value = _drawn(items, columns, lambda totals: totals[:, 0] / totals[:, 1])
        yield _check(name, "", items, value, {_below(value, limits()[name]["most"], enough=enough)})


def _by_judge(played: _Played, rater: str, verdicts: Verdicts, rungs: Sequence[str]) -> Iterator[FidelityCheck]:
    """Check what a reader said, blind to the target: role, what was shown too early, and whether the plan was recovered.

    Recovery compares the rung that was open last with the risk that a reader sees by then, dialogue by dialogue.
    """

    def levels(criterion: str, reply: Reply) -> Sequence[str | None]:
        return verdicts.get(criterion, {}).get(reply.id, (None,))

    broke = [
        (sample.cluster, 1.0 if _broke_role(reply) else None if level is None else float(level == "no"))
        for sample, reply in played.messages
        for level in levels("in_role", reply)
    ]
    yield _share(ROLE, rater, broke, enough=played.enough)
    passed = [
        (sample, reply, rungs.index(reply.provenance["rung"]))
        for sample, reply in played.messages
        if not reply.provenance.get("problem") and reply.provenance.get("rung") in rungs
    ]
    leaked = [
        (sample.cluster, None if level is None else float(rungs.index(level) > rung))
        for sample, reply, rung in passed
        for level in levels("rung_shown", reply)
    ]
    yield _share(LEAKS, rater, leaked, enough=played.enough)
    failed = {_place(reply) for (_, reply), failed in zip(played.ended, played.failures, strict=True) if failed}
    last = {_place(entry[1]): entry for entry in sorted(passed, key=lambda entry: int(entry[1].provenance["turn"]))}
    q, perceived, cells = len(rungs), [], []
    for sample, reply, rung in (entry for place, entry in last.items() if place not in failed):
        for level in levels("perceived", reply):
            perceived.append((sample.cluster, None if level is None else float(rungs.index(level))))
            cells.append(rung * (q + 1) + (q if level is None else rungs.index(level)))
    tables = np.eye(q * (q + 1))[cells]
    value = _drawn(perceived, tables, lambda t: agreement.cohen_kappa(t.reshape(-1, q, q + 1), "quadratic"))
    number, low, high = (None if v is None else -v for v in (value.value, value.high, value.low))
    verdict = _below(Interval(number, low, high), -limits()[RECOVERY]["least"], enough=played.enough)
    yield _check(RECOVERY, rater, perceived, value, {verdict})


def _broke_role(reply: Reply) -> bool:
    return reply.provenance.get("outcome") == Outcome.CLIENT_BROKE_ROLE


def _place(reply: Reply) -> tuple[Any, int]:
    return reply.provenance["dialogue"], reply.run


def _share(name: str, rater: str, items: Items, *, enough: bool, fact: bool = False) -> FidelityCheck:
    """Compare a share of bad things with its limit; a `fact` of these dialogues is decided by its value, whatever their number."""

    def filled(filling: float | None) -> Interval:
        known = [(persona, filling if v is None else v) for persona, v in items if v is not None or filling is not None]
        mean = np.mean([v for _, v in known]) if known else 0.0
        return proportion.share(float(mean), len({persona for persona, _ in known})) if known else Interval(None)

    value, worst, best = filled(None), filled(1.0), filled(0.0)
    ceiling = limits()[name]["most"]
    decided = {_below(extreme, ceiling, enough=fact or enough, by_value=fact) for extreme in (worst, best)}
    return _check(name, rater, items, value, decided, (worst.value, best.value))


def _drawn(items: Items, columns: Floats, statistic: Callable[[Floats], Floats]) -> Interval:
    """Return a statistic of the totals of columns, shape (n, m), with its interval; all items of a persona are drawn together."""
    if not items:
        return Interval(None)
    personas, place = np.unique([persona for persona, _ in items], return_inverse=True)
    totals = np.zeros((len(personas), columns.shape[1]))
    np.add.at(totals, place, columns)
    return bootstrap.interval_of_sums(statistic, totals, resamples=2000)


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


def _check(
    name: str, rater: str, items: Items, value: Interval, decided: set[Fitness],
    extremes: tuple[float | None, float | None] | None = None,
) -> FidelityCheck:  # fmt: skip
    """Put a figure beside its limit, with a clause that says why it is not fit; several verdicts leave it open."""
    verdict = decided.pop() if len(decided) == 1 else Fitness.UNKNOWN
    n, missing, personas = len(items), sum(v is None for _, v in items), len({persona for persona, _ in items})
    kind: Kind = "level" if name in _LEVELS else "share"
    (limit,), by = limits()[name].values(), f"by {rater}, " if rater else ""
    if value.value is None:
        lack = value.undefined or "it is not defined on these dialogues"
        if missing == n:
            lack = f"none of {count(n)} verdicts can be used" if n else "there is nothing to go by"
        clause = f"{by}nobody can tell {_QUESTIONS[name]}: {lack}"
    else:
        clause = _CLAUSES[name].format(
            value=bounded(value.value, value.low, value.high, kind), n=count(n),
            limit=percent(limit) if kind == "share" else decimal(limit, 1), by=by,
        )  # fmt: skip
        if verdict is Fitness.UNKNOWN:
            shortage = f"too few dialogues to tell ({count(personas)} personas)"
            clause += f": {f'{count(missing)} without a usable verdict leave it open' if missing else shortage}"
    return FidelityCheck(
        name, rater, *value[:3], *(extremes or (value.value, value.value)), n, missing, personas, limit, kind, verdict,
        "" if verdict is Fitness.FIT else clause, verdict is Fitness.UNKNOWN and value.value is not None and not missing,
    )  # fmt: skip


def _gravest(verdicts: Iterable[Fitness]) -> Fitness:
    return min(verdicts, key=(Fitness.UNFIT, Fitness.UNKNOWN, Fitness.FIT).index, default=Fitness.UNKNOWN)
