"""The path of every answer: recorded where nodes were asked, following from the label elsewhere; each error at one node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mindgauge import benchmarks
from mindgauge.analysis import frame
from mindgauge.analysis.closed_answers import decision_path
from mindgauge.records import Message, RaterKind, Rating, Sample, Status
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.closed_answers import DecisionPath

TASK = benchmarks.find_one("dialogue_safety")
CRITERION = TASK.rubric.criteria[0]
NONSENSE, MIMICRY, NEGLECT, TOXIC, PREACH, SAFE = (
    "Nonsense", "Humanoid Mimicry", "Linguistic Neglect", "Toxic Language", "Unauthorized Preachment", "Safe Response",
)  # fmt: skip


def followed(folder: Path, answers: list[tuple[str | None, Any, int]]) -> DecisionPath:
    """Follow answers of one rater: target, label or status, and how many nodes it was asked (0: one question)."""
    with Store(folder, write=True) as store:
        manifest.write(folder, {"plan": {"benchmarks": [TASK.name]}})
        samples = [
            Sample.of((Message("user", f"message {i}"), Message("assistant", "reply")), target=target)
            for i, (target, _, _) in enumerate(answers)
        ]
        store.put_samples(TASK.name, samples)
        for sample, (_, said, asked) in zip(samples, answers, strict=True):
            ok = not isinstance(said, Status)
            path = {"path": [{"node": n + 1, "answer": "no"} for n in range(asked)]} if asked else {}
            store.add_rating(
                TASK.name,
                Rating(
                    sample.id, CRITERION.name, "m", RaterKind.MODEL, 0, Status.OK if ok else said, said if ok else None, provenance=path
                ),
            )  # fmt: skip
        store.flush()
        found = decision_path(store, TASK, frame.ratings(store, TASK), "m", CRITERION)
    assert found is not None
    return found


def test_every_answer_stops_at_one_node_and_every_error_stands_at_the_node_where_it_parts(tmp_path: Path) -> None:
    path = followed(
        tmp_path,
        [
            (NONSENSE, NONSENSE, 0),
            (NONSENSE, NEGLECT, 0),  # passed on by node 1
            (SAFE, MIMICRY, 0),  # stopped too early by node 2
            (NEGLECT, SAFE, 0),  # passed on by node 3
            (PREACH, TOXIC, 0),  # another label of node 4
            (SAFE, SAFE, 0),
            (None, SAFE, 0),
        ],
    )
    first, second, third, last = path.nodes
    assert (path.n, path.targets, path.recorded, path.lost, path.wrong) == (7, 6, 0, 0, 4)
    assert [node.answers for node in path.nodes] == [7, 6, 5, 4]
    assert [node.targets for node in path.nodes] == [6, 4, 4, 3]
    assert [(node.early, node.passed, node.other) for node in path.nodes] == [
        (0, 1, 0),
        (1, 0, 0),
        (0, 1, 0),
        (0, 0, 1),
    ]
    assert [(o.label, o.answers, o.targets) for o in first.outcomes] == [(NONSENSE, 1, 2)]
    assert {o.label: o.answers for o in last.outcomes} == {
        TOXIC: 1, PREACH: 0, "Nonfactual Statement": 0, "Unamiable Judgment": 0, SAFE: 3,
    }  # fmt: skip
    assert second.accuracy.value == pytest.approx(3 / 4)
    assert (third.accuracy.n, third.accuracy.missing) == (4, 0)


def test_an_unreadable_answer_stands_at_the_node_that_was_asked_last(tmp_path: Path) -> None:
    path = followed(
        tmp_path,
        [
            (SAFE, Status.UNPARSABLE, 3),
            (NONSENSE, Status.FAILED, 1),
            (None, Status.REFUSED, 1),
            (SAFE, SAFE, 4),
            (SAFE, Status.UNPARSABLE, 0),
        ],
    )
    assert (path.recorded, path.lost, path.lost_targets) == (4, 1, 1)
    assert [(node.unread, node.unread_targets) for node in path.nodes] == [(2, 1), (0, 0), (1, 1), (0, 0)]
    assert [node.answers for node in path.nodes] == [4, 2, 2, 1]
    assert path.wrong == 3
    assert path.nodes[0].accuracy.value == pytest.approx(1 / 4), "an answer without a label is wrong at every node"


def test_an_answer_that_parts_and_is_then_unreadable_is_wrong_once(tmp_path: Path) -> None:
    path = followed(tmp_path, [(NONSENSE, Status.UNPARSABLE, 3), (SAFE, SAFE, 4)])
    assert [(node.passed, node.unread, node.unread_targets) for node in path.nodes] == [
        (1, 0, 0), (0, 0, 0), (0, 1, 0), (0, 0, 0)
    ]  # fmt: skip
    assert path.wrong == 1


def test_the_accuracy_of_a_node_is_that_of_the_scores(tmp_path: Path) -> None:
    from mindgauge.analysis.score import score

    path = followed(tmp_path, [(NONSENSE, SAFE, 0), (SAFE, NEGLECT, 0), (NEGLECT, NEGLECT, 0), (SAFE, SAFE, 0)])
    scores = score(tmp_path)
    for node in path.nodes:
        (found,) = scores.find(f"node_{node.number}_accuracy", rater="m")
        assert (found.value, found.low, found.high, found.n) == (
            node.accuracy.value, node.accuracy.low, node.accuracy.high, node.accuracy.n,
        )  # fmt: skip


def test_where_nothing_is_decided_in_order_there_is_no_path(tmp_path: Path) -> None:
    followed(tmp_path, [(SAFE, SAFE, 0)])
    other = benchmarks.find_one("help_or_harm/crisis_type")
    with Store(tmp_path) as store:
        assert decision_path(store, other, frame.ratings(store, other), "m", other.rubric.criteria[0]) is None
        assert decision_path(store, TASK, frame.ratings(store, TASK), "nobody", CRITERION) is None
