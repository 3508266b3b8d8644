"""Do studies of the planned size reach the verdict? Made-up ratings, read and judged by the real cards; and coverage of D-studies.

    python bench/planning.py [--only PART ...] [--times N]

Parts: plan, nested. A judge's share of unsafe replies found follows from how it agrees; it is computed in a large draw and
assumed by the plan. Prints Markdown; docs/reliability.md holds it.
"""

from __future__ import annotations

import argparse
import os
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: the machine may be shared

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis.reliability import plan, rule
from mindgauge.analysis.reliability.card import GOOD, MODERATE
from mindgauge.analysis.reliability.cards import CardOptions, cards
from mindgauge.analysis.reliability.design import design
from mindgauge.analysis.reliability.ratings import read
from mindgauge.stats.planning import Assumed, SimulatedRatings, World

RULE = rule.load(rule.MINDGAUGE)
WORLDS = (
    (MODERATE, Assumed(0.2, 0.75, 0.75, 0.95, people=3)),
    (MODERATE, Assumed(0.3, 0.8, 0.85, 0.95, people=2, replies=3)),
    (GOOD, Assumed(0.3, 0.95, 0.97, 0.99, people=3)),
)


def _found(world: World) -> tuple[float, float]:
    """Return how much of what people together call unsafe the judge finds, and how much that is of all."""
    drawn = world.draw(np.random.default_rng(7), 40_000)
    unsafe = np.median(drawn.people, axis=2) < world.assumed.worst - 0.4
    return float((drawn.judge[unsafe] < world.assumed.worst - 0.4).mean()), float(unsafe.mean())


def _frame(drawn: SimulatedRatings) -> pl.DataFrame:
    n, m, k = drawn.people.shape
    reply = np.arange(n * m)
    columns = [("judge", "model", drawn.judge), *((f"person{i}", "person", drawn.people[..., i]) for i in range(k))]
    parts = [
        pl.DataFrame({"subject": reply, "cluster": reply // m, "value": values.ravel() + 1}).with_columns(
            pl.col("subject", "cluster").cast(pl.String), pl.col("value").cast(pl.Int64), criterion=pl.lit("safety"),
            rater=pl.lit(rater), rater_kind=pl.lit(kind),
        )
        for rater, kind, values in columns
    ]  # fmt: skip
    return pl.concat(parts)


def planned(times: int) -> None:
    print("\n| wanted, with power .80 | unsafe | agreement | people | found | planned replies | reached there, % | reached at half of it, % |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for verdict, assumed in WORLDS:
        world = World(assumed)
        found, share = _found(world)
        given = plan.Assumptions(
            unsafe=share, agreement=assumed.agreement, ceiling=assumed.ceiling, found=found, repeat=assumed.repeat,
            people=assumed.people, replies=assumed.replies,
        )  # fmt: skip
        # the plan's own levels follow `unsafe`; the studies are drawn from the same
        world = World(assumed._replace(unsafe=given.unsafe))
        found, share = _found(world)
        given = msgspec.structs.replace(given, found=found)
        [row] = plan.before(given, RULE, [verdict], 0.8)
        if row.conversations is None:
            print(f"| {verdict} | {share:.2f} | {assumed.agreement} | {assumed.people} | {found:.2f} | – | – | – |")
            continue
        reached = []
        random = np.random.default_rng(11)
        for n in (row.conversations, row.conversations // 2):
            passed = 0
            for _ in range(times):
                ratings = read([_frame(world.draw(random, n))], scale={"*": "1:5"})
                [card] = cards(ratings, CardOptions(RULE, resamples=100)).cards
                passed += card.verdict in {GOOD, verdict}
            reached.append(f"{100 * passed / times:.0f}")
        print(f"| {verdict.split(':')[0]} | {share:.2f} | {assumed.agreement} | {assumed.people} | {found:.2f} | {row.replies} | {' | '.join(reached)} |", flush=True)  # fmt: skip


class Nested(NamedTuple):
    """A design of 6 systems, 40 conversations and some people, by which ratings of a full crossing are kept."""

    name: str
    people: int
    kept: pl.Expr


SYSTEM, CONVERSATION, PERSON = (pl.col(name) for name in ("s", "c", "p"))
DESIGNS = (
    Nested("nine tenths of all ratings, 4 people", 4, pl.col("luck") < 0.9),
    Nested("two of 6 people a conversation", 6, (PERSON - CONVERSATION) % 6 < 2),
    Nested("one of 6 people a conversation", 6, (PERSON - CONVERSATION) % 6 == 0),
    Nested("own conversations of each system, 4 people", 4, CONVERSATION % 6 == SYSTEM),
)
SDS = {"s": 0.6, "c": 0.4, "p": 0.4, "sc": 0.5, "e": 0.6}


def nested(times: int) -> None:
    print("\n| design | Φ holds, % | rater SD² holds, % | width of Φ |\n|---|--:|--:|--:|")
    for made in DESIGNS:
        held: list[list[float]] = []
        random = np.random.default_rng(made.people)
        grid = np.indices((6, 40, made.people)).reshape(3, -1)
        for _ in range(times):
            effects = {name: sd * random.normal(size=6 * 40 * made.people) for name, sd in SDS.items()}
            s, c, p = grid
            value = effects["s"][s] + effects["c"][c] + effects["p"][p] + effects["sc"][s * 40 + c] + effects["e"]
            frame = pl.DataFrame({"s": s, "c": c, "p": p, "number": value, "luck": random.random(len(s))}).filter(
                made.kept
            )
            rows = frame.with_columns(
                subject=SYSTEM * 40 + CONVERSATION,
                cluster=CONVERSATION,
                system=SYSTEM,
                rater=PERSON.cast(pl.String),
                run=0,
            )
            study, note = design("safety", rows, 100, 0)
            if study is None:
                raise SystemExit(note)
            truth = _truth(frame)
            phi, rater = study.dependability, study.components["rater"]
            held.append(
                [
                    _holds(phi.low, truth, phi.high),
                    _holds(rater.low, 0.16, rater.high),
                    (phi.high or 1) - (phi.low or 0),
                ]
            )
        phi_share, rater_share, width = np.mean(held, axis=0)
        print(f"| {made.name} | {100 * phi_share:.0f} | {100 * rater_share:.0f} | {width:.2f} |", flush=True)


def _holds(low: float | None, truth: float, high: float | None) -> float:
    return float(low is not None and high is not None and low <= truth <= high)


def _truth(frame: pl.DataFrame) -> float:
    """Return Φ of a system's mean by its own weights."""
    error = 0.0
    for system in range(6):
        rows = frame.filter(s=system)
        for name, sd in SDS.items():
            if name != "s":
                sizes = rows.group_by({"c": "c", "p": "p", "sc": "c", "e": ["c", "p"]}[name]).len()["len"].to_numpy()
                error += sd**2 * float((sizes**2).sum()) / len(rows) ** 2 / 6
    return float(0.36 / (0.36 + error))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=["plan", "nested"], default=["plan", "nested"])
    parser.add_argument("--times", type=int, default=200)
    options = parser.parse_args()
    for name in options.only:
        {"plan": planned, "nested": nested}[name](options.times)


if __name__ == "__main__":
    main()
