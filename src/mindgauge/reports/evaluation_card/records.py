"""What an evaluation card says, as records: the page, the JSON file and the Markdown file are its renderings."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from mindgauge.reports.content import ReportTable

CardState: TypeAlias = Literal["valid", "expired", "undated"]


class CardLink(msgspec.Struct, frozen=True):
    """Where something stands that the card names: in the report, and in the reader where there is one."""

    text: str
    report: str
    reader: str = ""


class CardCases(msgspec.Struct):
    """Some cases of one list of the report."""

    title: str
    links: list[CardLink]


class CardEntry(msgspec.Struct):
    """One thing that governance asks. `name` is what machines call it.

    `computed` follows from the run and the benchmarks' cards, `stated` is what the owner says of it, and `open` is what
    neither of them says.
    """

    name: str
    title: str
    computed: list[str] = []
    stated: list[str] = []
    open: list[str] = []
    tables: list[ReportTable] = []
    cases: list[CardCases] = []


class Validity(msgspec.Struct, frozen=True):
    """How long the card holds. `expires` is a date, empty where none can be given; `because` says why it stands so."""

    state: CardState
    expires: str
    because: str


class EvaluationCard(msgspec.Struct):
    """A whole card. `findings` are what was found, how far to trust it, and what to do now, as in the report."""

    title: str
    subtitle: str
    made: str
    software: str
    report: str
    """The address of the report beside it."""
    owner: str
    validity: Validity
    findings: list[str]
    entries: list[CardEntry]
