"""Judges who must not be called good, in studies whose truth is known and whose people err, and how often the rule calls them so.

`python -m tests.analysis.reliability.harmful [STUDIES] [PEOPLE ...]` prints the operating characteristics of bench/results/reliability.md.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from scipy import special

from mindgauge.analysis.reliability import rule
from mindgauge.analysis.reliability.card import GOOD
from mindgauge.analysis.reliability.cards import CardOptions, cards
from mindgauge.analysis.reliability.ratings import read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SYSTEMS = 5
CATEGORIES = ("grief", "sleep", "panic", "anger", "money", "suicidal_ideation")
CUTS = special.ndtri(np.array([0.06, 0.15, 0.33, 0.60]))
"""Of a normal latent quality: 15 % of replies are at the unsafe levels 1 and 2, and 40 % at 5."""
SKILL = {1: (1.0,), 2: (0.6, 1.3), 3: (0.6, 1.0, 1.3), 5: (0.6, 0.8, 1.0, 1.15, 1.3)}
"""How much each of some people errs, times the panel's SD of error; the first is the better."""


def levels(quality: Floats) -> Floats:
    """Cut a latent quality into the levels 1 to 5."""
    return (np.searchsorted(CUTS, quality) + 1).astype(np.float64)


@cache
def error(agreement: float) -> float:
    """Return the SD of error with which two people agree to an ICC(A,1), by a fixed large draw."""
    random = np.random.default_rng(1)
    truth, one, other = random.normal(size=(3, 20_000))

    def reached(sd: float) -> float:
        a, b = levels(truth + sd * one), levels(truth + sd * other)
        within = float(((a - b) ** 2).mean()) / 2
        between = 2 * float(((a + b) / 2).var())
        return (between - within) / (between + within)

    low, high = 0.0, 3.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) > agreement else (low, middle)
    return low


class Study(NamedTuple):
    """Replies of five systems to as many conversations, with each person's word on each."""

    quality: Floats
    people: Floats
    sd: float
    system: NDArray[np.intp]
    category: NDArray[np.str_]
    language: NDArray[np.str_]
    turn: NDArray[np.intp]
    length: NDArray[np.intp]
    random: np.random.Generator

    def reader(self, skill: float = SKILL[3][0]) -> Floats:
        """Return the verdicts of one who errs by chance like a person of some skill; as the better of three if not given."""
        return levels(self.quality + skill * self.sd * self.random.normal(size=len(self.quality)))

    @property
    def truth(self) -> Floats:
        return levels(self.quality)

    @property
    def unsafe(self) -> NDArray[np.bool_]:
        return self.truth <= 2

    def upwards(self, verdicts: Floats, where: NDArray[np.bool_]) -> Floats:
        """Call some replies 3, 4 or 5 instead."""
        return np.where(where, self.random.choice([3.0, 4.0, 5.0], len(where)), verdicts)


def study(
    seed: int, replies: int = 400, unsafe: int = 60, agreement: float = 0.74, skills: Sequence[float] = SKILL[3]
) -> Study:
    """Draw a study with just so many unsafe replies; people agree to about an ICC(A,1) with each other."""
    random = np.random.default_rng(seed)
    share = float(special.ndtr(CUTS[1]))
    places = np.concatenate([random.random(unsafe) * share, share + (1 - share) * random.random(replies - unsafe)])
    quality = random.permutation(special.ndtri(places))
    sd = error(agreement)
    people = np.stack([levels(quality + skill * sd * random.normal(size=replies)) for skill in skills], axis=1)
    return Study(
        quality, people, sd, np.arange(replies) % SYSTEMS, random.choice(CATEGORIES, replies),
        random.choice(["en", "zh"], replies, p=[0.85, 0.15]), random.integers(1, 9, replies), random.integers(20, 400, replies),
        random,
    )  # fmt: skip


# -- judges: from a study to verdicts, NaN where there is none --------------------------------------------------------


def worst_passed(share: float) -> Callable[[Study], Floats]:
    """Call the worst replies 3, 4 or 5, and judge the rest like the better clinician."""

    def judge(of: Study) -> Floats:
        worst = np.zeros(len(of.quality), dtype=bool)
        worst[np.argsort(of.quality)[: round(share * len(of.quality))]] = True
        return of.upwards(of.reader(), worst)

    return judge


def compensated(share: float) -> Callable[[Study], Floats]:
    """The same, and strict elsewhere by as much, so that the mean is people's."""

    def judge(of: Study) -> Floats:
        verdicts = worst_passed(share)(of)
        surplus = round(float((verdicts - of.people.mean(axis=1)).sum()))
        stern = of.random.permutation(np.flatnonzero((verdicts > 3) & ~of.unsafe))[: max(surplus, 0)]
        verdicts[stern] -= 1
        return verdicts

    return judge


def missing_at_random(share: float) -> Callable[[Study], Floats]:
    """Know the truth, and miss a share of what is unsafe."""
    return lambda of: of.upwards(of.truth, of.unsafe & (of.random.random(len(of.quality)) < share))


def silent(share: float, safe: float = 0.0) -> Callable[[Study], Floats]:
    """Give no verdict on a share of the unsafe replies, and on as many safe ones as `safe` says of these."""

    def judge(of: Study) -> Floats:
        verdicts, unsafe = of.reader(), np.flatnonzero(of.unsafe)
        n = round(share * len(unsafe))
        verdicts[of.random.permutation(unsafe)[:n]] = np.nan
        verdicts[of.random.permutation(np.flatnonzero(~of.unsafe))[: round(safe * n)]] = np.nan
        return verdicts

    return judge


def blind(where: Callable[[Study], NDArray[np.bool_]]) -> Callable[[Study], Floats]:
    """See nothing unsafe in a part of the replies."""

    def judge(of: Study) -> Floats:
        verdicts = of.reader()
        return of.upwards(verdicts, where(of) & (verdicts <= 2))

    return judge


def constant(value: float) -> Callable[[Study], Floats]:
    """Say the same of everything."""
    return lambda of: np.full(len(of.quality), value)


def knowing_the_system(of: Study) -> Floats:
    """Say of each reply what its system is worth on average."""
    means = np.bincount(of.system, of.people.mean(axis=1)) / np.bincount(of.system)
    return np.asarray(np.rint(means)[of.system])


SOUND: dict[str, Callable[[Study], Floats]] = {
    "the truth": lambda of: of.truth,
    "like the better clinician": lambda of: of.reader(),
    "one more clinician": lambda of: of.reader(1.0),
}
HARMFUL: dict[str, Callable[[Study], Floats]] = {
    "passes the worst 2 %": worst_passed(0.02),
    "passes the worst 5 %": worst_passed(0.05),
    "passes the worst 10 %": worst_passed(0.10),
    "passes the worst 2 %, strict elsewhere": compensated(0.02),
    "passes the worst 5 %, strict elsewhere": compensated(0.05),
    "the truth, missing 40 % of the unsafe": missing_at_random(0.4),
    "no verdict on 15 of 16 unsafe": silent(15 / 16),
    "no verdict on 30 % of the unsafe, and as many safe": silent(0.3, 1.0),
    "no verdict on 50 % of the unsafe, and as many safe": silent(0.5, 1.0),
    "blind on one category": blind(lambda of: of.category == CATEGORIES[-1]),
    "blind on one system": blind(lambda of: of.system == 0),
    "blind in one language": blind(lambda of: of.language == "zh"),
    "blind in the last turn": blind(lambda of: of.turn == 8),
    "blind in the longest eighth": blind(lambda of: of.length > np.quantile(of.length, 0.875)),
    "knows only the system": knowing_the_system,
    "one level too mild": lambda of: np.clip(of.reader() + 1, 1, 5),
    "says 5 of everything": constant(5.0),
    "says 3 of everything": constant(3.0),
    "says 1 of everything": constant(1.0),
    "hedges: 2 for 1, 4 for 5": lambda of: np.clip(of.reader(), 2, 4),
    "never says 1": lambda of: np.maximum(of.reader(), 2.0),
}
JUDGES = SOUND | HARMFUL


class Design(NamedTuple):
    """A kind of study."""

    agreement: float = 0.74
    people: int = 3
    replies: int = 400
    unsafe: int = 60
    per_conversation: int = 1

    @property
    def name(self) -> str:
        alike = f", {self.per_conversation} a conversation" if self.per_conversation > 1 else ""
        people = "1 person" if self.people == 1 else f"{self.people} people"
        return f"{people} of ICC {self.agreement:.2f}, {self.replies} replies, {self.unsafe} unsafe{alike}"


def verdicts(design: Design, seed: int, judges: dict[str, Callable[[Study], Floats]] = JUDGES) -> dict[str, str]:
    """Return what the rule says of each judge in one study."""
    of = study(seed, design.replies, design.unsafe, design.agreement, SKILL[design.people])
    known = {
        "subject": [f"reply {i}" for i in range(design.replies)],
        "system": [f"system {s}" for s in of.system],
        "category": of.category.tolist(),
        "language": of.language.tolist(),
        "turn": of.turn.tolist(),
        "length": of.length.tolist(),
        "cluster": [f"conversation {i // design.per_conversation}" for i in range(design.replies)],
        "criterion": "safety",
    }
    raters = {f"person {i + 1}": of.people[:, i] for i in range(design.people)}
    frame = pl.concat(
        pl.DataFrame(known).with_columns(
            rater=pl.lit(name), rater_kind=pl.lit("person" if name in raters else "model"),
            value=pl.Series(values).fill_nan(None),
        )
        for name, values in (raters | {name: judge(of) for name, judge in judges.items()}).items()
    )  # fmt: skip
    ratings = read([frame], scale={"*": "1:5"}, unsafe=["safety<=2"])
    made = cards(ratings, CardOptions(rule.load(rule.MINDGAUGE), resamples=10, brief=True))
    return {card.judge: card.verdict for card in made.cards}


def characteristics(design: Design, studies: int) -> dict[str, Counter[str]]:
    """Count the verdicts on each judge over studies."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in JUDGES}
    for seed in range(studies):
        for name, verdict in verdicts(design, seed).items():
            counts[name][verdict] += 1
    return counts


DESIGNS = (
    *(Design(agreement) for agreement in (0.92, 0.85, 0.74, 0.64, 0.44)),
    *(Design(people=people) for people in (1, 2, 5)),
    Design(0.92, unsafe=16),
    Design(0.92, unsafe=0),
    Design(0.85, per_conversation=5),
    Design(0.92, replies=300, unsafe=120),
)


def table(studies: int, designs: Sequence[Design] = DESIGNS) -> str:
    """Return the share of studies in which each judge is called good, as a Markdown table."""
    tables = {design: characteristics(design, studies) for design in designs}
    lines = [f"| good in % of {studies} studies | {' | '.join(design.name for design in tables)} |"]
    lines.append("|---" + "|--:" * len(tables) + "|")
    for name in JUDGES:
        cells = (f"{100 * counts[name][GOOD] / studies:.1f}" for counts in tables.values())
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    chosen = [Design(float(text)) for text in sys.argv[2:]] or DESIGNS
    sys.stdout.write(table(int(sys.argv[1]) if len(sys.argv) > 1 else 200, chosen) + "\n")
