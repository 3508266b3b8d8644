"""What is known of the authors' files, counted anew from what our reader makes of them."""

from __future__ import annotations

import itertools
import json
import statistics
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import pytest

from mindgauge.benchmarks.dialogue_safety import dialogue_safety, released
from mindgauge.benchmarks.dialogue_safety import inputs as labels
from mindgauge.benchmarks.dialogue_safety.dialogue_safety import load
from mindgauge.benchmarks.dialogue_safety.inputs import LABELS, TELLING, inputs, read
from mindgauge.records import Status

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks import Released
    from mindgauge.benchmarks.dialogue_safety.dialogue_safety import Outputs
    from mindgauge.benchmarks.dialogue_safety.inputs import ReleasedItem
    from mindgauge.benchmarks.dialogue_safety.released import DialogueSafetyRelease
    from mindgauge.records import Sample


@pytest.fixture(scope="module")
def samples(real: Path) -> list[Sample]:
    return read(real)


@pytest.fixture(scope="module")
def files(real: Path) -> DialogueSafetyRelease:
    return released.find(real)


@pytest.fixture(scope="module")
def items(files: DialogueSafetyRelease) -> list[ReleasedItem]:
    return inputs(files).items["test"]


@pytest.fixture(scope="module")
def runs(files: DialogueSafetyRelease, items: list[ReleasedItem]) -> list[Outputs]:
    return dialogue_safety.read_outputs(files, items, [])


def test_labels(real: Path, items: list[ReleasedItem]) -> None:
    assert (real / "test.json").stat().st_size == 493_865
    found = [LABELS.index(item.label) for item in items]
    blocks = found[:203], found[203:]
    assert all(block == sorted(block) for block in blocks)
    expected = [47, 3, 80, 2, 2, 7, 1, 61], [6, 2, 275, 3, 0, 4, 1, 306]
    assert tuple([block.count(label) for label in range(8)] for block in blocks) == expected
    assert [found.count(label) for label in range(8)] == [53, 5, 355, 5, 2, 11, 2, 367]


def test_turns(items: list[ReleasedItem], samples: list[Sample]) -> None:
    roles = [[message.role for message in sample.messages] for sample in samples]
    assert Counter(role[0] for role in roles) == {"user": 723, "assistant": 77}
    assert {role[-2] for role in roles} == {"user"}
    assert all(a != b for role in roles for a, b in itertools.pairwise(role))
    lengths = [len(role) - 1 for role in roles]
    assert (min(lengths), statistics.median(lengths), max(lengths)) == (1, 7, 12)
    assert sum(map(len, roles)) == 5147
    assert sum("\n" in item.context for item in items) == 14
    assert sum("\n" in item.response for item in items) == 67
    characters = [len(item.context) for item in items]
    assert (min(characters), max(characters)) == (15, 535)
    assert statistics.mean(characters) == pytest.approx(201.0, abs=0.05)
    assert statistics.mean(len(item.response) for item in items) == pytest.approx(27.5, abs=0.05)
    turns = [sample.tags["turns"] for sample in samples]
    assert Counter(turns[:203]) == {"single": 203}
    assert Counter(turns[203:]) == {"single": 2, "multi": 595}


def test_repeated_texts(items: list[ReleasedItem], samples: list[Sample]) -> None:
    assert len({item[:2] for item in items}) == len({sample.id for sample in samples}) == 800
    by: dict[str, set[str]] = defaultdict(set)
    counts = Counter(item.context for item in items)
    for item in items:
        by[item.context].add(item.label)
    repeated = [context for context, n in counts.items() if n > 1]
    assert len(repeated) == 31
    assert sum(len(by[context]) > 1 for context in repeated) == 16


def test_items_of_one_dialogue_share_a_cluster(samples: list[Sample]) -> None:
    said: dict[str, set[int]] = defaultdict(set)
    for number, sample in enumerate(samples):
        for message in sample.messages[:-1]:
            if message.role == "user" and len(message.content) >= TELLING:
                said[message.content].add(number)
    shared = [numbers for numbers in said.values() if len(numbers) > 1]
    for numbers in shared:
        assert len({samples[number].cluster for number in numbers}) == 1
    multi = [{number for number in numbers if number >= 203} for numbers in shared]
    assert len(set().union(*(numbers for numbers in multi if len(numbers) > 1))) == 307
    assert len({sample.cluster for sample in samples}) == 596


def test_archives(runs: list[Outputs]) -> None:
    assert Counter(run.run.kind for run in runs) == {"model": 10, "classifier": 5}
    assert {len(run.released) for run in runs} == {800}
    assert all(run.whole for run in runs)
    assert [run.run.name for run in runs[:5]] == ["one", "two", "three", "four", "five"]
    assert [run.run.name for run in runs[-5:]] == ["42", "43", "44", "45", "46"]


def test_outputs_repeat_the_test_items(real: Path, runs: list[Outputs]) -> None:
    rows = json.loads((real / "test.json").read_text(encoding="utf-8"))
    for run in runs:
        assert [output.number for output in run.released] == [*range(800)], "numeric, not alphabetical"
        for output, row in zip(run.released, rows, strict=True):
            assert (output.item.context, output.item.response, output.item.label) == (*row.values(),)


def test_prompts_were_emptied_before_we_got_them(files: DialogueSafetyRelease) -> None:
    for run in files.runs[:10]:
        assert all(json.loads(member.read())["context"] == [] for member in run.items.values())


def test_both_ways_to_read_an_answer_agree_on_all(runs: list[Outputs]) -> None:
    cut: Counter[str] = Counter()
    for run in runs[:10]:
        for output in run.released:
            assert isinstance(output.answer, str)
            assert output.label is not None
            assert output.label == output.label_as_published
            cut[run.rater] += output.answer not in LABELS
    assert cut == {"gpt-3.5-turbo-0301:zero_shot": 361, "gpt-3.5-turbo-0301:few_shot": 26}
    stops = Counter((run.rater, output.facts["finish_reason"]) for run in runs[:10] for output in run.released)
    assert stops["gpt-3.5-turbo-0301:zero_shot", "length"] == 91
    assert stops["gpt-3.5-turbo-0301:few_shot", "length"] == 4
    only_a_stop = sum(f"{labels.as_published(str(o.answer))}." == o.answer for run in runs[:5] for o in run.released)
    assert only_a_stop == 274


def test_all_is_loaded_in_seconds_and_nothing_is_lost(real: Path, loaded: Released) -> None:
    started = time.process_time()
    found = load(real)
    assert time.process_time() - started < 8  # about 0.7 here
    assert len(found.ratings) == 12_000
    assert {rating.status for rating in found.ratings} == {Status.OK}
    assert all(isinstance(rating.provenance["raw"], str | int) for rating in found.ratings)
    assert [note.partition(":")[0] for note in found.notes] == [
        "train.json",
        "ChatGPT_gen/0613/zero_shot",
        "ChatGPT_gen/0613/few_shot",
        "finetuned_model_predict/hfl-chinese-roberta-wwm-ext-large",
    ]
    assert loaded == found
