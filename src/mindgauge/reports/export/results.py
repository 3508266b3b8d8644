"""What the hub layout says of results: a table for its card, and files for the pages of the models.

A file for a model's page has a bare value, so a figure stands there only with its interval, who rated, and how far to trust them in its notes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.benchmarks.metrics import STATUS_RATES
from mindgauge.records.rounding import count, interval, plural, write
from mindgauge.records.text import yaml
from mindgauge.reports.export.placed import pseudonyms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mindgauge.analysis.score import Score, Scores
    from mindgauge.reports.reliability_gate import ReliabilityGate

_SITE = "https://huggingface.co/datasets/"
_UNTESTED = "not known: no people rated the same replies, and it took no entry test"


class PublishedFigures(NamedTuple):
    """A run's figures, for files that others read."""

    scores: Scores
    gate: ReliabilityGate
    names: dict[str, str]
    """Person who rated → what they are called outside."""

    @classmethod
    def of(cls, scores: Scores, gate: ReliabilityGate, people: Iterable[str]) -> PublishedFigures:
        """Make them of a run's scores.

        Args:
            scores: of the run.
            gate: which of them may stand.
            people: who rated, by their names in the run.
        """
        return cls(scores, gate, pseudonyms(people))

    def of_model(self, benchmark: str, model: str) -> tuple[list[Score], dict[str, str]]:
        """Return the benchmark's headline figures that have a value; and for each that is withheld, why."""
        rates = {metric.name for metric in STATUS_RATES}
        leading = {id(score) for score in self.scores.leading}
        own = [
            score for score in self.scores.metrics
            if (score.benchmark, score.model) == (benchmark, model) and score.name not in rates and id(score) in leading
        ]  # fmt: skip
        own.sort(key=lambda score: score.slice != "all")
        withheld = {
            f"{score.name} ({score.criterion}, {score.slice}) by {self.rater(score.rater)}": self._why(score)
            for score in own
            if self.gate.withholds(score)
        }
        return [score for score in own if score.value is not None and not self.gate.withholds(score)], withheld

    def rater(self, name: str) -> str:
        """Return what a rater is called outside; what was made of a person's repeats keeps how."""
        person, colon, cast = name.rpartition(":")
        return self.names.get(name) or (f"{self.names[person]}{colon}{cast}" if person in self.names else name)

    def verdict(self, score: Score) -> str:
        """Say how far a judge can be trusted: by its card or, where no people rated the same replies, by its entry test."""
        card = self.gate.of(score)
        if card is not None:
            return f"{card.card.verdict} (by people's ratings)"
        place = (score.benchmark, score.criterion, score.rater)
        tests = [test for test in self.scores.qualifications if (test.benchmark, test.criterion, test.judge) == place]
        return f"entry test {tests[0].result}" if tests else _UNTESTED

    def _why(self, score: Score) -> str:
        card = self.gate.of(score)
        return score.void or (card.card.verdict if card is not None else "")


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
