"""Nights: one policy and one baseline, and a build that is looked at again and again.

The chance that bounds and comparisons ever fail an equal build, on any night, is at most `false_alarms`: bounds have the part of a
night (`stats.noninferiority.part`), comparisons look at the night and at all nights (`over_nights`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np

from mindgauge.analysis.gate import comparisons
from mindgauge.analysis.gate.outcome import GateOutcome
from mindgauge.records import digest
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, private
from mindgauge.records.rounding import percent
from mindgauge.stats import noninferiority

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mindgauge.analysis.gate.comparisons import PairedMetric
    from mindgauge.analysis.gate.policy import GatePolicy

_NAMED = 12
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
        self._all = _read(path)
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
        names = [digest(name)[:_NAMED] for name in pair.conversation]
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
            before = _checksum(line, before)
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


def key(policy: GatePolicy, baseline: str) -> str:
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


def _checksum(night: Night, before: str) -> str:
    return digest(before, msgspec.to_builtins(msgspec.structs.replace(night, checksum="")))


def _night(line: bytes, before: str) -> Night:
    night = msgspec.json.decode(line, type=Night)
    if night.checksum != _checksum(night, before):
        raise ValueError(_CHANGED)
    return night


def _read(path: Path) -> list[Night]:
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
