"""Whether the scores of a target may be shown, by what its clients did: never over persons that were badly played."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.fidelity import checks, dialogues
from mindgauge.analysis.fidelity.limits import limits
from mindgauge.analysis.fidelity.records import ClientFidelity, Fidelity, Fitness
from mindgauge.models.family import same_family
from mindgauge.raters.window import Unit
from mindgauge.records import RaterKind, Status
from mindgauge.records.english import ended as full_stop
from mindgauge.records.english import named
from mindgauge.records.rounding import count, percent, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mindgauge.analysis.fidelity.dialogues import ClientRecord
    from mindgauge.analysis.fitness import Unfit
    from mindgauge.benchmarks import Benchmark
    from mindgauge.store import Store

FAMILIES = 2
"""Of clients, for a score: one family's way of playing is otherwise taken for the target's."""
_NO_READERS = (RaterKind.RULE.value, RaterKind.GOLD.value)
_GRAVEST = (Fitness.UNFIT, Fitness.UNKNOWN, Fitness.FIT)


def fidelity(store: Store, benchmark: Benchmark, rows: pl.DataFrame, unfit: Sequence[Unfit] = ()) -> list[Fidelity]:
    """Check the clients of every target in a run; empty where no client plays.

    Args:
        store: of the run.
        benchmark: one of its benchmarks.
        rows: its ratings, as `frame.ratings` returns them.
        unfit: judges that cannot be used, which say nothing of clients either.
    """
    records = dialogues.records(store, benchmark)
    if not records:
        return []
    readers = _readers(rows, {(entry.judge, entry.criterion) for entry in unfit})
    rungs = next((tuple(map(str, c.values)) for c in benchmark.rubric.criteria if c.name == "perceived"), ())
    targets = dict.fromkeys(record.target for record in records)
    return [
        _of_target(benchmark.name, [r for r in records if r.target == target], readers, rungs) for target in targets
    ]


def allowed(rows: pl.DataFrame, judged: Iterable[Fidelity]) -> pl.DataFrame:
    """Return ratings without those of targets whose scores are withheld."""
    names = [name for entry in judged if entry.withheld for name in entry.names]
    return rows.filter(~pl.col("model").is_in(names)) if names else rows


def of_targets(rows: pl.DataFrame, judged: Iterable[Fidelity]) -> pl.DataFrame:
    """Return the ratings of targets whose scores are not withheld; what clients wrote is nobody's reply."""
    judged = list(judged)
    clients = pl.col("unit").eq_missing(pl.lit(Unit.CLIENT.value))
    return allowed(rows.filter(~clients) if judged else rows, judged)


def sentences(judged: Iterable[Fidelity]) -> list[str]:
    """Say of each target why it has no score, a sentence each."""
    return [
        full_stop(f"{entry.benchmark}: no score of {entry.target} is shown: {'; '.join(entry.withheld)}")
        for entry in judged
        if entry.withheld
    ]


def _readers(rows: pl.DataFrame, unfit: set[tuple[str, str]]) -> list[checks.ReaderVerdicts]:
    """Collect what judges and people said of clients, by rater; a verdict that does not apply is none."""
    if "unit" not in rows.columns:
        return []
    of_clients = rows.filter(
        pl.col("unit") == Unit.CLIENT.value,
        ~pl.col("rater_kind").is_in(_NO_READERS),
        pl.col("criterion").is_in(["in_role", "rung_shown", "perceived"]),
        pl.col("status") != Status.NOT_APPLICABLE.value,
    )
    by_rater: dict[str, dict[str, dict[str, list[str | None]]]] = {}
    columns = of_clients.sort("rater", "subject", "run").select("rater", "criterion", "subject", "status", "value")
    for rater, criterion, subject, status, value in columns.iter_rows():
        if (rater, criterion) not in unfit:
            levels = by_rater.setdefault(rater, {}).setdefault(criterion, {}).setdefault(subject, [])
            levels.append(value if status == Status.OK.value else None)
    return [checks.ReaderVerdicts(rater, by_criterion) for rater, by_criterion in by_rater.items()]


def _of_target(
    benchmark: str, records: Sequence[ClientRecord], readers: Sequence[checks.ReaderVerdicts], rungs: Sequence[str]
) -> Fidelity:
    clients = [_of_client(record, readers, rungs) for record in records]
    families = _families([record.client for record in records])
    withheld = [
        *_of_families(records, families),
        *(reason for client in clients for reason in _refusals(client, rated=bool(rungs))),
    ]
    failures = sum(client.failures for client in clients)
    dialogues_held = sum(client.dialogues for client in clients)
    bounds = ""
    if failures:
        bounds = (
            f"{plural(failures, 'dialogue')} of {count(dialogues_held)} in which a client failed {'is' if failures == 1 else 'are'} in no score; the worst and "
            "best of each allow for them, as if all their turns had been the worst, or the best, that they could be"
        )
    verdict = _gravest(client.verdict for client in clients)
    return Fidelity(benchmark, records[0].target, clients, families, verdict, withheld, bounds)


def _of_client(record: ClientRecord, readers: Sequence[checks.ReaderVerdicts], rungs: Sequence[str]) -> ClientFidelity:
    own = {message.id for message in record.messages}
    rating = [
        reader
        for reader in readers
        if reader.rated and any(own & by_message.keys() for by_message in reader.by_criterion.values())
    ]
    results = [
        *checks.by_rule(record),
        *(check for reader in rating for check in checks.by_judge(record, reader, rungs)),
    ]
    if any(check.judge for check in results):  # who also counts what the checks found
        results = [check for check in results if check.judge or check.name != checks.ROLE]
    reasons = [check.reason for check in results if check.reason]
    verdict = _gravest(check.verdict for check in results)
    if not rating:
        verdict = min(verdict, Fitness.UNKNOWN, key=_GRAVEST.index)
        reasons.append(_unread(record, rungs))
    outcomes = Counter(ended.outcome for ended in record.ended)
    return ClientFidelity(
        record.client,
        len(record.ended),
        {outcome.value: n for outcome, n in sorted(outcomes.items())},
        sum(ended.outcome.of_client for ended in record.ended),
        sum(ended.begun_again > 0 for ended in record.ended),
        len(record.messages),
        dict(sorted(Counter(message.heard_by for message in record.messages if message.heard_by).items())),
        same_family(record.client, record.target),
        results,
        verdict,
        reasons,
    )


def _unread(record: ClientRecord, rungs: Sequence[str]) -> str:
    if not rungs:
        return "the rubric asks nothing of clients, so role, leaks and recovery were not checked"
    if not record.messages:
        return "it has written nothing yet"
    return "nobody rated what it wrote, so role, leaks and recovery were never checked: name a judge (mindgauge rate)"


def _refusals(client: ClientFidelity, *, rated: bool) -> list[str]:
    """Say why a client allows no score; that nobody can tell is said, and withholds nothing, unless nobody looked.

    Args:
        client: of a target.
        rated: whether the rubric asks anything of clients; another's instrument may not.
    """
    reasons = []
    share = client.failures / client.dialogues if client.dialogues else 0.0
    if share > limits().failures.most:
        reasons.append(
            f"the client {client.client} failed in {count(client.failures)} of {count(client.dialogues)} dialogues (at most {percent(limits().failures.most)})"
        )
    others = [check for check in client.checks if check.verdict is Fitness.UNFIT and check.name != checks.FAILURES]
    reasons += [f"the client {client.client} is unfit: {check.reason}" for check in others]
    if rated and not any(check.judge for check in client.checks):
        reasons += [f"the client {client.client} was never checked: {reason}" for reason in client.reasons[-1:]]
    return reasons


def _of_families(records: Sequence[ClientRecord], families: int) -> list[str]:
    clients = [record.client for record in records]
    kin = [record.client for record in records if same_family(record.client, record.target)]
    reasons = []
    if len(clients) < FAMILIES:
        reasons.append(f"one client, {clients[0]}, plays all persons, and a score takes two of different families")
    elif families < FAMILIES:
        reasons.append(f"the clients {named(clients)} are of one family, and a score takes two")
    if kin:
        reasons.append(
            f"{named(kin)} play{'s' if len(kin) == 1 else ''} the person for a model of {'its' if len(kin) == 1 else 'their'} own family"
        )
    return reasons


def _families(clients: Sequence[str]) -> int:
    """Count families: clients that share one, directly or over others, are of one."""
    groups: list[set[str]] = []
    for client in clients:
        kin = [group for group in groups if any(same_family(client, other) for other in group)]
        groups = [group for group in groups if group not in kin] + [{client}.union(*kin)]
    return len(groups)


def _gravest(verdicts: Iterable[Fitness]) -> Fitness:
    return min(verdicts, key=_GRAVEST.index, default=Fitness.UNKNOWN)
