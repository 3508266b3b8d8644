"""How many dialogues end in an unsafe reply: in the eyes of people together, and of each judge that may be shown.

A dialogue is a sample that was put to a model, however often it was answered: it counts once, as unsafe where one of the
replies to it is.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis import drawn_part
from mindgauge.reports.runs import GOLD, PERSON, RULE
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.runs import OpenRun, Section
    from mindgauge.stats.interval import Interval


class DialogueTally(NamedTuple):
    """Some dialogues in the eyes of a rater, or of people together.

    Of `n` dialogues of which a reply was to be rated, `valued` have a verdict (none is missing, or one is unsafe), and
    `unsafe` are unsafe. They stand for so many `conversations`, which is what exact bounds count.
    """

    n: int
    valued: int
    unsafe: int
    conversations: int

    @property
    def share(self) -> float | None:
        """The share of the dialogues with a verdict that is unsafe."""
        return self.unsafe / self.valued if self.valued else None

    @property
    def bounds(self) -> Interval:
        """The exact 95 % interval of the share, n being conversations."""
        share = self.share
        if share is None:
            return clopper_pearson(0, 0)
        return clopper_pearson(share * self.conversations, self.conversations)

    @property
    def feared(self) -> float | None:
        """How large the share could be, every missing verdict being unsafe."""
        if not self.n:
            return None
        share = (self.unsafe + self.n - self.valued) / self.n
        return clopper_pearson(share * self.conversations, self.conversations).high


class UnsafeVerdicts:
    """Who called which replies of one benchmark in one run unsafe; columns subject, unsafe (null: no usable verdict)."""

    def __init__(self, run: OpenRun, section: Section) -> None:
        self.run, self.section = run, section

    @property
    def people(self) -> pl.DataFrame:
        """What people together say of the replies that they read."""
        return self.section.unsafe

    @cached_property
    def judges(self) -> dict[str, pl.DataFrame]:
        """What each judge says of the replies that it was asked about; none that cannot be used or agrees too little with people."""
        if not self._criteria:
            return {}
        rows = self.section.judged
        raters = [rater for rater, kind in self.section.judges() if kind not in {PERSON, RULE}]
        verdicts = {}
        for rater in raters:
            usable = {name: criterion for name, criterion in self._criteria.items() if self._may_say(rater, name)}
            rater_rows = rows.filter(pl.col("rater") == rater, pl.col("criterion").is_in(list(usable)))
            if len(rater_rows):
                verdicts[rater] = drawn_part.anywhere(rater_rows, usable)
        return verdicts

    def dialogues(self, model: str, group: str = "all") -> int:
        """Count the dialogues of a group that were put to a model, those left out to whose replies the rubric does not apply."""
        applicable = self._replies(model, group).join(self.section.outside.lazy(), on="subject", how="anti")
        return int(applicable.select(pl.col("sample").n_unique()).collect().item())

    def _replies(self, model: str, group: str) -> pl.LazyFrame:
        """Return the replies of a model to a group's samples, those that never came among them: subject, sample, cluster."""
        tags = self.section.benchmark.groups.get(group, {}).items()
        inside = [pl.col(f"tag.{tag}").is_in(list(values)) for tag, values in tags]
        return self._asked_for.lazy().filter(pl.col("model") == model, *inside).select("subject", "sample", "cluster")

    @cached_property
    def _asked_for(self) -> pl.DataFrame:
        """Every reply that came, and every other that was to be rated."""
        came = self.section.replies
        rated = self.section.ratings.lazy().filter(pl.col("rater_kind") != GOLD)
        missing = (
            rated.select(name for name in came.columns if name in self.section.ratings.columns)
            .join(came.lazy().select("subject"), on="subject", how="anti")
            .unique("subject", keep="first", maintain_order=True)
        )
        return pl.concat([came, missing.collect()], how="diagonal")

    @cached_property
    def _criteria(self) -> dict[str, Criterion]:
        return self.section.unsafe_criteria

    def _may_say(self, rater: str, criterion: str) -> bool:
        name = self.section.benchmark.name
        if any((u.benchmark, u.judge, u.criterion) == (name, rater, criterion) for u in self.run.scores.unfit):
            return False
        card = self.run.standings.cards.get((name, criterion, rater))
        return card is None or not card.limited or self.run.standings.shown

    def tally(
        self, verdicts: pl.DataFrame, model: str, group: str = "all", among: pl.DataFrame | None = None
    ) -> DialogueTally:
        """Count the dialogues of a model.

        Args:
            verdicts: of one rater, or of people together.
            model: whose replies.
            group: of the benchmark's groups.
            among: only the replies with such a `subject`; all if not given.
        """
        replies = self._replies(model, group)
        if among is not None:
            replies = replies.join(among.lazy(), on="subject", how="semi")
        rated = replies.join(verdicts.lazy(), on="subject")
        is_unsafe = pl.col("unsafe").any()
        is_valued = is_unsafe | pl.col("unsafe").is_not_null().all()
        dialogues = rated.group_by("sample").agg(pl.col("cluster").first(), unsafe=is_unsafe, valued=is_valued)
        counted = dialogues.select(pl.len(), pl.col("valued", "unsafe").sum(), pl.col("cluster").n_unique())
        return DialogueTally(*counted.collect().row(0))
