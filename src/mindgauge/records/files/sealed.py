"""TOML files of ours whose last line is a checksum of what stands before, as a comment, so that a changed digit is noticed.

The checksum is zlib's CRC-32. It is no signature: who changes a file on purpose can compute it, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zlib import crc32

from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds

if TYPE_CHECKING:
    from pathlib import Path

_LINE = re.compile(rb"# checksum [0-9a-f]{8}\n\Z")


def seal(text: str | bytes) -> bytes:
    """Return a file's content: a text, and the line with its checksum; a line that is there already is replaced."""
    content = text if isinstance(text, bytes) else text.encode(errors="replace")
    content = _LINE.sub(b"", content)
    if content and not content.endswith(b"\n"):
        content += b"\n"
    return content + b"# checksum %08x\n" % crc32(content)


def read(path: Path, advice: str) -> bytes:
    """Read a file that was written with its checksum.

    Args:
        path: the file.
        advice: what to do where it is damaged.

    Raises:
        FileNotFoundError: there is none.
        UsageError: it is not as it was written, or cannot be read.
    """
    try:
        content = bounds.content(path, bounds.SETTINGS)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    if not _LINE.search(content):
        raise UsageError(
            f"{path}: damaged, changed by hand or by another version of Mindgauge (its last line is no checksum); {advice}"
        )
    if seal(content) != content:
        raise UsageError(f"{path}: damaged, or changed by hand (it does not match its checksum); {advice}")
    return content
