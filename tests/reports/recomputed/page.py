"""The sentences of a first page, each with its form and its rule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.reports.recomputed.cards import Cards
from tests.reports.recomputed.suite import Suite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DOUBT = r"(?: \(how far this judge can be trusted is not estimable\))?"
ONE = r"(.+?)"


class Page(Cards, Suite):
    """The sentences of a first page, each with what it must be."""

    def faults(self) -> list[str]:
        """Return what is not as it must be, a line each."""
        return [fault for text, system, benchmark in self.texts() for fault in self.read(text, system, benchmark)]

    def texts(self) -> Iterator[tuple[str, str, str]]:
        """Yield each text of the first page with the model and the benchmark that it is about, where that is known."""
        only = self.benchmarks[0] if len(self.benchmarks) == 1 else ""
        systems = self.content["systems"]
        for text in (*self.content["people"], *self.content["lead"]):
            yield text, systems[0]["model"] if len(systems) == 1 else "", only
        for answer in self.content["answers"]:
            for text in (*answer["facts"], *answer["caveats"]):
                yield text, answer["system"]["model"], only
        for text in self.content["caveats"]:
            yield text, "", only
        for task in self.content["tasks"]:
            for told in task["told"]:
                for text in told["facts"]:
                    yield text, told["system"]["model"], task["benchmark"]

    def read(self, text: str, model: str, benchmark: str) -> Iterator[str]:
        """Take a text apart sentence by sentence; yield those without a form, and those whose numbers are others."""
        rest = text
        while rest:
            for form, rule in self.forms():
                if found := re.match(form + r"(?: |$)", rest):
                    expected = rule(model, benchmark, *found.groups())
                    if expected is not None and expected is not True:
                        yield f"{found[0].strip()!r} ({model}, {benchmark}): {expected}"
                    rest = rest[found.end() :]
                    break
            else:
                yield f"no rule for {rest!r}"
                return

    def forms(self) -> list[tuple[str, Callable[..., object]]]:
        n, share = r"([\d,]+|none|all)", r"([<>]?[\d.]+ %)"
        chosen = r"(, chosen for what a judge thought of them,)?"
        bound = r"(?:; (it could be [^)]+))?"
        floor = rf"(?:, so at least {n} of the {n} (?:is|are) \({share}\))?"
        return [
            (rf"People \({ONE}\) read (?:all )?{n}(?: of the {n})? (?:applicable )?replies here{chosen} and called {n} of them unsafe(?: \((.+? of .+? by .+?)\))?{floor}(?:; whether the others are unsafe is not known)?\.", self.people_of_all),
            (rf"People \({ONE}\) read (?:all )?{n} of its (other )?(?:([\d,]+) )?(?:applicable )?repl(?:y|ies)( to messages that show a crisis)?{chosen} and called {n} unsafe(?: \({share}{bound}\))?{floor}(?:; whether the others are unsafe is not known)?\.", self.people),
            (rf"No person read any of its {n} (?:applicable )?replies( to messages that show a crisis)?\.", self.nobody),
            (rf"Of the {n} repl(?:y|ies) that people call unsafe, the judge {ONE}(?: was asked about {n} and)? called {n} unsafe \({share}{bound}\)\.", self.found),
            (rf"The (judge|person) {ONE}{DOUBT} rated (?:{n} of )?{n} (?:applicable )?repl(?:y|ies)( to messages that show a crisis)?(?: in {n} conversations?)?(?:, each (?:up to )?(\d+) times, the middle verdict counting)?: {n} at 4 or 5, and {n} at 1 or 2 \({share}{bound}\)(?:, {n} of them at 1)?(?:; if every verdict that is missing were a 1, it would be {n} of {n} \({share}\))?; the mean is ([\d.]+) on the scale from 1 to 5(?: \(([\d.]+) to ([\d.]+) if the missing verdicts were all the worst or the best\))?\.", self.rated),
            (rf"The (judge|person) {ONE}{DOUBT} rated (?:{n} of )?{n} repl(?:y|ies) on {n} criteria: means go from ([\d.]+) \((.+?)\) to ([\d.]+) \((.+?)\)(?:; {n} verdicts? could not be used)?\.", self.profile),
            (rf"Of {n} repl(?:y|ies)( to messages that show a crisis)?, the (?:judge|person) {ONE}{DOUBT} called (.+?) safe \((\d+) to (\d+) %\)\.", self.gates),
            (rf"Rated worst(?: by (.+?))? were replies to (.+?) \(means? ([\d.]+)(?: to ([\d.]+))?, n {n}(?: each)?\)\.", self.lowest),
            (rf"Only {n} of its replies that (?:was|were) chosen for what a judge thought of them (?:was|were) rated, so nothing can be said about its replies as a whole\.", self.only_chosen),
            (r"The judges? (.+?) may favour it, as models tend to favour their own kind(?:; that was allowed with --own-family)?\.", self.kin),
            (r"The judge (.+?) \((the model itself|of its family)\) ((?:favours its family, beyond what people's and other judges' ratings of the same replies explain)|(?:shows no sign of favouring its family))(?:; that was allowed with --own-family)?\.", self.favours),
            (r"So many verdicts by (.+?) are missing \(([\d,]+) of ([\d,]+)\) that its mean should not be used\.", self.gone),
            (r"Only (\d+) conversations stand behind this, so every share and mean here is rough\.", self.small),
            (r"It named the right class in (\d+) of (\d+) answers \(([<>]?\d+ %)(?:; (it could be [^)]+))?\)\.", self.right),
            (r"Answering majority class to everything would be right in ([<>]?\d+ %)(?:, which (?:its interval does not exclude|is more))?\.", self.majority),
            (r"It recognised (.+?) \((\d+) of (\d+)\)(?:.+?)? least\.", self.least),
            (r"It scores (\d+) of 100 \(the data allow (\d+) to (\d+)\)(?:; guessing gives \d+)?\.", self.scaled),
            (r"The score is (.+?) on (.+?)(?:, as rated by (.+?))?, which is (−?[\d.]+) in (\d+) conversations, where (?:higher|lower) is better\.", self.score),
            (r"Its yes rate, as rated by the judge (.+?), is (.+?), over (\d+) replies in (\d+) conversations; lower is better\.", self.yes_rates),
            (r"2 models were put to (\d+) tasks of TrustMH-Bench, which stand for (\d+) dimensions; each dimension has a score from 0, the worst, to 100, the best\.", self.scope),
            (r"((?:\S+ is weakest in .+?(?:; )?)+)\.", self.weakest),
            (r"(\S+) is better in (.+?); in the other (\d+) they cannot be told apart\.", self.apart),
            (r"(\d+) tasks are missing, for want of data or because they were not run: (.+?) and (\d+) more\.", self.absent),
            (r"The messages are samples that this project wrote itself, not the benchmark’s own, so nothing here can be compared with published results\.", self.as_it_stands),
            (r"In (?:all (\d+)|(\d+) of (\d+)) tasks fewer than 30 conversations stand behind the score, so it is rough\.", self.rough),
            (r"In (\d+) of (\d+) tasks the score is what the judge (.+?) thought of the replies\.", self.judged),
            (r"(\d+) of (\d+) tasks are marked “our definition”: how they are scored is not the authors’ but ours\.", self.ours),
            (r"No person has rated these replies beside the judges? (.+?), so it is not known here how far those verdicts can be trusted: read the replies below before relying on them\.", self.unchecked),
            (r"“Vetoed” means: .+? “Safe” means: neither vetoed nor unguarded\.", self.as_it_stands),
            (rf"How often {ONE} gives {ONE} the level 1 is not shown: it puts {n} of {n} repl(?:y|ies) at people's worst level there.*", self.seldom),
            (r"(.+?(?:is not estimable: |(?:is|are) not shown: |people must check the judge |agrees with people well enough |people called too few replies unsafe ).*)", self.card),
        ]  # fmt: skip

    def unchecked(self, _m: str, _b: str, _who: str) -> object:
        return not any(r.kind == "person" for r in self.run.ratings) or "people rated"

    def as_it_stands(self, *_: str) -> object:
        return True
