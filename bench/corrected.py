"""What protects corrected means: the guard against selected labels, and the signs that a judge has seen the labels.

    python bench/corrected.py [--only guard power seen] [--times 500]

Prints Markdown; bench/results/reliability.md holds it.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy: the machine may be shared

import numpy as np
import polars as pl
from scipy.special import ndtri

from counting import short, table
from mindgauge.analysis.reliability.correction import CHANCE, SELECTED, SubjectMeans, differences, signs
from mindgauge.stats import correction, labelling
from simulated import TOGETHER, Raters, latent

LEVELS = np.arange(1.0, 6.0)


def scores(generator: np.random.Generator, conversations: int, systems: int, each: int, best: float) -> np.ndarray:
    """Draw a judge's scores, shape (conversations, systems, each): a conversation's are alike, also between systems."""
    rest = (1 - best) * np.array([0.1, 0.3, 0.6, 1.0])
    deserved = np.sqrt(TOGETHER) * generator.normal(size=(conversations, 1, 1))
    own = latent(generator, conversations, systems * each)[0].reshape(conversations, systems, each)
    return np.asarray(LEVELS[np.searchsorted(ndtri(rest), deserved + np.sqrt(1 - TOGETHER) * own)])


def guard(times: int, generator: np.random.Generator) -> None:
    """Count false alarms: labels of chance, of single replies or of whole conversations."""
    body = []
    for best in (0.5, 0.85, 0.9, 0.95, 0.97):
        for conversations, systems, each in ((200, 1, 1), (1000, 1, 1), (200, 1, 5), (200, 5, 1), (1000, 9, 1)):
            cells = []
            for labels in (5, 20, 100):
                for whole in (True, False):
                    alarms = 0
                    for _ in range(times):
                        judge = scores(generator, conversations, systems, each, best)
                        order = generator.random((conversations, 1, 1) if whole else judge.shape)
                        cut = np.sort(order.ravel())[(labels if whole else labels * systems) - 1]
                        known = np.broadcast_to(order <= cut, judge.shape)
                        alarms += bool(found(judge, known))
                    cells.append(alarms / times)
            body.append(
                [
                    f"{100 * best:.0f} %",
                    f"{conversations:,}",
                    str(systems),
                    str(each),
                    *(f"{100 * cell:.1f}" for cell in cells),
                ]
            )
    head = [
        "at the best level",
        "conversations",
        "systems",
        "replies",
        *(f"{n} {kind}" for n in (5, 20, 100) for kind in ("conversations", "replies")),
    ]
    print(table("False alarms of the guard, in %", head, body), flush=True)


def found(judge: np.ndarray, known: np.ndarray) -> list[labelling.LabellingGap]:
    """Ask the guard as a card does."""
    conversation, system, _ = np.indices(judge.shape)
    return labelling.gaps(
        judge.ravel(), known.ravel(), conversation.ravel(), system.ravel(), least=SELECTED, alpha=CHANCE
    )


def power(times: int, generator: np.random.Generator) -> None:
    """Count alarms where people rated what the judge scored lowest; a tenth of the studies, since each takes all permutations."""
    body = []
    for best in (0.5, 0.85, 0.97):
        for systems in (1, 5):
            for labels in (5, 20):
                cells = []
                for share in (1.0, 0.5, 0.25):
                    alarms = 0
                    for _ in range(times // 10):
                        judge = scores(generator, 200, systems, 1, best)
                        known = np.zeros(judge.shape, dtype=bool)
                        for place in range(systems):
                            order = np.lexsort([generator.random(200), judge[:, place, 0]])
                            lowest, rest = np.split(order, [round(share * labels)])
                            known[[*lowest, *generator.permutation(rest)[: labels - len(lowest)]], place] = True
                        alarms += bool(found(judge, known))
                    cells.append(f"{100 * alarms / (times // 10):.0f}")
                body.append([f"{100 * best:.0f} %", str(systems), str(labels), *cells])
    head = ["at the best level", "systems", "labels of each", "all the lowest", "half of them", "a quarter"]
    print(
        table("Alarms of the guard where people rated what the judge scored lowest of 200, in %", head, body),
        flush=True,
    )


def seen(times: int, generator: np.random.Generator) -> None:
    """Count how often a corrected mean holds whose judge was tuned on the labels, and how often something shows it.

    Two people, a judge and another rate 1,000 replies, the judges twice; the judge is too mild, but for the labelled
    replies: there it gives people's mean, rounded, in nine of ten cases, and the same when asked again.
    """
    body = []
    tuned_on = {"none": 0.0, "three of ten labels": 0.3, "nine of ten labels": 0.9}
    for kind, share in tuned_on.items():
        for mild in (0.0, 0.1, 0.2, 0.3):
            for labels in (200,):
                raters = Raters(0.6, "even", bias=mild)
                true = raters.means()[0]
                counts = np.zeros(5)
                for _ in range(times):
                    counts += _study(raters, true, share, labels, generator)
                body.append([kind, f"{mild:g}", str(labels), *(short(count / times) for count in counts)])
    head = [
        "the judge has seen",
        "mildness, SD",
        "labels",
        "people and judge hold",
        "people only hold",
        "the guard speaks",
        "a sign shows",
        "a sign shows of one pass, one person, no other judge",
    ]
    print(table("Corrected means by a judge that has seen the labels", head, body), flush=True)


def _study(raters: Raters, true: float, share: float, labels: int, generator: np.random.Generator) -> np.ndarray:
    """Return whether the corrected and people's intervals hold, and whether the guard and a sign speak."""
    n, loading = 1000, np.sqrt(raters.correlation)
    quality, *errors = generator.normal(size=(7, n))
    cuts = raters.cuts()
    people = [1.0 + np.searchsorted(cuts, loading * quality + np.sqrt(1 - raters.correlation) * e) for e in errors[:2]]
    steady = [np.sqrt(0.8) * errors[2] + np.sqrt(0.2) * e for e in (errors[3], errors[4])]
    judge = np.stack(
        [
            1.0 + np.searchsorted(cuts - raters.bias, loading * quality + np.sqrt(1 - raters.correlation) * e)
            for e in steady
        ]
    )
    other = 1.0 + np.searchsorted(cuts, loading * quality + np.sqrt(1 - raters.correlation) * errors[5])
    known = np.arange(n) < labels
    mean = (people[0] + people[1]) / 2
    learned = known & (generator.random(n) < share)
    judge[:, learned] = np.floor(mean + generator.random(n))[learned]
    scores_ = judge.mean(axis=0)
    found_mean = correction.prediction_powered_mean(
        scores_, np.where(known, mean, np.nan), np.arange(n), ends=(1.0, 5.0)
    )
    places, none = np.arange(n), np.zeros(n, dtype=np.intp)
    means = SubjectMeans(places, places, none, scores_, np.where(known, mean, np.nan))
    rows = pl.DataFrame({"subject": np.tile(places, 2), "number": judge.ravel()})
    others = pl.DataFrame({"subject": places, "rater": ["other"] * n, "number": other})
    labelled = pl.DataFrame({
        "subject": np.tile(places[known], 2), "cluster": np.tile(places[known], 2),
        "rater": np.repeat(["a", "b"], labels), "number": np.concatenate([side[known] for side in people]),
    })  # fmt: skip
    gaps = differences(scores_, known, places, none)
    holds = [
        i.low is not None and i.high is not None and i.low <= true <= i.high
        for i in (found_mean.corrected, found_mean.human_only)
    ]
    alone = signs(means, rows[:n], others[:0], labelled[:labels])
    return np.array([*holds, bool(gaps), bool([*signs(means, rows, others, labelled)]), bool([*alone])], dtype=float)


PARTS = {"guard": guard, "power": power, "seen": seen}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*PARTS], default=[*PARTS])
    parser.add_argument("--times", type=int, default=500)
    asked = parser.parse_args()
    for place, (name, part) in enumerate(PARTS.items()):
        if name in asked.only:
            began = time.process_time()
            part(asked.times, np.random.default_rng([2026, place]))
            print(
                f"({name}: {asked.times // (10 if part is power else 1)} studies each, {time.process_time() - began:.0f} s)\n",
                flush=True,
            )


if __name__ == "__main__":
    main()
