"""The paper's tables about crisis labels, recomputed row by row from the label files as they are.

The source counts a label that a model failed to give ("") as a class of its own; the repaired figures leave failures
out (Fleiss) or keep them as disagreement (accuracy, F1). It also counts gpt-4o-mini's label as a fifth human vote;
the repaired figures stand against the mode of the four people.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mindgauge.benchmarks import RecomputedCell
from mindgauge.benchmarks.help_or_harm import released
from mindgauge.benchmarks.help_or_harm.inputs import PEOPLE
from mindgauge.benchmarks.help_or_harm.released import CATEGORIES
from mindgauge.stats.agreement import cohen_kappa, confusion, fleiss_kappa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from mindgauge.benchmarks.help_or_harm.inputs import HelpOrHarmInputs
    from mindgauge.benchmarks.help_or_harm.released import HelpOrHarmRelease, ReleasedFile

    Codes: TypeAlias = NDArray[np.intp]
    Floats: TypeAlias = NDArray[np.float64]

PAPER_NAMES = {
    "gpt-4o-mini": "gpt-4o-mini",
    "gpt-5-nano": "gpt-5-nano",
    "llama-4-scout-17b-16e-instruct": "llama-4-scout",
    "deepseek-chat": "deepseek-v3.2",
    "deepseek-v3.2-exp": "deepseek-v3.2",
    "grok-4-fast-non-reasoning": "grok-4-fast",
}
"""Our names of the paper's models → the paper's."""
MODELS = tuple(dict.fromkeys(PAPER_NAMES.values()))
LABELLERS = ("gpt-4o-mini", "gpt-5-nano", "llama-4-scout")
K = len(CATEGORIES)
_CONFUSED = (
    ("anxiety_crisis", "no_crisis"),
    ("no_crisis", "risk_taking_behaviours"),
    ("risk_taking_behaviours", "suicidal_ideation"),
)


def cells(files: HelpOrHarmRelease, released_inputs: HelpOrHarmInputs) -> Iterator[RecomputedCell]:
    """Recompute every table that the label files suffice for; a file that lacks rows of its set is left out."""
    people = {
        f.rater: codes
        for f in files.of("human_labels")
        if f.rater in PEOPLE and len(codes := _codes(f, released_inputs))
    }
    runs = _runs(files, released_inputs, "validation")
    if people:
        yield from _people(people)
    if runs:
        yield from _models(runs)
    if people and runs:
        yield from _people_and_models(people, runs)
    for file in files.of("consensus")[:1]:
        if len(people) == 4:
            yield from _consensus(people, file, runs, released_inputs)
    yield from _test(files, released_inputs)


def paper_name(raw: str) -> str:
    """Return the paper's name of a model from that in a file name; other models have no row in its tables."""
    name = released.model(raw)
    return PAPER_NAMES.get(name, name)


def _codes(file: ReleasedFile, released_inputs: HelpOrHarmInputs) -> Codes:
    """Return the category of each of the set's rows as an index into CATEGORIES, -1 for none; empty if rows lack."""
    rows = released.aligned(file.rows(), released_inputs.rows_of(file))
    return _encode([row.get("label") for row in rows or []])


def _encode(labels: Iterable[object]) -> Codes:
    categories = [released.category(label) for label in labels]
    return np.array([-1 if label is None else CATEGORIES.index(label) for label in categories], dtype=np.intp)


def _runs(files: HelpOrHarmRelease, released_inputs: HelpOrHarmInputs, split: str) -> dict[str, list[Codes]]:
    """Return the label runs of the paper's labellers on the set of a split, in the order of their time stamps."""
    runs: dict[str, list[Codes]] = {}
    for file in files.of("labels", dataset=released_inputs.set_of(split)):
        name = paper_name(file.model)
        if name in LABELLERS and len(codes := _codes(file, released_inputs)):
            runs.setdefault(name, []).append(codes)
    return runs


def _counts(raters: Sequence[Codes], *, failure_is_class: bool = False) -> Floats:
    """Count how many raters gave each row each label, shape (n, 7), or (n, 8) with failures as the last class."""
    counts = np.zeros((len(raters[0]), K + 1))
    for codes in raters:
        counts[np.arange(len(codes)), codes] += 1.0  # -1 is the last column
    return counts if failure_is_class else counts[:, :K]


def _mode(raters: Sequence[Codes]) -> Codes:
    """Return the strict mode of the labels given to each row; -1 where the most frequent are several or none."""
    counts = _counts(raters)
    highest = counts.max(axis=1)
    single = (counts == highest[:, None]).sum(axis=1) == 1
    return np.where(single & (highest > 0), counts.argmax(axis=1), -1)


def _kappa(first: Codes, second: Codes) -> float:
    return float(cohen_kappa(confusion(first, second, K))[0])


def _people(people: dict[str, Codes]) -> Iterator[RecomputedCell]:
    raters = list(people.values())
    for rater, codes in people.items():
        for i, category in enumerate(CATEGORIES):
            yield RecomputedCell("derived.labels.people_counts", rater, category, float((codes == i).sum()))
    pairs = {pair: _kappa(people[pair[0]], people[pair[1]]) for pair in itertools.combinations(sorted(people), 2)}
    for (first, second), kappa in pairs.items():
        yield RecomputedCell("labels.people_pairs", f"{first}-{second}", "kappa", kappa)
    if len(people) != 4:
        return
    kappa = float(fleiss_kappa(_counts(raters))[0])
    yield RecomputedCell("labels.fleiss", "four people", "kappa", kappa)
    yield RecomputedCell("derived.labels.people", "four people", "fleiss_kappa", kappa)
    yield RecomputedCell(
        "derived.labels.people", "four people", "mean_pair_kappa", float(np.mean(list(pairs.values())))
    )
    for i, category in enumerate(CATEGORIES):
        hits = sum((codes == i).astype(float) for codes in raters)
        counts = np.stack([hits, len(raters) - hits], axis=1)
        yield RecomputedCell("derived.labels.one_vs_rest", category, "fleiss_kappa", float(fleiss_kappa(counts)[0]))
    yield from _confused(people)


def _confused(people: dict[str, Codes]) -> Iterator[RecomputedCell]:
    """Yield s = P(b | a) + P(a | b), rows taken from the first rater of each pair only; repaired: from both."""
    one_way = sum(confusion(people[a], people[b], K)[0, :, :K] for a, b in itertools.combinations(sorted(people), 2))
    for counts, repaired in ((one_way, False), (one_way + np.transpose(one_way), True)):
        shares = counts / np.maximum(np.sum(counts, axis=1, keepdims=True), 1)
        note = "both directions of each pair of raters" if repaired else ""
        for first, second in _CONFUSED:
            a, b = CATEGORIES.index(first), CATEGORIES.index(second)
            s = float(shares[a, b] + shares[b, a])
            yield RecomputedCell("labels.confused_pairs", f"{first}/{second}", "s", s, note, repaired)


def _models(runs: dict[str, list[Codes]]) -> Iterator[RecomputedCell]:
    groups = {name: model_runs for name, model_runs in runs.items() if len(model_runs) > 1}
    all_runs = [codes for model_runs in runs.values() for codes in model_runs]
    if set(runs) == set(LABELLERS):
        groups["nine model runs"] = all_runs
    for row, raters in groups.items():
        expected = 9 if row not in runs else 3
        note = "" if len(raters) == expected else f"from {len(raters)} runs instead of {expected}"
        with_class = fleiss_kappa(_counts(raters, failure_is_class=True))
        yield RecomputedCell("labels.fleiss", row, "kappa", float(with_class[0]), note)
        note_repaired = "without the labels that a model failed to give, which the source counts as a class"
        yield RecomputedCell(
            "labels.fleiss", row, "kappa", float(fleiss_kappa(_counts(raters))[0]), note_repaired, repaired=True
        )


def _people_and_models(people: dict[str, Codes], runs: dict[str, list[Codes]]) -> Iterator[RecomputedCell]:
    for model, model_runs in runs.items():
        kappas = []
        for rater, codes in people.items():
            kappas.append(float(np.mean([_kappa(codes, run) for run in model_runs])))
            note = "" if len(model_runs) == 3 else f"mean of {len(model_runs)} runs instead of 3"
            yield RecomputedCell("labels.people_models", rater, model, kappas[-1], note)
        if len(kappas) == 4:
            yield RecomputedCell("derived.labels.people_models", "mean", model, float(np.mean(kappas)))


def _consensus(
    people: dict[str, Codes], file: ReleasedFile, runs: dict[str, list[Codes]], released_inputs: HelpOrHarmInputs
) -> Iterator[RecomputedCell]:
    shipped, gold = _codes(file, released_inputs), _mode(list(people.values()))
    if not len(shipped):
        return
    note = "strict mode of the four people, without the model's vote"
    table = "derived.labels.consensus"
    for column in ("no_crisis", "violent_thoughts", "risk_taking_behaviours", "null"):
        code = -1 if column == "null" else CATEGORIES.index(column)
        yield RecomputedCell(table, "shipped", column, float((shipped == code).sum()))
        yield RecomputedCell(table, "shipped", column, float((gold == code).sum()), note, repaired=True)
    yield RecomputedCell(table, "changed by the fifth vote", "rows", float((shipped != gold).sum()))
    yield RecomputedCell(table, "ties broken by it", "rows", float(((gold < 0) & (shipped >= 0)).sum()))
    yield RecomputedCell(table, "pluralities turned null by it", "rows", float(((gold >= 0) & (shipped < 0)).sum()))
    votes = [row.get("all_labels") or [] for row in released.aligned(file.rows(), released_inputs.rows_of(file)) or []]
    if "gpt-4o-mini" in runs:
        same = _encode(labels[4] if len(labels) == 5 else None for labels in votes) == _mode(runs["gpt-4o-mini"])
        yield RecomputedCell(table, "fifth vote equals gpt-4o-mini's label", "rows", float(same.sum()))
    for model, model_runs in runs.items():
        labelled = _mode(model_runs)
        for column, statistic in _STATISTICS.items():
            against_people = statistic(gold, labelled)
            yield RecomputedCell("derived.labels.against_consensus", model, column, statistic(shipped, labelled))
            yield RecomputedCell("derived.labels.against_consensus", model, column, against_people, note, repaired=True)
            yield RecomputedCell("derived.labels.against_people", model, column, against_people)
        for category, f1 in zip(CATEGORIES, _f1(gold, labelled), strict=True):
            yield RecomputedCell("derived.labels.f1", category, model, float(f1))


def _accuracy(gold: Codes, labelled: Codes) -> float:
    return float((gold == labelled)[gold >= 0].mean())


def _f1(gold: Codes, labelled: Codes) -> Floats:
    """Return each category's F1; NaN for one without a row of its own."""
    table = confusion(gold, labelled, K)[0]
    support, label_counts = table.sum(axis=1), table[:, :K].sum(axis=0)
    f1 = 2 * np.diagonal(table[:, :K]) / np.maximum(support + label_counts, 1)
    return np.where(support > 0, f1, np.nan)


_STATISTICS: dict[str, Callable[[Codes, Codes], float]] = {
    "accuracy": _accuracy,
    "kappa": _kappa,
    "macro_f1": lambda gold, called: float(np.nanmean(_f1(gold, called))),
}


def _test(files: HelpOrHarmRelease, released_inputs: HelpOrHarmInputs) -> Iterator[RecomputedCell]:
    for file in files.of("merged_labels", model="gpt-4o-mini", dataset=released_inputs.set_of("test"))[:1]:
        if not len(codes := _codes(file, released_inputs)):
            continue
        for i, category in enumerate(CATEGORIES):
            count = float((codes == i).sum())
            yield RecomputedCell("test.items", "N per model", category, 3 * count, "three replies to each item")
            yield RecomputedCell("derived.test.labels", "items", category, count)
        yield RecomputedCell("derived.test.labels", "items", "null", float((codes < 0).sum()))
    runs = _runs(files, released_inputs, "test").get("gpt-4o-mini", [])
    if len(runs) > 1:
        kappa = fleiss_kappa(_counts(runs, failure_is_class=True))
        yield RecomputedCell("derived.test.fleiss", "gpt-4o-mini", "kappa", float(kappa[0]))
