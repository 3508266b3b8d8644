"""Python that is not ours, in files of the user's or brought by packages as entry points: its faults are named in one line.

Code that never returns cannot be stopped here: only Ctrl-C ends it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import traceback
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records.errors import MindgaugeError, OwnCodeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def entry_points(group: str) -> tuple[dict[str, EntryPoint], dict[str, str]]:
    """Return what installed packages bring, and what does not count or cannot be read, with the reason; of two entry points of one name, the first on the path counts.

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
    return dict(sorted(points.items())), broken


def load(point: EntryPoint) -> object:
    """Return the object of an entry point.

    Raises:
        UsageError: it names none.
        Exception: whatever the code of the package raises.
    """
    if EntryPoint.pattern.match(point.value) is None:
        raise UsageError(f"its entry point says {point.value!r}; it must be MODULE or MODULE:NAME")
    with unprinted():
        return point.load()


def unprinted() -> contextlib.AbstractContextManager[object]:
    """Send what a user's or a package's code prints to standard error: it is no part of a result."""
    return contextlib.redirect_stdout(sys.stderr)


def fault(error: BaseException, folder: Path | None = None, otherwise: str = "") -> str:
    """Say on one line what a user's or a package's code raised, and where in its own folder; `otherwise` where it is not there."""
    text = f"{error}" if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if folder is not None and Path(frame.filename).is_relative_to(folder)]
    return " ".join(text.split()) + (_place(own[-1].filename, own[-1].lineno, own[-1].name) if own else otherwise)


def _place(file: str, line: int | None, function: str) -> str:
    return f" ({Path(file).name}:{line}{f', in {function}' if function != '<module>' else ''})"


class OwnFunction(NamedTuple):
    """A function of the user's own: whatever it raises is one line, and what it prints is no part of a result."""

    function: Callable[..., Any]
    subject: str
    """What messages call it."""
    folder: Path
    """Of their files."""
    check: Callable[..., Any] = lambda value, *_: value
    """Takes what it returned, and what it was given, and returns that as it is used; `TypeError` says what is wrong."""
    advice: str = ""
    """What to do about a fault."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call it.

        Raises:
            OwnCodeError: it raised something, or returned something else than it must.
            MindgaugeError: it says itself what is wrong.
        """
        try:
            with unprinted():
                value = self.function(*arguments, **keywords)
                value = [*value] if inspect.isgenerator(value) else value
        except (KeyboardInterrupt, MindgaugeError):
            raise
        except BaseException as error:  # `sys.exit` among them
            raise OwnCodeError(
                f"{self.subject} raised {fault(error, self.folder, self._written)}{self.advice}"
            ) from error
        try:
            return self.check(value, *arguments)
        except (TypeError, ValueError) as error:
            raise OwnCodeError(f"{self.subject} returned {error}{self._written}{self.advice}") from error

    @property
    def _written(self) -> str:
        """Where the function, or one inside it, is written; empty where that is not known."""
        own = (code for code in _codes(self.function) if Path(code.co_filename).is_relative_to(self.folder))
        return next((_place(code.co_filename, code.co_firstlineno, code.co_name) for code in own), "")


def is_ours(function: Any) -> bool:
    """Say whether a function is of this package, with all that it calls by its closure."""
    codes = [*_codes(function)]
    ours = Path(__file__).parents[1]
    return bool(codes) and all(Path(code.co_filename).is_relative_to(ours) for code in codes)


def _codes(function: Any) -> Iterator[Any]:
    """Yield the code of a function, and of those that it holds: in its closure, or as arguments given before."""
    parts, visited = [function], set[int]()
    while parts:
        part = parts.pop(0)
        part = inspect.unwrap(getattr(part, "__func__", part))
        if id(part) in visited or not callable(part) or inspect.isclass(part):
            continue
        visited.add(id(part))
        if isinstance(part, functools.partial):
            parts += [part.func, *part.args, *part.keywords.values()]
        code = getattr(part, "__code__", None)
        if code is not None:
            yield code
        for cell in getattr(part, "__closure__", None) or ():
            with contextlib.suppress(ValueError):  # it is still empty
                parts.append(cell.cell_contents)
