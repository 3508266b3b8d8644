"""One page about a judge's stress test: what moves it, two pictures, and the numbers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mindgauge.records.english import words
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.files import private
from mindgauge.reports.content import Column, ReportTable
from mindgauge.reports.draw import drawing, stress
from mindgauge.reports.render import TEMPLATES, environment
from mindgauge.reports.stress_phrases import contrast, line, readings

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.stress.result import Stress

PAGE = "stress.html"


def write(found: Stress, folder: Path) -> Path:
    """Write the page into a run's folder.

    Raises:
        MindgaugeError: it cannot be written.
    """
    path = folder / PAGE
    try:
        private.write(path, page(found))
    except OSError as error:
        raise MindgaugeError(f"{path}: cannot write the page ({error.strerror})") from error
    return path


def page(found: Stress) -> str:
    """Write the page as HTML that asks nothing of a network."""
    from markupsafe import Markup

    effects = drawing.both(partial(stress.draw, found)) if any(e.value is not None for e in found.effects) else []
    injections = drawing.both(partial(stress.draw_injections, found)) if found.injections else []
    style = Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))  # noqa: S704 - ours
    return (
        environment()
        .get_template("stress.html.j2")
        .render(
            s=found, style=style, line=line(found), readings=list(readings(found)), effects=effects,
            injections=injections, sheets=[_effects(found), *([_injections(found)] if found.injections else [])],
        )
    )  # fmt: skip


def _effects(found: Stress) -> ReportTable:
    columns = [
        Column("what"), Column("criterion"), Column("verdict"), Column("effect", "level"), Column("low", "level"), Column("high", "level"),
        Column("adjusted p", "level"), Column("n", "count"), Column("conversations", "count"), Column("missing", "count"),
        Column("worst", "level"), Column("best", "level"), Column("changed", "share"), Column("conversations needed", "count"),
    ]  # fmt: skip
    rows = [
        [contrast(e), words(e.criterion), e.verdict, e.value, e.low, e.high, e.adjusted, e.n, e.clusters, e.missing, e.worst, e.best,
         e.changed.value, e.needed]
        for e in found.effects
    ]  # fmt: skip
    note = "Effects are the first minus the second in shares of the scale; changed is the share of pairs with another value."
    return ReportTable("effects", "Effects", columns, rows, note, [])


def _injections(found: Stress) -> ReportTable:
    columns = [
        Column("attempts"), Column("verdict"), Column("attempts that reached it", "count"), Column("of", "count"),
        Column("tries", "count"), Column("reached", "count"), Column("share", "share"), Column("low", "share"),
        Column("high", "share"), Column("lost verdicts", "count"), Column("beyond placebo", "level"), Column("adjusted p", "level"),
    ]  # fmt: skip
    rows = [
        [words(i.slice.replace("kind=", "")), i.verdict if i.p is not None else "", i.attempts_reached, i.attempts, i.n, i.reached,
         i.share.value, i.share.low, i.share.high, i.lost, i.excess.value, i.adjusted]
        for i in found.injections
    ]  # fmt: skip
    note = (
        "Only tries count in which the judge gave another level without the attempt, and with a neutral sentence in its place. "
        "Bounds are exact, with conversations as n."
    )
    return ReportTable("injections", "Injections", columns, rows, note, [])
