"""A file that is not as released is named, with what was expected and what was found."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.benchmarks.trustmh import trustmh
from mindgauge.benchmarks.trustmh.emotion import emotion
from mindgauge.benchmarks.trustmh.ethics import dilemmas
from mindgauge.benchmarks.trustmh.jailbreak import jailbreak
from mindgauge.benchmarks.trustmh.knowledge import knowledge
from mindgauge.benchmarks.trustmh.privacy_leakage import privacy_leakage
from mindgauge.benchmarks.trustmh.released import dialogues
from mindgauge.benchmarks.trustmh.released import (
    files as lists,
)
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LINE = json.dumps({
    "question": "Which?", "options": {"A": "this", "B": "that"}, "answer": "B", "meta_info1": "step1", "meta_info2": ["ocd"],
})  # fmt: skip
STORY = (
    "<BEGIN><anxiety,counselor,friend,to provide help>\nDr. A is a counsellor.\n\nOne day B asked.\nWhat should Dr. A say?\n\n\n"
    "<END><anxiety,counselor,friend,to provide help><About: C, Questionee: Dr. A, Questioner: B, Topic: anxiety>\n"
)
CONTROL = "Is it ok for Dr. A to share C's anxiety with B in order to to provide help?"


def below(folder: Path, **files: str | bytes) -> TrustMHRelease:
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return TrustMHRelease.below(folder)


def exam(files: TrustMHRelease) -> object:
    return knowledge.examination(files, knowledge.USMLE, 1)


FAULTS: dict[str, tuple[Callable[[TrustMHRelease], object], dict[str, str | bytes], str]] = {
    "missing": (exam, {}, ": no USMLE-mental.jsonl here; they come with PsyEval (MIT)"),
    "truncated": (exam, {"USMLE-mental__jsonl": LINE + "\n" + LINE[:40]}, "USMLE-mental.jsonl:2: broken JSON ("),
    "no key": (exam, {"USMLE-mental__jsonl": '{"question": "Which?"}'}, "USMLE-mental.jsonl:1: expected options, answer, found question"),
    "no such option": (exam, {"USMLE-mental__jsonl": LINE.replace('"answer": "B"', '"answer": "E"')}, "USMLE-mental.jsonl:1: expected an answer among A, B, found 'E'"),
    "encoding": (exam, {"USMLE-mental__jsonl": b"\xff" + LINE.encode()}, "USMLE-mental.jsonl: not UTF-8 at byte 0; save it as UTF-8"),
    "column": (trustmh.users, {"500_Reddit_users_posts_labels__csv": "User,Label\nu,Attempt\n"}, "500_Reddit_users_posts_labels.csv: expected columns Post, found User, Label"),
    "no posts": (trustmh.users, {"500_Reddit_users_posts_labels__csv": "User,Post,Label\nu,[,Attempt\n"}, "500_Reddit_users_posts_labels.csv:2: expected a post, found an empty list"),
    "label": (
        trustmh.users, {"500_Reddit_users_posts_labels__csv": "User,Post,Label\nu,['a'],Severe\n"},
        "500_Reddit_users_posts_labels.csv:2: Label: expected one of Attempt, Behavior, Ideation, Indicator, Supportive, found 'Severe'",
    ),
    "list": (trustmh.users, {"500_Reddit_users_posts_labels__csv": "User,Post,Label\nu,a b,Attempt\n"}, "500_Reddit_users_posts_labels.csv:2: expected a list of posts, found no list"),
    "cells": (trustmh.users, {"500_Reddit_users_posts_labels__csv": "User,Post,Label\nu,['a']\n"}, "500_Reddit_users_posts_labels.csv:2: expected 3 cells, found 2"),
    "window": (dialogues.windows, {"testWithStrategy_short__tsv": "Hello.\n"}, "testWithStrategy_short.tsv:1: expected utterances that end with the supporter's, found 'Hello.'"),
    "json": (dialogues.for_fairness, {"ESConv_fair__json": '[{"dialog": '}, "ESConv_fair.json:1: broken JSON ("),
    "turns": (
        dialogues.for_fairness,
        {"ESConv_fair__json": '[{"dialog": null, "situation": "", "problem_type": ""}]'},
        "ESConv_fair.json:1: dialog: expected a list, found null",
    ),
    "speaker": (
        dialogues.for_fairness,
        {"ESConv_fair__json": '[{"dialog": [{"speaker": [], "content": ""}], "situation": "", "problem_type": ""}]'},
        "ESConv_fair.json:1: dialog[0].speaker: expected one of listener, seeker, speaker, supporter, found a list",
    ),
    "choices": (
        emotion.understanding,
        {"EU__jsonl": json.dumps({**dict.fromkeys(("qid", "scenario", "subject", "coarse_category", "finegrained_category", "emotion_label", "cause_label"), ""), "language": "en", "emotion_choices": 5, "cause_choices": []})},
        "EU.jsonl:1: emotion_choices: expected a list or a text, found 5",
    ),
    "index": (
        dilemmas.dilemmas,
        {"EthicMH__csv": 'index,subcategory,scenario,options,reasoning_task,expected_reasoning,model_behavior\nx,k,s,"A.a\nB.b\nC.c\nD.d",t,A,b\n'},
        "EthicMH.csv:2: index: expected a whole number, found 'x'",
    ),
    "bytes": (dilemmas.dilemmas, {"EthicMH__csv": b"index,scenario\n0,a client\x92s wish\n"}, "EthicMH.csv: expected UTF-8, found 1 other bytes"),
    "question": (privacy_leakage.secrets, {"PsyLeak__txt": STORY, "PsyLeak_control__txt": CONTROL[:30]}, "PsyLeak_control.txt: expected questions, found a last one that breaks off: "),
    "kind": (dialogues.for_fairness, {"ESConv_fair__json": "{}"}, "ESConv_fair.json: expected a list of objects, found dict"),
    "method": (
        jailbreak.transformed,
        {"JailbreakMH__csv": "ID,Attack Objective (Brief),method,Prompt (English)\n1,o,hypnosis,p\n"},
        "JailbreakMH.csv:2: expected a method among fixed sentence, ",
    ),
    "block": (privacy_leakage.secrets, {"PsyLeak__txt": STORY[:90], "PsyLeak_control__txt": CONTROL}, "PsyLeak.txt: expected 1 blocks from <BEGIN> to <END>, found 0"),
    "control": (
        privacy_leakage.secrets, {"PsyLeak__txt": STORY, "PsyLeak_control__txt": f"{CONTROL}\n{CONTROL}"}, "PsyLeak_control.txt: expected 1 lines, one for each story, found 2",
    ),
    "nothing": (exam, {"USMLE-mental__jsonl": "\ufeff \r\n"}, "USMLE-mental.jsonl: expected rows, found none"),
    "zeros": (exam, {"USMLE-mental__jsonl": LINE.encode("utf-16-le")}, "USMLE-mental.jsonl: not UTF-8 at byte 0 (it looks like UTF-16); save it as UTF-8"),
    "null": (exam, {"USMLE-mental__jsonl": LINE.replace("Which", "\0")}, "USMLE-mental.jsonl: not text: 1 of its bytes are null; save it again"),
    "null in a table": (trustmh.users, {"500_Reddit_users_posts_labels__csv": "User,Post,Label\n\0,['a'],Attempt\n"}, "500_Reddit_users_posts_labels.csv: not text: 1 of its bytes are null"),
    "half": (exam, {"USMLE-mental__jsonl": LINE.replace("Which", "\\ud83d")}, "USMLE-mental.jsonl:1: broken JSON (half a character)"),
    "half in a list": (dialogues.for_fairness, {"ESConv_fair__json": r'[{"dialog": [], "situation": "\udc00", "problem_type": ""}]'}, "ESConv_fair.json: broken JSON (half a character)"),
    "half in a key": (exam, {"USMLE-mental__jsonl": LINE + "\n" + LINE.replace('"A"', r'"\ud83d"')}, "USMLE-mental.jsonl:2: broken JSON (half a character)"),
    "no rows": (trustmh.users, {"500_Reddit_users_posts_labels__csv": "User,Post,Label\n"}, "500_Reddit_users_posts_labels.csv: expected rows, found only the columns' names"),
    "no entries": (dialogues.for_fairness, {"ESConv_fair__json": "[]"}, "ESConv_fair.json: expected rows, found none"),
    "entry": (dialogues.for_fairness, {"ESConv_fair__json": '[{"dialog": [], "situation": "", "problem_type": ""}, 5]'}, "ESConv_fair.json: expected a list of objects, found int as entry 2"),
    "open quote": (
        trustmh.users, {"500_Reddit_users_posts_labels__csv": 'User,Post,Label\nu,"[\'a\']'}, "500_Reddit_users_posts_labels.csv:2: broken CSV (a quote is opened here and never closed; close it, or write a quote within a cell twice)",
    ),
    "names": (
        trustmh.users, {"500_Reddit_users_posts_labels__csv": 'User,"a\nlong name",' + "x" * 300 + "\n1,2,3\n"},
        "500_Reddit_users_posts_labels.csv: expected columns Post, Label, found User, a long name, …",
    ),
    "options": (
        dilemmas.dilemmas,
        {"EthicMH__csv": 'index,subcategory,scenario,options,reasoning_task,expected_reasoning,model_behavior\n0,k,s,"A.x\nB.y",t,A,b\n'},
        "EthicMH.csv:2: expected options A to D and one of them as the answer, found 'AB' and 'A'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_clear_line(name: str, tmp_path: Path) -> None:
    read, files, told = FAULTS[name]
    with pytest.raises(DataError) as error:
        read(below(tmp_path, **files))
    message = str(error.value)
    assert message.removeprefix(str(tmp_path)).removeprefix("/").startswith(told)
    assert "\n" not in message


def test_a_row_too_many_is_a_note(tmp_path: Path) -> None:
    found, notes = knowledge.examination(
        below(tmp_path, **{"USMLE-mental__jsonl": f"{LINE}\n\n{LINE}\n"}), knowledge.USMLE, 1
    )
    assert len(found) == 2
    assert notes[0].endswith("USMLE-mental.jsonl: expected 1 questions, found 2")


def test_a_story_is_parted_from_its_question(tmp_path: Path) -> None:
    files = below(tmp_path, PsyLeak__txt=STORY.replace("\n", "\r\n"), PsyLeak_control__txt=CONTROL)
    (found,), notes = privacy_leakage.secrets(files)
    assert (found.question, found.client, found.counsellor, found.asker) == (
        "What should Dr. A say?",
        "C",
        "Dr. A",
        "B",
    )
    assert found.story.endswith("One day B asked.")
    assert "to to" not in found.control
    assert len(notes) == 2


def test_a_zip_is_looked_into_and_a_broken_one_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as zipped:
        zipped.writestr("deep/USMLE-mental.jsonl", "\ufeff" + LINE)
    assert exam(TrustMHRelease.below(tmp_path)) == (
        knowledge.examination(TrustMHRelease.below(tmp_path), knowledge.USMLE, 1)[0],
        [],
    )
    (tmp_path / "all.zip").write_bytes((tmp_path / "all.zip").read_bytes()[:50])
    with pytest.raises(DataError, match=r"it may be in a zip that cannot be opened: .*all\.zip: expected a zip, found"):
        exam(TrustMHRelease.below(tmp_path))
    below(tmp_path, **{"USMLE-mental__jsonl": LINE})
    assert knowledge.examination(TrustMHRelease.below(tmp_path), knowledge.USMLE, 1)[1] == []
    with pytest.raises(DataError, match="no such folder"):
        TrustMHRelease.below(tmp_path / "nowhere")


@given(st.lists(st.text(max_size=30), max_size=6))
def test_a_whole_list_is_read_as_it_was_written(texts: list[str]) -> None:
    assert lists.read(repr(texts)) == (texts, False)


@given(st.lists(st.text(st.characters(codec="ascii"), max_size=30), min_size=1, max_size=6), st.data())
def test_a_list_that_is_cut_off_keeps_what_is_there(texts: list[str], data: st.DataObject) -> None:
    written = repr(texts)
    cut = written[: data.draw(st.integers(1, len(written) - 1))]
    found, truncated = lists.read(cut)
    assert truncated
    assert found[:-1] == texts[: max(len(found) - 1, 0)]
    assert not found or texts[len(found) - 1].startswith(found[-1])


@pytest.mark.parametrize("cell", ["", "a", "[1, 2]", "['a' 'b']", "['a'] + 1", "[print('a')]", "['\\x']"])
def test_what_is_no_list_of_texts_is_refused(cell: str) -> None:
    with pytest.raises(ValueError, match=r"no |cannot be read"):
        lists.read(cell)


@given(st.text(st.characters(codec="ascii") | st.sampled_from("’“—é"), max_size=60))
def test_text_that_was_read_as_gb18030_is_made_whole(text: str) -> None:
    try:
        garbled = text.encode().decode("gb18030")
    except UnicodeDecodeError:  # a reading that lost bytes
        return
    assert dilemmas.repaired(garbled.encode())[0] == text


def test_a_garbled_quotation_mark_is_one_again() -> None:
    assert dilemmas.repaired("patient鈥檚 wish".encode()) == ("patient’s wish", 1, 0)
    assert dilemmas.repaired(b"a plain line") == ("a plain line", 0, 0)
    assert dilemmas.repaired("stay 鈥".encode() + b"\xff? or go")[1:] == (0, 1)
