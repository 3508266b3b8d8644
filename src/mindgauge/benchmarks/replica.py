"""`replica.toml`: what a paper says of its protocol that is no wording, so that a run may stand beside its tables.

What a source does not state stands in `not_stated` and nowhere else: then ours holds, and the report says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds
from mindgauge.records.rubric import Rubric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FILE = "replica.toml"
RECORD = "as_published"
"""The manifest's key for the protocol that a run was under."""


class PublishedColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One column of the published table as one of our metrics: over each repeat, then over repeats."""

    metric: str = ""
    criterion: str = ""
    rater: str = ""
    """Whose figure it is, where a rule reads a criterion in two ways: the one that reads as the authors do."""
    slice: str = "all"
    """The slice that it is of: `tier=2a`."""
    times: float = 1.0
    """100 where the paper prints percent."""
    over_runs: Literal["mean", "sd", "n"] = "mean"
    """`n` where the paper prints how many values the figure rests on."""
    count_of: str = ""
    """In place of a metric: the answer to `criterion` that the paper counts."""
    mean_of: list[str] = []
    """In place of a metric: the columns whose mean the paper prints."""


class Replica(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One protocol of a paper."""

    name: str
    compares_with: str = ""
    """What the paper calls its table; empty where it prints no result of a model."""
    table: str = ""
    """That table's name in `published.toml`."""
    no_table: str = ""
    """Why there is no such table."""
    further: dict[str, str] = {}
    """More tables in which the same run has a row: the name in `published.toml`, and what the paper calls it."""
    items: int
    """How many items were asked about, duplicates counted."""
    reader: str = ""
    """Which of the benchmark's readers gives these items with their labels as shipped; the usual one if empty."""
    tags: dict[str, list[str]] = {}
    options: dict[str, Any] = {}
    """Fields of `Asking` and `Judging`; `own` where the paper sent none, so that a model's default holds."""
    criteria: list[str] = []
    """Those that were asked; all if empty."""
    rubric: str = ""
    """The file with what the paper alone asks judges, in the place of our rubric; that holds if empty."""
    names_in: list[str] = []
    """The tags with people's names, where judges answer in free words and a verdict is whether these name the first of them."""
    unconditional: list[str] = []
    """Criteria that were rated on every reply, where ours may not apply."""
    whole_reply: bool = False
    """Whether a judge was shown all of a reply, where ours is shown a part."""
    prompts: dict[str, str] = {}
    """A kind of prompt → the kind that stands in its place: `ask = "ask.unordered"`."""
    language: str
    """Of the prompts."""
    words: list[str] = []
    """The files of an instrument that hold what the paper's words were; only a user has them."""
    examples: bool = False
    """Whether it takes the authors' training part, of which examples are drawn."""
    judge: str = ""
    """The paper's judge; empty where nobody judged."""
    shares: bool = False
    """Whether subjects of the same words shared one verdict; each was asked about if not."""
    columns: dict[str, PublishedColumn] = {}
    """Those that are one of our metrics; the benchmark's `cells_of_run` computes the others."""
    not_computed: dict[str, str] = {}
    """Published columns that no run can fill, and why."""
    not_stated: list[str] = []
    not_rebuilt: list[str] = []
    """What of the protocol is known, and differs here by design."""


class JudgesTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A published table of judges beside people."""

    compares_with: str
    """What the paper calls its table."""
    table: str
    """Its name in `published.toml`."""
    figures: Literal["errors", "cells", "systems"] = "errors"
    """`errors` of a judge's mean verdict against each person's value: the columns are `mae_PERSON` of each person, and `mae`, `rmse`
    and `within_1` (in percent), the means of people's figures. `cells`: the benchmark's `cells_of_run` computes them.
    `systems`: a row for each judge and criterion, of the means of systems (`mentalbench/reproduce.py`)."""
    criteria: list[str] = []
    """All if empty."""
    people: list[str] = []
    """All if empty."""
    rated_by: list[str] = []
    """Judges rate the replies that these raters rated; those that people gave a value if none is named."""
    replies: int = 0
    """How many of them each person gave a value; 0 where that is not stated."""
    runs: int
    """Verdicts of a judge on a reply, whose mean counts."""
    own_left_out: bool = False
    """Whether judges rate replies by their own family, and the table leaves each judge's own system out."""
    category: str = ""
    """The tag with the category by which the paper's judges rated; empty where they rated without one."""
    words: list[str]
    """The files of an instrument that hold what the paper's words were."""
    not_computed: dict[str, str] = {}
    """Published columns that no judge's verdicts can fill, and why."""
    not_rebuilt: list[str] = []
    """What is known of the table, and differs here by design."""


class ReplicaFile(msgspec.Struct, forbid_unknown_fields=True):
    """The protocols of one paper."""

    replica: list[Replica] = []
    judges: JudgesTable | None = None


def replicas(folder: Path) -> list[Replica]:
    """Read the protocols of a benchmark's paper; none where nothing is recorded.

    Raises:
        UsageError: the file is broken.
    """
    return read(folder).replica


def own_rubric(replica: Replica, folder: Path) -> Rubric | None:
    """Read the rubric of a protocol that has one of its own; None where ours holds.

    Raises:
        RubricError: the file is broken.
    """
    return Rubric.load(folder / replica.rubric) if replica.rubric else None


def of_record(folder: Path, record: Mapping[str, Any] | None) -> Replica | None:
    """Return the protocol that a run was under, by its manifest's record; None where it was under none."""
    return next((r for r in replicas(folder) if record is not None and r.name == record["protocol"]), None)


def standing(record: Mapping[str, Any] | None, missing: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Return why a run is not comparable with its paper's table, and in what it differs from the paper by design.

    Only what a user did or did not bring makes a run not comparable; where that list is empty, it is comparable but for the other.

    Args:
        record: what the manifest says of the run's protocol; None where it was not run as published.
        missing: what the run turned out not to have, such as verdicts.
    """
    if record is None:
        return ["it was not run --as-published", *missing], []
    return [*record["lacks"], *missing], [*record.get("but_for", ())]


def comparability(table: str, reasons: Sequence[str], but_for: Sequence[str]) -> str:
    """Say whether something is comparable with a table, see `standing`."""
    differences = f" but for: {'; '.join(but_for)}" if but_for else ""
    if not reasons:
        return f"comparable with {table}{differences}"
    otherwise = f"; otherwise comparable{differences}" if but_for else ""
    return f"not comparable{' with ' if table else ''}{table}: {'; '.join(reasons)}{otherwise}"


def read(folder: Path) -> ReplicaFile:
    """Read what is recorded of a benchmark's paper; nothing where there is no such file.

    Raises:
        UsageError: the file is broken.
    """
    path = folder / FILE
    if not path.is_file():
        return ReplicaFile()
    try:
        return msgspec.convert(bounds.toml(path), ReplicaFile)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error
