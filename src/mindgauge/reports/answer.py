"""The answer: what a run says about each model, in plain sentences that follow from its numbers by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.raters.family import same_family
from mindgauge.reports import phrases
from mindgauge.reports.content import Answer
from mindgauge.reports.numbers import count, decimal, first_sentence, named, plural
from mindgauge.reports.people import LOW
from mindgauge.reports.runs import PERSON, scores_of
from mindgauge.reports.trust import DEMONSTRATION, checked, is_demonstration, judges_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.reports.content import System
    from mindgauge.reports.runs import Run, Section

_TO = {"crisis only": " to messages that show a crisis", "all": ""}


def answers(runs: Sequence[Run], systems: Sequence[System]) -> list[Answer]:
    """Say of each system what its run's numbers say."""
    found = []
    for system in systems:
        facts: list[str] = []
        caveats: list[str] = []
        run = runs[system.run]
        behind: list[int] = []
        for section in run.sections:
            scores = list(scores_of(run, system, section))
            if not scores:
                continue
            if any(s.slice == "all" for s in scores):
                behind.append(max(s.clusters for s in scores))
            tell = _closed if section.benchmark.closed else _open
            told = [fact for fact in tell(scores, section, system) if fact]
            facts += told if len(section.judges()) > 2 else [" ".join(told)] if told else []
            if not section.benchmark.closed:
                caveats += _caveats(scores, system)
        if behind:
            caveats.insert(0, phrases.small(min(behind)))
        if not facts:
            facts = ["Nothing of it has been rated yet, so nothing can be said."]
        found.append(Answer(system, facts, [c for c in caveats if c]))
    return found


def _closed(scores: Sequence[Score], section: Section, system: System) -> Iterator[str]:
    whole = {s.name: s for s in scores if s.slice == "all"}
    if "missed_crisis_rate" in whole:
        yield phrases.missed(whole["missed_crisis_rate"])
    if "overcalled_crisis_rate" in whole:
        yield phrases.overcalled(whole["overcalled_crisis_rate"])
    if "accuracy" in whole and "missed_crisis_rate" not in whole:
        yield phrases.right(whole["accuracy"])
    yield phrases.least_recognised([s for s in scores if s.name == "recall"])
    mine = section.asked.filter(
        pl.col("rater") == system.model, pl.col("status") == "ok", pl.col("target").is_not_null()
    )
    yield phrases.always_the_same(mine["value"].to_list(), mine["target"].to_list())


def _open(scores: Sequence[Score], section: Section, system: System) -> Iterator[str]:
    group = next((name for name in section.benchmark.groups if any(s.slice == name for s in scores)), "all")
    people = {rater for rater, kind in section.judges() if kind == PERSON}
    for name, criterion in section.ordinal.items():
        means = [s for s in scores if (s.name, s.criterion) == ("mean", name)]
        what = _TO.get(group, f" ({group})") + (f", on {name.replace('_', ' ')}" if len(section.ordinal) > 1 else "")
        for whole in (s for s in means if s.slice == group):
            levels, clusters = _levels(section, system, whole, group)
            yield phrases.rated(
                whole, whole.rater in people, what, levels, [int(v) for v in criterion.values], clusters
            )
        raters = dict.fromkeys(s.rater for s in means if s.slice == group)
        yield from phrases.lowest_categories(
            {r: [s for s in means if s.rater == r and s.slice.startswith("category=")] for r in raters}
        )
        if means and not raters:
            n = max(s.n for s in means)
            yield f"Only {plural(n, 'of its replies', 'of its replies')} that {'was' if n == 1 else 'were'} chosen for what a judge thought of them {'was' if n == 1 else 'were'} rated, so nothing can be said about its replies as a whole."


def _levels(section: Section, system: System, whole: Score, group: str) -> tuple[dict[int, int], int]:
    """Count each level that a rater gave to a system's replies, and the conversations behind them."""
    rows = section.asked.filter(
        pl.col("criterion") == whole.criterion, pl.col("model") == system.model, pl.col("rater") == whole.rater,
        pl.col("selection").is_null(), pl.col("status") == "ok",
    )  # fmt: skip
    for tag, values in section.benchmark.groups.get(group, {}).items():
        rows = rows.filter(pl.col(f"tag.{tag}").is_in(list(values)))
    counted = rows.group_by("value").len().iter_rows()
    return {int(value): n for value, n in counted if value is not None}, rows["cluster"].n_unique()


def _caveats(scores: Sequence[Score], system: System) -> Iterator[str]:
    kin = [judge for judge in sorted({s.rater for s in scores}) if same_family(judge, system.model)]
    if kin:
        told = [f"{judge} ({'the model itself' if judge == system.model else 'of its family'})" for judge in kin]
        yield f"The {'judge' if len(kin) == 1 else 'judges'} {named(told)} may favour it, as models tend to favour their own kind."
    for s in scores:
        if s.name == "mean" and s.slice == "all" and s.missing > 0.2 * s.n:
            yield f"So many verdicts by {s.rater} are missing ({count(s.missing)} of {count(s.n)}) that its mean should not be used."


def caveats(runs: Sequence[Run]) -> list[str]:
    """Say what holds for every model here: who judged, and whether anybody checked the judges."""
    judges = judges_of(runs)
    found = [DEMONSTRATION.format(judge=judge) for judge in judges if is_demonstration(judge)]
    rest = [judge for judge in judges if not is_demonstration(judge)]
    checks = {judge: checked(runs, judge) for judge in rest}
    for judge, check in checks.items():
        if check is not None:
            gap = f"{decimal(abs(check.difference), 1)} levels {'more lenient' if check.difference > 0 else 'more severe'} than people"
            found.append(
                f"On the {plural(check.n, 'reply', 'replies')} that people rated too, the judge {judge} is on average {gap}; "
                f"of the {count(check.low_by_people)} that people put at {LOW} or below, it put {count(check.low_by_both) if check.low_by_both else 'none'} there."
            )
    alone = [judge for judge, check in checks.items() if check is None]
    if alone:
        found.append(
            f"No person has rated these replies beside the {'judge' if len(alone) == 1 else 'judges'} {named(alone)}, so it is not known here how far "
            "those verdicts can be trusted: read the replies below before relying on them."
        )
    return found


def shared(found: Sequence[Answer]) -> list[str]:
    """Take the caveats that hold for every system out of each, and return them, so that they are said once."""
    if len(found) < 2:
        return []
    common = [c for c in found[0].caveats if all(c in answer.caveats for answer in found)]
    for answer in found:
        answer.caveats = [c for c in answer.caveats if c not in common]
    return common


def not_shown(runs: Sequence[Run]) -> list[str]:
    """Return the first thing that each benchmark does not measure."""
    cards = {s.benchmark.name: s.benchmark.card for run in runs for s in run.sections}
    return [first_sentence(card.does_not_measure) for card in cards.values()]
