"""What a run holds of a stress test, if it holds any: what is compared with what, the judge's verdicts, and what comes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mindgauge.analysis.stress import probes
from mindgauge.analysis.stress.effects import INAPPLICABLE, Attempts, Stress, StressDesign, outcome
from mindgauge.analysis.stress.probes import APART, MARK, ORIGINAL, TOGETHER, store_names, suffix
from mindgauge.records import RaterKind, Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.stress.effects import Codes, Floats
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Reply
    from mindgauge.records.rubric import Criterion
    from mindgauge.store import Store

    Rows = dict[tuple[str, str, str], int]
    """The row of each version: by its original's id, the probe (empty for the original) and the version's name."""

COUNTERPART = "counterpart in the other language"


def stressed(store: Store, benchmarks: Sequence[Benchmark], judge: str) -> list[Stress]:
    """Return a judge's stress tests that a run holds; empty where it holds none."""
    names = {name for (name,) in store.select("SELECT DISTINCT benchmark FROM replies")}
    return [stress(store, b, judge) for b in benchmarks if not b.closed and store_names(b.name, judge)[0] in names]


def stress(store: Store, benchmark: Benchmark, judge: str) -> Stress:
    """Say what a judge makes of the form of a reply.

    Args:
        store: of the run that holds its verdicts.
        benchmark: that the test is about.
        judge: its name as a rater, with the usual instrument.
    """
    design, values = read(store, benchmark, judge)
    effects, injections, repeats = outcome(design, values)
    tried = {effect.probe for effect in effects} | ({probes.INJECTION} if injections else set())
    notes = [f"{probe}: not tried" for probe in probes.NAMES if probe not in tried | {probes.REPEAT}]
    languages = {*design.language.tolist()} - {i.slice.removeprefix("language=") for i in injections}
    if injections and languages:
        notes.append(f"{probes.INJECTION}: not tried on replies in {', '.join(sorted(languages))}")
    return Stress(
        run=str(store.folder), benchmark=benchmark.name, judge=judge, items=len(design.conversation),
        conversations=design.conversations, judge_runs=values.shape[2],
        verdicts=int((np.isfinite(values) & (values != INAPPLICABLE)).sum()), unusable=int(np.isnan(values).sum()),
        effects=effects, injections=injections, repeats=repeats, notes=notes,
    )  # fmt: skip


def read(store: Store, benchmark: Benchmark, judge: str) -> tuple[StressDesign, Floats]:
    """Return what a run compares, and the judge's verdicts in shares of the scale, shape (N, C, K).

    Args:
        store: of the run.
        benchmark: that the test is about.
        judge: the rater's name, with the usual instrument.
    """
    criteria = probes.ordinal(benchmark.rubric.criteria)
    name, changed = store_names(benchmark.name, judge)
    samples = {sample.id: sample for sample in store.samples(name)}
    originals, versions = list(store.replies(name)), list(store.replies(changed))
    present = {rater for (rater,) in store.select("SELECT DISTINCT rater FROM ratings WHERE benchmark = ?", (name,))}
    turned = {form.version: form.probe for form in probes.CONTRASTS if judge + suffix(form.version) in present}
    marks = [reply.provenance[MARK] for reply in versions]
    keys = [(reply.id, probe, version) for version, probe in ({ORIGINAL: ""} | turned).items() for reply in originals]
    keys += [(mark["of"], mark["probe"], mark["version"]) for mark in marks]
    rows = {key: row for row, key in enumerate(keys)}
    # A verdict's row is known by what was judged, and with which instrument.
    subjects = {(ident, version): row for row, (ident, _, version) in enumerate(keys[: len(keys) - len(marks)])}
    subjects |= {(reply.id, ORIGINAL): row for row, reply in enumerate(versions, len(keys) - len(marks))}
    raters = {judge + suffix(version): version for version in turned} | {judge: ORIGINAL}
    values, stated = _ratings(store, (name, changed), criteria, subjects, raters)
    clusters = [samples[reply.sample].cluster for reply in originals]
    numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    usual, mode = np.arange(len(originals)), next((version for version in turned if version in {APART, TOGETHER}), None)
    other = usual if mode is None else np.array([rows[reply.id, probes.MODE, mode] for reply in originals])
    design = StressDesign(
        criteria=[c.name for c in criteria],
        original=np.array([rows[ident, "", ORIGINAL] for ident, _, _ in keys], dtype=np.intp),
        conversation=np.array([numbers[cluster] for cluster in clusters], dtype=np.intp),
        language=np.array([samples[reply.sample].tags.get("language", "en") for reply in originals], dtype=np.str_),
        stated=stated[: len(originals)], pairs=_pairs(rows, originals), attempts=_attempts(rows, marks, criteria),
        halo=None if mode is None else (usual, other) if mode == APART else (other, usual),
    )  # fmt: skip
    return design, values


def _ratings(
    store: Store, names: Sequence[str], criteria: Sequence[Criterion], subjects: Mapping[tuple[str, str], int], raters: Mapping[str, str]
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the judge's verdicts (N, C, K), and the mean of the levels that authors or people gave (N, C), in shares of the scale.

    Args:
        store: of the run.
        names: under which it keeps ratings.
        criteria: C of them.
        subjects: the row of each version, by its reply and the version of the instrument.
        raters: the version of the instrument, by the judge's names as a rater.
    """
    shares = _shares(criteria)
    columns = {name: column for column, name in enumerate(shares)}
    verdicts: dict[tuple[int, int, int], float] = {}
    people: dict[tuple[int, int], dict[str, list[float]]] = {}
    query = "SELECT subject, criterion, rater, rater_kind, run, status, value FROM ratings WHERE benchmark = ?"
    for subject, criterion, rater, kind, run, status, value in (
        row for n in names for row in store.select(query, (n,))
    ):
        if criterion not in columns:
            continue
        share = shares[criterion].get(str(value), np.nan) if status == Status.OK else np.nan
        if kind == RaterKind.MODEL and rater in raters:
            share = INAPPLICABLE if status == Status.NOT_APPLICABLE else share
            verdicts[subjects[subject, raters[rater]], columns[criterion], run] = share
        elif kind in {RaterKind.GOLD, RaterKind.PERSON} and np.isfinite(share):
            by_rater = people.setdefault((subjects[subject, ORIGINAL], columns[criterion]), {})
            by_rater.setdefault(rater, []).append(share)
    shape = (1 + max(subjects.values()), len(criteria))
    values = np.full((*shape, 1 + max((run for _, _, run in verdicts), default=0)), np.nan)
    stated = np.full(shape, np.nan)
    for place, share in verdicts.items():
        values[place] = share
    for cell, by_rater in people.items():
        stated[cell] = np.mean([np.mean(levels) for levels in by_rater.values()])
    return values, stated


def _shares(criteria: Sequence[Criterion]) -> dict[str, dict[str, float]]:
    """Return each criterion's levels with their places on the scale, worst 0 and best 1."""
    return {c.name: {str(value): n / (len(c.values) - 1) for n, value in enumerate(c.values)} for c in criteria}


def _pairs(rows: Rows, originals: Sequence[Reply]) -> dict[tuple[str, str, str], Codes]:
    """Pair each version with what it is compared with, as far as the run has both, and replies that say the same in two languages."""
    sides = {
        (form.probe, form.version, form.against): [
            [(reply.id, form.probe, form.version), (reply.id, form.probe if form.against else "", form.against)]
            for reply in originals
        ]
        for form in probes.CONTRASTS
    }
    sides[probes.LANGUAGE, COUNTERPART, "English"] = [
        [(ident, "", ORIGINAL) for ident in (reply.id, reply.provenance[MARK]["counterpart"])]
        for reply in originals if "counterpart" in reply.provenance[MARK]
    ]  # fmt: skip
    pairs = {n: [[rows[k] for k in keys] for keys in each if rows.keys() >= {*keys}] for n, each in sides.items()}
    return {names: np.array(found, dtype=np.intp) for names, found in pairs.items() if found}


def _attempts(rows: Rows, marks: Sequence[Mapping[str, Any]], criteria: Sequence[Criterion]) -> Attempts | None:
    """Return every attempt of the battery on a criterion with ordered levels."""
    shares = _shares(criteria)
    marks = [mark for mark in marks if "attempt" in mark and mark["criterion"] in shares]
    if not marks:
        return None
    names = [*shares]
    places = [
        (rows[m["of"], probes.INJECTION, m["version"]], rows[m["of"], "", ORIGINAL], rows[m["of"], probes.INJECTION, m["placebo"]],
         names.index(m["criterion"])) for m in marks
    ]  # fmt: skip
    row, original, placebo, column = np.array(places, dtype=np.intp).T
    return Attempts(
        row, original, placebo, column, np.array([shares[m["criterion"]][str(m["aim"])] for m in marks]),
        {fact: np.array([m[fact] for m in marks]) for fact in ("attempt", "kind", "place", "where", "language")},
    )  # fmt: skip
