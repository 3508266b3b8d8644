"""`judges panel`: what do several judges know together?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mindgauge.commands.command import CommandOption, Count, FromZero, Resamples, command
from mindgauge.records.english import nearest
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mindgauge.analysis.jury.jury import Panels
    from mindgauge.records.files.texts import Frame

JURIES = ("mean", "median", "majority", "minimum", "weighted")


@command(doing="Putting judges together")
def judges_panel(
    ratings: str | Path | Frame | Sequence[str | Path | Frame],
    *,
    how: Annotated[Sequence[str], CommandOption(flag="--panel", commas=True)] = JURIES,
    judges: Annotated[Sequence[str], CommandOption(flag="--judge")] = (),
    quorum: Count | None = None,
    reference: str | Sequence[str] = (),
    criteria: Annotated[Sequence[str], CommandOption(flag="--criterion")] = (),
    scale: str | Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    resamples: Resamples = 2000,
    seed: FromZero = 0,
) -> Panels:
    """Combine judges into juries, and compare each jury with its members and the best single judge; no model is asked.

    Args:
        ratings: Run directories, or ratings files, as `reliability` reads them.
        how: Juries: mean, median, majority, minimum, weighted; several with commas.
        judges: A member; all models if none is named. May be repeated.
        quorum: Members that need a verdict; all if not given.
        reference: Whom to compare with, if not people. May be repeated.
        criteria: Only this criterion. May be repeated.
        scale: 1:5, or worst,…,best; or CRITERION=1:5. May be repeated.
        columns: our name → the file's name of a column.
        resamples: Bootstrap resamples.
        seed: Seed of the bootstrap and the folds.

    Raises:
        UsageError: an option is wrong, or there are fewer than two judges.
        DataError: the ratings cannot be read, or no criterion is rated by two judges.
    """
    import polars as pl

    from mindgauge.analysis.jury import panels
    from mindgauge.analysis.jury.jury import JuryMethod
    from mindgauge.analysis.reliability import rule
    from mindgauge.analysis.reliability.cards import CardOptions
    from mindgauge.analysis.reliability.ratings import read
    from mindgauge.records.ratings import RatingLayout

    for name in how:
        if name not in JURIES:
            raise UsageError(f"no jury {name!r}: {nearest(name, JURIES, 'known are ' + ', '.join(JURIES))}")
    sources: list[str | Path | Frame] = list(ratings) if isinstance(ratings, list | tuple) else [ratings]  # type: ignore[list-item]  # a lone source
    rating_table = read(
        sources,
        scale={"*": scale} if isinstance(scale, str) else dict(scale or {}),
        layout=RatingLayout(columns=columns or {}),
    )
    available = rating_table.frame["criterion"].unique().sort().to_list()
    stray = next((name for name in criteria if name not in available), None)
    if stray is not None:
        raise UsageError(f"no criterion {stray!r}; the criteria are {', '.join(available)}")
    if criteria:
        rating_table = rating_table._replace(frame=rating_table.frame.filter(pl.col("criterion").is_in(list(criteria))))
    people = [reference] if isinstance(reference, str) else list(reference)
    wanted = panels.Wanted([JuryMethod(name) for name in dict.fromkeys(how)], judges, people, quorum)
    return panels.panels(rating_table, wanted, CardOptions(rule.load(rule.MINDGAUGE), resamples=resamples, seed=seed))
