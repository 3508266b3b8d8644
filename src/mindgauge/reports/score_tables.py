"""What a run's scores say in tables: what each benchmark goes by, where a model does worst, how often labels were given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.drawn_part import ALONE, UNSAFE
from mindgauge.analysis.scoring_views import STOCK_SHARE
from mindgauge.benchmarks.metrics import label_of
from mindgauge.records.english import named
from mindgauge.records.english import words as in_words
from mindgauge.records.instruments import SAME_NOT, with_instruments
from mindgauge.records.rounding import bounded, count, decimal, interval, percent, write
from mindgauge.reports.content import Column, ReportTable, heads
from mindgauge.reports.reliability_gate import ReliabilityGate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from mindgauge.analysis.drawn_part import FrameEstimate
    from mindgauge.analysis.score import Score, Scores
    from mindgauge.records.rounding import Kind
    from mindgauge.reports.content import Cell

OPEN = ReliabilityGate({})
"""What holds where no cards were made: nothing is withheld."""
NUMBERS = heads("value:interval | 95 % interval:interval | n:count | conversations:count | missing:count")  # fmt: skip
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
        columns = [
            *heads("model | rated by | measure | of"),
            *NUMBERS,
            Column("worst … best"),
        ]
        rows = [
            [
                score.model,
                score.rater,
                titled(score),
                score.slice,
                *numbers(score, gate),
                _bounds(score, gate),
            ]
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
        [
            score.model,
            score.rater,
            titled(score),
            score.slice,
            *numbers(score, gate),
        ]
        for score in cells.values()
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
        columns += heads(f"{model}:precise | {model} from:precise | {model} to:precise")
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
