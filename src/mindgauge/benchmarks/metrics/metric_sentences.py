"""What a reader meets of a metric: its sentence, the one sentence over its labels, and how its parts are drawn.

A metric brings these with it, so that terminal and report know none by name. Numbers are whole, n always stands, and of
an interval the bound that matters for safety.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from mindgauge.records.english import named, words
from mindgauge.records.rounding import count, ends, percent, plural

FEW = 5
"""Below this many conversations a bootstrap interval is not drawn: it would look far too narrow."""
SMALL = 30
"""Below this many conversations the text says that intervals are wide."""


class MetricValue(Protocol):
    """A metric's value on one slice, with everything that travels with it (as in `analysis.score.Score`)."""

    @property
    def name(self) -> str: ...  # noqa: D102 - as in `Score`, all of them
    @property
    def slice(self) -> str: ...  # noqa: D102
    @property
    def model(self) -> str: ...  # noqa: D102
    @property
    def value(self) -> float | None: ...  # noqa: D102
    @property
    def low(self) -> float | None: ...  # noqa: D102
    @property
    def high(self) -> float | None: ...  # noqa: D102
    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def clusters(self) -> int: ...  # noqa: D102
    @property
    def missing(self) -> int: ...  # noqa: D102
    @property
    def worst(self) -> float | None: ...  # noqa: D102
    @property
    def better(self) -> str: ...  # noqa: D102


F = TypeVar("F", bound=MetricValue)


class Comparators(NamedTuple):
    """What a sentence may compare a figure with."""

    figures: Mapping[str, MetricValue] = {}
    """The other metrics of the same answers, by name."""
    constant: Sequence[MetricValue] = ()
    """The same metric of answers that read nothing."""


Sentence: TypeAlias = Callable[[MetricValue, Comparators], str]


class ShareFigure(msgspec.Struct, frozen=True):
    """How a share is drawn, part by part, worst first."""

    name: str
    """Of the picture."""
    measure: str
    """What is drawn, in the subtitle."""
    worst: str
    """What the title says of the worst part: `Recognised least`."""
    done: str
    """What was done so often: `recognised`."""
    folded: str = ""
    """The title under which it is folded; open if not given."""
    unranked: bool = False
    """Parts with fewer than `SMALL` messages are not ranked, and stand last."""


class MetricWords(msgspec.Struct, frozen=True):
    """The words of a metric."""

    title: str = ""
    """What it is called in a sentence, `{}` standing for the criterion; the metric's name if not given."""
    sentence: Sentence | None = None
    """What its value on the whole says of a model."""
    across: Callable[[Sequence[MetricValue]], str] | None = None
    """What its values say together, one for each label."""
    picture: ShareFigure | None = None


def hits(share: float | None, n: int) -> int:
    """Return how many of n a share is."""
    return round((share or 0.0) * n)


def with_most(share: float | None, high: float | None) -> str:
    """Write a feared share, and how large it could be, with the decimals that tell the two apart."""
    if share is None or high is None or share == 1:
        return percent(share)
    if high > 0.995:
        return f"{percent(share)}; it could be nearly all"
    value, limit = ends(share, high, "share")
    return f"{value}; it could be as many as {limit}"


def with_least(share: float | None, low: float | None) -> str:
    """Write a wanted share, and how small it could be, with the decimals that tell the two apart."""
    if share is None or low is None or share == 0:
        return percent(share)
    if low < 0.005:
        return f"{percent(share)}; it could be nearly none"
    limit, value = ends(low, share, "share")
    return f"{value}; it could be as few as {limit}"


# -- messages that are taken for what they are not --------------------------------------------------------------------


def taken(*, kind: tuple[str, str], mistaken_for: str, if_none: str = "", missed: str = "") -> Sentence:
    """Return the sentence that says how often messages of one kind were taken for another.

    Args:
        kind: what tells such messages: of one, and of several.
        mistaken_for: what they were taken for.
        if_none: what the model did where it took none of them for that; `treated none as …` if not given.
        missed: the metric of how often what they were taken for is missed: where all are taken for it and none of it is
            missed, the sentence says that this is no merit.
    """

    def sentence(figure: MetricValue, comparators: Comparators) -> str:
        beside = comparators.figures.get(missed)
        indifferent = figure.value == 1 and beside is not None and beside.value == 0
        conclusion = f" It takes every message for {mistaken_for}: that it misses none shows no skill."
        return (
            _taken(figure, kind, mistaken_for, if_none or f"treated none as {mistaken_for}") + conclusion * indifferent
        )

    return sentence


def _taken(figure: MetricValue, kind: tuple[str, str], mistaken_for: str, if_none: str) -> str:
    """Say how often messages were taken for what they are not, and what the missing answers could add to it.

    `n` counts answers, `clusters` messages: where each was asked about once, the sentence speaks of messages.
    """
    repeated = figure.n > figure.clusters
    messages = plural(figure.clusters, f"message {kind[0]}", f"messages {kind[1]}")
    base = f"{plural(figure.n, 'answer')} to {messages}" if repeated else messages
    if figure.missing >= figure.n:
        return f"None of {base} could be used, so nothing can be said here." if repeated else (
            f"No answer on {messages} could be used, so nothing can be said here."
        )  # fmt: skip
    number = hits(figure.value, figure.n)
    if figure.n == 1:
        return f"The one message {kind[0]} was {'' if number else 'not '}treated as {mistaken_for}; one message shows next to nothing."
    if number == figure.n:
        share = f"100 %; at least {percent(figure.low)}" if figure.low is not None else "100 %"
    else:
        share = with_most(figure.value, figure.high)
    if repeated:
        text = f"In {count(number)} of {base}, the model saw {mistaken_for} ({share})"
    else:
        amount = "all" if number == figure.n else count(number)
        text = f"Of {base}, the model {f'treated {amount} as {mistaken_for}' if number else if_none} ({share})"
    return text + _lost(figure) + "."


def _lost(figure: MetricValue) -> str:
    if not figure.missing:
        return ""
    worst = hits(figure.worst, figure.n)
    pronoun = "it" if figure.missing == 1 else "they"
    return f"; {plural(figure.missing, 'answer')} could not be used, and if {pronoun} had gone wrong too it would be {count(worst)} ({percent(figure.worst)})"


# -- the right class --------------------------------------------------------------------------------------------------


def right(*, of_read: str) -> Sentence:
    """Return the sentences that say how many answers are right, beside those that could be read and a constant answer.

    Args:
        of_read: the metric that is the same of the answers that could be read.
    """

    def sentence(figure: MetricValue, others: Comparators) -> str:
        read = others.figures.get(of_read)
        return " ".join(filter(None, (_right(figure), _of_read(figure, read), _beside(figure, others.constant))))

    return sentence


def _right(figure: MetricValue) -> str:
    if figure.missing >= figure.n:
        return f"None of its {plural(figure.n, 'answer')} could be used."
    text = f"It named the right class in {count(hits(figure.value, figure.n))} of {plural(figure.n, 'answer')}"
    lost = f"; {count(figure.missing)} could not be used and count as wrong" if figure.missing else ""
    return f"{text} ({with_least(figure.value, figure.low)}){lost}."


def _of_read(strict: MetricValue, read: MetricValue | None) -> str:
    """Say how many of the answers that could be read are right, where that is not the same; empty where it is."""
    if read is None or not strict.missing or not read.n:
        return ""
    number = hits(read.value, read.n)
    return f"Of the {plural(read.n, 'answer')} that could be read, {count(number)} {'is' if number == 1 else 'are'} right ({percent(read.value)})."


def _beside(figure: MetricValue, constant: Sequence[MetricValue]) -> str:
    """Say what the best answer that reads nothing would reach; empty where nobody asks."""
    valued = [(other.value, other.model) for other in constant if other.value is not None]
    if not valued or figure.missing >= figure.n:
        return ""
    best, name = max(valued, key=lambda pair: pair[0])
    equal = [model for value, model in valued if value == best]
    answer = next((model for model in equal if model.startswith("always ")), name).removeprefix("always ")
    low = figure.low if figure.low is not None else 0.0
    compared = (
        ""
        if low > best
        else ", which its interval does not exclude"
        if (figure.value or 0.0) >= best
        else ", which is more"
    )
    return f"Answering {words(answer)} to everything would be right in {percent(best)}{compared}."


# -- label by label ---------------------------------------------------------------------------------------------------


def least_recognised(recalls: Sequence[MetricValue]) -> str:
    """Name the class that is recognised least; empty where there is nothing to compare.

    A class with too few messages is named apart, so that it does not hide one that says more.
    """
    usable = [recall for recall in recalls if recall.missing < recall.n]
    worst, value = lowest(usable)
    if not worst:
        return ""
    if value == 0 and len(worst) > 3:
        return f"It recognised no {named([words(recall.slice) for recall in worst], joined='or')}."
    rarer = [
        recall for recall in usable if recall.clusters < FEW <= worst[0].clusters and (recall.value or 0.0) < value
    ]
    rare_classes = f"; of rarer classes, {named([_counted(recall) for recall in rarer])}" if rarer else ""
    return f"It recognised {named([_counted(recall) for recall in worst])} least{rare_classes}."


def _counted(recall: MetricValue) -> str:
    return f"{words(recall.slice)} ({count(hits(recall.value, recall.n))} of {count(recall.n)})"


def lowest(figures: Sequence[F]) -> tuple[list[F], float]:
    """Return the worst figures and their value: all that tie, unless all do; of those with enough conversations, if any."""
    valued = [(figure.value, figure) for figure in figures if figure.value is not None]
    solid = [(value, figure) for value, figure in valued if figure.clusters >= FEW] or valued
    edge = max if valued and valued[0][1].better == "lower" else min
    floor = edge((value for value, _ in solid), default=0.0)
    worst = [figure for value, figure in solid if value == floor]
    return (worst, floor) if len(worst) < len(solid) else ([], floor)
