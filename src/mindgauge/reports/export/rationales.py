"""A blind form on which people rate judges' reasons, and the key to it.

A form shows dialogue, reply, criterion, reasons and value, and not whose they are; each person gets them in an order of
their own. Names and order follow from the run's secret, so that nobody can reckon back from them. In the key, which stays
in the run, stands which verdict an id is. Text that a spreadsheet could take for a formula is neutralised as in `tables`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.records import RaterKind, Status, digest
from mindgauge.records.prompt import transcript

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.annotation.blind import Blind
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Rating
    from mindgauge.reports.export.folder import ExportFolder
    from mindgauge.store import Store

ASKED = ("rationality", "traceability", "consistency")
"""Do the reasons make sense for this criterion; can what they say be found in the text; does the value follow from them?
Each from 1, not at all, to 5, fully."""
_FORM = ("id", "dialogue", "reply", "criterion", "steps", "quotes", "rationale", "value", *ASKED, "comment")
_KEY = {
    **dict.fromkeys(("id", "verdict", "reply", "criterion", "judge"), pl.String),
    "run": pl.Int64,
    "value": pl.String,
}


class Verdicts(NamedTuple):
    """Verdicts with reasons, and what a form calls each."""

    ratings: list[Rating]
    ids: list[str]


def verdict_id(rating: Rating) -> str:
    """Name a verdict: what ratings of its reasons are about."""
    return digest("verdict", rating.subject, rating.criterion, rating.rater, rating.run)


def verdicts(store: Store, benchmark: Benchmark, blind: Blind) -> Verdicts:
    """Return every readable verdict with reasons, and its name on a form."""
    ratings = [
        rating
        for rating in store.ratings(benchmark.name)
        if rating.rater_kind is RaterKind.MODEL and rating.status is Status.OK and rating.rationale
    ]
    return Verdicts(ratings, [blind.verdict(verdict_id(rating)) for rating in ratings])


def key(judged: Verdicts) -> pl.DataFrame:
    """Write which verdict each id is."""
    rows = [
        (ident, verdict_id(r), r.subject, r.criterion, r.rater, r.run, str(r.value))
        for ident, r in zip(judged.ids, judged.ratings, strict=True)
    ]
    return pl.DataFrame(rows, _KEY, orient="row")


def drawn(judged: Verdicts, limit: int | None, seed: int, blind: Blind) -> list[int]:
    """Draw verdicts, as many of each judge, criterion and value as there are for all; return their places."""
    generator = blind.chance("choice", seed)
    groups: dict[tuple[str, str, str], list[int]] = {}
    for place, rating in enumerate(judged.ratings):
        groups.setdefault((rating.rater, rating.criterion, str(rating.value)), []).append(place)
    for group in groups.values():
        generator.shuffle(group)
    in_turn = sorted((turn, name, place) for name, group in groups.items() for turn, place in enumerate(group))
    return [place for _, _, place in in_turn][:limit]


def write_forms(
    folder: ExportFolder,
    store: Store,
    benchmark: Benchmark,
    judged: Verdicts,
    places: Sequence[int],
    *,
    people: int,
    seed: int,
    blind: Blind,
) -> None:
    """Write a form for each person, the same verdicts in an order of their own."""
    replies = {reply.id: reply for reply in store.replies(benchmark.name)}
    for person in range(1, people + 1):
        order = list(places)
        blind.chance("order", seed, person).shuffle(order)
        rows = []
        for place in order:
            rating = judged.ratings[place]
            reply = replies.get(rating.subject)
            sample = store.sample(benchmark.name, reply.sample if reply else rating.subject)
            sample = reply.answered(sample) if reply else sample
            steps = "; ".join(f"{name}: {answer}" for name, answer in rating.provenance.get("checks", {}).items())
            quotes = "\n".join(evidence.quote for evidence in rating.evidence)
            rows.append((
                judged.ids[place], transcript(sample.messages), reply.text if reply else "", rating.criterion, steps,
                quotes, rating.rationale, str(rating.value), *[""] * len(ASKED), "",
            ))  # fmt: skip
        folder.csv(f"form_{person}.csv", pl.DataFrame(rows, dict.fromkeys(_FORM, pl.String), orient="row"))
