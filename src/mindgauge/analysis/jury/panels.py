"""From checked ratings to panels: members, juries, the best judge beside them, and what each further member adds."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.analysis import drawn, independence
from mindgauge.analysis.jury.jury import Bench, JuryCard, JuryErrors, JuryMethod, Panels, Without, verdicts, weights
from mindgauge.analysis.reliability import coefficients
from mindgauge.analysis.reliability import pairs as reference
from mindgauge.analysis.reliability.card import Bound
from mindgauge.analysis.reliability.cards import cards_beside
from mindgauge.analysis.reliability.pairs import pair
from mindgauge.analysis.reliability.people import coefficients as coefficients_among
from mindgauge.analysis.reliability.ratings import Compared, Ratings, rated_criterion
from mindgauge.records.errors import DataError, UsageError
from mindgauge.stats import bootstrap, juries, rank

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.card import ReliabilityCard
    from mindgauge.analysis.reliability.cards import CardOptions
    from mindgauge.analysis.reliability.scale import ValueScale

    Floats = NDArray[np.float64]


CHOSEN = "best judge, chosen on other conversations"
_FOLDS = 10
_ENOUGH = 10
"""Subjects that two raters share before it is odd that they have no value in common."""
_JUDGES = {"model", None}


class Wanted(NamedTuple):
    """Which juries of whom: all judges if none is named; a quorum of all members if none is given."""

    methods: Sequence[JuryMethod]
    judges: Sequence[str]
    people: Sequence[str]
    quorum: int | None


def panels(ratings: Ratings, wanted: Wanted, options: CardOptions) -> Panels:
    """Put juries together and compare them with their members, criterion by criterion.

    Raises:
        UsageError: a name is unknown, there are fewer than two judges, or the quorum is more than they are.
        DataError: nothing is rated by two judges.
    """
    notes = list(ratings.notes)
    people, judges = _who(ratings.frame, wanted, notes)
    if wanted.quorum is not None and not 1 <= wanted.quorum <= len(judges):
        raise UsageError(f"--quorum {wanted.quorum}: the panel has {len(judges)} members")
    criterion_panels = []
    for name in ratings.frame["criterion"].unique().sort().to_list():
        rows = _numbered(ratings.frame.filter(pl.col("criterion") == name), ratings.scales[name])
        raters = set(rows["rater"].unique())
        members = [judge for judge in judges if judge in raters]
        if len(members) < 2:
            notes.append(f"{name}: rated by {members[0] if members else 'no judge'} only, so there is no panel")
            continue
        bench = Bench.of(rows, members, ratings.scales[name])
        if rows.filter(pl.col("rater").is_in(members)).height > bench.rows.height:
            notes.append(f"{name}: the jury has {bench.sittings} runs, as many as the judge with the fewest; further repeats are not used")  # fmt: skip
        criterion_panels.append(
            _JuryCriterion(
                name, rows, bench, [p for p in people if p in raters], wanted, options, ratings.critical[name]
            ).panel(notes)
        )
    if not criterion_panels:
        raise DataError(f"{ratings.source}: no criterion is rated by two judges")
    return Panels(ratings.source, people, criterion_panels, notes)


def _who(frame: pl.DataFrame, wanted: Wanted, notes: list[str]) -> tuple[list[str], list[str]]:
    """Return people, none if there are none, and the judges."""
    kinds = {
        str(r): k
        for r, k in frame.group_by("rater", maintain_order=True)
        .agg(pl.col("rater_kind").first())
        .sort("rater")
        .iter_rows()
    }
    stray = next((name for name in (*wanted.judges, *wanted.people) if name not in kinds), None)
    if stray is not None:
        raise UsageError(f"no rater {stray!r}; raters are {', '.join(kinds)}")
    if wanted.people or {"person", "gold"} & set(kinds.values()) or None in kinds.values():
        people, others = reference.split(frame, wanted.people, notes)
        if not wanted.people:
            who = independence.settle(frame, people, judges=[name for name in others if kinds[name] in _JUDGES])
            copiers = {entry.rater for entry in who.dependent if entry.how == "copy"}
            people = who.independent or [rater for rater in people if rater not in copiers]
            notes += who.sentences(people)
    else:
        people, others = [], [name for name, kind in kinds.items() if kind != "rule"]
        notes.append("no person rated, so agreement with people and the independence of judges' errors are unknown")
    judges = list(dict.fromkeys(wanted.judges)) or [name for name in others if kinds[name] in _JUDGES]
    if len(judges) < 2:
        raise UsageError(f"a jury needs at least two judges; found {', '.join(judges) or 'none'}")
    notes += independence.repeated(judges)
    return people, judges


def _numbered(rows: pl.DataFrame, scale: ValueScale) -> pl.DataFrame:
    """Give words their places on the scale, and every rating a status, a conversation and a system."""
    valued = pl.col("number").is_not_null()
    implied = pl.when(valued).then(pl.lit("ok")).otherwise(pl.lit("unparsable"))
    status = pl.when(valued | (pl.col("status") != "ok")).then(pl.coalesce("status", implied)).otherwise(implied)
    return scale.numbered(rows).with_columns(
        status=status, cluster=pl.coalesce("cluster", "subject"), system=pl.col("system").fill_null("")
    )


class _JuryCriterion(NamedTuple):
    """Everything about one criterion."""

    name: str
    rows: pl.DataFrame
    bench: Bench
    people: list[str]
    wanted: Wanted
    options: CardOptions
    critical: tuple[str, ...]

    def panel(self, notes: list[str]) -> JuryCard:
        rated, judged = self._valued(self.people), self._valued(self.bench.members)
        notes += self._material(rated, judged)
        everyone = means(judged, self.bench.members)
        complete = everyone.drop_nulls(self.bench.members)
        juries = self._juries(judged, rated, notes)
        card_list: list[ReliabilityCard] = []
        best, chosen, among = "", dict[str, int](), list[pl.DataFrame]()
        if rated.height:
            members = self.rows.filter(pl.col("rater").is_in(self.bench.members))
            chosen, among = self._chosen(judged, rated)
            card_list = self._cards(
                [
                    (members, self.bench.scale),
                    *((rows, method.scale(self.bench.scale)) for method, rows in juries.items()),
                    *([(pl.concat(among), self.bench.scale)] if among else []),
                ]
            )
            own = [card for card in card_list if card.judge in self.bench.members]
            best = _best(own, ordered=self.bench.scale.ordered)
        first, left_out = "", list[Without]()
        independent, errors = unknown("classes have no correlation")
        if self.bench.scale.ordered:
            independent, errors = together(complete, self.bench.members, rated, self.options.seed)
            first, left_out = without(complete, self.bench.members, self.options.resamples, self.options.seed)
        outside = self.bench.rows.group_by("subject", maintain_order=True).agg(
            (pl.col("status") == "not_applicable").all()
        )
        applicable = outside.filter(~pl.col("status")).height
        return JuryCard(
            criterion=self.name, members=self.bench.members, sittings=self.bench.sittings, complete=complete.height,
            incomplete=applicable - complete.height, cards=card_list, best=best, chosen=chosen, independent=independent, errors=errors,
            first=first, without=left_out, means=self._means(judged, juries),
        )  # fmt: skip

    def _material(self, rated: pl.DataFrame, judged: pl.DataFrame) -> list[str]:
        """Say which of people's ratings have no judge beside them, how they came about, and what hangs on that."""
        remarks, n = [], rated["subject"].n_unique()
        alone = n - rated.join(judged, on="subject", how="semi")["subject"].n_unique()
        if alone:
            remarks.append(f"{self.name}: people rated {n} subjects; no judge of the panel has a verdict on {alone} of these, so figures beside people are of {n - alone}")  # fmt: skip
        chosen = rated["selection"].drop_nulls().unique().sort().to_list()
        if drawn.is_drawn(rated):
            remarks.append(f"{self.name}: these subjects were drawn for people with known probabilities; cards are weighted by them, and how independently judges err is of those that were drawn")  # fmt: skip
        elif chosen:
            remarks.append(f"{self.name}: these subjects were chosen for people ({', '.join(chosen)}), so figures beside people say little about subjects that were not")  # fmt: skip
        remarks += [f"{self.name}: {first} and {second} have no value in common ({ranges}); are they on the same scale?" for first, second, ranges in _strangers(pl.concat([rated, judged]))] if self.bench.scale.ordered else []  # fmt: skip
        rater_counts = rated.join(judged, on="subject", how="semi").group_by("subject").agg(pl.col("rater").n_unique())
        if self.bench.scale.ordered and rater_counts.height and (rater_counts["rater"] == 1).all():
            remarks.append(f"{self.name}: no subject was rated by two people, so people's own error, which all judges seem to share, is not known: judges err more independently, and less, than it says")  # fmt: skip
        return remarks

    def _valued(self, raters: Sequence[str]) -> pl.DataFrame:
        return self.rows.filter(pl.col("rater").is_in(list(raters)) & pl.col("number").is_not_null())

    def _juries(self, judged: pl.DataFrame, rated: pl.DataFrame, notes: list[str]) -> dict[JuryMethod, pl.DataFrame]:
        juries = {}
        for method in self.wanted.methods:
            if not self.bench.scale.ordered and method is not JuryMethod.MAJORITY:
                notes.append(f"{self.name}: classes have no {method}")
                continue
            if method is JuryMethod.WEIGHTED and not rated.height:
                notes.append(f"{self.name}: nobody rated it, so there are no weights")
                continue
            cluster_weights = (
                weights(judged, rated, self.bench.members, self.bench.rows["cluster"])
                if method is JuryMethod.WEIGHTED
                else None
            )
            juries[method] = verdicts(self.bench, method, self.wanted.quorum, cluster_weights)
        if JuryMethod.MEDIAN in juries and len(self.bench.members) % 2 == 0:
            notes.append(
                f"{self.name}: of {len(self.bench.members)} verdicts the median is the worse of the two in the middle"
            )
        return juries

    def _cards(self, judged: Sequence[tuple[pl.DataFrame, ValueScale]]) -> list[ReliabilityCard]:
        """Return the cards of members and juries beside people, made as `mindgauge reliability` makes them.

        Members see each other, and no jury sees anybody but people. People among themselves are the same beside all.
        """
        people = self.rows.filter(pl.col("rater").is_in(self.people))
        independents = independence.settle(people, self.people)
        compared = Compared(self.people, self.people, independents.independent)
        ceilings: dict[ValueScale, dict[str, Bound]] = {}
        card_list: list[ReliabilityCard] = []
        for judge_rows, scale in judged:
            frame = pl.concat([people, judge_rows.select(people.columns)])
            ratings = Ratings("", frame, {self.name: scale}, {self.name: self.critical}, [])
            criterion = rated_criterion(ratings, self.name, self.people)
            if scale not in ceilings:
                ceilings[scale] = coefficients_among(criterion.valued(*self.people), scale, independents.dependent)
            _, judges = reference.split(frame, self.people, [])
            card_list += cards_beside(criterion, compared, judges, ceilings[scale], self.options)
        return card_list

    def _chosen(self, judged: pl.DataFrame, rated: pl.DataFrame) -> tuple[dict[str, int], list[pl.DataFrame]]:
        """Let every fold of conversations be rated by the judge who follows people best in the other folds."""
        clusters = rated["cluster"].unique().sort().to_list()
        count = min(_FOLDS, len(clusters))
        if count < 2:
            return {}, []
        order = np.random.default_rng(self.options.seed).permutation(len(clusters))
        folds = [[clusters[i] for i in order[fold::count]] for fold in range(count)]
        chosen: dict[str, int] = {}
        chosen_rows = []
        for fold in folds:
            inside = pl.col("cluster").is_in(fold)
            follow = {m: _agreement(rated.filter(~inside), judged.filter(~inside & (pl.col("rater") == m)), self.bench.scale) for m in self.bench.members}  # fmt: skip
            best = max(follow, key=follow.__getitem__)
            if not np.isfinite(follow[best]):
                continue
            chosen[best] = chosen.get(best, 0) + 1
            chosen_rows.append(self.rows.filter(inside & (pl.col("rater") == best)).with_columns(rater=pl.lit(CHOSEN)))
        return chosen, chosen_rows

    def _means(self, judged: pl.DataFrame, juries: dict[JuryMethod, pl.DataFrame]) -> dict[str, dict[str, float]]:
        if not self.bench.scale.ordered:
            return {name: {} for name in (*self.bench.members, *(method.rater for method in juries))}
        rows = pl.concat([judged, *(rows.select(judged.columns) for rows in juries.values())])
        means: dict[str, dict[str, float]] = {}
        for rater, system, mean in (
            rows.group_by("rater", "system", maintain_order=True).agg(pl.col("number").mean()).iter_rows()
        ):
            if mean is not None:
                means.setdefault(rater, {})[system] = mean
        return means


def _strangers(rows: pl.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Yield raters who rated the same subjects, ten or more, and have no value in common, and the values' ranges."""
    rows_by_rater = {
        str(rater): rater_rows
        for (rater,), rater_rows in sorted(rows.group_by("rater"), key=lambda group: str(group[0]))
    }
    values = {rater: set(rater_rows["number"].to_list()) for rater, rater_rows in rows_by_rater.items()}
    for first, second in combinations(rows_by_rater, 2):
        shared = rows_by_rater[first].join(rows_by_rater[second], on="subject", how="semi")["subject"].n_unique()
        if shared >= _ENOUGH and not values[first] & values[second]:
            ranges = (f"{min(values[name]):g}:{max(values[name]):g}" for name in (first, second))
            yield first, second, " and ".join(ranges)


def _agreement(rated: pl.DataFrame, judged: pl.DataFrame, scale: ValueScale) -> float:
    """Return the coefficient that a card's verdict rests on; the lowest there is where there is none."""
    index = [pl.col(column).rank("dense").cast(pl.Int64) - 1 for column in ("cluster", "system")]
    pairs = pair(rated.with_columns(index), judged, scale)
    if not pairs.subjects:
        return -np.inf
    value = float(coefficients.of_subjects(pairs, pairs.whole().sum(axis=1))["icc_a1" if scale.ordered else "alpha"][0])
    return value if np.isfinite(value) else -np.inf


def _best(panel_cards: Sequence[ReliabilityCard], *, ordered: bool) -> str:
    name = "icc_a1" if ordered else "alpha"
    values = {card.judge: card.estimates[name].value for card in panel_cards if name in card.estimates}
    valued = {judge: value for judge, value in values.items() if value is not None}
    return max(valued, key=valued.__getitem__, default="")


# What a further judge adds: how independently the members err, how near their mean comes, and whether the ranking needs each.


def means(judged: pl.DataFrame, members: Sequence[str]) -> pl.DataFrame:
    """Return each member's mean of each subject, null where it has none: subject, cluster, system, and one column each."""
    single = judged.group_by("subject", "cluster", "system", "rater", maintain_order=True).agg(pl.col("number").mean())
    wide = single.pivot("rater", index=["subject", "cluster", "system"], values="number")
    absent = [pl.lit(None, pl.Float64).alias(name) for name in members if name not in wide.columns]
    return wide.with_columns(absent).select("subject", "cluster", "system", *members).sort("subject")


def of_people(rated: pl.DataFrame) -> pl.DataFrame:
    """Return people's mean of each subject, how many rated it, and how far they are from it: people, raters, squares.

    `squares` is the sum of their squared deviations from the mean, less what a person is milder or stricter throughout.

    Args:
        rated: by people: subject, rater, number.
    """
    single = rated.group_by("subject", "rater", maintain_order=True).agg(pl.col("number").mean())
    deviations = single.with_columns(gap=pl.col("number") - pl.col("number").mean().over("subject"))
    deviations = deviations.with_columns(rest=pl.col("gap") - pl.col("gap").mean().over("rater"))
    shared = pl.len() > 1
    return deviations.group_by("subject", maintain_order=True).agg(
        people=pl.col("number").mean(),
        raters=pl.len().cast(pl.Float64),
        squares=pl.when(shared).then((pl.col("rest") ** 2).sum()).otherwise(0.0),
    )


def together(
    complete: pl.DataFrame, members: Sequence[str], rated: pl.DataFrame, seed: int
) -> tuple[Bound, JuryErrors]:
    """Return like how many independent judges the members err, and how far they and their mean are from people.

    Args:
        complete: as `means`, without nulls.
        members: at least two.
        rated: by people: subject, rater, number; empty where there are none.
        seed: of the folds.
    """
    rows = complete.join(of_people(rated), on="subject")
    if rows.is_empty():
        return unknown("no subject has a verdict of every member and of people")
    people, raters, squares = (rows[name].to_numpy() for name in ("people", "raters", "squares"))
    cluster, persons = rows["cluster"].rank("dense").to_numpy().astype(np.intp), rated["rater"].n_unique()
    verdicts = rows.select(members).to_numpy()
    result = juries.jury(juries.JuryRatings(verdicts, people, raters, squares, persons, cluster), seed=seed)
    mean_squares = result.errors
    errors = JuryErrors(
        mean_squares.constant,
        mean_squares.average,
        mean_squares.best,
        mean_squares.jury,
        Bound(*mean_squares.skill),
        Bound(*mean_squares.gain),
        result.floored,
    )
    return Bound(*result.independent), errors


def unknown(reason: str) -> tuple[Bound, JuryErrors]:
    """Return what is said of members where nothing can be."""
    undefined = Bound(None, note=reason)
    return undefined, JuryErrors(None, None, None, None, undefined, undefined, floored=False)


def without(complete: pl.DataFrame, members: Sequence[str], resamples: int, seed: int) -> tuple[str, list[Without]]:
    """Rank systems by the mean jury with and without each judge.

    Args:
        complete: as `means`, without nulls.
        members: at least two.
        resamples: of conversations.
        seed: of the resampling.

    Returns:
        The system that all put first, and one entry for each judge; nothing where there is only one system.
    """
    systems = complete["system"].unique().sort().to_list()
    if len(systems) < 2:
        return "", []
    column = complete["system"].rank("dense").to_numpy().astype(np.intp) - 1
    cluster = complete["cluster"].rank("dense").to_numpy().astype(np.intp) - 1
    k, s = len(members), len(systems)
    sums = np.zeros((int(cluster.max()) + 1, s, k + 1))
    np.add.at(sums, (cluster, column), np.column_stack([complete.select(members).to_numpy(), np.ones(complete.height)]))
    flat = sums.reshape(len(sums), -1)
    drawn = np.concatenate([flat.sum(axis=0)[None], *bootstrap.resampled_sums(flat, resamples, seed)])
    blocks = drawn.reshape(-1, s, k + 1)
    counts = np.where(blocks[..., k] > 0, blocks[..., k], np.nan)
    all_members = blocks[..., :k].sum(axis=2) / counts / k
    entries = []
    for j, judge in enumerate(members):
        rest = (blocks[..., :k].sum(axis=2) - blocks[..., j]) / counts / (k - 1)
        tau, same = rank.kendall_of_columns(all_members, rest), _first(all_members) == _first(rest)
        bound = bootstrap.percentile_interval(float(tau[0]), tau[1:])
        entries.append(
            Without(
                judge, Bound(*bound), systems[_first(rest)[0]],
                float(same[1:].mean()) if len(same) > 1 else None,
            )
        )  # fmt: skip
    return systems[_first(all_members)[0]], entries


def _first(scores: Floats) -> NDArray[np.intp]:
    return np.asarray(np.argmax(np.where(np.isfinite(scores), scores.round(9), -np.inf), axis=1))
