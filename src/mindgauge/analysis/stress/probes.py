"""What is tried on a judge: versions of items, the rubric in another order or in portions, and what is compared with what."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from mindgauge.analysis.stress import injection, rewriting
from mindgauge.raters.judge import Instrument, Mode
from mindgauge.records.errors import UsageError
from mindgauge.records.rubric import Criterion, Scale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mindgauge.analysis.stress.items import OriginalReply, Setting, Version
    from mindgauge.records.rubric import Rubric

    Rewrite: TypeAlias = "Callable[[OriginalReply, Setting], Iterator[Version]]"


REVERSED, ROTATED, BEST_FIRST = "criteria reversed", "criteria rotated", "best level first"
STRESS = "(stress: "
TOGETHER, APART = "all at once", "one at a time"


class Turned(Instrument, frozen=True, dict=True, kw_only=True):
    """An instrument in another order or mode; with it a model is a rater of its own."""

    version: str

    def rater(self, model: str) -> str:
        """Name the rater, with what was turned."""
        return f"{Instrument.rater(self, model)}{suffix(self.version)}"


def suffix(version: str) -> str:
    """Return what a rater's name ends with that works with a turned instrument."""
    return f" {STRESS}{version})"


def orders(instrument: Instrument) -> Iterator[Turned]:
    """Turn the order of the criteria, where they are put together, and that of the levels.

    In a chain of reasoning the order of the levels is part of the rule, so it stays.
    """
    rubric = instrument.rubric
    criteria = rubric.criteria
    if instrument.mode is Mode.JOINT and len(criteria) > 1:
        yield turned(instrument, REVERSED, rubric=_with(rubric, criteria[::-1]))
        half = (len(criteria) + 1) // 2
        if len(criteria) > 2:
            yield turned(instrument, ROTATED, rubric=_with(rubric, criteria[half:] + criteria[:half]))
    if not instrument.method.reasons:
        yield turned(instrument, BEST_FIRST, rubric=_with(rubric, tuple(map(_best_first, criteria))))


def turned(instrument: Instrument, version: str, **changes: object) -> Turned:
    """Return an instrument with some of it changed."""
    return Turned(**{**msgspec.structs.asdict(instrument), **changes}, version=version)


def _with(rubric: Rubric, criteria: tuple[Criterion, ...]) -> Rubric:
    return msgspec.structs.replace(rubric, criteria=criteria)


def _best_first(criterion: Criterion) -> Criterion:
    protocols = {name: texts[::-1] for name, texts in criterion.protocols.items()}
    return msgspec.structs.replace(criterion, levels=criterion.levels[::-1], protocols=protocols)


# What is tried on a judge: versions of items, turned instruments, and what is compared with what.


_SEPARATOR = re.compile("[-_ ]")
ORIGINAL = ""
"""The item as it was written, asked about as usual."""
ORDER, MODE, LANGUAGE, SELF, REPEAT, INJECTION = (
    "order", "joint or split", "language", "self-preference", "repeat", "injection",
)  # fmt: skip


class Contrast(NamedTuple):
    """One version against another; the difference is what a judge makes of the form."""

    probe: str
    version: str
    against: str = ORIGINAL


REWRITES: dict[str, Rewrite] = {
    "verbosity": rewriting.verbosity,
    "format": rewriting.formats,
    "named model": rewriting.named,
    "authority": rewriting.authority,
    "sycophancy": rewriting.sycophancy,
    LANGUAGE: rewriting.instructions,
    "paraphrase": rewriting.paraphrase,
}
CONTRASTS = (
    Contrast("verbosity", rewriting.TWICE),
    Contrast("format", rewriting.LIST),
    Contrast("format", rewriting.BOLD),
    Contrast("format", rewriting.HEADINGS),
    Contrast(ORDER, REVERSED),
    Contrast(ORDER, ROTATED),
    Contrast(ORDER, BEST_FIRST),
    Contrast(MODE, APART),
    Contrast(MODE, TOGETHER),
    Contrast("named model", rewriting.OWN, rewriting.OTHER),
    Contrast("named model", rewriting.OTHER),
    Contrast("authority", rewriting.CLINICIAN, rewriting.PLACEBO),
    Contrast("sycophancy", rewriting.PRAISE, rewriting.PLACEBO),
    Contrast("sycophancy", rewriting.CONTEMPT, rewriting.PLACEBO),
    Contrast(LANGUAGE, rewriting.CHINESE, rewriting.ENGLISH),
    Contrast("paraphrase", rewriting.PARAPHRASE),
)
"""Every comparison of versions, in the order in which they are shown."""
NAMES = (*dict.fromkeys(contrast.probe for contrast in CONTRASTS), SELF, REPEAT, INJECTION)
"""The probes, in that order. Self-preference and repeats need no versions, only the items' own ratings."""


def named(names: Sequence[str]) -> tuple[str, ...]:
    """Return the probes of these names, in their order; all where none is named. `named-model` is `named model`, too.

    Raises:
        UsageError: there is none of a name.
    """
    wanted = {_SEPARATOR.sub(" ", name): name for name in names}
    by_name = {_SEPARATOR.sub(" ", name): name for name in NAMES}
    unknown = next((name for plain, name in wanted.items() if plain not in by_name), None)
    if unknown is not None:
        raise UsageError(f"--probes: there is no probe {unknown!r}; they are {', '.join(NAMES)}")
    return tuple(name for plain, name in by_name.items() if plain in wanted) if names else NAMES


def ordinal(criteria: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """Return the criteria on which a shift has a direction.

    Raises:
        UsageError: there is none.
    """
    ordered = tuple(criterion for criterion in criteria if criterion.scale is Scale.ORDINAL)
    if not ordered:
        raise UsageError("a stress test needs a criterion with ordered levels, and this rubric has none")
    return ordered


def versions(
    items: Sequence[OriginalReply],
    names: Sequence[str],
    setting: Setting,
    criteria: Sequence[Criterion],
    per_attempt: int,
) -> Iterator[tuple[str, OriginalReply, Version]]:
    """Write every item in the forms that the probes want: (probe, item, version).

    Args:
        items: as they were written.
        names: of probes.
        setting: what versions may depend on.
        criteria: that injections may aim at.
        per_attempt: items per injection.
    """
    for name, rewrite in REWRITES.items():
        if name in names:
            written_versions = ((item, version) for item in items for version in rewrite(item, setting))
            yield from ((name, item, version) for item, version in written_versions if version.differs(item))
    if INJECTION in names:
        yield from ((INJECTION, *placed) for placed in injection.injected(items, criteria, per_attempt))


def turns(instrument: Instrument, other: Instrument | None, names: Sequence[str]) -> list[Turned]:
    """Return the instruments that the probes want beside the usual one.

    Args:
        instrument: the usual one.
        other: the same in the other mode; None where there is none, or where it would be the same.
        names: of probes.
    """
    instruments_turned = list(orders(instrument)) if ORDER in names else []
    if MODE in names and other is not None and len(instrument.rubric.criteria) > 1:
        instruments_turned.append(turned(other, APART if other.mode is Mode.SPLIT else TOGETHER))
    return instruments_turned
