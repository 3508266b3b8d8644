from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow.dataset
import pytest
from polars.testing import assert_frame_equal

from mindgauge.commands.export import export
from mindgauge.records.errors import EndpointError, UsageError
from mindgauge.reports.export.address import destination
from tests.reports.export.conftest import LICENCE, write_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.records.errors import MindgaugeError

TABLES = {"samples", "replies", "ratings"}
MANIFEST, UNFINISHED = "checksums/sha256_manifest.json", "checksums/unfinished.json"
CLI = [sys.executable, "-W", "error", "-c", "from mindgauge.cli import main; main()"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run; nothing here changes it."""
    return write_run(tmp_path_factory.mktemp("kept") / "run")


def complaint(run: Path, out: str, kind: type[MindgaugeError]) -> str:
    """Export, and return the one line that refuses it."""
    with pytest.raises(kind) as caught:
        export(run, to="parquet", out=out)
    assert type(caught.value) is kind
    said = str(caught.value)
    assert said.count("\n") == 0 and "canary" not in said
    return said


# -- any address, with fsspec alone -------------------------------------------------------------------------------------


@pytest.fixture
def memory() -> Iterator[Any]:
    found = pytest.importorskip("fsspec", reason="addresses need fsspec").filesystem("memory")
    found.store.clear()
    yield found
    found.store.clear()


def test_an_address_gets_what_a_folder_gets(kept: Path, tmp_path: Path, memory: Any) -> None:
    for to in ("csv", "parquet"):
        here = export(kept, to=to, out=tmp_path / to)
        there = export(kept, to=to, out=f"memory://exports/{to}")
        assert there.files == here.files
        assert there.path == f"memory://exports/{to}"
        assert there.notes[0].endswith(
            f"what people and models said included, left this machine for memory://exports/{to}"
        )
        found = {path.removeprefix(f"/exports/{to}/"): memory.cat_file(path) for path in memory.find(f"/exports/{to}")}
        assert found == {file.file: (tmp_path / to / file.file).read_bytes() for file in here.files}


def test_only_an_untouched_export_is_replaced_there(kept: Path, memory: Any) -> None:
    export(kept, to="csv", out="memory://exports")
    export(kept, to="parquet", out="memory://exports/")
    assert set(memory.find("/exports")) == {f"/exports/{t}.parquet" for t in TABLES} | {f"/exports/{MANIFEST}"}
    whole = memory.cat_file("/exports/ratings.parquet")
    memory.pipe_file("/exports/ratings.parquet", whole[:-1] + b"?")
    with pytest.raises(UsageError, match=r"memory://exports: holds ratings\.parquet, which no export left"):
        export(kept, to="csv", out="memory://exports")
    assert memory.cat_file("/exports/ratings.parquet") == whole[:-1] + b"?"
    memory.pipe_file("/mine/thesis.txt", b"years of work")
    with pytest.raises(UsageError, match=r"holds thesis\.txt.*choose another --out"):
        export(kept, to="csv", out="memory://mine")
    with pytest.raises(UsageError, match="holds a file"):
        export(kept, to="csv", out="memory://mine/thesis.txt")


def test_what_is_neither_ours_nor_unfinished_is_kept(kept: Path, memory: Any) -> None:
    memory.pipe_file(f"/exports/{UNFINISHED}", json.dumps({"unfinished": ["checksums", "ratings"]}).encode())
    memory.pipe_file("/exports/ratings/part-00000.parquet", b"half")
    memory.pipe_file("/exports/thesis.txt", b"years of work")
    with pytest.raises(UsageError, match=r"holds thesis\.txt"):
        export(kept, to="parquet", out="memory://exports")
    memory.rm_file("/exports/thesis.txt")
    export(kept, to="parquet", out="memory://exports")
    assert set(memory.find("/exports")) == {f"/exports/{t}.parquet" for t in TABLES} | {f"/exports/{MANIFEST}"}


def test_bad_addresses_are_refused_in_one_line(kept: Path) -> None:
    pytest.importorskip("fsspec", reason="addresses need fsspec")
    assert "begin with nonsense://" in complaint(kept, "nonsense://bucket/x", UsageError)
    assert "needs a package that is not here" in complaint(kept, "sftp://me:canary-word@host/x", UsageError)
    with pytest.raises(UsageError, match="give an address as text"):
        destination(Path("s3://bucket/x"))
    for to in ("hub", "review"):
        with pytest.raises(UsageError, match=f"--to {to} writes to folders of this machine only"):
            export(kept, to=to, out="memory://x", licence=LICENCE)


def test_a_file_address_is_a_folder(kept: Path, tmp_path: Path) -> None:
    export(kept, to="csv", out=f"file://{tmp_path}/out")
    assert (tmp_path / "out/ratings.csv").is_file()


# -- an S3-compatible server ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Start the server, and have this process's environment name it."""
    for package in ("moto", "flask", "flask_cors", "s3fs", "boto3"):
        pytest.importorskip(package, reason="needs the extra `cloud` and moto's server")
    script = Path(__file__).with_name("object_store.py")
    working = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with working, pytest.MonkeyPatch.context() as patched:
        assert working.stdout is not None
        url = next(line for line in working.stdout if line.startswith("AT ")).split()[1]
        for name, value in {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "canary-id",
            "AWS_SECRET_ACCESS_KEY": "canary-secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_MAX_ATTEMPTS": "1",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }.items():
            patched.setenv(name, value)
        yield url


@pytest.fixture(scope="module")
def s3(endpoint: str) -> Any:
    """The server as a file system of our own, with an empty bucket."""
    found = pytest.importorskip("s3fs").S3FileSystem(use_listings_cache=False)
    found.mkdir("bucket")
    return found


def test_partitions_in_a_bucket_are_read_from_there(kept: Path, tmp_path: Path, s3: Any) -> None:
    out = "s3://bucket/runs/a b"
    written = export(kept, to="parquet", out=out, partition_by=("benchmark", "rater"), rows_per_file=10)
    assert written.path == out
    listed = json.loads(s3.cat_file(f"bucket/runs/a b/{MANIFEST}"))["files"]
    assert {path.removeprefix("bucket/runs/a b/") for path in s3.find("bucket/runs/a b")} == {*listed, MANIFEST}
    export(kept, to="parquet", out=tmp_path / "whole")
    whole = pl.read_parquet(tmp_path / "whole/ratings.parquet")
    found = pyarrow.dataset.dataset("bucket/runs/a b/ratings", filesystem=s3, partitioning="hive").to_table()
    order = ("rater", "criterion", "subject", "run")
    assert_frame_equal(pl.DataFrame(found).select(whole.columns).sort(order), whole.sort(order))
    again = export(kept, to="csv", out=out)
    assert {path.removeprefix("bucket/runs/a b/") for path in s3.find("bucket/runs/a b")} == {
        file.file for file in again.files
    }


@pytest.mark.long
def test_an_export_that_was_killed_is_marked_and_done_again(
    kept: Path, s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)  # read anew
    command = [*CLI, "export", str(kept), "--to", "parquet", "--rows-per-file", "1", "--out", "s3://bucket/killed"]
    working = subprocess.Popen(command)
    while not s3.exists("bucket/killed/samples/part-00001.parquet") and working.poll() is None:
        time.sleep(0.05)
    working.send_signal(signal.SIGKILL)
    assert working.wait() == -signal.SIGKILL
    assert s3.exists(f"bucket/killed/{UNFINISHED}")
    assert not s3.exists(f"bucket/killed/{MANIFEST}")
    assert len(list(tmp_path.glob("mindgauge-export-*"))) == 1
    done = export(kept, to="parquet", out="s3://bucket/killed")
    assert {file.file for file in done.files} == {"samples.parquet", "replies.parquet", "ratings.parquet", MANIFEST}
    assert {path.removeprefix("bucket/killed/") for path in s3.find("bucket/killed")} == {f.file for f in done.files}
    assert list(tmp_path.glob("mindgauge-export-*")) == []


def test_what_a_bucket_refuses_is_said_in_one_line(
    kept: Path, s3: Any, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3.mkdir("closed")
    rule = {"Effect": "Deny", "Principal": "*", "Action": ["s3:PutObject"], "Resource": "arn:aws:s3:::closed/*"}
    s3.call_s3("put_bucket_policy", Bucket="closed", Policy=json.dumps({"Version": "2012-10-17", "Statement": [rule]}))
    assert "bucket does not exist: make the bucket" in complaint(kept, "s3://nobucket/x", UsageError)
    assert "no permission" in complaint(kept, "s3://closed/x", UsageError)
    assert "name the bucket" in complaint(kept, "s3://", UsageError)
    about = urllib.request.Request(f"{endpoint}/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"})
    with urllib.request.urlopen(about):
        assert "no permission" in complaint(kept, "s3://bucket/x", UsageError)
    type(s3).clear_instance_cache()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert "cannot be reached" in complaint(kept, "s3://bucket/x", EndpointError)
    type(s3).clear_instance_cache()
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert "no credentials" in complaint(kept, "s3://bucket/x", UsageError)
    type(s3).clear_instance_cache()
