"""What installed packages bring to Mindgauge by entry points: a fault of one of them stays its own."""

from __future__ import annotations

import contextlib
import sys
from importlib.metadata import EntryPoint, distributions
from typing import NamedTuple

from mindgauge.records.errors import UsageError


class EntryPointGroup(NamedTuple):
    """The entry points of a group by name, and those that do not count, or packages whose cannot be read, with the reason."""

    points: dict[str, EntryPoint]
    broken: dict[str, str]


def entry_points(group: str) -> EntryPointGroup:
    """Return what installed packages bring; of two entry points of one name, the first on the path counts.

    A package that is there twice counts once; another one's entry point of the same name is named.
    """
    points: dict[str, EntryPoint] = {}
    broken: dict[str, str] = {}
    for package in distributions():
        try:
            if f"[{group}]" not in (package.read_text("entry_points.txt") or ""):
                continue
            own = [point for point in package.entry_points if point.group == group]
        except Exception as error:  # noqa: BLE001 - somebody else's file may hold anything
            broken[package.name] = f"the entry points of this package cannot be read ({fault(error)})"
        else:
            for point in own:
                first = points.setdefault(point.name, point).dist
                if first is not None and first.name != package.name:
                    broken[f"{point.name} of the package {package.name}"] = (
                        f"the package {first.name} brings something of this name, too, and counts"
                    )
    return EntryPointGroup(dict(sorted(points.items())), broken)


def load(point: EntryPoint) -> object:
    """Return the object of an entry point.

    Raises:
        UsageError: it names none.
        Exception: whatever the code of the package raises.
    """
    if EntryPoint.pattern.match(point.value) is None:
        raise UsageError(f"its entry point says {point.value!r}; it must be MODULE or MODULE:NAME")
    with contextlib.redirect_stdout(sys.stderr):  # what somebody else's code prints is no part of a result
        return point.load()


def fault(error: BaseException) -> str:
    """Say on one line what somebody else's code raised."""
    text = f"{error}" if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())
