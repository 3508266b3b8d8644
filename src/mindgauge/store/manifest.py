"""`manifest.toml`: what a run was asked to do, with which versions and hashes, and what it took.

Its `plan` decides whether a later command continues this run or belongs elsewhere.
"""

from __future__ import annotations

import datetime
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tomli_w

from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds, private, sealed, tables
from mindgauge.records.redaction import redacted


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
    saved = f"save the run with `mindgauge salvage {folder} --out NEW`, then repeat its command there"
    advice = saved if run else "repeat the command that made it with another --out"
    try:
        return bounds.toml_value(sealed.read(path, advice))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"{path}: cannot read the manifest ({error.strerror})") from error
    except ValueError as error:
        raise UsageError(f"{path}: cannot read the manifest ({error})") from error


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
    cleaned = {key: value if key == "plan" else _clean(value) for key, value in content.items()}
    private.write(folder / "manifest.toml", sealed.seal(tomli_w.dumps(cleaned)))


def _clean(content: Any) -> Any:
    if isinstance(content, str):
        return redacted(content)
    if isinstance(content, dict):
        return {key: _clean(value) for key, value in content.items()}
    return [_clean(value) for value in content] if isinstance(content, list | tuple) else content


def begin(folder: Path, plan: dict[str, Any], command: str) -> dict[str, Any]:
    """Open a run for this plan: write its manifest, or see that the run there has the same plan.

    Raises:
        UsageError: the folder holds a run with another plan; the message names the first difference.
    """
    existing = read(folder)
    if existing:
        standing = existing.get("plan", {})
        for key in {**plan, **standing}:
            if plan.get(key) != standing.get(key):
                raise UsageError(
                    f"{folder} holds a run with another plan ({key}: there {standing.get(key)!r}, asked {plan.get(key)!r}); "
                    "repeat that plan to continue it, or choose another --out"
                )
        return existing
    content = {
        "mindgauge": software(),
        "python": platform.python_version(),
        "created": now(),
        "command": command,
        "plan": plan,
    }
    write(folder, content)
    return content
