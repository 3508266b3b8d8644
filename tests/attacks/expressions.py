"""Every regular expression of the sources, and texts that could make each of them slow.

A pattern is found where the sources hand it to `re` or `regex`, and worked out in the names of its module. What is built from
words that a function is given has to be named in `BUILT`.
"""

from __future__ import annotations

import ast
import importlib
import re
import string
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import mindgauge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SOURCES = Path(mindgauge.__file__).parent
FUNCTIONS = {"compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer", "regex"}
SCANNED = "match at a place"
ANCHORED = {"match", "fullmatch", SCANNED}
"""Methods that look at one place of a text; the others begin anew at each."""
FAMILIES = ("٣", " ", "\n", "\t", "a", "A", "1", "_", "-", ".", ",", ":", "*", "#", "/", "\\", '"', "'", "`", "(", ")", "[", "]", "{", "}", "<", ">", "|", "=", "@", "\0", "中", "：", "é", "a ", "a.", "1.", "1,", " \n", "a:\n")  # fmt: skip
REPEATS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}
FEW = 8
"""Repeats that are too few to take time."""
SMALL, LARGE, LONG = 24, 200, 800
"""Pieces that are tried of a pattern, few and many, and the length from which it has fewer."""
ENDS = ("\0", "x", "", "\n!")
CLASS = "".join(FAMILIES[1:32]) + string.ascii_letters + string.digits + "中：é\r;!?%+~&$^，。"


class Expression(NamedTuple):
    """A regular expression: where it is written, and whether it is only tried at one place of a text."""

    place: str
    pattern: re.Pattern[Any]
    anchored: bool
    scanned: bool
    """Whether one match follows the other."""

    def read(self, text: str) -> None:
        """Use it as the sources do: on a whole text and on one piece of it after the other, or from every place of it."""
        told: Any = text if isinstance(self.pattern.pattern, str) else text.encode("latin-1", "replace")
        if not self.anchored:
            for _ in self.pattern.finditer(told):
                pass
            return
        self.pattern.fullmatch(told)
        place = 0
        while self.scanned and (match := self.pattern.match(told, place)) and match.end() > place:
            place = match.end()


class Unknown(NamedTuple):
    """A pattern that its module's names do not tell."""

    place: str


@cache
def every() -> tuple[tuple[Expression, ...], tuple[Unknown, ...]]:
    """Return the expressions of all modules, and the places of those that are built within functions."""
    known: dict[tuple[object, ...], Expression] = {}
    unknown = []
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"\bre\.|\bregex\(", text):
            continue
        parts = path.relative_to(SOURCES.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        for found in _of_module(name, ast.parse(text)):
            if isinstance(found, Unknown):
                unknown.append(found)
            else:
                known.setdefault((found.pattern.pattern, found.pattern.flags, *found[2:]), found)
    return tuple(known.values()), tuple(unknown)


def _of_module(name: str, tree: ast.Module) -> Iterator[Expression | Unknown]:
    module = importlib.import_module(name)
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and node.args and (function := _function(node.func))):
            continue
        place = f"{name}:{node.lineno}"
        flags = _flags(node, function)
        try:
            pattern = eval(compile(ast.Expression(node.args[0]), place, "eval"), vars(module))
            given = eval(compile(ast.Expression(flags), place, "eval"), vars(module)) if flags else 0
        except NameError:
            yield Unknown(f"{name}:{_within(node, parents)}")
            continue
        compiled = pattern if isinstance(pattern, re.Pattern) else re.compile(pattern, given)
        uses = {function} if function in FUNCTIONS - {"compile", "regex"} else _uses(node, parents, tree)
        yield Expression(place, compiled, bool(uses) and uses <= ANCHORED, SCANNED in uses)


def _function(node: ast.expr) -> str:
    if isinstance(node, ast.Name) and node.id == "regex":
        return "regex"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "re":
        return node.attr if node.attr in FUNCTIONS else ""
    return ""


def _flags(node: ast.Call, function: str) -> ast.expr | None:
    place = {"compile": 1, "regex": 1, "sub": 4, "subn": 4, "split": 3}.get(function, 2)
    named = [word.value for word in node.keywords if word.arg == "flags"]
    return named[0] if named else node.args[place] if len(node.args) > place else None


def _within(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    names = []
    while node in parents:
        node = parents[node]
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
    return ".".join(reversed(names))


def _uses(node: ast.Call, parents: dict[ast.AST, ast.AST], tree: ast.Module) -> set[str]:
    """Return by which methods a compiled pattern is used; none where that cannot be told."""
    parent = parents[node]
    if isinstance(parent, ast.Attribute):
        return {_method(parent, parents)}
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    if isinstance(parent, ast.Tuple) and isinstance(above := parents[parent], ast.Assign):
        names = above.targets[0]
        target = names.elts[parent.elts.index(node)] if isinstance(names, ast.Tuple) else None
    if not isinstance(target, ast.Name):
        return set()
    name = target.id
    if not name.startswith("_"):
        return set()
    used = set()
    for other in ast.walk(tree):
        if isinstance(other, ast.Name) and other.id == name and isinstance(other.ctx, ast.Load):
            above = parents[other]
            used.add(_method(above, parents) if isinstance(above, ast.Attribute) else "elsewhere")
    return used


def _method(node: ast.Attribute, parents: dict[ast.AST, ast.AST]) -> str:
    call = parents[node]
    if not (isinstance(call, ast.Call) and call.func is node):
        return "elsewhere"
    return SCANNED if node.attr == "match" and len(call.args) > 1 else node.attr


# -- texts ------------------------------------------------------------------------------------------------------------


def texts(pattern: re.Pattern[Any], *, many: bool) -> Iterator[tuple[str, str, str]]:
    """Yield beginning, repeated piece and end of texts that could make a pattern slow; none where it repeats nothing."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = re._parser.parse(source, pattern.flags & ~(re.DEBUG | re.UNICODE))  # type: ignore[attr-defined]
    before: dict[str, None] = {"": None}
    parts: dict[str, None] = {}
    literals: dict[str, None] = {}
    _walk(list(tree), "", before, parts, literals)
    if not parts:
        return
    most = LARGE if many else SMALL if len(source) < LONG else SMALL // 4
    signs = [sign for sign in literals if len(sign) == 1 and not sign.isalnum()]
    pairs = [a + b for a in signs[:8] for b in signs[:8] if a != b]
    words = [f"{word} " for word in literals if word.isalnum()]
    starts = [*before][: most // 8]
    own = [*_spread([*parts], most), *_spread([*starts, *literals], most // 2), *_spread(pairs, most // 2)]
    own += [*_spread(words, most // 2), *(f"\n{start}" for start in starts)]
    atoms = [*dict.fromkeys(filter(None, own))]
    for number, atom in enumerate([*atoms, *_spread(FAMILIES, most)]):
        for start in starts if many or number < len(atoms) else starts[:1]:
            for end in ENDS if many else (ENDS[(number + len(start)) % 2],):
                yield start, atom, end


def _spread(listed: Sequence[str], most: int) -> Sequence[str]:
    """Return at most so many, from all over the list."""
    return listed[:: len(listed) // (most + 1) + 1]


def _walk(
    items: list[Any], start: str, before: dict[str, None], parts: dict[str, None], literals: dict[str, None]
) -> None:
    for place, (kind, about) in enumerate(items):
        name = str(kind)
        if name in REPEATS:
            low, high, body = about
            if high > FEW:
                before.setdefault(start)
                ends = [str(kind) in REPEATS for kind, _ in items[place + 1 :]]
                after = _samples(
                    items[place + 1 : place + 1 + ends.index(True)] if True in ends else items[place + 1 :]
                )[0]
                for sample in _samples(list(body)):
                    for part in (
                        sample,
                        start + sample,
                        sample + after,
                        f"{sample} {after}",
                        f"{sample}{after} ",
                        after,
                    ):
                        parts.setdefault(part)
            _walk(list(body), start, before, parts, literals)
            start += _samples(list(body))[0] * max(low, 1)
            continue
        for nested in _nested(name, about):
            _walk(nested, start, before, parts, literals)
        for sample in _samples([(kind, about)])[:4]:
            literals.setdefault(sample)
        start += _samples([(kind, about)])[0]


def _nested(name: str, about: Any) -> list[list[Any]]:
    match name:
        case "BRANCH":
            return [list(option) for option in about[1]]
        case "SUBPATTERN":
            return [list(about[3])]
        case "ATOMIC_GROUP":
            return [list(about)]
        case "ASSERT" | "ASSERT_NOT":
            return [list(about[1])]
    return []


def _samples(items: list[Any]) -> list[str]:
    """Return some texts that parts of a pattern match."""
    found = [""]
    for kind, about in items:
        options = _of_one(str(kind), about) or [""]
        longest = max(len(found), len(options))
        found = [found[n % len(found)] + options[n % len(options)] for n in range(min(longest, 8))]
    return found


def _of_one(name: str, about: Any) -> list[str]:
    found = [""]
    match name:
        case "LITERAL":
            found = [chr(about)]
        case "NOT_LITERAL":
            found = [c for c in "a 1" if ord(c) != about][:2]
        case "ANY":
            found = ["a", " "]
        case "IN":
            found = _in(about)
        case "BRANCH":
            found = [_samples(list(option))[0] for option in about[1]][:8]
        case "SUBPATTERN":
            found = _samples(list(about[3]))
        case "ATOMIC_GROUP":
            found = _samples(list(about))
        case "ASSERT" if about[0] < 0:
            found = _samples(list(about[1]))
        case _ if name in REPEATS:
            found = [sample * max(about[0], 1) for sample in _samples(list(about[2]))]
    return found


def _in(items: Any) -> list[str]:
    def holds(char: str) -> bool:
        for kind, about in items:
            match str(kind):
                case "LITERAL" if ord(char) == about:
                    return True
                case "RANGE" if about[0] <= ord(char) <= about[1]:
                    return True
                case "CATEGORY":
                    word = str(about).removeprefix("CATEGORY_")
                    code = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[word.removeprefix("NOT_")]
                    if (re.fullmatch(code, char) is not None) is not word.startswith("NOT_"):
                        return True
        return False

    negated = str(items[0][0]) == "NEGATE"
    own = [
        chr(about if str(kind) == "LITERAL" else about[0]) for kind, about in items if str(kind) in {"LITERAL", "RANGE"}
    ]
    chars = [char for char in ([] if negated else own[:3]) + list(CLASS) if holds(char) is not negated]
    return [*dict.fromkeys(chars)][:4]
