"""What a card warns of: few systems, one influential system, contested items, ceilings, kinship of judge and subject."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.raters.family import same_family
from mindgauge.rounding import decimal, percent, precise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.reliability.card import Bound, Part
    from mindgauge.analysis.reliability.rule import Facts
    from mindgauge.analysis.reliability.scale import Scale

FEW_SYSTEMS = 10
"""A place to warn, no threshold: with 9 systems an ICC(C,1) of .94 is surely above .75, with 20 one of .89."""
FEW_BELOW = 30
"""With fewer ratings below the best level, intervals are too narrow, however many lie at it (docs/coverage.md)."""
INFLUENCE = 0.10
"""A change of ICC(C,1) by at least this much when one system is left out is worth naming."""
TOP = 0.80
"""From this share of best levels on, there is little left to agree on."""
CONTESTED = 0.10
SELECTED = 0.5
"""Standardised difference (Cohen's medium effect) of the judge's scores between subjects with and without people."""


class Seen(NamedTuple):
    """What the warnings are drawn from. `judged` and `rated` are the valued rows of the judge and of people."""

    judge: str
    facts: Facts
    bounds: dict[str, Bound]
    systems: Sequence[str]
    by_system: Sequence[Part]
    without: Sequence[float | None]
    contested: int
    unrated: int
    judged: pl.DataFrame
    rated: pl.DataFrame
    scale: Scale


def warnings(seen: Seen) -> list[str]:
    """Return what a reader of the card must know, one sentence each."""
    return [*_data(seen), *_systems(seen), *_kin(seen), *_range(seen)]


def _data(seen: Seen) -> Iterator[str]:
    if seen.unrated:
        yield f"{seen.unrated} subjects that people rated were not given to this judge"
    if seen.facts.missing_share > 0:
        yield f"{precise(seen.facts.missing_share)} of the subjects given to both lack a value on one side"
    if seen.facts.subjects and seen.contested >= CONTESTED * seen.facts.subjects:
        apart = "half the scale or more apart" if seen.scale.ordered else "not of one mind"
        yield f"{seen.contested} of {seen.rated['subject'].n_unique()} subjects are contested: people, or people and judge, are {apart}"
    if not _has(seen, "repeat_icc_a1", "repeat_alpha"):
        yield "no subject was judged twice, so the judge's agreement with itself is not known"
    if not _has(seen, "ceiling_icc_a1", "ceiling_alpha"):
        yield "no subject has values from two people, so it is not known how far people agree"
    yield from _choice(seen)


def _has(seen: Seen, *names: str) -> bool:
    return any(name in seen.bounds and seen.bounds[name].value is not None for name in names)


def _choice(seen: Seen) -> Iterator[str]:
    """People who rated what the judge scored unlike the rest say little about the rest."""
    if not seen.scale.ordered:
        return
    rated = seen.judged.join(seen.rated, on="subject", how="semi")["number"].to_numpy()
    others = seen.judged.join(seen.rated, on="subject", how="anti")["number"].to_numpy()
    if min(len(rated), len(others)) < 20:
        return
    spread = float(np.sqrt((rated.var(ddof=1) + others.var(ddof=1)) / 2))
    gap = float(rated.mean() - others.mean())
    if spread and abs(gap) >= SELECTED * spread:
        side = "lower" if gap < 0 else "higher"
        yield f"people rated subjects that this judge scored {side} ({decimal(float(rated.mean()))}) than the {len(others)} others ({decimal(float(others.mean()))}): agreement here may not carry over to them"


def _systems(seen: Seen) -> Iterator[str]:
    n = seen.facts.systems
    if n < 2:
        return
    if n < FEW_SYSTEMS:
        yield f"only {n} systems: what is said of ranking rests on {n} points"
    whole = seen.bounds.get("system_icc_c1")
    moved = [
        (abs(v - whole.value), name, v)
        for name, v in zip(seen.systems, seen.without, strict=False)
        if v is not None and whole and whole.value is not None
    ]
    if moved:
        change, name, value = max(moved)
        if change >= INFLUENCE and whole and whole.value is not None:
            yield f"one system carries much: without {name}, ICC(C,1) of system means goes from {decimal(whole.value)} to {decimal(value)}"
    biases = [(part.estimates["bias"].value, part.name) for part in seen.by_system if "bias" in part.estimates]
    known = [(value, name) for value, name in biases if value is not None]
    if len(known) > 1 and max(known)[0] - min(known)[0] >= 0.1 * seen.facts.span:
        (least, low), (most, high) = min(known), max(known)
        yield f"bias differs between systems: {decimal(least, signed=True)} for {low}, {decimal(most, signed=True)} for {high}"


def _kin(seen: Seen) -> Iterator[str]:
    kin = [name for name in seen.systems if name and same_family(seen.judge, name)]
    if not kin:
        return
    said = f"the judge comes from the family of {', '.join(kin)}; models tend to favour their own kind"
    of = {part.name: part.estimates["bias"].value for part in seen.by_system if "bias" in part.estimates}
    own = [v for name in kin if (v := of.get(name)) is not None]
    others = [v for name, v in of.items() if name not in kin and v is not None]
    if own and others:
        said += f" (bias {decimal(float(np.mean(own)), signed=True)} for its kin, {decimal(float(np.mean(others)), signed=True)} for others)"
    yield said


def _range(seen: Seen) -> Iterator[str]:
    top = seen.bounds.get("people_top")
    if top is not None and top.value is not None and top.value >= TOP:
        yield f"people gave the best level to {percent(top.value)}: little is left to agree on, so chance-corrected coefficients are low whoever judges, and AC is high for the same reason"
    below = len(seen.rated.join(seen.judged, on="subject", how="semi").filter(pl.col("number") < seen.scale.high))
    if seen.scale.ordered and seen.scale.levels and 0 < below < FEW_BELOW <= seen.facts.subjects:
        yield f"only {below} of people's ratings lie below the best level: the intervals are too narrow (docs/coverage.md)"
    ceiling = seen.bounds.get("ceiling_icc_a1")
    if ceiling is not None and ceiling.value is not None and ceiling.value < 0.75:
        yield f"people agree among themselves only to ICC(A,1) {decimal(ceiling.value)}: the criterion, not only the judge, sets the limit"
