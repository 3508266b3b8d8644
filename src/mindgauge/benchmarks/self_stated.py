"""What a release says of itself, held against its files: digests, numbers of rows, and means beside their own repeats.

A file that is listed and not here is no fault, since a part of a release is read, too. Whoever wrote a list, its form is
seen from its keys: a digest or a number beside a file's name.
"""

from __future__ import annotations

import hashlib
import re
from fnmatch import fnmatchcase
from math import isclose
from pathlib import PurePosixPath
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks.hub_layout import is_one
from mindgauge.benchmarks.hub_layout.cells import number
from mindgauge.benchmarks.hub_layout.reading import HubLayout, TableKind
from mindgauge.records.errors import DataError, MindgaugeError, MissingDataError
from mindgauge.records.files import bounds, folder, tables
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from mindgauge.benchmarks.benchmark import Benchmark
    from mindgauge.records.files.folder import File

Fault = tuple[str, str]
"""A file, and what is wrong with it."""
_LISTS = {"checksums/sha256_manifest.json", "metadata/export_summary.json", "metadata/provenance.json"}
_NAMES, _ROWS = ("path", "file", "name"), ("rows", "num_rows", "row_count", "n")
_SHA = re.compile(r"[0-9a-f]{64}")
_OWN_TABLE = re.compile(r"^\| `(\w+)` \| ([\d,]+) \|", re.MULTILINE)
_OF_CARD = re.compile(r"^\s*(?:- )?(config_name|name|split|path|num_examples): *\"?([^\"\n]+)", re.MULTILINE)
_SHOWN = 3
_CLOSE = 5e-4
"""How far a mean may be off that was written with three decimals."""


def check(data: Path, members: Iterable[Benchmark], checked: Counter[str], *, anyway: bool = False) -> list[str]:
    """Return where a release contradicts itself, see `faults`.

    Raises:
        MindgaugeError: it does so, and is not to be read `anyway`.
    """
    contradictions = faults(data, members, checked)
    if contradictions and not anyway:
        compared = ", ".join(f"{count:,} {what}" for what, count in checked.items()) or "nothing else"
        more = f"; and {len(contradictions) - _SHOWN} more files" if len(contradictions) > _SHOWN else ""
        raise MindgaugeError(
            f"{data}: the files contradict what the release says of them: {'; '.join(contradictions[:_SHOWN])}{more}. Get the release "
            f"again, or go on with --anyway. Compared: {compared}"
        )
    return contradictions


def faults(data: Path, members: Iterable[Benchmark], checked: Counter[str]) -> list[str]:
    """Return where a release contradicts itself, a line for each file; count in `checked` what was compared."""
    if not data.is_dir() and not folder.is_zip(data):
        return []
    files = {file.place.as_posix(): file for file in folder.below(data).all}
    by_file: dict[str, list[str]] = {}
    for file, fault in _found(data, files, members, checked):
        by_file.setdefault(file, []).append(fault)
    # Where files are named themselves, a card's sums say no more.
    if any(PurePosixPath(file).name != "README.md" for file in by_file):
        by_file = {file: lines for file, lines in by_file.items() if PurePosixPath(file).name != "README.md"}
    return [
        f"{file}: {lines[0]}" + (f" (and {len(lines) - 1} more in this file)" if len(lines) > 1 else "")
        for file, lines in by_file.items()
    ]


def _found(data: Path, files: dict[str, File], members: Iterable[Benchmark], checked: Counter[str]) -> Iterator[Fault]:
    heights: dict[str, int | None] = {}
    named: set[str] = set()
    for place, file in files.items():
        listing = next((name for name in _LISTS if f"/{place}".endswith(f"/{name}")), "")
        if listing:
            try:
                stated = [*_facts(bounds.json_value(file.read_text()))]
            except (OSError, ValueError) as error:
                yield place, f"cannot be read ({error})"
                continue
            root = place.removesuffix(listing)
            named |= {root + name for name, _ in stated}
            yield from _listed(root, listing, stated, files, heights, checked)
    for place, file in files.items():
        if file.name == "README.md":
            yield from _carded(place, file.read_text(errors="replace"), files, named - {*files}, heights, checked)
    readers = dict.fromkeys(member.self_stated for member in members if member.self_stated is not None)
    try:
        layout = HubLayout(data) if is_one(data) else None
        for pairs in (
            (_scores(layout, checked),) if layout is not None else [faults_of(data, checked) for faults_of in readers]
        ):
            yield from pairs
    except MissingDataError:  # nothing of theirs is here, which whoever reads it says
        return
    except DataError as error:
        name, _, problem = str(error).partition(": ")
        yield name.removeprefix(f"{data}/"), problem or name


def _listed(
    root: str,
    listing: str,
    stated: Iterable[tuple[str, dict[str, Any]]],
    files: dict[str, File],
    heights: dict[str, int | None],
    checked: Counter[str],
) -> Iterator[Fault]:
    for name, facts in stated:
        file = files.get(root + name)
        if file is None:
            continue
        if isinstance(digest := facts.get("sha256"), str):
            checked["digests"] += 1
            content = folder.content(file)
            if hashlib.sha256(content).hexdigest() != digest:
                size = facts.get("size")
                sizes = (
                    f"; {len(content):,} bytes where {size:,} are listed"
                    if isinstance(size, int) and size != len(content)
                    else ""
                )
                yield root + name, f"changed since {listing} was written (another SHA-256{sizes})"
        rows = next((facts[key] for key in _ROWS if type(facts.get(key)) is int), None)
        if rows is not None:
            checked["numbers of rows"] += 1
            height = _height(root + name, file, heights)
            if height != rows:
                yield root + name, f"{_said(height)}, and {listing} says {rows:,}"


def _said(height: int | None) -> str:
    return "cut off or damaged, no table that can be read" if height is None else f"{height:,} rows"


def _facts(node: Any, key: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what a list in any form says of the files that it names; what files were made of is nothing of theirs."""
    if isinstance(node, dict):
        yield next((str(node[name]) for name in _NAMES if isinstance(node.get(name), str)), key), node
        for name, inner in node.items():
            if name != "sources":
                yield from _facts(inner, name)
    elif isinstance(node, list):
        for inner in node:
            yield from _facts(inner)
    elif isinstance(node, str) and _SHA.fullmatch(node):
        yield key, {"sha256": node}
    elif type(node) is int:
        yield key, {"rows": node}


def _height(place: str, file: File, heights: dict[str, int | None]) -> int | None:
    """Return how many rows a table has; None where it cannot be read."""
    if place not in heights:
        try:
            heights[place] = sum(1 for _ in tables.open_table(file).cells())
        except DataError:
            heights[place] = None
    return heights[place]


def _carded(
    place: str,
    card: str,
    files: dict[str, File],
    absent: Collection[str],
    heights: dict[str, int | None],
    checked: Counter[str],
) -> Iterator[Fault]:
    """Compare the numbers that a card has for its configs and their splits, in its header or in a table of ours.

    A config of which some listed file is `absent` is not compared.
    """
    root = place.removesuffix("README.md")
    paths: dict[tuple[str, str], list[str]] = {}
    sizes: dict[tuple[str, str], int] = {}
    config = split = ""
    for key, value in _OF_CARD.findall(card.partition("\n---\n")[0]):
        if key == "config_name":
            config = value.strip()
        elif key in {"split", "name"}:
            split = value.strip()
        elif key == "path":
            paths.setdefault((config, split), []).append(value.strip())
        elif value.strip().isdigit():
            sizes[config, split] = int(value)
    totals = {config: int(count.replace(",", "")) for config, count in _OWN_TABLE.findall(card)}
    for (config, split), rows in (*sizes.items(), *(((name, ""), rows) for name, rows in totals.items())):
        globs = [
            glob
            for key, own in paths.items()
            if key == (config, split) or (not split and key[0] == config)
            for glob in own
        ]
        own, lacking = (
            [name for name in names if any(fnmatchcase(name, root + glob) for glob in globs)]
            for names in (files, absent)
        )
        if own and not lacking:
            checked["numbers of rows"] += 1
            height = sum(_height(name, files[name], heights) or 0 for name in own)
            if height != rows:
                name = f"{config} ({split})" if split else config
                yield place, f"{name} has {rows:,} rows by this card, and {height:,} in {plural(len(own), 'file')}"


def of_mean(stated: object, spread: object, repeats: Sequence[object], names: tuple[str, str, str]) -> str:
    """Say how a mean differs from its repeats, or a standard deviation; empty where neither does."""
    valid = [value for value in map(number, repeats) if value is not None]
    computed = (fmean(valid), pstdev(valid)) if valid else ()
    for name, value, expected in zip(names, (number(stated), number(spread)), computed, strict=False):
        if value is not None and not isclose(value, expected, abs_tol=_CLOSE):
            return f"{name} is {value:g}, and {names[2]} give {expected:.4g}"
    return ""


def _scores(layout: HubLayout, checked: Counter[str]) -> Iterator[Fault]:
    """Compare means with the repeats beside them, and these with the single judgements."""
    single: dict[tuple[str, ...], list[float]] = {}
    for row in layout.rows(TableKind.RAW):
        scores = single.setdefault(_subject(row), [])
        if (score := number(row.cells.get("score"))) is not None:
            scores.append(score)
    names = ("score", "score_std", "score_runs")
    for kind in (TableKind.MERGED, TableKind.REVIEW):
        for row in layout.rows(kind):
            runs = row.json("score_runs")
            if not isinstance(runs, list):
                continue
            checked["means"] += 1
            valid = sorted(score for score in map(number, runs) if score is not None)
            stated = row.whole("n_valid")
            if fault := of_mean(row.cells.get("score"), row.cells.get("score_std"), runs, names):
                yield row.file, f"row {row.number}: {fault}"
            elif stated is not None and stated != len(valid):
                yield row.file, f"row {row.number}: n_valid is {stated}, and score_runs has {len(valid)} scores"
            elif kind is TableKind.MERGED and valid != sorted(single.get(_subject(row), valid)):
                yield row.file, f"row {row.number}: score_runs are not the single scores in llm_raw"


def _subject(row: Any) -> tuple[str, ...]:
    return row.text("evaluator_model", "evaluator_model_raw"), row.text("response_id"), row.text("criterion")
