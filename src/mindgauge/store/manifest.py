"""`manifest.toml`: what a run was asked to do, with which versions and hashes, and what it took.

Its `plan` decides whether a later command continues this run or belongs elsewhere.
"""

from __future__ import annotations

import copy
import datetime
import platform
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds, private, tables
from mindgauge.records.redaction import redactor
from mindgauge.records.shell import command_line
from mindgauge.store import growth
from mindgauge.store.growth import Growth

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@cache  # a package's metadata is a mail that is parsed anew each time
def software() -> str:
    """Return this program's name and version, as provenance carries it."""
    return f"mindgauge {version('mindgauge')}"


def now() -> str:
    """Return the time in UTC, to the second, as ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def read(folder: Path) -> dict[str, Any]:
    """Read a run's manifest; empty where there is none yet.

    Raises:
        UsageError: the file is damaged: it is not as its checksum says.
    """
    path = folder / "manifest.toml"
    run = (folder / "run.sqlite").is_file()
    saved = f"save the run with `{command_line('status', folder, '--salvage', 'NEW')}`, then repeat its command there"
    advice = saved if run else "repeat the command that made it with another --out"
    try:
        return copy.deepcopy(_parsed(private.read_sealed(path, advice)))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"{path}: cannot read the manifest ({error.strerror})") from error
    except ValueError as error:
        raise UsageError(f"{path}: cannot read the manifest ({error})") from error


@lru_cache(maxsize=4)
def _parsed(content: bytes) -> dict[str, Any]:
    """Read what a manifest says: one command looks at the same again and again."""
    return bounds.toml_value(content)


def of_source(source: object) -> tuple[Path | None, dict[str, Any]]:
    """Return the run that is named as the source of replies, and its manifest; none and nothing where it is a file.

    Raises:
        UsageError: the manifest is damaged.
    """
    if not (isinstance(source, str | Path) and tables.is_run(source)):
        return None, {}
    return Path(source), read(Path(source))


def write(folder: Path, content: dict[str, Any]) -> None:
    """Replace a run's manifest in one step, so that a kill leaves the old one or the new one; what it says has no secrets.

    Its plan stays as it is, since later commands are held against it; what addresses hold there was taken out before.
    """
    redacted = redactor()
    cleaned = {key: value if key == "plan" else _cleaned(value, redacted) for key, value in content.items()}
    private.write(folder / "manifest.toml", private.seal(tomli_w.dumps(cleaned)))


def clean(content: Any) -> Any:
    """Return what a manifest keeps of a value: the same without secrets."""
    return _cleaned(content, redactor())


def _cleaned(content: Any, redacted: Callable[[str], str]) -> Any:
    if isinstance(content, str):
        return redacted(content)
    if isinstance(content, dict):
        return {key: _cleaned(value, redacted) for key, value in content.items()}
    return [_cleaned(value, redacted) for value in content] if isinstance(content, list | tuple) else content


def commands(content: dict[str, Any]) -> list[str]:
    """Return the commands that made a run, the first and each that it grew by, in their order; one from Python is empty.

    Args:
        content: of the manifest.
    """
    return list(dict.fromkeys(content.get("commands", [content.get("command", "")])))


def noted(content: dict[str, Any], key: str, command: str, **facts: Any) -> dict[str, Any]:
    """Return the content of a manifest with an entry more of what a command brought to the run.

    Args:
        content: of the manifest.
        key: of the list that the entry joins.
        command: what the user typed; it joins `commands`, too.
        facts: of the entry, beside time and command.
    """
    entry = {"at": now(), "command": command, **facts}
    return {**content, "commands": [*commands(content), command], key: [*content.get(key, []), entry]}


def begin(folder: Path, plan: dict[str, Any], command: str) -> dict[str, Any]:
    """Open a run for a plan that does not grow: write its manifest, or see that the run there has the same plan.

    Raises:
        UsageError: the folder holds a run with another plan; the message names all that differs.
    """
    refuse_another(folder, plan)
    return read(folder) or _new(folder, plan, command)


def refuse_another(folder: Path, plan: dict[str, Any]) -> None:
    """See that a folder holds no run, or one of the same plan.

    Raises:
        UsageError: it holds a run with another plan; the message names all that differs.
    """
    existing = read(folder)
    faults = growth.differences(existing.get("plan", {}), plan) if existing else []
    if faults:
        raise UsageError(growth.refusal(folder, faults))


def grow(folder: Path, plan: dict[str, Any], command: str, faults: Sequence[str] = ()) -> Growth:
    """Open a run for a plan, new or to go on with: the run's plan becomes the union of both.

    Args:
        folder: the run's.
        plan: of a command.
        command: what the user typed, for the history of what joined when.
        faults: what else of the command is not as in the run, in words.

    Raises:
        UsageError: what changes answers differs; the message names all that does.
    """
    existing = read(folder)
    union = grown(folder, plan, faults)
    if not existing:
        _new(folder, plan, command)
        return union
    content = {**existing, "plan": union.plan}
    if union.joined:
        content = noted(content, "joined", command, **union.joined)
    if content != existing:
        write(folder, content)
    return union


def grown(folder: Path, plan: dict[str, Any], faults: Sequence[str] = ()) -> Growth:
    """Return what a run's plan becomes with that of a command, without writing it; see `grow`.

    Raises:
        UsageError: what changes answers differs; the message names all that does.
    """
    existing = read(folder)
    if not existing:
        return Growth(plan, [], {}, [])
    union = growth.union(existing.get("plan", {}), plan, judged="rated" in existing)
    if faults or union.differences:
        raise UsageError(growth.refusal(folder, [*union.differences, *faults]))
    return union


def _new(folder: Path, plan: dict[str, Any], command: str) -> dict[str, Any]:
    content = {
        "mindgauge": software(),
        "python": platform.python_version(),
        "created": now(),
        "command": command,
        "plan": plan,
    }
    write(folder, content)
    return content
