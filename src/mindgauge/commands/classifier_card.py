"""What a trained classifier is worth: metrics on what it never saw, calibration, abstention, and a card that says so."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
import numpy as np
from scipy import special

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import RatingTable, accuracy, cohen_kappa, estimate, macro_f1, precision, recall
from mindgauge.raters.classifier import Decision
from mindgauge.raters.classifiers import calibration
from mindgauge.raters.classifiers.calibration import Abstention, Calibration
from mindgauge.raters.classifiers.dialogues import DataSplit, Reads
from mindgauge.records import Sample, Status
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.rounding import bounded, count, decimal, interval, percent
from mindgauge.records.rubric import Criterion, Rubric
from mindgauge.records.shell import command_line
from mindgauge.records.text import code, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mindgauge.benchmarks.metrics import Metric

    Codes = NDArray[np.intp]

DEVELOPMENT, TEST, CROSS_VALIDATION = "development", "test", "cross-validation"
RANKABLE = 30
"""With fewer dialogues a label's figures say little."""
Fold: TypeAlias = "tuple[TrialSplits, Sequence[Trial]]"
"""What was trained on the same parts: one training per seed."""


class TrainingData(msgspec.Struct):
    """Labelled samples, and the rubric (of one criterion) that their targets belong to.

    `dev` and `test` are empty where the data has none. `task` is the benchmark whose rubric it is, if one. All samples
    end alike, with what the classifier then `reads`.
    """

    name: str
    rubric: Rubric
    task: Benchmark | None
    train: list[Sample] = []
    dev: list[Sample] = []
    test: list[Sample] = []
    notes: list[str] = []
    reads: Reads = "reply"

    @property
    def criterion(self) -> Criterion:
        """What is learned."""
        return self.rubric.criteria[0]


class TrialSplits(msgspec.Struct, frozen=True):
    """What a trial learns from, what it is chosen by, and what its figures are on: `dev` again where there is no test."""

    train: DataSplit
    dev: DataSplit
    tested: DataSplit


class Trial(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One training: which epoch (of the baseline: which penalty) was best, from 1, and what each reached.

    `dev` and `tested` are logits, row by row; an account of the training leaves them out.
    """

    seed: int
    fold: int | None
    best: int
    history: list[dict[str, float]]
    max_length: int
    dev: list[list[float]] = []
    tested: list[list[float]] = []


class TrainedFigure(msgspec.Struct, frozen=True):
    """One metric on one part.

    `value` with its interval (clusters resampled) is that of the classifier that was saved, in cross-validation of the
    first seed; `mean` and `sd` (of the sample) are over the seeds. `majority` is the value of always giving the most
    frequent label of the training data, in cross-validation of each fold's.
    """

    part: str
    name: str
    label: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    mean: float | None
    sd: float | None
    majority: float | None


class Trained(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """A trained classifier and what it is worth."""

    out: str
    kind: str
    encoder: str | None
    data: str
    rubric: str
    criterion: str
    labels: list[str]
    reads: Reads
    tested: str
    """The part that the figures are on: `test`, `cross-validation` or, where there is neither, `development`."""
    parts: dict[str, dict[str, int]]
    """By part: how many samples carry each label, all of them, and from how many separate dialogues."""
    trials: list[Trial]
    chosen: int
    """The seed whose classifier was saved."""
    figures: list[TrainedFigure]
    calibration: dict[str, Calibration]
    """By part; `…, before` are probabilities without a temperature."""
    abstention: dict[str, Abstention]
    """By part, where a risk was stated."""
    decision: Decision
    notes: list[str]

    def summary(self) -> list[str]:
        """Say what was trained on what, what it reached, how well calibrated it is, and how to use it."""
        figures = [
            f"{figure.name}: {bounded(figure.value, figure.low, figure.high)}, n {count(figure.n)} "
            f"(always the most frequent label: {decimal(figure.majority)})"
            for figure in self.figures
            if not figure.label
        ]
        return [
            f"{self.kind} classifier of {self.criterion} ({self.rubric}), trained on {self.data}; tested: {self.tested}",
            *first_of(figures, 4),
            f"Calibration error: {decimal(self.calibration[self.tested].ece)}",
            *noted(self.notes),
            f'{self.out}/card.md says what it must not be used for; as a judge: judge="classifier/{self.out}"',
        ]

    def _listed(self) -> list[dict[str, Any]]:
        return [msgspec.structs.asdict(figure) for figure in self.figures]


def account(
    folder: Path, material: TrainingData, encoder: str | None, risk: float | None, final: Fold, folds: Sequence[Fold]
) -> Trained:  # fmt: skip
    """Compute what trainings came to.

    Args:
        folder: the classifier's.
        material: where the samples come from.
        encoder: what was trained; None is the baseline.
        risk: what the decisions are to keep to; None never abstains.
        final: the trainings of which one is saved.
        folds: of a cross-validation.
    """
    values, (splits, trials) = material.criterion.values, final
    best = calibration.best([trial.history[trial.best - 1] for trial in trials])
    seed, measured = (0, folds) if folds else (best, [final])
    name = CROSS_VALIDATION if folds else DEVELOPMENT if splits.tested is splits.dev else TEST
    tested = [split.tested for split, _ in measured]
    part = DataSplit(
        tuple(sample for subset in tested for sample in subset.samples),
        *(np.concatenate([getattr(subset, name) for subset in tested]) for name in ("codes", "groups")),
    )
    sizes = list(map(len, tested))
    labels = [np.concatenate([np.array(t[i].tested) for _, t in measured]).argmax(axis=1) for i in range(len(trials))]
    raw = np.concatenate([np.array(t[seed].tested) for _, t in measured])
    warmth, thresholds = zip(*(_decision(split, t[seed], risk) for split, t in measured), strict=True)
    chance = special.softmax(raw / np.repeat(warmth, sizes)[:, None], axis=1)
    own_warmth, own = _decision(splits, trials[best], risk)
    abstentions = {} if own is None else {DEVELOPMENT: own}
    if own is not None and name != DEVELOPMENT:
        abstentions[name] = calibration.abstention(chance, part, np.repeat([t.threshold for t in thresholds], sizes))
    calibrated = {f"{name}, before": special.softmax(raw, axis=1), name: chance}
    majority = np.repeat([split.train.counts(len(values)).argmax() for split, _ in measured], sizes)
    subsets = {"train": splits.train, DEVELOPMENT: splits.dev, name: part}
    kind: Literal["tfidf", "encoder"] = "tfidf" if encoder is None else "encoder"
    threshold = None if own is None else own.threshold
    trained = Trained(
        out=str(folder), kind=kind, encoder=encoder, data=material.name, rubric=material.rubric.name,
        criterion=material.criterion.name, labels=list(map(str, values)), reads=material.reads, tested=name,
        parts={
            title: {
                **dict(zip(map(str, values), subset.counts(len(values)).tolist(), strict=True)),
                "all samples": len(subset), "separate dialogues": len(np.unique(subset.groups)),
            }
            for title, subset in subsets.items()
        },
        trials=[msgspec.structs.replace(trial, dev=[], tested=[]) for _, of_fold in (final, *folds) for trial in of_fold],
        chosen=trials[best].seed, figures=_figures(name, part, material, labels, seed, majority),
        calibration={title: calibration.calibration(p, part.codes, part.groups) for title, p in calibrated.items()},
        abstention=abstentions,
        decision=Decision(
            kind, material.rubric.name, material.rubric.hash, own_warmth, trials[best].max_length, threshold,
            risk, material.reads,
        ),
        notes=material.notes,
    )  # fmt: skip
    return msgspec.structs.replace(trained, notes=[*material.notes, *_notes(trained)])


def _decision(splits: TrialSplits, trial: Trial, risk: float | None) -> tuple[float, Abstention | None]:
    """Return the temperature that fits the development part, and the threshold that keeps a risk there."""
    logits = np.array(trial.dev)
    warmth = calibration.temperature(logits, splits.dev.codes)
    if risk is None:
        return warmth, None
    return warmth, calibration.choose_threshold(special.softmax(logits / warmth, axis=1), splits.dev, risk)


def _figures(
    part: str, samples: DataSplit, material: TrainingData, labels: Sequence[Codes], saved: int, majority: Codes
) -> list[TrainedFigure]:
    """Compute a task's own metrics, or the usual ones, and recall and precision of every label.

    `labels` are those that each seed gave; `saved` says whose value a figure has; `majority` are the most frequent labels.
    """
    values = material.criterion.values
    own = material.task.metrics if material.task is not None and material.task.closed else ()
    metrics = [m for m in own if not m.across_runs and not m.of_status] or [accuracy, macro_f1, cohen_kappa]
    named = {(metric.name, metric.label) for metric in metrics}
    metrics += [m for value in values for m in (recall(value), precision(value)) if (m.name, m.label) not in named]
    status = np.full(len(samples), str(Status.OK), dtype=object)
    *runs, often = (
        RatingTable(values, codes, samples.codes, samples.groups, np.arange(len(samples)), status)
        for codes in (*labels, majority)
    )
    figures = []
    for metric in metrics:
        estimated = estimate(metric, runs[saved])
        seeds = [value for value in (_point(metric, run) for run in runs) if value is not None]
        complete = len(seeds) == len(runs)  # where a seed has no value, the mean of the others would hide that
        figures.append(TrainedFigure(
            part, metric.name, metric.label, estimated.value, estimated.low, estimated.high, estimated.n,
            estimated.clusters, statistics.fmean(seeds) if complete else None,
            statistics.stdev(seeds) if complete and len(seeds) > 1 else None, _point(metric, often),
        ))  # fmt: skip
    return figures


def _point(metric: Metric, table: RatingTable) -> float | None:
    concerned = table.rows(metric.applies_to(table))
    value = float(metric.compute(concerned, np.ones((1, len(concerned))))[0]) if len(concerned) else np.nan
    return value if np.isfinite(value) else None


def _notes(trained: Trained) -> Iterator[str]:
    for part, counts in trained.parts.items():
        scarce = [f"{label} ({counts[label]})" for label in trained.labels if counts[label] < 2]
        if scarce:
            yield f"{part}: fewer than 2 examples of {', '.join(scarce)}"
    if trained.tested == DEVELOPMENT:
        yield (
            "no test data: the figures are on the development part, which chose the model, so they flatter it; "
            "name test data with --test, or use --folds"
        )
    raw, scaled = (trained.calibration[f"{trained.tested}{suffix}"].log_loss or 0.0 for suffix in (", before", ""))
    if scaled > raw:
        yield f"the temperature made the probabilities worse on {trained.tested}; take a larger development part (--dev)"


# The model card: what a classifier was trained on, what it is worth, and what it must not be used for.


_TESTED = {
    TEST: "test data that played no part in training or choosing it",
    CROSS_VALIDATION: "every dialogue, labelled by a model like the saved one that had seen nothing of it",
    DEVELOPMENT: "**development data, which chose the model. These figures flatter it**",
}
_CARD = """\
# Classifier: {criterion}

It gives {ends} one label of the rubric {rubric}. Model: {model}. Settings, versions and hashes are in `manifest.toml`.

- Use: {use}

## Data

Source: {data}. No dialogue has something of it in two parts.

{parts}
- `seen.json` holds digests of *train* and *development*, no text: where it rates such dialogues, that is said.
{notes}

## What it is worth

On {tested}.

Intervals are at 95 %; they resample separate dialogues, and are exact for shares. Where there are several seeds, mean and SD are over all of them; the value is that of seed {chosen}.
*Majority* is what always giving the most frequent training label would reach.
*Recall*: of the dialogues that carry a label, the share that it gave this label. *Precision*: of the dialogues that it gave a label, the share that carry it.

{figures}
## How far its probabilities can be trusted

Its logits are divided by a temperature ({temperature}) that was fitted on development data.
*Calibration error*: by how much, on average, it is surer or less sure than it is right; 0 is ideal.

{calibration}
## When it abstains

{abstains}

{abstention}
## What it must not be used for

- Not for decisions about a person. It sorts texts in order to measure systems; it does not assess, diagnose or triage anyone.
- Not as the only safeguard of a service. What it passes can be harmful; *recall* says how much it misses.
- Not for other languages, groups, topics or kinds of dialogue than it was tested on, until it has been tested there.
- Not for labels with few test dialogues (marked *few*: below {rankable}): their intervals say that little is known.
- Not to compare systems if texts of one of them are in its training data.
"""


def card(trained: Trained) -> str:
    """Write the model card as Markdown; it holds no text of the data."""
    threshold, risk = trained.decision.threshold, percent(trained.decision.risk)
    abstains = (
        "Never: no risk was stated (`--risk`)."
        if threshold is None
        else f"Where it is less sure than {decimal(threshold, 3)} (above 1 it always abstains). Development data chose this, "
        f"so that with 95 % confidence at most {risk} of what it decides is wrong. They chose the model, too, so the promise "
        "is a little too good there."
    )
    ends = "the supporter's reply" if trained.reads == "reply" else "the person's message"
    return _CARD.format(
        criterion=text(trained.criterion), ends=f"{ends} that ends a dialogue", rubric=code(trained.rubric),
        model=f"the encoder {code(trained.encoder)}, fine-tuned" if trained.encoder else "TF-IDF n-grams, a linear model",
        use=code(command_line("rate", "NAME", "--replies", "FILE", "--judge", f"classifier/{trained.out}")),
        data=text(trained.data), notes="\n".join(f"- {text(note)}" for note in trained.notes),
        tested=_TESTED[trained.tested], chosen=1 if trained.tested == CROSS_VALIDATION else trained.chosen,
        temperature=decimal(trained.decision.temperature), abstains=abstains, rankable=RANKABLE,
        parts=_table(["label", *trained.parts], [
            [name, *(counts[name] for counts in trained.parts.values())]
            for name in [*trained.labels, "all samples", "separate dialogues"]
        ]),
        figures=_table(["metric", "value", "interval", "n", "mean", "SD", "majority"], [
            [f"{f.name} ({f.label})" if f.label else f.name, decimal(f.value, 3), interval(f.low, f.high),
             f.n if f.n >= RANKABLE else f"{f.n}, few", decimal(f.mean, 3), decimal(f.sd, 3), decimal(f.majority, 3)]
            for f in trained.figures
        ]),
        calibration=_table(["part", "n", "calibration error", "log loss"], [
            [name, c.n, decimal(c.ece, 3), decimal(c.log_loss, 3)] for name, c in trained.calibration.items()
        ]),
        abstention=_table(["part", "decided", "of", "wrong", "upper bound"], [
            [name, a.decided, a.n, decimal(a.risk, 3), decimal(a.risk_high, 3)] for name, a in trained.abstention.items()
        ]) if trained.abstention else "",
    )  # fmt: skip


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head, *body = (f"| {' | '.join(map(text, cells))} |" for cells in (columns, *rows))
    return "\n".join((head, f"|{'---|' * len(columns)}", *body, ""))
