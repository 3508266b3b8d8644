"""What a release says of itself, compared with its files: digests and numbers of rows; and a mean with its repeats.

A file that is listed and not here is no fault, since a part of a release is read, too. Whoever wrote a list, its form is
seen from its keys: a digest or a number beside a file's name.
"""

from __future__ import annotations

import hashlib
import re
from fnmatch import fnmatchcase
from math import isclose
from posixpath import normpath
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks.hub_layout import is_one
from mindgauge.benchmarks.hub_layout.tables import HubLayout, TableKind, number
from mindgauge.records.errors import DataError, MindgaugeError, MissingDataError
from mindgauge.records.files import bounds, folder, tables
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from mindgauge.benchmarks.benchmark import Benchmark

Fault = tuple[str, str]
"""A file, and what is wrong with it."""
_LISTS = ("checksums/sha256_manifest.json", "metadata/export_summary.json", "metadata/provenance.json")
_CARD = "README.md"
_NAMES, _ROWS = ("path", "file", "name", "filename", "file_name"), ("rows", "num_rows", "row_count", "n")
_SHA = re.compile(r"(?:sha-?256:)?([0-9a-f]{64})", re.IGNORECASE)
_DIGEST = re.compile(r"sha[-_]?256.*|digest|hash|checksum", re.IGNORECASE)
"""How an entry of a list says its file's SHA-256, next to the file's name."""
_SHARD = re.compile(r"-\d{5}-of-\d{5}\.")
_OWN_TABLE = re.compile(r"^\| `(\w+)` \| ([\d,]+) \|", re.MULTILINE)
_OF_CARD = re.compile(r"^[^\S\n]*+(?:- )?(config_name|name|split|path|num_examples): *\"?([^\"\n]+)", re.MULTILINE)
_SHOWN = 3
_CLOSE = 5e-4
"""How far a mean may be off that was written with three decimals."""


def check(
    data: Path, members: Iterable[Benchmark], checked: Counter[str], notes: list[str], *, anyway: bool = False
) -> list[str]:
    """Return where a release contradicts itself, see `faults`; add to `notes` what is less than it says, and may be a part.

    Raises:
        MindgaugeError: it does so, and is not to be read `anyway`.
    """
    lines = faults(data, members, checked, notes)
    if lines and not anyway:
        compared = ", ".join(f"{count:,} {what}" for what, count in checked.items()) or "nothing else"
        more = f"; and {plural(len(lines) - _SHOWN, 'more file')}" if len(lines) > _SHOWN else ""
        raise MindgaugeError(
            f"{data}: the files contradict what the release says of them: {'; '.join(lines[:_SHOWN])}{more}. Get the release "
            f"again, or go on with --anyway. Compared: {compared}"
        )
    return lines


def faults(
    data: Path, members: Iterable[Benchmark], checked: Counter[str], notes: list[str] | None = None
) -> list[str]:
    """Return where a release contradicts itself, a line for each file; count in `checked` what was compared."""
    if not data.is_dir() and not folder.is_zip(data):
        return []
    by_file: dict[str, list[str]] = {}
    listings = _Listings(data, checked, [] if notes is None else notes)
    for file, fault in (*listings.faults(), *_among_tables(data, members, checked)):
        by_file.setdefault(file, []).append(fault)
    tables_alone = {file: lines for file, lines in by_file.items() if not file.endswith(_CARD)}
    return [
        f"{file}: {lines[0]}" + (f" (and {len(lines) - 1} more in this file)" if len(lines) > 1 else "")
        for file, lines in (tables_alone or by_file).items()  # where files are named, a card's sums say no more
    ]


class _Listings:
    """A folder's files, and what its lists and cards say of them."""

    def __init__(self, data: Path, checked: Counter[str], notes: list[str]) -> None:
        self._files = {file.place.as_posix(): file for file in folder.below(data).all}
        self._listed: set[str] = set()
        self._heights: dict[str, int | None] = {}
        self._checked, self._notes = checked, notes

    def faults(self) -> Iterator[Fault]:
        """Yield the files that their lists contradict, and then the cards."""
        for place, file in self._files.items():
            listing = next((name for name in _LISTS if f"/{place}".endswith(f"/{name}")), "")
            try:
                facts = [*_facts(bounds.json_value(file.read_text()))] if listing else []
            except (OSError, ValueError) as error:
                yield place, f"cannot be read ({error})"
                continue
            root, digests = place.removesuffix(listing), 0
            count = self._checked["digests"]
            for name, stated in facts:
                digests += "sha256" in stated
                path = name.replace("\\", "/")
                inner = place.rpartition("/")[0] + "/" if path.startswith("../") else root
                yield from self._of_list(normpath(inner + path), listing, stated)
            if listing == _LISTS[0] and self._checked["digests"] == count:
                yield place, f"none of its {plural(digests, 'digest')} is of a file here" if digests else "no SHA-256 of a file is understood in it"  # fmt: skip
        for place, file in self._files.items():
            if file.name == _CARD:
                yield from self._of_card(place, file.read_text(errors="replace"))

    def _of_list(self, name: str, listing: str, stated: dict[str, Any]) -> Iterator[Fault]:
        self._listed.add(name)
        if name not in self._files:
            return
        if digest := stated.get("sha256"):
            self._checked["digests"] += 1
            content, size = folder.content(self._files[name]), stated.get("size")
            if hashlib.sha256(content).hexdigest() != digest:
                sizes = (
                    f"; {len(content):,} bytes where {size:,} are listed"
                    if isinstance(size, int) and size != len(content)
                    else ""
                )
                yield name, f"changed since {listing} was written (another SHA-256{sizes})"
        rows = next((stated[key] for key in _ROWS if type(stated.get(key)) is int), None)
        if rows is not None:
            self._checked["numbers of rows"] += 1
            if (height := self._height(name)) != rows:
                lines = "cut off or damaged" if height is None else f"{height:,} rows"
                yield name, f"{lines}, and {listing} says {rows:,}"

    def _height(self, name: str) -> int | None:
        """Return how many rows a table has; None where it cannot be read."""
        if name not in self._heights:
            try:
                self._heights[name] = sum(1 for _ in tables.open_table(self._files[name]).cells())
            except DataError:
                self._heights[name] = None
        return self._heights[name]

    def _of_card(self, place: str, card: str) -> Iterator[Fault]:
        """Compare the numbers that a card has for its configs and their splits, in its header or in a table of ours.

        A config of which a listed file is not here is passed over.
        """
        root, paths, sizes = place.removesuffix(_CARD), {}, {}
        config = split = ""
        for key, value in _OF_CARD.findall(card.partition("\n---\n")[0]):
            if key == "config_name":
                config = value.strip()
            elif key in {"split", "name"}:
                split = value.strip()
            elif key == "path":
                paths[config, split, value.strip()] = root + value.strip()
            elif value.strip().isdigit():
                sizes[config, split] = int(value)
        sizes |= {(config, ""): int(count.replace(",", "")) for config, count in _OWN_TABLE.findall(card)}
        for (config, split), rows in sizes.items():
            globs = [glob for key, glob in paths.items() if key[0] == config and split in {"", key[1]}]
            names = [n for n in self._listed | {*self._files} if any(fnmatchcase(n, glob) for glob in globs)]
            if names and self._files.keys() >= {*names}:
                self._checked["numbers of rows"] += 1
                heights = {name: self._height(name) for name in names}
                yield from ((name, "cut off or damaged") for name, height in heights.items() if height is None)
                height = sum(filter(None, heights.values()))
                if None not in heights.values() and height != rows:
                    title = f"{config} ({split})" if split else config
                    line = f"{title} has {rows:,} rows by this card, and {height:,} in {plural(len(names), 'file')}"
                    # Without a list of its files, a folder with fewer rows may be a part, unless one file is shorter.
                    alike = any(map(_SHARD.search, names)) or all(heights[n] == heights[names[0]] for n in names)
                    if height < rows and alike and not self._listed.intersection(names):
                        self._notes.append(f"{place}: {line}; read as a part of the release")
                    else:
                        yield place, line


def _facts(node: Any, key: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what a list in any form says of the files that it names; what files were made of is nothing of theirs."""
    if isinstance(node, dict):
        file = next((str(node[name]) for name in _NAMES if isinstance(node.get(name), str)), key)
        digests = {name: match[1].lower() for name, value in node.items() if _DIGEST.fullmatch(name) and (match := _sha(value))}  # fmt: skip
        of_source = any(name.startswith("source_") for name in node)  # then the digest is the source's
        facts = {name: value for name, value in node.items() if name != "sha256"}
        yield file, facts | ({"sha256": next(iter(digests.values()))} if digests and not of_source else {})
        for name, inner in node.items():
            if name != "sources" and name not in digests:
                yield from _facts(inner, name)
    elif isinstance(node, list):
        for inner in node:
            yield from _facts(inner)
    elif match := _sha(node):
        yield key, {"sha256": match[1].lower()}
    elif type(node) is int:
        yield key, {"rows": node}


def _sha(value: object) -> re.Match[str] | None:
    return _SHA.fullmatch(value.strip()) if isinstance(value, str) else None


def _among_tables(data: Path, members: Iterable[Benchmark], checked: Counter[str]) -> Iterator[Fault]:
    """Yield where tables contradict themselves or each other."""
    try:
        if is_one(data):
            layout = HubLayout(data)
            for kind in TableKind:
                for _ in layout.rows(kind):  # a file that is cut off cannot be read
                    pass
            return
        for faults_of in dict.fromkeys(member.self_stated for member in members):
            yield from faults_of(data, checked) if faults_of is not None else ()
    except MissingDataError:  # nothing of theirs is here, which whoever reads it says
        return
    except DataError as error:
        yield broken(error, data)


def broken(error: DataError, data: Path) -> Fault:
    """Return a file that cannot be read, and why."""
    name, _, problem = str(error).partition(": ")
    return name.removeprefix(f"{data}/"), problem or name


def of_mean(stated: object, spread: object, repeats: Sequence[object], names: tuple[str, str, str]) -> str:
    """Say how a mean differs from its repeats, or a standard deviation; empty where neither does."""
    valid = [value for value in map(number, repeats) if value is not None]
    if not valid:
        return "" if number(stated) is None else f"{names[0]} is {stated}, and {names[2]} have no score"
    if number(stated) is None:
        return (
            f"{names[0]} is {'empty' if stated in {None, ''} else repr(stated)}, and {names[2]} give {fmean(valid):.4g}"
        )
    computed = fmean(valid), pstdev(valid)
    for name, value, expected in zip(names[:2], (number(stated), number(spread)), computed, strict=True):
        if value is not None and not isclose(value, expected, abs_tol=_CLOSE):
            return f"{name} is {value:g}, and {names[2]} give {expected:.4g}"
    return ""
