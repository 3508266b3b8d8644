"""The pages of an SQLite file, read one by one, so that a damaged page costs no more than what stood on it.

SQLite itself gives up a table at the first page that makes no sense. The format is that of
https://sqlite.org/fileformat2.html, sections 1.3 to 2.3.
"""

from __future__ import annotations

import contextlib
import functools
import struct
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap

    import numpy as np
    from numpy.typing import NDArray

    Words: TypeAlias = NDArray[np.uint32]
Cell: TypeAlias = "int | float | str | bytes | None"
_INNER_INDEX, _INNER_TABLE, _LEAF_INDEX, _LEAF_TABLE = 2, 5, 10, 13
_WIDTHS = (0, 1, 2, 3, 4, 6, 8)
_SIZES = {2**power for power in range(9, 17)}
_HEADER, _LOG_HEADER, _FRAME = 100, 32, 24
"""Bytes before the first page's own content, before a log's first frame, and before a frame's page."""
_AT_ONCE = 1000
"""Frames of a log that are summed up at once: some megabytes."""


class DamagedError(Exception):
    """What stands here cannot be read as what it should be."""


class StoredRecord(NamedTuple):
    """A record's values as they are stored, and its rowid where the table has one."""

    rowid: int | None
    values: tuple[Cell, ...]


class Page(NamedTuple):
    """A page of a table or index: where it leads, what it holds, and how many records on it make no sense."""

    of_table: bool
    children: tuple[int, ...]
    rows: tuple[StoredRecord, ...]
    lost: int


class Pages:
    """The pages of a database, each as its log has it last, else as the file has it."""

    def __init__(self, content: mmap | bytes, log: mmap | bytes = b"") -> None:
        """Args: the file and its write-ahead log, byte by byte."""
        self._content = content
        self.size = _size(content) if _begins(content) else 4096
        self._log = log
        self._newer, _ = latest(log, self.size)
        first = bytes(self._raw(1)) if 1 in self._newer or len(content) >= self.size else b""
        sound = _begins(first)
        self._usable = self.size - first[20] if sound else self.size
        self.version = int.from_bytes(first[60:64], "big") if sound else None
        self._idle = int.from_bytes(first[32:36], "big") if sound else 0
        self._holders: dict[int, tuple[int, int]] = {}
        """Whose each page of a long record is, by the record's page and place: a file in which records share them would
        hold any multiple of its own size."""

    def numbers(self) -> Iterator[int]:
        """Return the number of every page but the first; a log may name pages far beyond the file."""
        last = -(-len(self._content) // self.size)
        yield from range(2, last + 1)
        yield from sorted(number for number in self._newer if number > max(last, 1))

    def idle(self) -> set[int]:
        """Return the pages that hold nothing any more, as far as their list can be read (section 1.5)."""
        numbers: set[int] = set()
        trunk = self._idle
        with contextlib.suppress(DamagedError):
            while trunk and trunk not in numbers:
                page = self._raw(trunk)
                numbers.add(trunk)
                trunk, count = struct.unpack_from(">II", page)
                if count <= self._usable // 4 - 2:
                    numbers.update(struct.unpack_from(f">{count}I", page, 8))
        return numbers

    def page(self, number: int) -> Page:
        """Read a page of a table or index.

        Raises:
            DamagedError: it is not in the file, or is no such page.
        """
        page = self._raw(number)
        start = _HEADER if number == 1 else 0
        kind, cells = page[start], int.from_bytes(page[start + 3 : start + 5], "big")
        if kind not in {_INNER_INDEX, _INNER_TABLE, _LEAF_INDEX, _LEAF_TABLE}:
            raise DamagedError(f"page {number} is no page of a table")
        leaf = kind in {_LEAF_INDEX, _LEAF_TABLE}
        first = start + (8 if leaf else 12)
        if first + 2 * cells > self._usable:
            raise DamagedError(f"page {number} counts more records than it can hold")
        children, rows, lost = [], [], 0
        room = self._usable  # records stand side by side, so all of them together are no longer than the page
        for place in struct.unpack_from(f">{cells}H", page, first):
            try:
                if not leaf:
                    children.append(self._child(page, place))
                if kind != _INNER_TABLE and room < 0:
                    lost += 1
                elif kind != _INNER_TABLE:
                    row, length = self._row(page, number, place if leaf else place + 4, of_table=kind == _LEAF_TABLE)
                    room -= length
                    if room >= 0:
                        rows.append(row)
                    else:
                        lost += 1
            except (DamagedError, IndexError, struct.error, UnicodeDecodeError):
                lost += kind != _INNER_TABLE
        if not leaf:
            children.append(int.from_bytes(page[start + 8 : start + 12], "big"))
        return Page(kind in {_INNER_TABLE, _LEAF_TABLE}, tuple(children), tuple(rows), lost)

    def _raw(self, number: int) -> bytes:
        source, place = (
            (self._log, self._newer[number]) if number in self._newer else (self._content, (number - 1) * self.size)
        )
        page = source[place : place + self.size] if number > 0 else b""
        if len(page) < self.size:
            raise DamagedError(f"page {number} is not in the file")
        return page

    def _child(self, page: bytes, place: int) -> int:
        return int(struct.unpack_from(">I", page, place)[0])

    def _row(self, page: bytes, number: int, place: int, *, of_table: bool) -> tuple[StoredRecord, int]:
        """Read a record; return it and how many bytes of its page it takes."""
        start = place
        length, place = _varint(page, place)
        rowid = None
        if of_table:
            rowid, place = _varint(page, place)
        payload, local = self._payload(page, (number, start), place, length, of_table=of_table)
        return StoredRecord(rowid, tuple(_values(payload))), place + local - start

    def _payload(
        self, page: bytes, holder: tuple[int, int], place: int, length: int, *, of_table: bool
    ) -> tuple[bytes, int]:
        """Return a record's bytes, of which the first stand on the page and the rest on a chain of others (section 1.6).

        How many stand on the page is returned, too.
        """
        usable = self._usable
        largest = usable - 35 if of_table else (usable - 12) * 64 // 255 - 23
        if length <= largest:
            return _exactly(page[place : place + length], length), length
        smallest = (usable - 12) * 32 // 255 - 23
        local = smallest + (length - smallest) % (usable - 4)
        local = local if local <= largest else smallest
        if length > len(self._content) + len(self._log):
            raise DamagedError("a record longer than the file")
        content = bytearray(_exactly(page[place : place + local], local))
        following = self._child(page, place + local)
        while len(content) < length:
            if self._holders.setdefault(following, holder) != holder:
                raise DamagedError("two records that go on upon one page")
            page = self._raw(following)
            content += page[4 : min(usable, 4 + length - len(content))]
            following = self._child(page, 0)
        if following:
            raise DamagedError("a record that goes on beyond its end")
        return bytes(content), local


def _begins(content: mmap | bytes) -> bool:
    """Say whether a database begins here, as the fixed parts of its header tell (section 1.3)."""
    return content[:16] == b"SQLite format 3\0" and content[21:24] == b"\x40\x20\x20" and _size(content) in _SIZES


def _size(content: mmap | bytes) -> int:
    """Return the size of a page in bytes, as the file's header has it."""
    size = int.from_bytes(content[16:18], "big")
    return 65536 if size == 1 else size


def latest(log: mmap | bytes, size: int = 4096) -> tuple[dict[int, int], bool]:
    """Return where in a write-ahead log each page of `size` bytes stands last, as of its last commit (section 4.1).

    A frame's checksum goes on from that of the frame before, so each can be told sound even behind one that is not.
    SQLite itself stops there, and takes what follows for never written. Whether a commit is among that is returned, too:
    either one that is sound, or the frame that cannot be read is one, and with it the log ends. A kill leaves no such
    frame there: it is written in two steps, of which the first leaves the file shorter.
    """
    places: dict[int, int] = {}
    waiting: dict[int, int] = {}
    if len(log) < _LOG_HEADER:
        return places, False
    order = "<" if log[3:4] == b"\x82" else ">"
    broken, hidden = checksum(log[:24], order, (0, 0)) != struct.unpack_from(">II", log, 24), False
    salts = log[_LOG_HEADER + 8 : _LOG_HEADER + 16] if broken else log[16:24]
    for place, follows in zip(range(_LOG_HEADER, len(log), size + _FRAME), _follow(log, size, order), strict=False):
        number, committed = struct.unpack_from(">II", log, place)
        of_this = log[place + 8 : place + 16] == salts
        if of_this and follows:
            waiting[number] = place + _FRAME
            if committed:
                places.update(waiting)
                waiting, hidden = {}, broken
        else:  # damaged, or from before the log began anew
            last = place + _FRAME + size == len(log)
            hidden |= not broken and bool(committed) and (last if of_this else follows)
            broken = True
    return places, hidden


def _follow(log: mmap | bytes, size: int, order: str) -> Iterator[bool]:
    """Say of each whole frame of a log whether its checksum goes on from the one that stands before it."""
    import numpy as np

    width, count = size + _FRAME, (len(log) - _LOG_HEADER) // (size + _FRAME)
    weights, onward = _weights(2 + size // 4)
    before = np.array([struct.unpack_from(">II", log, 24)], np.uint32)
    for first in range(0, count, _AT_ONCE):
        frames = min(_AT_ONCE, count - first)
        begin = _LOG_HEADER + first * width
        content = log[begin : begin + frames * width]
        stated = np.frombuffer(content, ">u4").reshape(frames, -1)[:, 4:6].astype(np.uint32)
        words = np.frombuffer(content, f"{order}u4").reshape(frames, -1).astype(np.uint32)
        before = np.concatenate([before, stated])
        sums = words[:, :2] @ weights[:2] + words[:, 6:] @ weights[2:] + before[:-1] @ onward
        yield from (sums == stated).all(axis=1).tolist()
        before = before[-1:]


@functools.cache
def _weights(count: int) -> tuple[Words, Words]:
    """Return how `count` words, and the checksum before them, enter a checksum: a sum of their multiples, modulo 2³².

    Shapes (count, 2) and (2, 2). A pair of words takes (s, t) to (s + t + x, s + 2t + x + y), see `checksum`.
    """
    import numpy as np

    weights = np.zeros((count, 2), np.uint32)
    onward = np.eye(2, dtype=np.uint32)
    step, pair = np.array([[1, 1], [1, 2]], np.uint32), np.array([[1, 1], [0, 1]], np.uint32)
    for place in range(count - 2, -1, -2):
        weights[place : place + 2] = pair @ onward
        onward = step @ onward
    return weights, onward


def checksum(content: bytes, order: str, before: tuple[int, int]) -> tuple[int, int]:
    """Sum up content as a log does (section 4.2), going on from what was `before`."""
    first, second = before
    words = iter(struct.unpack(f"{order}{len(content) // 4}I", content))
    for word, other in zip(words, words, strict=True):
        first = (first + word + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


def _varint(page: bytes, place: int) -> tuple[int, int]:
    """Read a number of one to nine bytes; return it and where it ends."""
    value = 0
    for i in range(8):
        byte = page[place + i]
        value = value << 7 | byte & 127
        if byte < 128:
            return value, place + i + 1
    value = value << 8 | page[place + 8]
    return value - (1 << 64) if value >> 63 else value, place + 9


def _values(record: bytes) -> Iterator[Cell]:
    """Decode a record (section 2.1)."""
    end, place = _varint(record, 0)
    cursor = end
    while place < end:
        kind, place = _varint(record, place)
        if kind in {8, 9}:
            yield kind - 8
            continue
        if kind < 0 or kind in {10, 11}:
            raise DamagedError("a value of no kind")
        width = (8 if kind == 7 else _WIDTHS[kind]) if kind < 8 else (kind - 12) // 2
        value = _exactly(record[cursor : cursor + width], width)
        cursor += width
        if kind == 0:
            yield None
        elif kind < 7:
            yield int.from_bytes(value, "big", signed=True)
        elif kind == 7:
            yield float(struct.unpack(">d", value)[0])
        else:
            yield value.decode() if kind % 2 else value
    if place != end or cursor != len(record):
        raise DamagedError("a record that does not fill its place")


def _exactly(content: bytes, length: int) -> bytes:
    if len(content) != length:
        raise DamagedError("a record that goes on beyond its page")
    return content
