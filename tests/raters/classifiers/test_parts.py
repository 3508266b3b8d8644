"""Nothing of a dialogue stands on both sides, and labels are spread as evenly as whole dialogues allow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.raters.classifiers import dialogues
from mindgauge.records import Message, Sample
from mindgauge.records.errors import DataError
from tests.thinned import examples

LABELS = ("a", "b", "c")
LONG = "I have not slept properly since the move and my chest is tight all day"


def sample(text: str, target: str = "a", cluster: str = "", reply: str = "") -> Sample:
    more = (Message("assistant", reply),) if reply else ()
    return Sample.of((Message("user", text), *more), target=target, cluster=cluster)


def test_samples_of_one_dialogue_text_or_long_turn_are_one_group() -> None:
    found = dialogues.groups([
        sample("hello", cluster="x"),
        sample("good evening", cluster="x"),
        sample("Good  EVENING"),  # the same text as the second
        sample("hi", reply="How are you?"),
        sample("hi", reply="Tell me more."),  # another reply to the same turn
        sample(LONG, cluster="p"),
        sample(LONG + "!", cluster="q"),  # nearly the same, yet not
        Sample.of((Message("user", "yes"), Message("assistant", "go on"), Message("user", LONG)), target="a"),
    ])  # fmt: skip
    assert found.tolist() == [found[0]] * 3 + [found[3]] * 2 + [found[5], found[6], found[5]]
    assert len(set(found.tolist())) == 4


def test_a_long_turn_is_shorter_in_chinese() -> None:
    one = "我这几天一直睡不着觉心里很慌不知道怎么办"
    two = (Message("user", one), Message("assistant", "嗯"), Message("user", "好"))
    assert len(set(dialogues.groups([sample(one), Sample.of(two, target="a")]).tolist())) == 1
    short = (Message("user", one[:10]), Message("assistant", "嗯"), Message("user", "好"))
    assert len(set(dialogues.groups([sample(one[:10]), Sample.of(short, target="a")]).tolist())) == 2


def test_training_data_is_cleared_of_what_is_tested() -> None:
    train = [sample("one"), sample("TWO", "b"), sample("three", cluster="talk"), sample(LONG)]
    test = [sample("two"), sample("seven", cluster="talk")]
    found = dialogues.separate(train, test)
    assert [s.messages[0].content for s in found] == ["one", LONG]
    assert dialogues.separate(train, []) == train


@examples(60)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 15)), min_size=1, max_size=60),
    st.integers(2, 10),
)
def test_groups_are_never_divided(rows: list[tuple[int, int]], folds: int) -> None:
    codes, groups = (np.array(column, dtype=np.intp) for column in zip(*rows, strict=True))
    whole = dialogues.DataSplit(
        tuple(sample(f"text {i}") for i in range(len(rows))), codes, np.unique(groups, return_inverse=True)[1]
    )
    found = dialogues.divide(whole, folds)
    assert np.array_equal(np.sort(np.concatenate(found)), np.arange(len(rows)))
    owners = [set(whole.groups[part].tolist()) for part in found]
    assert sum(map(len, owners)) == len(set().union(*owners))
    assert all(np.array_equal(a, b) for a, b in zip(found, dialogues.divide(whole, folds), strict=True))


def test_shares_and_labels_are_kept_where_groups_are_small() -> None:
    generator = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [300, 90, 10]).astype(np.intp)
    groups = np.arange(400) // 2
    whole = dialogues.DataSplit(tuple(sample(str(i)) for i in range(400)), codes, generator.permutation(200)[groups])
    counts = np.array([np.bincount(codes[rows], minlength=3) for rows in dialogues.divide(whole, 5)])
    assert np.abs(counts - [60, 18, 2]).max() <= 2


def test_a_limit_takes_labels_in_turn() -> None:
    whole = dialogues.part(
        [sample(f"{label} {i}", label) for label, n in (("a", 8), ("b", 2)) for i in range(n)], LABELS
    )
    assert [s.target for s in dialogues.spread(whole, 5).samples] == ["a", "a", "a", "b", "b"]


def test_too_few_examples_are_said() -> None:
    found = dialogues.part([sample("1"), sample("2"), sample("3", "b")], LABELS)
    dialogues.check(found)
    with pytest.raises(DataError, match="one label only"):
        dialogues.check(found.take(np.array([0, 1])))
    with pytest.raises(DataError, match="no labelled samples are left"):
        dialogues.check(found.take(np.array([], dtype=np.intp)))
