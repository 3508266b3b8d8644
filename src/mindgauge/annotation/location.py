"""`annotation.toml`: where a project's labels are, a file beside it or a server."""

from __future__ import annotations

from pathlib import Path

import tomli_w

from mindgauge.annotation.database import Database
from mindgauge.records import digest
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds, private, state
from mindgauge.store import locks
from mindgauge.store.opening import names_another

FILE = "annotation.toml"
_SQLITE = "sqlite:///"
_OWN = "annotation.sqlite"
_ELSEWHERE = "labels-elsewhere.json"


def database(folder: Path, url: str) -> Database:
    """Return the database of a new project; a file in its folder if no URL is given.

    Raises:
        UsageError: a project is in the folder already, the URL is none, or a file in it would be locked by nothing.
    """
    if (folder / FILE).exists():
        raise UsageError(f"{folder}: an annotation project is here already; choose another folder, or serve this one")
    private.folder(folder)
    if not url:  # SQLite gives its log and its index the mode of the file
        locks.check(folder)
        private.new(folder / _OWN)
    return Database(_address(folder, url or f"{_SQLITE}{_OWN}"))


def write(folder: Path, url: str) -> None:
    """Write where the labels are, readable for its owner only: a URL may hold a password."""
    private.write(folder / FILE, tomli_w.dumps({"database": url or f"{_SQLITE}{_OWN}"}))


def remember(folder: Path, url: str) -> None:
    """Note that the owner of a project keeps its labels in a file elsewhere on this machine; call it when the folder stands.

    Without the note, the project is not opened: no file that somebody hands over may lead to another.
    """
    if url.startswith("sqlite:"):
        state.write(_ELSEWHERE, sorted({*_noted(), _mark(folder, url)}))


def _mark(folder: Path, url: str) -> str:
    return digest("labels", str(folder.resolve()), url)


def _noted() -> list[str]:
    """Return the marks of the projects whose owner put the labels elsewhere on this machine."""
    return state.read(_ELSEWHERE, list[str]) or []


def read(folder: Path) -> Database:
    """Return the database of the project in a folder.

    Raises:
        UsageError: there is none, its file is damaged, the labels are gone, or nothing would lock them.
    """
    path = folder / FILE
    try:
        content = bounds.toml(path)
    except FileNotFoundError as error:
        raise UsageError(f"{folder}: no annotation project here; begin one with `mindgauge annotate new`") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot read it ({error.strerror})") from error
    except ValueError as error:
        raise UsageError(f"{path}: cannot read it ({error})") from error
    url = content.get("database")
    if not isinstance(url, str):
        raise UsageError(f'{path}: it must say where the labels are (database = "{_SQLITE}{_OWN}")')
    if url.startswith("sqlite:"):
        _check_file(folder, url)
    return Database(_address(folder, url))


def _check_file(folder: Path, url: str) -> None:
    """Check the file that holds the labels.

    Raises:
        UsageError: it lies elsewhere and nobody noted so here, is gone, or would be locked by nothing; or a journal beside
            it names another file.
    """
    if url != f"{_SQLITE}{Path(url).name}" and _mark(folder, url) not in _noted():
        raise UsageError(
            f"{folder / FILE}: the labels of a project lie in its own folder, and this names another file; "
            f'put the file there and write its name alone (database = "{_SQLITE}{_OWN}")'
        )
    if not url.startswith(_SQLITE):
        return
    labels = folder / url.removeprefix(_SQLITE)
    if not labels.is_file():
        raise UsageError(f"{labels}: the labels are gone; put the file back from a copy")
    private.folder(folder)
    locks.check(folder)
    private.refuse_link(labels)
    if journal := names_another(labels):
        raise UsageError(
            f"{journal}: it names another file, which SQLite would remove; nothing of ours writes such a journal: remove it"
        )


def _address(folder: Path, url: str) -> str:
    """Return a URL that holds wherever we are; a file's name is meant within the folder."""
    return f"{_SQLITE}{folder.resolve() / url.removeprefix(_SQLITE)}" if url.startswith(_SQLITE) else url
