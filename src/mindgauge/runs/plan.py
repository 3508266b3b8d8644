"""From names to models and judges, and from these to the steps of a run: a plan is a list of them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections import Counter
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks.persons.dialogues import PersonMode
from mindgauge.models.by_hand import ByHand
from mindgauge.models.config_file import ChatConfig
from mindgauge.models.model_config import TOKEN_LIMITS
from mindgauge.models.spec import configured, open_model
from mindgauge.raters.classifier import is_classifier, open_classifier
from mindgauge.raters.judge import Instrument, Judge, Mode
from mindgauge.raters.rule import Rule, open_rule
from mindgauge.records import Reply, Status, digest
from mindgauge.records.english import named
from mindgauge.records.errors import MindgaugeError, UsageError, WaitingError
from mindgauge.records.request import identity
from mindgauge.records.rounding import plural
from mindgauge.runs import conversations, probe
from mindgauge.runs.conversation_steps import ConversationStep
from mindgauge.runs.conversations import ClientStep
from mindgauge.runs.options import listed
from mindgauge.runs.rating_steps import ClassifierStep, RatingStep, ReadingStep, RuleStep
from mindgauge.runs.session import Budget, Interrupted, Session, run_async, system_tokens
from mindgauge.runs.steps import REPLY_TOKENS, CallStep, PlannedSubject, ReplyStep, provenance
from mindgauge.runs.verdict_cache import VerdictCache
from mindgauge.store import Store, manifest
from mindgauge.store.run import KEPT
from mindgauge.store.sent import sent

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.persons.dialogues import DialoguePlan
    from mindgauge.models.settings import Settings
    from mindgauge.records import Sample
    from mindgauge.records.request import Model
    from mindgauge.runs.options import AnyModel, Judging, RunConfig
    from mindgauge.runs.steps import LocalStep, Planned, Step
    from mindgauge.store import ReplyScope


# -- from names to models and judges -------------------------------------------------------------------------------------


def open_carried(spec: str, settings: Settings) -> Model:
    """Find the model that a specification names, and let its calls be carried as the settings say. Nothing is sent yet.

    Calls go one by one from this process, through the provider's batch service, or from the actors of a cluster.

    Raises:
        UsageError: the specification is unknown or incomplete, a key is missing, or it cannot be carried so.
    """
    config = configured(spec, settings)
    if config is not None:  # also for actors elsewhere, who have not our file
        settings = msgspec.structs.replace(settings, models={spec: config})
    model = open_model(spec, settings)
    if settings.batch:
        from mindgauge.models.batch import in_batches

        return in_batches(model, spec, settings)
    if settings.engine:
        from mindgauge.models.ray import on_ray

        return on_ray(model, spec, settings)
    return model


def as_models(specs: AnyModel | Sequence[AnyModel]) -> list[str | Model]:
    """Return one or several models as a list; a plain function, or a class with `reply`, is a model by its own name.

    Raises:
        UsageError: a function has no name of its own, or its signature names something that it cannot be given.
    """
    return [_as_model(spec) for spec in listed(specs)]


def _as_model(spec: Any) -> str | Model:
    if isinstance(spec, str) or hasattr(spec, "ask"):
        named: str | Model = spec
        return named
    if not callable(spec):
        raise UsageError(f"{type(spec).__name__} is no model: give a name, a function, or mindgauge.Function(…)")
    from mindgauge.models.bots.function import Function

    return Function(spec)


def open_models(specs: Sequence[str | Model], config: RunConfig, settings: Settings) -> list[Model]:
    """Find every model that is named; one that is given as an object is taken as it is.

    Args:
        specs: what the user named.
        config: all that the command is told; it learns whom it asks.
        settings: how these models are called.

    Raises:
        UsageError: one is unknown or named twice, has no known price though `max_cost` is given, or would get another
            server's key.
    """
    models = []
    for spec in dict.fromkeys(specs):
        if isinstance(spec, str):
            model = open_carried(spec, settings)
            config.sending.add(model, spec, configured(spec, settings))
        else:
            model = spec
            config.sending.add(model)
        models.append(model)
    twice = next((name for name, count in Counter(model.name for model in models).items() if count > 1), None)
    if twice is not None:
        raise UsageError(f"two models are both called {twice}; name its servers in one list, once")
    unpriced = [model.name for model in models if model.price is None]
    if config.max_cost is not None and unpriced:
        raise UsageError(
            f"--max-cost needs a price and none is known for {unpriced[0]}; give --price IN:OUT, in US dollars per million tokens"
        )
    return models


def tested_settings(specs: Sequence[str | Model], config: RunConfig) -> Settings:
    """Return how models under test are called, set up as the command says with --system, --header and --label.

    Raises:
        UsageError: a file or a header cannot be sent, or a model is not of the kind that takes them.
    """
    asking, settings = config.asking, config.asked
    extra = asking.setup
    if not extra:
        return settings
    models = dict(settings.models)
    for spec in specs:
        if not isinstance(spec, str):
            raise UsageError(f"{spec.name} is an object; --system, --header and --label are for models that are named")
        base = configured(spec, settings) or _plain(spec)
        unknown = next((name for name in extra if name not in base.__struct_fields__), None)
        if unknown is not None:
            raise UsageError(f"{spec} takes no --{unknown.removesuffix('s')}: it is no chat endpoint")
        headers = {"headers": {**getattr(base, "headers", {}), **extra["headers"]}} if "headers" in extra else {}
        try:
            models[spec] = msgspec.structs.replace(base, **{**extra, **headers})
        except ValueError as error:
            raise UsageError(f"{spec}: {error}") from error
    return msgspec.structs.replace(settings, models=models)


def _plain(spec: str) -> ChatConfig:
    """Return a model that the command names by its specification as one that can be set up."""
    try:
        return ChatConfig.of(spec)
    except ValueError as error:
        raise UsageError(f"{spec}: {error}") from error


class Raters(NamedTuple):
    """Who rates: models, classifiers, rules."""

    models: list[Model]
    classifiers: list[ClassifierStep]
    rules: list[Rule]

    @property
    def names(self) -> list[str]:
        """What their ratings call them."""
        classifiers = dict.fromkeys(step.rater.name for step in self.classifiers)
        return [*(model.name for model in self.models), *classifiers, *(rule.name for rule in self.rules)]


def open_judges(specs: Sequence[str | Model], benchmarks: Sequence[Benchmark], config: RunConfig) -> Raters:
    """Find everybody who is named to rate replies.

    Raises:
        UsageError: one is unknown, or cannot rate replies to these benchmarks.
    """
    others, named = _divided(specs)
    rules = [spec for spec in others if isinstance(spec, str) and spec.startswith("rule/")]
    models = open_models([spec for spec in others if spec not in rules], config, config.judged)
    classifiers = [open_classifier(spec) for spec in named]
    judging = [
        ClassifierStep(benchmark, rater.judging(benchmark.rubric))
        for rater in classifiers
        for benchmark in benchmarks
        if not benchmark.closed
    ]
    return Raters(models, judging, [open_rule(rule) for rule in rules])


def open_tested(
    specs: Sequence[str | Model], benchmarks: Sequence[Benchmark], config: RunConfig, settings: Settings
) -> Raters:
    """Find everybody who is named to be tested: models, and on closed questions classifiers.

    Args:
        specs: what the user named.
        benchmarks: what they answer.
        config: all that the command is told.
        settings: how these models are called.

    Raises:
        UsageError: one is unknown, or a classifier cannot answer these benchmarks: a question is open, or it was trained on
            another rubric.
    """
    others, named = _divided(specs)
    rule = next((spec for spec in others if isinstance(spec, str) and spec.startswith("rule/")), None)
    if rule is not None:
        raise UsageError(f"{rule} looks for words in replies, with --judge; it answers no question of a benchmark")
    models = open_models(others, config, settings)
    open_name = next((benchmark.name for benchmark in benchmarks if not benchmark.closed), None)
    if named and open_name is not None:
        raise UsageError(
            f"{named[0]} writes no replies, and {open_name} asks for them; let it rate what others reply, with --judge"
        )
    classifiers = [open_classifier(spec) for spec in named]
    answering = [
        ClassifierStep(benchmark, rater.answering(benchmark.rubric, about_reply=benchmark.about_reply))
        for rater in classifiers
        for benchmark in benchmarks
    ]
    return Raters(models, answering, [])


def _divided(specs: Sequence[str | Model]) -> tuple[list[str | Model], list[str]]:
    """Tell classifiers, each once, from everybody else."""
    named = list(dict.fromkeys(spec for spec in specs if isinstance(spec, str) and is_classifier(spec)))
    return [spec for spec in specs if not is_classifier(spec)], named


# -- from models to steps ------------------------------------------------------------------------------------------------


def samples_hash(ids: Iterable[str]) -> str:
    """Hash what is asked about, by the ids of the samples, whatever their order."""
    return digest(sorted(set(ids)))


def judge_for(model: Model, instrument: Instrument, parameters: dict[str, Any]) -> Judge:
    """Put an instrument into a model's hands."""
    limit = (parameters.get("max_tokens") or model.max_tokens) + system_tokens(model)
    room = None if model.context is None else model.context - limit
    return Judge(model.name, instrument, parameters, provenance(model, parameters), identity(model), room)


def instruments(benchmark: Benchmark, judging: Judging) -> list[Instrument]:
    """Return what judges of replies to a benchmark work with, one for each method that the user's own prompts are for, if any.

    Raises:
        UsageError: they are to find the protocol themselves, and nothing says how; or the user's own prompts are others.
    """
    if judging.recognises and benchmark.protocol and benchmark.recognised_by is None:
        raise UsageError(
            f"{benchmark.name}: --protocol recognised needs a question that finds the {benchmark.protocol}, and there is "
            f"none; name it for each sample in a column `{benchmark.protocol}`"
        )
    methods, user_instrument = judging.method, benchmark.brought
    if user_instrument is not None:
        prompts = {kind.removesuffix(".split") for kind in user_instrument.kinds}
        methods = tuple(method for method in methods if method.prompt in prompts) or methods
        for method in methods:
            split = f"{method.prompt}.split" if judging.mode is Mode.SPLIT else ""
            user_instrument.need(split if split in benchmark.prompts else method.prompt)
    return [benchmark.instrument(judging.mode, method=method) for method in methods]


def judging_by(model: Model, instrument: Instrument, config: RunConfig) -> Judge:
    """Put an instrument into the hands of a judge of replies, with room for as long an answer as its method asks for."""
    parameters = config.judging.parameters
    if (
        config.judged.max_tokens is None
        and "max_tokens" not in parameters
        and not any(n in model.setup.parameters for n in TOKEN_LIMITS)
    ):
        room = max(part.token_limit for part in instrument.parts(None))
        parameters = {**parameters, "max_tokens": room} if room > model.max_tokens else parameters
    return judge_for(model, instrument, parameters)


def answering(
    benchmark: Benchmark,
    samples: Sequence[Sample],
    models: Sequence[Model],
    questions: Sequence[Instrument],
    config: RunConfig,
    clients: Sequence[Model] = (),
) -> list[CallStep]:
    """Return the steps in which models under test answer: they reply, talk with clients, or answer a closed question put in each way."""
    asking, subjects = config.asking, partial(map, PlannedSubject, samples)
    if not asking.keep_reasoning and any(criterion.of_reasoning for criterion in benchmark.rubric.criteria):
        raise UsageError(
            f'{benchmark.name}: keep_reasoning = false drops what a criterion looks at (look = "reasoning")'
        )
    if benchmark.dialogues is not None and benchmark.dialogues.mode is not PersonMode.PREFIXED:
        return conversing(benchmark, benchmark.dialogues, subjects, models, clients, config)
    if benchmark.closed:
        return questioning(benchmark, subjects, models, questions, asking.parameters, asking.runs)
    return [
        ReplyStep(
            benchmark=benchmark, model=model, repeats=asking.runs, purpose="reply", subjects=subjects,
            parameters=asking.parameters, keep_reasoning=asking.keep_reasoning,
        )
        for model in models
    ]  # fmt: skip


def conversing(
    benchmark: Benchmark,
    dialogues: DialoguePlan,
    subjects: Planned,
    models: Sequence[Model],
    clients: Sequence[Model],
    config: RunConfig,
) -> list[CallStep]:
    """Return the steps in which models under test hold dialogues; those of clients are made within them."""
    asking = config.asking
    steps: list[CallStep] = [
        ConversationStep(
            benchmark=benchmark, model=model, repeats=asking.runs, purpose="talk", subjects=subjects,
            parameters=asking.parameters, dialogues=dialogues, clients=tuple(clients), keep_reasoning=asking.keep_reasoning,
        )
        for model in models
    ]  # fmt: skip
    return steps + [
        ClientStep(
            benchmark=benchmark, model=client, repeats=asking.runs, purpose="play the person", targets=tuple(model.name for model in models),
            subjects=subjects, dialogues=dialogues,
        )
        for client in clients
    ]  # fmt: skip


def questioning(
    benchmark: Benchmark,
    subjects: Planned,
    models: Sequence[Model],
    questions: Sequence[Instrument],
    parameters: dict[str, Any],
    repeats: int,
) -> list[CallStep]:
    """Return the steps in which models answer a closed question, put in each way."""
    return [
        RatingStep(
            benchmark=benchmark, model=model, repeats=repeats, purpose=f"classify{question.rater('')}",
            subjects=subjects, judge=judge_for(model, part, parameters),
        )
        for model in models
        for question in questions
        for part in _by_calls(benchmark, question)
    ]  # fmt: skip


def _by_calls(benchmark: Benchmark, instrument: Instrument) -> list[Instrument]:
    """Return what raters work with, apart for criteria that joined a run: these are asked in calls of their own."""
    return [instrument.only(criteria) for criteria in benchmark.calls] or [instrument]


def judging(
    benchmark: Benchmark,
    subjects: Planned,
    models: Sequence[Model],
    config: RunConfig,
    *,
    of_anchors: bool = False,
    scope: ReplyScope | None = None,
) -> list[CallStep]:
    """Return the steps in which judges rate replies by every method, anchors once.

    A judge that finds the protocol out itself has a step for that, whose calls are made within the others.
    """
    judge_options = config.judging
    repeats = 1 if of_anchors else judge_options.judge_runs
    seen_by = (
        benchmark.recognised_by.instrument(judge_options.mode)
        if judge_options.recognises and benchmark.recognised_by
        else None
    )
    steps: list[CallStep] = []
    for model in models:
        recognise = None if seen_by is None else judge_for(model, seen_by, judge_options.parameters)
        steps += [
            RatingStep(
                benchmark=benchmark, model=model, repeats=repeats, of_anchors=of_anchors, subjects=subjects,
                purpose=f"{'entry test' if of_anchors else 'judge'}{instrument.rater('')}",
                judge=judging_by(model, part, config), recognise=recognise, scope=scope,
            )
            for instrument in instruments(benchmark, judge_options)
            for part in _by_calls(benchmark, instrument)
        ]  # fmt: skip
        if recognise is not None:
            steps.append(
                RatingStep(
                    benchmark=benchmark, model=model, repeats=repeats, purpose="recognise", within=True,
                    subjects=partial(_dialogues, subjects), judge=recognise,
                )
            )  # fmt: skip
    return steps


def _dialogues(subjects: Planned) -> Iterator[PlannedSubject]:
    """Return the dialogues that subjects are about, each once."""
    sample_ids: set[str] = set()
    for sample, reply, _ in subjects():
        if sample.id not in sample_ids and (reply is None or reply.status is Status.OK):
            sample_ids.add(sample.id)
            yield PlannedSubject(sample)


def rating(
    benchmark: Benchmark,
    subjects: Planned,
    count: int,
    judges: Raters,
    config: RunConfig,
    questions: Sequence[Instrument] = (),
    scope: ReplyScope | None = None,
) -> list[Step]:
    """Return the steps in which everybody named rates what exists, or will; those first who make no calls.

    Args:
        benchmark: an open one, or a closed one that asks about replies, or about dialogues that exist.
        subjects: what is rated.
        count: of these.
        judges: who rates.
        config: how.
        questions: what models answer a closed one with.
        scope: the replies that models rate; all that the run holds, if not given.
    """
    judge_options = config.judging
    classifiers = [
        msgspec.structs.replace(step, count=count)
        for step in judges.classifiers
        if step.benchmark.name == benchmark.name
    ]
    if benchmark.closed:
        return [
            *classifiers,
            *questioning(
                benchmark, subjects, judges.models, questions, judge_options.parameters, judge_options.judge_runs
            ),
        ]
    rules = [RuleStep(benchmark, rule) for rule in judges.rules]
    models = judging(benchmark, subjects, judges.models, config, scope=scope)
    return [ReadingStep(benchmark), *rules, *classifiers, *models]


def replies_to_come(
    folder: Path, benchmark: Benchmark, samples: Sequence[Sample], models: Sequence[Model], runs: int
) -> Planned:
    """Return a reader of the replies that a run will hold: those that it holds, and one for all others to each sample."""

    def read() -> Iterator[PlannedSubject]:
        with Store.begun(folder) as store:
            if benchmark.dialogues is not None and benchmark.dialogues.mode is not PersonMode.PREFIXED:
                yield from conversations.replies_to_come(store, benchmark.name, samples, models, runs)
                return
            yield from single_replies(store, benchmark, samples, {model.name for model in models}, runs)

    return read


def single_replies(
    store: Store | None, benchmark: Benchmark, samples: Sequence[Sample], names: Collection[str], runs: int
) -> Iterator[PlannedSubject]:
    """Yield the replies of these names that a run holds, and one for all others to each sample."""
    by_id = {sample.id: sample for sample in samples}
    places = {} if store is None else store.replies_by_sample(benchmark.name)
    for sample in samples:
        replies = [] if store is None else [store.reply_at(place) for _, place in places.get(sample.id, ())]
        existing = [r for r in replies if r.model in names and r.run < runs and r.status is not Status.FAILED]
        presented = (benchmark.shown(sample, reply, by_id.__getitem__) for reply in existing)
        yield from (PlannedSubject(*pair) for pair in presented if pair is not None)
        if len(existing) < runs * len(names):
            stand_in = Reply.of(sample.id, "", 0, Status.OK, "x" * 4 * REPLY_TOKENS)
            yield PlannedSubject(sample, stand_in, runs * len(names) - len(existing))


# -- from steps to work --------------------------------------------------------------------------------------------------


def admit(store: Store, steps: Iterable[Step], config: RunConfig) -> None:
    """See, before a command writes anything into a run that is there, that those who answered in it are still the same.

    Keys and set-ups are compared first, then each model that is to answer more is asked who it is; see `probe`.

    Raises:
        UsageError: they are not; the run is as it was, but for what asking cost.
        BudgetError: asking could pass `max_cost`.
    """
    config.sending.check(store)
    calls = [step for step in steps if isinstance(step, CallStep)]
    if any(step.model.own_machine or step.model.name in config.sending.answered for step in calls):
        run_async(probe.refuse_other_builds(_session(store, config), calls, config, planned=True))


def _session(store: Store, config: RunConfig) -> Session:
    spent = store.spent() + store.overdue() + probe.spent(manifest.read(store.folder), at_most=True)
    budget = Budget(config.max_cost, spent)
    verdicts = VerdictCache.of(config.judging.cache)
    return Session(
        store, concurrency=config.settings.concurrency, budget=budget, progress=config.progress, verdicts=verdicts
    )


def _note_kept(store: Store, verdicts: VerdictCache | None, config: RunConfig) -> None:
    """Write down, and say, how many of judges' answers were taken from other runs."""
    if verdicts is None or not verdicts.found:
        return
    content = manifest.read(store.folder)
    manifest.write(store.folder, {**content, "kept_verdicts": content.get("kept_verdicts", 0) + verdicts.found})
    config.notice(f"{plural(verdicts.found, 'answer')} of judges taken from {verdicts.folder}, where earlier runs kept them; they cost nothing")  # fmt: skip


def perform(store: Store, steps: Iterable[Step], config: RunConfig) -> None:
    """Do steps, those first that make no calls, and keep in the run's manifest what all that took.

    Raises:
        WaitingError: requests were filed that nobody has answered yet; everything else is done.
    """
    calls: list[CallStep] = []
    local: list[LocalStep] = []
    for step in steps:
        if isinstance(step, CallStep):
            calls.append(step)
        else:
            local.append(step)

    async def make() -> None:
        session = _session(store, config)
        await probe.refuse_other_builds(session, calls, config)
        try:
            await run_per_model(session, calls)
        finally:
            _note_kept(store, session.verdicts, config)

    config.sending.begin(store)
    began = time.perf_counter()
    try:
        for step in local:
            step.work(store, config.progress)
        run_async(make())
    finally:
        content = manifest.read(store.folder)
        lines = {step.model.name: step.model.waiting for step in calls if isinstance(step.model, ByHand)}
        waiting = "; ".join(filter(None, lines.values()))
        if waiting:
            command = f": {config.command}" if config.command else ""
            waiting += f". Each file says where its answer goes. Then run the same command again{command}"
        if lines:
            content["waiting"] = waiting
        requests = [(step.asked_as, step.model.name, step.asked_with) for step in calls]
        if noted := sent(store, requests, content.get("sent", {})):
            content["sent"] = {**content.get("sent", {}), **noted}
        seconds = content.get("seconds", 0.0) + time.perf_counter() - began
        manifest.write(
            store.folder,
            {
                **content,
                "seconds": round(seconds, 3),
                "cost": store.spent() + probe.spent(content),
                "ended": manifest.now(),
            },
        )
    if unread := [
        f"{step.model.path(keys[-1])} ({why})"
        for step in calls
        if isinstance(step, RatingStep) and isinstance(step.model, ByHand)
        for _, _, why, keys in step.unread(store)
    ]:
        config.notice(f"no readable verdict in {named(unread)}; correct the answer and run the same command again")
    if waiting:
        raise WaitingError(waiting)


@contextlib.contextmanager
def _stoppable(session: Session) -> Iterator[None]:
    """On the first Ctrl-C finish what is under way and keep it; the second stops at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop, handler = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT)

    def restore() -> None:
        if handler is not signal.SIG_IGN:
            loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, handler)

    def stop() -> None:
        restore()
        session.halt(Interrupted(f"stopped; {KEPT}"))

    if handler is not signal.SIG_IGN:
        loop.add_signal_handler(signal.SIGINT, stop)  # which wakes the loop, whatever thread the signal comes to
    try:
        yield
    finally:
        restore()


async def run_per_model(session: Session, steps: Iterable[CallStep]) -> None:
    """Do steps of different models side by side, those of one model, or of this machine, one after another."""
    local_lock = asyncio.Lock()
    lanes: dict[str, list[CallStep]] = {}
    for step in steps:
        if not step.within:
            lanes.setdefault(step.model.name, []).append(step)
    with _stoppable(session):
        async with asyncio.TaskGroup() as group:
            for own_steps in lanes.values():
                group.create_task(_run_model(session, own_steps, local_lock))
    session.store.flush()
    if session.stop is not None:
        raise session.stop


async def _run_model(session: Session, steps: Iterable[CallStep], local_lock: asyncio.Lock) -> None:
    for _, in_a_row in groupby(steps, key=lambda step: id(step.model)):
        row = [*in_a_row]
        async with local_lock if row[0].model.own_machine else contextlib.nullcontext(), session.holding(row[0].model):
            for step in row:
                if session.stop is not None:
                    return
                try:
                    await step.work(session)
                except MindgaugeError as error:
                    # The other lanes see it and stop in good order; it is raised when all have.
                    session.halt(error)
