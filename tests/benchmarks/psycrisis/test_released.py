"""A user's table becomes records: in the order of the file, nothing made up, every fault by its row."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.benchmarks.psycrisis.released import category as named_category
from mindgauge.benchmarks.psycrisis.released import load_mapped, read
from mindgauge.cli import main
from mindgauge.commands.load import papers_load
from mindgauge.commands.reliability import reliability
from mindgauge.records import RaterKind, Status
from mindgauge.records.errors import DataError, UsageError
from mindgauge.store import Store
from tests.benchmarks.psycrisis.conftest import CHINESE, DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mindgauge.benchmarks import Released

BASE = {"user": "u", "reply": "r"}


def levels(found: Released) -> list[tuple[str, str, str, object]]:
    text = {reply.id: reply.text for reply in found.replies}
    return [
        (text[r.subject], r.rater, r.criterion, r.value if r.status is Status.OK else str(r.status))
        for r in found.ratings
    ]


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx", "t.jsonl", "t.parquet"])
def test_a_table_of_every_kind_gives_the_same_records(write: Callable[..., Path], name: str) -> None:
    rows = [
        ("我不想活了", "你现在安全吗？", "自杀", "m1", 1, 0),
        ("I feel empty", "Go on.", "Existential-Distress", "m2", 0, 1),
    ]
    path = write(("u", "r", "c", "m", "x", "y"), rows, name)
    found = load_mapped(
        path, {**BASE, "category": "c", "model": "m", "label.H1.empathy": "x", "label.H2.共情与合作": "y"}
    )
    assert [(s.messages[0].content, s.tags) for s in found.samples] == [
        ("我不想活了", {"language": "zh", "category": "suicide"}),
        ("I feel empty", {"language": "en", "category": "existential_distress"}),
    ]
    assert [(r.model, r.text, r.run) for r in found.replies] == [("m1", "你现在安全吗？", 0), ("m2", "Go on.", 0)]
    assert levels(found) == [
        ("你现在安全吗？", "H1", "empathy", "yes"), ("你现在安全吗？", "H2", "empathy", "no"),
        ("Go on.", "H1", "empathy", "no"), ("Go on.", "H2", "empathy", "yes"),
    ]  # fmt: skip
    assert {r.rater_kind for r in found.ratings} == {RaterKind.PERSON}
    assert {r.provenance["source_file"] for r in found.replies} == {name}
    assert {r.provenance["source_file"] for r in found.ratings} == {name}


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (1, "yes"), ("0", "no"), (1.0, "yes"), ("1.0", "yes"), (True, "yes"), (False, "no"), ("是", "yes"), ("No", "no"),
        (" yes ", "yes"), (2, "unparsable"), (0.5, "unparsable"), (-1, "unparsable"), ("maybe", "unparsable"),
        ("1 0", "unparsable"), ("not_applicable", "not_applicable"), ("不适用", "not_applicable"), ({"a": 1}, "unparsable"),
        ("10", "unparsable"), ("1分", "yes"), ("0 分", "no"), ("１", "yes"), ("有", "yes"), ("无", "no"), ("Y", "yes"), ("1/0", "unparsable"),
        ("①", "unparsable"), ("2分", "unparsable"),
    ],
)  # fmt: skip
def test_a_label_is_read_strictly(write: Callable[..., Path], cell: object, expected: str) -> None:
    path = write(("u", "r", "x", "y"), [("I feel low", "I hear you", cell, 1)], "t.jsonl")
    found = load_mapped(path, {**BASE, "label.H1.risk_assessment": "x", "label.H1.referral": "y"})
    assert levels(found)[0][3] == expected
    off = [note for note in found.notes if "off the scale" in note]
    assert off == (["row 1: H1's risk_assessment is off the scale; unparsable"] if expected == "unparsable" else [])
    if off:
        assert found.ratings[0].provenance["fault"] == "off the scale"
        assert found.ratings[0].value is None


def test_not_applicable_is_a_label_only_where_the_rubric_says_so(write: Callable[..., Path]) -> None:
    path = write(("u", "r", "x"), [("I feel low", "I hear you", "n/a")])
    assert levels(load_mapped(path, {**BASE, "label.H1.referral": "x"}))[0][3] == "unparsable"


@pytest.mark.parametrize("empty", ["", "   ", "nan", "NaN", None, float("nan")])
def test_empty_cells_are_faults_of_their_row_and_never_words(write: Callable[..., Path], empty: object) -> None:
    rows = [
        (empty, "r0", 1, 1),
        ("I feel low", empty, 1, 1),
        ("I feel lost", "r2", empty, 0),
        ("I feel sad", "r3", empty, empty),
    ]
    found = load_mapped(
        write(("u", "r", "x", "y"), rows, "t.jsonl"), {**BASE, "label.H1.empathy": "x", "label.H1.referral": "y"}
    )
    assert [s.messages[0].content for s in found.samples] == ["I feel low", "I feel lost", "I feel sad"]
    assert [(r.text, str(r.status)) for r in found.replies] == [("", "unparsable"), ("r2", "ok"), ("r3", "ok")]
    assert levels(found) == [
        ("", "H1", "empathy", "unparsable"), ("", "H1", "referral", "unparsable"),
        ("r2", "H1", "empathy", "unparsable"), ("r2", "H1", "referral", "no"),
    ]  # fmt: skip
    assert [r.provenance.get("fault") for r in found.ratings] == [
        "an empty reply",
        "an empty reply",
        "an empty cell",
        None,
    ]
    assert found.notes[1:] == [
        "row 1: no message; left out",
        "row 2: the reply is empty; it and every value on it are unparsable",
        "row 3: H1's empathy is an empty cell; unparsable",
        "row 4: H1 gave no value at all; not rated by H1",
    ]


def test_null_bytes_and_lone_surrogates_are_replaced_and_stored(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"u": "I feel \\ud800 low\\u0000", "r": "\\udfff ok", "m": "m\\u0000"}\n')
    found = papers_load("psycrisis", data=path, mapping={**BASE, "model": "m"}, out=tmp_path / "run")
    assert (found.samples, found.replies) == (1, 1)
    with Store(tmp_path / "run") as store:
        (reply,) = store.replies("psycrisis")
    assert reply.text == "\ufffd ok"
    assert reply.model == "m\ufffd"


def test_rows_of_one_message_are_one_sample_and_doubled_replies_are_repeats(write: Callable[..., Path]) -> None:
    rows = [
        ("I feel low", "a", "m1", 1),
        ("I feel low", "b", "m2", 0),
        ("I feel low", "a", "m1", 0),
        ("I feel low", "c", "m1", 1),
    ]
    found = load_mapped(write(("u", "r", "m", "x"), rows), {**BASE, "model": "m", "label.empathy": "x"})
    assert len(found.samples) == 1
    assert [(r.model, r.text, r.run) for r in found.replies] == [
        ("m1", "a", 0),
        ("m2", "b", 0),
        ("m1", "a", 1),
        ("m1", "c", 2),
    ]
    assert len({r.id for r in found.replies}) == 4, "a doubled row keeps its own label"
    assert [r.value for r in found.ratings] == ["yes", "no", "no", "yes"]
    assert found.notes[1:] == ["row 4: message, model and reply occur further up; kept as a repeat"]


def test_the_order_of_rows_changes_no_label(write: Callable[..., Path]) -> None:
    rows = [(f"message {i % 9}", f"reply {i}", f"m{i % 4}", i % 2, (i // 2) % 2) for i in range(36)]
    mapping = {**BASE, "model": "m", "label.H1.empathy": "x", "label.H2.referral": "y"}
    headers = ("u", "r", "m", "x", "y")
    expected = sorted(levels(load_mapped(write(headers, rows), mapping)), key=str)
    for seed in range(3):
        shuffled = random.Random(seed).sample(rows, len(rows))
        found = load_mapped(write(headers, shuffled), mapping)
        assert [r.text for r in found.replies] == [row[1] for row in shuffled], "in the order of the file"
        assert sorted(levels(found), key=str) == expected


def test_a_message_under_two_categories_is_said(write: Callable[..., Path]) -> None:
    path = write(("u", "c"), [("I feel low", "nssi"), ("I feel low", "suicide"), ("I feel sad", "")])
    found = load_mapped(path, {"user": "u", "category": "c"})
    assert [s.tags.get("category") for s in found.samples] == ["nssi", None]
    assert "row 3: the message occurs further up under another category, which counts" in found.notes
    assert "row 4: no category" in found.notes


@pytest.mark.parametrize(
    ("cell", "category"),
    [
        ("自伤/NSSI", "nssi"), ("NSSI（非自杀性自伤）", "nssi"), ("Non-suicidal self-injury", "nssi"), ("存在性危机", "existential_distress"),
        ("自杀倾向", "suicide"), ("自杀/自伤", "自杀/自伤"), ("自杀未遂者家属", "自杀未遂者家属"), ("其他", "其他"), ("/", "/"),
    ],
)  # fmt: skip
def test_a_category_is_the_paper_s_only_where_it_plainly_is(cell: str, category: str) -> None:
    assert named_category(cell) == category


def test_raters_in_rows_rate_one_reply(write: Callable[..., Path], tmp_path: Path) -> None:
    rows = [
        ("I feel low", "a", "m1", "A", 1, "{'共情': 1}"),
        ("I feel low", "a", "m1", "B", 0, "{'共情': 0}"),
        ("I feel low", "a", "m1", "A", 0, ""),
        ("I feel low", "b", "m1", "B", 1, ""),
        ("I feel sad", "c", "m2", "", 1, ""),
    ]
    path = write(("u", "r", "m", "who", "x", "j"), rows)
    mapping = {**BASE, "model": "m", "rater": "who", "label.empathy": "x", "judge.J": "j"}
    found = load_mapped(path, mapping)
    assert [(r.text, r.run) for r in found.replies] == [("a", 0), ("a", 1), ("b", 2), ("c", 0)]
    people = [(r.subject, r.rater, r.value) for r in found.ratings if r.rater_kind is RaterKind.PERSON]
    first, second, third, _ = (reply.id for reply in found.replies)
    assert people == [(first, "A", "yes"), (first, "B", "no"), (second, "A", "no"), (third, "B", "yes")]
    judged = {(r.subject, r.value) for r in found.ratings if r.rater == "J" and r.criterion == "empathy"}
    assert judged == {(first, "yes")}, "a judge's answer counts where the reply stands first"
    assert found.notes[1:] == [
        "row 4: message, model and reply occur further up; kept as a repeat",
        "row 6: no rater; its labels are left out",
    ]
    assert papers_load("psycrisis", data=path, mapping=mapping, out=tmp_path / "run").ratings == {
        "A": 2,
        "B": 2,
        "J": 5,
    }
    with pytest.raises(UsageError, match=r"a column is mapped to rater, so write label\.CRITERION without a name"):
        load_mapped(path, {**BASE, "rater": "who", "label.H1.empathy": "x"})


def test_messages_alone_are_counted_by_rows_and_kept_once(write: Callable[..., Path]) -> None:
    counts = {"Suicide": 289, "NSSI": 115, "existential distress": 204}
    rows = [(f"{name} {i or 1}", name) for name, n in counts.items() for i in range(n)]
    found = load_mapped(write(("u", "c"), rows), {"user": "u", "category": "c"})
    assert len(found.samples) == 605
    assert "rows 3, 292, 407: the message occurs further up; kept once" in found.notes
    assert found.notes[-1].endswith("as in the paper: 608 (289, 115, 204)")


def test_the_paper_s_counts_are_compared_and_never_fail(write: Callable[..., Path]) -> None:
    counts = {"Suicide": 289, "NSSI": 115, "existential distress": 204}
    rows = [(f"{name} {i}", name) for name, n in counts.items() for i in range(n)]
    mapping = {"user": "u", "category": "c"}
    assert load_mapped(write(("u", "c"), rows), mapping).notes[-1] == (
        "608 messages, 289 suicide, 115 nssi, 204 existential_distress; as in the paper: 608 (289, 115, 204)"
    )
    notes = load_mapped(write(("u", "c"), [*rows[1:], ("other", "grief")]), mapping).notes
    assert notes[-2] == "categories that are not the paper's, in no group of at-risk messages: 'grief' 1"
    assert notes[-1].endswith("288 suicide, 115 nssi, 204 existential_distress; the paper has 608 (289, 115, 204)")
    assert not any("608" in note for note in load_mapped(write(("u", "c"), rows), {"user": "u"}).notes)


def test_a_judge_s_raw_answers_are_read_and_its_total_checked(write: Callable[..., Path]) -> None:
    right = "共情与合作：……\n" + str(dict(zip((*CHINESE, "总分"), (1, 0, 1, 0, 1, 3), strict=True)))
    wrong = json.dumps(dict(zip((*DIMENSIONS, "total"), (1, 1, 0, 0, 0, 4), strict=True)))
    rows = [
        ("a", "r0", right),
        ("b", "r1", wrong),
        ("c", "r2", "Error: 429 Too Many Requests"),
        ("d", "r3", ""),
        ("e", "", right),
    ]
    found = load_mapped(write(("u", "r", "j"), rows), {**BASE, "judge.gpt-4": "j"})
    values = {text: [value for t, _, _, value in levels(found) if t == text] for text in ("r0", "r1", "r2", "r3", "")}
    assert values == {
        "r0": ["yes", "no", "yes", "no", "yes"], "r1": ["yes", "yes", "no", "no", "no"], "r2": ["unparsable"] * 5, "r3": [],
        "": ["unparsable"] * 5,
    }  # fmt: skip
    stated = {r.provenance["source_row"]: r.provenance.get("stated_total") for r in found.ratings}
    assert stated == {2: None, 4: 4, 5: None, 7: None}, "by the line that a row begins in"
    assert {r.rater_kind for r in found.ratings} == {RaterKind.MODEL}


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("t.csv", b"u,r\n\xff\xfe,x\n", "not UTF-8 at byte 4"),
        ("t.csv", b'u,r\n"a,b\n', r"broken CSV \(a quote is opened here and never closed"),
        ("t.csv", b"u,r\na,b,c\n", "t.csv:2: more cells than the header has columns"),
        ("t.csv", b"u,r\n", "a table without rows"),
        ("t.csv", b"", "a table without rows"),
        ("t.csv", b"u,r\n,x\nnan,y\n", "no row holds a message"),
        ("t.xlsx", b"PK not a workbook", "not a workbook that can be read"),
        ("t.jsonl", b'{"u": "a"\n', "t.jsonl:1: broken JSON"),
        ("t.jsonl", b"[1]\n", "t.jsonl:1: expected an object, found list"),
        ("t.parquet", b"x", "not a Parquet file"),
        ("t.txt", b"x", "expected .csv, .tsv, .jsonl, .*.xlsx, found .txt"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, name: str, content: bytes, fault: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=fault) as caught:
        load_mapped(tmp_path / name, {"user": "u"})
    assert "\n" not in str(caught.value)


def test_a_folder_must_leave_no_choice(write: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no table here"):
        load_mapped(tmp_path, BASE)
    write(("u", "r"), [("I feel low", "I hear you")], "a/one.csv")
    assert len(load_mapped(tmp_path, BASE).replies) == 1
    write(("u", "r"), [("I feel low", "I hear you")], "b/two.xlsx")
    with pytest.raises(DataError, match=r"several tables here; name one of them, .*/NAME \(a/one.csv, b/two.xlsx\)"):
        load_mapped(tmp_path, BASE)


def test_a_workbook_with_several_sheets_asks_which(tmp_path: Path) -> None:
    import polars as pl
    from xlsxwriter import Workbook  # type: ignore[import-untyped]

    with Workbook(tmp_path / "t.xlsx") as book:
        for name in ("first", "second"):
            pl.DataFrame({"u": [f"I feel {name}"], "r": ["I hear you"]}).write_excel(book, worksheet=name)
    path = tmp_path / "t.xlsx"
    with pytest.raises(
        DataError, match=r"several sheets hold rows \(first, second\); choose one with --map sheet=NAME"
    ):
        load_mapped(path, BASE)
    assert load_mapped(path, {**BASE, "sheet": "second"}).samples[0].messages[0].content == "I feel second"
    with pytest.raises(DataError, match=r"no sheet 'third' \(it has first, second\)"):
        load_mapped(path, {**BASE, "sheet": "third"})


def test_load_takes_a_mapping_and_keeps_it(write: Callable[..., Path], tmp_path: Path) -> None:
    path = write(("u", "r", "x"), [("I feel low", "I hear you", 1)])
    mapping = {**BASE, "label.H1.empathy": "x"}
    found = papers_load("psycrisis", data=path, mapping=mapping, out=tmp_path / "run")
    assert found.ratings == {"H1": 1}
    assert found.notes[0].startswith("table.csv: read user from column 1 ('u')")
    manifest = (tmp_path / "run/manifest.toml").read_text()
    assert '"label.H1.empathy" = "x"' in manifest
    assert '"table.csv" = ' in manifest, "its checksum"
    assert papers_load("psycrisis", data=path, mapping=mapping, out=tmp_path / "run") == found
    with pytest.raises(UsageError, match="help_or_harm: its columns are the authors', so --map has no use here"):
        papers_load("help_or_harm", data=tmp_path, mapping=mapping)


def test_its_messages_can_be_asked_about(write: Callable[..., Path], tmp_path: Path) -> None:
    write(("u", "c"), [("我不想活了", "自杀"), ("I feel empty", "existential")])
    (tmp_path / "columns.toml").write_text('user = "u"\ncategory = "c"\n')
    assert [s.tags["category"] for s in read(tmp_path)] == ["suicide", "existential_distress"]


def test_several_people_s_labels_give_agreement(write: Callable[..., Path], tmp_path: Path) -> None:
    rng = random.Random(3)
    rows: list[tuple[Any, ...]] = []
    for i in range(80):
        true = rng.random() < 0.5
        rows.append((f"message {i}", f"reply {i}", *(int(true if rng.random() < 0.85 else not true) for _ in range(3))))
    mapping = {**BASE, "label.H1.empathy": "x", "label.H2.empathy": "y", "judge.J.empathy": "z"}
    papers_load("psycrisis", data=write(("u", "r", "x", "y", "z"), rows), mapping=mapping, out=tmp_path / "run")
    (card,) = [card for card in reliability(tmp_path / "run").cards if card.criterion == "empathy"]
    assert (card.judge, card.n) == ("J", 80)
    x, y = ([row[place] for row in rows] for place in (2, 3))
    ones = sum(x) + sum(y)
    expected = 2 * ones * (160 - ones) / (160 * 159)
    alpha = 1 - sum(a != b for a, b in zip(x, y, strict=True)) / 80 / expected
    assert card.estimates["ceiling_alpha"].value == pytest.approx(alpha)


def test_the_command_prints_the_mapping_it_used(
    write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(("u", "r", "x"), [("I feel low", "I hear you", 1)])
    typed = ["mindgauge", "papers", "load", "psycrisis", "--data", str(path), "--out", str(tmp_path / "run")]
    monkeypatch.setattr("sys.argv", typed)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "the columns are 1 'u', 2 'r', 3 'x'" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", [*typed, "--map", "user=#1,reply=r,label.H1.empathy=C"])
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 0
    told = capsys.readouterr().out
    assert (
        "Note: table.csv: read user from column 1 ('u'), reply from column 2 ('r'), label.H1.empathy from column 3 ('x')"
        in told
    )
