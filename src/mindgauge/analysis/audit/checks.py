"""Checks of ids, of labels and of what is there or missing; the list of all checks, and how they are run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import special

from mindgauge.analysis.audit import dependence, raters, texts
from mindgauge.analysis.audit.view import (
    ALPHA,
    EDITED,
    REPLIES,
    AuditCheck,
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
from mindgauge.analysis.frame import only
from mindgauge.analysis.reliability.correction import differences
from mindgauge.records.files.confined_reader import HIDDEN
from mindgauge.records.rounding import decimal, percent, plural, precise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mindgauge.analysis.audit.view import Finding
    from mindgauge.benchmarks.released import Material

    _Differing = tuple[str, list[str], tuple[VersionDifference, ...]]
    "A file, others that differ from it in the same rows, and where."


MANY = 0.05
"""From this share on, missing verdicts can move a mean by a twentieth of the scale."""
CROSSED = 0.5
"""Systems answer the same questions if the smaller of two has this share of its items in common with the larger."""
CHOSEN = 20
"""So few subjects say nothing about how they were chosen."""


@check(
    "missing_verdicts",
    Severity.NOTE,
    "a mean over the rest is the mean of what could be rated; it moves between bounds that should stand beside it",
)
def missing_verdicts(view: View) -> Iterator[CheckResult]:
    """Ratings without a value, and criteria that a rater left out for a subject, by rater."""
    for rows in _expected(view):
        for (rater,), own in rows.group_by("rater", maintain_order=True):
            lacking = own.filter("lacking")
            if not lacking.height:
                continue
            share = lacking.height / own.height
            statuses = counted(lacking, "status")
            text = f"{rater}: {lacking.height:,} of {own.height:,} verdicts missing ({precise(share)}; {statuses})"
            yield CheckResult(lacking.height, text, places(lacking), Severity.WARNING if share >= MANY else None)


def _expected(view: View) -> Iterator[pl.DataFrame]:
    """Yield every rating a rater gave or owes: on each criterion it uses, for each subject that it rated in a run."""
    rated = only(view.ratings, pl.col("status") != "not_applicable", pl.col("rater_kind").fill_null("") != "gold")
    for rows in by_raters(rated):
        yield _with_owed(rows)


def _usual(sets: pl.DataFrame) -> pl.DataFrame:
    """Say, for each set of criteria that a rater used on a subject, what else it uses on most subjects like it.

    Criteria that it never uses together, as those of two frameworks, are not owed for each other.
    """
    listed = sets.select("criteria").with_row_index("set").explode("criteria")
    names = listed["criteria"].unique().sort().to_list()
    used = np.zeros((sets.height, len(names)))
    used[listed["set"].to_numpy(), listed["criteria"].rank("dense").to_numpy().astype(np.intp) - 1] = 1.0
    together = used.T @ (used * sets["n"].to_numpy()[:, None])
    usual = together > CROSSED * np.diag(together)[:, None]
    owed = [[names[place] for place in np.flatnonzero(lacking)] for lacking in (used @ usual > 0) & (used == 0)]
    return sets.select("rater", "criteria", pl.Series("criterion", owed, pl.List(pl.String)))


def _with_owed(rows: pl.DataFrame) -> pl.DataFrame:
    rows = rows.with_columns(lacking=(pl.col("status") != "ok") | pl.col("value").is_null())
    unit = ["rater", "run", "subject"]
    subjects = rows.group_by(unit, maintain_order=True).agg(
        pl.col("file", "row", "system").first(), criteria=pl.col("criterion").unique().sort()
    )
    sets = subjects.group_by("rater", "criteria", maintain_order=True).agg(n=pl.len())
    usual = pl.concat([_usual(sets.clear()), *(_usual(own) for _, own in sets.group_by("rater", maintain_order=True))])
    owed = subjects.join(usual, on=["rater", "criteria"]).drop("criteria").explode("criterion", empty_as_null=False)
    owed = owed.join(rows.select(*unit, "criterion"), on=[*unit, "criterion"], how="anti", nulls_equal=True)
    owed = owed.with_columns(lacking=pl.lit(value=True), status=pl.lit("not there"))
    columns = ["rater", "criterion", "subject", "run", "system", "file", "row", "status", "lacking"]
    status = pl.when((pl.col("status") == "ok") & pl.col("lacking")).then(pl.lit("empty")).otherwise("status")
    return pl.concat([rows.with_columns(status=status).select(columns), owed.select(columns)])


@check(
    "missing_by_system",
    Severity.WARNING,
    "systems are compared on different parts of the material, and the missing parts may be the worst",
)
def missing_by_system(view: View) -> Iterator[CheckResult]:
    """Raters whose missing verdicts gather on some systems."""
    subjects = pl.concat(
        rows.filter(pl.col("system").is_not_null())
        .group_by("rater", "system", "subject")
        .agg(pl.col("lacking").any(), pl.col("file", "row").first())
        for rows in _expected(view)
    )
    counts = (
        subjects.group_by("rater", "system").agg(lacking=pl.col("lacking").sum(), n=pl.len()).sort("rater", "system")
    )
    tests = counts.height
    for (rater,), own in counts.group_by("rater", maintain_order=True):
        lacking, n = own["lacking"].to_numpy().astype(float), own["n"].to_numpy().astype(float)
        if len(own) < 2 or not lacking.any() or lacking.sum() == n.sum():
            continue
        # P(X ≥ x) for X ~ Binomial(n, the rater's share) by the incomplete beta function
        tail = np.where(
            lacking > 0, special.betainc(np.maximum(lacking, 1), n - lacking + 1, lacking.sum() / n.sum()), 1.0
        )
        lacking_systems = own.filter(pl.Series(tail * tests < ALPHA))
        if lacking_systems.height:
            affected = subjects.filter(
                pl.col("rater") == rater, "lacking", pl.col("system").is_in(lacking_systems["system"].implode())
            )
            facts = [f"{system}: {missing} of {size} subjects" for _, system, missing, size in own.sort("lacking", descending=True).iter_rows() if missing]  # fmt: skip
            yield CheckResult(affected.height, f"{rater}: {plural(affected.height, 'subject')} of {', '.join(lacking_systems['system'])} without a verdict, {int(lacking.sum()) - affected.height} of the others", limited(facts))  # fmt: skip


@check(
    "unequal_n",
    Severity.WARNING,
    "systems are compared on different items: an order can come from the items, not from the systems",
)
def unequal_n(view: View) -> Iterator[CheckResult]:
    """Systems with fewer items than others that answered the same questions."""
    replies = view.keyed.filter(pl.col("kind").is_in(REPLIES), pl.col("system").is_not_null())
    replies = replies.select("system", "row", group=pl.lit("replies"), item="key")
    rated = only(view.ratings, pl.col("system").is_not_null()).select(
        "system", "row", group=pl.when((pl.col("rater") == pl.col("system")).all().over("rater")).then(pl.lit("answers")).otherwise("ratings by " + pl.col("rater")), item=pl.coalesce("cluster", pl.format("row:{}", "row"))
    )  # fmt: skip
    reported: set[str] = set()
    for (group,), own in pl.concat([replies, rated]).group_by("group", maintain_order=True):
        counts = own.group_by("system").agg(n=pl.col("item").n_unique()).sort("n", "system")
        top = int(counts["n"].max())  # type: ignore[arg-type]
        largest = set(own.filter(pl.col("system") == counts["system"][-1])["item"])
        short = []
        for system, n in counts.iter_rows():
            items = set(own.filter(pl.col("system") == system)["item"])
            if n < (1 - MANY) * top and len(items & largest) >= CROSSED * n:
                first = own.filter(pl.col("item").is_in(list(largest))).unique("item").sort("row").head(n)["item"]
                short.append(f"{system}: {n} of {top}" + (f", the first {n}" if set(first) == items else ""))
        message = f"{plural(len(short), 'system')} with fewer items than the {top} of others"
        if short and str(short) not in reported:
            reported.add(str(short))
            yield CheckResult(len(short), f"{group}: {message}", limited(short))


@check(
    "fields_by_system",
    Severity.WARNING,
    "what was not kept for some systems cannot be audited or rated again; they are compared on trust",
)
def fields_by_system(view: View) -> Iterator[CheckResult]:
    """Kinds of text that some systems' files have and others' have not."""
    rows = view.texts.filter(pl.col("system").is_not_null())
    systems = rows["system"].unique().sort().to_list()
    if len(systems) < 2:
        return
    facts = []
    for kind, covered in rows.group_by("kind").agg(pl.col("system").unique().sort()).sort("kind").iter_rows():
        lacking = [system for system in systems if system not in covered]
        if lacking:
            facts.append(f"{kind}: not for {', '.join(lacking)}")
    if facts:
        yield CheckResult(
            len(facts), f"{plural(len(facts), 'kind')} of text for some of {len(systems)} systems only", limited(facts)
        )


@check(
    "selected_on_score",
    Severity.ERROR,
    "agreement and bias hold for the chosen subjects only; for a judge whose scores chose them they are distorted",
)
def selected_on_score(view: View) -> Iterator[CheckResult]:
    """Subjects that people rated, with other scores by a model than those that they did not rate."""
    people = view.ratings.filter(pl.col("rater_kind") == "person")
    used = view.rated.select("rater", "rater_kind", "criterion", "subject", "number", "cluster", "system")
    judged = used.filter(pl.col("rater_kind") == "model", pl.col("number").is_not_null())
    if not people.height or not judged.height:
        return
    criteria, picked = people["criterion"].unique(), people["subject"].unique()
    judged = judged.filter(pl.col("criterion").is_in(criteria.implode()))
    series = judged.select("rater", "criterion").unique().sort("rater", "criterion")
    for rater, criterion in series.iter_rows():
        rows = judged.filter(pl.col("rater") == rater, pl.col("criterion") == criterion)
        own = rows.group_by("subject").agg(pl.col("number").mean(), pl.col("cluster", "system").first())
        own = own.with_columns(
            pl.coalesce("cluster", "subject"),
            pl.col("system").fill_null("–"),
            chosen=pl.col("subject").is_in(picked.implode()),
        )
        chosen, rest = own.filter("chosen"), own.filter(~pl.col("chosen"))
        if chosen.height < CHOSEN or rest.height < CHOSEN:
            continue
        scores, labelled, cluster, system = (own[name].to_numpy() for name in ("number", "chosen", "cluster", "system"))
        gap = next(iter(differences(scores, labelled, cluster, system, p=ALPHA)), None)
        if gap is None or gap.stratum is not None:
            continue
        mean, other = float(chosen["number"].mean()), float(rest["number"].mean())  # type: ignore[arg-type]
        yield CheckResult(chosen.height, f"people rated {chosen.height:,} of {own.height:,} subjects that {rater} rated on {criterion}: its mean is {decimal(mean)} there and {decimal(other)} elsewhere{_extreme(own, gap.size)}", [f"{rater}, {criterion}: {decimal(gap.size, 1, signed=True)} SD within systems"])  # fmt: skip


def _extreme(own: pl.DataFrame, gap: float) -> str:
    """Tell how many of the chosen subjects have the most extreme score of their conversation."""
    mixed = own.filter((~pl.col("chosen")).any().over("cluster"))
    ends = mixed.with_columns(low=pl.col("number").min().over("cluster"), high=pl.col("number").max().over("cluster"))
    chosen = ends.filter("chosen")
    if not chosen.height:
        return ""
    share = int((chosen["number"] == chosen["low" if gap < 0 else "high"]).sum()) / chosen.height
    return f"; {percent(share)} of them have the {'lowest' if gap < 0 else 'highest'} score of their conversation"


# Checks of labels: options that are never right, classes too small to count, one text with two labels.


FEW, RANKABLE = 10, 30
"""Items of a label: below 10 its recall moves by over a tenth with each; below 30 models cannot be ranked on it."""
LABELLED = 100
"""Smaller sets have small classes by nature."""
OFTEN_CHOSEN = 0.02
"""An answer that raters choose this often is an option, also where nobody lists the options."""
LABEL = "label"
"""What the gold labels of the texts are called among the criteria, where the material names no single one."""


def gold(view: View) -> pl.DataFrame:
    """Return the gold values, one per item: criterion, item, value, file, row."""
    stated = view.ratings.filter(pl.col("rater_kind") == "gold", pl.col("value").is_not_null())
    stated = stated.select(
        "criterion", item="subject", value=pl.col("value").str.strip_chars(' "'), file="file", row="row"
    )
    named = next(iter(view.options)) if len(view.options) == 1 else LABEL
    own = view.asked.filter(pl.col("label").is_not_null()).select(
        criterion=pl.lit(named), item=pl.format("{}:{}", "file", "row"), value=pl.col("label").str.strip_chars(), file="file", row="row"
    )  # fmt: skip
    return pl.concat([stated, own.filter(~pl.col("criterion").is_in(stated["criterion"].unique().implode()))])


@check(
    "never_gold",
    Severity.WARNING,
    "whoever chooses this option is always wrong, and whoever knows that it is never right has an easier test",
)
def never_gold(view: View) -> Iterator[CheckResult]:
    """Options of a closed question that are never the right one, in more items than chance would leave out."""
    for (criterion,), own in gold(view).group_by("criterion", maintain_order=True):
        right = set(own["value"])
        answers = view.rated.filter(pl.col("criterion") == criterion, pl.col("rater_kind") != "gold")
        value = pl.col("value").str.strip_chars(' "')
        counts = answers.group_by(value).len().sort("value")
        chosen = {v for v, n in counts.iter_rows() if n >= OFTEN_CHOSEN * answers.height}
        options = set(view.options.get(str(criterion), chosen | right if len(right) > 1 else ()))
        never = sorted(options - right)
        if len(options) < 2 or not never or (1 - 1 / len(options)) ** own.height > ALPHA:
            continue
        wrong = dict(counts.iter_rows())
        facts = [f"{option}: right 0 times in {own.height}, chosen {wrong.get(option, 0)} times" for option in never]
        yield CheckResult(len(never), f"{plural(len(never), 'option')} of {criterion} never right in {plural(own.height, 'item')}: {', '.join(never)}", limited(facts))  # fmt: skip


@check(
    "rare_labels",
    Severity.NOTE,
    "figures for these classes rest on a few items: their intervals are wide, and macro averages swing with them",
)
def rare_labels(view: View) -> Iterator[CheckResult]:
    """Labels with fewer than 30 items, in sets with at least 100."""
    for (criterion,), own in gold(view).group_by("criterion", maintain_order=True):
        counts = own.group_by("value").len().sort("len", "value")
        rare = counts.filter(pl.col("len") < RANKABLE)
        if own.height < LABELLED or not rare.height or counts.height > own.height / FEW:
            continue
        very_rare = rare.filter(pl.col("len") < FEW).height
        facts = [f"{value}: {n}" for value, n in rare.iter_rows()]
        yield CheckResult(rare.height, f"{rare.height} of {plural(counts.height, 'label')} of {criterion} have fewer than {RANKABLE} items, {very_rare} fewer than {FEW}", limited(facts))  # fmt: skip


@check("conflicting_labels", Severity.ERROR, "at least one of the labels is wrong, and no rater can agree with both")
def conflicting_labels(view: View) -> Iterator[CheckResult]:
    """Items with the same texts and different labels."""
    rows = view.items.filter(pl.col("label").is_not_null())
    clash = rows.filter(pl.col("label").n_unique().over("whole", pl.col("split").fill_null("")) > 1)
    if clash.height:
        texts = clash["whole"].n_unique()
        yield CheckResult(
            texts, f"{plural(texts, 'text')} with different labels in {plural(clash.height, 'row')}", places(clash)
        )


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
    "unplaced_ratings", Severity.ERROR, "they belong to nothing: a join drops them, a mean over the file counts them"
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


def _pairs(view: View, wanted: Callable[[VersionDifference], bool]) -> list[_Differing]:
    """Return a first file, others that differ from it in some way, and in what; those that differ in the same rows come together."""
    alike: dict[tuple[str, tuple[VersionDifference, ...]], list[str]] = {}
    for (first, other), differing in view.versions.items():
        wanted_differences = tuple(d for d in differing if wanted(d))
        if wanted_differences:
            alike.setdefault((first, wanted_differences), []).append(other)
    return [(first, others, wanted_differences) for (first, wanted_differences), others in alike.items()]


def _stands(others: list[str], differing: Iterable[VersionDifference]) -> list[str]:
    return [f"{others[0]}:{d.other}" for d in differing]


def _told(pairs: list[_Differing], change: str) -> Iterator[CheckResult]:
    """Tell each pair of files, or all in one where there are many."""
    if len(pairs) > TOGETHER:
        total = sum(len(differing) for *_, differing in pairs)
        files = {file for _, others, _ in pairs for file in others}
        folders = Counter(others[0].split("/")[0] for _, others, differing in pairs for _ in differing)
        by_folder = ", ".join(f"{folder} {n}" for folder, n in folders.most_common(4))
        text = f"{plural(total, 'row')} of {plural(len(files), 'file')} ({by_folder}) with {change} the files they repeat, such as {pairs[0][0]}"
        yield CheckResult(
            total, text, limited([place for _, others, differing in pairs for place in _stands(others, differing)])
        )
        return
    for first, others, differing in pairs:
        listed = others[0] + (f" and {plural(len(others) - 1, 'other file')}" if len(others) > 1 else "")
        offsets = Counter(d.moved for d in differing if d.moved is not None)
        offsets_named = (
            ", moved " + ", ".join(f"{n} by {offset:+d}" for offset, n in offsets.most_common(4)) if offsets else ""
        )
        n = len(differing)
        yield CheckResult(
            n,
            f"{plural(n, 'row')} of {listed} with {change} {first}{offsets_named}",
            limited(_stands(others, differing)),
        )


@check("blanks_differ", Severity.NOTE, "a comparison of raw strings calls equal texts different")
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


CHECKS = tuple(
    found
    for names in (vars(texts), vars(raters), vars(dependence), globals())
    for found in [*names.values()]
    if isinstance(found, AuditCheck)
)
"""Every function of this module and of those three that is declared as a check."""
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def run(material: Material, subject: str = "") -> list[Finding]:
    """Return what is wrong with a material."""
    view = View(material)
    return ranked([finding for check in CHECKS for finding in check.findings(view, subject)])


def ranked(findings: list[Finding]) -> list[Finding]:
    """Sort findings, the most severe and then the most frequent first."""
    return sorted(findings, key=lambda finding: (_RANK[finding.severity], -finding.count, finding.id))
