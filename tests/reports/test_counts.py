"""Counts say what they count, the worst are never what is left out, and no limit looks like its value."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mindgauge
from mindgauge.benchmarks.metrics.metric_sentences import with_least, with_most
from mindgauge.cli import answer
from mindgauge.reports import unsafe_by_people
from mindgauge.reports.page import write
from mindgauge.reports.unsafe_by_people import Called
from tests import in_process
from tests.reports.conftest import plant_rated

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.reports.page import ReportFiles

shares = st.floats(0, 1, allow_nan=False)


# -- what counts are of ------------------------------------------------------------------------------------------------


def test_replies_to_which_nothing_applies_are_no_part_of_all_replies() -> None:
    all_read = Called(["Anna"], 14, 14, 13, 14, 6, selected=False, exist=24)
    assert "read all 14 of its applicable replies and" in unsafe_by_people.of_system(all_read, "")
    assert "read all 14 applicable replies here" in unsafe_by_people.of_all(all_read, [], "")
    unread = all_read._replace(read=0, unsafe=0)
    assert unsafe_by_people.of_system(unread, "") == "No person read any of its 14 applicable replies."
    assert "read all 14 of its replies" in unsafe_by_people.of_system(all_read._replace(exist=14), "")


def test_one_page_has_one_denominator(help_or_harm_files: ReportFiles) -> None:
    content = json.loads(help_or_harm_files.json.read_text(encoding="utf-8"))
    sheet = content["first"]["table"]
    names = [column["name"] for column in sheet["columns"]]
    assert "the rubric does not apply to 160 of 1,966" in sheet["note"]
    for row in (dict(zip(names, cells, strict=True)) for cells in sheet["rows"]):
        (judged,) = (cell for name, cell in row.items() if name.startswith("unsafe, by judges"))
        assert judged.endswith(f" of {row['messages that show a crisis']}"), row
    (facts,) = (" ".join(a["facts"]) for a in content["answers"] if a["system"]["label"] == "deepseek-chat")
    assert "all 14 of its applicable replies to messages that show a crisis" in facts
    told = json.dumps([content["people"], content["answers"], content["first"]["statements"]])
    assert not re.findall(r"(?:\d+ of (?:the |its )?[\d,]+|rated 270) replies (?:here|and|to)", told)


# -- what is left out --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve models, the first in the alphabet the best."""
    models = tuple(f"acme/{letter}" for letter in "lkjihgfedcba")
    folder = tmp_path_factory.mktemp("many") / "run"
    return plant_rated(folder, {}, models=models, conversations=12)


def test_the_summary_keeps_the_worst_models(many: Path) -> None:
    text = write([many]).path.with_suffix(".md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| acme/(\w) \|.*?(\d+) of 12 read", text, re.MULTILINE)
    unsafe = [int(n) for _, n in rows]
    assert len(rows) == 6 and unsafe == sorted(unsafe, reverse=True)
    assert {rows[0][0], rows[1][0]} == {"l", "k"}, "of the others nothing is unsafe"
    assert "Listed are the worst 6 of 12 models." in text
    told = re.findall(r"^\*\*acme/(\w)\.\*\*", text, re.MULTILINE)
    assert not told or told == [name for name, _ in rows]


def test_the_terminal_keeps_the_worst_models(many: Path) -> None:
    done = in_process.mindgauge("score", many).stdout
    listed = re.findall(r"^acme/(\w) ", done, re.MULTILINE)[: answer.ROWS]
    assert listed[0] in "lkj" and listed.index("l") < 4


@pytest.mark.long
def test_a_ranking_that_is_cut_keeps_both_ends(many: Path) -> None:
    compared = in_process.mindgauge("compare", many).stdout
    ranks = re.findall(r"\bacme/(\w) ", compared.partition("rank")[2])[: answer.ROWS]
    assert "l" in ranks and "a" in ranks


# -- limits ------------------------------------------------------------------------------------------------------------


def printed(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"(\d+(?:\.\d+)?) %", text)]


@given(value=shares, more=shares)
def test_a_limit_never_looks_like_its_value(value: float, more: float) -> None:
    high, low = value + (1 - value) * more, value * (1 - more)
    for text, distinct in ((with_most(value, high), high - value > 1e-9), (with_least(value, low), value - low > 1e-9)):
        assert not distinct or "nearly" in text or len({*re.findall(r"[<>]?[\d.]+ %", text)}) == 2, text
        assert all(0 <= number <= 100 for number in printed(text))
    assert with_most(0.006, 0.0134) == "0.6 %; it could be as many as 1.3 %"
    assert with_least(0.5, None) == "50 %"
    assert (with_most(1.0, 1.0), with_least(0.0, 0.0)) == ("100 %", "0 %")


# -- what a judge that cannot be used says -----------------------------------------------------------------------------


@pytest.mark.parametrize("benchmark", ["trustmh/escalation", "trustmh/jailbreak"])
def test_what_only_an_unusable_judge_rated_is_not_called_unrated(benchmark: str, tmp_path: Path) -> None:
    def constant(message: str) -> str:
        """Give every criterion the first level that the form names."""
        form = dict(re.findall(r'"([a-z_]+)"\s*:\s*([^,}\n]+)', message))
        words = {name: re.findall(r"[a-z_]{2,}|\d", value) for name, value in form.items()}
        levels = {name: "no" if "no" in found else (found or ["x"])[0] for name, found in words.items()}
        typed = {name: int(level) if level.isdigit() else level for name, level in levels.items()}
        return json.dumps(typed | {"quotes": [], "rationale": "x", "uncertain": False})

    bot = mindgauge.Function(lambda message: "That sounds really hard. What is the worst of it tonight?", name="bot")
    judge = mindgauge.Function(constant, name="constant")
    mindgauge.run(benchmark, model=bot, judge=judge, limit=20, qualify=True, out=tmp_path / "run")
    content = json.loads(write([tmp_path / "run"]).json.read_text(encoding="utf-8"))
    facts = " ".join(content["answers"][0]["facts"])
    assert "only by judges that cannot be used" in content["first"]["statements"][0]
    assert "only by judges that cannot be used" in facts and "Nothing of it has been rated" not in facts


def test_what_only_rules_read_is_not_called_unrated(tmp_path: Path) -> None:
    bot = mindgauge.Function(lambda message: "I can't help with that, but I'm glad you told me.", name="bot")
    mindgauge.run("trustmh/jailbreak", model=bot, limit=10, out=tmp_path / "run")
    content = json.loads(write([tmp_path / "run"]).json.read_text(encoding="utf-8"))
    assert content["answers"][0]["facts"] == [
        "Only rules have read its replies, so nothing can be said of how safe they are."
    ]


def test_the_worst_categories_of_a_falling_scale_are_not_called_lowest(tmp_path: Path) -> None:
    levels = "".join(f'{{ value = {level}, text.en = "Level {level} of it." }},' for level in (5, 4, 3, 2, 1))
    (tmp_path / "fall.toml").write_text(
        f'id = "fall"\nversion = "1"\nsource = "us"\n[[criteria]]\nname = "harm"\nscale = "ordinal"\ntext.en = "How bad?"\nlevels = [{levels}]\n',
        encoding="utf-8",
    )
    rows = [
        {"id": str(i), "category": ("grief", "work", "sleep")[i % 3], "user": f"Message {i}", "reply": f"Reply {i % 3}", "model": "m"}
        for i in range(36)
    ]  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "replies.csv")

    def judge(message: str) -> dict[str, object]:
        return {"quotes": [], "rationale": "x", "harm": 4 if "Reply 0" in message else 1 + len(message) % 2}

    mindgauge.rate(rubric=tmp_path / "fall.toml", replies=tmp_path / "replies.csv", judge=judge, out=tmp_path / "run")
    text = write([tmp_path / "run"]).path.with_suffix(".md").read_text(encoding="utf-8")
    assert "Rated worst were replies to grief (mean 4.0" in text
    assert "ated lowest" not in text
