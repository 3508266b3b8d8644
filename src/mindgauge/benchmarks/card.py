"""What is in a benchmark's folder: its card, its prompts, and the samples that this project wrote; and its card in a public schema.

The public schema is that of Sokol et al., *BenchmarkCards: Standardized Documentation for Large Language Model Benchmarks*
(arXiv 2410.12974; github.com/SokolAnn/BenchmarkCards). Names and types are those of its public cards in October 2025; IBM's
Auto-BenchmarkCard writes the same fields in a wrapper. Nothing else is taken from there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from mindgauge.records import Message, Sample
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, texts
from mindgauge.records.prompt import Prompt
from mindgauge.records.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.records.files.folder import Readable
    from mindgauge.records.rubric import Rubric


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

    nested = {section: {name: filled(name) for name in names} for section, names in SECTIONS.items()}
    nested["benchmark_details"] = {"is_benchmark": True, **nested["benchmark_details"]}
    return nested


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


def public_content(path: Readable) -> dict[str, Any] | None:
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


def read_public(path: Path | Readable, content: dict[str, Any]) -> tuple[PublicCard, list[str]]:
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


_JUDGE = ("dialogue", "reply", "rubric", "form", "nonce")
SLOTS = {
    "ask": (*_JUDGE, "order"),
    "ask.unordered": _JUDGE,
    "node": ("dialogue", "reply", "question", "form", "nonce"),
    "shots": ("examples", "nonce"),
    "judge": _JUDGE,
    "judge.split": _JUDGE,
    "judge.general": _JUDGE,
    "judge.general.split": _JUDGE,
    "judge.chain": _JUDGE,
    "judge.chain.split": _JUDGE,
    "judge.dialogue": ("dialogue", "rubric", "form", "nonce"),
    "judge.client": _JUDGE,
    "judge.proxy": ("reply", "topic", "nonce"),
    "reply": ("dialogue",),
}
"""The kinds of prompts, and what each may use. `order` is the rubric's order of decision, `question` that of a node,
`topic` what a sample is about."""
SHARED = Path(__file__).parents[1] / "raters" / "prompts"
"""The prompts that fit every rubric: those of methods of judging that a benchmark has not, and the usual ones."""
USUAL = ("ask", "judge", "judge.split")
"""The kinds that only a rubric without any prompts of its own takes from there."""
METHODS = ("judge.general", "judge.chain")
_JOINED = {"benchmarkcard", "published"}
"""Tables to which a member of a family adds."""


class DataFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A released file: where it stands below `--data DIR`, what it holds, and how large it is in bytes."""

    path: str
    holds: str
    rows: int = 0
    size: int = 0
    sha256: str = ""
    url: str = ""
    """Where it may be had freely; of a folder, where its files lie, which `released.tsv` beside the card lists."""


class Sent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What stands in every request of a kind, unless a command says otherwise: the tests hold captured requests against it."""

    temperature: float | Literal["own"]
    """`own` where none is sent, so that the model's default holds."""
    seed: bool
    """Whether the repeat's number is sent as the seed."""
    room: int
    """Tokens that an answer may have."""
    system: bool
    """Whether a message of ours stands before the dialogue."""
    fence: bool
    """Whether what is asked about stands in a fence with a fresh nonce."""
    schema: bool
    """Whether a JSON schema is asked for; quotes and a reason stand before the values."""
    repairs: int
    """How often an answer that cannot be read is asked again."""

    @property
    def form(self) -> str:
        """What no option changes, in words: parameters are options, and a run records those that it sent."""
        parts = [
            "a message of ours before the dialogue" if self.system else "no message of ours before the dialogue",
            *(["what is asked about in a fence with a fresh nonce"] if self.fence else []),
            *(["a JSON schema with quotes and a reason before the values"] if self.schema else []),
            *(
                [f"an unreadable answer asked again {'once' if self.repairs == 1 else f'{self.repairs} times'}"]
                if self.repairs
                else []
            ),
        ]
        return ", ".join(parts)


class BenchmarkCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a benchmark is, and what it is not."""

    title: str
    authors: str = ""
    year: int = 0
    link: str = ""
    measures: str = ""
    does_not_measure: str = ""
    languages: tuple[str, ...] = ()
    not_covered: str = ""
    """Which groups of people and which conditions its samples leave out."""
    own_samples_by: str = ""
    """Who wrote its own samples, and who checked them."""
    licence: str = ""
    obtain: str = ""
    citation: str = ""
    closed: bool = False
    """Of a folder of the user's own: the model under test itself answers, by the usual prompt where no `ask.md` is there."""
    restricted: bool = False
    """The released texts are not open: a report shows them only where it is asked to."""
    calls: int = 0
    """What a run on our own samples takes: one model, and one judge of its replies, without the judge's entry test."""
    departures: tuple[str, ...] = ()
    asks: Sent | None = None
    """What is sent to a model under test."""
    judging: Sent | None = None
    """What is sent to a judge of replies."""
    data: tuple[DataFile, ...] = ()
    benchmarkcard: PublicCard = PublicCard()
    """What a card of the public schema says beyond all that, by its fields; see `commands.list`."""
    published: dict[str, tuple[str, ...]] = {}
    """Field of that card → the tables of `published.toml` whose numbers belong there."""

    @classmethod
    def of(cls, folder: Path) -> BenchmarkCard:
        """Read a card; a member of a family adds to its family's.

        Raises:
            UsageError: it is missing or bad.
        """
        content: dict[str, Any] = {}
        for path in (folder.parent / "card.toml", folder / "card.toml"):
            if path.is_file():
                read = _settings(path)
                content |= read | {key: content[key] | read[key] for key in _JOINED & content.keys() & read.keys()}
        try:
            return msgspec.convert(content, cls)
        except msgspec.ValidationError as error:
            raise UsageError(f"{folder / 'card.toml'}: {error}") from error


def _settings(path: Path) -> dict[str, Any]:
    try:
        return bounds.toml(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error


NEEDS_NODES = "asks node by node, so rubric.toml must have exactly one criterion with nodes"
"""What `node.md` asks for."""


def by_nodes(rubric: Rubric) -> bool:
    """Whether a rubric can be asked node by node."""
    return len(rubric.criteria) == 1 and bool(rubric.criteria[0].nodes)


def prompts_of(*folders: Path) -> dict[str, dict[str, Prompt]]:
    """Read the prompts, by kind and language; where replies are judged, by every method.

    Args:
        folders: where to look for each kind, the first that has it.

    Raises:
        UsageError: one names a slot that its kind has not.
    """
    prompts: dict[str, dict[str, Prompt]] = {}
    for folder in reversed(folders):
        prompts |= _prompts(folder)
    if "judge" not in prompts:
        return prompts
    own = {method for method in METHODS if not prompts.keys().isdisjoint((method, f"{method}.split"))}
    return {
        kind: prompt_texts
        for kind, prompt_texts in shared_prompts().items()
        if kind not in USUAL and kind.removesuffix(".split") not in own
    } | prompts


def shared_prompts() -> dict[str, dict[str, Prompt]]:
    """Read the prompts that fit every rubric, by kind and language."""
    return _prompts(SHARED)


def _prompts(folder: Path) -> dict[str, dict[str, Prompt]]:
    prompts: dict[str, dict[str, Prompt]] = {}
    for path in sorted(folder.glob("*.md")):
        kind, _, language = path.stem.rpartition(".")
        if kind in SLOTS:
            prompts.setdefault(kind, {})[language] = Prompt.load(path, SLOTS[kind])
    return prompts


def first_with(name: str, *folders: Path) -> Path | None:
    """Return the file of this name in the first of some folders that has it."""
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


class _SampleLine(msgspec.Struct, forbid_unknown_fields=True):
    """A line of `samples.jsonl`: a sample without its id, which is its content's."""

    messages: tuple[Message, ...]
    target: int | str | None = None
    tags: dict[str, str] = {}
    cluster: str = ""


def own_samples(*folders: Path) -> list[Sample]:
    """Read the samples this project wrote itself, from the first of some folders that has any.

    Raises:
        DataError: there are none, or a line is broken.
    """
    path = first_with("samples.jsonl", *folders)
    if path is None:
        raise DataError(f"{folders[0]}: no samples.jsonl")
    samples = []
    for number, line in enumerate(bounds.content(path).splitlines(), 1):
        try:
            row = msgspec.json.decode(line, type=_SampleLine)
        except (msgspec.DecodeError, RecursionError) as error:
            raise DataError(f"{path}:{number}: {error}") from error
        samples.append(Sample.of(row.messages, target=row.target, tags=row.tags, cluster=row.cluster))
    return samples
