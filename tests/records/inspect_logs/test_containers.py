"""A log is read alike whatever it is packed in, sample by sample; what is none ends in one line."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.records import inspect_logs
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds
from mindgauge.records.inspect_logs import rows
from mindgauge.runs.reply_tables import read_dialogues, read_replies
from tests.records.inspect_logs import logs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SAMPLES = [logs.sample("a/b"), logs.sample(7), logs.sample("a/b", 2)]


def read(path: Path) -> tuple[list[Any], list[Any]]:
    log = inspect_logs.opened(path)
    assert log is not None
    return [row for _, row in rows.replies(log).records()], [tuple(row) for row in rows.ratings(log).rows]


@pytest.mark.parametrize("kind", logs.CONTAINERS)
def test_every_container_holds_the_same(tmp_path: Path, kind: str) -> None:
    expected = read(logs.deflated(tmp_path / "expected.eval", logs.members(SAMPLES)))
    assert len(expected[0]) == 3
    assert len(expected[1]) == 9
    assert read(logs.CONTAINERS[kind](tmp_path / "log.eval", logs.members(SAMPLES))) == expected


def test_large_members_in_several_frames_and_logs_within_zips(tmp_path: Path) -> None:
    expected = read(logs.deflated(tmp_path / "expected.eval", logs.members(SAMPLES)))
    log = logs.zstandard(tmp_path / "log.eval", logs.members(SAMPLES), frames=3)
    assert read(log) == expected
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.write(log, "log.eval")
    from mindgauge.records.files import tables

    table = tables.open_table(tmp_path / "logs.zip")
    assert [row for _, row in table.rows()] == expected[0]


def test_a_sample_that_was_logged_again_counts_once_as_it_is_last(tmp_path: Path) -> None:
    files = logs.members([logs.sample("a")])
    path = logs.deflated(tmp_path / "log.eval", files)
    again = {
        **logs.sample("a"),
        "messages": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Later."}],
    }
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("samples/a_epoch_1.json", json.dumps(again))
    assert [row["reply"] for row in read(path)[0]] == ["Later."]


def test_scores_that_are_no_numbers_stand_as_inspect_writes_them(tmp_path: Path) -> None:
    """`NaN` is no JSON, and half a character no text; both stand in logs."""
    files = logs.members([logs.sample("a", scores={"care": {"value": float("nan")}}, target="\ud800")])
    for log in (logs.deflated(tmp_path / "log.eval", files), logs.plain(tmp_path / "log.eval", files)):
        (rating,) = read(log)[1]
        assert (rating[3], rating[5]) == (None, "unparsable")


@pytest.mark.parametrize("place", ["target", "metadata", "scores", "messages"])
def test_half_a_character_anywhere_is_replaced(tmp_path: Path, place: str) -> None:
    half = "\ud800"
    more: dict[str, Any] = {
        "target": half, "metadata": {half: half}, "scores": {half: {"value": half, "explanation": half}},
        "messages": [{"role": half, "content": half}, {"role": "user", "content": half}, {"role": "assistant", "content": half}],
    }  # fmt: skip
    files = logs.members([logs.sample("a", **{place: more[place]})])
    for log in (logs.deflated(tmp_path / "log.eval", files), logs.plain(tmp_path / "log.eval", files)):
        replies, ratings = read(log)
        assert len(replies) == 1
        assert half not in str([replies, ratings])


def unfinished(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in files.items() if name not in {"header.json", "summaries.json"}}


def test_an_unfinished_log_gives_what_was_done_and_says_so(tmp_path: Path) -> None:
    path = logs.deflated(tmp_path / "log.eval", unfinished(logs.members(SAMPLES)))
    log = inspect_logs.opened(path)
    assert log is not None
    assert len(read(path)[0]) == 3
    assert log.remarks == [f"{path}: the evaluation did not finish (started), so its log holds the samples that were done by then"]  # fmt: skip
    assert rows.replies(log).remarks == log.remarks
    assert log.remarks[0] in rows.ratings(log).left_out
    from mindgauge.records import transcripts

    assert log.remarks[0] in transcripts.read(path).account.lines()


def cut(path: Path, share: float = 0.6) -> Path:
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    return path


def named(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


FILES = logs.members(SAMPLES)
BROKEN: dict[str, tuple[Callable[[Path], Path], str]] = {
    "cut off": (lambda p: cut(logs.deflated(p, FILES)), "or one that is cut off: .* the end of one is missing here; copy it again"),
    "cut off, zstd": (lambda p: cut(logs.zstandard(p, FILES)), "one that is cut off"),
    "cut off, json": (lambda p: cut(logs.plain(p, FILES)), "broken JSON"),
    "no zip": (lambda p: named(p, b"subject,value\n1,2\n"), "not an Inspect log, or one that is cut off"),
    "empty": (lambda p: named(p, b""), "not an Inspect log"),
    "another zip": (
        lambda p: logs.deflated(p, {"word/document.xml": b"<x/>"}),
        "a zip that holds no Inspect log: neither header.json nor _journal/start.json is in it, but word/document.xml",
    ),
    "newer": (
        lambda p: logs.deflated(p, logs.members(SAMPLES, logs.header(version=3))),
        "schema version 3, and version 2 is read",
    ),
    "newer and other": (
        lambda p: logs.deflated(p, {"header.json": b'{"version": 9, "evaluation": {}}'}),
        "schema version 9",
    ),
    "newer, json": (lambda p: logs.plain(p, logs.members(SAMPLES, logs.header(version=3))), "schema version 3"),
    "older": (lambda p: logs.deflated(p, logs.members(SAMPLES, logs.header(version=1))), "schema version 1, and version 2 is"),
    "in pieces": (
        lambda p: logs.deflated(p, {**FILES, "samples/7_epoch_1/sample.json": b"{}"}),
        "samples are in pieces, which are not read",
    ),
    "another header": (lambda p: logs.deflated(p, {"header.json": b"[]"}), "header.json is no header of an Inspect log"),
    "no samples": (
        lambda p: logs.deflated(p, logs.members([])),
        "no samples in this log of support",
    ),
    "no samples, json": (lambda p: logs.plain(p, logs.members([])), "no samples in this log of support"),
    "only the journal": (
        lambda p: logs.deflated(p, unfinished(logs.members([]))),
        r"no samples in this log of support, which did not finish \(started\)",
    ),
    "half a sample": (
        lambda p: logs.deflated(p, {**FILES, "samples/7_epoch_1.json": b'{"id": 7, "epo'}),
        "samples/7_epoch_1.json is no sample of an Inspect log: broken JSON",
    ),
    "another sample": (
        lambda p: logs.deflated(p, {**FILES, "samples/7_epoch_1.json": b'{"messages": "x"}'}),
        "samples/7_epoch_1.json is no sample of an Inspect log",
    ),
    "deep": (
        lambda p: logs.deflated(p, {**FILES, "samples/7_epoch_1.json": b'{"id": 7, "x": ' + b"[" * 100_000}),
        "is no sample of an Inspect log: broken JSON",
    ),
    "damaged": (lambda p: logs.zstandard(p, FILES, damage=True), "cannot be unpacked: it is damaged"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("use", ["replies", "dialogues", "ratings"])
def test_what_is_no_log_ends_in_one_line(tmp_path: Path, kind: str, use: str) -> None:
    from mindgauge import benchmarks
    from mindgauge.records import ratings, transcripts

    make, message = BROKEN[kind]
    path = make(tmp_path / "log.eval")
    read_it: dict[str, Callable[[], Any]] = {
        "replies": lambda: read_replies(path, benchmarks.find_one("mentalbench"), {}),
        "dialogues": lambda: transcripts.read(path),
        "ratings": lambda: ratings.read([path]),
    }
    with pytest.raises(DataError, match=message) as refusal:
        read_it[use]()
    assert str(path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_other_json_is_read_as_before(tmp_path: Path) -> None:
    """Only an object that names a version and an evaluation, and nothing that no log has, is a log."""
    others = [
        [{"version": 1, "eval": 2}],
        {"version": 2, "data": []},
        {"eval": {}, "status": "x", "rows": []},
        {"status": "ok"},
    ]
    for number, content in enumerate(others):
        path = named(tmp_path / f"{number}.json", json.dumps(content).encode())
        assert inspect_logs.opened(path) is None
    first = {"eval": {"task": "t", "model": "m"}, "version": 2, "samples": [logs.sample(1)], "status": "success"}
    assert len(read(named(tmp_path / "first.json", json.dumps(first).encode()))[0]) == 1


def test_a_log_in_json_of_any_layout_reads_as_the_same_in_a_zip(tmp_path: Path) -> None:
    hostile = 'a "quoted" \\ [text] {of} \\u0041, ends with \\'
    files = logs.members([logs.sample(n, store={"x": hostile, "y": [1.5e3, None, True, hostile]}) for n in range(3)])
    expected = read(logs.deflated(tmp_path / "expected.eval", files))
    path = logs.plain(tmp_path / "log.eval", files)
    assert read(path) == expected
    content = json.loads(path.read_bytes())
    for start, indent in ((b"", None), (b"\xef\xbb\xbf", 2)):
        path.write_bytes(start + json.dumps(content, indent=indent).encode())
        assert read(path) == expected


@pytest.mark.long
def test_a_huge_sample_is_read_without_what_nobody_needs(tmp_path: Path) -> None:
    """Events of 30 MB are passed over."""
    events = [{"event": "model", "output": "y" * 1_000_000} for _ in range(30)]
    files = logs.members([logs.sample("large", events=events), logs.sample("small")])
    code = (
        "import resource, sys\nfrom pathlib import Path\nfrom mindgauge.records import inspect_logs\n"
        "from mindgauge.records.inspect_logs import rows\n"
        "log = inspect_logs.opened(Path(sys.argv[1]))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(len(list(rows.replies(log).records())), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    for path in (logs.deflated(tmp_path / "log.eval", files), logs.plain(tmp_path / "log.eval", files)):
        output = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
        count, grown = map(int, output.stdout.split())
        assert count == 2
        assert grown < 3.2 * 30 + 20


def test_a_bomb_is_refused_by_what_it_unpacks_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "FILE", 1 << 16)
    files = {**logs.members(SAMPLES), "samples/7_epoch_1.json": b'{"id": 7, "events": "' + b"0" * (1 << 18) + b'"}'}
    for write in (logs.deflated, logs.zstandard, logs.plain):
        if write is logs.plain:
            files["samples/7_epoch_1.json"] = json.dumps(logs.sample(7, events="0" * (1 << 18))).encode()
        with pytest.raises(DataError, match=r"most .*are read"):
            read(write(tmp_path / f"{write.__name__}.eval", files))


def test_a_closed_question_about_replies_takes_logs_too(tmp_path: Path) -> None:
    from mindgauge import benchmarks

    failed = logs.sample("b", error={"message": "connection lost", "traceback": "", "traceback_ansi": ""})
    path = logs.deflated(tmp_path / "log.eval", logs.members([logs.sample("a", target=""), {**failed, "target": ""}]))
    read_samples, _, absent = read_dialogues(path, benchmarks.find_one("dialogue_safety"), {})
    assert [sample.messages[-1].content for sample in read_samples] == ["That is hard.\n\nWhat kept you awake?"]
    assert absent == 1
