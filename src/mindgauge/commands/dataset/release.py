"""`dataset release`: a built data set as others get it, unless the audit finds errors or a source's licence forbids it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge.analysis.audit.view import Severity
from mindgauge.analysis.dataset import build as records
from mindgauge.analysis.dataset.recipe import conflict, spdx
from mindgauge.commands.audit import audit
from mindgauge.commands.command import command
from mindgauge.commands.dataset import opened
from mindgauge.records.command_result import Tabular
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.rounding import megabytes, plural
from mindgauge.records.shell import command_line
from mindgauge.reports.export.dataset import release
from mindgauge.reports.export.folder import ExportFolder, Written

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMS = ("hub", "folder")


class DatasetReleased(Tabular, msgspec.Struct, frozen=True):
    """What was written, and what the audit finds: nothing of it an error."""

    dataset: str
    to: str
    path: str
    files: list[Written]
    findings: dict[str, int]

    def summary(self) -> Iterator[str]:
        """Say what was written where, and what its card says of faults."""
        yield f"{self.path}: {plural(len(self.files), 'file')} ({self.to}, {megabytes(sum(file.size for file in self.files))}) of {self.dataset}"
        faults = ", ".join(plural(number, severity) for severity, number in self.findings.items() if number)
        yield f"the audit finds {faults or 'nothing'}, and no error; the card says so"

    def _listed(self) -> list[Written]:
        return self.files


@command(doing="Auditing")
def dataset_release(
    folder: str | Path, *, to: str, out: str | Path, licence: str = "", below_gate: bool = False
) -> DatasetReleased:
    """Release a data set with card, datasheet and checksums; not while the audit finds errors, a licence forbids it, or people do not agree on its labels.

    Args:
        folder: A data set that was built.
        to: hub (the layout of Hugging Face) or folder (CSV and Parquet).
        out: The folder to write.
        licence: Under which it is released; if not given, the recipe's.
        below_gate: Also where people agree less on its labels than the gate asks for; the card then says so first.

    Raises:
        UsageError: there is no data set, none of these forms, no licence, or the destination holds something else.
        DataError: the data set is not as it was built.
        MindgaugeError: the audit finds errors, a source's licence forbids a release, or people do not agree on its labels.
    """
    place, form = Path(folder), to
    if form not in FORMS:
        raise UsageError(f"--to {form}: write {' or '.join(FORMS)}")
    record, items = opened.dataset(place, out), records.read_items(place)
    if (Path(out) / records.RECORD).is_file():
        raise UsageError(f"{out}: a data set is here, which a release would replace; choose another --out")
    terms = spdx(licence or record.licence)
    if not terms:
        raise UsageError(f'{place}: under which licence? Write licence = "CC-BY-4.0" in the recipe, or --licence')
    for source in record.sources:
        if source.items and (reason := conflict(source.licence, source.redistribute, terms)):
            raise MindgaugeError(f"{place}: not released: the source {source.name}: {reason}")
    labels = record.labels
    if labels is not None and not labels.passed and not below_gate:
        raise MindgaugeError(
            f"{place}: not released: {labels.coefficient} among people {labels.people_agreement.written()} is {labels.standing}; mend the rubric and label again, build it without labels in another folder, or say --below-gate"
        )
    audited = audit(place / records.ITEMS_FILE)
    errors = [finding for finding in audited.findings if finding.severity is Severity.ERROR]
    if errors:
        raise MindgaugeError(f"{place}: not released: the audit finds {plural(len(errors), 'error')}, first {errors[0].message} ({errors[0].id}); see {command_line('audit', place / records.ITEMS_FILE)}")  # fmt: skip
    with ExportFolder(Path(out)) as target:
        release.write(target, form, record, items, audited.findings, terms)
    return DatasetReleased(record.name, form, str(out), target.written, audited.counts)
