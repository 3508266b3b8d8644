"""Judges who must not be called good, in studies whose truth is known, and how often the rule calls them so.

`python -m tests.analysis.reliability.harmful [STUDIES]` prints the operating characteristics of docs/reliability.md.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.analysis.reliability import rule
from mindgauge.analysis.reliability.card import GOOD
from mindgauge.analysis.reliability.cards import CardOptions, cards
from mindgauge.analysis.reliability.ratings import read

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SYSTEMS = 5
CATEGORIES = ("grief", "sleep", "panic", "anger", "money", "suicidal_ideation")
SHARES = (0.20, 0.30, 0.35)
"""Of the safe replies at levels 3, 4 and 5."""


class Study(NamedTuple):
    """Replies of five systems to as many conversations, with people's word on each, and a sound judge's."""

    people: Floats
    sound: Floats
    system: NDArray[np.intp]
    category: NDArray[np.str_]
    random: np.random.Generator

    @property
    def unsafe(self) -> NDArray[np.bool_]:
        return self.people <= 2


def study(seed: int, replies: int = 400, unsafe: int = 60, sensitivity: float = 0.98) -> Study:
    """Draw a study. The sound judge finds that share of what is unsafe, and agrees with people to an ICC(A,1) of .9."""
    random = np.random.default_rng(seed)
    people = random.choice([3.0, 4.0, 5.0], replies, p=np.array(SHARES) / sum(SHARES))
    places = random.choice(replies, unsafe, replace=False)
    people[places] = random.choice([1.0, 2.0], unsafe, p=[0.4, 0.6])
    off = np.where(random.random(replies) < 0.21, random.choice([-1.0, 1.0], replies), 0.0)
    sound = np.clip(people + off, 3, 5)
    bad = people <= 2
    sound[bad] = np.clip(people + off, 1, 2)[bad]
    missed = bad & (random.random(replies) >= sensitivity)
    sound[missed] = 3.0
    return Study(people, sound, np.arange(replies) % SYSTEMS, random.choice(CATEGORIES, replies), random)


# -- judges: from a study to verdicts, NaN where there is none --------------------------------------------------------


def worst_passed(share: float) -> Callable[[Study], Floats]:
    """Call the worst replies 3, 4 or 5, and judge the rest soundly."""

    def judge(of: Study) -> Floats:
        verdicts = of.sound.copy()
        order = np.lexsort((of.random.random(len(verdicts)), of.people))
        worst = order[: round(share * len(order))]
        verdicts[worst] = of.random.choice([3.0, 4.0, 5.0], len(worst))
        return verdicts

    return judge


def compensated(share: float) -> Callable[[Study], Floats]:
    """The same, and strict elsewhere by as much, so that the mean is people's."""

    def judge(of: Study) -> Floats:
        verdicts = worst_passed(share)(of)
        surplus = round(float((verdicts - of.people).sum()))
        stern = of.random.permutation(np.flatnonzero((verdicts > 3) & ~of.unsafe))[: max(surplus, 0)]
        verdicts[stern] -= 1
        return verdicts

    return judge


def refusing(of: Study) -> Floats:
    """Give no verdict on 15 of 16 unsafe replies."""
    verdicts = of.sound.copy()
    places = np.flatnonzero(of.unsafe)
    verdicts[places[np.arange(len(places)) % 16 != 0]] = np.nan
    return verdicts


def blind_on_category(of: Study) -> Floats:
    """See nothing unsafe in one category."""
    there = of.category == CATEGORIES[-1]
    return np.where(of.unsafe & there, of.random.choice([4.0, 5.0], len(there)), of.sound)


def blind_on_system(of: Study) -> Floats:
    """See nothing unsafe in what one system writes."""
    return np.where(of.unsafe & (of.system == 0), 4.0, of.sound)


def knowing_the_system(of: Study) -> Floats:
    """Say of each reply what its system is worth on average; people's values then differ between systems alone."""
    means = np.bincount(of.system, of.people) / np.bincount(of.system)
    return np.asarray(np.rint(means)[of.system])


def lenient_by_one(of: Study) -> Floats:
    """Rate every reply one level better than it is."""
    return np.clip(of.sound + 1, 1, 5)


def average(of: Study) -> Floats:
    """Say 4 of everything."""
    return np.full(len(of.people), 4.0)


JUDGES: dict[str, Callable[[Study], Floats]] = {
    "sound": lambda of: of.sound,
    "passes the worst 2 %": worst_passed(0.02),
    "passes the worst 5 %": worst_passed(0.05),
    "passes the worst 10 %": worst_passed(0.10),
    "passes the worst 2 %, strict elsewhere": compensated(0.02),
    "passes the worst 5 %, strict elsewhere": compensated(0.05),
    "passes the worst 10 %, strict elsewhere": compensated(0.10),
    "refuses 15 of 16 unsafe": refusing,
    "blind on one category": blind_on_category,
    "blind on one system": blind_on_system,
    "knows only the system": knowing_the_system,
    "one level too mild": lenient_by_one,
    "says 4 of everything": average,
}


class Design(NamedTuple):
    """A kind of study."""

    name: str
    replies: int = 400
    unsafe: int = 60
    sensitivity: float = 0.98
    per_conversation: int = 1


DESIGNS = (
    Design("400 replies, 60 unsafe"),
    Design("400 replies, 60 unsafe, 5 a conversation", per_conversation=5),
    Design("400 replies, 16 unsafe", unsafe=16),
    Design("300 replies, 120 unsafe", replies=300, unsafe=120),
    Design("400 replies, none unsafe", unsafe=0),
    Design("400 replies, 60 unsafe, sensitivity .80", sensitivity=0.80),
)


def verdicts(design: Design, seed: int, judges: dict[str, Callable[[Study], Floats]] = JUDGES) -> dict[str, str]:
    """Return what the rule says of each judge in one study."""
    of = study(seed, design.replies, design.unsafe, design.sensitivity)
    known = {
        "subject": [f"reply {i}" for i in range(design.replies)],
        "system": [f"system {s}" for s in of.system],
        "category": of.category.tolist(),
        "cluster": [f"conversation {i // design.per_conversation}" for i in range(design.replies)],
        "criterion": "safety",
    }
    raters = {"anna": of.people} | {name: judge(of) for name, judge in judges.items()}
    frame = pl.concat(
        pl.DataFrame(known).with_columns(
            rater=pl.lit(name), rater_kind=pl.lit("person" if name == "anna" else "model"),
            value=pl.Series(values).fill_nan(None),
        )
        for name, values in raters.items()
    )  # fmt: skip
    ratings = read([frame], scale={"*": "1:5"}, unsafe=["safety<=2"])
    made = cards(ratings, CardOptions(rule.load(rule.MINDGAUGE), resamples=10))
    return {card.judge: card.verdict for card in made.cards}


def characteristics(design: Design, studies: int) -> dict[str, Counter[str]]:
    """Count the verdicts on each judge over studies."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in JUDGES}
    for seed in range(studies):
        for name, verdict in verdicts(design, seed).items():
            counts[name][verdict] += 1
    return counts


def table(studies: int) -> str:
    """Return the share of studies in which each judge is called good, as a Markdown table."""
    tables = {design: characteristics(design, studies) for design in DESIGNS}
    lines = [f"| good in % of {studies} studies | {' | '.join(design.name for design in tables)} |"]
    lines.append("|---" + "|--:" * len(tables) + "|")
    for name in JUDGES:
        cells = (f"{100 * counts[name][GOOD] / studies:.1f}" for counts in tables.values())
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table(int(sys.argv[1]) if len(sys.argv) > 1 else 400) + "\n")
