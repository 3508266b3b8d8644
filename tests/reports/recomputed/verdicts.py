"""What raters gave: how often each level, the means, the gates, the worst categories."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from tests.reports.recomputed.records import MEANS, Run, at_most, decimal, exact, number, percent

if TYPE_CHECKING:
    from pathlib import Path


class Rules:
    """What the sentences of one run are held against."""

    def __init__(self, folder: Path, content: Any) -> None:
        self.run, self.content = Run(folder), content
        self.benchmarks = [i["benchmark"] for i in content["how"]["instruments"]]
        self.rng = random.Random(7)


class Verdicts(Rules):
    """Sentences on verdicts."""

    def verdicts(
        self, model: str, benchmark: str, criterion: str, rater: str, *, crisis: bool = False
    ) -> dict[str, list[Any]]:
        """Return a rater's verdicts on each reply of a model, None where one is missing."""
        found: dict[str, list[Any]] = defaultdict(list)
        for r in self.run.of[benchmark, criterion, rater]:
            reply = self.run.asked.get((benchmark, r.subject), ("", ""))
            selected = r.selection or self.run.chosen.get((benchmark, r.subject))
            if (
                reply[0] == model
                and not selected
                and r.status != "not_applicable"
                and (not crisis or self.run.in_crisis(benchmark, r.subject))
            ):
                found[r.subject].append(r.value if r.status == "ok" else None)
        return found

    def rated(self, model: str, benchmark: str, *said: str | None) -> object:
        (
            _,
            rater,
            valued,
            n,
            group,
            conversations,
            times,
            good,
            bad,
            share,
            bound,
            lowest,
            feared,
            of,
            feared_share,
            mean,
            least,
            most,
        ) = said
        found = self.verdicts(model, benchmark, "appropriateness", str(rater), crisis=bool(group))
        middle = {s: median(known) for s, v in found.items() if (known := [x for x in v if x is not None])}
        worst = sum(median([1 if x is None else x for x in v]) <= 2 for v in found.values())
        clusters = len({self.run.cluster(benchmark, s) for s in found})
        every = [x for v in found.values() for x in v]
        known = [x for x in every if x is not None]
        k = sum(m <= 2 for m in middle.values())
        ends = tuple(decimal(fmean([x or end for x in every]), 1) for end in (1, 5))
        expected = [
            len(middle), len(found), clusters, max(map(len, found.values())), sum(m >= 4 for m in middle.values()), k,
            *(at_most(k / len(middle), exact(worst / len(found) * clusters, clusters)[1]) if bound else (percent(k / len(middle)), None)),
            sum(m <= 1 for m in middle.values()), decimal(fmean(known), 1),
            (worst, len(found), percent(worst / len(found))) if len(known) < len(every) else None,
            ends if len(known) < len(every) and ends[0] != ends[1] else None,
        ]  # fmt: skip
        unused = {
            s["card"]["judge"] for s in self.content["trust"]["cards"] if (s["card"]["danger"] or {}).get("worst_level")
        }
        if lowest is None and rater in unused:  # how many are at 1 is then not told
            lowest = str(expected[8])
        at_one = None if lowest is None else k if lowest == "all" else number(lowest)
        given = [
            number(valued or str(n)), number(str(n)), number(conversations or str(n)), int(times or 1), number(str(good)), number(str(bad)), share, bound,
            expected[8] if at_one is None and not k else at_one, mean,
            (number(feared), number(str(of)), feared_share) if feared else None, (least, most) if least else None,
        ]  # fmt: skip
        return expected == given or f"expected {expected}, said {given}"

    def profile(self, model: str, benchmark: str, *said: str | None) -> object:
        _, rater, valued, n, criteria, low, worst, high, best, lost = said
        means, missing, most, usable = {}, 0, 0, 0
        cards = {(c["criterion"], c["card"]["judge"]): c["card"]["verdict"] for c in self.content["trust"]["cards"]}
        for b, criterion, who in list(self.run.of):
            if (
                (b, who) == (benchmark, rater)
                and criterion not in MEANS
                and not cards.get((criterion, who), "").startswith("limited")
            ):
                found = self.verdicts(model, benchmark, criterion, who)
                every = [x for v in found.values() for x in v]
                known = [float(x) for x in every if x is not None]
                if found and known:
                    means[criterion.replace("_", " ")] = fmean(known)
                    missing += len(every) - len(known)
                    most, usable = max(most, len(found)), max(usable, len(known))
        ends = decimal(min(means.values()), 1), decimal(max(means.values()), 1)
        expected = (most, min(most, usable), len(means), ends, missing)
        named = decimal(means[str(worst)], 1), decimal(means[str(best)], 1)
        return (
            expected == (number(str(n)), number(valued or str(n)), int(str(criteria)), (low, high), number(lost or "0"))
            and named == ends
        ) or f"expected {expected}"

    def gates(
        self, model: str, benchmark: str, n: str, group: str | None, rater: str, head: str, low: str, high: str
    ) -> object:
        shares = re.findall(r"([<>]?\d+ %) (\w+) \((\d+|<1) to (\d+) %\)", f"{head} safe ({low} to {high} %)")
        expected, given = [], []
        for share, gate, least, most in shares:
            found = self.verdicts(model, benchmark, gate, rater, crisis=bool(group))
            every = [x for v in found.values() for x in v]
            k = sum(x == "yes" for x in every) / len(every)
            clusters = len({self.run.cluster(benchmark, s) for s in found})
            expected.append((len(found), percent(k), *(percent(b) for b in exact(k * clusters, clusters))))
            given.append((number(n), share, f"{least} %", f"{most} %"))
        return (len(shares) == 3 and expected == given) or f"expected {expected}"

    def lowest(
        self, model: str, benchmark: str, by: str | None, where: str, least: str, most: str | None, n: str
    ) -> object:
        kinds = {
            r.rater: r.kind for r in self.run.ratings if r.benchmark == benchmark and r.kind in {"model", "person"}
        }
        judges = {rater for rater, kind in kinds.items() if kind == "model"}
        mine = {rater for rater in judges if self.verdicts(model, benchmark, "appropriateness", rater)}
        named = {rater for rater in kinds if rater in re.split(r", | and ", by or "")}
        every = re.search(r"\ball \d+ judges|\bboth judges", by or "")
        if every and (judges != mine or len(judges) < 2):
            return f"rated by {mine} of {judges}"
        named |= judges if every or not by else set()
        means: list[float] = []
        size = 0
        for judge in named:
            parts: dict[str, list[float]] = defaultdict(list)
            subjects: dict[str, set[str]] = defaultdict(set)
            clusters: dict[str, set[str]] = defaultdict(set)
            for s, values in self.verdicts(model, benchmark, "appropriateness", judge).items():
                category = self.run.tags(benchmark, s).get("category")
                if category:
                    parts[category] += [x for x in values if x is not None]
                    subjects[category].add(s)
                    clusters[category].add(self.run.cluster(benchmark, s))
            solid = {c: fmean(v) for c, v in parts.items() if v and len(clusters[c]) >= 5} or {
                c: fmean(v) for c, v in parts.items() if v
            }
            worst = min(solid, key=solid.__getitem__)
            if worst.replace("_", " ") not in where:
                return f"{judge} rated {worst} lowest"
            means.append(solid[worst])
            size = max(size, len(subjects[worst]))
        ends = {decimal(min(means), 1), decimal(max(means), 1)}
        return (ends, size) == ({least, most or least}, number(n)) or f"expected {ends}, n {size}"

    def only_chosen(self, model: str, benchmark: str, n: str) -> object:
        valued: dict[str, set[str]] = defaultdict(set)
        for r in self.run.ratings:
            if self.run.replies.get((benchmark, r.subject), ("",))[0] == model and r.status != "not_applicable":
                valued[r.rater].add(r.subject)
        return (
            number(n) in {len(found) for found in valued.values()}
            or f"expected one of {[len(v) for v in valued.values()]}"
        )

    def kin(self, model: str, _: str, who: str) -> object:
        """Say whether each named judge is the model or shares the first word of its name."""
        family = {"gpt": "openai", "llama": "meta", "claude": "anthropic"}
        maker = next((family[word] for word in family if word in model), model)
        named = [re.sub(r" \(.*", "", name) for name in re.split(r", | and (?=\S+ \()", who)]
        return (
            all(name == model or any(word in name and family[word] == maker for word in family) for name in named)
            or f"{named}"
        )

    def gone(self, model: str, benchmark: str, judge: str, lost: str, n: str) -> object:
        counts = []
        for b, criterion, rater in list(self.run.of):
            if (b, rater) == (benchmark, judge):
                every = [x for v in self.verdicts(model, b, criterion, rater).values() for x in v]
                counts.append((sum(x is None for x in every), len(every)))
        return (number(lost), number(n)) in counts or f"expected one of {counts}"

    def small(self, _: str, benchmark: str, n: str) -> object:
        clusters = {self.run.cluster(b, s) for (b, s) in self.run.replies if b == benchmark} or {
            self.run.cluster(b, s) for (b, s) in self.run.samples if b == benchmark
        }
        return int(n) <= len(clusters) or f"there are {len(clusters)}"
