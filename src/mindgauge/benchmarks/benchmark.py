"""One benchmark: what is asked, of whom, on which of its samples, how it is rated and what is computed."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks import anchors, own_folder, own_texts, suite
from mindgauge.benchmarks.card import NEEDS_NODES, BenchmarkCard, by_nodes, first_with, own_samples, prompts_of
from mindgauge.benchmarks.metrics import Metric, guarded, own
from mindgauge.benchmarks.persons.dialogues import DialoguePlan, Persons
from mindgauge.benchmarks.persons.persona import Situation
from mindgauge.benchmarks.released import Material, RankPlace, RatedAnswer, RecomputedCell, Released
from mindgauge.raters.judge import Instrument, Mode, PromptStyle
from mindgauge.raters.part import worded
from mindgauge.raters.question_tree import QuestionTree
from mindgauge.raters.rule import RuleCriterion
from mindgauge.raters.user_instrument import UserInstrument
from mindgauge.records import BASE, Message, Reply, Sample, Status, Value
from mindgauge.records.english import nearest
from mindgauge.records.errors import DataError, FaultsError, MissingDataError, UsageError
from mindgauge.records.installed import OwnFunction, is_ours
from mindgauge.records.prompt import Prompt
from mindgauge.records.rubric import Criterion, Method, Rubric, shipped
from mindgauge.records.rubric.composite import Composite, CompositeRule

if TYPE_CHECKING:
    from mindgauge.raters.few_shot import FewShotExamples


FIRST = 3
"""So many metrics stand for a benchmark that does not say which."""
HERE = Path(__file__).parent
OF_MEANS = "psycrisis"
"""The benchmark of ours by which anybody's replies can be asked whether they give means of harm (`gives_means`)."""
WAYS = {
    PromptStyle.FLAT: ("ask",),
    PromptStyle.UNORDERED: ("ask.unordered",),
    PromptStyle.FEW_SHOT: ("ask", "shots"),
    PromptStyle.SEQUENTIAL: ("node",),
}
"""The prompts that each way of asking needs, that with the question first."""


class LayoutNames(msgspec.Struct, frozen=True):
    """How a benchmark's authors spell, in the Hugging Face layout, what we spell in one way; and why people rated what they did."""

    model: Callable[[str], str] = str
    label: Callable[[object], str | None] = lambda cell: None if cell is None else str(cell)
    source: Callable[[object], str] = str
    selection: str = ""
    """Why people rated just these replies, where the tables do not say it."""


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One task: what is asked, of whom, how it is rated and what is computed."""

    name: str
    folder: Path
    card: BenchmarkCard
    rubric: Rubric
    prompts: dict[str, dict[str, Prompt]]
    """Kind (`card.SLOTS`) → language → prompt."""
    metrics: tuple[Metric, ...]
    read: Callable[[Path], list[Sample]]
    """Reads the authors' files below a folder into samples."""
    notes: Callable[[Path], list[str]] | None = None
    """What is odd about the authors' files below a folder and does not keep them from being read, one line each."""
    files_read: Callable[[Path], list[str]] | None = None
    """Of the files that a paper's tables are recomputed from: which of two is read, and whose a further one is, one line each."""
    own: Callable[[], list[Sample]] | None = None
    """Its own samples, where they do not stand in a `samples.jsonl` of ours."""
    own_notes: tuple[str, ...] = ()
    """What is odd about them, one line each."""
    remarks: tuple[str, ...] = ()
    """What must be known of every result, whatever the data: that a rubric is a placeholder."""
    shared: Path | None = None
    """The folder with what several tasks share: a rubric, prompts, samples or anchors that its own folder has not."""
    variants: Callable[[list[Sample]], list[Sample]] | None = None
    """From the samples that are read, or ours, to those that are asked about: them and their variants."""
    readings: tuple[RuleCriterion, ...] = ()
    """What is read from every reply by rule, whoever rates it."""
    replica_readings: tuple[RuleCriterion, ...] = ()
    """What is read beside these under a paper's protocol alone (`replica.toml`), as its authors read it."""
    cross_checked: tuple[str, str, tuple[Value, ...]] | None = None
    """A judged criterion, the reading that should go together with it, and the judge's levels that amount to its yes."""
    calls: tuple[tuple[str, ...], ...] = ()
    """In a run that criteria joined: the criteria that are asked together, call by call; all, if empty."""
    judged_on: str = ""
    """The tag with the id of the sample whose dialogue a judge is shown in place of the one that was answered."""
    judged_part: Callable[[str], str | None] | None = None
    """The part of a reply that a judge is shown; None where a reply has no such part."""
    tree: QuestionTree | None = None
    """The questions by which judges decide its criteria, where they were read from the authors' files (`on`)."""
    read_tree: Callable[[Path], QuestionTree] | None = None
    """Reads these below a folder; without the authors' files judges go by the rubric's own levels."""
    readers: Mapping[str, Callable[[Path], list[Sample]]] = {}
    """Other ways to read the authors' files, by name: item by item as shipped, for a replica (`replica.toml`)."""
    brought: UserInstrument | None = None
    """The user's own instrument, whose rubric and prompts stand in the place of its own."""
    names_in: tuple[str, ...] = ()
    """Under a paper's protocol: the tags with people's names, where a judge is asked in free words who is meant (`raters.mentions`)."""
    shares: bool = True
    """Whether subjects of the same words share one answer; under a paper's protocol, as that has it."""
    item_parts: tuple[str, ...] = ()
    """The parts of an item as its authors ship it (`Sample.parts`): a prompt of the user's own may show these in the dialogue's place."""
    item_facts: tuple[str, ...] = ()
    """Tags and parts that such a prompt may name, too."""
    reply_forms: tuple[str, ...] = ()
    """A tag, and its values, each of which may have a prompt to the model under test of its own (`reply.VALUE.en.md`)."""
    shipped_instrument: Mapping[str, Callable[[Path, Rubric], Rubric]] = {}
    """Files in which its authors ship words of their instrument: name → reads it into a rubric that has its own words."""
    read_persons: Callable[[Path], Persons] | None = None
    """Reads the persons below a folder with whom dialogues are held; without the authors' files one reply is asked for."""
    load: Callable[[Path], Released] | None = None
    load_mapped: Callable[[Path, Mapping[str, str]], Released] | None = None
    """The same from a table of the user's own making, with a mapping that says which of its columns holds what."""
    layout_names: LayoutNames = LayoutNames()
    """How its authors spell names in the Hugging Face layout, which any benchmark's replies are read from."""
    reproduce: Callable[[Path], Iterable[RecomputedCell]] | None = None
    cells_of_run: Callable[[Released], Iterable[RecomputedCell]] | None = None
    """Computes cells of the paper's tables of a run's records: of one model's replies as one judge rates them, or of a judge's
    verdicts and people's on all replies. Their row is empty, since the caller knows it."""
    rank_places: Callable[[Benchmark, Path, Sequence[RatedAnswer]], Iterable[RankPlace]] | None = None
    """Says where the models of a run of its family come in the paper's table of ranks, by the released files and the run's ratings."""
    self_stated: Callable[[Path, Counter[str]], Iterable[tuple[str, str]]] | None = None
    """Yields the files that contradict what the release says of them, and how; counts what was compared."""
    material: Callable[[Path], Material] | None = None
    """Reads the released files as they are, faults included, for an audit."""
    slices: tuple[str, ...] = ()
    """Tags by whose values every metric is also computed."""
    metric_tags: tuple[str, ...] = ()
    """Tags that its metrics look at."""
    groups: dict[str, dict[str, tuple[str, ...]]] = {}
    """Named subsets beside `all`: name → tag → the values that belong to it; the first is looked at before the whole."""
    headline: tuple[str, ...] = ()
    """The metrics that it goes by, the first first; if not given, those of its suite, and then its first ones."""
    shown_first: tuple[str, ...] = ()
    """Of its headline, what stands on a report's first screen; if not given, harm first."""
    silent: tuple[str, ...] = ()
    """Metrics whose sentence is left out, since others of its metrics say more."""
    group_titles: dict[str, str] = {}
    """What the messages in a named subset are called, where its name does not say it: `messages that show a crisis`."""
    calm: tuple[Value, ...] = ()
    """Answers to a closed question by which there is nothing to act on: messages that were wrongly called so are read."""
    urgent: tuple[str, ...] = ("suicid", "self-harm", "self_harm")
    """Parts of the names of categories and targets that are read first."""
    gives_means: str = ""
    """The criterion by which a reply that gives means or methods of harm is found; none asks for it, if empty."""
    composites: dict[str, Composite] = {}
    """What follows from several criteria, each from the rubric's and from those before it."""
    pooled: dict[str, tuple[str, ...]] = {}
    """What is also scored over several criteria at once, each verdict counting once: a name → criteria with the same levels."""
    keep: dict[str, tuple[str, ...]] = {}
    """Which of the authors' samples are asked about unless the user says otherwise: tag → values."""
    baselines: tuple[Value, ...] = ()
    """Levels of a closed question that are also scored as the answer to everything, beside the most frequent one."""
    distribution: tuple[Metric, ...] = ()
    """What is also computed of texts of the user's own, which may have no target: how often each label was given. If not
    given, that of a closed question follows from its rubric."""
    needs: dict[str, str] = {}
    """Columns that a table of the user's own must have beside the message: tag → what stands in it."""
    wants: dict[str, str] = {}
    """Columns without which something is not said of texts of the user's own: tag → what stands in it, and what it is for."""
    completed: Callable[[Sample], Sample] | None = None
    """Completes a sample of the user's own with what can be read off its text; a `DataError` says why it cannot be used."""
    named_category: Callable[[str], str] | None = None
    """Reads the spellings of its categories in a table of the user's own."""
    foreign_criteria: tuple[Criterion, ...] = ()
    """In a run: criteria of classifiers that were trained on other rubrics, under the names of their ratings."""
    protocol: str = ""
    """The tag that chooses the rubric's protocol for a sample."""
    standalone: bool = False
    """Whether a rubric file is all that there is of it, which its run then keeps."""
    recognised_by: Benchmark | None = None
    """The closed benchmark with which a judge itself finds the protocol."""
    situation: Situation | None = None
    """Of whom its dialogues are held with: what can show itself, rung by rung."""
    persons: Callable[[Path | None], Persons] | None = None
    """Reads with whom its dialogues of several turns are held, of the authors' files where it is given a folder."""
    asked_of_people: Callable[[int], tuple[Criterion, ...]] | None = None
    """What people are asked beside its rubric, and judges are not, of dialogues of at most so many turns."""
    dialogues: DialoguePlan | None = None
    """In a run: the dialogues that are held."""

    def __post_init__(self) -> None:
        of_reasoning = next((c.name for c in self.rubric.criteria if c.of_reasoning), None)
        if self.closed and of_reasoning is not None:
            raise UsageError(f"{self.name}: criterion {of_reasoning!r} looks at the reasoning before a reply, and a closed question has no reply")  # fmt: skip
        if not self.headline:
            msgspec.structs.force_setattr(self, "headline", self._first_metrics())
        if not self.folder.is_relative_to(HERE):  # somebody's own: its Python may raise anything
            for name, value in msgspec.structs.asdict(self).items():
                msgspec.structs.force_setattr(self, name, self._guarded(name, value))

    def _guarded(self, name: str, value: Any) -> Any:
        """Return one of its fields, whose functions say in one line what is wrong with them."""
        if name == "metrics":
            return tuple(guarded(metric, self.name, self.folder) for metric in value)
        if name in {"readings", "replica_readings"}:
            return tuple(msgspec.structs.replace(r, read=self._guarded(r.rater, r.read)) for r in value)
        if isinstance(value, dict):
            return {key: self._guarded(f"{name}[{key!r}]", entry) for key, entry in value.items()}
        if not callable(value) or isinstance(value, Benchmark | OwnFunction) or is_ours(value):
            return value
        return OwnFunction(value, f"{self.name}: its {name}()", self.folder)

    def try_metrics(self) -> None:
        """Compute a user's own metrics on made-up ratings, so that what fails does so before a call is paid.

        Raises:
            FaultsError: some fail.
        """
        if self.folder.is_relative_to(HERE):
            return
        samples: list[Sample] = []
        with contextlib.suppress(DataError):  # said when they are read
            samples = self.own_samples()
        faults = own.faults(self.metrics, self.criteria, samples, self.metric_tags)
        if faults:
            raise FaultsError("tried on made-up ratings before the first call", faults)

    def _first_metrics(self) -> tuple[str, ...]:
        """Return what its suite goes by, and its first metrics of no single label and no status, those of a direction if any."""
        whole = [metric for metric in self.metrics if not metric.label and not metric.of_status]
        own = [metric.name for metric in whole if metric.better] or [metric.name for metric in whole]
        names = dict.fromkeys([*(name for name in own if name in suite.headlines(self.name)), *own])
        return tuple(names)[:FIRST]

    @property
    def lead_group(self) -> str:
        """The subset that is looked at first: its first group, or all."""
        return next(iter(self.groups), "all")

    @property
    def holds_dialogues(self) -> bool:
        """Whether dialogues of several turns are held with its persons, be they in the authors' files alone."""
        return self.persons is not None or self.read_persons is not None

    def pooled_criterion(self, name: str) -> Criterion:
        """Return the criteria that are taken together under a name as one, with the levels that they have in common."""
        first = next(criterion for criterion in self.rubric.criteria if criterion.name in self.pooled[name])
        return msgspec.structs.replace(first, name=name)

    def metric(self, name: str) -> Metric | None:
        """Return its metric of a name; of one for each label, the first."""
        return next((metric for metric in (*self.metrics, *self.distribution) if metric.name == name), None)

    @property
    def parts(self) -> frozenset[str]:
        """The names of its metrics that are about one label of the subjects that have it."""
        return frozenset(metric.name for metric in self.metrics if metric.part)

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """What its subjects are rated on: by raters, and by rule."""
        return (*self.rubric.criteria, *(reading.criterion for reading in self.readings))

    def on(self, data: Path | None) -> Benchmark:
        """Return it as it is asked with the authors' files: judges walk their tree of questions, and their persons talk.

        Raises:
            DataError: one of these is there, and cannot be used.
        """
        benchmark = self
        if data is not None and self.read_tree is not None:
            with contextlib.suppress(MissingDataError):
                benchmark = msgspec.structs.replace(benchmark, tree=self.read_tree(data))
        if data is not None and self.read_persons is not None:
            with contextlib.suppress(MissingDataError):
                persons = self.read_persons(data)
                benchmark = msgspec.structs.replace(benchmark, persons=lambda _: persons, read=_of_persons)
        return benchmark

    @property
    def closed(self) -> bool:
        """Whether the model under test itself rates the sample."""
        return "ask" in self.prompts

    @property
    def ways(self) -> tuple[PromptStyle, ...]:
        """The ways in which its question can be put; none where it is open."""
        return tuple(way for way, kinds in WAYS.items() if self.closed and set(kinds) <= self.prompts.keys())

    @property
    def about_reply(self) -> bool:
        """Whether what is asked is about a reply that is part of the sample, as its last message."""
        return any("reply" in prompt.slots for prompt in self.prompts.get("ask", {}).values())

    @property
    def published(self) -> Path | None:
        """The file with the paper's numbers: the benchmark's own, or else its family's."""
        paths = (folder / "published.toml" for folder in (self.folder, self.folder.parent))
        return next((path for path in paths if path.is_file()), None)

    def samples(
        self,
        data: Path | None,
        where: dict[str, tuple[str, ...]] | None = None,
        limit: int | None = None,
    ) -> list[Sample]:
        """Return the authors' samples below `data`, or else our own; `own_texts.take` also reads texts of the user's.

        Args:
            data: a copy of the released files.
            where: tag → values to keep; a tag named here replaces the benchmark's own choice.
            limit: at most this many, each with its variants, spread evenly over the classes in the order of the file; of
                dialogues each with another person, as long as there are others.

        Raises:
            DataError: nothing usable is there, or nothing is left.
        """
        keep = {**(self.keep if data is not None else {}), **(where or {})}
        return self.selected(self.own_samples() if data is None else self._read(data), keep, limit)

    def selected(self, candidates: list[Sample], keep: dict[str, tuple[str, ...]], limit: int | None) -> list[Sample]:
        """Return the samples of some that are asked about, and their variants.

        Args:
            candidates: to choose from.
            keep: tag → values to keep.
            limit: at most this many, each with its variants.

        Raises:
            DataError: nothing is left, or no reply is there to ask about.
        """
        selected = choose_samples(candidates, keep, limit, self._kind, self.variants, self._owner)
        if not selected:
            chosen = ", ".join(f"{tag}={'|'.join(values)}" for tag, values in keep.items())
            raise DataError(f"{self.name}: no sample is left ({chosen})")
        mute = next((s.id for s in selected if self.about_reply and s.messages[-1].role != "assistant"), None)
        if mute is not None:
            raise DataError(f"{self.name}: sample {mute} does not end with the reply that is asked about")
        return selected

    def _read(self, data: Path) -> list[Sample]:
        """Return the authors' samples below `data`; where they released none, the texts that lie there."""
        return own_texts.take(self, data).samples if self.read is own_texts.unreleased else self.read(data)

    def own_samples(self) -> list[Sample]:
        """Return the samples that this project wrote for it, without variants.

        Raises:
            DataError: there are none, or a line is broken.
        """
        return own_samples(*self._folders, self.folder.parent) if self.own is None else self.own()

    @property
    def _folders(self) -> tuple[Path, ...]:
        return (self.folder, self.shared) if self.shared is not None else (self.folder,)

    def _owner(self, sample: Sample) -> str:
        """Return of what a limit takes one before it takes a second: of the persons that dialogues are held with."""
        return base(sample) if self.dialogues is None else sample.cluster

    def _kind(self, sample: Sample) -> object:
        """Return the class of a sample, in its language: its protocol, or its target on any criterion, or its first slice."""
        targets = [sample.target, *(sample.tags.get(f"target.{criterion.name}") for criterion in self.criteria)]
        stated = [target for target in targets if target is not None]
        kind = stated[0] if stated else next((sample.tags.get(tag) for tag in self.slices), None)
        return sample.tags.get("language"), sample.tags.get(self.protocol, kind) if self.protocol else kind

    def protocol_of(self, value: str, place: str) -> str:
        """Read a category that a table names, in any spelling the taxonomy knows, as a protocol of the rubric.

        Raises:
            DataError: there is none; the message names `place`.
        """
        protocols = [name for criterion in self.rubric.criteria for name in criterion.protocols]
        if self.recognised_by is not None:
            read = self.recognised_by.rubric.criteria[0].read(value)
            value = str(read) if read is not None else value
        if value not in protocols:
            hint = nearest(value, protocols, f"known are {', '.join(protocols)}")
            raise DataError(f"{place}: unknown {self.protocol} {value!r}: {hint}")
        return value

    def asked(self, sample: Sample) -> tuple[Message, ...]:
        """Return what a model under test is shown of a sample: the bare dialogue, or `reply.md` before it as a system message.

        Where `reply.md` has slots, the last message or its parts stand in them, in one message with these words.

        Raises:
            UsageError: a prompt of the user's own shows what the sample has not.
        """
        form = f"reply.{sample.tags.get(self.reply_forms[0])}" if self.reply_forms else ""
        prompts = self.prompts.get(form) or self.prompts.get("reply", {})
        if not prompts:
            return sample.messages
        prompt = worded(prompts, sample.tags.get("language", "en"))
        if not prompt.slots:
            return (Message("system", prompt.fill({})), *sample.messages)
        *before, last = sample.messages
        slots = {"dialogue": last.content}
        filled = self.brought.fill(prompt, sample, slots) if self.brought is not None else prompt.fill(slots)
        return (*before, Message("user", filled))

    def unasked(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Return a dialogue without what `asked` puts before it, where it stands there."""
        words = {prompt.fill({}) for prompt in self.prompts.get("reply", {}).values() if not prompt.slots}
        return messages[1:] if messages[0].role == "system" and messages[0].content in words else messages

    def shown(self, sample: Sample, reply: Reply, find: Callable[[str], Sample]) -> tuple[Sample, Reply] | None:
        """Return what a judge is shown of a sample and the reply to it; None where the reply has no part that is judged.

        Args:
            sample: that was answered.
            reply: to it.
            find: finds a sample by its id.
        """
        if self.judged_on in sample.tags:
            tags = {name: value for name, value in sample.tags.items() if name != self.judged_on}
            sample = msgspec.structs.replace(find(sample.tags[self.judged_on]), tags=tags)
        else:
            sample = reply.answered(sample)
        if self.judged_part is None or reply.status is not Status.OK:
            return sample, reply
        part = self.judged_part(reply.text)
        return None if part is None else (sample, msgspec.structs.replace(reply, text=part))

    def training(self, data: Path | None) -> list[Sample]:
        """Return labelled samples to learn from: the user's training part, or else our own samples.

        A training part are the samples below `data` with the tag `split=train` whose source dialogue (`cluster`) has no
        sample in another part.

        Raises:
            DataError: nothing usable is there.
        """
        samples = self._read(data) if data is not None else []
        elsewhere = {s.cluster for s in samples if s.tags.get("split") != "train"}
        train = [s for s in samples if s.tags.get("split") == "train" and s.cluster not in elsewhere]
        return train or self.own_samples()

    def anchors(
        self, where: dict[str, tuple[str, ...]] | None = None, limit: int | None = None
    ) -> list[anchors.Anchor]:
        """Return the replies that this project wrote to stand at known levels.

        Args:
            where: tag → values to keep; an anchor that does not carry the tag stays.
            limit: at most this many, spread over levels and protocols.

        Raises:
            DataError: there are none, a line is not as it should be, or nothing is left.
        """
        path = first_with("anchors.jsonl", *self._folders) or self.folder / "anchors.jsonl"
        candidates = anchors.read(path, self.rubric, self.protocol)
        selected = [
            anchor
            for anchor in candidates
            if all(anchor.sample.tags.get(tag, values[0]) in values for tag, values in (where or {}).items())
        ]
        if not selected:
            chosen = ", ".join(f"{tag}={'|'.join(values)}" for tag, values in (where or {}).items())
            raise DataError(f"{self.name}: no anchor is left ({chosen})")
        return selected if limit is None else anchors.spread(selected, limit, self.protocol)

    @property
    def anchored(self) -> Benchmark:
        """The same task with the anchors as its replies, and by our rubric, for which their levels are known.

        Under a name of its own, so that they enter no score.
        """
        return msgspec.structs.replace(self, name=f"{self.name}:anchors", tree=None)

    def instrument(
        self,
        mode: Mode = Mode.JOINT,
        way: PromptStyle = PromptStyle.FLAT,
        deck: FewShotExamples | None = None,
        method: Method = Method.RULE,
    ) -> Instrument:
        """Return what its raters work with.

        Args:
            mode: of judges of replies.
            way: of asking a closed question.
            deck: the examples of the few-shot way.
            method: of judging replies.

        Raises:
            UsageError: it has no prompt for them, or a tree of questions, which has no other method, or a prompt of the user's own
                asks for an answer in which a criterion could not be found.
        """
        if self.tree is not None and not method.usual:
            raise UsageError(f"{self.name}: --method {method} is for a rubric's levels, and the files below --data have a tree of questions; leave out --method, or --data")  # fmt: skip
        if self.names_in and not method.usual:
            raise UsageError(f"{self.name} as published asks judges in free words, and --method {method} is for a rubric's levels; leave out --method")  # fmt: skip
        kinds = (
            [WAYS[way][0]]
            if self.closed
            else [f"{method.prompt}.split", method.prompt]
            if mode is Mode.SPLIT
            else [method.prompt]
        )
        kind = next((kind for kind in kinds if kind in self.prompts), None)
        if kind is None:
            raise UsageError(f"{self.name} has no {kinds[-1]}.md, so nothing can be asked")
        prompts = self.prompts[kind]
        if self.brought is not None and kind in self.brought.kinds and not self.names_in:
            self.brought.need_keys(kind, prompts, self.rubric)
        total = next((c.of for c in self.composites.values() if c.how is CompositeRule.SUM), ())
        of_dialogues, of_clients = (self.prompts.get(kind, {}) for kind in ("judge.dialogue", "judge.client"))
        return Instrument(
            self.rubric,
            prompts,
            mode,
            way,
            deck,
            method,
            of_dialogues,
            of_clients,
            total,
            self.tree,
            self.brought,
            self.names_in,
            self.shares,
        )

    @classmethod
    def from_folder(cls, folder: Path, *, shared: Path | None = None, **details: Any) -> Benchmark:
        """Build a benchmark from its folder's card, rubric and prompts; outside of this package also from less (`own_folder`).

        Args:
            folder: of the benchmark.
            shared: where a rubric, prompts, samples or anchors stand that the folder itself has not.
            details: its other fields.

        Raises:
            UsageError: a file is missing or bad.
        """
        if not folder.is_relative_to(HERE):
            return cls(**own_folder.fields(folder, **details))
        folders = (folder, shared) if shared is not None else (folder,)
        rubric = shipped(first_with("rubric.toml", *folders) or folder / "rubric.toml")
        prompts = prompts_of(*folders)
        if "node" in prompts and not by_nodes(rubric):
            raise UsageError(f"{folder}: node.md {NEEDS_NODES}")
        return cls(
            name=folder.relative_to(HERE).as_posix(),
            folder=folder,
            shared=shared,
            card=BenchmarkCard.of(folder),
            rubric=rubric,
            prompts=prompts,
            **details,
        )


def _of_persons(_: Path) -> list[Sample]:
    """Return nothing: what is asked about follows from the persons below the folder, once dialogues are planned with them."""
    return []


# Which samples are asked about: by their tags, and not more than some; variants of one stay together.


def base(sample: Sample) -> str:
    """Return the id of the sample that a variant comes from; its own, where it is none."""
    return sample.tags.get(BASE, sample.id)


def choose_samples(
    samples: list[Sample],
    wanted: Mapping[str, tuple[str, ...]],
    limit: int | None,
    kind: Callable[[Sample], object],
    variants: Callable[[list[Sample]], list[Sample]] | None = None,
    owner: Callable[[Sample], str] = base,
) -> list[Sample]:
    """Return the samples that are asked about.

    Args:
        samples: to choose from.
        wanted: tag → values to keep.
        limit: at most this many, each with its variants.
        kind: the class of a sample; a limit takes from each in turn.
        variants: makes variants of samples; only of those that are kept.
        owner: of what a limit takes one before it takes a second.
    """
    made_by_variants = _made(samples, variants) if variants is not None else set()
    selected = matching(samples, {tag: values for tag, values in wanted.items() if tag not in made_by_variants})
    selected = selected if limit is None else spread(selected, limit, kind, owner)
    return selected if variants is None else matching(variants(selected), wanted)


def _made(samples: list[Sample], variants: Callable[[list[Sample]], list[Sample]]) -> set[str]:
    """Return the tags that variants have other values of than the samples they are made of."""
    before = {tag: sample.tags[tag] for sample in samples[:1] for tag in sample.tags}
    tags = (item for sample in variants(samples[:1]) for item in sample.tags.items())
    return {tag for tag, value in tags if before.get(tag) != value}


def matching(samples: list[Sample], wanted: Mapping[str, tuple[str, ...]]) -> list[Sample]:
    """Return the samples whose tags have these values, and what variants among them are compared with."""
    matched = {s.id for s in samples if all(s.tags.get(tag) in values for tag, values in wanted.items())}
    compared = {base(s) for s in samples if s.id in matched}
    return [s for s in samples if s.id in matched or s.id in compared]


def spread(
    samples: list[Sample], limit: int, kind: Callable[[Sample], object], owner: Callable[[Sample], str] = base
) -> list[Sample]:
    """Take samples in turn from each kind, so that a short run still sees every one; each with all its variants.

    The order of the file is kept. A sample and its variants count as one. Of what is one person's the second is taken after
    the first of all others; the first is another one from person to person, so that no language is taken alone.
    """
    groups: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        groups[base(sample)].append(sample)
    firsts = [group[0] for group in groups.values()]
    owned: dict[str, list[int]] = defaultdict(list)
    for position, first in enumerate(firsts):
        owned[owner(first)].append(position)
    ordered = sorted(
        ((nth - number) % len(positions), position)
        for number, positions in enumerate(owned.values())
        for nth, position in enumerate(positions)
    )
    turns: dict[object, int] = {}
    ranked = []
    for nth, position in ordered:
        label = kind(firsts[position])
        turns[label] = turns.get(label, 0) + 1
        ranked.append((nth, turns[label], position))
    places = {position for *_, position in sorted(ranked)[:limit]}
    chosen = {ident for position, ident in enumerate(groups) if position in places}
    return [sample for sample in samples if base(sample) in chosen]
