"""What the hub layout says of results: a table for its card, and files for the pages of the models.

A file for a model's page has a bare value, so a figure stands there only with its interval, who rated, and how far to trust them in its notes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records.rounding import count, interval, plural, write
from mindgauge.records.text import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.reports.export.figures import PublishedFigures

_SITE = "https://huggingface.co/datasets/"


class ResultRow(NamedTuple):
    """A figure in words, as the card shows it."""

    model: str
    measure: str
    of: str
    value: str
    interval: str
    n: str
    missing: str
    rater: str
    verdict: str


class ModelResults(NamedTuple):
    """What the models of a benchmark reached."""

    figures: PublishedFigures
    benchmark: str
    judges: frozenset[str]
    """Raters that are models."""

    def rows(self, models: Sequence[str]) -> list[ResultRow]:
        """Return what the benchmark goes by, for each model in turn."""
        return [
            ResultRow(
                score.model, score.title or score.name, score.slice, write(score.value, score.unit),
                "" if score.low is None else interval(score.low, score.high, score.unit), count(score.n), count(score.missing),
                self.figures.rater(score.rater), self._trust(score),
            )
            for model in models
            for score in self._leading(model)
        ]  # fmt: skip

    def withheld(self, models: Sequence[str]) -> int:
        """Count the figures that a judge may not give."""
        return sum(len(self.figures.of_model(self.benchmark, model)[1]) for model in models)

    def for_page(self, model: str, dataset: str, revision: str, date: str) -> str:
        """Write the file for a model's own page; empty where no figure has an interval.

        Args:
            model: whose page.
            dataset: where this export is published, OWNER/NAME.
            revision: of the samples.
            date: of the run, YYYY-MM-DD.
        """
        entries = [
            self._entry(score, dataset, revision, date) for score in self._leading(model) if score.low is not None
        ]
        return "".join(_yaml(entry) for entry in entries)

    def _leading(self, model: str) -> list[Score]:
        return self.figures.of_model(self.benchmark, model)[0]

    def _trust(self, score: Score) -> str:
        return self.figures.verdict(score) if {score.rater, score.rater.rpartition(":")[0]} & self.judges else ""

    def _entry(self, score: Score, dataset: str, revision: str, date: str) -> dict[str, Any]:
        rater, trust = self.figures.rater(score.rater), self._trust(score)
        notes = [
            f"{score.title or score.name} ({'all' if score.slice == 'all' else score.slice})",
            f"95 % interval {interval(score.low, score.high, score.unit)}",
            f"rated by {rater}" + (f", a judge whose trustworthiness is {trust}" if trust else ""),
            f"{plural(score.n, 'rating')} of {plural(score.clusters, 'conversation')}, {count(score.missing)} missing",
        ]
        task = ".".join(part for part in (self.benchmark.replace("/", "."), score.name, score.criterion, "" if score.slice == "all" else score.slice, f"by {rater}") if part)  # fmt: skip
        return {
            "dataset": {"id": dataset, "task_id": re.sub(r"[^\w.-]+", "_", task), "revision": revision}, "value": score.value, "date": date,
            "source": {"url": f"{_SITE}{dataset}", "name": "Mindgauge"}, "notes": "; ".join(notes),
        }  # fmt: skip


def _yaml(entry: dict[str, Any]) -> str:
    """Write an entry of a list; strings and numbers of JSON are those of YAML."""
    return "- " + "\n  ".join(_lines(entry)) + "\n"


def _lines(fields: dict[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield f"{name}:"
            yield from (f"  {line}" for line in _lines(value))
        else:
            yield f"{name}: {yaml(value)}"
