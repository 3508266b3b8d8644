"""No file that somebody hands in takes more than its share, is misread in silence, or ends in anything but one line."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, confined, folder
from tests.attacks.bombs import COSTLY, FILES
from tests.attacks.handed import READERS, Outcome, all_tasks, hand_in

if TYPE_CHECKING:
    from collections.abc import Iterable

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "files.md"
TELLING = {
    "two of value.csv", "many columns.csv", "a long cell.csv", "null bytes.csv", "empty lines.csv",
    "two of value, escaped.jsonl", "half a character as reply.jsonl", "one over as label.jsonl", "many keys.jsonl",
    "huge whole number as value.jsonl", "deep list alone.json", "two of reply.json", "two of value.parquet",
    "far dates.parquet", "large numbers.parquet", "far lengths.parquet", "a far cell.xlsx", "a count that lies.xlsx",
    "deep list.toml", "deep name.toml", "links.zip", "overflow.safetensors",
    "a pipe.csv", "endless.jsonl", "a folder.json", "a terabyte.csv", "a pipe.parquet", "endless.xlsx", "a pipe.toml",
}  # fmt: skip
"""Of each kind of fault one: what every push tries."""
USED = {"load psycrisis": {"user", "reply"}, "form": {"id"}}
"""Columns that readers take, where they say which; two of another name are none of their concern."""
ABSENT = {"columns", "manifest", "classifier's digests"}
"""Readers of files that need not be there."""
FOREIGN = {"load mentalbench", "load trustmh", "classifier's digests", "rate dialogues"}
"""Readers to which these tables are not their benchmark's, or hold no dialogues."""


def faults(outcomes: Iterable[Outcome]) -> list[str]:
    """Return what should not have come of handing files in."""
    return [f"{o.reader}, {o.file}: {o.how} {o.said[:200]}" for o in outcomes if not _well(o)]


def _well(o: Outcome) -> bool:
    if o.how not in {"read", "refused"} or len(o.said) > 2_000:
        return False
    wanted = FILES[o.file].refused
    if wanted == "_":
        return o.how == "refused" or o.reader in ABSENT
    column = re.match(r"two of (\w+)", o.file)
    if (
        column is not None and o.reader == "audit" and o.file.endswith(("csv", "xlsx"))
    ):  # what it says of columns is a finding
        return f"the column '{column[1]}' occurs twice" in o.said or (o.how == "refused" and "twice" in o.said)
    unused = column is not None and column[1] not in USED.get(o.reader, {column[1]})
    if not wanted or unused or o.reader in FOREIGN:
        return True
    return o.how == "refused" and re.search(wanted, o.said) is not None


@pytest.mark.long
def test_files_that_are_no_files_or_never_end_or_hold_too_much_end_in_one_line(tmp_path: Path) -> None:
    assert FILES.keys() >= TELLING
    assert not faults(hand_in(all_tasks(tmp_path, sorted(TELLING), FILES)))


@pytest.mark.long
@pytest.mark.parametrize("kind", READERS)
def test_every_bomb_for_every_reader(tmp_path: Path, kind: str) -> None:
    names = [name for name in FILES if name.endswith(f".{kind}")]
    assert not faults(hand_in(all_tasks(tmp_path, names, FILES)))


def test_the_battery_is_as_large_as_it_says() -> None:
    assert len(FILES) > 400
    assert sum(len(READERS[name.rpartition(".")[2]]) for name in FILES) > 2_000
    assert FILES.keys() >= COSTLY
    assert not TELLING & COSTLY


def test_a_file_that_has_more_than_its_size_says_is_cut_off_at_the_bound() -> None:
    grows = Path("/proc/self/maps")  # its size is said to be 0
    assert grows.stat().st_size == 0
    assert bounds.content(grows)
    with pytest.raises(OSError, match="grows beyond") as caught:
        bounds.content(grows, 100)
    assert caught.value.filename == str(grows)


def test_what_is_honest_comes_through_the_other_process_as_it_is(tmp_path: Path) -> None:
    frame = pl.DataFrame({
        "text": ["a", None, "你好"], "n": [1, None, -(2**63)], "x": [0.5, float("nan"), None], "yes": [True, None, False],
        "list": [["a", "b"], [], None], "turns": [[{"role": "user", "content": "x"}], None, []],
        "day": pl.Series(["2024-02-29", None, "0001-01-01"]).str.to_date(), "kind": pl.Series(["u", "v", "u"], dtype=pl.Categorical),
        "small": pl.Series([1, 2, None], dtype=pl.UInt8), "none": [None, None, None],
    })  # fmt: skip
    path = tmp_path / "a.parquet"
    frame.write_parquet(path)
    assert confined.parquet(path).equals(frame)
    assert confined.parquet(path.read_bytes(), "a").equals(frame)


def test_the_other_process_knows_no_keys_and_is_begun_again_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    confined._end()
    path = tmp_path / "a.parquet"
    pl.DataFrame({"a": [1]}).write_parquet(path)
    assert confined.parquet(path)["a"].to_list() == [1]
    assert confined._reader is not None
    pid = confined._reader._process.pid
    assert b"canary" not in Path(f"/proc/{pid}/environ").read_bytes()
    os.kill(pid, signal.SIGKILL)
    confined._reader._process.wait()
    assert confined.parquet(path)["a"].to_list() == [1]


def test_a_zip_is_unpacked_up_to_its_bound_however_often_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import zipfile

    monkeypatch.setattr(bounds, "FILE", 1000)
    monkeypatch.setattr(bounds, "ARCHIVE", 1500)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("one.csv", "two.csv"):
            archive.writestr(name, "a" * 900)
        archive.writestr("three.csv", "a" * 1001)
    one, two, three = folder.Archive(tmp_path / "a.zip").entries
    opened = folder.Archive(tmp_path / "a.zip")
    assert [len(opened.read(one)) for _ in range(3)] == [900] * 3
    with pytest.raises(OSError, match=r"two\.csv in a\.zip is not read, since its files have more than .* together"):
        opened.read(two)
    with pytest.raises(OSError, match=r"three\.csv in a\.zip"):
        opened.read(three)


def test_a_folder_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "FILES", 3)
    for name in "abcd":
        (tmp_path / name).write_text("")
    with pytest.raises(DataError, match="more than 3 files lie below it"):
        folder.below(tmp_path)


@pytest.mark.parametrize("name", [n for n, v in vars(bounds).items() if re.fullmatch("[A-Z]+", n) and v != bounds.MIB])
def test_documents_say_the_figures_that_hold(name: str) -> None:
    figure = getattr(bounds, name)
    row = next((line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if f"`{name}`" in line), "")
    sizes = {f"{figure:,}", f"{figure // bounds.MIB:,} MiB", f"{figure // 2**30:,} GiB", f"{figure:g}"}
    assert any(re.search(rf"(?<![\d,]){re.escape(size)}(?![\d,])", row) for size in sizes), (
        row or f"{name} is not there"
    )
