"""How often does a card say that a judge misses more in one slice: of a judge that is blind there, and of a sound one?

    python bench/slices.py [--studies N] [--dialogues]

A study has 400 replies, of which 60 are truly unsafe. Three people read each reply with error and say the nearest of five
levels; their error is set so that ICC(A,1) of single people is .92, .74 or .64. One judge knows the truth, one reads with a
person's error; each is blind in one slice, where it calls nothing unsafe. Known of a reply are its language, turn, length,
persona, category, system and position. With `--dialogues` the replies are eight turns of 50
conversations, which have one language, persona, category and system, half the variance of the truth in common, and half of
each reader's error. Prints Markdown for bench/results/reliability.md: the share of studies in which the slices keep a judge from *good*.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: the machine may be shared

import numpy as np
import polars as pl
from scipy import optimize, special

from mindgauge.analysis.reliability.rule import MINDGAUGE, load
from mindgauge.analysis.reliability.scale import Unsafe, ValueScale
from mindgauge.analysis.reliability.slices import objection
from mindgauge.analysis.reliability.unsafe_levels import UnsafeByPeople, danger

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

REPLIES, UNSAFE, TURNS, PEOPLE = 400, 60, 8, 3
ICCS = (0.92, 0.74, 0.64)
LEVEL = 0.05
RULE = load(MINDGAUGE)
SCALE = ValueScale((1.0, 2.0, 3.0, 4.0, 5.0))
SCALE = SCALE._replace(unsafe=Unsafe.of(SCALE, [1.0, 2.0]))
CUTS = special.ndtri(np.array([0.06, UNSAFE / REPLIES, 0.32, 0.60]))
"""Between the levels, in standard deviations of what is read."""


def levels(latent: Floats) -> Floats:
    return np.asarray(1.0 + np.searchsorted(CUTS, latent), dtype=float)


def reliability(icc: float) -> float:
    """Return the share of the truth in what a reader reads for the levels of two readers to have an ICC(A,1)."""
    random = np.random.default_rng(0)
    truth, one, other = (random.standard_normal(100_000) for _ in range(3))

    def gap(share: float) -> float:
        pair = [levels(np.sqrt(share) * truth + np.sqrt(1 - share) * error) for error in (one, other)]
        return float(np.asarray(np.corrcoef(pair))[0, 1]) - icc

    return float(optimize.brentq(gap, 0.3, 0.999, xtol=1e-3))


def normal(random: np.random.Generator, conversation: NDArray[np.intp]) -> Floats:
    """Draw standard normals of which replies of one conversation have half the variance in common."""
    shared = random.standard_normal(conversation.max() + 1)[conversation]
    return np.asarray((shared + random.standard_normal(len(conversation))) / np.sqrt(2))


def study(seed: int, share: float, *, dialogues: bool) -> dict[str, bool]:
    """Return of each judge whether its slices keep it from good in one study."""
    random = np.random.default_rng(seed)
    turn = 1 + np.arange(REPLIES) % TURNS
    conversation = np.arange(REPLIES) // TURNS if dialogues else np.arange(REPLIES)
    truth = special.ndtri((1 + np.argsort(np.argsort(normal(random, conversation)))) / (REPLIES + 1))
    readers = [levels(np.sqrt(share) * truth + np.sqrt(1 - share) * normal(random, conversation)) for _ in range(PEOPLE + 1)]  # fmt: skip
    groups = {"language": 2, "persona": 6, "category": 6, "system": 5}
    drawn = {name: random.integers(0, n, conversation.max() + 1)[conversation] for name, n in groups.items()}
    drawn["language"] = (random.random(conversation.max() + 1) < 0.15)[conversation].astype(int)
    length = random.lognormal(5, 0.6, REPLIES)
    known = pl.DataFrame({
        "subject": range(REPLIES), "persona": [f"p{i}" for i in drawn["persona"]], "turn": turn.astype(float),
        "reply length": length, "position in the table": np.arange(REPLIES, dtype=float),
    })  # fmt: skip
    place = pl.DataFrame({
        "subject": range(REPLIES), "cluster": conversation, "category": [f"c{i}" for i in drawn["category"]],
        "system": [f"s{i}" for i in drawn["system"]], "language": ["zh" if i else "en" for i in drawn["language"]],
    })  # fmt: skip
    rated = pl.concat(place.with_columns(rater=pl.lit(f"rater {i}"), number=pl.Series(readers[i])) for i in range(PEOPLE))  # fmt: skip
    people = UnsafeByPeople.of(rated, SCALE, [f"rater {i}" for i in range(PEOPLE)], known)
    blind = {
        "sound": np.zeros(REPLIES, dtype=bool), "blind in one language": drawn["language"] == 1, "blind in the last turn": turn == TURNS,
        "blind in the longest eighth": length > np.quantile(length, 0.875), "blind with one persona": drawn["persona"] == 0,
    }  # fmt: skip
    verdicts = {}
    for reader, values in (("knows the truth", levels(truth)), ("reads like a clinician", readers[PEOPLE])):
        for fault, there in blind.items():
            number = np.where(there & (values <= 2), 4.0, values)
            end = danger(pl.DataFrame({"subject": range(REPLIES), "number": number}), people, SCALE, RULE)
            assert end is not None
            verdicts[f"{reader}, {fault}"] = bool(objection(end, LEVEL))
    return verdicts


def table(studies: int, *, dialogues: bool) -> str:
    """Return the share of studies in which the slices keep each judge from good."""
    shares = {icc: reliability(icc) for icc in ICCS}
    found = {icc: [study(seed, share, dialogues=dialogues) for seed in range(studies)] for icc, share in shares.items()}
    kind = "dialogues of eight turns" if dialogues else "a reply per conversation"
    lines = [f"| kept from *good* by a slice, % of {studies} studies, {kind} | {' | '.join(f'ICC {icc:.2f}' for icc in ICCS)} |"]  # fmt: skip
    lines.append("|---" + "|--:" * len(ICCS) + "|")
    for judge in found[ICCS[0]][0]:
        cells = (f"{100 * np.mean([one[judge] for one in found[icc]]):.1f}" for icc in ICCS)
        lines.append(f"| {judge} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--dialogues", action="store_true")
    chosen = parser.parse_args()
    sys.stdout.write(table(chosen.studies, dialogues=chosen.dialogues) + "\n")
