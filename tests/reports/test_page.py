"""The page holds what the run holds, escapes what others wrote, and asks nothing of a network."""

import itertools
import re
from pathlib import Path

import msgspec
import pytest

from mindgauge.commands.report import report
from mindgauge.records import RaterKind, Rating, Reply, Status
from mindgauge.records.errors import UsageError
from mindgauge.reports.page import ReportFiles, write
from mindgauge.store import Store
from tests.reports.conftest import JUDGE, LONG, MODELS, OPEN, own_samples, plant

ORDER = ["answer", "read", "clinical", "weak", "trust", "wrong", "compared", "how", "words"]


def test_sections_stand_in_order(page: str) -> None:
    assert re.findall(r'<section id="(\w+)"', page) == ORDER


def test_headings_step_down_one_at_a_time(page: str) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", page)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))


def test_ids_are_unique_and_every_inner_link_has_its_target(page: str) -> None:
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


def test_nothing_others_wrote_becomes_markup(page: str) -> None:
    assert "<script" not in page
    assert "<img" not in page
    assert "<b>bold</b>" not in page
    assert "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "{{ 7*7 }}" in page
    assert "[U+202E]" in page
    assert "\u202e" not in page
    assert "[U+0000]" in page
    assert "\x00" not in page


def test_nothing_is_loaded_from_anywhere(page: str) -> None:
    assert not re.findall(r'(?:src|srcset|poster|action|data)="(?!data:)', page)
    assert not re.findall(r"url\(|@import", page)
    outside = {link for link in re.findall(r'href="([^"#][^"]*)"', page) if not link.startswith("data:text/csv")}
    assert outside == {"https://arxiv.org/abs/2509.24857"}
    assert "default-src 'none'" in page


def test_a_very_long_text_is_cut_and_says_so(page: str) -> None:
    assert f"{len(LONG) - 6000:,} more characters are not shown" in page
    assert len(page) < 1_000_000


def test_chinese_text_is_marked_as_chinese(page: str) -> None:
    assert re.search(r'dir="auto" lang="zh"><p>我听到你有多难受。', page)
    assert re.search(r'lang="zh">太敷衍了。', page)
    assert '<html lang="en">' in page


def test_quotes_are_marked_where_they_stand_and_flagged_where_they_do_not(page: str) -> None:
    assert re.search(r"<mark>I hear how hard</mark> this is", page)
    assert 'never said &lt;i&gt;this&lt;/i&gt;</q> <strong class="flag">not in the text' in page


def test_every_picture_says_its_finding_and_stands_in_two_widths(page: str) -> None:
    pictures = re.findall(r'<div class="picture" role="img" aria-label="([^"]+)"', page)
    assert pictures
    assert page.count('class="wide"') == page.count('class="narrow"') == len(pictures)
    assert all(
        re.match(
            r"(.* ha(s|ve) an unsafe reply in the eyes of|Rated worst|Recognised least|Missed most|No part stands out|.* can(not)? be told apart )",
            p,
        )
        for p in pictures
    )
    assert "clip-path=" not in page


def test_the_answer_speaks_of_each_model_and_warns_of_an_unchecked_judge(page: str) -> None:
    answer = page[page.index('id="answer"') : page.index('id="read"')]
    for model in ("acme/alpha-2", "beta&lt;b&gt;bold&lt;/b&gt;"):
        assert model in answer
    assert "No person has rated these replies beside the judge acme/judge-1" in answer
    assert "The judge acme/judge-1 (of its family)" not in answer
    assert answer.count("Only 28") == 1


def test_the_same_family_is_flagged(tmp_path: Path) -> None:
    page = write([plant(tmp_path / "kin", ("openai/gpt-5-nano",), "http://host/v1#gpt-4o")]).path.read_text()
    assert "The judge gpt-4o (of its family) may favour it" in page
    findings, _, methods = page.partition('<section id="how"')
    assert "http://host" not in findings, "a name, never an address"
    assert "http://host/v1#gpt-4o" in methods, "but where it is said how it was done"
    assert "It comes from the same family as openai/gpt-5-nano" in page


def test_the_demonstration_judge_is_called_no_judge(tmp_path: Path) -> None:
    files = write([plant(tmp_path / "demo", ("acme/alpha",), "local/smollm2-135m")])
    assert "no judge to trust" in files.path.read_text()
    assert "no judge to trust" in files.markdown.read_text()


def test_ten_worst_replies_suicide_and_self_harm_first(files: ReportFiles) -> None:
    found = msgspec.json.decode(files.json.read_bytes())
    worst, *_, missed = found["reading"]
    assert len(worst["items"]) == 10
    means = [sum(v["value"] for v in x["verdicts"][0]["marks"]) / 2 for x in worst["items"]]
    assert means == sorted(means)
    assert missed["title"] == "The crises that were missed"
    kinds = [x["category"] in {"suicidal ideation", "self-harm"} for x in missed["items"]]
    assert kinds == sorted(kinds, reverse=True)


def test_the_json_holds_the_scores_and_every_status(files: ReportFiles) -> None:
    found = msgspec.json.decode(files.json.read_bytes())
    assert [system["label"] for system in found["systems"]] == list(MODELS)
    assert found["scores"][0]["metrics"]
    names = {column["name"] for column in found["wrong"]["statuses"]["columns"]}
    assert {"unparsable", "refused", "filtered", "ok", "n"} <= names
    assert found["wrong"]["bounds"]["rows"]


def test_the_summary_fits_one_page_and_escapes(files: ReportFiles) -> None:
    text = files.markdown.read_text()
    assert len(text) < 8000
    assert text.count("\n") < 80
    assert "beta\\<b\\>bold" in text
    assert "<b>" not in text.replace("\\<b\\>", "")
    assert "[The whole report](report.html)" in text


def test_the_same_run_gives_the_same_page(run: Path, page: str, tmp_path: Path) -> None:
    again = write([run], tmp_path / "again.html").path.read_text()

    def undated(text: str) -> str:
        return re.sub(r"\d{4}-\d\d-\d\dT[\d:+]+", "", text).replace("again.json", "report.json")

    assert undated(again) == undated(page)


def test_several_runs_stand_side_by_side(run: Path, tmp_path: Path) -> None:
    other = plant(tmp_path / "other", (MODELS[0],))
    files = report([run, other], out=tmp_path / "both")
    found = msgspec.json.decode(files.json.read_bytes())
    assert [s["label"] for s in found["systems"]] == ["acme/alpha-2 (run)", MODELS[1], "acme/alpha-2 (other)"]
    assert files.path == tmp_path / "both" / "report.html"
    assert {row[2] for row in found["compared"]["rows"]} == {s["label"] for s in found["systems"]}
    assert set(files.table["run"]) == {str(run), str(other)}


def test_the_result_is_a_link(files: ReportFiles, run: Path) -> None:
    assert files.path == run / "report.html"
    assert files._repr_html_() == f'<a href="{files.path}">{files.path}</a>'


def test_where_there_is_no_run_one_line_says_so(tmp_path: Path) -> None:
    for wrong in ([tmp_path / "nothing"], [], [tmp_path, tmp_path]):
        with pytest.raises(UsageError) as caught:
            write(wrong)
        assert "\n" not in str(caught.value)


def test_a_run_without_any_rating_is_still_a_report(tmp_path: Path) -> None:
    folder = plant(tmp_path / "empty", (), samples=own_samples(1))
    page = write([folder]).path.read_text()
    assert "Nothing measured yet" in page


def test_one_sample_and_nothing_usable(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    plant(folder, (), samples=own_samples(1)[:1])
    sample = own_samples(1)[0]
    with Store(folder, write=True) as store:
        reply = Reply.of(sample.id, "m", 0, Status.FAILED)
        store.add_reply(OPEN, reply)
        store.add_rating(OPEN, Rating(reply.id, "appropriateness", JUDGE, RaterKind.MODEL, 0, Status.FAILED))
    page = write([folder]).path.read_text()
    assert "gave no usable verdict" in page
    assert "One conversation stands behind this" in page
