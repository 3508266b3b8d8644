"""A model that rates: it gets a rubric, a dialogue and perhaps a reply, and returns a verdict per criterion.

The same code puts a closed question to a model under test, which is then the rater of the sample.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from mindgauge.models.request import Request
from mindgauge.prompt import Prompt, fence, nonce_for, transcript
from mindgauge.raters import verdict
from mindgauge.records import Exchange, Message, RaterKind, Rating, Reply, Sample, Status, digest
from mindgauge.rubric import Rubric

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

Ask: TypeAlias = "Callable[[Request], Awaitable[Exchange]]"
"""Reaches a model, or remembers what it said."""
SLOTS = ("dialogue", "reply", "rubric", "form", "nonce")
"""What a judge's prompt may use."""


class Mode(StrEnum):
    """All criteria in one call, or one call each."""

    JOINT = "joint"
    SPLIT = "split"


class Instrument(msgspec.Struct, frozen=True, dict=True):
    """What a judge works with: a rubric and a prompt per language.

    In split mode a rubric of several criteria is put one criterion at a time; its prompt should name the rubric last,
    so that all calls about one reply share their beginning and a server's prefix cache serves it.
    """

    rubric: Rubric
    prompts: dict[str, Prompt]
    mode: Mode = Mode.JOINT

    @cached_property
    def name(self) -> str:
        """Rubric, version and the hash of every word a judge is shown, as ratings carry it."""
        words = digest(self.rubric.hash, sorted((k, p.hash) for k, p in self.prompts.items()))
        return f"{self.rubric.name}#{words[:12]}"

    @cached_property
    def _parts(self) -> dict[str | None, tuple[Part, ...]]:
        return {}

    def parts(self, protocol: str | None) -> tuple[Part, ...]:
        """Return what is asked in one call each, worded for a protocol."""
        if protocol not in self._parts:
            rubric = self.rubric.under(protocol) if protocol is not None else self.rubric
            rubrics = [rubric] if self.mode is Mode.JOINT else [rubric.only(c) for c in rubric.criteria]
            self._parts[protocol] = tuple(Part(r, verdict.schema_for(r.criteria)) for r in rubrics)
        return self._parts[protocol]


class Part(msgspec.Struct, frozen=True, dict=True):
    """The criteria of one call, the JSON schema of its verdict, and their texts, written once."""

    rubric: Rubric
    schema: dict[str, Any]

    @cached_property
    def form(self) -> str:
        """The verdict's form."""
        return verdict.form_for(self.rubric.criteria)

    @cached_property
    def _rendered(self) -> dict[str, str]:
        return {}

    def render(self, language: str) -> str:
        """Return the rubric as text."""
        if language not in self._rendered:
            self._rendered[language] = self.rubric.render(language)
        return self._rendered[language]


class Judge(msgspec.Struct, frozen=True):
    """A rater with an instrument. `ask` reaches the model; whether it is asked or remembered is not known here."""

    rater: str
    instrument: Instrument
    parameters: dict[str, Any]
    provenance: dict[str, Any]

    async def rate(
        self, ask: Ask, sample: Sample, reply: Reply | None, run: int, protocol: str | None = None
    ) -> list[Rating]:
        """Rate a reply, or the sample itself where there is none.

        A reply that never came is not judged: its ratings carry its status.
        """
        ratings = []
        for part in self.instrument.parts(protocol):
            if reply is not None and reply.status is not Status.OK:
                verdicts = {c.name: verdict.Verdict(reply.status) for c in part.rubric.criteria}
                seen: dict[str, Any] = {}
            else:
                request = self._request(part, sample, reply, run)
                verdicts, seen = await self._verdicts(ask, request, part)
            source = transcript(sample.messages) + "\n" + (reply.text if reply else "")
            for criterion in part.rubric.criteria:
                found = verdicts[criterion.name]
                ratings.append(
                    Rating(
                        reply.id if reply else sample.id,
                        criterion.name,
                        self.rater,
                        RaterKind.MODEL,
                        run,
                        found.status,
                        found.value,
                        found.rationale,
                        verdict.check(found.quotes, source),
                        self.instrument.name,
                        {
                            **self.provenance,
                            **seen,
                            **({"protocol": protocol} if protocol else {}),
                            **({"problem": found.problem} if found.problem else {}),
                        },
                    )
                )
        return ratings

    def _request(self, part: Part, sample: Sample, reply: Reply | None, run: int) -> Request:
        language = sample.tags.get("language", "en")
        prompts = self.instrument.prompts
        prompt = prompts.get(language) or prompts.get("en") or next(iter(prompts.values()))
        nonce = nonce_for(reply.id if reply else sample.id)
        slots = {
            "dialogue": fence("dialogue", transcript(sample.messages), nonce),
            "reply": fence("reply", reply.text, nonce) if reply else "",
            "rubric": part.render(language),
            "form": part.form,
            "nonce": nonce,
        }
        messages = (Message("user", prompt.fill(slots)),)
        return Request(messages, run, {**self.parameters, "seed": run}, part.schema, nonce, sample)

    async def _verdicts(
        self, ask: Ask, request: Request, part: Part
    ) -> tuple[dict[str, verdict.Verdict], dict[str, Any]]:
        """Ask, read, and ask once more where the answer cannot be read."""
        done = await ask(request)
        verdicts = self._read(done, part)
        problems = [v.problem for v in verdicts.values() if v.status is Status.UNPARSABLE]
        if done.status is Status.OK and problems:
            again = msgspec.structs.replace(
                request,
                messages=(
                    *request.messages,
                    Message("assistant", done.text[-4000:]),
                    Message(
                        "user",
                        f"This could not be read: {problems[0]}. Answer with the JSON object alone:\n{part.form}",
                    ),
                ),
            )
            second = await ask(again)
            if second.status is Status.OK:
                repaired = self._read(second, part)
                verdicts = {n: repaired[n] if v.status is Status.UNPARSABLE else v for n, v in verdicts.items()}
                done, request = second, again
        return verdicts, {
            "call": request.key(self.rater).hex(),
            "model": done.model_resolved,
            "fingerprint": done.fingerprint,
            "at": done.at,
        }

    @staticmethod
    def _read(done: Exchange, part: Part) -> dict[str, verdict.Verdict]:
        if done.status is Status.OK:
            return verdict.read(done.text, part.rubric.criteria)
        return {c.name: verdict.Verdict(done.status, problem=done.error) for c in part.rubric.criteria}
