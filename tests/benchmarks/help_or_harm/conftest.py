"""The authors' files where they are at hand, and a small made-up copy of their layout with nothing of their text."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.commands.load import papers_load
from tests.made_once import made_once

if TYPE_CHECKING:
    from mindgauge.benchmarks import Released

VALIDATION = "sampled_dataset_n_200_merged_n50-noSeed_156-s42"
TEST = "sampled_dataset_n_2046_nPerD168_seed0"
MODELS = ("gpt-4o-mini", "meta-llama-Llama-4-Scout-17B-16E-Instruct", "deepseek-chat")
TIMES = ("20250101-000001", "20250101-000002", "20250101-000003")
LABELS = ("self-harm", "no_crisis", "anxiety_crisis", "no_crisis", "violent_thoughts", "suicidal_ideation")
JUDGED = "llm_evaluator/gpt-4o-mini/n_200/gpt-4o-mini-evaluation_deepseek-chat-*-20250101-000002_20260101-000001.json"
ANSWERED = "llm_answer/deepseek-chat-*-20250101-000002.json"

Rows = list[dict[str, Any]]


def noted(found: Released, part: str) -> list[str]:
    return [note for note in found.notes if part in note]


class Copy:
    """A small copy of the released files; tests read a file's rows, damage them and write them back."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "data"

    def path(self, pattern: str) -> Path:
        (found,) = self.data.glob(pattern)
        return found

    def rows(self, pattern: str) -> Rows:
        rows: Rows = json.loads(self.path(pattern).read_text())
        return rows

    def write(self, name: str, rows: object) -> None:
        path = self.data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows))  # writes NaN as the authors' files do

    def change(self, pattern: str, row: int, **cells: object) -> None:
        rows = self.rows(pattern)
        rows[row] |= cells
        self.path(pattern).write_text(json.dumps(rows))


def _inputs(split: str, n: int) -> list[list[str]]:
    return [[f"This is {split} message {i}.", "It has two sentences."] for i in range(n)]


def _write(copy: Copy) -> None:
    validation, test = _inputs("validation", 6), _inputs("test", 4)
    sources = ["hugging_16K", "hugg_6", "hugg_2", "hugg_1", "hugging_3", "hugg_11"]
    rows = [{"inputs": i, "label": "", "dataset_id": s} for i, s in zip(validation, sources, strict=True)]
    copy.write(f"processed/{VALIDATION}.json", rows)
    copy.write(f"processed/{TEST}.json", [{"inputs": i, "label": "", "dataset_id": "hugg_1"} for i in test])
    for k, name in enumerate(("H1_labeled", "H2_labeled", "H3_labeled", "H4_labelled")):
        labels = [LABELS[i] if i or k < 2 else "no_crisis" for i in range(6)]  # people tie on row 0
        copy.write(f"human_label/{name}_n206_s42.json", _labelled(validation, labels))
    merged = [
        {"inputs": i, "all_labels": [label] * 5, "label": label} for i, label in zip(validation, LABELS, strict=True)
    ]
    merged[0]["all_labels"] = [LABELS[0]] * 2 + ["no_crisis"] * 2 + [LABELS[0]]  # a model's label breaks the tie
    copy.write("human_label/human-labeled-sampled_dataset_n206_s42-merged_labels.json", merged)
    for time in TIMES:
        rows = [row | {"explanation": "because", "tokens": 7} for row in _labelled(validation, list(LABELS))]
        copy.write(f"llm_label/gpt-4o-mini-labeled-{VALIDATION}-{time}.json", rows)
    rows = _labelled(test, ["no_crisis", "self-harm", "substance_abuse/withdrawal", "no_crisis"])
    copy.write(f"llm_label/gpt-4o-mini-labeled-{TEST}-merged-labels.json", rows)
    for model in MODELS:
        for k, time in enumerate(TIMES):
            _answers(
                copy,
                f"{model}-answers-{VALIDATION}-{time}",
                _labelled(validation, list(LABELS)),
                f"reply {k} by {model}",
                "n_200",
            )
    drawn = f"gpt-4o-mini-evaluation_deepseek-chat-answers-{VALIDATION}-{TIMES[1]}_merged.json"
    answers = copy.rows(f"llm_answer/deepseek-chat-answers-{VALIDATION}-{TIMES[1]}.json")
    lowest = [row | {"evaluation": 4.0, "evals": [4, 4, 4], "sampled_from": drawn} for row in answers]
    copy.write("llm_evaluator/sampled/sampled_lowest_scores_n200.json", lowest)
    for person, score in (("H1", 3.0), ("H2", 5.0)):
        scored: Rows = [
            {"inputs": " | ".join(r["inputs"]), "answer": r["answer"], "label": r["label"], "evaluation": score}
            for r in answers
        ]
        copy.write(f"human_label/{person}_scores_n206_s42.json", scored)


def _labelled(inputs: list[list[str]], labels: list[str]) -> Rows:
    return [{"inputs": i, "label": label, "dataset_id": "hugg_1"} for i, label in zip(inputs, labels, strict=True)]


def _answers(copy: Copy, name: str, items: Rows, reply: str, folder: str) -> None:
    more: dict[str, Any] = {"tokens": 9, "refusal": None, "annotations": [], "role": "a"}
    rows = [row | more | {"answer": f"{reply} to {i}"} for i, row in enumerate(items)]
    copy.write(f"llm_answer/{name}.json", rows)
    for k, again in enumerate(("20260101-000001", "20260101-000002", "20260101-000003")):
        judged = [row | {"evaluation": (5, 4, 3)[k], "explanation": "so"} for row in rows]
        copy.write(f"llm_evaluator/gpt-4o-mini/{folder}/gpt-4o-mini-evaluation_{name}_{again}.json", judged)


def add_test_responses(copy: Copy, model: str) -> None:
    """Add answers and judgements of the test set, which the authors did not release."""
    rows = copy.rows(f"llm_label/*{TEST}-merged-labels.json")
    for k, time in enumerate(TIMES):
        _answers(copy, f"{model}-answers-{TEST}-{time}", rows, f"reply {k} by {model}", "n_2046")


@pytest.fixture
def small(tmp_path: Path) -> Copy:
    copy = Copy(tmp_path)
    _write(copy)
    return copy


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The authors' files, unpacked once; `MINDGAUGE_DATA` says where the zip's folder is."""
    repository = Path(__file__).parents[3]
    archive = Path(os.environ.get("MINDGAUGE_DATA") or repository / "../shared/data") / "help_or_harm/data.zip"
    if not archive.is_file():
        pytest.skip(f"the authors' files are not at hand ({archive}); set MINDGAUGE_DATA")

    def unpack(folder: Path) -> Path:
        with zipfile.ZipFile(archive) as file:
            file.extractall(folder)
        return folder

    return made_once(tmp_path_factory, "help_or_harm-files", unpack)


@pytest.fixture(scope="session")
def loaded(real: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the replies and ratings that the authors released, to be read."""
    return made_once(
        tmp_path_factory,
        "help_or_harm-run",
        lambda folder: Path(papers_load("help_or_harm/response", data=real, out=folder / "run").run),
    )
