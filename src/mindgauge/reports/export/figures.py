"""The figures of a run that may be passed on: what leads first, each with how far its judge can be trusted, and people without their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.benchmarks.metrics import STATUS_RATES
from mindgauge.reports.export.placed import pseudonyms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mindgauge.analysis.score import Score, Scores
    from mindgauge.reports.reliability_gate import ReliabilityGate

UNTESTED = "not known: no people rated beside it, and it took no entry test"


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
        """Return the figures that the benchmark goes by and that have a value; and for each that is withheld, why."""
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
        person, colon, made = name.rpartition(":")
        return self.names.get(name) or (f"{self.names[person]}{colon}{made}" if person in self.names else name)

    def verdict(self, score: Score) -> str:
        """Say how far a judge can be trusted: by its card or, where no people rated beside it, by its entry test."""
        card = self.gate.of(score)
        if card is not None:
            return f"{card.card.verdict} (by people's ratings)"
        place = (score.benchmark, score.criterion, score.rater)
        tests = [test for test in self.scores.qualifications if (test.benchmark, test.criterion, test.judge) == place]
        return f"entry test {tests[0].result}" if tests else UNTESTED

    def _why(self, score: Score) -> str:
        card = self.gate.of(score)
        return score.void or (card.card.verdict if card is not None else "")
