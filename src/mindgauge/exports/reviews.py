"""Review sets: the replies that were chosen for people to rate, each beside what a judge said of all its rivals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.exports.evaluations import merged_row
from mindgauge.exports.names import file_only
from mindgauge.records import RaterKind, Rating, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mindgauge.exports.evaluations import Book, Row
    from mindgauge.exports.placed import Placed


def selections(placed: Iterable[Placed], ratings: Iterable[Rating]) -> dict[str, list[Placed]]:
    """Return the replies of each selection, in the order of their items."""
    by_id = {p.reply.id: p for p in placed}
    members: dict[str, dict[str, Placed]] = {}
    for p in by_id.values():
        if p.selection:
            members.setdefault(p.selection, {})[p.reply.id] = p
    for rating in ratings:
        name = rating.provenance.get("selection")
        if name and rating.subject in by_id:
            members.setdefault(name, {})[rating.subject] = by_id[rating.subject]
    return {
        name: sorted(found.values(), key=lambda p: (p.position, p.response_id))
        for name, found in sorted(members.items())
    }


def review_rows(
    book: Book, name: str, members: Sequence[Placed], rater: str, judged: Sequence[tuple[Placed, Rating]]
) -> Iterator[Row]:
    """Write the rows of one review set as one judge scored them; replies it did not judge have no score.

    `n_tied` counts the replies to the same item in this run, the chosen one included, to which the judge gave the same
    mean; `tie_rank` is the chosen one's place among them by model and repeat, counted from 1.
    """
    runs = max((rating.run for _, rating in judged), default=0) + 1
    scores: dict[tuple[str, str], list[int | None]] = {}
    rivals: dict[str, dict[str, Placed]] = {}
    for placed, rating in judged:
        scores.setdefault((placed.response_id, rating.criterion), [None] * runs)[rating.run] = book.score(rating)
        rivals.setdefault(placed.example_id, {})[placed.response_id] = placed
    for placed in members:
        for criterion in book.benchmark.rubric.criteria:
            found = scores.get((placed.response_id, criterion.name), [None] * runs)
            nobody = Rating(placed.reply.id, criterion.name, rater, RaterKind.MODEL, 0, Status.NOT_APPLICABLE)
            origin = placed.reply.provenance
            mean = _mean(found)
            tied = [
                p.response_id
                for p in sorted(rivals.get(placed.example_id, {}).values(), key=lambda p: (p.reply.model, p.reply.run))
                if mean is not None and _mean(scores.get((p.response_id, criterion.name), [])) == mean
            ]
            yield {
                **merged_row(book, placed, nobody, found, f"review:{name}"),
                "review_set": f"{name}__{rater}" if rater else name,
                "sampled_from": origin.get("sampled_from")
                or (None if placed.selection else file_only(origin.get("source_file"))),
                "sampled_criteria": origin.get("sampled_criteria") or name,
                "n_tied": len(tied) or None,
                "tie_rank": tied.index(placed.response_id) + 1 if tied else None,
            }


def _mean(scores: Sequence[int | None]) -> float | None:
    valid = [score for score in scores if score is not None]
    return sum(valid) / len(valid) if valid else None
