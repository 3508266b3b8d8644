"""Which samples are asked about: by their tags, and not more than some; variants of one stay together."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from mindgauge.records import BASE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mindgauge.records import Sample


def base(sample: Sample) -> str:
    """Return the id of the sample that a variant comes from; its own, where it is none."""
    return sample.tags.get(BASE, sample.id)


def chosen(
    samples: list[Sample],
    wanted: Mapping[str, tuple[str, ...]],
    limit: int | None,
    kind: Callable[[Sample], object],
    variants: Callable[[list[Sample]], list[Sample]] | None = None,
) -> list[Sample]:
    """Return the samples that are asked about.

    Args:
        samples: to choose from.
        wanted: tag → values to keep.
        limit: at most this many, each with its variants.
        kind: the class of a sample; a limit takes from each in turn.
        variants: makes variants of samples; only of those that are kept.
    """
    made_by_variants = _made(samples, variants) if variants is not None else set()
    selected = matching(samples, {tag: values for tag, values in wanted.items() if tag not in made_by_variants})
    selected = selected if limit is None else spread(selected, limit, kind)
    return selected if variants is None else matching(variants(selected), wanted)


def _made(samples: list[Sample], variants: Callable[[list[Sample]], list[Sample]]) -> set[str]:
    """Return the tags that variants have other values of than the samples they are made of."""
    before = {tag: sample.tags[tag] for sample in samples[:1] for tag in sample.tags}
    tags = (item for sample in variants(samples[:1]) for item in sample.tags.items())
    return {tag for tag, value in tags if before.get(tag) != value}


def matching(samples: list[Sample], wanted: Mapping[str, tuple[str, ...]]) -> list[Sample]:
    """Return the samples whose tags have these values, and what variants among them are compared with."""
    matched = {s.id for s in samples if all(s.tags.get(tag) in values for tag, values in wanted.items())}
    compared = {base(s) for s in samples if s.id in matched}
    return [s for s in samples if s.id in matched or s.id in compared]


def spread(samples: list[Sample], limit: int, kind: Callable[[Sample], object]) -> list[Sample]:
    """Take samples in turn from each kind, so that a short run still sees every one; each with all its variants.

    The order of the file is kept. A sample and its variants count as one.
    """
    groups: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        groups[base(sample)].append(sample)
    turns: dict[object, int] = {}
    ranked = []
    for position, (first, *_) in enumerate(groups.values()):
        turns[kind(first)] = turns.get(kind(first), 0) + 1
        ranked.append((turns[kind(first)], position))
    places = {position for _, position in sorted(ranked)[:limit]}
    chosen = {ident for position, ident in enumerate(groups) if position in places}
    return [sample for sample in samples if base(sample) in chosen]
