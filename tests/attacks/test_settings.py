"""What a command or a project's settings can ask for: nothing spends without a limit, opens what is another's, or ends in a traceback."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest

from mindgauge.analysis.reliability import ratings
from mindgauge.annotation import setup
from mindgauge.annotation.database import Database
from mindgauge.records.errors import UsageError
from mindgauge.records.files import private, texts
from mindgauge.records.request import Price
from tests import in_process

if TYPE_CHECKING:
    from pathlib import Path

RUN = ["run", "help_or_harm/crisis_type", "--model", "http://127.0.0.1:9/v1#m", "--max-cost", "0.01"]
NAN = float("nan")


@pytest.mark.parametrize(
    "price", [(NAN, 0.0), (0.0, NAN), (-1e-6, 0.0), (float("inf"), 1.0), (0.0, 0.0, NAN), (2000.0, 0.0)]
)
def test_a_price_is_an_amount(price: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="a price is from 0 to"):
        Price(*price)


@pytest.mark.parametrize(
    "option",
    [
        ["--price", "nan:nan"],
        ["--price=-1:-1"],
        ["--price", "inf:1"],
        ["--price", "1:1:-9999"],
        ["--price", "1e308:1"],
        ["--temperature", "nan"],
        ["--temperature=-5"],
        ["--judge-temperature", "inf"],
        ["--max-tokens", "100000000000000000000000"],
        ["--concurrency", "1000000000"],
        ["--runs", "99999999999"],
        ["--judge-runs", "99999999999"],
    ],
)
def test_what_no_command_can_mean_is_refused_in_a_line(option: list[str], tmp_path: Path) -> None:
    done = in_process.mindgauge(*RUN, *option, folder=tmp_path)
    assert done.returncode == 2, done
    assert done.stderr.startswith("mindgauge: ")
    assert done.stderr.count("\n") == 1
    assert option[0].partition("=")[0] in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "postgresql://u:p@h:abc/x",
        "postgresql://u:p@[::1/x",
        "postgresql://u:p@h/x?channel=1",
        "mysql://h/x",
        "x",
    ],
)
def test_an_address_of_no_database_is_a_line_without_the_password(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        Database(url)
    assert ":p@" not in str(refused.value)


@pytest.mark.parametrize("mode", ["disable", "prefer", "require", "verify-ca", "verify-full"])
def test_an_address_as_clouds_give_it_is_taken(mode: str) -> None:
    database = Database(f"postgresql://u:p@127.0.0.1:1/x?sslmode={mode}")
    assert not database.sqlite
    assert "sslmode" not in str(database._readers.url)


@pytest.mark.parametrize("named", ["sqlite:////{mine}", "sqlite:///../mine/annotation.sqlite", "sqlite:///a/b.sqlite"])
def test_a_project_from_elsewhere_opens_no_other_file(tmp_path: Path, named: str) -> None:
    mine, stranger = tmp_path / "mine", tmp_path / "stranger"
    for folder in (mine, stranger):
        private.folder(folder)
    (mine / "annotation.sqlite").write_bytes(b"")
    place = str(mine / "annotation.sqlite").lstrip("/")
    (stranger / setup.FILE).write_text(f'database = "{named.format(mine=place)}"\n', encoding="utf-8")
    with pytest.raises(UsageError, match="lie in its own folder"):
        setup.read(stranger)


@pytest.mark.parametrize("cell", ["=1+1", "\n=1+1", "＝1+1", "＋1", "－1", "＠SUM", "\t=1", "@x"])
def test_no_cell_is_a_formula(cell: str) -> None:
    [written] = texts.neutralised(pl.DataFrame({"text": [cell]}))["text"]
    assert written == f"'{cell}"
    assert texts.restored(written) == cell


def test_a_rater_whose_name_is_spelled_in_two_ways_is_one(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    names = ["jos\u00e9", "jose\u0301", "jos\u200b\u00e9 "]
    rows = [f"s{number},tone,{name},3" for number, name in enumerate(names)]
    path.write_text("\n".join(["subject,criterion,rater,value", *rows]) + "\n", encoding="utf-8")
    assert set(ratings.read([path]).frame["rater"]) == {"jos\u00e9"}


def test_a_closed_output_is_no_traceback() -> None:
    code = "import os, sys; os.close(1); sys.stdout = None; sys.argv = ['mindgauge', 'list']; from mindgauge.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
