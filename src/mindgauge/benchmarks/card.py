"""What lies in a benchmark's folder: its card, its prompts, and the samples that this project wrote for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from mindgauge.benchmarks.public_card import PublicCard
from mindgauge.records import Message, Sample
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds
from mindgauge.records.prompt import Prompt

if TYPE_CHECKING:
    from mindgauge.records.rubric import Rubric

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
