"""What `run` and `rate` share: from names to models and judges, and from these to the steps of a run."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge import manifest
from mindgauge.engine import Budget, Session, in_lanes, rate, rate_by_rule, read_replies, run_async
from mindgauge.engine.steps import provenance
from mindgauge.errors import UsageError
from mindgauge.models.spec import Settings, open_model
from mindgauge.raters.judge import Instrument, Judge, Mode, Way
from mindgauge.raters.rule import Rule, open_rule
from mindgauge.records import digest
from mindgauge.rounding import count
from mindgauge.rubric import Method
from mindgauge.verbs import classifying
from mindgauge.verbs.sending import Sending

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.benchmark import Benchmark
    from mindgauge.engine import Progress, Step
    from mindgauge.models.request import Model
    from mindgauge.records import Sample
    from mindgauge.store import Store
    from mindgauge.verbs.classifying import Classifying

GOLD, RECOGNISED = "gold", "recognised"
PROTOCOLS = (GOLD, RECOGNISED)
CHAIN_TOKENS = 240
"""The longest answer of a chain of reasoning, per criterion; models on this machine are otherwise asked for less."""


RANGES = {
    "runs": (1, 10_000, ""),
    "judge_runs": (1, 10_000, ""),
    "temperature": (0, 10, ""),
    "judge_temperature": (0, 10, ""),
    "concurrency": (1, 1_000_000, ""),
    "timeout": (0.001, 86_400, " seconds, a day"),
    "max_tokens": (1, 2**24, ""),
}
"""The least and the most that a command can mean."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """How models are to be called and judges are to judge; the same for all of a command."""

    runs: int = 1
    judge_runs: int = 1
    mode: Mode = Mode.JOINT
    methods: tuple[Method, ...] = (Method.RULE,)
    protocol: str = GOLD
    temperature: float | None = None
    judge_temperature: float | None = 0.0
    max_cost: float | None = None
    ask: tuple[Way, ...] = (Way.FLAT,)
    shots: int | None = None
    shot_seed: int | None = None
    settings: Settings = Settings()
    sending: Sending = msgspec.field(default_factory=Sending)
    """Whom this command asks, and which key goes where; filled as models are opened."""

    def __post_init__(self) -> None:
        sent = {name: getattr(self.settings, name) for name in ("concurrency", "timeout", "max_tokens")}
        own = {name: getattr(self, name) for name in ("runs", "judge_runs", "temperature", "judge_temperature")}
        for name, value in (own | sent).items():
            least, most, unit = RANGES[name]
            if value is not None and not least <= value <= most:
                option = name.replace("_", "-")
                raise UsageError(
                    f"--{option} must be at least {least:g} and at most {count(round(most))}{unit}, not {value:g}"
                )
        if self.protocol not in PROTOCOLS:
            raise UsageError(f"--protocol is {' or '.join(PROTOCOLS)}, not {self.protocol!r}")
        if Way.FEW_SHOT not in self.ask and not (self.shots is None and self.shot_seed is None):
            raise UsageError("--shots and --shot-seed go with --ask few-shot")
        if self.shots is not None and self.shots < 1:
            raise UsageError("--shots must be at least 1, for each label")
        if self.max_cost is not None and not (math.isfinite(self.max_cost) and self.max_cost >= 0):
            raise UsageError("--max-cost must be an amount in US dollars")

    @property
    def parameters(self) -> dict[str, Any]:
        """What is sent along with every request to a model under test."""
        return {} if self.temperature is None else {"temperature": self.temperature}

    @property
    def judge_parameters(self) -> dict[str, Any]:
        """What is sent along with every request to a judge."""
        return {} if self.judge_temperature is None else {"temperature": self.judge_temperature}


def mode_of(name: str) -> Mode:
    """Read a mode.

    Raises:
        UsageError: there is none of this name.
    """
    if name not in set(Mode):
        raise UsageError(f"--mode is {' or '.join(Mode)}, not {name!r}")
    return Mode(name)


def methods_of(names: Sequence[str]) -> tuple[Method, ...]:
    """Read methods of judging, each once.

    Raises:
        UsageError: there is none of a name.
    """
    unknown = next((name for name in names if name not in set(Method)), None)
    if unknown is not None:
        raise UsageError(f"--method is {', '.join(Method)} or several of them, not {unknown!r}")
    return tuple(dict.fromkeys(map(Method, names))) or (Method.RULE,)


def listed(names: Any) -> list[Any]:
    """Return one or several names as a list; a string is one name."""
    return list(names) if isinstance(names, Sequence) and not isinstance(names, str) else [names]


def open_models(specs: Sequence[str | Model], asked: Asked) -> list[Model]:
    """Find every model that is named; one that is given as an object is taken as it is.

    Raises:
        UsageError: one is unknown or named twice, has no known price though `max_cost` is given, or would get another
            server's key.
    """
    models = [open_model(spec, asked.settings) if isinstance(spec, str) else spec for spec in dict.fromkeys(specs)]
    for spec, model in zip(dict.fromkeys(specs), models, strict=True):
        asked.sending.add(model.name, spec if isinstance(spec, str) else "")
    twice = next((name for name, count in Counter(model.name for model in models).items() if count > 1), None)
    if twice is not None:
        raise UsageError(f"two models are both called {twice}; name its servers in one list, once")
    unpriced = [model.name for model in models if model.price is None]
    if asked.max_cost is not None and unpriced:
        raise UsageError(
            f"--max-cost needs a price and none is known for {unpriced[0]}; give --price IN:OUT, in US dollars per million tokens"
        )
    return models


class Raters(NamedTuple):
    """Who rates: models, classifiers, rules."""

    models: list[Model]
    classifiers: list[Classifying]
    rules: list[Rule]

    @property
    def names(self) -> list[str]:
        """What their ratings call them."""
        classifiers = dict.fromkeys(one.rater.name for one in self.classifiers)
        return [*(model.name for model in self.models), *classifiers, *(rule.name for rule in self.rules)]


def open_judges(specs: Sequence[str | Model], benchmarks: Sequence[Benchmark], asked: Asked) -> Raters:
    """Find everybody who is named to rate replies.

    Raises:
        UsageError: one is unknown, or cannot rate replies to these benchmarks.
    """
    others, named = classifying.divided(specs)
    rules = [spec for spec in others if isinstance(spec, str) and spec.startswith("rule/")]
    models = open_models([spec for spec in others if spec not in rules], asked)
    return Raters(models, classifying.judging(named, benchmarks), [open_rule(rule) for rule in rules])


def open_tested(specs: Sequence[str | Model], benchmarks: Sequence[Benchmark], asked: Asked) -> Raters:
    """Find everybody who is named to be tested: models, and on closed questions classifiers.

    Raises:
        UsageError: one is unknown, or a classifier cannot answer these benchmarks.
    """
    others, named = classifying.divided(specs)
    rule = next((spec for spec in others if isinstance(spec, str) and spec.startswith("rule/")), None)
    if rule is not None:
        raise UsageError(f"{rule} looks for words in replies, with --judge; it answers no question of a benchmark")
    return Raters(open_models(others, asked), classifying.answering(named, benchmarks), [])


def samples_hash(samples: Sequence[Sample]) -> str:
    """Hash what is asked about."""
    return digest([sample.id for sample in samples])


def judge_for(model: Model, instrument: Instrument, parameters: dict[str, Any]) -> Judge:
    """Put an instrument into a model's hands."""
    room = None if model.context is None else model.context - parameters.get("max_tokens", model.max_tokens)
    return Judge(model.name, instrument, parameters, provenance(model, parameters), room)


def instruments(benchmark: Benchmark, asked: Asked) -> list[Instrument]:
    """Return what judges of replies to a benchmark work with, one for each method."""
    return [benchmark.instrument(asked.mode, method=method) for method in asked.methods]


def judging_by(model: Model, instrument: Instrument, asked: Asked) -> Judge:
    """Put an instrument into the hands of a judge of replies, with room for a chain of reasoning."""
    parameters = asked.judge_parameters
    if instrument.method is Method.CHAIN and asked.settings.max_tokens is None:
        room = CHAIN_TOKENS * max(len(part.rubric.criteria) for part in instrument.parts(None))
        parameters = {**parameters, "max_tokens": room} if room > model.max_tokens else parameters
    return judge_for(model, instrument, parameters)


def judging(
    session: Session,
    benchmark: Benchmark,
    judges: Sequence[Model],
    asked: Asked,
    found: Sequence[Instrument] | None = None,
) -> list[tuple[Model, Step]]:
    """Return the steps in which judges rate replies, or answer a closed question; `found` names other instruments."""
    seen_by = benchmark.recognised_by if asked.protocol == RECOGNISED else None

    def step(model: Model, instrument: Instrument) -> Step:
        judge = judging_by(model, instrument, asked)
        recognise = judge_for(model, seen_by.instrument(asked.mode), asked.judge_parameters) if seen_by else None
        return lambda: rate(session, benchmark, judge, model, runs=asked.judge_runs, recognise=recognise)

    its = instruments(benchmark, asked) if found is None else found
    return [(model, step(model, instrument)) for model in judges for instrument in its]


def work(
    store: Store,
    asked: Asked,
    progress: Progress | None,
    phases: Sequence[Callable[[Session], list[tuple[Model, Step]]]],
    classifiers: Sequence[Classifying] = (),
) -> None:
    """Let classifiers rate, do the phases of a run one after another, and keep in its manifest what all that took."""

    async def all_phases() -> None:
        budget = Budget(asked.max_cost, store.spent())
        session = Session(store, concurrency=asked.settings.concurrency, budget=budget, progress=progress)
        for phase in phases:
            await in_lanes(session, phase(session))

    asked.sending.begin(store)
    began = time.perf_counter()
    try:
        classifying.work(store, classifiers, progress)
        run_async(all_phases())
    finally:
        content = manifest.read(store.folder)
        seconds = content.get("seconds", 0.0) + time.perf_counter() - began
        manifest.write(
            store.folder, {**content, "seconds": round(seconds, 3), "cost": store.spent(), "ended": manifest.now()}
        )


def rate_all(
    store: Store,
    benchmarks: Sequence[Benchmark],
    judges: Raters,
    asked: Asked,
    progress: Progress | None,
    found: Sequence[Instrument] | None = None,
) -> None:
    """Let everybody named rate every reply, or every dialogue of a closed question; those first who make no calls."""
    for benchmark in benchmarks:
        read_replies(store, benchmark)
        for rule in judges.rules:
            rate_by_rule(store, benchmark, rule)
    asking = [lambda session: [step for b in benchmarks for step in judging(session, b, judges.models, asked, found)]]
    work(store, asked, progress, asking, judges.classifiers)
