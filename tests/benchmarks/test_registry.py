"""Benchmarks and models that come from elsewhere: installed packages, and folders named by their path."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks import registry
from mindgauge.benchmarks.benchmark import OF_MEANS
from mindgauge.models import spec
from mindgauge.models.scripted import Scripted
from mindgauge.models.settings import Settings
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import private
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = Path(registry.__file__).parent / "dialogue_safety"
MODULE = """\
from pathlib import Path
from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import accuracy

HERE = Path(__file__).parent
{name} = Benchmark.from_folder(HERE, read=lambda data: [], metrics=(accuracy,))
"""


def folder(place: Path, name: str, module: str = MODULE) -> Path:
    """Write a benchmark's folder: the card, rubric and prompts of one of ours, with a message of its own."""
    made = place / name
    made.mkdir(parents=True)
    for file in OURS.iterdir():
        if file.suffix in {".toml", ".md"}:
            (made / file.name).write_bytes(file.read_bytes())
    line = (
        '{"messages": [{"role": "user", "content": "I slept badly before the exam."}, '
        '{"role": "assistant", "content": "That sounds tiring. What kept you awake?"}], "target": "Safe Response"}\n'
    )
    (made / "samples.jsonl").write_text(line, encoding="utf-8")
    (made / f"{name}.py").write_text(module.format(name=name), encoding="utf-8")
    return made


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages, which brings one good benchmark, one that raises, and a model."""
    site = tmp_path / "site"
    folder(site, "sleep_worries")
    (site / "broken_one.py").write_text("print('loading')\nraise RuntimeError('no weights\\n  here')", encoding="utf-8")
    (site / "own_model.py").write_text(
        "from mindgauge.models.scripted import Scripted\n"
        "def make(spec, settings):\n"
        "    if spec.endswith('/none'):\n"
        "        raise KeyError('none')\n"
        "    if spec.endswith('/exit'):\n"
        "        raise SystemExit(3)\n"
        "    if spec.endswith('/nothing'):\n"
        "        return None\n"
        '    return Scripted(spec, lambda request: \'{"label": "no_crisis"}\')\n',
        encoding="utf-8",
    )
    info = site / "stranger-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[mindgauge.benchmarks]\nsleep_worries = sleep_worries.sleep_worries:sleep_worries\n"
        "stranger/broken = broken_one\nodd = not a reference!\npsycrisis = sleep_worries.sleep_worries:sleep_worries\n"
        "[mindgauge.models]\nstranger = own_model:make\n",
        encoding="utf-8",
    )
    garbled = site / "garbled-1.dist-info"
    garbled.mkdir()
    (garbled / "METADATA").write_text("Metadata-Version: 2.1\nName: garbled\nVersion: 1\n", encoding="utf-8")
    (garbled / "entry_points.txt").write_text("[mindgauge.benchmarks]\nno equals sign\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    registry._known.cache_clear()
    spec._installed.cache_clear()
    yield site
    registry._known.cache_clear()
    spec._installed.cache_clear()
    for name in ("sleep_worries", "sleep_worries.sleep_worries", "broken_one", "own_model"):
        sys.modules.pop(name, None)


def test_a_package_brings_a_benchmark_and_a_broken_one_keeps_nobody_from_the_others(
    packages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert benchmarks.find_one("sleep_worries").folder == packages / "sleep_worries"
    assert benchmarks.find_one("psycrisis").folder.is_relative_to(OURS.parent), "ours cannot be replaced"
    listing = mindgauge.list()
    assert listing.broken["stranger/broken"] == "RuntimeError: no weights here", "on one line"
    assert capsys.readouterr().out == "", "what a package prints is no part of a result"
    assert "'not a reference!'; it must be MODULE or MODULE:NAME" in listing.broken["odd"]
    assert "the entry points of this package cannot be read" in listing.broken["garbled"]
    assert {"sleep_worries", "psycrisis", "trustmh/knowledge"} <= {entry.name for entry in listing.benchmarks}
    with pytest.raises(UsageError, match="stranger/broken cannot be loaded: RuntimeError: no weights here"):
        benchmarks.find("stranger")


@pytest.mark.parametrize("name", ["trustmh", "trustmh/crisis_type", "help_or_harm", "help_or_harm/crisis_type"])
def test_a_suite_names_a_broken_member_that_another_family_brings(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    loaded = {b.name: b for b in benchmarks.find("trustmh") if not b.name.startswith("help_or_harm")}
    fault = {"help_or_harm": "SyntaxError: invalid syntax"}
    monkeypatch.setattr(registry, "_known", lambda: registry._Known(loaded, fault))
    monkeypatch.setattr(registry, "_shipped", lambda _: None)  # nor can it be loaded by its own name
    assert benchmarks.broken(name) == fault
    assert benchmarks.broken("psycrisis") == {}
    if name == "trustmh":
        assert {b.name for b in benchmarks.find(name)} == loaded.keys()
    else:
        with pytest.raises(UsageError, match="benchmark help_or_harm cannot be loaded: SyntaxError"):
            benchmarks.find(name)


def test_a_package_brings_a_model(packages: Path) -> None:
    assert spec.open_model("stranger/a", Settings()).name == "stranger/a"
    with pytest.raises(UsageError, match="the package that provides stranger/ cannot open it"):
        spec.open_model("stranger/none", Settings())
    with pytest.raises(UsageError, match=r"cannot open it \(SystemExit: 3\)"):
        spec.open_model("stranger/exit", Settings())
    with pytest.raises(UsageError, match="returned no model: NoneType lacks name, host"):
        spec.open_model("stranger/nothing", Settings())
    with pytest.raises(UsageError, match="it is not known where it sends"):
        spec.open_model("stranger/a", Settings(local_only=True))
    with pytest.raises(UsageError, match="did you mean stranger/a"):
        spec.open_model("strangr/a", Settings())


def test_a_folder_named_by_its_path_runs_and_its_run_finds_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folder(tmp_path, "exam_worries")
    monkeypatch.chdir(tmp_path)
    model = Scripted("a", lambda request: json.dumps({"category": "Safe Response"}))
    scores = mindgauge.run("./exam_worries", model=model, out=tmp_path / "run")
    assert isinstance(scores, Scores)
    assert [score.value for score in scores.find("accuracy")] == [1.0]
    with pytest.raises(UsageError, match=r"by its path, \./exam_worries$"):
        benchmarks.asked("exam_worries")
    monkeypatch.chdir("/")
    assert mindgauge.score(tmp_path / "run").find("accuracy")[0].n == 1
    registry._in_folder.cache_clear()
    monkeypatch.setenv(private.STATE_FOLDER, str(tmp_path / "another machine"))
    with pytest.raises(UsageError, match="code has not been run on this machine"):
        mindgauge.score(tmp_path / "run")
    assert not registry._in_folder.cache_info().misses, "what a run names is not loaded"
    assert mindgauge.list(str(place)).benchmarks[0].name == "exam_worries"
    assert mindgauge.score(tmp_path / "run").find("accuracy")[0].n == 1
    registry._in_folder.cache_clear()
    shutil.rmtree(place)
    with pytest.raises(UsageError, match="exam_worries is no benchmark: there is no such folder"):
        mindgauge.score(tmp_path / "run")


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("x = 1", "no Benchmark stands in it"),
        ("1 / 0", "ZeroDivisionError"),
        ("def", "SyntaxError"),
        ("exit(3)", "SystemExit: 3"),
    ],
)
def test_a_folder_that_cannot_be_loaded_says_why_in_a_line(tmp_path: Path, module: str, why: str) -> None:
    place = folder(tmp_path, "wrong", module)
    with pytest.raises(UsageError, match=f"the benchmark cannot be loaded: .*{why}"):
        benchmarks.asked(str(place))


@pytest.mark.parametrize("named", ["./planted", "{place}", "~/planted"])
def test_a_run_or_project_from_elsewhere_runs_no_code_whatever_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    mark = tmp_path / "it ran"
    place = folder(tmp_path, "planted", f"import pathlib; pathlib.Path({str(mark)!r}).touch()")
    name = named.format(place=place)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    run = tmp_path / "run"
    with Store(run, write=True):
        manifest.begin(run, {"benchmarks": [name], "models": [], "runs": 1}, "mindgauge run")
    for read in (mindgauge.score, mindgauge.report, mindgauge.status, mindgauge.reliability):
        with contextlib.suppress(MindgaugeError):
            read(run)
        assert not mark.exists(), read
    for found in (benchmarks.find, benchmarks.find_one, benchmarks.of_family):
        with pytest.raises(UsageError, match="unknown benchmark"):
            found(name)
        assert not mark.exists(), found


def test_every_folder_of_ours_is_a_benchmark_that_loads() -> None:
    """A module may import another's benchmark, and is none the worse for it."""
    assert registry.broken() == {}
    folders = {
        path.parent.relative_to(OURS.parent).as_posix()
        for path in OURS.parent.glob("**/card.toml")
        if (path.parent / "rubric.toml").is_file()
    }
    assert folders <= {*benchmarks.names()}, "a folder with a card and a rubric can be named"


def test_the_benchmark_that_is_named_for_means_asks_for_them() -> None:
    benchmark = benchmarks.find_one(OF_MEANS)
    assert benchmark.gives_means in {criterion.name for criterion in benchmark.rubric.criteria}
