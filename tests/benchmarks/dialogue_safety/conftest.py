"""The authors' files where they are at hand, and small made-up ones of their layout with nothing of their text."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.benchmarks.dialogue_safety.dialogue_safety import load
from mindgauge.benchmarks.dialogue_safety.inputs import LABELS

if TYPE_CHECKING:
    from mindgauge.benchmarks import Released

CHAT = "ChatGPT_gen/0301"
ENCODER = "finetuned_model_predict/bert-base-chinese"
RUNS = ("one", "two", "three", "four", "five")
SEEDS = (42, 43, 44, 45, 46)
ITEMS = 12
"""More than ten, so that the order of numbers and that of names differ."""
PROMPT = "这是编造的提示词，任何记录里都不该出现它。"
Row = dict[str, Any]


def label(item: int) -> int:
    """Return the gold label of an item; the last four repeat the commonest two."""
    return item if item < 8 else (2, 7)[item % 2]


def row(item: int) -> Row:
    """Make up an item: the first four have one turn."""
    said = f"[seeker]我是第{item}号编造的求助者，最近总是睡不好。"
    if item >= 4:
        said = f"[supporter]你好，第{item}位。{said}[supporter]慢慢说。\n我在听。[seeker]嗯"
    return {"context": said, "response": f"[supporter]第{item}条编造的回复。", "label": label(item)}


def guess(item: int, run: int) -> int:
    """Return what run `run` says: right, but for items that change from run to run."""
    return (label(item) + (1 + run if (item + run) % 3 == 0 else 0)) % len(LABELS)


def completion(item: Row, answer: str | None, **more: Any) -> Row:
    """Write a chat completion as the authors stored it."""
    choice = {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1690411687,
        "model": "gpt-3.5-turbo-0301",
        "choices": [choice],
        "usage": {"prompt_tokens": 1100, "completion_tokens": 4, "total_tokens": 1104},
        "context": [{"role": "user", "content": PROMPT}],
        "item": item,
        **more,
    }


def noted(found: Released, part: str) -> list[str]:
    return [note for note in found.notes if part in note]


class Copy:
    """A small copy of the released files; tests damage a file and write it again."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, content: object) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        return path

    def rows(self, name: str = "test.json") -> list[Row]:
        rows: list[Row] = json.loads((self.root / name).read_text(encoding="utf-8"))
        return rows

    def change(self, number: int, **cells: object) -> None:
        rows = self.rows()
        rows[number] |= cells
        self.write("test.json", rows)

    def answer(self, place: str, answer: str | None, **more: Any) -> None:
        """Write a chat model's answer into `SETTING/RUN/ITEM`."""
        self.write(f"{CHAT}/{place}.json", completion(row(int(place.rpartition("/")[2])), answer, **more))

    def archive(self, folder: str, name: str) -> Path:
        """Put a folder's files into a zip, sorted by name as the authors' are, and take the folder away."""
        path = self.root / name
        files = sorted((self.root / folder).rglob("*.json"))
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.write(file, file.relative_to(self.root).as_posix())
        for file in files:
            file.unlink()
        return path


@pytest.fixture
def small(tmp_path: Path) -> Copy:
    copy = Copy(tmp_path / "data")
    copy.write("test.json", [row(item) for item in range(ITEMS)])
    for run, name in enumerate(RUNS):
        for item in range(ITEMS):
            copy.answer(f"zero_shot/{name}/{item}", LABELS[guess(item, run)])
            copy.answer(f"few_shot/{name}/{item}", LABELS[guess(item, 0)] + ".")
            prediction = row(item) | {"predict_label": guess(item, run + 1)}
            copy.write(f"{ENCODER}/{SEEDS[run]}/{item}.json", prediction)
    return copy


@pytest.fixture(scope="session")
def real() -> Path:
    """The authors' files; `MINDGAUGE_DATA` says where their folder is."""
    repository = Path(__file__).parents[3]
    folder = Path(os.environ.get("MINDGAUGE_DATA") or repository / "../shared/data") / "dialogue_safety"
    if not all((folder / name).is_file() for name in ("test.json", "ChatGPT_gen_0301.zip", "finetuned_bert.zip")):
        pytest.skip(f"the authors' files are not at hand ({folder}); set MINDGAUGE_DATA")
    return folder


@pytest.fixture(scope="session")
def loaded(real: Path) -> Released:
    """What the authors' files hold, to be read."""
    return load(real)
