"""What is printed of data sets, and of a classifier that was trained on one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.cli import answer, render
from mindgauge.records.rounding import count, decimal, interval, percent
from mindgauge.records.text import visible

if TYPE_CHECKING:
    from mindgauge.cli.command import CommandCall
    from mindgauge.commands.dataset.build import DatasetBuilt
    from mindgauge.commands.dataset.gold import DatasetLabelled
    from mindgauge.commands.dataset.label import LabelledByPanel
    from mindgauge.commands.dataset.release import DatasetReleased
    from mindgauge.commands.dataset.transform import DatasetTransformed
    from mindgauge.commands.training.account import Trained


def show_dataset_build(result: DatasetBuilt, call: CommandCall) -> None:
    """Print how many items there are, and what each step dropped."""
    for line in result.summary():
        render.sentence(visible(line))
    rows = [[step.step, count(step.rows), count(step.dropped)] for step in result.steps]
    render.table("", ["step", "rows", "dropped"], rows)
    answer.then("audit", call.arguments["out"] / "items.parquet")


def show_dataset_transform(result: DatasetTransformed, call: CommandCall) -> None:
    """Print what was written in other forms."""
    for line in result.summary():
        render.sentence(visible(line))
    if result.sample:
        queue = call.arguments["out"] / "sample.csv"
        items = result.transforms[-1].run
        answer.then("annotate", "new", "labels", "--items", items, "--order", queue, "--annotators", "ana,ben")


def show_dataset_label(result: LabelledByPanel, call: CommandCall) -> None:
    """Print what a panel of models said."""
    for line in result.summary():
        render.sentence(visible(line))
    out = call.arguments["out"]
    answer.then("dataset", "label", out, "--annotators", "ana,ben", "--out", f"{out}-people")


def show_dataset_gold(result: DatasetLabelled) -> None:
    """Print how far a panel is from people."""
    for line in [*result.summary()][:2]:
        render.sentence(visible(line))
    rows = [[entry.label, percent(entry.panel), entry.people.written("share"), entry.recall.written("share")] for entry in result.classes]  # fmt: skip
    render.table("Shares of all items", ["label", "by the panel", "by people", "of these the panel finds"], rows)
    cells = [[cell.panel, cell.people, cell.share.written("share"), count(cell.share.n)] for cell in result.met]
    render.table("What people say of what the panel says", ["the panel says", "people say", "share", "labelled"], cells)
    answer.then("dataset", "release", result.out, "--to", "hub", "--out", f"{result.out}-hub")


def show_dataset_release(result: DatasetReleased) -> None:
    """Print what was released."""
    for line in result.summary():
        render.sentence(visible(line))


def show_train(result: Trained) -> None:
    """Print what came of a training."""
    from mindgauge.analysis.classifiers import RIGHT

    many_seeds = len({trial.seed for trial in result.trials}) > 1
    rows = [
        [f"{figure.name} ({figure.label})" if figure.label else figure.name, decimal(figure.value),
         interval(figure.low, figure.high), str(figure.n),
         *([f"{decimal(figure.mean)} ± {decimal(figure.sd)}"] if many_seeds else []), decimal(figure.majority)]
        for figure in result.figures
        if figure.name != RIGHT
    ]  # fmt: skip
    columns = ["metric", "value", "95 % interval", "n", *(["seeds: mean ± SD"] if many_seeds else []), "majority"]
    render.table(f"{result.rubric}, {result.criterion}: {result.tested}", columns, rows)
    print(
        "Majority: always the most frequent training label. card.md has precision, calibration and what it is not for."
    )
    before, calibrated = result.calibration[f"{result.tested}, before"], result.calibration[result.tested]
    print(
        f"Calibration error ({result.tested}, n {calibrated.n}): {decimal(before.ece)} as trained, "
        f"{decimal(calibrated.ece)} with the temperature; see calibration.svg"
    )
    for name, decided in result.abstention.items():
        print(
            f"Decides {decided.decided} of {decided.n} ({name}); wrong {decimal(decided.risk)}, "
            f"at most {decimal(decided.risk_high)}"
        )
    for note in result.notes:
        print(f"Note: {note}")
    print(f"Saved in {result.out}. Use it as a rater: --judge classifier/{result.out}")
