"""Transcripts in every shape in which people keep them are read as the same dialogues; what is odd is said, or refused in a line."""

from __future__ import annotations

import itertools
import json
import string
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.transcripts import read
from tests.records.transcripts.shapes import SHAPES, Spoken, labelled, messages
from tests.thinned import examples, later, sampled

HERE: list[Spoken] = [
    [("user", "I cannot sleep.\n\nAnd it does not stop."), ("assistant", "That wears one out.\n- Since when?"), ("user", "May."), ("assistant", "Long.")],
    [("user", "你好，我最近很累。"), ("assistant", "想说说吗？")],
]  # fmt: skip


def kept(source: Any, mapped: dict[str, str] | None = None) -> list[Spoken]:
    return [[(message.role, message.content) for message in t.messages] for t in read(source, mapped).transcripts]


def file(tmp_path: Path, text: str, name: str = "talk.txt") -> Path:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_holds_the_same_dialogues(tmp_path: Path, shape: str) -> None:
    result = read(SHAPES[shape](tmp_path, HERE))
    by_length = sorted(result.transcripts, key=lambda transcript: -len(transcript.messages))
    assert [[(m.role, m.content) for m in transcript.messages] for transcript in by_length] == HERE
    assert (result.account.transcripts, result.account.messages, result.account.turns) == (2, 6, 3)
    if "arrays" not in shape:
        assert [transcript.id for transcript in by_length] == ["d0", "d1"]
    turn = list(by_length[0].turns)[1]
    assert (turn.number, len(turn.before), turn.reply) == (2, 3, "Long.")


line = st.text(string.ascii_letters + " .?!'éäß想说🙂", min_size=1, max_size=30).map(str.strip).filter(bool)
text = st.lists(line, min_size=1, max_size=3).map("\n\n".join)


@st.composite
def dialogues(draw: st.DrawFn) -> list[Spoken]:
    held = []
    for number in range(draw(st.integers(1, 3))):
        first = draw(st.integers(0, 1))
        texts = draw(st.lists(text, min_size=2, max_size=6))
        held.append(
            [(("user", "assistant")[(first + at) % 2], f"{content} {number}") for at, content in enumerate(texts)]
        )
    return held


@pytest.mark.parametrize(
    "shape", sampled((shape for shape in SHAPES if "workbook" not in shape and "Parquet" not in shape), 2)
)
@given(held=dialogues())
@examples(15)
def test_what_is_written_is_read(shape: str, held: list[Spoken]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        transcripts = read(SHAPES[shape](Path(folder), held)).transcripts
    assert sorted([[(m.role, m.content) for m in t.messages] for t in transcripts]) == sorted(held)
    for transcript in transcripts:
        roles = [message.role for message in transcript.messages]
        assert all(one != other for one, other in itertools.pairwise(roles))
        turns = list(transcript.turns)
        assert len(turns) == roles.count("user")
        assert all(turn.reply is not None for turn in turns[:-1])
        assert transcript.unanswered == (turns[-1].reply is None)


noise = st.text(string.printable + '：用户助手**[]{}"\r\n\x00\ud800', max_size=200)


@given(
    content=st.one_of(
        noise,
        st.lists(
            st.sampled_from(
                ["user:", "bot: ", "**", "\n", "[", "Ann: ", "a\n\n", "# User\n", "10:22 ", "\r\n", " ", "："]
            )
        ).map("".join),
    )
)
@example("user: ")
@example("user:\nbot:")
@example("user: a\nbot: b\n[ended]")
@example("[ended] user: a")
@examples(400)
def test_no_text_breaks_the_reader(content: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.txt"
        path.write_bytes(content.encode("utf-8", "replace"))
        messages_read, refusal = outcome(path)
    assert any(messages_read) or ("a.txt" in refusal and "\n" not in refusal)


def outcome(path: Path) -> tuple[list[str], str]:
    """Return the words of the first transcript, or why there is none."""
    try:
        return [message.content for message in read(path).transcripts[0].messages], ""
    except DataError as error:
        return [], str(error)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["user", "bot", "tool", "a\n\nb", ""]),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.sampled_from(["role", "content", "messages", "from", "value", "conversation", "id", "turn", "mapping", "current_node", "text", "user", "assistant", "tool_calls", "time"]), part, max_size=4),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
@given(value=json_values)
@examples(300)
def test_no_json_breaks_the_reader(suffix: str, value: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        path.write_text(json.dumps(value), encoding="utf-8")
        assert "\n" not in outcome(path)[1]


@pytest.mark.parametrize(
    "part", sampled(["[1", " ", "1:1 ", "a", "**", "[", "(", "- ", "a ", "a:\n", later("user:\n\nbot:\n\n")], 4)
)
def test_long_texts_take_no_time(tmp_path: Path, part: str) -> None:
    for begin in ("", "user: a\nbot: b\n", "\n10:22 ", "\n[10"):
        path = file(tmp_path, begin + part * (1_000_000 // len(part)))
        begun = time.process_time()
        outcome(path)
        assert time.process_time() - begun < 5


def test_a_transcript_has_no_more_than_is_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="more than 100,000 lines begin like a speaker's"):
        read(file(tmp_path, "user:a\nbot:b\n" * 50_001))
    with pytest.raises(DataError, match=r"it has 8,388,6.. characters, and at most 8,388,608 are read"):
        read(file(tmp_path, f"user: a\nbot: {'b' * 2**23}"))


@pytest.mark.parametrize(
    "stamp", ["10:22 ", "2026-05-01T10:22:31Z ", "[1.5.26, 10:22] ", "5/1/26, 10:22 AM - ", "(10:22) "]
)
def test_a_time_is_no_part_of_a_name(tmp_path: Path, stamp: str) -> None:
    path = file(tmp_path, labelled(HERE[0], {"user": "Tom", "assistant": "Zoe"}, before=stamp))
    assert kept(path, {"user": "Tom", "assistant": "Zoe"}) == [HERE[0]]


def test_other_names_are_mapped(tmp_path: Path) -> None:
    path = file(tmp_path, labelled(HERE[0], {"user": "Klient", "assistant": "Bot 2.0 (neu)"}))
    assert kept(path, {"user": "Klient", "assistant": "Bot 2.0 (neu)"}) == [HERE[0]]
    with pytest.raises(
        DataError,
        match=r"talk\.txt: of its speakers, 'Klient' and .*, nothing says who is the person.*--map user=Klient,assistant=",
    ):
        read(path)


def test_three_speakers_are_refused_with_the_file_the_names_and_the_way_out(tmp_path: Path) -> None:
    spoken = "user: I am here.\nchatbot: Hello.\n{third}: Listen to them.\nuser: Yes.\nchatbot: Good.\n{third}: Well.\n"
    for third in ("counselor", "mother"):
        path = file(tmp_path, spoken.format(third=third))
        with pytest.raises(DataError) as refused:
            read(path)
        assert str(path) in str(refused.value)
        assert f"3 speakers, 'user', 'chatbot' and '{third}'" in str(refused.value)
        assert "--map user=user,assistant=chatbot" in str(refused.value)
        joined = read(path, {"assistant": f"chatbot|{third}"})
        assert joined.account.joined == 2
        left = read(path, {"omit": third})
        assert left.account.omitted == 2
        assert [m.content for m in left.transcripts[0].messages] == ["I am here.", "Hello.", "Yes.", "Good."]


def test_three_speakers_in_json_and_in_rows(tmp_path: Path) -> None:
    three = [("user", "a"), ("assistant", "b"), ("mother", "c")]
    table = pl.DataFrame({"conversation": "c1", "role": [r for r, _ in three], "content": [t for _, t in three]})
    table.write_csv(tmp_path / "rows.csv")
    for path in (file(tmp_path, json.dumps({"messages": messages(three)}), "t.jsonl"), tmp_path / "rows.csv"):
        with pytest.raises(
            DataError, match=r"3 speakers, 'user', 'assistant' and 'mother'.*--map user=user,assistant=assistant"
        ):
            read(path)
        assert read(path, {"omit": "mother"}).account.omitted == 1


def test_words_in_a_message_that_look_like_a_speaker_are_text(tmp_path: Path) -> None:
    reply = "Here is a draft.\nSubject: A day off\nCounselor: Ms. Lee\n\nNote: keep it short.\n\nPlan:\n1. Rest"
    spoken = [("user", "Can you write it?"), ("assistant", reply), ("user", "Thanks."), ("assistant", "Gladly.")]
    result = read(file(tmp_path, labelled(spoken)))
    assert [(m.role, m.content) for m in result.transcripts[0].messages] == spoken


def test_what_is_odd_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(
        "chatbot: Hello.\nuser: Hi.\nuser: Anyone there?\nchatbot: Yes.\nuser: Good.\n[Conversation ended by the person]\n"
    )
    (tmp_path / "b.txt").write_text("About this talk\nuser: Hi.\nchatbot:\nuser: Hm.\nchatbot: Sorry.\n")
    (tmp_path / "c.txt").write_text("About this talk\nuser: Hi.\nchatbot:\nuser: Hm.\nchatbot: Sorry.\n")
    (tmp_path / "scan.png").write_bytes(b"x")
    (tmp_path / "words.txt").write_text("Nothing of the kind.")
    result = read(tmp_path)
    begun, empty = result.transcripts
    assert [turn.reply for turn in begun.turns] == ["Yes.", None]
    assert (begun.unanswered, begun.ending) == (True, "[Conversation ended by the person]")
    assert begun.messages[1].content == "Hi.\n\nAnyone there?"
    assert [turn.reply for turn in empty.turns] == ["", "Sorry."]
    account = result.account
    assert (account.joined, account.begins_with_bot, account.unanswered, account.empty_replies) == (1, 1, 1, 1)
    assert (account.repeated, account.endings) == (["c (b)"], 1)
    lines = "\n".join(account.lines())
    for words in (
        "1 transcript that repeats another",
        "c (b)",
        ".png (1)",
        "words.txt: no line begins",
        "what stands before",
        "unanswered",
    ):
        assert words in lines


def test_system_tools_and_pictures_are_kept_apart(tmp_path: Path) -> None:
    dialogue: list[dict[str, Any]] = [
        {"role": "system", "content": "Be kind."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "See this."}, {"type": "image_url", "image_url": {"url": "x"}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "search"}}]},
        {"role": "tool", "content": "42"},
        {"role": "assistant", "content": "I see."},
    ]
    for path in (
        file(tmp_path, json.dumps(dialogue), "one.json"),
        file(tmp_path, json.dumps({"messages": dialogue}), "row.jsonl"),
        file(
            tmp_path, "".join(json.dumps({"conversation": "c", **message}) + "\n" for message in dialogue), "rows.jsonl"
        ),
    ):
        result = read(path)
        assert result.transcripts[0].system == "Be kind."
        assert [(m.role, m.content) for m in result.transcripts[0].messages] == [
            ("user", "See this."),
            ("assistant", "I see."),
        ]
        assert (result.account.system, result.account.omitted, result.account.parts) == (1, 1, 2)


def test_what_is_known_of_a_dialogue_is_kept(tmp_path: Path) -> None:
    table = pl.DataFrame({
        "conv": ["x", "x", "y", "y"], "speaker": ["Ann", "Bo"] * 2, "text": ["a", "b", "c", "d"], "persona": ["p", None, "p", "p"],
        "model": ["m"] * 4, "run": [2] * 4, "language": ["de"] * 4, "Land": ["AT"] * 4, "time": ["2026-05-01T10:00", "2026-05-01T11:00"] * 2,
    })  # fmt: skip
    table.reverse().write_csv(tmp_path / "t.csv")
    first, second = read(tmp_path / "t.csv", {"user": "Ann", "assistant": "Bo", "tag.country": "Land"}).transcripts
    assert [first.id, second.id] == ["y", "x"]
    assert [m.content for m in second.messages] == ["a", "b"]
    assert (first.cluster, first.model, first.run) == ("p", "m", 2)
    assert first.tags == {"persona": "p", "language": "de", "country": "AT"}


def test_a_dialogue_of_two_models_is_refused(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {"conversation": ["x"] * 2, "role": ["user", "bot"], "content": ["a", "b"], "model": ["m", "n"]}
    )
    with pytest.raises(DataError, match=r"several values of model in one dialogue \('m' and 'n'\)"):
        read(table)


def test_a_message_and_its_reply_a_row(tmp_path: Path) -> None:
    table = pl.DataFrame({"conversation": ["x", "x"], "user": ["a", "c"], "assistant": ["b", None]})
    assert kept(table) == [[("user", "a"), ("assistant", "b"), ("user", "c")]]


def test_the_same_words_under_another_id_count_and_are_said(tmp_path: Path) -> None:
    rows = [{"id": ident, "messages": messages(HERE[0])} for ident in ("a", "b", "a")]
    result = read(file(tmp_path, "\n".join(map(json.dumps, rows)), "d.jsonl"))
    assert [transcript.id for transcript in result.transcripts] == ["a", "b"]
    assert result.account.repeated == ["a (a)"]
    assert "1 transcript with the words of another under another id; each counts" in result.account.lines()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "no line begins with the name of a speaker"),
        ("a.txt", "user: Only me.\nKim: Me, too.", r"speakers, 'user' and 'Kim', .* --map user=user,assistant=Kim"),
        ("a.txt", "user:\n\nchatbot:\n", "nobody says anything"),
        ("a.json", '{"a": 1}', "no dialogues in it as far as one can see"),
        ("a.json", "[]", "no dialogues in it"),
        ("a.json", '[{"role": "user"', "broken JSON"),
        ("a.jsonl", '{"messages": [{"role": "user", "content": {"a": 1}}]}', "1 speaker|one speaker|nobody says"),
        ("a.jsonl", '{"messages": [{"content": "a"}]}', "a.jsonl:1, message 1: no role in it"),
        ("a.jsonl", '{"messages": 3}', "a.jsonl:1: expected a list of messages, found int"),
        ("a.jsonl", '"x"', "expected an object or a list of messages, found str"),
        ("a.csv", "a,b\n1,2\n", "no column holds dialogues.*the columns are 1 'a', 2 'b'"),
        ("a.csv", "conversation,role,content\n,user,a\n", "no 'conversation', so that nobody knows"),
        ("a.csv", "conversation,role,content\nx,,a\n", "no role, so that nobody knows who speaks"),
        ("a.csv", "conversation,role,content,turn\nx,user,a,one\n", "turn must be a whole number, found 'one'"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_line(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as refused:
        read(file(tmp_path, content, name))
    assert "\n" not in str(refused.value)
    assert name in str(refused.value)


def test_bad_mappings_get_one_line(tmp_path: Path) -> None:
    path = file(tmp_path, labelled(HERE[0]))
    with pytest.raises(UsageError, match="'bot' is not one of Mindgauge's columns"):
        read(path, {"bot": "x"})
    with pytest.raises(UsageError, match="'a' is user already"):
        read(path, {"user": "a", "assistant": "a"})
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no transcripts here"):
        read(tmp_path / "empty")
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "nothing.txt")


def test_names_of_files_say_what_is_known(tmp_path: Path) -> None:
    for folder in ("bot_a", "bot_b"):
        (tmp_path / "d" / folder).mkdir(parents=True)
        for ident, persona in (("x1", "Ines"), ("x2", "Ines"), ("x3", "Udo")):
            file(tmp_path / "d" / folder, labelled(HERE[0]), f"{ident}_{persona}_g4_run2.txt")
    result = read(tmp_path / "d", {"file": "{model}/{id}_{persona}_*_run{run}"})
    assert [(t.model, t.id, t.cluster, t.run) for t in result.transcripts][:3] == [
        ("bot_a", "x1", "Ines", 2),
        ("bot_a", "x2", "Ines", 2),
        ("bot_a", "x3", "Udo", 2),
    ]
    assert result.transcripts[5].tags == {"persona": "Udo"}
    assert read(tmp_path / "d", {"file": "{id}_*"}).transcripts[0].id == "x1"
    with pytest.raises(DataError, match="the name is not as --map file="):
        read(tmp_path / "d", {"file": "{id}-{persona}"})
    for pattern, reason in (("{mood}_*", "'mood' is not known"), ("*", "it names nothing"), ("{id}{id}", "twice")):
        with pytest.raises(UsageError, match=reason):
            read(tmp_path / "d", {"file": pattern})


def test_a_transcript_in_which_one_side_is_silent_is_read_and_blocks_no_folder(tmp_path: Path) -> None:
    (tmp_path / "answered.txt").write_text("user: I feel low.\nbot: I hear you.\n", encoding="utf-8")
    (tmp_path / "alone.txt").write_text("user: Hello?\nuser: Is anybody there?\n", encoding="utf-8")
    (tmp_path / "greeting.txt").write_text("bot: Hello, what is on your mind?\n", encoding="utf-8")
    for mapped in (None, {"user": "user", "assistant": "bot"}):
        transcripts = read(tmp_path, mapped).transcripts
        replies = {Path(t.source).name: [turn.reply for turn in t.turns] for t in transcripts}
        assert replies == {"alone.txt": [None], "answered.txt": ["I hear you."], "greeting.txt": []}


def test_a_text_of_unknown_speakers_in_a_folder_is_left_out_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("user: I feel low.\nbot: I hear you.\n", encoding="utf-8")
    (tmp_path / "k.txt").write_text("Kunde: Mir geht es schlecht.\nBeraterin: Das tut mir leid.\n", encoding="utf-8")
    (line,) = read(tmp_path).account.left_out
    assert "k.txt: of its speakers, 'Kunde' and 'Beraterin'" in line
    assert line.endswith("--map user=Kunde,assistant=Beraterin")
