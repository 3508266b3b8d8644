"""A page in Chinese as its reader gets it: what is said of it, what stays English, and what others wrote."""

from __future__ import annotations

import json
import re
import shutil
import time
from typing import TYPE_CHECKING

import pytest

from mindgauge.reports.language import memory, spoken
from mindgauge.reports.language.spoken import in_words, speaking
from mindgauge.reports.language.translator import Translator
from mindgauge.reports.page import write
from tests import in_process
from tests.reports.conftest import HOSTILE, LONG
from tests.stub import Stub
from tests.test_own_benchmark_page import DOCS, answer

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.reports.page import ReportFiles

UNKNOWN = "The lighthouse keeps its own counsel at noon."
OTHERS = '<p translate="no">How appropriate is it?</p><q>All of it.</q><pre>None</pre><p lang="en">The answer</p>'


@pytest.fixture
def say() -> Translator:
    return Translator(memory.read("zh"), ["acme/alpha-2"])


@pytest.fixture(scope="module")
def chinese(run: Path, tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    return write([run], tmp_path_factory.mktemp("chinese") / "page.html", language="zh")


def test_the_command_writes_page_and_summary_in_chinese_and_the_same_data(
    run: Path, files: ReportFiles, tmp_path: Path
) -> None:
    done = in_process.mindgauge("report", run, "--language", "zh", "--out", tmp_path / "page.html")
    assert (done.returncode, done.stderr) == (0, "")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<html lang="zh">' in text
    assert ">可信到什么程度" in text
    assert "**发现了什么。**" in (tmp_path / "page.md").read_text(encoding="utf-8")
    data, english = (json.loads(path.read_text(encoding="utf-8")) for path in (tmp_path / "page.json", files.json))
    assert data.pop("language") == "zh"
    assert english.pop("language") == "en"
    for content in (data, english):
        del content["made"]
    assert data == english


def test_an_unknown_language_is_refused_in_one_line(run: Path, tmp_path: Path) -> None:
    done = in_process.mindgauge("report", run, "--language", "klingon", "--out", tmp_path / "page.html")
    assert done.returncode == 2
    assert done.stderr == "mindgauge: no report in the language “klingon”; there is: en, zh\n"
    assert not list(tmp_path.iterdir())


def test_texts_of_people_and_models_stand_as_they_are(chinese: ReportFiles, page: str) -> None:
    text = chinese.path.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;alert(1)") == page.count("&lt;script&gt;alert(1)") > 0
    assert "&lt;b&gt;bold&lt;/b&gt;" in text
    assert HOSTILE[:9] not in chinese.markdown.read_text(encoding="utf-8")
    assert text.count(LONG[:60]) == page.count(LONG[:60]) > 0
    assert chinese.english == []


def test_what_is_not_known_stays_english_is_marked_and_counted(say: Translator) -> None:
    written = spoken.PageTranslator(say)(
        f'<html lang="en"><body><!-- how it was translated --><p>{UNKNOWN} The answer</p>'
        f'<p>{UNKNOWN}</p><div aria-label="{UNKNOWN}">None</div></body></html>'
    )
    assert written.count(f'<span lang="en">{UNKNOWN}</span>') == 2
    assert "结论" in written
    assert f'<div aria-label="{UNKNOWN}" lang="en">' in written
    assert "有 1 句没有译文" in written
    assert say.english == [UNKNOWN]


def test_what_others_wrote_is_not_said_anew(say: Translator) -> None:
    assert spoken.PageTranslator(say)(OTHERS) == OTHERS


def test_words_of_pictures_are_said_where_they_are_drawn(say: Translator) -> None:
    with speaking(say):
        known, unknown = in_words("The answer"), in_words(UNKNOWN)
    assert known == "结论"
    svg = spoken.PageTranslator(say)(f"<svg><text>{known}</text><text>{unknown}</text></svg>")
    assert svg == f'<svg><text>结论</text><text><tspan lang="en">{UNKNOWN}</tspan></text></svg>'


def test_signs_of_ours_in_texts_of_others_open_nothing(say: Translator) -> None:
    written = spoken.PageTranslator(say)("<p>坏\x02<b>x</b>\x03 acme/alpha-2\x02</p>")
    assert re.findall(r"<[^>]+>", written) == ["<p>", "<b>", "</b>", "</p>"]


def test_words_of_an_own_benchmark_fall_back_to_english(tmp_path: Path) -> None:
    for name in ("items.csv", "rubric.toml"):
        shutil.copy(DOCS / "examples" / "own_benchmark" / name, tmp_path)
    with Stub(answer) as stub:
        for line in (
            "new own --from items.csv --map user=message,tag.topic=topic --rubric rubric.toml",
            f"run ./own --model {stub.model} --judge {stub.judge} --limit 6 --out run",
        ):
            done = in_process.mindgauge(*line.split(), folder=tmp_path)
            assert done.returncode == 0, done.stderr
    done = in_process.mindgauge("report", "run", "--language", "zh", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    match = re.fullmatch(r"Note: (\d+) sentences stayed English; `--json` lists them under english\n", done.stderr)
    assert match, done.stderr
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert f"有 {match[1]} 句没有译文" in (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    for text in (page.partition('<section id="how"')[0], (tmp_path / "run" / "report.md").read_text(encoding="utf-8")):
        assert "127.0.0.1" not in text, "models are shown by their short names"
    stayed = write([tmp_path / "run"], tmp_path / "again.html", language="zh").english
    assert len(stayed) == int(match[1])
    assert any("takes up feeling" in sentence for sentence in stayed)
    bare = re.sub(r"<(\w+)[^>]* lang=\"en\"[^>]*>[^<]*</\1>|<style.*?</style>", "", page, flags=re.DOTALL)
    assert "takes up feeling" not in re.sub(r"<[^>]*>", "", bare), "English is marked wherever it stands"


@pytest.mark.parametrize(
    "unit", ["odd; ", "odd, even and ", "(", "mean of ", "Of 7 replies, ", "a (b) ", "“", "x: ", "again and again "]
)
def test_a_text_of_any_length_is_looked_through_soon(unit: str) -> None:
    say = Translator(memory.read("zh"))
    begun = time.process_time()
    text = (unit * 100_000)[:100_000]
    assert "".join(sentence.text for sentence in say.sentences(text)).startswith(text[:20])
    assert time.process_time() - begun < 5
