"""Files that people might hand in, made to take more than their share: of memory, of time, or of a reader's patience.

Each bomb is small to make. `FILES` has them by name; the name's ending is the file's. Those of `COSTLY` take a second or
more to make or to read, and stand in the long form only.
"""

from __future__ import annotations

import gzip
import importlib
import io
import json
import os
import random
import stat
import struct
import warnings
import zipfile
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

MIB = 1 << 20
ROW = {
    "id": "1", "user": "I cannot sleep since the exam.", "reply": "That sounds exhausting.", "label": "supportive",
    "subject": "s1", "criterion": "empathy", "rater": "h1", "value": "4", "model": "m",
    "rationality": "4", "traceability": "4", "consistency": "4",
}  # fmt: skip
"""A row that every reader of tables takes as far as it can."""
OTHER = {**ROW, "id": "2", "subject": "s2", "label": "cold", "reply": "Just sleep more.", "value": "2"}


class Bomb(NamedTuple):
    """A file: how it is made, and a pattern that the one line must match where no reader may take it for a table."""

    make: Callable[[Path], object]
    refused: str = ""


def _csv(rows: Sequence[dict[str, str]], more: Sequence[tuple[str, str]] = ()) -> str:
    """Write rows, with further columns at the end, each with its one cell."""
    lines = [[*rows[0], *(name for name, _ in more)], *([*row.values(), *(cell for _, cell in more)] for row in rows)]
    return "".join(",".join(line) + "\n" for line in lines)


CSV = _csv([ROW, OTHER])


def text(content: str | bytes) -> Callable[[Path], object]:
    """Return what writes this."""
    return lambda path: path.write_bytes(content if isinstance(content, bytes) else content.encode())


def big(unit: str | bytes, size: int, before: str = "", after: str = "") -> Callable[[Path], object]:
    """Return what writes a unit again and again, to this size in bytes."""
    one = unit if isinstance(unit, bytes) else unit.encode()

    def write(path: Path) -> None:
        with path.open("wb") as file:
            file.write(before.encode())
            block = one * max(1, MIB // len(one))
            for _ in range(max(1, size // len(block))):
                file.write(block)
            file.write(after.encode())

    return write


def sparse(size: int, content: bytes = b"") -> Callable[[Path], object]:
    """Return what writes a file that takes no room on the disk."""

    def write(path: Path) -> None:
        path.write_bytes(content)
        os.truncate(path, size)

    return write


def link(to: str) -> Callable[[Path], object]:
    """Return what makes a link."""
    return lambda path: path.symlink_to(to)


PLACES = {
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "endless": link("/dev/zero"),
    "random": link("/dev/urandom"),
    "itself": lambda path: path.symlink_to(path.name),
    "nowhere": link("/nowhere/at/all"),
    "a terabyte": sparse(1 << 40),
    "memory": link("/proc/self/mem"),
}
"""What is no file, or none that ends."""
CONTENTS: dict[str, str | bytes] = {
    "nothing": b"",
    "a mark alone": b"\xef\xbb\xbf",
    "gzip": gzip.compress(CSV.encode()),
    "zip": b"PK\x03\x04" + bytes(300),
    "parquet": b"PAR1" + bytes(300) + b"PAR1",
    "utf-16": CSV.encode("utf-16"),
    "utf-16 without a mark": CSV.encode("utf-16-le"),
    "utf-16 big": b"\xfe\xff" + CSV.encode("utf-16-be"),
    "utf-32": CSV.encode("utf-32"),
    "surrogates": CSV.replace("exam", "e\ud800xam").encode("utf-8", "surrogatepass"),
    "latin": CSV.replace("exam", "\xe9preuve").encode("latin-1"),
    "noise": random.Random(1).randbytes(100_000),
}
"""What another kind of file holds, and what is no text."""


def _tables(delimiter: str = ",") -> Iterator[tuple[str, Bomb]]:
    head = ",".join(ROW)
    for name, content in CONTENTS.items():
        yield name, Bomb(text(content))
    yield "two marks", Bomb(text(b"\xef\xbb\xbf\xef\xbb\xbf" + CSV.encode()))
    yield "carriage returns", Bomb(text(CSV.replace("\n", "\r")))
    yield "null bytes", Bomb(text(CSV.replace("exam", "ex\0am").replace("s1", "s\x001")))
    yield "an open quote", Bomb(text(CSV + '"I cannot'))
    yield "quotes", Bomb(big('"', 4 * MIB, CSV))
    for column in ("reply", "value", "label", "subject", "id", "user"):
        yield (
            f"two of {column}",
            Bomb(text(_csv([ROW, OTHER], [(column, "x")])), rf"{column}.*twice|several.*{column}|two.*{column}"),
        )
    yield (
        "a long cell",
        Bomb(
            big("a", 20 * MIB, f"{CSV}1,", CSV.split("\n")[1][CSV.split("\n")[1].index(",", 2) :] + "\n"), "characters"
        ),
    )
    yield (
        "many columns",
        Bomb(
            lambda p: p.write_text(
                CSV.split("\n")[0]
                + "".join(f",c{i}" for i in range(300_000))
                + "\n"
                + CSV.split("\n")[1]
                + "," * 300_000
                + "\n"
            ),
            "columns",
        ),
    )
    yield "columns without names", Bomb(text(head + "," * 300_000 + "\n" + CSV.split("\n")[1] + "," * 300_000 + "\n"))
    yield "commas", Bomb(big(",", 30 * MIB, CSV))
    yield "quoted line ends", Bomb(big('"\n",', 30 * MIB, CSV))
    yield "huge numbers", Bomb(text(CSV.replace(",4,", f",{'9' * 5000},").replace(",2,", ",1e999,")))
    yield "many rows", Bomb(big("1\n", 14 * MIB, "id\n"), "rows")
    yield "empty lines", Bomb(big("\n", 20 * MIB, CSV))
    yield "zeros", Bomb(sparse(100 * MIB, CSV.encode()))


def _json_values() -> dict[str, str]:
    """Return values, as JSON, that no table should hold."""
    return {
        "deep list": "[" * 50_000 + "]" * 50_000,
        "rather deep": "[" * 500 + "]" * 500,
        "deep object": '{"a":' * 50_000 + "1" + "}" * 50_000,
        "huge whole number": "9" * 5_000,
        "large whole number": str(10**40),
        "one over": str(2**63),
        "huge fraction": "1e999",
        "huge negative": "-1e999",
        "long fraction": "0." + "3" * 100_000,
        "half a character": '"so \\ud83d tired"',
        "null character": '"so \\u0000 tired"',
        "nan": "NaN",
        "infinity": "-Infinity",
        "two of a key": '{"a": 1, "a": 2}',
    }


def _lines() -> Iterator[tuple[str, Bomb]]:
    lines = [json.dumps(ROW), json.dumps(OTHER)]
    for name, content in CONTENTS.items():
        yield name, Bomb(text(content))
    for name, value in _json_values().items():
        for column in ("value", "reply", "label", "id", "messages", "subject", "extra"):
            row = json.dumps({**ROW, column: "@"}).replace('"@"', value)
            yield f"{name} as {column}", Bomb(text("\n".join([row, lines[1], ""])))
    for column in ("value", "reply", "label", "subject"):
        twice = lines[0][:-1] + f', "{column}": "x"}}'
        yield f"two of {column}", Bomb(text("\n".join([twice, lines[1], ""])), rf"{column}.*twice")
        yield (
            f"two of {column}, escaped",
            Bomb(
                text("\n".join([lines[0][:-1] + f', "\\u{ord(column[0]):04x}{column[1:]}": "x"}}', lines[1], ""])),
                rf"{column}.*twice",
            ),
        )
    yield "half a key", Bomb(text(lines[0][:-1] + ', "\\udc00": 1}\n'))
    yield "null in a key", Bomb(text(lines[0][:-1] + ', "\\u0000": 1}\n'))
    yield "deep messages", Bomb(text(json.dumps({**ROW, "messages": "[" * 90_000}) + "\n"))
    yield "a mark within", Bomb(text(f"{lines[0]}\n\ufeff{lines[1]}\n"))
    yield "a huge run", Bomb(text(lines[0][:-1] + ', "run": 1e300}\n'))
    yield "a long line", Bomb(big("a", 20 * MIB, lines[0][:-1] + ', "extra": "', '"}\n'))
    yield "lists", Bomb(big("[],", 60 * MIB, lines[0][:-1] + ', "extra": [', "[]]}\n"))
    yield (
        "many keys",
        Bomb(text(lines[0][:-1] + "".join(f', "k{i}": 1' for i in range(100_000)) + "}\n"), "columns|keys"),
    )
    yield (
        "new keys in each line",
        Bomb(lambda p: p.write_text("".join(lines[0][:-1] + f', "k{i}": 1, "l{i}": 1}}\n' for i in range(20_000)))),
    )
    yield "many rows", Bomb(big("{}\n", 21 * MIB))
    yield "many small rows", Bomb(big('{"id":1}\n', 54 * MIB), "rows")
    yield "zeros", Bomb(sparse(100 * MIB, f"{lines[0]}\n".encode()))


def _documents() -> Iterator[tuple[str, Bomb]]:
    rows = json.dumps([ROW, OTHER])
    for name, content in CONTENTS.items():
        yield name, Bomb(text(content))
    for name, value in _json_values().items():
        yield f"{name} alone", Bomb(text(value))
        for column in ("value", "reply", "inputs", "id"):
            row = json.dumps([{**ROW, "inputs": ["a"], column: "@"}, OTHER]).replace('"@"', value)
            yield f"{name} as {column}", Bomb(text(row))
    yield "two of reply", Bomb(text(rows.replace('"subject"', '"reply": "x", "subject"', 1)), "reply.*twice")
    yield "lists", Bomb(big("[],", 90 * MIB, "[", "[]]"))
    yield "objects", Bomb(big("{},", 90 * MIB, "[", "{}]"))
    yield "a long text", Bomb(big("a", 30 * MIB, '[{"reply": "', '"}]'))
    yield "unclosed", Bomb(big('{"a":', 4 * MIB))
    yield "zeros", Bomb(sparse(100 * MIB, rows.encode()))


def _written(frame: Callable[[], Any], **options: Any) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        import pyarrow.parquet as pq

        pq.write_table(frame(), path, **options)

    return write


def _arrow(columns: dict[str, Any] | None = None, repeat: int = 1) -> Any:

    table = pa.table({name: [ROW[name], OTHER[name]] for name in ROW})
    table = pa.concat_tables([table] * repeat).combine_chunks() if repeat > 1 else table
    for name, values in (columns or {}).items():
        place = table.schema.get_field_index(name)
        table = table.append_column(name, values) if place < 0 else table.set_column(place, name, values)
    return table


def _repeated(rows: int, length: int) -> Any:
    import numpy as np

    def column(word: str) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), [word])

    return pa.table({name: column("a" * length if name == "reply" else cell) for name, cell in ROW.items()})


def _constant(rows: int, groups: int) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        import numpy as np
        import pyarrow.parquet as pq

        table = pa.table({"value": np.zeros(rows, np.int64), "none": pa.nulls(rows)})
        with pq.ParquetWriter(path, table.schema) as writer:
            for _ in range(groups):
                writer.write_table(table)

    return write


def _nested(depth: int) -> Any:

    kind, cell = pa.int64(), 1
    for _ in range(depth):
        kind, cell = pa.list_(kind), [cell]  # type: ignore[assignment]
    return _arrow({"extra": pa.array([cell, cell], kind)})


class _Arrow:
    """pyarrow, imported when a file is made, not when tests are collected."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("pyarrow"), name)


pa = _Arrow()


def _parquet() -> Iterator[tuple[str, Bomb]]:
    for name in ("nothing", "gzip", "zip", "parquet", "noise", "utf-16"):
        yield name, Bomb(text(CONTENTS[name]))
    yield "two rows", Bomb(_written(_arrow))
    yield (
        "long cells again and again",
        Bomb(_written(lambda: _repeated(200_000, 20_000), compression="zstd"), "MiB|GiB|memory"),
    )
    yield (
        "one long cell",
        Bomb(_written(lambda: _arrow({"reply": pa.array(["a" * 20 * MIB, "b"])}), compression="zstd"), "characters"),
    )
    yield "many rows", Bomb(_constant(3_000_000, 40), "rows")
    yield "many columns", Bomb(_written(lambda: _arrow({f"c{i}": pa.array([i, i]) for i in range(20_000)})), "columns")
    for column in ("value", "reply", "label", "subject"):
        yield (
            f"two of {column}",
            Bomb(
                _written(partial(_twice, column)),
                f"{column}.*twice",
            ),
        )
    yield "nested", Bomb(_written(lambda: _nested(300)))
    yield "long list", Bomb(_written(lambda: _arrow({"extra": pa.array([[0] * 30_000_000, []])})))
    yield (
        "far dates",
        Bomb(_written(lambda: _arrow({"extra": pa.array([2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32())}))),
    )
    yield "far times", Bomb(_written(lambda: _arrow({"reply": pa.array([2**62, -(2**62)], pa.timestamp("ms"))})))
    yield "far lengths", Bomb(_written(lambda: _arrow({"value": pa.array([2**62, -(2**62)], pa.duration("s"))})))
    yield (
        "large numbers",
        Bomb(
            _written(
                lambda: _arrow(
                    {"value": pa.array([2**64 - 1, 1], pa.uint64()), "label": pa.array([2**64 - 1, 1], pa.uint64())}
                )
            )
        ),
    )
    yield (
        "decimals",
        Bomb(
            _written(
                lambda: _arrow(
                    {
                        "value": pa.array([10**70, 1], pa.decimal256(76, 0)),
                        "label": pa.array([10**37, 1], pa.decimal128(38, 0)),
                    }
                )
            )
        ),
    )
    yield (
        "bytes",
        Bomb(
            _written(lambda: _arrow({"reply": pa.array([b"\xff\x00", b"a"]), "id": pa.array([b"\xed\xa0\x80", b"a"])}))
        ),
    )
    yield (
        "null characters",
        Bomb(_written(lambda: _arrow({"reply": pa.array(["a\0b", "c"]), "subject": pa.array(["a\0", "b"])}))),
    )
    yield (
        "prefixes",
        Bomb(
            _written(
                lambda: _arrow({"reply": pa.array(["a" * 100_000] * 20_000)}, 10_000),
                use_dictionary=False,
                column_encoding={"reply": "DELTA_BYTE_ARRAY"},
            ),
            "MiB|GiB|memory",
        ),
    )
    yield "cut off", Bomb(_spoiled(lambda content: content[:-9]))
    yield (
        "a footer that is too long",
        Bomb(
            _spoiled(lambda content: content[:-8] + struct.pack("<I", 2**32 - 1) + b"PAR1"),
        ),
    )
    for seed in range(30):
        yield (
            f"changed {seed}",
            Bomb(_spoiled(partial(changed, seed=seed))),
        )


def _twice(column: str) -> Any:
    return pa.Table.from_arrays([*_arrow().columns, pa.array([9, 9])], [*ROW, column])


def _spoiled(how: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    """Return what writes a good file, and then something else in its place."""

    def write(path: Path) -> None:
        _written(_arrow)(path)
        path.write_bytes(how(path.read_bytes()))

    return write


def changed(content: bytes, seed: int) -> bytes:
    """Change some bytes, most often near the end, where footers are."""
    chance = random.Random(seed)
    found = bytearray(content)
    for _ in range(chance.randrange(1, 6)):
        found[-1 - min(int(chance.expovariate(1 / 400)) + 8, len(found) - 1)] = chance.choice(
            (0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256))
        )
    return bytes(found)


def _workbook(rows: Sequence[Sequence[str]], **parts: str | bytes) -> bytes:
    """Write a workbook; parts replace those of the same name (`sheet`, `strings`, `book`)."""
    cells = "".join(
        f'<row r="{r}">'
        + "".join(f'<c r="{_letter(c)}{r}" t="inlineStr"><is><t>{cell}</t></is></c>' for c, cell in enumerate(row))
        + "</row>"
        for r, row in enumerate(rows, 1)
    )
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    content = {
        "[Content_Types].xml": f'{head}<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
        "_rels/.rels": f'{head}<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f'{head}<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="{office}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        "xl/workbook.xml": parts.get("book") or f'{head}<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/worksheets/sheet1.xml": parts.get("sheet") or f'{head}<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>',
        "xl/sharedStrings.xml": parts.get("strings") or f'{head}<sst xmlns="{main}"/>',
    }  # fmt: skip
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in content.items():
            archive.writestr(name, part)
    return file.getvalue()


def _letter(place: int) -> str:
    return (chr(64 + place // 26) if place >= 26 else "") + chr(65 + place % 26)


def _sheet(rows: str, dimension: str = "") -> bytes:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    said = f'<dimension ref="{dimension}"/>' if dimension else ""
    return _workbook(
        [], sheet=f'<?xml version="1.0"?><worksheet xmlns="{main}">{said}<sheetData>{rows}</sheetData></worksheet>'
    )


def _shared(length: int, cells: int) -> bytes:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rows = "".join(f'<row r="{r}"><c r="A{r}" t="s"><v>0</v></c></row>' for r in range(1, cells + 1))
    return _workbook(
        [],
        sheet=f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>',
        strings=f'<sst xmlns="{main}" count="{cells}" uniqueCount="1"><si><t>{"a" * length}</t></si></sst>',
    )


def _workbooks() -> Iterator[tuple[str, Bomb]]:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rows = [[*ROW], [*ROW.values()], [*OTHER.values()]]
    for name in ("nothing", "gzip", "zip", "parquet", "noise", "utf-16"):
        yield name, Bomb(text(CONTENTS[name]))
    yield "a table", Bomb(text(_workbook(rows)))
    yield "an old or locked one", Bomb(text(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + random.Random(2).randbytes(5_000)))
    for column in ("reply", "value", "user", "id"):
        yield (
            f"two of {column}",
            Bomb(
                text(_workbook([[*ROW, column], [*ROW.values(), "x"], [*OTHER.values(), "y"]])),
                rf"{column}.*twice|several.*{column}|two.*{column}",
            ),
        )
    far = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    yield "a far cell", Bomb(lambda p: p.write_bytes(_sheet(far)), "memory|cells|rows|columns")
    yield (
        "a cell that is not there",
        Bomb(lambda p: p.write_bytes(_sheet('<row r="1"><c r="ZZZZZZZ99999999999"><v>1</v></c></row>'))),
    )
    yield (
        "a cell before the first",
        Bomb(lambda p: p.write_bytes(_sheet('<row r="0"><c r="A0"><v>1</v></c><c r="0"><v>1</v></c></row>'))),
    )
    yield (
        "a dimension that lies",
        Bomb(lambda p: p.write_bytes(_sheet('<row r="1"><c r="A1"><v>1</v></c></row>', "A1:XFD1048576"))),
    )
    yield "a text again and again", Bomb(lambda p: p.write_bytes(_shared(100_000, 100_000)), "MiB|GiB|memory")
    yield "a long text", Bomb(lambda p: p.write_bytes(_shared(20 * MIB, 1)))
    yield (
        "a count that lies",
        Bomb(
            lambda p: p.write_bytes(
                _workbook(rows, strings=f'<sst xmlns="{main}" count="99999999999" uniqueCount="99999999999"/>')
            )
        ),
    )
    yield (
        "entities",
        Bomb(
            lambda p: p.write_bytes(
                _workbook(
                    [],
                    sheet='<!DOCTYPE l [<!ENTITY a "lol">'
                    + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(10))
                    + f']><worksheet xmlns="{main}"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>&k;</t></is></c></row></sheetData></worksheet>',
                )
            )
        ),
    )
    yield "deep", Bomb(lambda p: p.write_bytes(_workbook([], sheet=f'<worksheet xmlns="{main}">' + "<a>" * 300_000)))
    yield (
        "zeros",
        Bomb(
            lambda p: p.write_bytes(
                _workbook([], sheet=f'<worksheet xmlns="{main}"><sheetData>'.encode() + bytes(900 * MIB))
            ),
            "unpacked|memory",
        ),
    )
    yield (
        "many columns",
        Bomb(
            lambda p: p.write_bytes(
                _sheet(
                    "".join(
                        f'<row r="{r}"><c r="A{r}"><v>1</v></c><c r="XFD{r}"><v>1</v></c></row>' for r in range(1, 3000)
                    )
                )
            ),
            "memory|cells",
        ),
    )
    yield (
        "sheets",
        Bomb(
            lambda p: p.write_bytes(
                _workbook(
                    rows,
                    book=f'<workbook xmlns="{main}" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>'
                    + "".join(f'<sheet name="S{i}" sheetId="{i}" r:id="rId1"/>' for i in range(1, 20_000))
                    + "</sheets></workbook>",
                )
            )
        ),
    )
    for seed in range(12):
        yield f"changed {seed}", Bomb(text(changed(_workbook(rows), seed)))


def _entry(name: str, content: bytes = b"[]", **facts: Any) -> tuple[zipfile.ZipInfo, bytes]:
    entry = zipfile.ZipInfo(name)
    entry.compress_type = facts.pop("kind", zipfile.ZIP_DEFLATED)
    for fact, value in facts.items():
        setattr(entry, fact, value)
    return entry, content


def _zip(*entries: tuple[zipfile.ZipInfo, bytes]) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(file, "w") as archive:  # two of a name
        for entry, content in entries:
            archive.writestr(entry, content)
    return file.getvalue()


def _endless(name: str, size: int, kind: int = zipfile.ZIP_DEFLATED, times: int = 1) -> Callable[[Path], object]:
    """Return what writes a zip with members of so many zeros."""

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", kind) as archive:
            for number in range(times):
                with archive.open(name.replace("0", str(number)), "w", force_zip64=True) as member:
                    member.write(b"[")
                    for _ in range(size // (8 * MIB)):
                        member.write(b" " * (8 * MIB))

    return write


MEMBERS = ("test.json", "a.csv", "sampled_dataset_0.json", "H1_labeled_0.json")


def _zips() -> Iterator[tuple[str, Bomb]]:
    for name in ("nothing", "gzip", "zip", "noise"):
        yield name, Bomb(text(CONTENTS[name]))
    good = _zip(
        *(
            _entry(
                name,
                CSV.encode()
                if name.endswith("csv")
                else b'[{"inputs": ["a"], "context": [], "response": "b", "label": "c"}]',
            )
            for name in MEMBERS
        )
    )
    yield "good", Bomb(text(good))
    yield (
        "outside",
        Bomb(
            text(
                _zip(
                    *(
                        _entry(where + name, b"[1]")
                        for name in MEMBERS
                        for where in ("/tmp/", "../../", "a/../../", "C:\\")
                    )
                )
            )
        ),
    )
    yield "a zip in a zip", Bomb(text(_zip(_entry("more.zip", good))))
    yield (
        "links",
        Bomb(
            text(_zip(*(_entry(name, b"/etc/passwd", external_attr=(stat.S_IFLNK | 0o777) << 16) for name in MEMBERS)))
        ),
    )
    yield "twice", Bomb(text(_zip(*(_entry(name, content) for name in MEMBERS for content in (b"[1]", b"[2]")))))
    yield "locked", Bomb(text(_locked(good)))
    yield "a member that lies", Bomb(text(good.replace(struct.pack("<I", len(CSV)), struct.pack("<I", 2**31 - 1))))
    yield (
        "a member that is longer",
        Bomb(
            text(
                _zip(_entry("test.json", b" " * MIB), _entry("a.csv", CSV.encode())).replace(
                    struct.pack("<I", MIB), struct.pack("<I", 10)
                )
            )
        ),
    )
    yield (
        "many members",
        Bomb(
            lambda p: p.write_bytes(_zip(*(_entry(f"{i}.json", b"", kind=zipfile.ZIP_STORED) for i in range(70_000))))
        ),
    )
    yield "overlapping", Bomb(text(_overlapping(good)))
    yield (
        "another kind",
        Bomb(
            text(
                _zip(*(_entry(name, bytes(MIB), kind=zipfile.ZIP_LZMA) for name in MEMBERS)).replace(
                    b"\x5d\x00\x00\x80\x00", b"\x5d\xff\xff\xff\xff"
                )
            )
        ),
    )
    yield "zeros", Bomb(_endless("test0.json", 1200 * MIB))
    yield "zeros in test", Bomb(_endless("test.json", 1200 * MIB))
    yield "zeros in many", Bomb(_endless("sampled_dataset_0.json", 160 * MIB, times=20))
    for seed in range(10):
        yield f"changed {seed}", Bomb(text(changed(good, seed)))


def _locked(content: bytes) -> bytes:
    """Say of every member that it is encrypted."""
    found = bytearray(content)
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = found.find(mark)
        while at >= 0:
            found[at + place] |= 1
            at = found.find(mark, at + 4)
    return bytes(found)


def _overlapping(content: bytes) -> bytes:
    """Let every member begin where the first does."""
    found = bytearray(content)
    at = found.find(b"PK\x01\x02")
    while at >= 0:
        found[at + 42 : at + 46] = bytes(4)
        at = found.find(b"PK\x01\x02", at + 4)
    return bytes(found)


TOML = 'id = "a"\nversion = "1"\nsource = "s"\n'


def _settings() -> Iterator[tuple[str, Bomb]]:
    for name, content in CONTENTS.items():
        yield name, Bomb(text(content))
    yield "deep list", Bomb(text(f"{TOML}a = {'[' * 50_000}{']' * 50_000}\n"))
    yield "deep table", Bomb(text(f"{TOML}a = {'{a=' * 20_000}1{'}' * 20_000}\n"))
    yield "deep name", Bomb(text(f"{TOML}{'a.' * 50_000}a = 1\n"))
    yield "deep heading", Bomb(text(f"{TOML}[{'a.' * 50_000}a]\n"))
    yield "huge whole number", Bomb(text(f"{TOML}a = {'9' * 5_000}\n"))
    yield "huge fraction", Bomb(text(f"{TOML}a = 1e999\n"))
    yield "two of a name", Bomb(text(f'{TOML}id = "b"\n'))
    yield "half a character", Bomb(text(f'{TOML}a = "\\ud800"\n'))
    yield "null bytes", Bomb(text(f"{TOML}a = '\0'\n"))
    yield "long", Bomb(big("# nothing\n", 60 * MIB, TOML))
    yield "names", Bomb(lambda p: p.write_text(TOML + "".join(f"[t{i}]\n" for i in range(200_000))))
    yield "zeros", Bomb(sparse(100 * MIB, TOML.encode()))


def _weights() -> Iterator[tuple[str, Bomb]]:
    yield "nothing", Bomb(text(b""))
    yield "a header that is too long", Bomb(text(struct.pack("<Q", 2**63) + b"{}"))
    yield "a deep header", Bomb(text(struct.pack("<Q", 100_000) + b'{"a":' * 20_000))
    yield (
        "a tensor that is not there",
        Bomb(text(_tensors({"intercept": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}))),
    )
    yield (
        "overflow",
        Bomb(text(_tensors({"intercept": {"dtype": "F32", "shape": [2**33, 2**33], "data_offsets": [0, 0]}}))),
    )
    yield (
        "empty and huge",
        Bomb(text(_tensors({"intercept": {"dtype": "F32", "shape": [0, 2**60], "data_offsets": [0, 0]}}))),
    )
    yield "a header alone", Bomb(text(_tensors({})))


def _tensors(header: dict[str, Any]) -> bytes:
    content = json.dumps(header).encode()
    return struct.pack("<Q", len(content)) + content


KINDS: dict[str, Callable[[], Iterator[tuple[str, Bomb]]]] = {
    "csv": _tables, "jsonl": _lines, "json": _documents, "parquet": _parquet, "xlsx": _workbooks, "zip": _zips,
    "toml": _settings, "safetensors": _weights,
}  # fmt: skip
FILES = {
    f"{name}.{kind}": bomb
    for kind, bombs in KINDS.items()
    for name, bomb in (*bombs(), *((name, Bomb(make, "_")) for name, make in PLACES.items()))
}
COSTLY = {
    "a terabyte.safetensors", "long cells again and again.parquet", "many rows.parquet", "many columns.parquet", "prefixes.parquet", "long list.parquet", "zeros.xlsx", "a text again and again.xlsx",
    "zeros.zip", "zeros in test.zip", "zeros in many.zip", "many members.zip", "sheets.xlsx", "objects.json", "lists.json", "many rows.csv", "many small rows.jsonl", "lists.jsonl", "many rows.jsonl",
}  # fmt: skip
