"""`reliability`: when can this judge be trusted?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge.analysis import beside_published
from mindgauge.analysis.rationales import with_reasons
from mindgauge.analysis.reliability import rule as rules
from mindgauge.analysis.reliability.cards import CardOptions, cards
from mindgauge.analysis.reliability.ratings import read
from mindgauge.records.errors import UsageError
from mindgauge.records.files import tables
from mindgauge.records.ratings import NOTHING_SAID

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.reliability.card import Reliability
    from mindgauge.records.files.texts import Frame
    from mindgauge.records.ratings import RatingLayout


def reliability(
    ratings: str | Path | Frame | Sequence[str | Path | Frame],
    *,
    reference: str | Sequence[str] = (),
    adjudicators: str | Sequence[str] = (),
    scale: str | Mapping[str, str] | None = None,
    nominal: Sequence[str] = (),
    unsafe: str | Sequence[str] = (),
    critical: str | Sequence[str] = (),
    layout: RatingLayout = NOTHING_SAID,
    rule: str | Path = rules.MINDGAUGE,
    look_until: int = 0,
    resamples: int = 2000,
    seed: int = 0,
) -> Reliability:
    """Make a reliability card for each judge and criterion: agreement with people, bias, verdict, and what it rests on.

    Where several people rated, it also says how far they agree among themselves; with people alone it says that only.

    Args:
        ratings: run directories, and tables of ratings in any shape (docs/ratings.md): files, folders of them, zips,
            workbooks, or tables in memory.
        reference: the raters to compare with; people (`rater_kind` person, else gold) if not given.
        adjudicators: raters who are not independent of the others, beside those whom names or values tell; they are left
            out of people's agreement and of the reference, and both figures are given.
        scale: `1:5`, or levels worst to best (`none,some,full`), for all criteria or by criterion; a run knows its own.
        nominal: criteria whose values are classes without an order, though they are numbers.
        unsafe: which levels are unsafe, `safety<=2` or `label=harmful,unclear`; the rubric's, else the worst two fifths.
        critical: categories in which nothing may be missed, where no rubric says so.
        layout: what is said of the shape of tables; the rest is seen from them, and stands in `reading`.
        rule: `mindgauge`, `mentalbench` (the source's, for comparison; on a run of its release it takes the values that its
            authors take) or a file like Mindgauge's rule.toml.
        look_until: for who looks at the card while people still rate, and stops when it is good: how many replies they
            will rate at most, set before the first look. Bounds then hold at all looks together.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        UsageError: an option is wrong.
        DataError: the ratings cannot be read, or there are not two raters to compare.
    """
    sources: list[str | Path | Frame] = list(ratings) if isinstance(ratings, list | tuple) else [ratings]  # type: ignore[list-item]  # a lone source
    scales = {"*": scale} if isinstance(scale, str) else dict(scale or {})
    levels, categories = ([text] if isinstance(text, str) else list(text) for text in (unsafe, critical))
    rating_table = read(sources, scale=scales, nominal=nominal, layout=layout, unsafe=levels, critical=categories)
    by_width = str(rule) == rules.MENTALBENCH
    if look_until < 0 or (look_until and by_width):
        raise UsageError("--look-until takes a number of replies, and Mindgauge's rule or a file of its form")
    limits = rules.load(rules.MINDGAUGE if by_width else rule)
    named, deciding = ([names] if isinstance(names, str) else list(names) for names in (reference, adjudicators))
    runs = [Path(source) for source in sources if isinstance(source, str | Path) and tables.is_run(source)]
    authors = beside_published.judge_means(runs[0]) if by_width and len(sources) == len(runs) == 1 and not named else {}
    result = cards(
        rating_table,
        CardOptions(limits, by_width, authors, resamples, seed, tuple(deciding), look_until=look_until),
        named,
    )
    return msgspec.structs.replace(with_reasons(result, runs), reading=rating_table.account)
