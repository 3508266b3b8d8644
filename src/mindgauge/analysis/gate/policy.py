"""A gate's policy: what a build must hold, in a file that a team keeps beside its code."""

from __future__ import annotations

import difflib
import math
import operator
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import msgspec

from mindgauge.records import Value
from mindgauge.records.errors import FaultsError, UsageError
from mindgauge.records.files import bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

CannotTell: TypeAlias = Literal["stop", "pass", "fail"]
JudgeTrust: TypeAlias = Literal["good", "moderate", "tested", "any"]

_BOUND = re.compile(r"\s*([\w./-]+)\.(\w+)\s*(<=|>=|<|>)\s*(-?\d+(?:\.\d+)?|-?\.\d+)\s*+(%?)\s*+")
_HOLDS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip
_SIDES = {"high": ("<=", "<"), "low": (">=", ">")}
_NAME = re.compile(r"[\w/-]+")
MOST_FALSE_ALARMS = 0.5
_FORM = "a bound is written `missed_crisis_rate.high <= 0.10`"


class Scope(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a rule is about; what it leaves out may be any, and the rule must hold for each."""

    name: str = ""
    """What it is called in what the gate says; by what it asks and of what, if not given. No two rules may be called the same."""
    benchmark: str = ""
    criterion: str = ""
    slice: str = "all"
    rater: str = ""
    model: str = ""


class BoundText(NamedTuple):
    """A bound as it is written, `missed_crisis_rate.high <= 0.10`, in its parts."""

    metric: str
    side: str
    relation: str
    limit: float

    def holds(self, bound: float) -> bool:
        """Whether a value of the bound meets the limit."""
        return _HOLDS[self.relation](bound, self.limit)


class Must(Scope, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A bound that a metric must keep to, or a level that no reply may have."""

    rule: str = ""
    no_reply_at: Value | list[Value] | None = None

    @property
    def bound(self) -> BoundText:
        """The parts of `rule`.

        Raises:
            ValueError: it is no bound; the message says what is.
        """
        match = _BOUND.fullmatch(self.rule)
        if match is None:
            raise ValueError(f"{self.rule!r} is no bound; {_FORM}")
        metric, side, relation, limit, percent = match.groups()
        if side not in _SIDES:
            raise ValueError(
                f"{self.rule!r}: .{side} is no bound of an interval; write .high or .low, for a point does not say how sure it is"
            )
        if relation not in _SIDES[side]:
            raise ValueError(
                f"{self.rule!r}: too little data would meet it; .high is held against an upper limit (<=), .low against a lower (>=)"
            )
        number = float(limit) / (100 if percent else 1)
        if not math.isfinite(number):
            raise ValueError(f"{self.rule[:60]!r}: a limit is a number that a metric can reach")
        return BoundText(metric, side, relation, number)

    @property
    def levels(self) -> list[Value]:
        """The levels that no reply may have."""
        return (
            self.no_reply_at
            if isinstance(self.no_reply_at, list)
            else []
            if self.no_reply_at is None
            else [self.no_reply_at]
        )

    @property
    def title(self) -> str:
        """What the rule is called."""
        request = self.rule or f"no reply at {self.criterion} {' or '.join(map(str, self.levels))}"
        return self.name or _titled(request, self)


class Compare(Scope, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A metric that may not be worse than in the baseline by a margin or more."""

    metric: str
    margin: float

    @property
    def title(self) -> str:
        """What the rule is called."""
        return self.name or _titled(f"{self.metric} not worse by {self.margin:g}", self)


class NewlyUnsafe(Scope, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Single messages that were answered safely each time, and are answered unsafely each time now."""

    levels: list[Value] = []
    """Which levels are unsafe; those of the rubric, if none is named."""
    repeats: int = 3
    """Fewer replies to a message than that, before or now, do not make a break sure."""

    @property
    def title(self) -> str:
        """What the rule is called."""
        by = f" by {self.criterion}" * bool(self.criterion)
        at = f" at {' or '.join(map(str, self.levels))}" * bool(self.levels)
        return self.name or _titled(f"no message newly unsafe{by}{at}", self)


PolicyRule: TypeAlias = Must | Compare | NewlyUnsafe


class GateNeeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What must be so for the gate to tell anything."""

    missing: float = 0.05
    """The share of replies and verdicts that may be missing."""
    judge: JudgeTrust = "tested"
    """How far a judge must be trusted: its card `good`, its card at least `moderate`, or, where no people rated beside it,
    its entry test passed (`tested`); or `any`."""
    instruments: list[str] = []
    """Rubrics and prompts by name and hash, or the beginning of it; all that rated must be among them."""
    samples: list[str] = []
    """Hashes of the samples, as `plan.samples` in a run's manifest has them, or their beginnings."""


class GatePolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a build must hold."""

    must: list[Must] = []
    compare: list[Compare] = []
    items: list[NewlyUnsafe] = []
    needs: GateNeeds = GateNeeds()
    false_alarms: float = 0.02
    """The chance, at most, that bounds and comparisons fail a build of which none is broken."""
    cannot_tell: CannotTell = "stop"
    """What becomes of a build of which the gate cannot tell."""
    baseline: str = ""
    """A run, or a file that `mindgauge gate baseline` wrote, as seen from the policy's folder."""
    path: str = ""
    """Where the policy was read from."""

    @property
    def rules(self) -> list[PolicyRule]:
        """All that is asked of a build."""
        return [*self.must, *self.compare, *self.items]

    @property
    def compares(self) -> bool:
        """Whether it asks for a baseline."""
        return bool(self.compare or self.items)


_TABLES: dict[str, type[msgspec.Struct]] = {
    "": GatePolicy, "must": Must, "compare": Compare, "items": NewlyUnsafe, "needs": GateNeeds,
}  # fmt: skip
_WORDS = {"cannot_tell": get_args(CannotTell), "judge": get_args(JudgeTrust)}


def read(path: Path) -> GatePolicy:
    """Read a policy.

    Raises:
        UsageError: it cannot be read, is no TOML or no policy; the message says where and what is possible there.
    """
    try:
        raw = bounds.content(path, bounds.SETTINGS)
        content = bounds.toml_value(raw)
    except OSError as error:
        raise UsageError(
            f"--policy {path}: cannot read it ({error.strerror}); `mindgauge gate init RUN` writes one"
        ) from error
    except ValueError as error:
        raise UsageError(f"--policy {path}: not TOML ({error})") from error
    return of_content(content, path, raw.decode())


def of_content(content: dict[str, Any], path: Path, text: str) -> GatePolicy:
    """Make a policy of what a file holds, or is to hold.

    Args:
        content: of the TOML.
        path: of the file.
        text: as it is written.

    Raises:
        UsageError: it is no policy; the message says where and what is possible there.
    """
    misnamed = list(shape_faults(content, text, _TABLES, _WORDS))
    if misnamed:
        raise FaultsError(f"--policy {path}", misnamed)
    try:
        policy = msgspec.convert({**content, "path": str(path)}, GatePolicy)
    except ValueError as error:
        raise UsageError(f"--policy {path}: not a policy ({_place(str(error))})") from error
    faults = list(_faults(policy))
    if faults:
        raise FaultsError(f"--policy {path}", faults)
    return policy


def _faults(policy: GatePolicy) -> Iterator[str]:
    """Say what the types of a policy do not."""
    if not policy.rules:
        yield "no [[must]], no [[compare]], no [[items]]: nothing is asked of the build"
    if not 0 < policy.false_alarms <= MOST_FALSE_ALARMS:
        yield f"false_alarms = {policy.false_alarms:g} must lie above 0 and be at most {MOST_FALSE_ALARMS:g}"
    yield from _faults_of_needs(policy.needs)
    yield from (f"[[must]] {number}{fault}" for number, must in enumerate(policy.must, 1) if (fault := _fault(must)))
    for number, rule in enumerate(policy.compare, 1):
        if not 0 <= rule.margin < math.inf:
            yield f"[[compare]] {number}: margin = {rule.margin:g} must be 0 or more, and a number"
    for number, items in enumerate(policy.items, 1):
        if items.repeats < 1:
            yield f"[[items]] {number}: repeats = {items.repeats} must be 1 or more"
    titles = [rule.title for rule in policy.rules]
    for title in dict.fromkeys(title for title in titles if titles.count(title) > 1):
        yield f"two rules are called {title!r}: give one of them a name"


def _faults_of_needs(needs: GateNeeds) -> Iterator[str]:
    if not 0 <= needs.missing <= 1:
        yield f"[needs] missing = {needs.missing:g} must be a share, 0 to 1"
    for name, pins in (("instruments", needs.instruments), ("samples", needs.samples)):
        if not all(pin.removesuffix("…").strip() for pin in pins):
            yield f"[needs] {name}: an empty text would pin nothing; `mindgauge gate init RUN` writes those of a run"


def _fault(must: Must) -> str:
    """Say what is wrong with a rule on the build alone; empty where nothing is."""
    if bool(must.rule) == (must.no_reply_at is not None):
        return f" needs either rule or no_reply_at; {_FORM}"
    if must.no_reply_at is not None:
        if not must.levels:
            return ": no_reply_at names no level"
        return "" if must.criterion else ": no_reply_at needs the criterion that the level is of"
    try:
        _ = must.bound
    except ValueError as error:
        return f": {error}"
    return ""


def _titled(request: str, scope: Scope) -> str:
    """Name a rule by what it asks, and of what: two that differ in any of that have two names."""
    place = scope.slice if scope.slice != "all" else ""
    rater = f"rated by {scope.rater}" if scope.rater else ""
    criterion = "" if scope.criterion in _NAME.findall(request) else scope.criterion
    about = [text for text in (scope.benchmark, criterion, place, rater, scope.model) if text]
    return f"{request} ({', '.join(about)})" if about else request


def _place(text: str) -> str:
    """Say where in the policy a fault is as a reader of TOML sees it: `must[1].rule`, not `$.must[...].rule`."""
    return text.replace("at `$.", "at `").replace("`$`", "the policy")


_HEADER = re.compile(r"\s*\[\[?\s*([\w-]+)\s*\]\]?")


def shape_faults(
    content: Mapping[str, Any],
    text: str,
    tables: Mapping[str, type[msgspec.Struct]],
    words: Mapping[str, Collection[str]],
) -> Iterator[str]:
    """Say what is misnamed, each with its line.

    Args:
        content: of the TOML.
        text: as it is written.
        tables: the struct of each table; that of the file under the empty name.
        words: name → the words that it may be.
    """
    yield from _of_table(content, ("", 1), text, tables, words)
    for name, value in content.items():
        listed = value if isinstance(value, list) else [value]
        for number, table in enumerate(listed if name in tables else (), 1):
            if isinstance(table, dict):
                yield from _of_table(table, (name, number), text, tables, words)


def _of_table(
    content: Mapping[str, Any],
    place: tuple[str, int],
    text: str,
    tables: Mapping[str, type[msgspec.Struct]],
    words: Mapping[str, Collection[str]],
) -> Iterator[str]:
    fields = [
        field.name for field in msgspec.structs.fields(tables[place[0]]) if (place[0], field.name) != ("", "path")
    ]
    for key, value in content.items():
        position = f"line {line}: " if (line := _line(text, place, key)) else ""
        if key not in fields:
            yield f"{position}there is no `{key}` {f'in [{place[0]}]' if place[0] else 'in a policy'}; {_near(key, fields)}"
        elif key in words and value not in words[key]:
            yield f"{position}{key} = {value!r}; {_near(str(value), words[key])}"


def _near(name: str, names: Collection[str]) -> str:
    """Say what there is, what comes near first."""
    close = difflib.get_close_matches(name, names, 1, 0.6)
    return f"{f'did you mean `{close[0]}`? ' if close else ''}there are {', '.join(names)}"


def _line(text: str, place: tuple[str, int], key: str) -> int:
    """Return the line of a key in the so many-th table of a name, or of a table's own header; 0 where it cannot be seen."""
    counts = {"": 1}
    table = ""
    assigned = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""")
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = header[1]
            counts[table] = counts.get(table, 0) + 1
            if table == key and not place[0]:
                return number
        elif (table, counts[table]) == place and assigned.match(line):
            return number
    return 0
