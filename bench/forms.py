"""Real texts in other forms: how many items come of each, what is dropped, and which of them the audit would not let out.

    python bench/forms.py [DIR]

DIR is a copy of the released files of Between Help and Harm; else `$MINDGAUGE_DATA/help_or_harm` is read. Their inputs become
items by a recipe with a split. Then every form by rule is made of them. Models are scripted, so nothing is said of how well
any model writes or checks; what holds is where each text ends: as an item, or dropped.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

import mindgauge
from mindgauge.benchmarks import registry
from mindgauge.benchmarks.variants.by_name import names
from mindgauge.commands.dataset.transform import DatasetTransformed

RECIPE = """
name = "inputs"
seed = 7
[[source]]
name = "inputs"
files = "inputs.csv"
licence = "CC-BY-4.0"
columns = {label = "label"}
[[step]]
do = "exact"
[[step]]
do = "near"
[[step]]
do = "split"
parts = {train = 0.5, test = 0.5}
"""
BY_RULE = ("plain", "noise", "personas", "jailbreak")


def main() -> None:
    """Build, transform, and print the counts."""
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(os.environ["MINDGAUGE_DATA"]) / "help_or_harm"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        samples = registry.asked_one("help_or_harm/crisis_type").samples(data)
        rows = [(s.messages[-1].content, None if s.target is None else str(s.target)) for s in samples]
        pl.DataFrame(rows, ["text", "label"], orient="row").write_csv(folder / "inputs.csv")
        (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
        print(f"{mindgauge.dataset_build(folder / 'recipe.toml', out=folder / 'items').items} items")
        began = time.perf_counter()
        made = mindgauge.dataset_transform(folder / "items", form=BY_RULE, out=folder / "made")
        assert isinstance(made, DatasetTransformed)
        print(f"{made.rows} texts, {made.items} items, {made.dropped} dropped in {time.perf_counter() - began:.1f} s")
        for step in made.changes:
            print(f"  {step.step}: {step.rows} made, {step.dropped} dropped {step.reasons or ''}")
        print(f"errors of the audit, all in one: {errors(folder / 'made')}")
        kinds = [form for form in names() if form.startswith("jailbreak")]
        for form in ("plain", "noise", "personas", *kinds):
            mindgauge.dataset_transform(folder / "items", form=form, out=folder / "alone")
            print(f"errors of the audit, {form} alone: {errors(folder / 'alone')}")


def errors(folder: Path) -> int:
    """Count the errors by which a release would be refused."""
    return mindgauge.audit(folder / "items.parquet").counts["error"]


if __name__ == "__main__":
    main()
