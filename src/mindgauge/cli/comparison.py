"""What is printed of systems beside each other: by `compare`, and of runs of a suite their profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.cli import answer, render, terminal
from mindgauge.records.english import named, words
from mindgauge.records.rounding import write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.pairing import Measure, SystemComparison, SystemStanding
    from mindgauge.analysis.profile import Profile
    from mindgauge.records.rounding import Kind
    from mindgauge.reports.compared import RankedSystems

TASKS, RANKS = {"over the tasks", "without"}, {"mean of task ranks", "rank of that mean"}
"""Columns of the report's table of dimensions: what the table below tells, and the source's own way."""


def show_compare(result: SystemComparison, *, full: bool = False, show_unreliable: bool = False) -> None:
    """Print which system is better, on what.

    Args:
        result: what the command returned.
        full: Everything: every table, every row, every note.
        show_unreliable: Show, marked, the scores of judges that agree too little with people.
    """
    raters = {measure.rater for measure in result.measures}
    names = dict.fromkeys([*(system.model for system in result.systems), *raters])
    with terminal.short([*names]):
        show(result, full=full, shown=show_unreliable)
    answer.then("report", *result.runs)


def show(result: SystemComparison, *, full: bool, shown: bool) -> None:
    """Print who is better in two sentences, where systems stand, and with `full` the report's own sentences and tables.

    Args:
        result: the comparison.
        full: every metric, every two systems, every part on which two can be told apart.
        shown: also what judges say that agree too little with people.
    """
    from mindgauge.analysis.scoring_views import STOCK_SHARE
    from mindgauge.reports.compared import RankedSystems, parts

    measures = [
        m
        for m in result.measures
        if full or m.part or m.name in (*result.headlines.get(m.benchmark, ()), STOCK_SHARE.name)
    ]
    fields = [RankedSystems.of(result, measure) for measure in measures if shown or not _limited(measure.rank_systems)]
    overall = sorted(
        (field for field in fields if field.measure.slice == "all"), key=lambda f: _place(result, f.measure)
    )
    single = [field for field in fields if field.measure.slice != "all" and field.measure.name != STOCK_SHARE.name]
    doubts = _doubtful([m for m in measures if _limited(m.rank_systems)], shown=shown)
    ranked = [field for field in overall if len(field.systems) > 1]
    stock = [f"{field.finding()}." for field in ranked if field.measure.name == STOCK_SHARE.name]
    findings = [f"{field.finding()}." for field in ranked if field.measure.name != STOCK_SHARE.name]
    findings = findings or ["Nothing may be compared."]
    answer.first(*findings[:1], *[*doubts, *findings[1:], *parts(single)][:1])
    if full:
        _in_full(result, overall, single, shown=shown)
    else:
        _at_a_glance(overall, single, shown=shown, parts=bool(result.tag))
    for line in [*stock, *parts(single), *doubts, *_limits(overall)]:
        render.sentence(line)
    render.notes(result.notes, full=full)


def _place(result: SystemComparison, measure: Measure) -> tuple[bool, bool, int]:
    """Return the place of a measure among those that its benchmark goes by.

    People, who have no card, come before judges that have one; judges that may not rank come last.
    """
    names = result.headlines.get(measure.benchmark, ())
    place = names.index(measure.name) if measure.name in names else len(names)
    return _limited(measure.rank_systems), bool(measure.rank_systems), place


def _at_a_glance(
    overall: Sequence[RankedSystems], single: Sequence[RankedSystems], *, shown: bool, parts: bool
) -> None:
    from mindgauge.reports.compared import at_a_glance, pairs
    from mindgauge.reports.content import narrowed

    glance = at_a_glance(overall, shown=shown)
    paired = pairs("", "", overall)
    behind = paired.rows, pairs("", "", single, apart=True).rows
    if parts and paired.rows:
        paired.note = ""
        answer.sheet(narrowed(paired), len(paired.rows))
    n, half = len(overall[0].systems) if overall else 0, answer.ROWS // 2
    if n > answer.ROWS:  # the best and the worst, and not the best alone
        rows = glance.rows
        glance.rows = [*rows[:half], *rows[n - half : n], *rows[half : n - half], *rows[n:]]
    if glance.rows:
        answer.sheet(narrowed(glance), len(glance.rows) + sum(map(len, behind)))


def _in_full(
    result: SystemComparison, overall: Sequence[RankedSystems], single: Sequence[RankedSystems], *, shown: bool
) -> None:
    from mindgauge.reports.compared import costs, pairs

    for field in overall:
        _standings(field, shown=shown)
    render.sheet(pairs("", "Every two systems, paired", overall))
    apart = pairs("", "On which single parts they can be told apart", single, apart=True)
    if apart.rows:
        render.sheet(apart)
    if result.tag:  # calls are a model's, whatever the part
        return
    labels = {system.label: system.label for system in result.systems}
    price, unknown = costs(result, labels, labels)
    if price is None:
        print(unknown)
    else:
        render.sheet(price)


def _limits(overall: Sequence[RankedSystems]) -> Iterator[str]:
    """Say where a value is another than in `score`, and what an answer without a value counts for."""
    from mindgauge.reports.score_tables import counted_missing

    if any(_scored(field.measure, standing) for field in overall for standing in field.measure.standings):
        yield (
            "value: each conversation counts once, on the samples that all systems answered; in score: each answer counts "
            "once, on all samples that the system answered, as in `mindgauge score`."
        )
    measures = [field.measure for field in overall]
    yield from counted_missing((m.benchmark, m.title.removeprefix("the "), m.missing_as) for m in measures)


def _limited(verdict: str) -> bool:
    from mindgauge.analysis.reliability.card import LIMITED

    return verdict == LIMITED


def _standings(field: RankedSystems, *, shown: bool) -> None:
    """Print where each system stands on a measure, with what the title does not say of the differences."""
    from mindgauge.reports.compared import standings
    from mindgauge.reports.content import Column

    measure = field.measure
    rated = f", as rated by {measure.rater}" if measure.rater else ""
    unreliable = " (unreliable)" if _limited(measure.rate_replies) and shown else ""
    table = standings(
        "",
        f"{measure.benchmark}: {measure.title or measure.name}{rated}{unreliable}",
        field,
        field.places({}, shown=shown),
    )
    by_label = {standing.system: standing for standing in measure.standings}
    scored = [_scored(measure, by_label[name]) for name in (*field.systems, *field.baselines)]
    table.columns.append(Column("in score", "interval"))
    table.rows = [[*row, value] for row, value in zip(table.rows, scored, strict=True)]
    render.sheet(table)
    if len(field.systems) > 1:
        print(f"{field.finding()}.", *field.rest(), end="\n\n")
    else:
        print()


def _scored(measure: Measure, standing: SystemStanding) -> str:
    """Write the value as `score` has it, where that is another; nothing where it is the same, or not to be shown."""
    if standing.value is None or standing.pooled is None or _limited(measure.rate_replies):
        return ""
    kind: Kind = "share" if measure.unit == "share" else "level"
    value, pooled = (write(number, kind) for number in (standing.value, standing.pooled))
    return "" if value == pooled else pooled


def _doubtful(measures: Sequence[Measure], *, shown: bool) -> list[str]:
    """Name the criteria on which a judge may not rank systems, a sentence for each."""
    by_judge: dict[str, dict[str, None]] = {}
    for measure in measures:
        if not measure.unused:
            by_judge.setdefault(measure.rater, {})[measure.criterion] = None
    display = "shown, but unreliable" if shown else "not shown; --show-unreliable shows them"
    sentences = [
        f"{judge} agrees too little with people to rank systems on {named(list(map(words, criteria)), limit=9)} ({display})."
        for judge, criteria in by_judge.items()
    ]
    return sentences + [
        f"{m.rater} does not use the worst level of {words(m.criterion)} as people do: {m.unused}. So {m.title} by it is {display}."
        for m in measures
        if m.unused and m.slice == "all"
    ]


# The profile of runs of a suite.


def show_profile(result: Profile, *, ranks: bool = False, full: bool = False) -> None:
    """Print how models do over the dimensions of a suite.

    Args:
        result: what the command returned.
        full: Everything: every table, every row, every note.
        ranks: Of a suite: also the source's ranks, of the mean of task ranks.
    """
    with terminal.short([*result.models, *filter(None, [result.judge])]):
        profile_first(result)
        profile_tables(result, full=full, ranks=ranks)
        render.notes(result.notes, full=full)
    answer.then("report", *result.runs)


def profile_first(result: Profile) -> None:
    """Print where models are weakest, and how rough that is."""
    from mindgauge.reports.profile import overview

    answer.first(*overview.first_words(result))


def profile_tables(result: Profile, *, full: bool = False, ranks: bool = False) -> None:
    """Print the dimensions, the weakest first, and with `full` its tasks, as the report's own tables; then what is lacking.

    Args:
        result: the profile.
        full: every dimension and task.
        ranks: also the source's ranks.
    """
    from mindgauge.reports.profile import overview

    labels = {model: model for model in result.models}
    lowest: dict[str, float] = {}
    for score in result.dimensions:
        value = 2.0 if score.value is None else score.value
        lowest[score.dimension] = min(value, lowest.get(score.dimension, value))
    scores = result.dimensions if full else sorted(result.dimensions, key=lambda score: lowest[score.dimension])
    dimensions = overview.dimensions(scores, {task.task: task.title for task in result.tasks}, labels)
    judged = f", replies rated by {result.judge}" if result.judge else ""
    dimensions.title = f"{result.suite}: dimensions{judged}"
    omitted = TASKS if ranks else TASKS | RANKS
    if full:
        render.sheet(dimensions, less=omitted)
        render.sheet(overview.tasks(result.tasks, "", "tasks", labels), less={"note", "rated by"})
    else:
        answer.sheet(dimensions, len(dimensions.rows) + len(result.tasks), omitted=omitted)
    render.sentence(
        "Scores are scaled to 0 … 1, 1 is best; what is no better than chance, or within the noise, is the end of its scale."
    )
    if full:
        print("In brackets 95 %: exact for a task that is one share, else percentiles over resampled conversations.")
    _lacking(result, full=full)


def _lacking(result: Profile, *, full: bool) -> None:
    if full:
        for line in result.lacking:
            print(f"lacking: {line}")
    elif result.lacking:
        names = [line.partition(" (")[0] for line in result.lacking]
        render.sentence(f"lacking: {named(names, limit=len(names))} (why, and how to get the data: --full)")
