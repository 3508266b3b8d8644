"""Which judges cannot be used at all: those that fail their entry test, and those that always say the same.

The reference is no clinician, and the replies are clear cases on purpose. Passing says that a judge can read the rubric
and its scale; only people's ratings say whether it may replace people (see `reliability`).

Passing says that a judge can read the rubric and its scale. Whether it may replace people, only people's ratings say (see
`reliability`); a judge that fails here says nothing of replies, so nothing that it says is shown as a share or a mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from mindgauge.analysis import frame
from mindgauge.analysis.reliability.card import Bound
from mindgauge.benchmarks import anchors
from mindgauge.benchmarks.anchors import EntryResult, limits
from mindgauge.records import RaterKind, Status, Value
from mindgauge.records.rounding import bounded, count, decimal, percent, plural
from mindgauge.records.rubric import Scale
from mindgauge.stats import bootstrap, moments, proportion
from mindgauge.stats.interval import AGREED, TIE, tied
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rubric import Criterion
    from mindgauge.stats.interval import Ends
    from mindgauge.store import Store


Floats = NDArray[np.float64]
UNORDERED = Bound(None, note="the levels are not ordered")


class AtLevel(msgspec.Struct, frozen=True):
    """What a judge made of the replies written for one level; None where the criterion does not apply to them.

    `recall` is the share it gave this very level, a missing verdict being none; `mean` is what it gave on average.
    """

    level: Value | None
    n: int
    missing: int
    recall: float
    mean: float | None


class Qualification(msgspec.Struct, frozen=True):
    """A judge's agreement with the levels that replies were written for, on one criterion.

    `n` counts the replies it was asked about, `missing` those of them without a verdict that could be read; in `exact`
    and `within_1` (the share at most one level off) these agree with nothing. Where a criterion was written not to
    apply, saying so is the exact answer. `bias` (judge minus authors, in levels; above 0 is too kind) and `icc_a1` are
    of the replies to which both gave a level. `kappa` is the agreement beyond chance on all of them, a missing verdict
    agreeing with nothing. Of `pairs` of replies to one message, equally long and at two levels, the judge put the better
    one higher in `ordered`. By the fixed limits for both (`fitness`) the `result` is `passed`, `failed` or `undecided`,
    and the `reason` says why, if not passed.
    """

    benchmark: str
    judge: str
    criterion: str
    n: int
    clusters: int
    missing: int
    exact: Bound
    within_1: Bound
    bias: Bound
    icc_a1: Bound
    levels: list[AtLevel]
    kappa: Bound
    pairs: int
    ordered: int
    result: str
    reason: str


def qualify(
    store: Store, benchmarks: Sequence[Benchmark], *, resamples: int = 2000, seed: int = 0
) -> list[Qualification]:
    """Compare every judge of a run with the anchors it rated; empty where it rated none.

    Shares have exact bounds with the dialogues as n; the others resample dialogues, with all replies to them.
    """
    return [
        qualification
        for benchmark in benchmarks
        for qualification in _qualifications(store, benchmark, resamples, seed)
    ]


def unfit(store: Store, benchmark: Benchmark, rows: pl.DataFrame) -> list[Unfit]:
    """Return the judges of a benchmark that cannot be used, by what a run holds.

    Args:
        store: of the run.
        benchmark: one of its benchmarks.
        rows: its ratings, as `frame.ratings` returns them.
    """
    return unfit_judges(qualify(store, [benchmark]), rows, benchmark)


def unfit_judges(tests: Sequence[Qualification], rows: pl.DataFrame, benchmark: Benchmark) -> list[Unfit]:
    """Return the judges of a benchmark that cannot be used: on which criteria, and on what follows from these.

    Args:
        tests: entry tests of a run's judges.
        rows: the benchmark's ratings in it, as `frame.ratings` returns them.
        benchmark: whose judges.
    """
    own = [q for q in tests if q.benchmark == benchmark.name]
    failed = [Unfit(q.benchmark, q.judge, q.criterion, q.reason) for q in own if q.result == anchors.EntryResult.FAILED]
    passed = {(q.judge, q.criterion) for q in own if q.result == anchors.EntryResult.PASSED}
    by_key = {(entry.judge, entry.criterion): entry for entry in (*constant(rows, benchmark, passed), *failed)}
    follows = {name: composite.of for name, composite in benchmark.composites.items()} | benchmark.pooled
    for name, parts in follows.items():
        for judge in dict.fromkeys(judge for judge, _ in by_key):
            part = next((by_key[judge, part] for part in parts if (judge, part) in by_key), None)
            if part is not None:
                by_key[judge, name] = msgspec.structs.replace(part, criterion=name, part=part.criterion)
    return list(by_key.values())


def _qualifications(store: Store, benchmark: Benchmark, resamples: int, seed: int) -> Iterator[Qualification]:
    tested = list(_tested(store, benchmark))
    samples = store.samples(benchmark.anchored.name) if tested else ()
    matched = [sample.id for sample in samples if anchors.MATCHED in sample.tags]
    for criterion, judge, rows in tested:
        yield _qualification(benchmark.name, judge, criterion, rows, matched, resamples, seed)


def by_level(store: Store, benchmark: Benchmark) -> Iterator[tuple[Criterion, str, list[AtLevel]]]:
    """Yield what each judge of a run made of the replies written for each level, criterion by criterion."""
    for criterion, judge, rows in _tested(store, benchmark):
        target, verdict = _codes(criterion, rows)
        yield criterion, judge, [_at(code, criterion, verdict[target == code]) for code in np.unique(target)]


def _tested(store: Store, benchmark: Benchmark) -> Iterator[tuple[Criterion, str, pl.DataFrame]]:
    """Yield the verdicts of each judge on replies of known `level`, criterion by criterion."""
    if benchmark.closed or not store.count_replies(benchmark.anchored.name):
        return
    ratings = frame.ratings(store, benchmark.anchored)
    gold = pl.col("rater_kind") == RaterKind.GOLD.value
    gold_levels = ratings.filter(gold).select("subject", "criterion", level="value")
    judged = ratings.filter(~gold).join(gold_levels, on=["subject", "criterion"])
    for criterion in benchmark.rubric.criteria:
        criterion_rows = judged.filter(pl.col("criterion") == criterion.name)
        for (judge,), rows in sorted(criterion_rows.group_by("rater"), key=lambda group: str(group[0])):
            yield criterion, str(judge), rows


def _codes(criterion: Criterion, rows: pl.DataFrame) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the code of each reply's level and of its verdict: one past the last where it does not apply, -1 for no verdict."""
    levels = len(criterion.values)
    codes = {str(value): code for code, value in enumerate(criterion.values)}
    target = rows["level"].replace_strict(codes, default=levels, return_dtype=pl.Int64).to_numpy()
    verdict = rows["value"].replace_strict(codes, default=-1, return_dtype=pl.Int64).to_numpy()
    return target, np.where(rows["status"].to_numpy() == Status.NOT_APPLICABLE.value, levels, verdict)


def _qualification(
    benchmark: str,
    judge: str,
    criterion: Criterion,
    rows: pl.DataFrame,
    matched: Sequence[str],
    resamples: int,
    seed: int,
) -> Qualification:
    levels = len(criterion.values)
    target, verdict = _codes(criterion, rows)
    missing, exact, both = verdict < 0, verdict == target, (target < levels) & (verdict >= 0) & (verdict < levels)
    near = exact | (both & (abs(verdict - target) <= 1))
    dialogue = np.unique(rows["cluster"].rank("dense").to_numpy()[both], return_inverse=True)[1]

    def bound(statistic: Callable[[Floats], Floats], ends: Ends | None = None) -> Bound:
        if criterion.scale is Scale.NOMINAL:
            return UNORDERED
        return Bound(
            *bootstrap.interval(
                lambda weights: statistic(moments.moments(target[both], verdict[both], weights)),
                dialogue,
                resamples=resamples,
                seed=seed,
                ends=ends,
            )
        )

    clusters = rows["cluster"].n_unique()
    kappa = _kappa(
        target, verdict, criterion, rows["cluster"].rank("dense").to_numpy().astype(np.intp) - 1, resamples, seed
    )
    values, times = np.unique(verdict[~missing], return_counts=True)
    commonest = (
        [*map(str, criterion.values), Status.NOT_APPLICABLE.value][values[times.argmax()]] if len(values) else ""
    )
    pairs = _pairs(rows, target, verdict, criterion, matched)
    result, reason = entry_result(
        Test(
            len(rows), len(np.unique(target)), int(missing.sum()), commonest, int(times.max(initial=0)), kappa, pairs
        )
    )  # fmt: skip
    return Qualification(
        benchmark, judge, criterion.name, len(rows), clusters, int(missing.sum()), _share(exact, clusters),
        _share(near, clusters) if criterion.scale is Scale.ORDINAL else UNORDERED,
        bound(moments.bias, (float(1 - levels), float(levels - 1))), bound(moments.icc_agreement),
        [_at(code, criterion, verdict[target == code]) for code in np.unique(target)], kappa, pairs.n, pairs.ordered, result, reason,
    )  # fmt: skip


class _Pairs(NamedTuple):
    """Matched pairs that a judge was asked about, how many it put in their order, and the share of these by message.

    Versions of one message, in two languages, count as one of `messages`. Of `halves` only one reply was rated so far.
    """

    n: int
    ordered: int
    messages: int
    share: float
    halves: int = 0


def _pairs(
    rows: pl.DataFrame,
    target: NDArray[np.int64],
    verdict: NDArray[np.int64],
    criterion: Criterion,
    matched: Sequence[str],
) -> _Pairs:
    """Count the pairs that a judge put in their order.

    Levels of an order count by their order alone; classes, and that a criterion does not apply, have to be met exactly.
    A missing verdict orders nothing.
    """
    levels, of_matched = len(criterion.values), rows.with_row_index().filter(pl.col("sample").is_in(matched))
    right: dict[str, list[bool]] = {}
    halves = 0
    for cluster, places in of_matched.group_by("cluster", "sample").agg("index").select("cluster", "index").iter_rows():
        if len(places) == 2:
            written, given = target[places], verdict[places]
            ranked = criterion.scale is Scale.ORDINAL and max(*written, *given) < levels and given.min() >= 0
            same_order = np.sign(np.diff(written)) == np.sign(np.diff(given)) if ranked else written == given
            right.setdefault(cluster, []).append(bool(same_order.all()))
        halves += len(places) == 1
    ordered = [hit for hits in right.values() for hit in hits]
    share = float(np.mean([np.mean(hits) for hits in right.values()])) if right else 0.0
    return _Pairs(len(ordered), sum(ordered), len(right), share, halves)


def _kappa(
    target: NDArray[np.int64],
    verdict: NDArray[np.int64],
    criterion: Criterion,
    dialogue: NDArray[np.intp],
    resamples: int,
    seed: int,
) -> Bound:
    """Return Cohen's kappa with partial credit (Cohen 1968), resampling dialogues.

    Ordered levels that are i apart of at most m agree by 1 - (i/m)², others fully or not at all. Not to apply agrees with
    nothing but itself, a missing verdict with nothing: a judge that gives none has 0, as has one that always says the same.

    Args:
        target: the level that each reply was written for, one past the last where the criterion does not apply.
        verdict: the level it got, -1 for none.
        criterion: whose levels they are.
        dialogue: the number of each reply's dialogue, from 0.
        resamples: of dialogues.
        seed: of the resampling.
    """
    q = len(criterion.values)
    ordered = criterion.scale is Scale.ORDINAL and q > 1
    distance = np.abs(np.subtract.outer(np.arange(q), np.arange(q))) / max(q - 1, 1)
    credit = np.zeros((q + 1, q + 2))
    credit[:q, :q] = 1 - distance**2 if ordered else np.eye(q)
    credit[q, q] = 1.0
    cell = target * (q + 2) + np.where(verdict < 0, q + 1, verdict)
    sums = np.zeros((int(dialogue.max(initial=-1)) + 1, credit.size))
    np.add.at(sums, (dialogue, cell), 1.0)

    def beyond(totals: Floats) -> tuple[Floats, Floats]:
        tables = totals.reshape(-1, *credit.shape) / totals.sum(axis=1)[:, None, None]
        observed = (tables * credit).sum(axis=(1, 2))
        return observed, np.einsum("bi,ij,bj->b", tables.sum(axis=2), credit, tables.sum(axis=1))

    def kappa(totals: Floats) -> Floats:
        observed, expected = beyond(totals)
        return ratio(observed - expected, np.where(expected < 1 - TIE, 1 - expected, 0.0))

    interval = bootstrap.interval_of_sums(kappa, sums, resamples=resamples, seed=seed)
    if interval.value is None or interval.low is not None or not tied(interval.value, 1.0):
        return Bound(*interval)
    # All agree: of C dialogues at most 1 - .025^(1/C) of others would not, and these might agree not at all.
    lowest, expected = 0.025 ** (1 / len(sums)), float(beyond(sums.sum(axis=0)[None])[1][0])
    return Bound(1.0, (lowest - expected) / (1 - expected), 1.0, AGREED)


def _share(hits: NDArray[np.bool_], clusters: int) -> Bound:
    return Bound(*proportion.share(float(hits.mean()), clusters))


def _at(code: int, criterion: Criterion, verdicts: NDArray[np.int64]) -> AtLevel:
    """Say what was given to the replies that were written for one level; words count as 1, 2, … in the mean."""
    values = criterion.values
    numbers = [v if isinstance(v, int | float) else place for place, v in enumerate(values, 1)]
    levels = [numbers[c] for c in verdicts if 0 <= c < len(values)]
    return AtLevel(
        values[code] if code < len(values) else None,
        len(verdicts),
        int((verdicts < 0).sum()),
        float((verdicts == code).mean()),
        float(np.mean(levels)) if levels else None,
    )


# Which judges cannot be used at all: those that failed their entry test, and those that always say the same.


NO_JUDGES = {RaterKind.GOLD.value, RaterKind.PERSON.value, RaterKind.RULE.value}


class Unfit(msgspec.Struct, frozen=True):
    """A judge that cannot be used on one criterion, or on a composite that hangs on `part`, and why in one clause."""

    benchmark: str
    judge: str
    criterion: str
    reason: str
    part: str = ""


class Test(NamedTuple):
    """What a judge made of `n` replies that stand at `levels` different known levels.

    Of `missing` there is no usable verdict; the commonest level was given `times`; `kappa` is the agreement beyond chance.
    `pairs` are the matched ones among them.
    """

    n: int
    levels: int
    missing: int
    commonest: str
    times: int
    kappa: Bound
    pairs: _Pairs = _Pairs(0, 0, 0, 0.0)


def entry_result(test: Test) -> tuple[EntryResult, str]:
    """Say whether a judge passed on one criterion, and if not, why, in one clause."""
    n, levels, kappa = test.n, test.levels, test.kappa
    limit = limits()
    if n < limit.anchors["replies"] or levels < 2 or kappa.value is None:
        return EntryResult.UNDECIDED, f"{count(n)} replies of {count(levels)} known levels decide nothing"
    agrees = _beyond(kappa.value, kappa.low, kappa.high, limit.anchors)
    if agrees is EntryResult.FAILED:
        return agrees, _why(test)
    if test.pairs.halves:
        unfinished = plural(test.pairs.halves, "pair")
        return EntryResult.UNDECIDED, f"its entry test is not finished: of {unfinished} one reply is not rated"
    if test.pairs.messages >= limit.pairs["pairs"]:
        ordered = proportion.share(test.pairs.share, test.pairs.messages)
        assert ordered.value is not None
        orders = _beyond(ordered.value, ordered.low, ordered.high, limit.pairs)
        if orders is not EntryResult.PASSED:
            pairs = f"{count(test.pairs.n)} pairs of equally long replies to one message"
            return orders, f"of {pairs}, it rated the better one higher in {count(test.pairs.ordered)}"
    return agrees, "" if agrees is EntryResult.PASSED else f"{_agreement(test)}, too few to tell it from guessing"


def _beyond(value: float, low: float | None, high: float | None, limit: Mapping[str, float]) -> EntryResult:
    """Hold a figure with its interval against what chance gives, and against what is enough."""
    over_chance = low is not None and low > limit["chance"]
    if (value < limit["enough"] and not over_chance) or (high is not None and high < limit["enough"]):
        return EntryResult.FAILED
    return EntryResult.PASSED if over_chance else EntryResult.UNDECIDED


def _why(test: Test) -> str:
    """Say in one clause what a judge did that failed."""
    if test.missing > test.n / 2:
        return f"it gave no usable verdict on {count(test.missing)} of {count(test.n)} replies of known level"
    if test.times >= limits().constant["same"] * (test.n - test.missing):
        amount = "all" if test.times == test.n else f"{count(test.times)} of"
        return f"it gave {amount} {count(test.n)} test replies the level {test.commonest}, though they stand at {count(test.levels)} different levels"
    if test.kappa.low is not None and test.kappa.low > limits().anchors["chance"]:
        return (
            f"{_agreement(test)}, surely below the {decimal(limits().anchors['enough'])} that such clear cases ask for"
        )
    return f"{_agreement(test)}, no better than guessing"


def _agreement(test: Test) -> str:
    kappa = bounded(test.kappa.value, test.kappa.low, test.kappa.high)
    return f"on {count(test.n)} replies of known level its agreement beyond chance is {kappa}"


def constant(
    rows: pl.DataFrame, benchmark: Benchmark, passed: AbstractSet[tuple[str, str]] = frozenset()
) -> Iterator[Unfit]:
    """Find judges that give the same level again and again though the replies differ, or can hardly all be so.

    Args:
        rows: ratings of the benchmark, as `frame.ratings` returns them.
        benchmark: an open one.
        passed: judges, each with a criterion, that told replies of known levels apart: these may really be all alike.
    """
    criteria = {} if benchmark.closed else {criterion.name: criterion for criterion in benchmark.rubric.criteria}
    valued = rows.lazy().filter(pl.col("status") == "ok", pl.col("criterion").is_in(list(criteria)))
    suspects = set(_always_alike(valued).collect(engine="streaming").iter_rows())
    for name, judge in sorted(suspects, key=lambda suspect: ([*criteria].index(suspect[0]), suspect[1])):
        on_criterion = valued.filter(pl.col("criterion") == name)
        verdicts = on_criterion.filter(pl.col("rater") == judge)
        read = on_criterion.filter(pl.col("rater_kind") == RaterKind.PERSON.value).join(
            verdicts, on="subject", how="semi"
        )
        reason = _constant(verdicts.collect(), read.collect(), criteria[name], able=(judge, name) in passed)
        if reason:
            yield Unfit(benchmark.name, judge, name, reason)


def _always_alike(valued: pl.LazyFrame) -> pl.LazyFrame:
    """Return the judges of enough replies whose verdicts nearly all stand at one level: criterion, rater."""
    limit = limits().constant
    judge, judged = ("criterion", "rater"), valued.filter(~pl.col("rater_kind").is_in(list(NO_JUDGES)))
    same = pl.col("len").max() / pl.col("len").sum() >= limit["same"]
    alike = judged.group_by(*judge, "value").len().group_by(judge).agg(same=same).filter("same").drop("same")
    enough = (pl.col("subject").n_unique() >= limit["verdicts"]) & (
        pl.col("cluster").n_unique() >= limit["verdicts"] / 2
    )
    return judged.join(alike, on=judge, how="semi").group_by(judge).agg(enough=enough).filter("enough").drop("enough")


def _constant(verdicts: pl.DataFrame, read: pl.DataFrame, criterion: Criterion, *, able: bool) -> str:
    """Say why a judge's verdicts, always alike, count as constant beside what people said of these replies; empty where they do not."""
    limit = limits().constant
    level, times, _ = _commonest(verdicts)
    statement = f"it gave {level} in {count(times)} of {count(verdicts.height)} verdicts"
    if read["subject"].n_unique() >= limit["verdicts"]:
        *_, people_share = _commonest(read)
        comparison = f"of what people said of the same replies at most {percent(people_share)} stands at one level"
        return f"{statement}, and {comparison}" if people_share <= limit["known"] else ""
    ends = {str(criterion.values[0]), str(criterion.values[-1])}
    if able or criterion.scale is not Scale.ORDINAL or level in ends:
        return ""
    replies = verdicts["subject"].n_unique()
    return f"{statement} on {count(replies)} different replies, neither the worst level nor the best"


def _commonest(rows: pl.DataFrame) -> tuple[str, int, float]:
    """Return the level that was given most often, how often, and its share."""
    level, times = rows.group_by("value").len().sort("len", "value", descending=[True, False]).row(0)
    return str(level), int(times), times / rows.height


def untested(manifest: Mapping[str, Any], tests: Sequence[Qualification]) -> dict[str, list[str]]:
    """Return by benchmark the judges that took no entry test, since a command left it out (`--no-qualify`)."""
    took = {(test.benchmark, test.judge) for test in tests}
    noted: Mapping[str, list[str]] = manifest.get("no_entry_test", {})
    names = {
        benchmark: [judge for judge in judges if (benchmark, judge) not in took] for benchmark, judges in noted.items()
    }
    return {benchmark: judges for benchmark, judges in names.items() if judges}


UNTESTED = "took no entry test (--no-qualify): whether it can read this rubric was not looked at"


def told(unfit: Sequence[Unfit]) -> list[str]:
    """Say which judges cannot be used, a sentence for each judge of each benchmark."""
    groups: dict[tuple[str, str], list[Unfit]] = {}
    for entry in unfit:
        if not entry.part:
            groups.setdefault((entry.benchmark, entry.judge), []).append(entry)
    sentences = []
    for (benchmark, judge), entries in groups.items():
        names = [entry.criterion.replace("_", " ") for entry in entries]
        criteria = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        first = f" on {names[0]}" if len({entry.reason for entry in entries}) > 1 else ""
        sentences.append(
            f"The judge {judge} cannot be used on {criteria} ({benchmark}):{first} {entries[0].reason}. "
            "Its verdicts on those replies are not shown."
        )
    return sentences
