"""`reliability`: when can this judge be trusted?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from mindgauge.analysis import aligned_judges
from mindgauge.analysis.rationales import with_reasons
from mindgauge.analysis.reliability import rule as rules
from mindgauge.analysis.reliability.cards import CardOptions, cards
from mindgauge.analysis.reliability.ratings import read
from mindgauge.commands.command import NAMED, FromZero, CommandOption, Resamples, command
from mindgauge.records.errors import UsageError
from mindgauge.records.files import tables
from mindgauge.records.ratings import NOTHING_SAID

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.reliability.card import Reliability
    from mindgauge.records.files.texts import Frame
    from mindgauge.records.ratings import RatingLayout


@command(
    first=(
        "reference",
        "scale",
        "nominal",
        "unsafe",
        "critical",
        "levels",
        "plan",
        "show_reading",
        "out",
        "map",
        "rater",
    ),
    doing="Estimating",
)
def reliability(
    ratings: str | Path | Frame | Sequence[str | Path | Frame],
    *,
    reference: str | Sequence[str] = (),
    adjudicators: Annotated[str | Sequence[str], CommandOption(flag="--adjudicator")] = (),
    scale: str | Mapping[str, str] | None = None,
    nominal: Sequence[str] = (),
    unsafe: str | Sequence[str] = (),
    critical: str | Sequence[str] = (),
    layout: RatingLayout = NOTHING_SAID,
    rule: Annotated[str | Path, NAMED] = "mindgauge",
    look_until: FromZero = 0,
    resamples: Resamples = 2000,
    seed: FromZero = 0,
) -> Reliability:
    """Say when a judge can be trusted, by a card for each judge and criterion, and how far people agree.

    Where several people rated, it also says how far they agree among themselves; with people alone it says that only.

    Args:
        ratings: Run directories; files (CSV, Excel, JSON, JSONL, Parquet), folders and zips that hold ratings, in any
            shape. None with --plan before labelling begins.
        reference: Whom to compare with; people, if the ratings say who they are. May be repeated.
        adjudicators: Who decided between others and is no independent rater. May be repeated.
        scale: 1:5, or worst,…,best, for all criteria; or CRITERION=1:5. May be repeated.
        nominal: A criterion whose values are classes without an order. May be repeated.
        unsafe: Which levels are unsafe: CRITERION<=LEVEL, or CRITERION=LEVEL,LEVEL. May be repeated.
        critical: A category in which nothing may be missed, such as suicide. May be repeated.
        layout: what is said of the shape of tables; the rest is seen from them, and stands in `reading`.
        rule: mindgauge; mentalbench (the source's own, for comparison); or a file like rule.toml.
        look_until: You look while people still rate, and stop when a judge is good: how many replies they will rate at
            most.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

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
    authors = aligned_judges.means(runs[0]) if by_width and len(sources) == len(runs) == 1 and not named else {}
    result = cards(
        rating_table,
        CardOptions(limits, by_width, authors, resamples, seed, tuple(deciding), look_until=look_until),
        named,
    )
    return msgspec.structs.replace(with_reasons(result, runs), reading=rating_table.account)
