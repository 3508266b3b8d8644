"""Review sets: the replies that were chosen for people to rate, each beside what a judge said of all its rivals.

A set that was released says of each reply, in the reply's `provenance.review_sets`, where it was drawn from and how a
judge scored it. Those scores stand for a judge, or a panel of them, of whose ratings of that reply the run has none.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks.hub_layout.tables import EVALUATION
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.reports.export.evaluations import merged_row
from mindgauge.reports.export.placed import canonical, file_only

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mindgauge.reports.export.evaluations import Book, Row
    from mindgauge.reports.export.placed import Pair, Placed

_TOLD = ("answer_changed", "criterion", "mean", "panel", "review_set", "runs")
"""What a released set says of a reply and has no column, or one that this run's own ratings fill."""
_Scores = dict[tuple[str, str], list[int | None]]
_Means = dict[tuple[str, str], float]


class JudgeSummary(NamedTuple):
    """What is known of a judge: how often it was asked, its name as first given, and its scores by run.

    `scores` are by response and criterion, of the replies to those items of which the review sets have one.
    """

    runs: int
    raw: Any
    scores: _Scores


def scores(book: Book, pairs: Iterable[Pair], runs: int) -> _Scores:
    """Return the scores of every response on every criterion, run by run."""
    by_key: _Scores = {}
    for placed, rating in pairs:
        by_key.setdefault((placed.response_id, rating.criterion), [None] * runs)[rating.run] = book.score(rating)
    return by_key


def selections(placed: Iterable[Placed], drawn: Iterable[tuple[str, str]]) -> dict[str, list[Placed]]:
    """Return the replies of each selection, in the order of their items.

    Args:
        placed: the replies.
        drawn: for which selection a reply was rated: the reply's id, the selection.
    """
    by_id = {p.reply.id: p for p in placed}
    members: dict[str, dict[str, Placed]] = {}
    for p in by_id.values():
        for name in (*([p.selection] if p.selection else []), *_sets(p)):
            members.setdefault(name, {})[p.reply.id] = p
    for reply, name in drawn:
        if reply in by_id:
            members.setdefault(name, {})[reply] = by_id[reply]
    return {
        name: sorted(replies.values(), key=lambda p: (p.position, p.response_id))
        for name, replies in sorted(members.items())
    }


def raters(name: str, members: Sequence[Placed], judges: Iterable[str]) -> list[str]:
    """Return who scored a set: the run's judges and those whose scores were released with it, or nobody ("")."""
    return sorted({*judges, *(rater for p in members for rater in _sets(p).get(name, {}))}) or [""]


def title(name: str, members: Iterable[Placed], rater: str) -> str:
    """Return what a rater's review set is called: as it was released, if it was."""
    named = (_sets(p).get(name, {}).get(rater, {}).get("review_set") for p in members)
    return next(filter(None, named), f"{name}__{rater}" if rater else name)


def stated(placed: Placed, name: str, rater: str) -> Rating:
    """Return what a released set says of a reply, as the provenance of a rating without a value."""
    facts = _sets(placed).get(name, {}).get(rater, {})
    return Rating(placed.reply.id, "", rater, RaterKind.MODEL, 0, Status.NOT_APPLICABLE, provenance=facts)


def review_rows(
    book: Book,
    name: str,
    members: Sequence[Placed],
    rivals: Mapping[str, Sequence[Placed]],
    rater: str,
    judges: Mapping[str, JudgeSummary],
) -> Iterator[Row]:
    """Write the rows of one review set as one judge scored them; replies it did not judge have no score.

    `n_tied` counts the replies to the same item in this run, the chosen one included, to which the judge gave the same
    mean; `tie_rank` is the chosen one's place among them by model and repeat, counted from 1. Where a set tells no more
    than a mean, that is the score, its runs are null and their number is unknown.

    Args:
        book: of the run.
        name: the set's.
        members: its replies.
        rivals: the replies to each item.
        rater: the judge or panel.
        judges: the run's.
    """
    empty: _Scores = {}
    own = judges.get(rater) or JudgeSummary(max((judge.runs for judge in judges.values()), default=1), None, empty)
    panel = next((runs for p in members if (runs := stated(p, name, rater).provenance.get("panel"))), [rater])
    means = _panel_means([judges[judge].scores if judge in judges else empty for judge in panel])
    for placed in members:
        facts = stated(placed, name, rater).provenance
        for criterion in book.benchmark.rubric.criteria:
            key = placed.response_id, criterion.name
            runs, mean = own.scores.get(key), means.get(key)
            extra: dict[str, Any] = {}
            evaluation = (
                {EVALUATION: facts[EVALUATION]} if EVALUATION in facts and facts["criterion"] == criterion.name else {}
            )
            if facts and facts["criterion"] == criterion.name:
                extra = {"source_file": file_only(facts["source_file"]), "source_row": facts["source_row"]}
                if key not in own.scores and placed.reply.status is Status.OK:
                    runs, mean = facts.get("runs"), facts["mean"] if mean is None else mean
                    if runs is None and mean is not None:
                        extra |= {"score": mean, "n_valid": None}
            blank = msgspec.structs.replace(
                stated(placed, name, rater),
                criterion=criterion.name,
                provenance={"model_raw": facts.get("model_raw") or own.raw, **evaluation},
            )
            runs = [*(runs or ()), *[None] * own.runs][: max(own.runs, len(runs or ()))]
            others = {p.response_id: p for p in (*rivals.get(placed.example_id, ()), placed)}
            tied = _tied(others, {**means, key: mean}, key)
            yield {
                **merged_row(book, placed, blank, runs, f"review:{name}"),
                **extra,
                "review_set": title(name, members, rater),
                **_drawn(placed, name, facts),
                "n_tied": len(tied) or None,
                "tie_rank": tied.index(placed.response_id) + 1 if tied else None,
                "details": canonical({name: facts[name] for name in _TOLD if name in facts}),
            }


def _sets(placed: Placed) -> dict[str, dict[str, dict[str, Any]]]:
    """Return what the released sets say of a reply, by set and rater."""
    sets: dict[str, dict[str, dict[str, Any]]] = placed.reply.provenance.get("review_sets", {})
    return sets


def _drawn(placed: Placed, name: str, facts: dict[str, Any]) -> Row:
    """Say where a reply was drawn from and by which rule; another rater's set of the same replies knows it, too."""
    facts = facts or next(iter(_sets(placed).get(name, {}).values()), {})
    file = facts.get("sampled_from") or (None if placed.selection else placed.reply.provenance.get("source_file"))
    return {"sampled_from": file_only(file), "sampled_criteria": facts.get("sampled_criteria") or name}


def _panel_means(panel: Sequence[_Scores]) -> _Means:
    """Return the mean over judges of each one's mean, for what all of them scored."""
    by_judge: list[_Means] = []
    for scored in panel:
        valid_scores = {key: [s for s in scores if s is not None] for key, scores in scored.items()}
        by_judge.append({key: fmean(valid) for key, valid in valid_scores.items() if valid})
    return {
        key: fmean(means[key] for means in by_judge) for key in by_judge[0] if all(key in means for means in by_judge)
    }


def _tied(replies: dict[str, Placed], means: Mapping[tuple[str, str], float | None], key: tuple[str, str]) -> list[str]:
    """Return the replies with the same mean as this one, itself among them; none where it has no mean."""
    mean = means[key]
    ordered = sorted(replies, key=lambda i: (replies[i].reply.model, replies[i].reply.run))
    candidates = {i: means.get((i, key[1])) for i in ordered}
    return [i for i, other in candidates.items() if mean is not None and other is not None and abs(other - mean) < 1e-9]
