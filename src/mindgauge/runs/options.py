"""What a command is told about asking, judging and calling: small records that are passed whole.

Each option stands here once, with its bounds and its sentence: keyword arguments and the command line are built from it.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias, TypedDict, get_args, get_type_hints

import msgspec
from msgspec import Meta

from mindgauge.benchmarks.persons.dialogues import MOST_TURNS, PersonMode
from mindgauge.benchmarks.replica import Replica
from mindgauge.models.config_file import FILE, run_defaults, system_text
from mindgauge.models.settings import Settings, from_file
from mindgauge.raters.judge import Mode, PromptStyle
from mindgauge.records.english import named, nearest
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import count
from mindgauge.records.rubric import Method
from mindgauge.runs.sending import Sending

if TYPE_CHECKING:
    from mindgauge.records.request import Model
    from mindgauge.runs.session import Progress

    AnyModel: TypeAlias = str | Model | Callable[..., Any]
    """A model by its name, as an object, or as a plain function or class with `reply`."""

GOLD, RECOGNISED = "gold", "recognised"
PROTOCOLS = (GOLD, RECOGNISED)
OFTEN = 10_000
"""The most repeats that a command can mean."""
HOTTEST = 10
"""The highest temperature that a command can mean."""
Notice = Callable[[str], None]


@functools.cache
def bounds(kind: type[msgspec.Struct]) -> dict[str, Meta]:
    """Return what is said of each field of a record of options: its sentence and its bounds."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: meta
        for name in kind.__struct_fields__
        for part in (hints[name], *get_args(hints[name]))
        for meta in get_args(part)
        if isinstance(meta, Meta)
    }


def _check(options: msgspec.Struct) -> None:
    """Refuse a number that no command can mean.

    Raises:
        UsageError: one is beyond its bounds.
    """
    for name, meta in bounds(type(options)).items():
        value = getattr(options, name)
        if value is None or meta.ge is None:
            continue
        if not (meta.ge <= value and (meta.le is None or value <= meta.le)):
            unit = (meta.extra or {}).get("unit", "")
            limit = "" if meta.le is None else f" and at most {count(round(meta.le))}{unit}"
            raise UsageError(f"--{name.replace('_', '-')} must be at least {meta.ge:g}{limit}, not {value:g}")


def _check_engine(settings: Settings) -> None:
    """Refuse an engine that is unknown, and what does not go with it.

    Raises:
        UsageError: options exclude each other.
    """
    if settings.engine not in {"", "ray"} and not settings.engine.startswith("ray://"):
        raise UsageError(f"engine is ray or ray://HOST:PORT, or plain in {FILE}, not {settings.engine!r}")
    if settings.actors is not None and not settings.engine:
        raise UsageError('actors goes with engine = "ray"')
    if settings.batch and settings.engine:
        raise UsageError('--batch and engine = "ray" exclude each other: a batch service needs no actors')
    if settings.wait is not None and not settings.batch:
        raise UsageError("wait goes with --batch")


def _sent(temperature: float | None, top_p: float | None, *, seed: bool, limit: bool) -> dict[str, Any]:
    """Return parameters of a request; a seed or a longest answer of None where none is sent (`records.request.seeded`)."""
    stated = {"temperature": temperature, "top_p": top_p}
    parameters = {name: value for name, value in stated.items() if value is not None}
    unsent = {"seed": seed, "max_tokens": limit}
    return {**parameters, **{name: None for name, is_sent in unsent.items() if not is_sent}}


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """How models under test are asked."""

    runs: Annotated[int, Meta(ge=1, le=OFTEN, description="Replies, or closed answers, per sample and chat model.")] = 1
    max_tokens: (
        Annotated[int, Meta(ge=1, le=2**24, description="The longest answer asked of the models under test.")] | None
    ) = None
    system: Annotated[str, Meta(description="A file with the system message of the models under test.")] | None = None
    header: Annotated[
        tuple[str, ...],
        Meta(
            description="'NAME: VALUE', sent with every call to the models under test; ${VARIABLE} in it stands for an environment variable. May be repeated."
        ),
    ] = ()
    client: Annotated[
        tuple[Any, ...],
        Meta(
            description="Of dialogues of several turns: a model that plays the person. May be repeated; a score takes two of different families."
        ),
    ] = ()
    turns: (
        Annotated[
            int,
            Meta(ge=1, le=MOST_TURNS, description="Of a dialogue, where dialogues are held; 10 if not given."),
        ]
        | None
    ) = None
    person: Annotated[
        str | None,
        Meta(
            description="Who makes the person's turns of a dialogue: scripted (fixed words of ours), prefixed (a stored dialogue, answered once), simulated (a --client). If not given: simulated where a client is named, else scripted."
        ),
    ] = None
    label: (
        Annotated[str, Meta(description="The build of the models under test, where several answer under one name.")]
        | None
    ) = None
    fresh: Annotated[
        bool,
        Meta(
            description="Ask everything again, in a new run directory: for a new build behind the same address that has no --label."
        ),
    ] = False
    temperature: (
        Annotated[
            float, Meta(ge=0, le=HOTTEST, description="Of the models under test; their own default if not given.")
        ]
        | None
    ) = None
    ask: Annotated[
        tuple[PromptStyle, ...],
        Meta(
            description="How a closed question is put to chat models: flat, unordered, few-shot, sequential, if the benchmark has it. May be repeated."
        ),
    ] = (PromptStyle.FLAT,)
    shots: Annotated[int, Meta(ge=1, description="Examples per label, with --ask few-shot; 1 if not given.")] | None = (
        None
    )
    shot_seed: Annotated[int | None, Meta(description="Of the choice of examples; 0 if not given.")] = None
    keep_reasoning: Annotated[
        bool,
        Meta(
            description="Keep what a model thinks before it replies (`reasoning_content`, `reasoning`, a <think> block) with the reply."
        ),
    ] = True
    top_p: float | None = None
    """Of the models under test; like what follows, set by a paper's protocol alone."""
    seed: bool = True
    """Whether the repeat's number is sent as the seed."""
    new_shots: bool = False
    """Whether every repeat sees examples of its own."""
    limit: bool = True
    """Whether a longest answer is sent."""

    def __post_init__(self) -> None:
        _check(self)
        if self.person is not None and self.person not in set(PersonMode):
            raise UsageError(f"--person is {', '.join(PersonMode)}, not {self.person!r}")
        if PromptStyle.FEW_SHOT not in self.ask and not (self.shots is None and self.shot_seed is None):
            raise UsageError("--shots and shot_seed go with --ask few-shot")

    @property
    def setup(self) -> dict[str, Any]:
        """What models under test are set up with by the command itself; see `mindgauge.models.config_file`.

        Raises:
            UsageError: the file of the system message, or a header, cannot be read, or a label is empty.
        """
        if self.label == "":
            raise UsageError(
                "--label is empty, and would give this build the name, and the answers, of one without a label"
            )
        headers = {}
        for text in self.header:
            name, colon, value = text.partition(":")
            if not (colon and name.strip() and value.strip()):
                raise UsageError(f"--header {text!r}: write 'NAME: VALUE'")
            headers[name.strip()] = value.strip()
        extra = {
            "system": system_text(Path(self.system)) if self.system else "",
            "headers": headers,
            "label": self.label,
        }
        return {name: value for name, value in extra.items() if value}

    @property
    def parameters(self) -> dict[str, Any]:
        """What is sent along with every request to a model under test."""
        return _sent(self.temperature, self.top_p, seed=self.seed, limit=self.limit)


class Judging(msgspec.Struct, frozen=True, kw_only=True):
    """How judges rate replies."""

    judge_runs: Annotated[int, Meta(ge=1, le=OFTEN, description="Judgements per reply and judge.")] = 1
    mode: Annotated[Mode, Meta(description="joint: all criteria in one call; split: one call each.")] = Mode.JOINT
    method: Annotated[
        tuple[Method, ...],
        Meta(
            description="How replies are judged: general, rule, chain; several separated by commas, or the option repeated."
        ),
    ] = (Method.RULE,)
    protocol: Annotated[
        str, Meta(description="gold: by the sample's category; recognised: by the one the judge sees.")
    ] = GOLD
    judge_max_tokens: (
        Annotated[int, Meta(ge=1, le=2**24, description="The longest answer asked of a judge.")] | None
    ) = None
    judge_temperature: (
        Annotated[
            float,
            Meta(ge=0, le=HOTTEST, description="Of the judges; an endpoint that takes none is asked without."),
        ]
        | None
    ) = 0.0
    own_family: Annotated[
        bool, Meta(description="Let models judge their own family's replies, too; the report says so.")
    ] = False
    qualify: Annotated[
        bool | None,
        Meta(
            description="Let judges first rate replies of ours whose level is known, once each; if not given, only judges that have not passed on this machine do."
        ),
    ] = None
    anchors: Annotated[
        int | None,
        Meta(
            description="At most this many of these per benchmark, spread over levels and protocols; all, or 40 if not given."
        ),
    ] = None
    cache: Annotated[
        str | None,
        Meta(
            description="A folder in which judges' answers are kept for other runs that ask the same; if not given, that of MINDGAUGE_CACHE, or none."
        ),
    ] = None
    judge_top_p: float | None = None
    """Of the judges; like what follows, set by a paper's protocol alone."""
    judge_seed: bool = True
    """Whether the repeat's number is sent as the seed."""
    judge_limit: bool = True
    """Whether a longest answer is sent."""

    def __post_init__(self) -> None:
        _check(self)
        if self.protocol not in PROTOCOLS:
            raise UsageError(f"--protocol is {' or '.join(PROTOCOLS)}, not {self.protocol!r}")

    @property
    def parameters(self) -> dict[str, Any]:
        """What is sent along with every request to a judge."""
        return _sent(self.judge_temperature, self.judge_top_p, seed=self.judge_seed, limit=self.judge_limit)

    @property
    def recognises(self) -> bool:
        """Whether a judge itself says which protocol it judges by."""
        return self.protocol == RECOGNISED


COMPARED = Judging(judge_runs=3, method=tuple(Method))
"""How judges are compared, if nothing else is said."""
STRESSED = Judging(judge_runs=2)
"""How a judge is put under stress, if nothing else is said."""


OF_PROTOCOL = ("top_p", "seed", "new_shots", "limit", "judge_top_p", "judge_seed", "judge_limit")
"""What a paper's protocol alone sets, and no option."""
FILE_ONLY = frozenset(
    {"actors", "cache", "context", "engine", "keep_reasoning", "shot_seed", "timeout", "tries", "wait"}
)
"""What stands in `[run]` of `mindgauge.toml`, or is said in Python, and is no option: few would type it for a command."""

OF_REPLIES = (*Judging.__struct_fields__, "client", "turns", "person", "keep_reasoning")
"""The options of a run that a closed question about messages has no use for: of judges of replies, and of dialogues."""


AsPublished: TypeAlias = Annotated[
    bool,
    Meta(description="Set everything of the paper's protocol that is no wording, and say what is still to be brought."),
]
ShownRequests: TypeAlias = Annotated[
    int, Meta(ge=0, description="With --dry-run: print this many requests to each model as they would be sent.")
]


class QuestionOptions(TypedDict, total=False):
    """How a closed question is put, as keyword arguments: what of `Asking` holds where replies exist already."""

    ask: str | Sequence[str]
    shots: int | None
    shot_seed: int | None


class AskingOptions(QuestionOptions, total=False):
    """`Asking` as keyword arguments."""

    runs: int
    temperature: float | None
    max_tokens: int | None
    system: str | None
    header: str | Sequence[str]
    label: str | None
    fresh: bool
    client: AnyModel | Sequence[AnyModel]
    turns: int | None
    person: str | None
    keep_reasoning: bool


class JudgingOptions(TypedDict, total=False):
    """`Judging` as keyword arguments."""

    judge_runs: int
    mode: str
    method: str | Sequence[str]
    protocol: str
    judge_temperature: float | None
    judge_max_tokens: int | None
    own_family: bool
    qualify: bool | None
    anchors: int | None
    cache: str | None


class CommandOptions(TypedDict, total=False):
    """What every command that makes calls takes: a budget in US dollars, settings, and who is told how far it is."""

    max_cost: float | None
    settings: Settings | None
    progress: Progress | None
    notice: Notice | None
    command: str


class JudgeOptions(JudgingOptions, CommandOptions, total=False):
    """The keyword arguments of a command whose models judge and are not asked."""


class InstrumentOptions(TypedDict, total=False):
    """Whose words everybody is asked in: those of a folder of the user's; the benchmark's if not given."""

    instrument: Annotated[
        str | Path | None,
        Meta(
            description="A folder with prompts and a rubric in the place of a benchmark's own, such as its authors'; see docs/tasks/own_prompts.md."
        ),
    ]


class RateOptions(QuestionOptions, JudgingOptions, InstrumentOptions, CommandOptions, total=False):
    """The keyword arguments of `rate`."""

    as_published: AsPublished
    show_requests: ShownRequests
    write_items: Annotated[
        str | Path | None,
        Meta(
            description="Of --dialogues, write the items that they are cut into, with dialogue and turn: .csv, .jsonl or .parquet."
        ),
    ]


class CompareOptions(JudgeOptions, InstrumentOptions, total=False):
    """The keyword arguments of `judges compare`."""


class RunOptions(AskingOptions, JudgingOptions, InstrumentOptions, CommandOptions, total=False):
    """The keyword arguments of a command whose models are asked and judge."""

    as_published: AsPublished
    show_requests: ShownRequests


class TransformOptions(CommandOptions, total=False):
    """The keyword arguments of `dataset_transform`: what holds of whoever writes, and of whoever checks."""

    temperature: float | None
    max_tokens: int | None
    judge_temperature: float | None
    judge_max_tokens: int | None


class ClientCheckOptions(JudgingOptions, CommandOptions, total=False):
    """The keyword arguments of `clients_check`, which decides itself with whom, how long and in which mode dialogues are held."""

    runs: int
    fresh: bool


class RunConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a command makes its calls; which models are asked about what stands beside it."""

    asking: Asking = Asking()
    judging: Judging = Judging()
    settings: Settings = Settings()
    instrument: str | Path | None = None
    """A folder of the user's, whose words stand in the place of the benchmark's."""
    as_published: bool = False
    """Whether everything of the paper's protocol that is no wording is set."""
    replica: Replica | None = None
    """That protocol, once it is set."""
    max_cost: Annotated[float | None, Meta(description="Stop before the run costs more, in US dollars.")] = None
    sending: Sending = msgspec.field(default_factory=Sending)
    """The models that this command asks, and which key goes where; filled as models are opened."""
    progress: Any = None
    """Called with the stage, how many of its calls are done, and how many there are (`Progress`)."""
    notice: Notice = lambda _: None
    """Called, before anything is sent, with what the user must know."""
    command: str = ""
    """What the user typed, for the manifest."""
    show_requests: int = 0
    """How many requests of each step are shown where nothing is sent."""

    @property
    def asked(self) -> Settings:
        """How models under test are called."""
        return msgspec.structs.replace(self.settings, max_tokens=self.asking.max_tokens or self.settings.max_tokens)

    @property
    def judged(self) -> Settings:
        """How judges are called."""
        limit = self.judging.judge_max_tokens or self.settings.max_tokens
        return msgspec.structs.replace(self.settings, max_tokens=limit)

    def __post_init__(self) -> None:
        _check(self.settings)
        _check_engine(self.settings)
        if self.max_cost is not None and not (math.isfinite(self.max_cost) and self.max_cost >= 0):
            raise UsageError("--max-cost must be an amount in US dollars")

    @classmethod
    def of(
        cls,
        options: Mapping[str, Any],
        accepted: type,
        function: Callable[..., Any],
        *,
        judging: Judging = Judging(),  # noqa: B008 - frozen
        dry_run: bool = False,
    ) -> Self:
        """Read a command's keyword arguments.

        Args:
            options: as far as they are given.
            accepted: those that the command has, a `TypedDict`.
            function: the command's, whose own parameters may be meant, too.
            judging: what holds where they are not given.
            dry_run: whether nothing will be sent.

        Raises:
            UsageError: an option has no such value.
            TypeError: the command has no such option.
        """
        refuse_unknown(options, accepted, function)
        given = options.get("settings")
        options = {**_of_file(given.config if given else None, function, accepted), **options}
        values = {name: _READ[name](value) if name in _READ else value for name, value in options.items()}
        asking = {name: values.pop(name) for name in Asking.__struct_fields__ if name in values}
        judged = {name: values.pop(name) for name in Judging.__struct_fields__ if name in values}
        settings = Settings.of(values.pop("settings", None), dry_run=dry_run)
        table = run_defaults(settings.config)
        if table and values.get("command"):
            values["command"] += f"  # [run]: {', '.join(f'{name} = {value}' for name, value in table.items())}"
        if values.get("notice", ...) is None:
            del values["notice"]
        if values.get("show_requests") and not dry_run:
            raise UsageError("--show-requests prints what would be sent; it goes with --dry-run")
        return cls(
            asking=Asking(**asking), judging=msgspec.structs.replace(judging, **judged), settings=settings, **values
        )


def _of_file(path: str | None, function: Callable[..., Any], accepted: type) -> dict[str, Any]:
    """Return what `[run]` of the configuration says of options that are none of `Settings`.

    Other commands than `run` and `rate` take from it only what no command line takes.

    Raises:
        UsageError: it names no option, or has a value of another kind.
    """
    table = run_defaults(path)
    hints = {
        name: hint
        for record in (Asking, Judging, RunConfig)
        for name, hint in get_type_hints(record).items()
        if name in bounds(record)
    }
    known = sorted({*hints, *bounds(Settings)} - {"config"})
    stray = next((name for name in table if name not in known), None)
    if stray is not None:
        raise UsageError(
            f"{path or FILE}: [run] has no option {stray!r}; {nearest(stray, known, f'there are {named(known, limit=len(known))}')}"
        )
    taken = (
        {*accepted.__annotations__} if function.__name__ in {"run", "rate"} else FILE_ONLY & {*accepted.__annotations__}
    )
    return {
        name: from_file(name, value, hints[name], path)
        for name, value in table.items()
        if name in hints and name in taken
    }


def refuse_unknown(options: Mapping[str, Any], accepted: type, function: Callable[..., Any]) -> None:
    """Refuse a keyword argument that a command does not have.

    Args:
        options: what was given.
        accepted: those that the command has, a `TypedDict`.
        function: the command's, whose own parameters may be meant, too.

    Raises:
        TypeError: there is no such option; the message names the nearest.
    """
    unknown = next((name for name in options if name not in accepted.__annotations__), None)
    if unknown is not None:
        parameters = inspect.signature(function).parameters.values()
        own = (parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD)
        near = difflib.get_close_matches(unknown, [*own, *accepted.__annotations__], 1)
        raise TypeError(f"there is no option {unknown!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def listed(names: Any) -> list[Any]:
    """Return one or several names as a list; a string is one name."""
    return list(names) if isinstance(names, Sequence) and not isinstance(names, str) else [names]


def _way(names: str | Sequence[str]) -> tuple[PromptStyle, ...]:
    """Read ways of asking, each once."""
    for name in listed(names):
        if name not in set(PromptStyle):
            hint = nearest(name, list(PromptStyle), f"there are {', '.join(PromptStyle)}", 0.5)
            raise UsageError(f"unknown way to --ask {name!r}: {hint}")
    return tuple(dict.fromkeys(map(PromptStyle, listed(names)))) or (PromptStyle.FLAT,)


def _methods(names: str | Sequence[str]) -> tuple[Method, ...]:
    """Read methods of judging, each once."""
    unknown = next((name for name in listed(names) if name not in set(Method)), None)
    if unknown is not None:
        raise UsageError(f"--method is {', '.join(Method)} or several of them, not {unknown!r}")
    return tuple(dict.fromkeys(map(Method, listed(names)))) or (Method.RULE,)


def _mode(name: str) -> Mode:
    if name not in set(Mode):
        raise UsageError(f"--mode is {' or '.join(Mode)}, not {name!r}")
    return Mode(name)


_READ: dict[str, Callable[[Any], Any]] = {
    "ask": _way, "method": lambda names: _methods([part.strip() for text in listed(names) for part in str(text).split(",")]), "mode": _mode, "header": lambda texts: tuple(listed(texts)), "client": lambda specs: tuple(listed(specs)),
}  # fmt: skip
"""How the options are read that are more than a number."""
