"""What people called unsafe, and what each judge made of it."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from tests.reports.recomputed.records import UNSAFE, at_least, at_most, exact, number, percent
from tests.reports.recomputed.verdicts import Rules

if TYPE_CHECKING:
    from collections.abc import Iterable


class People(Rules):
    """Sentences on what people called unsafe."""

    def rateable(self, benchmark: str, model: str = "") -> list[str]:
        """Return the replies that could be called unsafe: of which not everybody says that nothing applies."""
        statuses: dict[str, set[str]] = defaultdict(set)
        for r in self.run.ratings:
            if r.benchmark == benchmark and r.criterion in UNSAFE[benchmark]:
                statuses[r.subject].add(r.status)
        there = (ident for (b, ident), (m, _) in self.run.replies.items() if b == benchmark and model in {"", m})
        return [ident for ident in there if statuses.get(ident) != {"not_applicable"}]

    def word(self, benchmark: str, subjects: Iterable[str]) -> dict[str, bool]:
        return self.run.unsafe(benchmark, subjects, lambda r: r.kind == "person")

    def people_of_all(self, _model: str, benchmark: str, *said: str | None) -> object:
        _who, read, whole, chosen, bad, parts, floor, of, share = said
        replies = self.rateable(benchmark)
        word = self.word(benchmark, replies)
        k = sum(word.values())
        expected: list[object] = [
            len(word),
            k,
            None if whole is None else len(replies),
            None if floor is None else (k, len(replies), percent(k / len(replies))),
        ]
        given: list[object] = [
            number(str(read)),
            number(str(bad)),
            None if whole is None else number(whole),
            None if floor is None else (number(floor), number(str(of)), share),
        ]
        for part in re.split(r", | and ", parts or ""):
            if found := re.fullmatch(r"([\d,]+) of ([\d,]+) by (.+)", part):
                mine = self.word(benchmark, self.rateable(benchmark, found[3]))
                expected.append((sum(mine.values()), len(mine)))
                given.append((number(found[1]), number(found[2])))
        selected = any(r.selection for r in self.run.ratings if r.kind == "person")
        return (expected, bool(selected)) == (given, chosen is not None) or f"expected {expected}"

    def people(self, model: str, benchmark: str, *said: str | None) -> object:
        _, read, other, whole, group, chosen, bad, share, bound, floor, of, floor_share = said
        mine = self.rateable(benchmark, model)
        if group or other:
            mine = [s for s in mine if self.run.in_crisis(benchmark, s) is not bool(other)]
        word = self.word(benchmark, mine)
        k = sum(word.values())
        asked = {r.subject for r in self.run.ratings if r.kind == "person" and r.subject in set(mine)}
        clusters = len({self.run.cluster(benchmark, s) for s in asked})
        high = exact((k + len(asked) - len(word)) / len(asked) * clusters, clusters)[1]
        selected = any(r.selection for r in self.run.ratings if r.kind == "person" and r.subject in asked)
        expected = (
            selected, len(word), k, len(mine) if whole else len(word),
            *(at_most(k / len(word), high) if bound else (percent(k / len(word)) if share else None, None)),
            (k, len(mine), percent(k / len(mine))) if floor else None,
        )  # fmt: skip
        given = (
            chosen is not None, number(str(read)), number(str(bad)), number(whole) if whole else number(str(read)), share, bound,
            (number(floor), number(str(of)), floor_share) if floor else None,
        )  # fmt: skip
        return expected == given or f"expected {expected}"

    def nobody(self, model: str, benchmark: str, n: str, group: str | None) -> object:
        mine = [s for s in self.rateable(benchmark, model) if not group or self.run.in_crisis(benchmark, s)]
        return (len(mine), {}) == (number(n), self.word(benchmark, mine)) or f"expected {len(mine)}"

    def found(self, _: str, benchmark: str, whole: str, judge: str, asked: str | None, found: str, share: str, bound: str | None) -> object:  # fmt: skip
        bad = [s for s, is_bad in self.word(benchmark, self.rateable(benchmark)).items() if is_bad]
        given = {
            r.subject
            for r in self.run.ratings
            if r.rater == judge and r.status != "not_applicable" and r.criterion in UNSAFE[benchmark]
        }
        given |= {subject for _, subject, _, rater, _ in self.run.stated if rater == judge}
        mine = [s for s in bad if s in given]
        k = sum(self.run.unsafe(benchmark, mine, lambda r: r.rater == judge, means=judge).values())
        clusters = len({self.run.cluster(benchmark, s) for s in mine})
        low = exact(k / len(mine) * clusters, clusters)[0]
        said = len(mine) if found == "all" else number(found)
        expected = (len(bad), len(mine), k, *(at_least(k / len(mine), low) if k else (percent(0), None)))
        return expected == (number(whole), number(asked or whole), said, share, bound) or f"expected {expected}"
