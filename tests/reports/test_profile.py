"""The section of a suite: what its pictures find, what stands behind them, and what it must never show."""

import itertools
import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from mindgauge.analysis.profile import profile
from mindgauge.analysis.profile.records import FigureKind, FigureMark, TaskFigure, TaskScore, panels
from mindgauge.analysis.reliability.card import LIMITED
from mindgauge.analysis.score import Scores
from mindgauge.reports import page as report_page
from mindgauge.reports import runs as opened
from mindgauge.reports.draw import drawing
from mindgauge.reports.draw.records import Curves, Dots, Outcomes, Scatter
from mindgauge.reports.page import ReportFiles, write
from mindgauge.reports.profile import overview, records, section
from mindgauge.reports.profile.records import allowed, cast
from mindgauge.reports.runs import OpenRun, Section
from tests.reports import profiled, suite_run
from tests.reports.conftest import plant_rated

WHO = cast(profiled.profile(), profiled.SYSTEMS)


@pytest.fixture(scope="module")
def suite_page(suite_files: ReportFiles) -> str:
    return suite_files.path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def shown(suite_files: ReportFiles) -> dict[str, Any]:
    found = msgspec.json.decode(suite_files.json.read_bytes())["profile"]
    assert isinstance(found, dict)
    return found


# -- the page ---------------------------------------------------------------------------------------------------------


def test_it_stands_after_the_answer(suite_page: str) -> None:
    assert re.findall(r'<section id="(\w+)"', suite_page)[:3] == ["answer", "profile", "read"]
    assert '<li><a href="#profile">Profile</a></li>' in suite_page


def test_runs_of_one_task_have_none(page: str, files: ReportFiles) -> None:
    assert 'id="profile"' not in page
    assert msgspec.json.decode(files.json.read_bytes())["profile"] is None


def test_headings_ids_and_links_hold(suite_page: str) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", suite_page)]
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    ids = re.findall(r' id="([^"]+)"', suite_page)
    assert [ident for ident in ids if ids.count(ident) > 1] == []
    assert set(re.findall(r'href="#([^"]+)"', suite_page)) <= set(ids)


def test_nothing_others_wrote_becomes_markup(suite_page: str) -> None:
    assert suite_run.HOSTILE not in suite_page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in suite_page
    assert not re.findall(r"url\(|@import", suite_page)


def test_every_picture_says_its_finding_and_stands_in_two_widths(suite_page: str) -> None:
    section = suite_page[suite_page.index('<section id="profile"') : suite_page.index('<section id="read"')]
    said = re.findall(r'<div class="picture" role="img" aria-label="([^"]+)"', section)
    titles = re.findall(r'<figure id="profile[^"]*">\s*<figcaption>\s*<h[34]>(.*?)</h[34]>', section)
    assert len(said) >= 10
    assert section.count('class="wide"') == section.count('class="narrow"') == len(said)
    plain = [title.replace("\N{NO-BREAK SPACE}", " ") for title in titles]
    assert all(any(label.startswith(title) for title in plain) for label in said)


def test_there_is_no_radar_without_its_plain_alternative(suite_page: str) -> None:
    assert suite_page.index('id="profile-dimensions"') < suite_page.index('id="profile-radar"'), (
        "the plain form is first"
    )
    few = msgspec.structs.replace(
        profiled.profile(),
        dimensions=[
            d for d in profiled.profile().dimensions if d.dimension in {"Resisting misuse", "Ethical dilemmas"}
        ],
    )
    assert overview.radar(few, WHO) is None
    assert overview.dots(few, WHO) is not None


def test_each_dimension_has_its_own_picture(shown: dict[str, Any]) -> None:
    anchors = {picture["anchor"] for d in shown["dimensions"] for picture in d["pictures"]}
    assert {
        "profile-jailbreak-outcome", "profile-fairness-quality", "profile-privacy-awareness-tier-2a",
        "profile-robustness-support-quality", "profile-sycophancy-oeq-rates", "profile-ethical-dilemmas-tasks",
    } <= anchors  # fmt: skip
    crisis = next(d for d in shown["dimensions"] if d["name"] == "Crisis detection")
    assert crisis["confused"] == ["trustmh/severity"]
    assert "answers milder than the label in" in crisis["confused_said"][0]


def test_the_confusion_of_severity_stands_once(suite_page: str) -> None:
    title = "What acme/able answered to each class</caption>"
    severity = [
        part for part in suite_page.split(title)[1:] if "Supportive" in part[:3000] or "supportive" in part[:3000]
    ]
    assert len(severity) == 1


def test_examples_are_folded_under_a_notice(suite_page: str, shown: dict[str, Any]) -> None:
    readings = [x for d in shown["dimensions"] for x in d["examples"]]
    linked = [x for d in shown["dimensions"] for x in d["linked"]]
    assert readings
    assert all(len(d["examples"]) + len(d["linked"]) <= 3 for d in shown["dimensions"])
    assert all(f'id="{x["anchor"]}"' in suite_page for x in [*readings, *linked])
    assert "each stays folded until you open it" in suite_page


def test_the_json_holds_the_profile_and_the_summary_its_table(suite_files: ReportFiles, shown: dict[str, Any]) -> None:
    assert {score["model"] for score in shown["scores"]["tasks"]} == set(suite_run.MODELS)
    text = suite_files.markdown.read_text()
    assert "## Profile: TrustMH-Bench" in text
    assert re.search(r"\| Resisting misuse \| \d\.\d\d.*\| \d\.\d\d", text)


def test_the_table_behind_names_whose_score_it_is_and_what_is_missing(shown: dict[str, Any]) -> None:
    sheet = shown["heat"]["sheet"]
    names = [column["name"] for column in sheet["columns"]]
    assert {
        "scaled",
        "chance",
        "n",
        "missing",
        "if all worst",
        "if all best",
        "defined by",
        "rank from",
        "rank to",
    } <= set(names)
    by_task = {row[names.index("task")]: row[names.index("defined by")] for row in sheet["rows"]}
    assert by_task["Jailbreak resistance"] == "our definition"
    assert by_task["Knowledge"] != "our definition"
    assert any("our definition" in row["note"] for row in shown["heat"]["rows"])


# -- the heat map and the overview -------------------------------------------------------------------------------------


def test_the_lowest_cell_of_each_model_is_outlined_and_a_missing_one_says_why() -> None:
    heat = overview.heat(profiled.profile(), WHO)
    for place in range(len(profiled.MODELS)):
        cells = [row["cells"][place] for row in heat.rows]
        lowest = min(cell["value"] for cell in cells if cell["value"] is not None)
        assert [cell["value"] for cell in cells if cell["worst"]] == [lowest]
    missing = next(row for row in heat.rows if row["title"] == "Escalation")["cells"][2]
    assert (missing["value"], missing["why"]) == (None, profiled.WHY)
    assert heat.finding == "Lowest: Severity (0.12, gamma; guessing gives 0.25)"


def test_findings_follow_from_ranks() -> None:
    scores, labels = profiled.profile().dimensions, records.labels_of(WHO)
    assert records.ahead(scores, labels, set()) == (
        "Ahead of all others: acme/alpha-2 in resisting misuse, keeping confidences and steadiness under noise; beta<b>bold</b> in ethical dilemmas. "
        "In 4 of 8 the first cannot be told apart from the next"
    )
    everywhere = {score.dimension for score in scores}
    assert records.ahead(scores, labels, everywhere) == "In none of 8 dimensions is one model ahead of all others"
    reliability = [score for score in scores if score.dimension == "Counselling tasks"]
    assert records.rank_phrases(reliability, labels, few=False) == [
        "Possible ranks: acme/alpha-2 1 to 2, beta<b>bold</b> 1 to 3 and gamma 3.",
        "These cannot be told apart: acme/alpha-2 and beta<b>bold</b>.",
    ]
    assert "too few to say who is better" in records.rank_phrases(reliability, labels, few=True)[0]


def test_one_model_alone_is_not_ranked() -> None:
    alone = profiled.profile(1)
    first = [score for score in alone.dimensions if score.dimension == "Resisting misuse"]
    assert records.rank_phrases(first, records.labels_of(WHO), few=False) == ["Score 0.91 (0.83 to 0.99)."]
    dots = overview.dots(alone, WHO)
    assert dots is not None
    assert dots.finding == "Strongest in resisting misuse (0.91)"


def test_chance_of_a_dimension_is_the_mean_of_its_tasks_or_not_known() -> None:
    dots = overview.dots(profiled.profile(), WHO)
    assert dots is not None
    chances = {row.label: row.chance for row in dots.rows}
    assert (chances["Counselling tasks"], chances["Resisting misuse"]) == (0.25, None)


def test_a_handful_of_conversations_has_no_interval() -> None:
    scores = [profiled.task_score("Resisting misuse", "jailbreak", 0, n=4)]
    dots = section.profile_pictures(scores, [], WHO)[0]
    assert isinstance(dots, Dots)
    assert dots.rows[0].spots[0].low is None


@pytest.mark.long
def test_scores_of_a_judge_that_may_not_give_them_are_withheld(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = plant_rated(
        tmp_path_factory.mktemp("limited") / "run",
        {"wild/judge": (0.0, 3.0)},
        benchmark_name="trustmh/emotional_support",
    )
    whole = profile([folder], judge="wild/judge")
    for show in (False, True):
        run = opened.read(folder, 0, show_unreliable=show)
        with run.store:
            criterion = next(name for (_, name, _), s in run.standings.cards.items() if s.limited)
            tasks = [msgspec.structs.replace(score, criterion=criterion) for score in whole.tasks]
            found = allowed(msgspec.structs.replace(whole, tasks=tasks), [run])
            assert whole.tasks[0].scaled is not None
            assert all(LIMITED in score.note for score in found.tasks)
            assert all((score.scaled is None) is not show for score in found.tasks)
            reliability = [d for d in found.dimensions if d.dimension == "Counselling tasks"]
            assert all((score.value is None) is not show for score in reliability)


# -- pictures ---------------------------------------------------------------------------------------------------------


def _only(kind: FigureKind) -> list[TaskFigure]:
    return [panel for panel in profiled.panels() if panel.kind == kind]


def _drawn(kind: FigureKind, task: str) -> list[Any]:
    dimension = next(name for name, tasks in profiled.TASKS.items() if task in tasks)
    scores = [profiled.task_score(dimension, task, place) for place in range(3)]
    return section.profile_pictures(scores, _only(kind), WHO)


def test_curves_name_the_largest_fall() -> None:
    (curves,) = _drawn(FigureKind.CURVES, "robustness_support")
    assert isinstance(curves, Curves)
    assert curves.finding == "Falls most: gamma, from 0.60 to 0.15 under sentence noise of intensity 0.3"
    assert len(curves.stretches) == 9
    assert [at for at, _ in curves.stretches[0].points] == [0.05, 0.1, 0.2, 0.3]


def test_groups_are_compared_with_the_noise_of_neutral_sentences() -> None:
    (groups,) = _drawn(FigureKind.GROUPS, "fairness")
    assert isinstance(groups, Dots)
    assert groups.finding.startswith("Replies by gamma to “man” are rated 0.09 lower than to a neutral sentence")
    assert [row.head for row in groups.rows if row.head] == ["Gender", "Race", "Neutral sentences"]
    assert all(spot.floor == 0.01 for row in groups.rows for spot in row.spots)
    quiet = [
        msgspec.structs.replace(p, totals=[profiled.mark("neutral", "noise floor", 0.5)])
        for p in _only(FigureKind.GROUPS)
    ]
    scores = [profiled.task_score("Even support across groups", "fairness", place) for place in range(3)]
    assert (
        section.profile_pictures(scores, quiet, WHO)[0].finding
        == "No group differs from a neutral sentence by more than noise"
    )


def test_outcomes_stand_worst_method_first_and_a_control_is_no_attack() -> None:
    (outcomes,) = _drawn(FigureKind.OUTCOMES, "jailbreak")
    assert isinstance(outcomes, Outcomes)
    assert outcomes.finding == "Complied most: gamma, Refusal sentence prohibition (40 %, n 20)"
    assert outcomes.outcomes == ["complied", "safe_redirect", "refused", "no verdict"]
    harmless = [profiled.mark("benign", "complied", 1.0), profiled.mark("benign", "refused", 0.0)]
    beside = [msgspec.structs.replace(p, marks=[*p.marks, *harmless]) for p in _only(FigureKind.OUTCOMES)]
    scores = [profiled.task_score("Resisting misuse", "jailbreak", place) for place in range(3)]
    (again,) = section.profile_pictures(scores, beside, WHO)
    assert isinstance(again, Outcomes)
    assert again.finding == outcomes.finding
    assert again.bars[-1].method == "harmless requests (control)"


def test_clouds_are_said_to_be_people_only_where_people_were_asked() -> None:
    (scatter,) = _drawn(FigureKind.PEOPLE, "privacy_awareness")
    assert isinstance(scatter, Scatter)
    assert scatter.finding.startswith("Agreement with people: r 0.90 for acme/alpha-2")
    assert (scatter.low, scatter.high) == (-100.0, 100.0)
    unasked = [msgspec.structs.replace(panel, asked=False) for panel in _only(FigureKind.PEOPLE)]
    scores = [profiled.task_score("Keeping confidences", "privacy_awareness", place) for place in range(3)]
    assert section.profile_pictures(scores, unasked, WHO)[0].finding.startswith(
        "Agreement with what we expect of people"
    )


def test_rates_stand_beside_people() -> None:
    (rates,) = _drawn(FigureKind.RATES, "sycophancy_oeq")
    assert isinstance(rates, Dots)
    assert rates.finding == "acme/alpha-2: accept framing in 80 % of the replies, in people’s 30 %"
    assert [row.people[0] for row in rates.rows if row.people] == [0.4, 0.55, 0.3]


def test_values_outside_the_axis_stay_inside_the_picture() -> None:
    panel = _only(FigureKind.GROUPS)[0]
    wild = msgspec.structs.replace(
        panel, marks=[FigureMark("race", "White", -0.9, -1.4, -0.4, 20, 20, 0), *panel.marks]
    )
    (groups,) = section.profile_pictures(
        [profiled.task_score("Even support across groups", "fairness", 0)], [wild], WHO
    )
    for (_, svg), width in zip(drawing.drawn(groups), (680, 320), strict=True):
        places = [float(x) for x in re.findall(r'x\d?="(-?[\d.]+)"', svg)]
        assert 0 <= min(places) <= max(places) <= width


# -- what panels count ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured(suite_scored: tuple[Path, Scores]) -> OpenRun:
    folder, scores = suite_scored
    return opened.read(folder, 0, scores=scores)


@pytest.fixture(scope="module")
def scored(suite: Path) -> list[TaskScore]:
    return profile([suite]).tasks


def _panel(
    run: OpenRun, scored: list[TaskScore], kind: FigureKind, task: str, model: str = "acme/poor"
) -> tuple[Section, TaskFigure]:
    score = next(s for s in scored if (s.task, s.model) == (task, model))
    section = next(s for s in run.sections if s.benchmark.name == score.benchmark)
    return section, next(p for p in panels(run.store, section.benchmark, section.ratings, score) if p.kind == kind)


def _values(
    run: OpenRun, section: Section, criterion: str, model: str = "acme/poor"
) -> list[tuple[dict[str, str], object]]:
    """Return what stands in the run itself: each rating's tags and value."""
    samples = {s.id: s for s in run.store.samples(section.benchmark.name)}
    rows = section.ratings.filter(criterion=criterion, model=model).select("sample", "value").iter_rows()
    return [(samples[ident].tags, value) for ident, value in rows]


def test_outcomes_are_shares_of_all_replies(measured: OpenRun, scored: list[TaskScore]) -> None:
    section, panel = _panel(measured, scored, FigureKind.OUTCOMES, "jailbreak")
    given = _values(measured, section, "outcome")
    for mark in panel.marks:
        its = [value for tags, value in given if tags["method"] == mark.part]
        assert mark.value == pytest.approx(its.count(mark.of) / len(its))
        assert mark.low is not None and mark.high is not None
        assert mark.low <= (mark.value or 0.0) <= mark.high
    methods = {mark.part for mark in panel.marks}
    assert all(sum(m.value or 0.0 for m in panel.marks if m.part == method) == pytest.approx(1) for method in methods)


def test_curves_are_means_of_each_cell(measured: OpenRun, scored: list[TaskScore]) -> None:
    section, panel = _panel(measured, scored, FigureKind.CURVES, "robustness_support")
    given = _values(measured, section, "quality")
    assert panel.marks[0].part == ""
    for mark in panel.marks:
        wanted = (mark.part or "none", mark.of or "0.00")
        its = [float(str(value)) for tags, value in given if (tags["noise"], tags["intensity"]) == wanted]
        assert mark.value == pytest.approx(np.mean(its))
        assert mark.n == len(its)


def test_groups_are_differences_from_neutral_sentences(measured: OpenRun, scored: list[TaskScore]) -> None:
    section, panel = _panel(measured, scored, FigureKind.GROUPS, "fairness")
    given = _values(measured, section, "quality")
    neutral = [float(str(value)) for tags, value in given if tags["axis"] == "neutral"]
    for mark in panel.marks:
        its = [float(str(value)) for tags, value in given if (tags["axis"], tags["group"]) == (mark.part, mark.of)]
        assert mark.value == pytest.approx(np.mean(its) - np.mean(neutral))
    names = {tags["group"] for tags, _ in given if tags["axis"] == "neutral"}
    means = [
        np.mean([float(str(v)) for tags, v in given if tags["group"] == name and tags["axis"] == "neutral"])
        for name in names
    ]
    assert panel.totals[0].value == pytest.approx(np.std(means))


def test_clouds_give_the_correlation_of_their_points(measured: OpenRun, scored: list[TaskScore]) -> None:
    _, panel = _panel(measured, scored, FigureKind.PEOPLE, "privacy_awareness", "acme/able")
    assert not panel.asked
    for total in panel.totals:
        points = [(m.beside, m.value) for m in panel.marks if m.part == total.part and m.value is not None]
        x, y = np.array(points, dtype=float).T
        assert total.value == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_rates_stand_beside_the_labels_of_peoples_own_replies(measured: OpenRun, scored: list[TaskScore]) -> None:
    score = next(s for s in scored if (s.task, s.model) == ("sycophancy_oeq", "acme/poor"))
    section = next(s for s in measured.sections if s.benchmark.name == score.benchmark)
    found = [p for p in panels(measured.store, section.benchmark, section.ratings, score) if p.kind == FigureKind.RATES]
    assert len(found) == 4
    for panel in found:
        rows = section.ratings.filter(criterion=panel.criterion, model="acme/poor")
        assert panel.marks[0].value == pytest.approx((rows["value"] == "yes").mean())
        assert panel.marks[0].beside == pytest.approx((rows["target"] == "yes").mean())


@pytest.mark.long
def test_several_runs_make_one_profile(tmp_path_factory: pytest.TempPathFactory) -> None:
    out = tmp_path_factory.mktemp("both")
    suite = suite_run.run(out / "suite", ("knowledge", "severity", "emotional_support"))
    other = suite_run.run(out / "ethics", ("ethics", "knowledge"))
    report = report_page.read([suite, other])
    assert report.profile is not None
    assert len(report.profile.heat.systems) == len(suite_run.MODELS)
    assert any("in several runs" in note for note in report.profile.notes)
    assert write([other], out / "small.html").path.read_text().count('id="profile-heat"') == 1
