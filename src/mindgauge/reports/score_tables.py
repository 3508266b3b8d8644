"""What a run's scores say in tables: what each benchmark goes by, where a model does worst, how often labels were given."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.analysis.drawn_part import ALONE, UNSAFE
from mindgauge.analysis.scoring_views import STOCK_SHARE
from mindgauge.benchmarks.metrics import label_of
from mindgauge.benchmarks.metrics.metric_sentences import FEW, SMALL, lowest, with_most
from mindgauge.records.english import named, raised, words
from mindgauge.records.english import words as in_words
from mindgauge.records.instruments import SAME_NOT, with_instruments
from mindgauge.records.rounding import bounded, count, decimal, interval, percent, plural, write
from mindgauge.records.rubric.criterion import share_of
from mindgauge.reports.content import REPLIES, Column, ReportTable, heads
from mindgauge.reports.reliability_gate import DOUBT, ReliabilityGate
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from mindgauge.analysis.drawn_part import FrameEstimate
    from mindgauge.analysis.score import Score, Scores
    from mindgauge.records import Value
    from mindgauge.records.rounding import Kind
    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.content import Cell, Rated

OPEN = ReliabilityGate({})
"""What holds where no cards were made: nothing is withheld."""
NUMBERS = heads("value:interval | 95 % interval:interval | n:count | conversations:count | missing:count")
"""The columns of `numbers`."""
WRONG, RIGHT = "wrong", "right"
_MAJORITY = "Every answer counts in the rows NAME; in NAME:majority the answer given most often, a tie being none."
_OF, _ALL = "model=", "all"


def numbers(score: Score, gate: ReliabilityGate) -> list[Cell]:
    """Write a score with its interval and what it rests on, or what stands in its place where it is withheld."""
    value = None if score.void else score.value
    return [
        gate.instead(score, None if value is None else write(value, score.unit)),
        None if value is None else interval(score.low, score.high, score.unit),
        score.n, score.clusters, score.missing,
    ]  # fmt: skip


# -- what benchmarks go by ---------------------------------------------------------------------------------------------


def headlines(result: Scores, gate: ReliabilityGate = OPEN) -> list[ReportTable]:
    """Tabulate what each benchmark goes by, a table for each; its note says how repeats and missing answers count."""
    scores = leading(result)
    tables = []
    for benchmark in dict.fromkeys(score.benchmark for score in scores):
        listed = [score for score in scores if score.benchmark == benchmark and not _of_label(score)]
        if not listed:
            continue
        columns = [*heads("model | rated by | measure | of"), *NUMBERS, Column("worst … best")]
        rows = [
            [score.model, score.rater, titled(score), score.slice, *numbers(score, gate), _bounds(score, gate)]
            for score in listed
        ]
        note = " ".join(_how_counted(result, listed))
        tables.append(ReportTable("headlines", f"{benchmark}  ({result.run})", columns, rows, note))
    return tables


def at_a_glance(
    result: Scores, gate: ReliabilityGate, *, people: Collection[str], constant: Collection[str], first: Sequence[str]
) -> ReportTable | None:
    """Tabulate what benchmarks go by on the whole in few columns: one measure of everybody before the next of anybody.

    The worst of a measure come first, as only the first rows are shown.

    Columns that say the same in every row are left out; who rated and how many replies there are then stands in the title.

    Args:
        result: the scores.
        gate: which of them may be shown; those that may not stand last.
        people: who of the raters is a person; what they say stands before what judges say of the same.
        constant: raters that read nothing, whose scores stand behind those of models.
        first: criteria that stand before all others: gates and vetoes.
    """
    places = {
        (name, metric): place
        for name, headline in result.headlines.items()
        for place, metric in enumerate((*headline.metrics[:2], STOCK_SHARE.name, *headline.metrics[2:]))
    }
    scores = [score for score in leading(result) if score.slice == _ALL and not _of_label(score)]
    measures = {measure: place for place, measure in enumerate(dict.fromkeys(map(_measured, scores)))}
    scores.sort(
        key=lambda s: (
            gate.withholds(s),
            s.model in constant,
            first.index(s.criterion) if s.criterion in first else len(first),
            places.get((s.benchmark, s.name), len(places)),
            measures[_measured(s)],
            s.rater not in people,
            worst_first(s),
        )
    )
    if not scores:
        return None
    closed = all(score.rater == score.model for score in scores)
    columns = heads("benchmark | model | rated by | measure | value:interval | n:count | missing:count")
    rows: list[list[Cell]] = [
        [
            score.benchmark, score.model, "itself" if score.rater == score.model else score.rater, titled(score),
            _bounded(score, gate), score.n, score.missing or None,
        ]
        for score in scores
    ]  # fmt: skip
    alike = {place: rows[0][place] for place in (0, 1, 2, 5) if len({row[place] for row in rows}) == 1}
    phrases = {0: "{}", 1: "{}", 2: "" if closed else "rated by {}", 5: "n {:,}"}
    title = ", ".join(filter(None, (phrases[place].format(value) for place, value in alike.items())))
    places_left = [place for place in range(len(columns)) if place not in alike]
    return ReportTable(
        "at-a-glance",
        title,
        [columns[place] for place in places_left],
        [[row[place] for place in places_left] for row in rows],
        " ".join(_how_counted(result, scores)),
    )


def _how_counted(result: Scores, scores: Sequence[Score]) -> Iterator[str]:
    """Say how repeats and missing answers count in some scores."""
    if any(score.rater == f"{score.model}:majority" for score in scores):
        yield _MAJORITY
    counting = {name: headline.counting for name, headline in result.headlines.items()}
    yield from counted_missing(
        (s.benchmark, titled(s), _counted(s)) for s in scores if s.name in counting.get(s.benchmark, ())
    )


def worst_first(score: Score) -> tuple[bool, float]:
    """Return a key by which scores of one measure stand worst first, those without a value last."""
    if score.value is None or not score.better:
        return score.value is None, 0.0
    return False, score.value if score.better == "higher" else -score.value


def _measured(score: Score) -> tuple[str, str, str]:
    return score.benchmark, score.name, score.criterion


def titled(score: Score) -> str:
    """Return what a score is called in a table."""
    return (score.title or score.name).removeprefix("the ")


def _bounded(score: Score, gate: ReliabilityGate) -> str | None:
    """Write a score with its interval in one cell, or what stands in its place."""
    value = None if score.void or score.value is None else bounded(score.value, score.low, score.high, score.unit)
    return gate.instead(score, value)


def worst_cells(result: Scores, gate: ReliabilityGate = OPEN) -> ReportTable | None:
    """Tabulate, for each model, rater and criterion, the class in which it does worst, by what the benchmark goes by first."""
    cells: dict[tuple[str, str, str, str, str], Score] = {}
    for score in result.metrics:
        kind = score.slice.partition("=")[0]
        headline = result.headlines.get(score.benchmark)
        by_class = headline is not None and (
            (kind == "category" and score.name in headline.metrics[:1])
            or (kind == "label" and score.name in headline.parts)
        )
        if score.value is None or score.void or not score.better or not by_class:
            continue
        key = (score.benchmark, score.model, score.rater, score.name, score.criterion)
        if key not in cells or score.worse_than(cells[key]):
            cells[key] = score
    if not cells:
        return None
    columns = [*heads("model | rated by | measure | where"), *NUMBERS]
    rows: list[list[Cell]] = [
        [score.model, score.rater, titled(score), score.slice, *numbers(score, gate)] for score in cells.values()
    ]
    return ReportTable("worst-cells", "Worst cells", columns, rows)


def remarks(result: Scores, gate: ReliabilityGate = OPEN) -> Iterator[str]:
    """Say why there are no scores of whom, and which scores have no interval and why."""
    scores = leading(result)
    unfit = {(unfit_judge.benchmark, unfit_judge.judge, unfit_judge.criterion) for unfit_judge in result.unfit}
    withheld = result.withheld_by_clients
    void: dict[str, dict[str, None]] = {}
    without: dict[str, dict[str, None]] = {}
    for score in scores:
        told_before = (score.benchmark, score.rater, score.criterion) in unfit or (
            score.benchmark,
            score.model,
        ) in withheld
        if score.void and not told_before:
            void.setdefault(score.void, {})[score.rater] = None
        if not gate.withholds(score) and score.value is not None and score.low is None and score.note:
            without.setdefault(score.note, {})[f"{score.name} of {score.rater}"] = None
    yield from (f"No score: {', '.join(raters)} gave {reason}" for reason, raters in void.items())
    yield from (f"Note: {reason}: {', '.join(names)}" for reason, names in without.items())


def counted_missing(metrics: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Say what an answer without a value counts for, in the metrics that take it for right or for wrong.

    Args:
        metrics: benchmark, title and what missing answers count as, of every metric that is shown.
    """
    kinds: dict[tuple[str, str], set[str]] = {}
    for benchmark, name, counted in metrics:
        if counted:
            kinds.setdefault((benchmark, name), set()).add(counted)
    by_count: dict[tuple[str, str], list[str]] = {}
    for (benchmark, name), counted_as in kinds.items():
        if len(counted_as) == 1:
            by_count.setdefault((benchmark, counted_as.pop()), []).append(name)
    for (benchmark, counted), names in by_count.items():
        yield f"{benchmark}: in {', '.join(names)} an answer without a value counts as {counted}."


def leading(result: Scores) -> list[Score]:
    """Return what benchmarks go by, and shares of stock replies; of answers that could be read only what differs from the strict."""
    unread = {(m.benchmark, m.rater, m.name) for m in result.leading if m.missing}
    return [
        score
        for score in [*result.leading, *result.find(STOCK_SHARE.name)]
        if (strict := result.headlines[score.benchmark].of_read.get(score.name)) is None
        or (score.benchmark, score.rater, strict) in unread
    ]


def _bounds(score: Score, gate: ReliabilityGate) -> str:
    """Write what the score would be were all missing answers so bad, or so good, as can be."""
    if not score.missing or gate.withholds(score):
        return ""
    return f"{write(score.worst, score.unit)} … {write(score.best, score.unit)}"


def _counted(score: Score) -> str:
    """Return what missing answers count as in a share: as wrong where it is the worst that it could be, and the reverse."""
    if not (score.missing and score.unit == "share") or score.value is None or score.worst == score.best:
        return ""
    return {score.worst: WRONG, score.best: RIGHT}.get(score.value, "")


# -- labels ------------------------------------------------------------------------------------------------------------


def labels(result: Scores) -> list[ReportTable]:
    """Tabulate the shares of labels where there are any: of texts and dialogues of the user's own, or on a classifier's own criterion.

    A column for the replies of each model, one for all of them.
    """
    shares: dict[tuple[str, str, str], dict[str, list[Score]]] = {}
    for score in result.metrics:
        itself = score.model == score.rater  # a slice says whose replies those are
        if not _of_label(score):
            continue
        if score.slice == _ALL or (itself and score.slice.startswith(_OF)):
            model = score.slice.removeprefix(_OF) if itself else score.model
            by_model = shares.setdefault((score.benchmark, score.criterion, score.rater), {})
            by_model.setdefault(model, []).append(score)
    return [
        _labels(f"{benchmark}: {criterion}, labelled by {rater}", by_model)
        for (benchmark, criterion, rater), by_model in shares.items()
    ]


def _of_label(score: Score) -> bool:
    """Whether a score is how often a label was given, whichever is better; such scores have a table of their own."""
    itself = score.model == score.rater  # it answered a closed question
    return bool(label_of(score.name)) and not score.better and (itself or score.rater.startswith("classifier/"))


def _labels(title: str, by_model: dict[str, list[Score]]) -> ReportTable:
    only_model = len(by_model) == 2 and _ALL in by_model
    listed = [(model, scores) for model, scores in by_model.items() if not (only_model and model == _ALL)]
    columns = [Column("label")]
    for model, _ in listed:
        columns += [Column(f"{model}{end}", "precise") for end in ("", " from", " to")]
    rows: list[list[Cell]] = []
    for same in zip(*(scores for _, scores in listed), strict=True):
        bounds = [cell for score in same for cell in (score.value, score.low, score.high)]
        rows.append([label_of(same[0].name), *bounds])
    first = [scores[0] for _, scores in listed]
    behind: dict[str, list[Cell]] = {
        "(no label)": [score.missing / score.n for score in first],
        "answers": [count(score.n) for score in first],
        "conversations": [count(score.clusters) for score in first],
    }
    rows += [[name, *(part for cell in cells for part in (cell, None, None))] for name, cells in behind.items()]
    return ReportTable("labels", title, columns, rows, "Shares of the answers, with 95 % intervals.")


NOTE = (
    "Each reply counts for as many as it stands for, by the probability with which it was drawn. The 95 % interval is of "
    "conversations like these; the one beside it of these replies alone. Replies that were drawn and have no value of "
    "anyone are in \u201cdrawn\u201d and not in \u201crated\u201d; worst \u2026 best is what it would be if all of them were so. With a judge, its verdicts "
    "on all replies are corrected by people's on the drawn ones; the gain is how many times as many ratings that is worth."
)
TITLE = "All replies, from those that people rated of a drawn part"
COLUMNS = heads(
    "benchmark | criterion | measure | by | value:interval | 95 % interval:interval | of these alone:interval | "
    "worst … best:interval | rated:count | drawn:count | of:count | conversations:count | gain:interval | note"
)  # fmt: skip


def of_frames(estimates: Sequence[FrameEstimate]) -> ReportTable | None:
    """Tabulate estimates; None where nothing was drawn."""
    if not estimates:
        return None
    rows: list[list[Cell]] = [
        [
            e.benchmark, e.criterion, "called unsafe" if e.measure == UNSAFE else in_words(e.measure), e.by,
            None if e.value is None else write(e.value, e.unit), _between(e.low, e.high, e.unit),
            _between(e.frame_low, e.frame_high, e.unit) if e.by == ALONE else None,
            _between(e.worst, e.best, e.unit) if e.n < e.drawn else None,
            e.n, e.drawn, e.frame or None, e.conversations, None if e.gain is None else decimal(e.gain), e.note,
        ]
        for e in estimates
    ]  # fmt: skip
    judges = dict.fromkeys(e.judge for e in estimates if e.note.startswith(SAME_NOT))
    title = with_instruments(TITLE, judges)
    return ReportTable("drawn", title, COLUMNS, rows, NOTE)


def sentences(estimates: Sequence[FrameEstimate]) -> Iterator[str]:
    """Say what people would call unsafe of all, where they rated a drawn part."""
    for e in estimates:
        if e.by == ALONE and e.measure == UNSAFE and e.value is not None:
            frame_part = f" of all {count(e.frame)}" if e.frame else ""
            yield (
                f"By what each stands for, people ({named(e.people)}) would call {percent(e.value)}{frame_part} unsafe on {in_words(e.criterion)} "
                f"({interval(e.low, e.high, e.unit)}): they rated {count(e.n)} of {count(e.drawn)} that were drawn with known probabilities."
            )


def _between(low: float | None, high: float | None, unit: Kind) -> str | None:
    return None if low is None or high is None else interval(low, high, unit)


MANY = 9
"""Values that a sentence names."""


def always_the_same(answers: Sequence[str], targets: Sequence[str]) -> str:
    """Warn where nearly all answers are one label though the messages differ: its few misses then mean nothing."""
    if len(answers) < FEW:
        return ""
    label, times = Counter(answers).most_common(1)[0]
    if times < 0.8 * len(answers) or targets.count(label) > 0.6 * len(targets):
        return ""
    return f"It answered {words(label)} in {count(times)} of {count(len(answers))} usable answers whatever was said, so what it got right shows little insight."


def rater_phrase(name: str, *, person: bool, doubtful: bool = False) -> str:
    """Name who rated, with what must not be left out of a sentence about its verdicts."""
    return f"{'The person' if person else 'The judge'} {name}{f' ({DOUBT})' if doubtful else ''}"


class RaterTally(NamedTuple):
    """How one rater rated replies, each counted once: of several verdicts on one, the middle one stands for it.

    Of `n` replies in `conversations`, `valued` have a verdict. `good` stand at the best levels, `bad` at the `worst` ones
    and `lowest` of these at the very worst; `feared` would be bad were every missing verdict the worst there is. `times`
    is how often a reply was rated, at least and at most.
    """

    n: int
    conversations: int
    valued: int
    times: tuple[int, int]
    good: int
    bad: int
    lowest: int
    feared: int
    best: tuple[Value, ...]
    worst: tuple[Value, ...]
    exist: int = 0
    """How many replies there are, those to which the criterion does not apply among them."""


def rated(
    rater: str, counts: RaterTally, mean: Score, scope: str, scale: str, noun: Rated = REPLIES, *, unused: bool = False
) -> str:
    """Say how one rater rated replies.

    Args:
        rater: the rater's name, as a sentence begins with it.
        counts: of the replies.
        mean: of its verdicts.
        scope: the messages that the replies answer, as the end of a phrase.
        scale: from where to where the levels go.
        noun: what is rated.
        unused: whether the rater does not use the worst level as people do, so that how many are there says nothing.
    """
    c = counts
    if not c.valued:
        return f"{rater} gave no usable verdict on its {noun.many}{scope}, so nothing can be said of them."
    amount = noun.counted(c.n) if c.valued == c.n else f"{count(c.valued)} of {noun.counted(c.n)}"
    context = "" if c.n == c.conversations else f" in {plural(c.conversations, noun.cluster)}"
    fewest, largest = c.times
    often = f", each {'' if fewest == largest else 'up to '}{count(largest)} times" if largest > 1 else ""
    middle = ", the middle verdict counting" if largest > 1 else ""
    share, feared = c.bad / c.valued, clopper_pearson(c.feared / c.n * c.conversations, c.conversations)
    amount_bad = with_most(share, feared.high) if c.feared < c.n else percent(share)
    how_many = "none" if not c.lowest else "all" if c.lowest == c.bad > 1 else count(c.lowest)
    lowest = f", {how_many} of them at {c.worst[0]}" if len(c.worst) > 1 and c.bad and not unused else ""
    lost = (
        f"; if every verdict that is missing were a {c.worst[0]}, it would be {count(c.feared)} of {count(c.n)} ({percent(c.feared / c.n)})"
        if mean.missing
        else ""
    )
    return (
        f"{rater} rated {amount}{scope}{context}{often}{middle}: {count(c.good) if c.good else 'none'} at {_range(c.best)}, and "
        f"{count(c.bad) if c.bad else 'none'} at {_range(c.worst)} ({amount_bad}){lowest}{lost}; the mean is {decimal(mean.value, 1)} on the "
        f"scale from {scale}{_mean_bounds(mean)}."
    )


def profile(
    rater: str, means: Sequence[Score], criteria: Mapping[str, Criterion], scope: str, noun: Rated = REPLIES
) -> str:
    """Say what one rater thought of replies on many criteria: the worst and the best mean, and the n behind them.

    Criteria of different scales are compared by how far their means stand on the way from worst to best.
    """
    usable = sorted(
        ((share_of(criteria[s.criterion], s.value), s.value, s.criterion) for s in means if s.value is not None),
        key=lambda entry: (entry[0], entry[2]),
    )
    if not usable:
        return f"{rater} gave no usable verdict on its {noun.many}{scope}, so nothing can be said of them."
    n, lost = max(s.subjects for s in means), sum(s.missing for s in means)
    valued = max(s.n - s.missing for s in means)
    amount = noun.counted(n) if valued >= n else f"{count(valued)} of {noun.counted(n)}"
    lost_note = f"; {plural(lost, 'verdict')} could not be used" if lost else ""
    mixed_scales = len({criteria[s.criterion].worst_first for s in means}) > 1
    ends = [
        f"{decimal(mean, 1)} ({words(name)}{f', {scale[0]} to {scale[-1]}' if mixed_scales else ''})"
        for _, mean, name in (usable[0], usable[-1])
        for scale in [criteria[name].worst_first]
    ]
    if len(usable) == 1:
        return f"{rater} rated {amount}{scope} on {words(usable[0][2])}: mean {decimal(usable[0][1], 1)}{lost_note}."
    return f"{rater} rated {amount}{scope} on {len(usable)} criteria: means go from {ends[0]} to {ends[1]}{lost_note}."


def headline_sentence(rater: str, scores: Sequence[Score], title: str = "") -> str:
    """Say what a measure is that has no sentence of its own: on one criterion or several, by one rater.

    Args:
        rater: the rater's name, in the middle of a sentence; empty where the model answered itself.
        scores: of one metric, one for each criterion.
        title: of the metric, as `MetricWords` has it; its name if empty, or where it names one criterion of several.
    """
    if len(scores) > MANY:  # the worst are named
        scores = sorted(scores, key=worst_first)
    first, source = scores[0], f", as rated by {rater}," if rater else ""
    names_criterion = "{}" in title and len(scores) == 1
    titled = names_criterion or (title and "{}" not in title)
    subject = raised(title.format(words(first.criterion))) if titled else f"Its {words(first.name)}"
    amount = (
        plural(max(s.subjects for s in scores), "reply", "replies")
        if rater
        else plural(max(s.n for s in scores), "answer")
    )
    basis = f"{amount} in {plural(max(s.clusters for s in scores), 'conversation')}"
    better = f"{first.better} is better" if first.better else ""
    values = [
        f"{write(s.value, s.unit)}{'' if names_criterion else f' on {words(s.criterion)}'}{f' ({interval(s.low, s.high, s.unit)})' if s.low is not None else ''}"
        for s in scores
        if s.value is not None
    ]
    unknown = [words(s.criterion) for s in scores if s.value is None]
    cannot = f"cannot be worked out on {named(unknown, limit=MANY)}" if unknown else ""
    if not values:
        return f"{subject}{source} {cannot}, from {basis}."
    lost = sum(s.missing for s in scores)
    lost_note = f"; {plural(lost, 'verdict' if rater else 'answer')} could not be used" if lost else ""
    cannot = f", and {cannot}" if cannot else ""
    return f"{subject}{source} is {named(values, limit=MANY)}{cannot}, over {basis}{f'; {better}' if better else ''}{lost_note}."


def measured(title: str, raters: Sequence[tuple[str, Score]]) -> str:
    """Say what one measure of one criterion is by each rater.

    Args:
        title: of the measure on the criterion.
        raters: of each, the name, in the middle of a sentence, and the score.
    """
    values = [
        f"{write(s.value, s.unit)} by {name} ({f'{interval(s.low, s.high, s.unit)}, ' if s.low is not None else ''}"
        f"of {plural(s.n, 'dialogue') if s.n < s.subjects else plural(s.subjects, 'reply', 'replies')}{f', {count(s.missing)} without a verdict' if s.missing else ''})"
        for name, s in raters
    ]
    better = raters[0][1].better
    return f"{title[:1].upper()}{title[1:]} is {named(values, limit=9)}{f'; {better} is better' if better else ''}."


def classes(criterion: Criterion, by_rater: Mapping[str, Sequence[Score]]) -> str:
    """Say how often each rater gave each class, the most frequent first; those never given are left out.

    Args:
        criterion: whose levels are classes.
        by_rater: name of the rater, in the middle of a sentence → the shares of its classes.
    """
    labels = {f"share_{value}": words(str(value)) for value in criterion.values}
    parts = []
    for name, scores in by_rater.items():
        shares = sorted((s for s in scores if s.name in labels and s.value), key=lambda s: -(s.value or 0.0))
        listed = [f"{labels[s.name]} {percent(s.value)}" for s in shares]
        parts.append(f"{name} gave {named(listed, limit=9)} (of {plural(scores[0].subjects, 'reply', 'replies')})")
    return f"On {words(criterion.name)}, {'; '.join(parts)}."


def distribution(scores: Sequence[Score], *, targeted: bool) -> str:
    """Say how often each label was given on one criterion.

    Args:
        scores: the share of each label, in the rubric's order.
        targeted: whether it is known of any message what is right.
    """
    first = scores[0]
    on = f" on {words(first.criterion)}"
    usable = f"{count(first.n - first.missing)} usable of " if first.missing else ""
    basis = f"{usable}{plural(first.n, 'answer')} in {plural(first.clusters, 'conversation')}"
    unknown = "" if targeted else "; what is right is not known, since no message has a target"
    occurring = sorted((s for s in scores if s.value), key=lambda s: -(s.value or 0.0))
    shares = [
        f"{write(s.value, s.unit)} are “{_label(s)}”{f' ({interval(s.low, s.high, s.unit)})' if s.low is not None else ''}"
        for s in occurring
    ]
    never = [f"“{_label(s)}”" for s in scores if s.value == 0]
    if not shares:
        return f"None of {plural(first.n, 'answer')}{on} could be used."
    none = f", and none is {named(never, 'or', limit=9)}" if never else ""
    return f"Of {basis}{on}, {named(shares, limit=9)}{none}{unknown}."


def _label(score: Score) -> str:
    return words(label_of(score.name))


def _range(levels: tuple[Value, ...]) -> str:
    """Name levels from the lowest number up; of more than two, the ends."""
    ordered = sorted(levels, key=lambda level: (isinstance(level, str), level))
    return f"{ordered[0]}{' or ' if len(levels) == 2 else ' to '}{ordered[-1]}" if len(levels) > 1 else str(levels[0])


def _mean_bounds(mean: Score) -> str:
    """Say what the missing verdicts could do to a mean."""
    if not mean.missing:
        return ""
    worst, best = (decimal(end, 1) for end in sorted([mean.worst or 0.0, mean.best or 0.0]))
    return "" if worst == best else f" ({worst} to {best} if the missing verdicts were all the worst or the best)"


def lowest_categories(means: Mapping[str, Sequence[Score]], judges: Collection[str]) -> list[str]:
    """Name, for each rater's means per category, the category that it rated lowest; say it once if several agree.

    Args:
        means: rater → its means, one for each category.
        judges: everybody who judged these replies, those whose means are not shown among them.
    """
    by_categories: dict[tuple[str, ...], list[tuple[str, list[Score], float]]] = {}
    for name, scores in means.items():
        worst, value = lowest(scores)
        if worst:
            by_categories.setdefault(tuple(words(s.slice) for s in worst), []).append((name, worst, value))
    sentences = []
    for categories, raters in by_categories.items():
        place = f"replies to {named(categories)}"
        n = count(max(s.subjects for _, worst, _ in raters for s in worst))
        values = sorted({decimal(value, 1) for _, _, value in raters})
        mean = f"mean {values[0]}" if len(values) == 1 else f"means {values[0]} to {values[-1]}"
        per_category = " each" if len(categories) > 1 else ""
        names = [name for name, *_ in raters]
        alone = {*names} == {*means} == {*judges} and len(names) == 1
        source = "" if alone else f" by {_everybody(names, judges)}"
        sentences.append(f"Rated worst{source} were {place} ({mean}, n {n}{per_category}).")
    return sentences


def _everybody(names: Sequence[str], judges: Collection[str]) -> str:
    """Name some raters; where these are all the judges there are, and several, count them."""
    people = [name for name in names if name not in judges]
    if len(judges) < 2 or not {*judges} <= {*names}:
        return named(names, limit=9)
    all_judges = "both judges" if len(judges) == 2 else f"all {count(len(judges))} judges"
    return named([*people, all_judges], limit=9)


def small(clusters: int, noun: Rated = REPLIES) -> str:
    """Warn where few conversations, or personas, stand behind the numbers."""
    if clusters >= SMALL:
        return ""
    if clusters == 1:
        return f"One {noun.cluster} stands behind this; it is an example, not a measurement."
    return f"Only {clusters} {noun.cluster}s stand behind this, so every share and mean here is rough."
