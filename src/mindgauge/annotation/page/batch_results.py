"""What came of labels, for the page: a training item beside its authored levels; a batch's agreement and gold."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge.annotation.agreement import AgreementFigure, below, with_anchors
from mindgauge.annotation.labels import last
from mindgauge.annotation.page.pages import Worded, called, said, worded, words
from mindgauge.annotation.ratings import read
from mindgauge.annotation.records import Answered, Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.annotation.gold import Gold
    from mindgauge.annotation.project import Annotation, Batch
    from mindgauge.annotation.records import Gate, Item, Label, Person
    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion, Rubric


_STRENGTHS = ((0.0, "none"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))
"""Upper bounds of what a coefficient is called: J. R. Landis, G. G. Koch, Biometrics 33 (1977), 159–174."""


class GateFigure(NamedTuple):
    """Agreement on one criterion after a step, by the coefficient that the gate looks at."""

    criterion: str
    value: float | None
    low: float | None
    high: float | None
    same: bool
    """Whether all labels were the same, so that no coefficient is defined."""
    reached: bool
    strength: str
    figures: list[AgreementFigure]
    """Of the whole criterion, then of each label against the rest."""


def measured(gate: Gate, gate_level: float) -> list[GateFigure]:
    """Read what the gate said of each criterion; `gate_level` is the agreement that it asks for."""
    figures = msgspec.convert(gate.figures, list[AgreementFigure])
    failed = below(figures, gate_level)
    rows = []
    for overall in (figure for figure in figures if not figure.label):
        value = overall.coefficient
        low, high = (
            (overall.fleiss_low, overall.fleiss_high)
            if overall.gated == "fleiss"
            else (overall.alpha_low, overall.alpha_high)
        )
        rows.append(
            GateFigure(
                criterion=overall.criterion,
                value=value,
                low=low,
                high=high,
                same=value is None and overall.agreement == 1.0,
                reached=overall.criterion not in failed,
                strength="" if value is None else strength(value),
                figures=[figure for figure in figures if figure.criterion == overall.criterion],
            )
        )
    return rows


def latest(gates: Sequence[Gate], gate_level: float) -> list[GateFigure]:
    """Read what the gate said last; nothing where it has said nothing yet."""
    return measured(gates[-1], gate_level) if gates else []


def strength(value: float) -> str:
    """Say in a word how strong an agreement is, after Landis and Koch."""
    return next((name for bound, name in _STRENGTHS if value <= bound), "high")


class GoldComparisonRow(NamedTuple):
    """One item's label of one's own beside the gold, in words."""

    number: int
    item: str
    yours: str
    gold: str
    state: str
    """`same`, `differs`, or `open` where the gold has no value."""


class GoldComparison(NamedTuple):
    """One's own labels on one criterion beside the gold."""

    criterion: str
    compared: list[GoldComparisonRow]

    def count(self, state: str) -> int:
        """Count the items in a state."""
        return sum(row.state == state for row in self.compared)

    @property
    def of(self) -> int:
        """Count the items on which both have a value, and may be the same or not."""
        return len(self.compared) - self.count("open")


def beside(a: Annotation, batch: Batch, person: Person, language: str) -> list[GoldComparison]:
    """Set a person's last labels in a closed batch beside the gold; only items that they labelled.

    Args:
        a: the project.
        batch: a closed one.
        person: whose labels.
        language: of the page.
    """
    closed = read(a, batch)
    labels = last(closed.labels)
    criteria = {criterion.name: criterion for criterion in a.rubric(batch.rubric).criteria}
    numbers = {item.id: number for number, item in enumerate(closed.items, 1)}
    by_criterion: dict[str, list[GoldComparisonRow]] = {}
    for value in closed.gold:
        label = labels.get((value.item, person.id, value.criterion))
        if label is None:
            continue
        if value.answered in (None, Answered.CANNOT_TELL):
            state = "open"
        else:
            state = "same" if label.given == value.given else "differs"
        row = GoldComparisonRow(
            numbers[value.item],
            value.item,
            said(criteria[value.criterion], label, language),
            _gold(criteria[value.criterion], value, language),
            state,
        )
        by_criterion.setdefault(value.criterion, []).append(row)
    return [GoldComparison(criterion, rows) for criterion, rows in by_criterion.items()]


def trained(a: Annotation, person: Person) -> tuple[int, int]:
    """Return in how many answers of the training a person chose the anchor's level, and how many they gave."""
    labels = [label for label in a.labels(batch=0) if label.person == person.id]
    number = next((batch.rubric for batch in a.batches() if batch.number == 0), None)
    figures = with_anchors(labels, a.items(0), a.rubric(number), resamples=1) if labels else []  # no interval is shown
    return sum(round(figure.right * figure.n) for figure in figures), sum(figure.n for figure in figures)


def _gold(criterion: Criterion, value: Gold, language: str) -> str:
    if value.answered is None:
        return words(language)["standing"]["tie" if value.votes else "no_label"]
    if value.answered is Answered.OK:
        return called(criterion, value.value, language)
    return words(language)["item"][value.answered]


class FeedbackLine(NamedTuple):
    """One criterion: the authored level and the person's answer, each with what it looks like."""

    name: str
    same: bool | None
    """None where no level was set."""
    authored: str
    authored_meaning: Worded
    yours: str
    yours_meaning: Worded


class FeedbackView(NamedTuple):
    """One item, and how often person and authors agreed so far."""

    lines: list[FeedbackLine]
    same: int
    of: int


def feedback(a: Annotation, rubric: Rubric, item: Item, person: Person, language: str) -> FeedbackView | None:
    """Compare a person's training labels with the authored levels; None where they have not answered this item.

    Args:
        a: the project.
        rubric: as far as it is about the item.
        item: of the training round.
        person: who labelled it.
        language: of the interface.
    """
    labels = {key: label for key, label in last(a.labels(batch=0), Phase.TRAINING).items() if key[1] == person.id}
    own = {criterion: label for (ident, _, criterion), label in labels.items() if ident == item.id}
    if not own:
        return None
    lines = [_line(c, item, own[c.name], language) for c in rubric.criteria if c.name in own]
    items = {other.id: other for other in a.items(0)}
    verdicts = [_same(items[ident].expected, label) for (ident, _, _), label in labels.items()]
    levelled = [verdict for verdict in verdicts if verdict is not None]
    return FeedbackView(lines, sum(levelled), len(levelled))


def _same(expected: dict[str, Value | None], label: Label) -> bool | None:
    if label.criterion not in expected:
        return None
    authored = expected[label.criterion]
    return label.given == (Answered.NOT_APPLICABLE.value if authored is None else authored)


def _line(criterion: Criterion, item: Item, label: Label, language: str) -> FeedbackLine:
    same = _same(item.expected, label)
    authored = item.expected.get(criterion.name)
    name = ""
    if same is not None:
        name = (
            words(language)["training"]["not_applicable"] if authored is None else called(criterion, authored, language)
        )
    return FeedbackLine(
        name=criterion.name.replace("_", " "),
        same=same,
        authored=name,
        authored_meaning=Worded("", "") if same is None else _meaning(criterion, authored, language),
        yours=said(criterion, label, language),
        yours_meaning=_meaning(criterion, label.value, language),
    )


def _meaning(criterion: Criterion, value: Value | None, language: str) -> Worded:
    if value is None:
        return worded(criterion.not_applicable, language)
    return next((worded(level.text, language) for level in criterion.levels if level.value == value), Worded("", ""))
