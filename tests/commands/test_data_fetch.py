"""`data fetch`: released files from a server that cuts, lies, stalls or serves something else."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import json
import os
import shutil
import threading
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import mindgauge
from mindgauge.records.errors import EndpointError, UsageError
from tests.in_process import mindgauge as mindgauge_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.commands.data.fetch import FetchedData

TEXT = b"".join(b"%d\tA line of a released table.\n" % number for number in range(4000))
RELEASED = Path(os.environ.get("MINDGAUGE_DATA", "../shared/data"))
OWN = Path(__file__).parents[2] / "docs" / "examples" / "own_benchmark"


class Mirror(http.server.BaseHTTPRequestHandler):
    """A server of files that does to each what its name says; `requests` has the ranges that were asked for."""

    protocol_version = "HTTP/1.1"
    requests: ClassVar[list[tuple[str, str | None]]] = []
    secrets: ClassVar[list[str]] = []
    """Headers of requests in which passwords are sent."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        behaviour = self.path.rpartition("/")[2].partition(".")[0]
        asked = self.headers["Range"]
        first = not any(path == self.path for path, _ in self.requests)
        self.requests.append((self.path, asked))
        self.secrets.extend(
            {"authorization", "proxy-authorization", "cookie"} & {name.lower() for name in self.headers}
        )
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        getattr(self, f"serve_{behaviour}")(start, first)

    def answer(self, content: bytes, status: int = 200, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def part(self, start: int, end: int | None = None, length: int | None = None) -> None:
        """Answer as asked: the whole, or what follows after so many bytes."""
        content = TEXT[start:end]
        headers = {"Content_Range": f"bytes {start}-{len(TEXT) - 1}/{len(TEXT)}"} if start else {}
        self.answer(content, HTTPStatus.PARTIAL_CONTENT if start else HTTPStatus.OK, length, **headers)

    def serve_whole(self, start: int, _: bool) -> None:
        self.part(start)

    def serve_cuts(self, start: int, _: bool) -> None:
        self.part(start, start + 40_000, length=len(TEXT) - start)
        self.close_connection = True

    def serve_understates(self, start: int, _: bool) -> None:
        self.part(start, start + 50_000, length=min(50_000, len(TEXT) - start))

    def serve_overstates(self, start: int, _: bool) -> None:
        self.part(start, length=len(TEXT) + 1_000_000)
        self.close_connection = True

    def serve_ignores(self, _: int, first: bool) -> None:
        """Know nothing of ranges, and break off the first time."""
        self.answer(TEXT[:50_000] if first else TEXT, length=len(TEXT))
        self.close_connection = True

    def serve_misplaces(self, start: int, first: bool) -> None:
        """Break off, then send another part than was asked for."""
        if first:
            self.serve_cuts(start, first)
        elif start:
            self.answer(TEXT[7:], HTTPStatus.PARTIAL_CONTENT, Content_Range=f"bytes 7-{len(TEXT) - 1}/{len(TEXT)}")
        else:
            self.answer(TEXT)

    def serve_packed(self, _: int, __: bool) -> None:
        self.answer(gzip.compress(TEXT), Content_Encoding="gzip")

    def serve_moved(self, _: int, __: bool) -> None:
        self.answer(b"", HTTPStatus.FOUND, Location="/elsewhere/whole.tsv")

    def serve_busy(self, start: int, first: bool) -> None:
        if first:
            self.answer(b"later", HTTPStatus.TOO_MANY_REQUESTS, Retry_After="0")
        else:
            self.part(start)

    def serve_other(self, _: int, __: bool) -> None:
        self.answer(TEXT.upper())

    def serve_larger(self, _: int, __: bool) -> None:
        self.answer(b"x" * (3 * len(TEXT)))

    def serve_page(self, _: int, __: bool) -> None:
        self.answer(b"<!DOCTYPE html><title>Log in</title>".ljust(len(TEXT)))

    def serve_absent(self, _: int, __: bool) -> None:
        self.answer(b"", HTTPStatus.NOT_FOUND)

    def serve_closed(self, _: int, __: bool) -> None:
        self.answer(b"", HTTPStatus.FORBIDDEN)

    def serve_broken(self, _: int, __: bool) -> None:
        self.answer(b"", HTTPStatus.BAD_GATEWAY)

    def serve_circle(self, _: int, __: bool) -> None:
        self.answer(b"", HTTPStatus.FOUND, Location=self.path)

    def serve_empty(self, _: int, __: bool) -> None:
        self.answer(b"")


@pytest.fixture
def server() -> Iterator[str]:
    Mirror.requests.clear()
    Mirror.secrets.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mirror) as served:
        threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


def benchmark(folder: Path, url: str, *paths: str, **facts: Any) -> Path:
    """Make a benchmark of ours whose card names released files."""
    folder.mkdir()
    shutil.copy(OWN / "rubric.toml", folder)
    (folder / "samples.csv").write_text("user\nMy exams are over and I still cannot sleep.\n", encoding="utf-8")
    known = {"size": len(TEXT), "sha256": hashlib.sha256(TEXT).hexdigest(), **facts}
    settings = "".join(f"{name} = {json.dumps(value)}\n" for name, value in known.items())
    entries = "".join(f'\n[[data]]\npath = "{p}"\nholds = "lines"\nurl = "{url}/{p}"\n{settings}' for p in paths)
    (folder / "card.toml").write_text(
        f'title = "Ours"\nlicence = "Ours."\nobtain = "Ask us."\n{entries}', encoding="utf-8"
    )
    return folder


def fetched(folder: Path, url: str, *paths: str, **facts: Any) -> FetchedData:
    card = benchmark(folder / "ours", url, *paths, **facts)
    return mindgauge.papers_fetch(str(card), out=folder / "got", pause=0.0)


@pytest.mark.parametrize(
    "behaviour",
    ["whole", "cuts", "understates", "overstates", "ignores", "misplaces", "packed", "moved", "busy"],
)
def test_a_file_comes_whole_however_the_server_gives_it(server: str, tmp_path: Path, behaviour: str) -> None:
    result = fetched(tmp_path, server, f"{behaviour}.tsv")
    assert result, result.failed
    assert (tmp_path / "got" / f"{behaviour}.tsv").read_bytes() == TEXT
    assert [path.name for path in (tmp_path / "got").iterdir()] == [f"{behaviour}.tsv"]


def test_what_came_before_a_cut_is_not_asked_for_again(server: str, tmp_path: Path) -> None:
    assert fetched(tmp_path, server, "cuts.tsv")
    starts = [int((asked or "bytes=0-")[6:-1]) for _, asked in Mirror.requests]
    assert starts == sorted(starts)
    assert starts[1] > 0


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("other", "is another file than the released other.tsv"), ("larger", "is another file"), ("page", "it is a web page"),
        ("absent", "has no such file"), ("closed", "refuses it"), ("broken", "answers with status 502"),
        ("circle", "sends in a circle"), ("empty", "ends after 0 of"),
    ],
)  # fmt: skip
def test_nothing_else_ever_stands_in_its_place(server: str, tmp_path: Path, behaviour: str, reason: str) -> None:
    result = fetched(tmp_path, server, f"{behaviour}.tsv")
    assert not result
    assert reason in result.failed[0].reason
    assert not (tmp_path / "got" / f"{behaviour}.tsv").exists()
    assert len(Mirror.requests) < 20


def test_one_that_cannot_be_had_keeps_nobody_from_the_others(server: str, tmp_path: Path) -> None:
    result = fetched(tmp_path, server, "absent.tsv", "below/whole.tsv")
    assert [file.state for file in result.files] == ["failed", "fetched"]
    assert (tmp_path / "got" / "below" / "whole.tsv").read_bytes() == TEXT


def test_what_is_here_is_not_asked_for_and_what_is_not_ours_is_not_touched(server: str, tmp_path: Path) -> None:
    (tmp_path / "got").mkdir()
    (tmp_path / "got" / "whole.tsv").write_bytes(TEXT)
    (tmp_path / "got" / "moved.tsv").write_bytes(b"mine")
    result = fetched(tmp_path, server, "whole.tsv", "moved.tsv")
    assert [file.state for file in result.files] == ["here", "failed"]
    assert "move it away" in result.failed[0].reason
    assert (tmp_path / "got" / "moved.tsv").read_bytes() == b"mine"
    assert not Mirror.requests


@pytest.mark.parametrize("stale", [b"of another file", b"x" * len(TEXT), b"x" * (2 * len(TEXT))])
def test_a_part_of_another_file_is_dropped(server: str, tmp_path: Path, stale: bytes) -> None:
    (tmp_path / "got").mkdir()
    (tmp_path / "got" / "whole.tsv.part").write_bytes(stale)
    assert fetched(tmp_path, server, "whole.tsv")
    assert (tmp_path / "got" / "whole.tsv").read_bytes() == TEXT


def test_a_mirror_has_the_folder_as_it_is_here(server: str, tmp_path: Path) -> None:
    card = benchmark(tmp_path / "ours", "http://127.0.0.1:9", "data/whole.tsv")
    result = mindgauge_command("papers", "fetch", card, "--out", tmp_path / "got", "--mirror", f"{server}/copies/")
    assert result.returncode == 0, result.stderr
    assert Mirror.requests == [("/copies/ours/data/whole.tsv", None)]
    assert "fetched: data/whole.tsv" in result.stdout
    assert "Terms: Ours." in result.stdout
    assert f"--data {tmp_path / 'got'}" in result.stdout


def test_the_mirror_of_the_environment_is_asked(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDGAUGE_MIRROR", server)
    assert fetched(tmp_path, "http://127.0.0.1:9", "whole.tsv")


def test_a_proxy_of_the_environment_is_used(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server)
    assert fetched(tmp_path, "http://released.invalid", "whole.tsv")
    assert Mirror.requests == [("http://released.invalid/whole.tsv", None)]


@pytest.mark.parametrize("proxied", [False, True])
def test_no_password_of_a_netrc_file_is_sent(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, proxied: bool
) -> None:
    (tmp_path / ".netrc").write_text("default login ana password secret\n", encoding="utf-8")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    if proxied:
        monkeypatch.setenv("http_proxy", server)
    fetched(tmp_path, "http://somewhere.example" if proxied else server, "whole.tsv")
    assert Mirror.requests
    assert not Mirror.secrets


def test_a_server_that_cannot_be_reached_is_said_once(tmp_path: Path) -> None:
    with pytest.raises(EndpointError, match=r"cannot reach 127\.0\.0\.1 .*--mirror"):
        fetched(tmp_path, "http://127.0.0.1:9", "whole.tsv", "cuts.tsv")


def test_a_mirror_that_is_no_address_is_refused(tmp_path: Path) -> None:
    done = mindgauge_command("papers", "fetch", "dialogue_safety", "--mirror", tmp_path)
    assert done.returncode == 2
    assert "a folder is given as --data" in done.stderr


@pytest.mark.parametrize("path", ["../outside.tsv", "/etc/outside.tsv"])
def test_a_card_cannot_write_outside_of_its_folder(server: str, tmp_path: Path, path: str) -> None:
    with pytest.raises(UsageError, match="outside of its folder"):
        fetched(tmp_path, server, path)


def test_what_is_given_on_request_is_said_with_how_to_ask(tmp_path: Path) -> None:
    done = mindgauge_command("papers", "fetch", "trustmh/diagnosis", "--out", tmp_path)
    assert done.returncode == 1
    assert "Not fetched: d4, swmh" in done.stdout
    assert "ask its holders" in done.stdout


def test_every_file_to_be_had_freely_is_known_by_its_content() -> None:
    listing = {entry.benchmark: entry for entry in mindgauge.papers_list().data}
    assert listing["help_or_harm"].files == 144
    assert listing["psycrisis"].files == 0
    assert all(entry.licence and (entry.obtain or not entry.on_request) for entry in listing.values())


def test_listed_files_are_those_that_were_released(tmp_path: Path) -> None:
    """What the authors released, served as a mirror, is fetched, and a run reads it."""
    if not (RELEASED / "dialogue_safety").is_dir():
        pytest.skip("needs the authors' released files")
    handler = type("Released", (http.server.SimpleHTTPRequestHandler,), {"log_message": Mirror.log_message})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: handler(*a, directory=str(RELEASED))) as served:
        threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True).start()
        mirror = f"http://127.0.0.1:{served.server_port}"
        for name in ("dialogue_safety", "mentalbench"):
            assert mindgauge.papers_fetch(name, out=tmp_path / name, mirror=mirror)
        served.shutdown()
    assert (
        mindgauge_command("papers", "reproduce", "dialogue_safety", "--data", tmp_path / "dialogue_safety").returncode
        == 0
    )
