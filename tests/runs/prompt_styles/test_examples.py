"""No example gives an answer away: where they come from, which are drawn, and what the manifest says of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.prompt import transcript
from mindgauge.store import manifest
from tests.runs.prompt_styles.conftest import LABELS, OWN, Model, examples, ratings, run, sample

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark


@pytest.mark.parametrize(("shots", "seed"), [(1, 0), (2, 7)])
def test_examples_are_never_of_the_dialogue_asked_about(
    replies: Benchmark, tmp_path: Path, shots: int, seed: int
) -> None:
    model = Model()
    run(tmp_path / "r", model, "few-shot", shots=shots, shot_seed=seed)
    by_text = {transcript(s.messages): s for s in OWN}
    own = {s.id: s for s in OWN}
    given = {r.subject: r.provenance["shots"] for r in ratings(tmp_path / "r", "m (few-shot)")}
    for request in model.requests:
        assert request.sample is not None
        shown = [(by_text[text], label) for text, label in examples(request)]
        assert Counter(label for _, label in shown) == dict.fromkeys(LABELS, shots)
        assert given[request.sample.id] == [s.id for s, _ in shown]
        for example, label in shown:
            assert example.target == label
            assert example.cluster != own[request.sample.id].cluster
            assert example.tags["language"] == request.sample.tags["language"]
    assert len(model.requests) == 32
    plan = manifest.read(tmp_path / "r")["plan"]
    assert (plan["ask"], plan["shots"], plan["shot_seed"]) == (["few-shot"], shots, seed)
    assert plan["shown"]["replies"] == sorted({ident for ids in given.values() for ident in ids})


def test_a_seed_repeats_the_examples_and_another_one_changes_them(replies: Benchmark, tmp_path: Path) -> None:
    shown = []
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        model = Model()
        run(tmp_path / name, model, "few-shot", shot_seed=seed, runs=2)
        shown.append([examples(r) for r in model.requests])
        assert shown[-1][::2] == shown[-1][1::2], "all repeats see the same"
    assert shown[0] == shown[1] != shown[2]
    with pytest.raises(UsageError, match=r"another plan \(.*--shot-seed is 4, this run\'s is 3"):
        run(tmp_path / "a", Model(), "few-shot", shot_seed=4, runs=2)


def test_examples_come_from_the_training_part_where_there_is_one(
    register: Callable[..., Benchmark], tmp_path: Path
) -> None:
    test = [sample(1000 + i, label, tags={"split": "test"}, cluster=f"d{i}") for i, label in enumerate(LABELS)]
    train = [
        sample(2000 + 10 * i + n, label, tags={"split": "train"}, cluster=f"d{i}" if n < 2 else f"t{i}{n}")
        for i, label in enumerate(LABELS)
        for n in range(5)
    ]
    found = register(read=lambda _: [*test, *train])
    allowed = {s.id for s in train if s.cluster.startswith("t")}
    assert {s.id for s in found.training(tmp_path)} == allowed, "none that shares a dialogue with a test item"
    used: set[str] = set()
    for seed in range(12):
        run(tmp_path / f"r{seed}", Model(), "few-shot", data=tmp_path, shots=2, shot_seed=seed)
        rated = ratings(tmp_path / f"r{seed}", "m (few-shot)")
        assert {r.subject for r in rated} == {s.id for s in test}
        assert len({tuple(r.provenance["shots"]) for r in rated}) == 1, "the same for all items"
        used |= {ident for r in rated for ident in r.provenance["shots"]}
    assert used == allowed
    with pytest.raises(DataError, match=r"needs 4 examples of 'Safe' in 'en', the training part has 3"):
        run(tmp_path / "many", Model(), "few-shot", data=tmp_path, shots=4)


def test_without_a_training_part_examples_are_our_own(register: Callable[..., Benchmark], tmp_path: Path) -> None:
    test = [sample(1000 + i, label, tags={"split": "test"}) for i, label in enumerate(LABELS)]
    register(read=lambda _: test)
    model = Model()
    run(tmp_path / "r", model, "few-shot", data=tmp_path)
    shown = {ident for r in ratings(tmp_path / "r", "m (few-shot)") for ident in r.provenance["shots"]}
    assert len(shown) == 4 and shown <= {s.id for s in OWN}


def test_too_few_examples_are_one_line_before_anything_is_sent(replies: Benchmark, tmp_path: Path) -> None:
    model = Model()
    with pytest.raises(
        DataError, match=r"few-shot needs 3 examples of 'Safe' in 'en', the training part has 2 outside"
    ):
        run(tmp_path / "r", model, shots=3)
    assert not model.requests
    assert not (tmp_path / "r").exists()
