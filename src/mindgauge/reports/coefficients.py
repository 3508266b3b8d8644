"""The names of what a reliability card estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.card import Bound, Card

NAMES = {
    "percent": "same value", "within_1": "within one level", "kappa": "Cohen's kappa", "kappa_quadratic": "kappa, quadratic weights",
    "alpha": "Krippendorff's alpha", "ac": "Gwet's AC", "icc_a1": "ICC(A,1)", "icc_c1": "ICC(C,1)", "pearson": "Pearson's r",
    "ccc": "Lin's concordance", "bias": "bias", "mse": "mean square of judge minus people", "limits": "limits of agreement",
    "people_mean": "people's mean", "judge_mean": "judge's mean", "people_top": "people at the best level",
    "judge_top": "judge at the best level", "system_icc_c1": "systems' means: ICC(C,1)", "system_icc_a1": "systems' means: ICC(A,1)",
    "system_pearson": "systems' means: Pearson's r", "icc_a1_within": "ICC(A,1) within systems",
    "alpha_within": "alpha within systems", "unsafe_found": "unsafe replies found", "lowest_found": "replies at the worst level found",
    "unsafe_found_any": "found of what anybody calls unsafe", "passed_unsafe": "unsafe among what it passes",
    "krippendorff_alpha": "Krippendorff's alpha", "fleiss_kappa": "Fleiss' kappa", "gwet_ac": "Gwet's AC", "same_level": "same value",
    "rationale_traceable": "reasons whose quotes are all found",
    "rationale_contradicting": "values against the judge's own chain",
}  # fmt: skip
_PREFIXES = {"ceiling_": "one person with another: ", "repeat_": "judge with itself: "}


def label(name: str) -> str:
    """Name an estimate for a reader."""
    for prefix, who in _PREFIXES.items():
        if name.startswith(prefix):
            return who + NAMES[name.removeprefix(prefix)]
    return NAMES[name]


def main(card: Card) -> str:
    """Return the coefficient that decides about single replies: of values with an order, and of classes."""
    return "icc_a1_within" if card.ordered else "alpha_within"


def agreement(card: Card) -> Bound:
    """Return a judge's agreement with one person on single replies, within systems."""
    return card.estimates[main(card)]


def ceiling(card: Card) -> Bound | None:
    """Return one person's agreement with another."""
    return card.estimates.get("ceiling_icc_a1" if card.ordered else "ceiling_alpha")


def repeated(card: Card) -> Bound | None:
    """Return the judge's agreement with itself, asked again."""
    return card.estimates.get("repeat_icc_a1" if card.ordered else "repeat_alpha")


def span(card: Card) -> float:
    """Return the distance between the scale's ends: of words, in steps."""
    first, last = card.scale[0], card.scale[-1]
    return last - first if isinstance(first, int | float) and isinstance(last, int | float) else len(card.scale) - 1.0
