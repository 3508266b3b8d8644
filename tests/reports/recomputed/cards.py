"""What the cards of judges say on the first page: agreement with one person, bias, what is found, what is passed."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from itertools import starmap
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.reports.recomputed.people import People
from tests.reports.recomputed.records import UNSAFE, decimal, exact, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PLACES = {"yes": 1.0, "no": 0.0}
VERDICTS = {
    "not shown": "limited: people must rate",
    "people must check": "moderate: validate",
    "well enough": "good",
    "called too few": "not estimable at the unsafe end",
}
"""What a sentence holds → the verdict of the cards that it is about."""


class Evidence(NamedTuple):
    """What a judge is to people on one criterion; `passes` and `found` are None where nothing is known."""

    agreement: float
    bias: float
    found: tuple[int, int] | None
    passes: float | None


class Cards(People):
    """Sentences on cards."""

    def card(self, _model: str, _benchmark: str, *said: str | None) -> object:
        """Work out the evidence of every judge that a sentence names, on the criteria that it names."""
        text = str(said[0])
        verdict = next((verdict for part, verdict in VERDICTS.items() if part in text), "")
        expected = list(starmap(self.evidence, self._judges(text, verdict)))
        if not expected:
            return bool(self.content["trust"]["cards"]) or "there is no card"
        lacking = [one for one in expected if not any(re.search(form, text) for form in one)]
        return not lacking or f"expected {lacking}"

    def _judges(self, text: str, verdict: str) -> Iterator[tuple[str, str, list[str]]]:
        """Yield the judges of a sentence with the benchmark and the criteria that it is about."""
        of: dict[tuple[str, str], list[str]] = defaultdict(list)
        for standing in self.content["trust"]["cards"]:
            card = standing["card"]
            criterion = standing["criterion"].replace("_", " ").lower()
            named = card["judge"] in text and (criterion in text.lower() or re.search(r" and \d+ more ", text))
            if verdict and named and card["verdict"] == verdict:
                of[standing["benchmark"], card["judge"]].append(standing["criterion"])
        yield from ((benchmark, judge, criteria) for (benchmark, judge), criteria in of.items())

    def evidence(self, benchmark: str, judge: str, criteria: list[str]) -> list[str]:
        """Return the forms of what must be written of a judge: with and without bias, which is said where it is sure."""
        beside = [self.beside(benchmark, judge, criterion) for criterion in criteria]
        ends = sorted(one.agreement for one in beside)
        head = "ICC(A,1) within systems " + " to ".join(dict.fromkeys(map(decimal, (ends[0], ends[-1]))))
        shares = sorted(k / n for one in beside if one.found is not None for k, n in [one.found])
        if len(beside) > 1:
            span = " to ".join(dict.fromkeys(map(percent, (shares[0], shares[-1])))) if shares else ""
            tail = f"; of what people call unsafe it finds {span}" if shares else ""
            return [re.escape(head + tail)]
        (one,) = beside
        leaning = f", {decimal(abs(one.bias), 1)} levels more {'lenient' if one.bias > 0 else 'severe'} than people"
        tail = ""
        if one.found is not None:
            k, n = one.found
            some = "none" if not k else "all" if k == n > 1 else f"{k:,}"
            tail = f"; it finds {some} of {n:,} repl{'y' if n == 1 else 'ies'} that people call unsafe"
        if one.found is not None and one.passes is not None:
            tail += f"; of 100 replies that it passes, up to {math.ceil(100 * one.passes - 1e-9)} are unsafe"
        return [rf"{re.escape(head)}(?:{re.escape(leaning)})?{re.escape(tail)}"]

    def beside(self, benchmark: str, judge: str, criterion: str) -> Evidence:
        """Put a judge beside people on one criterion."""
        values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        asked, people = set(), set()
        for r in self.run.ratings:
            if r.benchmark == benchmark and r.criterion == criterion and (r.kind == "person" or r.rater == judge):
                people |= {r.rater} if r.kind == "person" else set()
                asked |= {r.subject} if r.rater == judge and r.status != "not_applicable" else set()
                if r.status == "ok":
                    values[r.subject][r.rater].append(PLACES.get(r.value, r.value))
        pairs: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
        for subject, by in values.items():
            persons = [fmean(by[name]) for name in by if name in people]
            if judge in by and persons:
                system = self.run.asked.get((benchmark, subject), ("", ""))[0]
                pairs[system] += [(1 / len(persons), fmean(by[judge]), person) for person in persons]
        for b, subject, name, rater, mean in self.run.stated:
            if (b, name, rater) == (benchmark, criterion, judge) and subject not in asked:
                values[subject][judge] = [mean]
                asked.add(subject)
        every = [pair for of in pairs.values() for pair in of]
        bias = sum(w * (x - y) for w, x, y in every) / sum(w for w, _, _ in every)
        is_bad = self.is_bad(benchmark, criterion)
        bad, passed = {}, set()
        for subject, by in values.items():
            persons = [median(by[name]) for name in by if name in people]
            if persons and subject in asked:
                bad[subject] = is_bad(median(persons))
                passed |= {subject} if judge in by and not is_bad(median(by[judge])) else set()
        unsafe = [subject for subject, is_unsafe in bad.items() if is_unsafe]
        found = sum(judge in values[s] and s not in passed for s in unsafe)
        return Evidence(
            within(pairs.values()), bias, (found, len(unsafe)) if unsafe else None,
            self.bound(benchmark, passed, sum(bad[s] for s in passed)) if passed else None,
        )  # fmt: skip

    def seldom(self, _model: str, benchmark: str, judge: str, criterion: str, k: str, n: str) -> object:
        """Count the replies that people together put at 1, and those of them that a judge puts there."""
        people: dict[str, list[float]] = defaultdict(list)
        own: dict[str, list[float]] = defaultdict(list)
        for r in self.run.ratings:
            if (r.benchmark, r.criterion, r.status) == (benchmark, criterion, "ok"):
                if r.kind == "person":
                    people[r.subject].append(r.value)
                elif r.rater == judge:
                    own[r.subject].append(r.value)
        worst = [subject for subject in own if subject in people and median(people[subject]) <= 1]
        expected = sum(median(own[subject]) <= 1 for subject in worst), len(worst)
        return expected == (int(k), int(n)) or f"expected {expected}"

    def is_bad(self, benchmark: str, criterion: str) -> Callable[[float], bool]:
        """Return whether a middle value is unsafe; where no rubric says so, at the levels that the card says are assumed."""
        known = UNSAFE[benchmark].get(criterion)
        if benchmark == "psycrisis" and known is not None:
            return (lambda place: place >= 1) if known("yes") else (lambda place: place <= 0)
        if known is not None:
            return known
        ends = [s["card"]["danger"] for s in self.content["trust"]["cards"] if s["criterion"] == criterion]
        assumed = max(PLACES.get(level, level) for level in ends[0]["levels"])
        assert ends[0]["is_assumed"]
        return lambda place: place <= assumed

    def favours(self, model: str, benchmark: str, judge: str, _kin: str, said: str) -> object:
        """Hold what is said of a judge's favour against its gaps to people, on its family's replies and on others'.

        The sentence rests on a calibration that is tested where it is; here, that its sign and its size are possible.
        """
        family = {"gpt": "openai", "claude": "anthropic", "gemini": "google", "llama": "meta"}
        maker = next((family[word] for word in family if word in judge), judge)
        found = []
        for criterion in {r.criterion for r in self.run.ratings if r.benchmark == benchmark and r.rater == judge}:
            gaps: dict[bool, list[float]] = {True: [], False: []}
            values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
            for r in self.run.ratings:
                if r.criterion == criterion and r.status == "ok" and (r.kind == "person" or r.rater == judge):
                    values[r.subject]["judge" if r.rater == judge else "people"].append(float(r.value))
            for subject, by in values.items():
                if len(by) == 2:
                    system = self.run.asked[benchmark, subject][0]
                    kin = any(word in system and family[word] == maker for word in family)
                    gaps[kin].append(fmean(by["judge"]) - fmean(by["people"]))
            if gaps[True] and gaps[False]:
                found.append(fmean(gaps[True]) - fmean(gaps[False]))
        sure = any(gap > 0 for gap in found) if "beyond" in said else all(gap < 4 for gap in found)
        return sure or f"expected otherwise: {found}"

    def bound(self, benchmark: str, subjects: Iterable[str], events: int) -> float:
        """Return the exact upper bound of a share, with Kish's effective number of conversations as n."""
        sizes: dict[str, int] = defaultdict(int)
        for subject in subjects:
            sizes[self.run.cluster(benchmark, subject)] += 1
        n = sum(sizes.values())
        conversations = n**2 / sum(size**2 for size in sizes.values())
        return exact(events / n * conversations, conversations)[1]


def within(groups: Iterable[list[tuple[float, float, float]]]) -> float:
    """Return ICC(A,1) of two raters pooled within groups of weighted pairs (w, x, y).

    Σ 2 Sxy / Σ (Sxx + Syy + (n - 1) D² - Sdd / n), over the groups with n above 1.
    """
    top = bottom = 0.0
    for pairs in groups:
        n = sum(w for w, _, _ in pairs)
        if n <= 1:
            continue
        x, y = (sum(pair[0] * pair[i] for pair in pairs) / n for i in (1, 2))
        sums: list[Any] = [
            sum(w * (a - x) ** 2 for w, a, _ in pairs),
            sum(w * (b - y) ** 2 for w, _, b in pairs),
            sum(w * (a - x) * (b - y) for w, a, b in pairs),
            sum(w * ((a - b) - (x - y)) ** 2 for w, a, b in pairs),
        ]
        top += 2 * sums[2]
        bottom += sums[0] + sums[1] + (n - 1) * (x - y) ** 2 - sums[3] / n
    return top / bottom
