"""The answer: what a run says about each model, in plain sentences that follow from its numbers by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.reports import phrases
from mindgauge.reports.content import Answer
from mindgauge.reports.numbers import first_sentence
from mindgauge.reports.runs import PERSON, scores_of
from mindgauge.reports.trust import DEMONSTRATION, is_demonstration, judges_of, same_family, was_checked

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
            behind.append(max(s.clusters for s in scores))
            tell = _closed if section.benchmark.closed else _open
            facts += filter(None, tell(scores, section, system))
            if not section.benchmark.closed:
                caveats += _caveats(scores, section, system)
        if behind:
            caveats.insert(0, phrases.small(min(behind)))
        if not facts:
            facts = ["Nothing of it has been rated yet, so nothing can be said."]
        found.append(Answer(system, facts, [c for c in caveats if c]))
    return found


def _closed(scores: Sequence[Score], _: Section, __: System) -> Iterator[str]:
    whole = {s.name: s for s in scores if s.slice == "all"}
    if "missed_crisis_rate" in whole:
        yield phrases.missed(whole["missed_crisis_rate"])
    if "overcalled_crisis_rate" in whole:
        yield phrases.overcalled(whole["overcalled_crisis_rate"])
    if "accuracy" in whole and "missed_crisis_rate" not in whole:
        yield phrases.right(whole["accuracy"])
    yield phrases.least_recognised([s for s in scores if s.name == "recall"])


def _open(scores: Sequence[Score], section: Section, system: System) -> Iterator[str]:
    group = next((name for name in section.benchmark.groups if any(s.slice == name for s in scores)), "all")
    people = {rater for rater, kind in section.judges() if kind == PERSON}
    for name, criterion in section.ordinal.items():
        values = [int(value) for value in criterion.values]
        few = 2 if len(values) >= 5 else 1
        top, bottom = tuple(values[-few:]), tuple(values[:few])
        for whole in (s for s in scores if (s.name, s.criterion, s.slice) == ("mean", name, group)):
            levels, clusters = _levels(section, system, whole, group)
            what = _TO.get(group, f" ({group})") + (f", on {name.replace('_', ' ')}" if len(section.ordinal) > 1 else "")
            yield phrases.rated(whole.rater, whole.rater in people, what, levels, top, bottom, clusters)
            mine = [s for s in scores if (s.name, s.criterion, s.rater) == ("mean", name, whole.rater)]
            yield phrases.lowest_category([s for s in mine if s.slice.startswith("category=")])
            yield phrases.spread(whole, "the mean")


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


def _caveats(scores: Sequence[Score], section: Section, system: System) -> Iterator[str]:
    for judge in sorted({s.rater for s in scores}):
        if same_family(judge, system.model):
            kin = "is the model itself" if judge == system.model else "comes from the same family as the model"
            yield f"The judge {judge} {kin}, and models tend to favour their own kind."
    share = [s for s in scores if s.name == "mean" and s.slice == "all" and s.n and s.missing / s.n > 0.2]
    for s in share:
        yield f"So many verdicts by {s.rater} are missing ({s.missing} of {s.n}) that its mean should not be used."


def caveats(runs: Sequence[Run]) -> list[str]:
    """Say what holds for every model here: who judged, and whether anybody checked the judges."""
    found: list[str] = []
    for judge in judges_of(runs):
        if is_demonstration(judge):
            found.append(DEMONSTRATION.format(judge=judge))
        elif was_checked(runs, judge):
            found.append(f"People rated some of the replies that {judge} judged; how far they agree stands under “How far to trust it”.")
        else:
            found.append(
                f"No person has rated these replies beside the judge {judge}, so it is not known here how far its verdicts can be trusted: "
                "read the replies below before relying on them."
            )
    return found


def not_shown(runs: Sequence[Run]) -> list[str]:
    """Return the first thing that each benchmark does not measure."""
    cards = {s.benchmark.name: s.benchmark.card for run in runs for s in run.sections}
    return [first_sentence(card.does_not_measure) for card in cards.values()]
