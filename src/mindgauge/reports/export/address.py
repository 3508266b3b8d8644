"""A folder at an address: object stores and servers, by fsspec and the package that speaks the address's protocol.

Nothing there can be renamed as a whole. So `checksums/unfinished.json` stands there first, every file is made on this
machine and sent when it is whole, and the manifest of digests comes last, in place of the mark. Who finds the mark finds
an export that was stopped, which the same command does again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from mindgauge.records.errors import EndpointError, MindgaugeError, UsageError
from mindgauge.records.redaction import addresses, redacted
from mindgauge.reports.export.folder import MANIFEST, ExportFolder, holds_other, remove_abandoned

if TYPE_CHECKING:
    from collections.abc import Iterator

UNFINISHED = "checksums/unfinished.json"
_DRAFT = "mindgauge-export-"
_OWN = {UNFINISHED, MANIFEST}
_PART = re.compile(r"(?:[^/=]+=[^/]*/)*part-\d{5,}\.parquet")
_AGAIN = "what was sent is marked as unfinished; run the same command again"


def is_address(place: str | Path) -> bool:
    """Say whether a destination is an address rather than a folder of this machine.

    Raises:
        UsageError: it was an address until it was made a path.
    """
    if isinstance(place, Path) and re.match(r"[a-z][a-z0-9+.-]+:/", str(place)):
        raise UsageError(f"{place}: give an address as text, not as a path, which takes one of its slashes")
    return isinstance(place, str) and "://" in place and not place.startswith(("file://", "local://"))


def destination(place: str | Path) -> ExportFolder:
    """Claim the folder, or the place at an address, that an export goes to.

    Raises:
        UsageError: it holds something else, nothing can be written there, or a package that it takes is missing.
        EndpointError: it cannot be reached.
    """
    if is_address(place):
        return Address(str(place))
    return ExportFolder(Path(place.partition("://")[2] if isinstance(place, str) and "://" in place else place))


class Address(ExportFolder):
    """Sends files to an address as they are made, and marks the place as unfinished until the last is there."""

    def __init__(self, address: str) -> None:
        """Claim a place.

        Raises:
            UsageError: it holds anything but an earlier export as it was written, or one that was stopped.
            EndpointError: it cannot be reached.
        """
        self.out = addresses.bare(address)  # no password in what is shown
        self.written = []
        with _in_words(self.out):
            from fsspec.core import url_to_fs

            self._files, root = url_to_fs(address, **_settings(address))
            self._root = root.rstrip("/")
            if not self._root.strip("/") and not root.startswith("/"):
                raise UsageError(f"{self.out}: name the bucket, and a folder in it")
            self._tops, self._before = self._claim()

    def __enter__(self) -> Self:
        remove_abandoned(Path(tempfile.gettempdir()).glob(f"{_DRAFT}*"))
        self._target = Path(tempfile.gettempdir())  # where files are made
        self._draft = Path(tempfile.mkdtemp(prefix=_DRAFT, suffix=f".{os.getpid()}"))
        try:
            with _in_words(self.out):
                self._mark()
                for name in self._before:
                    if name != UNFINISHED:
                        self._files.rm_file(self._at(name))
        except BaseException:
            shutil.rmtree(self._draft, ignore_errors=True)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            super().__exit__(kind, error, trace)
        except MindgaugeError as problem:
            if problem is error or error is None:
                raise
            raise MindgaugeError(f"{self.out}: {problem}; {_AGAIN}") from problem

    def _note(self, name: str, rows: int | None) -> None:
        """Send a file that is finished."""
        super()._note(name, rows)
        file = self._draft / name
        with _in_words(self.out, _AGAIN):
            if (top := name.partition("/")[0]) not in self._tops:
                self._tops.add(top)
                self._mark()
            self._files.put_file(str(file), self._at(name))
        file.unlink()

    def _settle(self) -> None:
        self._list()
        with _in_words(self.out, _AGAIN):
            self._files.rm_file(self._at(UNFINISHED))

    def _mark(self) -> None:
        """Say that an export is under way, and which names here are its own."""
        content = json.dumps({"unfinished": sorted(self._tops)}).encode()
        self._files.pipe_file(self._at(UNFINISHED), content)

    def _claim(self) -> tuple[set[str], list[str]]:
        """Return the names that an export that was stopped has for its own, and what is to be replaced."""
        self._files.invalidate_cache()
        sizes = {
            path.removeprefix(self._root).lstrip("/"): info.get("size")
            for path, info in self._files.find(self._root, detail=True).items()
        }
        sizes.pop(MANIFEST.partition("/")[0] + "/", None)
        if "" in sizes:
            raise holds_other(self.out, "a file")
        tops = {MANIFEST.partition("/")[0]}
        if UNFINISHED in sizes:
            tops.update(self._read(UNFINISHED).get("unfinished", ()))
            strangers = [name for name in sizes if not (name in _OWN or _may_be_ours(name, tops))]
        else:
            listed = self._read(MANIFEST).get("files", {}) if MANIFEST in sizes else {}
            strangers = [
                name for name in sizes if not (listed and name == MANIFEST) and not self._same(name, sizes, listed)
            ]
            tops.update(name.partition("/")[0] for name in listed)
        if strangers:
            raise holds_other(self.out, min(strangers))
        return tops, list(sizes)

    def _read(self, name: str) -> dict[str, Any]:
        try:
            content = json.loads(self._files.cat_file(self._at(name)))
        except ValueError:
            return {}
        return content if isinstance(content, dict) else {}

    def _same(self, name: str, sizes: dict[str, Any], listed: dict[str, Any]) -> bool:
        """Say whether a file is as the manifest lists it; its content is read again, a block at a time."""
        entry = listed.get(name)
        if not isinstance(entry, dict) or sizes[name] != entry.get("size"):
            return False
        digest = hashlib.sha256()
        with self._files.open(self._at(name), "rb") as file:
            while block := file.read(1 << 22):
                digest.update(block)
        return digest.hexdigest() == entry.get("sha256")

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"


def _settings(address: str) -> dict[str, Any]:
    """Return, by protocol, what fsspec is to know beside the user's own settings.

    Raises:
        UsageError: nothing can be exported by a protocol of the address.
        ImportError: the package for one is not here.
    """
    protocols = [part.partition("://")[0] for part in address.split("::")]
    if web := next((protocol for protocol in protocols if protocol in {"http", "https"}), ""):
        raise UsageError(f"{web}:// is read-only; export to a folder, or to an object store such as s3://")
    s3 = [protocol for protocol in protocols if protocol in {"s3", "s3a"}]
    if not s3:
        return {}
    from fsspec.config import conf

    from mindgauge.reports.export.straight import StraightSession

    straight = {"http_session_cls": StraightSession}
    return {
        protocol_name: {"config_kwargs": {**conf.get(protocol_name, {}).get("config_kwargs", {}), **straight}}
        for protocol_name in s3
    }


@contextlib.contextmanager
def _in_words(address: str, consequence: str = "nothing was exported") -> Iterator[None]:
    """Say in one line what an address answered; every protocol's package has errors of its own."""
    try:
        yield
    except MindgaugeError:
        raise
    except Exception as error:
        raise _said(address, error, consequence) from error


def _may_be_ours(name: str, tops: set[str]) -> bool:
    """Say whether an export that was stopped may have sent a file: its name is one of those that it said it would use."""
    top, slash, rest = name.partition("/")
    return top in tops and (not slash or _PART.fullmatch(rest) is not None)


def _said(address: str, error: Exception, consequence: str) -> MindgaugeError:
    protocol = address.partition("://")[0].rpartition("::")[2]
    message = redacted(" ".join(str(error).split()))[:200] or type(error).__name__
    kind = type(error).__name__
    failure: type[MindgaugeError] = UsageError
    if isinstance(error, ImportError):
        in_extra = protocol in {"s3", "s3a"} or error.name == "fsspec"
        advice = "pip install 'mindgauge[cloud]'" if in_extra else "install the package that it names"
        reason = f"{protocol}:// needs a package that is not here ({message}): {advice}"
    elif isinstance(error, ValueError) and "Protocol not known" in message:
        reason = f"no package here knows addresses that begin with {protocol}://"
    elif isinstance(error, FileNotFoundError):
        reason = f"{message}: make the bucket first, or choose another --out"
    elif isinstance(error, PermissionError):
        reason = f"no permission ({message}): the key must be allowed to list, read, write and delete here"
    elif "Credential" in kind or "Token" in kind:
        s3 = protocol in {"s3", "s3a"}
        advice = (
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE" if s3 else "see its package's own words"
        )
        reason = f"no credentials ({message}): {advice}"
    elif isinstance(error, ConnectionError | TimeoutError) or "Connect" in kind or "Timeout" in kind:
        failure = EndpointError
        reason = f"cannot be reached ({message}): see the network and, for S3, AWS_ENDPOINT_URL"
    elif isinstance(error, RecursionError):
        failure, reason = EndpointError, "it redirects in a circle"
    else:
        failure = MindgaugeError
        reason = f"{kind} ({message})"
    return failure(f"{address}: {reason}; {consequence}")
