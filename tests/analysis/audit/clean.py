"""Material with nothing wrong in it, drawn at random, and ways to look at what an audit finds."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis.audit import checks
from mindgauge.analysis.audit.view import View
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material, frame

if TYPE_CHECKING:
    from mindgauge.analysis.audit.view import CheckResult, Finding

WORDS = tuple(
    """
    today tomorrow morning evening work school sister brother friend mother father garden kitchen letter window river
    quiet heavy tired gentle worried hopeful lonely calm angry proud listen walk sleep write call wait talk remember
    forget begin finish because although maybe often never always somebody nobody everything something there here
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
SYSTEMS = ("alpha", "beta", "gamma")
RATERS = {"H1": "person", "H2": "person", "one": "model", "two": "model"}
CRITERIA = ("safety", "empathy", "guidance")
INPUTS, REPLIES = "inputs.csv", "replies.csv"


def sentence(generator: np.random.Generator, words: int) -> str:
    """Write some words; fifteen of them are as good as never the same twice."""
    return " ".join(generator.choice(WORDS, size=words)).capitalize() + "."


@functools.cache
def usual() -> Material:
    """Return the clean material that most plants begin with; nobody changes it in place."""
    return clean()


@functools.cache
def usual_labels() -> Material:
    """Return the labelled material that most plants begin with."""
    return labelled()


def clean(
    seed: int = 0,
    *,
    items: int = 120,
    systems: tuple[str, ...] = SYSTEMS,
    raters: dict[str, str] = RATERS,
    criteria: tuple[str, ...] = CRITERIA,
    halo: float = 0.6,
) -> Material:
    """Draw conversations, replies and ratings: quality of the reply, plus level of the criterion, plus noise."""
    draw = np.random.default_rng(seed)
    texts: list[tuple[object, ...]] = []
    ratings: list[tuple[object, ...]] = []
    for item in range(items):
        texts.append(
            (INPUTS, item, "input", f"c{item}", sentence(draw, int(draw.integers(15, 60))), None, None, None, None)
        )
        for number, system in enumerate(systems):
            row, subject = item * len(systems) + number, f"c{item}/{system}"
            words = sentence(draw, int(draw.integers(15, 90)))
            texts.append((REPLIES, row, "reply", subject, words, system, None, None, None))
            quality = 3 + 0.3 * number + draw.normal(0, halo)
            for rater, kind in raters.items():
                for level, criterion in enumerate(criteria):
                    value = int(np.clip(np.round(quality + 0.2 * level + draw.normal(0, 0.9)), 1, 5))
                    ratings.append(
                        (subject, criterion, rater, kind, 0, "ok", str(value), system, f"c{item}", f"{rater}.csv", row)
                    )
    return Material(frame(texts, TEXTS), frame(ratings, RATINGS), dict.fromkeys(criteria, (1.0, 5.0)), {})


def labelled(seed: int = 0, *, items: int = 240, labels: tuple[str, ...] = ("A", "B", "C", "D")) -> Material:
    """Draw closed questions in random order: a gold label, two people and a model who agree with it in most cases."""
    draw = np.random.default_rng(seed)
    texts: list[tuple[object, ...]] = []
    ratings: list[tuple[object, ...]] = []
    for item in range(items):
        gold = labels[int(draw.integers(len(labels)))]
        words = sentence(draw, int(draw.integers(15, 60)))
        texts.append((INPUTS, item, "input", f"q{item}", words, None, f"source {item % 3}", None, gold))
        for rater, kind, skill in (("H1", "person", 0.85), ("H2", "person", 0.8), ("solver", "model", 0.7)):
            value = gold if draw.random() < skill else labels[int(draw.integers(len(labels)))]
            ratings.append((f"q{item}", "answer", rater, kind, 0, "ok", value, None, f"q{item}", f"{rater}.csv", item))
    return Material(frame(texts, TEXTS), frame(ratings, RATINGS), {}, {"answer": labels})


def with_texts(material: Material, *rows: dict[str, object]) -> Material:
    """Add texts; columns that are not given are null."""
    added = pl.DataFrame([{name: row.get(name) for name in TEXTS} for row in rows], material.texts.schema)
    return material._replace(texts=pl.concat([material.texts, added]))


def with_ratings(material: Material, rows: pl.DataFrame) -> Material:
    """Add ratings."""
    return material._replace(ratings=pl.concat([material.ratings, rows.select(list(RATINGS))]))


def change_text(material: Material, file: str, row: int, text: str) -> Material:
    """Put another text into a row."""
    here = (pl.col("file") == file) & (pl.col("row") == row)
    return material._replace(texts=material.texts.with_columns(text=pl.when(here).then(pl.lit(text)).otherwise("text")))


def change_values(material: Material, where: pl.Expr, value: pl.Expr | str | None) -> Material:
    """Put another value into some ratings."""
    new = value if isinstance(value, pl.Expr) else pl.lit(value, pl.String)
    return material._replace(ratings=material.ratings.with_columns(value=pl.when(where).then(new).otherwise("value")))


def found(ident: str, material: Material) -> list[CheckResult]:
    """Run one check."""
    (check,) = (check for check in checks.CHECKS if check.id == ident)
    return list(check.find(View(material)))


def alarms(material: Material) -> list[Finding]:
    """Return what an audit finds that is more than a note."""
    return [finding for finding in checks.run(material) if finding.severity != "note"]
