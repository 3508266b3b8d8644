"""One reader, one mapping: whatever file the same rows stand in, every verb that reads it reads the same."""

from __future__ import annotations

import itertools
import json
import warnings
import zipfile
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from xlsxwriter import Workbook  # type: ignore[import-untyped]

from mindgauge import benchmarks
from mindgauge.records.errors import DataError, HiddenContentWarning, UsageError
from mindgauge.records.files import mapping
from tests.thinned import sampled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RESPONSE, PSYCRISIS = benchmarks.find_one("help_or_harm/response"), benchmarks.find_one("psycrisis")
CATEGORY = next(iter(RESPONSE.rubric.criteria[0].protocols))
MESSAGES = [{"role": "user", "content": "I feel alone."}, {"role": "assistant", "content": "Since when?"}]
SAID = [
    ('I cannot sleep since "the exam"; not, at all', "That sounds exhausting.\nWhat helps you a little?", "4"),
    ("我睡不着 | 已经三天了", "听起来很辛苦。", "2"),
    ("Mich trifft alles\twie Blei", "Das klingt schwer; magst du erzählen?", "5"),
]
ROWS: list[dict[str, str]] = [
    {
        "id": f"q{number}", "user": user, "reply": reply, "category": CATEGORY, "model": "m", "label": "warm" if value != "2" else "cold",
        "messages": json.dumps([*MESSAGES, {"role": "user", "content": user}, {"role": "assistant", "content": reply}], ensure_ascii=False),
        "subject": f"q{number}", "criterion": "safety", "rater": "H1", "value": value, "rater_kind": "person",
    }
    for number, (user, reply, value) in enumerate(SAID)
]  # fmt: skip
HEADERS = list(ROWS[0])


# -- the same rows, as people save them ---------------------------------------------------------------------------------


def _csv(separator: str, encoding: str = "utf-8", above: int = 0, end: str = "\r\n") -> Callable[[Path], None]:
    def write(path: Path) -> None:
        lines = [HEADERS, *([row[name] for name in HEADERS] for row in ROWS)]
        text = "".join(separator.join('"' + cell.replace('"', '""') + '"' for cell in line) + end for line in lines)
        path.write_bytes(("A title above\r\n" * above + text).encode(encoding))

    return write


def _bare(path: Path) -> None:
    """Write cells without quotes around them, whatever quotes stand in them, where no line ends in them."""
    lines = [HEADERS, *([row[name] for name in HEADERS] for row in ROWS)]
    cells = [['"' + cell.replace('"', '""') + '"' if "\n" in cell else cell for cell in line] for line in lines]
    path.write_text("".join("^".join(line) + "\n" for line in cells), encoding="utf-8")


def _wrapped(path: Path) -> None:
    path.write_text(json.dumps({"data": ROWS, "meta": {"count": 3}, "errors": []}), encoding="utf-8")


def _json(path: Path) -> None:
    path.write_text(json.dumps(ROWS, ensure_ascii=False, indent=1), encoding="utf-8")


def _lines(path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")


def _wide_lines(path: Path) -> None:
    path.write_bytes("".join(json.dumps(row) + "\n" for row in ROWS).encode("utf-16"))


def _parquet(path: Path) -> None:
    pl.DataFrame(ROWS).write_parquet(path)


def _workbook(*, above: int = 0, second: str = "") -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with Workbook(path) as book:
            if second:
                book.add_worksheet("Notes").write_column(0, 0, ["what", "is", "this"])
            page = book.add_worksheet(second or "Sheet1")
            for number in range(above):
                page.write(number, 0, "A title above")
            for number, cells in enumerate([HEADERS, *([row[name] for name in HEADERS] for row in ROWS)]):
                for place, cell in enumerate(cells):
                    page.write_string(number + above, place, cell)

    return write


def _hiding(path: Path) -> None:
    """Write a workbook with a column, two rows and two sheets more, all of them hidden."""
    names = [*HEADERS[:3], "secret", *HEADERS[3:]]
    shown = [HEADERS, *([row[name] for name in HEADERS] for row in ROWS)]
    lines = [[*cells[:3], ("secret", "9", "8", "7")[place], *cells[3:]] for place, cells in enumerate(shown)]
    hidden = [
        f"hidden {name}" if name in {"id", "user", "reply", "subject"} else cell
        for name, cell in zip(names, lines[1], strict=True)
    ]
    with Workbook(path) as book:
        page = book.add_worksheet("Labels")
        for place, cells in enumerate([*lines[:2], hidden, *lines[2:], hidden]):
            page.write_row(place, 0, cells)
        page.set_column(3, 3, 8, None, {"hidden": True})
        for place in (2, 5):
            page.set_row(place, None, None, {"hidden": True})
        for name in ("hidden", "very_hidden"):
            other = book.add_worksheet(name)
            for place, cells in enumerate([names, hidden]):
                other.write_row(place, 0, cells)
            other.hide() if name == "hidden" else other.very_hidden()


FORMS: dict[str, tuple[str, Callable[[Path], None], dict[str, str]]] = {
    "comma": ("t.csv", _csv(","), {}),
    "semicolon": ("t.csv", _csv(";"), {}),
    "tab": ("t.tsv", _csv("\t"), {}),
    "tab in .csv": ("t.csv", _csv("\t"), {}),
    "pipe": ("t.csv", _csv("|"), {}),
    "caret, named": ("t.csv", _csv("^"), {"separator": "^"}),
    "a separator of several bytes, named": ("t.csv", _csv("，"), {"separator": "，"}),
    "quotes within bare cells": ("t.csv", _bare, {"separator": "^"}),
    "lines that end with a carriage return": ("t.csv", _csv(";", end="\r"), {}),
    "UTF-8 with its mark": ("t.csv", _csv(";", "utf-8-sig"), {}),
    "UTF-16": ("t.csv", _csv("\t", "utf-16"), {}),
    "GB18030, named": ("t.csv", _csv(",", "gb18030"), {"encoding": "gb18030"}),
    "headers in row 3 of a CSV": ("t.csv", _csv(";", above=2), {"header": "3"}),
    "workbook": ("t.xlsx", _workbook(), {}),
    "workbook, sheet and headers in row 3": ("t.xlsx", _workbook(above=2, second="Labels"), {"sheet": "Labels", "header": "3"}),
    "workbook with hidden content": ("t.xlsx", _hiding, {}),
    "JSON": ("t.json", _json, {}),
    "JSON in an object": ("t.json", _wrapped, {}),
    "JSON lines": ("t.jsonl", _lines, {}),
    "JSON lines in UTF-16": ("t.jsonl", _wide_lines, {}),
    "Parquet": ("t.parquet", _parquet, {}),
}  # fmt: skip


def _plain(folder: Path, name: str, write: Callable[[Path], None]) -> Path:
    write(folder / name)
    return folder / name


def _member(folder: Path, name: str, write: Callable[[Path], None]) -> Path:
    path = _plain(folder, name, write)
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.write(path, f"tables/{name}")
        archive.writestr("readme.txt", "what this is\n")
        archive.writestr("other.csv", "a,b\n1,2\n")
        if (folder / mapping.FILE).exists():
            archive.write(folder / mapping.FILE, f"tables/{mapping.FILE}")
    path.unlink()
    return folder / "all.zip" / "tables" / name


def _behind_links(folder: Path, name: str, write: Callable[[Path], None]) -> Path:
    (folder / "there").mkdir()
    path = _plain(folder / "there", name, write)
    if (folder / mapping.FILE).exists():
        (folder / mapping.FILE).rename(folder / "there" / mapping.FILE)
    (folder / "linked").symlink_to(folder / "there", target_is_directory=True)
    (folder / "there" / f"again{path.suffix}").symlink_to(path)
    return folder / "linked" / f"again{path.suffix}"


def _only_one_in_a_linked_folder(folder: Path, name: str, write: Callable[[Path], None]) -> Path:
    (folder / "real").mkdir()
    _plain(folder / "real", name, write)
    if (folder / mapping.FILE).exists():
        (folder / mapping.FILE).rename(folder / "real" / mapping.FILE)
    (folder / "only").symlink_to(folder / "real", target_is_directory=True)
    return folder / "only"


def _only_one_in_a_zip(folder: Path, name: str, write: Callable[[Path], None]) -> Path:
    path = _plain(folder, name, write)
    with zipfile.ZipFile(folder / "one.zip", "w") as archive:
        archive.write(path, name)
        if (folder / mapping.FILE).exists():
            archive.write(folder / mapping.FILE, mapping.FILE)
    path.unlink()
    return folder / "one.zip"


PLACES = {
    "plain": _plain, "a member of a zip": _member, "behind links": _behind_links,
    "alone in a linked folder": _only_one_in_a_linked_folder, "alone in a zip": _only_one_in_a_zip,
}  # fmt: skip


# -- what every verb makes of them ----------------------------------------------------------------------------------------


def _rate(path: Path, said: dict[str, str]) -> object:
    from mindgauge.commands.rate import _replies

    taken = _replies(path, RESPONSE, said, None, None)
    return [(r.id, r.text, r.model) for r in taken.replies], [s.messages for s in taken.samples]


def _rate_dialogues(path: Path, said: dict[str, str]) -> object:
    from mindgauge.raters.window import Unit
    from mindgauge.runs import dialogue_files

    return [(reply.id, reply.text) for reply in dialogue_files.read(path, PSYCRISIS, said, tuple(Unit)).replies]


def _run_replay(path: Path, said: dict[str, str]) -> object:
    from mindgauge.models.replay import Replay

    assert said is not None
    return sorted(Replay(f"replay/{path}")._replies.items(), key=str)


def _run_data(path: Path, said: dict[str, str]) -> object:
    from mindgauge.runs.inputs import at_hand

    (samples,) = at_hand([PSYCRISIS], path, None, None, {"user": "user", "reply": "reply", **said}).samples
    return [(s.id, s.messages, {tag: v for tag, v in s.tags.items() if tag != "file"}) for s in samples]


def _run_beside(path: Path, said: dict[str, str]) -> object:
    assert said is not None
    return [(sample.id, sample.messages, sample.tags) for sample in PSYCRISIS.samples(path)]


def _reliability(path: Path, said: dict[str, str]) -> object:
    from mindgauge.analysis.reliability import ratings
    from mindgauge.records.ratings import RatingLayout

    frame = ratings.read([path], layout=RatingLayout(columns=said)).frame
    return frame.select(sorted(frame.columns)).rows()


def _panel(path: Path, said: dict[str, str]) -> object:
    from mindgauge.commands.judges.panel import judges_panel as panel

    with pytest.raises(UsageError) as caught:  # one person is no jury; it was read, or it would be a DataError
        panel(path, columns=said)
    return str(caught.value)


def _audit(path: Path, said: dict[str, str]) -> object:
    from mindgauge.commands.audit import NAMES, _materials
    from mindgauge.records.ratings import NOTHING_SAID

    ((_, material),) = [
        found
        for found in _materials([path], None, {}, mapping.read(said, NAMES), NOTHING_SAID)
        if found[1].ratings.height
    ]
    texts = sorted(set(material.texts.filter(pl.col("kind") != "verdict")["text"]))
    return [text for text in texts if text in {row["user"] for row in ROWS} | {row["reply"] for row in ROWS}], sorted(
        set(material.ratings["value"]) & {"4", "2", "5"}
    )


def _load(path: Path, said: dict[str, str]) -> object:
    from mindgauge.benchmarks.psycrisis.released import load_mapped

    known = {"user": "user", "reply": "reply", "label.H1.empathy": "value", "id": "id"}
    found = load_mapped(path, {**known, **said})
    return [reply.text for reply in found.replies], [rating.status for rating in found.ratings], found.samples


def _train(path: Path, said: dict[str, str]) -> object:
    from mindgauge.commands.train import Learning, gather

    said = {**said, "text": "user"}
    found = gather([path], Learning(columns=said))
    return [(sample.messages, sample.target) for sample in found.train]


def _annotate(path: Path, said: dict[str, str]) -> object:
    from mindgauge.commands.annotate.source import of_file

    return [(item.subject, item.messages, item.reply) for item in of_file(path, RESPONSE, said, "en").items]


def _import(path: Path, said: dict[str, str]) -> object:
    from mindgauge.annotation.exchange import Known, reading

    known = Known((), (), lambda item: None, said)  # type: ignore[arg-type, return-value]
    with pytest.raises(DataError, match=r"unknown subject 'q0'|unknown rater 'H1'") as caught:
        reading.read(path, known)
    return str(caught.value).partition("unknown")[2]


def _queue(path: Path, said: dict[str, str]) -> object:
    from mindgauge.annotation.items import read_queue

    assert said is not None
    return read_queue(path, {f"q{number}": f"s{number}" for number in range(3)})


def _judges(path: Path, said: dict[str, str]) -> object:
    from mindgauge.runs.labelled import read

    criterion = RESPONSE.rubric.criteria[0].name
    found = read(path, RESPONSE, {**said, f"label.H1.{criterion}": "value"}, ())
    return [(reply.id, reply.text) for reply in found.replies], [(r.value, r.status) for r in found.ratings]


VERBS: dict[str, Callable[[Path, dict[str, str]], Any]] = {
    "rate": _rate, "rate --dialogues": _rate_dialogues, "run, replay": _run_replay, "run --data": _run_data, "run": _run_beside, "reliability": _reliability,
    "judges panel": _panel, "audit": _audit, "load": _load, "train": _train, "annotate": _annotate, "annotate import": _import,
    "annotate queue": _queue, "judges compare": _judges,
}  # fmt: skip
BESIDE = {"run, replay", "run", "annotate queue"}
"""Verbs that no command line tells how to read a file; `columns.toml` beside it does."""


def _read(verb: str, form: str, folder: Path, place: str = "plain") -> object:
    name, write, said = FORMS[form]
    folder.mkdir(exist_ok=True)
    if verb in BESIDE:
        beside = {"user": "user", "reply": "reply", **said} if verb == "run" else said
        if beside:
            (folder / mapping.FILE).write_text("".join(f'{key} = "{value}"\n' for key, value in beside.items()))
    return VERBS[verb](PLACES[place](folder, name, write), {} if verb in BESIDE else said)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What each verb makes of the CSV file that all of them have always read."""
    folder = tmp_path_factory.mktemp("comma")
    return {verb: _read(verb, "comma", folder / f"{number}".replace(",", "")) for number, verb in enumerate(VERBS)}


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_reads_what_is_hidden_in_a_workbook(tmp_path: Path, verb: str, expected: dict[str, object]) -> None:
    """Rows, columns and sheets that nobody sees are left out wherever a workbook is read, and a warning or an account names them."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", HiddenContentWarning)
        assert _read(verb, "workbook with hidden content", tmp_path / "x") == expected[verb]
    assert said or verb in ACCOUNTS
    assert all("'Labels' 2 rows (3, 6), column D ('secret')" in str(warning.message) for warning in said)


ACCOUNTS = {"rate --dialogues", "reliability", "judges panel", "audit"}
"""Verbs that name what is left out in their account of a reading; see `test_hidden.py`."""


@pytest.mark.filterwarnings("ignore::mindgauge.records.errors.HiddenContentWarning")
@pytest.mark.parametrize(("verb", "form"), sampled(itertools.product(VERBS, FORMS), 3))
def test_every_verb_reads_every_form_alike(tmp_path: Path, verb: str, form: str, expected: dict[str, object]) -> None:
    assert expected[verb]
    assert _read(verb, form, tmp_path / "x") == expected[verb]


WHEREVER = ("semicolon", "workbook, sheet and headers in row 3", "JSON", "Parquet")


@pytest.mark.parametrize(
    ("verb", "place", "form"),
    sampled(itertools.product(VERBS, (place for place in PLACES if place != "plain"), WHEREVER), 3),
)
def test_every_verb_finds_it_wherever_it_lies(
    tmp_path: Path, verb: str, place: str, form: str, expected: dict[str, object]
) -> None:
    assert _read(verb, form, tmp_path / "x", place) == expected[verb]
