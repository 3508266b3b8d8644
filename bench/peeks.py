"""How often somebody who looks at the card while labelling goes on ever sees *good*, by one look's bounds and by `--look-until`.

    python -m bench.peeks --studies 200            # whole cards; bench/results/reliability.md
    python -m bench.peeks --end --studies 1000     # the comparison on unsafe replies alone, beside other methods
    python -m bench.peeks --first 200 --studies 100    # studies 200 to 299

Three people of ICC .74 rate 800 replies, each in a conversation of its own, 15 % of them unsafe, in random order. One
looks after each 50. A sound judge errs as the better of the people does; the judge at the limit does, too, and misses
so much more of the unsafe that it shares .10 less of people's calls than a left-out clinician does: the margin.
"""

from __future__ import annotations

import argparse
import math
import os
from typing import TYPE_CHECKING

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy: the machine may be shared

import numpy as np
import polars as pl
from scipy import special

from mindgauge.analysis.reliability import rule
from mindgauge.analysis.reliability.card import GOOD
from mindgauge.analysis.reliability.cards import CardOptions, cards_beside
from mindgauge.analysis.reliability.ratings import Compared, rated_criterion, read
from mindgauge.stats import betting, looks
from mindgauge.stats.left_out import left_out
from tests.analysis.reliability.harmful import SKILL, error, levels

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

REPLIES, ROUND, MARGIN, AGREEMENT = 800, 50, 0.10, 0.74
LOOKS = range(ROUND, REPLIES + 1, ROUND)
SHOWN = (100, 200, 300, 400, 500, 600, 700, 800)
JUDGES = ("at the limit", "sound")


def study(seed: int, replies: int, missed: float) -> tuple[Floats, Floats, Floats]:
    """Return the verdicts of the judge at the limit, of the sound one, and people's, shape (n, 3)."""
    random, sd = np.random.default_rng(seed), error(AGREEMENT)
    quality = random.normal(size=replies)
    people = np.stack([levels(quality + skill * sd * random.normal(size=replies)) for skill in SKILL[3]], axis=1)
    sound = levels(quality + SKILL[3][0] * sd * random.normal(size=replies))
    passed = (sound <= 2) & (random.random(replies) < missed)
    return np.where(passed, random.choice([3.0, 4.0, 5.0], replies), sound), sound, people


def at_the_limit() -> float:
    """Return the share of its unsafe calls that a sound judge must lose to be worse by the margin, by a fixed large draw."""
    _, sound, people = study(0, 400_000, 0.0)
    calls = (people <= 2).sum(axis=1)
    judge, person = ((calls * shares).sum() / calls.sum() for shares in (sound <= 2, (calls - 1) / 2))
    return float((judge - person + MARGIN) / judge)


# -- the unsafe end alone ---------------------------------------------------------------------------------------------


def asymptotic(replies: int, best: int = 400, alpha: float = 0.05) -> float:
    """Return how many standard errors a one-sided asymptotic confidence sequence takes (Waudby-Smith et al. 2024, closest at `best`)."""
    spread = replies / best * (-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1))
    return math.sqrt(2 * (spread + 1) / spread * math.log1p(math.sqrt(spread + 1) / (2 * alpha)))


def by_jackknife(calls: Floats, people: Floats, level: float) -> bool:
    """Whether the lower bound of a level reaches the margin."""
    found = left_out(calls, people, np.arange(len(calls)), MARGIN, level=level).difference
    return found.low is not None and found.low >= -MARGIN


def by_betting(calls: Floats, people: Floats) -> bool:
    """Whether the bound by betting does."""
    counts = people.sum(axis=1)
    called = counts > 0
    gaps = calls[called] - (counts[called] - 1) / 2
    return betting.lower(gaps, (-1.0, 1.0), alpha=0.05, weights=counts[called], anytime=True) >= -MARGIN


METHODS: dict[str, Callable[[Floats, Floats], bool]] = {
    "one look": lambda calls, people: by_jackknife(calls, people, 0.95),
    "`--look-until 800`": lambda calls, people: by_jackknife(
        calls, people, (1 + looks.level(0.90, len(calls) / REPLIES)) / 2
    ),
    "asymptotic confidence sequence": lambda calls, people: by_jackknife(
        calls, people, float(special.ndtr(asymptotic(len(calls))))
    ),
    "betting": by_betting,
}


def of_the_end(seed: int, missed: float) -> dict[tuple[str, str], list[bool]]:
    """Say by which method the judges are no worse by the margin after each look of a study."""
    *judges, people = study(seed, REPLIES, missed)
    unsafe = (people <= 2).astype(float)
    return {
        (name, method): [passes((verdicts[:n] <= 2).astype(float), unsafe[:n]) for n in LOOKS]
        for name, verdicts in zip(JUDGES, judges, strict=True)
        for method, passes in METHODS.items()
    }


# -- whole cards ------------------------------------------------------------------------------------------------------


def of_cards(seed: int, missed: float) -> dict[tuple[str, str], list[bool]]:
    """Say whether the judges' cards are good after each look of a study, by one look's bounds and by those of all.

    No card is made where the unsafe end alone shows that it is not good, or after one that was, but for the last.
    """
    *judges, people = study(seed, REPLIES, missed)
    persons = {f"person {i + 1}": people[:, i] for i in range(3)}
    unsafe = (people <= 2).astype(float)
    good: dict[tuple[str, str], list[bool]] = {}
    for name, verdicts in zip(JUDGES, judges, strict=True):
        calls = (verdicts <= 2).astype(float)
        for method, until in zip([*METHODS][:2], (0, REPLIES), strict=True):
            seen = good[name, method] = []
            for n in LOOKS:
                pending = METHODS[method](calls[:n], unsafe[:n]) and (n == REPLIES or not any(seen))
                seen.append(pending and is_good(persons | {name: verdicts}, n, until))
    return good


def is_good(raters: dict[str, Floats], n: int, until: int) -> bool:
    """Whether the card of the last of some raters is good after n replies."""
    place = range(n)
    known = pl.DataFrame({
        "subject": [f"reply {i}" for i in place], "system": [f"system {i % 5}" for i in place],
        "cluster": [f"conversation {i}" for i in place], "criterion": "safety",
    })  # fmt: skip
    *persons, judge = raters
    frame = pl.concat(
        known.with_columns(
            rater=pl.lit(name), rater_kind=pl.lit("model" if name == judge else "person"), value=pl.Series(values[:n])
        )
        for name, values in raters.items()
    )
    ratings = read([frame], scale={"*": "1:5"}, unsafe=["safety<=2"])
    criterion = rated_criterion(ratings, "safety", persons)
    options = CardOptions(rule.load(rule.MINDGAUGE), resamples=10, brief=True, look_until=until)
    [card] = cards_beside(criterion, Compared(persons, persons, persons), [judge], {}, options)
    return card.verdict == GOOD


def table(studies: range, look: Callable[[int, float], dict[tuple[str, str], list[bool]]]) -> str:
    """Return in how many studies a judge was ever good until then, in percent, as a Markdown table."""
    missed = at_the_limit()
    found = [look(seed, missed) for seed in studies]
    lines = [
        f"| judge | bounds of | {' | '.join(f'by {n}' for n in SHOWN)} | one look at {REPLIES} |",
        "|---|---|" + "--:|" * (len(SHOWN) + 1),
    ]
    for judge, method in found[0]:
        good = np.array([by_method[judge, method] for by_method in found])
        ever = np.maximum.accumulate(good, axis=1).mean(axis=0)
        cells = [f"{100 * share:.1f}" for share in (*(ever[LOOKS.index(n)] for n in SHOWN), good[:, -1].mean())]
        lines.append(f"| {judge} | {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--end", action="store_true", help="the comparison on unsafe replies alone")
    given = parser.parse_args()
    print(table(range(given.first, given.first + given.studies), of_the_end if given.end else of_cards))
