"""How far the people of a batch agree, whether that reaches the gate, and what they still disagree on.

The gate looks at one coefficient of each criterion, fixed beforehand: Fleiss' kappa where its levels are only
different, Krippendorff's ordinal alpha where they are ordered. Both are always given, with intervals.

**People who say nothing.** "Cannot tell", "does not apply" and items handed on are missing cells: no value, and counted
as `missing`. Alpha takes each item with two values or more. So does our Fleiss' kappa, each such item with the same
weight, however many people valued it; statsmodels' takes complete items only, and equals ours on them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from mindgauge.annotation.records import Answered
from mindgauge.records.errors import DataError
from mindgauge.records.rubric.criterion import Scale

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from mindgauge.annotation.records import Item, Label
    from mindgauge.records import Value
    from mindgauge.records.rubric.criterion import Criterion
    from mindgauge.records.rubric.rubric import Rubric

Labels: TypeAlias = "Mapping[tuple[str, str, str], Label]"
"""(item, person, criterion) → the label that binds."""
_ROUNDING = 1e-9
"""A coefficient this close below the gate reaches it."""


class AgreementFigure(msgspec.Struct, frozen=True):
    """Agreement on one criterion, or on one of its levels against all others."""

    criterion: str
    label: str
    """Empty for the whole criterion; else the level."""
    n: int
    """Items with two values or more."""
    items: int
    people: int
    missing: int
    """Cells, of items times people, without a value."""
    agreement: float | None
    """Mean over items of the share of pairs of people that agree."""
    fleiss: float | None
    fleiss_low: float | None
    fleiss_high: float | None
    alpha: float | None
    alpha_low: float | None
    alpha_high: float | None
    alpha_level: Literal["nominal", "ordinal"]
    gated: Literal["fleiss", "alpha"]
    """The coefficient that the gate looks at."""
    note: str = ""
    """Why a coefficient is not defined."""

    @property
    def coefficient(self) -> float | None:
        """The value that the gate looks at."""
        return self.fleiss if self.gated == "fleiss" else self.alpha


class Anchored(msgspec.Struct, frozen=True):
    """One person beside the levels that anchors were written for, on one criterion."""

    person: str
    criterion: str
    n: int
    """Anchors labelled."""
    missing: int
    """Of these, without a value where one was expected, or with one where none was; they count as not right."""
    right: float
    """Share of n."""
    kappa: float | None
    """Cohen's, of those with both values; quadratic weights where levels are ordered."""
    kappa_low: float | None
    kappa_high: float | None
    note: str = ""


def measure(
    labels: Labels,
    items: Sequence[Item],
    people: Sequence[str],
    rubric: Rubric,
    *,
    resamples: int = 2000,
    seed: int = 0,
) -> list[AgreementFigure]:
    """Measure agreement per criterion, each followed by its levels that occur, in the rubric's order.

    Intervals are 95 % percentile bootstrap over clusters of items. A criterion is measured on the items that it is
    about; where there is none, or all people say of all of them that it does not apply, it has no figure.

    Raises:
        DataError: a value is not one of the rubric's levels.
    """
    figures: list[AgreementFigure] = []
    for criterion in rubric.criteria:
        about = [item for item in items if criterion.about(item.tags)]
        cells = [[labels.get((item.id, person, criterion.name)) for person in people] for item in about]
        kinds = {label.answered if label else None for row in cells for label in row}
        if kinds <= {Answered.NOT_APPLICABLE}:
            continue
        codes = [[_place(criterion, label) for label in row] for row in cells]
        clusters = [item.cluster or item.id for item in about]
        ordinal = criterion.scale is Scale.ORDINAL
        figures.append(_figure(criterion, "", codes, clusters, ordinal=ordinal, resamples=resamples, seed=seed))
        for place in sorted({code for row in codes for code in row if code is not None}):
            rest = [[None if code is None else int(code == place) for code in row] for row in codes]
            name = str(criterion.values[place])
            figures.append(_figure(criterion, name, rest, clusters, ordinal=False, resamples=resamples, seed=seed))
    return figures


def _place(criterion: Criterion, label: Label | None) -> int | None:
    """Return where a label's level stands in the rubric's order; None where there is no value."""
    if label is None or label.answered is not Answered.OK:
        return None
    try:
        return criterion.values.index(label.value)
    except ValueError as error:
        raise DataError(
            f"{criterion.name}: {label.value!r} was labelled, but is not one of its levels; "
            "measure it under the version of the rubric that it was given under"
        ) from error


def _figure(
    criterion: Criterion,
    label: str,
    codes: list[list[int | None]],
    clusters: list[str],
    *,
    ordinal: bool,
    resamples: int,
    seed: int,
) -> AgreementFigure:
    from mindgauge.stats import agreement as stats

    levels = range(len(criterion.values)) if not label else (0, 1)
    level: Literal["nominal", "ordinal"] = "ordinal" if ordinal else "nominal"
    fleiss = stats.fleiss(codes, levels=levels, cluster=clusters, resamples=resamples, seed=seed)
    alpha = stats.alpha(codes, level, levels=levels, cluster=clusters, resamples=resamples, seed=seed)
    share = float(stats.percent(stats.pairs(stats.counts(stats.encode(codes, levels).codes, len(levels))))[0])
    return AgreementFigure(
        criterion=criterion.name,
        label=label,
        n=sum(sum(code is not None for code in row) > 1 for row in codes),
        items=len(codes),
        people=len(codes[0]),
        missing=sum(code is None for row in codes for code in row),
        agreement=None if math.isnan(share) else share,
        fleiss=fleiss.value,
        fleiss_low=fleiss.low,
        fleiss_high=fleiss.high,
        alpha=alpha.value,
        alpha_low=alpha.low,
        alpha_high=alpha.high,
        alpha_level=level,
        gated="alpha" if criterion.scale is Scale.ORDINAL else "fleiss",
        note=fleiss.undefined or alpha.undefined,
    )


def passes(figures: Iterable[AgreementFigure], gate: float) -> bool:
    """Say whether each criterion reaches the gate."""
    return not below(figures, gate)


def below(figures: Iterable[AgreementFigure], gate: float) -> list[str]:
    """Return the criteria that do not reach the gate.

    Where all values are the same, no coefficient is defined, and perfect agreement reaches every gate. Where no item
    has two values, nobody agrees with anybody, and none is reached.
    """
    return [figure.criterion for figure in figures if not figure.label and not _reaches(figure, gate)]


def _reaches(figure: AgreementFigure, gate: float) -> bool:
    if figure.coefficient is None:
        return figure.agreement == 1.0
    return figure.coefficient >= gate - _ROUNDING


def disagreed(
    labels: Labels, items: Iterable[Item], people: Sequence[str], handed_on: Collection[tuple[str, str]]
) -> list[str]:
    """Return the ids of items that all people are finished with and do not agree on, in the items' order.

    They do not agree where two answers on one criterion differ ("cannot tell" differs from every value), and where
    fewer than two people labelled it.

    Args:
        labels: the last ones.
        items: in order.
        people: ids of those who label.
        handed_on: (person, item).
    """
    by_item: dict[str, dict[str, dict[str, object]]] = {}  # item → criterion → person → answer
    for (ident, person, criterion), label in labels.items():
        if person in people and label.answered is not Answered.WITHDRAWN:
            by_item.setdefault(ident, {}).setdefault(criterion, {})[person] = label.given
    items_left = []
    for item in items:
        answers = by_item.get(item.id, {})
        labelled = {person for by_person in answers.values() for person in by_person}
        if any(person not in labelled and (person, item.id) not in handed_on for person in people):
            continue
        if len(labelled) < 2 or any(len(set(a.values())) > 1 or len(a) < 2 for a in answers.values()):
            items_left.append(item.id)
    return items_left


def with_anchors(
    labels: Iterable[Label], items: Iterable[Item], rubric: Rubric, *, resamples: int = 2000, seed: int = 0
) -> list[Anchored]:
    """Compare people with the levels that anchors were written for: first answers, before any feedback.

    Args:
        labels: of the training round.
        items: the anchors.
        rubric: they were labelled under.
        resamples: of the bootstrap over anchors.
        seed: of the bootstrap.
    """
    expected = {item.id: item.expected for item in items}
    first: dict[tuple[str, str], dict[str, Label]] = {}  # (person, criterion) → item → label
    for label in sorted(labels, key=lambda label: label.number):
        if label.criterion in expected.get(label.item, {}) and label.answered is not Answered.WITHDRAWN:
            first.setdefault((label.person, label.criterion), {}).setdefault(label.item, label)
    people = dict.fromkeys(person for person, _ in first)
    return [
        _anchored(person, criterion, first[person, criterion.name], expected, resamples, seed)
        for person in people
        for criterion in rubric.criteria
        if (person, criterion.name) in first
    ]


def _anchored(
    person: str,
    criterion: Criterion,
    first: dict[str, Label],
    expected: dict[str, dict[str, Value | None]],
    resamples: int,
    seed: int,
) -> Anchored:
    from mindgauge.stats import agreement as stats

    wanted = [expected[item][criterion.name] for item in first]
    values = [label.value if label.answered is Answered.OK else None for label in first.values()]
    right = [
        value == want if want is not None else label.answered is Answered.NOT_APPLICABLE
        for value, want, label in zip(values, wanted, first.values(), strict=True)
    ]
    place: dict[Value | None, int] = {value: position for position, value in enumerate(criterion.values)}
    kappa = stats.kappa(
        [[place.get(want), place.get(value)] for want, value in zip(wanted, values, strict=True)],
        "quadratic" if criterion.scale is Scale.ORDINAL else "nominal",
        levels=range(len(place)),
        resamples=resamples,
        seed=seed,
    )
    return Anchored(
        person=person,
        criterion=criterion.name,
        n=len(right),
        missing=sum((want is None) != (value is None) for want, value in zip(wanted, values, strict=True)),
        right=sum(right) / len(right),
        kappa=kappa.value,
        kappa_low=kappa.low,
        kappa_high=kappa.high,
        note=kappa.undefined,
    )
