"""A classifier that cannot rate is one line with what to do, exit code 2, before anything is asked."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from safetensors.numpy import load_file, save_file

import mindgauge
from mindgauge.models.scripted import Scripted
from mindgauge.records import Message, Sample
from mindgauge.records.errors import DataError
from mindgauge.store import Store
from tests.commands.test_classifier_rater import RESPONSE, SAFETY, careless, count, tone, trained
from tests.commands.test_compare import invoke

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["tone", "trained"]


def test_it_writes_no_replies(tone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = invoke(monkeypatch, capsys, "run", RESPONSE, "--model", f"classifier/{tone}")
    assert (code, err.count("\n")) == (2, 1)
    assert "writes no replies, and help_or_harm/response asks for them" in err


def damaged(folder: Path) -> str:
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:100])
    return "damaged"


def pickled(folder: Path) -> str:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    return "pickle"


def unfinished(folder: Path) -> str:
    (folder / "classifier.toml").unlink()
    return "no classifier.toml in it"


def broken(folder: Path) -> str:
    (folder / "classifier.toml").write_text("kind = [", encoding="utf-8")
    return "not a classifier"


def without_weights(folder: Path) -> str:
    (folder / "model.safetensors").unlink()
    return "no model.safetensors in it"


def without_rubric(folder: Path) -> str:
    (folder / "rubric.toml").unlink()
    return "cannot read the rubric"


def of_other_labels(folder: Path) -> str:
    found = load_file(folder / "model.safetensors")
    fewer = {name: t[..., :3].copy() if name.endswith(("coefficient", "intercept")) else t for name, t in found.items()}
    save_file(fewer, folder / "model.safetensors")
    return "its weights are for 3 labels, and its rubric has 8"


def of_a_later_version(folder: Path) -> str:
    with (folder / "classifier.toml").open("a", encoding="utf-8") as file:
        file.write("votes = 3\n")
    return "not a classifier"


def half_copied(folder: Path) -> str:
    (folder / "seen.json").write_bytes((folder / "seen.json").read_bytes()[:50])
    return "damaged"


def gone(folder: Path) -> str:
    shutil.rmtree(folder)
    return "no such folder"


@pytest.mark.parametrize(
    "harm",
    [
        damaged, pickled, unfinished, broken, without_weights, without_rubric, of_other_labels, of_a_later_version,
        half_copied, gone,
    ],
)  # fmt: skip
@pytest.mark.parametrize("verb", ["run", "rate"])
def test_a_bad_classifier_is_one_line_before_anything_is_asked(
    harm: Callable[[Path], str],
    verb: str,
    trained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(trained, mine)
    said = harm(mine)
    logs = tmp_path / "logs.csv"
    logs.write_text("user,reply\nI slept badly,Tell me more\n", encoding="utf-8")
    out = tmp_path / "r"
    given = ["run", SAFETY, "--model"] if verb == "run" else ["rate", SAFETY, "--replies", logs, "--judge"]
    code, _, err = invoke(monkeypatch, capsys, *given, f"classifier/{mine}", "--out", out)
    assert (code, err.count("\n")) == (2, 1)
    assert said in err
    assert not out.exists()


def test_without_the_extra_it_says_what_to_install(trained: Path, tmp_path: Path) -> None:
    without = "import sys; sys.modules['safetensors'] = None; from mindgauge.cli import main; main()"
    command = [
        sys.executable,
        "-c",
        without,
        "run",
        SAFETY,
        "--model",
        f"classifier/{trained}",
        "--out",
        str(tmp_path / "r"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "mindgauge[classifier]" in done.stderr


def test_an_empty_dialogue_is_one_line_and_what_was_paid_is_kept(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "r"
    mindgauge.run(SAFETY, model=Scripted("careless", careless), limit=16, out=out)
    with Store(out, write=True) as store:
        empty = Sample.of((Message("user", " "), Message("assistant", "")))
        store.put_samples(SAFETY, [empty])
    with pytest.raises(DataError, match="an empty dialogue"):
        mindgauge.rate(SAFETY, replies=out, judge=f"classifier/{trained}")
    assert count(out, SAFETY, "careless") == 16


def test_another_rubric_is_one_line(
    tone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = invoke(monkeypatch, capsys, "run", SAFETY, "--model", f"classifier/{tone}", "--out", tmp_path / "r")
    assert (code, err.count("\n")) == (2, 1)
    assert "trained on table@1, criterion 'label', but this is rated by dialogue_safety@" in err


@pytest.mark.long
def test_help_is_instant_and_a_baseline_needs_no_torch(trained: Path, tmp_path: Path) -> None:
    heavy = "{m for m in ('torch', 'transformers', 'sklearn', 'polars', 'numpy', 'mindgauge.raters.classifiers') if m in sys.modules}"
    helped = (
        f"import sys; from mindgauge.cli import app\ntry: app(['run', '--help'])\nexcept SystemExit: print({heavy})"
    )
    shown = subprocess.run([sys.executable, "-c", helped], capture_output=True, text=True, check=True).stdout
    assert "classifier/FOLDER" in shown.replace("\n", "").replace("│", "").replace(" ", "")
    assert shown.rstrip().endswith("set()")
    rated = f"import sys, mindgauge; mindgauge.run('{SAFETY}', model='classifier/{trained}', out='{tmp_path / 'r'}'); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", rated], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
