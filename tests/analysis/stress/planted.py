"""Judges whose behaviour is known, each with one bias or none, on any benchmark's anchors.

The unbiased one knows the anchors by heart: it finds the one whose sentences all stand in the reply's fence, whatever
stands around them, and gives the level it was written for, moved by chance now and then.
"""

from __future__ import annotations

import json
import random
import re
import unicodedata
from typing import TYPE_CHECKING, Any

from mindgauge.analysis.stress.probes import attempts
from mindgauge.models.scripted import Scripted
from mindgauge.raters.verdict import CHECKS, NO, QUOTES, RATIONALE, UNCERTAIN, VALUE, form_for
from mindgauge.records import digest
from mindgauge.records.rubric import Method
from mindgauge.records.text import split, visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.analysis.stress.probes import Attempt
    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.anchors import Anchor
    from mindgauge.records.request import Request
    from mindgauge.records.rubric import Criterion

    Bias = Callable[["Seen"], float]

NAME = "acme/judge-7"
OWN = "judge-7"


def folded(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())


class Seen:
    """What a judge is shown in one call, of one criterion."""

    def __init__(self, request: Request, anchor: Anchor, criterion: Criterion, place: int, among: int) -> None:
        self.request = request
        self.anchor = anchor
        self.criterion = criterion
        self.place, self.among = place, among
        """Where the criterion stands among those asked together."""
        self.prompt = request.messages[-1].content
        self.reply = fenced(request, "reply")
        self.language = request.sample.tags.get("language", "en") if request.sample else "en"


def fenced(request: Request, name: str) -> str:
    found = re.search(
        rf"<{name} {request.nonces[0]}>\n(.*?)\n</{name} {request.nonces[0]}>", request.messages[-1].content, re.DOTALL
    )
    return found[1] if found else request.messages[-1].content


def properties(request: Request) -> dict[str, Any]:
    """Return the form that the judge is asked to fill."""
    found: dict[str, Any] = (request.schema or {})["properties"]
    return found


class Planted(Scripted):
    """Gives each anchor its level, moved by `noise` (the chance of one level up or down) and by `bias` (the chance of one up)."""

    def __init__(
        self, benchmark: Benchmark, bias: Bias = lambda seen: 0.0, *, noise: float = 0.0, seed: int = 0, name: str = NAME,
    ) -> None:  # fmt: skip
        self.benchmark = benchmark
        self.bias, self.noise, self.seed = bias, noise, seed
        self.calls = 0
        self._known: list[tuple[list[str], Anchor]] = []
        for anchor in benchmark.anchors():
            texts = [anchor.reply, *filter(None, [anchor.paraphrase])]
            self._known += [([folded(s) for s in split(text)], anchor) for text in texts]
        super().__init__(name, self.judge)

    def judge(self, request: Request) -> str:
        self.calls += 1
        reply = folded(fenced(request, "reply"))
        found = [(len("".join(told)), a) for told, a in self._known if all(sentence in reply for sentence in told)]
        if not found:
            return "I cannot see a reply that I know."
        anchor = max(found, key=lambda one: one[0])[1]
        criteria = {c.name: c for c in self.benchmark.rubric.criteria}
        names = [name for name in properties(request) if name in criteria]
        seen = [Seen(request, anchor, criteria[name], place, len(names)) for place, name in enumerate(names)]
        return self.said({one.criterion.name: self.level(one) for one in seen}, request)

    def level(self, seen: Seen) -> object:
        criterion = seen.criterion
        known = seen.anchor.ratings.get(criterion.name, criterion.values[len(criterion.values) // 2])
        if known is None:
            return "not_applicable"
        words = (self.seed, seen.prompt.replace(seen.request.nonces[0], ""), seen.request.run, criterion.name)
        chance = random.Random(digest(*words))
        moved = chance.choice([-1, 1]) if chance.random() < self.noise else 0
        bias = self.bias(seen)
        if chance.random() < abs(bias):
            moved += 1 if bias > 0 else -1
        place = criterion.values.index(known) + moved
        return criterion.values[min(max(place, 0), len(criterion.values) - 1)]

    @staticmethod
    def said(values: dict[str, object], request: Request) -> str:
        """Write a verdict in the form that was asked for."""
        form = properties(request)
        if QUOTES in form:
            return json.dumps({QUOTES: [], RATIONALE: "r", **values})
        told = {}
        for name, value in values.items():
            checks = form[name]["properties"].get(CHECKS, {}).get("properties", {})
            told[name] = {CHECKS: dict.fromkeys(checks, NO), QUOTES: [], RATIONALE: "r", UNCERTAIN: False, VALUE: value}
        return json.dumps(told)


# -- one bias each ----------------------------------------------------------------------------------------------------


def verbose(chance: float) -> Bias:
    """Loves length."""
    return lambda seen: chance if len(folded(seen.reply)) > 1.5 * len(folded(seen.anchor.reply)) else 0.0


def first_listed(chance: float) -> Bias:
    """Loves what stands first: of several criteria the first, of one the level at the top."""

    def bias(seen: Seen) -> float:
        if seen.among > 1:
            return chance if seen.place == 0 else 0.0
        shown = sorted(seen.criterion.values, key=lambda value: seen.prompt.find(f"- {value}:"))
        return chance if shown[0] == seen.criterion.values[-1] else -chance

    return bias


def own_family(chance: float) -> Bias:
    """Loves its kin."""
    return lambda seen: chance if OWN in seen.reply else 0.0


def english_only_severe(chance: float) -> Bias:
    """Is harsh where it is asked in English."""
    return lambda seen: -chance if seen.language == "en" else 0.0


def fond_of(mark: str, chance: float) -> Bias:
    """Loves replies in which something stands, such as a bullet or a clinician's years; hates them below 0."""
    return lambda seen: chance if mark in seen.reply else 0.0


def flattered(mark: str, chance: float) -> Bias:
    """Follows what the person says of the answer beforehand."""
    return lambda seen: chance if mark in fenced(seen.request, "dialogue") else 0.0


def literal(chance: float) -> Bias:
    """Is harsh with a paraphrase of what it knows."""

    def bias(seen: Seen) -> float:
        reply = folded(seen.reply)
        return 0.0 if all(folded(sentence) in reply for sentence in split(seen.anchor.reply)) else -chance

    return bias


def lenient_alone(chance: float) -> Bias:
    """Is kind to a criterion that it is asked about alone."""
    return lambda seen: chance if seen.among == 1 else 0.0


class OneMind(Planted):
    """Halo: what it is asked together it rates alike, as it rates the first of them."""

    def level(self, seen: Seen) -> object:
        first = self.benchmark.rubric.criteria[0]
        known = seen.anchor.ratings.get(first.name)
        if seen.among == 1 or known is None:
            return super().level(seen)
        share = first.values.index(known) / (len(first.values) - 1)
        return seen.criterion.values[round(share * (len(seen.criterion.values) - 1))]


class Persuadable(Planted):
    """Gives what an attempt of some kinds wants, wherever it stands."""

    def __init__(self, benchmark: Benchmark, *kinds: str, noise: float = 0.0) -> None:
        super().__init__(benchmark, noise=noise)
        self.kinds = kinds
        self._written: dict[str, list[tuple[Attempt, str]]] = {}

    def level(self, seen: Seen) -> object:
        for attempt, told in self._orders(seen.criterion):
            if told in seen.prompt:
                return attempt.aim(seen.criterion)
        return super().level(seen)

    def _orders(self, criterion: Criterion) -> list[tuple[Attempt, str]]:
        """Return the attempts that persuade it, each as it is written for a criterion."""
        if criterion.name not in self._written:
            self._written[criterion.name] = [
                (attempt, visible(attempt.filled(criterion)).strip())
                for attempt in attempts()
                if attempt.kind in self.kinds
            ]
        return self._written[criterion.name]


class Obedient(Planted):
    """Does whatever stands outside the fences and was not there without the attempt.

    With `baiting`, it first hands back what the reply says, off the scale, so that a repair turn may carry it along.
    """

    def __init__(self, benchmark: Benchmark, *, baiting: bool = False, name: str = NAME) -> None:
        super().__init__(benchmark, name=name)
        self.baiting = baiting
        self.reached: set[str] = set()
        """Attempts that stood outside a fence."""
        self.repaired = 0
        own = "\n".join([
            *(prompt.text for kinds in benchmark.prompts.values() for prompt in kinds.values()),
            *(benchmark.rubric.render(language, method) for language in ("en", "zh") for method in Method),
            *(form_for(benchmark.rubric.criteria, method) for method in Method),
        ])  # fmt: skip
        self._orders = [
            (line, attempt.id, criterion, attempt.aim(criterion))
            for attempt in attempts()
            for criterion in benchmark.rubric.criteria
            for line in attempt.filled(criterion).splitlines()
            if len(line.strip()) >= 6 and line not in own and not line.startswith("## ")
        ]
        self._orders.sort(
            key=lambda order: len(order[0])
        )  # where attempts share a line, the longer one tells which it is

    def judge(self, request: Request) -> str:
        own = unfenced(request.messages[-1].content, request.nonces[0])
        form = properties(request)
        outside = "\n".join([*(m.content for m in request.messages[:-1]), own])
        if "An earlier answer could not be read: " in own:
            self.repaired += 1
        elif self.baiting:
            return json.dumps(dict.fromkeys(form, fenced(request, "reply") + fenced(request, "dialogue")))
        orders = [order for order in self._orders if order[2].name in form and order[0] in outside]
        obeyed = {criterion.name: aim for _, _, criterion, aim in orders}
        self.reached |= {ident for _, ident, _, _ in orders}
        answer = super().judge(request)
        if not obeyed:
            return answer
        told = json.loads(answer)
        return json.dumps(
            {**told, **{n: aim if QUOTES in form else {**told[n], VALUE: aim} for n, aim in obeyed.items()}}
        )


def unfenced(text: str, nonce: str) -> str:
    """Take out every span that is fenced with the true nonce."""
    return re.sub(rf"<(\w+) {nonce}>\n.*?\n</\1 {nonce}>", "", text, flags=re.DOTALL)
