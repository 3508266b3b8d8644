"""All checks, and how they are run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis.audit import coverage, dependence, raters, texts
from mindgauge.analysis.audit.view import (
    EDITED,
    REPLIES,
    CheckResult,
    Severity,
    VersionDifference,
    View,
    by_raters,
    check,
    counted,
    limited,
    places,
)
from mindgauge.records.files.confined_reader import HIDDEN
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mindgauge.analysis.audit.view import AuditCheck, Finding
    from mindgauge.benchmarks.released import Material


TOGETHER = 3
"""So many pairs of files are told one by one."""


@check(
    "ids_not_keys",
    Severity.WARNING,
    "rows that are joined or checked by this id can be swapped or doubled without anybody noticing",
)
def ids_not_keys(view: View) -> Iterator[CheckResult]:
    """Ids that stand beside different texts of one kind in one file."""
    rows = view.texts.filter(pl.col("id").is_not_null(), ~pl.col("kind").is_in(REPLIES))  # one id has many replies
    keys = ["file", "kind", "system", "split", "id"]
    clash = rows.filter(pl.col("plain").n_unique().over(keys) > 1)
    for (file,), own in clash.group_by("file", maintain_order=True):
        ids = own["id"].n_unique()
        yield CheckResult(ids, f"{plural(ids, 'id')} of {file} stand beside several texts, {plural(own.select('row').n_unique(), 'row')} in all", places(own))  # fmt: skip


@check(
    "unplaced_ratings",
    Severity.ERROR,
    "they belong to nothing: a join drops them, a mean over the file counts them",
)
def unplaced_ratings(view: View) -> Iterator[CheckResult]:
    """Ratings without a subject, a criterion or a rater."""
    key = ["subject", "criterion", "rater"]
    rows = view.material.ratings.filter(pl.any_horizontal(pl.col(key).is_null()))
    if rows.height:
        lacking = ", ".join(f"{name} {n}" for name in key if (n := rows[name].null_count()))
        yield CheckResult(
            rows.height, f"{plural(rows.height, 'rating')} that lack a part of their key ({lacking})", places(rows)
        )


@check(
    "duplicate_ratings",
    Severity.ERROR,
    "one verdict counts more than once, or two that contradict each other both count",
)
def duplicate_ratings(view: View) -> Iterator[CheckResult]:
    """Several ratings of one subject and criterion by one rater in one run."""
    keys = ["subject", "criterion", "rater", "run"]
    repeated = pl.concat(rows.filter(pl.len().over(keys) > 1) for rows in by_raters(view.ratings))
    if repeated.height:
        groups = repeated.group_by(keys).agg(pl.col("value").n_unique())
        differ = groups.filter(pl.col("value") > 1).height
        surplus = repeated.height - groups.height
        yield CheckResult(surplus, f"{plural(surplus, 'surplus rating')} of {plural(groups.height, 'verdict')}, {differ} with different values ({counted(repeated, 'rater')})", places(repeated))  # fmt: skip


@check(
    "rows_misaligned",
    Severity.ERROR,
    "what one file says of a row is joined to another row's content: agreement between the files is lost there",
)
def rows_misaligned(view: View) -> Iterator[CheckResult]:
    """Rows whose text another file has in another place."""
    yield from _told(_pairs(view, lambda d: d.moved is not None), "a text that stands elsewhere in")


@check(
    "texts_changed",
    Severity.ERROR,
    "the two files speak of different texts under one id or row: what was rated is not what is shown",
)
def texts_changed(view: View) -> Iterator[CheckResult]:
    """Rows whose text another file has in a changed form."""
    yield from _changed(view, replaced=False)


@check(
    "records_overwritten",
    Severity.ERROR,
    "the record no longer holds what it is named for; scores beside it belong to something else",
)
def records_overwritten(view: View) -> Iterator[CheckResult]:
    """Rows whose text was replaced by another one in a second file."""
    yield from _changed(view, replaced=True)


def _changed(view: View, *, replaced: bool) -> Iterator[CheckResult]:
    change = "an altogether different text" if replaced else "another wording"
    yield from _told(_pairs(view, lambda d: d.moved is None and (d.alike < EDITED) == replaced), f"{change} than")


class DifferingFiles(NamedTuple):
    """Files that differ from a first one in the same rows."""

    first: str
    others: list[str]
    differences: tuple[VersionDifference, ...]

    @property
    def places(self) -> list[str]:
        """Where the differences stand."""
        return [f"{self.others[0]}:{d.other}" for d in self.differences]


def _pairs(view: View, wanted: Callable[[VersionDifference], bool]) -> list[DifferingFiles]:
    """Return the files that differ from a first one in some way; those that differ in the same rows come together."""
    alike: dict[tuple[str, tuple[VersionDifference, ...]], list[str]] = {}
    for (first, other), differences in view.versions.items():
        wanted_differences = tuple(d for d in differences if wanted(d))
        if wanted_differences:
            alike.setdefault((first, wanted_differences), []).append(other)
    return [DifferingFiles(first, others, wanted_differences) for (first, wanted_differences), others in alike.items()]


def _told(pairs: list[DifferingFiles], change: str) -> Iterator[CheckResult]:
    """Tell each pair of files, or all in one where there are many."""
    if len(pairs) > TOGETHER:
        total = sum(len(pair.differences) for pair in pairs)
        files = {file for pair in pairs for file in pair.others}
        folders = Counter(pair.others[0].split("/")[0] for pair in pairs for _ in pair.differences)
        by_folder = ", ".join(f"{folder} {n}" for folder, n in folders.most_common(4))
        text = f"{plural(total, 'row')} of {plural(len(files), 'file')} ({by_folder}) with {change} the files they repeat, such as {pairs[0].first}"
        yield CheckResult(total, text, limited([place for pair in pairs for place in pair.places]))
        return
    for pair in pairs:
        listed = pair.others[0] + (f" and {plural(len(pair.others) - 1, 'other file')}" if len(pair.others) > 1 else "")
        offsets = Counter(d.moved for d in pair.differences if d.moved is not None)
        offsets_named = (
            ", moved " + ", ".join(f"{n} by {offset:+d}" for offset, n in offsets.most_common(4)) if offsets else ""
        )
        n = len(pair.differences)
        yield CheckResult(
            n, f"{plural(n, 'row')} of {listed} with {change} {pair.first}{offsets_named}", limited(pair.places)
        )


@check(
    "blanks_differ",
    Severity.NOTE,
    "a comparison of raw strings calls equal texts different",
)
def blanks_differ(view: View) -> Iterator[CheckResult]:
    """Texts that two files have with different blanks or line ends."""
    rows = view.keyed.filter(pl.col("plain") != "")
    keys = ["kind", "system", "split", "key", "plain"]
    differ = rows.filter(pl.col("text").n_unique().over(keys) > 1, pl.col("file").n_unique().over(keys) > 1)
    if differ.height:
        texts = differ.select(keys).n_unique()
        yield CheckResult(
            texts, f"{plural(texts, 'text')} with different blanks or line ends in several files", places(differ)
        )


ID_CHECKS = (
    ids_not_keys,
    unplaced_ratings,
    duplicate_ratings,
    rows_misaligned,
    texts_changed,
    records_overwritten,
    blanks_differ,
)


@check(
    "hidden_content",
    Severity.WARNING,
    "what is hidden in a workbook is in no number; some who see the file do not know of it",
)
def hidden_content(view: View) -> Iterator[CheckResult]:
    """Workbooks with hidden sheets, rows or columns, which are left out."""
    lines = [note for note in view.material.notes if HIDDEN in note]
    if lines:
        yield CheckResult(len(lines), f"{plural(len(lines), 'workbook')} with hidden content", lines)


@check(
    "reader_notes",
    Severity.NOTE,
    "what could not be read, or was read with a guess, is not in the numbers as it stands",
)
def reader_notes(view: View) -> Iterator[CheckResult]:
    """What the reader of the files had to say."""
    notes = [note for note in view.material.notes if HIDDEN not in note]
    if notes:
        yield CheckResult(len(notes), f"{plural(len(notes), 'remark')} on reading the files", notes)


@check(
    "contradicts_itself",
    Severity.ERROR,
    "these are not the files that were released, or their means are not those of their values",
)
def contradicts_itself(view: View) -> Iterator[CheckResult]:
    """Files that are not what the release says of them: digests, numbers of rows, means compared with their own repeats."""
    lines = view.material.contradictions
    if lines:
        yield CheckResult(len(lines), f"{plural(len(lines), 'file')} not as the release says", limited(lines))


CHECKS: tuple[AuditCheck, ...] = (
    *ID_CHECKS, *texts.CHECKS, *texts.CHARACTER_CHECKS, *raters.VALUE_CHECKS, *coverage.LABEL_CHECKS, *texts.REPLY_CHECKS, *raters.CHECKS,
    *dependence.CHECKS, *dependence.ORDER_CHECKS, *coverage.CHECKS, contradicts_itself, hidden_content, reader_notes,
)  # fmt: skip
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def run(material: Material, subject: str = "") -> list[Finding]:
    """Return what is wrong with a material."""
    view = View(material)
    return ranked([finding for check in CHECKS for finding in check.findings(view, subject)])


def ranked(findings: list[Finding]) -> list[Finding]:
    """Sort findings, the most severe and then the most frequent first."""
    return sorted(findings, key=lambda finding: (_RANK[finding.severity], -finding.count, finding.id))
