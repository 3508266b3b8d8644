"""Cards of the public schema BenchmarkCards: its fields, one as JSON or Markdown, and how another's is read.

The schema is that of Sokol et al., *BenchmarkCards: Standardized Documentation for Large Language Model Benchmarks*
(arXiv 2410.12974; github.com/SokolAnn/BenchmarkCards). Names and types are those of its public cards in October 2025; IBM's
Auto-BenchmarkCard writes the same fields in a wrapper. Nothing else is taken from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.records.errors import DataError
from mindgauge.records.files import texts
from mindgauge.records.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.records.files.folder import Readable

NOT_SPECIFIED = "Not specified"
"""What a field says that nobody has filled in. Readers of Auto-BenchmarkCard take it for a missing field; *N/A*, which many
public cards write, is shown as *Not Applicable*, which is another statement."""
_ABSENT = {"", "n/a", "not specified", "not stated", "no information found"}
_WRAPPER, _RISKS, _SUGGESTED = "benchmark_card", "risks", "possible_risks"


class PublicCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of a card, those of all its sections. What is empty is not stated."""

    name: str = ""
    abbreviation: str = ""
    overview: str = ""
    data_type: str = ""
    domains: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    similar_benchmarks: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    goal: str = ""
    audience: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    limitations: str = ""
    out_of_scope_uses: tuple[str, ...] = ()
    source: str = ""
    size: str = ""
    format: str = ""
    annotation: str = ""
    methods: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    calculation: str = ""
    interpretation: str = ""
    baseline_results: str = ""
    validation: str = ""
    risk_categories: tuple[str, ...] = ()
    atlas_risks: dict[str, tuple[str, ...]] = {}
    """Category of IBM's AI Risk Atlas → names of its risks."""
    demographic_analysis: str = ""
    harm: tuple[str, ...] = ()
    privacy_and_anonymity: str = ""
    data_licensing: str = ""
    consent_procedures: str = ""
    compliance_with_regulations: str = ""


SECTIONS = {
    "benchmark_details": ("name", "abbreviation", "overview", "data_type", "domains", "languages", "similar_benchmarks", "resources"),
    "purpose_and_intended_users": ("goal", "audience", "tasks", "limitations", "out_of_scope_uses"),
    "data": ("source", "size", "format", "annotation"),
    "methodology": ("methods", "metrics", "calculation", "interpretation", "baseline_results", "validation"),
    "targeted_risks": ("risk_categories", "atlas_risks", "demographic_analysis", "harm"),
    "ethical_and_legal_considerations": (
        "privacy_and_anonymity", "data_licensing", "consent_procedures", "compliance_with_regulations",
    ),
}  # fmt: skip
"""Section → its fields, in the schema's order."""
_IN_OURS = {"name": "title", "goal": "measures", "data_licensing": "licence"}
"""Fields that our own `card.toml` has under another name."""
_LISTS = {field.name for field in msgspec.structs.fields(PublicCard) if isinstance(field.default, tuple)}


def as_json(card: PublicCard) -> dict[str, Any]:
    """Return a card as the schema nests it; every field is there."""

    def filled(name: str) -> Any:
        value = getattr(card, name)
        if isinstance(value, dict):
            return {_RISKS: [{"category": category, "subcategory": [*names]} for category, names in value.items()]}
        return value or ([NOT_SPECIFIED] if name in _LISTS else NOT_SPECIFIED)

    content = {section: {name: filled(name) for name in names} for section, names in SECTIONS.items()}
    content["benchmark_details"] = {"is_benchmark": True, **content["benchmark_details"]}
    return content


def markdown(card: PublicCard) -> str:
    """Return a card as a page: a heading for each section, a line or a list for each field."""
    lines = [f"# {_line(card.name)}"]
    for section, fields in SECTIONS.items():
        lines += ["", f"## {_heading(section)}", ""]
        for field in fields:
            value = getattr(card, field)
            if isinstance(value, dict):
                value = tuple(f"{category}: {', '.join(names)}" for category, names in value.items())
            listed = isinstance(value, tuple) and value
            lines.append(f"- **{_heading(field)}:**{'' if listed else f' {_line(value or NOT_SPECIFIED)}'}")
            lines += [f"  - {_line(item)}" for item in value] if listed else []
    return "\n".join(lines) + "\n"


def _heading(name: str) -> str:
    return name.replace("_", " ").title().replace(" And ", " and ").replace(" With ", " with ").replace(" Of ", " of ")


def _line(text: str) -> str:
    return " ".join(visible(text).split())


def content(path: Readable) -> dict[str, Any] | None:
    """Return what a file holds if it is meant as a card: a JSON object with a section of the schema, perhaps in the wrapper.

    Raises:
        DataError: it ends in `.json` and is no JSON, or an object that is no card and has no rows.
    """
    if path.suffix.lower() != ".json":
        return None
    value = texts.read_json(path)
    if not isinstance(value, dict):
        return None
    inner = value.get(_WRAPPER, value)
    if isinstance(inner, dict) and any(isinstance(inner.get(section), dict) for section in SECTIONS):
        return inner
    if not any(isinstance(part, list) for part in value.values()):
        raise DataError(f"{path}: neither a table of messages nor a benchmark card, which has {', '.join(SECTIONS)}")
    return None


def read(path: Path | Readable, content: dict[str, Any]) -> tuple[PublicCard, list[str]]:
    """Read a card, whose fields may be missing, null, or a text in the place of a list, and what of it is not kept.

    Raises:
        DataError: it has no name, or a field holds something else than text.
    """
    fields: dict[str, Any] = {}
    unread = [section for section in content if section not in {*SECTIONS, _SUGGESTED}]
    for section, names in SECTIONS.items():
        part = content.get(section)
        if part is not None and not isinstance(part, dict):
            raise DataError(f"{path}: {section} has to be an object with the fields {', '.join(names)}")
        for name, value in (part or {}).items():
            if name not in names:
                unread += [f"{section}.{name}"] if name != "is_benchmark" else []
            elif name == "atlas_risks":
                fields[name] = _atlas(f"{path}: {section}.{name}", value)
            else:
                items = tuple(_texts(f"{path}: {section}.{name}", value))
                fields[name] = items if name in _LISTS else "; ".join(items)
    if not fields.get("name"):
        raise DataError(f"{path}: this card has no name (benchmark_details.name)")
    suggested = content.get(_SUGGESTED)
    if isinstance(suggested, list) and suggested and not fields.get("atlas_risks"):
        risks = [risk.get("category") if isinstance(risk, dict) else risk for risk in suggested]
        fields["atlas_risks"] = {NOT_SPECIFIED: tuple(_texts(f"{path}: {_SUGGESTED}", risks))}
    return PublicCard(**fields), unread


def _texts(place: str, value: Any) -> Iterator[str]:
    """Return the texts of a field, whether it holds one or a list of them; what says that there is none is left out."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict | list):
            kind = "an object" if isinstance(item, dict) else "a list within a list"
            raise DataError(f"{place} has to be a text or a list of texts, found {kind}")
        text = "" if item is None else str(item).strip()
        if text.removesuffix(".").casefold() not in _ABSENT:
            yield text


def _atlas(place: str, value: Any) -> dict[str, tuple[str, ...]]:
    """Return the atlas's risks by category: `{"risks": [{"category": …, "subcategory": […]}]}`, or the list alone."""
    risks = value.get(_RISKS) if isinstance(value, dict) else value
    atlas: dict[str, tuple[str, ...]] = {}
    for risk in risks if isinstance(risks, list) else [] if risks is None else [risks]:
        if not isinstance(risk, dict):
            raise DataError(f"{place} has to be a list of objects with category and subcategory")
        category = "; ".join(_texts(f"{place}.category", risk.get("category"))) or NOT_SPECIFIED
        names = _texts(f"{place}.subcategory", risk.get("subcategory"))
        atlas[category] = tuple(dict.fromkeys([*atlas.get(category, ()), *names]))
    return atlas


def as_settings(card: PublicCard) -> dict[str, Any]:
    """Return what a `card.toml` of ours says for a card: its own keys where it has them, the rest as a table."""
    fields = {name: value for name, value in msgspec.structs.asdict(card).items() if value}
    settings: dict[str, Any] = {key: fields.pop(name) for name, key in _IN_OURS.items() if name in fields}
    if "measures" not in settings and card.overview:
        settings["measures"] = card.overview
    if card.resources and card.resources[0].startswith(("https://", "http://")):
        settings["link"], *others = fields.pop("resources")
        fields |= {"resources": others} if others else {}
    return settings | {"benchmarkcard": fields}
