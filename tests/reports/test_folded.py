"""A report on many benchmarks: the answer in one paragraph, and each benchmark's part folded behind its finding."""

import base64
import io
import re
import zipfile
from typing import Any

import msgspec
import pytest

from mindgauge import benchmarks
from mindgauge.reports.page import ReportFiles
from mindgauge.reports.profile import overview
from mindgauge.reports.profile.overview import findings, lead, not_shown, points
from mindgauge.reports.profile.records import ProfileSection, cast
from tests.chromium import CHROMIUM
from tests.reports import profiled, suite_run
from tests.thinned import later

NAMES = {f"trustmh/{task}" for task in suite_run.TASKS}


def section_of(models: int) -> ProfileSection:
    """Return the section of the profile of so many invented models."""
    whole = profiled.profile(models)
    heat = overview.heat(whole, cast(whole, profiled.SYSTEMS))
    return ProfileSection("TrustMH-Bench", "trustmh", [], None, None, heat, [], heat.sheet, whole.lacking, [], whole)


def part_of(page: str, section: str) -> str:
    """Return one section of a page."""
    start = page.index(f'<section id="{section}"')
    return page[start : page.index("</section>", start)]


def folds(part: str) -> dict[str, str]:
    """Return what folds say that are directly in a section: title → finding."""
    found, depth = {}, 0
    tags = r'<details class="(?:more|table|reading|table words)">|</details>'
    for tag in re.finditer(tags, part):
        if tag[0] == "</details>":
            depth -= 1
            continue
        depth += 1
        summary = re.match(r'<summary>([^<]+)<span class="aside"> – (.*?)</span>', part[tag.end() :])
        if depth == 1 and "more" in tag[0] and summary:
            found[summary[1]] = summary[2].replace("\N{NO-BREAK SPACE}", " ")
    return found


@pytest.fixture(scope="module")
def suite_page(suite_files: ReportFiles) -> str:
    return suite_files.path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def told(suite_files: ReportFiles) -> dict[str, Any]:
    found = msgspec.json.decode(suite_files.json.read_bytes())
    assert isinstance(found, dict)
    return found


# -- the answer -------------------------------------------------------------------------------------------------------


def test_one_model_is_told_where_it_is_weakest() -> None:
    said = lead(section_of(1), [], "")
    assert said[0].startswith("The model was put to 10 tasks of TrustMH-Bench, which stand for 8 dimensions; ")
    assert said[1] == "It is weakest in resisting sycophancy, with 42 (the data allow 34 to 50)."
    assert not any("told apart" in sentence for sentence in said)


def test_two_models_are_told_apart_where_they_can_be() -> None:
    said = lead(section_of(2), [], "Nobody has checked it.")
    assert said[1] == (
        "Both are weakest in resisting sycophancy: acme/alpha-2 with 42 (the data allow 34 to 50) and beta<b>bold</b> with 47 "
        "(the data allow 39 to 55)."
    )
    assert said[2] == (
        "acme/alpha-2 is better in resisting misuse, keeping confidences and steadiness under noise; beta<b>bold</b> is better in ethical dilemmas; in the other 4 they cannot "
        "be told apart."
    )
    at = said.index("In 6 of 10 tasks the score is what the judge acme/judge-1 thought of the replies.")
    assert said[at + 1] == "Nobody has checked it."
    assert "6 of 10 tasks are marked “our definition”: how they are scored is not the authors’ but ours." in said


def test_a_task_without_a_score_or_a_run_is_named() -> None:
    said = lead(section_of(3), [], "")
    assert "1 task is left out, since some model has no score in it: “Escalation”." in said
    missing = next(sentence for sentence in said if "not run" in sentence)
    assert missing.startswith(
        "9 tasks are missing, for want of data or because they were not run: “Psychological diagnosis”"
    )
    assert missing.endswith(" and 5 more.")


def test_few_conversations_give_no_bounds() -> None:
    section = section_of(1)
    thin = msgspec.structs.replace(
        section.scores, tasks=[msgspec.structs.replace(task, clusters=4) for task in section.scores.tasks]
    )
    said = lead(msgspec.structs.replace(section, scores=thin), [], "")
    assert said[1] == "It is weakest in resisting sycophancy, with 42 (too few conversations to say how near that is)."
    assert "In all 10 tasks fewer than 30 conversations stand behind the score, so it is rough." in said


@pytest.mark.parametrize(
    ("scaled", "said"), [(0.0, "0"), (0.001, "less than 1"), (0.375, "38"), (0.999, "more than 99"), (1.0, "100")]
)
def test_only_the_ends_are_written_as_ends(scaled: float, said: str) -> None:
    assert points(scaled) == said


def test_findings_name_every_model_best_first() -> None:
    assert findings(section_of(1)) == {}
    assert findings(section_of(3))["trustmh/knowledge"] == "acme/alpha-2 82, beta<b>bold</b> 61 and gamma 35 of 100"


def test_the_suite_says_what_it_does_not_show() -> None:
    said = not_shown(section_of(1))
    assert said[0].startswith("Whether a person is helped")
    assert all(sentence.endswith(".") for sentence in said)


def test_the_answer_is_one_paragraph_and_a_fold_for_each_task(suite_page: str, told: dict[str, Any]) -> None:
    answer = part_of(suite_page, "answer")
    assert answer.count('class="lede"') == 1
    assert "samples that this project wrote itself" in answer
    assert "No person has rated these replies beside the judge other/judge" in answer
    assert {task["benchmark"] for task in told["tasks"]} == NAMES
    assert list(folds(answer)) == [task["title"] for task in told["tasks"]]
    assert folds(answer)["Knowledge"] == told["tasks"][0]["finding"]
    assert re.fullmatch(r"acme/able \d+ and acme/poor \d+ of 100", told["tasks"][0]["finding"])
    for task in told["tasks"]:
        assert [said["system"]["label"] for said in task["told"]] == list(suite_run.MODELS)
        assert all(said["facts"] for said in task["told"])
    assert not any(one["facts"] or one["withheld"] for one in told["answers"])


def test_the_summary_starts_with_the_paragraph(suite_files: ReportFiles, told: dict[str, Any]) -> None:
    text = suite_files.markdown.read_text(encoding="utf-8")
    assert told["lead"][0] in text
    assert told["subtitle"] == "TrustMH-Bench, 9 tasks"


# -- the folds --------------------------------------------------------------------------------------------------------


def test_each_benchmark_is_folded_behind_its_finding(suite_page: str, told: dict[str, Any]) -> None:
    titles = {task["benchmark"]: task["title"] for task in told["tasks"]}
    first: dict[str, str] = {}
    for figure in told["weak"]["figures"]:
        first.setdefault(titles[figure["benchmark"]], figure["finding"])
    weak = folds(part_of(suite_page, "weak"))
    assert first.items() <= weak.items()
    compared = folds(part_of(suite_page, "compared"))
    assert {titles[c["benchmark"]] for c in told["paired"]["contrasts"]} <= set(compared)
    how = folds(part_of(suite_page, "how"))
    assert {title: how[title] for title in titles.values()} == {
        titles[i["benchmark"]]: ", ".join(i["used"]) for i in told["how"]["instruments"]
    }
    judged = {titles[part["benchmark"]] for part in told["trust"]["judges"][0]["parts"]}
    assert judged
    assert judged <= set(folds(part_of(suite_page, "trust")))


def test_every_picture_is_still_there(suite_page: str, told: dict[str, Any]) -> None:
    pictures = [*told["weak"]["figures"], *told["paired"]["contrasts"]]
    assert len(pictures) > 20
    assert all(suite_page.count(f'<figure id="{picture["anchor"]}">') == 1 for picture in pictures)


def test_prompts_stand_in_full_once(suite_page: str, told: dict[str, Any]) -> None:
    how = part_of(suite_page, "how")
    shown = re.findall(r'<pre lang="\w+" tabindex="0" id="[^"]+">', how)
    words = {text for i in told["how"]["instruments"] for *_, text in i["prompts"]}
    assert len(shown) == len(words) > len(NAMES)
    assert how.count("the same words as") == sum(len(i["prompts"]) for i in told["how"]["instruments"]) - len(words)
    wanted = benchmarks.find_one("trustmh/severity").prompts["ask"]["en"].text
    assert wanted.splitlines()[0] in how.replace("&#39;", "'").replace("&#34;", '"')


def test_few_benchmarks_stand_open(page: str, files: ReportFiles) -> None:
    found = msgspec.json.decode(files.json.read_bytes())
    assert (found["lead"], found["tasks"]) == ([], [])
    assert "Task by task" not in page
    assert not [title for title in folds(part_of(page, "how")) if "kind of crisis" in title]
    assert found["trust"]["judges"][0]["parts"] == []


def test_every_score_is_in_the_zipped_table(suite_page: str, told: dict[str, Any], suite_files: ReportFiles) -> None:
    (content,) = re.findall(r'href="data:application/zip;base64,([^"]+)" download="scores.zip"', suite_page)
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(content))) as archive:
        table = archive.read("scores.csv").decode("utf-8-sig")
    assert len(table.splitlines()) == len(told["weak"]["scores"]["rows"]) + 1
    assert suite_files.path.stat().st_size < 2_000_000


# -- in a browser -----------------------------------------------------------------------------------------------------


in_browser = pytest.mark.skipif(not CHROMIUM.is_file(), reason="needs Debian's chromium at /usr/bin/chromium")


@pytest.mark.browser
@in_browser
def test_it_can_be_read_to_the_end(browser: Any, suite_files: ReportFiles) -> None:
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.goto(suite_files.path.as_uri())
    heights = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('section')].map(s => [s.id, s.getBoundingClientRect().height]))"
    )
    assert max(heights[name] for name in ("answer", "weak", "trust", "compared", "how")) < 3500
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1100
    page.close()


@pytest.mark.browser
@in_browser
@pytest.mark.parametrize("which", ["#weak .picture .wide svg", later("#compared .picture .wide svg"), "#how pre[id]"])
def test_a_link_into_a_fold_opens_it(browser: Any, suite_files: ReportFiles, which: str) -> None:
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.goto(suite_files.path.as_uri())
    inside = page.locator(which).last
    assert not inside.is_visible()
    anchor = inside.evaluate("e => e.closest('[id]:not(section)').id")
    page.goto("about:blank")
    page.goto(f"{suite_files.path.as_uri()}#{anchor}")
    page.locator(which).last.wait_for(state="visible")
    page.close()


@pytest.mark.browser
@in_browser
@pytest.mark.long
def test_the_keyboard_opens_a_fold_and_paper_shows_what_is_open(browser: Any, suite_files: ReportFiles) -> None:
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.goto(suite_files.path.as_uri())
    first = page.locator("#weak > details.more > summary").first
    first.focus()
    page.keyboard.press("Enter")
    assert first.evaluate("e => e.parentElement.open")
    page.emulate_media(media="print")
    folded = page.locator("#weak > details.more")
    assert page.locator("#weak > details.more[open] > :not(summary)").first.is_visible()
    assert folded.nth(1).locator("summary").first.is_visible()
    assert not folded.nth(1).locator("> :not(summary)").first.is_visible()
    page.close()
