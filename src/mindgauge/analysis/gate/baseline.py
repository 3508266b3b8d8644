"""A baseline as a small file for a repository: values, hashes and verdicts by message, no text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from mindgauge.analysis import frame, systems
from mindgauge.analysis.gate.measured import GateSide
from mindgauge.records import digest
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mindgauge.analysis.score import Scores
    from mindgauge.analysis.systems import SystemRatings

FORMAT = 1
_NAMED = 16
"""Hexadecimal digits by which a message is named, of the hash of its id."""
_KEY = ("criterion", "rater", "rater_kind", "instrument", "model")
_REMAKE = "make it again with `mindgauge gate baseline RUN --out FILE`"


class KeptVerdicts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one rater said on one criterion of one system: message → replies → repeats of the verdict, null where missing."""

    benchmark: str
    criterion: str
    rater: str
    rater_kind: str
    instrument: str | None
    model: str
    of: dict[str, list[list[str | None]]]


class Baseline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a baseline file."""

    baseline: int
    mindgauge: str
    made: str
    run: str
    samples: list[str]
    scores: list[dict[str, Any]]
    verdicts: list[KeptVerdicts]
    checksum: str = ""
    chosen: str = ""
    """The run by which the build was chosen, where the file holds another run of it that was made afterwards."""


def of_run(side: GateSide, scores: Scores, facts: Mapping[str, Any]) -> Baseline:
    """Take from a run what its baseline file holds.

    Args:
        side: its ratings.
        scores: of it.
        facts: `mindgauge`, `made`, `run`, `samples` and `chosen` of the file.

    Raises:
        UsageError: the run holds dialogues of several turns, whose turns no file keeps.
    """
    held = next((part.benchmark.name for part in side.parts if not part.rows["unit"].is_null().all()), "")
    if held:
        raise UsageError(
            f"{held} rates dialogues turn by turn, and a baseline file keeps single replies: keep the run, and give it as --baseline"
        )
    figures = ("benchmark", "name", "criterion", "slice", "model", "rater", "value", "low", "high", "n", "missing")
    kept = [{key: getattr(score, key) for key in figures} for score in scores.leading if not score.void]
    verdicts = [entry for part in side.parts for entry in _verdicts(part)]
    content = Baseline(
        FORMAT, facts["mindgauge"], facts["made"], facts["run"], list(facts["samples"]), kept, verdicts, chosen=facts["chosen"]
    )  # fmt: skip
    return msgspec.structs.replace(content, checksum=_checksum(content))


def _verdicts(part: SystemRatings) -> list[KeptVerdicts]:
    rows = part.rows.with_columns(
        reply_run=pl.coalesce("reply_run", pl.lit(0)) if not part.benchmark.closed else pl.lit(0)
    )
    groups = sorted(rows.group_by(_KEY), key=lambda group: tuple(map(str, group[0])))
    entries = []
    for (criterion, rater, kind, instrument, model), group in groups:
        of: dict[str, dict[int, list[str | None]]] = {}
        for sample, reply_run, value in (
            group.sort("sample", "reply_run", "run").select("sample", "reply_run", "value").iter_rows()
        ):
            of.setdefault(_short(sample), {}).setdefault(reply_run, []).append(value)
        lists = {name: list(replies.values()) for name, replies in sorted(of.items())}
        used = None if instrument is None else str(instrument)
        names = (part.benchmark.name, str(criterion), str(rater), str(kind))
        entries.append(KeptVerdicts(*names, used, str(model), lists))
    return entries


def _short(sample: str) -> str:
    return digest("baseline", sample)[:_NAMED]


def _checksum(content: Baseline) -> str:
    return digest(_builtins(msgspec.structs.replace(content, checksum="")))


def _builtins(content: Baseline) -> dict[str, Any]:
    """Return what a file says; of one that was measured once, what it always said."""
    builtins: dict[str, Any] = msgspec.to_builtins(content)
    if not content.chosen:
        del builtins["chosen"]
    return builtins


def encoded(content: Baseline) -> str:
    """Write a baseline as JSON, a message a line, so that two of them can be read side by side."""
    builtins = _builtins(content)
    verdicts = builtins.pop("verdicts")
    head = json.dumps(builtins, ensure_ascii=False, indent=1).removesuffix("\n}")
    blocks = []
    for entry in verdicts:
        of = entry.pop("of")
        lines = ",\n".join(f"   {json.dumps(name)}: {json.dumps(lists)}" for name, lists in of.items())
        blocks.append(f'  {json.dumps(entry, ensure_ascii=False)[:-1]}, "of": {{\n{lines}\n  }}}}')
    return head + ',\n "verdicts": [\n' + ",\n".join(blocks) + "\n ]\n}\n"


def read(path: Path, build: GateSide) -> GateSide:
    """Read a baseline file as a side; what else there is of a message beside its verdicts is as the build has it.

    Raises:
        UsageError: it cannot be read, is no baseline file, or was changed.
    """
    content = decoded(path)
    parts = []
    for part in build.parts:
        entries = [entry for entry in content.verdicts if entry.benchmark == part.benchmark.name]
        if entries:
            parts.append(part._replace(rows=_rows(part, entries)))
    absent = sorted({entry.benchmark for entry in content.verdicts} - {part.benchmark.name for part in build.parts})
    notes = [f"{path}: the run has nothing of {', '.join(absent)}"] if absent else []
    return GateSide(str(path), parts, notes)


def decoded(path: Path) -> Baseline:
    """Read the content of a baseline file.

    Raises:
        UsageError: it cannot be read, is no baseline file, or was changed.
    """
    try:
        raw = bounds.content(path)
    except OSError as error:
        raise UsageError(f"--baseline {path}: cannot read it ({error.strerror})") from error
    except ValueError as error:
        raise DataError(f"--baseline {path}: {error}") from error
    try:
        content = msgspec.json.decode(raw, type=Baseline)
    except (ValueError, RecursionError) as error:
        raise DataError(f"--baseline {path}: no baseline file ({error}); {_REMAKE}") from error
    if content.baseline != FORMAT:
        raise DataError(
            f"--baseline {path}: written in form {content.baseline}, and this version reads form {FORMAT}; {_REMAKE}"
        )
    if content.checksum != _checksum(content):
        raise DataError(
            f"--baseline {path}: its content is not what its checksum says, so it was changed or cut; {_REMAKE}"
        )
    return content


def _rows(part: SystemRatings, entries: list[KeptVerdicts]) -> pl.DataFrame:
    """Return verdicts as ratings of the messages that the build has."""
    rows = part.rows
    samples = {_short(sample): sample for sample in frame.distinct(rows, "sample")["sample"]}
    records = [
        (
            f"{sample}#{number}" if not part.benchmark.closed else sample, entry.criterion, entry.rater, entry.rater_kind,
            entry.instrument, repeat, "ok" if value is not None else "missing", value, sample, entry.model,
            None if part.benchmark.closed else number,
        )
        for entry in entries
        for name, replies in entry.of.items()
        if (sample := samples.get(name)) is not None
        for number, repeats in enumerate(replies)
        for repeat, value in enumerate(repeats)
    ]  # fmt: skip
    columns = (
        "subject",
        "criterion",
        "rater",
        "rater_kind",
        "instrument",
        "run",
        "status",
        "value",
        "sample",
        "model",
        "reply_run",
    )
    verdicts = pl.DataFrame(records, {name: rows.schema[name] for name in columns}, orient="row")
    of_sample = [name for name in rows.columns if name in {"cluster", "target"} or name.startswith(frame.tag(""))]
    about = rows.select("sample", "criterion", *of_sample).unique(["sample", "criterion"], keep="first")
    joined = verdicts.join(about, on=["sample", "criterion"], how="inner", maintain_order="left")
    empty = [pl.lit(None, rows.schema[name]).alias(name) for name in rows.columns if name not in joined.columns]
    return joined.with_columns(*empty).with_columns(run_number=pl.lit(systems.NO_RUN + 1)).select(rows.columns)
