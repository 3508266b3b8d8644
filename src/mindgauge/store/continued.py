"""What commands that continue a run asked anew, and what they kept: a model may have changed behind its name meanwhile."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.store import Store

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_HELD = """
SELECT model, count(*), coalesce(min(nullif(at, 0)), 0), coalesce(max(at), 0) FROM calls WHERE status != 'failed'
GROUP BY model ORDER BY model"""


class CallCounts(msgspec.Struct, frozen=True):
    """How many calls to one model a command made and how many it kept; when the kept ones were answered, first and last.

    Times are UTC as ISO 8601, empty where they are not known.
    """

    model: str
    new: int
    kept: int
    first: str = ""
    last: str = ""

    @property
    def since(self) -> str:
        """When the kept ones were answered, by the day; empty where that is not known."""
        if not self.first:
            return ""
        return f" from {day(self.first)}" + (f" to {day(self.last)}" if day(self.first) != day(self.last) else "")


class Continued(msgspec.Struct, frozen=True):
    """A command that went on with a run: when it began, and the calls to each of its models."""

    at: str
    calls: list[CallCounts]

    @property
    def new(self) -> int:
        """How many calls it made."""
        return sum(calls.new for calls in self.calls)

    @property
    def older(self) -> bool:
        """Whether it kept all that a model had said, or kept what was said on another day."""
        reused = [calls for calls in self.calls if calls.kept]
        return any(not calls.new or calls.first[:10] not in {"", self.at[:10]} for calls in reused)

    @property
    def told(self) -> str:
        """Its calls in words: `0 new calls, 14 kept from 22 November 2026`; model by model where they differ."""
        total = (
            f"{self.new:,} new {'call' if self.new == 1 else 'calls'}, {sum(calls.kept for calls in self.calls):,} kept"
        )
        times = [time for calls in self.calls for time in (calls.first, calls.last) if time]
        days = {(calls.new > 0, calls.since) for calls in self.calls}
        if len(self.calls) > 1 and len(days) > 1:
            parts = (f"{c.model}: {c.new:,} new, {c.kept:,} kept{c.since}" for c in self.calls)
            return f"{total} ({'; '.join(parts)})"
        return total + (f" from {span(min(times), max(times))}" if times else "")

    @property
    def line(self) -> str:
        """The same as a line on its own, with what to do about it."""
        changed = "if another model answers under the same name now, choose another --out"
        return f"Continued on {span(self.at, self.at)}: {self.told}; {changed}"


def held(store: Store) -> list[dict[str, Any]]:
    """Return the calls that a run holds, those that failed aside, as its manifest notes them when a command begins."""
    return [
        {"model": model, "calls": calls, "first": iso(first), "last": iso(last)}
        for model, calls, first, last in store.select(_HELD)
    ]


def read(store: Store, manifest: Mapping[str, Any]) -> list[Continued]:
    """Return the commands that went on with a run and kept calls to their models, in the order in which they began.

    What a command made is what the run holds more when the next one begins, or now.
    """
    noted: Sequence[Mapping[str, Any]] = manifest.get("continued", [])
    if not noted:
        return []
    states = [
        {calls["model"]: calls for calls in state} for state in (*(entry["held"] for entry in noted), held(store))
    ]
    commands = []
    for place, entry in enumerate(noted):
        before, after = states[place], states[place + 1]
        calls = []
        for model in entry["models"]:
            previous = before.get(model, {"calls": 0, "first": "", "last": ""})
            new = max(0, after[model]["calls"] - previous["calls"]) if model in after else 0
            calls.append(CallCounts(model, new, previous["calls"], previous["first"], previous["last"]))
        if any(call_counts.kept for call_counts in calls):
            commands.append(Continued(entry["at"], calls))
    return commands


def last(store: Store, manifest: Mapping[str, Any]) -> list[str]:
    """Say what the last command that went on with a run kept, in one line; nothing where none did."""
    return [command.line for command in read(store, manifest)[-1:]]


def span(first: str, last: str) -> str:
    """Write from when to when something was, in UTC: by the minute within a day, else by the day."""
    begin, end = (datetime.datetime.fromisoformat(time).astimezone(datetime.UTC) for time in (first, last))
    if begin.date() == end.date():
        minutes = dict.fromkeys(f"{time:%H:%M}" for time in (begin, end))
        return f"{day(last)}, {' to '.join(minutes)} UTC"
    opening = day(first)
    if begin.year == end.year:
        opening = opening.removesuffix(f" {end.year}").removesuffix(f" {_MONTHS[end.month - 1]}")
    return f"{opening} to {day(last)}"


def day(time: str) -> str:
    """Write the day of an ISO 8601 time: `22 November 2026`."""
    moment = datetime.datetime.fromisoformat(time).astimezone(datetime.UTC)
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def iso(seconds: float) -> str:
    """Return a time in seconds since 1970 as ISO 8601, to the second; empty where there is none."""
    if not seconds:
        return ""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds")
