from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.benchmarks.dialogue_safety.dialogue_safety import load
from mindgauge.benchmarks.dialogue_safety.inputs import LABELS, read
from mindgauge.records.errors import DataError

from .conftest import ITEMS, label, noted, row

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Copy


def test_an_item_is_a_sample_whose_last_message_is_the_reply(small: Copy) -> None:
    found = read(small.root)
    assert [sample.target for sample in found] == [LABELS[label(item)] for item in range(ITEMS)]
    assert [message.role for message in found[4].messages] == ["assistant", "user", "assistant", "user", "assistant"]
    assert found[4].messages[2].content == "慢慢说。\n我在听。"
    assert found[4].messages[-1].content == "第4条编造的回复。"
    assert {sample.tags["turns"] for sample in found[:4]} == {"single"}
    assert {sample.tags["turns"] for sample in found[4:]} == {"multi"}
    assert {(sample.tags["language"], sample.tags["split"]) for sample in found} == {("zh", "test")}
    assert all(sample.cluster == sample.id for sample in found)


def test_the_file_is_found_wherever_it_lies_also_in_an_archive(small: Copy) -> None:
    expected = read(small.root)
    deep = small.root / "a/b/test.json"
    deep.parent.mkdir(parents=True)
    (small.root / "test.json").rename(deep)
    assert read(small.root) == expected
    with zipfile.ZipFile(small.root / "whole.zip", "w") as archive:
        archive.write(deep, "DialogueSafety-main/data/test.json")
    deep.unlink()
    assert read(small.root) == expected


def test_labels_may_be_ids_or_names(small: Copy) -> None:
    expected = read(small.root)
    small.change(2, label="Linguistic Neglect")
    small.change(4, label="toxicity language")
    small.change(7, label="7")
    small.change(6, label=6.0)
    assert read(small.root) == expected


def test_other_keys_and_other_sizes_do_no_harm(small: Copy) -> None:
    small.write("test.json", [row(1) | {"id": "x"}, row(9)])
    assert [sample.target for sample in read(small.root)] == ["Humanoid Mimicry", "Safe Response"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gb18030"])
def test_other_encodings(small: Copy, encoding: str) -> None:
    expected = read(small.root)
    path = small.root / "test.json"
    path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    assert read(small.root) == expected
    assert len(noted(load(small.root), "read as GB 18030")) == (encoding == "gb18030")


def test_escaped_text_is_the_same_text(small: Copy) -> None:
    expected = read(small.root)
    (small.root / "test.json").write_text(json.dumps(small.rows(), ensure_ascii=True))
    assert read(small.root) == expected


def test_items_of_one_dialogue_are_one_cluster(small: Copy) -> None:
    words = "[seeker]这一句话足够长，不会碰巧说两遍。"
    small.change(9, context="[supporter]你好。" + words)
    small.change(10, context=words + "[supporter]然后呢？[seeker]没了")
    small.change(11, context=small.rows()[3]["context"])
    found = read(small.root)
    assert found[10].cluster == found[9].cluster == found[9].id
    assert found[11].cluster == found[3].cluster == found[3].id
    assert len({sample.cluster for sample in found}) == ITEMS - 2


# -- the training file ---------------------------------------------------------------------------------------------


def test_without_the_training_file_it_is_said_how_to_get_it(small: Copy) -> None:
    (note,) = noted(load(small.root), "train.json")
    assert "data-use agreement" in note


def test_the_training_file_is_a_split_of_its_own(small: Copy) -> None:
    small.write("train.json", [row(item) | {"label": 2} for item in range(20, 24)])
    found = load(small.root)
    assert [sample.tags["split"] for sample in found.samples] == ["test"] * ITEMS + ["train"] * 4
    assert not noted(found, "train.json")
    assert {rating.subject for rating in found.ratings} == {sample.id for sample in found.samples[:ITEMS]}


def test_a_training_item_that_is_a_test_item_stays_a_test_item(small: Copy) -> None:
    shared = small.rows()[5]
    small.write("train.json", [row(20), shared, row(21) | {"context": shared["context"]}])
    found = load(small.root)
    assert len(found.samples) == ITEMS + 2
    (note,) = noted(found, "train.json")
    assert note == "train.json: row 1 has the text of test row 5; both are one sample, that of test"
    assert found.samples[-1].cluster == found.samples[5].cluster


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"label": "Safe Respons"}, "row 3 has the label 'Safe Respons'; did you mean 'Safe Response'?"),
        ({"label": 8}, "row 3 has the label 8; there are the ids 0 to 7 and Nonsense"),
        ({"label": None}, "row 3 has the label None"),
        ({"context": "[seeker]"}, "row 3 has an empty context"),
        ({"response": "[supporter] \n"}, "row 3 has an empty response"),
        ({"context": ["一"]}, "row 3 has a context that is no text, but list"),
    ],
)
def test_a_bad_row_is_named_in_one_line(small: Copy, cells: dict[str, Any], said: str) -> None:
    small.change(3, **cells)
    with pytest.raises(DataError) as error:
        read(small.root)
    assert str(error.value).startswith(f"{small.root / 'test.json'}: {said}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([row(0), {"question": "一", "answer": "二"}], "row 1 has no context and no response and no label; expected context, response and label, found question, answer"),
        ([row(0), {}], "found nothing"),
        ([row(0), "一"], "row 1 is no object with context, response and label, but str"),
        ({"data": []}, "expected a list of context, response and label, found dict"),
        ([], "an empty list"),
        ([row(0) | {"label": 9}, row(1) | {"label": 9}, row(2)], "(and 1 more rows with a fault)"),
    ],
)  # fmt: skip
def test_another_schema_is_refused(small: Copy, content: object, said: str) -> None:
    small.write("test.json", content)
    with pytest.raises(DataError) as error:
        read(small.root)
    assert said in str(error.value)


def test_broken_files(small: Copy, tmp_path: Path) -> None:
    path = small.root / "test.json"
    path.write_text(path.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    with pytest.raises(DataError, match=r"test\.json:1: broken JSON"):
        read(small.root)
    path.write_bytes(b'["\xff\xff"]')
    with pytest.raises(DataError, match="neither UTF-8 nor GB 18030"):
        read(small.root)
    path.unlink()
    with pytest.raises(DataError, match=r"no test\.json here; expected"):
        read(small.root)
    with pytest.raises(DataError, match="no such folder"):
        read(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"context": "没有标签的一句话。"}, "1 rows begin without a role tag, the first is row 3"),
        ({"context": "[seeker]一[seeker]二"}, "have two turns of one side in a row"),
        ({"context": "[seeker]一[supporter]二"}, "end their context with the supporter's turn"),
        ({"response": "没有标签"}, "have a response without the supporter's tag"),
    ],
)
def test_what_was_read_with_a_guess_is_noted(small: Copy, cells: dict[str, Any], said: str) -> None:
    small.change(3, **cells)
    assert noted(load(small.root), said)
