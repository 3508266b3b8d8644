"""What a reader sees in a picture: marks where the values are, told apart by shape, in words that are safe and fit."""

import itertools
import re
import sys

import msgspec
import pytest

from mindgauge.analysis.reliability.card import Bound
from mindgauge.analysis.stress.effects import BIASED, CANNOT_TELL, CLEAN, Effect, Injections, Stress
from mindgauge.reports.compared import MeasureComparison, SystemPlace
from mindgauge.reports.content import Dot, Figure, ReportTable, System
from mindgauge.reports.draw import dot_rows
from mindgauge.reports.draw.canvas import COLOURS, NARROW, PAPER, SHAPES, WIDE, Canvas, broken, style
from mindgauge.reports.profile import overview, section
from mindgauge.reports.profile.records import cast
from mindgauge.reports.render import environment
from tests.reports import profiled

HOSTILE = 'judge"<script>alert(1)</script>&amp;'
SYSTEMS = [System(f"maker/model-{number}", "", 0, number) for number in range(3)]
SHEET = ReportTable("numbers", "", [], [])
WIDTHS = pytest.mark.parametrize("width", [WIDE, NARROW])
POINT = re.compile(
    r'<path d="([^"]+)" transform="translate\(([\d.]+),([\d.]+)\) scale\(5\)" fill="([^"]+)" stroke="([^"]+)"'
)


def dot(system: System, row: str, value: float, half: float | None = 0.1) -> Dot:
    low, high = (None, None) if half is None else (value - half, value + half)
    return Dot(system, row, value, low, high, 20, 20, 0)


def figure(*dots: Dot, rows: tuple[str, ...] = ("anger", "grief"), **more: object) -> Figure:
    given = {"unit": "level", "low": 1.0, "high": 5.0, **more}
    return Figure("f", "b", "f", "Mean warmth by a/judge, from 1 to 5. Lines are intervals.", rows=list(rows), dots=list(dots), sheet=SHEET, **given)  # type: ignore[arg-type]  # fmt: skip


def ticks(svg: str) -> dict[str, float]:
    """Return where the words below an axis stand."""
    said = re.findall(r'<text x="([\d.]+)" y="[\d.]+" font-size="12" text-anchor="middle"[^>]*>([^<]+)</text>', svg)
    return {words: float(x) for x, words in said}


@WIDTHS
def test_a_dot_stands_where_its_value_is_over_its_interval(width: int) -> None:
    svg = dot_rows.draw_figure(figure(dot(SYSTEMS[0], "anger", 2.5), dot(SYSTEMS[0], "grief", 4.0)), width)
    axis = ticks(svg)
    first, last = axis["1"], axis["5"]
    places = [float(x) for _, x, *_ in POINT.findall(svg)]
    assert places == [pytest.approx(first + share * (last - first), abs=0.1) for share in (1.5 / 4, 3 / 4)]
    lines = re.findall(r'<line x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)" y2="[\d.]+" stroke="#0072b2"', svg)
    ends = [[float(x) for x in line] for line in lines]
    assert all(low < at < high for (low, high), at in zip(ends, places, strict=True))


@WIDTHS
def test_the_axis_says_what_it_measures(width: int) -> None:
    said = " ".join(re.findall(r">([^<]+)</text>", dot_rows.draw_figure(figure(dot(SYSTEMS[0], "anger", 2.5)), width)))
    assert "mean warmth by a/judge" in said


@WIDTHS
def test_systems_differ_by_shape_as_well_as_by_colour(width: int) -> None:
    svg = dot_rows.draw_figure(figure(*(dot(system, "anger", 3.0) for system in SYSTEMS)), width)
    marks = [(outline, stroke) for outline, _, _, _, stroke in POINT.findall(svg)]
    assert marks == [(style(system).outline, style(system).shade) for system in SYSTEMS]
    assert len(set(marks)) == len(SYSTEMS)
    many = [style(System("", "", 0, number)) for number in range(len(COLOURS) * len(SHAPES))]
    assert len(set(many)) == len(many), "so many systems can be told apart"


@WIDTHS
def test_a_value_without_an_interval_is_hollow_and_a_missing_one_is_said(width: int) -> None:
    svg = dot_rows.draw_figure(figure(dot(SYSTEMS[0], "anger", 2.5, None), dot(SYSTEMS[1], "grief", 3.0)), width)
    assert [fill == PAPER for *_, fill, _ in POINT.findall(svg)] == [True, False]
    assert svg.count(">no value<") == 2


@WIDTHS
def test_a_target_needs_no_interval_and_stands_behind_its_dots(width: int) -> None:
    exact = figure(dot(SYSTEMS[0], "anger", 2.0, None), rows=("anger",), targets={"anger": 3.0})
    svg = dot_rows.draw_figure(exact, width)
    assert PAPER not in {fill for *_, fill, _ in POINT.findall(svg)}
    axis = ticks(svg)
    assert f'<line x1="{axis["3"]:g}"' in svg[svg.index('stroke="#1c2226"') - 90 :]


@WIDTHS
def test_ranks_reach_from_the_best_to_the_worst_that_may_be(width: int) -> None:
    places = [
        SystemPlace(system, system.label, 0.4, 0.3, 0.5, low, high, 20, 20, 0)
        for system, (low, high) in zip(SYSTEMS, [(1, 1), (2, 3), (2, 3)], strict=True)
    ]
    contrast = MeasureComparison(
        "c", "b", "f", "Accuracy, higher is better.", [], "share", 0.0, 1.0, places, SHEET, folded=False, alike={}
    )
    svg = dot_rows.draw_paired(contrast, width)
    bars = re.findall(
        r'<line x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)" y2="[\d.]+" stroke="([^"]+)" stroke-width="6"', svg
    )
    assert [stroke for *_, stroke in bars] == list(COLOURS[:3])
    (first, until), (second, end), third = ([float(x) for x in bar[:2]] for bar in bars)
    assert first < until < second < end
    assert third == [second, end]
    assert [text for text in re.findall(r">([^<]+)</text>", svg) if re.fullmatch(r"\d(–\d)?", text)] == [
        "1",
        "2–3",
        "2–3",
    ]
    hidden = msgspec.structs.replace(contrast, places=[msgspec.structs.replace(p, value=None) for p in places])
    assert not POINT.search(dot_rows.draw_paired(hidden, width))


def effect(criterion: str, value: float, verdict: str) -> Effect:
    return Effect(
        probe="verbosity", version="said twice", against="", criterion=criterion, measure="value", value=value, low=value - 0.03,
        high=value + 0.03, note="", p=0.1, adjusted=0.1, verdict=verdict, needed=None, n=20, clusters=20, missing=0, worst=None,
        best=None, changed=Bound(0.1),
    )  # fmt: skip


def stressed(*effects: Effect) -> Stress:
    kind = Injections(
        slice="kind=fake_verdict", attempts=20, attempts_reached=5, n=20, clusters=20, reached=5, share=Bound(0.25, 0.1, 0.5), lost=0,
        excess=Bound(0.1), p=0.1, adjusted=0.1, verdict=CANNOT_TELL, needed=None,
    )  # fmt: skip
    return Stress(
        run="", benchmark="b", judge="j", items=1, conversations=1, judge_runs=1, verdicts=1, unusable=0, effects=list(effects),
        injections=[kind], repeats=[], notes=[],
    )  # fmt: skip


@WIDTHS
def test_a_bias_has_a_name_and_a_shape_of_its_own(width: int) -> None:
    found = stressed(effect("warmth", 0.2, BIASED), effect("safety", 0.01, CLEAN), effect("empathy", -0.1, CANNOT_TELL))
    svg = dot_rows.draw(found, width)
    marks = [(outline, fill == PAPER) for outline, _, _, fill, _ in POINT.findall(svg)]
    assert marks == [(SHAPES[3], False), (SHAPES[0], False), (SHAPES[0], True)]
    assert [name for name in ("warmth", "safety", "empathy") if name in svg] == ["warmth"]
    axis = ticks(svg)
    places = [float(x) for _, x, *_ in POINT.findall(svg)]
    assert places[2] < axis["0.00"] < places[1] < places[0]
    injected = dot_rows.draw_injections(found, width)
    assert "fake verdict" in injected and "5 of 20" in injected
    assert POINT.findall(injected)[0][1] == f"{ticks(injected)['25 %']:g}"


def every_picture(name: str) -> list[str]:
    """Draw every kind of picture, wide and narrow, about systems of some name."""
    systems = [System(name, name, 0, number) for number in range(3)]
    whole = profiled.profile()
    who = cast(whole, systems)
    named = {model: msgspec.structs.replace(system, label=name) for model, system in who.items()}
    records: list[object] = [overview.dots(whole, named), overview.radar(whole, named)]
    for dimension, tasks in profiled.TASKS.items():
        scores = [score for score in whole.tasks if score.dimension == dimension]
        records += section.profile_pictures(scores, [p for p in profiled.panels() if p.task in tasks], named)
    draw = environment().filters["drawn"]
    place = [SystemPlace(system, name, 0.4, 0.3, 0.5, 1, 3, 20, 20, 0) for system in systems]
    records.append(
        figure(*(dot(s, row, 3.0) for s, row in itertools.product(systems, (name, "grief"))), rows=(name, "grief"))
    )
    records.append(
        MeasureComparison(
            "c", "b", "f", f"{name}, higher.", [], "share", 0.0, 1.0, place, SHEET, folded=False, alike={}
        )
    )
    svgs = [str(svg) for record in records for _, svg in draw(record)]
    found = stressed(effect(name, 0.2, BIASED), effect("safety", 0.01, CLEAN))
    return svgs + [part(found, width) for part in (dot_rows.draw, dot_rows.draw_injections) for width in (WIDE, NARROW)]


def test_names_are_text_and_the_same_is_drawn_again() -> None:
    svgs = every_picture(HOSTILE)
    assert len(svgs) > 20
    for svg in svgs:
        assert set(re.findall(r"</?([a-z]+)", svg)) <= {"svg", "text", "tspan", "line", "polyline", "path", "rect"}
        assert "NaN" not in svg
    assert any("&lt;script&gt;" in svg for svg in svgs)
    assert every_picture(HOSTILE) == svgs


@pytest.mark.parametrize("name", ["m", "maker/model-1 " * 9, "x" * 200, "危机干预" * 20])
def test_marks_stay_inside_whatever_the_name(name: str) -> None:
    for svg in every_picture(name):
        width, height = (float(n) for n in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
        assert all(-1 <= float(x) <= width + 1 for x in re.findall(r'<(?:line|rect|text)[^>]* x\d?="(-?[\d.]+)"', svg))
        assert all(-1 <= float(y) <= height + 1 for y in re.findall(r' y\d?="(-?[\d.]+)"', svg))


def test_no_other_library_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("altair", "vl_convert", "matplotlib"):
        monkeypatch.setitem(sys.modules, module, None)
    assert every_picture("m")


@pytest.mark.parametrize(("text", "lines"), [
    ("self-harm", ["self-harm"]), ("risk taking behaviours", ["risk taking", "behaviours"]), ("org/a-model-of-ours", ["org/a-model-", "of-ours"]),
    ("x" * 30, ["x" * 14, "x" * 14, "xx"]),
])  # fmt: skip
def test_names_break_where_their_parts_join(text: str, lines: list[str]) -> None:
    assert broken(text, 14) == lines


def test_a_value_beyond_the_axis_stands_at_its_end() -> None:
    svg = dot_rows.draw_figure(figure(dot(SYSTEMS[0], "anger", 9.0), dot(SYSTEMS[0], "grief", -3.0)), WIDE)
    axis = ticks(svg)
    assert [float(x) for _, x, *_ in POINT.findall(svg)] == [axis["5"], axis["1"]]


def test_an_empty_canvas_is_a_picture() -> None:
    assert Canvas().svg(10, 4.6) == '<svg width="10" height="5" viewBox="0 0 10 5"></svg>'


@WIDTHS
@pytest.mark.parametrize(("low", "high", "step"), [(1, 5, 1), (0, 10, 2), (0, 100, 20), (-100, 100, 25)])
def test_levels_are_ruled_as_far_apart_as_they_can_be_read(low: int, high: int, step: int, width: int) -> None:
    svg = dot_rows.draw_figure(figure(dot(SYSTEMS[0], "anger", 2.0), low=float(low), high=float(high)), width)
    assert [said for said in ticks(svg) if "warmth" not in said] == [
        f"{n}".replace("-", "−") for n in range(low, high + 1, step)
    ]
