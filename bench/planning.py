"""Do studies of the planned size reach the verdict? Made-up ratings, read and judged by the real cards; and coverage of D-studies.

    python bench/planning.py [--only PART ...] [--times N]

Parts: plan, nested. Prints Markdown; bench/results/reliability.md holds it.
"""

from __future__ import annotations

import argparse
import os
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: the machine may be shared

import numpy as np
import polars as pl

from mindgauge.analysis.reliability import plan, rule
from mindgauge.analysis.reliability.card import GOOD, MODERATE
from mindgauge.analysis.reliability.cards import CardOptions, cards
from mindgauge.analysis.reliability.design import design
from mindgauge.analysis.reliability.ratings import read
from mindgauge.records.errors import UsageError
from mindgauge.stats.planning import Assumptions, RatedReplies, World, tally

RULE = rule.load(rule.MINDGAUGE)


class Cell(NamedTuple):
    """A plan that is held against studies."""

    unsafe: float
    agreement: float
    ceiling: float
    people: int
    replies: int = 1


PAIRS = ((0.65, 0.6), (0.65, 0.75), (0.65, 0.9), (0.75, 0.6), (0.75, 0.75), (0.75, 0.9), (0.9, 0.9))
UNSAFE = (0.15, 0.3, 0.08)
GRID = tuple(
    Cell(UNSAFE[(i + j) % 3], agreement, ceiling, people, 1 + 2 * ((i + j) % 2))
    for i, (agreement, ceiling) in enumerate(PAIRS)
    for j, people in enumerate((2, 3, 5))
)
"""Each agreement with each number of people, once; shares of unsafe replies and sizes of conversations take turns."""
LARGEST = 2_500
"""Replies: larger studies are planned, and not drawn."""


def _frame(drawn: RatedReplies) -> pl.DataFrame:
    columns = [("judge", "model"), *((f"person{i}", "person") for i in range(1, drawn.values.shape[1]))]
    parts = [
        pl.DataFrame({"subject": np.arange(len(values)), "cluster": drawn.cluster, "value": values + 1}).with_columns(
            pl.col("subject", "cluster").cast(pl.String), pl.col("value").cast(pl.Int64), criterion=pl.lit("safety"),
            rater=pl.lit(rater), rater_kind=pl.lit(kind),
        )
        for (rater, kind), values in zip(columns, drawn.values.T, strict=True)
    ]  # fmt: skip
    return pl.concat(parts)


class Simulated(NamedTuple):
    """In which share of studies a verdict was reached, and of how many of those with cards these said the same."""

    power: float
    alike: int
    cards: int


def reached(cell: Cell, conversations: int, verdict: str, times: int, seed: int) -> Simulated:
    """Draw studies of the planned size; the clauses of the plan say of each what the rule says, real cards of one in ten, too."""
    world = World(Assumptions(*cell[:3], 0.95, cell.people, replies=cell.replies))
    random, passed, alike, real = np.random.default_rng(seed), 0, 0, 0
    for study in range(times):
        drawn = world.draw(random, conversations)
        made = tally(drawn)
        clauses = plan.PlannedStudies(made, (), 4.0).clauses(conversations, made.rows.sum(axis=0)[None], RULE, verdict)
        held = all(clause.all() for clause in clauses.values())
        passed += held
        if study % 10 == 0:
            ratings = read([_frame(drawn)], scale={"*": "1:5"}, unsafe=["safety<=2"])
            [card] = cards(ratings, CardOptions(RULE, resamples=10, brief=True)).cards
            alike += held == (card.verdict in {GOOD, verdict})
            real += 1
    return Simulated(passed / times, alike, real)


def planned(times: int) -> None:
    print("\n| verdict | unsafe | agreement | ceiling | people | replies a conversation | the judge shares | people share | planned replies | reached there, % |")  # fmt: skip
    print("|---" + "|--:" * 9 + "|")
    gaps, alike, real = [], 0, 0
    for cell in GRID:
        try:
            rows = plan.before(plan.assumptions(cell._asdict()), RULE, [MODERATE, GOOD], 0.8)
        except UsageError as error:
            print(
                f"| – | {cell.unsafe} | {cell.agreement} | {cell.ceiling} | {cell.people} | {cell.replies} | {error} |"
            )
            continue
        for row in rows:
            share = "–"
            if row.conversations is not None and (row.replies or 0) <= LARGEST:
                of = reached(cell, row.conversations, row.verdict, times, 12)
                gaps.append(of.power - (row.power or 0))
                alike, real = alike + of.alike, real + of.cards
                share = f"{100 * of.power:.0f}"
            print(f"| {row.verdict.split(':')[0]} | {cell.unsafe} | {cell.agreement} | {cell.ceiling} | {cell.people} | {cell.replies} | {row.judge_shares:.2f} | {row.people_share:.2f} | {row.replies or 'none'} | {share} |", flush=True)  # fmt: skip
    apart = 100 * np.abs(gaps)
    noise = 100 * np.sqrt(0.16 / times)
    print(f"\n{len(gaps)} plans: simulated less planned power {100 * np.mean(gaps):+.1f} points on average; apart by {apart.mean():.1f} on average, {apart.max():.1f} at most; standard error of one {noise:.1f}; {alike} of {real} cards say what the clauses say")  # fmt: skip


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
