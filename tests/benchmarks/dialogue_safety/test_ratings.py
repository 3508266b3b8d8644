from __future__ import annotations

import json
import zipfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mindgauge.benchmarks.dialogue_safety.dialogue_safety import load
from mindgauge.benchmarks.dialogue_safety.inputs import LABELS
from mindgauge.records import RaterKind, Rating, Status, encode

from .conftest import CHAT, ENCODER, ITEMS, PROMPT, RUNS, SEEDS, completion, guess, noted, row

if TYPE_CHECKING:
    from mindgauge.benchmarks import Released

    from .conftest import Copy

ZERO, FEW, BERT = "gpt-3.5-turbo-0301:zero_shot", "gpt-3.5-turbo-0301:few_shot", "bert-base-chinese"


def of(found: Released, rater: str, run: int) -> list[Rating]:
    """Return a run's ratings in the order of the items."""
    by = {r.subject: r for r in found.ratings if (r.rater, r.run) == (rater, run)}
    return [by[sample.id] for sample in found.samples if sample.id in by]


def bare(found: Released) -> list[Rating]:
    return [msgspec.structs.replace(rating, provenance={}) for rating in found.ratings]


def test_every_run_rates_every_item_in_the_order_of_runs_and_numbers(small: Copy) -> None:
    found = load(small.root)
    assert len(found.ratings) == 3 * 5 * ITEMS
    assert {rating.criterion for rating in found.ratings} == {"category"}
    assert Counter((r.rater, r.rater_kind) for r in found.ratings) == {
        (ZERO, RaterKind.MODEL): 60,
        (FEW, RaterKind.MODEL): 60,
        (BERT, RaterKind.CLASSIFIER): 60,
    }
    for run in range(5):
        assert [r.value for r in of(found, ZERO, run)] == [LABELS[guess(item, run)] for item in range(ITEMS)]
        assert [r.value for r in of(found, BERT, run)] == [LABELS[guess(item, run + 1)] for item in range(ITEMS)]
        assert {r.provenance["seed"] for r in of(found, BERT, run)} == {SEEDS[run]}
        assert {r.provenance["source_folder"] for r in of(found, ZERO, run)} == {f"{CHAT}/zero_shot/{RUNS[run]}"}
    assert [r.provenance["source_row"] for r in of(found, ZERO, 0)] == [*range(ITEMS)]


def test_the_answer_is_kept_as_it_was_and_the_prompt_is_not(small: Copy) -> None:
    found = load(small.root)
    rating = of(found, FEW, 0)[0]
    assert rating.value == LABELS[guess(0, 0)]
    assert rating.provenance["raw"] == f"{rating.value}."
    assert rating.provenance.items() >= {"finish_reason": "stop", "prompt_tokens": 1100, "id": "chatcmpl-1"}.items()
    assert PROMPT not in encode([found.samples, found.ratings, found.notes]).decode()
    for path in (small.root / CHAT).rglob("*.json"):
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"context": []}))
    assert load(small.root) == found


def test_an_archive_is_read_in_place_and_gives_the_same(small: Copy) -> None:
    expected = load(small.root)
    small.archive("ChatGPT_gen", "ChatGPT_gen_0301.zip")
    small.archive("finetuned_model_predict", "finetuned_bert.zip")
    before = sorted(small.root.rglob("*"))
    found = load(small.root)
    assert (bare(found), found.samples, found.notes) == (bare(expected), expected.samples, expected.notes)
    assert sorted(small.root.rglob("*")) == before, "nothing was unpacked"
    assert {r.provenance["source_file"] for r in found.ratings} == {"ChatGPT_gen_0301.zip", "finetuned_bert.zip"}


def test_an_archive_beside_its_own_unpacked_files_counts_once(small: Copy) -> None:
    expected = load(small.root)
    files = {p: p.read_bytes() for p in (small.root / "ChatGPT_gen").rglob("*.json")}
    small.archive("ChatGPT_gen", "ChatGPT_gen_0301.zip")
    for path, content in files.items():
        path.write_bytes(content)
    found = load(small.root)
    assert len(found.ratings) == len(expected.ratings)
    assert len(noted(found, f"{ITEMS} files a second time, not read")) == 10


def test_the_folder_given_may_be_any_above_or_the_version_itself(small: Copy) -> None:
    expected = bare(load(small.root))
    assert bare(load(small.root.parent)) == expected
    (small.root / CHAT / "test.json").write_bytes((small.root / "test.json").read_bytes())
    assert Counter(r.rater for r in load(small.root / CHAT).ratings) == {ZERO: 60, FEW: 60}


def test_any_version_encoder_and_number_of_runs(small: Copy) -> None:
    for item in range(ITEMS):
        for name in ("two", "eleven", "ten"):
            answer = completion(row(item), LABELS[guess(item, len(name))], model="gpt-4x-0101")
            del answer["usage"]
            small.write(f"ChatGPT_gen/0101/zero_shot/{name}/{item}.json", answer)
        small.write(f"finetuned_model_predict/my-encoder/7/{item}.json", row(item) | {"predict_label": "Nonsense"})
        small.write(f"finetuned_model_predict/my-encoder/100/{item}.json", row(item) | {"predict_label": 7})
    found = load(small.root)
    assert [r.provenance["source_folder"].rpartition("/")[2] for run in range(3) for r in of(found, "gpt-4x-0101:zero_shot", run)[:1]] == ["two", "ten", "eleven"]  # fmt: skip
    assert {r.value for r in of(found, "my-encoder", 0)} == {"Nonsense"}
    assert {r.value for r in of(found, "my-encoder", 1)} == {"Safe Response"}


def test_what_the_authors_released_and_is_not_here_is_listed(small: Copy) -> None:
    found = load(small.root)
    assert [note.partition(":")[0] for note in noted(found, ": missing (")] == [
        "ChatGPT_gen/0613/zero_shot",
        "ChatGPT_gen/0613/few_shot",
        "finetuned_model_predict/hfl-chinese-roberta-wwm-ext-large",
    ]
    for path in [*(small.root / "ChatGPT_gen").rglob("*.json"), *(small.root / "finetuned_model_predict").rglob("*.json")]:  # fmt: skip
        path.unlink()
    found = load(small.root)
    assert (len(found.samples), found.ratings) == (ITEMS, [])
    assert noted(found, "no stored output is here")


# -- answers that cannot be read -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "more", "status"),
    [
        ("This reply could be", {}, Status.UNPARSABLE),
        ("Nonsense or Safe Response", {}, Status.UNPARSABLE),
        ("", {}, Status.UNPARSABLE),
        (None, {}, Status.UNPARSABLE),
        ("I'm sorry, but I cannot classify this.", {}, Status.REFUSED),
        ("", {"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}, Status.FILTERED),
        ("", {"choices": []}, Status.UNPARSABLE),
    ],
)
def test_an_answer_without_a_label_is_an_outcome_and_takes_no_neighbour_s(
    small: Copy, answer: str | None, more: dict[str, Any], status: Status
) -> None:
    for item in (0, 6):  # the first one too, where the authors' script stops
        small.answer(f"zero_shot/one/{item}", answer, **more)
    found = load(small.root)
    ratings = of(found, ZERO, 0)
    assert [(r.status, r.value) for r in (ratings[0], ratings[6])] == [(status, None)] * 2
    assert [r.value for r in ratings[1:6]] == [LABELS[guess(item, 0)] for item in range(1, 6)]
    assert len(ratings) == ITEMS
    if status is Status.UNPARSABLE and not more:
        assert ratings[0].provenance["raw"] == answer
    assert noted(found, f"{CHAT}/zero_shot/one: 2 answers are {status}")


@pytest.mark.parametrize("predicted", [8, "Unsafe", None, [7]])
def test_a_predicted_label_that_is_none(small: Copy, predicted: object) -> None:
    small.write(f"{ENCODER}/44/3.json", row(3) | {"predict_label": predicted})
    rating = of(load(small.root), BERT, 2)[3]
    assert (rating.status, rating.value, rating.provenance["raw"]) == (Status.UNPARSABLE, None, predicted)


# -- files that are missing, damaged or astray ---------------------------------------------------------------------


def test_an_item_that_a_run_lacks_has_failed(small: Copy) -> None:
    for item in (2, 10):
        (small.root / f"{CHAT}/zero_shot/three/{item}.json").unlink()
    found = load(small.root)
    ratings = of(found, ZERO, 2)
    assert len(ratings) == ITEMS
    assert [i for i, r in enumerate(ratings) if r.status is Status.FAILED] == [2, 10]
    assert noted(found, "zero_shot/three: 2 items: 2, 10: no output; counted as failed")


@pytest.mark.parametrize("content", ['{"choices": [{"mess', "[]", '{"error": "timeout"}', "null", ""])
def test_a_damaged_file_is_noted_and_its_item_has_failed(small: Copy, content: str) -> None:
    (small.root / f"{CHAT}/few_shot/two/4.json").write_text(content)
    (small.root / f"{ENCODER}/42/4.json").write_text(content)
    found = load(small.root)
    for rater, run, folder in ((FEW, 1, f"{CHAT}/few_shot/two"), (BERT, 0, f"{ENCODER}/42")):
        assert of(found, rater, run)[4].status is Status.FAILED
        assert len(noted(found, f"{folder}: item 4: ")) == 2


def test_a_damaged_member_of_an_archive_costs_its_item_only(small: Copy) -> None:
    path = small.archive("ChatGPT_gen", "ChatGPT_gen_0301.zip")
    name = f"{CHAT}/zero_shot/one/5.json"
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo(name).header_offset + 30 + len(name)
    content = bytearray(path.read_bytes())
    content[start + 20 : start + 40] = bytes(20)
    path.write_bytes(content)
    found = load(small.root)
    assert [i for i, r in enumerate(of(found, ZERO, 0)) if r.status is Status.FAILED] == [5]
    assert noted(found, "zero_shot/one: item 5: damaged: ")


def test_a_broken_archive_is_noted(small: Copy) -> None:
    path = small.archive("ChatGPT_gen", "ChatGPT_gen_0301.zip")
    path.write_bytes(path.read_bytes()[:2000])
    found = load(small.root)
    assert noted(found, "ChatGPT_gen_0301.zip: not a zip file that can be read")
    assert {r.rater for r in found.ratings} == {BERT}


def test_stray_files_are_not_outputs(small: Copy) -> None:
    expected = load(small.root)
    small.write("__MACOSX/ChatGPT_gen/0301/zero_shot/one/0.json", {"choices": []})
    small.write(f"{CHAT}/zero_shot/one/._0.json", {"choices": []})
    small.write(f"{CHAT}/zero_shot/one/notes.json", {"choices": []})
    small.write("somewhere/else/3.json", {"a": 1})
    assert load(small.root) == expected


def test_an_item_at_another_number_is_joined_by_its_text(small: Copy) -> None:
    small.write(f"{CHAT}/zero_shot/one/1.json", completion(row(3), "Toxic Language"))
    small.write(f"{CHAT}/zero_shot/one/3.json", completion(row(1), "Nonsense"))
    found = load(small.root)
    assert [r.value for r in of(found, ZERO, 0)[1:4:2]] == ["Nonsense", "Toxic Language"]
    assert noted(found, "2 items: 1, 3: the item stands elsewhere in test.json; joined by its text")


def test_an_unknown_item_is_left_out_and_its_place_has_failed(small: Copy) -> None:
    small.write(f"{CHAT}/zero_shot/one/1.json", completion(row(77), "Nonsense"))
    small.write(f"{CHAT}/zero_shot/one/40.json", {"choices": [{"message": {"content": "Nonsense"}}]})
    found = load(small.root)
    assert of(found, ZERO, 0)[1].status is Status.FAILED
    assert noted(found, "item 1: the item is not in test.json; left out")
    assert noted(found, "item 40: test.json has no such row; left out")


def test_an_item_that_two_files_of_a_run_answer_keeps_the_first(small: Copy) -> None:
    small.write(f"{CHAT}/zero_shot/one/40.json", completion(row(1), LABELS[(guess(1, 0) + 1) % 8]))
    found = load(small.root)
    assert of(found, ZERO, 0)[1].value == LABELS[guess(1, 0)]
    assert noted(found, "item 40: the item was answered by another file of this run; left out")


def test_another_gold_label_in_an_output_is_noted_and_not_taken(small: Copy) -> None:
    small.write(f"{ENCODER}/42/3.json", row(3) | {"label": 7, "predict_label": 3})
    found = load(small.root)
    assert found.samples[3].target == "Unamiable Judgment"
    assert noted(found, f"{ENCODER}/42: item 3: the label is not that of test.json, which is kept")


def test_outputs_without_their_item_are_joined_by_number(small: Copy) -> None:
    expected = bare(load(small.root))
    for path in (small.root / CHAT).rglob("*.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        del content["item"]
        path.write_text(json.dumps(content))
    assert bare(load(small.root)) == expected


def test_two_models_in_one_folder_are_said(small: Copy) -> None:
    small.answer("zero_shot/two/0", "Nonsense", model="gpt-3.5-turbo")
    found = load(small.root)
    assert noted(found, "ChatGPT_gen/0301/zero_shot: 59 by gpt-3.5-turbo-0301, 1 by gpt-3.5-turbo")
    assert len(of(found, ZERO, 1)) == ITEMS
