"""What is kept between gates: a baseline as a small file for a repository (values, hashes, verdicts by message, no text), and a series of nights.

The chance that bounds and comparisons ever fail an equal build, on any night, is at most `false_alarms`: bounds have the part of a
night (`stats.noninferiority.part`), comparisons look at the night and at all nights (`over_nights`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis import compare, frame
from mindgauge.analysis.gate import comparisons
from mindgauge.analysis.gate.measured import GateSide
from mindgauge.analysis.gate.outcome import GateOutcome
from mindgauge.records import digest
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, private
from mindgauge.records.rounding import percent
from mindgauge.stats import noninferiority

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mindgauge.analysis.compare import SystemRatings
    from mindgauge.analysis.gate.comparisons import PairedMetric
    from mindgauge.analysis.gate.policy import GatePolicy
    from mindgauge.analysis.score import Scores

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
    return joined.with_columns(*empty).with_columns(run_number=pl.lit(compare.NO_RUN + 1)).select(rows.columns)


_NIGHT_NAMED = 12
"""Hexadecimal digits by which a conversation is named."""
_MOST = 1e6
"""By how much a build can be worse in a conversation at most: no scale and no wait is longer."""
_CHANGED = "its checksum is another: it was changed, or lines before it were added or removed"


class Night(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a series: what one gate saw, without text."""

    series: str
    """The hash of policy and baseline: another begins a new series."""
    run: str
    date: str
    """When the run was made."""
    build: str
    outcome: GateOutcome
    worse: dict[str, dict[str, Annotated[float, msgspec.Meta(ge=-_MOST, le=_MOST)]]]
    """Comparison → conversation → by how much the build is worse there."""
    checksum: str = ""
    """Over this line and the checksum of the line before it."""


class NightSeries:
    """The nights of a file that belong together, and the one that is looked at."""

    def __init__(self, path: Path, key: str, run: str) -> None:
        """Read the nights before; a run that was looked at before has its night again.

        Args:
            path: of the file; it need not be there yet.
            key: the hash of policy and baseline.
            run: the hash that names the run.

        Raises:
            DataError: a line cannot be read.
        """
        self.path, self.key, self.run = path, key, run
        self._all = _read_nights(path)
        begun = max((place for place, night in enumerate(self._all, 1) if night.series != key), default=0)
        self._place = next((i for i, n in enumerate(self._all[begun:], begun) if n.run == run), len(self._all))
        self.earlier = self._all[begun : self._place]
        self._worse: dict[str, dict[str, float]] = {}

    @property
    def number(self) -> int:
        """Which night of the series it is, from 1."""
        return len(self.earlier) + 1

    @property
    def share(self) -> float:
        """The night's part of the false alarms."""
        return noninferiority.part(self.number)

    def adjusted(self, pairs: Sequence[PairedMetric], level: float) -> NDArray[np.float64]:
        """Return p-values that the build is not worse, for each comparison: at most `level` on any night with that chance.

        Nights that failed are left out of the mean over nights: what was not released is no part of what drifts.

        Args:
            pairs: the comparisons.
            level: of false alarms, of all comparisons and nights.
        """
        return np.array([self._p(pair, level, max(len(pairs), 1)) for pair in pairs], dtype=np.float64)

    def _p(self, pair: PairedMetric, level: float, tests: int) -> float:
        names = [digest(name)[:_NIGHT_NAMED] for name in pair.conversation]
        worse = dict(zip(names, (pair.hoped + 0.0).tolist(), strict=True))
        block = pair.pairing.build
        other = (pair.pairing.baseline or block).model
        key = f"{pair.rule.title}; {block.benchmark.name}, {other}, {block.criterion}, {block.rater}"
        self._worse[key] = worse
        nights = [night.worse.get(key, {}) for night in self.earlier if night.outcome is not GateOutcome.FAILED]
        mean = [np.mean([night[name] for night in (*nights, worse) if name in night]) for name in names]
        return noninferiority.over_nights(
            pair.hoped, np.array(mean), comparisons.width(pair), self.number, level=level, tests=tests
        )

    def keep(self, outcome: GateOutcome, date: str, build: str) -> None:
        """Put the night into the file, in one step.

        Args:
            outcome: of the gate.
            date: when the run was made.
            build: the name of its folder.
        """
        night = Night(self.key, self.run, date, build, outcome, self._worse)
        nights = [*self._all[: self._place], night, *self._all[self._place + 1 :]]
        before, lines = "", []
        for line in nights:
            before = _night_checksum(line, before)
            lines.append(msgspec.json.encode(msgspec.structs.replace(line, checksum=before)) + b"\n")
        private.write(self.path, b"".join(lines))

    def note(self, false_alarms: float) -> str:
        """Say which night it is, and what the series promises."""
        if self._all and self.number == 1 and self._place:
            return f"--series {self.path}: the policy or the baseline has changed since the last night, so a new series begins"
        return (
            f"--series {self.path}: night {self.number}; where none is broken, bounds and comparisons fail a build on any night of "
            f"the series with a chance of at most {percent(false_alarms)}; `no_reply_at` and `[[items]]` are not part of that"
        )


def series_key(policy: GatePolicy, baseline: str) -> str:
    """Return the hash of what a series holds fixed.

    Args:
        policy: of the team.
        baseline: the hash of what is compared with.
    """
    content = msgspec.to_builtins(msgspec.structs.replace(policy, path="", baseline=""))
    return digest(content, baseline)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until no other gate works on a series, and keep others waiting meanwhile.

    Raises:
        UsageError: the folder is not there, or its file system keeps no locks.
    """
    try:
        handle = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise UsageError(f"--series {path}: cannot write there ({error.strerror})") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            raise UsageError(
                f"--series {path}: this file system keeps no locks ({error.strerror}); choose another folder"
            ) from error
        yield
    finally:
        os.close(handle)


def _night_checksum(night: Night, before: str) -> str:
    return digest(before, msgspec.to_builtins(msgspec.structs.replace(night, checksum="")))


def _night(line: bytes, before: str) -> Night:
    night = msgspec.json.decode(line, type=Night)
    if night.checksum != _night_checksum(night, before):
        raise ValueError(_CHANGED)
    return night


def _read_nights(path: Path) -> list[Night]:
    try:
        lines = bounds.content(path).splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"--series {path}: cannot read it ({error.strerror})") from error
    except ValueError as error:
        raise DataError(f"--series {path}: {error}") from error
    nights: list[Night] = []
    for number, line in enumerate(lines, 1):
        try:
            nights.append(_night(line, nights[-1].checksum if nights else ""))
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"--series {path}: line {number} of {len(lines)} is not a night of a series ({error}); take the "
                "file from a backup, or give another, with which a new series begins"
            ) from error
    return nights
