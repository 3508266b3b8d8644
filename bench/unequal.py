"""A judge's mean over several systems, of each of which people labelled another share; a part of coverage.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counting import Grid
from mindgauge.stats import correction, moments, stratified
from simulated import latent, tuned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RATES = (0.9, 0.5, 0.2, 0.05)
"""Shares labelled, the worst system first; with more than four systems they come again."""
QUALITIES, BIASES = (-0.6, 0.6), (0.5, -0.5)
"""Of the worst and the best system, in standard deviations: the judge is mild with the worst and strict with the best."""


def unequal(repetitions: int, generator: np.random.Generator) -> Iterator[object]:
    """Corrected means over systems: by strata, as printed, and with all systems in one pot."""
    settings = ("ratings", "systems × conversations", "labelled")
    grid = Grid("Mean over systems of which people labelled 90, 50, 20 or 5 %", *settings)
    for shape in ("even", "85 % at 5"):
        base = tuned(moments.pearson, 0.7, shape, bias=0.0)
        for systems, conversations in ((3, 100), (4, 100), (4, 300), (9, 100), (9, 300)):
            quality, bias = (np.linspace(*ends, systems) for ends in (QUALITIES, BIASES))
            raters = [base._replace(quality=q, bias=b) for q, b in zip(quality, bias, strict=True)]
            true = float(np.mean([of.means()[0] for of in raters]))
            rates = np.resize(RATES if systems > 3 else (0.9, 0.2, 0.05), systems)
            for kind in ("any replies", "whole conversations"):
                row = (shape, f"{systems} × {conversations}", kind)
                for _ in range(repetitions):
                    drawn = latent(generator, conversations, systems)
                    both = np.array([of.rate(drawn[:, :, i]) for i, of in enumerate(raters)])
                    known = _labelled(generator, rates, conversations, whole=kind != "any replies")
                    people, judge = np.where(known, both[:, 0], np.nan).ravel(), both[:, 1].ravel()
                    system, conversation = (index.ravel() for index in np.indices(known.shape))
                    by_strata = stratified.prediction_powered_mean(judge, people, conversation, system)
                    pooled = correction.prediction_powered_mean(judge, people, conversation)
                    grid.see(row, "people and judge, by system, as printed", true, by_strata.corrected)
                    grid.see(row, "people only, by system, as printed", true, by_strata.human_only)
                    grid.see(row, "people and judge, all systems in one", true, pooled.corrected)
                    grid.see(row, "judge only", true, by_strata.judge_only)
    yield grid


def _labelled(generator: np.random.Generator, rates: Floats, conversations: int, *, whole: bool) -> NDArray[np.bool_]:
    """Draw which replies are labelled, shape (systems, conversations); whole conversations are nested in each other."""
    order = [generator.permutation(conversations) for _ in rates]
    return np.array(
        [(order[0] if whole else own) < round(rate * conversations) for own, rate in zip(order, rates, strict=True)]
    )
