"""Which replies people should look at first: vetoed, then unsure, then what judges disagree about, then the lowest.

Replies stand in the order in which people should read them (`review.queue`). It is cut into blocks, and of each block so
many are drawn by lot; every reply of the frame can be drawn, and how probable that was is known.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.analysis.escalation import orders
from mindgauge.analysis.escalation.orders import JURY, juries
from mindgauge.analysis.escalation.subjects import WordOrder, enough
from mindgauge.analysis.reliability.scale import of_criterion
from mindgauge.records import digest
from mindgauge.records.drawn import Drawn
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.rounding import count, percent, plural
from mindgauge.records.rubric.criterion import shares
from mindgauge.stats import escalation, sampling
from mindgauge.stats.escalation import Features
from mindgauge.stats.jackknife import effective

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.escalation.subjects import Subjects
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rubric import Criterion
    from mindgauge.store import Store

    Floats = NDArray[np.float64]

_DONE = """
SELECT DISTINCT subject, criterion FROM ratings WHERE benchmark = ? AND rater_kind = 'person' AND status = 'ok'"""
_ASKED = """
SELECT DISTINCT rater, criterion FROM ratings WHERE benchmark = ? AND rater_kind IN ('model', 'classifier')"""
_VERDICTS = """
SELECT subject, rater, criterion, status, CAST(value AS TEXT), coalesce(json_extract(provenance, '$.uncertain'), 0)
FROM ratings WHERE benchmark = ? AND rater_kind IN ('model', 'classifier') ORDER BY subject, rater, run"""
_REMEMBERED = 20_000
"""Judges often say the same of two replies; what follows from it is worked out once."""


class ReviewEntry(NamedTuple):
    """A reply, or a closed question's sample, and why it stands where it does.

    `vetoed` lists criteria, `unsure` those on which a verdict is missing or uncertain. `spread` is the largest distance
    between two judges, `jury` the worst mean of all judges, both as shares of the scale; of classes, `jury` is the share of
    verdicts that are no unsafe class, and 1 where none is known to be. `risk` is what was learned from people's labels, None without them. `judges` has each judge's mean by
    criterion, in the order of their names, None where there is none.
    """

    subject: str
    vetoed: list[str]
    unsure: list[str]
    spread: float
    jury: float
    risk: float | None
    reasons: list[str]
    judges: dict[str, list[float | str | None]]

    @property
    def order(self) -> tuple[bool, bool, float, float, str]:
        """Sort what needs people most to the front."""
        rest = (-self.spread, self.jury)
        if self.risk is not None:
            # Without a verdict a risk is infinite; where nothing is missing, that is because no criterion applies.
            rest = (-self.risk if self.unsure or np.isfinite(self.risk) else 0.0, -self.spread)
        return not self.vetoed, not self.unsure, *rest, self.subject


def queue(store: Store, benchmark: Benchmark, subjects: Subjects | None = None) -> tuple[list[ReviewEntry], list[str]]:
    """Return what judges rated and no person has, in the order in which people should read it, and notes.

    Vetoed replies come first, then those of which a verdict is missing or uncertain. All else, and ties, are ordered by
    the spread between judges and by the jury's lowest value; with people's labels, by the risk learned from them.

    Args:
        store: of the run.
        benchmark: whose replies.
        subjects: what is known of them and of people's labels, if the order shall be learned.

    Raises:
        DataError: no judge rated, or people have rated everything.
    """
    criteria = {c.name: c for c in benchmark.rubric.criteria}
    finished = {subject for subject, criterion in store.select(_DONE, (benchmark.name,)) if criterion in criteria}
    pending = sorted(pair for pair in store.select(_ASKED, (benchmark.name,)) if pair[1] in criteria)
    if not pending:
        raise DataError(f"{store.folder}: no judge has rated {benchmark.name}, so there is nothing to review")
    risks, notes = learned(subjects) if subjects is not None else ({}, [])
    by_criterion = {
        name: (criterion, [rater for rater, about in pending if about == name])
        for name, criterion in criteria.items()
        if any(about == name for _, about in pending)
    }
    verdicts_of = lru_cache(_REMEMBERED)(lambda name, by_judge: _said(by_criterion[name][0], by_judge))
    entries = []
    for subject, rows in groupby(store.select(_VERDICTS, (benchmark.name,)), key=lambda row: row[0]):
        verdicts = _verdicts(row[1:] for row in rows if row[2] in criteria)
        if verdicts and subject not in finished:
            verdict_lists = {
                name: verdicts_of(name, tuple(tuple(verdicts.get((rater, name), ())) for rater in raters))
                for name, (_, raters) in by_criterion.items()
            }
            entries.append(_entry(subject, verdict_lists, risks.get(subject)))
    if not entries:
        raise DataError(f"{store.folder}: people have rated every reply of {benchmark.name}; nothing is left to review")
    if finished:
        notes.append(f"{len(finished)} replies that people have rated are not listed")
    return sorted(entries, key=lambda entry: entry.order), notes


def learned(subjects: Subjects) -> tuple[dict[str, float], list[str]]:
    """Return the risk of every reply as learned from those that people labelled.

    The combination of everything is used for models of which people labelled replies; it leans on who wrote a reply, so
    for other models it is the jury's mean, or the order that is learned from judges' words where that reads less of models
    that are left out. A fit of its own turns it into the same probability.

    Raises:
        DataError: people call nothing unsafe, or everything.
    """
    labelled = subjects.labelled
    unsafe = subjects.unsafe == 1
    if not 0 < unsafe.sum() < labelled.sum():
        raise DataError(
            f"people call {int(unsafe.sum())} of {int(labelled.sum())} replies unsafe ({subjects.rule.text}): there is nothing to learn from"
        )
    weights = labelled[None, :] * (subjects.weight / subjects.weight[labelled].mean())
    table = orders.everything(subjects)
    risk = escalation.learn(table.features, unsafe, weights)[0]
    known_systems = np.isin(subjects.system, np.unique(subjects.system[labelled]))
    jury = juries(subjects.judges).get(JURY, next(iter(subjects.judges.values())))
    strangers, by_what = jury, "the jury's mean alone"
    if not known_systems.all() and enough(subjects):
        words = WordOrder(subjects, np.where(np.isfinite(jury), jury, np.inf))
        tried = escalation.effort(words.strangers()[labelled], unsafe[labelled])[0]
        if tried < escalation.effort(np.where(np.isfinite(jury), jury, np.inf)[labelled], unsafe[labelled])[0]:
            strangers, by_what = (
                np.where(labelled, words.crossfitted(0), words.learned(labelled)),
                "the jury's mean and the judges' words",
            )
    alone = Features(np.where(np.isfinite(strangers), strangers, np.nan)[:, None], np.array([True]), np.array([1]))
    risk = np.where(known_systems, risk, escalation.learn(alone, unsafe, weights)[0])
    note = f"ordered by the risk that {subjects.rule.text}, learned from {int(labelled.sum())} replies ({table.name})"
    if not known_systems.all():
        unrated = ", ".join(np.unique(subjects.system[~known_systems]).tolist())
        note += f"; from {by_what} for {unrated}, of which people rated nothing"
    return dict(zip(subjects.ids, risk.tolist(), strict=True)), [note]


class _Verdict(NamedTuple):
    status: str
    value: str | None
    uncertain: bool


_ByJudge = tuple[tuple[_Verdict, ...], ...]
"""What judges say of a reply on one criterion, repeat by repeat."""


def _verdicts(rows: Iterable[tuple[str, str, str, str | None, int]]) -> dict[tuple[str, str], list[_Verdict]]:
    """Return the verdicts on a reply by rater and criterion."""
    verdicts: dict[tuple[str, str], list[_Verdict]] = {}
    for rater, criterion, status, value, uncertain in rows:
        verdicts.setdefault((rater, criterion), []).append(_Verdict(status, value, bool(uncertain)))
    return verdicts


class _JudgeOpinion(NamedTuple):
    """What all judges say of a reply on one criterion; `values` are the judges' means, None where there is none.

    Replies of which the same is said share one.
    """

    values: list[float | str | None]
    spread: float
    jury: float
    reasons: list[str]
    vetoed: bool
    unsure: bool


def _entry(subject: str, by_criterion: dict[str, _JudgeOpinion], risk: float | None) -> ReviewEntry:
    return ReviewEntry(
        subject,
        [name for name, summary in by_criterion.items() if summary.vetoed],
        [name for name, summary in by_criterion.items() if summary.unsure],
        max(summary.spread for summary in by_criterion.values()),
        min(summary.jury for summary in by_criterion.values()),
        risk,
        [reason for summary in by_criterion.values() for reason in summary.reasons],
        {name: summary.values for name, summary in by_criterion.items()},
    )


def _said(criterion: Criterion, by_judge: _ByJudge) -> _JudgeOpinion:
    """Compare judges on one criterion; one that never was asked about this reply has a missing verdict, too."""
    scale, worst = of_criterion(criterion), str(criterion.worst_first[0])
    place = {str(value): scale.place(str(value)) for value in criterion.values}
    verdict_list = [verdict for verdicts in by_judge for verdict in verdicts]
    missing = sum(any(v.status not in {"ok", "not_applicable"} for v in group) or not group for group in by_judge)
    silent = sum(not any(v.status in {"ok", "not_applicable"} for v in group) for group in by_judge)
    uncertain = sum(v.uncertain for v in verdict_list)
    against = sum(v.value == worst for v in verdict_list) if criterion.veto else 0
    numbers = [[place[v.value] for v in group if v.status == "ok" and v.value in place] for group in by_judge]
    applies = {v.status != "not_applicable" for v in verdict_list if v.status in {"ok", "not_applicable"}}
    means = [sum(group) / len(group) if group else None for group in numbers]
    valued = [mean for mean in means if mean is not None]
    span = scale.high - scale.low
    if scale.ordered:
        spread = (max(valued) - min(valued)) / span if valued and span else 0.0
        jury = (sum(valued) / len(valued) - scale.worst) / (scale.best - scale.worst) if valued and span else 1.0
    else:
        spread = float(len({n for group in numbers for n in group}) > 1)
        safe = [shares(criterion)[value] for value in criterion.values if criterion.unsafe]
        passed = [safe[int(n)] for group in numbers for n in group] if safe else []
        jury = sum(passed) / len(passed) if passed else 1.0
    reasons = [f"vetoed in {against} of {len(verdict_list)} verdicts"] if against else []
    reasons += [f"{silent} of {len(by_judge)} judges without a verdict"] if silent else []
    reasons += (
        [f"{missing - silent} of {len(by_judge)} judges without one of their verdicts"] if missing > silent else []
    )
    reasons += [f"{uncertain} of {len(verdict_list)} verdicts uncertain"] if uncertain else []
    if len(applies) > 1:
        spread = 1.0
        reasons.append("judges differ on whether it applies")
    elif spread:
        reasons.append(f"judges differ by {percent(spread)} of the scale" if scale.ordered else "judges differ")
    values: list[float | str | None] = [
        None
        if not group
        else scale.word(group[0])
        if scale.words and len(set(group)) == 1
        else round(sum(group) / len(group), 2)
        for group in numbers
    ]
    if not scale.ordered:
        values = [", ".join(dict.fromkeys(str(scale.word(n)) for n in group)) or None for group in numbers]
    reasons = [f"{criterion.name}: {reason}" for reason in reasons]
    return _JudgeOpinion(values, spread, jury, reasons, against > 0, missing > 0 or uncertain > 0)


RANDOM = 50
"""Replies that are drawn from the rest: with none unsafe among them, at most 7 % of the rest are (exact 95 % bound)."""
REST = "rest"
NO_JUDGE = "no judge has rated these replies, so that none comes first and each is as probable as any other"
_JUDGED = "SELECT EXISTS (SELECT 1 FROM ratings WHERE benchmark = ? AND rater_kind IN ('model', 'classifier'))"
_BLOCK = re.compile(r"(?P<size>\d+|rest)=(?P<number>\d+)")
_HOW = "write --draw 80, of which --random 50 come from the rest by lot, or blocks of the list: --draw 100=60,400=40,rest=50"


class DrawPlan(NamedTuple):
    """How many are drawn of each block of the list; a size of None is what is left."""

    blocks: tuple[tuple[int | None, int], ...]

    @property
    def at_random(self) -> DrawPlan:
        """As many, each as probable as any other."""
        return DrawPlan(((None, sum(number for _, number in self.blocks)),))

    @classmethod
    def read(cls, text: str, random: int | None = None) -> DrawPlan:
        """Read `80`, of which `random` come from what is not at the front, or `100=60,400=40,rest=50`.

        Raises:
            UsageError: it is neither, or a part of the list can never be drawn.
        """
        if text.isdecimal():
            total, lot = int(text), RANDOM if random is None else random
            if total < 1 or lot < 1:
                raise UsageError(f"--draw {text} --random {lot}: both are at least 1; {_HOW}")
            surest = max(total - lot, 0)
            first = ((surest, surest),) if surest else ()
            return cls((*first, (None, min(lot, total))))
        parts = [_BLOCK.fullmatch(part.strip()) for part in text.split(",")]
        if random is not None:
            raise UsageError(
                f"--random goes with --draw NUMBER; blocks say themselves how many are drawn of the rest; {_HOW}"
            )
        blocks = tuple(
            (None if p["size"] == REST else int(p["size"]), int(p["number"])) for p in parts if p is not None
        )
        if None in parts or not blocks:
            raise UsageError(f"--draw {text!r}: {_HOW}")
        if blocks[-1][0] is not None or any(size is None for size, _ in blocks[:-1]):
            raise UsageError(f"--draw {text!r}: the last block is the rest, and only that: rest=50; {_HOW}")
        if any(number < 1 or size == 0 for size, number in blocks):
            raise UsageError(f"--draw {text!r}: of each block at least one is drawn, or nothing would be known of it")
        return cls(blocks)

    @property
    def text(self) -> str:
        """The plan as blocks."""
        return ",".join(f"{REST if size is None else size}={number}" for size, number in self.blocks)


def is_judged(store: Store, benchmark: str) -> bool:
    """Whether a judge rated any reply of a benchmark, so that some come before others."""
    return bool(store.select(_JUDGED, (benchmark,)).fetchone()[0])


def draw(
    ordered: Sequence[str], conversations: Mapping[str, str], plan: DrawPlan, seed: int
) -> tuple[dict[str, Drawn], list[str]]:
    """Return what is drawn from a frame, by its id, and notes; the same frame in the same order, plan and seed draw the same.

    Args:
        ordered: the frame, in the order in which people should read it.
        conversations: of each of them.
        plan: how many of which part.
        seed: of the lot.
    """
    bounds, start = [], 0
    for size, number in plan.blocks:
        end = len(ordered) if size is None else min(start + size, len(ordered))
        if end > start:
            bounds.append((start, end, number))
        start = end
    lots = sampling.draw([end - start for start, end, _ in bounds], [number for *_, number in bounds], seed)
    of_frame = effective(np.array(list(Counter(conversations[name] for name in ordered).values()), dtype=float))
    name = digest("draw", sorted(ordered), plan.text, seed)[:8]
    drawn = {
        ordered[start + int(place)]: Drawn(
            len(lot) / (end - start),
            _named(start, end, len(ordered)),
            end - start,
            len(ordered),
            round(of_frame, 3),
            name,
        )
        for (start, end, _), lot in zip(bounds, lots, strict=True)
        for place in lot
    }
    parts = [
        f"{count(len(lot))} of {count(end - start)} ({_named(start, end, len(ordered))})"
        for (start, end, _), lot in zip(bounds, lots, strict=True)
    ]
    note = (
        f"draw {name}: {plural(len(drawn), 'reply', 'replies')} of {count(len(ordered))} are drawn with known probabilities, {', '.join(parts)} "
        f"(seed {seed}); estimates for all {count(len(ordered))} follow from them"
    )
    return drawn, [note]


def _named(start: int, end: int, frame: int) -> str:
    if start == 0 and end == frame:
        return "all"
    if start == 0:
        return f"first {count(end)}"
    return REST if end == frame else f"places {count(start + 1)} to {count(end)}"
