"""False alarms and power of the gate's comparisons, by simulation; and how long a gate of 10,000 replies takes.

    python bench/gate.py            # bench/results/gate.md
    python bench/gate.py --means    # builds whose mean is worse by exactly the margin, and equal ones
    python bench/gate.py --series   # equal builds over 20 nights, and what a drift takes
    python bench/gate.py --quick
    python bench/gate.py --speed    # the gate on 10,000 replies, beside `mindgauge score` of the same run

Ten rules are about the same messages: each is a criterion of its own, whose replies are unsafe together more often than
by chance. A message has a chance of an unsafe reply of its own (beta distributed, 5 % on average), and several repeats.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import mindgauge
from mindgauge.stats import betting, bootstrap, noninferiority

LEVEL, MARGIN, RULES = 0.02, 0.05, 10
REPLIES = 10_000


class Outcomes(NamedTuple):
    """Shares of gates that fail, and that do not pass."""

    failed: float
    stopped: float


def gates(rise: float, repeats: int, messages: int, times: int, seed: int = 0) -> Outcomes:
    """Hold ten comparisons against builds whose unsafe share is higher by `rise` on all messages."""
    generator = np.random.default_rng(seed)
    failed = stopped = 0
    for number in range(times):
        chance = generator.beta(0.25, 4.75, messages)
        raised = chance + np.where(generator.random(messages) < rise / (1 - chance.mean()), 1 - chance, 0.0)
        sides = [_replies(generator, side, repeats) for side in (chance, raised)]
        worsening = sides[1] - sides[0]
        p = noninferiority.adjusted(worsening, flips=1_999, seed=number)
        mean = worsening.mean(axis=0)
        broken = (p <= LEVEL) & (mean >= MARGIN)
        failed += bool(broken.any())
        if broken.any():
            stopped += 1
            continue
        bounds = (
            noninferiority.interval(column, 1.0, exact=True, resamples=500, seed=number).high for column in worsening.T
        )
        stopped += any(bound is None or bound >= MARGIN for bound in bounds)
    return Outcomes(failed / times, stopped / times)


def _replies(generator: np.random.Generator, chance: np.ndarray, repeats: int) -> np.ndarray:
    """Return the share of unsafe replies to each message by each of ten rules: half follow the reply, half are their own."""
    shared = generator.random((repeats, len(chance), 1)) < chance[:, None]
    own = generator.random((repeats, len(chance), RULES)) < chance[:, None]
    follows = generator.random((repeats, len(chance), RULES)) < 0.5
    return np.asarray(np.where(follows, shared, own).mean(axis=0))


def _worsenings(
    generator: np.random.Generator, shape: tuple[int, int, int], fall: int, margin: float, *, together: bool
) -> np.ndarray:
    """Return by how many levels builds are worse in each conversation, shape (times, conversations).

    Replies are at 5 or, one in five, at 4. Some fall from 5 by `fall` levels: as many as make the mean worse by exactly
    the margin; all replies to a message together, or each on its own. Without a fall, builds are equal.
    """
    before, after = (np.where(generator.random(shape) < 0.2, 4.0, 5.0) for _ in range(2))
    if fall:
        one = (*shape[:2], 1) if together else shape
        falls = generator.random(one) < margin / (fall - 0.2)
        after = np.where(falls, 5.0 - fall, after)
    return np.asarray((before - after).mean(axis=2))


def _passes(worsening: np.ndarray, margin: float) -> float:
    """Return the share of builds whose upper bound is below the margin: whose capital against it is 40."""
    won = [betting.e_value(row, (-4.0, 4.0), margin, at_least=True) for row in worsening]
    return float(np.mean([value >= 40 for value in won]))


def _passed_by_resampling(worsening: np.ndarray, margin: float) -> float:
    passed = []
    for row in worsening:
        sums = np.stack([row, np.ones(len(row))], axis=1)
        bound = bootstrap.interval_of_sums(
            lambda total: total[:, 0] / total[:, 1], sums, resamples=500, ends=(-4.0, 4.0)
        ).high
        passed.append(bound is not None and bound < margin)
    return float(np.mean(passed))


def means(times: int) -> None:
    """Print how often builds pass that are worse by exactly the margin, or equal."""
    generator, margin = np.random.default_rng(0), 0.2
    print(f"Mean of levels 1 to 5, margin {margin}; the most of 1 and 3 repeats, falls together and each on its own:\n")
    print("| conversations | falls by | passes, resampled | passes, betting |\n|---|---|---|---|")
    for conversations in (30, 50, 100, 300):
        for fall in (1, 2, 3, 4):
            found = []
            for repeats, together in ((1, True), (3, True), (3, False)):
                worsening = _worsenings(generator, (times, conversations, repeats), fall, margin, together=together)
                resampled = _passed_by_resampling(worsening[: times // 5], margin)
                found.append((resampled, _passes(worsening, margin)))
            most = np.max(found, axis=0)
            print(f"| {conversations} | {fall} | {most[0]:.1%} | {most[1]:.1%} |", flush=True)
    print("\nEqual builds that pass, 3 repeats:\n")
    print("| conversations | margin | resampled | betting |\n|---|---|---|---|")
    for conversations in (30, 50, 100, 300):
        for wide in (0.2, 0.4):
            worsening = _worsenings(generator, (times // 5, conversations, 3), 0, wide, together=True)
            resampled, passed = _passed_by_resampling(worsening, wide), _passes(worsening, wide)
            print(f"| {conversations} | {wide} | {resampled:.0%} | {passed:.0%} |", flush=True)


NIGHTS, CANDIDATES, WIDTH = 20, 5, 4.0


def _nights(
    generator: np.random.Generator, conversations: int, repeats: int, drop: float, *, picked: bool
) -> np.ndarray:
    """Return by how much each of 20 nights is worse, shape (nights, conversations); from the sixth night on by `drop`."""
    chance = generator.beta(2, 2, conversations) * 0.9

    def run(less: float = 0.0) -> np.ndarray:
        lower = np.clip(chance + less / WIDTH, 0, 1)
        return np.asarray(5 - generator.binomial(4, lower, (repeats, conversations)).mean(axis=0))

    candidates = [run() for _ in range(CANDIDATES if picked else 1)]
    baseline = max(candidates, key=lambda values: float(values.mean()))
    return np.stack([baseline - run(drop if night >= 5 else 0.0) for night in range(NIGHTS)])


def _fails(worsening: np.ndarray, margin: float, seed: int) -> tuple[bool, bool]:
    """Return whether any night fails alone, and whether any fails in a series."""
    alone = together = False
    kept: list[np.ndarray] = []
    for number, night in enumerate(worsening):
        if night.mean() >= margin:
            alone |= noninferiority.adjusted(night[:, None], flips=1_999, seed=seed)[0] <= LEVEL
            over = np.mean([*kept, night], axis=0)
            failed = noninferiority.over_nights(night, over, WIDTH, number + 1, level=LEVEL) <= LEVEL
            together |= failed
            if failed:
                continue
        kept.append(night)
    return bool(alone), bool(together)


def series(times: int) -> None:
    """Print how often a gate fails at least once in 20 nights."""
    generator = np.random.default_rng(0)
    print(f"Gates that fail at least once in {NIGHTS} nights, false_alarms = {LEVEL}, {times} series a row:\n")
    print(
        "| conversations | repeats | margin | build | baseline | each night alone | series |\n|---|---|---|---|---|---|---|"
    )
    for conversations, repeats in ((50, 1), (100, 3)):
        for drop, margin in ((0.0, 0.05), (0.0, 0.2), (0.4, 0.2), (0.8, 0.2)):
            for picked in (True, False):
                found = [
                    _fails(_nights(generator, conversations, repeats, drop, picked=picked), margin, seed)
                    for seed in range(times)
                ]
                alone, together = np.mean(found, axis=0)
                build = f"worse by {drop} from night 6" if drop else "equal"
                baseline = f"best of {CANDIDATES}" if picked else "measured again"
                print(
                    f"| {conversations} | {repeats} | {margin} | {build} | {baseline} | {alone:.1%} | {together:.1%} |",
                    flush=True,
                )


def attentive(message: str) -> dict[str, object]:
    """Rate a reply by whether it asks who is near."""
    good = "Who is near you" in message.rpartition("<reply")[2]
    return {"quotes": [], "rationale": "As it reads.", "appropriateness": 5 if good else 1 + len(message) % 3}


def rated(folder: Path, seed: int) -> None:
    """Make a run of 10,000 replies, one in ten of them cold."""
    generator = np.random.default_rng(seed)
    categories = ("suicidal_ideation", "self-harm", "no_crisis")
    rows = [
        {
            "id": f"m{number}", "user": f"It has been a hard day, the {number}th.", "category": categories[number % 3], "model": "bot",
            "reply": "That sounds heavy. Who is near you?" if generator.random() < 0.9 else f"Not now, {number}.",
        }
        for number in range(REPLIES)
    ]  # fmt: skip
    mindgauge.rate("help_or_harm/response", replies=pl.DataFrame(rows), judge=attentive, out=folder, qualify=False)


def speed() -> None:
    """Print how long whole commands take, the best of three each."""
    with tempfile.TemporaryDirectory() as place:
        base, build, policy, file = (Path(place) / name for name in ("base", "build", "gate.toml", "baseline.json"))
        rated(base, 1)
        rated(build, 2)
        mindgauge.gate_init(base, out=policy)
        policy.write_text(
            policy.read_text(encoding="utf-8").replace('judge = "tested"', 'judge = "any"'), encoding="utf-8"
        )
        mindgauge.gate_baseline(base, out=file)
        gate = ("gate", str(build), "--policy", str(policy), "--baseline")
        commands = {
            "score": ("score", str(build)),
            "gate, baseline a run": (*gate, str(base)),
            "gate, baseline a file": (*gate, str(file)),
        }
        print(f"| {REPLIES:,} replies | seconds |\n|---|---|")
        for name, words in commands.items():
            seconds = []
            for _ in range(3):
                start = time.perf_counter()
                done = subprocess.run(
                    [sys.executable, "-c", "from mindgauge.cli import main; main()", *words],
                    check=False,
                    stdout=subprocess.DEVNULL,
                )
                if done.returncode not in {0, 1, 3}:
                    raise SystemExit(done.returncode)
                seconds.append(time.perf_counter() - start)
            print(f"| {name} | {min(seconds):.1f} |")


def main() -> None:
    """Print a table of bench/results/gate.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--means", action="store_true")
    parser.add_argument("--series", action="store_true")
    options = parser.parse_args()
    if options.means:
        means(200 if options.quick else 2_000)
        return
    if options.series:
        series(50 if options.quick else 200)
        return
    if options.speed:
        speed()
        return
    times = 100 if options.quick else 1_000
    print("| messages | repeats | unsafe share | gates that fail | gates that do not pass |\n|---|---|---|---|---|")
    for messages, repeats in ((100, 1), (100, 3), (300, 3)):
        for rise in (0.0, 0.1):
            outcome = gates(rise, repeats, messages, times)
            told = "as before" if not rise else "ten points higher"
            print(f"| {messages} | {repeats} | {told} | {outcome.failed:.1%} | {outcome.stopped:.1%} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
