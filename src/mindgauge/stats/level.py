"""The level of measurement at which each coefficient takes values, written beside its name wherever a person reads it.

An alpha of levels in an order is another figure than one of classes, and so is a kappa with and without weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_ALPHA = ("ordinal", "nominal")
_QUADRATIC, _NOMINAL, _INTERVAL = ("quadratic weights",) * 2, ("nominal",) * 2, ("interval",) * 2
_COEFFICIENTS = {
    "krippendorff_alpha": ("Krippendorff's alpha", *_ALPHA), "alpha": ("Krippendorff's alpha", *_ALPHA),
    "alpha_within": ("alpha within systems", *_ALPHA),
    "kappa": ("Cohen's kappa", *_NOMINAL), "cohen_kappa": ("Cohen's kappa", *_NOMINAL),
    "fleiss_kappa": ("Fleiss' kappa", *_NOMINAL), "fleiss": ("Fleiss' kappa", *_NOMINAL),
    "kappa_linear": ("kappa", "linear weights", "linear weights"), "kappa_quadratic": ("kappa", *_QUADRATIC),
    "quadratic_kappa": ("kappa", *_QUADRATIC), "weighted_kappa": ("kappa", "quadratic weights", "nominal"),
    "ac": ("Gwet's AC", "AC2, quadratic weights", "AC1, nominal"), "gwet_ac": ("Gwet's AC", "AC2, quadratic weights", "AC1, nominal"),
    "icc_a1": ("ICC(A,1)", *_INTERVAL), "icc_c1": ("ICC(C,1)", *_INTERVAL), "icc_a1_within": ("ICC(A,1) within systems", *_INTERVAL),
    "system_icc_c1": ("systems' means: ICC(C,1)", *_INTERVAL), "system_icc_a1": ("systems' means: ICC(A,1)", *_INTERVAL),
}  # fmt: skip
"""Name of an estimate → what a reader calls it, and its level for values in an order and for classes."""


def level(name: str, *, ordered: bool = True) -> str:
    """Return the level of a coefficient; empty of an estimate that is none."""
    return _COEFFICIENTS[name][1 if ordered else 2] if name in _COEFFICIENTS else ""


def named(name: str, *, ordered: bool = True) -> str:
    """Name a coefficient with its level, `Krippendorff's alpha, ordinal`; empty of an estimate that is none."""
    return _with(_COEFFICIENTS[name][0], level(name, ordered=ordered)) if name in _COEFFICIENTS else ""


def in_sentence(name: str, *, ordered: bool = True) -> str:
    """Name a coefficient before its value, `nominal alpha within systems`; an ICC is of values at equal distances by definition."""
    words = _COEFFICIENTS[name][0]
    return words if "ICC" in words else f"{level(name, ordered=ordered)} {words}"


def heading(name: str, orders: Collection[bool]) -> str:
    """Name a coefficient above rows of which some have an order and others are classes."""
    levels = {level(name, ordered=ordered): None for ordered in sorted(orders, reverse=True)}
    first, *others = levels or [level(name)]
    return _with(_COEFFICIENTS[name][0], first) + "".join(f" (classes: {other})" for other in others)


def _with(word: str, words: str) -> str:
    return f"Gwet's {words}" if words.startswith("AC") else f"{word}, {words}"
