"""The zip that an `.eval` file is. It is packed with plain deflate, which every version of Inspect reads and Python writes."""

from __future__ import annotations

import zipfile
from typing import IO, TYPE_CHECKING, Any, Self

import msgspec

if TYPE_CHECKING:
    from types import TracebackType

NO_VALUE = msgspec.Raw(b"NaN")
"""A score that was not given, as Inspect writes it; it is no JSON, and all of Inspect's readers take it."""
_LEVEL = 5
"""Of zlib: a tenth larger than the best, in half of the time."""
_WRITTEN_AT = (1980, 1, 1, 0, 0, 0)
"""The same content makes the same bytes."""
_encode = msgspec.json.Encoder().encode


class LogFile:
    """A log that is being written, part by part."""

    def __init__(self, file: IO[bytes]) -> None:
        """Begin one."""
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    def write(self, name: str, content: Any) -> None:
        """Write a part as JSON."""
        entry = zipfile.ZipInfo(name, _WRITTEN_AT)
        entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
        self._zip.writestr(entry, _encode(content))
