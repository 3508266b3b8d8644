"""What a comparison of judges says."""

from __future__ import annotations

from typing import Any

import msgspec

from mindgauge.analysis.fitness import Qualification
from mindgauge.analysis.reliability.card import Bound, estimate_columns
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.rounding import bounded, count, plural

MAIN = ("kappa_quadratic", "kappa", "accuracy")
"""The agreement that is named first, as far as a criterion's levels have it."""


class JudgeAgreement(msgspec.Struct, frozen=True):
    """One judge beside the reference on one criterion.

    `n` subjects were given to both, `missing` of them have no value from the judge: it gave none that can be read, or
    said that the criterion does not apply. `estimates` holds, of single verdicts, `accuracy`, `f1` (the mean over levels
    that the reference gave), of yes and no also `f1_yes`, `kappa` and `kappa_quadratic`; of subjects' means
    `pearson`, `spearman`, `kendall` (tau-b); of systems' means the same with `system_` before. `worst` and `best` are the
    accuracy if all missing verdicts were wrong, or right.
    """

    judge: str
    reference: str
    criterion: str
    n: int
    missing: int
    clusters: int
    systems: int
    estimates: dict[str, Bound]
    worst: float | None
    best: float | None


class Stability(msgspec.Struct, frozen=True):
    """What a judge says when it is asked again.

    Of `n` subjects with verdicts on all criteria in all runs, `identical` is the share whose verdicts are the same in
    all runs; `incomplete` subjects lack a verdict, or no criterion applies to them. `flips` is, by criterion, the chance that two runs differ.
    """

    judge: str
    runs: int
    n: int
    incomplete: int
    clusters: int
    identical: Bound
    flips: dict[str, Bound]


class JudgeCost(msgspec.Struct, frozen=True):
    """What a judge's verdicts took; a verdict is one criterion of one subject in one run, readable or not.

    Dollars and seconds are per thousand verdicts, None where unknown; tokens per verdict. `cached` are those of the
    prompt that the server read before.
    """

    judge: str
    verdicts: int
    calls: int
    dollars: float | None
    seconds: float | None
    prompt_tokens: float
    cached_tokens: float
    completion_tokens: float


class JudgeDifference(msgspec.Struct, frozen=True):
    """The first judge's measure less the second's, on subjects that both have a value for.

    `adjusted` is p after Holm over all pairs and criteria of the measure; `real` says that it is at most .05 and that 0
    lies outside the interval; None where that cannot be said (`note`).
    """

    measure: str
    criterion: str
    first: str
    second: str
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    adjusted: float | None
    real: bool | None
    better: str
    n: int
    clusters: int
    note: str = ""


def _agreement(entry: JudgeAgreement) -> float:
    """Return how far a judge agrees, by which the worst is named first."""
    value = next((entry.estimates[name].value for name in MAIN if name in entry.estimates), None)
    return -1.0 if value is None else value


class JudgeComparison(Tabular, msgspec.Struct, frozen=True):
    """Judges beside each other; without people, `reference` is empty and judges are compared among themselves."""

    run: str
    benchmark: str
    reference: str
    agreements: list[JudgeAgreement]
    stability: list[Stability]
    taken: list[JudgeCost]
    differences: list[JudgeDifference]
    notes: list[str]
    qualifications: list[Qualification] = []
    """How judges did in their entry test; empty where none took it."""

    def summary(self) -> list[str]:
        """Say how far each judge agrees, criterion by criterion, and how many differences are real."""
        against = self.reference or "each other"
        lines = [
            f"{entry.judge} on {entry.criterion}: {name.replace('_', ' ')} {bounded(bound.value, bound.low, bound.high)}, "
            f"n {count(entry.n)}, {count(entry.missing)} missing"
            for entry in sorted(self.agreements, key=_agreement)
            for name in [next((name for name in MAIN if name in entry.estimates), "")]
            for bound in [entry.estimates.get(name, Bound(None))]
        ]
        real = sum(difference.real is True for difference in self.differences)
        return [
            f"{self.benchmark}: judges beside {against}",
            *first_of(lines, 5),
            *(
                [f"{count(real)} of {plural(len(self.differences), 'difference')} are real."]
                if self.differences
                else []
            ),
            *noted(self.notes),
            f"The run: {self.run}; .differences, .stability and .taken have the rest.",
        ]

    def _listed(self) -> list[dict[str, Any]]:
        return [
            {name: value for name, value in msgspec.structs.asdict(agreement).items() if name != "estimates"}
            | estimate_columns(agreement.estimates)
            for agreement in self.agreements
        ]
