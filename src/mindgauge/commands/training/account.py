"""What a trained classifier is worth: metrics on what it never saw, calibration, abstention, and a card that says so."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np
from scipy import special

from mindgauge.benchmarks.metrics import RatingTable, accuracy, cohen_kappa, estimate, macro_f1, precision, recall
from mindgauge.raters.classifiers import calibration, parts, training
from mindgauge.raters.classifiers.calibration import Abstention, Calibration
from mindgauge.raters.classifiers.form import Reads
from mindgauge.raters.classifiers.saved import Decision
from mindgauge.raters.classifiers.training import Trial, TrialSplits
from mindgauge.records import Status
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.files import private
from mindgauge.records.rounding import bounded, count, decimal, interval, percent, seconds
from mindgauge.records.shell import command_line
from mindgauge.records.text import code, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mindgauge.benchmarks.metrics import Metric
    from mindgauge.commands.training.data import TrainingData
    from mindgauge.commands.training.options import Learning
    from mindgauge.raters.classifiers.parts import DataSplit
    from mindgauge.records import Value

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

DEVELOPMENT, TEST, CROSS_VALIDATION = "development", "test", "cross-validation"
FOUND, RIGHT = (make("").name for make in (recall, precision))
"""Of the samples that carry a label, the share that got it; of those that got it, the share that carry it."""
Fold: TypeAlias = "tuple[TrialSplits, Sequence[Trial]]"
"""What was trained on the same parts: one training per seed."""


class PartSummary(msgspec.Struct, frozen=True):
    """How many samples a part has, from how many dialogues, and of which labels."""

    name: str
    n: int
    dialogues: int
    labels: dict[str, int]


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
    parts: list[PartSummary]
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
        calibrated = self.calibration[self.tested]
        return [
            f"{self.kind} classifier of {self.criterion} ({self.rubric}), trained on {self.data}; tested: {self.tested}",
            *first_of(figures, 4),
            f"Calibration error: {decimal(calibrated.ece)}, n {count(calibrated.n)}",
            *noted(self.notes),
            f'{self.out}/card.md says what it must not be used for; as a judge: judge="classifier/{self.out}"',
        ]

    def _listed(self) -> list[dict[str, Any]]:
        return [msgspec.structs.asdict(figure) for figure in self.figures]


def account(folder: Path, material: TrainingData, learning: Learning, final: Fold, folds: Sequence[Fold]) -> Trained:
    """Compute what trainings came to, and write the predictions of what was tested.

    Args:
        folder: the classifier's.
        material: where the samples come from.
        learning: what was asked for.
        final: the trainings of which one is saved.
        folds: of a cross-validation.
    """
    values = material.criterion.values
    splits, trials = final
    chosen = training.choose(trials)
    name = CROSS_VALIDATION if folds else TEST if splits.test is not None else DEVELOPMENT
    measured = folds or [final]
    part = parts.joined([split.tested for split, _ in measured])
    sizes = [len(split.tested) for split, _ in measured]
    raw, chance = [], []
    for seed_trials in zip(*(of_fold for _, of_fold in measured), strict=True):
        raw.append(np.concatenate([np.array(trial.tested) for trial in seed_trials]))
        warmth = [_temperature(split, trial) for (split, _), trial in zip(measured, seed_trials, strict=True)]
        chance.append(special.softmax(raw[-1] / np.repeat(warmth, sizes)[:, None], axis=1))
    seed = 0 if folds else list(trials).index(chosen)
    majority = np.repeat([split.train.counts(len(values)).argmax() for split, _ in measured], sizes)
    calibrated = {f"{name}, before": special.softmax(raw[seed], axis=1), name: chance[seed]}
    abstentions: dict[str, Abstention] = {}
    if learning.risk is not None:
        abstentions[DEVELOPMENT] = _threshold(splits, chosen, learning.risk)
        if name != DEVELOPMENT:
            thresholds = [_threshold(split, t[seed], learning.risk).threshold for split, t in measured]
            abstentions[name] = calibration.abstention(
                chance[seed], part, np.repeat(np.array(thresholds, float), sizes)
            )
    trained = Trained(
        out=str(folder), kind="tfidf" if learning.encoder is None else "encoder", encoder=learning.encoder,
        data=material.name, rubric=material.rubric.name, criterion=material.criterion.name,
        labels=list(map(str, values)), reads=material.reads, tested=name,
        parts=[
            _summary(title, subset, values)
            for title, subset in {"train": splits.train, DEVELOPMENT: splits.dev, name: part}.items()
        ],
        trials=[msgspec.structs.replace(trial, dev=[], tested=[]) for _, of_fold in (final, *folds) for trial in of_fold],
        chosen=chosen.seed,
        figures=_figures(name, part, material, [probabilities.argmax(axis=1) for probabilities in chance], seed, majority),
        calibration={title: calibration.calibration(p, part.codes, part.groups) for title, p in calibrated.items()},
        abstention=abstentions,
        decision=Decision(
            "tfidf" if learning.encoder is None else "encoder", material.rubric.name, material.rubric.hash,
            _temperature(splits, chosen), chosen.max_length,
            abstentions[DEVELOPMENT].threshold if abstentions else None, learning.risk, material.reads,
        ),
        notes=material.notes,
    )  # fmt: skip
    _write_predictions(folder / "predictions.jsonl", trained, part, [trial.seed for trial in trials], chance, values)
    return msgspec.structs.replace(trained, notes=[*material.notes, *_notes(trained, splits, part, values)])


def _summary(name: str, part: DataSplit, values: Sequence[Value]) -> PartSummary:
    counts = dict(zip(map(str, values), part.counts(len(values)).tolist(), strict=True))
    return PartSummary(name, len(part), len(np.unique(part.groups)), counts)


def _temperature(splits: TrialSplits, trial: Trial) -> float:
    return calibration.temperature(np.array(trial.dev), splits.dev.codes)


def _threshold(splits: TrialSplits, trial: Trial, risk: float) -> Abstention:
    chance = special.softmax(np.array(trial.dev) / _temperature(splits, trial), axis=1)
    return calibration.choose_threshold(chance, splits.dev, risk)


def _figures(
    part: str, samples: DataSplit, material: TrainingData, labels: Sequence[Codes], saved: int, majority: Codes
) -> list[TrainedFigure]:
    """Compute a task's own metrics, or the usual ones, and recall and precision of every label.

    Args:
        part: its name.
        samples: the n samples.
        material: names the labels, and the task if there is one.
        labels: per seed the labels given, shape (n,).
        saved: which seed's classifier `value` is about.
        majority: for each sample the most frequent label of what was learned from, shape (n,).
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


def _notes(trained: Trained, splits: TrialSplits, part: DataSplit, values: Sequence[Value]) -> list[str]:
    notes = [*parts.rare("train", splits.train, values), *parts.rare(DEVELOPMENT, splits.dev, values)]
    if trained.tested == DEVELOPMENT:
        notes.append("no test data: the figures are on the development part, which chose the model, so they flatter it; "
                     "name test data with --test, or use --folds")  # fmt: skip
    else:
        notes += parts.rare(trained.tested, part, values)
    collapsed = [
        f"seed {trial.seed}{f' fold {trial.fold}' if trial.fold is not None else ''} ({trial.collapsed})"
        for trial in trained.trials
        if trial.collapsed
    ]
    if collapsed:
        notes.append(
            f"{len(collapsed)} of {len(trained.trials)} trainings collapsed and still count: {', '.join(collapsed)}"
        )
    long = trained.trials[0]
    if long.shortened:
        notes.append(
            f"{long.shortened} dialogues were longer than {long.max_length} tokens and lost their oldest words"
        )
    before, scaled = (trained.calibration[f"{trained.tested}{suffix}"].log_loss for suffix in (", before", ""))
    if before is not None and scaled is not None and scaled > before:
        notes.append(
            f"the temperature, fitted on {len(splits.dev)} samples, made the probabilities worse on {trained.tested}; a "
            "larger development part (--dev) would help"
        )
    return notes


def _write_predictions(
    path: Path, trained: Trained, part: DataSplit, seeds: Sequence[int], chance: Sequence[Floats], values: Sequence[Value]
) -> None:  # fmt: skip
    """Write one line per seed and sample: ids, labels and calibrated probabilities, no text."""
    lines = [
        msgspec.json.encode({
            "part": trained.tested, "seed": seed, "sample": sample.id, "cluster": sample.cluster,
            "target": sample.target, "value": values[row.index(max(row))],
            "probabilities": {label: round(p, 6) for label, p in zip(trained.labels, row, strict=True)},
        })
        for seed, probabilities in zip(seeds, chance, strict=True)
        for sample, row in zip(part.samples, probabilities.tolist(), strict=True)
    ]  # fmt: skip
    private.write(path, b"\n".join(lines) + b"\n")


# The model card: what a classifier was trained on, what it is worth, and what it must not be used for.


RANKABLE = 30
"""With fewer dialogues a label's figures say little."""
_ENDS = {"reply": "the supporter's reply that ends a dialogue", "message": "the person's message that ends a dialogue"}
_TESTED = {
    "test": "test data that played no part in training or choosing it",
    "cross-validation": "cross-validation: every dialogue was labelled by a model that had seen nothing of it. The "
    "saved classifier was trained in the same way on *train* above, so these figures are an estimate of it",
    "development": "**development data, which chose the model. These figures flatter it**",
}
_NOT_FOR = f"""\
## What it must not be used for

- Not for decisions about a person. It sorts texts in order to measure systems; it does not assess, diagnose or triage anyone.
- Not as the only safeguard of a service. What it passes can be harmful; *found* says how much it misses.
- Not for other languages, groups, topics or kinds of dialogue than it was tested on, until it has been tested there.
- Not for labels with few test dialogues (marked *few*: below {RANKABLE}): their intervals say that little is known.
- Not to compare systems if texts of one of them stood in its training data.
"""


def card(trained: Trained) -> str:
    """Write the model card as Markdown; it holds no text of the data."""
    return "\n".join([*_head(trained), *_data(trained), *_worth(trained), *_trust(trained), *_trainings(trained), _NOT_FOR])  # fmt: skip


def _head(trained: Trained) -> Iterator[str]:
    model = (
        f"the encoder {code(trained.encoder)}, fine-tuned" if trained.encoder else "TF-IDF n-grams with a linear model"
    )
    yield f"# Classifier: {text(trained.criterion)}\n"
    yield f"It gives {_ENDS[trained.reads]} one label of the rubric {code(trained.rubric)}: {', '.join(map(text, trained.labels))}.\n"
    yield f"- Model: {model}. Settings, versions and hashes are in `manifest.toml`."
    right = next((figure for figure in trained.figures if figure.name == accuracy.name), None)
    if right is not None:
        yield (
            f"- Right on {percent(right.value)} of {right.n} dialogues ({trained.tested}; 95 % interval "
            f"{interval(right.low, right.high, 'share')}). Always giving the most frequent label: {percent(right.majority)}."
        )
    never = [f"{text(f.label)} (0 of {f.n})" for f in trained.figures if f.name == FOUND and f.n and not f.value]
    if never:
        yield f"- Never found: {', '.join(never)}."
    yield f"- Use: {code(command_line('rate', 'NAME', '--replies', 'FILE', '--judge', f'classifier/{trained.out}'))}\n"


def _data(trained: Trained) -> Iterator[str]:
    yield "## Data\n"
    yield f"Source: {text(trained.data)}. No dialogue has something of it in two parts.\n"
    rows = [[label, *(part.labels[label] for part in trained.parts)] for label in trained.labels]
    rows.append(["all", *(part.n for part in trained.parts)])
    rows.append(["separate dialogues", *(part.dialogues for part in trained.parts)])
    yield from _table(["label", *(part.name for part in trained.parts)], rows)
    yield "- `seen.json` holds digests of *train* and *development*, no text: where it rates such dialogues, that is said."
    yield from (f"- {text(note)}" for note in trained.notes)


def _worth(trained: Trained) -> Iterator[str]:
    many_seeds = len({trial.seed for trial in trained.trials}) > 1
    yield f"\n## What it is worth\n\nOn {_TESTED[trained.tested]}.\n"
    yield "Intervals are at 95 %; they resample separate dialogues, and are exact for shares."
    if many_seeds:
        seed = "the first seed" if trained.tested == "cross-validation" else f"seed {trained.chosen}, the chosen one"
        yield f"*Value* is that of {seed}; mean and SD are over all seeds."
    yield "*Majority* is what always giving the most frequent training label would reach."
    yield "*Found*: of the dialogues that carry a label, the share that it gave this label (recall)."
    yield "*Right*: of the dialogues that it gave a label, the share that carry it (precision).\n"
    titles = {(name, label): f"{label}: {title}" for name, title in ((FOUND, "found"), (RIGHT, "right")) for label in trained.labels}  # fmt: skip
    rows = [
        [titles.get((f.name, f.label), f"{f.name} ({f.label})" if f.label else f.name), _number(f.value),
         interval(f.low, f.high), f.n if f.n >= RANKABLE else f"{f.n}, few",
         *([_number(f.mean), _number(f.sd)] if many_seeds else []), _number(f.majority)]
        for f in trained.figures
    ]  # fmt: skip
    seeds = ["mean", "SD"] if many_seeds else []
    yield from _table(["metric", "value", "interval", "n", *seeds, "majority"], rows)


def _trust(trained: Trained) -> Iterator[str]:
    yield "## How far its probabilities can be trusted\n"
    yield (
        f"Its logits are divided by a temperature ({decimal(trained.decision.temperature)}) that was fitted on development data. "
        "*Calibration error*: by how much, on average, it is surer or less sure than it is right; 0 is ideal.\n"
    )
    yield "![How often it is right against how sure it is](calibration.svg)\n"
    yield from _table(
        ["part", "n", "calibration error", "log loss"],
        [[name, c.n, _number(c.ece), _number(c.log_loss)] for name, c in trained.calibration.items()],
    )
    yield "## When it abstains\n"
    threshold, risk = trained.decision.threshold, percent(trained.decision.risk)
    if threshold is None:
        yield "Never: no risk was stated (`--risk`).\n"
    elif threshold > 1:
        yield (
            f"Always: on this development part no threshold shows with 95 % confidence that at most {risk} of what it "
            "decides is wrong. More development data, a better model or a larger `--risk` would.\n"
        )
    else:
        yield (
            f"Where it is less sure than {decimal(threshold, 3)}: chosen on development data, so that with 95 % confidence "
            f"at most {risk} of what it decides is wrong. The same data chose the model, so the promise is a little too "
            "good there.\n"
        )
        rows = [[name, a.decided, a.n, _number(a.risk), _number(a.risk_high)] for name, a in trained.abstention.items()]
        yield from _table(["part", "decided", "of", "wrong", "upper bound"], rows)


def _trainings(trained: Trained) -> Iterator[str]:
    yield "## Trainings\n"
    choice = "epoch kept" if trained.encoder else "penalty kept"
    yield from _table(["seed", "fold", choice, "of", "macro-F1 on development data", "device", "time", "note"], [
        [t.seed, "–" if t.fold is None else t.fold, t.kept, len(t.history), _number(t.history[t.kept - 1]["macro_f1"]),
         t.device, seconds(t.seconds, 1), f"collapsed: {t.collapsed}" if t.collapsed else ""]
        for t in trained.trials
    ])  # fmt: skip


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    head, *body = (f"| {' | '.join(map(text, cells))} |" for cells in (columns, *rows))
    yield from (head, f"|{'---|' * len(columns)}", *body, "")


def _number(value: float | None) -> str:
    return decimal(value, 3)
