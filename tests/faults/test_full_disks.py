"""Every command that writes meets a disk that is full: one line, nothing half written, and what was there stays."""

from __future__ import annotations

import http.server
import json
import os
import re
import resource
import shutil
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import polars as pl
import pytest

import mindgauge
from mindgauge.annotation.project import Annotation
from mindgauge.commands.export import FORMATS
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import private
from mindgauge.store import Store, reading
from tests.annotation.rounds_of_work import everybody_works
from tests.cli.test_help import ROOT, verbs
from tests.commands import test_data_fetch as mirrored
from tests.commands.judges.forms import fill
from tests.commands.test_dataset_labels import RUBRIC
from tests.conftest import obliging
from tests.faults.conftest import Disk
from tests.in_process import Done
from tests.in_process import mindgauge as command
from tests.raters.classifiers import encoders
from tests.stub import Stub, says, words
from tests.thinned import sampled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aiohttp import web

NAME = "help_or_harm/response"
JUDGED = "--judge {judge} --no-qualify --concurrency 4"
WRITERS = {
    "list": ["--to benchmarkcard --out {out}"],
    "run": [f"{NAME} --model {{model}} {JUDGED} --limit 8 --cache {{out}}-cache {how} --out {{out}}" for how in ("", "--no-text")],
    "rate": [f"{NAME} --dialogues {{logs}} --unit turn {JUDGED} --write-items {{out}}.{form} --out {{out}}" for form in ("csv", "parquet")],
    "load": [f"{NAME} --data {{hub}} --out {{out}}"],
    "new": ["{out}"],
    "train": ["{labelled} --baseline --out {out}"],
    "clients check": ["{model} --limit 1 --turns 4 --out {out}"],
    "report": ["{run} --out {out} --reader --card"],
    "judges compare": [f"{NAME} --replies {{run}} --judge {{model}} {JUDGED} --judge-runs 1 --method rule --out {{out}}"],
    "judges stress": [f"{{judge}} --benchmark {NAME} --replies {{run}} --limit 2 --each 1 --judge-runs 1 --probes injection --out {{out}}"],
    "judges rationales export": ["{run} --out {out}"],
    "judges rationales import": ["{own} {forms}/form_1.csv"],
    "annotate new": ["{out} --items {run} --annotators an,bo --training 0",
                     f"{{out}} --benchmark {NAME} --items {{logs}} --unit turn --write-items {{out}}.csv --annotators an,bo --training 0"],
    "annotate export": ["{project} --all --out {out}"],
    "annotate import": ["{ours} {labels}"],
    "ratings": [f"{{ratings}} --out {{out}}.{form}" for form in ("csv", "jsonl", "parquet")],
    "gate RUN": [f"{{run}} --policy {{policy}} --baseline {{run}} --{file}" for file in ("junit {out}.xml", "markdown {out}.md", "series {out}.jsonl")],
    "gate init": ["{run} --out {out}.toml"],
    "gate baseline": ["{run} --out {out}.json"],
    "watch": [f"{{logs}} --policy {{bound}} {JUDGED} --out {{out}}"],
    "logs": ["{logs} --out {out}.jsonl"],
    "export": [*(f"{{run}} --to {form} --out {{out}}" for form in FORMATS if form not in {"hub", "questions"}),
               "{run} --to hub --licence MIT --out {out}", *(f"{NAME} --to questions --out {{out}}.{form}" for form in ("csv", "jsonl", "parquet"))],
    "dataset build": ["{recipe} --out {out}"],
    "dataset transform": ["{built} --form plain --out {out}",
                          "{built} --form utterance --model {model} --checker {judge} --concurrency 4 --run {out}-run --out {out}"],
    "dataset label": [f"{{built}} --rubric {{rubric}} --judge {{model}} {JUDGED.replace(' --no-qualify', '')} --out {{out}}"],
    "dataset check": ["{panel} --annotators an,bo --number 6 --disputed 1 --training 0 --out {out}"],
    "dataset gold": ["{built} --panel {panel} --people {people} --out {out}"],
    "dataset release": [f"{{built}} --to {form} --out {{out}}" for form in ("folder", "hub")],
    "data fetch": ["{card} --out {out}"],
    "salvage": ["{run} --out {out}"],
}  # fmt: skip
"""Command → what is typed after it; `{out}` is on the disk that is full, and so are copies of `{own}` and `{ours}`."""
OTHERS = {
    "demo": "loads a model; what it writes, `run` and `report` write",
    "view": "a server: tests/reports/view",
    "annotate serve": "a server: tests/faults/test_labels.py",
    **dict.fromkeys(
        ("status", "score", "compare", "profile", "reliability", "judges panel", "judges escalation",
         "judges rationales show", "annotate status", "audit", "reproduce", "data list"),
        "prints",
    ),
}  # fmt: skip
GOES_ON = {
    "run", "rate", "load", "train", "clients check", "judges compare", "judges stress", "judges rationales import",
    "annotate import", "watch", "dataset label", "dataset transform", "data fetch",
}  # fmt: skip
"""What came is kept, and the same command goes on: nothing is paid twice."""
SLOW = {"train", "clients check"}
CASES = [
    pytest.param(name, line, id=f"{name} {number}", marks=[pytest.mark.long] if name in SLOW else [])
    for name, lines in WRITERS.items()
    for number, line in enumerate(lines)
]
PAGE = os.sysconf("SC_PAGE_SIZE")


def options(words: tuple[str, ...]) -> dict[str, str] | None:
    """Return the options of a command with their help; None of a group."""
    found: Any = ROOT
    for word in words:
        found = found.commands[word]
    if getattr(found, "commands", None) is not None:
        return None
    return {option.opts[0]: option.help or "" for option in found.params if option.opts[0].startswith("--")}


def test_every_command_either_writes_here_or_is_said_not_to() -> None:
    commands = {" ".join(words): found for words in verbs() if (found := options(words)) is not None}
    assert {*WRITERS} | {*OTHERS} == {*commands} and not {*WRITERS} & {*OTHERS}
    typed = {word for lines in WRITERS.values() for line in lines for word in line.split()}
    writes = re.compile(r"Also write|Write .*here|Write the items|A folder in which|The run directory")
    for name, found in commands.items():
        if name not in OTHERS:
            assert "--out" not in found or all("--out {out}" in line for line in WRITERS[name]), name
        assert name in {"demo", "data list"} or name not in OTHERS or "--out" not in found, name
        assert {option for option, help_ in found.items() if writes.match(help_)} <= typed, name


class Volume(NamedTuple):
    """A small disk of its own, and where everything else lies that commands read."""

    path: Path
    material: dict[str, str]

    def typed(self, name: str, line: str) -> Done:
        """Run a command whose output goes to this disk."""
        return command(*name.removesuffix(" RUN").split(), *(word.format_map(self.material) for word in line.split()))

    def clear(self) -> None:
        for path in self.path.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def lay(self, line: str) -> None:
        """Put copies here of what the command writes into."""
        self.clear()
        for slot in ("own", "ours"):
            if f"{{{slot}}}" in line:
                shutil.copytree(self.material[f"{slot} original"], self.material[slot])

    def leave(self, pages: int) -> None:
        """Fill all but some pages."""
        (self.path / "filler").unlink(missing_ok=True)
        with (self.path / "filler").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, self.free() - pages) * PAGE)

    def free(self) -> int:
        return os.statvfs(self.path).f_bavail * os.statvfs(self.path).f_frsize // PAGE

    def files(self) -> dict[str, bytes]:
        found = sorted(path for path in self.path.rglob("*") if path.is_file() and path.name != "filler")
        return {
            str(path.relative_to(self.path)): path.read_bytes()
            for path in found
            if not path.name.endswith(("-shm", "-wal"))
        }


class Quiet(http.server.ThreadingHTTPServer):
    """A server that says nothing of clients that hang up."""

    def handle_error(self, *_: object) -> None:
        pass


def answer(body: dict[str, Any], count: int) -> web.StreamResponse:
    """Check what was written well, and else answer as everybody's stub does."""
    if "You check a text" in words(body):
        kept = {"quotes": [], "rationale": "as it reads", "meaning": "kept", "natural": "natural", "risk": "none"}
        return says(json.dumps(kept))
    return obliging(body, count)


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Make everything that commands read."""
    base = tmp_path_factory.mktemp("material")
    places = {
        name: str(base / file)
        for name, file in {
            "run": "run", "hub": "hub", "logs": "logs", "labelled": "labelled.jsonl", "project": "project",
            "ratings": "ratings.csv", "labels": "labels.csv", "policy": "gate.toml", "bound": "bound.toml",
            "recipe": "recipe.toml", "built": "built", "rubric": "risk.toml", "panel": "panel", "people": "people",
            "forms": "forms", "replies": "replies.csv", "card": "card",
        }.items()
    }  # fmt: skip
    places |= {"own original": places["run"], "ours original": places["project"]}
    rows = [
        {"user": f"I cannot sleep, night {n}.", "reply": f"I am sorry ({n}). Who is near you?", "model": "m", "category": "no_crisis"}
        for n in range(24)
    ]  # fmt: skip
    pl.DataFrame(rows).write_csv(places["replies"])
    (base / "labelled.jsonl").write_text("".join(json.dumps(row) + "\n" for row in encoders.rows(8)))
    talk = [{"role": "user", "content": "A hard day."}, {"role": "assistant", "content": "That sounds heavy."}]
    (base / "logs").mkdir()
    lines = [json.dumps({"id": f"t{n}", "model": "bot", "category": "suicidal_ideation", "messages": [{"role": "user", "content": f"Day {n}."}, *talk[1:]]}) for n in range(20)]  # fmt: skip
    (base / "logs" / "day.jsonl").write_text("\n".join(lines) + "\n")
    (base / "bound.toml").write_text(
        f'[needs]\njudge = "any"\n[[must]]\nrule = "share_at_most_2.high <= 0.10"\nbenchmark = "{NAME}"\ncriterion = "appropriateness"\n'
    )
    graded = [(f"r{n}", "appropriateness", rater, n % 5 + 1) for n in range(200) for rater in ("an", "bo")]
    pl.DataFrame(graded, ["subject", "criterion", "rater", "value"], orient="row").write_csv(places["ratings"])
    posts = [(f"p{n}", f"Note {n}: I have not slept since {day}.") for n, day in enumerate(("Monday", "Tuesday", "Friday") * 8)]  # fmt: skip
    pl.DataFrame(posts, ["author", "post"], orient="row").write_csv(base / "posts.csv")
    source = '[[source]]\nname = "forum"\nfiles = "posts.csv"\nlicence = "CC-BY-4.0"\nlanguage = "en"\ncolumns = {text = "post", group = "author"}\n'
    split = '[[step]]\ndo = "split"\nparts = {train = 0.5, test = 0.5}\n'
    (base / "recipe.toml").write_text(f'name = "nights"\nlicence = "CC-BY-4.0"\n{source}{split}')
    (base / "risk.toml").write_text(RUBRIC)
    with Stub(answer) as stub:
        places |= {"model": stub.model, "judge": stub.judge}
        for line in (
            f"rate {NAME} --replies {{replies}} {JUDGED} --judge rule/outside_help --out {{run}}",
            "export {run} --to hub --licence CC-BY-4.0 --show-texts --out {hub}",
            "judges rationales export {run} --out {forms}",
            "annotate new {project} --items {run} --annotators an,bo --training 0",
            "gate init {run} --out {policy}",
            "dataset build {recipe} --out {built}",
            "dataset label {built} --rubric {rubric} --judge {model} --judge {judge} --out {panel}",
            "dataset check {panel} --annotators an,bo --number 6 --disputed 1 --training 0 --out {people}",
        ):
            done = command(*(word.format_map(places) for word in line.split()))
            assert done.returncode == 0, (line, done.stderr)
        with Annotation.open(Path(places["people"])) as annotation:
            everybody_works(annotation, lambda *_: "calm")
        fill(Path(places["forms"]) / "form_1.csv", rationality=4, traceability=5, consistency=3)
        with Store(Path(places["run"])) as store:
            [subject, *_] = [reply.id for reply in store.replies(NAME)]
        reading.note(Path(places["run"]), reading.OpenedReply(NAME, subject, "an", "2026-01-01T00:00:00Z", 9.0))
        with Annotation.open(Path(places["project"])) as annotation:
            items = [item.id for item in annotation.items()]
        given = [(item, "appropriateness", "an", 4) for item in items]
        pl.DataFrame(given, ["subject", "criterion", "rater", "value"], orient="row").write_csv(places["labels"])
        with Quiet(("127.0.0.1", 0), mirrored.Mirror) as served:
            threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True).start()
            mirrored.benchmark(base / "card", f"http://127.0.0.1:{served.server_port}", "whole.tsv")
            yield places
            served.shutdown()


@pytest.fixture(scope="module")
def volume(material: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Volume]:
    disk = Disk(tmp_path_factory.mktemp("volume"))
    disk.mount("size=24m")
    try:
        own = {slot: str(disk.path / slot) for slot in ("out", "own", "ours")}
        yield Volume(disk.path, material | own)
    finally:
        disk.unmount()


def said(done: Done, name: str) -> str:
    """Return the one line in which a command says what went wrong."""
    assert done.returncode == (2 if name.startswith("gate") else 1), (done.returncode, done.stdout, done.stderr)
    [line] = [line for line in done.stderr.splitlines() if line.startswith("mindgauge: ")]
    assert done.stderr.splitlines()[-1] == line and "Traceback" not in done.stderr
    return line


def drafts(files: dict[str, bytes]) -> list[str]:
    """Return what is half written: drafts begin with a dot, or end with a mark."""
    return [name for name in files if re.search(r"(^|/)\.|\.new$|~", name)]


@pytest.mark.parametrize(("name", "line"), sampled(CASES, 2))
def test_a_full_disk_is_one_line_and_what_was_there_stays(volume: Volume, name: str, line: str) -> None:
    volume.lay(line)
    before, room = volume.files(), volume.free()
    done = volume.typed(name, line)
    assert done.returncode in {0, 3}, done.stderr
    whole, needed = volume.files(), max(1, room - volume.free())
    assert whole != before
    volume.leave(0)
    done = volume.typed(name, line)  # over what is there
    assert done.returncode in {0, 1, 2, 3} and "Traceback" not in done.stderr
    if name not in GOES_ON and done.returncode != 0:
        assert volume.files() == whole, done.stderr
    for pages in sorted({0, min(2, needed - 1), needed * 3 // 4}):
        volume.lay(line)
        volume.leave(pages)
        done = volume.typed(name, line)
        left = volume.files()
        assert not drafts(left), (pages, drafts(left))
        if done.returncode in {0, 3}:
            assert pages and left.keys() == whole.keys(), (pages, left.keys() ^ whole.keys())
            continue
        assert re.search("free some space", said(done, name)), (pages, done.stderr)
        assert str(volume.path) in done.stderr, done.stderr
        if name not in GOES_ON:
            left = {
                file: content for file, content in left.items() if "--write-items" not in line or file != "out.csv"
            }  # whole
            assert left == before, (pages, left.keys() ^ before.keys(), done.stderr)
    if done.returncode not in {0, 3}:
        (volume.path / "filler").unlink()
        done = volume.typed(name, line)  # goes on, or begins anew
    assert done.returncode in {0, 3}, done.stderr
    assert volume.files().keys() == whole.keys()


@pytest.mark.parametrize(("name", "line"), sampled([case for case in CASES if str(case.id).endswith(" 0")], 3))
def test_a_limit_of_files_is_one_line_and_leaves_nothing_half_written(
    material: dict[str, str], tmp_path: Path, name: str, line: str
) -> None:
    """As `ulimit -f` sets it; this needs no disk of its own."""
    volume = Volume(tmp_path, material | {slot: str(tmp_path / slot) for slot in ("out", "own", "ours")})
    volume.lay(line)
    before, (_, most) = volume.files(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
    try:
        done = volume.typed(name, line)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    assert "ulimit -f" in said(done, name)
    left = volume.files()
    assert not drafts(left)
    assert name in GOES_ON or left == before
    assert all(left[file] == content for file, content in before.items())


FILES = [
    pytest.param(name, line, match[1], id=f"{name} {match[0]}")
    for name, lines in WRITERS.items()
    for line in lines
    if (match := re.search(r"\{out\}(\.\w+)", line)) is not None
]


@pytest.mark.parametrize(("name", "line", "ending"), sampled(FILES, 2))
def test_what_is_no_place_for_a_file_is_one_line_and_stays(
    material: dict[str, str], tmp_path: Path, name: str, line: str, ending: str
) -> None:
    """Folders, devices, pipes, links to them, files as parents, and names that no disk takes."""
    for kind in ("folder", "device", "pipe", "parent", "long"):
        place = tmp_path / kind / "out"
        path = place.with_suffix(ending)
        (tmp_path / kind).mkdir()
        if kind == "folder":
            path.mkdir()
            (path / "kept").touch()
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "device":
            path.symlink_to("/dev/full")
        elif kind == "parent":
            place = place.with_suffix(ending) / "out"
            path.write_text("mine")
        else:
            place = place.with_name("n" * 300)
        volume = Volume(tmp_path, material | {"out": str(place)})
        before = sorted((p.name, p.lstat().st_mode) for p in (tmp_path / kind).rglob("*"))
        done = volume.typed(name, line)
        assert done.returncode in {1, 2}, (kind, done)
        assert [done.stderr.splitlines()[-1]] == [
            text for text in done.stderr.splitlines() if text.startswith("mindgauge: ")
        ]
        left = sorted((p.name, p.lstat().st_mode) for p in (tmp_path / kind).rglob("*"))
        assert name in GOES_ON or left == before, kind


def test_a_disk_that_cannot_be_written_is_one_line(material: dict[str, str], tmp_path: Path) -> None:
    disk = Disk(tmp_path / "disk")
    disk.path.mkdir()
    disk.mount("size=8m")
    try:
        volume = Volume(disk.path, material | {"out": str(disk.path / "out")})
        disk.change("ro")
        for name, lines in WRITERS.items():
            for line in lines:
                if "{out}" in line and name not in SLOW:
                    done = volume.typed(name, line)
                    assert done.returncode == 2, (name, done)
                    assert done.stderr.splitlines()[-1].startswith("mindgauge: "), (name, done.stderr)
                    assert re.search(r"[Rr]ead-only", done.stderr), (name, done.stderr)
    finally:
        disk.unmount()


def test_all_files_are_written_by_one_writer() -> None:
    """What writes by itself says nothing of a full disk, or leaves half a file."""
    writes = re.compile(
        r"""\.write_(text|bytes|parquet|excel|ipc)\((?!file|buffer)|[.( ]open\([^)]*["'][wax]|os\.fdopen\(|save_file\(|torch\.save\((?!.*file\))"""
    )
    source = Path(mindgauge.__file__).parent
    found = {
        str(path.relative_to(source)): line.strip()
        for path in source.rglob("*.py")
        for line in path.read_text().splitlines()
        if writes.search(line) and "/children" not in line  # which is read
    }
    assert {*found} == {"cli/terminal.py", "commands/data/download.py", "models/batch/files.py"}, found


def test_what_looks_like_a_file_among_devices_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`/dev/stdout` is a way to a file where output goes to one."""
    monkeypatch.setattr(private, "_DEVICES", tmp_path)
    (tmp_path / "output").write_text("mine")
    (tmp_path / "stdout").symlink_to(tmp_path / "output")
    with pytest.raises(UsageError, match=r"cannot write here \(it is a device, not a file\); choose another place"):
        private.write(tmp_path / "stdout", "ours")
    assert (tmp_path / "stdout").is_symlink() and (tmp_path / "output").read_text() == "mine"


def test_a_library_that_hides_the_fault_is_seen_through(tmp_path: Path) -> None:
    """Polars calls some full disks a transport error, and torch a position that it did not expect."""

    def half(file: IO[bytes]) -> None:
        try:
            file.write(bytes(1 << 20))
        except OSError:
            raise RuntimeError("unexpected pos 704 vs 598") from None

    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    (tmp_path / "kept").write_text("old")
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, most[1]))
    try:
        with pytest.raises(MindgaugeError, match="ulimit -f") as raised, private.written(tmp_path / "kept") as file:
            half(file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert raised.value.exit_code == 1
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]
    with pytest.raises(ValueError, match="its own"), private.written(tmp_path / "kept"):
        raise ValueError("its own")


def test_what_is_read_meanwhile_is_not_said_to_be_unwritable(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(FileNotFoundError), private.written(tmp_path / "out" / "file"):
        (tmp_path / "gone").read_bytes()
    assert not [*(tmp_path / "out").iterdir()]
