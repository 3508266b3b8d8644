"""How what models expect of privacy goes together with people, from the stored outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mindgauge.benchmarks import RecomputedCell
from mindgauge.benchmarks.trustmh import intervals
from mindgauge.benchmarks.trustmh.released import outputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease
    from mindgauge.benchmarks.trustmh.released.outputs import ItemOutput

SAME = 1e-6
TIERS = ("1", "2a", "2b")
TABLE = "derived.privacy_awareness"


def cells(files: TrustMHRelease, derived: dict[str, Any]) -> Iterator[RecomputedCell]:
    """Recompute the correlations: as published, and on the items that all models have.

    Args:
        files: where to look.
        derived: the table of what was recomputed when the benchmark was specified.
    """
    answers, faults = outputs.answers(files)
    stated, unreadable = outputs.stated_correlations(files)
    for source, fault in (faults | unreadable).items():
        yield RecomputedCell("files", source, "content", None, fault, stated="readable")
    names, _ = outputs.spellings([*(answer.model for answer in answers), *stated], derived["rows"])
    by_model: dict[tuple[str, str], dict[int, ItemOutput]] = {}
    for answer in answers:
        by_model.setdefault((names[answer.model], answer.tier), {})[answer.item] = answer
    common = {
        tier: set.intersection(*item_sets)
        if (item_sets := [{*items} for (_, t), items in by_model.items() if t == tier])
        else set()
        for tier in TIERS
    }
    stated_by_name = {names[model]: value for model, value in stated.items()}
    for model in sorted({*(model for model, _ in by_model), *derived["rows"], *stated_by_name}):
        table = {tier: by_model.get((model, tier), {}) for tier in TIERS}
        if model in stated_by_name:
            value, note = _published(table["1"].values())
            yield RecomputedCell(
                "privacy_awareness", model, "tier_1", value, note, stated=stated_by_name[model], tolerance=SAME
            )
        if model in derived["rows"]:
            yield from _derived(model, table, common)
        elif model in stated_by_name:
            yield RecomputedCell(
                "privacy_awareness", model, "tier_1", *_repaired(table["1"], common["1"]), repaired=True
            )


def _derived(
    model: str, table: dict[str, dict[int, ItemOutput]], common: dict[str, set[int]]
) -> Iterator[RecomputedCell]:
    lacking = "" if any(table.values()) else f"no outputs of {model} that can be read"
    published = {tier: _published(items.values()) for tier, items in table.items()}
    for tier, (value, note) in published.items():
        yield RecomputedCell(TABLE, model, f"tier_{tier}", value, lacking or note)
        repaired = (None, lacking) if lacking else _repaired(table[tier], common[tier])
        yield RecomputedCell(TABLE, model, f"tier_{tier}", *repaired, repaired=True)
    values = [value for value, _ in published.values() if value is not None]
    mean = float(np.mean(values)) if len(values) == len(TIERS) else None
    yield RecomputedCell(TABLE, model, "mean", mean, lacking or ("" if mean is not None else "a tier is missing"))
    yield RecomputedCell(TABLE, model, "n_2", float(len(table["2a"])) if table["2a"] else None, lacking)


def _published(answers: Any) -> tuple[float | None, str]:
    return _correlated([(a.people, a.number) for a in answers])


def _repaired(items: dict[int, ItemOutput], common: set[int]) -> tuple[float | None, str]:
    """Return the correlation on the items that all models have, answers read anew where they are stored."""
    shared = [items[item] for item in sorted(common & items.keys())]
    read = [a.number if a.raw is None else outputs.reread(a.raw) for a in shared]
    value, note = _correlated([(a.people, number) for a, number in zip(shared, read, strict=True)])
    changed = sum(a.number != number for a, number in zip(shared, read, strict=True))
    anew = f"; read anew, {changed} otherwise than published" if any(a.raw is not None for a in shared) else ""
    return value, f"{note}, those that all models have{anew}"


def _correlated(pairs: Sequence[tuple[float, float | None]]) -> tuple[float | None, str]:
    numbered = [(people, number) for people, number in pairs if number is not None]
    value, note = intervals.correlation([people for people, _ in numbered], [number for _, number in numbered])
    return value, note + f", {len(pairs) - len(numbered)} unreadable" * (len(numbered) < len(pairs))
