"""Checks of labels: options that are never right, classes too small to count, one text with two labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.audit.finding import CheckResult, Severity, check, limited, many, places
from mindgauge.analysis.audit.order import ALPHA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.audit.view import View

FEW, RANKABLE = 10, 30
"""Items of a label: below 10 its recall moves by over a tenth with each; below 30 models cannot be ranked on it."""
LABELLED = 100
"""Smaller sets have small classes by nature."""
CHOSEN = 0.02
"""An answer that raters choose this often is an option, also where nobody lists the options."""
LABEL = "label"
"""What the gold labels of the texts are called among the criteria, where the material names no single one."""


def gold(view: View) -> pl.DataFrame:
    """Return the gold values, one per item: criterion, item, value, file, row."""
    stated = view.ratings.filter(pl.col("rater_kind") == "gold", pl.col("value").is_not_null())
    stated = stated.select(
        "criterion", item="subject", value=pl.col("value").str.strip_chars(' "'), file="file", row="row"
    )
    named = next(iter(view.options)) if len(view.options) == 1 else LABEL
    own = view.asked.filter(pl.col("label").is_not_null()).select(
        criterion=pl.lit(named), item=pl.format("{}:{}", "file", "row"), value=pl.col("label").str.strip_chars(), file="file", row="row"
    )  # fmt: skip
    return pl.concat([stated, own.filter(~pl.col("criterion").is_in(stated["criterion"].unique().implode()))])


@check(
    "never_gold",
    Severity.WARNING,
    "whoever chooses this option is always wrong, and whoever knows that it is never right has an easier test",
)
def never_gold(view: View) -> Iterator[CheckResult]:
    """Options of a closed question that are never the right one, in more items than chance would leave out."""
    for (criterion,), own in gold(view).group_by("criterion", maintain_order=True):
        right = set(own["value"])
        answers = view.rated.filter(pl.col("criterion") == criterion, pl.col("rater_kind") != "gold")
        value = pl.col("value").str.strip_chars(' "')
        counts = answers.group_by(value).len().sort("value")
        chosen = {v for v, n in counts.iter_rows() if n >= CHOSEN * answers.height}
        options = set(view.options.get(str(criterion), chosen | right if len(right) > 1 else ()))
        never = sorted(options - right)
        if len(options) < 2 or not never or (1 - 1 / len(options)) ** own.height > ALPHA:
            continue
        wrong = dict(counts.iter_rows())
        facts = [f"{option}: right 0 times in {own.height}, chosen {wrong.get(option, 0)} times" for option in never]
        yield CheckResult(len(never), f"{many(len(never), 'option')} of {criterion} never right in {many(own.height, 'item')}: {', '.join(never)}", limited(facts))  # fmt: skip


@check(
    "rare_labels",
    Severity.NOTE,
    "figures for these classes rest on a few items: their intervals are wide, and macro averages swing with them",
)
def rare_labels(view: View) -> Iterator[CheckResult]:
    """Labels with fewer than 30 items, in sets with at least 100."""
    for (criterion,), own in gold(view).group_by("criterion", maintain_order=True):
        counts = own.group_by("value").len().sort("len", "value")
        rare = counts.filter(pl.col("len") < RANKABLE)
        if own.height < LABELLED or not rare.height or counts.height > own.height / FEW:
            continue
        very_rare = rare.filter(pl.col("len") < FEW).height
        facts = [f"{value}: {n}" for value, n in rare.iter_rows()]
        yield CheckResult(rare.height, f"{rare.height} of {many(counts.height, 'label')} of {criterion} have fewer than {RANKABLE} items, {very_rare} fewer than {FEW}", limited(facts))  # fmt: skip


@check(
    "conflicting_labels",
    Severity.ERROR,
    "at least one of the labels is wrong, and no rater can agree with both",
)
def conflicting_labels(view: View) -> Iterator[CheckResult]:
    """Items with the same texts and different labels."""
    rows = view.items.filter(pl.col("label").is_not_null())
    clash = rows.filter(pl.col("label").n_unique().over("whole", pl.col("split").fill_null("")) > 1)
    if clash.height:
        texts = clash["whole"].n_unique()
        yield CheckResult(
            texts, f"{many(texts, 'text')} with different labels in {many(clash.height, 'row')}", places(clash)
        )


CHECKS = (never_gold, rare_labels, conflicting_labels)
