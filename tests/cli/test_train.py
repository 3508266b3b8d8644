"""`mindgauge train` as people use it: as a process, which may be killed, starved of memory or cut off from the network."""

from __future__ import annotations

import csv
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from safetensors.numpy import load_file

from tests import in_process
from tests.raters.classifiers import encoders
from tests.raters.classifiers.conftest import one_thread, tiny, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[..., Path]

__all__ = ["one_thread", "tiny", "write"]
COMMAND = [sys.executable, "-c", "from mindgauge.cli import main; main()", "train"]
ALONE = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
SLOW = ["--epochs", "12", "--batch", "4", "--lr", "5e-3", "--dev", "0.2"]


def complains(*arguments: object, code: int = 2) -> str:
    done = in_process.mindgauge("train", *arguments)
    assert done.returncode == code, done.stderr
    said = done.stderr
    assert said.startswith("mindgauge: ") and said.count("\n") == 1, said
    return said


@pytest.mark.usefixtures("one_thread")
@pytest.mark.long
def test_a_killed_process_goes_on_to_the_same_weights(tiny: Path, write: Write, tmp_path: Path) -> None:
    path = write(encoders.rows(16))
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    asked = [path, "--encoder", tiny, *SLOW]
    process = subprocess.Popen(
        [*COMMAND, *map(str, asked), "--out", str(killed)], env=ALONE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    begun = killed / "trials/seed-1"
    while not begun.exists() and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (begun / "trial.json").exists() and not (killed / "model.safetensors").exists()
    for out in (killed, whole):
        done = in_process.mindgauge("train", *asked, "--out", out)
        assert done.returncode == 0, done.stderr
    one, other = (load_file(folder / "model.safetensors") for folder in (killed, whole))
    assert one.keys() == other.keys() and all((one[name] == other[name]).all() for name in one)


@pytest.mark.long
def test_a_csv_from_a_spreadsheet_is_trained_on_in_chinese(tmp_path: Path) -> None:
    said = {
        "平静": ["今天睡得不错", "散步以后好多了", "工作还算顺利"],
        "焦虑": ["心跳得很快", "一想到考试就发抖", "又睡不着了"],
    }
    path, out = tmp_path / "标注.csv", tmp_path / "分类器"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["文本", "标签"])
        rows.writerows((f"{text}，第{i}天", label) for label, texts in said.items() for text in texts for i in range(8))
    done = in_process.mindgauge(
        "train", path, "--baseline", "--map", "text=文本", "--map", "label=标签", "--folds", 3, "--out", out
    )
    assert done.returncode == 0, done.stderr
    assert "accuracy:" in done.stdout
    assert "recall (焦虑)" in (out / "card.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_what_is_wrong_is_one_line(tiny: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = write(encoders.rows(10)), tmp_path / "out"
    bad = write([*encoders.rows(2), {"text": "x", "label": "clam"}], "bad.jsonl")
    rubric = ["--rubric", "help_or_harm/crisis_type"]
    assert "bad.jsonl:1: the label" in complains(bad, "--baseline", "--out", out, *rubric)
    empty = write([{"messages": [], "label": "calm"}, {"text": "x", "label": "sad"}], "empty.jsonl")
    assert "empty.jsonl:1: an empty dialogue" in complains(empty, "--baseline", "--out", out)
    schema = write([{"sentence": "x", "class": "calm"}], "schema.jsonl")
    assert "expected `label` and `text`" in complains(schema, "--baseline", "--out", out)
    (tmp_path / "broken.csv").write_bytes(b"label,text\n\xff\xfe,x\n")
    assert "not UTF-8" in complains(tmp_path / "broken.csv", "--baseline", "--out", out)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    said = complains(path, "--encoder", "nobody/no-encoder", "--out", out)
    assert "not an encoder that transformers can open" in said and "--baseline, which needs no download" in said
    pickled = tmp_path / "pickled"
    shutil.copytree(tiny, pickled)
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    assert "pickled weights are refused" in complains(path, "--encoder", pickled, "--out", out)
    assert not out.exists()
    assert "lower --lr" in complains(path, "--encoder", tiny, "--lr", "1e30", "--epochs", 3, "--out", out, code=1)


def test_help_asks_for_no_learning_library(tmp_path: Path) -> None:
    seen = "import sys; from mindgauge.cli import app; app(['train', '--help'], standalone_mode=False); "
    check = seen + "assert not {'torch', 'transformers', 'sklearn', 'numpy', 'polars'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "--encoder" in done.stdout
