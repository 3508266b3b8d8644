"""What the released outputs give, beside what they state and what the paper prints.

Ethics and privacy, for whichever models' outputs are there; and the ranks of the paper's own table, put through its own
aggregation. Ranks per task cannot be recomputed: their scores are not released.
"""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from mindgauge.benchmark import Cell
from mindgauge.benchmarks.trustmh.released import ethics, outputs
from mindgauge.benchmarks.trustmh.released.files import Files
from mindgauge.stats import agreement, classification

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PUBLISHED = Path(__file__).with_name("published.toml")
NO_SCORES = "the scores behind the ranks are not released"
NOT_STORED = "the raw outputs are not stored"
SAME = 1e-6
"""How far a number that a file states to all digits may be off."""
_TIERS = ("tier_1", "tier_2a", "tier_2b")


def reproduce(data: Path) -> Iterator[Cell]:
    """Recompute what the files below a folder allow.

    Raises:
        DataError: there is no such folder, or a file is broken.
    """
    files = Files.below(data)
    published = {table["name"]: table for table in tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["table"]}
    yield from _ranks(published)
    yield from _ethics(files, published["derived.ethics"])
    yield from _awareness(files, published["derived.privacy_awareness"])
    yield from _leakage(files)


# -- ranks ------------------------------------------------------------------------------------------------------------


def _ranks(published: dict[str, Any]) -> Iterator[Cell]:
    ranks = published["ranks"]
    models: list[str] = ranks["columns"]
    for task in ranks["rows"]:
        yield from (Cell("ranks", task, model, None, NO_SCORES) for model in models)
    for place, model in enumerate(models):
        for dimension, means in _means(ranks).items():
            yield Cell("derived.mean_ranks", model, dimension, float(means[place]))
            radar = float(stats.rankdata(means, method="min")[place])
            table = "radar" if model in published["radar"]["rows"] else "derived.radar"
            yield Cell(table, model, dimension, radar)


def _means(ranks: dict[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the mean rank of each model over the tasks of a dimension."""
    tasks: dict[str, list[list[float]]] = defaultdict(list)
    for name, row in ranks["rows"].items():
        tasks[_SHORT.get(name.split(":")[0], name.split(":")[0])].append(row)
    return {dimension: np.mean(rows, axis=0).round(9) for dimension, rows in tasks.items()}


_SHORT = {"Anti-Sycophancy": "Anti-Syc."}


# -- ethics -----------------------------------------------------------------------------------------------------------


def _ethics(files: Files, derived: dict[str, Any]) -> Iterator[Cell]:
    found = {one.model: one for one in ethics.stored(files)}
    for model in derived["rows"].keys() - found.keys():
        lacking = f"no outputs of {model} here"
        yield from (Cell("derived.ethics", model, column, None, lacking) for column in derived["columns"])
    for model, one in found.items():
        expected = [str(row["ground_truth_option"]) for row in one.judged]
        chosen = [str(row["model_choice_option"]) for row in one.judged]
        right = [a == b for a, b in zip(expected, chosen, strict=True)]
        macro = _macro_f1(expected, chosen)
        n = f"{len(right)} items"
        for name in ("accuracy", "precision", "recall", "f1"):
            yield Cell("ethics", model, name, float(np.mean(right)), n, stated=one.stated.get(name), tolerance=SAME)
        yield Cell(
            "ethics",
            model,
            "f1",
            macro,
            "macro over the letters that are right answers; theirs is the accuracy",
            repaired=True,
        )
        yield _read_anew(model, one)
        values = {name: [row["judge_parsed"][name] for row in one.judged] for name in ethics.PRINCIPLES}
        for name, given in values.items():
            margin = 1.96 * float(np.std(given, ddof=1)) / len(given) ** 0.5
            stated = one.stated.get(name) or {}
            yield Cell(
                "ethics", model, f"{name} mean", float(np.mean(given)), n, stated=stated.get("mean"), tolerance=SAME
            )
            yield Cell("ethics", model, f"{name} ±", margin, n, stated=stated.get("ci_margin"), tolerance=SAME)
        if model in derived["rows"]:
            counts = Counter(chosen)
            summed = {"accuracy": float(np.mean(right)), "macro_f1": macro, "judge_mean": float(np.mean([*values.values()])),
                      **{letter: float(counts[letter]) for letter in "ABCD"}}  # fmt: skip
            yield from (Cell("derived.ethics", model, column, value) for column, value in summed.items())


def _read_anew(model: str, one: ethics.Stored) -> Cell:
    """Return the accuracy where the choice is read from the raw output by our rules."""
    raw = [row.get("response", {}).get("content") for row in one.results]
    if not any(raw):
        return Cell("ethics", model, "accuracy", None, NOT_STORED, repaired=True)
    told = [outputs.choice(str(text or ""), "ABCD") for text in raw]
    hits = [a == row["expected_reasoning"] for a, row in zip(told, one.results, strict=True)]
    note = f"read from the raw output, unreadable ones wrong ({told.count(None)} of {len(told)})"
    return Cell("ethics", model, "accuracy", float(np.mean(hits)), note, repaired=True)


def _macro_f1(expected: Sequence[str], chosen: Sequence[str]) -> float:
    letters = sorted({*expected})
    codes = [np.array([letters.index(c) if c in letters else -1 for c in choices]) for choices in (expected, chosen)]
    return float(classification.macro_f1(agreement.confusion(codes[0], codes[1], len(letters)))[0])


# -- privacy ----------------------------------------------------------------------------------------------------------


def _awareness(files: Files, derived: dict[str, Any]) -> Iterator[Cell]:
    found = outputs.expectations(files)
    models = sorted({model for model, _ in found} | {*derived["rows"]})
    common = {
        tier: set.intersection(*(set(items) for (_, t), items in found.items() if t == tier))
        if any(t == tier for _, t in found)
        else set()
        for tier in _TIERS
    }
    stated = outputs.stated_correlations(files)
    for model in models:
        table = {tier: found.get((model, tier), {}) for tier in _TIERS}
        whole = {tier: _pearson(items.values()) for tier, items in table.items()}
        shared = {
            tier: _pearson(table[tier][item] for item in sorted(common[tier] & table[tier].keys())) for tier in _TIERS
        }
        if model in stated:
            yield Cell("privacy_awareness", model, "tier_1", whole["tier_1"], stated=stated[model], tolerance=SAME)
        if model not in derived["rows"]:
            continue
        lacking = "" if any(table.values()) else f"no outputs of {model} here"
        for tier, value in whole.items():
            yield Cell("derived.privacy_awareness", model, tier, value, lacking or f"{len(table[tier])} items")
            note = f"on the {len(common[tier])} items that all models have"
            yield Cell("derived.privacy_awareness", model, tier, shared[tier], lacking or note, repaired=True)
        known = [value for value in whole.values() if value is not None]
        mean = float(np.mean(known)) if len(known) == len(_TIERS) else None
        yield Cell("derived.privacy_awareness", model, "mean", mean, lacking)
        yield Cell(
            "derived.privacy_awareness", model, "n_2", float(len(table["tier_2a"])) if not lacking else None, lacking
        )


def _pearson(pairs: Any) -> float | None:
    people, model = np.array([*pairs], dtype=float).reshape(-1, 2).T
    if len(people) < 3 or min(np.ptp(people), np.ptp(model)) == 0:
        return None
    return float(stats.pearsonr(people, model).statistic)


def _leakage(files: Files) -> Iterator[Cell]:
    for model, stated in sorted(outputs.stated_leakage(files).items()):
        answered = outputs.leakage(files, model)
        for (kind, metric), mean in stated.items():
            value = answered.get((kind, metric))
            note = (
                ""
                if value is not None
                else "the proxy's predictions are not stored"
                if metric == "proxy-model"
                else "no stored replies"
            )
            yield Cell("privacy_leakage", model, f"{kind} {metric}", value, note, stated=mean, tolerance=SAME)
