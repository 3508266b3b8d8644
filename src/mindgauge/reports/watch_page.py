"""The page of a watch: what the last look says, and each rate from look to look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.english import sentence
from mindgauge.records.rounding import plural
from mindgauge.reports.content import Column, ReportTable
from mindgauge.reports.draw.records import ControlChart, ControlPoint
from mindgauge.reports.render import TEMPLATES, environment
from mindgauge.store.manifest import now, software

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.watch import Look, RateKey, WatchedRate
    from mindgauge.reports.content import Cell

_ROOM = 1.25
"""How far an axis goes beyond what is on it."""


def page(looks: Sequence[Look], source: str, apart: int) -> str:
    """Write the page of all looks.

    Args:
        looks: in their order, at least one.
        source: where the dialogues come from.
        apart: looks between false alarms on average, at least.
    """
    from markupsafe import Markup

    last = looks[-1]
    keys = dict.fromkeys(rate.key for look in reversed(looks) for rate in look.rates)  # those of the last look first
    dialogues, drawn = (sum(getattr(look, name) for look in looks) for name in ("dialogues", "drawn"))
    return environment().get_template("watch.html.j2").render(
        style=Markup((TEMPLATES / "style.css").read_text(encoding="utf-8")),  # noqa: S704 - ours
        title=f"Watching {source}",
        subtitle=f"{plural(len(looks), 'look')}, the last on {last.date}; {plural(dialogues, 'dialogue')} came, {drawn:,} of them drawn and rated.",
        outcome=f"Look {last.number}: {'an alarm' if last.alarms else 'cannot tell' if last.undecided else 'no alarm'}",
        sentences=[sentence(text) for text in (*last.alarms, *(rate.sentence() for rate in last.rates if not rate.alarm))],
        charts=[_chart(number, key, looks) for number, key in enumerate(keys, 1)],
        notes=[*last.unmeasured, *last.notes], apart=apart, software=software(), made=now(),
    )  # fmt: skip


def _chart(number: int, key: RateKey, looks: Sequence[Look]) -> ControlChart:
    rates = [(look, rate) for look in looks for rate in look.rates if rate.key == key]
    last = rates[-1][1]
    points = [
        ControlPoint(look.number, rate.value, rate.low, rate.high, rate.alarm, bool(rate.distrusted))
        for look, rate in rates
    ]
    columns = [
        Column("look"), Column("date"), Column("rate", last.unit), Column("low", last.unit), Column("high", last.unit),
        Column("conversations", "count"), Column("missing", "count"), Column("evidence"), Column("outcome"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [str(look.number), look.date, rate.value, rate.low, rate.high, rate.conversations, rate.missing, f"{rate.strength:.3g}",
         rate.distrusted or ("alarm" if rate.alarm else "no alarm")]
        for look, rate in rates
    ]  # fmt: skip
    rater = f", rated by {key.rater}" if key.rater != key.model else ""
    title = f"{last.title} of {key.model}{rater}"
    return ControlChart(
        anchor=f"rate-{number}", finding=sentence(f"{title}: {_finding(rates)}").removesuffix("."), measure=last.title, unit=last.unit, limit=last.limit,
        ends=_ends(last, points), points=points, sheet=ReportTable(f"rate-{number}", title, columns, rows),
    )  # fmt: skip


def _finding(rates: Sequence[tuple[Look, WatchedRate]]) -> str:
    alarms = [str(look.number) for look, rate in rates if rate.alarm]
    figures = [(rate.value, rate) for _, rate in rates if rate.value is not None]
    beyond = sum(value > rate.limit if rate.side == "high" else value < rate.limit for value, rate in figures)
    if alarms:
        return f"{plural(len(alarms), 'alarm')} in {plural(len(rates), 'look')} (look {', '.join(alarms)})"
    return f"no alarm in {plural(len(rates), 'look')}, {beyond} of them beyond the limit by their value"


def _ends(rate: WatchedRate, points: Sequence[ControlPoint]) -> tuple[float, float]:
    """Return the ends of the axis: of a share from 0, else around all that is drawn."""
    values = [v for p in points for v in (p.value, p.low, p.high) if v is not None]
    top = max([*values, rate.limit])
    if rate.unit == "share":
        return 0.0, min(1.0, top * _ROOM) or 1.0
    low = min([*values, rate.limit])
    room = (top - low) * (_ROOM - 1) or 1.0
    return low - room, top + room
