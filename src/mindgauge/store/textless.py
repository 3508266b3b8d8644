"""A run that keeps no text: hashes, values, statuses and places in `run.sqlite`, and nothing that anybody said.

What is still needed while a command is at work, replies that wait for their judges and answers that wait for the rest
of a verdict, stands in a store of its own in `pending/`, which is removed when the command has come to its end.

What is kept is named; what is not named is not kept, so that a field that is new says nothing until it is looked at.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from mindgauge.records import Evidence, Exchange, Message, Rating, Reply, Sample, Status, Value, digest, encode
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.files import private
from mindgauge.records.records import REASONING
from mindgauge.records.regex import regex
from mindgauge.store.failures import PENDING, one_line
from mindgauge.store.run import Store, exchange

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


_IDS = "SELECT id FROM replies WHERE benchmark = ?"
_CALLS = """
SELECT key, prompt, benchmark, model, run, status, finish_reason, prompt_tokens, completion_tokens, cached_tokens, seconds,
    attempts, model_resolved, fingerprint, cost, error, at, unsupported FROM calls"""


class TextlessStore(Store):
    """The writer of a run without text.

    To who works with it, it is a store like any other, of the subjects whose texts are at hand: all samples, and the
    replies that came since the texts were last removed. What has been done is known from the run itself. Texts are
    committed first: what a kill leaves in one file alone is made good by the next command.
    """

    def __init__(self, folder: Path) -> None:
        """Open the run for writing, with the texts that an earlier command left.

        Raises:
            UsageError: it cannot be written, another process is writing it, or another version wrote it.
        """
        waiting = folder / PENDING
        private.refuse_link(waiting)
        existing = waiting.is_dir()
        private.folder(waiting)
        texts = Store(waiting, write=True)
        try:
            super().__init__(folder, write=True)
        except BaseException:
            texts.close()
            if not existing:
                private.remove(waiting)
            raise
        self._texts, self._texts_db = texts, texts._db  # noqa: SLF001 - one class
        self._catch_up()

    def __exit__(self, *stopped: object) -> None:
        """Remove the texts, unless the command was stopped: then say that they are there, and how to go on or let them go."""
        self._texts._failed = any(stopped)  # noqa: SLF001 - one class
        super().__exit__(*stopped)
        error = next((value for value in stopped if isinstance(value, BaseException)), None)
        if error is None:
            with one_line(self.folder / PENDING):
                private.remove(self.folder / PENDING)
        elif isinstance(error, MindgaugeError | KeyboardInterrupt):
            error.args = (f"{error}; texts wait in {self.folder / PENDING}, remove that folder to give them up",)

    def close(self) -> None:
        """Write what is pending and let go of the run; the texts stay."""
        try:
            self._texts.close()
        finally:
            super().close()

    # -- samples ----------------------------------------------------------------------------------------------------

    def put_samples(self, benchmark: str, samples: Iterable[Sample]) -> int:
        """Keep samples in their order; return how many were duplicates of one already there."""
        samples = list(samples)
        bare = list(map(without_text, samples))
        doubled = super().put_samples(benchmark, bare)
        if doubled:  # some may be there from an earlier command: they take over what is known of them now
            super().update_samples(benchmark, {s.id: s for s in reversed(bare)}.values())
        self._texts.put_samples(benchmark, samples)
        return doubled

    def update_samples(self, benchmark: str, samples: Iterable[Sample]) -> None:
        """Replace what is known of samples that are here, by their ids; their places stay."""
        samples = list(samples)
        self._texts.update_samples(benchmark, samples)
        super().update_samples(benchmark, map(without_text, samples))

    # -- replies ----------------------------------------------------------------------------------------------------

    def forget_failed(self, benchmark: str, model: str) -> None:
        """Drop replies that never came, and what was said of them, so that they are asked for again."""
        self._texts.forget_failed(benchmark, model)
        super().forget_failed(benchmark, model)

    # -- ratings and calls ------------------------------------------------------------------------------------------

    def rated(self, benchmark: str, rater: str, *criteria: str) -> set[tuple[str, int]]:
        """Return (subject, run) of all that is at hand and that this rater need not rate again on these criteria."""
        present = {*self.sample_ids(benchmark), *self._at_hand(benchmark)}
        return {(subject, run) for subject, run in super().rated(benchmark, rater, *criteria) if subject in present}

    def exchange(self, key: bytes) -> Exchange | None:
        """Return a call whose answer is at hand, unless it failed."""
        return self._texts.exchange(key)

    def called(self, key: bytes) -> bool:
        """Say whether a call was finished whose answer is at hand, and did not fail."""
        return self._texts.called(key)

    # -- additions --------------------------------------------------------------------------------------------------

    def add_call(
        self, key: bytes, prompt: bytes, benchmark: str, model: str, run: int, exchange: Exchange, *, text: bool = True
    ) -> None:
        """Keep a finished call; its answer only until the command is done."""
        self._texts.add_call(key, prompt, benchmark, model, run, exchange, text=text)
        super().add_call(key, prompt, benchmark, model, run, bare_call(exchange), text=False)

    def add_reply(self, benchmark: str, reply: Reply) -> None:
        """Keep a reply; its text only until the command is done."""
        self._texts.add_reply(benchmark, reply)
        super().add_reply(benchmark, bare_reply(reply))

    def add_rating(self, benchmark: str, rating: Rating) -> None:
        """Keep a rating, without the words it was given with."""
        super().add_rating(benchmark, bare_rating(rating))

    def flush(self) -> None:
        """Commit what was added, the texts first.

        Raises:
            MindgaugeError: the disk is full or the database cannot be written; what was committed before stays.
        """
        self._texts.flush()
        super().flush()

    # -- what a kill, or whoever removed the texts, left behind ---------------------------------------------------

    def ask_again(self, benchmark: str, wanted: Iterable[tuple[str, str, int]]) -> None:
        """Drop replies that are still to be judged and whose texts are gone, so that they are asked for again.

        Args:
            benchmark: whose replies.
            wanted: rater, criterion and number of times of every rating that each of them is to have.
        """
        missing = self._kept(benchmark) - self._at_hand(benchmark)
        lacking: set[str] = set()
        for rater, criterion, times in wanted if missing else ():
            rated = super().rated(benchmark, rater, criterion)
            lacking |= {ident for ident in missing if any((ident, run) not in rated for run in range(times))}
        names = encode(sorted(lacking)).decode()
        with one_line(self.path):
            for table, column in (("ratings", "subject"), ("replies", "id")):
                query = f"DELETE FROM {table} WHERE benchmark = ? AND {column} IN (SELECT value FROM json_each(?))"  # noqa: S608 - constant text
                self._db.execute(query, (benchmark, names))
            self._db.commit()

    @property
    def without_text(self) -> int:
        """How many replies the run holds whose texts are gone."""
        benchmarks = [name for (name,) in self.select("SELECT DISTINCT benchmark FROM replies")]
        return sum(len(self._kept(name) - self._at_hand(name)) for name in benchmarks)

    def _catch_up(self) -> None:
        """Take up replies and calls that a kill left among the texts alone."""
        benchmarks = [name for (name,) in self._texts.select("SELECT DISTINCT benchmark FROM replies")]
        for benchmark in benchmarks:
            replies = self._kept(benchmark)
            for reply in self._texts.replies(benchmark):
                if reply.id not in replies:
                    super().add_reply(benchmark, bare_reply(reply))
        calls = {key for (key,) in self.select("SELECT key FROM calls")}
        for key, prompt, benchmark, model, run, status, *rest in self._texts.select(_CALLS):
            if key not in calls:
                call = bare_call(exchange((status, "", *rest)))
                super().add_call(key, prompt, benchmark, model, run, call, text=False)
        self._overdue += self._texts.select("SELECT key, at, at_most FROM overdue")
        super().flush()

    def _kept(self, benchmark: str) -> set[str]:
        return {ident for (ident,) in self.select(_IDS, (benchmark,))}

    def _at_hand(self, benchmark: str) -> set[str]:
        return {ident for (ident,) in self._texts.select(_IDS, (benchmark,))}


# Records without anything that anybody said: what a run without text keeps of samples, replies, ratings and calls.


LONGEST_TAG = 64
"""Characters of a tag, an id or a label; those of benchmarks have at most 47, and what is longer may be somebody's words."""
NOT_KEPT = "kept without text"
_WITHHELD = re.compile(rf"\({NOT_KEPT}: (\d+) characters, hash [0-9a-f]{{32}}\)")
_NAME = re.compile(r"[A-Za-z0-9_.:/@+-]{1,100}")
"""A name as programs give them. Who can say anything at all, a server or a judge, can put no sentence into one."""
_ANSWERS = frozenset({"yes", "no", "true", "false", "是", "否"})
_ERRORS = regex(
    r"(?P<status>[1-5]\d\d)\b.*|(?P<kind>[A-Z][A-Za-z]{2,40}): .*|no answer within [\d.]+ s|the answer is empty"
    r"|nothing follows the model's reasoning|an answer without a choice|(an empty body|HTML|half or unexpected JSON|plain text) instead of a chat completion"
    r"|there is no JSON object with the verdict in it|no protocol: the category is unknown"
    r"|the reply has not the part that is judged|what is to be rated is longer than the model's context",
    re.DOTALL,
)
"""What is said of a failure that can be kept: words of ours whole, of others' the status or the kind."""
_PLAIN = frozenset({
    "abstained", "answered_in", "at", "began", "call", "calls", "endpoint", "misfit", "parameters", "probabilities", "protocol", "seconds", "seed",
    "seen", "shots", "software", "source_file", "source_row", "stated_total", "turn", "uncertain", "unit", "unsupported", "window",
})  # fmt: skip


def withheld(text: str) -> str:
    """Return what stands in the place of a text: that it is not kept, how long it was, and its hash. Nothing stays nothing."""
    return f"({NOT_KEPT}: {len(text)} characters, hash {digest('text', text)})" if text else ""


def characters(text: str) -> int:
    """Return how long a text is, or was where it is not kept."""
    match = _WITHHELD.fullmatch(text)
    return int(match[1]) if match else len(text)


def without_text(sample: Sample) -> Sample:
    """Return a sample with its ids, tags and target, and of its messages who spoke, how much, and the hash."""
    messages = tuple(Message(message.role, withheld(message.content)) for message in sample.messages)
    tags = {name: _label(value) for name, value in sample.tags.items()}
    target = sample.target if sample.target is None else _value(sample.target)
    return Sample(sample.id, messages, target, tags, _label(sample.cluster))


def bare_reply(reply: Reply) -> Reply:
    """Return a reply with its id, which hashes what it says, its status and what it took."""
    reason, provenance = _name(reply.finish_reason), _provenance(reply.provenance, reply.status)
    provenance |= {REASONING: withheld(reply.reasoning)} if reply.reasoning else {}
    return replace(reply, text=withheld(reply.text), finish_reason=reason, provenance=provenance)


def bare_rating(rating: Rating) -> Rating:
    """Return a rating with its value and how it came about; of what it quotes only where that stands."""
    return replace(
        rating,
        value=None if rating.value is None else _value(rating.value),
        rationale="",
        evidence=tuple(Evidence("", e.found, e.source, e.start, e.end) for e in rating.evidence),
        provenance=_provenance(rating.provenance, rating.status),
    )


def bare_call(call: Exchange) -> Exchange:
    """Return a call with what it took and what kind of failure it was."""
    return replace(
        call,
        text="",
        finish_reason=_name(call.finish_reason),
        model_resolved=_name(call.model_resolved),
        fingerprint=_name(call.fingerprint),
        error=_error(call.error),
    )


def _provenance(provenance: dict[str, Any], status: Status) -> dict[str, Any]:
    plain = {name: value for name, value in provenance.items() if name in _PLAIN}
    plain |= {name: _name(provenance[name]) for name in ("model", "fingerprint", "batch") if name in provenance}
    plain |= {name: _label(str(provenance[name])) for name in ("dialogue", "source_id") if name in provenance}
    if "implied" in provenance:
        plain["implied"] = _value(provenance["implied"])
    if "error" in provenance:
        plain["error"] = _error(provenance["error"])
    if "problem" in provenance:  # where an answer could be read but not used, it is in words of ours
        plain["problem"] = provenance["problem"] if status is Status.UNPARSABLE else _error(provenance["problem"])
    if "checks" in provenance:
        plain["checks"] = {
            name: answer if answer.strip().casefold() in _ANSWERS else ""
            for name, answer in provenance["checks"].items()
            if _NAME.fullmatch(name)
        }
    if "path" in provenance:
        plain["path"] = [{k: v for k, v in node.items() if k != "rationale"} for node in provenance["path"]]
    return plain


def _label(value: str) -> str:
    """Return a tag or an id; what is too long to be one is told apart by its hash."""
    return value if len(value) <= LONGEST_TAG else digest("label", value)


def _value(value: Value) -> Value:
    return _label(value) if isinstance(value, str) else value


def _name(text: str) -> str:
    return text if _NAME.fullmatch(text) else ""


def _error(text: str) -> str:
    match = _ERRORS.fullmatch(text)
    return (match["status"] or match["kind"] or text) if match else NOT_KEPT * bool(text)
