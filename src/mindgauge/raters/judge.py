"""A model that rates: it gets a rubric, a dialogue and perhaps a reply, and returns a verdict per criterion.

The same code puts a closed question to a model under test, which is then the rater of the sample.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace as _replace

from mindgauge.raters import mentions, user_instrument, verdict
from mindgauge.raters.echo import PromptText
from mindgauge.raters.few_shot import FewShotExamples
from mindgauge.raters.json_objects import LONGEST
from mindgauge.raters.part import DecisionTree, JudgeCall, ParsedVerdicts, worded
from mindgauge.raters.question_tree import QuestionTree, TreeWalk
from mindgauge.raters.quotes import REPLY, QuoteSource
from mindgauge.raters.user_instrument import UserInstrument
from mindgauge.raters.verdict import in_chinese, miscounted, reasoning
from mindgauge.raters.window import TOO_LONG, Unit, Window, size, window
from mindgauge.records import CUT_OFF, REASONING, Exchange, Message, RaterKind, Rating, Reply, Sample, Status, digest
from mindgauge.records.errors import WaitingError
from mindgauge.records.prompt import NONCE, Nonces, Prompt, fence, transcript
from mindgauge.records.request import Request, seeded
from mindgauge.records.rubric import Criterion, Method, Rubric, in_language

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping


NO_REASONING = "the reply comes without the model's reasoning"
_REASONING_SHOWN = {
    "en": "Below, in the place of the reply, is what the model thought before it replied; the person never sees it. "
    "Where these instructions speak of the reply, rate this reasoning instead, and nothing else, by what the criteria ask.",
    "zh": "下面放在回复位置上的，是模型回复之前的思考过程，对方看不到。上文说到“回复”之处，都改为只就这段思考过程、按各项标准的要求来评。",
}
READINGS = 16
"""Answers about one subject whose readings are at hand."""
Ask: TypeAlias = "Callable[[Request], Awaitable[Exchange]]"
"""Reaches a model, or remembers what it said."""


class Mode(StrEnum):
    """All criteria in one call, or one call each."""

    JOINT = "joint"
    SPLIT = "split"


class PromptStyle(StrEnum):
    """How a closed question is put; each way makes the model a rater of its own."""

    FLAT = "flat"
    """All levels at once, with their order of decision where the rubric has one."""
    UNORDERED = "unordered"
    """All levels at once, without that order."""
    FEW_SHOT = "few-shot"
    """As flat, with labelled examples."""
    SEQUENTIAL = "sequential"
    """Node by node, up to the first yes."""


class Instrument(msgspec.Struct, frozen=True, dict=True):
    """What a judge works with: a rubric and a prompt per language.

    In split mode a rubric of several criteria is put one criterion at a time; its prompt should name the rubric last,
    so that all calls about one reply share their beginning and a server's prefix cache serves it.
    A deck of examples stands behind the rubric.
    """

    rubric: Rubric
    prompts: dict[str, Prompt]
    mode: Mode = Mode.JOINT
    way: PromptStyle = PromptStyle.FLAT
    deck: FewShotExamples | None = None
    method: Method = Method.RULE
    dialogue_prompts: dict[str, Prompt] = {}
    """The prompts that ask about all of an assistant's turns in a dialogue, by language."""
    client_prompts: dict[str, Prompt] = {}
    """The prompts that ask about a message that a model wrote in a person's part, by language."""
    total: tuple[str, ...] = ()
    """The criteria of which a judge may state a total, which is then held against its own values."""
    tree: QuestionTree | None = None
    """Questions that decide the criteria in place of their levels' words: in joint mode all in one call, in split mode one a call."""
    brought: UserInstrument | None = None
    """The user's own, whose prompts and words these are; ours if not given."""
    names: tuple[str, ...] = ()
    """The tags with people's names, where it asks for free words: a verdict is whether these name the first of them."""
    shares: bool = True
    """Whether subjects of the same words share one answer."""

    @property
    def own_form(self) -> user_instrument.VerdictForm | None:
        """The form in which it asks for an answer, where that is not ours: then nothing is asked twice."""
        return None if self.brought is None else self.brought.answer

    @property
    def asks_once(self) -> bool:
        """Whether an answer that cannot be read stays so: it is asked for in no form of ours."""
        return self.own_form is not None or bool(self.names)

    @property
    def asks_in_turn(self) -> bool:
        """Whether a verdict follows from answers to one question after another, so that its rationale is ours."""
        return self.way is PromptStyle.SEQUENTIAL or self.tree is not None

    @cached_property
    def of_dialogues(self) -> Instrument:
        """What a judge of whole dialogues works with: the same rubric, and prompts and a name of its own."""
        if self.brought is not None:
            self.brought.need("judge.dialogue")
        return msgspec.structs.replace(self, prompts=self.dialogue_prompts, dialogue_prompts={}, client_prompts={})

    @cached_property
    def of_reasoning(self) -> Instrument:
        """What it works with where the model's reasoning is shown in the reply's place: the prompts say so, unless they are the user's."""
        if self.brought is not None:
            return self
        prompts = {
            language: Prompt(prompt.text.replace("{reply}", f"{in_language(_REASONING_SHOWN, language)}\n\n{{reply}}"))
            for language, prompt in self.prompts.items()
        }
        return msgspec.structs.replace(self, prompts=prompts, dialogue_prompts={}, client_prompts={})

    @cached_property
    def of_clients(self) -> Instrument:
        """What a judge of clients works with, likewise."""
        if self.brought is not None:
            self.brought.need("judge.client")
        return msgspec.structs.replace(self, prompts=self.client_prompts, dialogue_prompts={}, client_prompts={})

    def only(self, criteria: tuple[str, ...]) -> Instrument:
        """Return it with some of its criteria, which is what it was when the rubric had no others."""
        return msgspec.structs.replace(self, rubric=self.rubric.restricted(criteria))

    @cached_property
    def name(self) -> str:
        """Rubric, version and the hash of every word a judge is shown, as ratings carry it."""
        prompts = sorted((k, p.hash) for k, p in self.prompts.items())
        parts = [part.hash for part in (self.deck, self.tree, self.brought) if part is not None]
        words = digest(self.rubric.hash, prompts, *parts, *([self.names] if self.names else []))
        of_user = "" if self.brought is None else f"+{self.brought.name}-{self.brought.hash}"
        return f"{self.rubric.name}{of_user}#{words[:12]}"

    def rater(self, model: str) -> str:
        """Name the rater that a model is with this instrument: after a way or method other than the usual, too."""
        return f"{model}{self._unusual}"

    @cached_property
    def _unusual(self) -> str:
        unusual = [str(self.way)] * (self.way is not PromptStyle.FLAT) + [str(self.method)] * (not self.method.usual)
        unusual += ["tree"] * (self.tree is not None)
        unusual += [self.brought.name] if self.brought is not None else []
        return f" ({', '.join(unusual)})" if unusual else ""

    @cached_property
    def _parts(self) -> dict[object, tuple[JudgeCall, ...]]:
        return {}

    def parts(self, protocol: str | None, tags: Mapping[str, str] | None = None) -> tuple[JudgeCall, ...]:
        """Return what is asked in one call each, or node by node, worded for a protocol.

        Args:
            protocol: whose wording is used.
            tags: of the sample that is asked about: they say which criteria apply and which options there are. Where they
                are not given, everything is asked.
        """
        key = (protocol, None if tags is None else self.rubric.facets(tags))
        if key not in self._parts:
            rubric = self.rubric.under(protocol) if protocol is not None else self.rubric
            rubric = rubric if tags is None else rubric.on(tags)
            self._parts[key] = self._asked(rubric)
        return self._parts[key]

    def _asked(self, rubric: Rubric) -> tuple[JudgeCall, ...]:
        decided = self.tree.criteria if self.tree is not None else ()
        names = [criterion.name for criterion in rubric.criteria]
        by_tree, others = (
            rubric.restricted([n for n in names if (n in decided) is walked]) for walked in (True, False)
        )
        by_subject = (
            others.restricted([c.name for c in others.criteria if c.of_reasoning is side]) for side in (False, True)
        )
        joint = self.mode is Mode.JOINT
        rubrics = [
            r for rubric_ in by_subject if rubric_.criteria for r in ([rubric_] if joint else _one_by_one(rubric_))
        ]
        kind = DecisionTree if self.way is PromptStyle.SEQUENTIAL else JudgeCall
        parts = tuple(kind(asked_rubric, self.method) for asked_rubric in rubrics)
        if self.tree is None or not by_tree.criteria:
            return parts
        return (TreeWalk.of(by_tree, self.tree, self.method, at_once=self.mode is Mode.JOINT), *parts)


def _one_by_one(rubric: Rubric) -> list[Rubric]:
    """Return each criterion alone, but all vetoes together: they are looked for at once."""
    vetoes = tuple(c for c in rubric.criteria if c.veto)
    alone = [rubric.only(c) for c in rubric.criteria if not c.veto]
    return [*alone, msgspec.structs.replace(rubric, criteria=vetoes)] if vetoes else alone


class PresentedSubject(NamedTuple):
    """A subject as a judge is put it, and what is the same for all its repeats."""

    input: JudgeInput
    parts: tuple[JudgeCall, ...]
    """What is asked about it."""
    not_about: tuple[Criterion, ...]
    """The criteria that do not apply to it."""
    provenance: dict[str, Any]
    """Of all its ratings."""
    in_chinese: bool | None
    """Whether it is asked about in Chinese; None where that is not known, or the rationale is ours."""


class LastInput:
    """The subject that a judge was put last, and what it was made of."""

    def __init__(self) -> None:
        self.place: tuple[Sample, Reply | None, str | None, bool] | None = None
        self.subject: PresentedSubject | None = None


class Judge(msgspec.Struct, frozen=True, dict=True):
    """A model with an instrument. `ask` reaches the model; whether it is asked or remembered is not known here."""

    model: str
    instrument: Instrument
    parameters: dict[str, Any]
    provenance: dict[str, Any]
    identity: str = ""
    """What of the model is hashed into the keys of calls, where that is more than its name."""
    room: int | None = None
    """Tokens that a question may have, if that is known; dialogues that are rated turn by turn or whole are fitted to it."""
    nonces: Nonces = msgspec.field(default_factory=Nonces)
    """The fences' nonces, its own: it is made for one step of one command, when what it will rate has been written."""
    last: LastInput = msgspec.field(default_factory=LastInput)
    """What it was put last: a subject's repeats come one after the other."""
    in_runs: dict[int, Judge] = msgspec.field(default_factory=dict)
    """The same judge as it is in each repeat, where every repeat has examples of its own."""

    def fenced_by(self, nonces: Nonces) -> Judge:
        """Return the same judge with other nonces."""
        return msgspec.structs.replace(self, nonces=nonces, last=LastInput(), in_runs={})

    def in_run(self, run: int) -> Judge:
        """Return the judge as it is in a repeat."""
        deck = self.instrument.deck
        if deck is None or not deck.anew or deck.run == run:
            return self
        if run not in self.in_runs:
            instrument = msgspec.structs.replace(self.instrument, deck=deck.of_run(run))
            self.in_runs[run] = msgspec.structs.replace(self, instrument=instrument, last=LastInput(), in_runs={})
        return self.in_runs[run]

    @cached_property
    def rater(self) -> str:
        """Who rates, as ratings carry it."""
        return self.instrument.rater(self.model)

    async def rate(
        self, ask: Ask, sample: Sample, reply: Reply | None, run: int, protocol: str | None = None
    ) -> list[Rating]:
        """Rate a reply, or the sample itself where there is none.

        A reply that never came is not judged: its ratings carry its status.

        Raises:
            WaitingError: answers of a person have not come yet; all that can be asked now has been.
        """
        if (judge := self.in_run(run)) is not self:
            return await judge.rate(ask, sample, reply, run, protocol)
        calls: list[str] = []
        of_reply = self._subject(sample, reply, protocol)
        ratings, rated = [], reply.id if reply else sample.id
        waiting: WaitingError | None = None
        for part in of_reply.parts:
            calls.clear()
            subject = self._shown(part, sample, reply, protocol) or of_reply
            put = partial(self._put, ask, subject.input, run, calls)
            course: dict[str, Any] = {}
            if reply is not None and reply.status is not Status.OK:
                verdicts = {c.name: verdict.Verdict(reply.status) for c in part.rubric.criteria}
            elif part.of_reasoning and not (reply and reply.reasoning):
                no_reasoning = verdict.Verdict(Status.NOT_APPLICABLE, problem=NO_REASONING)
                verdicts = {c.name: no_reasoning for c in part.rubric.criteria}
            elif not subject.input.window.fits:
                verdicts = {c.name: verdict.Verdict(Status.FAILED, problem=TOO_LONG) for c in part.rubric.criteria}
            else:
                try:
                    verdicts, course = await part.answer(put)
                except WaitingError as error:
                    waiting = error
                    continue
                course["calls"] = [*calls]
            for criterion in part.rubric.criteria:
                judged = verdicts[criterion.name]
                details = reasoning(judged, criterion, asked_in_chinese=subject.in_chinese)
                evidence = subject.input.source.check(judged.quotes)
                if part.of_reasoning:
                    evidence = tuple(_replace(e, source=REASONING if e.source == REPLY else e.source) for e in evidence)
                ratings.append(
                    Rating(
                        rated, criterion.name, self.rater, RaterKind.MODEL, run, judged.status, judged.value, judged.rationale,
                        evidence, subject.input.instrument.name,
                        {**subject.provenance, **course, **details},
                    )
                )  # fmt: skip
        if waiting is not None:
            raise waiting
        return ratings + [
            Rating(
                rated, criterion.name, self.rater, RaterKind.MODEL, run, Status.NOT_APPLICABLE,
                instrument=of_reply.input.instrument.name, provenance=self.provenance,
            )
            for criterion in of_reply.not_about
        ]  # fmt: skip

    def requests(self, sample: Sample, reply: Reply | None = None, protocol: str | None = None) -> list[Request]:
        """Return every call that rating once may take, repairs aside."""
        parts = self._subject(sample, reply, protocol).parts
        subjects = ((part, self._shown(part, sample, reply, protocol)) for part in parts)
        return [self._request(call, subject.input, 0) for part, subject in subjects if subject for call in part.calls]

    def window(self, sample: Sample, reply: Reply, protocol: str | None = None) -> Window:
        """Return what of a dialogue is shown when its reply, or the whole of it, is rated."""
        return self._subject(sample, reply, protocol).input.window

    def _shown(
        self, part: JudgeCall, sample: Sample, reply: Reply | None, protocol: str | None
    ) -> PresentedSubject | None:
        """Return what is put of a subject for one part of the questions; None where it has no reasoning to look at.

        A reply that is only planned has a text of the usual length, and stands for its reasoning, too.
        """
        if not part.of_reasoning:
            return self._subject(sample, reply, protocol)
        if reply is None or (reply.model and not reply.reasoning):
            return None
        return self._subject(sample, _replace(reply, text=reply.reasoning or reply.text), protocol, of_reasoning=True)

    def _subject(
        self, sample: Sample, reply: Reply | None, protocol: str | None, *, of_reasoning: bool = False
    ) -> PresentedSubject:
        place = (sample, reply, protocol, of_reasoning)
        if self.last.subject is None or self.last.place != place:
            self.last.subject, self.last.place = self._presented(*place), place
        return self.last.subject

    def _presented(
        self, sample: Sample, reply: Reply | None, protocol: str | None, of_reasoning: bool
    ) -> PresentedSubject:
        instrument = self.instrument
        subject = self._written(sample, reply, protocol, instrument.of_reasoning if of_reasoning else instrument)
        shots = {"shots": [shot.id for shot in instrument.deck.draw(sample)]} if instrument.deck else {}
        protocols = {"protocol": protocol} if protocol else {}
        return PresentedSubject(
            subject,
            instrument.parts(protocol, sample.tags),
            tuple(criterion for criterion in instrument.rubric.criteria if not criterion.about(sample.tags)),
            {**self.provenance, **subject.window.provenance, **shots, **protocols},
            None if instrument.asks_in_turn else in_chinese(subject.prompt.text),
        )

    def _written(self, sample: Sample, reply: Reply | None, protocol: str | None, instrument: Instrument) -> JudgeInput:
        if reply is None or "unit" not in reply.provenance:
            subject = JudgeInput.asked_about(sample, instrument, reply, self.nonces)
            return subject._replace(subject=(reply or sample).id)
        parts = [call for part in self.instrument.parts(protocol, sample.tags) for call in part.calls]

        def taken(bare: JudgeInput) -> int:
            """With room for the form once more, should the answer have to be repaired."""
            return max(size(*(m.content for m in self._request(part, bare, 0).messages), part.form) for part in parts)

        return JudgeInput.fitted(sample, instrument, reply, self.nonces, self.room, taken)

    def _request(self, part: JudgeCall, subject: JudgeInput, run: int) -> Request:
        """Write a question, once for all its repeats; parts live as long as the instrument does."""
        if id(part) not in subject.requests:
            subject.requests[id(part)] = self._first(part, subject)
        return subject.requests[id(part)].repeated(run)

    def _first(self, part: JudgeCall, subject: JudgeInput) -> Request:
        sample = subject.sample
        texts = part.slots(sample.tags.get("language", "en"))
        if subject.examples and "examples" not in subject.prompt.slots:
            texts = {**texts, "rubric": f"{texts['rubric']}\n\n{subject.examples}"}
        brought = self.instrument.brought
        slots = {
            **texts,
            **subject.slots,
            "examples": subject.examples,
            "topic": sample.tags.get("topic", "").replace("_", " "),
        }
        if brought is None:
            messages: tuple[Message, ...] = (Message("user", subject.prompt.fill(slots)),)
        else:
            messages = (Message("user", brought.fill(subject.prompt, sample, slots)),)
            if brought.opening:
                opening = worded(brought.opening, sample.tags.get("language", "en"))
                messages = (Message("system", brought.fill(opening, sample, slots)), *messages)
        schema = None if self.instrument.asks_once else part.schema
        own = "" if self.instrument.shares else subject.subject
        return Request(messages, 0, seeded(self.parameters, 0), schema, subject.nonces, sample, subject=own)

    async def _put(self, ask: Ask, subject: JudgeInput, run: int, calls: list[str], part: JudgeCall) -> ParsedVerdicts:
        """Ask, read, and ask once more where the answer cannot be read; `calls` gains the keys of both."""
        request = self._request(part, subject, run)
        call = request.key(self.identity or self.model).hex()
        calls.append(call)
        exchange = await ask(request)
        verdicts = self._read(exchange, part, subject)
        problems = [v.problem for v in verdicts.values() if v.status is Status.UNPARSABLE]
        if exchange.status is Status.OK and problems and not self.instrument.asks_once:
            # Nothing of the answer is repeated: it may carry what the reply told the judge to say.
            *before, question = request.messages
            hint = (
                f"An earlier answer could not be read: {problems[0]}. Answer with the JSON object alone:\n{part.form}"
            )
            repair = msgspec.structs.replace(
                request, messages=(*before, Message("user", f"{question.content}\n\n{hint}")), repair=True
            )
            calls.append(repair.key(self.identity or self.model).hex())
            second = await ask(repair)
            if second.status is Status.OK:
                repaired = self._read(second, part, subject)
                verdicts = {n: repaired[n] if v.status is Status.UNPARSABLE else v for n, v in verdicts.items()}
                exchange, call = second, calls[-1]
        course: dict[str, Any] = {
            "call": call,
            "model": exchange.model_resolved,
            "fingerprint": exchange.fingerprint,
            "at": exchange.at,
        }
        if exchange.unsupported:
            course["unsupported"] = exchange.unsupported
        course.update(miscounted(exchange.text, part.rubric.criteria, self.instrument.total, verdicts))
        return ParsedVerdicts(verdicts, course)

    def _read(self, exchange: Exchange, part: JudgeCall, subject: JudgeInput) -> dict[str, verdict.Verdict]:
        """Read an answer, held against what was shown."""
        if exchange.status is not Status.OK:
            return {c.name: verdict.Verdict(exchange.status, problem=exchange.error) for c in part.rubric.criteria}
        answer = id(part), exchange.text, exchange.finish_reason == CUT_OFF
        if answer not in subject.readings:
            if len(subject.readings) == READINGS:
                subject.readings.clear()
            subject.readings[answer] = self._parsed(exchange.text, part, subject, cut=exchange.finish_reason == CUT_OFF)
        return subject.readings[answer]

    def _parsed(self, text: str, part: JudgeCall, subject: JudgeInput, *, cut: bool) -> dict[str, verdict.Verdict]:
        criteria, prompt_text = part.rubric.criteria, subject.prompt_text
        if cut and len(text) > LONGEST:
            return {c.name: verdict.Verdict(Status.UNPARSABLE, problem=verdict.CUT) for c in criteria}
        if self.instrument.names:
            people = mentions.NamedPeople.of(subject.sample.tags, self.instrument.names)
            judged = mentions.read(text, people, prompt_text, cut=cut)
            return {criterion.name: judged for criterion in criteria}
        if (own_form := self.instrument.own_form) is None:
            verdicts = verdict.read(text, criteria, prompt_text)
        else:
            verdicts = user_instrument.read(own_form, text, criteria, prompt_text)
        unread = {name for name, judged in verdicts.items() if cut and judged.status is Status.UNPARSABLE}
        return {n: msgspec.structs.replace(v, problem=verdict.CUT) if n in unread else v for n, v in verdicts.items()}


class JudgeInput(NamedTuple):
    """What is judged: the slots that every part has in common."""

    sample: Sample
    instrument: Instrument
    prompt: Prompt
    nonces: tuple[str, ...]
    """That of the subject itself, and that of the examples before it, if there are any."""
    slots: dict[str, str]
    source: QuoteSource
    prompt_text: PromptText
    """All that others wrote, against which answers are held."""
    requests: dict[int, Request]
    """What asked about it already, by the `id` of the part."""
    readings: dict[tuple[int, str, bool], dict[str, verdict.Verdict]]
    """What was read in the last answers, by the `id` of the part, the text, and whether that was cut off: repeats of a
    question are often answered alike."""
    examples: str = ""
    window: Window = Window()
    subject: str = ""
    """Its id, of a reply or a sample."""

    @classmethod
    def of(
        cls,
        sample: Sample,
        instrument: Instrument,
        dialogue: tuple[Message, ...],
        reply: str,
        nonces: Nonces,
        window: Window | None = None,
    ) -> JudgeInput:
        """Write what is shown of a dialogue, and the reply to it.

        Calls about all replies to a dialogue share its nonce, and so their beginning, unless a reply holds it.
        """
        window = window or Window(tuple(range(len(dialogue))), len(dialogue))
        source = QuoteSource.of(window.transcript(dialogue), reply)
        folded = (source.dialogue.folded, source.reply.folded)
        nonce = nonces.draw(sample.id, *folded)
        brought = instrument.brought
        if brought is not None and brought.bare:
            slots = {"dialogue": brought.transcript(dialogue), "reply": reply, "nonce": ""}
        else:
            slots = {
                "dialogue": fence("dialogue", window.transcript(dialogue, nonce), nonce),
                "reply": fence("reply", reply, nonce),
                "nonce": nonce,
            }
        prompt = worded(instrument.prompts, sample.tags.get("language", "en"))
        if instrument.deck is None:
            prompt_text = PromptText(slots["dialogue"], slots["reply"])
            return cls(sample, instrument, prompt, (nonce,), slots, source, prompt_text, {}, {}, window=window)
        shown, examples_nonce = instrument.deck.block(sample, nonces, *folded)
        prompt_text = PromptText(slots["dialogue"], slots["reply"], shown)
        return cls(
            sample, instrument, prompt, (nonce, examples_nonce), slots, source, prompt_text, {}, {}, shown, window
        )

    @classmethod
    def asked_about(cls, sample: Sample, instrument: Instrument, reply: Reply | None, nonces: Nonces) -> JudgeInput:
        """Write a sample with the reply to it; where there is none, and the prompt asks about one, its last message."""
        prompt = worded(instrument.prompts, sample.tags.get("language", "en"))
        dialogue, replied = sample.messages, reply.text if reply else ""
        if reply is None and "reply" in prompt.slots:
            dialogue, replied = sample.messages[:-1], sample.messages[-1].content
        return cls.of(sample, instrument, dialogue, replied, nonces)

    @classmethod
    def fitted(
        cls,
        sample: Sample,
        instrument: Instrument,
        reply: Reply,
        nonces: Nonces,
        room: int | None,
        cost: Callable[[JudgeInput], int],
    ) -> JudgeInput:
        """Write a turn of a dialogue with what is before it, or a whole dialogue, as far as there is room.

        Args:
            sample: the dialogue before its last turn that is rated.
            instrument: the judge's.
            reply: that turn; its provenance says what is rated at once.
            nonces: draws the fences' nonces.
            room: tokens that a question may have; None if unknown.
            cost: tokens that a question about an empty dialogue would have.
        """
        turns = (*sample.messages, Message("assistant", reply.text))
        if reply.provenance["unit"] == Unit.DIALOGUE:
            instrument, dialogue, replied = instrument.of_dialogues, turns, ""
            rated = [place for place, message in enumerate(turns) if message.role == "assistant"]
        else:
            dialogue, replied, rated = sample.messages, reply.text, [len(sample.messages)]
            instrument = instrument.of_clients if reply.provenance["unit"] == Unit.CLIENT else instrument
        if room is None:
            return cls.of(sample, instrument, dialogue, replied, nonces)
        bare = cls.of(sample, instrument, (), "", nonces)
        fitting = window(turns, room - cost(bare), _tokens_shown, rated)
        return cls.of(sample, instrument, dialogue, replied, nonces, fitting)


def _tokens_shown(message: Message) -> int:
    """Estimate the tokens of a turn in a transcript, with its number and nonce."""
    return size(transcript((message,), "0" * NONCE))
