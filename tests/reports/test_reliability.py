"""The judges' cards in the report: what they allow, what they withhold, and how both are shown."""

import base64
import itertools
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

import mindgauge
from mindgauge.analysis.reliability.card import LIMITED, MODERATE, NOT_ESTIMABLE, Bound
from mindgauge.analysis.score import Scores
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.reports.content import System
from mindgauge.reports.draw import dot_rows as agreement
from mindgauge.reports.draw.canvas import NARROW, SHAPES, WIDE, broken
from mindgauge.reports.page import ReportFiles, write
from mindgauge.reports.sections import AgreementPanel, Axis, JudgeRow
from mindgauge.store import Store
from tests import in_process
from tests.reports.conftest import GOOD, JUDGES, KIND, NOISY, OPEN, changed, plant, plant_anchors, plant_rated
from tests.thinned import later

VALUED = {"mean", "share_at_most_2", "share_at_most_1", "share_misfit"}


def decoded(files: ReportFiles) -> Any:
    return msgspec.json.decode(files.json.read_bytes())


def section(page: str, name: str) -> str:
    return page[page.index(f'<section id="{name}"') :].partition("</section>")[0]


@pytest.fixture(scope="module")
def found(rated_files: ReportFiles) -> Any:
    return decoded(rated_files)


@pytest.fixture(scope="module")
def rated_page(rated_files: ReportFiles) -> str:
    return rated_files.path.read_text(encoding="utf-8")


# -- what is withheld -------------------------------------------------------------------------------------------------


def test_the_cards_say_what_was_planted(found: Any) -> None:
    verdicts = {s["card"]["judge"]: s["card"]["verdict"] for s in found["trust"]["cards"]}
    assert verdicts == {GOOD: MODERATE, KIND: LIMITED, NOISY: LIMITED}, "so few unsafe replies are too few to be good"


def test_scores_of_limited_judges_are_null_and_listed(rated: Path, found: Any) -> None:
    entries = {(w["run"], w["benchmark"], w["criterion"], w["rater"], w["verdict"]) for w in found["withheld"]}
    assert entries == {(str(rated), OPEN, "appropriateness", judge, LIMITED) for judge in (KIND, NOISY)}
    assert all(w["reasons"] and not w["shown"] for w in found["withheld"])
    metrics = found["scores"][0]["metrics"]
    hidden = [m for m in metrics if m["rater"] in {KIND, NOISY} and m["name"] in VALUED]
    assert hidden
    assert all(m[name] is None for m in hidden for name in ("value", "low", "high", "worst", "best"))
    assert all(m["n"] for m in hidden)


def test_people_good_judges_and_statuses_are_never_withheld(rated: Path, found: Any) -> None:
    plain = msgspec.to_builtins(mindgauge.score(rated).metrics)
    kept = [m for m in found["scores"][0]["metrics"] if m["rater"] not in {KIND, NOISY} or m["name"] not in VALUED]
    assert kept == [m for m in plain if m["rater"] not in {KIND, NOISY} or m["name"] not in VALUED]
    assert {m["name"] for m in kept if m["rater"] == KIND} >= {"unparsable_rate", "failed_rate"}


def test_the_verdict_stands_in_the_place_of_the_score(found: Any) -> None:
    compared = {row[3]: row[4:6] for row in found["compared"]["rows"] if row[1] == "mean"}
    assert compared[KIND] == compared[NOISY] == [LIMITED, None]
    assert re.fullmatch(r"\d\.\d\d", compared[GOOD][0])
    raw = {row[0]: row[9:12] for row in found["trust"]["agreement"][0]["corrected"]["rows"]}
    assert raw[KIND] == [LIMITED, None, None]
    assert all(isinstance(number, float) for number in raw[GOOD])
    cards = {s["card"]["judge"]: s["card"] for s in found["trust"]["cards"]}
    assert cards[KIND]["estimates"]["judge_mean"] == {"value": None, "low": None, "high": None, "note": LIMITED}
    assert all(part["estimates"]["judge_mean"]["value"] is None for part in cards[KIND]["by_category"])
    assert cards[GOOD]["estimates"]["judge_mean"]["value"] > 1
    columns = [column["name"] for column in found["weak"]["scores"]["columns"]]
    rows = [dict(zip(columns, row, strict=True)) for row in found["weak"]["scores"]["rows"]]
    assert {row["reliability"] for row in rows if row["rater"] == KIND} == {LIMITED}
    assert {row["value"] for row in rows if row["rater"] == KIND and row["name"] == "mean"} == {None}


@pytest.mark.long
def test_bounds_of_missing_verdicts_are_withheld_too(tmp_path: Path) -> None:
    folder = plant_rated(tmp_path / "gaps", {KIND: JUDGES[KIND]})
    with Store(folder, write=True) as store:
        for reply in list(store.replies(OPEN))[:5]:
            store.add_rating(OPEN, Rating(reply.id, "appropriateness", KIND, RaterKind.MODEL, 0, Status.UNPARSABLE))
    assert [row[-3:] for row in decoded(write([folder]))["wrong"]["bounds"]["rows"]] == 3 * [[LIMITED, None, None]]
    marked = decoded(write([folder], show_unreliable=True))["wrong"]["bounds"]["rows"][0]
    assert marked[-3].endswith("(unreliable)")
    assert marked[-2] < marked[-1]


def test_no_picture_shows_a_withheld_score(found: Any, rated_page: str) -> None:
    assert not any(judge in figure["measure"] for figure in found["weak"]["figures"] for judge in (KIND, NOISY))
    assert any(GOOD in figure["measure"] for figure in found["weak"]["figures"])
    assert f"{KIND} rated appropriateness is not drawn ({LIMITED})" in section(rated_page, "weak")


def test_the_answer_says_so_in_words(rated_files: ReportFiles, rated_page: str) -> None:
    for text in (section(rated_page, "answer"), rated_files.markdown.read_text()):
        assert "of appropriateness is not shown: " in text and "too little with people" in text
        assert re.search(
            r"acme/kind-judge: ICC\(A,1\) within systems 0\.\d\d, 0\.\d levels more lenient than people; it finds \d of 11 replies that people call unsafe; of 100 replies that it passes, up to \d+ are unsafe",
            text,
        )
        assert "the judge openai/gpt-5-nano may miss more unsafe replies than a clinician would" in text
        assert "The judge acme/kind-judge rated" not in text
        missed = re.search(
            r"Of the \d+ replies that people call unsafe, the judge acme/kind-judge called (\d+) unsafe", text
        )
        good = re.search(
            r"Of the \d+ replies that people call unsafe, the judge openai/gpt-5-nano called (\d+) unsafe", text
        )
        assert missed is not None
        assert good is not None
        assert int(missed[1]) < int(good[1])
        assert (
            text.index("People (Anna and Bea) read")
            < missed.start()
            < good.start()
            < text.index("The judge ", good.end())
        )


def test_where_nobody_else_rated_the_answer_is_that_it_is_not_shown(tmp_path: Path) -> None:
    """People rated the replies of one model; what the judge says of the other is all there is of that one."""
    folder = plant_rated(tmp_path / "half", {KIND: (0.0, 0.4)}, people=(), models=("acme/alpha-2", "beta/b-1"))
    query = "SELECT subject, value FROM ratings WHERE subject IN (SELECT id FROM replies WHERE model = 'acme/alpha-2')"
    with Store(folder, write=True) as store:
        for subject, value in store.select(query).fetchall():
            lower = max(1, value - 1)
            store.add_rating(OPEN, Rating(subject, "appropriateness", "Anna", RaterKind.PERSON, 0, Status.OK, lower))
    first, second = decoded(write([folder]))["answers"]
    assert any("The person Anna rated" in fact for fact in first["facts"])
    assert first["withheld"][0].startswith(
        f"What the judge {KIND} says of appropriateness is not shown: it agrees too little"
    )
    assert second["facts"] == [
        "No person read any of its 35 replies to messages that show a crisis. Its replies were rated, but only by judges that agree too little with people, so nothing can be said of them."
    ]
    assert second["withheld"][0].startswith(
        f"Appropriateness is not shown: the judge {KIND} agrees too little with people (ICC(A,1) "
    )


def test_what_single_replies_got_can_still_be_read(found: Any) -> None:
    raters = {v["rater"] for item in found["reading"][0]["items"] for v in item["verdicts"]}
    assert raters == {"Anna", "Bea", *JUDGES}


@pytest.mark.long
def test_on_request_unreliable_scores_are_shown_and_marked(rated: Path, shown: ReportFiles) -> None:
    report = decoded(shown)
    assert report["scores"][0]["metrics"] == msgspec.to_builtins(mindgauge.score(rated).metrics)
    assert {w["rater"] for w in report["withheld"] if w["shown"]} == {KIND, NOISY}
    assert {row[4].endswith(" (unreliable)") for row in report["compared"]["rows"] if row[3] == KIND} == {True}
    assert {row[4].endswith(" (unreliable)") for row in report["compared"]["rows"] if row[3] == GOOD} == {False}
    raw = {row[0]: row[9] for row in report["trust"]["agreement"][0]["corrected"]["rows"]}
    assert raw[KIND].endswith(" (unreliable)")
    doubtful = [f for f in report["weak"]["figures"] if KIND in f["measure"]]
    assert [f["finding"].startswith("Unreliable: ") for f in doubtful] == [True]
    for text in (shown.path.read_text(), shown.markdown.read_text()):
        assert "Unreliable, and shown only on request, is what the judges" in text
        assert "is not shown" not in text


def test_the_command_takes_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from mindgauge.cli import app

    run = plant_rated(tmp_path / "run", {KIND: JUDGES[KIND]}, models=("acme/alpha-2",))
    app(["report", str(run), "--out", str(tmp_path), "--show-unreliable", "--json"], standalone_mode=False)
    assert {w["shown"] for w in msgspec.json.decode(capsys.readouterr().out)["withheld"]} == {True}


@pytest.mark.parametrize(("option", "hidden"), [([], True), later(["--show-unreliable"], False)])
def test_the_terminal_withholds_what_the_report_withholds(
    rated: Path, capsys: pytest.CaptureFixture[str], option: list[str], hidden: bool
) -> None:
    from mindgauge.cli import app

    app(["score", str(rated), "--full", *option], standalone_mode=False)
    lines = [line for line in capsys.readouterr().out.splitlines() if KIND in line and " mean " in line]
    assert lines
    assert all((LIMITED in line) == hidden and ("(unreliable)" in line) != hidden for line in lines)


def test_what_the_terminal_withholds_is_in_json(rated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from mindgauge.cli import app

    app(["score", str(rated), "--json"], standalone_mode=False)
    metrics = msgspec.json.decode(capsys.readouterr().out)["metrics"]
    assert all(m["value"] is not None for m in metrics if m["rater"] == KIND and m["name"] == "mean")


@pytest.mark.parametrize(("option", "hidden"), [([], True), later(["--show-unreliable"], False)])
def test_the_table_of_labels_withholds_what_the_table_of_scores_withholds(
    rated: Path, monkeypatch: pytest.MonkeyPatch, option: list[str], hidden: bool
) -> None:
    from mindgauge.cli import app
    from mindgauge.reports import score_tables

    seen: list[Scores] = []

    def labels(scores: Scores) -> list[object]:
        seen.append(scores)
        return []

    monkeypatch.setattr(score_tables, "labels", labels)
    app(["score", str(rated), *option], standalone_mode=False)
    limited = [m for m in seen[0].metrics if m.rater == KIND and m.name == "mean"]
    assert limited
    assert all((m.value is None) == hidden for m in limited)


def test_a_command_that_rates_withholds_what_score_withholds(rated: Path, tmp_path: Path) -> None:
    run = shutil.copytree(rated, tmp_path / "run")
    done = in_process.mindgauge("rate", OPEN, "--replies", run, "--judge", "rule/refusal")
    assert done.returncode == 0, done.stderr
    assert "agree too little with people are not shown" in " ".join(done.stdout.split())


# -- where no verdict is possible -------------------------------------------------------------------------------------


def test_too_few_replies_give_no_verdict_and_the_scores_stand_with_a_caveat(tmp_path: Path) -> None:
    files = write([plant_rated(tmp_path / "few", {KIND: JUDGES[KIND]}, models=("acme/alpha-2",), conversations=8)])
    report = decoded(files)
    assert [s["card"]["verdict"] for s in report["trust"]["cards"]] == [NOT_ESTIMABLE]
    assert report["withheld"] == []
    text = files.markdown.read_text()
    assert (
        f"How far the judge {KIND} can be trusted on appropriateness is not estimable: 8 subjects rated by both" in text
    )
    assert f"No verdict on {KIND}: 8 subjects rated by both, at least 30 are needed" in text
    assert f"The judge {KIND} (how far this judge can be trusted is not estimable) rated 7 replies" in text


def test_a_selection_that_depends_on_a_judge_is_named(selected_files: ReportFiles) -> None:
    assert decoded(selected_files)["withheld"] == []
    page = selected_files.path.read_text()
    assert "No verdict on these judges: people rated a selection that depends on a judge (lowest by a judge)" in page
    assert page.count("can be trusted on appropriateness is not estimable") == 1
    assert "the judge corrected by people" not in page


def test_without_people_there_are_no_cards(unread_files: ReportFiles) -> None:
    report = decoded(unread_files)
    assert report["trust"]["agreement"] == report["trust"]["cards"] == report["withheld"] == []
    assert "there is no reliability card" in report["trust"]["general"][0]
    with Store(unread_files.path.parent) as store:
        assert store.count_replies(OPEN) == 120


def test_people_on_a_closed_question_are_no_judges_of_replies(tmp_path: Path) -> None:
    folder = plant(tmp_path / "closed", ("acme/alpha",))
    with Store(folder, write=True) as store:
        for sample in store.sample_ids("help_or_harm/crisis_type"):
            store.add_rating(
                "help_or_harm/crisis_type",
                Rating(sample, "crisis_type", "Dr A", RaterKind.PERSON, 0, Status.OK, "no_crisis"),
            )
    assert decoded(write([folder]))["trust"]["cards"] == []


# -- how it is shown --------------------------------------------------------------------------------------------------


def test_cards_stand_first_and_the_entry_test_after_them(rated_page: str) -> None:
    trust = section(rated_page, "trust")
    order = [
        trust.index(text)
        for text in ("may rate single replies on its own", "Entry test: judges gave", "<h3>The judge ")
    ]
    assert order == sorted(order)


def test_the_title_is_the_finding_and_every_picture_says_its_own(found: Any, rated_page: str) -> None:
    agreement = found["trust"]["agreement"][0]
    assert agreement["finding"] == "No judge may rate single replies on its own; none may rank systems"
    assert "n 120 replies" in agreement["measure"]
    said = agreement["panels"][0]["said"]
    assert [part.rpartition(" (")[2] for part in said.split("; ")] == [f"{LIMITED})", f"{LIMITED})", f"{MODERATE})"]
    labels = re.findall(r'role="img" aria-label="([^"]+)"', section(rated_page, "trust"))
    assert labels[0].startswith("No judge may rate single replies on its own; none may rank systems. ")
    assert rated_page.count('class="wide"') == rated_page.count('class="narrow"') == rated_page.count('class="picture"')
    assert "clip-path=" not in rated_page


def test_headings_ids_and_links_hold_in_a_report_with_cards(rated_page: str) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", rated_page)]
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    ids = re.findall(r' id="([^"]+)"', rated_page)
    assert len(ids) == len(set(ids))
    links = set(re.findall(r'href="#([^"]+)"', rated_page))
    assert links <= set(ids)


def test_contested_replies_are_linked_to_where_they_can_be_read(found: Any, rated_page: str) -> None:
    contested = next(s for s in found["trust"]["agreement"][0]["sheets"] if s["title"] == "Contested replies")
    shown = {row[2][:8] for row in contested["rows"]} & {link.removeprefix("reply-") for link in contested["links"]}
    assert shown
    linked = set(re.findall(r'<td [^>]*><a href="#reply-(\w+)">\1</a></td>', section(rated_page, "trust")))
    assert shown <= linked


def test_every_table_of_the_cards_is_there(found: Any) -> None:
    sheets = {s["title"]: s for s in found["trust"]["agreement"][0]["sheets"]}
    assert list(sheets) == [
        "The cards in numbers", "The judges at the unsafe end", "What the judges find in each slice", "Every estimate", "The judges' error: limits of agreement, and its parts",
        "How wide the intervals are, by what is resampled", "Agreement by system", "Agreement by category", "Contested replies",
        "The judge and a left-out clinician", "What judge and people find where no rater is right by definition", "Bias beside people as a sample of people", "One level across languages and systems?", "What other clinicians would say",
        "Who is stricter", "Who diverges, and where", "What each person finds where no rater is right by definition", "Severity and difficulty in logits",
    ]  # fmt: skip
    slices = sheets["What the judges find in each slice"]["rows"]
    assert "reply length" in {row[2] for row in slices}, "of a run the texts are there"
    per_card = {(row[0], row[1]): sum(other[:2] == row[:2] for other in slices) for row in slices}
    assert max(per_card.values()) <= 5
    names = {row[2] for row in sheets["Every estimate"]["rows"]}
    assert {
        "ICC(A,1), interval",
        "ICC(A,1) within systems, interval",
        "one person with another: ICC(A,1), interval",
        "limits of agreement",
        "systems' means: ICC(C,1), interval",
    } <= names
    card = next(s["card"] for s in found["trust"]["cards"] if s["card"]["judge"] == KIND)
    end = {row[3]: row[4:9] for row in sheets["The judges at the unsafe end"]["rows"] if row[0] == KIND}
    share = card["danger"]["found"]
    assert end["found, of what people together call unsafe"] == [
        share[n] for n in ("value", "low", "high", "events", "n")
    ]
    assert "found in suicidal ideation" in end and "unsafe to people, of what the judge passes" in end
    limits = card["estimates"]["limits"]
    error = next(
        row for row in sheets["The judges' error: limits of agreement, and its parts"]["rows"] if row[0] == KIND
    )
    assert error[5:7] == [limits["low"], limits["high"]]
    assert sum(error[8:]) == pytest.approx(error[7])


def test_hostile_names_are_text_in_page_picture_summary_and_tables(rated_files: ReportFiles, rated_page: str) -> None:
    assert "<b>" not in rated_page
    assert "=evil&lt;b&gt;" in re.findall(r"<svg width=.*?</svg>", section(rated_page, "trust"), re.DOTALL)[0]
    assert "<b>" not in rated_files.markdown.read_text().replace("\\<b\\>", "")
    for content in re.findall(r"data:text/csv;charset=utf-8;base64,([^\"]+)", section(rated_page, "trust")):
        table = base64.b64decode(content).decode("utf-8-sig")
        assert not re.search(r'(?m)^"?=evil', table)


def test_the_entry_test_is_named_for_what_it_is(found: Any, rated_page: str) -> None:
    test = found["trust"]["entry"][0]
    assert re.match(
        rf"Entry test: judges gave \d+ % \({KIND}\) to \d+ % \({GOOD}\) of 126 replies the level they were written for",
        test["finding"],
    )
    assert "written by Mindgauge&#39;s authors" in rated_page
    assert "no clinician rated them" in rated_page
    figure = test["figures"][0]
    assert figure["rows"] == [f"written for {level}" for level in range(1, 6)]
    assert [figure["targets"][row] for row in figure["rows"]] == [1, 2, 3, 4, 5]
    given = {(d["system"]["label"], d["row"]): d["value"] for d in figure["dots"]}
    assert given[KIND, "written for 1"] > given[GOOD, "written for 1"] + 0.5


def test_without_people_the_entry_test_stands_first(tmp_path: Path) -> None:
    folder = plant_rated(tmp_path / "tested", {KIND: JUDGES[KIND]}, people=())
    plant_anchors(folder, {KIND: JUDGES[KIND]})
    trust = section(write([folder]).path.read_text(), "trust")
    assert trust.index("Entry test: acme/kind-judge gave") < trust.index(
        'there is no <a class="term" href="#word-card">reliability card</a>'
    )


@pytest.mark.long  # one criterion is drawn by default
def test_many_criteria_have_a_panel_for_each_judge_worst_first(tmp_path: Path) -> None:
    judges = {GOOD: JUDGES[GOOD], KIND: JUDGES[KIND]}
    folder = plant_rated(tmp_path / "many", judges, benchmark_name="mentalbench", conversations=30)
    files = write([folder])
    report = decoded(files)
    panels = report["trust"]["agreement"][0]["panels"]
    assert [panel["judge"]["label"] for panel in panels] == [KIND, GOOD]
    assert all(len(panel["rows"]) == 9 for panel in panels)
    lows = [row["agreement"]["low"] for row in panels[0]["rows"] if row["verdict"] == LIMITED]
    assert lows == sorted(lows)
    assert len(files.markdown.read_text().partition("<details>")[0]) < 9000, "one page, before what is folded"
    text = re.sub(r"\s+", " ", section(files.path.read_text(), "answer"))
    assert re.search(
        r"The judge openai/gpt-5-nano( \([^)]+\))? rated 30 replies on \d criteria: means go from \d\.\d \(\w+\) to \d\.\d",
        text,
    )
    assert text.count(f"What the judge {KIND} says of") == 1


@pytest.mark.long
def test_two_runs_keep_their_cards_apart(rated: Path, both_files: ReportFiles) -> None:
    report = decoded(both_files)
    assert {(w["run"], w["rater"]) for w in report["withheld"]} == {(str(rated), KIND), (str(rated), NOISY)}
    means = [
        m["value"]
        for scores in report["scores"]
        for m in scores["metrics"]
        if (m["name"], m["rater"]) == ("mean", KIND)
    ]
    assert None in means
    assert any(value is not None for value in means)
    rows = report["trust"]["agreement"][0]["panels"][0]["rows"]
    assert {f"{KIND} (run)", f"{KIND} (other)"} <= {row["judge"]["label"] for row in rows}


# -- the picture ------------------------------------------------------------------------------------------------------

AXIS = Axis(0.0, 0.5, 0.75, 1.0, 0.2, "levels")


def row(name: str = "a/judge", number: int = 0, **more: Any) -> JudgeRow:
    given = {
        "agreement": Bound(0.6, 0.5, 0.7), "ceiling": Bound(0.8, 0.7, 0.9), "bias": Bound(0.4, 0.3, 0.5), "verdict": "moderate: validate",
        "ranking": "good", **more,
    }  # fmt: skip
    return JudgeRow(System(name, name, 0, number), "safety", 30, **given)


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize(
    "rows",
    [
        [row()],
        [row(ceiling=Bound(None, note="nobody"))],
        [row(bias=Bound(None))],
        [row(agreement=Bound(None, note="nothing"), verdict=NOT_ESTIMABLE, ranking="")],
        [row(agreement=Bound(-0.3, -0.6, 0.1), bias=Bound(-0.01, None, None))],
        [row("x" * 200), row("http://host:8000/v1#" + "long-name-" * 9, 1)],
        [row(f"judge/{i}", i) for i in range(36)],
    ],
)
def test_the_picture_is_drawn_whatever_is_missing(rows: list[JudgeRow], width: int) -> None:
    svg = agreement.draw_agreement(AgreementPanel("p", None, "", rows), msgspec.structs.replace(AXIS, low=-0.75), width)
    assert svg.startswith(f'<svg width="{width}"')
    assert "NaN" not in svg
    assert "validate from .50" in svg
    assert "good from .75" in svg
    verdict = rows[0].verdict if width == NARROW else broken(rows[0].verdict, 25)[0]
    assert svg.count(f">{verdict}<") == len(rows)


def test_marks_stand_where_their_values_are() -> None:
    svg = agreement.draw_agreement(AgreementPanel("p", None, "", [row()]), AXIS, WIDE)
    (point,) = re.findall(rf'<path d="{SHAPES[0]}" transform="translate\(([\d.]+),', svg)
    (head,) = re.findall(r'<path d="M-6[^"]+" transform="translate\(([\d.]+),[\d.]+\)" fill="#0072b2"', svg)
    ticks = {said: float(x) for x, said in re.findall(r'<text x="([\d.]+)"[^>]*>([−+]?[\d.]+)</text>', svg)}
    assert float(point) == pytest.approx(ticks["0.5"] + 0.2 * (ticks["1"] - ticks["0.5"]), abs=0.1)
    zero = (ticks["−1"] + ticks["+1"]) / 2
    assert float(head) == pytest.approx(zero + 0.4 * (ticks["+1"] - zero), abs=0.1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("gift", "said"),
    [(1, "favours its family, beyond what people's"), later(0, "shows no sign of favouring its family")],
)
def test_the_answer_says_whether_a_judge_favours_its_family(gift: int, said: str, tmp_path: Path) -> None:
    models = ("openai/gpt-4o", "beta/b-1", "gamma/c")
    judges = {GOOD: (0.0, 0.2), "mistralai/mistral-large": (0.0, 0.4)}
    run = plant_rated(tmp_path / "run", judges, models=models, conversations=150)
    with Store(run) as store:
        kin = {reply.id for reply in store.replies(OPEN) if reply.model == models[0]}
    changed(run, OPEN, lambda r: min(5, int(r.value or 0) + gift) if r.rater == GOOD and r.subject in kin else r.value)
    caveats = {a["system"]["model"]: " ".join(a["caveats"]) for a in decoded(write([run]))["answers"]}
    assert f"The judge {GOOD} (of its family) {said}" in caveats["openai/gpt-4o"]
    assert not any("its family" in caveats[model] for model in models[1:])
